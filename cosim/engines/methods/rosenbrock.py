"""A stiff integrator: the linearly implicit method RODAS with the exact Jacobian.

Source: Hairer & Wanner, Solving Ordinary Differential Equations II, 2nd ed., section IV.7: order 4(3),
stiffly accurate, with a continuous extension (eq. IV.7.4 in the transformed form without matrix products).
The coefficients are those of RODASP, the third set of the authors' program RODAS. They keep order 4 where
stiff parts follow what moves (Scholz' conditions); those of the first set fall to order 2 there.
Steinebach, Order-reduction of ROW-methods for DAEs and method of lines applications, TH Darmstadt 1741, 1995.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocks.errors import SimulationError, StepCollapsed
from cosim.engines.methods.corners import LOOKS, first_corner
from cosim.engines.methods.steppers import AcceptedStep, Control, Problem, Stepper, next_step, scaled
from cosim.engines.methods.turning import TurningFrames


@dataclass(frozen=True)
class Rosenbrock:
    """Coefficients of E k_i = f(t + alpha_i h, x + sum a_ij k_j) + sum c_ij/h k_j + h d_i f_t.

    E = I/(gamma h) - J; dense : weights of the stages in the continuous extension.
    """

    gamma: float
    alpha: tuple[float, ...]
    d: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    c: tuple[tuple[float, ...], ...]
    dense: tuple[tuple[float, ...], tuple[float, ...]]


RODAS = Rosenbrock(
    gamma=0.25,
    alpha=(0.0, 0.75, 0.21, 0.63, 1.0, 1.0),
    d=(0.25, -0.5, -0.023504, -0.0362, 0.0, 0.0),
    a=(
        (),
        (3.0,),
        (1.831036793486759, 0.4955183967433795),
        (2.304376582692669, -0.05249275245743001, -1.176798761832782),
        (-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401),
        (-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401, 1.0),
    ),
    c=(
        (),
        (-12.0,),
        (-8.791795173947035, -2.207865586973518),
        (10.81793056857153, 6.780270611428266, 19.53485944642410),
        (34.19095006749676, 15.49671153725963, 54.74760875964130, 14.16005392148534),
        (34.62605830930532, 15.30084976114473, 56.99955578662667, 18.40807009793095, -5.714285714285717),
    ),
    dense=(
        (25.09876703708589, 11.62013104361867, 28.49148307714626, -5.664021568594133, 0.0),
        (1.638054557396973, -0.7373619806678748, 8.477918219238990, 15.99253148779520, -1.882352941176471),
    ),
)


@dataclass(frozen=True)
class Trial:
    """A step that was tried: its end, its stages, its scaled error and the state with the largest share.

    bad : (t, x) where the derivative was not finite
    z1 : the end in the coordinates of the step, which the stages are of
    """

    x1: np.ndarray
    k: list[np.ndarray]
    error: float
    worst: int
    bad: tuple[float, np.ndarray] | None = None
    z1: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class StepStart:
    """Where a step starts: time, states, the derivative, its Jacobian and its derivative in time.

    frames : coordinates of the step that turn with bodies, which f, jacobian and slope are in; None: states
    """

    t: float
    x: np.ndarray
    f: np.ndarray
    jacobian: Any
    slope: np.ndarray
    frames: TurningFrames | None

    def states(self, s: float, z: np.ndarray) -> np.ndarray:
        """The states that coordinates z at the time s in the step mean."""
        return z if self.frames is None else self.frames.states(s, z)


class RosenbrockStepper(Stepper):
    """RODAS with step size control by the embedded third-order solution."""

    SAFETY, SHRINK, GROW = 0.9, 0.2, 6.0

    def __init__(self, problem: Problem, rtol: float, max_step: float) -> None:
        super().__init__(problem)
        self.rtol, self.max_step = rtol, max_step

    def integrate(self, t: float, x: np.ndarray, stop: float, control: Control) -> Iterator[AcceptedStep]:
        """See `Stepper.integrate`."""
        p = self.problem
        limit = p.longest_step()
        proposed = control.step
        if proposed <= 0.0:
            proposed = self._first_step(t, x, stop)
        while t < stop:
            f0 = p.f(t, x)
            p.counters.evaluations += 1
            if not np.isfinite(f0).all():
                raise p.explain(t, x)
            start = self._start(t, x, f0)
            corner, looks = math.inf, 0  # time at which the step is to end
            while True:
                wanted = min(proposed, self.max_step, limit)
                h, t1 = next_step(t, stop, corner, wanted)
                if t1 == t:
                    raise self.collapsed(t, int(np.argmax(np.abs(f0) / (p.atol + self.rtol * np.abs(x)))), h)
                tried = self._try(start, h)
                if tried.error <= 1.0:
                    corner = self._corner(start, h, tried) if looks < LOOKS else math.inf
                    looks += 1
                    if corner < math.inf:
                        continue
                    break
                p.counters.rejected += 1
                p.counters.refused_by = tried.worst
                proposed = self._smaller(h, tried.error)
                corner = self._corner(start, h, tried) if math.isfinite(tried.error) else math.inf
                corner = corner if corner - t < proposed else math.inf
                if not proposed > 1e-14 * max(abs(t), 1e-2):
                    raise self._collapsed(t, x, tried, proposed)
            proposed = self._accepted(h, wanted, tried)
            x1 = p.on_invariants(t1, tried.x1)
            inside = self._inside(start, h, tried)
            yield AcceptedStep(t, t1, x, x1, inside, Control(proposed, control.error))
            limit = p.longest_step()
            t, x = t1, x1

    @np.errstate(all="ignore")
    def _corner(self, start: StepStart, h: float, tried: Trial) -> float:
        """First corner within a step that was tried."""
        return first_corner(self.problem.corners, start.t, h, self._inside(start, h, tried))

    def _start(self, t: float, x: np.ndarray, f: np.ndarray) -> StepStart:
        """What all tries of a step have in common; f : the derivative at (t, x)."""
        p = self.problem
        jacobian, slope = p.linearise(t, x)
        frames = None if p.bodies is None else p.bodies.frames(x, f)
        if frames is None:
            return StepStart(t, x, f, jacobian, slope, None)
        return StepStart(t, x, frames.field(0.0, x, f), *frames.linearised(jacobian, slope, f), frames)

    @np.errstate(all="ignore")  # what is not finite is looked for
    def _try(self, start: StepStart, h: float) -> Trial:
        p, x = self.problem, start.x
        solve = self._factor(start.jacobian, 1.0 / (RODAS.gamma * h))
        if solve is None:
            return Trial(x, [], math.inf, 0)
        k: list[np.ndarray] = []
        for i in range(6):
            if i == 0:
                right = start.f
            else:
                trial = x + sum(w * kj for w, kj in zip(RODAS.a[i], k, strict=True))
                s = RODAS.alpha[i] * h
                y = start.states(s, trial)
                right = p.f(start.t + s, y)
                if not np.isfinite(right).all():
                    worst = int(np.argmax(np.abs(y - x) / (np.abs(x) + p.atol)))
                    return Trial(x, [], math.inf, worst, (start.t + s, y))
                if start.frames is not None:
                    right = start.frames.field(s, trial, right)
                right = right + sum((w / h) * kj for w, kj in zip(RODAS.c[i], k, strict=True))
                p.counters.evaluations += 1
            k.append(solve(right + (h * RODAS.d[i]) * start.slope))
        z1 = trial + k[5]
        scale = p.atol + self.rtol * np.maximum(np.abs(x), np.abs(z1))
        error, worst = scaled(k[5], scale, p.controlled)
        if error > 1.0 and p.noise is not None:
            error, worst = scaled(k[5], scale + p.noise(start.t, x), p.controlled)
        return Trial(start.states(h, z1), k, error, worst, z1=z1)

    @staticmethod
    def _factor(jacobian: Any, diagonal: float) -> Callable[[np.ndarray], np.ndarray] | None:
        """Solver for (diagonal*I - J) k = r; None if there is none."""
        from scipy.linalg import lu_factor, lu_solve
        from scipy.sparse import csc_matrix, identity
        from scipy.sparse.linalg import splu

        if isinstance(jacobian, np.ndarray):
            matrix = -jacobian
            matrix[np.diag_indices_from(matrix)] += diagonal
            if not np.isfinite(matrix).all():
                return None
            factors = lu_factor(matrix, check_finite=False)
            return lambda r: lu_solve(factors, r, check_finite=False)
        if not np.isfinite(jacobian.data).all():
            return None
        try:
            factored = splu(csc_matrix(diagonal * identity(jacobian.shape[0]) - jacobian))
        except RuntimeError:  # exactly singular
            return None
        return factored.solve

    def _accepted(self, h: float, wanted: float, tried: Trial) -> float:
        """Proposed size of the next step [s]."""
        counters = self.problem.counters
        counters.steps += 1
        counters.limited_by[tried.worst] = counters.limited_by.get(tried.worst, 0) + 1
        proposed = h / max(1 / self.GROW, min(1 / self.SHRINK, tried.error**0.25 / self.SAFETY))
        return max(proposed, wanted) if h < wanted else proposed

    def _smaller(self, h: float, error: float) -> float:
        """Size of the step after a rejected one of size h [s]."""
        return h / min(1 / self.SHRINK, error**0.25 / self.SAFETY) if math.isfinite(error) else h * 0.1

    def gives_up(self, t: float, x: np.ndarray, h: float, step: float) -> SimulationError:
        """Error of a step of size h that was rejected elsewhere, where the next one, `step`, is too small."""
        tried = self._try(self._start(t, x, self.problem.f(t, x)), h)
        return self._collapsed(t, x, tried, step)

    def _collapsed(self, t: float, x: np.ndarray, tried: Trial, step: float) -> SimulationError:
        """A step that cannot get smaller."""
        p, bad = self.problem, tried.bad
        if bad and np.all(np.abs(bad[1] - x) <= 1e-3 * (np.abs(x) + p.atol)):  # not a state that runs away
            return p.explain(*bad)
        finite = math.isfinite(tried.error)
        cause = "its error stays above the tolerance" if finite else "the equations are not finite"
        return StepCollapsed(
            f"step size collapsed to {step:.3g} s at t={t:.9g} s: {cause}; "
            f"the state that limits it is '{p.state_name(tried.worst)}'.",
            path=p.state_name(tried.worst),
            time=t,
            hint="Loosen rtol and atol, or look for a discontinuity there.",
        )

    def _first_step(self, t: float, x: np.ndarray, stop: float) -> float:
        """A step over which the states change by a hundredth of their scale."""
        if not len(x):
            return stop - t
        n = self.problem.controlled
        scale = (self.problem.atol + self.rtol * np.abs(x))[:n]
        slope = float(np.sqrt(np.mean((self.problem.f(t, x)[:n] / scale) ** 2)))
        self.problem.counters.evaluations += 1
        guess = (1.0 / slope) ** 0.5 if slope > 0 and math.isfinite(slope) else 1e-6
        guess = min(max(1e-9, min(guess, 1e-3)), stop - t, self.max_step)
        return float(min(max(guess, 4 * math.ulp(t)), stop - t)) if t + guess == t else float(guess)

    @staticmethod
    def _inside(start: StepStart, h: float, tried: Trial) -> Any:
        """Continuous extension of third order."""
        x, k, z1 = start.x, tried.k, tried.z1
        course: list[Any] = []  # its coefficients; most steps are never looked into

        def inside(t: float) -> np.ndarray:
            if not course:
                course.extend(sum(w * kj for w, kj in zip(row, k[:5], strict=True)) for row in RODAS.dense)
            third, fourth = course
            s = (t - start.t) / h
            return start.states(t - start.t, x * (1 - s) + s * (z1 + (1 - s) * (third + s * fourth)))

        return inside
