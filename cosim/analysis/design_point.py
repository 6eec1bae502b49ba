"""A plant as controllers are designed for it: its linear model at rest, and where that rest is.

`LQR.of`, `MPC.of` and the like ask for it (`blocks.library.designed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError
from cosim.analysis.linear import linearize
from cosim.analysis.operating import OperatingPoint, SystemAtPoint, diagram_of, model_of, static_of
from cosim.diagram import Diagram
from cosim.port_handles import Node
from cosim.run.context import Context

AT_REST = 1e-6  # of a derivative, beside the sizes of its linear terms


@dataclass(frozen=True)
class DesignPoint:
    """dx' = A dx + B du, dy = C dx + D du about (x0, u0, y0).

    A, B, C, D : (n, n), (n, m), (p, n), (p, m);  x0, u0, y0 : (n,), (m,), (p,)
    states : names of the n states; tied ones are left out, as in `linearize`
    outputs : names of the p components of y
    """

    matrices: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    x0: np.ndarray
    u0: np.ndarray
    y0: np.ndarray
    states: tuple[str, ...]
    outputs: tuple[str, ...]


def design_point(
    system: Block | Diagram | Node,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    at: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> DesignPoint:
    """The linear model of a plant at rest, with the values of its states, inputs and outputs there.

    Arguments are those of `linearize`.

    Raises
    ------
    PlantloopError     as `linearize`; a sampled diagram; no state; a state that is not at rest at the point
    """
    system = diagram_of(system)
    model = model_of(system, inputs, outputs, at, parameters)
    s, c = model.system, model.context
    if s.rates:
        raise PlantloopError(
            f"'{s.name}' has sampled blocks: a controller can be designed of one call only for a continuous "
            "plant.",
            path=s.name,
            hint="Give the model itself: LQR(linearize(diagram, inputs, outputs), ...).",
        )
    if not len(model.input_index):
        raise PlantloopError(
            f"'{s.name}' has no inputs to be controlled by.", path=s.name, hint="Name some in inputs=."
        )
    found = linearize(system, inputs, outputs, at, parameters)
    model = model_of(system, inputs, outputs, at, parameters)
    with model.looking():
        model.find_unknowns()
        A, B, *_ = model.continuous()
        function = s.function(
            f"design:{model.output_names}", lambda: [ca.densify(s.derivative), ca.densify(model.output)]
        )
        rates, shown = (np.array(v, dtype=float).ravel() for v in function.call(model.arguments()))
    u0 = c.h[model.input_index]
    _check_rest(model, rates, np.abs(A) @ np.abs(c.x) + np.abs(B) @ np.abs(u0))
    if not found.nstates:
        raise PlantloopError(f"'{s.name}' has no continuous states to be controlled.", path=s.name)
    places = {name: k for k, name in enumerate(n.replace(".", "_") for n in model.state_names)}
    x0 = np.array([c.x[places[label]] for label in found.state_labels])
    names = [model.state_names[places[label]] for label in found.state_labels]
    matrices = (found.A, found.B, found.C, found.D)
    return DesignPoint(matrices, x0, u0.copy(), shown, tuple(names), tuple(model.output_names))


def _check_rest(model: SystemAtPoint, rates: np.ndarray, sizes: np.ndarray) -> None:
    """Refuse a point at which a state moves that does not go on by itself (an angle of a wheel does)."""
    s = model.system
    places = [k for slot in s.states.values() if static_of(slot) != "hold" for k in slot.index]
    moving = [k for k in places if not abs(rates[k]) <= AT_REST * (1.0 + sizes[k])]
    if moving:
        worst = max(moving, key=lambda k: abs(rates[k]))
        raise PlantloopError(
            f"'{s.name}' is not at rest at this point: the derivative of '{model.state_names[worst]}' is "
            f"{rates[worst]:.4g}, and a controller made of a linear model holds about a rest only.",
            path=model.state_names[worst],
            value=float(rates[worst]),
            hint="Give at=trim(plant, ...).",
        )
