"""What follows from the solved equations of motion, as each stage of a plant's equations knows it.

Constraints must not ask for it (`Withheld`); forces may, and get stand-ins (`Awaited`) whose values are found
together with the accelerations; outputs get the values themselves (`Solved`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import casadi as ca

from plant.constraints.closure import Closure
from plant.constraints.solution import Solution, StandIns
from plant.elements import Reference_Variable
from plant.equations.reaction_functions import ReactionFunctions
from plant.equations.setting import Setting
from plant.expressions.scope import Refusal


class Outcome(Protocol):
    """The part of the solution that a stage knows; any method may raise `Refusal`."""

    def accelerations(self, id: int) -> tuple[ca.SX | None, ca.SX | None]:
        """Acceleration of a marker's origin and angular acceleration, (3, 1) each, in the ground frame.

        None where they are withheld: functions that need them refuse then.
        """
        ...

    def reaction(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Value of a function that reads reactions."""
        ...

    def multiplier(self, id: int) -> ca.SX:
        """Of a Reference_Variable that is a hard constraint."""
        ...

    def waits(self, value: ca.SX) -> bool:
        """Whether a value contains stand-ins, so that later stages work it out anew."""
        ...


class Withheld:
    """Nothing: what constraints are made from."""

    def accelerations(self, id: int) -> tuple[None, None]:
        """None."""
        return None, None

    def reaction(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Refused."""
        raise Refusal("a constraint cannot depend on forces; write it in displacements and TIME")

    def multiplier(self, id: int) -> ca.SX:
        """Refused."""
        raise Refusal(
            f"Reference_Variable {id} is a hard constraint, so its value is a multiplier, on which a "
            "constraint cannot depend"
        )

    def waits(self, value: ca.SX) -> bool:
        """Never."""
        return False


class Awaited:
    """Stand-ins for what is not known while forces are written."""

    def __init__(self, setting: Setting, closure: Closure | None, unknowns: StandIns) -> None:
        self._setting, self._closure, self._unknowns = setting, closure, unknowns

        def actual(k: int) -> Callable[[Solution], ca.SX]:
            return lambda solution: solution.lam[k]

        self._multipliers = _by_variable(closure, lambda k: unknowns.new(("lam", k), 1, f"lam{k}", actual(k)))

    def accelerations(self, id: int) -> tuple[ca.SX, ca.SX]:
        """See `Outcome.accelerations`."""
        kinematics = self._setting.kinematics

        def actual(k: int) -> Callable[[Solution], ca.SX]:
            return lambda solution: kinematics.accelerations(id, solution.a, solution.loads.gravity)[k]

        a, al = (self._unknowns.new((n, id), 3, f"{n}{id}", actual(k)) for k, n in enumerate(("a", "al")))
        return a, al

    def reaction(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """See `Outcome.reaction`."""

        def actual(solution: Solution) -> ca.SX:
            return ReactionFunctions(self._setting, self._closure, solution).component(function, ids)

        return self._unknowns.new((function, ids), 1, f"{function}({','.join(map(str, ids))})", actual)

    def multiplier(self, id: int) -> ca.SX:
        """See `Outcome.multiplier`."""
        return self._multipliers[id]

    def waits(self, value: ca.SX) -> bool:
        """See `Outcome.waits`."""
        return bool(self._unknowns.used(value))


class Solved:
    """Accelerations, reactions and multipliers themselves."""

    def __init__(self, setting: Setting, closure: Closure | None, solution: Solution) -> None:
        self._kinematics, self._solution = setting.kinematics, solution
        self._reactions = ReactionFunctions(setting, closure, solution)
        self._multipliers = _by_variable(closure, lambda k: ca.SX(ca.densify(solution.lam[k])))

    def accelerations(self, id: int) -> tuple[ca.SX, ca.SX]:
        """See `Outcome.accelerations`."""
        return self._kinematics.accelerations(id, self._solution.a, self._solution.loads.gravity)

    def reaction(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """See `Outcome.reaction`."""
        return self._reactions.component(function, ids)

    def multiplier(self, id: int) -> ca.SX:
        """See `Outcome.multiplier`."""
        return self._multipliers[id]

    def waits(self, value: ca.SX) -> bool:
        """Never."""
        return False


def _by_variable(closure: Closure | None, multiplier: Callable[[int], ca.SX]) -> dict[int, ca.SX]:
    """Multiplier of every variable that is a constraint; 0 of one that holds by itself and needs no force."""
    found: dict[int, ca.SX] = {}
    if closure is None:
        return found
    sources = [constraint.source for constraint in closure.constraints]
    found |= {e.id: ca.SX(0) for e in sources if isinstance(e, Reference_Variable)}
    for k, condition in enumerate(closure.conditions):
        if isinstance(condition.constraint.source, Reference_Variable):
            found[condition.constraint.source.id] = multiplier(k)
    return found
