"""The joints of a mechanism and its assembly as plain data, for `Plant.info` and the command line."""

from __future__ import annotations

from typing import Any

from plant.assembly.assemble import Assembly
from plant.mechanics.mechanism import GROUND, Mechanism


def joints_of(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Name, type, place, bodies, coordinates with units and degrees of freedom of every joint of the tree."""
    links = mechanism.links
    return [
        {
            "name": link.name,
            "type": link.joint.name,
            "where": link.where,
            "parent": "ground" if link.parent == GROUND else links[link.parent].body.where,
            "body": link.body.where,
            "coordinates": [f"{name} [{unit}]" for name, unit in link.joint.coordinates],
            "dof": link.joint.nv,
        }
        for link in links
    ]


def facts_of_assembly(assembly: Assembly | None) -> dict[str, Any]:
    """What closing the constraints at the start did; nothing where there are none."""
    return {
        "assembly": {} if assembly is None else dict(assembly.moved),
        "rates of least kinetic energy": {} if assembly is None else dict(assembly.chosen),
        "singular start": "" if assembly is None else assembly.singular,
        "redundant constraints": [] if assembly is None else list(assembly.redundant),
    }
