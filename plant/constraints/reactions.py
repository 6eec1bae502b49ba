"""Reactions: what joints, motions and other constraints do to the bodies of their markers.

Of a cut joint, and of every joint in absolute coordinates, F = Phi_r^T lam and T likewise with rotations
(Haug, eq. 6.6.8: F'' = -C^T A^T Phi_r^T lam in the joint's own axes). Of a joint of the tree the reaction is
what its link needs beyond all other forces (recursive Newton-Euler).
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from plant.constraints.closure import Closure
from plant.constraints.conditions import CONDITIONS
from plant.constraints.solution import Solution
from plant.elements import (
    Constraint_Coupler,
    Constraint_Joint,
    Element,
    Motion_Joint,
    Motion_Marker,
)
from plant.equations.setting import Setting
from plant.expressions.functions.corners import norm
from plant.expressions.scope import Refusal
from plant.forces.penalty import penalty_wrenches
from plant.forces.table import FORCES
from plant.mechanics.mechanism import GROUND
from plant.mechanics.spatial import cross

NOTHING = ca.SX(3, 1)
Pair = tuple[ca.SX, ca.SX]  # force and torque at a marker's origin, ground axes

CONSTRAINT_FUNCTIONS: Mapping[str, tuple[type[Element], ...]] = {
    name: tuple(kind for kind in CONDITIONS if name in kind.readers)
    for kind in CONDITIONS
    for name in kind.readers
}
"""Types of constraints that a function reads."""

SUMS = ("FM", "FX", "FY", "FZ", "TM", "TX", "TY", "TZ")


class Reactions:
    """Forces of constraints, and of all elements between two markers, in one solution.

    solution.a must be the final accelerations of all links.
    """

    def __init__(self, setting: Setting, closure: Closure | None, solution: Solution) -> None:
        self._setting, self._closure, self._solution = setting, closure, solution
        self._kinematics = setting.kinematics
        self._on_links: dict[int, ca.SX] | None = None
        self._through: dict[int, ca.SX] = {}
        self._of: dict[tuple[str, int], dict[int, Pair]] = {}

    def component(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Value of a reaction function."""
        if function in SUMS:
            i, j, k = (*ids, 0, 0)[:3]
            return self._part(self.between(i, j), SUMS.index(function) + 1, k)
        id, jflag, comp, frame = (*ids, 0)[:4]
        element = self._element(function, id)
        pairs = self.of(element)
        marker = self._ends(element)[jflag]
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

    def _ends(self, element: Element) -> tuple[int, int]:
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
            self._of[key] = self._by_multipliers(element) if link is None else self._by_balance(link)
        return self._of[key]

    def _link_of(self, element: Element) -> int | None:
        links = self._kinematics.mechanism.links
        return next(
            (i for i, link in enumerate(links) if link.connection and link.connection.source is element), None
        )

    def _by_multipliers(self, element: Element) -> dict[int, Pair]:
        closure = self._closure
        found: dict[int, Pair] = {}
        if closure is None:
            return found
        rows = [k for k in closure.of(element) if not closure.is_servo(k)]
        if not rows:  # a FREE joint, or one whose conditions hold by themselves
            return found
        for marker, (c, t) in closure.wrenches.items():
            F, T = c[rows, :].T @ self._solution.lam[rows], t[rows, :].T @ self._solution.lam[rows]
            if F.nnz() or T.nnz():
                found[marker] = (ca.SX(F), ca.SX(T))
        return found

    def _by_balance(self, i: int) -> dict[int, Pair]:
        kinematics, link = self._kinematics, self._kinematics.mechanism.links[i]
        if i not in self._through:
            self._through[i] = ca.SX(kinematics.tree.reaction(i, self._solution.a, self._loads()))
        f, A = self._through[i], kinematics.tree.pose(i)[0]
        F, T = A @ f[3:], A @ f[:3]
        assert link.connection is not None  # a joint of the tree
        ends = link.connection.source
        child, parent = ends.i_marker_id, ends.j_marker_id
        if link.joint.reversed:
            child, parent = parent, child
        arm = kinematics.marker(child).r - kinematics.marker(parent).r
        return {child: (F, T), parent: (-F, -(T + cross(arm, F)))}

    def _loads(self) -> dict[int, ca.SX]:
        """Everything but the tree's own joints: applied forces and constraints, on each link."""
        if self._on_links is None:
            kinematics, found = self._kinematics, dict(self._solution.loads.on_links)
            wrenches = {} if self._closure is None else self._closure.wrenches
            rows = (
                []
                if self._closure is None
                else [k for k in range(self._closure.size) if not self._closure.is_servo(k)]
            )
            lam = self._solution.lam[rows]
            acting = [(m, c[rows, :].T @ lam, t[rows, :].T @ lam) for m, (c, t) in wrenches.items() if rows]
            acting += [
                (marker, *pair)
                for marker, pair in penalty_wrenches(self._setting, self._solution.loads.penalties).items()
            ]
            for marker, F, T in acting:
                link = kinematics.link(marker)
                if link != GROUND and (F.nnz() or T.nnz()):
                    A, _ = kinematics.tree.pose(link)
                    along = A.T @ F
                    f = ca.vertcat(A.T @ T + cross(kinematics.point(marker), along), along)
                    found[link] = found[link] + f if link in found else f
            self._on_links = found
        return self._on_links

    # --- between markers ------------------------------------------------------------------------------
    def between(self, i: int, j: int) -> Pair:
        """Sum of all forces on I, at its origin, of elements that connect I and J; of all at I if J is 0."""
        setting = self._setting
        F, T = NOTHING, NOTHING
        for kind in FORCES:
            for element in setting.model.all(kind):
                wrenches = setting.wrenches(element)
                markers = [w.marker for w in wrenches]
                if i in markers and (j == 0 or j in markers):
                    w = wrenches[markers.index(i)]
                    turned = w.T
                    if w.at is not None:
                        turned = turned + cross(w.at - self._kinematics.marker(i).r, w.F)
                    F, T = F + w.F, T + turned
        constraints: list[type[Element]] = [Constraint_Joint, Motion_Joint, Motion_Marker]
        for kind in constraints:
            for element in setting.model.all(kind):
                ends = self._ends(element)
                if i in ends and (j == 0 or j in ends):
                    pair = self.of(element).get(i, (NOTHING, NOTHING))
                    F, T = F + pair[0], T + pair[1]
        return F, T
