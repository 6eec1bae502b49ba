"""Random kinematic trees with every joint type, built in Python."""

from __future__ import annotations

import numpy as np

from plant.elements import Body_Rigid, Constraint_Joint, Element, Model, Reference_Marker
from plant.elements.markers import COSINES
from plant.mechanics.joints import JOINT_TYPES, Joint, pose

NUMBERS = {"pitch": 0.3, "pitch_diameter": 0.4}
"""What joint types need besides their frames."""

JOINTS: dict[str, Joint] = {n: entry.made(NUMBERS) for n, entry in JOINT_TYPES.items() if entry.joint}
"""Joint types with coordinates, by name."""

TYPES = [name for name in JOINTS if JOINT_TYPES[name].in_decks and JOINT_TYPES[name].holds]


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q * np.array([1.0, 1.0, -1.0])


def marker(id: int, body_id: int, r: np.ndarray, A: np.ndarray) -> Reference_Marker:
    cosines = dict(zip(COSINES, A.T.ravel(), strict=True))
    return Reference_Marker(
        id=id, body_id=body_id, pos_x=float(r[0]), pos_y=float(r[1]), pos_z=float(r[2]), **cosines
    )


def random_coordinates(name: str, rng: np.random.Generator) -> np.ndarray:
    joint = JOINTS[name]
    q = rng.uniform(-1, 1, joint.nq)
    if joint.invariant(q) is not None:
        q[:4] /= np.linalg.norm(q[:4])
    return q


def random_tree(types: list[str], rng: np.random.Generator, free_base: bool = False) -> Model:
    """One body per joint type, each hung on a random earlier body, from either side of the joint."""
    elements: list[Element] = [Body_Rigid(id=1, isground=True)]
    frames = {1: (np.zeros(3), np.eye(3))}
    if free_base:
        frames[2] = (rng.normal(size=3), random_rotation(rng))
        elements += body(2, *frames[2], rng)
    for k, name in enumerate(types):
        id = len(frames) + 1
        base = int(rng.choice(list(frames)[1:] if free_base else list(frames)))
        reverse = bool(rng.integers(2))
        r, A = frames[base]
        outer = (r + A @ rng.normal(size=3), random_rotation(rng))
        q = random_coordinates(name, rng)
        rq, Aq = pose(JOINTS[name], q)
        if reverse:  # the base holds I, the new body J
            AJ = outer[1] @ Aq.T
            inner = (outer[0] - AJ @ rq, AJ)
        else:
            inner = (outer[0] + outer[1] @ rq, outer[1] @ Aq)
        i, j = 1000 + 2 * k, 1001 + 2 * k
        on_base, on_new = (i, j) if reverse else (j, i)
        shift, turn = rng.normal(size=3), random_rotation(rng)
        frames[id] = (inner[0] + inner[1] @ shift, inner[1] @ turn)
        elements += [marker(on_base, base, *outer), marker(on_new, id, *inner), *body(id, *frames[id], rng)]
        elements.append(Constraint_Joint(id=k + 1, label=f"j{k}", type=name, i_marker_id=i, j_marker_id=j))
    return Model.build(elements)


def body(id: int, r: np.ndarray, A: np.ndarray, rng: np.random.Generator) -> list[Element]:
    moments = 0.5 + rng.uniform(0, 0.4, 3)
    return [
        Body_Rigid(
            id=id,
            cg_id=id * 10,
            mass=float(rng.uniform(0.5, 2)),
            inertia_xx=float(moments[0]),
            inertia_yy=float(moments[1]),
            inertia_zz=float(moments[2]),
            inertia_xy=0.05,
            inertia_yz=-0.03,
            inertia_xz=0.02,
        ),
        marker(id * 10, id, r, A),
    ]
