"""A mechanism in neutral terms: bodies, the joints between them, named frames on them, and forces at these.

What the mechanics work on, whatever it was read from. Everything is given in the design configuration, in
the global frame: a `Frame` is an origin (3,) and axes (3, 3) as columns. A mechanism in Python::

    hinge = Description.build(
        [rigid_body("arm", 2.0, centre=(0.5, 0.0, 0.0), tensor=np.diag([0.0, 0.1, 0.1]))],
        [Connection("REVOLUTE", ("ground", frame((0, 0, 0))), ("arm", frame((0, 0, 0))), key="pin")],
        {"tip": ("arm", frame((1, 0, 0))), "hook": ("ground", frame((1, 1, 0)))},
        gravity=(0.0, -9.81, 0.0),
        forces=[AppliedForce("spring", ("tip", "hook"), SpringDamper(stiffness=50.0, length=0.8))],
    )
    mechanism_of(hinge)  # or Dynamics(hinge)

Numbers of a body are shares of its inertia, each with the constant tensor it is multiplied with, so that the
numbers can be run-time parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blocks.errors import ModelError, near_miss
from plant.mechanics.force_laws import AppliedForce
from plant.mechanics.joints import JOINT_TYPES, JointType
from plant.reporting import ModelProblems

Frame = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Origin r (3,) [length] and axes A (3, 3), columns x, y, z, both in the global frame."""

Naming = tuple[str | None, str, int]
"""Label, kind and number a state's name is made from: see `plant.names.unique_names`."""

GROUND_KEY = "ground"
ROUNDING = 1e-15, 1e-12  # a length below this, and this part of the distance from the origin, is no size
ORTHONORMAL = 1e-9  # |A^T A - 1| that counts as rounding in frames given as arrays
GLOBAL: Frame = (np.zeros(3), np.eye(3))


@dataclass(frozen=True, eq=False)
class Share:
    """One number of a body, and what a unit of it adds to the inertia.

    name : str              as run-time parameters call it
    value : float           the mass, or a factor of `tensor`
    tensor : (3, 3) or None about the origin of the body's `axes`, along them; None: this is the mass
    """

    name: str
    value: float
    tensor: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Velocity:
    """A velocity the body is to have at the start: three components along the axes of a named frame.

    values : three floats, None where a component is free
    along : key of the frame, None for the global axes
    name : how messages call it
    """

    values: tuple[float | None, float | None, float | None]
    along: Hashable | None = None
    name: str = "velocity"


FREE = Velocity((None, None, None))


@dataclass(frozen=True, eq=False)
class Body:
    """A moving body.

    key : hashable          how joints and frames refer to it
    shares : tuple          numbers of its inertia
    centre : Frame or None  at the centre of mass; None: it has no inertia
    axes : Frame or None    where the tensors of its shares are taken; None: at `centre`
    turns : bool            False for a point mass, whose axes stay those of the ground
    v, w : Velocity         of the centre of mass, and angular, at the start
    label : str             as results name it
    where : str             as messages name it
    source                  what it was made from; the mechanics do not look at it
    """

    key: Hashable
    shares: tuple[Share, ...] = ()
    centre: Frame | None = None
    axes: Frame | None = None
    turns: bool = True
    v: Velocity = FREE
    w: Velocity = FREE
    label: str = ""
    naming: Naming = ("", "body", 0)
    where: str = ""
    source: Any = None


End = tuple[Hashable, Frame]
"""Key of a body, or of the ground, and a frame on it."""


@dataclass(frozen=True, eq=False)
class Connection:
    """A joint between frame J on one body and frame I on another; its axis is the z axis of J.

    type : str              of `plant.mechanics.joints.JOINT_TYPES`
    J, I : End              bodies with the frames on them
    numbers : mapping       what the type needs besides, such as a pitch
    key : hashable          what it is called
    label : str             as messages of others name it, in short
    ends : (i, j)           keys of the frames I and J, for messages and for angles that count turns
    """

    type: str
    J: End
    I: End
    numbers: Mapping[str, float] = field(default_factory=dict)
    key: Hashable = None
    label: str = ""
    ends: tuple[Hashable, Hashable] = ("I", "J")
    naming: Naming = ("", "joint", 0)
    where: str = ""
    source: Any = None

    @property
    def kind(self) -> JointType:
        """What is known about its type."""
        return JOINT_TYPES[self.type]


