"""What each force element does to two free bodies, against plain formulas in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from plant import Plant
from plant.elements import (
    FORCES,
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Force,
    Force_Bushing,
    Force_Field,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.equations.quantities import Quantities
from tests.helpers.checked import Checked, closed_form
from tests.helpers.plants import Alone
from tests.helpers.trees import body, marker, random_rotation

BY_HAND = closed_form("the element's formula in NumPy, Newton and Euler")
I, J, R = 24, 34, 35  # markers: I on body 2, J on body 3, a reference marker on body 3


@dataclass
class Scene:
    """Two free bodies at random places and velocities, with three markers on them."""

    elements: list[Element]
    frames: dict[int, tuple[np.ndarray, np.ndarray]]
    motion: dict[int, tuple[np.ndarray, np.ndarray]]  # body -> (angular velocity, velocity of the CG)

    @staticmethod
    def random(seed: int) -> Scene:
        rng = np.random.default_rng(seed)
        elements: list[Element] = [Body_Rigid(id=1, isground=True)]
        frames, motion = {}, {}
        for id, markers in ((2, [I]), (3, [J, R])):
            frames[10 * id] = (rng.normal(size=3), random_rotation(rng))
            elements += body(id, *frames[10 * id], rng)
            motion[id] = (rng.normal(size=3), rng.normal(size=3))
            for m in markers:
                frames[m] = (rng.normal(size=3), random_rotation(rng))
                elements.append(marker(m, id, *frames[m]))
        return Scene(elements, frames, motion)

    def plant(self, *forces: Element) -> Alone:
        alone = Alone(Plant.from_model(Model.build([*self.elements, *forces])))
        for id, (w, v) in self.motion.items():
            A = self.frames[10 * id][1]
            alone.x0[alone.slice(f"body_{id}.qd")] = [*(A.T @ w), *v]
        return alone

    def wrenches(self, alone: Alone) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Force and torque about the CG on each body, in the ground frame, from the accelerations."""
        change = alone.derivative(0.0, alone.x0)
        found = {}
        for link in alone.plant.mechanism.links:
            b = link.body.source
            A = self.frames[10 * b.id][1]
            spin = A.T @ self.motion[b.id][0]
            rate = change[alone.slice(f"body_{b.id}.qd")]
            torque = A @ (b.inertia @ rate[:3] + np.cross(spin, b.inertia @ spin))
            found[b.id] = (b.mass * rate[3:], torque)
        return found

    def state(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Origin, axes, velocity and angular velocity of a marker."""
        r, A = self.frames[m]
        w, v = self.motion[m // 10]
        return r, A, v + np.cross(w, r - self.frames[m // 10 * 10][0]), w

    def check(
        self,
        checked: Checked,
        subject: str,
        alone: Alone,
        *applied: tuple[int, np.ndarray, np.ndarray, np.ndarray],
    ) -> None:
        """Compare with (body, force, torque, point of action) of each wrench."""
        found = self.wrenches(alone)
        for id in (2, 3):
            F, T = np.zeros(3), np.zeros(3)
            for target, force, torque, at in applied:
                if target == id:
                    F = F + force
                    T = T + torque + np.cross(at - self.frames[10 * id][0], force)
            checked(found[id][0], F, subject, "forces on two free bodies", BY_HAND, atol=1e-11)
            checked(found[id][1], T, subject, "torques on two free bodies", BY_HAND, atol=1e-11)


NONE = np.zeros(3)


@pytest.fixture(autouse=True)
def ends_are_those_of_the_wrenches(monkeypatch):
    """What is looked up by the markers of a force (FX(I,J), torques on points) finds its wrenches."""
    wrenches = Quantities.wrenches

    def compared(self, force):
        found = wrenches(self, force)
        assert force.ends == tuple(w.marker for w in found)
        return found

    monkeypatch.setattr(Quantities, "wrenches", compared)


@pytest.fixture(params=[1, 2])
def scene(request) -> Scene:
    return Scene.random(request.param)


def test_every_force_type_is_here():
    tags = {kind.tag for kind in FORCES}
    assert tags == {
        "Force_Vector_TwoBody",
        "Force_Vector_OneBody",
        "Force_Scalar_TwoBody",
        "Force_SpringDamper",
        "Force_Bushing",
        "Force_Field",
        "Inertia_Wheel",
    }
    assert all(kind.apply is not Force.apply and kind.ends is not Force.ends for kind in FORCES)


def test_no_force_no_acceleration(checked, scene):
    scene.check(checked, "no force", scene.plant())


def test_vector_one_body(checked, scene):
    force = Force_Vector_OneBody(
        id=1,
        type="FORCEANDTORQUE",
        marker_id=I,
        ref_marker_id=R,
        fx_expression="1",
        fy_expression="2",
        fz_expression="3",
        tx_expression="-1",
        tz_expression="0.5",
    )
    A = scene.frames[R][1]
    scene.check(
        checked,
        "Force_Vector_OneBody",
        scene.plant(force),
        (2, A @ [1, 2, 3], A @ [-1, 0, 0.5], scene.frames[I][0]),
    )


@pytest.mark.filterwarnings("ignore:.*is ignored because type is")
@pytest.mark.parametrize("kind", ["FORCEONLY", "TORQUEONLY", "FORCEANDTORQUE"])
def test_vector_two_body_reacts_at_marker_i(checked, scene, kind):
    force = Force_Vector_TwoBody(
        id=1,
        type=kind,
        i_marker_id=I,
        j_floating_marker_id=J,
        ref_marker_id=R,
        fx_expression="1",
        fy_expression="2",
        fz_expression="3",
        tx_expression="4",
        ty_expression="5",
    )
    A, at = scene.frames[R][1], scene.frames[I][0]
    F = A @ [1, 2, 3] if kind != "TORQUEONLY" else NONE
    T = A @ [4, 5, 0] if kind != "FORCEONLY" else NONE
    scene.check(checked, f"Force_Vector_TwoBody {kind}", scene.plant(force), (2, F, T, at), (3, -F, -T, at))


def test_vector_without_reference_marker_is_in_ground_axes(checked, scene):
    force = Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=I, ref_marker_id=0, fz_expression="2")
    name = "Force_Vector_OneBody in ground axes"
    scene.check(checked, name, scene.plant(force), (2, np.array([0, 0, 2.0]), NONE, scene.frames[I][0]))


@pytest.mark.parametrize("action_only", [False, True])
@pytest.mark.parametrize("kind", ["FORCE", "TORQUE"])
def test_scalar_two_body(checked, scene, kind, action_only):
    force = Force_Scalar_TwoBody(
        id=1, type=kind, i_marker_id=I, j_marker_id=J, is_action_only=action_only, val_expression="2*TIME + 3"
    )
    (ri, *_), (rj, Aj, *_) = scene.state(I), scene.state(J)
    along = Aj[:, 2] if kind == "TORQUE" or action_only else (ri - rj) / np.linalg.norm(ri - rj)
    F, T = (3 * along, NONE) if kind == "FORCE" else (NONE, 3 * along)
    reaction = [] if action_only else [(3, -F, -T, rj)]
    scene.check(checked, f"Force_Scalar_TwoBody {kind}", scene.plant(force), (2, F, T, ri), *reaction)


def test_scalar_with_a_constant_value(checked, scene):
    force = Force_Scalar_TwoBody(id=1, type="TORQUE", i_marker_id=I, j_marker_id=J, val=-2.0)
    along = scene.frames[J][1][:, 2]
    name = "Force_Scalar_TwoBody of a number"
    scene.check(checked, name, scene.plant(force), (2, NONE, -2 * along, NONE), (3, NONE, 2 * along, NONE))


def test_translational_spring_damper(checked, scene):
    force = Force_SpringDamper(
        id=1,
        type="TRANSLATIONAL",
        i_marker_id=I,
        j_marker_id=J,
        stiffness=7,
        damping=0.6,
        length=1.5,
        preload=0.4,
    )
    (ri, _, vi, _), (rj, _, vj, _) = scene.state(I), scene.state(J)
    DM = np.linalg.norm(ri - rj)
    direction = (ri - rj) / DM
    F = (-7 * (DM - 1.5) - 0.6 * (vi - vj) @ direction + 0.4) * direction
    scene.check(checked, "Force_SpringDamper", scene.plant(force), (2, F, NONE, ri), (3, -F, NONE, rj))


def test_rotational_spring_damper(checked, scene):
    force = Force_SpringDamper(
        id=1,
        type="ROTATIONAL",
        i_marker_id=I,
        j_marker_id=J,
        stiffness=7,
        damping=0.6,
        length=0.3,
        preload=0.4,
    )
    (_, Ai, _, wi), (_, Aj, _, wj) = scene.state(I), scene.state(J)
    C = Aj.T @ Ai
    T = (-7 * (np.arctan2(C[1, 0], C[0, 0]) - 0.3) - 0.6 * (wi - wj) @ Aj[:, 2] + 0.4) * Aj[:, 2]
    name = "Force_SpringDamper ROTATIONAL"
    scene.check(checked, name, scene.plant(force), (2, NONE, T, NONE), (3, NONE, -T, NONE))


def test_bushing(checked, scene):
    numbers = {
        "kx": 3,
        "ky": 4,
        "kz": 5,
        "ktx": 0.6,
        "kty": 0.7,
        "ktz": 0.8,
        "cx": 0.3,
        "cy": 0.4,
        "cz": 0.5,
        "ctx": 0.06,
        "cty": 0.07,
        "ctz": 0.08,
    }
    preload = {"preload_x": 0.1, "preload_y": -0.2, "preload_z": 0.3, "preload_tx": 0.01, "preload_tz": -0.03}
    force = Force_Bushing(id=1, i_marker_id=I, j_marker_id=J, **numbers, **preload)
    (ri, Ai, vi, wi), (rj, Aj, vj, wj) = scene.state(I), scene.state(J)
    d, w, C = Aj.T @ (ri - rj), Aj.T @ (wi - wj), Aj.T @ Ai
    rate = Aj.T @ (vi - vj - np.cross(wj, ri - rj))
    angles = np.array(
        [np.arctan2(C[2, 1], C[1, 1]), np.arctan2(C[0, 2], C[2, 2]), np.arctan2(C[1, 0], C[0, 0])]
    )
    F = Aj @ (-np.array([3, 4, 5]) * d - np.array([0.3, 0.4, 0.5]) * rate + [0.1, -0.2, 0.3])
    T = Aj @ (-np.array([0.6, 0.7, 0.8]) * angles - np.array([0.06, 0.07, 0.08]) * w + [0.01, 0, -0.03])
    # the reaction acts at r_I, which is the same as -F at r_J with the torque -delta x F
    scene.check(checked, "Force_Bushing", scene.plant(force), (2, F, T, ri), (3, -F, -T, ri))


def test_what_a_bushing_is_not_given_it_does_not_exert(checked, scene):
    """All numbers are 0 where nothing is said, as of a field without preload, length and damping."""
    none = tuple((name, " ".join(["0"] * 36)) for name in ("k_matrix", "c_matrix"))
    for force in (
        Force_Bushing(id=1, i_marker_id=I, j_marker_id=J),
        Force_Field(id=1, i_marker_id=I, j_marker_id=J, attributes=none),
    ):
        scene.check(checked, "no force", scene.plant(force))


def test_field_of_unsymmetric_matrices(checked, scene):
    """36 numbers row by row: every one of them counts in its own place."""
    rng = np.random.default_rng(7)
    K, C = rng.uniform(0.5, 2.0, (6, 6)), rng.uniform(0.05, 0.2, (6, 6))
    d0, F0 = rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.5, 0.5, 6)
    named = {"k_matrix": K, "c_matrix": C, "length": d0, "preload": F0}
    texts = {name: " ".join(map(repr, map(float, np.ravel(value)))) for name, value in named.items()}
    field = Force_Field(id=1, i_marker_id=I, j_marker_id=J, attributes=tuple(texts.items()))
    (ri, Ai, vi, wi), (rj, Aj, vj, wj) = scene.state(I), scene.state(J)
    R = Aj.T @ Ai
    angles = np.arctan2([R[2, 1], R[0, 2], R[1, 0]], [R[1, 1], R[2, 2], R[0, 0]])
    d = np.concatenate([Aj.T @ (ri - rj), angles])
    rate = np.concatenate([Aj.T @ (vi - vj - np.cross(wj, ri - rj)), Aj.T @ (wi - wj)])
    components = F0 - K @ (d - d0) - C @ rate
    F, T = Aj @ components[:3], Aj @ components[3:]
    scene.check(checked, "Force_Field, unsymmetric", scene.plant(field), (2, F, T, ri), (3, -F, -T, ri))


def test_gravity_acts_at_every_centre_of_mass(scene):
    alone = scene.plant(Force_Gravity(grav_x=1.0, grav_z="-9.81*(1 + TIME)"))
    found = scene.wrenches(alone)
    for id in (2, 3):
        mass = next(e.mass for e in scene.elements if isinstance(e, Body_Rigid) and e.id == id)
        assert found[id][0] == pytest.approx(mass * np.array([1, 0, -9.81]))
        assert found[id][1] == pytest.approx(np.zeros(3), abs=1e-12)


def test_force_functions_read_what_is_applied(scene):
    spring = Force_SpringDamper(
        id=4, type="TRANSLATIONAL", i_marker_id=I, j_marker_id=J, stiffness=7, length=1.5, preload=0.4
    )
    bushing = Force_Bushing(id=4, i_marker_id=I, j_marker_id=J, kx=3, ktz=2)
    texts = ["SPDP(4,0,1)", f"SPDP(4,0,2,{J})", "SPDP(4,1,3)", f"BUSH(4,0,2,{J})", f"BUSH(4,1,8,{J})"]
    variables = [Reference_Variable(id=k, expr=t) for k, t in enumerate(texts, start=1)]
    port = Control_PlantOutput(id=1, label="y", variable_id_list=tuple(range(1, len(texts) + 1)))
    alone = scene.plant(spring, bushing, *variables, port)
    (ri, Ai, *_), (rj, Aj, *_) = scene.state(I), scene.state(J)
    DM = np.linalg.norm(ri - rj)
    value = -7 * (DM - 1.5) + 0.4
    F = value * (ri - rj) / DM
    d, C = Aj.T @ (ri - rj), Aj.T @ Ai
    on_i = Aj @ [-3 * d[0], 0, 0]
    torque = Aj @ [0, 0, -2 * np.arctan2(C[1, 0], C[0, 0])]
    reaction = -torque - np.cross(ri - rj, on_i)
    expected = [abs(value), F @ Aj[:, 0], -F[1], -3 * d[0], reaction @ Aj[:, 2]]
    assert alone.output("y") == pytest.approx(expected, abs=1e-12)


# --- corners ---------------------------------------------------------------------------------------------
def _coincident(**spring: float) -> Alone:
    """A mass on a slider, held by a spring whose ends coincide at the start."""
    return Alone(
        Plant.from_model(
            Model.build(
                [
                    Body_Rigid(id=1, isground=True),
                    Reference_Marker(id=10, body_id=1),
                    Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1),
                    Reference_Marker(id=20, body_id=2),
                    Constraint_Joint(
                        id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10
                    ),
                    Force_SpringDamper(id=1, type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10, **spring),
                ]
            )
        )
    )


def test_a_force_between_coincident_markers_has_no_direction():
    alone = _coincident(stiffness=8.0, length=1.0)
    assert np.isnan(alone.derivative(0.0, alone.x0)[1])
    term = next(t for t in alone.declared.terms if "DM(20,10)" in t.text)
    assert "Force_SpringDamper id=1" in term.text


def test_no_force_between_coincident_markers_is_no_force():
    alone = _coincident(stiffness=8.0, length=1.0, preload=-8.0)  # a spring of no length: F = -k DM
    assert alone.derivative(0.0, alone.x0) == pytest.approx([0.0, 0.0])
    assert alone.derivative(0.0, [0.25, 0.0]) == pytest.approx([0.0, -1.0])
    assert alone.derivative(0.0, [-0.25, 0.0]) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(("at", "rate"), [(0.4, 0.3), (-0.4, 0.3), (1.5, -2.0), (-1.5, -2.0)])
def test_spring_and_damper_on_either_side_of_a_line(at, rate):
    """m x'' = -(k (|x| - l) - F0) sgn x - c x'; the damper does not mind on which side the mass is."""
    alone = _coincident(stiffness=8.0, damping=0.5, length=1.0, preload=3.0)
    force = -(8.0 * (abs(at) - 1.0) - 3.0) * np.sign(at) - 0.5 * rate
    assert alone.derivative(0.0, [at, rate]) == pytest.approx([rate, force / 2])


def test_a_damper_on_a_line_acts_between_coincident_markers_too():
    """-c x' is the limit from both sides; a force of the spring or preload would have no direction."""
    alone = _coincident(stiffness=8.0, damping=0.5, length=1.0, preload=-8.0)
    for at in (-1e-9, 0.0, 1e-9):
        assert alone.derivative(0.0, [at, 2.0]) == pytest.approx([2.0, -0.5], abs=1e-8)
    alone = _coincident(damping=0.5, preload=3.0)
    assert np.isnan(alone.derivative(0.0, [0.0, 2.0])[1])
    assert alone.derivative(0.0, [-1e-9, 2.0]) == pytest.approx([2.0, -2.0])


def test_springs_at_rest_have_a_derivative():
    """At DM = length the force is zero; its derivative is still the stiffness."""
    alone = _coincident(stiffness=8.0, length=1.0)
    J = alone.jacobian("x", x=np.array([1.0, 0.0]))
    assert pytest.approx(np.array([[0.0, 1.0], [-4.0, 0.0]])) == J


def test_rotational_springs_count_turns():
    """A torsion spring of a revolute joint uses the joint's own coordinate."""
    alone = Alone(
        Plant.from_model(
            Model.build(
                [
                    Body_Rigid(id=1, isground=True),
                    Reference_Marker(id=10, body_id=1),
                    Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=2),
                    Reference_Marker(id=20, body_id=2),
                    Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
                    Force_SpringDamper(
                        id=1, type="ROTATIONAL", i_marker_id=20, j_marker_id=10, stiffness=3.0
                    ),
                ]
            )
        )
    )
    turns = 5 * 2 * np.pi + 0.1
    assert alone.derivative(0.0, [turns, 0.0])[1] == pytest.approx(-3.0 * turns / 2.0)
