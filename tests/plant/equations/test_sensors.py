"""Sensors: what they store, print and start anew, and runs that they end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Force_Gravity,
    Model,
    Post_Request,
    Reference_Variable,
    Sensor_Evaluate,
    Sensor_Event,
)
from plant.reporting import PlantWarning
from tests.helpers.trees import marker
from tests.plant.equations.test_controls import outputs, run, slider


# --- sensors --------------------------------------------------------------------------------------------
def test_sensor_stores_a_value_at_its_event():
    """At x = 1 (t = 0.8 with v = 1.25) the time is stored; SENVAL is 0 before."""
    elements = [
        Sensor_Event(id=1, expr="DX(20)", value=1.0, compare="GE", evaluate_id=7),
        Sensor_Evaluate(id=7, expr="100*TIME"),
        Reference_Variable(id=1, expr="SENVAL(7)"),
    ]
    y = run(slider(*elements, outputs(1), v=1.25), np.array([0.0, 0.79, 0.81, 2.0]))["plant.y"].ravel()
    assert y == pytest.approx([0.0, 0.0, 80.0, 80.0], abs=1e-6)


@pytest.mark.parametrize(
    ("compare", "expr", "end"), [("GE", "DX(20)", 0.8), ("LE", "2 - DX(20)", 0.8), ("EQ", "DX(20)", 0.8)]
)
def test_sensor_ends_the_run(compare, expr, end):
    sensor = Sensor_Event(id=1, label="limit", expr=expr, value=1.0, compare=compare, halt=True)
    r = run(slider(sensor, v=1.25), np.array([0.0, 0.5, 2.0]))
    assert r.events[0].time == pytest.approx(end, abs=1e-9)
    assert r.time[-1] == r.events[0].time and 'Sensor_Event id=1 "limit": reached 1' in r.message


def test_sensor_against_its_direction_does_not_fire():
    sensor = Sensor_Event(id=1, expr="DX(20)", value=1.0, compare="LE", halt=True)
    assert run(slider(sensor, v=1.25), np.array([0.0, 2.0])).time[-1] == 2.0


def test_sensor_without_an_action_is_mentioned():
    with pytest.warns(PlantWarning) as caught:
        slider(Sensor_Event(id=1, expr="DX(20)", value=1.0, stepsize=1e-3, hmax=0.1, dt=0.2))
    texts = [str(w.message) for w in caught]
    assert any("Sensor_Event id=1: dt, stepsize, hmax change nothing" in t and "max_step" in t for t in texts)
    assert any("Sensor_Event id=1: has no effect" in t for t in texts)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_sensor_prints_and_restarts(engine):
    """At x = 1 the instant is among the events, with the values of all outputs, and a step ends there."""
    elements = [
        Sensor_Event(id=1, label="mark", expr="DX(20)", value=1.0, compare="GE", print=True, restart=True),
        Reference_Variable(id=1, expr="DX(20)**2"),
        Reference_Variable(id=2, expr="VX(20)"),
        Post_Request(id=3, type="EXPRESSION", expr1="3*TIME"),
    ]
    d = Diagram("marks")
    d.add("plant", slider(*elements, outputs(1, 2), v=1.25))
    r = simulate(d, until=2.0, log_every="step", engine=engine)
    (event,) = r.events
    assert event.time == pytest.approx(0.8, abs=1e-12) and event.name.endswith("mark_1")
    assert event.after["plant.mark_1.y"] == pytest.approx((1.0, 1.25))
    assert event.after["plant.mark_1.request_3"] == pytest.approx((2.4,))
    assert np.min(np.abs(r.time - event.time)) == 0.0


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(
    ("stored", "expected"),
    [("100*TIME", 80.0), ("SENVAL(7) + 1", 3.0), ("2*SENVAL(7) + VX(20)", 1.25 * (1 + 2 + 4))],
)
def test_sensors_that_share_an_evaluation_fire_one_after_the_other(stored, expected, engine):
    """All three fire at x = 1 (t = 0.8 with v = 1.25): what is stored is evaluated at each of them."""
    elements = [
        Sensor_Event(id=1, expr="DX(20)", value=1.0, compare="GE", evaluate_id=7),
        Sensor_Event(id=2, expr="2*DX(20)", value=2.0, compare="GE", evaluate_id=7),
        Sensor_Event(id=3, expr="-DX(20)", value=-1.0, compare="LE", evaluate_id=7),
        Sensor_Evaluate(id=7, expr=stored),
        Reference_Variable(id=1, expr="SENVAL(7)"),
    ]
    d = Diagram("shared")
    d.add("plant", slider(*elements, outputs(1), v=1.25))
    r = simulate(d, until=2.0, log_at=[0.79, 0.81, 2.0], engine=engine)
    assert r["plant.y"].ravel() == pytest.approx([0.0, expected, expected], abs=1e-9)
    assert [(e.name, e.time) for e in r.events] == [
        (f"plant.sensor_{k}", pytest.approx(0.8, abs=1e-12)) for k in (1, 2, 3)
    ]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_sensor_that_reads_what_another_has_just_stored_looks_again(engine):
    """Sensor 2 would fire at x = 1 too, but the value that sensor 1 stores there puts that off to x = 2."""
    elements = [
        Sensor_Event(id=1, expr="DX(20)", value=1.0, compare="GE", evaluate_id=7),
        Sensor_Event(id=2, expr="DX(20) - SENVAL(7)", value=1.0, compare="GE", evaluate_id=7),
        Sensor_Evaluate(id=7, expr="1 + SENVAL(7)"),
        Reference_Variable(id=1, expr="SENVAL(7)"),
    ]
    d = Diagram("later")
    d.add("plant", slider(*elements, outputs(1), v=1.25))
    r = simulate(d, until=2.0, log_at=[0.81, 1.61, 2.0], engine=engine)
    assert r["plant.y"].ravel() == pytest.approx([1.0, 2.0, 2.0])
    assert [e.time for e in r.events] == pytest.approx([0.8, 1.6], abs=1e-9)


@pytest.mark.parametrize(("compare", "rtol"), [("EQ", 1e-8), ("EQ", 1e-5), ("GE", 1e-5)])
@pytest.mark.parametrize(("coordinates", "engine"), [("joint", "native"), ("absolute", "reference")])
def test_a_sensor_counts_the_passages_of_a_spherical_pendulum(compare, rtol, coordinates, engine):
    """n'' = -|n'|^2 n + (m g l / J) (down - (down . n) n), counted by SciPy, which needs no constraint."""
    mass, inertia, centre = 2.0, 0.1, np.array([0.3, 0.1, -0.4])
    model = Model.build(
        [
            Force_Gravity(grav_z=-9.81),
            Body_Rigid(id=1, isground=True),
            marker(1, 1, np.zeros(3), np.eye(3)),
            Body_Rigid(
                id=2, cg_id=20, mass=mass, inertia_xx=inertia, inertia_yy=inertia, inertia_zz=inertia,
                v_ic_x=0.5, v_ic_y=-1.5,
            ),
            marker(20, 2, centre, np.eye(3)),
            marker(21, 2, np.zeros(3), np.eye(3)),
            Constraint_Joint(id=1, type="SPHERICAL", i_marker_id=21, j_marker_id=1),
            Sensor_Event(id=1, expr="DX(20)", value=0.1, compare=compare, evaluate_id=1),
            Sensor_Evaluate(id=1, expr="SENVAL(1) + 1"),
            *(Reference_Variable(id=k, expr=f"{name}(20)") for k, name in enumerate(["VX", "VY", "VZ"], 1)),
            Reference_Variable(id=4, expr="SENVAL(1)"),
            outputs(1, 2, 3, 4),
        ]
    )  # fmt: skip
    plant = Plant.from_model(model, coordinates=coordinates)
    r = simulate(plant, 10.0, log_at=[0.0, 10.0], engine=engine, rtol=rtol)
    length = np.linalg.norm(centre)
    pull = mass * 9.81 * length / (inertia + mass * length**2)
    down = np.array([0.0, 0.0, -1.0])

    def rates(t, state):
        n, v = state[:3], state[3:]
        return np.concatenate([v, -(v @ v) * n + pull * (down - (down @ n) * n)])

    def passes(t, state):
        return state[0] * length - 0.1

    passes.direction = 1.0 if compare == "GE" else 0.0
    start = np.concatenate([centre, r["plant.y"][0, :3]]) / length
    (times,) = solve_ivp(rates, (0.0, 10.0), start, "DOP853", events=passes, rtol=1e-10, atol=1e-12).t_events
    assert [e.time for e in r.events] == pytest.approx(times, abs=1e-2)
    assert r["plant.y"][-1, 3] == len(times)
