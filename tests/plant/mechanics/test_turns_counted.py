"""Angles that count turns by a memory: of bodies whose coordinates are no angles, however fast they turn."""

import numpy as np
import pytest

from cosim import Diagram, Simulation, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.checked import closed_form

AXES = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 1, "a21": 0, "a02": 0, "a12": 0, "a22": 1}


def spinning(rate, coordinates="joint", joint=None, v=0.0):
    """A body that turns about z at `rate` [rad/s], free or on a ball joint, with its angle as the output."""
    joints = [Constraint_Joint(id=1, type=joint, i_marker_id=20, j_marker_id=10)] if joint else []
    body = Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=2, w_ic_z=rate, v_ic_x=v)
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, **AXES),
            body,
            Reference_Marker(id=20, body_id=2, **AXES),
            Reference_Variable(id=1, expr="AZ(20, 10)"),
            Control_PlantOutput(id=1, label="angle", variable_id_list=(1,)),
            *joints,
        ]
    )
    d = Diagram("spin")
    d.add("plant", Plant.from_model(model, coordinates=coordinates))
    return d


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("joint", [None, "SPHERICAL"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("rate", [180.0, -170.0])
def test_more_than_half_a_turn_in_every_step_is_counted(rate, coordinates, joint, engine):
    """3.6 rad per step: the nearest branch would be 2.7 rad back."""
    d = spinning(rate, coordinates, joint)
    r = simulate(d, 1.0, solver="rk4", step=0.02, log_every=0.005, engine=engine)
    assert r["plant.angle"][::4, 0] == pytest.approx(rate * r.time[::4], abs=2.5)  # rk4: 0.04 rad a step
    assert (np.diff(r["plant.angle"][::4, 0]) * np.sign(rate) > 3.0).all()


@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_loose_tolerances_lose_no_turn(checked, coordinates, solver):
    d = spinning(1000.0, coordinates)
    r = simulate(d, 2.0, solver=solver, rtol=1e-2, atol=1e-2, log_at=[0.5, 2.0])
    turned, oracle = r["plant.angle"][:, 0], closed_form("w t")
    checked(turned, 1000 * r.time, "body that spins, rtol 1e-2", "angle with turns", oracle, rtol=0.02)


@pytest.mark.parametrize("start", [0.0, 7.0])
def test_a_run_that_goes_on_later_counts_on(start):
    """Restored at some time, and in the other engine: the angle is that of one run."""
    d = spinning(180.0)
    settings = {"solver": "rk4", "step": 0.02}
    whole = simulate(d, start + 1.0, **settings, log_at=[start + 1.0])["plant.angle"]
    first = Simulation(d, engine="native", **settings)
    first.advance(start)
    second = Simulation(d, engine="reference", **settings)
    second.restore(first.snapshot())
    second.advance(start + 1.0)
    assert second.value("plant.angle") == pytest.approx(whole[-1], abs=1e-9)
