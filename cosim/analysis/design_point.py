"""A plant as controllers are designed for it: an equilibrium, and the linear model about it.

`LQR.of`, `MPC.of` and the like ask for it (`blocks.library.designed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.rate import Ticks, rational
from blocks.errors import PlantloopError, shown
from cosim.analysis.common_period import common
from cosim.analysis.linear import _held_names, _label, basis_of, linearize, walk_of
from cosim.analysis.operating import OperatingPoint, SystemAtPoint, diagram_of, model_of, static_of
from cosim.diagram import Diagram
from cosim.port_handles import Node
from cosim.run.context import Context
from cosim.segments import Segment

AT_REST = 1e-6  # of a derivative, beside the sizes of its linear terms


@dataclass(frozen=True)
class DesignPoint:
    """dx' = A dx + B du, dy = C dx + D du about (x0, u0, y0); with dt above 0 from tick to tick.

    A, B, C, D : (n, n), (n, m), (p, n), (p, m);  x0, u0, y0 : (n,), (m,), (p,)
    states : names of the n states; tied ones are left out, as in `linearize`
    outputs : names of the p components of y
    dt : s, 0 for a continuous model. Otherwise x is taken just before a tick, y at it, and u is held
    offset, period : s, ticks of a sampled one are at offset + k period, dt is a multiple of period
    """

    matrices: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    x0: np.ndarray
    u0: np.ndarray
    y0: np.ndarray
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    dt: float = 0.0
    offset: Fraction = Fraction(0)
    period: Fraction = Fraction(0)

    @property
    def model(self) -> tuple[Any, ...]:
        """The matrices as the field `system` of a block takes them: behind those of a sampled one dt."""
        return (*self.matrices, self.dt) if self.dt else self.matrices


def design_point(
    system: Block | Diagram | Node,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    at: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    sample: Any = None,
) -> DesignPoint:
    """The linear model of a plant at rest, with the values of its states, inputs and outputs there.

    Arguments are those of `linearize`; of a sampled diagram `sample` [s] is the time for which inputs are
    held, a multiple of its common period, which it is by default.

    Raises
    ------
    PlantloopError     as `linearize`; no state; a state that is not at rest at the point; another sample time
    """
    system = diagram_of(system)
    found = linearize(system, inputs, outputs, at, parameters)
    model = model_of(system, inputs, outputs, at, parameters)
    s, c = model.system, model.context
    if not len(model.input_index):
        raise PlantloopError(
            f"'{s.name}' has no inputs to be controlled by.", path=s.name, hint="Name some in inputs=."
        )
    values: dict[str, tuple[str, float]] = {}
    with model.looking():
        if s.rates:
            values = _held_at_rest(model)
        else:
            model.find_unknowns()
        function = s.function(
            f"design:{model.output_names}", lambda: [ca.densify(s.derivative), ca.densify(model.output)]
        )
        rates, seen = (np.array(v, dtype=float).ravel() for v in function.call(model.arguments()))
        A, B, *_ = model.continuous()
    u0 = c.h[model.input_index]
    _check_rest(model, rates, np.abs(A) @ np.abs(c.x) + np.abs(B) @ np.abs(u0))
    if not found.nstates:
        raise PlantloopError(f"'{s.name}' has no states to be controlled.", path=s.name)
    values |= {_label(name): (name, c.x[k]) for k, name in enumerate(model.state_names)}
    matrices = (found.A, found.B, found.C, found.D)
    dt = float(found.dt or 0.0)
    if dt and sample is not None:
        matrices, dt = _held_longer(s.name, matrices, dt, sample)
    states = [values[label] for label in found.state_labels]
    names = tuple(name for name, _ in states)
    x0 = np.array([value for _, value in states])
    ticks = _period(s.rates) if s.rates else (Fraction(0), Fraction(0))
    return DesignPoint(matrices, x0, u0.copy(), seen, names, tuple(model.output_names), dt, *ticks)


def _period(rates: Sequence[Ticks]) -> tuple[Fraction, Fraction]:
    """Where the common period of a linear model begins, and how long it is."""
    period = common(r.period for r in rates)
    return max(rates, key=lambda r: r.period).offset % period, period


def _held_at_rest(model: SystemAtPoint) -> dict[str, tuple[str, float]]:
    """Values held at the equilibrium of a sampled diagram: label of a state -> its name and value.

    The context is left just before a tick.
    """
    s, c = model.system, model.context
    basis = basis_of(model, "minimal")
    walked = walk_of(model).model(basis.z, basis.t)
    if walked.past or walked.rational:
        name = (*walked.past, *walked.rational)[0]
        raise PlantloopError(
            f"'{s.name}' has a delay, '{name}', whose states a controller made in one call does not know.",
            path=s.name,
            hint="Take Delay or UnitDelay, or give the model: LQR(linearize(diagram, ...), ...).",
        )
    for segment in s.schedule:
        if segment.writes_next:
            _check_kept(model, segment)
    held = _held_names(model, walked)
    return {_label(name): (name, c.h[place]) for name, (place, _) in zip(held, walked.held, strict=True)}


def _check_kept(model: SystemAtPoint, segment: Segment) -> None:
    """Refuse a point at which a discrete state does not repeat itself."""
    s, c = model.system, model.context
    function = s.function(f"design:{segment.path}:{segment.names}", lambda: [ca.densify(segment.expression)])
    now = c.h[segment.writes]
    moved = np.array(function(*model.arguments()), dtype=float).ravel() - now
    if (np.abs(moved) <= AT_REST * (1.0 + np.abs(now))).all():
        return
    worst = int(np.argmax(np.abs(moved)))
    name = model.held_names[int(segment.writes[worst])]
    raise _not_at_rest(
        s.name, name, f"'{name}' changes by {moved[worst]:.4g} from tick to tick", moved[worst]
    )


def _held_longer(
    name: str, matrices: tuple[np.ndarray, ...], dt: float, sample: Any
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], float]:
    """The model over several periods, through which the inputs are held; y is that at the first tick."""
    A, B, C, D = matrices
    longer = float(rational(sample, "sample"))
    count = round(longer / dt)
    if count < 1 or abs(count * dt - longer) > 1e-9 * longer:
        raise PlantloopError(
            f"sample is {shown(sample)}, expected a multiple of the common period of '{name}', {dt:g} s: its "
            "linear model is that from one such period to the next.",
            value=sample,
        )
    both = np.block([[A, B], [np.zeros((B.shape[1], len(A))), np.eye(B.shape[1])]])
    power = np.linalg.matrix_power(both, count)[: len(A)]
    return (power[:, : len(A)], power[:, len(A) :], C, D), longer


def _check_rest(model: SystemAtPoint, rates: np.ndarray, sizes: np.ndarray) -> None:
    """Refuse a point at which a state moves that does not go on by itself (an angle of a wheel does)."""
    s = model.system
    places = [k for slot in s.states.values() if static_of(slot) != "hold" for k in slot.index]
    moving = [k for k in places if not abs(rates[k]) <= AT_REST * (1.0 + sizes[k])]
    if moving:
        worst = max(moving, key=lambda k: abs(rates[k]))
        name = model.state_names[worst]
        raise _not_at_rest(s.name, name, f"the derivative of '{name}' is {rates[worst]:.4g}", rates[worst])


def _not_at_rest(whose: str, name: str, what: str, value: float) -> PlantloopError:
    return PlantloopError(
        f"'{whose}' is not at rest at this point: {what}, and a controller made of a linear model holds "
        "about a rest only.",
        path=name,
        value=float(value),
        hint="Give at=trim(plant, ...).",
    )
