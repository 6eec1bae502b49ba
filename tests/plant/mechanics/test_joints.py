"""What every joint type promises, seen from either side."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest

from plant.elements import Constraint_Joint
from plant.mechanics.joints import JOINT_TYPES, UNIT, Joint, JointNumbers, JointSetting, pose, reverse, table
from plant.mechanics.joints.joint_conditions import parallel_z
from plant.mechanics.spatial import crm, rz
from plant.reporting import ModelProblems
from tests.helpers.trees import JOINTS, NUMBERS, random_coordinates, random_rotation

EVERY = [*JOINTS.values(), *(reverse(joint) for joint in JOINTS.values())]


@dataclass(frozen=True, eq=False)
class Frame:
    """Origin and axes of a frame, as symbols."""

    r: ca.SX
    A: ca.SX


@pytest.fixture(params=EVERY, ids=lambda j: j.name + (" reversed" if j.reversed else ""))
def joint(request) -> Joint:
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def numbers(value) -> np.ndarray:
    return np.array(ca.DM(value))


def evaluated(expression, q, qd, at_q, at_qd) -> np.ndarray:
    return numbers(ca.Function("f", [q, qd], [ca.densify(ca.SX(expression))])(at_q, at_qd))


def symbols(joint: Joint):
    return ca.SX.sym("q", joint.nq), ca.SX.sym("qd", joint.nv)


def test_at_numbers_each_joint_has_its_own_pose(rng):
    """All joints at two places each, from one `JointNumbers`, in turn and once more."""
    kept = JointNumbers()
    places = [(joint, random_coordinates(joint.name, rng)) for _ in range(2) for joint in EVERY]
    for joint, q in [*places, *places]:
        XJ, S = joint.jcalc(ca.DM(q))
        assert np.array_equal(kept.subspace(joint, q), numbers(S).reshape(6, joint.nv))
        assert np.array_equal(numbers(kept.transform(joint, q).matrix), numbers(XJ.matrix))
        for own, expected in zip(kept.pose(joint, q), pose(joint, q), strict=True):
            assert np.array_equal(own, expected)


def test_subspace_is_the_derivative_of_the_transform(joint, rng):
    """X' = -v x X with v = S qd, in the coordinates of the moving frame."""
    q, qd = symbols(joint)
    XJ, S = joint.jcalc(q)
    X = ca.densify(ca.SX(XJ.matrix))
    rate = ca.reshape(ca.jtimes(ca.vec(X), q, ca.SX(joint.qdot(q, qd))), 6, 6) if joint.nq else ca.SX(6, 6)
    at = random_coordinates(joint.name, rng), rng.normal(size=joint.nv)
    expected = evaluated(-crm(ca.densify(ca.SX(S @ qd))) @ X, q, qd, *at)
    assert evaluated(rate, q, qd, *at) == pytest.approx(expected, abs=1e-13)


def test_subspace_rate(joint, rng):
    q, qd = symbols(joint)
    S = ca.SX(joint.jcalc(q)[1])
    frozen = ca.SX.sym("frozen", joint.nv)
    rate = ca.jtimes(ca.densify(S @ frozen), q, ca.SX(joint.qdot(q, qd))) if joint.nq else ca.SX(6, 1)
    rate = ca.substitute(rate, frozen, qd)
    cJ = joint.cJ(q, qd)
    at = random_coordinates(joint.name, rng), rng.normal(size=joint.nv)
    assert evaluated(cJ, q, qd, *at) == pytest.approx(evaluated(rate, q, qd, *at), abs=1e-13)


def test_sizes_and_names(joint):
    q, _ = symbols(joint)
    XJ, S = joint.jcalc(q)
    assert XJ.E.shape == (3, 3) and XJ.r.shape == (3, 1) and S.shape == (6, joint.nv)
    assert len(joint.coordinates) == joint.nq and len(joint.rates) == joint.nv
    assert joint.nv == 6 - sum(JOINT_TYPES[joint.name].fixes)
    if joint.turn is not None:
        assert joint.coordinates[joint.turn][1] == "rad"
    assert joint.rotates == any(not e.is_zero() for e in ca.SX(ca.densify(S[:3, :])).elements())


def test_subspace_has_full_rank(joint, rng):
    S = numbers(joint.jcalc(ca.DM(random_coordinates(joint.name, rng)))[1])
    assert np.linalg.matrix_rank(S) == joint.nv
    if joint.nv == 6 and not joint.reversed:  # it always hangs on the ground, seen from there
        assert pytest.approx(np.eye(6)) == S.T @ S


