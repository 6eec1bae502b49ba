"""The energy ledger of a run: outputs and states that an audited plant has besides its own.

Energies, momenta and powers are written as symbols; `plant.energy` reads what they were in a result::

    KE + gravity + springs + dissipated - work_in - constraint_work = constant

Source: Concurrent Dynamics International, MBS Energy Testing, 2017, equations (1) and (2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.errors import ModelError
from plant.constraints.closure import Closure
from plant.constraints.solution import Solution
from plant.elements import FORCES
from plant.elements.bodies import to_centre
from plant.elements.forces.force import Store
from plant.equations.setting import Setting
from plant.equations.wheels import Wheels
from plant.forces.penalty import stored
from plant.mechanics.applied import Penalty
from plant.mechanics.spatial import cross

ENERGY = ("KE", "gravity", "springs", "work_in", "dissipated", "constraint_work")
MOMENTUM = ("px", "py", "pz", "Lx", "Ly", "Lz")
ACCOUNTS = ENERGY[3:]
"""States of an audited plant, named ``audit.<account>``: work of forces that is neither stored nor lost,
dissipated energy, and work of constraints (motions)."""

BODY = 18  # numbers per body in audit_bodies: r, v, w and the axes A row by row
TENSOR = tuple((i, j) for i in range(3) for j in range(i, 3))
"""Entries of a body's tensor in audit_inertias, behind its mass."""


def declare(
    b: Equations, values: Setting, solution: Solution, closure: Closure | None, wheels: Wheels
) -> None:
    """Declare the outputs and states of an audited plant."""
    book = _Book(values, solution, closure, wheels)
    accounts = {name: b.continuous(f"audit.{name}", 0.0, static="hold") for name in ACCOUNTS}
    for name, power in zip(ACCOUNTS, book.powers(), strict=True):
        b.derivative(accounts[name], power)
    energies = [book.kinetic(), book.gravity(), book.springs(), *[ca.SX(a) for a in accounts.values()]]
    b.output("audit_energy", ca.densify(ca.vertcat(*energies)), labels=ENERGY, auxiliary=True)
    b.output("audit_momentum", ca.densify(book.momentum()), labels=MOMENTUM, auxiliary=True)
    b.output("audit_bodies", ca.densify(book.bodies()), auxiliary=True)
    b.output("audit_inertias", ca.densify(book.inertias()), auxiliary=True)
    if momenta := wheels.momenta(values):
        b.output("audit_wheels", ca.densify(ca.vertcat(*momenta)), auxiliary=True)


