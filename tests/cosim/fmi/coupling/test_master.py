"""The co-simulation master with linear units in plain Python, against exact maps and published numbers."""

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

from blocks import Clock, Constant, Function, Gain, Integrator, PlantloopError, UnitDelay
from cosim import Coupling, Diagram, Simulation, simulate, simulate_many
from tests.helpers.units import LinearUnit

REFERENCE = json.loads((Path(__file__).parents[3] / "data/reference/cosim_two_mass.json").read_text())
P = REFERENCE["parameters"]
ENGINES = ["reference", "native"]
A1 = np.array([[0, 1], [-P["k1"] / P["m1"], -P["c1"] / P["m1"]]])
B1 = np.array([[0], [1 / P["m1"]]])
A2 = np.array([[0, 1], [-(P["k2"] + P["kc"]) / P["m2"], -(P["c2"] + P["cc"]) / P["m2"]]])
B2 = np.array([[0, 0], [P["kc"] / P["m2"], P["cc"] / P["m2"]]])
Z1, Z2 = np.array([0.1, 0.0]), np.array([-0.05, 1.0])
NAMES = ("one.x", "two.x", "one.v", "two.v")


def force(x1, v1, x2, v2):
    return P["kc"] * (x2 - x1) + P["cc"] * (v2 - v1)


def one(step, **kw):
    return LinearUnit(A1, B1, np.eye(2), Z1, step, inputs=("f",), outputs=("x", "v"), **kw)


def two(step, **kw):
    return LinearUnit(A2, B2, np.eye(2), Z2, step, inputs=("x1", "v1"), outputs=("x", "v"), **kw)


def two_masses(first, second):
    d = Diagram("two masses")
    d.add("one", first)
    d.add("two", second)
    d.add("f", Function(force))
    for name in (
        "one.x f.x1",
        "one.v f.v1",
        "two.x f.x2",
        "two.v f.v2",
        "f.y one.f",
        "one.x two.x1",
        "one.v two.v1",
    ):
        d.connect(*name.split())
    return d


def at_end(result, names=NAMES):
    return np.array([result[name].ravel()[-1] for name in names])


def exact_at(t):
    return np.array(next(row[1:] for row in REFERENCE["exact"]["rows"] if row[0] == t))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheme", [k for k in REFERENCE["cosim"] if k.endswith("H0.02")])