def test_reverse_twice_is_the_joint_itself(joint, rng):
    q = ca.DM(random_coordinates(joint.name, rng))
    there, back = joint.jcalc(q), reverse(reverse(joint)).jcalc(q)
    assert numbers(back[0].matrix) == pytest.approx(numbers(there[0].matrix), abs=1e-15)
    assert numbers(back[1]) == pytest.approx(numbers(there[1]), abs=1e-15)


@pytest.mark.parametrize("name", JOINTS)
def test_initial_coordinates_give_the_pose_back(name, rng):
    joint = JOINTS[name]
    for _ in range(5):
        q = random_coordinates(name, rng)
        r, A = pose(joint, q)
        found, misfit = joint.initial(r, A)
        assert found == pytest.approx(q if joint.invariant(q) is None else found)
        again = pose(joint, found)
        assert again[0] == pytest.approx(r, abs=1e-14) and again[1] == pytest.approx(A, abs=1e-14)
        assert misfit.distance < 1e-14 and misfit.angle < 1e-7


@pytest.mark.parametrize("name", [n for n, j in JOINTS.items() if j.nv < 6 and n != "FREE_POINT"])
def test_initial_coordinates_measure_the_misfit(name, rng):
    """A pose that the joint does not allow is off by what was added to it."""
    joint = JOINTS[name]
    r, A = pose(joint, random_coordinates(name, rng))
    XJ, S = joint.jcalc(ca.DM(joint.initial(r, A)[0]))
    forbidden = np.linalg.svd(numbers(S).reshape(6, joint.nv))[0][:, joint.nv :]  # complement of the subspace
    for column in forbidden.T:
        shift = np.array(ca.DM(XJ.E)).T @ column[3:] * 1e-3
        misfit = joint.initial(r + shift, A)[1]
        assert misfit.distance == pytest.approx(np.linalg.norm(shift), rel=1e-2, abs=1e-12)


@pytest.mark.parametrize("name", [n for n, j in JOINTS.items() if any(u == UNIT for _, u in j.coordinates)])
def test_quaternions_keep_their_length(name, rng):
    joint = JOINTS[name]
    q, qd = symbols(joint)
    rate = ca.jtimes(joint.invariant(q), q, joint.qdot(q, qd))
    at = random_coordinates(name, rng), rng.normal(size=joint.nv)
    assert evaluated(rate, q, qd, *at) == pytest.approx(0.0, abs=1e-15)
    assert joint.invariant(random_coordinates(name, rng)) == pytest.approx(0.0, abs=1e-15)


FIXES = {
    "REVOLUTE": (3, 2), "TRANSLATIONAL": (2, 3), "CYLINDRICAL": (2, 2), "SPHERICAL": (3, 0), "FIXED": (3, 3),
    "PLANAR": (1, 2), "UNIVERSAL": (3, 1), "HOOKE": (3, 1), "CONSTANT_VELOCITY": (3, 1), "INLINE": (2, 0),
    "INPLANE": (1, 0), "ORIENTATION": (0, 3), "PARALLEL_AXES": (0, 2), "PERPENDICULAR": (0, 1),
    "SCREW": (1, 0), "RACK_PINION": (1, 0), "FREE": (0, 0),
}  # fmt: skip


def test_joints_fix_as_many_translations_and_rotations_as_the_format_says():
    """The table of the reference guide of Constraint_Joint."""
    assert {name: entry.fixes for name, entry in JOINT_TYPES.items() if entry.in_decks} == FIXES


def test_translational_keeps_a_constant_turn_about_its_axis():
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    q, misfit = JOINTS["TRANSLATIONAL"].initial(np.array([0.0, 0.0, 0.4]), turned)
    assert q == pytest.approx([0.4]) and misfit.distance == 0.0 and misfit.angle == 0.0


@pytest.mark.parametrize("more", [0.0, 0.4])
def test_conditions_of_a_slide_keep_the_turn_of_the_design(more, rng):
    """With z axes parallel and x axes 0.7 rad apart; turned on by 0.4, one condition is the sine of it."""
    A0, outer = np.array(ca.DM(rz(-0.7))), random_rotation(rng)
    J = Frame(ca.SX(3, 1), ca.SX(outer))
    I = Frame(ca.SX(0.9 * outer[:, 2]), ca.SX(outer @ np.array(ca.DM(rz(-0.7 - more)))))
    setting = JointSetting(I, J, None, None, np.zeros(3), A0, {}, "joint")
    found = [float(ca.DM(value)) for _, value in JOINT_TYPES["TRANSLATIONAL"].equations(setting)]
    assert sorted(found) == pytest.approx([0.0, 0.0, 0.0, 0.0, math.sin(more)], abs=1e-15)


