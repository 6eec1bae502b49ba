"""What an observed plant shows, against closed forms and differences of its own positions."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, linearize, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Force_Gravity,
    Force_SpringDamper,
    Model,
    Motion_Joint,
    Reference_Marker,
)
from tests.helpers.plants import deck

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
M, L, G, I = 2.0, 0.8, 9.81, 0.05  # kg, m from pin to centre, m/s^2, kg m^2 about the centre


def pendulum(*elements, tilt: float = 0.3, w: float = 0.0, coordinates: str = "joint") -> Plant:
    """A rod on a pin at the origin, its centre L below it turned by `tilt` about z."""
    s, c = np.sin(tilt), np.cos(tilt)
    turned = {"a00": c, "a10": s, "a20": 0, "a01": -s, "a11": c, "a21": 0, "a02": 0, "a12": 0, "a22": 1}
    model = Model.build(
        [
            Force_Gravity(grav_y=-G),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(
                id=2, label="Rod", cg_id=20, mass=M, inertia_xx=I, inertia_yy=I, inertia_zz=I, w_ic_z=w
            ),
            Reference_Marker(id=20, body_id=2, pos_x=L * s, pos_y=-L * c, **turned),
            Reference_Marker(id=21, body_id=2, **turned),
            Constraint_Joint(id=1, label="pin", type="REVOLUTE", i_marker_id=21, j_marker_id=10),
            *elements,
        ]
    )
    return Plant.from_model(model, coordinates=coordinates).observed()


def run(plant: Plant, until: float = 1.0, every: float = 0.01, engine: str = "reference"):
    d = Diagram("observed")
    d.add("plant", plant)
    return simulate(d, until=until, log_every=every, rtol=1e-10, atol=1e-12, engine=engine)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_the_reaction_at_the_pin_of_a_pendulum(coordinates, engine):
    """Along the rod M g cos + M L w^2 towards the pin, across it M (g sin + L al)."""
    r = run(pendulum(w=1.0, coordinates=coordinates), engine=engine)
    body, pin = r["plant.body_rod"], r["plant.joint_pin"]
    angle = np.arctan2(body[:, 0], -body[:, 1])
    w, al = body[:, 8], body[:, 14]
    assert al == pytest.approx(-M * G * L * np.sin(angle) / (I + M * L**2), abs=1e-9)
    along = M * (G * np.cos(angle) + L * w**2)
    across = M * (G * np.sin(angle) + L * al)
    local = np.array([across, along]).T  # x of the rod's markers is across, y up along it
    assert pin[:, 6:8] == pytest.approx(local, abs=1e-8)
    turned = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    assert pin[:, :2] == pytest.approx((local[:, :1] * turned[0].T + local[:, 1:] * turned[1].T), abs=1e-8)
    assert pin[:, 12:14] == pytest.approx(-pin[:, :2], abs=1e-9)  # J has the global axes
    assert r.labels["plant.joint_pin"][6] == "FX on I along I"


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_rates_are_those_of_the_places(coordinates):
    r = run(Plant.read(deck("bricard.xml"), coordinates=coordinates).observed(), until=0.3, every=0.001)
    body = r["plant.body_rod_3"]
    h = 0.001
    for place, rate in (
        (slice(0, 3), slice(3, 6)),
        (slice(3, 6), slice(9, 12)),
        (slice(6, 9), slice(12, 15)),
    ):
        difference = (body[2:, place] - body[:-2, place]) / (2 * h)
        assert difference == pytest.approx(body[1:-1, rate], abs=2e-4)
    A = body[:, 15:].reshape(-1, 3, 3)
    assert A @ A.mT == pytest.approx(np.eye(3)[None].repeat(len(A), 0), abs=1e-10)
    skew = (A[2:] - A[:-2]) / (2 * h) @ A[1:-1].mT
    w = np.array([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]]).T
    assert w == pytest.approx(body[1:-1, 6:9], abs=2e-4) and np.abs(w).max() > 0.01
    assert np.abs(r["plant.constraint_residual"]).max() < 1e-9


def test_spring_damper_and_preload():
    spring = Force_SpringDamper(
        id=1,
        label="coil",
        type="ROTATIONAL",
        i_marker_id=21,
        j_marker_id=10,
        stiffness=30.0,
        damping=2.0,
        length=0.1,
        preload=0.7,
    )
    r = run(pendulum(spring))
    body, parts = r["plant.body_rod"], r["plant.spring_coil"]
    angle = np.arctan2(body[:, 0], -body[:, 1])
    assert parts[:, 0] == pytest.approx(-30 * (angle - 0.1), abs=1e-9)
    assert parts[:, 1] == pytest.approx(-2 * body[:, 8], abs=1e-9)
    assert parts[:, 2] == pytest.approx(parts[:, 0] + parts[:, 1] + 0.7)
    assert r["plant.force_coil"][:, 5] == pytest.approx(parts[:, 2])


def test_a_spring_along_a_line_is_what_its_force_says():
    spring = Force_SpringDamper(
        id=1,
        label="tie",
        type="TRANSLATIONAL",
        i_marker_id=20,
        j_marker_id=10,
        stiffness=300.0,
        damping=5.0,
        length=0.5,
    )
    r = run(pendulum(spring))
    tie = r["plant.spring_tie"]
    assert tie[:, 2] == pytest.approx(-300 * (L - 0.5), abs=1e-8)  # the rod does not stretch it
    towards = r["plant.body_rod"][:, :3] / L
    assert r["plant.force_tie"][:, :3] == pytest.approx(tie[:, 2:] * towards, abs=1e-8)


def test_a_motor_shows_its_torque():
    """Driven at 2 rad/s: the torque holds the weight's moment."""
    motor = Motion_Joint(id=1, label="motor", joint_id=1, joint_type="R", val_type="D", expr="0.3 + 2*TIME")
    r = run(pendulum(motor), until=0.5)
    torque = r["plant.joint_motor"][:, 5]
    assert torque == pytest.approx(M * G * L * np.sin(0.3 + 2 * r.time), abs=1e-7)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of an operating point that moves
def test_nothing_else_changes():
    plain = pendulum(w=1.0)
    seen, unseen = (linearize(p, inputs=[], outputs=[]) for p in (plain, Plant.from_model(plain.model)))
    assert (seen.A == unseen.A).all()
    quiet = run(Plant.from_model(plain.model))
    states = {"plant.pin.q", "plant.pin.qd"}
    assert set(quiet.keys()) == states and len(set(run(plain).keys()) - states) == 2
