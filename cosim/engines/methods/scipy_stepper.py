"""SciPy's integrators by name: "Radau", "BDF" and "LSODA" for stiff systems, "RK45", "RK23" and "DOP853".

They start anew at every stop, so nothing of theirs but the proposed step size outlives a stop, and snapshots
are complete; the last bits of the implicit ones depend on how many threads the BLAS uses. Those get the exact
Jacobian. RK45 and RK23 are here for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import integrate, sparse

from blocks.errors import SimulationError
from cosim.engines.engine import Counters
from cosim.engines.methods.steppers import AdaptiveMemory, Derivative, Step, Stepper

IMPLICIT = ("Radau", "BDF", "LSODA")


class ScipyStepper(Stepper):
    """One of SciPy's solver classes between stops.

    linearise : (t, x) -> (J, f_t), exact Jacobian (n, n) of f, dense or sparse, and its time derivative (n,)
    """

    def __init__(
        self,
        name: str,
        f: Derivative,
        linearise: Callable[[float, np.ndarray], tuple[Any, np.ndarray]],
        counters: Counters,
        rtol: float,
        atol: np.ndarray,
        max_step: float,
        memory: AdaptiveMemory,
    ) -> None:
        super().__init__(self._watched, counters)
        self._derivative = f
        self._bad: tuple[float, np.ndarray] | None = None  # where the derivative was last not finite
        self.name, self.linearise, self.memory = name, linearise, memory
        self.rtol, self.atol, self.max_step = max(rtol, 100 * np.finfo(float).eps), atol, max_step

    def _watched(self, t: float, x: np.ndarray) -> np.ndarray:
        value = self._derivative(t, x)
        if not np.isfinite(value).all():
            self._bad = (t, x.copy())
        return value

    def integrate(self, t: float, x: np.ndarray, stop: float) -> Iterator[Step]:
        """See `Stepper.integrate`."""
        if stop - t <= 16 * math.ulp(max(abs(t), abs(stop))):  # too short for SciPy, which would give up
            yield self._hop(t, x, stop)
            return
        solver = self._solver(t, x, stop)
        while t < stop:
            wanted = self.memory.step
            before, self._bad = solver.nfev, None
            failure = self._advance(solver, t)
            self.counters.evaluations += solver.nfev - before
            if failure or not np.isfinite(solver.y).all():
                raise self._failed(t, failure)
            self.counters.steps += 1
            step = Step(t, solver.t, x, solver.y.copy(), self._inside(solver))
            proposed = float(getattr(solver, "h_abs", None) or abs(solver.step_size))
            self.memory.step = max(proposed, wanted) if step.t1 >= stop else proposed
            yield step
            t, x = step.t1, step.x1
            if t < stop and (step.corrected or self._longest() < solver.max_step):
                solver = self._solver(t, x, stop)

    def _solver(self, t: float, x: np.ndarray, stop: float) -> Any:
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "max_step": self._longest()}
        if self.memory.step > 0.0:
            options["first_step"] = min(self.memory.step, stop - t, options["max_step"])
        if self.name in IMPLICIT:
            options["jac"] = self._jacobian
        made = getattr(integrate, self.name)(self.f, t, x, stop, **options)
        made.max_step = options["max_step"]  # LSODA keeps it to itself
        return made

    def _longest(self) -> float:
        return min(self.max_step, self.limit)

    def _jacobian(self, t: float, x: np.ndarray) -> Any:
        found = self.linearise(t, x)[0]
        return found.toarray() if self.name == "LSODA" and sparse.issparse(found) else found

    @staticmethod
    def _advance(solver: Any, t: float) -> str:
        """One step; returns what went wrong, in SciPy's words."""
        try:
            with np.errstate(all="ignore"):
                message = solver.step()
        except (ValueError, np.linalg.LinAlgError, RuntimeError) as error:
            return str(error)
        return str(message or "") if solver.status == "failed" else ""

    def _failed(self, t: float, failure: str) -> SimulationError:
        if self._bad is not None:
            return self.explain(*self._bad)
        return SimulationError(
            f"solver '{self.name}' gave up at t={t:.9g} s: {failure.rstrip('.')}.",
            time=t,
            hint="Loosen rtol and atol, use another solver, or look for a discontinuity there.",
        )

    def _hop(self, t: float, x: np.ndarray, stop: float) -> Step:
        """A step of a few units in the last place of t."""
        x1 = x + (stop - t) * self.f(t, x)
        self.counters.steps += 1
        self.counters.evaluations += 1
        return Step(t, stop, x, x1, lambda _: x1)

    @staticmethod
    def _inside(solver: Any) -> Any:
        """SciPy's dense output, made when somebody looks, which is before the next step."""
        made: list[Any] = []

        def inside(t: float) -> np.ndarray:
            if not made:
                made.append(solver.dense_output())
            value: np.ndarray = made[0](t)
            return value

        return inside
