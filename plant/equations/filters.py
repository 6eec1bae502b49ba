"""Second-order filters behind plant inputs: what lets positions and velocities follow a signal that may jump.

A constraint on a position needs the first and second rate of whatever drives it. Behind a port with
``filter=tau`` the plant sees y instead of the signal u::

    tau^2 y'' + 2 tau y' + y = u          (critically damped, gain 1, y lags by 2 tau)

so y and y' are smooth and y'' is known, whatever u does: u may be held between samples and jump at ticks.
States ``<port>.filtered`` and ``<port>.filtered_rate``; y starts at the number in the variable's own
expression (what it is before anything is exchanged), else at 0, and at rest. The parameter ``<port>.filter``
is tau [s].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from plant.elements import Reference_Variable
from plant.expressions.formulas import Formulas
from plant.ports import Port


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a plant as its equations see them.

    values : variable id -> (1, 1)                what VARVAL gives
    drifts : tuple of ((1, 1), (1, 1))            filtered values and their rates, each with its own rate
    outside : tuple of (1, 1)                     what is connected, where there is no filter
    """

    values: Mapping[int, ca.SX]
    drifts: tuple[tuple[ca.SX, ca.SX], ...] = ()
    outside: tuple[ca.SX, ...] = ()


def declare_inputs(b: Equations, ports: Iterable[Port], formulas: Formulas) -> Inputs:
    """Declare all input ports with their filters."""
    found: dict[int, ca.SX] = {}
    drifts: list[tuple[ca.SX, ca.SX]] = []
    outside: list[ca.SX] = []
    for port in ports:
        signal = ca.SX(b.input(port.name, port.size, hold=port.hold, unit=port.unit))
        if port.filter:
            signal, rate, second = _filtered(b, port, signal, formulas)
            drifts += [(signal[k], rate[k]) for k in range(port.size)]
            drifts += [(rate[k], second[k]) for k in range(port.size)]
        else:
            outside += [signal[k] for k in range(port.size)]
        found |= {id: signal[k] for k, id in enumerate(port.variables)}
    return Inputs(found, tuple(drifts), tuple(outside))


def _filtered(b: Equations, port: Port, u: ca.SX, formulas: Formulas) -> tuple[ca.SX, ca.SX, ca.SX]:
    """y, y' and y'' (n, 1) of the filter."""
    (tau,) = b.parameters(**{f"{port.name}.filter": port.filter})
    (y_name, y0), (rate_name, rate0) = filter_states(port, formulas).items()
    y = b.continuous(y_name, y0, labels=port.labels, part=port.name)
    of_rates = [f"rate of {text}" for text in port.labels]
    rate = b.continuous(rate_name, rate0, static="zero", labels=of_rates, part=port.name)
    second = ((u - ca.SX(y)) / ca.SX(tau) - 2 * ca.SX(rate)) / ca.SX(tau)
    b.derivative(y, rate)
    b.derivative(rate, second)
    return ca.SX(y), ca.SX(rate), second


def filter_states(port: Port, formulas: Formulas) -> dict[str, np.ndarray]:
    """Initial values of a filter's states by name; none without a filter."""
    if not port.filter:
        return {}
    start = np.array([_before_exchange(formulas, id) for id in port.variables])
    return {f"{port.name}.filtered": start, f"{port.name}.filtered_rate": np.zeros(port.size)}


def _before_exchange(formulas: Formulas, id: int) -> float:
    """The number a variable's own expression is; 0 where it is no plain number."""
    expression = formulas.get((Reference_Variable.tag, id, "expr"))
    line = None if expression is None else expression.steps[-1].line
    return line.offset if line is not None and not line.slope else 0.0
