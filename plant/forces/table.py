"""All types of force elements.

A force is added in the file of its family, nowhere else; a new family is one more module in `FAMILIES`.

===========  ====================================================================
`vectors`    Force_Vector_TwoBody, Force_Vector_OneBody, Force_Scalar_TwoBody
`springs`    Force_SpringDamper
`bushings`   Force_Bushing, Force_Field
`wheels`     Inertia_Wheel
===========  ====================================================================

`penalty` is apart: its force acts on coordinates, not at markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from plant.elements import Element
from plant.forces import bushings, springs, vectors, wheels
from plant.forces.entry import Force

FAMILIES: tuple[ModuleType, ...] = (vectors, springs, bushings, wheels)


def _table() -> Mapping[type[Element], Force]:
    """Forces by element type; two for one are an error."""
    found: dict[type[Element], Force] = {}
    for family in FAMILIES:
        for kind, force in family.FORCES.items():
            if kind in found:
                raise ValueError(f"{kind.tag} has two entries in plant/forces")
            found[kind] = force
    return MappingProxyType(found)


FORCES = _table()
