"""Every integrator by the name a user gives it; adding one is one entry here, or in `tableau.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from cosim.engines.methods.tableau import TABLEAUS, Tableau

if TYPE_CHECKING:
    from cosim.engines.methods.steppers import Problem, Stepper

STIFF = "rodas4"
SCIPY = ("Radau", "BDF", "LSODA", "RK45", "RK23", "DOP853")


class StepSettings(Protocol):
    """The settings of a run that integrators use (see `RunSettings`)."""

    @property
    def step(self) -> float:
        """Of a fixed-step method [s]."""

    @property
    def rtol(self) -> float:
        """Relative tolerance of an adaptive one."""

    @property
    def max_step(self) -> float:
        """Its longest step [s]."""


@dataclass(frozen=True)
class Solver:
    """An integrator: does it choose its steps by error control, and what makes it for a problem."""

    adaptive: bool
    make: Callable[[Problem, StepSettings], Stepper]


def _explicit(problem: Problem, s: StepSettings, method: Tableau) -> Stepper:
    from cosim.engines.methods.steppers import AdaptiveStepper, FixedStepper

    if not method.adaptive:
        return FixedStepper(problem, method, s.step)
    return AdaptiveStepper(problem, method, s.rtol, s.max_step)


def _rodas(problem: Problem, s: StepSettings) -> Stepper:
    from cosim.engines.methods.rosenbrock import RosenbrockStepper

    return RosenbrockStepper(problem, s.rtol, s.max_step)


def _scipy(problem: Problem, s: StepSettings, name: str) -> Stepper:
    from cosim.engines.methods.scipy_stepper import ScipyStepper

    return ScipyStepper(problem, name, s.rtol, s.max_step)


SOLVERS: Mapping[str, Solver] = {
    **{m.name: Solver(m.adaptive, partial(_explicit, method=m)) for m in TABLEAUS.values()},
    STIFF: Solver(True, _rodas),
    **{name: Solver(True, partial(_scipy, name=name)) for name in SCIPY},
}
