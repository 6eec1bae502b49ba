"""Energy and momentum: from simulation output alone, and the account an audited run keeps.

*From output.* `BodyStates` holds masses, tensors, positions and velocities of N bodies and the momenta of N_w
wheels, all in inertial coordinates; its constructors take the four kinds of output a simulation may give, and
`output_of` gives the output of a run in any of them::

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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.arguments import array, flag
from blocks.errors import ModelError, near_miss, shown
from blocks.figure_file import save_figure
from plant.elements import Constraint_Joint
from plant.equations.ledger import BODY, ENERGY, TENSOR
from plant.mechanics.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# --- from simulation output -----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class BodyStates:
    """N bodies and N_w wheels in inertial coordinates; a leading axis of times is allowed everywhere.

    m : (..., N) masses; I : (..., N, 3, 3) tensors about the centres of mass
    w, r, v : (..., N, 3)      angular rates, positions and velocities of the centres of mass
    h : (..., Nw, 3)           wheel momenta along their spin axes: Iw times the absolute rate about them. The
                               body that carries a wheel has its mass and moments too, all but Iw
    Iw : (..., Nw)             spin-axis moments of inertia of the wheels
    """

    m: np.ndarray
    I: np.ndarray
    w: np.ndarray
    r: np.ndarray
    v: np.ndarray
    h: np.ndarray
    Iw: np.ndarray

    def __post_init__(self) -> None:
        """Bring everything into arrays that fit each other; a ModelError says what does not."""
        for name, value in _shaped(self.inertial()).items():
            object.__setattr__(self, name, value)

    @staticmethod
    def from_inertial(m: Any, I: Any, w: Any, r: Any, v: Any, h: Any = (), Iw: Any = ()) -> BodyStates:
        """Procedure 1: everything is inertial already.

        Raises
        ------
        ModelError    an array of another shape than the others ask for; all that do not fit together
        """
        return BodyStates(m, I, w, r, v, h, Iw)

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
        given = {"m": m, "I": I, "w": w, "r": r, "v": v, "h": h, "Iw": Iw, "R": R, "V": V}
        return BodyStates(**_moved(_shaped(given), "R", "V"))

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
        given = {"m": m, "I": I, "w": w, "r": r, "v": v, "h": h, "Iw": Iw, "R": R, "V": V, "C": C}
        found = _shaped(given)
        C = found.pop("C")
        for name in ("w", "r", "v", "h"):
            found[name] = np.einsum("...ij,...nj->...ni", C, found[name])
        found["I"] = np.einsum("...ij,...njk,...lk->...nil", C, found["I"], C)
        return BodyStates(**_moved(found, "R", "V"))

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
        given = {"m": m, "I": I, "w": w, "r": r, "v": v, "h": h, "Iw": Iw, "eta": eta, "eta_rate": eta_rate}
        return BodyStates(**_moved(_shaped(given), "eta", "eta_rate"))

    # --- the same, as output in another notation ----------------------------------------------------------
    def inertial(self) -> dict[str, np.ndarray]:
        """Arguments of `from_inertial`, by name."""
        return {name: getattr(self, name) for name in ("m", "I", "w", "r", "v", "h", "Iw")}

    def system_cm(self) -> dict[str, np.ndarray]:
        """Arguments of `from_system_cm`: places and velocities from the system's centre of mass."""
        R, V = self.centre, self.centre_velocity
        relative = {"r": self.r - R[..., None, :], "v": self.v - V[..., None, :], "R": R, "V": V}
        return self.inertial() | relative

    def first_body(self, C: Any) -> dict[str, np.ndarray]:
        """Arguments of `from_first_body`; C : (..., 3, 3) from body 1 to inertial coordinates."""
        found = self.system_cm()
        C = _shaped({**self.inertial(), "C": C})["C"]
        for name in ("w", "r", "v", "h"):
            found[name] = np.einsum("...ji,...nj->...ni", C, found[name])
        found["I"] = np.einsum("...ji,...njk,...kl->...nil", C, found["I"], C)
        return {**found, "C": C}

    def first_joint(self, eta: Any, eta_rate: Any) -> dict[str, np.ndarray]:
        """Arguments of `from_first_joint`; eta, eta_rate : (..., 3) place and velocity of joint 1."""
        given = _shaped({**self.inertial(), "eta": eta, "eta_rate": eta_rate})
        eta, rate = given["eta"], given["eta_rate"]
        relative = {"r": self.r - eta[..., None, :], "v": self.v - rate[..., None, :]}
        return {**given, **relative}

    @property
    def KE(self) -> Any:
        """Kinetic energy, equation (1)."""
        turning = np.einsum("...ni,...nij,...nj->...", self.w, self.I, self.w)
        moving = np.einsum("...n,...ni,...ni->...", self.m, self.v, self.v)
        spinning = np.sum(np.einsum("...ki,...ki->...k", self.h, self.h) / self.Iw, axis=-1)
        return (turning + moving + spinning) / 2

    def PE(self, g: Any = (0.0, 0.0, 0.0), k: Any = (), theta: Any = ()) -> Any:
        """Potential energy, equation (2); k are stiffnesses of springs at joint angles theta."""
        g, k = array(g, "g", (3,), "m/s2", ModelError), array(k, "k", (None,), "N m/rad", ModelError)
        if g.ndim > 1 or k.ndim > 1:
            raise ModelError(f"g has shape {g.shape} and k {k.shape}, expected (3,) and one per spring.")
        theta = array(theta, "theta", k.shape, "rad", ModelError)
        springs = np.sum(k * theta**2, axis=-1) / 2
        return springs - np.einsum("...n,...ni,i->...", self.m, self.r, g)

    @property
    def momentum(self) -> np.ndarray:
        """(..., 3) linear momentum."""
        return np.einsum("...n,...ni->...i", self.m, self.v)

    def angular_momentum(self, wheels: bool = True) -> np.ndarray:
        """(..., 3) angular momentum about the origin, with that of the wheels or without."""
        flag(wheels, "wheels", ModelError)
        own = np.einsum("...nij,...nj->...i", self.I, self.w)
        orbital = np.einsum("...n,...ni->...i", self.m, np.cross(self.r, self.v))
        return np.asarray(own + orbital + (self.h.sum(axis=-2) if wheels else 0.0))

    @property
    def centre(self) -> np.ndarray:
        """(..., 3) centre of mass of the system."""
        return np.asarray(np.einsum("...n,...ni->...i", self.m, self.r) / self.m.sum(-1)[..., None])

    @property
    def centre_velocity(self) -> np.ndarray:
        """(..., 3) its velocity."""
        return np.asarray(self.momentum / self.m.sum(-1)[..., None])


