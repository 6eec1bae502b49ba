"""A flat system as pure functions: against closed forms, SciPy's integrator, runs and finite differences."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from blocks import (
    Block,
    Constant,
    DiscreteStateSpace,
    Gain,
    Integrator,
    Relay,
    Sine,
    StateSpace,
    Sum,
    TransportDelay,
)
from blocks.errors import PlantloopError, SimulationError
from cosim import Diagram, Simulation, linearize, simulate, system_of
from plant import Plant
from tests.helpers.linearised import Pendulum

A = np.array([[0.0, 1.0], [-4.0, -0.4]])
B = np.array([[0.0, 2.0], [4.0, 0.0]])
C, D = np.array([[1.0, 0.0], [3.0, 5.0], [0.0, 2.0]]), np.zeros((3, 2))


def pendulum():
    return Plant.read("tests/data/plants/double_pendulum_rods.xml")


def closed_loop():
    """A pendulum that follows a sine by continuous feedback; its torque's factor is a parameter."""
    d = Diagram("loop")
    wanted, sum_, k, p = (
        d.add("wanted", Sine(amplitude=0.3, frequency=2.0)), d.add("sum", Sum("+-")), d.add("k", Gain(4.0)),
        d.add("p", Pendulum()),
    )  # fmt: skip
    d.connect(wanted["y"], sum_["in1"])
    d.connect(p["angle"], sum_["in2"])
    d.connect(sum_["y"], k["u"])
    d.connect(k["y"], p["u"])
    d.outport("angle", p["angle"])
    return d


def differenced(f, v, step=1e-6):
    """Central differences of f(v) by each component, (n, len(v))."""
    columns = []
    for k in range(len(v)):
        e = np.zeros(len(v))
        e[k] = step * max(1.0, abs(v[k]))
        columns.append((f(v + e) - f(v - e)) / (2 * e[k]))
    return np.array(columns).T


# --- values and Jacobians against closed forms
def test_a_linear_block_gives_its_own_matrices():
    s = system_of(StateSpace(A, B, C, D))
    f, g = s.derivatives, s.outputs
    x, u = np.array([0.3, -0.7]), np.array([1.5, -2.0])
    np.testing.assert_allclose(f(0.0, x, u), A @ x + B @ u, rtol=1e-15)
    np.testing.assert_allclose(g(0.0, x, u), C @ x, rtol=1e-15)
    assert f.by_x(0.0, x, u).tolist() == A.tolist() and f.by_u(0.0, x, u).tolist() == B.tolist()
    assert g.by_x(0.0, x, u).tolist() == C.tolist() and g.by_u(0.0, x, u).tolist() == D.tolist()
    assert f.rows == ("plant.x[0]", "plant.x[1]") and g.rows == ("y[0]", "y[1]", "y[2]")
    assert f.columns["u"] == ("u[0]", "u[1]")
    by_p = dict(zip(f.columns["p"], f.by_p(0.0, x, u).T, strict=True))
    assert by_p["plant.A[1,0]"].tolist() == [0.0, x[0]] and by_p["plant.A[0,1]"].tolist() == [x[1], 0.0]
    assert by_p["plant.B[0,1]"].tolist() == [u[1], 0.0] and by_p["plant.C[1,1]"].tolist() == [0.0, 0.0]
    assert "plant.A[0,0]" not in by_p  # a zero of a matrix is structure
    by_c = dict(zip(g.columns["p"], g.by_p(0.0, x, u).T, strict=True))
    assert by_c["plant.C[1,1]"].tolist() == [0.0, x[1], 0.0]


def in_space():
    return Plant.read("tests/data/plants/dzhanibekov.xml", coordinates="absolute")


