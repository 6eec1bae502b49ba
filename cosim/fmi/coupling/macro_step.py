"""One step of the coupling: every unit that has a communication point at its end, and our own blocks.

The rules are those of docs/coupling.md: curves assumed over the step are made in `curves`; in which order
units step is known to the coupled system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from blocks.errors import BlockError
from cosim.engines.engine import Engine
from cosim.fmi.coupling.coupled_system import OURS, CoupledSystem
from cosim.fmi.coupling.curves import Curve, between, through
from cosim.fmi.coupling.fixed_point import FixedPoint
from cosim.fmi.coupling.quality import QualityLog
from cosim.fmi.coupling.rollback import Mark
from cosim.fmi.coupling.unit_run import UnitRun, kept, restored
from cosim.fmi.coupling.wiring_of_units import Exchange

Explicit = Callable[[float, Sequence[int]], dict[int, np.ndarray]]
"""Makes a step to a time [s] with some units; returns the inputs that each was given at its end."""


class RepeatsSteps(Protocol):
    """Makes steps of some units again, see `direct_feedthrough`."""

    def step(self, t1: float, arriving: Sequence[int], explicit: Explicit) -> dict[int, np.ndarray]:
        """A step to t1 [s] as `explicit` makes it, and what is made again."""


class MacroStep:
    """Makes the steps of one run; the only memory between steps is a log of their quality."""

    def __init__(self, coupled: CoupledSystem, engine: Engine, exchange: Exchange) -> None:
        self.coupled, self.engine, self.exchange = coupled, engine, exchange
        self.coupling, self.order = coupled.coupling, coupled.coupling.extrapolation
        self.context = engine.context
        self.in_pieces = self.coupling.rtol is not None  # then units take steps of any length
        self.repeats: RepeatsSteps | None = None  # where steps of some units are made again at the end
        self.log = QualityLog([u.block.n_inputs for u in coupled.units])
        self.begins_iterated = False  # first steps of a quadratic coupling, where units can be rolled back
        self._paths = [u.path for u in coupled.units]
        self.sequence = coupled.order if OURS in coupled.order else [OURS, *coupled.order]

    @property
    def runs(self) -> list[UnitRun]:
        """The units of the run."""
        return self.exchange.runs

    def mark(self) -> Mark:
        """The present state of our own blocks."""
        return Mark(self.context, self.engine.instances, self._paths)

    # --- one step ---------------------------------------------------------------------------------
    def make(self, t1: float, arriving: Sequence[int], known: np.ndarray | None = None) -> str:
        """A step to t1 [s], where the units in `arriving` have a point; the message if one ends the run.

        known : (m,) outputs of these units at t1, one after the other, if they are assumed to be known
        """
        runs = self.runs
        for k in arriving:
            runs[k].tune(self.exchange.parameters(k))
        events, jumps = self.engine.counters.events, self._jumps()
        if known is not None:
            assumed = self._known(t1, arriving, known)
        elif arriving and (self.coupling.iterate or self._begins(arriving)):
            assumed = self._iterated(t1, arriving)
        elif self.repeats is not None:
            assumed = self.repeats.step(t1, arriving, self._explicit)
        else:
            assumed = self._explicit(t1, arriving)
        ended = min((r.standing for r in runs if r.standing.ended), key=lambda s: s.time, default=None)
        if ended is not None:
            return self.end(ended.ended)
        self._arrive(t1, arriving, assumed, events, jumps)
        ends = next((runs[k].standing.ended for k in arriving if runs[k].standing.ended), "")  # in a visit
        return self.end(ends) if ends else ""

    def _jumps(self) -> int:
        """The number of jumps of our own blocks so far: at events, and at listed, known instants."""
        return self.engine.counters.events + sum(self.context.instants.values())

    def _begins(self, arriving: Sequence[int]) -> bool:
        """Whether units without a past arrive; held signals would spoil the order of a quadratic coupling."""
        return self.begins_iterated and any(len(self.runs[k].standing.u) < 2 for k in arriving)

    def sample(self, t: float, starting: Sequence[int]) -> None:
        """Units that begin here sample their inputs."""
        u = self.exchange.inputs(t)
        for k in starting:
            run = self.runs[k]
            run.standing = run.standing.given(u[self.coupled.units[k].inputs])

    def end(self, message: str) -> str:
        """A unit ends the run: deliver everything known at its time."""
        for k, run in enumerate(self.runs):
            time, y = run.standing.y[0]
            if time <= self.context.t:
                self.exchange.write(k, Curve.held(self.context.t, y))
        self.engine.arrive(message)
        return message

    def approach(self, t: float) -> None:
        """Advance our own blocks to t [s] from the left, if they are not there yet."""
        if t > self.context.t:
            self.engine.approach(t)

    def _arrive(
        self,
        t1: float,
        arriving: Sequence[int],
        assumed: dict[int, np.ndarray],
        events: int,
        jumps: int,
    ) -> None:
        """Deliver outputs, then handle the instant, then sample inputs."""
        runs, units = self.runs, self.coupled.units
        for k in arriving:
            self.exchange.write(k, Curve.held(t1, runs[k].standing.y[0][1]))
        delivered = self.exchange.inputs(t1)
        for k in arriving:
            met = delivered[units[k].inputs]
            self.log.add(k, t1, np.where(units[k].visited_inputs, met, assumed[k]), met)
            if self.engine.counters.events > events:
                runs[k].standing = runs[k].standing.forgetful()
            outputs = through(runs[k].standing.y, self.order, units[k].smooth_outputs)
            self.exchange.write(k, outputs)
        self.engine.arrive()
        visited = [k for k in arriving if units[k].block.visits]
        for k in visited:
            self.exchange.write(k, through(runs[k].standing.y, self.order, units[k].smooth_outputs))
        jumped = self._jumps() > jumps or any(runs[k].jumped for k in arriving)
        u = self.exchange.inputs(t1)
        for k in arriving:
            runs[k].standing = runs[k].standing.given(u[units[k].inputs], jumped)
        self.log.macro_steps += 1

    def _inputs_of(self, k: int) -> Curve:
        """Inputs of a unit extrapolated from their samples."""
        return through(self.runs[k].standing.u, self.order, self.coupled.units[k].smooth_inputs)

    def _explicit(self, t1: float, arriving: Sequence[int]) -> dict[int, np.ndarray]:
        """Every unit steps once; returns the inputs that each was given at its end."""
        if self.coupling.order == "jacobi":
            return self._jacobi(t1, arriving)
        return self._gauss_seidel(t1, arriving)

    # --- Jacobi -----------------------------------------------------------------------------------
    def _jacobi(self, t1: float, arriving: Sequence[int]) -> dict[int, np.ndarray]:
        """All at once: units use samples of their inputs, and our blocks samples of the units' outputs."""
        assumed = {}
        for k in arriving:
            curve = self._inputs_of(k)
            self.runs[k].step(t1, curve, held_at_end=False, in_pieces=self.in_pieces)
            assumed[k] = curve.at(t1)
        stands = [self.runs[k].standing for k in arriving]
        self.approach(min([t1, *(s.time for s in stands if s.ended)]))
        return assumed

    # --- Gauss-Seidel -----------------------------------------------------------------------------
    def _gauss_seidel(self, t1: float, arriving: Sequence[int]) -> dict[int, np.ndarray]:
        """In order: later ones see the results of earlier ones."""
        before, log = self._mark_if_possible(arriving), self.engine.log_mark()
        assumed: dict[int, np.ndarray] = {}
        ours_done = False
        for n in self.sequence:
            if n == OURS:
                self.approach(t1)
                ours_done = True
            elif n in arriving:
                assumed[n] = self._one(n, t1, ours_done)
                standing = self.runs[n].standing
                if standing.ended:
                    if before is not None and ours_done:
                        before.back()
                        self.engine.log_back(log)
                    self.approach(standing.time)
                    break
        return assumed

    def _mark_if_possible(self, arriving: Sequence[int]) -> Mark | None:
        """The state of our blocks, to go back if a unit ends the run; None if it cannot be saved."""
        try:
            return self.mark() if arriving else None
        except BlockError:  # an opaque block of ours cannot be saved
            return None

    def _one(self, k: int, t1: float, ours_done: bool) -> np.ndarray:
        """Step a unit with the newest values of all; returns the inputs it was given at its end."""
        unit, run = self.coupled.units[k], self.runs[k]
        end = self.exchange.inputs(t1)[unit.inputs]
        if not ours_done:  # our states are still those at the start of the step
            late = self.coupled.reads[unit.inputs, OURS]
            end = np.where(late, self._inputs_of(k).at(t1), end)
        return self._step_to(k, t1, end, run)

    def _step_to(self, k: int, t1: float, end: np.ndarray, run: UnitRun) -> np.ndarray:
        """Step with inputs that reach `end` at t1; outputs become a curve to their new values."""
        unit, older = self.coupled.units[k], run.standing.y
        curve = between((t1, end), run.standing.u, self.order, unit.smooth_inputs)
        y = run.step(t1, curve, held_at_end=True, in_pieces=self.in_pieces)
        if not run.standing.ended:
            self.exchange.write(k, between((t1, y), older, self.order, unit.smooth_outputs))
        return end

    # --- iterated ---------------------------------------------------------------------------------
    def _iterated(self, t1: float, arriving: Sequence[int]) -> dict[int, np.ndarray]:
        """Repeat the step until the outputs assumed over it and those delivered at its end agree."""
        step = IteratedStep(self, t1, arriving)
        step.solve(self.coupling.iterate == "newton")
        return step.assumed

    def _known(self, t1: float, arriving: Sequence[int], known: np.ndarray) -> dict[int, np.ndarray]:
        """A step in which the outputs at its end are assumed to be known."""
        step = IteratedStep(self, t1, arriving)
        step.delivered(known)
        return step.assumed


