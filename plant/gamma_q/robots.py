"""Example trees of spatial_v2, and their parts: transforms and inertias as (6, 6) NumPy arrays.

Source: spatial_v2 (planar, autoTree, doubleElbow, scissor, vee, floatbase, singlebody, plux, mcI, rotx, xlt).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import is_whole, number
from blocks.errors import BlockError
from plant.gamma_q.coordinate_constraint import Constraint, gamma
from plant.gamma_q.tree_model import TreeModel, tree_of, vector
from plant.mechanics import spatial
from plant.mechanics.checked import inertia_of, numbers_of, transform_of
from plant.mechanics.spatial import Matrix, Transform, constant, rx, ry, rz


# --- parts -------------------------------------------------------------------------------------------------
def plux(E: Any, r: Any) -> np.ndarray:
    """(6, 6) Plücker transform to a frame at r (3,) whose components are turned by E (3, 3)."""
    return _matrix(transform_of((E, r), "plux"))


def xlt(r: Any) -> np.ndarray:
    """(6, 6) Plücker transform of a translation r (3,) [m]."""
    return plux(np.eye(3), r)


def rotx(angle: float) -> np.ndarray:
    """(6, 6) Plücker transform of a rotation about x [rad]."""
    return _rotation(rx(_number(angle, "rotx: angle")))


def roty(angle: float) -> np.ndarray:
    """(6, 6) Plücker transform of a rotation about y [rad]."""
    return _rotation(ry(_number(angle, "roty: angle")))


def rotz(angle: float) -> np.ndarray:
    """(6, 6) Plücker transform of a rotation about z [rad]."""
    return _rotation(rz(_number(angle, "rotz: angle")))


def mcI(m: float, c: Any, Ic: Any) -> np.ndarray:
    """(6, 6) inertia of a mass m with its centre at c (3,) and the tensor Ic (3, 3) about the centre."""
    mass, centre = _number(m, "mcI: m"), np.array(vector("mcI: c", c, 3))
    tensor = numbers_of(Ic, (3, 3), "mcI: Ic", "a (3, 3) matrix")
    return inertia_of(np.array(ca.DM(spatial.mcI(mass, constant(centre), constant(tensor)))), "mcI")


def _matrix(X: Transform) -> np.ndarray:
    return np.array(ca.DM(X.matrix))


def _rotation(E: Matrix) -> np.ndarray:
    return _matrix(Transform(E, constant(np.zeros(3))))


def _number(value: Any, what: str) -> float:
    return number(value, what, error=BlockError)


def _count(value: Any, what: str) -> int:
    """A whole number, 1 or more."""
    if not is_whole(value) or value < 1:
        raise BlockError(f"{what} is {value!r}, expected how many bodies, 1 or more.", value=value)
    return int(value)


# --- trees -------------------------------------------------------------------------------------------------
def _at(x: float, y: float = 0.0, z: float = 0.0, E: Any = None) -> Transform:
    """Transform to a frame at (x, y, z) whose coordinates are turned by E."""
    return Transform(constant(np.eye(3)) if E is None else ca.DM(E), constant(np.array([x, y, z])))


def planar(n: int) -> TreeModel:
    """Planar robot: n equal links on revolute joints, of unit length and mass; no gravity."""
    n, I = _count(n, "planar: n"), mcI(1.0, (0.5, 0.0, 0.0), np.diag([0.0, 0.0, 1 / 12]))
    places = tuple(_at(1.0 if i else 0.0) for i in range(n))
    return TreeModel(tuple(range(n)), ("r",) * n, places, (I,) * n, (0.0, 0.0, 0.0))


def autoTree(nb: int, bf: float = 1.0, skew: float = 0.0, taper: float = 1.0) -> TreeModel:
    """Tree of `nb` revolute joints with branching factor `bf` (1: a chain).

    Successive axes are turned by `skew` [rad] about x and apart by the parent's length; length and mass
    shrink by `taper` and its cube from a body to the next. Link 1: unit length and mass, an almost thin rod.
    """
    nb, skew = _count(nb, "autoTree: nb"), _number(skew, "autoTree: skew")
    bf = number(bf, "autoTree: bf", "a number of 1 or more", least=1.0, error=BlockError)
    taper = number(taper, "autoTree: taper", "a number above 0", above=0.0, error=BlockError)
    parents, places, inertias, lengths = [], [], [], []
    for i in range(1, nb + 1):
        parent = int(np.floor((i - 2 + np.ceil(bf)) / bf))
        lengths.append(taper ** (i - 1))
        mass, length = taper ** (3 * (i - 1)), lengths[-1]
        parents.append(parent)
        first = parent == 0
        places.append(_at(0.0) if first else _at(lengths[parent - 1], E=rx(skew)))
        Ic = mass * length**2 * np.diag([0.0025, 1.015 / 12, 1.015 / 12])
        inertias.append(mcI(mass, (0.5 * length, 0.0, 0.0), Ic))
    return TreeModel(tuple(parents), ("R",) * nb, tuple(places), tuple(inertias))


def doubleElbow() -> TreeModel:
    """`planar(2)` with an elbow of two joints: use it with `double_elbow_gears`.

    The piece between them is 0.25 m long and has no mass; planar, no gravity.
    """
    link = mcI(1.0, (0.5, 0.0, 0.0), np.diag([0.0, 0.0, 1 / 12]))
    places = (_at(0.0), _at(1.0), _at(0.25))
    return TreeModel((0, 1, 2), ("r",) * 3, places, (link, np.zeros((6, 6)), link), (0.0, 0.0, 0.0))


def double_elbow_gears(Tstab: float = 0.1) -> Constraint:
    """1:1 gears at the elbow of `doubleElbow`: q = (y1, y2, y2)."""
    return gamma(lambda y: [y[0], y[1], y[1]], independent=[0, 1], Tstab=Tstab)


def scissor() -> TreeModel:
    """Two free boxes side by side along y that turn about y at their middles; no gravity.

    Each is 0.2 x 0.1 x 1 m and weighs 1 kg.
    """
    Ic = np.diag([0.1**2 + 1.0, 0.2**2 + 1.0, 0.2**2 + 0.1**2]) / 12
    boxes = tuple(mcI(1.0, (0.0, y, 0.0), Ic) for y in (-0.05, 0.05))
    return floatbase(TreeModel((0, 1), ("R", "Ry"), (_at(0.0),) * 2, boxes, (0.0, 0.0, 0.0)))


def vee(L2: float = 1.0) -> TreeModel:
    """Two free rods of radius 0.01 m on a joint at 45 degrees to both; no gravity.

    Rod 1 lies along x: 1 m, 1 kg; rod 2 along y: `L2` m, `L2` kg. The joint turns about the line x = y.
    """
    L2 = number(L2, "vee: L2", "a length above 0", above=0.0, error=BlockError)
    axis = ry(np.pi / 2) @ rz(np.pi / 4)  # the joint's axes; its z is (1, 1, 0)/sqrt(2)
    along = np.array([0.0, 1.0, 1.0]) / np.sqrt(2)  # rod 2 in them

    def rod(length: float, e: np.ndarray) -> np.ndarray:
        thin, wide = 0.01**2 / 2, (length**2 + 3 * 0.01**2) / 12
        Ic = length * (wide * np.eye(3) + (thin - wide) * np.outer(e, e))
        return mcI(length, tuple(length / 2 * e), Ic)

    rods = (rod(1.0, np.array([1.0, 0.0, 0.0])), rod(L2, along))
    return floatbase(TreeModel((0, 1), ("R", "R"), (_at(0.0), _at(0.0, E=axis)), rods, (0.0, 0.0, 0.0)))


def floatbase(model: TreeModel) -> TreeModel:
    """The model with its first body free: joints Px, Py, Pz, Rx, Ry, Rz in place of joint 1.

    The second rotation has to stay within 90 degrees: beyond, the third turns about the axis of the first.
    """
    if any(p == 0 for p in tree_of(model, "floatbase").parent[1:]):
        raise BlockError("floatbase: only the first body may be on the base.")
    zero = np.zeros((6, 6))
    parent = (0, 1, 2, 3, 4, 5, *(p + 5 for p in model.parent[1:]))
    jtype = ("Px", "Py", "Pz", "Rx", "Ry", "Rz", *model.jtype[1:])
    Xtree = (*(_at(0.0) for _ in range(6)), *model.Xtree[1:])
    return replace(model, parent=parent, jtype=jtype, Xtree=Xtree, I=(*(zero,) * 5, *model.I))


def singlebody() -> TreeModel:
    """A free body: 1 kg, centre of mass at its origin, moments 1, 2 and 3 kg m^2; no gravity."""
    fixed = TreeModel(
        (0,), ("R",), (_at(0.0),), (mcI(1.0, (0, 0, 0), np.diag([1.0, 2.0, 3.0])),), (0.0, 0.0, 0.0)
    )
    return floatbase(fixed)
