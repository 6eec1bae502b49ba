"""What a plant shows: the variables of its output ports and the expressions of its requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import casadi as ca

from blocks.contract.block import Equations
from blocks.contract.symbols import as_array
from blocks.library.hold import hold
from plant.elements import Post_Request
from plant.equations.setting import Setting
from plant.ports import Port


def signals_of(setting: Setting, ports: Iterable[Port]) -> dict[str, ca.SX]:
    """(n, 1) signals of every port by its name, before they are sampled."""
    found = {}
    for port in ports:
        if port.variables:
            signals = [setting.variable(id) for id in port.variables]
        else:
            request = setting.model.find(Post_Request, port.id)
            signals = [setting.expression(request, name) for name in port.labels]
        found[port.name] = ca.densify(ca.SX(ca.vertcat(*signals)))
    return found


def declare_outputs(
    b: Equations, ports: Iterable[Port], signals: Mapping[str, ca.SX], requests: Collection[str]
) -> None:
    """Declare every port as an output, held where it has ticks of its own.

    requests : names of those that are logged, but no part of linear models
    """
    for port in ports:
        y: Any = signals[port.name]
        if port.ticks is not None:
            y = hold(b, as_array(y), port.hold_order, port.ticks, f"{port.name}_hold")
        b.output(port.name, y, labels=port.labels, auxiliary=port.name in requests, unit=port.unit)
