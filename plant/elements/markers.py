"""Reference_Marker: a frame fixed to a body, written in the global frame of the design configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from plant.elements.element import Others
from plant.elements.kinds import Id, MarkerId, Real, keyword
from plant.elements.subroutine import UserSubroutine

__all__ = ["Reference_Marker"]

Frame = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Origin r (3,) [length] and axes A (3,3), columns x, y, z, both in the global frame."""

COSINES = ("a00", "a10", "a20", "a01", "a11", "a21", "a02", "a12", "a22")
ORTHONORMAL_TOLERANCE = 1e-4
"""Largest |A^T A - I| that is taken as rounding and mended; beyond it the axes are an error."""

EXACT_TO_ROUNDING = 1e-14
"""|A^T A - I| up to which a matrix is kept digit for digit."""

TURN = 2 * math.pi + 1e-9
"""Euler angles beyond a full turn are probably meant in degrees."""

BODY_TAGS = {"RIGIDBODY": "Body_Rigid", "POINTBODY": "Body_Point"}


@dataclass(frozen=True, kw_only=True)
class Reference_Marker(UserSubroutine):
    """A frame fixed to body ``body_id``.

    ``pos_x/y/z`` [length] and the orientation are global, in the design configuration, or relative to
    marker ``rm_id`` when that is given. The orientation is one of

    - nine direction cosines ``a<row><col>``; column 0 (a00, a10, a20) is the x-axis, and so on;
    - Euler angles ``psi, theta, phi`` [rad], body-fixed 3-1-3: A = Rz(psi) Rx(theta) Rz(phi);
    - nothing: the axes of the global frame (or of ``rm_id``).

    Or a Python script MARKER_READ gives position and orientation (see `plant.routines.script_data`).
    """

    body_id: Id
    body_type: Annotated[str, keyword("RIGIDBODY", "POINTBODY")] = "RIGIDBODY"
    rm_id: MarkerId | None = None
    pos_x: Real = 0.0
    pos_y: Real = 0.0
    pos_z: Real = 0.0
    a00: Real | None = None
    a10: Real | None = None
    a20: Real | None = None
    a01: Real | None = None
    a11: Real | None = None
    a21: Real | None = None
    a02: Real | None = None
    a12: Real | None = None
    a22: Real | None = None
    psi: Real | None = None
    theta: Real | None = None
    phi: Real | None = None

    routine = "MARKER_READ"
    switchable = False

    @property
    def body(self) -> tuple[str, int]:
        """Tag and id of the body it is fixed to."""
        return BODY_TAGS[self.body_type], self.body_id

    @property
    def position(self) -> NDArray[np.float64]:
        """Origin (3,) [length] as written: global, or relative to ``rm_id``."""
        return np.array([self.pos_x, self.pos_y, self.pos_z])

    @cached_property
    def rotation(self) -> NDArray[np.float64]:
        """Axes (3,3) as written, global or relative to ``rm_id``, re-orthonormalised; columns x, y, z.

        Matrices exact to rounding are kept as they are, so that zeros stay zeros.
        """
        if self.a00 is not None:
            A = np.array([getattr(self, name) for name in COSINES]).reshape(3, 3).T
            # Newton's iteration for the nearest orthonormal matrix (polar factor); quadratic, and it
            # keeps the zeros of a rotation about a coordinate axis, which a singular value solver does not.
            for _ in range(3):  # from 1e-4: 1e-8, 1e-16, exact
                if np.abs(A.T @ A - np.eye(3)).max() <= EXACT_TO_ROUNDING:
                    break
                A = 0.5 * A @ (3.0 * np.eye(3) - A.T @ A)
        else:
            A = euler_313(self.psi or 0.0, self.theta or 0.0, self.phi or 0.0)
        A.setflags(write=False)
        return A

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.has_subroutine and (self.script_name is None or self.interpreter == "MATLAB"):
            yield "comes from a MARKER_READ subroutine that is no Python script; write pos_* and angles"
        cosines = [getattr(self, name) for name in COSINES]
        absent = [name for name, value in zip(COSINES, cosines, strict=True) if value is None]
        angles = [name for name in ("psi", "theta", "phi") if getattr(self, name) is not None]
        if len(absent) < 9 and angles:
            yield f"has direction cosines and Euler angles ({', '.join(angles)}); keep one of the two"
        elif 0 < len(absent) < 9:
            yield f"direction cosines {', '.join(absent)} missing; write all nine, or none for global axes"
        elif not absent:
            yield from _cosine_faults(cosines[0:3], cosines[3:6], cosines[6:9])

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        tag, other = self.body[0], next(tag for tag in BODY_TAGS.values() if tag != self.body[0])
        missing = others.missing((tag,), self.body_id)
        if missing and not others.missing((other,), self.body_id):
            word = next(word for word, body_tag in BODY_TAGS.items() if body_tag == other)
            missing = f'is a {other}, not a {tag}; write body_type="{word}"'
        if missing:
            yield f"body_id={self.body_id} {missing}"
        if self.rm_id is not None:
            yield from self._circle(others)

    def remarks(self) -> Iterator[str]:
        for name in ("psi", "theta", "phi"):
            angle = getattr(self, name)
            if angle is not None and abs(angle) > TURN:
                yield (
                    f"{name}={angle:g} is more than a full turn in radians, the unit of angles here; if "
                    f"it is in degrees, write {name}={math.radians(angle):.6g}"
                )

    def _circle(self, others: Others) -> Iterator[str]:
        """Fault of a circle of ``rm_id``, reported once, by the marker with the smallest id on it."""
        chain = {self.id: None}  # a dict, to keep the order and still be quick to search
        marker = others.get(Reference_Marker, self.rm_id)
        while marker is not None and marker.id not in chain:
            chain[marker.id] = None
            marker = others.get(Reference_Marker, marker.rm_id)
        if marker is not None and marker.id == self.id == min(chain):
            circle = " -> ".join(str(id) for id in [*chain, self.id])
            yield f"rm_id goes in a circle, {circle}; give one of them a global position (no rm_id)"


