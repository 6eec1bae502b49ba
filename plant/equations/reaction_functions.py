"""Functions of expressions that read reactions: JOINT, MOTION, ... of one element, FX ... between markers."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from plant.constraints.closure import Closure
from plant.constraints.reactions import Pair, Reactions
from plant.constraints.solution import Solution
from plant.elements import (
    FORCES,
    Constraint_Coupler,
    Constraint_Joint,
    Element,
    Motion_Joint,
    Motion_Marker,
)
from plant.equations.constraint_elements import CONDITIONS
from plant.equations.setting import Setting
from plant.expressions.corners import norm
from plant.expressions.scope import Refusal
from plant.forces.penalty import penalty_wrenches

NOTHING = ca.SX(3, 1)

CONSTRAINT_FUNCTIONS: Mapping[str, tuple[type[Element], ...]] = {
    name: tuple(kind for kind in CONDITIONS if name in kind.readers)
    for kind in CONDITIONS
    for name in kind.readers
}
"""Types of constraints that a function reads."""

SUMS = ("FM", "FX", "FY", "FZ", "TM", "TX", "TY", "TZ")


class ReactionFunctions:
    """Forces of constraints, and of all elements between two markers, in one solution.

    solution.a must be the final accelerations of all links.
    """

    def __init__(self, setting: Setting, closure: Closure | None, solution: Solution) -> None:
        self._setting, self._closure = setting, closure
        self._kinematics = setting.kinematics
        self._reactions = Reactions(
            setting.kinematics,
            closure,
            solution,
            lambda: penalty_wrenches(setting, solution.loads.penalties),
        )
        self._of: dict[tuple[str, int], dict[int, Pair]] = {}

    def component(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Value of a reaction function."""
        if function in SUMS:
            i, j, k = (*ids, 0, 0)[:3]
            return self._part(self.between(i, j), SUMS.index(function) + 1, k)
        id, jflag, comp, frame = (*ids, 0)[:4]
        element = self._element(function, id)
        pairs = self.of(element)
        marker = self.ends(element)[jflag]
        return self._part(pairs.get(marker, (NOTHING, NOTHING)), comp, frame)

    def _part(self, pair: Pair, comp: int, frame: int) -> ca.SX:
        whole = ca.densify(ca.SX(pair[0 if comp <= 4 else 1]))
        if comp in (1, 5):
            return norm(whole)
        return ca.dot(whole, self._kinematics.marker(frame).A[:, (comp - 2) % 4])

    def _element(self, function: str, id: int) -> Element:
        kinds = CONSTRAINT_FUNCTIONS[function]
        for kind in kinds:
            for element in self._setting.model.all(kind):
                if element.id == id:
                    return element
        raise Refusal(f"there is no {' or '.join(kind.tag for kind in kinds)} with id {id}")

    def ends(self, element: Element) -> tuple[int, int]:
        """Markers I and J of an element."""
        if isinstance(element, Motion_Joint):
            element = self._setting.model.find(Constraint_Joint, element.joint_id)
        if isinstance(element, Constraint_Coupler):
            element = self._setting.model.find(Constraint_Joint, element.joint1_id)
        if isinstance(element, (Constraint_Joint, Motion_Marker)):
            return element.i_marker_id, element.j_marker_id
        used = [] if self._closure is None else sorted(self.of(element))
        if len(used) < 2:
            return (*used, 0, 0)[:2]  # type: ignore[return-value]
        return used[0], used[1]

    # --- of one element -------------------------------------------------------------------------------
    def of(self, element: Element) -> dict[int, Pair]:
        """Force and torque on the bodies of an element's markers, at the markers' origins."""
        key = (element.tag, element.id)
        if key not in self._of:
            link = self._link_of(element)
            self._of[key] = (
                self._reactions.by_multipliers(self._rows(element))
                if link is None
                else self._reactions.by_balance(link)
            )
        return self._of[key]

    def _rows(self, element: Element) -> list[int]:
        """Conditions an element demands."""
        closure = self._closure
        return [] if closure is None else closure.rows(lambda c: c.constraint.source is element)

    def _link_of(self, element: Element) -> int | None:
        links = self._kinematics.mechanism.links
        return next(
            (i for i, link in enumerate(links) if link.connection and link.connection.source is element), None
        )

    # --- between markers ------------------------------------------------------------------------------
    def between(self, i: int, j: int) -> Pair:
        """Sum of all forces on I, at its origin, of elements that connect I and J; of all at I if J is 0."""
        setting = self._setting
        F, T = NOTHING, NOTHING
        for force_type in FORCES:
            for force in setting.model.all(force_type):
                if i in force.ends and (j == 0 or j in force.ends):  # others may need this sum themselves
                    w = setting.wrenches(force)[force.ends.index(i)]
                    F, T = F + w.F, T + w.torque_about(self._kinematics.marker(i).r)
        constraints: list[type[Element]] = [Constraint_Joint, Motion_Joint, Motion_Marker]
        for kind in constraints:
            for element in setting.model.all(kind):
                ends = self.ends(element)
                if i in ends and (j == 0 or j in ends):
                    pair = self.of(element).get(i, (NOTHING, NOTHING))
                    F, T = F + pair[0], T + pair[1]
        return F, T
