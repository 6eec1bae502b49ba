"""spatial_v2 models and coordinate constraints."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from blocks import Constant
from blocks.errors import BlockError
from cosim import Diagram, simulate
from plant.energy import ledger
from plant.gamma_q import (
    EnerMo,
    FDgq,
    HandC,
    RobotPlant,
    TreeModel,
    autoTree,
    double_elbow_gears,
    doubleElbow,
    dynamics,
    floatbase,
    gamma,
    mcI,
    planar,
    plux,
    rotx,
    rotz,
    scissor,
    singlebody,
    vee,
    xlt,
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


# --- numbers ---------------------------------------------------------------------------------------------
def printed(model, qo, qdo):
    """The function printed in the document, in NumPy."""
    y = qo[0]
    q = np.array([y, 2 * np.sin(y)])
    G = np.array([1.0, 2 * np.cos(y)])
    yd = qdo[0]
    qd = np.array([yd, 2 * np.cos(y) * yd])
    g = np.array([0.0, -2 * np.sin(y) * yd**2])
    Tstab = 0.1
    gstab = 2 / Tstab * (qd - qdo) + 1 / Tstab**2 * (q - qo)
    return q, qd, G, g + gstab


def planar2g() -> TreeModel:
    robot = planar(2)
    robot.gamma_q = printed
    return robot


def lagrange(y, yd, tau):
    """y'' of planar2g from d/dt(M y') - M' y'^2/2 = tau.G with M = G^T H G; M' by a difference quotient."""

    def mass(y):
        c, G = np.cos(2 * np.sin(y)), np.array([1.0, 2 * np.cos(y)])
        return G @ np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]]) @ G

    h = 1e-6
    slope = (mass(y + h) - mass(y - h)) / (2 * h)
    return (np.dot(tau, [1.0, 2 * np.cos(y)]) - slope * yd**2 / 2) / mass(y)


def test_the_model_as_printed_on_numbers():
    model, y, yd, tau = planar2g(), 0.7, 1.3, [1.0, -0.4]
    q, qd = [y, 2 * np.sin(y)], [yd, 2 * np.cos(y) * yd]
    found = model.gamma_q(model, np.array(q), np.array(qd))
    assert found[0] == pytest.approx(q) and found[1] == pytest.approx(qd)
    qdd = FDgq(model, q, qd, tau)
    a = lagrange(y, yd, tau)
    assert qdd == pytest.approx([a, 2 * np.cos(y) * a - 2 * np.sin(y) * yd**2], abs=1e-8)
    short = planar(2)
    short.gamma_q = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=0)
    for one, other in zip(
        short.gamma_q(short, [0.3, 0.5], [1.0, 2.0]),
        printed(None, [0.3, 0.5], np.array([1.0, 2.0])),
        strict=True,
    ):
        assert np.ravel(one) == pytest.approx(np.ravel(other), abs=1e-12)
    assert FDgq(short, q, qd, tau) == pytest.approx(qdd, abs=1e-12)


def test_FDgq_without_a_constraint_is_plain_forward_dynamics():
    rng = np.random.default_rng(4)
    model = autoTree(4, 1.5, 0.7, 0.9)
    q, qd, tau = rng.normal(size=(3, 4))
    H, C = HandC(model, q, qd)
    assert H @ FDgq(model, q, qd, tau) + C == pytest.approx(tau, abs=1e-12)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_the_printed_model_in_a_run_and_its_ledger(engine):
    """The torque's work is q1; nothing is lost. Momentum, centre of mass and energy as outputs."""
    robot = RobotPlant(planar2g(), q=np.array([0.1, 0.0])).audited()
    d = Diagram("robot")
    p = d.add("robot", robot)
    d.connect(d.add("torque", Constant([1.0, 0.0]))["y"], p["tau"])
    r = simulate(d, until=1.0, rtol=1e-10, atol=1e-12, engine=engine, log_every=0.1)
    q, qd = r["robot.q"], r["robot.qd"]
    account = ledger(r, "robot")
    assert account.work_in == pytest.approx(q[:, 0] - 0.1, abs=1e-9)
    assert np.abs(account.drift).max() < 1e-9 and np.ptp(account.KE) > 0.05
    assert np.abs(account.constraint_work).max() < 1e-7 and np.abs(r["robot.residual"]).max() < 1e-8
    assert r["robot.E"].ravel() == pytest.approx(account.KE, abs=1e-12)
    for k in (0, 5, 10):
        a, b = q[k, 0], q[k].sum()
        w, v = qd[k, 0], qd[k].sum()
        first, second = np.array([np.cos(a), np.sin(a), 0]), np.array([np.cos(b), np.sin(b), 0])
        ahead, beside = np.array([-np.sin(a), np.cos(a), 0]), np.array([-np.sin(b), np.cos(b), 0])
        r1, r2 = first / 2, first + second / 2
        v1, v2 = w * ahead / 2, w * ahead + v * beside / 2
        assert r["robot.cm"][k] == pytest.approx((r1 + r2) / 2, abs=1e-12)
        assert r["robot.p"][k] == pytest.approx(v1 + v2, abs=1e-12)
        spin = np.cross(r1, v1) + np.cross(r2, v2) + np.array([0, 0, (w + v) / 12])
        assert r["robot.L"][k] == pytest.approx(spin, abs=1e-12)


def test_energy_and_momentum_as_numbers():
    """singlebody: m = 1 kg at the origin of its frame, moments 1, 2, 3, turned by 0.5 rad about z."""
    model = singlebody()
    q, qd = [0.3, -0.2, 0.5, 0.0, 0.0, 0.5], [1.0, 2.0, 3.0, 0.0, 0.0, 4.0]
    found = EnerMo(model, q, qd)
    assert pytest.approx((1 + 4 + 9) / 2 + 3 * 16 / 2) == found.KE and found.PE == 0.0
    assert found.mass == 1.0 and found.cm == pytest.approx(q[:3]) and found.vcm == pytest.approx(qd[:3])
    spin = np.cross(q[:3], qd[:3]) + np.array([0, 0, 12.0])
    assert found.htot == pytest.approx([*spin, *qd[:3]])
    turn = np.array([[np.cos(0.5), -np.sin(0.5), 0], [np.sin(0.5), np.cos(0.5), 0], [0, 0, 1]])
    c = np.array(q[:3])
    about_origin = turn @ np.diag([1.0, 2.0, 3.0]) @ turn.T + (c @ c) * np.eye(3) - np.outer(c, c)
    assert found.Itot[:3, :3] == pytest.approx(about_origin) and found.Itot[3:, 3:] == pytest.approx(
        np.eye(3)
    )


@pytest.mark.parametrize("jtype", [("H", 0.2), {"code": "H", "pars": {"pitch": 0.2}}])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_nut_falls_along_its_spindle(jtype, engine):
    """(Iz + m h^2) q'' = -m h g: constant, so q = q'' t^2 / 2."""
    m, Iz, h = 3.0, 0.05, 0.2
    model = TreeModel([0], [jtype], [np.eye(6)], [mcI(m, [0.1, 0, 0], np.diag([0.1, 0.1, Iz]))])
    model = replace(model, gravity=[0.0, 0.0, -9.81])
    Iz += m * 0.1**2
    d = Diagram("nut")
    p = d.add("robot", RobotPlant(model))
    d.connect(d.add("torque", Constant([0.0]))["y"], p["tau"])
    r = simulate(d, until=1.0, rtol=1e-10, atol=1e-12, engine=engine, log_at=[1.0])
    alpha = -m * h * 9.81 / (Iz + m * h**2)
    assert r["robot.q"].ravel()[-1] == pytest.approx(alpha / 2, rel=1e-9)
    assert r["robot.cm"][-1][2] == pytest.approx(h * alpha / 2, rel=1e-9)
    assert r["robot.E"].ravel()[-1] == pytest.approx(0.0, abs=1e-8)


def test_six_by_six_matrices_are_the_transforms_and_inertias_of_the_book():
    """A tree from NumPy arrays alone is the one that `autoTree` makes."""
    model = autoTree(3, 1.0, 0.4, 0.9)
    bent = plux(rotx(0.4)[:3, :3], [0.9, 0.0, 0.0])
    assert bent == pytest.approx(rotx(0.4) @ xlt([0.9, 0, 0]))  # RBDA eq. 2.24: rotation after translation
    places = [np.eye(6), rotx(0.4) @ xlt([1.0, 0, 0]), (rotx(0.4)[:3, :3], [0.9, 0.0, 0.0])]
    again = TreeModel(np.array(model.parent), list(model.jtype), places, np.array(model.I))
    q, qd = np.array([0.3, -0.5, 0.8]), np.array([1.0, 0.4, -0.6])
    for one, other in zip(HandC(again, q, qd), HandC(model, q, qd), strict=True):
        assert one == pytest.approx(other, abs=1e-14)
    v = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    moved = rotz(np.pi / 2) @ xlt([0, 0, 1.0]) @ v  # by hand: w -> (2, -1, 3); v - r x w = (4 + 2, 5 - 1, 6)
    assert moved == pytest.approx([2, -1, 3, 4, -6, 6])


BOX = mcI(2.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.3]))