@dataclass(frozen=True, eq=False)
class Description:
    """Bodies, joints, frames and forces of a mechanism.

    bodies : tuple          without the ground
    joints : tuple          in the order in which they are looked at
    points : mapping        key of a frame -> (key of its body, the frame); see `place` of a mechanism
    gravity : (3,) or None  acceleration of gravity along global axes; None where it changes in time
    ground : hashable       key of the ground
    factor : float          on mass and inertia, so that F = factor m a in the units used
    name : str              as messages call it
    forces : tuple          what acts at named frames, besides gravity
    pushed_across : bool    whether a mechanism of one plane may be pushed out of it by what acts on it
    """

    bodies: tuple[Body, ...]
    joints: tuple[Connection, ...]
    points: Mapping[Hashable, End] = field(default_factory=lambda: MappingProxyType({}))
    gravity: np.ndarray | None = field(default_factory=lambda: np.zeros(3))
    ground: Hashable = GROUND_KEY
    factor: float = 1.0
    name: str = "the mechanism"
    forces: tuple[AppliedForce, ...] = ()
    pushed_across: bool = False

    @staticmethod
    def build(
        bodies: Sequence[Body],
        joints: Sequence[Connection],
        points: Mapping[Hashable, End] | None = None,
        gravity: Sequence[float] = (0.0, 0.0, 0.0),
        name: str = "the mechanism",
        forces: Sequence[AppliedForce] = (),
    ) -> Description:
        """A description in Python, checked: keys, joint types, frames, numbers, forces.

        Raises
        ------
        ModelProblems    everything wrong with it, together
        """
        named = [_named_body(body, k) for k, body in enumerate(bodies, start=1)]
        ties = [_named_joint(joint, k) for k, joint in enumerate(joints, start=1)]
        places = dict(points or {})
        acting = [replace(force, where=force.where or f"force {force.key!r}") for force in forces]
        problems = [*_faults(named, ties, places), *_faulty_vector("gravity", gravity)]
        problems += _faulty_forces(acting, places)
        if problems:
            raise ModelProblems(problems, about=name)
        pull = np.asarray(gravity, dtype=float)
        return Description(
            tuple(named), tuple(ties), MappingProxyType(places), pull, name=name, forces=tuple(acting)
        )

    def point(self, key: Hashable) -> End:
        """Body and frame of a named frame.

        Raises
        ------
        ModelError    there is none of this key
        """
        if key not in self.points:
            raise ModelError(
                f"{self.name}: there is no frame {key!r}; {near_miss(str(key), map(str, self.points))}",
                value=key,
            )
        return self.points[key]

    def frame(self, key: Hashable) -> Frame:
        """Design frame of a named frame."""
        return self.point(key)[1]

    @property
    def size(self) -> float:
        """How large the mechanism is [length].

        The longest side of the box around its joints and centres of mass, or the largest radius of gyration
        where that is more; 1 where nothing but rounding is left.
        """
        frames = [end[1] for joint in self.joints for end in (joint.I, joint.J)]
        frames += [body.centre for body in self.bodies if body.centre is not None]
        places = np.array([r for r, _ in frames]).reshape(-1, 3)
        box = np.ptp(places, axis=0).max() if frames else 0.0
        size = max([box, *map(_gyration, self.bodies)])
        return float(size) if size > ROUNDING[0] + ROUNDING[1] * np.abs(places).max(initial=0.0) else 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        # read-only mappings cannot be pickled; plain ones can, and are wrapped again
        parts = (
            self.bodies,
            self.joints,
            dict(self.points),
            self.gravity,
            self.ground,
            self.factor,
            self.name,
            self.forces,
        )
        return _restored, parts


def _gyration(body: Body) -> float:
    """Largest radius of gyration of a body about where its tensors are taken [length]; 0 without a mass."""
    mass = sum(share.value for share in body.shares if share.tensor is None)
    moments = [np.abs(share.value * share.tensor).max() for share in body.shares if share.tensor is not None]
    return float(np.sqrt(max(moments) / mass)) if moments and mass > 0.0 else 0.0


def _restored(*parts: Any) -> Description:
    bodies, joints, points, *others = parts
    return Description(bodies, joints, MappingProxyType(points), *others)


def frame(r: Sequence[float], A: Any = None) -> Frame:
    """A frame at r (3,) with axes A (3, 3) as columns, those of the ground if not given."""
    return np.asarray(r, dtype=float), np.eye(3) if A is None else np.asarray(A, dtype=float)


def rigid_body(
    key: Hashable, mass: float, centre: Sequence[float], tensor: Any = None, axes: Any = None
) -> Body:
    """A body with its mass, and its (3, 3) tensor about the centre of mass, along `axes` (global if None)."""
    shares = [Share("mass", float(mass))]
    if tensor is not None:
        shares.append(Share("inertia", 1.0, np.asarray(tensor, dtype=float)))
    return Body(key, tuple(shares), frame(centre, axes), turns=tensor is not None)


