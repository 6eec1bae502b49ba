"""Energy and momentum: from simulation output alone, and the account an audited run keeps.

*From output.* `BodyStates` holds masses, tensors, positions and velocities of N bodies and the momenta of N_w
wheels, all in inertial coordinates; its constructors take the four kinds of output a simulation may give::

    KE = 1/2 (sum w_i^T I_i w_i + m_i v_i^T v_i + sum h_k^T h_k / Iw_k)                            (1)
    PE = 1/2 sum k_i theta_i^2 - sum m_i g^T r_i                                                   (2)

*Inside.* ``plant.audited()`` adds outputs ``audit_energy``, ``audit_momentum`` and ``audit_bodies`` and
integrates the work of forces with the states (see `plant.equations.ledger`); ``ledger(result)`` makes the
account of a run::

    KE + gravity + springs + dissipated - work_in - constraint_work = constant

and `EnergyLedger.plot` draws it.

Source: Concurrent Dynamics International, MBS Energy Testing, 2017, equations (1) and (2), procedures 1-4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.errors import ModelError
from plant.elements import Body_Rigid, Inertia_Wheel
from plant.elements.bodies import PRODUCT_OF_INERTIA_SIGN
from plant.equations.ledger import BODY, ENERGY

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        body = link.body.source
        I = tensor(body, factor)
        im = getattr(body, "im_id", None)
        if im is not None:
            (r0, _), (r1, A1) = plant.model.frames[body.cg_id], plant.model.frames[im]
            c = A1.T @ (r0 - r1)
            I = I - factor * (body.mass or 0.0) * (c @ c * np.eye(3) - np.outer(c, c))
        local.append(I)
    I = np.einsum("tnij,njk,tnlk->tnil", A, np.array(local), A)
    m = factor * np.array([link.body.source.mass or 0.0 for link in links])
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