ROUNDING = 1e-6  # of the largest entry of the tensors
ROTATION = 1e-4  # how far a rotation that was printed may be from orthonormal
NUMBERS = {"m": "(..., N)", "I": "(..., N, 3, 3)", "h": "(..., Nw, 3)", "Iw": "(..., Nw)", "C": "(..., 3, 3)"}
NUMBERS |= dict.fromkeys(("w", "r", "v"), "(..., N, 3)")
NUMBERS |= dict.fromkeys(("R", "V", "eta", "eta_rate"), "(..., 3)")
"""Shapes of the arguments of the four procedures: N bodies, Nw wheels, any leading axes of times."""


def _shaped(given: dict[str, Any]) -> dict[str, np.ndarray]:
    """Arguments of a procedure as arrays that fit each other; all that do not are reported together."""
    found, problems = {}, []
    for name, value in given.items():
        if name == "h" and isinstance(value, (list, tuple, np.ndarray)) and len(value) == 0:
            value = np.zeros((0, 3))
        try:
            found[name] = array(value, name, (), error=ModelError)
        except ModelError:
            problems.append(f"{name} is {shown(value)}, expected finite numbers of shape {NUMBERS[name]}")
    if not problems:
        problems = _misfits(found)
    if problems:
        raise ModelError(
            f"body states: {'; '.join(problems)}.",
            hint="One body is N = 1: m=[2.0], w of shape (1, 3). Wheels need h and Iw together.",
        )
    return found


