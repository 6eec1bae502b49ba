"""Algebraic loops and implicit unknowns, on both engines."""

import numpy as np
import pytest

from blocks import (
    AlgebraicLoopError,
    Clock,
    Constant,
    DiscreteStateSpace,
    Function,
    Gain,
    Hold,
    Integrator,
    SimulationError,
    Sine,
    StateSpace,
    Sum,
    UnitDelay,
)
from cosim import Diagram, Simulation
from cosim import simulate as simulate_with
from tests.helpers.made import Made, alone, ramp

ENGINE = {"name": "reference"}


@pytest.fixture(autouse=True, params=["reference", "native"])
def engine(request):
    """Every test here runs twice."""
    ENGINE["name"] = request.param


def simulate(d, until, **settings):
    native = ENGINE["name"] == "native" and settings.get("solver") not in ("Radau", "BDF")
    return simulate_with(d, until, engine="native" if native else "reference", **settings)


def feedback(function, source, back=None) -> Diagram:
    """y = function(source - back(y))."""
    d = Diagram("loop")
    u, s, f = d.add("u", source), d.add("s", Sum("+-")), d.add("f", function)
    k = d.add("k", back or Gain(1.0))
    d.connect(u["y"], s["in1"])
    d.connect(s["y"], f["u"])
    d.connect(f["y"], k["u"])
    d.connect(k["y"], s["in2"])
    return d


def test_an_affine_loop():
    d = feedback(Gain(3.0), Sine())
    r = simulate(d, 2.0, solve_loops=True, log_every=0.1)
    assert r["f.y"][:, 0] == pytest.approx(0.75 * np.sin(r.time), abs=1e-14)


def test_a_loop_is_refused_hop_by_hop_unless_asked_for():
    with pytest.raises(AlgebraicLoopError, match=r"(?s)between ticks.*s\.y.*f\.u.*solve_loops=True"):
        simulate(feedback(Gain(3.0), Sine()), 2.0)


def test_a_nonlinear_loop():
    """y = 2 cos(u - y) for a slow u: the branch is followed from the accepted solution."""
    d = feedback(Function(lambda u: 0.8 * np.cos(u)), Sine(frequency=0.7))
    r = simulate(d, 5.0, solve_loops=True, log_every=0.1)
    y = r["f.y"][:, 0]
    assert y == pytest.approx(0.8 * np.cos(np.sin(0.7 * r.time) - y), abs=1e-12)


@pytest.mark.parametrize("size", [1e-7, 1e9])
def test_a_loop_of_any_size(size):
    """v = (0.5 + 0.3 sin(sin t - v)) size, whose residual is the rounding of large numbers."""
    d = feedback(Function(lambda u: size * (0.5 + 0.3 * np.sin(u / size))), Sine(size))
    r = simulate(d, 2.0, solve_loops=True, log_every=0.05)
    v = r["f.y"][:, 0] / size
    assert v == pytest.approx(0.5 + 0.3 * np.sin(np.sin(r.time) - v), rel=1e-11)
    assert np.ptp(v) > 0.1


def test_a_loop_of_vectors():
    K = np.array([[0.3, -0.2, 0.1], [0.2, 0.5, 0.4], [-0.6, 0.1, 0.2]])
    d = feedback(Gain(K), Constant([1.0, 2.0, 3.0]))
    r = simulate(d, 1.0, solve_loops=True, log_at=[1.0])
    assert r["f.y"][0] == pytest.approx(np.linalg.solve(np.eye(3) + K, K @ [1, 2, 3]), abs=1e-14)


def test_a_loop_through_plants_with_feedthrough_and_states():
    """Two state spaces with D != 0 around each other: x' of the closed form, integrated over 1 s."""
    first, second = StateSpace(-1.0, 1.0, 1.0, 0.5, initial=1.0), StateSpace(-2.0, 1.0, 1.0, 0.25)
    d = feedback(first, Constant(0.0), second)
    r = simulate(d, 1.0, solve_loops=True, log_at=[1.0], rtol=1e-11, atol=1e-13)
    # u1 = -y2, y2 = x2 + 0.25 y1, y1 = x1 + 0.5 u1
    y = np.linalg.solve([[1, 0.5], [-0.25, 1]], np.eye(2))  # (y1, y2) of (x1, x2)
    A = np.diag([-1.0, -2.0]) + np.array([-y[1], y[0]])
    w, V = np.linalg.eig(A)
    x = (V * np.exp(w)) @ np.linalg.solve(V, [1.0, 0.0])
    assert [r["f.y"][0, 0], r["k.y"][0, 0]] == pytest.approx((y @ x).real, abs=1e-10)


