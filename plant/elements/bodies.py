"""Bodies: what has mass, and the ground."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plant.elements.element import Element, Idle, Others, attributes_of
from plant.elements.kinds import Boolean, MarkerId, Positive, Real, StartRate
from plant.elements.markers import Frame, Reference_Marker

__all__ = ["Body_Point", "Body_Rigid"]

PRODUCT_OF_INERTIA_SIGN = -1.0
"""Sign of a product of inertia in the tensor: off-diagonal = sign * inertia_xy.

-1: inertia_xy is the integral of x y dm. The format's pages do not say; the opposite is as common.
"""

GROUND = ("id", "label", "is_active", "isground", "cg_id", "im_id", "lprf_id")
"""Attributes the ground has as well: those that name markers on it are often written."""

ROUNDED = 1e-12
"""Of the largest principal moment: what counts as zero."""

TRIANGLE_TOLERANCE = 1e-6
"""Relative excess over Ixx + Iyy >= Izz that is taken as rounding of the numbers in a file."""


@dataclass(frozen=True, kw_only=True)
class Body_Rigid(Element):
    """A rigid body, or the ground when ``isground``.

    ``mass`` [mass] and ``inertia_*`` [mass length^2] (about the origin and axes of marker ``im_id``, else
    ``cg_id``) may be left out where the body cannot move, which only the mechanics knows, and be 0 where the
    rest of the mechanism moves the body: a link without mass, a mass at a point. ``v_ic_*``
    [length/time] is the velocity of the CG along global axes or those of ``vm_id``, ``w_ic_*`` [rad/time]
    the angular velocity along global axes or those of ``wm_id``. The ground needs an id only.
    """

    isground: Boolean = False
    cg_id: MarkerId | None = None
    im_id: MarkerId | None = None
    lprf_id: MarkerId | None = None
    mass: Real | None = None
    inertia_xx: Real | None = None
    inertia_yy: Real | None = None
    inertia_zz: Real | None = None
    inertia_xy: Real = 0.0
    inertia_yz: Real = 0.0
    inertia_xz: Real = 0.0
    v_ic_x: StartRate | None = None
    v_ic_y: StartRate | None = None
    v_ic_z: StartRate | None = None
    w_ic_x: StartRate | None = None
    w_ic_y: StartRate | None = None
    w_ic_z: StartRate | None = None
    v_ic_x_flag: Boolean | None = None
    v_ic_y_flag: Boolean | None = None
    v_ic_z_flag: Boolean | None = None
    w_ic_x_flag: Boolean | None = None
    w_ic_y_flag: Boolean | None = None
    w_ic_z_flag: Boolean | None = None
    vm_id: MarkerId | None = None
    wm_id: MarkerId | None = None

    @property
    def inertia(self) -> NDArray[np.float64] | None:
        """Inertia tensor (3,3) [mass length^2] about the origin and axes of ``im_id or cg_id``, if given."""
        if self.inertia_xx is None or self.inertia_yy is None or self.inertia_zz is None:
            return None
        xy, yz, xz = PRODUCT_OF_INERTIA_SIGN * np.array([self.inertia_xy, self.inertia_yz, self.inertia_xz])
        return np.array([[self.inertia_xx, xy, xz], [xy, self.inertia_yy, yz], [xz, yz, self.inertia_zz]])

    @property
    def v_ic(self) -> tuple[float | None, float | None, float | None]:
        """Imposed initial velocity x, y, z; None where it is free (not given, or its flag is FALSE)."""
        return (
            None if self.v_ic_x_flag is False else self.v_ic_x,
            None if self.v_ic_y_flag is False else self.v_ic_y,
            None if self.v_ic_z_flag is False else self.v_ic_z,
        )

    @property
    def w_ic(self) -> tuple[float | None, float | None, float | None]:
        """Imposed initial angular velocity x, y, z; None where it is free."""
        return (
            None if self.w_ic_x_flag is False else self.w_ic_x,
            None if self.w_ic_y_flag is False else self.w_ic_y,
            None if self.w_ic_z_flag is False else self.w_ic_z,
        )

    def faults(self) -> Iterator[str]:
        if self.isground:
            return
        if self.cg_id is None:
            yield 'cg_id is missing; give the marker at the centre of mass, or isground="TRUE"'
        if self.mass is not None and self.mass < 0.0:
            yield f"mass={self.mass:g} is not positive; write a mass above 0, or 0 of a link without mass"
        moments = {name: getattr(self, name) for name in ("inertia_xx", "inertia_yy", "inertia_zz")}
        absent = [name for name, value in moments.items() if value is None]
        if 0 < len(absent) < 3:
            yield f"{' and '.join(absent)} missing; give all three moments of inertia or none"
        for name, value in moments.items():
            if value is not None and value < 0.0:
                yield f"{name}={value:g} is negative; write a moment above 0 (0 about a slender rod)"
        if absent or min(moments.values()) < 0.0:
            return
        small, middle, large = self._principal_moments()
        if small < -ROUNDED * large:
            yield (
                f"inertia is not positive definite: its smallest principal moment is {small:.6g}; "
                "correct inertia_xy, inertia_yz or inertia_xz"
            )
        elif large > 0.0 and middle <= ROUNDED * large:
            name = min(moments, key=lambda name: moments[name])
            yield (
                f"{name}={moments[name]:g} is not positive, and only one principal moment may be zero, "
                "that of a slender rod about its axis, or all three; write a moment above 0"
            )

    def idle(self) -> Iterator[Idle]:
        if self.isground:
            names = [name for name in attributes_of(type(self)) if name not in GROUND]
            yield from self.unused(names, "the ground does not move and weighs nothing", "delete it")
            return
        yield from _design_frame(self)
        if self.inertia is None:
            names = ["im_id", "inertia_xy", "inertia_yz", "inertia_xz"]
            cure = "write inertia_xx, inertia_yy and inertia_zz, or delete it"
            yield from self.unused(names, "the body has no moments of inertia", cure)
        yield from _velocities(self, "v_ic", "vm_id")
        yield from _velocities(self, "w_ic", "wm_id")

    def remarks(self) -> Iterator[str]:
        if self.isground or self.inertia is None:
            return
        small, middle, large = self._principal_moments()
        if large > (small + middle) * (1.0 + TRIANGLE_TOLERANCE):
            yield (
                f"no body has these moments of inertia: the largest principal one, {large:.6g}, exceeds the "
                f"sum of the others, {small + middle:.6g}; check inertia_xx, inertia_yy, inertia_zz"
            )

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        for name, id in (("cg_id", self.cg_id), ("im_id", self.im_id), ("lprf_id", self.lprf_id)):
            yield from _on_another_body(self, others, name, id)

    def _principal_moments(self) -> list[float]:
        """Principal moments [mass length^2], ascending."""
        if self.inertia_xy == self.inertia_yz == self.inertia_xz == 0.0:
            return sorted(value or 0.0 for value in (self.inertia_xx, self.inertia_yy, self.inertia_zz))
        return [float(moment) for moment in np.linalg.eigvalsh(np.asarray(self.inertia))]


@dataclass(frozen=True, kw_only=True)
class Body_Point(Element):
    """A point mass: three coordinates, orientation equal to the ground's for ever, no rotation.

    ``mass`` [mass]; ``v_ic_*`` [length/time] along global axes.
    """

    cg_id: MarkerId
    lprf_id: MarkerId | None = None
    mass: Positive
    v_ic_x: StartRate | None = None
    v_ic_y: StartRate | None = None
    v_ic_z: StartRate | None = None
    v_ic_x_flag: Boolean | None = None
    v_ic_y_flag: Boolean | None = None
    v_ic_z_flag: Boolean | None = None

    @property
    def v_ic(self) -> tuple[float | None, float | None, float | None]:
        """Imposed initial velocity x, y, z; None where it is free (not given, or its flag is FALSE)."""
        return (
            None if self.v_ic_x_flag is False else self.v_ic_x,
            None if self.v_ic_y_flag is False else self.v_ic_y,
            None if self.v_ic_z_flag is False else self.v_ic_z,
        )

    def idle(self) -> Iterator[Idle]:
        yield from _design_frame(self)
        yield from _velocities(self, "v_ic")

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        for name, id in (("cg_id", self.cg_id), ("lprf_id", self.lprf_id)):
            yield from _on_another_body(self, others, name, id)


def to_centre(body: Body_Rigid | Body_Point, frames: Mapping[Any, Frame]) -> np.ndarray:
    """(3,) from where the moments of a body are taken to its centre of mass, along the axes there.

    frames : of the markers
    """
    im_id = body.im_id if isinstance(body, Body_Rigid) else None
    if im_id is None or body.cg_id is None:
        return np.zeros(3)
    (r0, _), (r1, A1) = frames[body.cg_id], frames[im_id]
    return np.asarray(A1.T @ (r0 - r1))


def shifted_too_far(body: Element, frames: Mapping[Any, Frame], rounding: float = TRIANGLE_TOLERANCE) -> str:
    """The fault where moments about ``im_id`` leave a negative one at the centre of mass; else "".

    rounding : how far below 0 it may be, of the largest moment about ``im_id``
    """
    if not isinstance(body, Body_Rigid) or body.isground or body.im_id is None or body.inertia is None:
        return ""
    c = to_centre(body, frames)
    left = body.inertia - (body.mass or 0.0) * (c @ c * np.eye(3) - np.outer(c, c))
    smallest = float(np.linalg.eigvalsh(left)[0])
    if smallest > -rounding * np.abs(body.inertia).max():
        return ""
    return (
        f"{body.where}: its moments of inertia are about im_id={body.im_id}, {np.linalg.norm(c):.4g} away "
        f"from the centre of mass, where mass times distance squared leaves {smallest:.4g} of them. Give "
        "them about im_id, the share of the mass included, or leave im_id out if they are about the centre."
    )


def _design_frame(body: Body_Rigid | Body_Point) -> Iterator[Idle]:
    """The part frame, which other programs read."""
    why = "markers are written in the global frame of the design configuration"
    yield from body.unused(["lprf_id"], why, "delete it, or leave it for other programs")


def _velocities(body: Body_Rigid | Body_Point, name: str, axes: str = "") -> Iterator[Idle]:
    """Initial velocities `name` that their flags take away, flags without them, and `axes` for none."""
    components = [f"{name}_{axis}" for axis in "xyz"]
    for component in components:
        flag = f"{component}_flag"
        if getattr(body, component) is None:
            yield from body.unused([flag], f"{component} is not given", f"write {component}, or delete it")
        elif getattr(body, flag) is False:
            yield from body.unused([component], f"{flag} is FALSE", f'write {flag}="TRUE", or delete both')
    given = [
        c for c in components if getattr(body, c) is not None and getattr(body, f"{c}_flag") is not False
    ]
    if axes and not given:
        yield from body.unused([axes], f"no {name}_x, _y or _z is given", "write one, or delete it")


def _on_another_body(body: Element, others: Others, name: str, id: int | None) -> Iterator[str]:
    """Fault of a marker that should be fixed to ``body`` and is not."""
    marker = others.get(Reference_Marker, id)
    if marker is None or others.missing((marker.body[0],), marker.body_id):
        return  # a fault reported elsewhere
    if marker.body != (body.tag, body.id):
        yield (
            f"{name}={id} is a marker of {marker.body[0]} {marker.body[1]}; "
            f"name a marker of this body, or give marker {id} body_id={body.id}"
        )
