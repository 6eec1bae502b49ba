"""Mechanisms that move although a count of their conditions says they cannot, and their motion found anew.

`Curve` integrates a mechanism of one degree of freedom along its own path: nothing but positions as functions
of a few angles, and the closure of these angles. It shares no equation with the plant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from cosim.engines.reference.bound import Bound
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Model,
    Reference_Variable,
)
from tests.helpers.trees import marker

G = 9.81  # m/s^2, along -y
SLENDER = 1e-3  # inertia about its axis over that across it


def along(direction: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Frame with x along `direction` and z along `other`, made orthogonal."""
    x = direction / np.linalg.norm(direction)
    z = other - (other @ x) * x
    z = z / np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)


def about(axis: np.ndarray, x_near: np.ndarray) -> np.ndarray:
    """Frame with z along `axis`."""
    z = axis / np.linalg.norm(axis)
    x = x_near - (x_near @ z) * z
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def rod_inertia(m: float, length: float) -> np.ndarray:
    """Principal moments (3,) [kg m^2] about the centre, x along the rod."""
    J = m * length**2 / 12
    return np.array([SLENDER * J, J, J])


def rod(id: int, ends: tuple[np.ndarray, np.ndarray], side: np.ndarray) -> list[Element]:
    """A slender rod of 1 kg; its centre is marker 10 id."""
    inertia = rod_inertia(1.0, float(np.linalg.norm(ends[1] - ends[0])))
    numbers = dict(zip(("inertia_xx", "inertia_yy", "inertia_zz"), map(float, inertia), strict=True))
    return [
        Body_Rigid(id=id, label=f"rod {id - 1}", cg_id=10 * id, mass=1.0, **numbers),
        marker(10 * id, id, (ends[0] + ends[1]) / 2, along(ends[1] - ends[0], side)),
    ]


def energy(rods: Sequence[int], lengths: Sequence[float]) -> str:
    """Expression of the kinetic and potential energy [J] of such rods."""
    terms = []
    for id, length in zip(rods, lengths, strict=True):
        c, (axial, J, _) = 10 * id, rod_inertia(1.0, length).tolist()
        spin = f"{axial!r}*WX({c},10,{c})**2 + {J!r}*WY({c},10,{c})**2 + {J!r}*WZ({c},10,{c})**2"
        terms.append(f"0.5*(VM({c})**2 + {spin}) + {G!r}*DY({c})")
    return " + ".join(terms)


def outputs(points: Sequence[int], angles: Sequence[tuple[int, int]], total: str) -> list[Element]:
    """Ports `points` (x, y, z of markers), `angles` (of I from J about z) and `energy`."""
    texts = {
        "points": [f"D{axis}({id})" for id in points for axis in "XYZ"],
        "angles": [f"AZ({i},{j})" for i, j in angles],
        "energy": [total],
    }
    found: list[Element] = []
    for k, (label, list_) in enumerate(texts.items(), start=1):
        variables = [Reference_Variable(id=100 * k + n, expr=text) for n, text in enumerate(list_)]
        ids = tuple(v.id for v in variables)
        found += [*variables, Control_PlantOutput(id=k, label=label, variable_id_list=ids)]
    return found


def ring(corners: np.ndarray, axes: np.ndarray) -> Model:
    """Rods from corner to corner with a revolute joint at each; the rod from the last to the first is ground.

    corners, axes : (k, 3)   places [m] and joint axes; joint n turns rod n from what comes before it
    """
    k = len(corners)
    elements: list[Element] = [
        Body_Rigid(id=1, label="ground", isground=True),
        marker(10, 1, np.zeros(3), np.eye(3)),
        Force_Gravity(grav_y=-G),
    ]
    for n in range(k - 1):
        elements += rod(n + 2, (corners[n], corners[n + 1]), axes[n])
    for n in range(k):
        before, after = (n + 1, n + 2 if n < k - 1 else 1)
        frame = about(axes[n], corners[n] - corners[n - 1])
        i, j = 10 * after + 1, 10 * before + 2
        elements += [marker(i, after, corners[n], frame), marker(j, before, corners[n], frame)]
        elements.append(
            Constraint_Joint(id=n + 1, label=f"pin {n + 1}", type="REVOLUTE", i_marker_id=i, j_marker_id=j)
        )
    rods = list(range(2, k + 1))
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1).tolist()
    angles = [(10 * (n + 2 if n < k - 1 else 1) + 1, 10 * (n + 1) + 2) for n in range(k)]
    shown = outputs([10 * id + 2 for id in rods[:-1]], angles, energy(rods, lengths))
    return Model.build([*elements, *shown], name="ring")


CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 1, 0]], dtype=float)
CUBE_AXES = np.cross(CUBE - np.roll(CUBE, 1, axis=0), np.roll(CUBE, -1, axis=0) - CUBE)
TILT = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]).T  # of the four-bar's plane
FLAT = np.array([[0, 0, 0], [0.1, 0.5, 0], [1.4, 0.9, 0], [1.2, 0, 0]])  # its corners in the plane [m]
CRANK = np.array([np.sin(np.radians(50)), -np.cos(np.radians(50)), 0.0])  # of the parallelogram [m]


def bricard() -> Model:
    """Six revolute joints at the corners of a cube: 30 conditions on 30 coordinates, and one freedom left."""
    return ring(CUBE, CUBE_AXES)


def four_bar() -> Model:
    """Four revolute joints with parallel axes that lean in space: 20 conditions on 18 coordinates."""
    return ring(FLAT @ TILT.T, np.tile(TILT[:, 2], (4, 1)))


def parallelogram() -> Model:
    """Three equal cranks of 1 m that carry a coupler of 2 m: one crank more than it takes.

    They hang 50 degrees from the vertical, so that it swings without ever being flat.
    """
    crank = CRANK
    feet = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]])
    z = np.array([0.0, 0, 1.0])
    elements: list[Element] = [
        Body_Rigid(id=1, label="ground", isground=True),
        marker(10, 1, np.zeros(3), np.eye(3)),
        Force_Gravity(grav_y=-G),
        *rod(5, (crank, crank + feet[2]), z),
    ]
    upright = about(z, np.array([1.0, 0, 0]))
    for n, foot in enumerate(feet):
        id = n + 2
        elements += [
            *rod(id, (foot, foot + crank), z),
            marker(11 + n, 1, foot, upright),
            marker(10 * id + 1, id, foot, upright),
            marker(10 * id + 2, id, foot + crank, upright),
            marker(51 + n, 5, foot + crank, upright),
        ]
        for k, (i, j) in enumerate([(10 * id + 1, 11 + n), (51 + n, 10 * id + 2)]):
            joint = {"id": 2 * n + k + 1, "label": f"pin {2 * n + k + 1}"}
            elements.append(Constraint_Joint(**joint, type="REVOLUTE", i_marker_id=i, j_marker_id=j))
    shown = outputs([22, 32, 42], [(21, 11), (31, 12), (41, 13)], energy([2, 3, 4, 5], [1, 1, 1, 2]))
    return Model.build([*elements, *shown], name="parallelogram")


# --- the same motions from positions alone ----------------------------------------------------------------
def turn(axis: np.ndarray, angle: ca.SX) -> ca.SX:
    """Rotation (3, 3) about a unit vector, Rodrigues' formula."""
    K = ca.skew(ca.DM(axis / np.linalg.norm(axis)))
    return ca.SX.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


