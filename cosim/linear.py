"""Linear models and operating points, with exact derivatives.

`linearize` gives a python-control state space: continuous for a diagram without sampled blocks, and for a
diagram of one rate the exact discrete model from tick to tick. `trim` finds equilibria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from blocks.block import Block
from blocks.errors import PlantloopError, near_miss
from cosim.context import Context
from cosim.diagram import Diagram
from cosim.discretise import Discrete, refuse_delays, tick_model
from cosim.engine.newton import newton
from cosim.flatten import around
from cosim.simulation import set_initial, set_input, set_parameter
from cosim.system import Slot, pick

if TYPE_CHECKING:
    import control

BLOCK = "plant"  # what a block is called when it is looked at alone


@dataclass(frozen=True)
class OperatingPoint:
    """Where a system is linearised or started: values by name.

    states, inputs, outputs : name -> (k,) array; a block alone has no "plant." before its names
    residual : largest |x'| of the states that were to rest, in their own units per s
    """

    states: Mapping[str, np.ndarray]
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    residual: float = 0.0
    prefix: str = field(default="", repr=False)

    @property
    def initial(self) -> dict[str, np.ndarray]:
        """The states as ``simulate(..., initial=)`` takes them."""
        return {self.prefix + name: value for name, value in self.states.items()}


def linearize(
    system: Block | Diagram,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    at: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    states: Literal["minimal", "full"] = "minimal",
) -> control.StateSpace:
    """Linear model about an operating point, exact to rounding, names kept.

    Parameters
    ----------
    system : Block or Diagram    of a block alone, all its inputs and outputs are used
    inputs : list of str         inputs of the diagram, or outputs of blocks to which the input is added
                                 ("push.y"); default the diagram's inports
    outputs : list of str        signals; default the diagram's outports
    at : OperatingPoint, a snapshot, or values of states and inputs by name; default the initial state,
                                 inputs zero. One of a block alone fits a diagram that calls the block "plant"
    parameters : dict            parameter values by name
    states : "minimal"           independent directions only: A = T A_full Z with Z a basis of what the
                                 invariants allow and T Z = I; "full" keeps every state

    Returns
    -------
    ss : control.StateSpace      A (n,n), B (n,m), C (p,n), D (p,m); names are those of states and signals
                                 with "." written "_", as python-control wants. For a sampled diagram
                                 ``ss.dt`` is the period [s]: its states are those just before a tick, its
                                 inputs are held from tick to tick, its outputs are read at the tick

    Raises
    ------
    PlantloopError               unknown name, several rates, or an opaque block in the way
    """
    import control

    model = _Model(system, inputs, outputs, at, parameters)
    reduced = _invariant_basis(model) if states == "minimal" else _Basis.full(len(model.system.x0))
    discrete: Discrete | None = None
    if model.system.rates:
        discrete = tick_model(model.system, model.context, model.input_index, model.output)
        a, b, c, d = discrete.matrices(reduced.z, reduced.t)
        kept = discrete.kept
    else:
        a_full, b, c_full, d = model.continuous()
        a, b, c, kept = reduced.t @ a_full @ reduced.z, reduced.t @ b, c_full @ reduced.z, []
    names = [model.state_names[k] for k in reduced.independent] + [model.held_names[k] for k in kept]
    order = _state_order(model, reduced.independent, len(kept))
    a, b, c = a[np.ix_(order, order)], b[order], c[:, order]
    return control.ss(
        a, b, c, d, *([float(model.system.rates[0].period)] if discrete else []),
        states=[_label(names[k]) for k in order],
        inputs=[_label(n) for n in model.input_names],
        outputs=[_label(n) for n in model.output_names],
        name=_label(model.system.name),
        remove_useless_states=False,
    )  # fmt: skip


class _Model:
    """A system at an operating point, with the chosen inputs and outputs by place and name."""

    def __init__(
        self,
        system: Block | Diagram,
        inputs: Sequence[str] | None,
        outputs: Sequence[str] | None,
        at: OperatingPoint | Context | Mapping[str, Any] | None,
        parameters: Mapping[str, Any] | None,
    ) -> None:
        self.prefix = f"{BLOCK}." if isinstance(system, Block) else ""
        diagram = around(system) if isinstance(system, Block) else system
        if not isinstance(diagram, Diagram):
            raise PlantloopError(f"expected a Block or a Diagram, got {type(system).__name__}.")
        wanted = list(diagram.inports) if inputs is None else list(inputs)
        for name in wanted:
            if self.prefix and "." not in name:
                _known(name, diagram.inports, "input")
        perturbed = tuple(n for n in wanted if n not in diagram.inports)
        self.system = s = diagram.system(perturb=perturbed)
        self.context = Context.initial(s)
        for name, value in (parameters or {}).items():
            set_parameter(s, self.context, self._full(name, s.parameters, s.aliases), value)
        self._place(at)
        slots = [s.inputs[n] for n in wanted]
        self.input_index = np.concatenate([np.zeros(0, int), *[slot.index for slot in slots]])
        self.input_names = _components(wanted, slots)
        shown = s.outports if outputs is None else {n: self._full(n, s.signals) for n in outputs}
        signals = [s.signal(name) for name in shown.values()]
        self.output = ca.vertcat(ca.SX(0, 1), *[g.expression for g in signals])
        self.output_names = [
            n if g.size == 1 else f"{n}[{k}]"
            for n, g in zip(shown, signals, strict=True)
            for k in range(g.size)
        ]
        self.state_names = self._names(s.states, len(s.x0))
        self.held_names = self._names(s.held, len(s.h0))

    def _full(self, name: str, *known: Mapping[str, Any]) -> str:
        """Name with the block's prefix, where that is what was meant."""
        longer = self.prefix + name
        return longer if self.prefix and any(longer in k for k in known) else name

    def _names(self, slots: Mapping[str, Slot], size: int) -> list[str]:
        found = [""] * size
        for name, slot in slots.items():
            for k, place in enumerate(slot.index):
                short = name.removeprefix(self.prefix)
                found[place] = short if slot.size == 1 else f"{short}[{k}]"
        return found

    def _place(self, at: OperatingPoint | Context | Mapping[str, Any] | None) -> None:
        c, s = self.context, self.system
        if isinstance(at, Context):
            added = sum(slot.size for name, slot in s.inputs.items() if name == slot.name.removesuffix("+"))
            if len(at.x) != len(c.x) or len(at.h) not in (len(c.h), len(c.h) - added):
                raise PlantloopError("this snapshot was taken of another diagram.")
            shared = len(at.h)  # perturbations come last
            c.t, c.x[:], c.p[:], c.solution[:] = at.t, at.x, at.p, at.solution
            c.h[:shared], c.next[:shared] = at.h, at.next
            return
        if isinstance(at, OperatingPoint):
            states = at.states if self.prefix else at.initial
            at = dict(states) | {n: v for n, v in at.inputs.items() if n in s.inputs}
        if not isinstance(at or {}, Mapping):
            raise PlantloopError(f"at is {at!r}, expected an OperatingPoint, a snapshot or values by name.")
        slots = s.initial_slots()
        for name, value in (at or {}).items():
            if name in s.inputs:
                set_input(s, c, name, value)
            else:
                set_initial(s, c, self._full(name, slots, [name.partition("[")[0]]), value)  # type: ignore[arg-type]

    def arguments(self) -> list[ca.DM]:
        """t, x, h, w, p at the operating point."""
        c = self.context
        return [ca.DM(c.t), ca.DM(c.x), ca.DM(c.h), ca.DM(c.w), ca.DM(c.p)]

    def continuous(self) -> tuple[np.ndarray, ...]:
        """Full A, B, C, D; algebraic unknowns follow by the implicit function theorem."""
        s = self.system
        refuse_delays(s)
        n, nz = len(s.x0), s.residual.numel()
        self._find_unknowns()
        results = ca.vertcat(s.derivative, self.output, s.residual)
        variables = ca.vertcat(s.x, pick(s.h, self.input_index), s.w[:nz])
        key = f"jacobian:{self.input_names}:{self.output_names}"
        function = s.function(key, lambda: [ca.densify(ca.jacobian(results, variables))])
        whole = np.array(function(*self.arguments()), dtype=float)
        whole = whole.reshape(results.numel(), variables.numel())
        rows, columns = len(whole) - nz, variables.numel() - nz
        if nz:
            change = np.linalg.solve(whole[rows:, columns:], whole[rows:, :columns])
            whole = whole[:, :columns] - whole[:, columns:] @ change
        return whole[:n, :n], whole[:n, n:], whole[n:rows, :n], whole[n:rows, n:]

    def _find_unknowns(self) -> None:
        s, c = self.system, self.context
        n = s.residual.numel()
        if not n:
            return
        function = s.function("residual", lambda: [s.residual, ca.jacobian(s.residual, s.w[:n])])

        def residual() -> tuple[np.ndarray, np.ndarray]:
            value, jacobian = function(*self.arguments())
            return np.array(value, dtype=float).ravel(), np.array(jacobian, dtype=float)

        c.w[:n] = c.solution
        newton(residual, c.w, np.arange(n), s.loops, c.t)


