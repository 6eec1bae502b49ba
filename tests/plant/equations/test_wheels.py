"""Inertia wheels: closed forms, momentum and energy, in both coordinate choices."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant
from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Inertia_Wheel,
    Model,
    Param_Unit,
    Reference_Marker,
    Reference_Variable,
)
from plant.energy import BodyStates, ledger, states_of
from plant.formats.motionsolve.reader import read_model
from tests.helpers.checked import closed_form, independent

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
COORDINATES = ("joint", "absolute")
TURNED = {"a00": 0, "a10": 0, "a20": 1, "a01": 1, "a11": 0, "a21": 0, "a02": 0, "a12": 1, "a22": 0}  # z = Y


def outputs(*texts):
    found = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=100)]
    return [*found, Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in found))]


def satellite(*elements, w=(0.0, 0.0, 0.0), texts=("WX(20,0,20)", "WY(20,0,20)", "WZ(20,0,20)")):
    """A free body of moments 2, 3, 4 with its wheels."""
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(
                id=2, label="hub", cg_id=20, mass=5.0, inertia_xx=2.0, inertia_yy=3.0, inertia_zz=4.0,
                w_ic_x=w[0], w_ic_y=w[1], w_ic_z=w[2],
            ),
            Reference_Marker(id=20, body_id=2),
            Reference_Marker(id=21, body_id=2, pos_x=0.3, **TURNED),
            *elements,
            *outputs(*texts),
        ]
    )  # fmt: skip


def run(model, times, coordinates="joint", engine="reference", audit=False):
    plant = Plant.from_model(model, coordinates=coordinates)
    d = Diagram("satellite")
    d.add("plant", plant.audited() if audit else plant)
    return simulate(d, until=float(times[-1]), log_at=times, engine=engine, **TIGHT), plant


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_reaction_wheel_on_its_axis(checked, coordinates, engine):
    """A torque T on a wheel about z of a body at rest: the body gains -T t / I_zz, the wheel T t / Iw."""
    wheel = Inertia_Wheel(id=1, label="rw", marker_id=20, inertia=0.1, torque_expression="0.2*TIME")
    times = np.array([0.0, 1.0, 2.5])
    texts = ("WZ(20)", "AZ(20,0)", "WHEELH(1)", "WHEELW(1)")
    r, _ = run(satellite(wheel, texts=texts), times, coordinates, engine)
    h = 0.1 * times**2
    expected = np.array([-h / 4, -0.1 * times**3 / 12, h, h / 0.1 + h / 4]).T
    law = closed_form("-T t / I and T t / Iw")
    checked(r["plant.y"], expected, "reaction wheel", "rate and turn of hub and wheel", law, atol=1e-9)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_momentum_wheel_makes_a_body_nutate(checked, coordinates):
    """A fast wheel in a symmetric body: w_x, w_y turn with the rate ((Izz - I) w_z + h) / I (Hughes, 6.2)."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(
                id=2,
                cg_id=20,
                mass=1.0,
                inertia_xx=2.0,
                inertia_yy=2.0,
                inertia_zz=3.0,
                w_ic_x=0.1,
                w_ic_z=0.2,
            ),
            Reference_Marker(id=20, body_id=2),
            Inertia_Wheel(id=1, marker_id=20, inertia=0.05, w_ic=99.8),
            *outputs("WX(20,0,20)", "WY(20,0,20)", "WZ(20,0,20)", "WHEELH(1)"),
        ]
    )
    times = np.linspace(0.0, 4.0, 9)
    r, plant = run(model, times, coordinates)
    assert plant.initial["wheel_1.spin"] == pytest.approx([100.0])  # relative 99.8 and what carries it
    h = 0.05 * 100.0
    nutation = ((3.0 - 2.0) * 0.2 + h) / 2.0
    c, s = 0.1 * np.cos(nutation * times), 0.1 * np.sin(nutation * times)
    expected = np.array([c, s, 0.2 + 0 * times, h + 0 * times]).T
    law = closed_form("nutation at ((Izz - I) wz + h) / I (Hughes, 6.2)")
    checked(r["plant.y"], expected, "momentum wheel", "angular velocity and momentum", law, atol=1e-8)


