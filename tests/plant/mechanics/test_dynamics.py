"""Mechanisms from the neutral description alone, against closed forms."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

from blocks.errors import ModelError
from plant.description import Body, Connection, Description, Share, frame, rigid_body
from plant.mechanics.dynamics import Dynamics
from plant.mechanics.force_laws import AppliedForce, SpringDamper, TorsionSpring
from plant.reporting import ModelProblems

G = 9.81
HOOK = np.array([1.5, 0.3, 0.0])
both = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def double_pendulum(q1: float, q2: float, forces=()) -> Description:
    """Two rods (2 kg, 1 m) and (1 kg, 0.8 m) in a vertical plane; angles from x, the second absolute."""
    tip = np.array([np.cos(q1), np.sin(q1), 0.0])
    rods = [
        rigid_body("upper", 2.0, 0.5 * tip, np.diag([1e-3, 2 / 12, 2 / 12]), turn(q1)),
        rigid_body(
            "lower",
            1.0,
            tip + 0.4 * np.array([np.cos(q2), np.sin(q2), 0.0]),
            np.diag([1e-3, 0.64 / 12, 0.64 / 12]),
            turn(q2),
        ),
    ]
    joints = [
        Connection(
            "REVOLUTE", ("ground", frame((0, 0, 0))), ("upper", frame((0, 0, 0), turn(q1))), key="hip"
        ),
        Connection("REVOLUTE", ("upper", frame(tip, turn(q1))), ("lower", frame(tip, turn(q2))), key="knee"),
    ]
    end = tip + 0.8 * np.array([np.cos(q2), np.sin(q2), 0.0])
    points = {
        "toe": ("lower", frame(end)),
        "hook": ("ground", frame(HOOK)),
        "above": ("upper", frame(tip, turn(q1))),
        "below": ("lower", frame(tip, turn(q2))),
    }
    return Description.build(rods, joints, points, (0.0, -G, 0.0), "double pendulum", forces)


def double_pendulum_accelerations(q1, q2, w1, w2, push=(0.0, 0.0), torque=0.0):
    """Absolute angles' accelerations (Lagrange): M [a1, a2] = right."""
    m1, m2, l1, l2 = 2.0, 1.0, 1.0, 0.8
    c, s = np.cos(q1 - q2), np.sin(q1 - q2)
    h = m2 * l1 * l2 / 2
    M = np.array([[m1 * l1**2 / 3 + m2 * l1**2, h * c], [h * c, m2 * l2**2 / 3]])
    right = np.array(
        [
            -h * s * w2**2 - (m1 / 2 + m2) * G * l1 * np.cos(q1),
            h * s * w1**2 - m2 * G * l2 / 2 * np.cos(q2),
        ]
    )
    fx, fy = push
    right += [l1 * (-fx * np.sin(q1) + fy * np.cos(q1)), l2 * (-fx * np.sin(q2) + fy * np.cos(q2))]
    right += [-torque, torque]  # on the lower rod, its reaction on the upper one
    return np.linalg.solve(M, right)


@both
def test_a_double_pendulum_in_python(coordinates):
    q1, q2, w1, w2 = 0.4, -1.1, 1.3, -0.7
    dynamics = Dynamics(double_pendulum(q1, q2), coordinates)
    push = {"toe": ((3.0, -2.0, 0.0), (0.0, 0.0, 0.0))}
    a1, a2 = double_pendulum_accelerations(q1, q2, w1, w2, (3.0, -2.0))
    if coordinates == "joint":
        assert dynamics.start == pytest.approx([q1, q2 - q1])
        found = dynamics.at(qd=[w1, w2 - w1], forces=push)
        assert found.qdd == pytest.approx([a1, a2 - a1], abs=1e-12)
        assert dynamics.columns == ("hip: angle rate", "knee: angle rate") and dynamics.rows == ()
        return
    tip, middle = np.array([-np.sin(q1), np.cos(q1)]), np.array([-np.sin(q2), np.cos(q2)])
    v1, v2 = 0.5 * w1 * tip, w1 * tip + 0.4 * w2 * middle
    found = dynamics.at(qd=[*v1, w1, *v2, w2], forces=push)
    assert found.rate == pytest.approx(np.zeros(len(found.rate)), abs=1e-14)
    assert found.Phi == pytest.approx(np.zeros(len(found.Phi)), abs=1e-14)
    assert found.qdd[[2, 5]] == pytest.approx([a1, a2], abs=1e-11)
    assert found.J.shape == (len(dynamics.rows), len(dynamics.columns))


