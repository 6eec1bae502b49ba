"""Checks shared by elements that act between a marker I and a marker J."""

from __future__ import annotations

from collections.abc import Iterator

from plant.elements.element import Others
from plant.elements.markers import Reference_Marker


def pair_faults(
    others: Others,
    i_marker_id: int,
    j_marker_id: int,
    body1_id: int | None = None,
    body2_id: int | None = None,
) -> Iterator[str]:
    """Faults of markers I and J: both on one body, or not on the bodies the old body1_id, body2_id repeat."""
    i, j = others.get(Reference_Marker, i_marker_id), others.get(Reference_Marker, j_marker_id)
    if i is not None and j is not None and i.body == j.body:
        yield (
            f"markers {i.id} and {j.id} are both on {i.body[0]} {i.body[1]}, so nothing can move between "
            "them; give markers of two different bodies"
        )
    for name, body_id, marker in (("body1_id", body1_id, i), ("body2_id", body2_id, j)):
        if body_id is not None and marker is not None and marker.body_id != body_id:
            yield (
                f"{name}={body_id}, but marker {marker.id} is on body {marker.body_id}; correct one of them, "
                f"or leave {name} out, it is not needed"
            )
