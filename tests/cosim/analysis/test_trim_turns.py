"""Rests of mechanisms with an angle that has turned by more than half a turn; against own statics."""

import numpy as np
import pytest

from blocks import ODE, TurnCounter
from cosim import Diagram, linearize, simulate, trim, trim_table
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Force_Bushing,
    Force_Gravity,
    Model,
)
from tests.helpers.trees import marker, random_rotation

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
COORDINATES = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
MASS, GRAVITY, INERTIA = 1.0, 9.81, 0.1


def on_a_ball(coordinates, centre, A_ground, A_body, **bushing):
    """A body on a ball joint at the origin, held by a bushing that turns only."""
    model = Model.build(
        [
            Force_Gravity(grav_z=-GRAVITY),
            Body_Rigid(id=1, isground=True),
            marker(1, 1, np.zeros(3), A_ground),
            Body_Rigid(id=2, cg_id=20, mass=MASS, inertia_xx=INERTIA, inertia_yy=INERTIA, inertia_zz=INERTIA),
            marker(20, 2, centre, np.eye(3)),
            marker(21, 2, np.zeros(3), A_body),
            Constraint_Joint(id=1, type="SPHERICAL", i_marker_id=21, j_marker_id=1),
            Force_Bushing(id=1, i_marker_id=21, j_marker_id=1, **bushing),
        ]
    )
    return Plant.from_model(model, coordinates=coordinates)


def moves(plant, point, engine, until=0.3):
    """How far the coordinates go in a run from a point."""
    r = simulate(plant, until, initial=point.initial, log_at=[0.0, until], engine=engine, rtol=1e-9)
    return max(float(np.abs(np.diff(r[n], axis=0)).max()) for n in r.signals if n.endswith(".q"))


@COORDINATES
def test_a_rest_may_be_full_turns_away(coordinates):
    """A pendulum turned about its own axis: kt a = preload at a = 4 and 14 rad, omega^2 = kt / I."""
    kt, preload = 0.4, [0.4, 1.6, 5.6]
    plant = on_a_ball(
        coordinates, np.array([0.0, 0.0, -0.2]), np.eye(3), np.eye(3), ktz=kt, preload_tz=preload[0]
    )
    table = trim_table(plant, {"Force_Bushing/1.preload_tz": preload})
    first, *others = table.points
    assert first.sampled == {}
    for point, torque in zip(others, preload[1:], strict=True):
        assert point.sampled["AZ(21,1)"] == pytest.approx([torque / kt], abs=1e-9)
        given = {"Force_Bushing/1.preload_tz": torque}
        ss = linearize(plant, at=point, parameters=given)
        turning = np.sqrt(kt / INERTIA) * 1j
        assert np.abs(np.linalg.eigvals(ss.A) - turning).min() < 1e-9
    alone = trim(plant, parameters={"Force_Bushing/1.preload_tz": preload[1]})
    assert alone.sampled["AZ(21,1)"] == pytest.approx([4.0], abs=1e-9)


@COORDINATES
@pytest.mark.parametrize(("seed", "engine"), [(5, "reference"), (34, "native")])
def test_torques_balance_where_an_angle_is_counted(seed, coordinates, engine):
    """c x m g + A_J (-K a) = 0 about the ball, with a the counted angles; a run from there stays."""
    rng = np.random.default_rng(seed)
    A_ground, A_body, centre = random_rotation(rng), random_rotation(rng), np.array([0.3, -0.2, 0.1])
    stiffness = {"ktx": 0.3, "kty": 0.5, "ktz": 0.4}
    plant = on_a_ball(coordinates, centre, A_ground, A_body, **stiffness, ctx=0.1, cty=0.1, ctz=0.1)
    point = trim(plant)
    (link,) = plant.mechanism.links
    (_, turned), design = plant.mechanism.frames_at([point.states[f"{link.name}.q"]])[0], link.frame[1]
    Q = turned @ design.T
    R = A_ground.T @ Q @ A_body
    a = np.arctan2([R[2, 1], R[0, 2], R[1, 0]], [R[1, 1], R[2, 2], R[0, 0]])
    counted = [point.sampled.get(f"A{axis}(21,1)", [np.nan])[0] for axis in "XYZ"]
    assert not np.isnan(counted).all()
    a = np.where(np.isnan(counted), a, a + 2 * np.pi * np.round((counted - a) / (2 * np.pi)))
    weight = np.cross(Q @ centre, [0.0, 0.0, -MASS * GRAVITY])
    assert weight + A_ground @ (-np.array(list(stiffness.values())) * a) == pytest.approx(
        np.zeros(3), abs=1e-9
    )
    assert moves(plant, point, engine) < 1e-9


def test_a_turn_counter_is_followed():
    """x' = 5 - y rests at x = 5, where y is more than half a turn from 0."""
    d = Diagram("heading")
    d.add("x", ODE(lambda t, x, u: 5.0 - u, 0.0, lambda t, x, u: x, inputs=1))
    d.add("count", TurnCounter())
    d.connect("x.y -> count.u")
    d.connect("count.y -> x.u")
    assert trim(d).states["x.x"] == pytest.approx([5.0])
