"""Dynamics of trees: every algorithm against the others, against hand formulas and published numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks.contract.memories import ContinuousState
from blocks.contract.trace import trace
from plant import Plant
from plant.elements import Body_Point, Body_Rigid, Constraint_Joint, Model, Param_Unit, Reference_Marker
from plant.formats.motionsolve.described import description_of
from plant.mechanics.inertia import link_inertia, plain_inertia, tree_inertias
from plant.mechanics.mechanism import GROUND, mechanism_of
from plant.mechanics.tree import Tree
from tests.helpers.checked import closed_form
from tests.helpers.loops import at, bar, n_four_bar
from tests.helpers.plants import Alone, deck, reference
from tests.helpers.trees import TYPES, marker, random_rotation, random_tree

SEEDS = range(4)
GRAVITY = np.array([0.4, -1.0, -9.81])


def numbers(value) -> np.ndarray:
    return np.array(ca.DM(value))


class Symbols:
    """A random tree at symbolic coordinates, with functions of (q, qd, tau, forces)."""

    def __init__(self, seed: int, write_out: bool | None = True) -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.mechanism = mechanism_of(
            description_of(random_tree(list(rng.permutation(TYPES)), rng, free_base=seed % 2 == 1))
        )
        links = self.mechanism.links
        self.q = [ca.SX.sym(f"q{i}", link.joint.nq) for i, link in enumerate(links)]
        self.qd = [ca.SX.sym(f"qd{i}", link.joint.nv) for i, link in enumerate(links)]
        self.tau = [ca.SX.sym(f"tau{i}", link.joint.nv) for i, link in enumerate(links)]
        self.f = [ca.SX.sym(f"f{i}", 6) for i in range(len(links))]
        self.tree = Tree(self.mechanism, self.q, self.qd, tree_inertias(self.mechanism), write_out)
        self.g = ca.SX(ca.DM(GRAVITY))
        self.arguments = [ca.vertcat(*part) for part in (self.q, self.qd, self.tau, self.f)]
        n = self.mechanism.dof
        self.at = [
            np.concatenate([link.q0 for link in links]),
            rng.normal(size=n),
            rng.normal(size=n),
            rng.normal(size=6 * len(links)),
        ]

    def forward(self) -> tuple[ca.SX, list[ca.SX]]:
        qdd, a = self.tree.accelerations(self.g, dict(enumerate(self.f)), dict(enumerate(self.tau)))
        return ca.vertcat(*qdd), a

    def value(self, *expressions):
        dense = [ca.densify(ca.SX(e)) for e in expressions]
        found = ca.Function("f", self.arguments, dense).call(self.at)
        return numbers(found[0]) if len(found) == 1 else [numbers(f) for f in found]


@pytest.fixture(params=SEEDS, scope="module")
def symbols(request) -> Symbols:
    return Symbols(request.param)


def test_inverse_dynamics_of_forward_dynamics(symbols):
    qdd, _ = symbols.forward()
    parts = ca.vertsplit(qdd, [0, *np.cumsum([s.numel() for s in symbols.qd])])
    tau = symbols.tree.inverse(symbols.g, parts, dict(enumerate(symbols.f)))
    assert symbols.value(ca.vertcat(*tau)).ravel() == pytest.approx(symbols.at[2], abs=1e-11)


def test_articulated_bodies_equal_mass_matrix(symbols):
    still = [ca.SX(s.numel(), 1) for s in symbols.qd]
    bias = ca.vertcat(*symbols.tree.inverse(symbols.g, still, dict(enumerate(symbols.f))))
    H, C, qdd = symbols.value(symbols.tree.mass_matrix(), bias, symbols.forward()[0])
    assert pytest.approx(H.T, abs=1e-13) == H
    assert np.linalg.eigvalsh(H).min() > 0
    assert qdd.ravel() == pytest.approx(np.linalg.solve(H, symbols.at[2] - C.ravel()), abs=1e-10)


def test_mass_matrix_is_the_kinetic_energy(symbols):
    energy = sum(0.5 * ca.dot(v, I @ v) for v, I in zip(symbols.tree.v, symbols.tree.inertia, strict=True))
    H, T = symbols.value(symbols.tree.mass_matrix(), energy)
    assert T.item() == pytest.approx(0.5 * symbols.at[1] @ H @ symbols.at[1])


def test_power_of_forces_changes_the_energy(symbols):
    """d(T + V)/dt = qd . tau + v . f along the motion, for every joint type at once."""
    tree, g = symbols.tree, symbols.g
    energy = ca.SX(0)
    for i, I in enumerate(tree.inertia):
        energy += 0.5 * ca.dot(tree.v[i], I @ tree.v[i])
        A, r = tree.pose(i)
        mass, moment = I[3, 3], ca.vertcat(I[2, 4], I[0, 5], I[1, 3])  # m and m c
        energy -= ca.dot(g, mass * r + A @ moment)
    q, qd = symbols.arguments[:2]
    rates = [
        link.joint.qdot(a, b)
        for link, a, b in zip(symbols.mechanism.links, symbols.q, symbols.qd, strict=True)
    ]
    qdd, _ = symbols.forward()
    change = ca.jtimes(energy, q, ca.densify(ca.vertcat(*rates))) + ca.jtimes(energy, qd, ca.densify(qdd))
    power = ca.dot(qd, symbols.arguments[2])
    power += sum(ca.dot(v, f) for v, f in zip(tree.v, symbols.f, strict=True))
    found, expected = symbols.value(change, power)
    assert found.item() == pytest.approx(expected.item(), rel=1e-11, abs=1e-11)


def test_velocity_and_acceleration_are_derivatives_of_the_pose(symbols):
    tree = symbols.tree
    i = len(symbols.mechanism.links) - 1
    s = ca.DM([0.3, -0.2, 0.5])
    A, r = tree.pose(i)
    w, v = tree.velocity(i)
    q, qd = symbols.arguments[:2]
    rates = [
        link.joint.qdot(a, b)
        for link, a, b in zip(symbols.mechanism.links, symbols.q, symbols.qd, strict=True)
    ]
    point, speed = ca.densify(r + A @ s), A @ (v + ca.cross(ca.densify(ca.SX(w)), s))
    qdot = ca.densify(ca.vertcat(*rates))
    qdd, a = symbols.forward()
    al, acceleration = tree.point_acceleration(i, a[i], s, symbols.g)
    from_pose = ca.jtimes(point, q, qdot)
    from_speed = ca.jtimes(speed, q, qdot) + ca.jtimes(speed, qd, ca.densify(qdd))
    from_spin = ca.jtimes(A @ w, q, qdot) + ca.jtimes(A @ w, qd, ca.densify(qdd))
    pairs = [(speed, from_pose), (acceleration, from_speed), (al, from_spin)]
    for given, derived in pairs:
        found, expected = symbols.value(given, derived)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_give_the_same_as_the_written_out_equations(seed):
    one, other = Symbols(seed, True), Symbols(seed, False)
    last = len(one.mechanism.links) - 1
    wanted = [(s.forward()[0], *s.tree.pose(last)) for s in (one, other)]
    for a, b in zip(one.value(*wanted[0]), other.value(*wanted[1]), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)


def test_equal_links_share_their_functions():
    from benchmarks.chain import deck as chain

    counts = []
    for n in (30, 60):
        traced = trace(Plant.read(chain(n)), {})
        derivative = ca.vertcat(*[m.expression for m in traced.declared.memories_of(ContinuousState)])
        counts.append(len(traced.function("x'", derivative).find_functions()))
    assert counts[0] == counts[1] < 20


@pytest.mark.slow
def test_thousand_links_stay_linear():
    """The graph grows by the same few nodes per link; times are printed by benchmarks/chain.py."""
    from benchmarks.chain import deck as chain

    sizes = []
    for n in (30, 60, 120):
        traced = trace(Plant.read(chain(n)), {})
        derivative = ca.vertcat(*[m.expression for m in traced.declared.memories_of(ContinuousState)])
        sizes.append(traced.function("x'", derivative).n_instructions())
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


# --- hand formulas ---------------------------------------------------------------------------------------
def test_cart_pole_equations_are_small():
    """Velocities of origins cancel, masses do not turn, and only the root's inertia is divided by."""
    function = Alone(Plant.read(deck("inverted_pendulum.xml"))).derivative_function
    assert function.n_instructions() < 80
    operations = [function.instruction_id(k) for k in range(function.n_instructions())]
    # at a state one, by the inertia the slider feels; others are of parameters alone
    assert operations.count(ca.OP_DIV) + operations.count(ca.OP_INV) <= 3


