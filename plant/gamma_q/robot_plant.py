"""A tree of spatial_v2 as a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.picture import BlockPicture
from blocks.errors import BlockError
from plant.equations.ledger import ACCOUNTS, ENERGY
from plant.gamma_q.algorithms import Dynamics, dynamics
from plant.gamma_q.coordinate_constraint import Constraint, check_arguments, consistent
from plant.gamma_q.tree_model import GammaQ, TreeModel, tree_of, vector
from plant.mechanics.joints import ANGLE


@dataclass(frozen=True)
class RobotPlant(Block):
    """A spatial_v2 tree as a block, with a coordinate constraint or without.

    States: q (n,) and qd (n,).  Input: tau (n,), joint forces.
    Outputs: q, qd; KE, PE and their sum E [J]; p and L (3,), momentum and angular momentum about the base's
    origin; cm (3,), the centre of mass, of models that have a mass; with a constraint ``residual``, the
    difference (n,) between the coordinates that satisfy it and q.  Direct feedthrough: none.

    model : TreeModel           its ``gamma_q`` is the constraint if none is given here
    q, qd : (n,) float          initial values; with a constraint they are moved onto it once, by gamma_q
    constraint                  function of spatial_v2's form, or what `gamma` gives

    ``robot.audited()`` keeps the account of its energy: ``plant.energy.ledger(result, "robot")``.

    Use::

        robot = d.add("robot", RobotPlant(planar(2), q=[0.1, 0.0]))
    """

    drawn_as: ClassVar[str] = "plant"

    model: TreeModel
    q: tuple[float, ...] | Sequence[float] | np.ndarray = ()
    qd: tuple[float, ...] | Sequence[float] | np.ndarray = ()
    constraint: Constraint | GammaQ | None = field(default=None, kw_only=True)
    audit: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        tree_of(self.model, "RobotPlant")
        if self.constraint is None:
            object.__setattr__(self, "constraint", self.model.gamma_q)
        if self.constraint is not None:
            if not callable(self.constraint):
                raise BlockError(f"RobotPlant: constraint is {self.constraint!r}, expected a function.")
            check_arguments(self.constraint)
        n = self.model.NB
        start = {}
        for name in ("q", "qd"):
            value = getattr(self, name)
            start[name] = vector(f"RobotPlant: {name}", np.zeros(n) if _empty(value) else value, n)
        if self.constraint is not None:
            a, b = ca.SX.sym("q", n), ca.SX.sym("qd", n)
            at = ca.Function("start", [a, b], list(self._consistent(a, b)[:2]))
            start = {
                name: tuple(np.array(e).ravel().tolist())
                for name, e in zip(("q", "qd"), at(start["q"], start["qd"]), strict=True)
            }
        for name, value in start.items():
            object.__setattr__(self, name, vector(f"RobotPlant: {name} on the constraint", value, n))

    def audited(self) -> RobotPlant:
        """The block with an account of its energy, see `plant.energy.ledger`."""
        return replace(self, audit=True)

    def _consistent(self, q: ca.SX, qd: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """q, qd, G, gs of the constraint at given coordinates."""
        assert self.constraint is not None  # the caller asked
        return consistent(self.model, self.constraint, q, qd)

    def define(self, b: Equations) -> None:
        """Declare ports, states and equations."""
        n = self.model.NB
        tau = ca.SX(b.input("tau", n))
        q, qd = b.continuous("q", self.q, n), b.continuous("qd", self.qd, n, static="zero")
        here, rate = ca.SX(q), ca.SX(qd)
        b.derivative(q, qd)
        d = dynamics(self.model, here, rate)
        if self.constraint is None:
            qdd = ca.ldl_solve(tau - d.C, *ca.ldl(d.H))
        else:
            qn, qdn, G, gs = self._consistent(here, rate)
            on = dynamics(self.model, qn, qdn)
            M, right = G.T @ on.H @ G, G.T @ (tau - on.C - on.H @ gs)
            qdd = G @ ca.ldl_solve(right, *ca.ldl(M)) + gs
            b.output("residual", qn - here)
        b.derivative(qd, qdd)
        units = ["rad" if link.joint.coordinates[0][1] == ANGLE else "m" for link in self.model.links]
        b.output("q", q, labels=[f"q{k} [{unit}]" for k, unit in enumerate(units, start=1)])
        b.output("qd", qd, labels=[f"qd{k} [{unit}/s]" for k, unit in enumerate(units, start=1)])
        b.output("KE", d.KE, labels=["KE [J]"])
        b.output("PE", d.PE, labels=["PE [J]"])
        b.output("E", d.KE + d.PE, labels=["E [J]"])
        b.output("p", ca.densify(d.momentum[3:]), labels=[f"p{a} [N s]" for a in "xyz"])
        b.output("L", ca.densify(d.momentum[:3]), labels=[f"L{a} [N m s]" for a in "xyz"])
        if d.mass > 0.0:
            b.output("cm", ca.densify(d.moment / d.mass), labels=[f"{a} [m]" for a in "xyz"])
        if self.audit:
            self._account(b, d, tau, rate, qdd)

    def picture(self) -> BlockPicture | None:
        """The robot where it starts; see `Block.picture`."""
        from plant.gamma_q.robot_scene import robot_scene  # only where something is drawn
        from plant.sketch import sketch

        return sketch(robot_scene(self))

    def _account(self, b: Equations, d: Dynamics, tau: ca.SX, qd: ca.SX, qdd: ca.SX) -> None:
        """Work of the joint forces, and of what keeps the constraint (nothing but its stabilisation)."""
        powers = {
            "work_in": ca.dot(tau, qd),
            "dissipated": ca.SX(0),
            "constraint_work": ca.dot(d.H @ qdd + d.C - tau, qd),
        }
        accounts = [b.continuous(f"audit.{name}", 0.0, static="hold") for name in ACCOUNTS]
        for account, name in zip(accounts, ACCOUNTS, strict=True):
            b.derivative(account, powers[name])
        energies = [d.KE, d.PE, ca.SX(0), *[ca.SX(account) for account in accounts]]
        b.output("audit_energy", ca.densify(ca.vertcat(*energies)), labels=ENERGY, auxiliary=True)


def _empty(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and not value