def _misfits(found: dict[str, np.ndarray]) -> list[str]:
    """What is wrong with the shapes, in words."""
    counts = {"N": found["m"].shape, "Nw": found["Iw"].shape}
    sizes = {name: shape[-1] if shape else 1 for name, shape in counts.items()} | {"3": 3}
    problems, leading = [], {}
    for name, own_array in found.items():
        free, *axes = (part.strip() for part in NUMBERS[name].strip("()").split(",") if part.strip())
        expected = tuple(sizes[axis] for axis in ([free, *axes] if free != "..." else axes))
        own = own_array.shape[max(0, own_array.ndim - len(expected)) :]
        if own != expected or (free != "..." and own_array.ndim != len(expected)):
            shape = NUMBERS[name].replace("Nw", str(sizes["Nw"])).replace("N", str(sizes["N"]))
            problems.append(f"{name} has shape {own_array.shape}, expected {shape}")
        elif free == "...":
            leading[name] = own_array.shape[: own_array.ndim - len(expected)]
    if not problems:
        try:
            np.broadcast_shapes(*leading.values())
        except ValueError:
            times = ", ".join(f"{name} {shape}" for name, shape in leading.items() if shape)
            problems.append(f"the leading axes of times do not fit each other: {times}")
    return problems or list(_impossible(found))


def _impossible(found: dict[str, np.ndarray]) -> Iterator[str]:
    """Numbers that no bodies and no axes have, in words."""
    m, I, C = found["m"], found["I"], found.get("C", np.eye(3))
    if np.any(found["Iw"] <= 0):
        yield f"Iw is {found['Iw'].tolist()}, expected moments of inertia above 0"
    if np.any(m < 0):
        yield f"m is {m.tolist()}, expected masses of 0 or more"
    size = np.abs(I).max(initial=0.0)
    if np.abs(I - np.swapaxes(I, -1, -2)).max(initial=0.0) > ROUNDING * size:
        yield "tensors in I are not symmetric"
    elif np.linalg.eigvalsh(I).min(initial=0.0) < -ROUNDING * size:
        yield "tensors in I have negative principal moments"
    if np.abs(np.swapaxes(C, -1, -2) @ C - np.eye(3)).max(initial=0.0) > ROTATION:
        yield "C is not made of perpendicular unit axes"
    elif np.any(np.linalg.det(C) < 0):
        yield "the axes of C are left-handed"


def _moved(found: dict[str, np.ndarray], place: str, velocity: str) -> dict[str, np.ndarray]:
    """Places and velocities relative to a moving point as inertial ones."""
    r0, v0 = found.pop(place), found.pop(velocity)
    return found | {"r": found["r"] + r0[..., None, :], "v": found["v"] + v0[..., None, :]}


# --- accounts of a run ----------------------------------------------------------------------------------
def states_of(result: Any, plant: Any, path: str = "plant") -> BodyStates:
    """What a run of an audited plant gave for its bodies, at every logged time.

    result : cosim.Result; plant : the Plant as the model has it; path : of the plant in the diagram

    Masses and tensors, about the centres of mass, are those of the run, whose parameters may change them.
    """
    if not isinstance(getattr(plant, "mechanism", None), Mechanism):
        raise ModelError(f"states_of got {shown(plant)} as plant, expected a Plant.", value=plant)
    links = plant.mechanism.links
    table = _audited(result, path, "audit_bodies").reshape(-1, len(links), BODY)
    A = table[..., 9:].reshape(*table.shape[:2], 3, 3)
    inertias = _audited(result, path, "audit_inertias")
    own, Iw = np.split(inertias, [(1 + len(TENSOR)) * len(links)], axis=1)
    own, local = own.reshape(*table.shape[:2], -1), np.zeros(A.shape)
    for k, (i, j) in enumerate(TENSOR, start=1):
        local[..., i, j] = local[..., j, i] = own[..., k]
    I = A @ local @ np.swapaxes(A, -1, -2)
    h: Any = _audited(result, path, "audit_wheels").reshape(len(table), -1, 3) if Iw.size else ()
    r, v, w = table[..., :3], table[..., 3:6], table[..., 6:9]
    return BodyStates.from_inertial(_lasting(own[..., 0]), I, w, r, v, h, _lasting(Iw))


