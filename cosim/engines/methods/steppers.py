"""Integrators of the reference engine: from a time to a stop, one accepted step after the other.

All land exactly on the stop, by assignment. Fixed-step methods take equal steps between two stops (`pieces`).
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from blocks.errors import SimulationError, StepCollapsed
from cosim.engines.counters import Counters
from cosim.engines.methods.corners import LOOKS, Corners, first_corner
from cosim.engines.methods.tableau import Tableau
from cosim.engines.methods.turning import TurningBodies

Derivative = Callable[[float, np.ndarray], np.ndarray]
Linearise = Callable[[float, np.ndarray], tuple[Any, np.ndarray]]
Explain = Callable[[float, np.ndarray], SimulationError]  # (t, x) where the derivative is not finite
Noise = Callable[[float, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Problem:
    """The functions of a system that integrators use, with all values held between instants constant.

    f           : (t, x) -> x' (nx,), a new array
    linearise   : (t, x) -> exact Jacobian (nx, nx) of f, dense or sparse, and its derivative in time (nx,)
    atol        : (nx,) absolute tolerance of every state
    on_invariants : (t, x) -> x at which the invariants hold; x itself where they do
    longest_step  : longest step the delays allow from the last accepted one [s]
    noise       : (t, x) -> (nx,) what rounding of x means, which no step is asked to do better; None: nothing
    explain     : error of a derivative that is not finite
    corners     : (t, x) -> what is zero at corners of f, at which adaptive steps end; None: there are none
    bodies      : those whose states turn, which the stiff method follows; None: there are none
    """

    f: Derivative
    linearise: Linearise
    atol: np.ndarray
    counters: Counters
    state_name: Callable[[int], str]
    on_invariants: Callable[[float, np.ndarray], np.ndarray]
    longest_step: Callable[[], float]
    explain: Explain
    noise: Noise | None = None
    corners: Corners | None = None
    bodies: TurningBodies | None = None

    @cached_property
    def controlled(self) -> int:
        """How many states choose the steps: those before the first with an infinite tolerance."""
        return int(np.isfinite(self.atol).sum())


@dataclass(frozen=True)
class Control:
    """The memory of step size control from step to step; part of the context.

    step : proposed size of the next step [s], 0: choose one; error : scaled error of the last one
    """

    step: float = 0.0
    error: float = 1e-4


@dataclass(frozen=True)
class AcceptedStep:
    """An accepted step: its ends, the solution in between, and how step size control goes on from it."""

    t0: float
    t1: float
    x0: np.ndarray
    x1: np.ndarray  # on the invariants
    inside: Callable[[float], np.ndarray]  # t in [t0, t1] -> x
    control: Control = Control()


class Stepper(abc.ABC):
    """Integrates a problem between stops; keeps nothing from one call to the next."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @abc.abstractmethod
    def integrate(self, t: float, x: np.ndarray, stop: float, control: Control) -> Iterator[AcceptedStep]:
        """Accepted steps from (t, x) to exactly `stop`; f does not jump on the way."""

    def collapsed(self, t: float, worst: int, step: float) -> SimulationError:
        """Error of a step size that came down to `step` [s], where it is too small to go on with."""
        name = self.problem.state_name(worst)
        return StepCollapsed(
            f"step size collapsed to {step:.3g} s at t={t:.9g} s: its error stays above the "
            f"tolerance; the state that limits it is '{name}'.",
            path=name,
            time=t,
            hint="Loosen rtol and atol, use a stiff solver, or look for a discontinuity there.",
        )

    @np.errstate(all="ignore")
    def non_finite(
        self, method: Tableau, t: float, x: np.ndarray, h: float, k: list[np.ndarray], x1: np.ndarray
    ) -> SimulationError:
        """Error of a step that is not finite: explained at its first stage with a bad derivative."""
        for i, ki in enumerate(k):
            if not np.isfinite(ki).all():
                return self.problem.explain(t + method.c[i] * h, moved(x, method.a[i], k, h))
        return self.problem.explain(t + h, x1)


