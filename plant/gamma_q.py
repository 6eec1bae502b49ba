"""Kinematic trees described as in spatial_v2, and coordinate constraints q = gamma(y) on them.

A model is a parent array, joint types, tree transforms and inertias, from Python::

    robot = planar(2)
    law = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=[0], Tstab=0.1)
    d.connect(torque["y"], d.add("robot", RobotPlant(robot, constraint=law))["tau"])

With q = gamma(y), q' = G y' and q'' = G y'' + g the forward dynamics are

    q'' = G (G^T H G)^-1 G^T (tau - C - H gs) + gs,      gs = g + 2/Tstab (qd - qd_o) + 1/Tstab^2 (q - q_o)

where q_o, qd_o are the integrated coordinates and q, qd those that satisfy the constraint, at which H and C
are taken. `gamma` finds G and g by automatic differentiation; a function of spatial_v2's own form, returning
(q, qd, G, gs), may be given instead.

Names are those of spatial_v2: NB, parent (numbers from 1, 0 is the base), jtype, Xtree, I, gravity.
Spatial vectors are angular first.

Source: Featherstone, RBDA, section 3.2 and tables 5.1, 6.2; spatial_v2, FDgq and "Describing Constraints with
gamma_q".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import casadi as ca
import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.symbols import as_array, column, tracing
from blocks.errors import BlockError, near_miss
from plant.mechanics.joints import ANGLE, JOINT_TYPES, Joint
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.spatial import Transform, constant, mcI, rx, ry, rz
from plant.mechanics.tree import Tree

GammaQ = Callable[["TreeModel", Any, Any], tuple[Any, Any, Any, Any]]
"""gamma_q(model, qo, qdo) -> q, qd, G, gs."""


_TYPES = {code: entry for entry in JOINT_TYPES.values() for code in entry.jtypes if not entry.numbers}
JTYPES = tuple(_TYPES)
"""Joint types: R, Rx, Ry, Rz turn, P, Px, Py, Pz slide; r, px, py are the planar ones."""


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A kinematic tree as in spatial_v2.

    parent : (NB,) int         of each body, numbers from 1; 0 is the base, and parent[i] <= i
    jtype : (NB,) str          one of `JTYPES`
    Xtree : (NB,) Transform    from the parent's frame to the joint's
    I : (NB,) (6, 6) float     spatial inertia of each body in its own frame
    gravity : (3,) float       acceleration of gravity in base coordinates [m/s^2]
    """

    parent: tuple[int, ...]
    jtype: tuple[str, ...]
    Xtree: tuple[Transform, ...]
    I: tuple[np.ndarray, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)

    def __post_init__(self) -> None:
        counts = {len(self.parent), len(self.jtype), len(self.Xtree), len(self.I)}
        if len(counts) != 1:
            raise BlockError(
                f"TreeModel: parent, jtype, Xtree and I have {sorted(counts)} entries, expected as many each."
            )
        for i, (parent, jtype) in enumerate(zip(self.parent, self.jtype, strict=True), start=1):
            if jtype not in _TYPES:
                raise BlockError(f"TreeModel: jtype '{jtype}' of body {i}; {near_miss(jtype, JTYPES)}")
            if not 0 <= parent < i:
                raise BlockError(f"TreeModel: parent of body {i} is {parent}, expected 0 to {i - 1}.")

    @property
    def NB(self) -> int:
        """Number of bodies, and of joints."""
        return len(self.parent)

    # what `Tree` asks a mechanism for
    @property
    def links(self) -> tuple[_Link, ...]:
        """Bodies with their joints."""
        return tuple(
            _Link(p - 1 if p else GROUND, _TYPES[t].made({}), X)
            for p, t, X in zip(self.parent, self.jtype, self.Xtree, strict=True)
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


@dataclass(frozen=True, eq=False)
class Dynamics:
    """H, C and energies of a tree at symbolic q, qd: H q'' + C = tau, gravity in C."""

    H: ca.SX
    C: ca.SX
    KE: ca.SX
    PE: ca.SX


def dynamics(model: TreeModel, q: ca.SX, qd: ca.SX) -> Dynamics:
    """Joint-space inertia, bias forces and energies (spatial_v2: HandC and EnerMo)."""
    n = model.NB
    tree = Tree(
        cast(Mechanism, model), ca.vertsplit(q), ca.vertsplit(qd), [ca.SX(constant(I)) for I in model.I]
    )
    g = ca.SX(constant(np.array(model.gravity)))
    zero = [ca.SX(1, 1) for _ in range(n)]
    C = ca.vertcat(*tree.inverse(g, zero, {}))
    KE, PE = ca.SX(0), ca.SX(0)
    for i in range(n):
        KE = KE + ca.dot(tree.v[i], ca.SX(constant(model.I[i])) @ tree.v[i]) / 2
        A, r = tree.pose(i)
        mass = float(model.I[i][3, 3])
        mc = constant(np.array([model.I[i][2, 4], model.I[i][0, 5], model.I[i][1, 3]]))  # m c from m cx
        PE = PE - ca.dot(g, mass * r + A @ mc)
    return Dynamics(ca.SX(tree.mass_matrix()), ca.SX(C), ca.SX(KE), ca.SX(PE))


@dataclass(frozen=True, eq=False)
class Constraint:
    """A constraint on q, in the full form of spatial_v2, and the number of independent coordinates.

    gamma_q : function      see `GammaQ`; plain NumPy of signals
    """

    gamma_q: GammaQ


def gamma(
    function: Callable[[Any], Any],
    independent: Sequence[int] | Callable[[Any], Any],
    Tstab: float = 0.1,
) -> Constraint:
    """Constraint q = function(y), with G = dq/dy and g = G' y' by automatic differentiation.

    Parameters
    ----------
    function : y (ny,) -> q (n,)          plain NumPy
    independent : list of int, or q -> y  which entries of q (from 0) are y, or how y follows from q
    Tstab : float                         s; time constant of stabilisation, about 0.1 for a humanoid, 0.01
                                          for a sewing machine
    """
    if not Tstab > 0.0:
        raise BlockError(f"gamma: Tstab is {Tstab!r} s, expected a positive time.", value=Tstab)

    def gamma_q(model: TreeModel, qo: Any, qdo: Any) -> tuple[Any, Any, Any, Any]:
        old, old_rate = column(qo), column(qdo)
        if callable(independent):
            y = column(independent(qo))
            yd = ca.jacobian(y, old) @ old_rate
        else:
            y, yd = old[list(independent)], old_rate[list(independent)]
        s = ca.SX.sym("y", y.numel())
        q_of_y = column(function(as_array(s)))
        G_of_y = ca.jacobian(q_of_y, s)
        rate = ca.SX.sym("yd", y.numel())
        g_of_y = ca.jtimes(G_of_y @ rate, s, rate)
        if q_of_y.numel() != old.numel():
            raise BlockError(f"gamma gives {q_of_y.numel()} coordinates, expected {old.numel()}.")
        at = ca.Function("gamma", [s, rate], [q_of_y, G_of_y @ rate, G_of_y, g_of_y])
        q, qd, G, g = at.call([y, yd], True, False)
        gs = g + 2 / Tstab * (qd - old_rate) + (q - old) / Tstab**2
        return q, qd, G, gs

    return Constraint(gamma_q)


@dataclass(frozen=True)
class RobotPlant(Block):
    """A spatial_v2 tree as a block, with a coordinate constraint or without.

    States: q (n,) and qd (n,).  Input: tau (n,), joint forces.  Outputs: q, qd, KE and PE [J], and with a
    constraint ``residual``, the difference (n,) between the coordinates that satisfy it and q.
    Direct feedthrough: none.

    q, qd : (n,) float          initial values; with a constraint they are moved onto it once, by gamma_q

    Use::

        robot = d.add("robot", RobotPlant(planar(2), q=[0.1, 0.0]))
    """

    model: TreeModel
    q: tuple[float, ...] | Sequence[float] = ()
    qd: tuple[float, ...] | Sequence[float] = ()
    constraint: Constraint | GammaQ | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        n = self.model.NB
        start = {name: np.array(getattr(self, name) or np.zeros(n), dtype=float) for name in ("q", "qd")}
        for name, value in start.items():
            if value.shape != (n,):
                raise BlockError(
                    f"RobotPlant: {name} has shape {value.shape}, expected ({n},), one number per joint.",
                    value=value,
                )
        if self.constraint is not None:
            q, qd = self._consistent(start["q"], start["qd"])
            start = {"q": q, "qd": qd}
        for name, value in start.items():
            object.__setattr__(self, name, tuple(value.tolist()))

    def _gamma_q(self, q: Any, qd: Any) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """q, qd, G, gs at given coordinates; call it inside `tracing`."""
        constraint = self.constraint
        function = constraint.gamma_q if isinstance(constraint, Constraint) else cast(GammaQ, constraint)
        found = function(self.model, q, qd)
        if len(found) != 4:
            raise BlockError(f"gamma_q returned {len(found)} values, expected q, qd, G and gs.")
        n = self.model.NB
        qn, qdn, G, gs = found
        matrix = _matrix(G, n)
        for name, part in (("q", qn), ("qd", qdn), ("gs", gs)):
            if column(part).numel() != n:
                raise BlockError(f"gamma_q: {name} has {column(part).numel()} entries, expected {n}.")
        return column(qn), column(qdn), matrix, column(gs)

    def _consistent(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values gamma_q gives for these."""
        with tracing():
            a, b = ca.SX.sym("q", len(q)), ca.SX.sym("qd", len(q))
            qn, qdn, _, _ = self._gamma_q(as_array(a), as_array(b))
            at = ca.Function("start", [a, b], [qn, qdn])
        found = at(q, qd)
        return np.array(found[0]).ravel(), np.array(found[1]).ravel()

    def define(self, b: Equations) -> None:
        """Declare ports, states and equations."""
        n = self.model.NB
        tau = b.input("tau", n)
        q, qd = b.continuous("q", self.q, n), b.continuous("qd", self.qd, n, static="zero")
        here, rate = ca.SX(q), ca.SX(qd)
        b.derivative(q, qd)
        if self.constraint is None:
            d = dynamics(self.model, here, rate)
            b.derivative(qd, ca.ldl_solve(ca.SX(tau) - d.C, *ca.ldl(d.H)))
        else:
            qn, qdn, G, gs = self._gamma_q(q, qd)
            d = dynamics(self.model, qn, qdn)
            M, right = G.T @ d.H @ G, G.T @ (ca.SX(tau) - d.C - d.H @ gs)
            b.derivative(qd, G @ ca.ldl_solve(right, *ca.ldl(M)) + gs)
            b.output("residual", qn - here)
            d = dynamics(self.model, here, rate)
        units = ["rad" if link.joint.coordinates[0][1] == ANGLE else "m" for link in self.model.links]
        b.output("q", q, labels=[f"q{k} [{unit}]" for k, unit in enumerate(units, start=1)])
        b.output("qd", qd, labels=[f"qd{k} [{unit}/s]" for k, unit in enumerate(units, start=1)])
        b.output("KE", d.KE, labels=["KE [J]"])
        b.output("PE", d.PE, labels=["PE [J]"])


def _matrix(G: Any, rows: int) -> ca.SX:
    """G as (n, ny), from an SX, an array or lists of signals."""
    if isinstance(G, ca.SX):
        matrix = G
    elif isinstance(G, (list, tuple)):
        listed = [column(row) for row in G]
        matrix = ca.horzcat(*listed).T if len(listed) == rows else ca.vertcat(*listed)
    else:
        matrix = (
            ca.SX(np.asarray(G, dtype=float)) if isinstance(G, np.ndarray) and G.dtype != object else ca.SX(G)
        )
    matrix = ca.SX(matrix)
    if matrix.shape[0] != rows and matrix.numel() % rows == 0:
        matrix = ca.reshape(matrix, rows, matrix.numel() // rows)
    if matrix.shape[0] != rows:
        raise BlockError(f"gamma_q: G has shape {matrix.shape}, expected {rows} rows.")
    return ca.sparsify(matrix)


# --- constructors of spatial_v2 -------------------------------------------------------------------------
def _at(x: float, y: float = 0.0, z: float = 0.0, E: Any = None) -> Transform:
    """Transform to a frame at (x, y, z) whose coordinates are turned by E."""
    return Transform(constant(np.eye(3)) if E is None else ca.DM(E), constant(np.array([x, y, z])))


def _body(m: float, c: Sequence[float], Ic: np.ndarray) -> np.ndarray:
    return np.array(ca.DM(mcI(m, constant(np.array(c)), constant(Ic))))


def planar(n: int) -> TreeModel:
    """Planar robot: n equal links on revolute joints, of unit length and mass; no gravity."""
    I = _body(1.0, (0.5, 0.0, 0.0), np.diag([0.0, 0.0, 1 / 12]))
    places = tuple(_at(1.0 if i else 0.0) for i in range(n))
    return TreeModel(tuple(range(n)), ("r",) * n, places, (I,) * n, (0.0, 0.0, 0.0))


def autoTree(nb: int, bf: float = 1.0, skew: float = 0.0, taper: float = 1.0) -> TreeModel:
    """Tree of `nb` revolute joints with branching factor `bf` (1: a chain).

    Successive axes are turned by `skew` [rad] about x and apart by the parent's length; length and mass
    shrink by `taper` and its cube from a body to the next. Link 1: unit length and mass, an almost thin rod.
    """
    parents, places, inertias, lengths = [], [], [], []
    for i in range(1, nb + 1):
        parent = int(np.floor((i - 2 + np.ceil(bf)) / bf))
        lengths.append(taper ** (i - 1))
        mass, length = taper ** (3 * (i - 1)), lengths[-1]
        parents.append(parent)
        first = parent == 0
        places.append(_at(0.0) if first else _at(lengths[parent - 1], E=rx(skew)))
        Ic = mass * length**2 * np.diag([0.0025, 1.015 / 12, 1.015 / 12])
        inertias.append(_body(mass, (0.5 * length, 0.0, 0.0), Ic))
    return TreeModel(tuple(parents), ("R",) * nb, tuple(places), tuple(inertias))


def doubleElbow() -> TreeModel:
    """`planar(2)` with an elbow of two joints: use it with `double_elbow_gears`.

    The piece between them is 0.25 m long and has no mass; planar, no gravity.
    """
    link = _body(1.0, (0.5, 0.0, 0.0), np.diag([0.0, 0.0, 1 / 12]))
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
    boxes = tuple(_body(1.0, (0.0, y, 0.0), Ic) for y in (-0.05, 0.05))
    return floatbase(TreeModel((0, 1), ("R", "Ry"), (_at(0.0),) * 2, boxes, (0.0, 0.0, 0.0)))


def vee(L2: float = 1.0) -> TreeModel:
    """Two free rods of radius 0.01 m on a joint at 45 degrees to both; no gravity.

    Rod 1 lies along x: 1 m, 1 kg; rod 2 along y: `L2` m, `L2` kg. The joint turns about the line x = y.
    """
    axis = ry(np.pi / 2) @ rz(np.pi / 4)  # the joint's axes; its z is (1, 1, 0)/sqrt(2)
    along = np.array([0.0, 1.0, 1.0]) / np.sqrt(2)  # rod 2 in them

    def rod(length: float, e: np.ndarray) -> np.ndarray:
        thin, wide = 0.01**2 / 2, (length**2 + 3 * 0.01**2) / 12
        Ic = length * (wide * np.eye(3) + (thin - wide) * np.outer(e, e))
        return _body(length, tuple(length / 2 * e), Ic)

    rods = (rod(1.0, np.array([1.0, 0.0, 0.0])), rod(L2, along))
    return floatbase(TreeModel((0, 1), ("R", "R"), (_at(0.0), _at(0.0, E=axis)), rods, (0.0, 0.0, 0.0)))


def floatbase(model: TreeModel) -> TreeModel:
    """The model with its first body free: joints Px, Py, Pz, Rx, Ry, Rz in place of joint 1.

    The second rotation has to stay within 90 degrees: beyond, the third turns about the axis of the first.
    """
    if any(p == 0 for p in model.parent[1:]):
        raise BlockError("floatbase: only the first body may be on the base.")
    zero = np.zeros((6, 6))
    parent = (0, 1, 2, 3, 4, 5, *(p + 5 for p in model.parent[1:]))
    jtype = ("Px", "Py", "Pz", "Rx", "Ry", "Rz", *model.jtype[1:])
    Xtree = (*(_at(0.0) for _ in range(6)), *model.Xtree[1:])
    return replace(model, parent=parent, jtype=jtype, Xtree=Xtree, I=(*(zero,) * 5, *model.I))


def singlebody() -> TreeModel:
    """A free body: 1 kg, centre of mass at its origin, moments 1, 2 and 3 kg m^2; no gravity."""
    fixed = TreeModel(
        (0,), ("R",), (_at(0.0),), (_body(1.0, (0, 0, 0), np.diag([1.0, 2.0, 3.0])),), (0.0, 0.0, 0.0)
    )
    return floatbase(fixed)
