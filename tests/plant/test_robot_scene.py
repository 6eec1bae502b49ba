"""What a tree of spatial_v2 looks like and calls its coordinates, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant.gamma_q import RobotPlant, TreeModel, double_elbow_gears, doubleElbow, mcI, xlt
from plant.gamma_q.robot_scene import robot_scene

NOWHERE = xlt([0.0, 0.0, 0.0])
TENSOR = np.diag([1.0, 2.0, 2.5])


@pytest.fixture(scope="module")
def robot() -> RobotPlant:
    """A body on a hinge; on it a slide one corner away, and a link without mass on its own joint."""
    model = TreeModel(
        (0, 1, 1),
        ("R", "Px", "Ry"),
        (NOWHERE, xlt([1.0, 2.0, 3.0]), NOWHERE),
        (mcI(2.0, (0.1, -0.2, 0.3), TENSOR), mcI(3.0, (0.5, 0.6, -0.7), TENSOR), np.zeros((6, 6))),
        (0.0, 0.0, -9.81),
    )
    return RobotPlant(model, q=[0.1, 0.2, 0.3])


def test_bodies_go_to_their_children_or_to_their_centre(robot):
    first, slide, massless = robot_scene(robot).bodies
    assert (first.name, slide.name, massless.name) == ("body 1", "body 2", "body 3")
    assert (first.link, slide.link, massless.link) == (0, 1, 2)
    assert first.points.tolist() == [[0, 0, 0], [1, 2, 3]]  # the third begins where this one does
    assert first.centre == pytest.approx([0.1, -0.2, 0.3]) and first.mass == 2.0
    assert slide.points == pytest.approx(np.array([[0, 0, 0], [0.5, 0.6, -0.7]]))
    assert slide.centre == pytest.approx([0.5, 0.6, -0.7]) and slide.mass == 3.0
    assert massless.points.tolist() == [[0, 0, 0]] and massless.centre is None


def test_joints_turn_or_slide_along_their_axis(robot):
    scene = robot_scene(robot)
    joints = [(j.name, j.shape, j.link, j.point.tolist(), j.axis.tolist()) for j in scene.joints]
    assert joints == [
        ("joint 1", "pin", 0, [0, 0, 0], [0, 0, 1]),
        ("joint 2", "slider", 1, [0, 0, 0], [1, 0, 0]),
        ("joint 3", "pin", 2, [0, 0, 0], [0, 1, 0]),
    ]
    assert scene.gravity.tolist() == [0, 0, -9.81]


def test_gears_let_an_error_die_within_a_tenth_of_a_second_unless_told():
    """d'' + 2/T d' + d/T^2 = 0 with T = 0.1 s for what the second half of the elbow is off by."""
    d = Diagram("elbow")
    d.add("robot", RobotPlant(doubleElbow(), constraint=double_elbow_gears()))
    d.ground("robot.tau")
    t = np.array([0.0, 0.05, 0.1, 0.3])
    r = simulate(
        d,
        until=0.3,
        log_at=t,
        initial={"robot.q": [0.0, 0.0, 1e-3]},
        rtol=1e-9,
        atol=1e-12,
        engine="reference",
    )
    assert -r["robot.residual"][:, 2] == pytest.approx(1e-3 * (1 + t / 0.1) * np.exp(-t / 0.1), abs=1e-9)
    assert r.labels["robot.q"] == ("q1 [rad]", "q2 [rad]", "q3 [rad]")
    assert r.labels["robot.qd"] == ("qd1 [rad/s]", "qd2 [rad/s]", "qd3 [rad/s]")


def test_a_robot_is_drawn_where_it_starts():
    """Two links that turn about y, the second by a right angle: it hangs down from the end of the first."""
    inertia = mcI(1.0, (0.5, 0.0, 0.0), np.diag([0.0, 0.1, 0.1]))
    model = TreeModel(
        (0, 1), ("Ry", "Ry"), (NOWHERE, xlt([1.0, 0.0, 0.0])), (inertia, inertia), (0.0, 0.0, -9.81)
    )
    found = RobotPlant(model, q=[0.0, np.pi / 2]).picture()
    first, second = (np.diff(line, axis=0)[0] for line in found.lines)
    assert np.allclose(found.lines[0][1], found.lines[1][0])  # hinged where the first ends
    assert abs(second[0]) < 1e-9 < abs(first[0])  # hangs down, as gravity pulls
    assert second[1] > 0.0
    assert len(found.joints) == 2
