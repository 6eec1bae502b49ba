"""Kinematic trees described as in spatial_v2: parent array, joint types, tree transforms and inertias."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.arguments import is_whole, real_numbers
from blocks.errors import BlockError, near_miss
from plant.mechanics.checked import inertia_of, transform_of
from plant.mechanics.joints import JOINT_TYPES, Joint, JointType
from plant.mechanics.mechanism import GROUND
from plant.mechanics.spatial import Transform

GammaQ = Callable[["TreeModel", Any, Any], tuple[Any, Any, Any, Any]]
"""gamma_q(model, qo, qdo) -> q, qd, G, gs."""

_TYPES: Mapping[str, JointType] = {code: entry for entry in JOINT_TYPES.values() for code in entry.jtypes}
JTYPES = tuple(_TYPES)
"""Joint types: R, Rx, Ry, Rz turn, P, Px, Py, Pz slide, H is helical; r, px, py are the planar ones."""

TREE = ("parent", "jtype", "Xtree", "I", "gravity")
"""Fields that do not change."""


@dataclass(eq=False)
class TreeModel:
    """A kinematic tree as in spatial_v2.

    ``model.gamma_q = gamma_q`` gives it a coordinate constraint, and whatever else such a function needs may
    be kept in fields of one's own; both before a `RobotPlant` is made of it. The tree itself does not change:
    ``dataclasses.replace(model, gravity=...)`` makes another one.

    parent : (NB,) int         of each body, numbers from 1; 0 is the base, and parent[i] < i
    jtype : (NB,)              one of `JTYPES`; a helical joint ("H", pitch) with its pitch [m/rad], or
                               {"code": "H", "pars": {"pitch": pitch}}
    Xtree : (NB,)              from the parent's frame to the joint's: (6, 6) Plücker matrix, pair (E, r) or
                               `Transform`
    I : (NB,) (6, 6) float     spatial inertia of each body in its own frame
    gravity : (3,) float       acceleration of gravity in base coordinates [m/s^2]
    gamma_q : function         coordinate constraint q, qd, G, gs = gamma_q(model, qo, qdo); None: none
    """

    parent: Sequence[int]
    jtype: Sequence[Any]
    Xtree: Sequence[Any]
    I: Sequence[Any]
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    gamma_q: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in TREE and name in vars(self):
            raise BlockError(
                f"TreeModel: {name} of a model does not change.",
                hint=f"Make another one: dataclasses.replace(model, {name}=...).",
            )
        if name == "gamma_q" and value is not None and not callable(value):
            raise BlockError(f"TreeModel: gamma_q is {value!r}, expected a function (model, qo, qdo).")
        super().__setattr__(name, value)

    def __post_init__(self) -> None:
        """Bring every field into its own type; a BlockError names field, body and what is wrong."""
        counts = [_length(name, getattr(self, name)) for name in ("parent", "jtype", "Xtree", "I")]
        if len(set(counts)) != 1:
            raise BlockError(
                f"TreeModel: parent, jtype, Xtree and I have {counts} entries, expected as many each."
            )
        for i, (parent, jtype) in enumerate(zip(self.parent, self.jtype, strict=True), start=1):
            _joint_of(jtype, i)
            if not is_whole(parent) or not 0 <= parent < i:
                raise BlockError(f"TreeModel: parent of body {i} is {parent}, expected 0 to {i - 1}.")
        bodies = range(1, len(self.parent) + 1)
        checked = {
            "parent": tuple(int(parent) for parent in self.parent),
            "jtype": tuple(self.jtype),
            "Xtree": tuple(
                transform_of(X, f"TreeModel: Xtree of body {i}")
                for i, X in zip(bodies, self.Xtree, strict=True)
            ),
            "I": tuple(_inertia(I, i) for i, I in zip(bodies, self.I, strict=True)),
            "gravity": vector("TreeModel: gravity", self.gravity, 3),
        }
        vars(self).update(checked)

    @property
    def NB(self) -> int:
        """Number of bodies, and of joints."""
        return len(self.parent)

    # what `Tree` asks a mechanism for
    @property
    def links(self) -> tuple[_Link, ...]:
        """Bodies with their joints."""
        return tuple(
            _Link(p - 1 if p else GROUND, _joint_of(jtype, i), X)
            for i, (p, jtype, X) in enumerate(zip(self.parent, self.jtype, self.Xtree, strict=True), start=1)
        )

    @property
    def flat(self) -> bool:
        """Do the joints keep all bodies in planes? Nobody looked."""
        return False

    def path(self, i: int) -> list[int]:
        """Bodies from number i (from 0) down to the base."""
        found = []
        while i != GROUND:
            found.append(i)
            i = self.parent[i] - 1
        return found


@dataclass(frozen=True, eq=False)
class _Link:
    parent: int
    joint: Joint
    Xtree: Transform


def _joint_of(jtype: Any, i: int) -> Joint:
    """The joint of an entry of `jtype`; i counts bodies from 1."""
    code, given, pars = jtype, (), {}
    if isinstance(jtype, Mapping):
        code, pars = jtype.get("code"), jtype.get("pars", {})
    elif isinstance(jtype, tuple) and jtype:
        code, given = jtype[0], jtype[1:]
    if not isinstance(code, str) or code not in _TYPES:
        raise BlockError(
            f"TreeModel: jtype '{code}' of body {i}; {near_miss(str(code), JTYPES)}", value=jtype
        )
    entry = _TYPES[code]
    names = ", ".join(entry.numbers)
    given = (*given, *(pars[name] for name in entry.numbers if name in pars))
    if len(given) != len(entry.numbers):
        wanted = f"('{code}', {names})" if names else f"'{code}'"
        raise BlockError(f"TreeModel: jtype {jtype!r} of body {i}, expected {wanted}.", value=jtype)
    numbers = vector(f"TreeModel: {names} of body {i}", given, len(given))
    return entry.made(dict(zip(entry.numbers, numbers, strict=True)))


def _inertia(value: Any, i: int) -> np.ndarray:
    I = inertia_of(value, f"TreeModel: I of body {i}")
    I.setflags(write=False)
    return I


def _length(name: str, value: Any) -> int:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        raise BlockError(
            f"TreeModel: {name} is {value!r}, expected a list with one entry per body.", value=value
        )
    return len(value)


def tree_of(value: Any, who: str) -> TreeModel:
    """The value, which has to be a tree."""
    if not isinstance(value, TreeModel):
        raise BlockError(f"{who}: model is {type(value).__name__}, expected a TreeModel.", value=value)
    return value


def vector(name: str, value: Any, size: int) -> tuple[float, ...]:
    """(size,) finite numbers, from a list or an array."""
    try:
        found = real_numbers(value)
    except (TypeError, ValueError, OverflowError):
        raise BlockError(f"{name} is {value!r}, expected ({size},) numbers.", value=value) from None
    if found.shape != (size,):
        raise BlockError(
            f"{name} has shape {found.shape}, expected ({size},), one number per joint."
            if name.startswith("RobotPlant")
            else f"{name} has shape {found.shape}, expected ({size},).",
            value=value,
        )
    if not np.isfinite(found).all():
        raise BlockError(f"{name} is {found.tolist()}, expected finite numbers.", value=value)
    return tuple(found.tolist())
