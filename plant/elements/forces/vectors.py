"""Forces and torques given as numbers, expressions or subroutines: by components, or along a line.

Source: MotionSolve reference guide, Force_Vector_TwoBody, Force_Vector_OneBody, Force_Scalar_TwoBody;
directions of the last as in the Adams command SFORCE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import casadi as ca

from plant.elements.element import Others
from plant.elements.forces.force import Force, Surroundings
from plant.elements.forces.in_plane import Plane, leaves_out
from plant.elements.forces.relative import CentreLine
from plant.elements.kinds import Boolean, Formula, FrameId, MarkerId, Real, Whole, keyword
from plant.elements.pairs import pair_faults
from plant.elements.subroutine import UserSubroutine
from plant.forces.wrench import NOTHING, Applied, Wrench
from plant.mechanics.spatial import vector

__all__ = ["Force_Scalar_TwoBody", "Force_Vector_OneBody", "Force_Vector_TwoBody"]

VECTOR_TYPES = keyword("FORCEONLY", "TORQUEONLY", "FORCEANDTORQUE")
COMPONENTS = tuple(f"{kind}{axis}_expression" for kind in "ft" for axis in "xyz")
VECTOR_ROUTINES = {"FORCEONLY": "VFOSUB", "TORQUEONLY": "VTOSUB", "FORCEANDTORQUE": "GFOSUB"}


@dataclass(frozen=True, kw_only=True)
class _Vector(UserSubroutine, Force):
    """A force [force] and torque [force length] by components along ``ref_marker_id``.

    0 or absent means global axes. Components not given are 0.
    """

    type: Annotated[str, VECTOR_TYPES]
    ref_marker_id: FrameId | None = None
    fx_expression: Formula | None = None
    fy_expression: Formula | None = None
    fz_expression: Formula | None = None
    tx_expression: Formula | None = None
    ty_expression: Formula | None = None
    tz_expression: Formula | None = None

    readers = ("GFORCE", "VFORCE", "VTORQ")

    @property
    def subroutine(self) -> str:
        return self.usrsub_fnc_name or VECTOR_ROUTINES[self.type]

    @property
    def only_turns(self) -> bool:
        return self.type == "TORQUEONLY"

    def remarks(self) -> Iterator[str]:
        """Components that the type leaves out, and axes that are taken as global."""
        unused = {"FORCEONLY": "t", "TORQUEONLY": "f"}.get(self.type, "")
        for name in (f"{unused}{axis}_expression" for axis in "xyz" if unused):
            if getattr(self, name) not in (None, "0", "0.0"):
                yield f'{name} is ignored because type is {self.type}; write type="FORCEANDTORQUE" to use it'
        if not self.has_subroutine and not any(getattr(self, name) for name in COMPONENTS):
            yield "no component is written, so it exerts nothing; write fx_expression, ..., or delete it"
        if self.ref_marker_id is None:
            yield (
                'ref_marker_id is missing and global axes are assumed; write the marker, or ref_marker_id="0"'
            )

    def _force_and_torque(self, setting: Surroundings) -> tuple[ca.SX, ca.SX]:
        F = self._components("f", setting) if self.type != "TORQUEONLY" else NOTHING
        T = self._components("t", setting) if self.type != "FORCEONLY" else NOTHING
        return F, T

    def _components(self, prefix: str, setting: Surroundings) -> ca.SX:
        """``<prefix>x_expression`` ... along the axes of the reference marker, in the ground frame."""
        components = vector([setting.expression(self, f"{prefix}{axis}_expression") for axis in "xyz"])
        return setting.marker(self.ref_marker_id or 0).A @ ca.SX(components)

    def _in_plane_at(self, marker: int, plane: Plane) -> bool:
        """Does it act along the plane at this marker, and its torque about the normal?"""
        ref = self.ref_marker_id or 0
        if self.has_subroutine or not plane.has(marker) or not plane.aligned(ref):
            return False
        k = plane.across(ref)
        return leaves_out(
            self, [f"{'f' if n == k else 't'}{axis}_expression" for n, axis in enumerate("xyz")]
        )


@dataclass(frozen=True, kw_only=True)
class Force_Vector_TwoBody(_Vector):
    """Force [force] and torque [force length] on I, components along ``ref_marker_id``; reaction on J.

    The floating marker stays on top of I, so the reaction acts, and is reported, at the same point.
    Components not given are 0; ``ref_marker_id`` 0 or absent means global axes.
    """

    i_marker_id: MarkerId
    j_floating_marker_id: MarkerId
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        ids = (self.i_marker_id, self.j_floating_marker_id, self.body1_id, self.body2_id)
        yield from pair_faults(others, *ids)

    @property
    def ends(self) -> tuple[int, ...]:
        return self.i_marker_id, self.j_floating_marker_id

    def apply(self, setting: Surroundings) -> Applied:
        """Force at I; the floating marker J stays on top of I, so the reaction acts at r_I on its body."""
        F, T = self._force_and_torque(setting)
        r = setting.marker(self.i_marker_id).r
        return Wrench(self.i_marker_id, F, T), Wrench(self.j_floating_marker_id, -F, -T, r, floats=True)

    def in_plane(self, plane: Plane) -> bool:
        """Force along the plane, torque about its normal."""
        return self._in_plane_at(self.i_marker_id, plane)


@dataclass(frozen=True, kw_only=True)
class Force_Vector_OneBody(_Vector):
    """Force [force] and torque [force length] on the body of ``marker_id``, at its origin; no reaction.

    Components along ``ref_marker_id``; 0 or absent means global axes. Components not given are 0.
    """

    marker_id: MarkerId

    @property
    def ends(self) -> tuple[int, ...]:
        return (self.marker_id,)

    def apply(self, setting: Surroundings) -> Applied:
        """Force at the marker's origin, torque on its body; no reaction."""
        return (Wrench(self.marker_id, *self._force_and_torque(setting)),)

    def in_plane(self, plane: Plane) -> bool:
        """Force along the plane, torque about its normal."""
        return self._in_plane_at(self.marker_id, plane)