def test_a_loop_through_subsystems():
    inner = Diagram("inner")
    u, g = inner.inport("u", 1), inner.add("g", Gain(3.0))
    inner.connect(u, g["u"])
    inner.outport("y", g["y"])
    d = Diagram("outer")
    source, s, f = d.add("u", Constant(2.0)), d.add("s", Sum("+-")), d.add("f", inner)
    d.connect(source["y"], s["in1"])
    d.connect(s["y"], f["u"])
    d.connect(f["y"], s["in2"])
    r = simulate(d, 0.1, solve_loops=True, log_at=[0.1])
    assert r["s.y"][0, 0] == pytest.approx(0.5, abs=1e-15)


def test_a_loop_at_ticks_only():
    """Sampled blocks around each other: at a tick unknowns, between ticks constants."""
    d = feedback(Hold(sample=0.1), Sine(), Function(lambda u: np.tanh(2 * u)))
    with pytest.raises(AlgebraicLoopError, match="at a tick"):
        simulate(d, 1.0)
    time, y = simulate(d, 1.0, solve_loops=True).ticks("f.y")
    assert y[:, 0] == pytest.approx(np.sin(time) - np.tanh(2 * y[:, 0]), abs=1e-12)


def test_a_loop_at_ticks_through_one_component_of_a_vector():
    """The component in the middle feeds itself back; its neighbours are sampled beside it."""

    d = Diagram("vector")
    f = d.add("f", Function(lambda t, v: np.concatenate([t, t + np.cos(v), 2 * t + 1]), sample=0.1))
    d.connect(d.add("t", Clock())["y"], f["t"])
    d.connect(f["y"], d.add("half", Function(lambda u: u[1:2] / 2))["u"])
    d.connect("half.y", f["v"])
    time, y = simulate(d, 1.0, solve_loops=True).ticks("f.y")
    assert y[:, [0, 2]] == pytest.approx(np.stack([time, 2 * time + 1], axis=1), abs=1e-15)
    assert y[:, 1] == pytest.approx(time + np.cos(y[:, 1] / 2), abs=1e-12)


def test_a_loop_through_nested_subsystems_feedthrough_and_sampled_blocks():
    """Continuous and at ticks at once: state space with D, a sampled one inside two subsystems, a hold."""
    inner, middle, d = Diagram("inner"), Diagram("middle"), Diagram("outer")
    plant = inner.add("plant", StateSpace(-1.0, 1.0, 1.0, 0.5, initial=1.0))
    sampled = inner.add("sampled", DiscreteStateSpace(0.5, 1.0, 1.0, 0.3, sample=0.1))
    inner.connect(inner.inport("u", 1), plant["u"])
    inner.connect(plant["y"], sampled["u"])
    inner.outport("y", sampled["y"])
    inner.outport("c", plant["y"])
    part = middle.add("part", inner)
    middle.connect(middle.inport("u", 1), part["u"])
    middle.outport("y", part["y"])
    middle.outport("c", part["c"])
    s, p, u = d.add("s", Sum("+-+-")), d.add("p", middle), d.add("u", Sine(1.0, 2.0))
    g, hold = d.add("g", Function(lambda c: 0.3 * np.tanh(c))), d.add("hold", Hold(0, sample=0.1))
    d.connect(p["c"], g["c"])
    d.connect(p["c"], hold["u"])
    for port, source in (("in1", u["y"]), ("in2", p["y"]), ("in3", g["y"]), ("in4", hold["y"])):
        d.connect(source, s[port])
    d.connect(s["y"], p["u"])
    with pytest.raises(AlgebraicLoopError, match=r"(?s)p/part/plant\.u  feeds through"):
        simulate(d, 1.0)
    r = simulate(d, 1.0, solve_loops=True, solver="rk4", step=0.01, log_every=0.02)
    terms = r["u.y"] - r["p/part/sampled.y"] + r["g.y"] - r["hold.y"]
    assert r["s.y"] == pytest.approx(terms, abs=1e-12)
    c = r["p/part/plant.y"]
    assert r["g.y"] == pytest.approx(0.3 * np.tanh(c), abs=1e-12)
    assert r["hold.y"][::5] == pytest.approx(c[::5], abs=1e-12)  # at ticks: found together
    y, state = r["p/part/sampled.y"][::5, 0], 0.0
    for k in range(len(y)):
        assert y[k] == pytest.approx(state + 0.3 * c[5 * k, 0], abs=1e-12)
        state = 0.5 * state + c[5 * k, 0]


def test_a_loop_through_two_rates_is_refused_with_the_cure():
    d = feedback(Hold(sample=0.1), Sine(), Hold(sample=0.05))
    with pytest.raises(AlgebraicLoopError, match="different rates.*UnitDelay"):
        simulate(d, 1.0, solve_loops=True)