@np.errstate(all="ignore")
def scaled(e: np.ndarray, scale: np.ndarray, controlled: int) -> tuple[float, int]:
    """Mean of errors in units of their scale, and the state with the largest share (Hairer I, eq. 4.11).

    controlled : how many states count, the first ones
    """
    shares = e[:controlled] / scale[:controlled]
    return math.sqrt(np.add.reduce(shares * shares) / len(shares)), int(np.abs(shares).argmax())


def hermite(t0: float, t1: float, x0: np.ndarray, x1: np.ndarray, f0: np.ndarray, f1: np.ndarray) -> Any:
    """Cubic Hermite interpolation on a step, third order."""
    h = t1 - t0

    def inside(t: float) -> np.ndarray:
        s = (t - t0) / h
        value: np.ndarray = (
            (1 + 2 * s) * (1 - s) ** 2 * x0
            + s * (1 - s) ** 2 * (h * f0)
            + s * s * (3 - 2 * s) * x1
            - s * s * (1 - s) * (h * f1)
        )
        return value

    return inside


@np.errstate(all="ignore")  # what is not finite is looked for and explained
def stages(
    method: Tableau, f: Derivative, t: float, x: np.ndarray, h: float, k: list[np.ndarray], start: int
) -> None:
    """Fill the stage derivatives k[start:] of one step."""
    for i in range(start, method.stages):
        k[i] = f(t + method.c[i] * h, moved(x, method.a[i], k, h))


def weighted(weights: tuple[float, ...], k: list[np.ndarray], h: float = 1.0) -> Any:
    """Sum of weights, each times h, times stages, left to right, zeros skipped."""
    total: Any = 0.0
    first = True
    for w, ki in zip(weights, k, strict=False):
        if w != 0.0:
            total = (h * w) * ki if first else total + (h * w) * ki
            first = False
    return total


def moved(x: np.ndarray, weights: tuple[float, ...], k: list[np.ndarray], h: float) -> np.ndarray:
    """Where a stage or step of size h leads from x; without weights x itself."""
    return x + weighted(weights, k, h) if any(weights) else x


def pieces(begin: float, stop: float, longest: float) -> int:
    """How many equal steps no longer than `longest` [s] lead from begin to stop [s].

    ceil((b - a)/step - 1e-9), and late in a run less what rounding of b and a can make of the quotient.
    """
    rounding = 2.0**-50 * abs(stop) / longest
    return max(1, math.ceil(min((stop - begin) / longest - (1e-9 + rounding), 2.0**53)))


def next_step(t: float, stop: float, corner: float, wanted: float) -> tuple[float, float]:
    """Size and end of the next adaptive step [s].

    It ends at the corner, if that is finite, or at the stop if `wanted` reaches it; a rest of less than two
    steps is halved.
    """
    left = stop - t
    if corner < math.inf:
        return corner - t, corner
    if wanted >= left * (1 - 1e-12):
        return left, stop
    h = left / 2 if 2 * wanted > left else wanted
    return h, t + h


class FixedStepper(Stepper):
    """Explicit Runge-Kutta with equal steps between stops."""

    def __init__(self, problem: Problem, method: Tableau, step: float) -> None:
        super().__init__(problem)
        self.method, self.step = method, step

    def integrate(self, t: float, x: np.ndarray, stop: float, control: Control) -> Iterator[AcceptedStep]:
        """See `Stepper.integrate`."""
        p = self.problem
        n = pieces(t, stop, min(self.step, p.longest_step()))
        h = (stop - t) / n
        k: list[np.ndarray] = [x] * self.method.stages
        begin = t
        for i in range(n):
            t1 = stop if i == n - 1 else begin + (i + 1) * h
            stages(self.method, p.f, t, x, h, k, 0)
            end = moved(x, self.method.b, k, h)
            if not np.isfinite(end).all():
                raise self.non_finite(self.method, t, x, h, k, end)
            p.counters.steps += 1
            p.counters.evaluations += self.method.stages
            step = AcceptedStep(
                t, t1, x, p.on_invariants(t1, end), self._inside(t, t1, x, end, k[0]), control
            )
            yield step
            t, x = t1, step.x1
            p.longest_step()  # says so where a delay is no longer positive

    def _inside(self, t0: float, t1: float, x0: np.ndarray, x1: np.ndarray, f0: np.ndarray) -> Any:
        """Hermite interpolation; the derivative at the end is only evaluated when somebody looks."""
        made: list[Any] = []

        def inside(t: float) -> np.ndarray:
            if t == t0:
                return x0
            if not made:
                f1 = self.problem.f(t1, x1)
                if not np.isfinite(f1).all():
                    raise self.problem.explain(t1, x1)
                made.append(hermite(t0, t1, x0, x1, f0, f1))
            value: np.ndarray = made[0](t)
            return value

        return inside