def wind(t, ends):
    (toe,) = ends
    return [((2.0 * ca.sin(3.0 * t), -0.5 * toe.v[1], 0.0), (0.0, 0.0, 0.0))]


FORCES = (
    AppliedForce("spring", ("toe", "hook"), SpringDamper(40.0, 3.0, 0.5, preload=1.5)),
    AppliedForce("knee spring", ("below", "above"), TorsionSpring(5.0, 0.8, 0.2, preload=0.3)),
    AppliedForce("wind", ("toe",), wind),
)


def push_and_torque(q1, q2, w1, w2, t):
    """Forces of `FORCES` by hand: on the toe (2,), of its spring alone (2,), and the torque at the knee."""
    toe = np.array([np.cos(q1) + 0.8 * np.cos(q2), np.sin(q1) + 0.8 * np.sin(q2)])
    v = np.array([-w1 * np.sin(q1) - 0.8 * w2 * np.sin(q2), w1 * np.cos(q1) + 0.8 * w2 * np.cos(q2)])
    n = (toe - HOOK[:2]) / np.linalg.norm(toe - HOOK[:2])
    spring = (-40.0 * (np.linalg.norm(toe - HOOK[:2]) - 0.5) - 3.0 * (v @ n) + 1.5) * n
    torque = -5.0 * (q2 - q1 - 0.2) - 0.8 * (w2 - w1) + 0.3
    return spring + np.array([2.0 * np.sin(3.0 * t), -0.5 * v[1]]), spring, torque


@both
@pytest.mark.parametrize(
    ("q1", "q2", "w1", "w2", "t"), [(0.4, -1.1, 1.3, -0.7, 0.2), (-2.0, 0.3, -0.4, 2.1, 1.7)]
)
def test_forces_of_a_description_on_a_double_pendulum(coordinates, q1, q2, w1, w2, t):
    """A spring with a damper to the ground, one at the knee and a wind, against Lagrange's equations."""
    push, spring, torque = push_and_torque(q1, q2, w1, w2, t)
    a1, a2 = double_pendulum_accelerations(q1, q2, w1, w2, push, torque)
    if coordinates == "joint":  # away from the design
        dynamics = Dynamics(double_pendulum(0.1, 0.5, FORCES))
        found = dynamics.at([q1, q2 - q1], [w1, w2 - w1], time=t)
        assert found.qdd == pytest.approx([a1, a2 - a1], rel=1e-12)
    else:
        dynamics = Dynamics(double_pendulum(q1, q2, FORCES), coordinates)
        tip, middle = np.array([-np.sin(q1), np.cos(q1)]), np.array([-np.sin(q2), np.cos(q2)])
        v1, v2 = 0.5 * w1 * tip, w1 * tip + 0.4 * w2 * middle
        found = dynamics.at(qd=[*v1, w1, *v2, w2], time=t)
        assert found.qdd[[2, 5]] == pytest.approx([a1, a2], rel=1e-11)
    assert list(found.forces) == ["spring", "knee spring", "wind"]
    assert found.forces["spring"] == pytest.approx(
        np.array([[*spring, 0, 0, 0, 0], [*-spring, 0, 0, 0, 0]]), abs=1e-11
    )
    assert found.forces["knee spring"][:, 5] == pytest.approx([torque, -torque])
    assert found.forces["wind"].shape == (1, 6)


