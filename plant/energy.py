"""Energy and momentum: from simulation output alone, and kept account of inside a run.

*From output.* `BodyStates` holds masses, tensors, positions and velocities of N bodies and the momenta of N_w
wheels, all in inertial coordinates; its constructors take the four kinds of output a simulation may give::

    KE = 1/2 (sum w_i^T I_i w_i + m_i v_i^T v_i + sum h_k^T h_k / Iw_k)                            (1)
    PE = 1/2 sum k_i theta_i^2 - sum m_i g^T r_i                                                   (2)

*Inside.* ``plant.audited()`` adds outputs ``audit_energy``, ``audit_momentum`` and ``audit_bodies`` and
integrates the work of forces with the states; ``ledger(result)`` makes the account of a run::

    KE + gravity + springs + dissipated - work_in - constraint_work = constant

and `EnergyLedger.plot` draws it.

Source: Concurrent Dynamics International, MBS Energy Testing, 2017, equations (1) and (2), procedures 1-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.errors import ModelError
from plant.elements import (
    Body_Rigid,
    Element,
    Force_Bushing,
    Force_Penalty,
    Force_SpringDamper,
    Inertia_Wheel,
)
from plant.elements.bodies import PRODUCT_OF_INERTIA_SIGN
from plant.equations.setting import Setting
from plant.equations.wheels import Wheels
from plant.forces.penalty import Penalty
from plant.forces.wrenches import FORCES
from plant.mechanics.spatial import cross

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from plant.constraints.closure import Closure
    from plant.constraints.solution import Solution


# --- from simulation output -----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class BodyStates:
    """N bodies and N_w wheels in inertial coordinates; a leading axis of times is allowed everywhere.

    m : (N,) mass; I : (..., N, 3, 3) tensors about the centres of mass
    w, r, v : (..., N, 3)      angular rates, positions and velocities of the centres of mass
    h : (..., Nw, 3)           wheel momenta along their spin axes: Iw times the absolute rate about them. The
                               body that carries a wheel has its mass and moments too, all but Iw
    Iw : (Nw,)                 spin-axis moments of inertia of the wheels
    """

    m: np.ndarray
    I: np.ndarray
    w: np.ndarray
    r: np.ndarray
    v: np.ndarray
    h: np.ndarray
    Iw: np.ndarray

    @staticmethod
    def from_inertial(m: Any, I: Any, w: Any, r: Any, v: Any, h: Any = (), Iw: Any = ()) -> BodyStates:
        """Procedure 1: everything is inertial already."""
        wheels = h if np.size(h) else np.zeros((0, 3))
        return BodyStates(*(np.asarray(a, dtype=float) for a in (m, I, w, r, v, wheels, Iw)))

    @staticmethod
    def from_system_cm(
        m: Any,
        I: Any,
        w: Any,
        r: Any,
        v: Any,
        R: Any,
        V: Any,
        h: Any = (),
        Iw: Any = (),
    ) -> BodyStates:
        """Procedure 2: r, v are relative to the system's centre of mass, which is at R with velocity V."""
        r, v, R, V = (np.asarray(a, dtype=float) for a in (r, v, R, V))
        return BodyStates.from_inertial(m, I, w, r + R[..., None, :], v + V[..., None, :], h, Iw)

    @staticmethod
    def from_first_body(
        m: Any,
        I: Any,
        w: Any,
        r: Any,
        v: Any,
        R: Any,
        V: Any,
        C: Any,
        h: Any = (),
        Iw: Any = (),
    ) -> BodyStates:
        """Procedure 3: components along body 1, relative to the system's centre of mass.

        C : (..., 3, 3) from body 1 to inertial coordinates; R, V are inertial. v is the inertial rate of r.
        """
        C = np.asarray(C, dtype=float)
        given = (np.asarray(a, dtype=float) for a in (w, r, v, h if np.size(h) else np.zeros((0, 3))))
        turned = [np.einsum("...ij,...nj->...ni", C, a) for a in given]
        tensors = np.einsum("...ij,...njk,...lk->...nil", C, np.asarray(I, dtype=float), C)
        return BodyStates.from_system_cm(m, tensors, turned[0], turned[1], turned[2], R, V, turned[3], Iw)

    @staticmethod
    def from_first_joint(
        m: Any,
        I: Any,
        w: Any,
        r: Any,
        v: Any,
        eta: Any,
        eta_rate: Any,
        h: Any = (),
        Iw: Any = (),
    ) -> BodyStates:
        """Procedure 4: r, v are relative to joint 1, which is at eta with velocity eta_rate."""
        return BodyStates.from_system_cm(m, I, w, r, v, eta, eta_rate, h, Iw)

    @property
    def KE(self) -> Any:
        """Kinetic energy, equation (1)."""
        turning = np.einsum("...ni,...nij,...nj->...", self.w, self.I, self.w)
        moving = np.einsum("n,...ni,...ni->...", self.m, self.v, self.v)
        spinning = np.sum(np.einsum("...ki,...ki->...k", self.h, self.h) / self.Iw, axis=-1)
        return (turning + moving + spinning) / 2

    def PE(self, g: Any = (0.0, 0.0, 0.0), k: Any = (), theta: Any = ()) -> Any:
        """Potential energy, equation (2); k are stiffnesses of springs at joint angles theta."""
        springs = np.sum(np.asarray(k) * np.asarray(theta) ** 2, axis=-1) / 2
        return springs - np.einsum("n,...ni,i->...", self.m, self.r, np.asarray(g, dtype=float))

    @property
    def momentum(self) -> np.ndarray:
        """(..., 3) linear momentum."""
        return np.einsum("n,...ni->...i", self.m, self.v)

    def angular_momentum(self, wheels: bool = True) -> np.ndarray:
        """(..., 3) angular momentum about the origin, with that of the wheels or without."""
        own = np.einsum("...nij,...nj->...i", self.I, self.w)
        orbital = np.einsum("n,...ni->...i", self.m, np.cross(self.r, self.v))
        return np.asarray(own + orbital + (self.h.sum(axis=-2) if wheels else 0.0))

    @property
    def centre(self) -> np.ndarray:
        """(..., 3) centre of mass of the system."""
        return np.asarray(np.einsum("n,...ni->...i", self.m, self.r) / self.m.sum())

    @property
    def centre_velocity(self) -> np.ndarray:
        """(..., 3) its velocity."""
        return self.momentum / self.m.sum()


