"""Transforms and inertias from NumPy arrays, checked: what is wrong is named.

Spatial vectors are angular first.

Source: Featherstone, RBDA, eqs. 2.24 (Plücker transform) and 2.63 (inertia).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.errors import BlockError
from plant.mechanics.spatial import Transform, constant

TOLERANCE = 1e-9  # relative: what counts as rounding of numbers somebody typed or computed


def transform_of(value: Any, where: str = "transform") -> Transform:
    """A transform from a (6, 6) Plücker matrix, from a pair (E, r), or as it is.

    value : (6, 6), X = [E 0; -E rx E]; or (E, r) with E (3, 3) turning components, r (3,) the new origin

    Raises
    ------
    BlockError    what property of a transform the numbers lack, and by how much
    """
    if isinstance(value, Transform):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        E, r = numbers_of(value[0], (3, 3), f"{where}: E"), numbers_of(value[1], (3,), f"{where}: r")
        _check_rotation(E, where)
        return Transform(constant(E), constant(r))
    X = numbers_of(value, (6, 6), where, "a (6, 6) Plücker matrix or a pair (E, r)")
    E, B = X[:3, :3], X[3:, :3]
    _check_rotation(E, where)
    _check(X[:3, 3:], np.zeros((3, 3)), 1.0, where, "its upper right block is not zero (angular part first?)")
    _check(X[3:, 3:], E, 1.0, where, "its two rotations, upper left and lower right, differ")
    rx = -E.T @ B
    scale = max(1.0, float(np.abs(rx).max()))
    _check(rx, -rx.T, scale, where, "its lower left block is not -E rx: E^T times it is not skew-symmetric")
    return Transform(constant(E), constant([rx[2, 1], rx[0, 2], rx[1, 0]]))


def inertia_of(value: Any, where: str = "inertia") -> np.ndarray:
    """A rigid-body inertia (6, 6) about the frame's origin; zero is allowed.

    Raises
    ------
    BlockError    what property of [Ic + m c x c x^T, m c x; m c x^T, m 1] the numbers lack, and by how much
    """
    I = numbers_of(value, (6, 6), where, "a (6, 6) matrix")
    scale = float(np.abs(I).max())
    _check(I, I.T, scale, where, "it is not symmetric")
    mass, H = float(I[3, 3]), I[:3, 3:]
    _check(I[3:, 3:], mass * np.eye(3), scale, where, "its lower right block is not the mass times 1")
    if mass < 0:
        raise _wrong(where, f"its mass is {mass:g}, negative", value)
    _check(H, -H.T, scale, where, "its upper right block, m c x, is not skew-symmetric")
    if mass == 0.0:
        _check(H, np.zeros((3, 3)), scale, where, "it has no mass but a mass moment m c")
        Ic = I[:3, :3]
    else:
        Ic = I[:3, :3] - H @ H.T / mass
    smallest = float(np.linalg.eigvalsh(Ic).min())
    if smallest < -TOLERANCE * scale:
        raise _wrong(
            where,
            f"about the centre of mass its smallest principal moment is {smallest:.3g}, negative "
            "(moments are about the frame's origin: the share of the mass, m c^2, is in them)",
            value,
        )
    return I


def numbers_of(value: Any, shape: tuple[int, ...], where: str, what: str = "") -> np.ndarray:
    """Finite numbers in an array of this shape; a BlockError says what else they are."""
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(
            where, f"is {type(value).__name__}, expected {what or shape} of numbers", value
        ) from None
    if found.shape != shape:
        raise _wrong(where, f"has shape {found.shape}, expected {what or shape}", value)
    if not np.isfinite(found).all():
        raise _wrong(where, "has entries that are not finite", value)
    return found


def _check_rotation(E: np.ndarray, where: str) -> None:
    _check(E.T @ E, np.eye(3), 1.0, where, "its rotation E is not orthonormal")
    if np.linalg.det(E) < 0:
        raise _wrong(where, "its rotation E is left-handed: its determinant is -1", E)


def _check(found: np.ndarray, expected: np.ndarray, scale: float, where: str, fault: str) -> None:
    off = float(np.abs(found - expected).max())
    if off > TOLERANCE * scale:
        raise _wrong(where, f"{fault} (off by {off:.3g})", found)


def _wrong(where: str, fault: str, value: Any) -> BlockError:
    return BlockError(f"{where}: {fault}.", value=value)
