"""A deck of three bodies in skew places: every displacement, velocity, acceleration and force function.

Expected values are vector formulas in the ground frame, Newton's and Euler's equations for the accelerations.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from plant import Plant
from plant.elements.markers import euler_313
from tests.helpers.plants import Alone

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
cross, norm = np.cross, np.linalg.norm

CG = {2: 20, 3: 30, 4: 40}
MASS = {2: 3.0, 3: 2.0, 4: 1.5}
G = np.array([0.3, -0.2, -9.8])
# marker: body, rm_id
MARKERS = {10: (1, 0), 11: (1, 0), 20: (2, 0), 21: (2, 20), 22: (2, 21), 30: (3, 0), 31: (3, 30), 40: (4, 0)}


class Scene:
    """Poses, velocities, forces and accelerations, worked out by hand."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.written = {id: (rng.normal(size=3), rng.uniform(-1.5, 1.5, 3)) for id in MARKERS}
        self.pose = {0: (np.zeros(3), np.eye(3))}
        for id, (_, rm) in MARKERS.items():
            (r0, A0), (r, angles) = self.pose[rm], self.written[id]
            self.pose[id] = r0 + A0 @ r, A0 @ euler_313(*angles)
        self.v_ic = {body: rng.normal(size=3) for body in CG}  # of body 2 along marker 10
        self.w_ic = {2: rng.normal(size=3), 3: rng.normal(size=3)}  # of body 3 along marker 11
        self.v = {1: np.zeros(3), 2: self.A(10) @ self.v_ic[2], 3: self.v_ic[3], 4: self.v_ic[4]}
        self.w = {1: np.zeros(3), 2: self.w_ic[2], 3: self.A(11) @ self.w_ic[3], 4: np.zeros(3)}
        # moments about marker 21 of body 2, products included, and about the centre of body 3
        c = self.A(21).T @ (self.r(20) - self.r(21))
        own = np.array([[2.0, -0.1, -0.2], [-0.1, 2.5, -0.05], [-0.2, -0.05, 3.0]])
        self.J = {2: own + MASS[2] * (c @ c * np.eye(3) - np.outer(c, c)), 3: np.diag([1.0, 1.2, 1.4])}
        self.about = {2: self.A(21) @ own @ self.A(21).T, 3: self.A(30) @ self.J[3] @ self.A(30).T}
        self.loads = self._loads()
        self.a, self.al = self._accelerations()

    def r(self, id):
        return self.pose[id][0]

    def A(self, id):
        return self.pose[id][1]

    def body(self, id):
        return MARKERS[id][0] if id else 1

    def velocity(self, id):
        body = self.body(id)
        arm = self.r(id) - self.r(CG[body]) if body in CG else np.zeros(3)
        return self.v[body] + cross(self.w[body], arm)

    def rate(self, id):
        return self.w[self.body(id)]

    def acceleration(self, id):
        body = self.body(id)
        arm = self.r(id) - self.r(CG[body]) if body in CG else np.zeros(3)
        w = self.w[body]
        return self.a[body] + cross(self.al[body], arm) + cross(w, cross(w, arm)), self.al[body]

    def seen(self, i, j, l):
        """Displacement of I from J and its rate in the frame of L."""
        d = self.r(i) - self.r(j)
        return d, self.velocity(i) - self.velocity(j) - cross(self.rate(l), d)

    def angles(self, i, j):
        """AX, AY, AZ(I,J)."""
        R = self.A(j).T @ self.A(i)
        return np.array(
            [np.arctan2(R[(n + 2) % 3, (n + 1) % 3], R[(n + 1) % 3, (n + 1) % 3]) for n in range(3)]
        )

    def _loads(self):
        """(function, id) -> force and torque at I, and at J, and the markers."""
        O = np.zeros(3)
        A = self.A(31)
        F, T, d = A @ [1.3, -0.4, 0.7], A @ [0.2, 0.5, -0.3], self.r(21) - self.r(31)
        found = {("GFORCE", 1): (21, 31, F, T, -F, -T)}  # marker 31 floats: it is where 21 is
        found["VFORCE", 2] = (30, None, self.A(22) @ [0.5, 2.0, -1.0], O, O, O)
        apart = self.r(22) - self.r(31)
        F = -2.5 * apart / norm(apart)
        found["SFORCE", 1] = (22, 31, F, O, -F, O)
        found["SFORCE", 2] = (21, None, O, 1.1 * self.A(10)[:, 2], O, O)
        found["SFORCE", 3] = (40, None, 0.9 * self.A(10)[:, 2], O, O, O)
        apart, rate = self.seen(21, 10, 0)
        L = norm(apart)
        F = (-7 * (L - 0.5) - 0.3 * (rate @ apart / L) + 0.2) * apart / L
        found["SPDP", 1] = (21, 10, F, O, -F, O)
        z = self.A(22)[:, 2]
        turning = (self.rate(31) - self.rate(22)) @ z
        T = (-4 * (self.angles(31, 22)[2] - 0.25) - 0.6 * turning + 0.1) * z
        found["SPDP", 2] = (31, 22, O, T, O, -T)
        shift, rate = (A.T @ part for part in self.seen(21, 31, 31))
        w = A.T @ (self.rate(21) - self.rate(31))
        F = A @ (-np.array([5, 6, 7]) * shift - np.array([0.1, 0.2, 0.3]) * rate + [1, 2, 3])
        T = A @ (
            -np.array([0.5, 0.6, 0.7]) * self.angles(21, 31)
            - np.array([0.01, 0.02, 0.03]) * w
            + [0.1, 0.2, 0.3]
        )
        found["BUSH", 1] = (21, 31, F, T, -F, -T - cross(d, F))
        return found

    def _accelerations(self):
        a, al = {1: np.zeros(3)}, {1: np.zeros(3), 4: np.zeros(3)}
        for body, cg in CG.items():
            force, torque = MASS[body] * G, np.zeros(3)
            for (function, _), (i, j, *wrenches) in self.loads.items():
                at_j = i if function == "GFORCE" else j
                for marker, at, F, T in ((i, i, *wrenches[:2]), (j, at_j, *wrenches[2:])):
                    if marker is not None and self.body(marker) == body:
                        force = force + F
                        torque = torque + T + cross(self.r(at) - self.r(cg), F)
            a[body] = force / MASS[body]
            if body in self.about:
                I, w = self.about[body], self.w[body]
                al[body] = np.linalg.solve(I, torque - cross(w, I @ w))
        return a, al