class AdaptiveStepper(Stepper):
    """Embedded Runge-Kutta with PI step size control.

    Source: Hairer, Norsett & Wanner I, sections II.4 (error norm 4.11, starting step), IV.2 (PI control,
    beta = 0.04), as in their DOPRI5.
    """

    SAFETY, SHRINK, GROW, BETA = 0.9, 0.2, 10.0, 0.04

    def __init__(self, problem: Problem, method: Tableau, rtol: float, max_step: float) -> None:
        super().__init__(problem)
        self.method, self.rtol, self.max_step = method, rtol, max_step

    def integrate(self, t: float, x: np.ndarray, stop: float, control: Control) -> Iterator[AcceptedStep]:
        """See `Stepper.integrate`."""
        p = self.problem
        limit = p.longest_step()
        k: list[np.ndarray] = [x] * self.method.stages
        k[0] = p.f(t, x)
        p.counters.evaluations += 1
        if not np.isfinite(k[0]).all():
            raise p.explain(t, x)
        if control.step <= 0.0:
            control = replace(control, step=self._first_step(t, x, k[0], stop))
        noise: np.ndarray | None = None  # looked at when a step fails
        corner, looks = math.inf, 0  # time at which the step is to end
        while t < stop:
            wanted = min(control.step, self.max_step, limit)
            h, t1 = next_step(t, stop, corner, wanted)
            if not t1 > t:
                raise self.collapsed(t, self._fastest(x, k[0]), h)
            end, e, error, worst = self._try(t, x, h, k)
            if error > 1.0 and p.noise is not None:
                noise = p.noise(t, x) if noise is None else noise
                error, worst = scaled(e, self.scale(x, end) + noise, p.controlled)
            if not error <= 1.0:
                p.counters.refused_by = worst
                control = self._rejected(control, h, error)
                corner = self._corner(t, x, h, end, k) if math.isfinite(error) else math.inf
                corner = corner if corner - t < control.step else math.inf
                if not control.step > 1e-14 * max(abs(t), 1e-2):
                    raise self.gives_up(t, x, h, k, end, error, worst, control.step)
                continue
            corner = self._corner(t, x, h, end, k) if looks < LOOKS else math.inf
            looks += 1
            if corner < math.inf:
                continue
            control = self._accepted(control, h, wanted, error, worst)
            x1 = p.on_invariants(t1, end)
            yield AcceptedStep(t, t1, x, x1, self._inside(t, h, x, end, list(k)), control)
            limit = p.longest_step()
            k[0] = k[-1] if x1 is end else p.f(t1, x1)
            t, x, noise, looks = t1, x1, None, 0

    @np.errstate(all="ignore")
    def _corner(self, t: float, x: np.ndarray, h: float, x1: np.ndarray, k: list[np.ndarray]) -> float:
        """First corner within a step that leads to x1."""
        return first_corner(self.problem.corners, t, h, self._inside(t, h, x, x1, k))

    @np.errstate(all="ignore")
    def _fastest(self, x: np.ndarray, f: np.ndarray) -> int:
        """The state that moves fastest in its own scale."""
        return int(np.argmax(np.abs(f) / self.scale(x, x)))

    @np.errstate(all="ignore")
    def _try(
        self, t: float, x: np.ndarray, h: float, k: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, float, int]:
        """End of a step, its error, the same scaled, and the state with the largest share."""
        stages(self.method, self.problem.f, t, x, h, k, 1)
        self.problem.counters.evaluations += self.method.stages - 1
        x1 = moved(x, self.method.b, k, h)
        e = h * weighted(self.method.error, k)
        return x1, e, *scaled(e, self.scale(x, x1), self.problem.controlled)

    def scale(self, x: np.ndarray, x1: np.ndarray) -> np.ndarray:
        """Error of each state that counts as 1."""
        return np.asarray(self.problem.atol + self.rtol * np.maximum(np.abs(x), np.abs(x1)))

    def _accepted(self, control: Control, h: float, wanted: float, error: float, worst: int) -> Control:
        counters = self.problem.counters
        counters.steps += 1
        counters.limited_by[worst] = counters.limited_by.get(worst, 0) + 1
        power = 1.0 / self.method.order - 0.75 * self.BETA
        factor = error**power / control.error**self.BETA / self.SAFETY if error > 0 else 0.0
        proposed = h / max(1 / self.GROW, min(1 / self.SHRINK, factor))
        return Control(max(proposed, wanted) if h < wanted else proposed, max(error, 1e-4))

    def _rejected(self, control: Control, h: float, error: float) -> Control:
        self.problem.counters.rejected += 1
        power = 1.0 / self.method.order - 0.75 * self.BETA
        finite = math.isfinite(error)
        step = h / min(1 / self.SHRINK, error**power / self.SAFETY) if finite else h * 0.1
        return replace(control, step=step)

    @np.errstate(all="ignore")
    def gives_up(
        self,
        t: float,
        x: np.ndarray,
        h: float,
        k: list[np.ndarray],
        x1: np.ndarray,
        error: float,
        worst: int,
        step: float,
    ) -> SimulationError:
        """Error of a step that cannot get smaller: a state runs away, or the equations end right ahead.

        The step had size h and led to x1; the next one would have size `step` [s].
        """
        if math.isfinite(error):
            return self.collapsed(t, worst, step)
        moved = np.abs(h * k[0]) / (np.abs(x) + self.problem.atol)
        if moved.max() > 1e-3:
            return self.collapsed(t, int(np.argmax(moved)), step)
        return self.non_finite(self.method, t, x, h, k, x1)

    def _first_step(self, t: float, x: np.ndarray, f0: np.ndarray, stop: float) -> float:
        """Starting step size (Hairer I, II.4: algorithm after eq. 4.14)."""
        if not len(x):
            return stop - t
        n = self.problem.controlled
        scale = (self.problem.atol + self.rtol * np.abs(x))[:n]
        d0, d1 = (float(np.sqrt(np.mean((v[:n] / scale) ** 2))) for v in (x, f0))
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        if not h0 > 0.0:  # norms that overflow
            h0 = 1e-6
        h0 = min(h0, stop - t, self.max_step)
        f1 = self.problem.f(t + h0, x + h0 * f0)
        self.problem.counters.evaluations += 1
        d2 = float(np.sqrt(np.mean(((f1 - f0)[:n] / scale) ** 2))) / h0
        largest = max(d1, d2)
        h1 = max(1e-6, h0 * 1e-3) if not largest > 1e-15 else (0.01 / largest) ** (1.0 / self.method.order)
        h1 = min(100 * h0, h1, self.max_step) if math.isfinite(h1) and h1 > 0.0 else h0
        return float(min(max(h1, 4 * math.ulp(t)), stop - t)) if t + h1 == t else float(h1)

    def _inside(self, t0: float, h: float, x0: np.ndarray, x1: np.ndarray, k: list[np.ndarray]) -> Any:
        """Continuous extension of fourth order (Hairer I, eq. II.6.12)."""

        course: list[np.ndarray] = []  # its coefficients; most steps are never looked into

        def inside(t: float) -> np.ndarray:
            if not course:
                change = x1 - x0
                bend = h * k[0] - change
                last = change - h * k[-1] - bend
                course.extend((change, bend, last, h * weighted(self.method.dense, k)))
            s = (t - t0) / h
            change, bend, last, fifth = course
            return x0 + s * (change + (1 - s) * (bend + s * (last + (1 - s) * fifth)))

        return inside
