"""spatial_v2 models and coordinate constraints."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks import Constant
from blocks.errors import BlockError
from cosim import Diagram, simulate
from plant.gamma_q import (
    RobotPlant,
    TreeModel,
    autoTree,
    double_elbow_gears,
    doubleElbow,
    dynamics,
    floatbase,
    gamma,
    planar,
    scissor,
    singlebody,
    vee,
)


def numbers(model: TreeModel, q, qd):
    """H, C, KE and PE as numbers."""
    a, b = ca.SX.sym("q", model.NB), ca.SX.sym("qd", model.NB)
    d = dynamics(model, a, b)
    return [np.array(v) for v in ca.Function("f", [a, b], [d.H, d.C, d.KE, d.PE])(q, qd)]


def run(plant: RobotPlant, tau, until: float, **options):
    d = Diagram("robot")
    p = d.add("robot", plant)
    d.connect(d.add("torque", Constant(tau))["y"], p["tau"])
    return simulate(d, until=until, rtol=1e-10, atol=1e-12, engine="reference", **options)


def test_planar2_in_closed_form():
    q, qd = np.array([0.3, -0.8]), np.array([0.7, 1.1])
    H, C, KE, PE = numbers(planar(2), q, qd)
    c, s = np.cos(q[1]), np.sin(q[1])
    exact = np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])
    assert pytest.approx(exact) == H
    assert C.ravel() == pytest.approx([-s * (qd[0] * qd[1] + qd[1] ** 2 / 2), s * qd[0] ** 2 / 2])
    assert KE.item() == pytest.approx(qd @ exact @ qd / 2) and PE.item() == 0.0


def test_gravity_and_potential_energy():
    """C at rest is the gradient of PE."""
    model = autoTree(4, 1.5, np.pi / 3, 0.9)
    rng = np.random.default_rng(1)
    q = rng.normal(size=4)
    _, C, _, _ = numbers(model, q, np.zeros(4))
    h = 1e-6
    slope = [
        (numbers(model, q + h * e, 0 * q)[3].item() - numbers(model, q - h * e, 0 * q)[3].item()) / (2 * h)
        for e in np.eye(4)
    ]
    assert C.ravel() == pytest.approx(slope, abs=1e-8)


def test_auto_tree_branches():
    assert autoTree(7, 2.0).parent == (0, 1, 1, 2, 2, 3, 3)
    assert autoTree(3).parent == (0, 1, 2)


def test_free_body_keeps_its_energy():
    r = run(RobotPlant(singlebody(), qd=[0.1, 0.2, 0.3, 0.2, 0.1, 3.0]), np.zeros(6), 3.0)
    KE = r["robot.KE"].ravel()
    assert pytest.approx(KE[0], rel=1e-8) == KE
    assert floatbase(autoTree(3)).NB == 8


def four_outputs(model, qo, qdo):
    """The function printed in the document, line by line."""
    y = qo[0]
    q = np.stack([y, 2 * np.sin(y)])
    G = [[1.0], [2 * np.cos(y)]]
    yd = qdo[0]
    qd = np.stack([yd, 2 * np.cos(y) * yd])
    g = np.stack([0 * y, -2 * np.sin(y) * yd**2])
    Tstab = 0.1
    return q, qd, G, g + 2 / Tstab * (qd - qdo) + 1 / Tstab**2 * (q - qo)


def test_both_forms_are_the_same_equations():
    short = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=[0])
    runs = [
        run(RobotPlant(planar(2), [0.2, 0.0], [1.0, 0.0], constraint=c), [1.0, 0.0], 1.0, log_at=[1.0])
        for c in (short, four_outputs)
    ]
    assert runs[0]["robot.q"] == pytest.approx(runs[1]["robot.q"], abs=1e-12)


def test_independent_coordinates_may_be_a_function_of_q():
    by_index = gamma(lambda y: [y[0], 3 * y[0]], independent=[0])
    by_function = gamma(lambda y: [y[0], 3 * y[0]], independent=lambda q: q[1:2] / 3)
    ends = []
    for constraint in (by_index, by_function):
        robot = RobotPlant(planar(2), [0.1, 0.3], constraint=constraint)
        ends.append(run(robot, [1.0, 0.5], 1.0, log_at=[1.0])["robot.q"])
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_initial_values_are_moved_onto_the_constraint():
    robot = RobotPlant(planar(2), [0.2, 9.0], [1.0, 9.0], constraint=four_outputs)
    assert robot.q == pytest.approx([0.2, 2 * np.sin(0.2)])
    assert robot.qd == pytest.approx([1.0, 2 * np.cos(0.2)])


def test_stabilisation_removes_an_error_within_a_few_tstab():
    """d'' + 2/T d' + d/T^2 = 0 for the error d of q2: critically damped."""
    free = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=[0], Tstab=0.05)
    robot = RobotPlant(planar(2), constraint=free)
    times = [0.0, 0.05, 0.1, 0.5]
    r = run(robot, [0.0, 0.0], 0.5, log_at=times, initial={"robot.q": [0.0, 1e-3]})
    t = np.array(times) / 0.05
    assert -r["robot.residual"][:, 1] == pytest.approx(1e-3 * (1 + t) * np.exp(-t), abs=1e-8)