@dataclass(frozen=True)
class _Basis:
    """Independent directions of x: dx = z dy, dy = t dx, t z = 1."""

    z: np.ndarray
    t: np.ndarray
    independent: list[int]

    @staticmethod
    def full(n: int) -> _Basis:
        return _Basis(np.eye(n), np.eye(n), list(range(n)))


def _invariant_basis(model: _Model) -> _Basis:
    """Basis of the null space of the invariants' Jacobian, in terms of independent states."""
    from scipy.linalg import qr

    s = model.system
    n = len(s.x0)
    if not s.invariants.numel():
        return _Basis.full(n)
    function = s.function("invariants:jacobian", lambda: [ca.densify(ca.jacobian(s.invariants, s.x))])
    jacobian = np.array(function(*model.arguments()), dtype=float)
    _, r, pivots = qr(jacobian, pivoting=True, mode="economic")
    rank = int((np.abs(np.diag(r)) > 1e-9 * max(1.0, abs(r[0, 0]))).sum())
    dependent = sorted(int(k) for k in pivots[:rank])
    independent = [k for k in range(n) if k not in dependent]
    z = np.zeros((n, len(independent)))
    z[independent] = np.eye(len(independent))
    z[dependent] = -np.linalg.lstsq(jacobian[:, dependent], jacobian[:, independent], rcond=None)[0]
    t = np.zeros((len(independent), n))
    t[:, independent] = np.eye(len(independent))
    return _Basis(z, t, independent)


