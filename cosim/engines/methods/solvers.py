"""Every integrator by the name a user gives it; adding one is one entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from cosim.engines.methods.solver_names import SCIPY, STIFF
from cosim.engines.methods.steppers import AdaptiveStepper, FixedStepper, Problem, Stepper
from cosim.engines.methods.tableau import TABLEAUS, Tableau
from cosim.settings import RunSettings
from cosim.system import System


def _explicit(problem: Problem, s: RunSettings, method: Tableau) -> Stepper:
    if not method.adaptive:
        return FixedStepper(problem, method, s.step)
    return AdaptiveStepper(problem, method, s.rtol, s.max_step)


def _rodas(problem: Problem, s: RunSettings) -> Stepper:
    from cosim.engines.methods.rosenbrock import RosenbrockStepper

    return RosenbrockStepper(problem, s.rtol, s.max_step)


def _scipy(problem: Problem, s: RunSettings, name: str) -> Stepper:
    from cosim.engines.methods.scipy_stepper import ScipyStepper

    return ScipyStepper(problem, name, s.rtol, s.max_step)


def absolute_tolerances(system: System, atol: float) -> np.ndarray:
    """The setting times the nominal size of every state, (nx,)."""
    nominal = [np.full(slot.size, slot.memory.nominal) for slot in system.states.values()]
    scaled: np.ndarray = atol * np.concatenate([np.zeros(0), *nominal])
    return scaled


STEPPERS: Mapping[str, Callable[[Problem, RunSettings], Stepper]] = {
    **{method.name: partial(_explicit, method=method) for method in TABLEAUS.values()},
    STIFF: _rodas,
    **{name: partial(_scipy, name=name) for name in SCIPY},
}
"""What makes the integrator of each name for a problem."""