def changed(matrix, *places):
    matrix = np.array(matrix, dtype=float)
    for i, j, value in places:
        matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (np.eye(4), r"Xtree of body 1: has shape (4, 4), expected a (6, 6) Plücker matrix or a pair (E, r)"),
        ("X", "Xtree of body 1: is str"),
        (changed(np.eye(6), (0, 0, 2.0)), "its rotation E is not orthonormal (off by 3)"),
        (np.diag([1.0, 1, -1, 1, 1, -1]), "left-handed"),
        (xlt([1, 2, 3]).T, "its upper right block is not zero"),
        (
            changed(np.eye(6), (3, 3, -1.0), (4, 4, -1.0)),
            "its two rotations, upper left and lower right, differ",
        ),
        (changed(np.eye(6), (3, 1, 0.5)), "is not skew-symmetric (off by 0.5)"),
        (changed(np.eye(6), (3, 1, np.nan)), "not finite"),
    ],
)
def test_no_transform(value, part):
    with pytest.raises(BlockError) as caught:
        TreeModel((0,), ("R",), (value,), (BOX,))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (np.eye(3), "I of body 1: has shape (3, 3), expected a (6, 6) matrix"),
        (changed(BOX, (0, 1, 5.0)), "it is not symmetric"),
        (changed(BOX, (3, 3, 4.0)), "its lower right block is not the mass times 1 (off by 2)"),
        (-BOX, "its mass is -2, negative"),
        (changed(BOX, (0, 3, 0.2), (3, 0, 0.2)), "m c x, is not skew-symmetric"),
        (
            changed(np.zeros((6, 6)), (0, 4, 1.0), (1, 3, -1.0), (4, 0, 1.0), (3, 1, -1.0)),
            "no mass but a mass moment",
        ),
        (changed(BOX, (2, 2, 0.05)), "its smallest principal moment is -0.05"),
    ],
)
def test_no_inertia(value, part):
    with pytest.raises(BlockError) as caught:
        TreeModel((0,), ("R",), (np.eye(6),), (value,))
    assert part in str(caught.value)