def test_published_maps(scheme, engine):
    coupling = Coupling(
        order="jacobi" if scheme.startswith("jacobi") else "gauss-seidel",
        extrapolation=int("linear" in scheme),
    )
    r = simulate(two_masses(one(0.02), two(0.02)), 5.0, coupling=coupling, log_at=[1.0, 5.0], engine=engine)
    found = np.array([r[name] for name in NAMES]).reshape(4, 2).T
    np.testing.assert_allclose(found, [row[1:] for row in REFERENCE["cosim"][scheme]], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("extrapolation", [0, 1, 2])
def test_orders_of_convergence(order, extrapolation):
    coupling, steps = Coupling(order=order, extrapolation=extrapolation), ("1/200", "1/400")
    errors = [
        np.max(
            np.abs(
                at_end(simulate(two_masses(one(h), two(h)), 1.0, coupling=coupling, log_at=[1.0]))
                - exact_at(1.0)
            )
        )
        for h in steps
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(extrapolation + 1, abs=0.25)


@pytest.mark.parametrize(
    ("iterate", "order"), [(True, "jacobi"), (True, "gauss-seidel"), ("newton", "jacobi")]
)
def test_an_iterated_step_is_the_implicit_map(iterate, order):
    h = 0.02
    r = simulate(
        two_masses(one(h), two(h)), 0.2, coupling=Coupling(order=order, iterate=iterate), log_at=[0.2]
    )
    (p1, q1), (p2, q2) = ([m[:2, :2], m[:2, 2:]] for m in (_held(A1, B1, h), _held(A2, B2, h)))
    c1, c2 = np.array([[-P["kc"], -P["cc"]]]), np.array([[P["kc"], P["cc"]]])
    left = np.block([[np.eye(2) - q1 @ c1, -q1 @ c2], [-q2, np.eye(2)]])
    z = np.concatenate([Z1, Z2])
    for _ in range(10):
        z = np.linalg.solve(left, np.concatenate([p1 @ z[:2], p2 @ z[2:]]))
    np.testing.assert_allclose(at_end(r, ("one.x", "one.v", "two.x", "two.v")), z, atol=1e-9)


def _held(A, B, h):
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A, B
    return expm(block * h)[:n]


@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
def test_error_control_meets_its_tolerance(order):
    coupling = Coupling(order=order, extrapolation=2, rtol=1e-3)
    r = simulate(two_masses(one(0.01), two(0.01)), 0.5, coupling=coupling, log_at=[0.5])
    size = np.array([0.1, 0.1, 1.4, 1.2])  # of the signals over the run
    worst = np.max(np.abs(at_end(r) - exact_at(0.5)) / size)
    assert worst < 3e-3
    loose = simulate(
        two_masses(one(0.01), two(0.01)), 0.5, coupling=replace(coupling, rtol=1e-2), log_at=[0.5]
    )
    assert loose.coupling.macro_steps < r.coupling.macro_steps


def test_a_stiff_and_a_soft_unit_under_error_control():
    """Fast: 0.01 x' = y - x; slow: y' = -x. With x = y this is y' = -y, but for the fast one's lag."""
    d = Diagram("stiff")
    d.add("fast", LinearUnit(np.array([[-100.0]]), np.array([[100.0]]), np.eye(1), np.array([1.0]), 0.001))
    d.add("slow", LinearUnit(np.zeros((1, 1)), -np.eye(1), np.eye(1), np.array([1.0]), 0.001))
    d.connect("slow.y", "fast.u")
    d.connect("fast.y", "slow.u")
    tolerance = 1e-4
    r = simulate(d, 1.0, coupling=Coupling(extrapolation=2, rtol=tolerance), log_at=[1.0])
    exact = expm(np.array([[-100.0, 100.0], [-1.0, 0.0]])) @ [1.0, 1.0]
    assert np.max(np.abs(at_end(r, ("fast.y", "slow.y")) - exact)) < 3 * tolerance


# --- our own blocks as a unit -----------------------------------------------------------------------------
def with_ours(step, **kw):
    """The second mass as blocks of ours."""
    d = Diagram("half")
    d.add("one", one(step, **kw))
    d.add("f", Function(force))
    d.add("a", Function(lambda x, v, f: (-P["k2"] * x - P["c2"] * v - f) / P["m2"]))
    d.add("v", Integrator(initial=Z2[1]))
    d.add("x", Integrator(initial=Z2[0]))
    for name in (
        "one.x f.x1",
        "one.v f.v1",
        "x.y f.x2",
        "v.y f.v2",
        "f.y one.f",
        "f.y a.f",
        "x.y a.x",
        "v.y a.v",
    ):
        d.connect(*name.split())
    d.connect("a.y", "v.u")
    d.connect("v.y", "x.u")
    return d


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheme", ["jacobi_zoh_H0.02", "jacobi_linear_H0.02"])
def test_our_own_blocks_are_a_unit(scheme, engine):
    coupling = Coupling(extrapolation=int("linear" in scheme))
    r = simulate(with_ours(0.02), 1.0, coupling=coupling, log_at=[1.0], engine=engine, rtol=1e-12, atol=1e-14)
    row = REFERENCE["cosim"][scheme][0][1:]
    np.testing.assert_allclose(at_end(r, ("one.x", "x.y", "one.v", "v.y")), row, atol=1e-9)


def test_our_own_blocks_step_where_they_stand_in_the_order():
    r = simulate(
        with_ours(0.02), 1.0, coupling="gauss-seidel", log_at=[1.0], rtol=1e-12, atol=1e-14
    )  # the force of our blocks is one input, their own are two: the unit waits
    row = REFERENCE["cosim"]["gauss_seidel_zoh_H0.02"][0][1:]
    assert "'one' -> our own blocks; old values at one.f" in r.coupling.order
    np.testing.assert_allclose(at_end(r, ("one.x", "x.y", "one.v", "v.y")), row, atol=1e-9)


def test_iterated_steps_roll_our_own_blocks_back():
    coupling = Coupling(iterate=True, extrapolation=2)
    r = simulate(with_ours(0.01), 1.0, coupling=coupling, log_at=[0.5, 1.0], rtol=1e-11, atol=1e-13)
    assert np.max(np.abs(at_end(r, ("one.x", "x.y", "one.v", "v.y")) - exact_at(1.0))) < 5e-4
    assert len(r.time) == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_units_arrive_before_the_tick_of_the_same_instant(engine):
    """A unit counts seconds by itself; a delay of ours samples it at its own points."""
    d = Diagram("arrival")
    d.add("clock", LinearUnit(np.zeros((1, 1)), np.eye(1), np.eye(1), np.zeros(1), 0.25))
    d.connect(d.add("rate", Constant(1.0))["y"], "clock.u")
    d.connect("clock.y", d.add("late", UnitDelay(sample=0.25))["u"])
    r = simulate(d, 1.0, coupling="jacobi", log_every=0.25, engine=engine)
    np.testing.assert_array_equal(r["clock.y"].ravel(), [0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(r["late.y"].ravel(), [0, 0, 0.25, 0.5, 0.75])


def test_different_steps_and_an_offset():
    """Integrators of each other, one three times as fast and late by a step, by hand in exact rationals."""
    integrator = lambda start, h, offset=0: LinearUnit(
        np.zeros((1, 1)), np.eye(1), np.eye(1), np.array([start]), h, offset=offset
    )
    d = Diagram("steps")
    d.add("slow", integrator(1.0, "3/8"))
    d.add("fast", integrator(2.0, "1/8", "1/8"))
    d.connect("slow.y", "fast.u")
    d.connect("fast.y", "slow.u")
    r = simulate(d, 1.0, coupling="jacobi", log_every="1/8")
    slow, fast, u, rows = 1.0, 2.0, 2.0, []
    held = 1.0
    for k in range(9):
        if k and k % 3 == 0:
            slow += 3 / 8 * u
        if k > 1:
            fast += held / 8
        if k % 3 == 0:
            u = fast
        if k >= 1:
            held = slow
        rows.append((slow, fast))
    np.testing.assert_allclose(np.column_stack([r["slow.y"], r["fast.y"]]), rows, rtol=1e-15)


@pytest.mark.parametrize("offset", ["1/16", "1/8", "5/16"])
def test_a_unit_that_begins_later_takes_its_first_input_there(offset):
    """z' = t as it was at the last point, from the offset t0 on: z = h sum(t0 + k h), exact in doubles."""
    d = Diagram("late")
    d.add("z", LinearUnit(np.zeros((1, 1)), np.eye(1), np.eye(1), np.zeros(1), "1/8", offset=offset))
    d.connect(d.add("t", Clock())["y"], "z.u")
    begin, h = float(Fraction(offset)), 0.125
    r = simulate(d, 1.0, coupling="jacobi", log_at=[begin + k * h for k in range(6)])
    assert r["z.y"].ravel().tolist() == [h * sum(begin + n * h for n in range(k)) for k in range(6)]


def test_units_without_slopes_get_means_or_values_at_the_end():
    first = one(0.02, slopes=0)
    simulate(two_masses(first, two(0.02)), 0.1, coupling=Coupling(extrapolation=1))
    steps = [entry for entry in first.log if entry != "closed"]
    assert not any(slope.any() or curvature.any() for *_, slope, curvature in steps)
    sharp = two_masses(one(0.02), two(0.02))
    smooth = simulate(sharp, 1.0, coupling=Coupling(extrapolation=1), log_at=[1.0])
    mean = simulate(two_masses(one(0.02, slopes=0), two(0.02, slopes=0)), 1.0,
                    coupling=Coupling(extrapolation=1), log_at=[1.0])  # fmt: skip
    held = simulate(sharp, 1.0, coupling="jacobi", log_at=[1.0])
    errors = [np.max(np.abs(at_end(r) - exact_at(1.0))) for r in (smooth, mean, held)]
    assert errors[1] < 0.5 * errors[2] and errors[0] < errors[2]


def test_sampled_inputs_are_held():
    d = Diagram("stairs")
    unit = LinearUnit(np.zeros((1, 1)), np.eye(1), np.eye(1), np.zeros(1), 0.1)
    d.add("unit", unit)
    d.connect(d.add("y", Function(lambda u: 1 - u))["y"], d.add("hold", UnitDelay(sample=0.1))["u"])
    d.connect("unit.y", "y.u")
    d.connect("hold.y", "unit.u")
    simulate(d, 1.0, coupling=Coupling(extrapolation=2))
    assert not any(slope.any() for entry in unit.log if entry != "closed" for slope in entry[3:4])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
def test_a_loop_of_our_own_between_units_is_solved_for_what_they_deliver(order, engine):
    """One unit delivers y = t; e + e^3 = y is solved by our blocks; the other one integrates e, held."""
    d, h = Diagram("between"), 0.1
    clock = LinearUnit(
        np.array([[0, 1], [0, 0]]), np.zeros((2, 0)), np.eye(1, 2), np.array([0, 1]), h, inputs=()
    )
    d.add("clock", clock)
    d.add("total", LinearUnit(np.zeros((1, 1)), np.eye(1), np.eye(1), np.zeros(1), h))
    d.add("e", Function(lambda given, v: given - v**3))
    d.add("same", Gain(1.0))
    for wire in ("clock.y e.given", "e.y same.u", "same.y e.v", "e.y total.u"):
        d.connect(*wire.split())
    r = simulate(d, 1.0, coupling=order, solve_loops=True, log_every=h, engine=engine)
    e = [np.roots([1.0, 0.0, 1.0, -k * h]) for k in range(11)]
    e = np.array([float(v[np.abs(v.imag) < 1e-9].real[0]) for v in e])
    held = e[1:] if order == "gauss-seidel" else e[:-1]  # its driver has stepped already
    np.testing.assert_allclose(r["total.y"][:, 0], np.append(0.0, h * np.cumsum(held)), atol=1e-9)
    np.testing.assert_allclose(r["e.y"][:, 0], e, atol=1e-9)


def test_numbers_of_a_coupling_are_plain():
    """As a scenario writes them; NumPy's are taken."""
    c = Coupling(extrapolation=np.int64(2), rtol=np.float64(1e-3), cut=["a.u"], bonds=[["a.f", "b.v"]])
    assert type(c.extrapolation) is int and type(c.rtol) is float
    assert c == Coupling(extrapolation=2, rtol=1e-3, cut=("a.u",), bonds=(("a.f", "b.v"),))
    assert str(c) == "jacobi, extrapolation=2, rtol=0.001, cut=('a.u',), bonds=(('a.f', 'b.v'),)"
    assert c.rolls_back and Coupling(iterate="newton").rolls_back and not Coupling().rolls_back


# --- life of a run ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("coupling", ["jacobi", "gauss-seidel", Coupling(iterate=True)])
def test_a_unit_ends_the_run_where_it_stands(coupling, engine):
    d = with_ours(0.02, ends=0.05)
    r = simulate(d, 1.0, coupling=coupling, engine=engine)
    assert r.time[-1] == pytest.approx(0.05) and r.message == "it is enough" and r.complete


@pytest.mark.parametrize("coupling", ["jacobi", "gauss-seidel", Coupling(iterate=True)])
def test_the_last_row_is_that_of_the_end(coupling):
    """At 0.04 s the unit ends the run; that instant was asked for, and has one row."""
    found = []
    for engine in ENGINES:
        d = with_ours(0.02, ends=0.04)
        r = simulate(d, 1.0, coupling=coupling, engine=engine, log_at=[0.02, 0.04, 0.06])
        assert r.time.tolist() == [0.02, 0.04]
        found.append(np.concatenate([r[name].ravel() for name in r]))
    assert np.allclose(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_advancing_between_communication_points_is_told_where_it_matters(engine):
    def advanced(coupling, until):
        with (
            warnings.catch_warnings(record=True) as said,
            Simulation(with_ours(0.02), coupling=coupling, engine=engine) as sim,
        ):
            warnings.simplefilter("always")
            sim.advance(until)
            sim.advance(until + 0.02)
        return [str(w.message) for w in said]

    for coupling in ("jacobi", Coupling(rtol=1e-3)):
        assert not advanced(coupling, 0.03)
    assert not advanced(Coupling(iterate=True), 0.04)
    (said,) = advanced(Coupling(iterate=True), 0.03)
    assert "advanced to t=0.03 s, between two communication points" in said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "coupling", [Coupling(extrapolation=2), Coupling(order="gauss-seidel", extrapolation=1)]
)
def test_snapshots_go_on_bit_for_bit(tmp_path, coupling, engine):
    d = with_ours("1/50")
    with Simulation(d, coupling=coupling, engine=engine) as sim:
        sim.advance(0.4)
        sim.save(tmp_path / "there.npz")
        there = sim.snapshot()
        sim.advance(0.8)
        expected = sim.snapshot()
        sim.restore(there)
        sim.advance(0.8)
        assert sim.snapshot().same(expected)
    with Simulation(d, coupling=coupling, engine=engine) as sim:
        sim.load(tmp_path / "there.npz")
        sim.advance(0.8)
        assert sim.snapshot().same(expected)


def test_units_are_closed():
    unit = one(0.02)
    simulate(two_masses(unit, two(0.02)), 0.1, coupling="jacobi")
    assert unit.log[-1] == "closed"


def test_many_runs_are_coupled_as_well():
    found = simulate_many(
        with_ours(0.02), [{"initial": {"x.x": x}} for x in (-0.05, 0.02)], 0.2, coupling="jacobi"
    )
    alone = simulate(with_ours(0.02), 0.2, coupling="jacobi", initial={"x.x": 0.02}, log_at=[0.2])
    assert found["one.x"][1].ravel()[-1] == alone["one.x"].ravel()[-1]


# --- quality ----------------------------------------------------------------------------------------------
def test_residuals_are_what_was_assumed_against_what_was_delivered():
    bonds = (("one.f", "two.v1"),)
    r = simulate(two_masses(one(0.02), two(0.02)), 1.0, coupling=Coupling(bonds=bonds), log_every="1/50")
    f = force(r["one.x"], r["one.v"], r["two.x"], r["two.v"]).ravel()
    np.testing.assert_allclose(r.coupling["one.f"].residual, f[:-1] - f[1:], atol=1e-12)
    v = r["one.v"].ravel()
    power = f[:-1] * v[1:] - f[1:] * v[:-1]
    np.testing.assert_allclose(r.coupling.bonds[bonds[0]].power, power, atol=1e-12)
    assert "halve the step of 'one' (0.02 s)" in r.coupling.suggestion
    assert (r.coupling.macro_steps, r.coupling.rejected, r.coupling.rounds) == (50, 0, 0)


# --- what is refused --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("first", "coupling", "said"),
    [
        ({"rolls_back": False}, Coupling(iterate=True), r"unit 'one' .* cannot be rolled back"),
        ({"rolls_back": False}, Coupling(rtol=1e-3), r"unit 'one' .* cannot be rolled back"),
        ({"variable_step": False}, Coupling(rtol=1e-3), r"unit 'one' .* steps of one size only"),
        ({"lying": True}, Coupling(iterate=True), r"unit 'one' .* says that it can be rolled back"),
        ({}, Coupling(order="gauss-seidel", cut=("one.g",)), r"cut names 'one\.g'.*one\.f"),
        ({}, Coupling(bonds=(("one.f", "two.y"),)), r"bonds names 'two\.y'"),
    ],
)
def test_units_that_cannot_are_named_before_the_run(first, coupling, said):
    with pytest.raises(PlantloopError, match=said):
        simulate(two_masses(one(0.02, **first), two(0.02)), 1.0, coupling=coupling)


def test_a_cut_that_a_user_chose():
    coupling = Coupling(order="gauss-seidel", cut=("two.x1", "two.v1"))
    r = simulate(two_masses(one(0.02), two(0.02)), 0.1, coupling=coupling)
    assert r.coupling.order == "'two' -> 'one'; old values at two.x1, two.v1"


def pulled(names):
    """The mass 'one' pulls 'two', and nothing acts back."""
    d = Diagram("pulled")
    for name in names:
        d.add(name, {"one": one, "two": two}[name](0.02))
    d.connect("one.x", "two.x1")
    d.connect("one.v", "two.v1")
    d.ground("one.f")
    return d


@pytest.mark.parametrize(
    ("d", "order", "cut", "said"),
    [
        (
            two_masses(one(0.02), two(0.02)),
            "jacobi",
            ("one.f",),
            r"at 'one\.f': units have an order",
        ),
        (
            pulled(["one", "two"]),
            "gauss-seidel",
            ("two.x1",),
            r"'two\.x1': nothing .* 'one' -> 'two'",
        ),
        (
            two_masses(one(0.02), two(0.02)),
            "gauss-seidel",
            ("one.f", "two.x1", "two.v1"),
            r"no effect at 'two\.x1', 'two\.v1': .* old values at one\.f",
        ),
    ],
)
def test_a_cut_that_changes_nothing_is_warned_about(d, order, cut, said):
    with pytest.warns(UserWarning, match=said) as found:
        cutting = simulate(d, 0.1, coupling=Coupling(order=order, cut=cut))
    assert len(found) == 1
    r = simulate(d, 0.1, coupling=order)
    assert all(r[name].tobytes() == cutting[name].tobytes() for name in ("one.x", "two.x"))


def test_a_cut_beside_a_cycle_is_taken():
    """Without it 'one' would step first."""
    d = pulled(["two", "one"])
    assert simulate(d, 0.1, coupling="gauss-seidel").coupling.order == "'one' -> 'two'"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r = simulate(d, 0.1, coupling=Coupling(order="gauss-seidel", cut=("two.x1", "two.v1")))
    assert r.coupling.order == "'two' -> 'one'; old values at two.x1, two.v1"


def test_a_coupling_without_units_is_refused():
    d = Diagram("none")
    d.add("c", Constant(1.0))
    with pytest.raises(PlantloopError, match="nothing in 'none' steps itself"):
        simulate(d, 1.0, coupling="jacobi")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"order": "seidel"}, "no order 'seidel'"),
        ({"extrapolation": 3}, "extrapolation is 3"),
        ({"extrapolation": True}, "extrapolation is True"),
        ({"iterate": "often"}, "iterate is 'often'"),
        ({"rtol": -1.0}, "rtol is -1"),
        ({"atol": 1e-3}, "atol is 0.001"),
        ({"cut": "one.f"}, "cut is 'one.f'"),
        ({"bonds": [("a.u",)]}, "bonds is"),
        ({"bonds": 5}, "bonds is 5"),
        ({"bonds": "ab"}, "bonds is 'ab'"),
    ],
)
def test_bad_couplings(given, said):
    with pytest.raises(PlantloopError, match=said):
        Coupling(**given)