def test_pickled_joints_are_the_same(joint, rng):
    again = pickle.loads(pickle.dumps(joint))
    q = ca.DM(random_coordinates(joint.name, rng))
    assert again.kind == joint.kind
    assert numbers(again.jcalc(q)[0].matrix) == pytest.approx(numbers(joint.jcalc(q)[0].matrix), abs=0)
    assert numbers(again.jcalc(q)[1]) == pytest.approx(numbers(joint.jcalc(q)[1]), abs=0)


@pytest.mark.parametrize("name", JOINTS)
def test_conditions_hold_and_repeat_nothing_where_the_coordinates_allow_it(name, rng):
    """The conditions are zero on every pose of the joint, and their gradients span what it does not allow."""
    entry, joint = JOINT_TYPES[name], JOINTS[name]
    r0, A0 = pose(joint, random_coordinates(name, rng))
    q = random_coordinates(name, rng)
    if name == "TRANSLATIONAL":  # it keeps the design's turn
        A0 = np.eye(3)
    r, A = pose(joint, q)
    turned = ca.SX.sym("turned", 3)
    moved = ca.SX.sym("moved", 3)
    outer = rng.normal(size=3), random_rotation(rng)
    J = Frame(ca.SX(outer[0]), ca.SX(outer[1]))
    I = Frame(
        ca.SX(outer[0] + outer[1] @ r) + moved,
        (ca.SX.eye(3) + ca.skew(turned)) @ ca.SX(outer[1] @ A),
    )
    angle = ca.atan2(ca.dot(I.A[:, 0], J.A[:, 1]), ca.dot(I.A[:, 0], J.A[:, 0]))
    setting = JointSetting(I, J, lambda: angle, None, r0, A0, NUMBERS, "joint")
    parts = entry.equations(setting)
    assert len(parts) == sum(entry.fixes) == 6 - joint.nv
    if not parts:
        return
    value = ca.vertcat(*[part for _, part in parts])
    f = ca.Function("f", [turned, moved], [value, ca.jacobian(value, ca.vertcat(turned, moved))])
    Phi, gradient = (np.array(e) for e in f(np.zeros(3), np.zeros(3)))
    assert Phi.ravel() == pytest.approx(np.zeros(6 - joint.nv), abs=1e-12)
    assert np.linalg.matrix_rank(gradient) == 6 - joint.nv
    S = numbers(joint.jcalc(ca.DM(q))[1]).reshape(6, joint.nv)
    world = np.vstack([outer[1] @ A @ S[:3], outer[1] @ A @ S[3:]])
    assert gradient @ world == pytest.approx(np.zeros((6 - joint.nv, joint.nv)), abs=1e-12)


def test_a_helical_joint_counts_its_turns():
    """Ten turns of a thread of 0.3 length/rad: the angle is found from the travel; the conditions agree."""
    entry = JOINT_TYPES["HELICAL"]
    joint = entry.made({"pitch": 0.3})
    r, A = pose(joint, np.array([20 * np.pi + 0.4]))
    assert r[2] == pytest.approx(0.3 * (20 * np.pi + 0.4))
    q, misfit = joint.initial(r, A)
    assert q == pytest.approx([20 * np.pi + 0.4]) and misfit.distance < 1e-13
    assert joint.initial(r + np.array([0.0, 0.0, 0.01]), A)[1].distance == pytest.approx(0.01)


def test_a_thread_that_starts_almost_half_a_turn_on_has_made_no_turn():
    """Turned by 170 degrees with the travel that goes with it: the condition holds as it stands."""
    pitch, angle = 0.3, math.radians(170.0)
    r0, A0 = pose(JOINT_TYPES["HELICAL"].made({"pitch": pitch}), np.array([angle]))
    I, J = Frame(ca.SX(r0), ca.SX(A0)), Frame(ca.SX(3, 1), ca.SX.eye(3))
    setting = JointSetting(I, J, lambda: ca.SX(angle), None, r0, A0, {"pitch": pitch}, "joint")
    for text, residual in JOINT_TYPES["HELICAL"].equations(setting):
        assert numbers(residual) == pytest.approx(0.0, abs=1e-14), text


def test_two_types_of_one_name_are_refused():
    with pytest.raises(TypeError, match="two joint types are called FREE"):
        table([*JOINT_TYPES.values(), replace(JOINT_TYPES["FREE"])])
    other = replace(JOINT_TYPES["TRANSLATIONAL"], name="SLIDER", jtypes=("r",))
    with pytest.raises(TypeError, match=r"two joint types are called SLIDER \(r\)"):
        table([JOINT_TYPES["REVOLUTE"], other])


def test_only_joints_of_one_coordinate_have_names_in_spatial_v2():
    with pytest.raises(TypeError, match="CYLINDRICAL has names in spatial_v2"):
        table([replace(JOINT_TYPES["CYLINDRICAL"], jtypes=("C",))])