@pytest.mark.parametrize("side", ["derivatives", "outputs"])
@pytest.mark.parametrize("make", [closed_loop, pendulum, in_space])
def test_jacobians_are_those_of_finite_differences(make, side):
    f = getattr(system_of(make()), side)
    rng = np.random.default_rng(1)
    t, x, u = 0.37, f.x0 + 0.1 * rng.standard_normal(len(f.x0)), 0.5 + rng.random(len(f.u0))
    p = f.p0 * (1 + 0.1 * rng.random(len(f.p0)))
    by_x, by_u, by_p = f.by_x(t, x, u, p), f.by_u(t, x, u, p), f.by_p(t, x, u, p)
    assert by_x.shape == (len(f.rows), len(x)) and by_u.shape == (len(f.rows), len(u))
    expected = [
        (by_x, differenced(lambda v: f(t, v, u, p), x)),
        (by_p, differenced(lambda v: f(t, x, u, v), p)),
        (by_u, differenced(lambda v: f(t, x, v, p), u)),
    ]
    for found, known in expected:
        if found.size:
            np.testing.assert_allclose(found, known, atol=1e-7 * (1 + np.abs(found).max()))


def test_they_are_the_matrices_of_the_linear_model():
    f, point = system_of(Pendulum()), {"q": 0.4, "v": -1.0}
    x = np.array([point[n.removeprefix("plant.")] for n in f.derivatives.rows])
    ss = linearize(Pendulum(), at=point)
    order = [ss.state_labels.index(n.removeprefix("plant.")) for n in f.derivatives.rows]
    np.testing.assert_allclose(f.derivatives.by_x(0.0, x), ss.A[np.ix_(order, order)], rtol=1e-14)
    np.testing.assert_allclose(f.derivatives.by_u(0.0, x), ss.B[order], rtol=1e-14)


# --- beside an independent integrator
@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_scipy_integrates_what_simulate_integrates(method):
    d = closed_loop()
    f, g = d.system().derivatives, d.system().outputs
    jac = {"jac": f.by_x} if method == "Radau" else {}
    found = solve_ivp(f, (0.0, 2.0), f.x0, method=method, rtol=1e-10, atol=1e-12, **jac)
    run = simulate(d, 2.0, rtol=1e-11, atol=1e-13, log_at=[2.0])
    assert g(2.0, found.y[:, -1])[0] == pytest.approx(run["angle"][-1, 0], abs=1e-8)


def test_a_plant_is_integrated_with_its_input():
    plant = Plant.read("tests/data/plants/cartpole.xml")
    s = system_of(plant)
    f, size = s.derivatives, len(s.derivatives.u0)
    force = np.linspace(0.5, 1.0, size)
    found = solve_ivp(f, (0.0, 1.0), f.x0, args=(force,), method="DOP853", rtol=1e-11, atol=1e-12)
    sim = Simulation(plant, rtol=1e-11, atol=1e-12)
    for name, value in zip(f.columns["u"], force, strict=True):
        sim.set_input(name, value)
    sim.advance(1.0)
    np.testing.assert_allclose(found.y[:, -1], sim.snapshot().x, atol=1e-8)


def test_sensitivities_by_parameters_are_those_of_runs():
    """S' = f_x S + f_p beside differences of whole runs."""
    d = closed_loop()
    f = d.system().derivatives
    n, k = len(f.x0), f.columns["p"].index("k.k")

    def both(t, z):
        x, s = z[:n], z[n:]
        return np.concatenate([f(t, x), f.by_x(t, x) @ s + f.by_p(t, x)[:, k]])

    found = solve_ivp(both, (0.0, 1.5), np.concatenate([f.x0, np.zeros(n)]), rtol=1e-10, atol=1e-12)
    ends = []
    for gain in (4.0 - 1e-4, 4.0 + 1e-4):
        sim = Simulation(d, parameters={"k.k": gain}, rtol=1e-12, atol=1e-14)
        sim.advance(1.5)
        ends.append(sim.snapshot().x)
    np.testing.assert_allclose(found.y[n:, -1], (ends[1] - ends[0]) / 2e-4, atol=1e-6)


# --- algebraic loops
@dataclass(frozen=True)
class Product(Block):
    """y = k u1 u2 + u3: its loop is not affine."""

    k: float = 0.5

    def define(self, b):
        u1, u2, u3 = (b.input(n, size=1) for n in ("u1", "u2", "u3"))
        b.output("y", b.parameter("k", self.k) * u1 * u2 + u3)