def _cosine_faults(x: list[float], y: list[float], z: list[float]) -> Iterator[str]:
    """Faults of the axes x, y, z, each (3,): not unit, not perpendicular, left-handed."""
    axes = {"x": x, "y": y, "z": z}
    worst, what = 0.0, ""
    for name, axis in axes.items():
        if (error := abs(_dot(axis, axis) - 1.0)) > worst:
            worst, what = error, f"the {name}-axis has length {math.sqrt(_dot(axis, axis)):.6g}"
    for first, second in ("xy", "yz", "xz"):
        if (error := abs(_dot(axes[first], axes[second]))) > worst:
            worst, what = error, f"{first} . {second} = {_dot(axes[first], axes[second]):.6g}"
    if worst > ORTHONORMAL_TOLERANCE:
        yield (
            f"its direction cosines are not perpendicular unit axes: {what}, off by more than "
            f"{ORTHONORMAL_TOLERANCE:g}; write a00, a10, a20 (x-axis) and so on with 6 digits or more, or "
            "give psi, theta, phi"
        )
    elif _dot(_cross(x, y), z) < 0.0:
        yield "its axes are left-handed; reverse a02, a12, a22 so that z = x cross y"


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: list[float], b: list[float]) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def euler_313(psi: float, theta: float, phi: float) -> NDArray[np.float64]:
    """Rotation (3,3) A = Rz(psi) Rx(theta) Rz(phi) of body-fixed 3-1-3 Euler angles [rad]."""

    def rz(angle: float) -> NDArray[np.float64]:
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    c, s = math.cos(theta), math.sin(theta)
    rx = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    return rz(psi) @ rx @ rz(phi)


def design_frames(markers: Mapping[int, Reference_Marker]) -> Mapping[int, Frame]:
    """Global design frame of every marker by id, and the global frame itself as id 0; read-only arrays.

    Each marker is composed once, however long the chains of ``rm_id`` are.
    """
    frames: dict[int, Frame] = {0: _frozen(np.zeros(3), np.eye(3))}
    for marker in markers.values():
        chain = [marker]
        while (rm_id := chain[-1].rm_id) is not None and rm_id not in frames:
            chain.append(markers[rm_id])
        for link in reversed(chain):
            if link.rm_id is None:
                frames[link.id] = _frozen(link.position, link.rotation)
            else:
                r, A = frames[link.rm_id]
                frames[link.id] = _frozen(r + A @ link.position, A @ link.rotation)
    return MappingProxyType(frames)


def _frozen(r: NDArray[np.float64], A: NDArray[np.float64]) -> Frame:
    r.setflags(write=False)
    A.setflags(write=False)
    return r, A
