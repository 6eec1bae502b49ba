"""Angles between markers that count full turns: where they stand between two commands of a deck.

A joint counts the turns of its angle in its coordinate, and a memory counts those of an angle that is no sum
of such coordinates. Which of them does may change when an element is switched: a wheel without its hinge is
a free body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cosim.block_alone import ALONE
from cosim.run.context import Context
from cosim.system import System
from plant import Plant
from plant.assembly.carry import Angle, Parts
from plant.elements import FORCES, Constraint_Joint, Element, Motion_Marker, Reference_Marker
from plant.mechanics.turning import Turning
from plant.mechanics.turns import turns_between


def remembered(plant: Plant, system: System, context: Context) -> Iterator[tuple[Angle, float]]:
    """Angles counted by a memory, with their values [rad]."""
    for angle in _angles(plant):
        slot = system.held.get(_memory(angle))
        if slot is not None:
            yield angle, float(context.h[slot.index][0])


def counted(plant: Plant, q: Parts, system: System, context: Context) -> dict[Angle, float]:
    """All angles whose turns are counted, with their values [rad]; q : (nq,) coordinates of each link."""
    found = dict(remembered(plant, system, context))
    for angle in _angles(plant):
        turns = None if angle in found else turns_between(plant.mechanism, *angle)
        if turns is not None:
            found[angle] = turns.at(plant.mechanism, q)
    return found


def go_on(context: Context, system: System, before: System, angles: Mapping[Angle, float]) -> None:
    """Set the memories that `before` did not have to the angles [rad] that were counted in other ways."""
    for angle, value in angles.items():
        slot = system.held.get(_memory(angle))
        if slot is not None and _memory(angle) not in before.held:
            context.h[slot.index] = context.next[slot.index] = value


def _memory(angle: Angle) -> str:
    turning, i, j = angle
    return f"{ALONE}.{turning.value}({i},{j})"


def _angles(plant: Plant) -> Iterator[Angle]:
    """Every angle that an element may read."""
    pairs = set[tuple[int, int]]()
    for formula in plant.formulas.values():
        pairs |= {(step.literals[0], step.literals[1]) for step in formula.steps if len(step.literals) >= 2}
    kinds: tuple[type[Element], ...] = (*FORCES, Constraint_Joint, Motion_Marker)
    for element in (e for kind in kinds for e in plant.model.all(kind)):
        pairs.add((getattr(element, "i_marker_id", None) or 0, getattr(element, "j_marker_id", None) or 0))
    bodies = plant.mechanism.number
    known = {marker.id for marker in plant.model.all(Reference_Marker) if marker.body in bodies} | {0}
    for i, j in sorted(pairs):
        if {i, j} <= known:
            yield from ((turning, i, j) for turning in Turning)