class _Book:
    """Energies, momenta and powers of a plant as symbols."""

    def __init__(self, values: Setting, solution: Solution, closure: Closure | None, wheels: Wheels) -> None:
        self.values, self.solution, self.closure, self.wheels = values, solution, closure, wheels
        self._tree = values.kinematics.tree
        self._steady = not any(isinstance(getattr(values.model.gravity, f"grav_{x}"), str) for x in "xyz")
        self._stores: dict[tuple[str, int], Store] = {}
        for kind in FORCES:
            for element in values.model.all(kind):
                store = element.store(values)
                if store is not None:
                    self._stores[element.tag, element.id] = store

    def kinetic(self) -> ca.SX:
        """Of all links, as the equations of motion have them, and of the wheels."""
        total = ca.SX(sum((self.wheels.kinetic(self.values, w) for w in self.wheels), ca.SX(0)))
        for v, I in zip(self._tree.v, self._tree.inertia, strict=True):
            total = total + ca.dot(v, I @ v) / 2
        return ca.SX(total)

    def _mass_moment(self, i: int) -> ca.SX:
        """Mass of a link times the place (3, 1) of its centre of mass in the ground frame."""
        I, (A, r) = self._tree.inertia[i], self._tree.pose(i)
        mc = ca.vertcat(I[2, 4], I[0, 5], I[1, 3])  # the block m skew(c)
        return ca.SX(I[3, 3] * r + A @ mc)

    def gravity(self) -> ca.SX:
        """-sum m g.r; 0 where gravity depends on time: its work is then put in."""
        if not self._steady:
            return ca.SX(0)
        total = ca.SX(0)
        for i in range(len(self._tree.mechanism.links)):
            total = total - ca.dot(self.solution.loads.gravity, self._mass_moment(i))
        return ca.SX(total)

    def springs(self) -> ca.SX:
        """Stored in springs, bushings and penalties."""
        stores = [*self._stores.values(), *[stored(p, self.values) for p in self._penalties]]
        return ca.SX(sum((s.U for s in stores), ca.SX(0)))

    @property
    def _penalties(self) -> Iterable[Penalty]:
        return self.solution.loads.penalties.values()

    def powers(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rates of `ACCOUNTS`."""
        work, loss = ca.SX(0), ca.SX(0)
        for kind in FORCES:
            for element in self.values.model.all(kind):
                store = self._stores.get((element.tag, element.id))
                if store is not None and store.complete:
                    loss = loss + store.loss
                    continue
                power = sum((self._power(wrench) for wrench in self.values.wrenches(element)), ca.SX(0))
                if store is not None:
                    power, loss = power + store.rate + store.loss, loss + store.loss
                work = work + power
        for penalty in self._penalties:
            loss = loss + stored(penalty, self.values).loss
            work = work - penalty.F * self.values.motion.drift(penalty.g)  # a moving constraint does work
        if not self._steady:
            for i, v in enumerate(self._tree.v):
                I, (A, _) = self._tree.inertia[i], self._tree.pose(i)
                work = work + ca.dot(self.solution.loads.gravity, A @ (I @ v)[3:])
        return work, loss, self._of_constraints()

    def _power(self, wrench: Any) -> ca.SX:
        marker = self.values.marker(wrench.marker)
        at = marker.r if wrench.at is None else wrench.at
        velocity = marker.v + cross(marker.w, at - marker.r)
        return ca.SX(ca.dot(wrench.F, velocity) + ca.dot(wrench.T, marker.w))

    def _of_constraints(self) -> ca.SX:
        """lam.(J qd): 0 but for motions and moving constraints."""
        if self.closure is None:
            return ca.SX(0)
        rows = [k for k in range(self.closure.size) if not self.closure.is_servo(k)]
        if not rows:
            return ca.SX(0)
        rates = ca.vertcat(*self._tree.qd)
        return ca.SX(ca.dot(self.solution.lam[rows], self.closure.J[rows, :] @ rates))

    def momentum(self) -> ca.SX:
        """Linear momentum, and angular momentum about the origin, in the ground frame."""
        p, L = ca.SX(3, 1), sum(self.wheels.momenta(self.values), ca.SX(3, 1))
        for i, v in enumerate(self._tree.v):
            A, r = self._tree.pose(i)
            h = self._tree.inertia[i] @ v  # [about the link's origin; linear] along the link
            linear = A @ h[3:]
            p, L = p + linear, L + A @ h[:3] + cross(r, linear)
        return ca.vertcat(p, L)

    def bodies(self) -> ca.SX:
        """r, v, w of the centre of mass and axes of the inertia marker, of every link."""
        found = []
        for link in self._tree.mechanism.links:
            body = link.body.source
            if body.cg_id is None:
                raise ModelError(
                    f"{body.where}: an energy audit needs the centre of mass.",
                    path=body.where,
                    hint="Write cg_id.",
                )
            centre = self.values.marker(body.cg_id)
            axes = self.values.marker(getattr(body, "im_id", None) or body.cg_id).A
            found += [centre.r, centre.v, centre.w, ca.vec(ca.SX(axes).T)]
        return ca.vertcat(ca.SX(0, 1), *[ca.densify(ca.SX(part)) for part in found])

    def inertias(self) -> ca.SX:
        """Mass, and `TENSOR` about the centre of mass along the axes of `bodies`, of links; Iw of wheels.

        They are those of the run, whose parameters may change them.
        """
        found, factor = [ca.SX(0, 1)], self.values.model.units.factor
        for link in self._tree.mechanism.links:
            body, I = link.body.source, ca.SX(3, 3)
            numbers = {
                share.name: factor * self.values.number(body, share.name) for share in link.body.shares
            }
            for share in link.body.shares:
                if share.tensor is not None:
                    I = I + numbers[share.name] * ca.DM(share.tensor)
            c = to_centre(body, self.values.model.frames)
            I = I - numbers["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
            found += [numbers["mass"], *[I[j, k] for j, k in TENSOR]]
        found += [factor * self.values.number(wheel, "inertia") for wheel in self.wheels]
        return ca.vertcat(*[ca.densify(ca.SX(part)) for part in found])