def test_cart_pole_against_the_hand_formula(checked):
    """(M+m) x'' + m l cos(th) th'' - m l sin(th) th'^2 = u - k x - c x', and the hinge's equation."""
    numbers_ = reference("cartpole_lqr_100Hz")["parameters"]
    M, m, l, I = numbers_["M_slider"], numbers_["m_rod"], numbers_["L_rod"] / 2, numbers_["I_com"]
    g, k, c = numbers_["g"], numbers_["k"], numbers_["c"]
    plant = Alone(Plant.read(deck("cartpole.xml")))
    rng = np.random.default_rng(5)
    for _ in range(5):
        x, theta, xd, omega = rng.uniform(-1.5, 1.5, 4)
        u = float(rng.normal())
        H = np.array([[M + m, m * l * np.cos(theta)], [m * l * np.cos(theta), I + m * l**2]])
        right = [u - k * x - c * xd + m * l * np.sin(theta) * omega**2, m * g * l * np.sin(theta)]
        found = plant.derivative(0.0, [x, theta, xd, omega], {"u": u})
        expected, law = [xd, omega, *np.linalg.solve(H, right)], closed_form("equations of motion by hand")
        checked(found, expected, "cart-pole", "accelerations", law, rtol=1e-12)


def test_cart_pole_linear_model(checked):
    linear = reference("cartpole_lqr_100Hz")["linear"]
    plant = Alone(Plant.read(deck("cartpole.xml")))
    law = closed_form("equations of motion by hand, linearised")
    checked(plant.jacobian("x"), linear["A"], "cart-pole", "linear model, A", law, atol=1e-12)
    checked(plant.jacobian("u").ravel(), linear["B"], "cart-pole", "linear model, B", law, atol=1e-12)