def rates_by_hand(times, wheels, I, w0, h0, torque):
    """Euler's equations of a body with wheels, integrated on their own: rates and momenta along the body."""
    from scipy.integrate import solve_ivp

    axes = np.array(wheels)

    def rate(t, y):
        w, h = y[:3], y[3:]
        L = I @ w + axes.T @ h
        return np.concatenate([np.linalg.solve(I, -np.cross(w, L) - axes.T @ torque(t)), torque(t)])

    found = solve_ivp(rate, (0, times[-1]), [*w0, *h0], t_eval=times, rtol=1e-12, atol=1e-14)
    return found.y[:3].T, found.y[3:].T


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_two_driven_wheels_keep_momentum_and_energy_is_accounted_for(checked, engine):
    w0 = (0.3, -0.2, 0.5)
    wheels = (
        Inertia_Wheel(id=1, marker_id=20, inertia=0.1, w_ic=20.0, torque_expression="0.3*SIN(2*TIME)"),
        Inertia_Wheel(id=2, marker_id=21, inertia=0.2, w_ic=-10.0, torque_expression="-0.1"),
    )
    times = np.linspace(0.0, 3.0, 13)
    r, plant = run(satellite(*wheels, w=w0), times, engine=engine, audit=True)
    h0 = [0.1 * (20.0 + w0[2]), 0.2 * (-10.0 + w0[1])]
    w, h = rates_by_hand(
        times, [[0, 0, 1], [0, 1, 0]], np.diag([2.0, 3.0, 4.0]), w0, h0,
        lambda t: np.array([0.3 * np.sin(2 * t), -0.1]),
    )  # fmt: skip
    euler = independent("Euler's equations with wheels, solve_ivp of SciPy")
    checked(r["plant.y"], w, "two driven wheels", "angular velocity", euler, atol=1e-9)
    states = states_of(r, plant)
    checked(np.linalg.norm(states.h, axis=-1), np.abs(h), "two driven wheels", "momenta", euler, atol=1e-9)
    L = states.angular_momentum()
    assert np.abs(L - L[0]).max() < 1e-9
    account = ledger(r)
    assert pytest.approx(account.KE, rel=1e-10) == states.KE  # computed outside and inside
    assert r["plant.audit_momentum"][:, 3:] == pytest.approx(L, abs=1e-9)
    assert np.abs(account.drift).max() < 1e-9
    assert not account.springs.any() and not account.dissipated.any()
    assert abs(account.work_in[-1]) > 0.1
    # work of the motors: the integral of T (s - a.w)
    relative = h / [0.1, 0.2] - w[:, [2, 1]]
    power = (np.array([0.3 * np.sin(2 * times), -0.1 + 0 * times]).T * relative).sum(axis=1)
    assert account.work_in[-1] == pytest.approx(np.trapezoid(power, times), rel=0.03)


def test_all_four_procedures_with_a_wheel():
    """Equation (1) of the seed from the four kinds of output a simulation may give."""
    wheels = (Inertia_Wheel(id=1, marker_id=21, inertia=0.2, w_ic=15.0),)
    times = np.linspace(0.0, 2.0, 5)
    r, plant = run(satellite(*wheels, w=(0.3, -0.2, 0.5)), times, audit=True)
    one = states_of(r, plant)
    R, V = one.centre, one.centre_velocity
    r_, v_ = one.r - R[:, None], one.v - V[:, None]
    two = BodyStates.from_system_cm(one.m, one.I, one.w, r_, v_, R, V, one.h, one.Iw)
    C = np.array(r["plant.audit_bodies"]).reshape(len(times), -1, 18)[:, 0, 9:].reshape(-1, 3, 3)

    def along(vectors):
        return np.einsum("tji,tnj->tni", C, vectors)

    tensors = np.einsum("tji,tnjk,tkl->tnil", C, one.I, C)
    three = BodyStates.from_first_body(
        one.m, tensors, along(one.w), along(r_), along(v_), R, V, C, along(one.h), one.Iw
    )
    eta, rate = one.r[:, 0], one.v[:, 0]
    four = BodyStates.from_first_joint(
        one.m, one.I, one.w, one.r - eta[:, None], one.v - rate[:, None], eta, rate, one.h, one.Iw
    )
    inside = ledger(r).KE
    for states in (one, two, three, four):
        assert pytest.approx(inside, rel=1e-11) == states.KE
    assert np.ptp(inside) < 1e-9 * inside[0]  # no forces: constant