def test_a_delay_breaks_a_loop():
    d = feedback(UnitDelay(0.1), Constant(1.0))
    y = simulate(d, 0.5).ticks("f.y").values[:, 0]
    assert y.tolist() == [0, 1, 0, 1, 0, 1]


def test_an_implicit_unknown_follows_the_states():
    """z^3 + z = x with x = t: the one real root."""

    def equations(b):
        x = ramp(b)
        z = b.algebraic("z", 0.0)
        b.residual(z**3 + z - x)
        b.output("z", z)

    r = simulate(alone(equations), 3.0, log_every=0.1)
    z = r["it.z"][:, 0]
    assert z**3 + z == pytest.approx(r.time, abs=1e-12)


def test_two_unknowns_and_an_integrator_behind_them():
    """Kepler's equation as an unknown: E - e sin E = t; its integral against a fine quadrature."""

    def equations(b):
        E = b.algebraic("E", 0.5, size=2)
        e = np.array([0.3, 0.9])
        b.residual(E - e * np.sin(E) - b.time)
        b.output("E", E)

    d = alone(equations)
    i = d.add("i", Integrator([0.0, 0.0]))
    d.connect(d["it"]["E"], i["u"])
    r = simulate(d, 2.0, log_at=[2.0])
    # with dt = (1 - e cos E) dE the integral of E dt from E(0) = 0 is E^2/2 - e (E sin E + cos E - 1)
    for E, e, integral in zip(r["it.E"][0], (0.3, 0.9), r["i.y"][0], strict=True):
        primitive = E**2 / 2 - e * (E * np.sin(E) + np.cos(E) - 1)
        assert integral == pytest.approx(primitive, abs=1e-7)


def test_newton_starts_from_accepted_solutions_only():
    """z^2 = 1 + x has two branches: whatever steps were tried and rejected, the run stays on its own."""

    def equations(b):
        x = b.continuous("x", 0.0)
        z = b.algebraic("z", -1.0)
        b.residual(z**2 - 1 - x**2)
        b.derivative(x, 40 * np.cos(40 * b.time) + 0 * z)
        b.output("x", x)
        b.output("z", z)

    r = simulate(alone(equations), 1.0, log_every=0.01)
    assert r.statistics["rejected steps"] > 0
    assert r["it.z"] == pytest.approx(-np.sqrt(1 + r["it.x"] ** 2), abs=1e-10)
    sim = Simulation(alone(equations), engine="reference")
    sim.advance(0.37)
    rhs, context = sim._engine.parts.right_hand_side, sim._engine.context
    state, before = sim.snapshot(), rhs.derivative(0.37, context.x).tobytes()
    for scale in (1e3, -1e3, 3.0):  # trial values a step would reject
        rhs.derivative(0.37, scale + context.x)
    assert context.solution.tobytes() == state.solution.tobytes()
    assert rhs.derivative(0.37, context.x).tobytes() == before


def test_no_solution_is_an_error_that_names_the_loop():
    d = feedback(Function(lambda u: u * u + 2), Gain(1.0) and Constant(0.0), Gain(-1.0))  # y = y^2 + 2
    with pytest.raises(SimulationError, match=r"algebraic loop through .*(f\.y|s\.y|k\.y).*no solution"):
        simulate(d, 1.0, solve_loops=True)


def test_a_loop_and_an_event_that_looks_at_it():
    """The crossing depends on the unknown: it is armed and located along the loop's own solution."""

    def equations(b):
        x = ramp(b)
        z = b.algebraic("z", 0.0)
        n = b.mode("n", 0.0)
        b.residual(z**3 + z - x)
        b.when(z[0], [(n, n + 1)], "rising", "start")
        b.when(z[0] - 1, [(n, n + 1)], "rising", "one")
        b.output("n", n)

    r = simulate(alone(equations), 3.0)
    assert [(e.name, e.time) for e in r.events] == [
        ("it.start", 0.0),
        ("it.one", pytest.approx(2.0, abs=1e-9)),
    ]


@pytest.mark.slow
def test_stiff_solvers_take_loops_into_the_jacobian():
    def equations(b):
        x = b.continuous("x", 1.0)
        z = b.algebraic("z", 1.0)
        b.residual(z - x + 0.1 * np.sin(z))
        b.derivative(x, -1000 * z)
        b.output("x", x)

    for solver in ("Radau", "BDF", "rodas4"):
        r = simulate(alone(equations), 1.0, solver=solver, log_at=[1.0])
        assert abs(r["it.x"][0, 0]) < 1e-6 and r.statistics["steps"] < 300, solver


def test_made_blocks_keep_their_names():
    assert Made(ramp) == Made(ramp)
