"""Splines and markers that a script gives when a model is read: SPLINE_READ and MARKER_READ.

    SPLINE_READ(id, file_name, block_name) -> errflg     calls py_put_spline(id, x, y, z), z = 0.0 for a curve
    MARKER_READ(id, par, npar) -> errflg                 calls py_put_marker(id, r, angle_type, angle)

Positions and orientations are given as the element's own attributes would be: in the global frame of the
design, or relative to ``rm_id``. angle_type 0: x- and z-axis (6 numbers, y by cross product), 1: Euler angles
3-1-3, 2: yaw, pitch, roll 3-2-1, 3: Euler parameters (4 numbers); angles in radians.

Source: MotionSolve reference guide, SPLINE_READ, MARKER_READ, put_spline, put_marker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.elements import Element, Model, Reference_Marker, Reference_Spline
from plant.elements.markers import COSINES, euler_313
from plant.mechanics.spatial import quaternion_rotation
from plant.routines.access import Access, spline_of
from plant.routines.scripts import Script, placed


class _Given(Access):
    """Takes down what a script puts; it may ask for nothing, because nothing is there yet."""

    def __init__(self, model: Model) -> None:
        super().__init__(model, lambda id: spline_of(model, id), allowed=False)
        self.put: dict[int, dict[str, Any]] = {}

    def put_spline(self, id: Any, x: Any, y: Any, z: Any = 0.0) -> bool:
        """See `Access.put_spline`."""
        if np.any(np.ravel(z)):
            raise ModelError(f"py_put_spline of spline {int(id)}: surfaces are not supported; give z = 0.0.")
        self.put[int(id)] = {"x": tuple(map(float, np.ravel(x))), "y": tuple(map(float, np.ravel(y)))}
        return False

    def put_marker(self, id: Any, r: Any, angle_type: Any, angle: Any) -> bool:
        """See `Access.put_marker`."""
        kind, numbers = int(angle_type), np.ravel(np.asarray(angle, dtype=float))
        if kind not in ANGLES or numbers.size < ANGLES[kind][0]:
            forms = ", ".join(f"{k} with {count}" for k, (count, _) in ANGLES.items())
            raise ModelError(
                f"py_put_marker of marker {int(id)}: angle_type {kind} with {numbers.size} numbers; "
                f"the types and their numbers are {forms}."
            )
        count, rotation = ANGLES[kind]
        A = rotation(numbers[:count])
        place = dict(zip(("pos_x", "pos_y", "pos_z"), map(float, np.ravel(r)), strict=True))
        self.put[int(id)] = place | dict(zip(COSINES, map(float, A.T.ravel()), strict=True))
        return False


def _from_axes(axes: np.ndarray) -> np.ndarray:
    x, z = axes[:3] / np.linalg.norm(axes[:3]), axes[3:] / np.linalg.norm(axes[3:])
    return np.column_stack([x, np.cross(z, x), z])


def _yaw_pitch_roll(angles: np.ndarray) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (cy, cp, cr), (sy, sp, sr) = np.cos(angles), np.sin(angles)
    turns = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]),
        np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]]),
        np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]]),
    )
    return np.asarray(turns[0] @ turns[1] @ turns[2])


def _from_quaternion(e: np.ndarray) -> np.ndarray:
    return np.array(ca.DM(quaternion_rotation(ca.DM(e / np.linalg.norm(e))))).T


ANGLES: Mapping[int, tuple[int, Callable[[np.ndarray], np.ndarray]]] = MappingProxyType(
    {
        0: (6, _from_axes),
        1: (3, lambda angles: euler_313(*angles)),
        2: (3, _yaw_pitch_roll),
        3: (4, _from_quaternion),
    }
)
"""Numbers of each angle_type, and the axes (3, 3) they mean."""


def filled(model: Model) -> Model:
    """The model with what its SPLINE_READ and MARKER_READ scripts give; only for models that are trusted.

    Raises
    ------
    ModelError    no such script or function, it fails, or it puts nothing
    """
    given: dict[str, dict[int, Element]] = {}
    for spline in model.all(Reference_Spline):
        if spline.has_subroutine and not spline.x:
            arguments = [spline.id, spline.file_name or "", spline.block_name or ""]
            given.setdefault(spline.tag, {})[spline.id] = _read(model, spline, arguments)
    for marker in model.all(Reference_Marker):
        if marker.has_subroutine:
            par = [float(p) for p in marker.parameters]
            given.setdefault(marker.tag, {})[marker.id] = _read(model, marker, [marker.id, par, len(par)])
    if not given:
        return model
    elements = {tag: MappingProxyType({**same, **given.get(tag, {})}) for tag, same in model.elements.items()}
    return replace(model, elements=MappingProxyType(elements))


def _read(model: Model, element: Any, arguments: list[Any]) -> Element:
    """The element with what its script puts for it."""
    if element.script_name is None or element.interpreter == "MATLAB":
        raise ModelError(
            f"{element.where}: {element.subroutine} has to be a Python script.",
            path=element.where,
            hint="Name it with script_name, or write the numbers in the file.",
        )
    access = _Given(model)
    try:
        failed = Script(model, element).numeric()(arguments, access)
    except Exception as fault:  # a user's routine may raise anything
        raise placed(fault, element) from fault
    if failed or element.id not in access.put:
        what = f"returned errflg {failed!r}" if failed else f"put nothing for id {element.id}"
        raise ModelError(f"{element.where}: {element.subroutine} {what}.", path=element.where)
    found: Element = replace(element, script_name=None, **access.put[element.id])
    return found
