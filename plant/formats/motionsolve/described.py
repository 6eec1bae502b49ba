"""The neutral description of a deck's mechanism: what the mechanics work on instead of elements."""

from __future__ import annotations

from collections.abc import Hashable
from types import MappingProxyType

import numpy as np

from plant.description import Body, Connection, Description, End, Share, Velocity
from plant.elements import Body_Point, Body_Rigid, Constraint_Joint, Model, Reference_Marker
from plant.elements.bodies import PRODUCT_OF_INERTIA_SIGN


def description_of(model: Model) -> Description:
    """Bodies, joints and markers of a model; frames are called by the ids of their markers, 0 is global."""
    ground = _key(model.ground_body)
    listed: list[Body_Rigid | Body_Point] = [*model.all(Body_Rigid), *model.all(Body_Point)]
    markers = model.elements.get(Reference_Marker.tag, {})
    on = {id: marker.body for id, marker in markers.items() if isinstance(marker, Reference_Marker)}
    points: dict[Hashable, End] = {id: (on.get(id, ground), at) for id, at in model.frames.items()}
    pull = [getattr(model.gravity, f"grav_{axis}") for axis in "xyz"]
    return Description(
        tuple(_body(model, body) for body in listed if _key(body) != ground),
        tuple(_joint(model, joint) for joint in model.all(Constraint_Joint)),
        MappingProxyType(points),
        None if any(isinstance(g, str) for g in pull) else np.array(pull, dtype=float),
        ground,
        model.units.factor,
        model.file or model.name,
    )


def _key(body: Body_Rigid | Body_Point) -> tuple[str, int]:
    return body.tag, body.id


def _body(model: Model, body: Body_Rigid | Body_Point) -> Body:
    rigid = isinstance(body, Body_Rigid)
    im_id = body.im_id if isinstance(body, Body_Rigid) else None
    return Body(
        _key(body),
        tuple(
            Share(name, float(getattr(body, name) or 0.0), tensor)
            for name, tensor in (("mass", None), *(_TENSORS.items() if rigid else ()))
        ),
        None if body.cg_id is None else model.frames[body.cg_id],
        None if im_id is None else model.frames[im_id],
        rigid,
        Velocity(body.v_ic, getattr(body, "vm_id", None), "v_ic"),
        Velocity(
            body.w_ic if isinstance(body, Body_Rigid) else (None,) * 3, getattr(body, "wm_id", None), "w_ic"
        ),
        body.label or f"{body.tag} {body.id}",
        (body.label, "body" if rigid else "point", body.id),
        body.where,
        body,
    )


def _joint(model: Model, joint: Constraint_Joint) -> Connection:
    i, j = joint.i_marker_id, joint.j_marker_id
    return Connection(
        joint.type,
        (_on(model, j), model.frames[j]),
        (_on(model, i), model.frames[i]),
        joint.numbers,
        joint.id,
        f"{joint.tag} {joint.id}",
        (i, j),
        (joint.label, "joint", joint.id),
        joint.where,
        joint,
    )


def _on(model: Model, marker_id: int) -> Hashable:
    return model.find(Reference_Marker, marker_id).body


def _unit(j: int, k: int, value: float) -> np.ndarray:
    tensor = np.zeros((3, 3))
    tensor[j, k] = tensor[k, j] = value
    return tensor


_TENSORS = {
    "inertia_xx": _unit(0, 0, 1.0),
    "inertia_yy": _unit(1, 1, 1.0),
    "inertia_zz": _unit(2, 2, 1.0),
    "inertia_xy": _unit(0, 1, PRODUCT_OF_INERTIA_SIGN),
    "inertia_yz": _unit(1, 2, PRODUCT_OF_INERTIA_SIGN),
    "inertia_xz": _unit(0, 2, PRODUCT_OF_INERTIA_SIGN),
}
