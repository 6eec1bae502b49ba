"""Macro steps of a size that keeps the error of the coupling within a tolerance.

One step of H is compared with two of H/2, everything rolled back in between; the two halves count. With the
order p of the extrapolation, the halves are wrong by (big - fine) / (2^p - 1). The tolerance is one of the
whole run: a step may use the share of it that its length is of the run. Signals that follow inputs at once
have no memory, and their errors do not add up: those may be as large as the tolerance in every step.

A jump inside a step, which two halves may not show, is looked at as `inside_jumps` says. It may cost a tenth
of the tolerance: the share of the step would become less as fast as the cost does.

`runtime/macro_control.c` does the same in the same order of operations.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.4; per unit step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from blocks.errors import SimulationError
from cosim.fmi.coupling.direct_feedthrough import DirectFeedthrough
from cosim.fmi.coupling.inside_jumps import EDGE, JUMP, Halves, OtherAssumptions
from cosim.fmi.coupling.macro_step import MacroStep
from cosim.fmi.coupling.unit_run import kept, restored

SMALLEST = 1e-12  # of a run: shorter steps mean that step size control has collapsed
BRIEF = 1e-11  # of a run: as late as this may be after a jump what follows inputs at once
SAFETY, SHRINK, GROW = 0.85, 0.2, 2.0


class ErrorControl:
    """Steps all units together, with its own step sizes.

    direct : which outputs of each unit follow its inputs at once, (m,) bool
    """

    def __init__(self, macro: MacroStep, first: float, direct: Sequence[np.ndarray]) -> None:
        self.macro, self.coupling, self._first = macro, macro.coupling, first
        self.size = first
        assert self.coupling.rtol is not None
        self.rtol = self.coupling.rtol
        self.atol = self.coupling.atol if self.coupling.atol is not None else 1e-3 * self.rtol
        units = macro.coupled.units
        through = macro.coupled.follows([u.y[at_once] for u, at_once in zip(units, direct, strict=True)])
        parts = [
            (at_once[u.smooth_outputs], through[u.inputs][u.smooth_inputs])
            for u, at_once in zip(units, direct, strict=True)
        ]
        self.adds_up = ~np.concatenate([np.zeros(0, bool), *(mask for pair in parts for mask in pair)])
        """(n,) bool: smooth signals whose errors add up over a run."""
        smooth = [m for u in units for m in (u.smooth_outputs, u.smooth_inputs)]
        self.smooth = np.concatenate([np.zeros(0, bool), *smooth])
        self.repeated: DirectFeedthrough | None = None
        self.watched = macro.coupled.assumed_signals()
        self._others, self._every = OtherAssumptions(macro), range(len(macro.runs))

    def repeat(self, direct: Sequence[np.ndarray]) -> None:
        """Repeat the steps of units of which `direct` (m, n) bool says that outputs follow inputs at once."""
        found = DirectFeedthrough(self.macro, direct, self.rtol, self.atol)
        if found.order:
            self.repeated = self.macro.repeats = found

    def make(self, limit: float, horizon: float) -> str:
        """One accepted step, at most to `limit` [s]; the tolerance is one over `horizon` [s].

        Raises
        ------
        SimulationError     the step size collapses; the worst output is named
        """
        macro, t0 = self.macro, self.macro.context.t
        if self.repeated is not None:
            self.repeated.horizon = horizon
        back, start, before = self._way_back(), self._signals(), None
        while True:
            t1 = self._end(t0, limit)
            h, middle = t1 - t0, t0 + (t1 - t0) / 2
            if ended := macro.make(t1, self._every):
                return ended
            big = self._signals()
            back()
            passed = [start]
            for t in (middle, t1):
                if ended := macro.make(t, self._every):
                    return ended
                passed.append(self._signals())
            step = Halves(t0, t1, passed, self.rtol * self._sizes(passed[-1]) + self.atol, self.watched)
            stays = before is not None and step.stays(before)
            errors, order = self._errors(step, big, horizon, stays), self._order()
            if step.jumped.any() and not (errors > 1.0).any():
                cost = self._cost(step, horizon, back)
                back()
                if (cost > 1.0).any():
                    errors, order = cost, 1
                else:
                    for t in (middle, t1):
                        macro.make(t, self._every)
                    if stays:
                        self._forget()
            worst = float(np.max(errors, initial=0.0))
            factor = SAFETY * worst ** (-1.0 / order) if worst > 0 else GROW
            self.size = (h if h < self.size else self.size) * min(GROW, max(SHRINK, factor))
            if worst <= 1.0:
                return ""
            before = step.most
            self.size = min(self.size, 0.9 * h)
            macro.log.rejected += 1
            back()
            if self.size < SMALLEST * horizon:
                raise self._collapsed(t0, h, errors)

    def _errors(self, step: Halves, big: np.ndarray, horizon: float, stays: bool) -> np.ndarray:
        """Errors of smooth signals, (n,), that two halves show, over what is allowed.

        big : (n,) all signals after one step; stays : whether a jump is the same as in a longer step
        """
        tolerance = step.tolerance[self.smooth]
        allowed = np.where(self.adds_up, tolerance * step.h / horizon, tolerance)
        if stays:
            allowed = np.maximum(allowed, JUMP * tolerance)
            if step.h <= self._brief(horizon):
                allowed[~self.adds_up] = np.inf
        found: np.ndarray = (
            np.abs(big - step.passed[-1])[self.smooth] / (2.0 ** self._order() - 1.0) / allowed
        )
        return found

    def _cost(self, step: Halves, horizon: float, back: Callable[[], None]) -> np.ndarray:
        """What jumps may have cost smooth signals, (n,), over what is allowed; everything is left anywhere.

        Who follows inputs at once is late by one step, whose length alone makes that less.
        """
        tolerance = step.tolerance[self.smooth]
        allowed = np.maximum(
            np.where(self.adds_up, tolerance * step.h / horizon, tolerance), JUMP * tolerance
        )
        found: np.ndarray = self._differences(step, back) / allowed
        late = np.where(found > 1.0, step.h / self._brief(horizon), 0.0)
        return np.where(self.adds_up, found, late)

    def _differences(self, step: Halves, back: Callable[[], None]) -> np.ndarray:
        """Smooth signals (n,) of two halves against steps in which units assume other inputs."""
        macro, fine = self.macro, step.passed[-1]
        found: np.ndarray = np.zeros(np.count_nonzero(self.smooth))
        ends = np.concatenate([np.zeros(0), *(r.standing.y[0][1] for r in macro.runs)])
        if not self._others.knows_new and not step.first.any():
            back()
            if macro.make(step.t1 - EDGE * step.h, self._every) or step.is_at_end(self._signals()):
                return found
        for make in self._others.steps(ends):
            back()
            if make(step.t1):
                return found
            found = np.maximum(found, self._others.share((self._signals() - fine)[self.smooth]))
        return found

    def _brief(self, horizon: float) -> float:
        """How late [s] after a jump may be what follows inputs at once: little of a unit's own step."""
        return max(JUMP * self.rtol * self._first, BRIEF * horizon)

    def _way_back(self) -> Callable[[], None]:
        """What restores everything as it is now, as often as it is called."""
        macro = self.macro
        ours, units, log, quality = (
            macro.mark(), kept(macro.runs), macro.engine.log_mark(), macro.log.mark(),
        )  # fmt: skip

        def back() -> None:
            ours.back()
            restored(macro.runs, units)
            macro.engine.log_back(log)
            macro.log.back(quality)

        return back

    def _forget(self) -> None:
        """The past of all signals before a jump says nothing of what comes."""
        for run in self.macro.runs:
            run.standing = replace(run.standing, u=run.standing.u[:1], y=run.standing.y[:1])

    def _end(self, t0: float, limit: float) -> float:
        """The end of the step: the rest up to the limit is divided evenly."""
        left = limit - t0
        pieces = math.ceil(left / self.size - 1e-9)
        return limit if pieces <= 1 else t0 + (left / 2 if pieces == 2 else self.size)

    def _order(self) -> int:
        """The order of the coupling; iterated with held signals it is of first order as well."""
        return self.macro.order + 1

    def _signals(self) -> np.ndarray:
        """Present outputs and inputs of all units, (n,)."""
        both = [(r.standing.y[0][1], r.standing.u[0][1]) for r in self.macro.runs]
        return np.concatenate([np.zeros(0), *(v for pair in both for v in pair)])

    def _sizes(self, fine: np.ndarray) -> np.ndarray:
        """The scale of errors: the largest recent value of each signal."""
        found = [np.zeros(0)]
        for r in self.macro.runs:
            found += [
                np.max(np.abs([v for _, v in samples]), axis=0) for samples in (r.standing.y, r.standing.u)
            ]
        sizes: np.ndarray = np.maximum(np.concatenate(found), np.abs(fine))
        return sizes

    def _collapsed(self, t: float, h: float, errors: np.ndarray) -> SimulationError:
        names: list[str] = []
        for u in self.macro.coupled.units:
            for all_names, smooth in (
                (u.output_names(), u.smooth_outputs),
                (u.input_names(), u.smooth_inputs),
            ):
                names += [n for n, is_one in zip(all_names, smooth, strict=True) if is_one]
        worst = int(np.argmax(errors))
        return SimulationError(
            f"the step of the coupling collapses at t={t:.9g} s: with {h:.3g} s '{names[worst]}' is still "
            f"wrong by {errors[worst]:.3g} times what is allowed.",
            path=names[worst],
            time=t,
            value=float(errors[worst]),
            hint="It jumps, or the units themselves are less accurate than that: give a larger rtol."
            + ("" if self.adds_up.all() else " Some outputs follow inputs at once: iterate=True helps."),
        )
