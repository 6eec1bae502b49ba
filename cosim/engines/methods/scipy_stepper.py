"""SciPy's integrators by name: "Radau", "BDF" and "LSODA" for stiff systems, "RK45", "RK23" and "DOP853".

They start anew at every stop, so nothing of theirs but the proposed step size outlives a stop, and snapshots
are complete; the last bits of the implicit ones depend on how many threads the BLAS uses. Those get the exact
Jacobian. RK45 and RK23 are here for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import integrate, sparse

from blocks.errors import SimulationError, StepCollapsed
from cosim.engines.methods.steppers import AcceptedStep, Control, Derivative, Problem, Stepper

IMPLICIT = ("Radau", "BDF", "LSODA")


class _Watched:
    """A derivative that remembers where it was last not finite, since the last call of `forget`."""

    def __init__(self, f: Derivative) -> None:
        self.f = f
        self.bad: tuple[float, np.ndarray] | None = None

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        value = self.f(t, x)
        if not np.isfinite(value).all():
            self.bad = (t, x.copy())
        return value

    def forget(self) -> None:
        """Begin anew."""
        self.bad = None


class ScipyStepper(Stepper):
    """One of SciPy's solver classes between stops."""

    def __init__(self, problem: Problem, name: str, rtol: float, max_step: float) -> None:
        super().__init__(problem)
        self.name, self.max_step = name, max_step
        self.rtol = max(rtol, 100 * np.finfo(float).eps)

    def integrate(self, t: float, x: np.ndarray, stop: float, control: Control) -> Iterator[AcceptedStep]:
        """See `Stepper.integrate`."""
        p, f = self.problem, _Watched(self.problem.f)
        longest = min(self.max_step, p.longest_step())
        if stop - t <= 16 * math.ulp(max(abs(t), abs(stop))):  # too short for SciPy, which would give up
            yield self._hop(t, x, stop, control)
            return
        proposed = control.step
        solver = self._solver(f, t, x, stop, proposed, longest)
        while t < stop:
            wanted, before = proposed, solver.nfev
            f.forget()
            failure = self._advance(solver, t)
            p.counters.evaluations += solver.nfev - before
            if failure or not np.isfinite(solver.y).all():
                raise self._failed(f, t, failure)
            p.counters.steps += 1
            t1, end = solver.t, solver.y.copy()
            proposed = float(getattr(solver, "h_abs", None) or abs(solver.step_size))
            proposed = max(proposed, wanted) if t1 >= stop else proposed
            x1 = p.on_invariants(t1, end)
            yield AcceptedStep(t, t1, x, x1, self._inside(solver), Control(proposed, control.error))
            longest = min(self.max_step, p.longest_step())
            t, x = t1, x1
            if t < stop and (x1 is not end or longest < solver.max_step):
                solver = self._solver(f, t, x, stop, proposed, longest)

    def _solver(
        self, f: Derivative, t: float, x: np.ndarray, stop: float, proposed: float, longest: float
    ) -> Any:
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.problem.atol, "max_step": longest}
        if proposed > 0.0:
            options["first_step"] = min(proposed, stop - t, longest)
        if self.name in IMPLICIT:
            options["jac"] = self._jacobian
        made = getattr(integrate, self.name)(f, t, x, stop, **options)
        made.max_step = longest  # LSODA keeps it to itself
        return made

    def _jacobian(self, t: float, x: np.ndarray) -> Any:
        found = self.problem.linearise(t, x)[0]
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

    def _failed(self, f: _Watched, t: float, failure: str) -> SimulationError:
        if f.bad is not None:
            return self.problem.explain(*f.bad)
        return StepCollapsed(
            f"solver '{self.name}' gave up at t={t:.9g} s: {failure.rstrip('.')}.",
            time=t,
            hint="Loosen rtol and atol, use another solver, or look for a discontinuity there.",
        )

    def _hop(self, t: float, x: np.ndarray, stop: float, control: Control) -> AcceptedStep:
        """A step of a few units in the last place of t."""
        p = self.problem
        x1 = x + (stop - t) * p.f(t, x)
        p.counters.steps += 1
        p.counters.evaluations += 1
        return AcceptedStep(t, stop, x, p.on_invariants(stop, x1), lambda _: x1, control)

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