def wrong_G(model, q, qd):
    return q, qd, [[1.0, 0.0, 0.0]], q


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: gamma(lambda y: [2 * y[0], y[0]], [0])(planar(2), [0, 0], [0, 0]), "contradict each other"),
        (
            lambda: RobotPlant(planar(2), constraint=gamma(lambda y: [y[0], y[0]], lambda q: q[:1] + q[1:])),
            "comes back as",
        ),
        (lambda: RobotPlant(planar(2), constraint=gamma(lambda y: [y[0], y[0]], [2])), "names coordinate 2"),
        (lambda: gamma(lambda y: y, 0.5), "independent is 0.5"),
        (lambda: gamma(lambda y: y, []), "independent is []"),
        (lambda: gamma(lambda y: y, [0, 0]), "independent is [0, 0]"),
        (lambda: gamma(3, [0]), "3 is no function"),
        (lambda: gamma(lambda y: y, [0], Tstab="x"), "Tstab is 'x' s"),
        (lambda: RobotPlant(planar(2), constraint=lambda y: [y[0], y[0]]), "Wrap a function"),
        (lambda: RobotPlant(planar(2), constraint=wrong_G), "G has shape (1, 3), expected 2 rows"),
        (lambda: RobotPlant(planar(2), constraint=lambda m, q, qd: None), "returned NoneType"),
        (lambda: RobotPlant(planar(2), q=["a", "b"]), "q is ['a', 'b'], expected (2,) numbers"),
        (lambda: RobotPlant(planar(2), qd=[np.nan, 0]), "qd is [nan, 0.0], expected finite"),
        (lambda: RobotPlant("planar"), "model is str"),
        (lambda: setattr(planar(2), "gamma_q", 3), "gamma_q is 3, expected a function"),
        (lambda: setattr(planar(2), "parent", (0, 0)), "parent of a model does not change"),
        (lambda: TreeModel((0,), ("H",), (np.eye(6),), (BOX,)), "jtype 'H' of body 1, expected ('H', pitch)"),
        (
            lambda: TreeModel((0,), ("R",), (np.eye(6),), (BOX,), (0, 1)),
            "gravity has shape (2,), expected (3,)",
        ),
        (lambda: TreeModel(0, ("R",), (np.eye(6),), (BOX,)), "parent is 0, expected a list"),
        (lambda: HandC(planar(2), [0.0], [0.0, 0.0]), "q has shape (1,), expected (2,)"),
        (
            lambda: HandC(planar(2), np.ma.array([0.0, 1.0], mask=[0, 1]), [0.0, 0.0]),
            "expected (2,) numbers",
        ),
    ],
)
def test_refused_with_place_and_cure(make, part):
    with pytest.raises(BlockError) as caught:
        make()
    assert part in str(caught.value)