@both
def test_forces_given_and_forces_of_the_description_are_added(coordinates):
    push = {"toe": ((3.0, -2.0, 0.0), (0.0, 0.0, 0.4))}
    plain, sprung = (Dynamics(double_pendulum(0.4, -1.1, own), coordinates) for own in ((), FORCES))
    acting = sprung.at(time=0.3).forces
    by_hand = {key: (np.zeros(3), np.zeros(3)) for key in ("toe", "above", "below")}
    for force in FORCES:
        for key, (*F, Tx, Ty, Tz) in zip(force.frames, acting[force.key], strict=True):
            if key in by_hand:
                by_hand[key] = by_hand[key][0] + F, by_hand[key][1] + [Tx, Ty, Tz]
    by_hand["toe"] = by_hand["toe"][0] + push["toe"][0], by_hand["toe"][1] + push["toe"][1]
    assert sprung.at(forces=push, time=0.3).qdd == pytest.approx(plain.at(forces=by_hand).qdd, rel=1e-12)


def four_bar(crank: float, forces=()) -> tuple[Description, np.ndarray]:
    """A parallelogram of massless-inertia rods: crank and rocker 1 m, coupler and ground 2 m."""
    along = np.array([np.cos(crank), np.sin(crank), 0.0])
    A, B = along, along + np.array([2.0, 0.0, 0.0])
    rods = [
        rigid_body("crank", 1.0, along / 2, np.diag([1e-3, 1 / 12, 1 / 12]), turn(crank)),
        rigid_body("coupler", 3.0, (A + B) / 2, np.diag([1e-3, 1.0, 1.0])),
        rigid_body(
            "rocker", 1.0, np.array([2.0, 0, 0]) + along / 2, np.diag([1e-3, 1 / 12, 1 / 12]), turn(crank)
        ),
    ]
    joints = [
        Connection(
            "REVOLUTE", ("ground", frame((0, 0, 0))), ("crank", frame((0, 0, 0), turn(crank))), key="a"
        ),
        Connection("REVOLUTE", ("crank", frame(A)), ("coupler", frame(A)), key="b"),
        Connection("REVOLUTE", ("rocker", frame(B)), ("coupler", frame(B)), key="c"),
        Connection(
            "REVOLUTE", ("ground", frame((2, 0, 0))), ("rocker", frame((2, 0, 0), turn(crank))), key="d"
        ),
    ]
    points = {"A": ("coupler", frame(A)), "D": ("ground", frame((2, 0, 0)))}
    return Description.build(rods, joints, points, (0.0, -G, 0.0), forces=forces), along


@both
@pytest.mark.parametrize("sprung", [False, True])
def test_a_closed_four_bar_in_python(coordinates, sprung):
    """Crank angle x: (2/3 + 3) x'' = -(1 + 3) g cos x + F . dA/dx, since the coupler only translates.

    F is the force of a spring with a damper across the diagonal, from the crank's end A to the foot D.
    """
    crank, rate = 0.7, 2.0
    tie = AppliedForce("tie", ("A", "D"), SpringDamper(25.0, 4.0, 1.2))
    description, along = four_bar(crank, [tie] if sprung else [])
    dynamics = Dynamics(description, coordinates)
    slope, d = np.array([-along[1], along[0], 0.0]), along - [2.0, 0.0, 0.0]
    L = np.linalg.norm(d)
    F = -25.0 * (L - 1.2) - 4.0 * rate * (slope @ d) / L
    expected = (-4 * G * np.cos(crank) + sprung * F * (slope @ d) / L) / (2 / 3 + 3)
    names = [link.name for link in dynamics.mechanism.links]
    speed = rate * np.array([-along[1], along[0]])
    if coordinates == "joint":
        own = {"a": rate, "b": -rate, "c": -rate, "d": rate}
        found = dynamics.at(qd=[own[name] for name in names])
        assert found.qdd[names.index("a")] == pytest.approx(expected, abs=1e-11)
    else:
        own = {"crank": [*speed / 2, rate], "coupler": [*speed, 0.0], "rocker": [*speed / 2, rate]}
        found = dynamics.at(qd=np.concatenate([own[name] for name in names]))
        assert found.qdd[3 * names.index("crank") + 2] == pytest.approx(expected, abs=1e-11)
    assert found.rate == pytest.approx(np.zeros(len(found.rate)), abs=1e-14)
    assert any("joint" in row for row in dynamics.rows)


