"""Joints whose markers play different parts, written the other way round.

I of a RACK_PINION is the pinion, which turns about its z-axis, and J the rack, which travels along its own.
The other way round the element would demand nothing: a rack does not turn, nor do pinions travel along
their axles. Where the joints of the two bodies say so, the parts are read exchanged, and a warning says it.
"""

from __future__ import annotations

import numpy as np

from blocks.contract.user_lines import warn_user
from plant.elements import Constraint_Joint, Model, Reference_Marker
from plant.elements.element import line
from plant.reporting import PlantWarning

PARALLEL = 1e-6  # sine of the angle between axes that count as parallel


def ends_of(model: Model, joint: Constraint_Joint) -> tuple[int, int]:
    """Markers I and J of a joint in the parts its type gives them."""
    i, j = joint.i_marker_id, joint.j_marker_id
    return (j, i) if is_exchanged(model, joint) else (i, j)


def is_exchanged(model: Model, joint: Constraint_Joint) -> bool:
    """Whether the body of I is guided along z_I, and that of J turns about z_J and is not guided along it."""
    if not joint.kind.parts:
        return False
    first, second = (_freedoms(model, joint, id) for id in (joint.i_marker_id, joint.j_marker_id))
    return ("T",) in first and ("T",) not in second and any("R" in freedoms for freedoms in second)


def mention_exchanged(model: Model) -> None:
    """Warn of every joint that is read with its markers exchanged."""
    for joint in model.all(Constraint_Joint):
        if is_exchanged(model, joint):
            turning, travelling = joint.kind.parts
            text = (
                f"i_marker_id={joint.i_marker_id} is on the {travelling} and j_marker_id={joint.j_marker_id} "
                f"on the {turning}, as their other joints have it; I of {joint.type} is the {turning}: "
                "they are read exchanged; exchange the ids"
            )
            warn_user(line(joint.where, text), PlantWarning)


def _freedoms(model: Model, joint: Constraint_Joint, marker: int) -> list[tuple[str, ...]]:
    """Freedoms of the other joints of a marker's body whose axes are parallel to its z-axis."""

    def body(id: int) -> tuple[str, int]:
        return model.find(Reference_Marker, id).body

    def along(other: Constraint_Joint) -> bool:
        axis, own = (model.frames[id][1][:, 2] for id in (other.j_marker_id, marker))
        return bool(np.linalg.norm(np.cross(axis, own)) < PARALLEL)

    joints = [other for other in model.all(Constraint_Joint) if other is not joint]
    own = [other for other in joints if body(marker) in (body(other.i_marker_id), body(other.j_marker_id))]
    return [other.kind.freedoms for other in own if along(other)]
