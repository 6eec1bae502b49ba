"""The joint types of a plant: one entry per type.

A type is added in the file of its family, in its ``JOINT_TYPES``, nowhere else: trees, loops, absolute
coordinates, decks, couplers and motions, the page of elements and `plant.gamma_q` all read `JOINT_TYPES`.

===============  ====================================================================
`lower_pairs`    REVOLUTE TRANSLATIONAL CYLINDRICAL SPHERICAL PLANAR FIXED FREE FREE_POINT
`shafts`         UNIVERSAL HOOKE CONSTANT_VELOCITY
`primitives`     INLINE INPLANE ORIENTATION PARALLEL_AXES PERPENDICULAR
`screws`         SCREW RACK_PINION HELICAL
`along_axes`     Rx Ry Px Py
===============  ====================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from plant.mechanics.joints import along_axes, lower_pairs, primitives, screws, shafts
from plant.mechanics.joints.joint import ANGLE as ANGLE
from plant.mechanics.joints.joint import LENGTH as LENGTH
from plant.mechanics.joints.joint import UNIT as UNIT
from plant.mechanics.joints.joint import Closeness as Closeness
from plant.mechanics.joints.joint import Joint as Joint
from plant.mechanics.joints.joint import JointNumbers as JointNumbers
from plant.mechanics.joints.joint import JointSetting as JointSetting
from plant.mechanics.joints.joint import JointType as JointType
from plant.mechanics.joints.joint import Planarity as Planarity
from plant.mechanics.joints.joint import pose as pose
from plant.mechanics.joints.joint import reverse as reverse
from plant.mechanics.joints.lower_pairs import FREE as FREE
from plant.mechanics.joints.lower_pairs import FREE_POINT as FREE_POINT
from plant.mechanics.joints.lower_pairs import PLANAR as PLANAR

FAMILIES = (lower_pairs, shafts, primitives, screws, along_axes)


def table(entries: Iterable[JointType]) -> Mapping[str, JointType]:
    """Joint types by name; two of one name, or of one name in spatial_v2, are a programming error."""
    found: dict[str, JointType] = {}
    jtypes: set[str] = set()
    for entry in entries:
        if found.setdefault(entry.name, entry) is not entry or jtypes & set(entry.jtypes):
            raise TypeError(f"two joint types are called {entry.name} ({', '.join(entry.jtypes)})")
        if entry.jtypes and (entry.joint is None or entry.joint.nq != 1):
            raise TypeError(f"{entry.name} has names in spatial_v2, whose joints have one coordinate each")
        jtypes |= set(entry.jtypes)
    return MappingProxyType(found)


JOINT_TYPES = table(entry for family in FAMILIES for entry in family.JOINT_TYPES)
"""All joint types by name."""
