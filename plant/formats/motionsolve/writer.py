"""A plant's model written back as XML, in the state it is in: what the command Save leaves.

Positions are those of now, so the file's design configuration is the present one, and every body has the
velocities it has now as initial ones, from which motions of a rate or an acceleration start. Integrals and
states of control elements start from their values. TIME starts anew: a motion that is a function of TIME
begins at its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np

from plant.assembly.carry import Key, Parts, PoseAndTwist, motions_of
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Control_Diff,
    Element,
    Inertia_Wheel,
    Model,
    Motion_Joint,
    Motion_Marker,
    Reference_Array,
    Reference_Marker,
)
from plant.elements.element import attributes_of
from plant.equations.wheels import wheel_states

if TYPE_CHECKING:
    from plant.block import Plant

COSINES = [f"a{row}{column}" for column in range(3) for row in range(3)]
EULER = ("psi", "theta", "phi")


def model_text(plant: Plant, q: Parts, qd: Parts, values: Mapping[str, np.ndarray]) -> str:
    """XML of the model block of a plant.

    Parameters
    ----------
    q, qd : (nq,), (nv,) of each link     where the plant stands
    values : state name -> value          of integrals and control elements, as `Plant.initial` names them
    """
    model = plant.model
    bodies = motions_of(plant, q, qd)
    changed: dict[tuple[str, int], Element] = {}
    for element in (
        *_markers(model, bodies),
        *_bodies(model, bodies),
        *_states(plant, values),
        *_wheels(plant, q, qd, values),
        *_motions(model),
    ):
        changed[element.tag, element.id] = element
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<MotionSolve>", "  <Model>"]
    for tag, same in model.elements.items():
        lines += [f"    {_line(changed.pop((tag, id), element))}" for id, element in same.items()]
    lines += [f"    {_line(element)}" for element in changed.values()]
    return "\n".join([*lines, "  </Model>", "</MotionSolve>", ""])


def _markers(model: Model, bodies: Mapping[Key, PoseAndTwist]) -> Iterator[Element]:
    """Markers where they are, in the global frame.

    A marker of the ground is written where it is given relative to another marker, which may have moved.
    """
    for marker in model.all(Reference_Marker):
        r, A = model.frames[marker.id]
        if marker.body in bodies:
            (r, A), _ = bodies[marker.body].at((r, A))
        elif marker.rm_id is None:
            continue
        given: dict[str, Any] = dict(zip(("pos_x", "pos_y", "pos_z"), map(float, r), strict=True))
        given |= dict(zip(COSINES, map(float, A.T.ravel()), strict=True))
        given |= dict.fromkeys(EULER)
        yield replace(marker, rm_id=None, **given)


def _bodies(model: Model, bodies: Mapping[Key, PoseAndTwist]) -> Iterator[Element]:
    """Moving bodies with the velocities they have."""
    listed: list[Body_Rigid | Body_Point] = [*model.all(Body_Rigid), *model.all(Body_Point)]
    for body in listed:
        motion = bodies.get((body.tag, body.id))
        if motion is None or body.cg_id is None:
            continue
        _, twist = motion.at(model.frames[body.cg_id])
        given: dict[str, Any] = {f"v_ic_{a}": float(v) for a, v in zip("xyz", twist[3:], strict=True)}
        given |= dict.fromkeys([f"v_ic_{a}_flag" for a in "xyz"], True)
        if isinstance(body, Body_Rigid):
            given |= {f"w_ic_{a}": float(w) for a, w in zip("xyz", twist[:3], strict=True)}
            given |= dict.fromkeys([f"w_ic_{a}_flag" for a in "xyz"], True)
            given |= {"vm_id": None, "wm_id": None}
        yield replace(body, **given)


def _states(plant: Plant, values: Mapping[str, np.ndarray]) -> Iterator[Element]:
    """Integrals and control elements that start from their present values."""
    arrays = max(plant.model.elements.get(Reference_Array.tag, {}), default=0)
    for name, variable in plant.integrals.items():
        yield replace(variable, ic=float(values[name][0]))
    for name, (element, _) in plant.control_states.items():
        if isinstance(element, Control_Diff):
            yield replace(element, ic=float(values[name][0]))
            continue
        arrays += 1
        yield Reference_Array(id=arrays, type="IC", values=tuple(map(float, values[name])))
        yield replace(element, ic_array_id=arrays)


def _motions(model: Model) -> Iterator[Element]:
    """Motions that begin where the bodies are, not where they began once."""
    every: list[Motion_Joint | Motion_Marker] = [*model.all(Motion_Joint), *model.all(Motion_Marker)]
    for motion in every:
        if motion.ic_disp is not None or motion.ic_vel is not None:
            yield replace(motion, ic_disp=None, ic_vel=None)


def _wheels(plant: Plant, q: Parts, qd: Parts, values: Mapping[str, np.ndarray]) -> Iterator[Element]:
    """Inertia wheels with the rates they have relative to their bodies."""
    for state in wheel_states(plant.model.all(Inertia_Wheel), plant.mechanism, q, qd):
        carried = state.start - state.wheel.w_ic
        yield replace(state.wheel, w_ic=float(values[state.name][0]) - carried)


def _line(element: Element) -> str:
    """One element as an empty tag with all attributes that differ from their defaults."""
    texts = []
    defaults = {f.name: f.default for f in fields(element)}
    for name in attributes_of(type(element)):
        value = getattr(element, name)
        if value is not None and value != defaults[name]:
            texts.append(f"{name}={quoteattr(_text(value))}")
    texts += [f"{name}={quoteattr(text)}" for name, text in getattr(element, "attributes", ())]
    return f"<{element.tag} {' '.join(texts)}/>"


def _text(value: object) -> str:
    """A value as the format writes it; numbers in full."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, tuple):
        return " ".join(_text(entry) for entry in value)
    return repr(value) if isinstance(value, (int, float)) else str(value)
