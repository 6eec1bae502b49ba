"""Joint primitives: conditions on points and axes, without coordinates of their own."""

from __future__ import annotations

from plant.mechanics.joints.joint import JointType
from plant.mechanics.joints.joint_conditions import aligned, in_plane, on_line, parallel_z, perpendicular_z

JOINT_TYPES = (
    JointType("INLINE", (on_line,), fixes=(2, 0)),
    JointType("INPLANE", (in_plane,), fixes=(1, 0)),
    JointType("ORIENTATION", (aligned,), fixes=(0, 3)),
    JointType("PARALLEL_AXES", (parallel_z,), fixes=(0, 2)),
    JointType("PERPENDICULAR", (perpendicular_z,), fixes=(0, 1)),
)
