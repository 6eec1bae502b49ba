"""Every integrator by the name a user gives it; adding one is one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.engines.methods.steppers import AdaptiveStepper, FixedStepper, Stepper
from cosim.engines.methods.tableau import TABLEAUS, Tableau

SCIPY = ("Radau", "BDF", "LSODA", "RK45", "RK23", "DOP853")

if TYPE_CHECKING:
    from cosim.engines.reference.machine import Machine


@dataclass(frozen=True)
class Solver:
    """A named integrator: does it choose its steps, and how is it made for a machine."""

    name: str
    adaptive: bool
    make: Callable[[Machine], Stepper]


def _explicit(machine: Machine, method: Tableau) -> Stepper:
    s = machine.settings
    if not method.adaptive:
        return FixedStepper(machine.derivative, machine.counters, method, s.step)
    name, atol = machine.system.state_name, absolute_tolerances(machine)
    return AdaptiveStepper(
        machine.derivative, machine.counters, method, s.rtol, atol, s.max_step, machine.memory, name
    )


def _rodas(machine: Machine) -> Stepper:
    from cosim.engines.methods.rosenbrock import RosenbrockStepper

    s, name, atol = machine.settings, machine.system.state_name, absolute_tolerances(machine)
    return RosenbrockStepper(
        machine.derivative,
        machine.linearise,
        machine.counters,
        s.rtol,
        atol,
        s.max_step,
        machine.memory,
        name,
    )


def _scipy(machine: Machine, name: str) -> Stepper:
    from cosim.engines.methods.scipy_stepper import ScipyStepper

    s, atol = machine.settings, absolute_tolerances(machine)
    return ScipyStepper(
        name,
        machine.derivative,
        machine.linearise,
        machine.counters,
        s.rtol,
        atol,
        s.max_step,
        machine.memory,
    )


def absolute_tolerances(machine: Machine) -> np.ndarray:
    """atol of every state: the setting times its nominal size, (nx,)."""
    states = machine.system.states.values()
    nominal = [np.full(slot.size, slot.memory.nominal) for slot in states if slot.memory]
    scaled: np.ndarray = machine.settings.atol * np.concatenate([np.zeros(0), *nominal])
    return scaled


SOLVERS = {t.name: Solver(t.name, t.adaptive, partial(_explicit, method=t)) for t in TABLEAUS.values()} | {
    "rodas4": Solver("rodas4", True, _rodas),
}
SOLVERS |= {name: Solver(name, True, partial(_scipy, name=name)) for name in SCIPY}


def solver(name: str) -> Solver:
    """Integrator by name.

    Raises
    ------
    PlantloopError     unknown name, with a near miss
    """
    if name not in SOLVERS:
        raise PlantloopError(f"no solver '{name}'; {near_miss(name, SOLVERS)}", value=name)
    return SOLVERS[name]
