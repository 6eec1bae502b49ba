"""State of a deck that a file written by Save does not hold: TIME, turns, what sensors did, poses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from cosim.block_alone import ALONE
from cosim.deck.full_turns import remembered
from cosim.engines.methods.crossing_rates import crossings_of, thresholds
from plant.elements import (
    Constraint_Coupler,
    Constraint_Joint,
    Model,
    Post_Request,
    Sensor_Evaluate,
    Sensor_Event,
)
from plant.equations.controls import stored_name
from plant.mechanics.joints import JOINT_TYPES

if TYPE_CHECKING:
    from cosim.deck.stage import Stage

HALF_TURN = math.pi * (1 + 1e-9)
SHOWN = 4  # most places in a list


def left_out(stage: Stage) -> Iterator[str]:
    """A sentence for each kind of lost state that matters to the model, with advice."""
    readers = list(_reading_time(stage))
    if stage.time > 0 and readers:
        yield (
            f"TIME begins anew in the file, which {_listed(readers)} depends on. Write "
            f'start_time="{stage.time:.12g}" at the first Simulate behind Load_Model'
        )
    angles = dict(_angles(stage))
    if turned := [f"{name} = {angle:.6g} rad" for name, angle in angles.items() if abs(angle) > HALF_TURN]:
        yield (
            f"full turns are not in the file: {_listed(turned)} becomes the angle within half a turn. "
            "Add them to what reads the angle, or go on in one deck"
        )
    values = dict(_stored(stage))
    if kept := [f"SENVAL({id}) = {value:.6g}" for id, value in values.items() if value]:
        yield f"values of sensors are not in the file: {_listed(kept)} becomes 0. Go on in one deck"
    if on := list(_on_their_values(stage)):
        yield (
            f"the file does not say that {_listed(on)} has fired where the plant stands, so that the first "
            "Simulate behind Load_Model has the event once more. Go on in one deck, write Deactivate before "
            "Save, or that Simulate twice where it ends the first"
        )
    if stage.begun and (off := list(_off_since_design(stage.model))):
        yield (
            f"the design that constraints keep which are switched off is not in the file: {_listed(off)} "
            "begins anew where the bodies stand. Switch it on again in one deck"
        )


def _reading_time(stage: Stage) -> Iterator[str]:
    """Expressions that depend on TIME, except those of requests."""
    for (tag, id, attribute), formula in stage.plant.formulas.items():
        if tag != Post_Request.tag and ("time", ()) in formula.references():
            yield f"{tag} {id} {attribute}"


def _angles(stage: Stage) -> Iterator[tuple[str, float]]:
    """Angles that count turns: coordinates of joints, and angles between markers with a memory."""
    for link, q in zip(stage.plant.mechanism.links, stage.parts()[0], strict=True):
        if link.joint.turn is not None:
            yield f"{link.name}.q", float(q[link.joint.turn])
    for (turning, i, j), value in remembered(stage.plant, stage.system, stage.context):
        yield f"{turning.value}({i},{j})", value


def _stored(stage: Stage) -> Iterator[tuple[int, float]]:
    """Sensors with stored values."""
    for sensor in stage.model.all(Sensor_Evaluate):
        slot = stage.system.held.get(f"{ALONE}.{stored_name(sensor)}")
        if slot is not None:
            yield sensor.id, float(stage.context.h[slot.index][0])


def _on_their_values(stage: Stage) -> Iterator[str]:
    """Sensors that stand on their value and have fired: a run that begins there has the event anew."""
    system, context = stage.system, stage.context
    if not system.events:
        return
    g = system.function("crossings where a deck stands", lambda: [ca.densify(crossings_of(system))])
    values = np.array(g(context.t, context.x, context.h, context.w, context.p)).ravel()
    met = (np.abs(values) <= thresholds(system)) & (context.signs != 0.0)
    fired = {
        event.unmet
        for event, on, sign in zip(system.events, met, context.signs, strict=True)
        if on and event.direction in (0, sign)
    }
    for sensor in stage.model.all(Sensor_Event):
        if sensor.unmet in fired:
            yield f"{sensor.tag} {sensor.id}"


def _off_since_design(model: Model) -> Iterator[str]:
    """Couplers and joints that keep what the design shows, and are switched off."""
    for coupler in model.elements.get(Constraint_Coupler.tag, {}).values():
        if isinstance(coupler, Constraint_Coupler) and coupler.coefficients and not coupler.is_active:
            yield f"{coupler.tag} {coupler.id}"
    for joint in model.elements.get(Constraint_Joint.tag, {}).values():
        if (
            isinstance(joint, Constraint_Joint)
            and JOINT_TYPES[joint.type].since_design
            and not joint.is_active
        ):
            yield f"{joint.tag} {joint.id}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
