"""Macro steps of a size that keeps the error of the coupling within a tolerance.

One step of H is compared with two of H/2, everything rolled back in between; the two halves count. With the
order p of the extrapolation, the halves are wrong by (big - fine) / (2^p - 1). The tolerance is one of the
whole run: a step may use the share of it that its length is of the run. Signals that follow inputs at once
have no memory, and their errors do not add up: those may be as large as the tolerance in every step.

`runtime/macro_control.c` does the same in the same order of operations.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.4; per unit step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from blocks.errors import SimulationError
from cosim.fmi.coupling.macro_step import MacroStep
from cosim.fmi.coupling.unit_run import kept, restored

SMALLEST = 1e-12  # of a run: shorter steps mean that step size control has collapsed
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
        """(n,) bool: signals whose errors add up over a run."""

    def make(self, limit: float, horizon: float) -> str:
        """One accepted step, at most to `limit` [s]; the tolerance is one over `horizon` [s].

        Raises
        ------
        SimulationError     the step size collapses; the worst output is named
        """
        macro, t0 = self.macro, self.macro.context.t
        every = list(range(len(macro.runs)))
        while True:
            t1 = self._end(t0, limit)
            ours, units, log, quality = (
                macro.mark(), kept(macro.runs), macro.engine.log_mark(), macro.log.mark(),
            )  # fmt: skip
            if ended := macro.make(t1, every):
                return ended
            big = self._signals()
            ours.back()
            restored(macro.runs, units)
            macro.engine.log_back(log)
            macro.log.back(quality)
            middle = t0 + (t1 - t0) / 2
            for t in (middle, t1):
                if ended := macro.make(t, every):
                    return ended
            fine = self._signals()
            order = self._order()
            allowed = self.rtol * self._sizes(fine) + self.atol
            allowed = np.where(self.adds_up, allowed * (t1 - t0) / horizon, allowed)
            errors = np.abs(big - fine) / (2.0**order - 1.0) / allowed
            worst = float(np.max(errors, initial=0.0))
            h = t1 - t0
            factor = SAFETY * worst ** (-1.0 / order) if worst > 0 else GROW
            self.size = (h if h < self.size else self.size) * min(GROW, max(SHRINK, factor))
            if worst <= 1.0:
                return ""
            self.size = min(self.size, 0.9 * h)
            macro.log.rejected += 1
            ours.back()
            restored(macro.runs, units)
            macro.engine.log_back(log)
            macro.log.back(quality)
            if self.size < SMALLEST * horizon:
                raise self._collapsed(t0, h, errors)

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
        runs = self.macro.runs
        smooth = [
            np.concatenate([r.standing.y[0][1][u.smooth_outputs], r.standing.u[0][1][u.smooth_inputs]])
            for r, u in zip(runs, self.macro.coupled.units, strict=True)
        ]
        return np.concatenate([np.zeros(0), *smooth])

    def _sizes(self, fine: np.ndarray) -> np.ndarray:
        """The scale of errors: the largest recent value of each signal."""
        found = [np.zeros(0)]
        for r, u in zip(self.macro.runs, self.macro.coupled.units, strict=True):
            for samples, smooth in ((r.standing.y, u.smooth_outputs), (r.standing.u, u.smooth_inputs)):
                found.append(np.max(np.abs([v for _, v in samples]), axis=0)[smooth])
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