# --- inside a run ---------------------------------------------------------------------------------------
ENERGY = ("KE", "gravity", "springs", "work_in", "dissipated", "constraint_work")
MOMENTUM = ("px", "py", "pz", "Lx", "Ly", "Lz")
ACCOUNTS = ENERGY[3:]
"""States of an audited plant, named ``audit.<account>``: work of forces that is neither stored nor lost,
dissipated energy, and work of constraints (motions)."""

BODY = 18  # numbers per body in audit_bodies: r, v, w and the axes A row by row


@dataclass(frozen=True, eq=False)
class _Store:
    """Energy a force element stores, its rate, and the power it dissipates, all (1, 1)."""

    U: ca.SX
    rate: ca.SX
    loss: ca.SX


def _spring(force: Force_SpringDamper, values: Setting) -> _Store:
    I, J = force.i_marker_id, force.j_marker_id
    k, c = values.number(force, "stiffness"), values.number(force, "damping")
    free, preload = values.number(force, "length"), values.number(force, "preload")
    if force.type == "TRANSLATIONAL":
        d = values.marker(I).r - values.marker(J).r
        x, nowhere = ca.norm_2(d), ca.sumsqr(d) == 0
        rate = ca.dot(values.marker(I).v - values.marker(J).v, d) / ca.if_else(nowhere, 1, x)
    else:
        F = values.wrenches(force)[0].T  # T z_J = -k (angle - free) - c rate + preload
        z = values.marker(J).A[:, 2]
        rate = ca.dot(values.marker(I).w - values.marker(J).w, z)
        if not isinstance(k, ca.SX):
            return _Store(ca.SX(0), -preload * rate, c * rate**2)
        x = free + (preload - c * rate - ca.dot(F, z)) / k
    stretch = x - free
    return _Store(ca.SX(k * stretch**2 / 2 - preload * stretch), (k * stretch - preload) * rate, c * rate**2)


def _bushing(force: Force_Bushing, values: Setting) -> _Store:
    """The translation; what turns is counted as work of a force, because its angles are no potential's."""
    marker_i, marker_j = values.marker(force.i_marker_id), values.marker(force.j_marker_id)
    A, offset = marker_j.A, marker_i.r - marker_j.r
    d = A.T @ offset
    rate = A.T @ (marker_i.v - marker_j.v - cross(marker_j.w, offset))
    w = A.T @ (marker_i.w - marker_j.w)
    U, change, loss = ca.SX(0), ca.SX(0), ca.SX(0)
    for n, axis in enumerate("xyz"):
        k, c = values.number(force, f"k{axis}"), values.number(force, f"c{axis}")
        preload, ct = values.number(force, f"preload_{axis}"), values.number(force, f"ct{axis}")
        U = U + k * d[n] ** 2 / 2 - preload * d[n]
        change = change + (k * d[n] - preload) * rate[n]
        loss = loss + c * rate[n] ** 2 + ct * w[n] ** 2
    return _Store(U, change, loss)


