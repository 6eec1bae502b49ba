"""Operating points at rest: bounded least squares with the exact Jacobian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import is_number, number
from blocks.contract.block import Block
from blocks.contract.memories import DiscreteState
from blocks.errors import PlantloopError
from cosim.analysis.damped_newton import damped_newton
from cosim.analysis.followed_branches import FollowedBranches
from cosim.analysis.operating import OperatingPoint, SystemAtPoint, model_of, static_of
from cosim.analysis.settling import settled
from cosim.analysis.sides import Sides
from cosim.columns import pick
from cosim.diagram import Diagram
from cosim.names import Names, listed, mapped
from cosim.port_handles import Node
from cosim.run.named_values import set_input
from cosim.segments import LastSegment, RepeatSegment, Segment
from cosim.slots import MemorySlot, Slot
from cosim.system import System

ROUNDS = 20  # of solving with the modes of the point found last
SAMPLED = 3  # of them in which a sampled diagram is let go, which takes a while


def trim(
    system: Block | Diagram | Node,
    x: Mapping[str, Any] | None = None,
    u: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    fixed: Sequence[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
) -> OperatingPoint:
    """Equilibrium: x' = 0, and x_{k+1} = x_k for discrete states, under the given conditions.

    Parameters
    ----------
    x : state name -> value       first guess (kept where the state is in `fixed`)
    u : input name -> value       inputs, kept unless in `free`; default zero
    y : output name -> value      values the outputs must have
    free : inputs that may vary;  fixed : states that may not. Rates (`static="zero"`) are zero
    bounds : name -> (low, high)  of states and free inputs
    tolerance : largest residual that counts as an equilibrium [state units per s; of discrete states per
        tick; output units]

    Raises
    ------
    PlantloopError     unknown name; Python, charts or called parts at ticks; or no equilibrium (with the
        worst equation)

    Solved by bounded least squares with the exact Jacobian (scipy.optimize.least_squares, method "trf").
    Where that fails, as along stiff penalties, a damped Newton's method follows and, if all inputs are
    given, the system relaxes to a stable equilibrium (`relaxation.py`). A residual above `tolerance` that
    comes from the last bits of the states counts as zero. Sampled signals have their values at a tick of all
    rates at the time of the point. Switches stand as in a run that begins at the equilibrium: what
    friction holds there is at rest.
    """
    tolerance = number(tolerance, "tolerance", "a positive number", above=0.0)
    if x is not None:
        x = mapped(x, "x")
    model = model_of(system, at=x, parameters=parameters, begun=False)
    prefix = model.prefix
    named = lambda given, what: {n.removeprefix(prefix): v for n, v in mapped(given, what).items()}
    several = lambda given, what: [n.removeprefix(prefix) for n in listed(given, what)]
    wanted = _Trim(
        model,
        named(u, "u"),
        named(y, "y"),
        several(free, "free"),
        several(fixed, "fixed"),
        {name: _limits_of(name, value) for name, value in named(bounds, "bounds").items()},
    )
    with model.looking():
        return wanted.solve(tolerance)


def _at_ticks(system: System) -> list[Segment]:
    """What is computed at ticks, as equations that hold at rest: memories refreshed, discrete states kept."""
    if not system.rates:
        return []
    for segment in system.schedule:
        if segment.external or isinstance(segment, (LastSegment, RepeatSegment)):
            what = "calls Python" if segment.external else "goes on in rounds or by calls"
            raise PlantloopError(
                f"trim knows no rest of '{segment.path}': it {what} at ticks.",
                path=segment.path,
                hint="Trim the diagram without it, with its outputs as inports.",
            )
    return list(system.schedule)


def _discrete_states(s: System) -> dict[str, MemorySlot[Any]]:
    """Discrete states by name."""
    return {
        name: slot for name, slot in s.held.items()
        if isinstance(slot, MemorySlot) and isinstance(slot.memory, DiscreteState)
    }  # fmt: skip


def _limits_of(name: str, value: Any) -> tuple[float, float]:
    """Two numbers, the lower first."""
    try:
        low, high = value
    except (TypeError, ValueError, OverflowError):
        low = high = None
    if not (is_number(low) and is_number(high)):
        raise PlantloopError(
            f"bounds of '{name}' are {value!r}, expected two numbers (low, high).",
            path=name,
            value=value,
            hint="An open side is -inf or inf. To keep one value, list a state in fixed=.",
        )
    return float(low), float(high)


def _largest(residual: np.ndarray) -> int:
    """Which equation is missed most."""
    return int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))


class _Trim:
    def __init__(
        self,
        model: SystemAtPoint,
        u: dict[str, Any],
        y: dict[str, Any],
        free: Sequence[str],
        fixed: Sequence[str],
        bounds: dict[str, tuple[float, float]],
    ) -> None:
        self.model = model
        s, c = model.system, model.context
        where, inputs, outputs = f"'{s.name}'", s.names("input"), s.names("output")
        at_ticks = _at_ticks(s)
        self.discrete = _discrete_states(s) if at_ticks else {}
        resting_names = {**s.states, **self.discrete}
        states = Names("state", where, resting_names, {}, s.prefix, parts=False)
        either = Names("state or input", where, {**resting_names, **s.inputs}, {}, s.prefix, parts=False)
        u, free = {inputs.whole(n): v for n, v in u.items()}, [inputs.whole(n) for n in free]
        y, fixed = {outputs.whole(n): v for n, v in y.items()}, [states.whole(n) for n in fixed]
        self.bounds = {either.whole(n): limits for n, limits in bounds.items()}
        for name, value in u.items():
            set_input(s, c, name, value)
        for slot in s.states.values():
            if static_of(slot) == "zero":
                c.x[slot.index] = 0.0
        self._choose_unknowns(free, fixed, at_ticks)
        self.low, self.high = self._limits(resting_names)
        self.branches = FollowedBranches(model)
        self.asked = [
            (path, block) for path, (block, _) in s.parts.items()
            if type(block).closed_otherwise is not Block.closed_otherwise
        ]  # fmt: skip
        self._write_equations(y, at_ticks)

    def _choose_unknowns(
        self, free: Sequence[str], fixed: Sequence[str], at_ticks: Sequence[Segment]
    ) -> None:
        """Places in x and h of what is looked for: states that are not fixed, inputs that are free."""
        s = self.model.system
        moving = [slot for n, slot in s.states.items() if static_of(slot) == "solve" and n not in fixed]
        self.x_index = np.concatenate([np.zeros(0, int), *[slot.index for slot in moving]])
        kept = {int(k) for n in fixed if n in self.discrete for k in self.discrete[n].index}
        written = dict.fromkeys(int(k) for segment in at_ticks for k in segment.writes)
        given = [int(k) for n in free for k in s.inputs[n].index]
        self.given = bool(given)  # inputs
        self.h_index = np.array([*given, *(k for k in written if k not in kept)], int)

    def _write_equations(self, y: Mapping[str, Any], at_ticks: Sequence[Segment]) -> None:
        """What is zero at rest, with its names and its Jacobian by the unknowns."""
        s = self.model.system
        self.goal = np.concatenate([np.zeros(0), *[self._target(n, value) for n, value in y.items()]])
        resting = np.flatnonzero(
            np.array([static_of(slot) != "hold" for slot in s.states.values() for _ in slot.index])
        )
        wanted = [s.signal(s.outports[n]).expression for n in y]
        delays = [pick(s.w, d.places) - d.signal for d in s.delays]  # at rest the past is the present
        sampled = [segment.expression - pick(s.h, segment.writes) for segment in at_ticks]
        equations = ca.vertcat(
            pick(s.derivative, resting), *wanted, *sampled, s.invariants, s.residual, *delays
        )
        self.equation_names = [f"the derivative of state '{self.model.state_names[k]}'" for k in resting]
        self.equation_names += [f"output '{n}' minus its value" for n in y for _ in self._target(n, y[n])]
        self.equation_names += [
            f"the change at a tick of '{segment.place_of(k, s.held)}'"
            for segment in at_ticks for k in range(len(segment.writes))
        ]  # fmt: skip
        self.goal_at = slice(len(resting), len(resting) + len(self.goal))
        self.lettings = 0 if len(y) or self.given else SAMPLED if len(self.h_index) else ROUNDS
        v = ca.vertcat(pick(s.x, self.x_index), pick(s.h, self.h_index), s.w)
        key = f"trim:{self.x_index.tolist()}:{self.h_index.tolist()}:{list(y)}"
        function = s.function(key, lambda: [equations, ca.densify(ca.jacobian(equations, v))])
        self._time = np.zeros(1)
        self._equations = self.model.bound(function, self._time)

    def _target(self, name: str, value: Any) -> np.ndarray:
        s = self.model.system
        size = s.signal(s.outports[name]).size
        try:
            array = np.ravel(np.asarray(value, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise PlantloopError(f"output '{name}' is {value!r}, expected numbers.", path=name) from None
        if array.size != size:
            raise PlantloopError(f"output '{name}' got {array.size} numbers, expected {size}.", path=name)
        return array

    def _limits(self, names: Mapping[str, Slot]) -> tuple[np.ndarray, np.ndarray]:
        s = self.model.system
        low_x, high_x = np.full(len(s.x0), -np.inf), np.full(len(s.x0), np.inf)
        low_h, high_h = np.full(len(s.h0), -np.inf), np.full(len(s.h0), np.inf)
        for name, (low, high) in self.bounds.items():
            if not low < high:
                raise PlantloopError(
                    f"bounds of '{name.removeprefix(s.prefix)}' are ({low}, {high}), expected low < high.",
                    path=name,
                    hint="To keep one value, list a state in fixed= or leave an input out of free=.",
                )
            if name in s.states:
                low_x[names[name].index], high_x[names[name].index] = low, high
            else:
                index = {**names, **s.inputs}[name].index
                low_h[index], high_h[index] = low, high
        return (
            np.concatenate([low_x[self.x_index], low_h[self.h_index], np.full(len(s.w0), -np.inf)]),
            np.concatenate([high_x[self.x_index], high_h[self.h_index], np.full(len(s.w0), np.inf)]),
        )

    def _evaluate(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c = self.model.context
        nx, nh = len(self.x_index), len(self.h_index)
        c.x[self.x_index], c.h[self.h_index], c.w[:] = v[:nx], v[nx : nx + nh], v[nx + nh :]
        self._time[0] = c.t
        residual = self._equations().copy()
        residual[self.goal_at] -= self.goal
        jacobian = self._equations.outputs[1].reshape(len(v), len(residual)).T  # column after column
        return residual, np.array(jacobian, order="C")

    def solve(self, tolerance: float) -> OperatingPoint:
        """The equilibrium, with every switch on the side on which a run that begins there has it."""
        sides = Sides(self.model.system, self.model.context)
        moved, found = sides.find(), self._here()
        for _ in range(ROUNDS):
            if moved and not self._misses(found, tolerance):
                break
            found = self._nearest(tolerance)
            if not (moved := sides.find()):
                break
        residual, _ = self._evaluate(found)
        if self._misses(found, tolerance):
            cure = "Free an input or a state, widen the bounds, or start from a better guess"
            if sides.several:
                cure += ", on the other side of a switch: they stand as in a run that begins there"
            if self._is_driven(found):
                cure = (
                    "Trim it with the motion at a constant place or without it; a steady motion is "
                    "linearised where it is, linearize(system, at={states and inputs})"
                )
            why = self._elsewhere() if np.abs(residual).max(initial=0.0) <= tolerance else ""
            raise PlantloopError(f"no equilibrium found: {why or self._worst(residual)}.", hint=f"{cure}.")
        return self._point(float(np.abs(residual).max()) if len(residual) else 0.0)

    def _here(self) -> np.ndarray:
        """The unknowns as they are, within the bounds."""
        c = self.model.context
        return np.clip(np.concatenate([c.x[self.x_index], c.h[self.h_index], c.w]), self.low, self.high)

    def _nearest(self, tolerance: float) -> np.ndarray:
        """Unknowns that miss the equations least, with the modes as they are."""
        from scipy.optimize import least_squares

        start = self._here()
        residual, _ = self._evaluate(start)
        if not np.isfinite(residual).all():
            raise PlantloopError(
                f"no equilibrium can be looked for from this guess: {self._worst(residual)}.",
                hint="Give a first guess x= at which the equations are finite.",
            )
        if not len(start):
            return start
        found = least_squares(
            lambda v: self._evaluate(v)[0], start, jac=lambda v: self._evaluate(v)[1],
            bounds=(self.low, self.high), xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac",
        ).x  # fmt: skip
        begun = self.branches.now
        for guess in (start, found):  # stiff equations hide the way from a sum of squares
            if self._misses(found, tolerance):
                found = self._by_newton(guess, found, begun, tolerance)
        if self._misses(found, tolerance) and self.lettings:
            self.lettings -= 1
            self._evaluate(start)
            rest = settled(self.model, self.x_index, self.h_index, (self.low, self.high), self.branches)
            found = self._by_newton(rest, found, begun, tolerance)
        self._evaluate(found)
        return found

    def _by_newton(
        self, guess: np.ndarray, found: np.ndarray, begun: np.ndarray, tolerance: float
    ) -> np.ndarray:
        """What damped Newton's method finds from a guess; where it misses, `found` and angles as `begun`."""
        better = damped_newton(
            self._evaluate, guess, self.low, self.high, tolerance, arrived=self.branches.go_on
        )
        if not self._misses(better, tolerance):
            return better
        self.branches.begin_at(begun)
        return found

    def _misses(self, v: np.ndarray, tolerance: float) -> bool:
        """Is an equation not fulfilled, by more than the tolerance and what the last bits of v make of it?

        So are those of a mechanism that is put together in another way, though they hold.
        """
        residual, jacobian = self._evaluate(v)
        rounding = 8.0 * np.finfo(float).eps * (np.abs(jacobian) @ np.abs(v))
        return not bool((np.abs(residual) <= np.fmax(tolerance, rounding)).all()) or bool(self._elsewhere())

    def _elsewhere(self) -> str:
        """Why the states of the context belong to no rest of the system, "" where they may."""
        s, x = self.model.system, self.model.context.x
        for path, block in self.asked:
            own = {n.removeprefix(f"{path}."): x[o.index] for n, o in s.states.items() if o.path == path}
            if why := block.closed_otherwise(own):
                return why
        return ""

    def _worst(self, residual: np.ndarray) -> str:
        k = _largest(residual)
        named = k < len(self.equation_names)
        what = self.equation_names[k] if named else "an invariant or algebraic equation"
        if not named and self._is_driven(self._here()):
            what = "a velocity that a motion or a constraint asks for, where nothing moves at rest,"
        return f"{what} is {residual[k]:.3g}"

    def _is_driven(self, v: np.ndarray) -> bool:
        """Is what is missed most an invariant that nothing which may vary here has a part in?"""
        residual, jacobian = self._evaluate(v)
        k = _largest(residual)
        first = len(self.equation_names)
        return first <= k < first + self.model.system.invariants.numel() and not jacobian[k].any()

    def _point(self, residual: float) -> OperatingPoint:
        model, s, c = self.model, self.model.system, self.model.context
        solved = set(self.h_index.tolist())
        sampled = {
            n: slot for n, slot in s.names("state").known.items()
            if n in s.held and n not in self.discrete and solved.issuperset(slot.index.tolist())
        }  # fmt: skip
        named = lambda vector, slots: {
            n.removeprefix(model.prefix): vector[slot.index].copy() for n, slot in slots.items()
        }
        shown = s.function("outports", lambda: [s.signal(n).expression for n in s.outports.values()])
        values = shown.call(model.arguments()) if s.outports else []
        return OperatingPoint(
            named(c.x, s.states) | named(c.h, self.discrete),
            {n: c.h[slot.index].copy() for n, slot in s.inputs.items()},
            {n: np.array(v, dtype=float).ravel() for n, v in zip(s.outports, values, strict=True)},
            residual,
            model.prefix,
            named(c.h, sampled) | {n.removeprefix(model.prefix): v for n, v in self.branches.left()},
        )