@both
def test_a_nut_on_a_spindle(coordinates):
    """A helical joint along gravity: (Iz + m h^2) q'' = -m h g, and it holds a loop as it holds a tree."""
    h, Iz, m = 0.2, 0.05, 3.0
    nut = rigid_body("nut", m, (0.0, 0.0, 0.4), np.diag([0.1, 0.1, Iz]))
    thread = Connection(
        "HELICAL", ("ground", frame((0, 0, 0))), ("nut", frame((0, 0, 0))), {"pitch": h}, key="thread"
    )
    dynamics = Dynamics(Description.build([nut], [thread], gravity=(0.0, 0.0, -G)), coordinates)
    alpha = -m * h * G / (Iz + m * h**2)
    found = dynamics.at()
    if coordinates == "joint":
        assert found.qdd == pytest.approx([alpha])
    else:
        assert found.qdd == pytest.approx([0, 0, alpha, 0, 0, h * alpha], abs=1e-12)
        assert len(found.lam) == 5


@both
def test_a_rack_on_its_pinion(coordinates):
    """(I + m R^2) w' = m g R where the rack slides along gravity, and x = R times the turn of the pinion."""
    R, I, m = 0.3, 0.4, 2.0
    pinion = rigid_body("pinion", 5.0, (0.0, 0.0, 0.0), np.diag([1.0, 1.0, I]))
    rack = rigid_body("rack", m, (0.7, -R, 0.0), np.diag([0.1, 0.1, 0.1]))
    along_x = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    guide, toothed = frame((0.7, -R, 0.0), along_x), frame((0, 0, 0), turn(0.4))
    joints = [
        Connection("REVOLUTE", ("ground", frame((0, 0, 0))), ("pinion", frame((0, 0, 0))), key="axle"),
        Connection("TRANSLATIONAL", ("ground", guide), ("rack", guide), key="guide"),
        Connection(
            "RACK_PINION", ("rack", guide), ("pinion", toothed), {"pitch_diameter": 2 * R}, key="teeth"
        ),
    ]
    dynamics = Dynamics(Description.build([pinion, rack], joints, gravity=(G, 0.0, 0.0)), coordinates)
    alpha = m * G * R / (I + m * R**2)
    names = [link.name for link in dynamics.mechanism.links]
    q, qd, expected = dynamics.start.copy(), np.zeros(len(dynamics.columns)), np.zeros(len(dynamics.columns))
    if coordinates == "joint":
        places = {names.index("axle"): 1.0, names.index("guide"): R}
    else:
        places = {3 * names.index("pinion") + 2: 1.0, 3 * names.index("rack"): R}
    for k, factor in places.items():
        q[k], qd[k], expected[k] = q[k] + 1.1 * factor, 2.0 * factor, alpha * factor
    found = dynamics.at(q, qd)
    assert found.qdd == pytest.approx(expected, abs=1e-12)
    assert found.Phi == pytest.approx(0.0, abs=1e-12) and found.rate == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("type", ["Rx", "Ry", "Px", "Py"])
def test_joints_of_spatial_v2_give_one_motion_in_both_coordinates(type):
    """Tilted frames, a body off the joint: the accelerations of its centre agree."""
    rng = np.random.default_rng(3)
    A, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    A = A * np.sign(np.linalg.det(A))
    at = frame(rng.normal(size=3), A)
    body = rigid_body("body", 1.3, rng.normal(size=3), np.diag([0.2, 0.3, 0.4]), A)
    tie = Connection(type, ("ground", at), ("body", at))
    description = Description.build([body], [tie], {"centre": ("body", body.centre)}, (1.0, 2.0, -9.0))
    one, other = Dynamics(description), Dynamics(description, "absolute")
    reach = np.array(one._jacobian("centre")(one.start))
    assert other.at().qdd[3:] == pytest.approx((reach @ one.at().qdd)[:3], abs=1e-12)