@dataclass(frozen=True)
class Curve:
    """A mechanism of one degree of freedom, q(s) with q'(s) orthogonal to the gradients of its closure.

    q : (n, 1) SX         angles
    closure : (n-1, 1)    zero where the mechanism is closed
    bodies : of (moments (3,), rotation from the start (3, 3), design frame (3, 3), centre (3, 1)), each 1 kg
    points : (3k, 1)      what the port `points` shows
    """

    q: ca.SX
    closure: ca.SX
    bodies: list[tuple[np.ndarray, ca.SX, np.ndarray, ca.SX]]
    points: ca.SX

    def tangent(self) -> ca.SX:
        """dq/ds: the cross product of the gradients."""
        n, J = self.q.numel(), ca.jacobian(self.closure, self.q)
        minors = []
        for k in range(n):
            others = [c for c in range(n) if c != k]
            minors.append((-1) ** k * (ca.det(J[:, others]) if n > 1 else ca.SX(1)))
        return ca.vertcat(*minors)

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, 3k) and angles from rest at q = 0: (M s')' - M_s s'^2/2 = -V_s."""
        tangent = self.tangent()
        along_ = lambda e: ca.jtimes(ca.SX(e), self.q, tangent)
        mass, height = ca.SX(0), ca.SX(0)
        for moments, R, frame, c in self.bodies:
            v, spin = along_(c), along_(R) @ R.T
            w = (R @ frame).T @ ca.inv_skew(spin)
            mass += ca.dot(v, v) + ca.dot(w, ca.DM(moments) * w)
            height += c[1]
        speed = ca.SX.sym("speed")
        change = -(along_(mass) * speed**2 / 2 + G * along_(height)) / mass
        f = ca.Function("f", [self.q, speed], [ca.densify(ca.vertcat(tangent * speed, change))])
        n = self.q.numel()
        arguments = (np.zeros(n), np.zeros(1))
        evaluate = Bound(f, list(arguments))

        def rhs(t: float, x: np.ndarray) -> np.ndarray:
            arguments[0][:], arguments[1][:] = x[:n], x[n]
            return evaluate().copy()

        found = solve_ivp(
            rhs, (0.0, times[-1]), np.zeros(n + 1), "DOP853", t_eval=times, rtol=1e-12, atol=1e-13
        )
        place = ca.Function("p", [self.q], [self.points])
        assert found.success
        return np.array([np.array(place(x[:n])).ravel() for x in found.y.T]), found.y[:n].T


def chain(corners: np.ndarray, axes: np.ndarray, angles: Sequence[ca.SX]) -> tuple[list, ca.SX, list[ca.SX]]:
    """Bodies of an open chain of rods, its last rotation, and its corners."""
    R, at = ca.SX.eye(3), ca.SX(ca.DM(corners[0]))
    bodies, places = [], []
    for n in range(len(corners) - 1):
        R = R @ turn(axes[n], angles[n])
        step = R @ ca.DM(corners[n + 1] - corners[n])
        frame = along(corners[n + 1] - corners[n], axes[n])
        length = float(np.linalg.norm(corners[n + 1] - corners[n]))
        bodies.append((rod_inertia(1.0, length), R, frame, at + step / 2))
        at = at + step
        places.append(at)
    return bodies, R, places


def bricard_curve() -> Curve:
    """Angles a, b from the cube at every other joint: sin a + sin b = sin a sin b.

    That is cos A + cos B + cos A cos B = 0 with A, B = a, b + 90 degrees: the closure of the threefold-
    symmetric linkage with right angles of twist (Chen, You and Tarnai, Int. J. Solids Struct. 42, 2005).
    """
    q = ca.SX.sym("q", 2)
    bodies, _, places = chain(CUBE, CUBE_AXES, [q[k % 2] for k in range(5)])
    A, B = q[0] + np.pi / 2, q[1] + np.pi / 2
    closure = ca.cos(A) + ca.cos(B) + ca.cos(A) * ca.cos(B)
    return Curve(q, closure, bodies, ca.vertcat(*places[:-1]))


def four_bar_curve() -> Curve:
    """Three angles in the plane; the last corner stays where it is."""
    q = ca.SX.sym("q", 3)
    corners, axes = FLAT @ TILT.T, np.tile(TILT[:, 2], (4, 1))
    bodies, _, places = chain(corners, axes, [q[0], q[1], q[2]])
    gap = ca.DM(TILT[:, :2]).T @ (places[-1] - ca.DM(corners[3]))
    return Curve(q, gap, bodies, ca.vertcat(*places[:-1]))


def parallelogram_curve() -> Curve:
    """One angle; the coupler only moves along."""
    q = ca.SX.sym("q", 1)
    z = np.array([0.0, 0, 1.0])
    R = turn(z, q)
    top = R @ ca.DM(CRANK)
    feet = [ca.DM([float(k), 0, 0]) for k in range(3)]
    bodies = [(rod_inertia(1.0, 1.0), R, along(CRANK, z), foot + top / 2) for foot in feet]
    bodies.append((rod_inertia(1.0, 2.0), ca.SX.eye(3), np.eye(3), top + ca.DM([1.0, 0, 0])))
    return Curve(q, ca.SX(0, 1), bodies, ca.vertcat(*[foot + top for foot in feet]))
