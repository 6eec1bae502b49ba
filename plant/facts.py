"""The joints of a mechanism as plain data, for `Plant.info` and the command line."""

from __future__ import annotations

from typing import Any

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