def test_inverted_pendulum_linear_model():
    import json

    spec = json.loads(deck("inverted_pendulum.expected.json").read_text())["linearization"]
    plant = Alone(Plant.read(deck("inverted_pendulum.xml")))
    A = plant.jacobian("x")
    found = np.sort_complex(np.linalg.eigvals(A))
    wanted = np.sort_complex(np.array([complex(*pair) for pair in spec["eigenvalues_re_im"]]))
    assert found == pytest.approx(wanted, abs=1e-9)
    # the hinge's coordinate is AZ of its markers about +y, theta of the file is the opposite
    T = np.diag([1.0, -1.0, 1.0, -1.0])
    assert pytest.approx(np.array(spec["A"]), abs=1e-9) == T @ A @ T
    B = np.column_stack([plant.jacobian("control_force"), plant.jacobian("disturbance_force")])
    assert pytest.approx(np.array(spec["B"]), abs=1e-9) == T @ B


# --- published numbers -----------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), [("points", "point_masses"), ("rods", "uniform_rods")])
def test_double_pendulum(name, case):
    problem = reference("double_pendulum")
    rows = np.array(problem["cases"][case]["rows"])
    plant = Alone(Plant.read(deck(f"double_pendulum_{name}.xml")))
    x = plant.solve(rows[:, 0])
    links = np.array([plant.output("links", t, x[:, k]) for k, t in enumerate(rows[:, 0])])
    early = rows[:, 0] <= 2
    assert links[early, :4] == pytest.approx(rows[early, 1:], abs=problem["accept"]["t_le_2_abs"])
    assert links[:, :4] == pytest.approx(rows[:, 1:], abs=1e-6)  # chaotic: errors have grown by then
    assert links[:, 4] == pytest.approx(0.0, abs=problem["accept"]["energy"])


def test_simple_pendulum():
    problem = reference("A01_simple_pendulum")
    rows = np.array(problem["reference"]["rows"])
    plant = Alone(Plant.read(deck("simple_pendulum.xml")))
    x = plant.solve(rows[:, 0])
    bob = np.array([plant.output("bob", t, x[:, k]) for k, t in enumerate(rows[:, 0])])
    assert bob[:, :2] == pytest.approx(rows[:, 1:], abs=problem["accept"]["position_m"])
    assert bob[:, 2] == pytest.approx(0.0, abs=problem["accept"]["energy_J"])


def test_free_asymmetric_body():
    problem = reference("free_body_dzhanibekov")
    rows = np.array(problem["reference"]["rows"])
    plant = Alone(Plant.read(deck("dzhanibekov.xml")))
    x = plant.solve(rows[:, 0], rtol=1e-12, atol=1e-13)
    spin = np.array([plant.output("spin", t, x[:, k]) for k, t in enumerate(rows[:, 0])])
    assert spin[:, :3] == pytest.approx(rows[:, 1:4], abs=problem["accept"]["omega"])
    assert spin[:, 3] == pytest.approx(problem["conserved"]["two_T"], rel=problem["accept"]["energy_rel"])
    e = x[plant.slice("wing_nut.q")][:4].T
    assert np.abs(np.sum(e * rows[:, 4:], axis=1)) == pytest.approx(1.0, abs=1e-9)  # e and -e are one pose
    assert np.sum(e * e, axis=1) == pytest.approx(1.0, abs=1e-9)