def _wheel(wheel: Inertia_Wheel, values: Setting) -> _Store:
    """The energy counts as kinetic; the rate at which it grows is no work put in."""
    spin = values.spun(wheel)
    return _Store(ca.SX(0), spin.torque * spin.rate, ca.SX(0))


# What force elements store and dissipate; all that others do is work put in. Add a store: add an entry.
STORES: Mapping[type[Element], Callable[[Any, Setting], _Store]] = {
    Force_SpringDamper: _spring,
    Force_Bushing: _bushing,
    Inertia_Wheel: _wheel,
}


def _penalty_store(penalty: Penalty, values: Setting) -> _Store:
    """A penalty: 1/2 p g^2, or p times the integral of w(s) s, and w penalty1 g'^2."""
    element = penalty.element
    p, c = values.number(element, "penalty"), values.number(element, "penalty1")
    g, rate = penalty.g, values.motion.rate(penalty.g)
    if not (isinstance(element, Force_Penalty) and element.unilateral):
        return _Store(ca.SX(p * g * g / 2), p * g * rate, ca.SX(c * rate * rate))
    if element.smoothing_factor is None:
        w, whole = ca.SX(g > 0), ca.if_else(g > 0, g * g / 2, 0)
    else:
        L = values.number(element, "smoothing_factor")
        s = ca.fmin(ca.fmax(g / L, 0), 1)
        w = s * s * (3 - 2 * s)
        whole = L * L * s**4 * (0.75 - 0.4 * s) + ca.if_else(g > L, (g * g - L * L) / 2, 0)
    return _Store(ca.SX(p * whole), w * p * g * rate, ca.SX(w * c * rate * rate))


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
    if momenta := wheels.momenta(values):
        b.output("audit_wheels", ca.densify(ca.vertcat(*momenta)), auxiliary=True)


class _Book:
    """Energies, momenta and powers of a plant as symbols."""

    def __init__(self, values: Setting, solution: Solution, closure: Closure | None, wheels: Wheels) -> None:
        self.values, self.solution, self.closure, self.wheels = values, solution, closure, wheels
        self._tree = values.kinematics.tree
        self._steady = not any(isinstance(getattr(values.model.gravity, f"grav_{x}"), str) for x in "xyz")
        self._stores: dict[tuple[str, int], _Store] = {}
        for kind, make in STORES.items():
            for element in values.model.all(kind):
                self._stores[element.tag, element.id] = make(element, values)

    def kinetic(self) -> ca.SX:
        """Of all links, as the equations of motion have them, and of the wheels."""
        total = ca.SX(sum((self.wheels.kinetic(self.values, w) for w in self.wheels), ca.SX(0)))
        for v, I in zip(self._tree.v, self._tree.inertia, strict=True):
            total = total + ca.dot(v, I @ v) / 2
        return ca.SX(total)

    def _mass_moment(self, i: int) -> tuple[ca.SX, ca.SX]:
        """Mass of a link, and mass times the place of its centre of mass in the ground frame."""
        I, (A, r) = self._tree.inertia[i], self._tree.pose(i)
        mc = ca.vertcat(I[2, 4], I[0, 5], I[1, 3])  # the block m skew(c)
        return ca.SX(I[3, 3]), ca.SX(I[3, 3] * r + A @ mc)

    def gravity(self) -> ca.SX:
        """-sum m g.r; 0 where gravity depends on time: its work is then put in."""
        if not self._steady:
            return ca.SX(0)
        total = ca.SX(0)
        for i in range(len(self._tree.mechanism.links)):
            total = total - ca.dot(self.solution.loads.gravity, self._mass_moment(i)[1])
        return ca.SX(total)

    def springs(self) -> ca.SX:
        """Stored in springs, bushings and penalties."""
        stores = [*self._stores.values(), *[_penalty_store(p, self.values) for p in self._penalties]]
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
                if isinstance(element, Force_SpringDamper) and store is not None:
                    loss = loss + store.loss  # all of its power is stored or lost
                    continue
                power = sum((self._power(wrench) for wrench in self.values.wrenches(element)), ca.SX(0))
                if store is not None:
                    power, loss = power + store.rate + store.loss, loss + store.loss
                work = work + power
        for penalty in self._penalties:
            loss = loss + _penalty_store(penalty, self.values).loss
            work = work - penalty.F * ca.jacobian(
                penalty.g, self.values.time
            )  # a moving constraint does work
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
            body = link.body
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