def test_a_wheel_is_the_same_as_a_body_on_a_joint():
    """A balanced rotor as a body of its own: the same motion of the hub."""
    w, Iw = (0.3, -0.2, 0.5), 0.2
    drive = "0.1 - 0.05*"
    wheel = Inertia_Wheel(id=1, marker_id=21, inertia=Iw, w_ic=15.0, torque_expression=f"{drive}WHEELW(1)")
    times = np.linspace(0.0, 2.0, 5)
    texts = ("WX(20,0,20)", "WY(20,0,20)", "WZ(20,0,20)")
    lumped = Body_Rigid(
        id=2, cg_id=20, mass=5.0, inertia_xx=2.0 + 0.11, inertia_yy=3.0, inertia_zz=4.0 + 0.11,
        w_ic_x=w[0], w_ic_y=w[1], w_ic_z=w[2],
    )  # fmt: skip
    base = [Body_Rigid(id=1, isground=True), Reference_Marker(id=20, body_id=2)]
    one = Model.build(
        [*base, lumped, Reference_Marker(id=21, body_id=2, **TURNED), wheel, *outputs(*texts, "WHEELW(1)")]
    )
    hub = Body_Rigid(
        id=2, cg_id=20, mass=3.0, inertia_xx=2.0, inertia_yy=3.0, inertia_zz=4.0,
        w_ic_x=w[0], w_ic_y=w[1], w_ic_z=w[2],
    )  # fmt: skip
    rotor = Body_Rigid(
        id=3, cg_id=30, mass=2.0, inertia_xx=0.11, inertia_yy=0.11, inertia_zz=Iw,
        w_ic_x=w[0], w_ic_y=w[1] + 15.0, w_ic_z=w[2],
    )  # fmt: skip
    two = Model.build(
        [
            *base, hub, rotor,
            Reference_Marker(id=21, body_id=2, **TURNED),
            Reference_Marker(id=30, body_id=3, **TURNED),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=30, j_marker_id=21),
            Force_Scalar_TwoBody(
                id=1, type="TORQUE", i_marker_id=30, j_marker_id=21, val_expression=f"{drive}WZ(30,21,21)"
            ),
            *outputs(*texts, "WZ(30,21,21)"),
        ]
    )  # fmt: skip
    first, second = (run(model, times)[0]["plant.y"] for model in (one, two))
    assert first == pytest.approx(second, abs=1e-8)


