"""A plant, the joints of its mechanism and its assembly as plain data, for `Plant.info` and commands."""

from __future__ import annotations

from typing import Any

from blocks.fact_sheet import FactSheet, NamedFacts
from plant.assembly.assemble import Assembly
from plant.mechanics.mechanism import GROUND, Mechanism


def joints_of(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Name, type, place, bodies, coordinates with units and degrees of freedom of every joint of the tree."""
    links = mechanism.links
    return [
        NamedFacts(
            {
                "name": link.name,
                "type": link.joint.name,
                "where": link.where,
                "parent": "ground" if link.parent == GROUND else links[link.parent].body.where,
                "body": link.body.where,
                "coordinates": [f"{name} [{unit}]" for name, unit in link.joint.coordinates],
                "dof": link.joint.nv,
            }
        )
        for link in links
    ]


def facts_of_assembly(assembly: Assembly | None) -> dict[str, Any]:
    """What assembly did at the start."""
    return {
        "assembly": {} if assembly is None else dict(assembly.moved),
        "rates of least kinetic energy": {} if assembly is None else dict(assembly.chosen),
        "singular start": "" if assembly is None else assembly.singular,
        "redundant constraints": [] if assembly is None else list(assembly.redundant),
    }


def facts_of(plant: Any) -> FactSheet:
    """What the model of a `Plant` is made of."""
    facts = {
        "model": plant.model.name,
        "file": plant.model.file,
        "formulation": f"{plant.coordinates} coordinates",
        "bodies": [link.body.where for link in plant.mechanism.links],
        "joints": joints_of(plant.mechanism),
        "dof": plant.dof,
        "cut joints": [joint.where for joint in plant.mechanism.cut],
        **facts_of_assembly(plant.assembly),
        "states": {name: value.tolist() for name, value in plant.initial.items()},
        "inputs": list(plant.inputs.values()),
        "outputs": list(plant.outputs.values()),
        "requests": list(plant.requests.values()),
        "warnings": list(plant.warnings),
    }
    return FactSheet(facts)


def line_of(plant: Any) -> str:
    """A `Plant` in one line: how many bodies, joints and degrees of freedom, and its ports."""
    links, absolute = plant.mechanism.links, plant.coordinates == "absolute"
    free = [absolute or link.joint.nv == (6 if link.joint.rotates else 3) for link in links]
    joints = len(plant.mechanism.cut) + free.count(False)
    facts = f"{len(links)} bodies, {joints} joints, {plant.dof} degrees of freedom"
    sides = (("inputs", plant.inputs), ("outputs", plant.outputs))
    ports = "".join(f"; {side} {', '.join(found)}" for side, found in sides if found)
    return f"<Plant '{plant.model.name}': {facts}{ports}>"