def _state_order(model: _Model, independent: list[int], held: int) -> list[int]:
    """Coordinates first, then their rates, then the states of controllers, then what is held."""
    rank = np.zeros(len(model.system.x0), dtype=int)
    with_rates = {n.partition(".")[0] for n, s in model.system.states.items() if _static(s) == "zero"}
    for name, slot in model.system.states.items():
        if name.partition(".")[0] in with_rates:
            rank[slot.index] = 1 if _static(slot) == "zero" else 0
        else:
            rank[slot.index] = 2
    order = sorted(range(len(independent)), key=lambda k: rank[independent[k]])
    return order + [len(independent) + k for k in range(held)]


def _static(slot: Slot) -> str:
    return slot.memory.static if slot.memory else "solve"


def _components(names: Sequence[str], slots: Sequence[Slot]) -> list[str]:
    return [
        n if s.size == 1 else f"{n}[{k}]" for n, s in zip(names, slots, strict=True) for k in range(s.size)
    ]


def _label(name: str) -> str:
    return name.replace(".", "_")


def trim(
    system: Block | Diagram,
    x: Mapping[str, Any] | None = None,
    u: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    fixed: Sequence[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
) -> OperatingPoint:
    """Equilibrium: x' = 0 with the conditions asked for.

    Parameters
    ----------
    x : state name -> value       first guess (kept where the state is in `fixed`)
    u : input name -> value       inputs, kept unless in `free`; default zero
    y : output name -> value      values the outputs must have
    free : inputs that may vary;  fixed : states that may not. Rates (`static="zero"`) are zero
    bounds : name -> (low, high)  of states and free inputs
    tolerance : largest residual [state units per s, output units] that counts as an equilibrium

    Raises
    ------
    PlantloopError     unknown name, sampled blocks inside, or no equilibrium (with the worst equation)

    Solved by bounded least squares with the exact Jacobian (scipy.optimize.least_squares, method "trf").
    """
    model = _Model(system, None, None, x, parameters)
    if model.system.rates:
        raise PlantloopError(
            "trim needs a continuous system; this diagram has sampled blocks.", hint="Trim the plant alone."
        )
    return _Trim(model, dict(u or {}), dict(y or {}), free, fixed, dict(bounds or {})).solve(tolerance)


class _Trim:
    def __init__(
        self,
        model: _Model,
        u: dict[str, Any],
        y: dict[str, Any],
        free: Sequence[str],
        fixed: Sequence[str],
        bounds: dict[str, tuple[float, float]],
    ) -> None:
        self.model, self.bounds = model, bounds
        s, c = model.system, model.context
        names = {n.removeprefix(model.prefix): slot for n, slot in s.states.items()}
        for name in (*u, *free):
            _known(name, s.inputs, "input")
        for name in y:
            _known(name, s.outports, "output")
        for name in fixed:
            _known(name, names, "state")
        for name in bounds:
            _known(name, {**names, **s.inputs}, "state or input")
        for name, value in u.items():
            set_input(s, c, name, value)
        moving = [slot for n, slot in names.items() if _static(slot) == "solve" and n not in fixed]
        for slot in names.values():
            if _static(slot) == "zero":
                c.x[slot.index] = 0.0
        self.x_index = np.concatenate([np.zeros(0, int), *[slot.index for slot in moving]])
        self.u_index = np.concatenate([np.zeros(0, int), *[s.inputs[n].index for n in free]])
        self.low, self.high = self._limits(names)
        self.goal = np.concatenate([np.zeros(0), *[self._target(n, value) for n, value in y.items()]])
        resting = np.flatnonzero(
            np.array([_static(slot) != "hold" for slot in names.values() for _ in slot.index])
        )
        outputs = [s.signal(s.outports[n]).expression for n in y]
        delays = [pick(s.w, d.places) - d.signal for d in s.delays]  # at rest the past is the present
        equations = ca.vertcat(pick(s.derivative, resting), *outputs, s.invariants, s.residual, *delays)
        self.equation_names = [f"the derivative of state '{model.state_names[k]}'" for k in resting]
        self.equation_names += [f"output '{n}' minus its value" for n in y for _ in self._target(n, y[n])]
        self.goal_at = slice(len(resting), len(resting) + len(self.goal))
        v = ca.vertcat(pick(s.x, self.x_index), pick(s.h, self.u_index), s.w)
        key = f"trim:{self.x_index.tolist()}:{self.u_index.tolist()}:{list(y)}"
        self.function = s.function(key, lambda: [equations, ca.densify(ca.jacobian(equations, v))])

    def _target(self, name: str, value: Any) -> np.ndarray:
        s = self.model.system
        size = s.signal(s.outports[name]).size
        array = np.ravel(np.asarray(value, dtype=float))
        if array.size != size:
            raise PlantloopError(f"output '{name}' got {array.size} numbers, expected {size}.", path=name)
        return array

    def _limits(self, names: Mapping[str, Slot]) -> tuple[np.ndarray, np.ndarray]:
        s = self.model.system
        low_x, high_x = np.full(len(s.x0), -np.inf), np.full(len(s.x0), np.inf)
        low_u, high_u = np.full(len(s.h0), -np.inf), np.full(len(s.h0), np.inf)
        for name, (low, high) in self.bounds.items():
            if not low < high:
                raise PlantloopError(
                    f"bounds of '{name}' are ({low}, {high}), expected low < high.",
                    path=name,
                    hint="To keep one value, list a state in fixed= or leave an input out of free=.",
                )
            if name in names:
                low_x[names[name].index], high_x[names[name].index] = low, high
            else:
                low_u[s.inputs[name].index], high_u[s.inputs[name].index] = low, high
        return (
            np.concatenate([low_x[self.x_index], low_u[self.u_index], np.full(len(s.w0), -np.inf)]),
            np.concatenate([high_x[self.x_index], high_u[self.u_index], np.full(len(s.w0), np.inf)]),
        )

    def _evaluate(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c = self.model.context
        nx, nu = len(self.x_index), len(self.u_index)
        c.x[self.x_index], c.h[self.u_index], c.w[:] = v[:nx], v[nx : nx + nu], v[nx + nu :]
        r, jacobian = self.function(*self.model.arguments())
        residual = np.array(r, dtype=float).ravel()
        residual[self.goal_at] -= self.goal
        return residual, np.array(jacobian, dtype=float).reshape(len(residual), len(v))

    def solve(self, tolerance: float) -> OperatingPoint:
        from scipy.optimize import least_squares

        c = self.model.context
        start = np.concatenate([c.x[self.x_index], c.h[self.u_index], c.w])
        start = np.clip(start, self.low, self.high)
        residual, _ = self._evaluate(start)
        if not np.isfinite(residual).all():
            raise PlantloopError(
                f"no equilibrium can be looked for from this guess: {self._worst(residual)}.",
                hint="Give a first guess x= at which the equations are finite.",
            )
        if len(start):
            found = least_squares(
                lambda v: self._evaluate(v)[0], start, jac=lambda v: self._evaluate(v)[1],
                bounds=(self.low, self.high), xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac",
            )  # fmt: skip
            start = found.x
        residual, _ = self._evaluate(start)
        if not np.isfinite(residual).all() or (len(residual) and np.abs(residual).max() > tolerance):
            raise PlantloopError(
                f"no equilibrium found: {self._worst(residual)}.",
                hint="Free an input or a state, widen the bounds, or start from a better guess.",
            )
        return self._point(float(np.abs(residual).max()) if len(residual) else 0.0)

    def _worst(self, residual: np.ndarray) -> str:
        k = int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))
        named = k < len(self.equation_names)
        what = self.equation_names[k] if named else "an invariant or algebraic equation"
        return f"{what} is {residual[k]:.3g}"

    def _point(self, residual: float) -> OperatingPoint:
        model, s, c = self.model, self.model.system, self.model.context
        shown = s.function("outports", lambda: [s.signal(n).expression for n in s.outports.values()])
        values = shown.call(model.arguments()) if s.outports else []
        return OperatingPoint(
            {n.removeprefix(model.prefix): c.x[slot.index].copy() for n, slot in s.states.items()},
            {n: c.h[slot.index].copy() for n, slot in s.inputs.items()},
            {n: np.array(v, dtype=float).ravel() for n, v in zip(s.outports, values, strict=True)},
            residual,
            model.prefix,
        )


def _known(name: str, known: Mapping[str, Any], what: str) -> None:
    if name not in known:
        raise PlantloopError(f"no {what} '{name}'; {near_miss(name, known)}", path=name)