def test_unknowns_of_a_loop_are_solved_and_differentiated_through():
    """y = k y^2 + u with x' = y: y = (1 - sqrt(1 - 4 k u))/(2 k), dy/du = 1/sqrt(1 - 4 k u)."""
    d = Diagram("loop")
    product, x = d.add("product", Product()), d.add("x", Integrator())
    d.connect(product["y"], product["u1"])
    d.connect(product["y"], product["u2"])
    d.connect(d.inport("u"), product["u3"])
    d.connect(product["y"], x["u"])
    f = d.system(solve_loops=True).derivatives
    k, u = 0.5, 0.3
    root = np.sqrt(1 - 4 * k * u)
    y = (1 - root) / (2 * k)
    p = f.p0.copy()
    p[f.columns["p"].index("product.k")] = k
    assert f(0.0, [0.0], u, p)[0] == pytest.approx(y, rel=1e-12)
    assert f.by_u(0.0, [0.0], u, p)[0, 0] == pytest.approx(1 / root, rel=1e-11)
    by_k = f.by_p(0.0, [0.0], u, p)[0, f.columns["p"].index("product.k")]
    assert by_k == pytest.approx(y**2 / root, rel=1e-11)
    assert f.by_x(0.0, [0.0], u, p).tolist() == [[0.0]]
    with pytest.raises(SimulationError, match="loop"):
        f(0.0, [0.0], 0.6, p)  # 1 - 4 k u < 0


def test_two_unknowns_are_differentiated_by_two_states():
    """a = k a b + x1 and b = k a^2 + x2 with x1' = a, x2' = b, against SciPy's root and differences of it."""
    d = Diagram("loops")
    for name, state in (("a", "x1"), ("b", "x2")):
        d.add(name, Product(0.3))
        d.add(state, Integrator())
        d.connect(f"{name}.y", f"{state}.u")
        d.connect(f"{state}.y", f"{name}.u3")
    d.connect("a.y", "a.u1", "b.u1", "b.u2")
    d.connect("b.y", "a.u2")

    def root(x):
        return fsolve(lambda w: [0.3 * w[0] * w[1] + x[0], 0.3 * w[0] ** 2 + x[1]] - w, x, xtol=1e-13)

    x, h = np.array([0.4, 0.7]), 1e-5
    expected = np.column_stack([(root(x + h * e) - root(x - h * e)) / (2 * h) for e in np.eye(2)])
    f = d.system(solve_loops=True).derivatives
    assert f(0.0, x) == pytest.approx(root(x), abs=1e-10)
    assert f.by_x(0.0, x) == pytest.approx(expected, abs=1e-8)
    assert abs(expected[0, 1] - expected[1, 0]) > 0.1


# --- what is held
def test_what_is_held_stays_and_may_be_given():
    """A sampled controller: between ticks its output is a number that h has."""
    d = Diagram("sampled")
    control = d.add("c", DiscreteStateSpace(0.5, 1.0, 2.0, 3.0, sample=0.1))
    x = d.add("x", Integrator(initial=1.0))
    d.connect(x["y"], control["u"])
    d.connect(control["y"], x["u"])
    f = d.system().derivatives
    assert f(0.0, [1.0]).tolist() == [0.0]  # before the first tick
    assert f(7.0, [5.0]).tolist() == [0.0] and f.by_x(0.0, [1.0]).tolist() == [[0.0]]
    sim = Simulation(d)
    sim.advance(0.25)
    now = sim.snapshot()
    held = sim.value("c.y")
    assert f(0.25, now.x, None, now.p, now.h).tolist() == held.tolist() != [0.0]
    sim.advance(0.29)
    later = sim.snapshot()
    assert later.x == pytest.approx(now.x + 0.04 * held, rel=1e-9)
    assert f(0.25, [1.0]).tolist() == [0.0]  # h is at its default again
    assert any(name.startswith("c.") for name in f.columns["h"])


def test_a_mode_is_held_whatever_the_states_are():
    d = Diagram("relay")
    relay, x = d.add("r", Relay(on_point=1.0, off_point=-1.0)), d.add("x", Integrator())
    d.connect(x["y"], relay["u"])
    d.connect(relay["y"], x["u"])
    f = d.system().derivatives
    assert f(0.0, [-5.0]).tolist() == f(0.0, [5.0]).tolist()