def attributes(names, values):
    return " ".join(f'{name}="{float(value)!r}"' for name, value in zip(names, values, strict=True))


def xyz(prefix):
    return [f"{prefix}{x}" for x in "xyz"]


def deck(s: Scene, texts) -> bytes:
    markers = "".join(
        f'<Reference_Marker id="{id}" body_id="{body}" '
        f'body_type="{"POINTBODY" if body == 4 else "RIGIDBODY"}" '
        f"{attributes(xyz('pos_'), s.written[id][0])} {attributes(('psi', 'theta', 'phi'), s.written[id][1])}"
        + (f' rm_id="{rm}"/>' if rm else "/>")
        for id, (body, rm) in MARKERS.items()
    )
    moments = {
        body: attributes(
            [f"inertia_{n}" for n in ("xx", "yy", "zz", "xy", "yz", "xz")],
            [*np.diag(J), -J[0, 1], -J[1, 2], -J[0, 2]],
        )
        for body, J in s.J.items()
    }
    ics = {body: attributes(xyz("v_ic_"), v) for body, v in s.v_ic.items()}
    turns = {body: attributes(xyz("w_ic_"), w) for body, w in s.w_ic.items()}
    variables = "".join(f'<Reference_Variable id="{k}" expr="{t}"/>' for k, t in enumerate(texts, start=1))
    listed = " ".join(str(k + 1) for k in range(len(texts)))
    return f"""<M><Model><Body_Rigid id="1" isground="TRUE"/>
    <Body_Rigid id="2" cg_id="20" im_id="21" mass="3" {moments[2]} vm_id="10" {ics[2]} {turns[2]}/>
    <Body_Rigid id="3" cg_id="30" mass="2" {moments[3]} wm_id="11" {ics[3]} {turns[3]}/>
    <Body_Point id="4" cg_id="40" mass="1.5" {ics[4]}/>
    {markers}<Force_Gravity grav_x="0.3" grav_y="-.2" grav_z="-9.8"/>
    <Force_Vector_TwoBody id="1" type="ForceAndTorque" i_marker_id="21" j_floating_marker_id="31"
        ref_marker_id="31" fx_expression="1.3" fy_expression="-.4" fz_expression=".7"
        tx_expression=".2" ty_expression=".5" tz_expression="-.3"/>
    <Force_Vector_OneBody id="2" type="FORCEONLY" marker_id="30" ref_marker_id="22"
        fx_expression="0.5" fy_expression="2" fz_expression="-1"/>
    <Force_Scalar_TwoBody id="1" type="FORCE" i_marker_id="22" j_marker_id="31" val="-2.5"/>
    <Force_Scalar_TwoBody id="2" type="TORQUE" i_marker_id="21" j_marker_id="10" is_action_only="TRUE"
        val_expression="1.1"/>
    <Force_Scalar_TwoBody id="3" type="FORCE" i_marker_id="40" j_marker_id="10" is_action_only="TRUE"
        val="0.9"/>
    <Force_SpringDamper id="1" type="TRANSLATIONAL" i_marker_id="21" j_marker_id="10" stiffness="7"
        damping=".3" length=".5" preload=".2"/>
    <Force_SpringDamper id="2" type="ROTATIONAL" i_marker_id="31" j_marker_id="22" stiffness="4"
        damping=".6" length=".25" preload=".1"/>
    <Force_Bushing id="1" i_marker_id="21" j_marker_id="31" kx="5" ky="6" kz="7" ktx=".5" kty=".6" ktz=".7"
        cx=".1" cy=".2" cz=".3" ctx=".01" cty=".02" ctz=".03" preload_x="1" preload_y="2" preload_z="3"
        preload_tx=".1" preload_ty=".2" preload_tz=".3"/>
    {variables}<Control_PlantOutput id="1" label="y" variable_id_list="{listed}"/></Model></M>""".encode()