class IteratedStep:
    """One step as a fixed point y = F(y) of the outputs of all units at its end."""

    def __init__(self, macro: MacroStep, t1: float, arriving: Sequence[int]) -> None:
        self.macro, self.t1, self.arriving = macro, t1, arriving
        runs = macro.runs
        self.runs = [runs[k] for k in arriving]
        self.units = [macro.coupled.units[k] for k in arriving]
        self._ours, self._units, self._log = macro.mark(), kept(self.runs), macro.engine.log_mark()
        sizes = [len(run.standing.y[0][1]) for run in self.runs]
        self._parts = [slice(end - n, end) for n, end in zip(sizes, np.cumsum(sizes), strict=True)]
        self.assumed: dict[int, np.ndarray] = {}
        self._scale = np.concatenate(
            [np.zeros(0), *(np.max(np.abs([y for _, y in run.standing.y]), axis=0) for run in self.runs)]
        )

    def guess(self) -> np.ndarray:
        """Outputs extrapolated to the end."""
        found = [np.zeros(0)]
        for run, unit in zip(self.runs, self.units, strict=True):
            found.append(through(run.standing.y, max(1, self.macro.order), unit.smooth_outputs).at(self.t1))
        return np.concatenate(found)

    def delivered(self, y: np.ndarray) -> np.ndarray:
        """F(y): restore everything, and repeat the step with outputs that end at y."""
        macro, t1 = self.macro, self.t1
        self._ours.back()
        restored(self.runs, self._units)
        macro.engine.log_back(self._log)
        for k, part, run, unit in zip(self.arriving, self._parts, self.runs, self.units, strict=True):
            macro.exchange.write(k, between((t1, y[part]), run.standing.y, macro.order, unit.smooth_outputs))
        macro.approach(t1)
        found = y.copy()
        u = macro.exchange.inputs(t1)
        numbers = {k: i for i, k in enumerate(self.arriving)}
        newest = macro.coupling.order == "gauss-seidel"
        for k in (n for n in macro.sequence if n in numbers):
            i = numbers[k]
            end = (macro.exchange.inputs(t1) if newest else u)[self.units[i].inputs]
            run, unit = self.runs[i], self.units[i]
            older = run.standing.y
            curve = between((t1, end), run.standing.u, macro.order, unit.smooth_inputs)
            new = run.step(t1, curve, held_at_end=True, in_pieces=macro.in_pieces)
            found[self._parts[i]] = new
            self.assumed[k] = end
            if newest and not run.standing.ended:
                macro.exchange.write(k, between((t1, new), older, macro.order, unit.smooth_outputs))
        return found

    def _round(self, y: np.ndarray) -> np.ndarray:
        self.macro.log.rounds += 1
        return self.delivered(y)

    def solve(self, newton: bool) -> None:
        """Find the fixed point; see `FixedPoint.solve`."""
        point = FixedPoint(
            self._round, self._scale, self.t1,
            [name for unit in self.units for name in unit.output_names()],
            lambda: any(run.standing.ended for run in self.runs), self.macro.coupled.single,
        )  # fmt: skip
        point.solve(self.guess(), newton)
        ended = [run.standing.time for run in self.runs if run.standing.ended]
        if ended:  # our own blocks have reached t1
            self._ours.back()
            self.macro.engine.log_back(self._log)
            self.macro.approach(min(ended))