def _lasting(numbers: np.ndarray) -> np.ndarray:
    """One row of numbers over time where all are alike, or else all of them."""
    return numbers[0] if len(numbers) and (numbers == numbers[0]).all() else numbers


NOTATIONS = ("inertial", "system_cm", "first_body", "first_joint")


def output_of(
    result: Any, plant: Any, notation: str, path: str = "plant", joint: int | None = None
) -> dict[str, np.ndarray]:
    """What a run of an audited plant gave for its bodies, in one of the four notations of the document.

    Parameters
    ----------
    result, plant, path : as in `states_of`
    notation : str        "inertial", "system_cm", "first_body" or "first_joint": arguments, by name, of
                          the constructor ``from_<notation>`` of `BodyStates`
    joint : int           id of the Constraint_Joint on body 1 that "first_joint" is about; None: the first
                          in the model that has a marker on body 1, else its centre of mass

    Body 1 is the first body of the model; its axes are those of its inertia marker.

    Raises
    ------
    ModelError    no such notation, or the joint has no marker on body 1
    """
    if notation not in NOTATIONS:
        raise ModelError(f"notation {notation!r} is not known; {near_miss(notation, NOTATIONS)}")
    states = states_of(result, plant, path)
    if notation in ("inertial", "system_cm"):
        return states.inertial() if notation == "inertial" else states.system_cm()
    table = np.asarray(result[f"{path}.audit_bodies"])[:, :BODY]
    r, v, w, A = table[:, :3], table[:, 3:6], table[:, 6:9], table[:, 9:].reshape(-1, 3, 3)
    if notation == "first_body":
        return states.first_body(A)
    arm = A @ _joint_on_first(plant, joint)
    return states.first_joint(r + arm, v + np.cross(w, arm))


def _joint_on_first(plant: Any, joint: int | None) -> np.ndarray:
    """(3,) from the centre of mass of body 1 to a joint on it, along the body's axes."""
    body, frames = plant.mechanism.links[0].body, plant.model.frames
    markers = [m for j in plant.model.all(Constraint_Joint) if joint in (None, j.id) for m in _ends(j)]
    own = [m for m in markers if plant.mechanism.description.point(m)[0] == body.key]
    if not own and joint is not None:
        raise ModelError(
            f"Constraint_Joint {joint} has no marker on {body.where}, the first body.",
            path=body.where,
            hint="Leave joint= out for the first joint that has.",
        )
    cg = body.source.cg_id
    (r0, _), (_, A) = frames[cg], frames[getattr(body.source, "im_id", None) or cg]
    return np.asarray(A.T @ (frames[own[0]][0] - r0)) if own else np.zeros(3)


def _ends(joint: Constraint_Joint) -> tuple[int, int]:
    return joint.i_marker_id, joint.j_marker_id


def _audited(result: Any, path: str, name: str) -> np.ndarray:
    """A signal of an audited plant."""
    if not isinstance(path, str):
        raise ModelError(f"path is {shown(path)}, expected the plant's name in the diagram.", value=path)
    if not hasattr(result, "time") or not hasattr(result, "keys"):
        raise ModelError(
            f"got {shown(result)}, expected the Result of a run.", value=result, hint="Write simulate(...)."
        )
    try:
        return np.asarray(result[f"{path}.{name}"])
    except LookupError:
        raise ModelError(
            f"the result has no '{path}.{name}'.",
            path=path,
            hint="Add plant.audited() to the diagram instead of plant.",
        ) from None


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
            save_figure(figure, path)
        return figure


def ledger(result: Any, path: str = "plant") -> EnergyLedger:
    """The account of a run of an audited plant.

    result : cosim.Result with the plant at `path`

    Raises
    ------
    ModelError    the plant was not audited
    """
    table = _audited(result, path, "audit_energy")
    return EnergyLedger(np.asarray(result.time), *table.reshape(-1, len(ENERGY)).T)
