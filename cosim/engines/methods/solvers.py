"""Every integrator by the name a user gives it; adding one is one entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cosim.engines.methods.solver_names import SCIPY, STIFF
from cosim.engines.methods.steppers import AdaptiveStepper, FixedStepper, Stepper
from cosim.engines.methods.tableau import TABLEAUS, Tableau

if TYPE_CHECKING:
    from cosim.engines.reference.machine import Machine


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


STEPPERS: Mapping[str, Callable[[Machine], Stepper]] = {
    **{method.name: partial(_explicit, method=method) for method in TABLEAUS.values()},
    STIFF: _rodas,
    **{name: partial(_scipy, name=name) for name in SCIPY},
}
"""What makes the integrator of each name for a machine."""