def test_a_description_can_be_pickled():
    description = pickle.loads(pickle.dumps(double_pendulum(0.1, 0.2)))
    assert Dynamics(description).at().qdd == pytest.approx(
        Dynamics(double_pendulum(0.1, 0.2)).at().qdd, abs=0
    )


def test_a_description_with_forces_can_be_pickled():
    description = pickle.loads(pickle.dumps(double_pendulum(0.1, 0.2, FORCES)))
    assert (
        Dynamics(description).at().qdd.tolist()
        == Dynamics(double_pendulum(0.1, 0.2, FORCES)).at().qdd.tolist()
    )


def test_forces_that_cannot_be_are_refused():
    spring = SpringDamper(stiffness=1.0)
    with pytest.raises(ModelProblems) as caught:
        double_pendulum(
            0.1,
            0.2,
            [
                AppliedForce("a", ("toe", "hok"), spring),
                AppliedForce("a", ("toe",), spring),
                AppliedForce("b", ("toe", "hook"), TorsionSpring(np.nan)),
                AppliedForce("c", (), wind),
                AppliedForce("d", ("toe",), 3.0),
            ],
        )
    text = str(caught.value)
    for part in (
        "force 'a': there is no frame 'hok'; did you mean 'hook'", "force 'a': the key is used twice",
        "acts between two frames, I and J, not at 1", "stiffness=nan is no finite number",
        "force 'c': acts at no frame", "force 'd': its law is 3.0",
    ):  # fmt: skip
        assert part in text
    for law, part in (
        (lambda t, ends: [], r"gives 0 pairs \(force, torque\), expected 1"),
        (lambda t, ends: [((1.0, 2.0), (0.0, 0.0, 0.0))], "2 components, expected 3"),
        (lambda t, ends: ends[1], "its law fails on symbols"),
    ):
        with pytest.raises(ModelError, match=part) as refused:
            Dynamics(double_pendulum(0.1, 0.2, [AppliedForce("push", ("toe",), law)]))
        assert refused.value.path == "force 'push'"


def test_everything_wrong_with_a_description_is_told_at_once():
    crooked = frame((0, 0, 0), np.diag([1.0, 2.0, 1.0]))
    with pytest.raises(ModelProblems) as caught:
        Description.build(
            [
                rigid_body("arm", -1.0, (0, 0, 0)),
                Body("arm", (Share("I", 1.0, np.array([[1.0, 2.0, 0], [0, 1, 0], [0, 0, 1]])),)),
            ],
            [
                Connection("REVOLUT", ("ground", frame((0, 0, 0))), ("arm", frame((0, 0, 0)))),
                Connection("HELICAL", ("ground", crooked), ("ram", frame((0, 0, 0)))),
                Connection("FIXED", ("arm", frame((0, 0, np.nan))), ("arm", frame((0, 0, 0)))),
            ],
            gravity=(0.0, 1.0),
        )
    text = str(caught.value)
    for part in (
        "the key is used twice", "mass=-1 is negative", "I is not symmetric", "did you mean 'REVOLUTE'",
        "pitch is missing", "not orthonormal (off by 3)", "no body 'ram'", "not finite",
        "two different bodies", "gravity is (0.0, 1.0)",
    ):  # fmt: skip
        assert part in text


def test_wrong_shapes_and_names_are_refused():
    dynamics = Dynamics(double_pendulum(0.1, 0.2))
    with pytest.raises(ModelError, match=r"q has shape \(3,\), expected \(2,\)"):
        dynamics.at(q=[0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="there is no frame 'tow'; did you mean 'toe'"):
        dynamics.at(forces={"tow": ((0, 0, 0), (0, 0, 0))})
    with pytest.raises(ModelError, match="coordinates='joints'"):
        Dynamics(double_pendulum(0.1, 0.2), "joints")