def test_energy_of_a_random_tree_over_time():
    rng = np.random.default_rng(2)
    model = random_tree(["REVOLUTE", "SPHERICAL", "UNIVERSAL", "PLANAR"], rng)
    plant = Plant.from_model(model)
    alone = Alone(plant)
    links = plant.mechanism.links
    q = [ca.SX.sym("q", link.joint.nq) for link in links]
    qd = [ca.SX.sym("qd", link.joint.nv) for link in links]
    tree = Tree(plant.mechanism, q, qd, tree_inertias(plant.mechanism))
    energy = sum(0.5 * ca.dot(v, I @ v) for v, I in zip(tree.v, tree.inertia, strict=True))
    T = ca.Function("T", [ca.vertcat(*q, *qd)], [energy])
    x0 = alone.x0.copy()
    x0[-sum(link.joint.nv for link in links) :] = rng.normal(size=sum(link.joint.nv for link in links))
    x = alone.solve(np.linspace(0, 3, 7), rtol=1e-11, atol=1e-12, x0=x0)
    found = np.array([float(T(x[:, k])) for k in range(x.shape[1])])
    assert found == pytest.approx(found[0], rel=1e-9)


# --- the spanning tree -----------------------------------------------------------------------------------
def test_bodies_without_joints_are_free():
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, label="Box", cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1),
            Reference_Marker(id=20, body_id=2, pos_x=1.0),
            Body_Point(id=2, label="Bead", cg_id=21, mass=2, v_ic_z=3.0),
            Reference_Marker(id=21, body_id=2, body_type="POINTBODY", pos_y=1.0),
        ]
    )
    plant = Plant.from_model(model)
    assert [link.joint.name for link in plant.mechanism.links] == ["FREE", "FREE_POINT"]
    assert plant.mechanism.dof == 9
    assert plant.initial["box.q"] == pytest.approx([1, 0, 0, 0, 1, 0, 0])
    assert plant.initial["bead.q"] == pytest.approx([0, 1, 0])
    assert plant.initial["bead.qd"] == pytest.approx([0, 0, 3])


def test_parents_come_first_and_chains_are_short():
    rng = np.random.default_rng(8)
    mechanism = mechanism_of(description_of(random_tree(["REVOLUTE"] * 12, rng)))
    assert all(link.parent < i for i, link in enumerate(mechanism.links))
    depths = [len(mechanism.path(i)) for i in range(len(mechanism.links))]
    assert depths == sorted(depths)


def test_marker_places_do_not_depend_on_the_joint_side():
    """A marker is found again at its design place from the initial coordinates, whichever side holds I."""
    rng = np.random.default_rng(4)
    model = random_tree(TYPES, rng)
    mechanism = mechanism_of(description_of(model))
    links = mechanism.links
    tree = Tree(
        mechanism,
        [ca.SX(ca.DM(link.q0)) for link in links],
        [ca.SX(link.joint.nv, 1) for link in links],
        tree_inertias(mechanism),
    )
    for id, (r, A) in model.frames.items():
        place = mechanism.place(id)
        axes, origin = tree.pose(place.link)
        assert numbers(origin + axes @ place.s).ravel() == pytest.approx(r, abs=1e-13)
        assert numbers(axes @ place.A) == pytest.approx(A, abs=1e-13)


def test_inertia_about_another_marker_is_shifted():
    rng = np.random.default_rng(6)
    r, A = rng.normal(size=3), random_rotation(rng)
    mass, Ic = 2.0, np.diag([1.0, 1.2, 1.4])
    d = A.T @ r  # from the CG at the origin to the marker, along its axes
    about = A.T @ Ic @ A + mass * (d @ d * np.eye(3) - np.outer(d, d))
    given = {"inertia_xx": about[0, 0], "inertia_yy": about[1, 1], "inertia_zz": about[2, 2]}
    given |= {"inertia_xy": -about[0, 1], "inertia_yz": -about[1, 2], "inertia_xz": -about[0, 2]}
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, cg_id=20, im_id=21, mass=mass, **given),
            marker(20, 2, np.zeros(3), np.eye(3)),
            marker(21, 2, r, A),
            Param_Unit(
                length_unit="MILLIMETER", mass_unit="KILOGRAM", time_unit="SECOND", force_unit="NEWTON"
            ),
        ]
    )
    mechanism = mechanism_of(description_of(model))
    expected = 1e-3 * np.block([[Ic, np.zeros((3, 3))], [np.zeros((3, 3)), mass * np.eye(3)]])
    assert plain_inertia(mechanism, 0) == pytest.approx(expected, abs=1e-15)
    assert numbers(link_inertia(mechanism, 0)) == pytest.approx(expected, abs=1e-15)