@dataclass(frozen=True, kw_only=True)
class Force_Scalar_TwoBody(UserSubroutine, Force):
    """One number acting between I and J; positive pushes them apart.

    FORCE: along the line from J to I, or along z_J when ``is_action_only``. TORQUE: about z_J. The number
    is ``val`` [force or force length], ``val_expression`` or a subroutine.
    """

    type: Annotated[str, keyword("FORCE", "TORQUE")]
    i_marker_id: MarkerId
    j_marker_id: MarkerId
    is_action_only: Boolean = False
    val: Real | None = None
    val_expression: Formula | None = None
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    routine = "SFOSUB"
    readers = ("SFORCE",)

    @property
    def only_turns(self) -> bool:
        return self.type == "TORQUE"

    @property
    def ends(self) -> tuple[int, ...]:
        return (self.i_marker_id,) if self.is_action_only else (self.i_marker_id, self.j_marker_id)

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        given = [
            name
            for name, there in (
                ("val", self.val is not None),
                ("val_expression", self.val_expression is not None),
                ("script_name or usrsub_dll_name", self.has_subroutine),
            )
            if there
        ]
        if not given:
            yield "has no value; give val, val_expression or a subroutine"
        elif len(given) > 1:
            yield f"has its value more than once, in {' and '.join(given)}; keep one"

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        if not self.is_action_only:
            yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)

    def apply(self, setting: Surroundings) -> Applied:
        """Its value along the line of centres, positive apart; action only: along z_J. Torques: about z_J."""
        value = ca.SX(
            setting.number(self, "val")
            if self.val is not None
            else setting.expression(self, "val_expression")
        )
        I, J = self.i_marker_id, self.j_marker_id
        if self.type == "FORCE" and not self.is_action_only:
            return CentreLine(setting, I, J).along(self, value)
        along = setting.marker(J).A[:, 2] * value
        F, T = (along, NOTHING) if self.type == "FORCE" else (NOTHING, along)
        on_i = Wrench(I, F, T)
        return (on_i,) if self.is_action_only else (on_i, Wrench(J, -F, -T))

    def in_plane(self, plane: Plane) -> bool:
        """Along a line in the plane, or about its normal."""
        I, J = self.i_marker_id, self.j_marker_id
        if self.type == "TORQUE":
            return plane.aligned(J) and plane.across(J) == 2
        if not self.is_action_only:
            return plane.has(I, J)
        return plane.has(I) and plane.aligned(J) and plane.across(J) != 2
