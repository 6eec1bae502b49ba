"""Whether forces stay in the one plane that the joints and masses of a mechanism lie in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plant.description import GLOBAL, Description, Frame
from plant.mechanics.planes import LEVEL, is_flat, level_of, plane_normal


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane, and the markers of a model as its design has them.

    frames : mapping    id of a marker -> its frame, along global axes
    normal : (3,)       level : distance of the plane from the origin along it
    """

    frames: Mapping[Any, Frame]
    normal: np.ndarray
    level: float

    @staticmethod
    def of(description: Description) -> Plane | None:
        """The one of a mechanism; None where joints or masses are not in one plane."""
        normal = plane_normal(description)
        level = None if normal is None else level_of(description, normal)
        if normal is None or level is None:
            return None
        return Plane({key: frame for key, (_, frame) in description.points.items()}, normal, level)

    def has(self, *ids: int | None) -> bool:
        """Are the origins of these markers in it?"""
        origins = [self._frame(id)[0] for id in ids]
        far = max(1.0, *(float(np.abs(r).max()) for r in origins))
        return all(abs(float(r @ self.normal) - self.level) <= LEVEL * far for r in origins)

    def aligned(self, *ids: int | None) -> bool:
        """Is an axis of each of these markers its normal?"""
        return all(is_flat(self._frame(id), self.normal) for id in ids)

    def mirrors(self, ids: Iterable[int]) -> bool:
        """Are these markers their own mirror images in it?"""
        return all(self.has(id) and self.aligned(id) for id in ids)

    def across(self, id: int | None) -> int:
        """Which axis of an aligned marker is its normal: 0, 1 or 2."""
        return int(np.argmax(np.abs(self._frame(id)[1].T @ self.normal)))

    def _frame(self, id: int | None) -> Frame:
        return self.frames.get(id, GLOBAL)


def leaves_out(element: Any, names: Iterable[str]) -> bool:
    """Are these attributes of an element, numbers or expressions, absent or written as 0?"""
    return all(_is_zero(getattr(element, name)) for name in names)


def _is_zero(value: Any) -> bool:
    try:
        return value is None or float(value) == 0.0
    except ValueError:  # an expression
        return False