# --- accounts of a run ----------------------------------------------------------------------------------
def tensor(body: Any, factor: float = 1.0) -> np.ndarray:
    """(3, 3) inertia tensor of a body along the axes of its inertia marker; zero for a point."""
    if not isinstance(body, Body_Rigid):
        return np.zeros((3, 3))
    xx, yy, zz, xy, yz, xz = (
        factor * (getattr(body, f"inertia_{name}") or 0.0) for name in ("xx", "yy", "zz", "xy", "yz", "xz")
    )
    s = PRODUCT_OF_INERTIA_SIGN
    return np.array([[xx, s * xy, s * xz], [s * xy, yy, s * yz], [s * xz, s * yz, zz]])


def states_of(result: Any, plant: Any, path: str = "plant") -> BodyStates:
    """What a run of an audited plant gave for its bodies, at every logged time.

    result : cosim.Result; plant : the Plant as the model has it; path : of the plant in the diagram

    Tensors of bodies whose ``im_id`` is not at the centre of mass are shifted there (parallel axes).
    """
    links, factor = plant.mechanism.links, plant.model.units.factor
    table = np.asarray(result[f"{path}.audit_bodies"]).reshape(-1, len(links), BODY)
    A = table[..., 9:].reshape(*table.shape[:2], 3, 3)
    local = []
    for link in links:
        body = link.body
        I = tensor(body, factor)
        im = getattr(body, "im_id", None)
        if im is not None:
            (r0, _), (r1, A1) = plant.model.frames[body.cg_id], plant.model.frames[im]
            c = A1.T @ (r0 - r1)
            I = I - factor * (body.mass or 0.0) * (c @ c * np.eye(3) - np.outer(c, c))
        local.append(I)
    I = np.einsum("tnij,njk,tnlk->tnil", A, np.array(local), A)
    m = factor * np.array([link.body.mass or 0.0 for link in links])
    wheels = plant.model.all(Inertia_Wheel)
    h: Any = np.asarray(result[f"{path}.audit_wheels"]).reshape(len(table), -1, 3) if wheels else ()
    Iw = factor * np.array([wheel.inertia for wheel in wheels])
    r, v, w = table[..., :3], table[..., 3:6], table[..., 6:9]
    return BodyStates.from_inertial(m, I, w, r, v, h, Iw)


@dataclass(frozen=True, eq=False)
class EnergyLedger:
    """The account of a run: (n,) arrays in energy units of the model, one per entry of `ENERGY`."""

    time: np.ndarray
    KE: np.ndarray
    gravity: np.ndarray
    springs: np.ndarray
    work_in: np.ndarray
    dissipated: np.ndarray
    constraint_work: np.ndarray

    @property
    def stored(self) -> np.ndarray:
        """Kinetic and potential energy."""
        return self.KE + self.gravity + self.springs

    @property
    def drift(self) -> np.ndarray:
        """What the account is out by since the start: zero but for errors of the solver."""
        balance = self.stored + self.dissipated - self.work_in - self.constraint_work
        return np.asarray(balance - balance[0])

    def plot(self, path: str | None = None) -> Figure:
        """Stored and exchanged energy above, drift below; saved to `path` if given."""
        from matplotlib.figure import Figure  # slow to import, and only plots need it

        figure = Figure(figsize=(8, 6), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        for name in (*ENERGY, "stored"):
            series = getattr(self, name)
            if np.any(series):
                above.plot(self.time, series, label=name, linewidth=2 if name == "stored" else 1)
        above.set_ylabel("energy")
        above.legend(loc="best", fontsize="small")
        below.plot(self.time, self.drift, color="black")
        below.set_ylabel("drift")
        below.set_xlabel("time [s]")
        if path is not None:
            figure.savefig(path)
        return figure


def ledger(result: Any, path: str = "plant") -> EnergyLedger:
    """The account of a run of an audited plant.

    result : cosim.Result with the plant at `path`

    Raises
    ------
    ModelError    the plant was not audited
    """
    try:
        table = np.asarray(result[f"{path}.audit_energy"])
    except LookupError:
        raise ModelError(
            f"the result has no '{path}.audit_energy'.",
            path=path,
            hint="Add plant.audited() to the diagram instead of plant.",
        ) from None
    return EnergyLedger(np.asarray(result.time), *table.reshape(-1, len(ENERGY)).T)