def test_a_body_without_mass_has_an_inertia_of_zeros():
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, cg_id=20, mass=0.0),
            marker(20, 2, np.ones(3), np.eye(3)),
        ]
    )
    mechanism = mechanism_of(description_of(model))
    found = link_inertia(mechanism, 0)
    assert found.shape == (6, 6) and not found.nnz()
    assert not plain_inertia(mechanism, 0).any()


def test_ground_is_no_link():
    model = Model.build([Body_Rigid(id=1, isground=True), Reference_Marker(id=5, body_id=1, pos_x=2.0)])
    mechanism = mechanism_of(description_of(model))
    assert mechanism.links == () and mechanism.place(5).link == GROUND and mechanism.place(0).link == GROUND


def test_fixed_joints_make_one_body():
    """A rod fixed to a cart adds its mass and no coordinate."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1),
            Reference_Marker(id=20, body_id=2),
            Body_Rigid(id=3, cg_id=30, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1),
            Reference_Marker(id=30, body_id=3, pos_x=1.0),
            Reference_Marker(id=31, body_id=3),
            Constraint_Joint(id=1, type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
            Constraint_Joint(id=2, type="FIXED", i_marker_id=31, j_marker_id=20),
        ]
    )
    mechanism = mechanism_of(description_of(model))
    q, qd = [ca.SX.sym("q"), ca.SX(0, 1)], [ca.SX.sym("qd"), ca.SX(0, 1)]
    H = Tree(mechanism, q, qd, tree_inertias(mechanism)).mass_matrix()
    assert mechanism.dof == 1 and float(H) == 3.0


def planar_chain(n: int) -> Model:
    """Bars of 1 m one behind the other along x, hinged about z."""
    elements = [Body_Rigid(id=1, isground=True), at(11, 1, 0.0, 0.0)]
    for k in range(2, n + 2):
        elements += [Body_Rigid(**bar(k, 1.0, 1.0)), at(10 * k, k, k - 1.5, 0.0)]
        elements += [at(10 * k + 1, k, k - 1.0, 0.0), at(10 * k + 2, k, k - 2.0, 0.0)]
        joint = Constraint_Joint(id=k, type="REVOLUTE", i_marker_id=10 * k + 2, j_marker_id=10 * k - 9)
        elements.append(joint)
    return Model.build(elements)


@pytest.mark.parametrize(("model", "calls"), [(n_four_bar(15), False), (planar_chain(25), True)])
def test_flat_mechanisms_with_short_paths_are_written_out(model, calls):
    mechanism = mechanism_of(description_of(model))
    assert mechanism.flat and len(mechanism.links) > 20
    q, qd = ([ca.SX.sym(name, link.joint.nv) for link in mechanism.links] for name in ("q", "qd"))
    tree = Tree(mechanism, q, qd, tree_inertias(mechanism))
    f = ca.Function("f", [ca.vertcat(*q), ca.vertcat(*qd)], [ca.vertcat(*tree.v)])
    assert any(f.instruction_id(k) == ca.OP_CALL for k in range(f.n_instructions())) == calls


def test_little_of_a_tip_waits_for_its_parent():
    """The pendulum on a cart: behind the one division stand a product, a sum and a sign."""
    traced = trace(Plant.read("tests/data/plants/cartpole.xml"), {})
    rates = [m.expression for m in traced.declared.memories_of(ContinuousState) if m.name.endswith(".qd")]
    f = ca.Function("rates", [ca.vertcat(*ca.symvar(ca.vertcat(*rates)))], rates)
    kinds = [f.instruction_id(k) for k in range(f.n_instructions())]
    division = len(kinds) - 1 - kinds[::-1].index(ca.OP_DIV)  # others are of parameters alone
    waiting, waits = set(f.instruction_output(division)), []  # registers that hold what depends on it
    for k in range(division + 1, len(kinds)):
        if kinds[k] == ca.OP_OUTPUT:
            continue
        if waiting & {*f.instruction_input(k)} and kinds[k] not in (ca.OP_INPUT, ca.OP_CONST):
            waiting |= {*f.instruction_output(k)}
            waits.append(kinds[k])
        else:
            waiting -= {*f.instruction_output(k)}
    assert waits == [ca.OP_MUL, ca.OP_ADD, ca.OP_NEG]