# --- checks ----------------------------------------------------------------------------------------------
def _named_body(body: Body, k: int) -> Body:
    where = body.where or f"body '{body.key}'"
    naming = body.naming if body.naming[2] else (str(body.key), "body", k)
    return replace(body, where=where, naming=naming, label=body.label or str(body.key))


def _named_joint(joint: Connection, k: int) -> Connection:
    label = None if joint.key is None else str(joint.key)
    where = joint.where or f"joint {k if label is None else repr(label)}"
    key = k if joint.key is None else joint.key
    naming = joint.naming if joint.naming[2] else (label, "joint", k)
    return replace(joint, where=where, key=key, naming=naming, label=joint.label or f"joint {key}")


def _faults(bodies: list[Body], joints: list[Connection], points: Mapping[Hashable, End]) -> list[str]:
    keys = [GROUND_KEY, *(body.key for body in bodies)]
    found = [
        f"{b.where}: the key is used twice; give every body its own." for b in bodies if keys.count(b.key) > 1
    ]
    for body in bodies:
        for share in body.shares:
            found += _faulty_share(body, share)
        for what in (body.centre, body.axes):
            found += [] if what is None else _faulty_frame(body.where, what)
    for joint in joints:
        if joint.type not in JOINT_TYPES:
            found.append(f"{joint.where}: type '{joint.type}'; {near_miss(joint.type, JOINT_TYPES)}")
            continue
        found += [
            f"{joint.where}: {name} is missing; {cure}."
            for name, cure in joint.kind.numbers.items()
            if name not in joint.numbers
        ]
        found += _faulty_ends(joint.where, keys, joint.J, joint.I)
        if joint.J[0] == joint.I[0]:
            found.append(f"{joint.where}: both frames are on '{joint.J[0]}'; name two different bodies.")
    for key, end in points.items():
        found += _faulty_ends(f"frame {key!r}", keys, end)
    return found


def _faulty_ends(where: str, keys: Sequence[Hashable], *ends: End) -> list[str]:
    found = []
    for body, at in ends:
        if body not in keys:
            found.append(f"{where}: no body '{body}'; {near_miss(str(body), [str(k) for k in keys])}")
        found += _faulty_frame(where, at)
    return found


def _faulty_frame(where: str, at: Frame) -> list[str]:
    r, A = at
    if np.shape(r) != (3,) or np.shape(A) != (3, 3):
        return [f"{where}: a frame has shapes {np.shape(r)} and {np.shape(A)}, expected (3,) and (3, 3)."]
    if not (np.isfinite(r).all() and np.isfinite(A).all()):
        return [f"{where}: a frame has entries that are not finite."]
    off = float(np.abs(A.T @ A - np.eye(3)).max())
    if off > ORTHONORMAL or np.linalg.det(A) < 0:
        what = f"not orthonormal (off by {off:.3g})" if off > ORTHONORMAL else "left-handed"
        return [f"{where}: the axes of a frame are {what}; its columns are the unit vectors x, y, z."]
    return []


def _faulty_share(body: Body, share: Share) -> list[str]:
    if not np.isfinite(share.value):
        return [f"{body.where}: {share.name}={share.value} is not finite."]
    if share.tensor is None:
        return [f"{body.where}: {share.name}={share.value:g} is negative."] if share.value < 0 else []
    if np.shape(share.tensor) != (3, 3) or not np.isfinite(share.tensor).all():
        return [f"{body.where}: {share.name} is no (3, 3) tensor of finite numbers."]
    scale = float(np.abs(share.tensor).max(initial=0.0))
    if np.abs(share.tensor - share.tensor.T).max() > ORTHONORMAL * scale:
        return [f"{body.where}: {share.name} is not symmetric; check its off-diagonals."]
    return []


def _faulty_forces(forces: Sequence[AppliedForce], points: Mapping[Hashable, End]) -> list[str]:
    keys = [force.key for force in forces]
    found = [
        f"{f.where}: the key is used twice; give every force its own."
        for f in forces
        if keys.count(f.key) > 1
    ]
    return [*found, *(fault for force in forces for fault in force.faults(points))]


def _faulty_vector(name: str, value: Sequence[float]) -> list[str]:
    found = np.asarray(value, dtype=float)
    if found.shape != (3,) or not np.isfinite(found).all():
        return [f"{name} is {value}, expected three finite numbers."]
    return []
