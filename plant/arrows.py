"""What moves and acts in a plant, as arrows from points of its links: velocities, forces, reactions.

Plain data for whoever draws it. Forces and reactions are outputs of an observed plant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from plant.elements import Constraint_Joint, Element, Motion_Joint, Param_Unit
from plant.equations.observed import observed
from plant.mechanics.mechanism import GROUND, Mechanism


@dataclass(frozen=True, eq=False)
class Arrow:
    """A vector along global axes that begins at `point` (3,) of link `link`.

    kind : "velocity", "force" or "reaction"; turning : is it a torque?
    output : of the observed plant; first : of the three components in it
    """

    name: str
    kind: str
    turning: bool
    link: int
    point: np.ndarray
    output: str
    first: int


def arrows_of(plant: Any) -> tuple[Arrow, ...]:
    """Velocities of centres of mass; what forces and joints apply to the body of their first marker."""
    return tuple(_arrows(plant))


def _arrows(plant: Any) -> Iterator[Arrow]:
    shown, mechanism = observed(plant.model, plant.mechanism), plant.mechanism
    for name, (_, centre) in shown.bodies.items():
        place = mechanism.place(centre)
        yield Arrow(shown.plain[name], "velocity", False, place.link, place.s, name, 3)
    for kind, elements in (("reaction", shown.joints), ("force", shown.forces)):
        for name, element in elements.items():
            marker = _marker(plant, element)
            if not marker:
                continue
            place = mechanism.place(marker)
            for turning in (False, True):
                yield Arrow(shown.plain[name], kind, turning, place.link, place.s, name, 3 * turning)


def _marker(plant: Any, element: Element) -> int | None:
    """The marker where the force and torque of an element act."""
    if isinstance(element, Motion_Joint):
        element = plant.model.find(Constraint_Joint, element.joint_id)
    for name in ("i_marker_id", "marker_id"):
        if isinstance(found := getattr(element, name, None), int):
            return found
    return None


def units_of(plant: Any) -> dict[str, str]:
    """Units of lengths, velocities, accelerations, forces, torques, energies, masses of a model, as texts."""
    unit = next(iter(plant.model.all(Param_Unit)), None)
    names = ("length_unit", "time_unit", "force_unit", "mass_unit")
    given = ["METER", "SECOND", "NEWTON", "KILOGRAM"]
    if unit is not None:
        given = [getattr(unit, n, None) or d for n, d in zip(names, given, strict=True)]
    length, time, force, mass = (SHORT.get(word, word.lower()) for word in given)
    energy = "J" if (force, length) == ("N", "m") else f"{force} {length}"
    return {
        "length": length,
        "velocity": f"{length}/{time}",
        "force": force,
        "torque": f"{force} {length}",
        "energy": energy,
        "mass": mass,
        "acceleration": f"{length}/{time}²",
    }


SHORT = {
    "METER": "m", "MILLIMETER": "mm", "CENTIMETER": "cm", "KILOMETER": "km", "INCH": "in", "FOOT": "ft",
    "SECOND": "s", "MILLISECOND": "ms", "MINUTE": "min", "HOUR": "h", "NEWTON": "N", "KNEWTON": "kN",
    "POUND_FORCE": "lbf", "KILOGRAM": "kg", "GRAM": "g", "TONNE": "t", "POUND_MASS": "lb",
}  # fmt: skip


def velocities_of(mechanism: Mechanism) -> ca.Function:
    """Function of all coordinates (nq,) and rates (nv,): w and v (6,) of every link's origin, global axes."""
    q = ca.SX.sym("q", sum(link.joint.nq for link in mechanism.links))
    qd = ca.SX.sym("qd", sum(link.joint.nv for link in mechanism.links))
    turns: list[Any] = []
    rates: list[Any] = []
    found = []
    iq = iv = 0
    for link in mechanism.links:
        nq, nv = link.joint.nq, link.joint.nv
        XJ, S = link.joint.jcalc(q[iq : iq + nq])
        X = XJ @ link.Xtree
        own = ca.SX(S) @ qd[iv : iv + nv] if nv else ca.SX(6, 1)
        iq, iv = iq + nq, iv + nv
        top = link.parent == GROUND
        A = ca.SX(X.E).T if top else turns[link.parent] @ ca.SX(X.E).T
        v = own if top else own + ca.SX(X.motion(rates[link.parent]))
        turns.append(A)
        rates.append(v)
        found.append(ca.vertcat(A @ v[:3], A @ v[3:]))
    return ca.Function("velocities", [q, qd], [ca.densify(ca.vertcat(ca.SX(0, 1), *found))])


def point_velocity(spins: np.ndarray, axes: np.ndarray, point: np.ndarray) -> np.ndarray:
    """(n, 3) velocity of a point of a link along global axes.

    spins : (n, 6) w and v of the link's origin; axes : (n, 3, 3) columns of the link; point : (3,) along them
    """
    arm = axes @ point
    return np.asarray(spins[:, 3:] + np.cross(spins[:, :3], arm))