def test_the_numbers_a_type_needs_are_asked_for_by_name():
    for name, entry in JOINT_TYPES.items():
        for number in entry.numbers if entry.in_decks else ():
            with pytest.raises(ModelProblems, match=f"{number} is missing"):
                Constraint_Joint(id=1, type=name, i_marker_id=1, j_marker_id=2)


def test_joints_look_like_what_they_leave_free():
    """A ball leaves all rotations free and nothing else, a slider moves along its axis."""
    shapes = {}
    for name, kind in JOINT_TYPES.items():
        shapes.setdefault(kind.shape, set()).add(name)
    assert shapes[""] == {"FIXED"} and shapes["ball"] == {"SPHERICAL"}
    assert shapes["slider"] == {"TRANSLATIONAL", "CYLINDRICAL"}
    assert {"REVOLUTE", "UNIVERSAL", "PLANAR", "SCREW"} <= shapes["pin"]


def test_a_screw_travels_by_its_pitch_at_every_turn():
    """From a design that is turned and aside; the angle goes on counting, and only its part is scaled."""
    pitch, angle0, more = 0.3, 0.5, 4 * math.pi + 1.2
    r0, A0 = np.array([0.1, -0.2, 0.7]), np.array(ca.DM(rz(-angle0)))
    r = r0 + np.array([0.4, 0.0, pitch * more / (2 * math.pi)])
    J, I = Frame(ca.SX(3, 1), ca.SX.eye(3)), Frame(ca.SX(r), ca.SX(np.array(ca.DM(rz(-angle0 - more)))))
    angle = ca.SX.sym("angle")
    setting = JointSetting(I, J, lambda: angle, None, r0, A0, {"pitch": pitch}, "joint")
    ((_, residual),) = JOINT_TYPES["SCREW"].equations(setting)
    f = ca.Function("f", [angle], [residual, ca.gradient(residual, angle)])
    value, slope = f(angle0 + more)
    assert float(value) == pytest.approx(0.0, abs=1e-14)
    assert float(slope) == pytest.approx(-pitch / (2 * math.pi))


@pytest.mark.parametrize("theta", [0.8, -1.9])
@pytest.mark.parametrize("angle0", [0.0, 0.6])
def test_a_rack_travels_by_the_radius_times_the_turn_of_the_pinion(theta, angle0):
    """A pinion about z beside a rack along x, whose z axis that is; turned by angle0 in the design."""
    radius, x0 = 0.25, 0.4
    along_x = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    at_start, now = (np.array(ca.DM(rz(-angle0 - turn))) for turn in (0.0, theta))
    assert now[:, 0] == pytest.approx([math.cos(angle0 + theta), math.sin(angle0 + theta), 0.0])
    rack = np.array([x0, -radius, 0.0])
    moved = rack + np.array([radius * theta, 0.0, 0.0])
    I, J = Frame(ca.SX(3, 1), ca.SX(now)), Frame(ca.SX(moved), ca.SX(along_x))

    def turned(y, x):  # where z_J points, seen from the pinion, goes round the other way
        return -ca.atan2(y, x)

    r0, A0, size = along_x.T @ -rack, along_x.T @ at_start, {"pitch_diameter": 2 * radius}
    setting = JointSetting(I, J, None, turned, r0, A0, size, "joint")
    ((_, residual),) = JOINT_TYPES["RACK_PINION"].equations(setting)
    assert float(residual) == pytest.approx(0.0, abs=1e-14)


def test_conditions_of_parallel_axes_at_any_turn_about_them():
    """z_I . x_J and z_I . y_J: I is turned by 1.2 about z and tilted by 0.3 about x of J, or about y."""
    turned = np.array(ca.DM(rz(-1.2)))
    c, s = math.cos(0.3), math.sin(0.3)
    for tilt, expected in (
        (
            np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
            {"rotation about y of J": 0.0, "rotation about x of J": -s},
        ),
        (
            np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
            {"rotation about y of J": s, "rotation about x of J": 0.0},
        ),
    ):
        I, J = Frame(ca.SX(3, 1), ca.SX(tilt @ turned)), Frame(ca.SX(3, 1), ca.SX.eye(3))
        parts = parallel_z(JointSetting(I, J, None, None, np.zeros(3), np.eye(3), {}, "joint"))
        assert {name: float(ca.DM(value)) for name, value in parts} == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("angle", [0.3, -0.3])
def test_how_far_cross_bars_are_from_a_right_angle(angle):
    """x_I . y_J is the sine of it, whichever way."""
    q, misfit = JOINTS["HOOKE"].initial(np.array([0.3, 0.0, 0.4]), np.array(ca.DM(rz(-angle))))
    assert q == pytest.approx([0.0, 0.0]) and misfit.distance == pytest.approx(0.5)
    assert misfit.angle == pytest.approx(0.3)