def test_gears_of_a_double_elbow():
    """A piece of 0.25 m without mass between two links; both halves of the elbow turn alike."""
    model = doubleElbow()
    q = np.array([0.3, 0.4, 0.4])
    H = numbers(model, q, np.zeros(3))[0]
    rates = np.array([0.7, -0.2, -0.2])
    w = np.cumsum(rates)  # of link 1, the piece and link 2
    angle = np.cumsum(q)
    e = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    v = w[0] * e[0] + 0.25 * w[1] * e[1] + 0.5 * w[2] * e[2]  # of the second link's middle
    exact = w[0] ** 2 / 6 + (v @ v + w[2] ** 2 / 12) / 2
    assert rates @ H @ rates / 2 == pytest.approx(exact, rel=1e-12)

    r = run(RobotPlant(model, constraint=double_elbow_gears()), [1.0, 0.5, 0.0], 1.0)
    q = r["robot.q"]
    assert q[:, 1] == pytest.approx(q[:, 2], abs=1e-9) and np.ptp(q[:, 1]) > 0.1
    assert r["robot.KE"].ravel() == pytest.approx(q[:, 0] + 0.5 * q[:, 1], abs=1e-7)  # work of the torques


def test_scissors_and_two_rods_by_hand():
    """Kinetic energies: blades that shut symmetrically, two rods that turn about their joint."""
    blades = numbers(scissor(), np.zeros(7), [0, 0, 0, 0, -1.0, 0, 2.0])
    assert blades[2] == pytest.approx(2 * 1.04 / 12 / 2)
    L2 = 0.5
    folding = numbers(vee(L2), np.zeros(7), [0, 0, 0, 0, 0, 0, 1.0])
    thin, wide = 5e-5, (L2**2 + 3e-4) / 12
    about_joint = L2 * ((thin + wide) / 2 + (L2 / 2) ** 2 / 2)  # its axis is at 45 degrees to the rod
    assert folding[2] == pytest.approx(about_joint / 2)
    moved = numbers(vee(L2), np.zeros(7), [1.0, 0, 0, 0, 0, 0, 0])
    assert moved[2] == pytest.approx((1 + L2) / 2)


@pytest.mark.parametrize("model", [scissor(), vee(0.6)], ids=["scissor", "vee"])
def test_free_pairs_keep_their_energy(model):
    rates = [0.1, -0.2, 0.3, 0.4, 0.1, -0.2, 1.5]
    r = run(RobotPlant(model, qd=rates), np.zeros(7), 2.0)
    KE = r["robot.KE"].ravel()
    assert pytest.approx(KE[0], rel=1e-8) == KE and KE[0] > 0.1
    assert np.ptp(r["robot.qd"][:, 6]) > 1e-3


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: RobotPlant(planar(2), q=[1.0]), "q has shape (1,), expected (2,)"),
        (lambda: gamma(lambda y: y, [0], Tstab=0.0), "Tstab is 0.0 s"),
        (lambda: RobotPlant(planar(2), constraint=gamma(lambda y: [y[0]], [0])), "1 coordinates, expected 2"),
        (lambda: RobotPlant(planar(2), constraint=lambda m, q, qd: (q, qd)), "returned 2 values"),
        (lambda: TreeModel((0,), ("Q",), planar(1).Xtree, planar(1).I), "jtype 'Q' of body 1"),
        (lambda: TreeModel((1,), ("R",), planar(1).Xtree, planar(1).I), "parent of body 1 is 1"),
        (lambda: TreeModel((0, 1), ("R",), planar(1).Xtree, planar(1).I), "expected as many each"),
    ],
)
def test_refused(make, part):
    with pytest.raises(BlockError) as caught:
        make()
    assert part in str(caught.value)