def test_wheel_on_a_jointed_body_in_millimetres():
    """Prescribed precession in gimbals would need -w x h: here a pendulum's hinge feels only the motor."""
    model = Model.build(
        [
            Param_Unit(
                mass_unit="KILOGRAM", length_unit="MILLIMETER", time_unit="SECOND", force_unit="NEWTON"
            ),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=2.0, inertia_xx=1e6, inertia_yy=1e6, inertia_zz=3e6),
            Reference_Marker(id=20, body_id=2),
            Constraint_Joint(id=1, label="hinge", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Force_Gravity(grav_z=-9810.0),
            Reference_Variable(id=1, expr="0"),
            Control_PlantInput(id=2, label="motor", variable_id_list=(1,)),
            Inertia_Wheel(id=1, marker_id=20, inertia=2e5, torque_expression="VARVAL(1)"),
            *outputs("WZ(20)", "WHEELH(1)", "WHEELW(1)"),
        ]
    )
    d = Diagram("millimetres")
    p = d.add("plant", Plant.from_model(model))
    d.connect(d.add("T", Constant(600.0))["y"], p["motor"])  # N mm on 3e6 kg mm^2 = 3000 N mm s^2
    r = simulate(
        d, until=2.0, log_at=[2.0], engine="reference", parameters={"plant.Inertia_Wheel/1.inertia": 4e5}
    )
    assert r["plant.y"][0] == pytest.approx([-0.4, 1200.0, 1200.0 / 400.0 + 0.4])


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_wheel_on_a_hinge_that_turns_spins_with_its_body(coordinates):
    """A hinge and a wheel along Y: the wheel's own rate 3 and the body's rate 2 add up."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, **TURNED),
            Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=1.0, w_ic_y=2.0),
            Reference_Marker(id=20, body_id=2),
            Reference_Marker(id=21, body_id=2, **TURNED),
            Constraint_Joint(id=1, label="hinge", type="REVOLUTE", i_marker_id=21, j_marker_id=10),
            Inertia_Wheel(id=1, marker_id=21, inertia=0.1, w_ic=3.0),
        ]
    )
    assert Plant.from_model(model, coordinates=coordinates).initial["wheel_1.spin"] == pytest.approx([5.0])


def test_wheel_from_a_deck():
    deck = b"""<Deck><Model>
      <Body_Rigid id="1" isground="TRUE"/>
      <Body_Rigid id="2" cg_id="20" mass="1" inertia_xx="1" inertia_yy="1" inertia_zz="1"/>
      <Reference_Marker id="20" body_id="2"/>
      <Inertia_Wheel id="7" label="X wheel" marker_id="20" inertia="0.5" w_ic="3" torque_expression="1"/>
    </Model></Deck>"""
    plant = Plant.from_model(read_model(deck))
    assert plant.initial["x_wheel.spin"] == pytest.approx([3.0])


def test_wheels_that_cannot_be():
    point = [
        Body_Rigid(id=1, isground=True),
        Body_Point(id=2, cg_id=20, mass=1.0),
        Reference_Marker(id=20, body_id=2, body_type="POINTBODY"),
    ]
    with pytest.raises(ModelError, match="Inertia_Wheel id=1: marker_id=20 is on Body_Point 2"):
        Model.build([*point, Inertia_Wheel(id=1, marker_id=20, inertia=1.0)])
    with pytest.raises(ModelError, match="Inertia_Wheel id=1: inertia=0.0 is too small"):
        Inertia_Wheel(id=1, marker_id=20, inertia=0.0)
    with pytest.raises(ModelError, match="WHEELW|Inertia_Wheel, and the model has none"):
        Plant.from_model(satellite(texts=("WHEELW(3)",)))


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_motor_torque_that_depends_on_the_acceleration_it_causes(coordinates):
    """T = 1 - w'/2 on a body with I_zz = 4: 4 w' = -T, so w' = -1/3.5, and the wheel gains T per second."""
    wheel = Inertia_Wheel(id=1, marker_id=20, inertia=0.1, torque_expression="1 - 0.5*WDTZ(20)")
    r, _ = run(satellite(wheel, texts=("WDTZ(20)", "WHEELH(1)")), np.array([0.0, 2.0]), coordinates)
    assert r["plant.y"][-1] == pytest.approx([-1 / 3.5, 2 * (1 + 0.5 / 3.5)])


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_wheel_on_the_ground_starts_with_its_own_spin(coordinates):
    """On a body that turns it has the body's in addition."""
    for marker, spin in ((10, 3.0), (20, 3.0 + 0.7)):
        wheel = Inertia_Wheel(id=1, label="w", marker_id=marker, inertia=0.1, w_ic=3.0)
        elements = [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=1.0, w_ic_z=0.7),
            Reference_Marker(id=20, body_id=2),
            wheel,
        ]
        plant = Plant.from_model(Model.build(elements), coordinates=coordinates)
        assert plant.initial["w.spin"] == pytest.approx([spin])
