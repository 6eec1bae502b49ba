"""The vector w of a running system: delayed signals and algebraic unknowns, found at every evaluation."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from contextlib import contextmanager

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.columns import pick
from cosim.engines.methods.newton import newton
from cosim.engines.methods.steppers import AcceptedStep
from cosim.engines.reference.bound import Bound
from cosim.engines.reference.workspace import Workspace
from cosim.run.history import CHECKS, NODES, at_checks
from cosim.segments import Segment, SolveSegment
from cosim.slots import Sought
from cosim.system_parts import Delay


class Unknowns:
    """Brings w up to date; loops start from the accepted solution, so rejected steps leave no trace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.context = workspace, workspace.context
        s = workspace.system
        self.count = s.residual.numel()
        z = s.w[: self.count]
        residual = lambda: [s.residual, ca.jacobian(s.residual, z)]
        self._inner = workspace.bind_trial("residual", residual)
        self._outer = workspace.bind("residual", residual)
        self.delays = [(d, *self._bind_delay(d)) for d in s.delays]
        self._at_trial = [
            workspace.bind_trial(f"delay {d.name}", lambda d=d: [d.seconds])  # type: ignore[misc]
            for d in s.delays
        ]
        self._loops = self._bind_loops()
        self.horizon = np.inf  # end of the stretch under way [s]: delayed jumps there belong to the next one

    @contextmanager
    def up_to(self, stop: float) -> Iterator[None]:
        """A stretch without jumps: delayed signals are looked at from the left at its end [s]."""
        self.horizon = stop
        try:
            yield
        finally:
            self.horizon = np.inf

    def _bind_delay(self, delay: Delay) -> tuple[Bound, Bound]:
        signal = self.workspace.bind(f"delayed signal {delay.name}", lambda: [delay.signal])
        return signal, self.workspace.bind(f"delay {delay.name}", lambda: [delay.seconds])

    def _bind_loops(self) -> dict[int, Bound]:
        """For each loop at a tick: mismatch and Jacobian, by its places in h and the unknowns of w."""
        s, found = self.workspace.system, {}
        for k, segment in enumerate(s.schedule):
            if isinstance(segment, SolveSegment):
                own = pick(s.h, segment.writes)
                u, r = (
                    ca.vertcat(own, s.w[: self.count]),
                    ca.vertcat(segment.mismatch(own), s.residual),
                )
                found[k] = self.workspace.bind(f"loop{k}", lambda r=r, u=u: [r, ca.jacobian(r, u)])  # type: ignore[misc]
        return found

    def refresh(self) -> None:
        """Bring w up to date with the time and the states of the context."""
        self.find(float(self.workspace.time[0]), at_trial=False)

    def find(self, t: float, at_trial: bool) -> None:
        """Delayed signals from their history, then the algebraic unknowns.

        For the states a step tries, or for those of the context.
        """
        c = self.context
        if not len(c.w):
            return
        left = t >= self.horizon - 1e-12 * max(1.0, abs(t))
        for (delay, _, outer), inner in zip(self.delays, self._at_trial, strict=True):
            past = float((inner if at_trial else outer)()[0])
            c.w[delay.places] = c.histories[delay.name].at(t - past, left)
        if self.count:
            n, solve = self.count, self._inner if at_trial else self._outer
            c.w[:n] = c.solution

            def residual() -> tuple[np.ndarray, np.ndarray]:
                value = solve().copy()
                return value, solve.outputs[1].reshape(n, n).T

            newton(residual, c.w, np.arange(n), self.workspace.system.loops, t)

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

        names = [*map(Sought, segment.names), *self.workspace.system.loops]
        newton(residual, unknowns, np.arange(len(unknowns)), names, t)
        residual()

    def stop_at_delayed_jumps(self) -> None:
        """Add a stop one delay after a delayed signal has jumped or begun."""
        c = self.context
        if self.delays:
            self.workspace.put(c.t)
            self.refresh()
        for delay, signal, seconds in self.delays:
            history, now = c.histories[delay.name], signal()
            jump = np.abs(now - history.newest).max()
            if not history.count or jump > 1e-12 * (1.0 + np.abs(now).max()):
                stop = c.t + float(seconds()[0])
                if stop not in c.stops:
                    bisect.insort(c.stops, stop)

    def extend_histories(self, step: AcceptedStep) -> None:
        """Keep the course of delayed signals over a step."""
        for delay, signal, seconds in self.delays:
            self.workspace.put(step.t1, step.x1)
            past = max(float(seconds()[0]), delay.longest)
            self._keep(step, step.t0, step.t1, delay, signal)
            self.context.histories[delay.name].forget(step.t1 - 2 * past)

    def _keep(
        self, step: AcceptedStep, t0: float, t1: float, delay: Delay, signal: Bound, depth: int = 0
    ) -> None:
        """Append a piece of a step to a history; halves where a quartic does not follow the signal."""

        def value(s: float) -> np.ndarray:
            t = t0 + s * (t1 - t0) if 0.0 < s < 1.0 else (t0, t1)[int(s)]
            ends = {step.t0: step.x0, step.t1: step.x1}
            self.workspace.put(t, ends[t] if t in ends else step.inside(t))
            self.refresh()
            return signal().copy()

        c = self.context
        history, values = c.histories[delay.name], np.array([value(s) for s in NODES])
        settings = self.workspace.settings
        scale = settings.atol + settings.rtol * np.abs(values).max(axis=0)
        misses = np.abs(at_checks(values) - [value(s) for s in CHECKS]) / scale
        if depth < 8 and misses.max(initial=0.0) > 1.0:
            middle = 0.5 * (t0 + t1)
            self._keep(step, t0, middle, delay, signal, depth + 1)
            self._keep(step, middle, t1, delay, signal, depth + 1)
            return
        history.add(t0, t1, values)

    def longest_step(self) -> float:
        """The shortest delay [s]: no step is longer, so that the past it reads is known."""
        if not self.delays:
            return np.inf
        self.refresh()
        shortest = min(delay.shortest or float(seconds()[0]) for delay, _, seconds in self.delays)
        if not shortest > 0.0:
            names = ", ".join(repr(d.name) for d, _, _ in self.delays)
            raise SimulationError(
                f"delay of {shortest:g} s at t={self.context.t:.9g} s, expected a positive time: {names}.",
                time=self.context.t,
            )
        return shortest
