"""The vector w of a running system: delayed signals and algebraic unknowns, found at every evaluation."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.engine.bound import Bound
from cosim.engine.history import NODES
from cosim.engine.newton import newton
from cosim.engine.steppers import Step
from cosim.system import Delay, Segment, pick

if TYPE_CHECKING:
    from cosim.engine.machine import Machine


class Unknowns:
    """Brings w up to date; loops start from the accepted solution, so rejected steps leave no trace."""

    def __init__(self, machine: Machine, inner: list[np.ndarray], outer: list[np.ndarray]) -> None:
        self.machine, self.context = machine, machine.context
        self.count = machine.system.residual.numel()
        self._inner, self._outer = self._bind_residual(inner), self._bind_residual(outer)
        self._delays = [(d, *self._bind_delay(d)) for d in machine.system.delays]
        self._loops = self._bind_loops()

    def _bind_residual(self, arguments: list[np.ndarray]) -> Bound:
        s = self.machine.system
        z = s.w[: self.count]
        return Bound(s.function("residual", lambda: [s.residual, ca.jacobian(s.residual, z)]), arguments)

    def _bind_delay(self, delay: Delay) -> tuple[Bound, Bound]:
        signal = self.machine.bind(f"delayed signal {delay.name}", lambda: [delay.signal])
        return signal, self.machine.bind(f"delay {delay.name}", lambda: [delay.seconds])

    def _bind_loops(self) -> dict[int, Bound]:
        """For each loop at a tick: mismatch and Jacobian, by its places in h and the unknowns of w."""
        s, found = self.machine.system, {}
        for k, segment in enumerate(s.schedule):
            if segment.kind == "solve":
                u = ca.vertcat(pick(s.h, segment.writes), s.w[: self.count])
                r = ca.vertcat(segment.expression - pick(s.h, segment.writes), s.residual)
                found[k] = self.machine.bind(f"loop{k}", lambda r=r, u=u: [r, ca.jacobian(r, u)])  # type: ignore[misc]
        return found

    def find(self, t: float, at_trial: bool) -> None:
        """Delayed signals from their history, then the algebraic unknowns.

        For the states a step tries, or for those of the context.
        """
        c = self.context
        if not len(c.w):
            return
        for delay, _, seconds in self._delays:
            c.w[delay.places] = c.histories[delay.name].at(t - float(seconds()[0]))
        if self.count:
            n, solve = self.count, self._inner if at_trial else self._outer
            c.w[:n] = c.solution

            def residual() -> tuple[np.ndarray, np.ndarray]:
                value = solve().copy()
                return value, solve.outputs[1].reshape(n, n).T

            newton(residual, c.w, np.arange(n), self.machine.system.loops, t)

    def accept(self) -> None:
        """The present solution is one to start from."""
        self.context.solution[:] = self.context.w[: self.count]

    def solve_tick(self, k: int, segment: Segment, t: float) -> None:
        """Sampled memories that depend on themselves, together with the unknowns of w."""
        c, loop = self.context, self._loops[k]
        n = len(segment.writes)
        unknowns = np.concatenate([c.h[segment.writes], c.w[: self.count]])

        def residual() -> tuple[np.ndarray, np.ndarray]:
            c.h[segment.writes], c.w[: self.count] = unknowns[:n], unknowns[n:]
            value = loop().copy()
            return value, loop.outputs[1].reshape(len(unknowns), len(unknowns)).T

        names = [*segment.names, *self.machine.system.loops]
        newton(residual, unknowns, np.arange(len(unknowns)), names, t)
        residual()

    def remember(self, step: Step) -> None:
        """Keep the course of delayed signals over a step; where one jumped, the delayed jump is a stop."""
        c = self.context
        for delay, signal, seconds in self._delays:
            history, past = c.histories[delay.name], float(seconds()[0])
            values = []
            for s in NODES:
                t = step.t0 + s * (step.t1 - step.t0) if s < 1.0 else step.t1
                self.machine.put(t, step.inside(t) if 0.0 < s < 1.0 else (step.x0, step.x1)[int(s)])
                self.machine.fresh()
                values.append(signal().copy())
            jump = history.add(step.t0, step.t1, np.array(values))
            if jump > 1e-12 * (1.0 + float(np.abs(values[0]).max())):
                bisect.insort(c.stops, step.t0 + past)
            history.forget(step.t1 - 2 * past)

    def longest_step(self) -> float:
        """The shortest delay [s]: no step is longer, so that the past it reads is known."""
        if not self._delays:
            return np.inf
        self.machine.fresh()
        shortest = min(float(seconds()[0]) for _, _, seconds in self._delays)
        if not shortest > 0.0:
            names = ", ".join(repr(d.name) for d, _, _ in self._delays)
            raise SimulationError(
                f"delay of {shortest:g} s at t={self.context.t:.9g} s, expected a positive time: {names}.",
                time=self.context.t,
            )
        return shortest