# --- purity
def test_a_call_remembers_nothing():
    s = system_of(StateSpace(A, B, C, D))
    f = s.derivatives
    x, u, p, h = f.x0 + 1.0, np.array([1.0, 2.0]), 2 * f.p0, f.h0 + 3.0
    plain, full = f(0.0, x), f(0.0, x, u, 2 * p)
    held = f(0.0, x, None, None, h)
    np.testing.assert_allclose(held, A @ x + B @ [3.0, 3.0])  # the inputs that h has
    for _ in range(2):
        np.testing.assert_array_equal(f(0.0, x, u, 2 * p), full)
        np.testing.assert_array_equal(f(0.0, x), plain)
        np.testing.assert_array_equal(f(0.0, x, None, None, h), held)
        np.testing.assert_array_equal(f(0.0, x, u, None, h), f(0.0, x, u))  # u goes before what h has
        np.testing.assert_array_equal(f(0.0, x), plain)
    kept = f(0.0, x)
    f(0.0, 2 * x)
    np.testing.assert_array_equal(kept, plain)  # a result is the caller's own
    out = np.zeros(2)
    assert f(0.0, x, u, 2 * p, out=out) is out and out.tolist() == full.tolist()
    f.x0[:] = 9.0
    assert f.x0.tolist() == [0.0, 0.0]


def test_threads_may_share_a_function():
    f = system_of(pendulum()).derivatives
    points = [f.x0 + 0.01 * k for k in range(8)]
    expected = [f(0.0, x) for x in points]
    wrong = []

    def work(k):
        wrong.extend(k for _ in range(300) if not np.array_equal(f(0.0, points[k]), expected[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_any_signal_can_be_an_output():
    s = closed_loop().system()
    g = s.outputs_of(["k.y", "p.angle"])
    assert g.rows == ("k.y", "p.angle")
    x = np.array([0.2, 0.0])
    angle = s.outputs(0.5, x)[0]
    assert g(0.5, x) == pytest.approx([4 * (0.3 * np.sin(1.0) - angle), angle])
    assert len(s.outputs_of(None).rows) == len(s.signals)
    with pytest.raises(PlantloopError, match="has no signal 'k.z'; did you mean 'k.y'"):
        s.outputs_of("k.z")


# --- mistakes
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: f(0.0, [1.0]), r"x has shape \(1,\), expected \(2,\): 'plant.x\[0\]', 'plant.x\[1\]'"),
        (lambda f: f(0.0, 1.0), r"x has shape \(\), expected \(2,\)"),
        (lambda f: f(0.0, np.zeros((2, 1))), r"x has shape \(2, 1\), expected \(2,\)"),
        (lambda f: f(0.0, "ab"), "x is 'ab', expected 2 numbers"),
        (lambda f: f(0.0, np.zeros(2) * 1j), "x is .*, expected 2 numbers"),
        (lambda f: f.by_u(0.0, f.x0, np.zeros(3)), r"u has shape \(3,\), expected \(2,\): 'u\[0\]'"),
        (lambda f: f.by_p(0.0, f.x0, None, [1.0]), r"p has shape \(1,\), expected"),
        (lambda f: f(0.0, f.x0, None, None, np.zeros(9)), r"h has shape \(9,\), expected \(2,\)"),
    ],
)
def test_a_wrong_argument_is_named(call, text):
    with pytest.raises(PlantloopError, match=text):
        call(system_of(StateSpace(A, B, C, D)).derivatives)


def test_a_delay_is_no_function_of_the_present():
    d = Diagram("d")
    d.connect(d.add("one", Constant(1.0))["y"], d.add("late", TransportDelay(0.1))["u"])
    with pytest.raises(PlantloopError, match="'late.*' is a delay: its past is part of the state"):
        _ = d.system().derivatives


@dataclass(frozen=True)
class Outside(Block):
    """x' = root(u) by a Python function that fails below zero."""

    def define(self, b):
        x = b.continuous("x", 1.0)
        b.derivative(x, b.opaque("root", lambda t, u: np.sqrt(u) if u >= 0 else 1 / 0, x, size=1))
        b.output("y", x)


def test_what_a_users_function_raises_is_raised():
    f = system_of(Outside()).derivatives
    assert f(0.0, [4.0]).tolist() == [2.0]
    with pytest.raises(PlantloopError, match="block 'plant'.* raised ZeroDivisionError"):
        f(0.0, [-1.0])
    assert f(0.0, [9.0]).tolist() == [3.0]