def expected(s: Scene) -> dict[str, float]:
    """Value of every expression."""
    found: dict[str, float] = {}
    for i, j, k, l in (
        (21, 31, 22, 10),
        (31, 0, 21, 30),
        (22, 10, 0, 31),
        (20, 30, 30, 30),
        (40, 21, 22, 20),
    ):
        (d, v), w, R = s.seen(i, j, l), s.rate(i) - s.rate(j), s.A(j).T @ s.A(i)
        (a_i, al_i), (a_j, al_j), wl = s.acceleration(i), s.acceleration(j), s.rate(l)
        relative = s.velocity(i) - s.velocity(j)
        a = a_i - a_j - cross(s.acceleration(l)[1], d) - 2 * cross(wl, relative) + cross(wl, cross(wl, d))
        al = al_i - al_j - cross(wl, w)
        for n, x in enumerate("XYZ"):
            e = s.A(k)[:, n]
            found |= {
                f"D{x}({i},{j},{k})": d @ e,
                f"V{x}({i},{j},{k},{l})": v @ e,
                f"W{x}({i},{j},{k})": w @ e,
            }
            found |= {f"ACC{x}({i},{j},{k},{l})": a @ e, f"WDT{x}({i},{j},{k},{l})": al @ e}
            found |= {f"A{x}({i},{j})": s.angles(i, j)[n]}
        found |= {f"DM({i},{j})": norm(d), f"VM({i},{j},{l})": norm(v), f"WM({i},{j})": norm(w)}
        found |= {
            f"VR({i},{j},{l})": v @ d / norm(d),
            f"ACCM({i},{j},{l})": norm(a),
            f"WDTM({i},{j},{l})": norm(al),
        }
        found[f"AZU({i},{j})"] = s.angles(i, j)[2]
        found[f"PSI({i},{j})"] = np.arctan2(R[0, 2], -R[1, 2])
        found |= {f"THETA({i},{j})": np.arccos(R[2, 2]), f"PHI({i},{j})": np.arctan2(R[2, 0], R[2, 1])}
        found |= {f"YAW({i},{j})": np.arctan2(R[1, 0], R[0, 0]), f"PITCH({i},{j})": np.arcsin(R[2, 0])}
        found[f"ROLL({i},{j})"] = np.arctan2(R[2, 1], R[2, 2])
    for (function, id), (_, _, *wrenches) in s.loads.items():
        for flag, (F, T) in enumerate((wrenches[:2], wrenches[2:])):
            for frame in (0, 22):
                parts = [norm(F), *(s.A(frame).T @ F), norm(T), *(s.A(frame).T @ T)]
                found |= {
                    f"{function}({id},{flag},{n},{frame})": part for n, part in enumerate(parts, start=1)
                }
    F, T = (s.loads["GFORCE", 1][n] + s.loads["BUSH", 1][n] for n in (2, 3))  # all between 21 and 31
    for n, x in enumerate("XYZ"):
        found |= {f"F{x}(21,31,22)": F @ s.A(22)[:, n], f"T{x}(21,31)": T[n]}
        found[f"T{x}(31,21)"] = s.loads["GFORCE", 1][5][n] + s.loads["BUSH", 1][5][n]
    return found | {
        "FM(21,31)": norm(F),
        "TM(21,31)": norm(T),
        "DX(21)": s.r(21)[0],
        "VM(21)": norm(s.velocity(21)),
    }


@cache
def scene() -> tuple[Scene, dict[str, float]]:
    s = Scene()
    return s, expected(s)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_all_functions_of_markers_and_forces(coordinates):
    s, values = scene()
    y = Alone(Plant.read(deck(s, list(values)), coordinates=coordinates)).output("y")
    wrong = {
        text: (found, value)
        for (text, value), found in zip(values.items(), y, strict=True)
        if abs(found - value) > 1e-9 * (1 + abs(value))
    }
    assert not wrong
