"""Shapes a deck draws on its bodies: they are seen, and do nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from blocks.errors import near_miss
from plant.elements.element import Element, Idle
from plant.elements.kinds import Boolean, Count, MarkerId, NonNegative, Positive, Real, String

__all__ = ["Post_Graphic"]

SIZES = MappingProxyType(
    {
        "BOXDEFINEDFROMCORNER": ("corner_marker_id", "length_x", "length_y", "length_z"),
        "BOXDEFINEDFROMCENTER": ("center_marker_id", "length_x", "length_y", "length_z"),
        "CYLINDER": ("center_marker_id", "radius", "length"),
        "FRUSTUM": ("center_marker_id", "top_radius", "bottom_radius", "length"),
        "SPHERE": ("center_marker_id", "radius"),
    }
)
"""What each shape that is drawn needs: the marker it is fixed to, and its sizes."""

OPENINGS = ("OPEN", "CLOSED", "TOP_ONLY", "BOTTOM_ONLY")
ALL_SIZES = tuple(dict.fromkeys(name for names in SIZES.values() for name in names))


@dataclass(frozen=True, kw_only=True)
class Post_Graphic(Element):
    """A box, cylinder, frustum or sphere fixed to a marker; other types are not drawn, and a warning says so.

    A box stands along the axes of its marker, around it (``BoxDefinedFromCenter``) or from it
    (``BoxDefinedFromCorner``); a cylinder or frustum begins at its marker, with the bottom, and goes
    ``length`` along its z-axis. Lengths [length]; ``color`` is "red:green:blue", each 0 to 255. What is
    ``hidden`` is not drawn; without ``is_material_inside`` its inner faces are. Circles have
    ``4 + 8 refinement_level`` corners, 52 at most.
    """

    type: String = ""
    center_marker_id: MarkerId | None = None
    corner_marker_id: MarkerId | None = None
    length_x: Real | None = None
    length_y: Real | None = None
    length_z: Real | None = None
    length: Real | None = None
    radius: Positive | None = None
    top_radius: NonNegative | None = None
    bottom_radius: NonNegative | None = None
    ends_type: String = "CLOSED"
    color: String | None = None
    hidden: Boolean = False
    is_material_inside: Boolean = True
    refinement_level: Count = 2

    @property
    def shape(self) -> str | None:
        """The type in capitals where it is one that is drawn, with all it needs; else None."""
        kind = self._kind
        return kind if kind in SIZES and not self._missing(kind) else None

    @property
    def marker_id(self) -> int | None:
        """Id of the marker the shape is fixed to."""
        return self.corner_marker_id if self.shape == "BOXDEFINEDFROMCORNER" else self.center_marker_id

    @property
    def rgb(self) -> tuple[int, int, int] | None:
        """Red, green and blue, 0 to 255; None where the deck gives no colour."""
        if self.color is None:
            return None
        red, green, blue = (int(part) for part in self.color.split(":"))
        return red, green, blue

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        parts = (self.color or "0:0:0").split(":")
        if len(parts) != 3 or not all(p.strip().isdecimal() and int(p) < 256 for p in parts):
            yield f"color='{self.color}' is no colour; write three numbers from 0 to 255, such as 255:128:0"
        if self.ends_type.upper() not in OPENINGS:
            cure = near_miss(self.ends_type.upper(), OPENINGS)
            yield f"ends_type='{self.ends_type}' is not a known value; {cure}"

    def remarks(self) -> Iterator[str]:
        if self.shape:
            return
        kind = self._kind
        why = (
            f"{', '.join(self._missing(kind))} is not given"
            if kind in SIZES
            else "only " + ", ".join(SIZES) + " are"
        )
        yield f"is not drawn: type is '{self.type}', and {why}; the motion is unaffected"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.shape:
            return
        used = SIZES[self.shape]
        yield from self.unused([n for n in ALL_SIZES if n not in used], f"type is {self.type}", "delete it")
        if self.shape not in ("CYLINDER", "FRUSTUM"):
            yield from self.unused(
                ["ends_type"], f"type is {self.type}", "it belongs to cylinders; delete it"
            )

    @property
    def _kind(self) -> str:
        kind = "".join(self.type.upper().split())
        return {"FRUSTRUM": "FRUSTUM"}.get(kind, kind)  # manuals spell it both ways

    def _missing(self, kind: str) -> list[str]:
        return [name for name in SIZES[kind] if getattr(self, name) is None]