def test_a_model_may_carry_what_its_function_needs():
    robot = planar(2)
    robot.ratio = 3.0
    robot.gamma_q = lambda model, q, qd: (
        np.array([q[0], model.ratio * q[0]]),
        np.array([qd[0], model.ratio * qd[0]]),
        [[1.0], [model.ratio]],
        np.zeros(2),
    )
    assert RobotPlant(robot, q=[0.2, 0.0]).q == pytest.approx([0.2, 0.6])
    assert replace(robot, gravity=(0.0, 0.0, -1.0)).gravity == (0.0, 0.0, -1.0)


WRONG = {
    "planar(0)": "planar: n is 0",
    "planar(2.5)": "planar: n is 2.5",
    "autoTree(3, 0)": "bf is 0",
    "autoTree('3')": "nb is '3'",
    "autoTree(3, 1, 'a')": "skew is 'a'",
    "autoTree(3, 1, 0, 0)": "taper is 0",
    "vee(-1)": "L2 is -1",
    "rotx('a')": "rotx: angle is 'a'",
    "rotz([1, 2])": "rotz: angle",
    "mcI('a', [0, 0, 0], np.eye(3))": "mcI: m is 'a'",
    "mcI(1, [0, 0, 0], np.eye(2))": "mcI: Ic",
    "floatbase(5)": "model is int",
    "HandC(5, [0], [0])": "model is int",
    "FDgq(None, [0], [0], [0])": "model is NoneType",
    "FDgq(flat(), [0.1, 0.2], [0, 0], [0, 0])": "G.T H G.* is singular",
}


def flat():
    """A robot whose constraint leaves nothing free."""
    robot = planar(2)
    robot.gamma_q = lambda model, q, qd: (q, qd, np.zeros((2, 1)), 0 * q)
    return robot


@pytest.mark.parametrize("text", WRONG)
def test_wrong_values_of_the_tools_are_named(text):
    """They ended in errors of NumPy, CasADi and Python, or made empty robots."""
    import plant.gamma_q

    with pytest.raises(BlockError, match=WRONG[text]):
        eval(text, {**vars(plant.gamma_q), "np": np, "flat": flat})  # written above


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: gamma(lambda y: [y[0], y[1]], [0]),
            r"gamma: the function fails for y of 1 entries: IndexError",
        ),
        (lambda: gamma(lambda y: [y[0], y[0]], lambda q: q[3]), "independent: the function fails for q of 2"),
        (
            lambda: lambda model, qo, qdo: (qo.nothing, 0, 0, 0),
            "gamma_q: the function fails for qo and qdo of 2",
        ),
    ],
)
def test_what_fails_in_a_function_is_told_with_what_it_was_given(make, message):
    with pytest.raises(BlockError, match=message):
        RobotPlant(planar(2), constraint=make())
    robot = planar(2)
    robot.gamma_q = make()
    with pytest.raises(BlockError, match=message):
        FDgq(robot, [0.1, 0.2], [0.0, 0.0], [1.0, 0.0])
