"""The rules of time (ARCHITECTURE.md, "What happens at a tick"); quoted parts are those rules."""

import itertools
import pathlib
import pickle
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import cosim
from blocks import (
    Block,
    Clock,
    Constant,
    DiscreteIntegrator,
    DiscreteStateSpace,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    PythonFunction,
    Sine,
    StateFeedback,
    StateSpace,
    Step,
    UnitDelay,
)
from cosim import Diagram
from cosim.engines.methods.steppers import pieces
from tests.helpers.mixed import OPTIONS, mixed
from tests.helpers.runs import Simulation, build, simulate

SHORTLY = 1e-6


def around(t):
    return [t - SHORTLY, t, t + SHORTLY]


# --- where outputs become visible
def test_a_sampled_output_is_visible_from_its_tick():
    """y_k = h(x_k, u_k) is visible from t_k to t_{k+1}."""
    r = simulate(
        build("c.y>k.x", c=Clock(), k=StateFeedback(-1.0, sample=0.1)), 0.35, log_at=[*around(0.2), 0.3]
    )
    assert r["k.u"][:, 0].tolist() == [0.1, 0.2, 0.2, 0.3]


def test_a_next_state_shows_one_tick_later():
    """x_{k+1} = f(x_k, u_k) shows at t_{k+1}."""
    r = simulate(
        build("c.y>d.u", c=Clock(), d=UnitDelay(0.1, initial=-1.0)), 0.3, log_at=[0.0, *around(0.1), 0.2]
    )
    assert r["d.y"][:, 0].tolist() == [-1.0, -1.0, 0.0, 0.0, 0.1]


def test_output_and_next_state_of_one_block_at_one_tick():
    block = DiscreteStateSpace(0.0, 1.0, 1.0, 10.0, sample=1, initial=5.0)  # y = x + 10 u, x+ = u
    r = simulate(build("c.y>b.u", c=Clock(), b=block), 3.0, log_at=[0.0, 1.0, 1.5, 2.0, 3.0])
    assert r["b.y"][:, 0].tolist() == [5.0, 10.0, 10.0, 21.0, 32.0]


def test_the_first_tick_is_executed_at_the_start_and_the_last_one_at_the_end():
    r = simulate(build("c.y>h.u", c=Clock(), h=Hold(sample=0.1)), 0.5, log_at=[0.5])
    assert r.ticks("h.y").time.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert r["h.y"].item() == 0.5


def test_a_run_of_no_length_executes_the_tick_at_zero():
    d = build("c.y>b.u", c=Constant(3.0), b=Hold(sample=0.1))
    for r in (simulate(d, 0.0, log_at=[0.0]), simulate(d, 0.0)):  # one row, not a thousand of one instant
        assert r["b.y"].item() == 3.0 and r.time.tolist() == [0.0]


@pytest.mark.parametrize("periods", [3, 7, 23, 1000])
def test_the_last_tick_is_not_lost_to_rounding(periods):
    """3 * 0.3 is a little less than 0.9."""
    total = sum([0.3] * periods)
    for until in (periods * 0.3, total):
        sim = Simulation(build("c.y>h.u", c=Clock(), h=Hold(sample=0.3)))
        sim.advance(until)
        assert sim.value("h.y").item() == float(Fraction(3 * periods, 10))


def test_the_last_listed_instant_is_not_lost_to_rounding():
    sim = Simulation(build("", s=Step(0.9)))
    sim.advance(3 * 0.3)
    assert sim.value("s.y").item() == 1.0


def test_an_end_that_only_comes_close_to_a_tick_is_before_it():
    sim = Simulation(build("c.y>h.u", c=Clock(), h=Hold(sample=0.3)))
    sim.advance(0.9 - 1e-9)
    assert sim.time == 0.9 - 1e-9 and sim.value("h.y").item() == 0.6


def test_before_its_first_tick_a_block_shows_its_initial_value():
    """Before the first tick current = next = initial, and sampled memories have their initial."""
    blocks = {
        "c": Clock(),
        "h": Hold(sample=1, offset="1/2", initial=7.0),
        "d": UnitDelay(1, "1/2", initial=8.0),
        "i": DiscreteIntegrator(1, "1/2", "trapezoidal", initial=9.0),
        "f": PythonFunction(lambda t, u: t, sample=1, offset="1/2", initial=6.0),
    }
    r = simulate(build("c.y>h.u c.y>d.u c.y>i.u c.y>f.u", **blocks), 2.0, log_at=[0.0, 0.25, 0.5, 1.0, 1.5])
    assert r["h.y"][:, 0].tolist() == [7.0, 7.0, 0.5, 0.5, 1.5]
    assert r["d.y"][:, 0].tolist() == [8.0, 8.0, 8.0, 8.0, 0.5]  # x_0 is current at the first tick
    assert r["i.y"][:, 0].tolist() == [9.0, 9.0, 9.25, 9.25, 10.25]
    assert r["f.y"][:, 0].tolist() == [6.0, 6.0, 0.5, 0.5, 1.5]


def test_a_value_before_the_start_is_the_initial_one():
    sim = Simulation(build("c.y>h.u", c=Constant(3.0), h=Hold(sample=1, initial=1.0)))
    assert sim.time == 0.0 and sim.value("h.y").item() == 1.0
    sim.advance(0.0)
    assert sim.value("h.y").item() == 3.0


@dataclass(frozen=True)
class Ramps(Block):
    """z' = n with n the number of ticks so far minus one, as a discrete state."""

    def define(self, b):
        n = b.discrete("n", 0.0, sample=1)
        b.update(n, n + 1)
        z = b.continuous("z", 0.0)
        b.derivative(z, n)
        b.output("n", n)
        b.output("z", z)


def test_continuous_equations_read_the_current_value_of_a_discrete_state():
    r = simulate(build("", b=Ramps()), 3.0, log_at=[0.0, 1.0, 2.0, 2.5, 3.0])
    assert r["b.n"][:, 0].tolist() == [0.0, 1.0, 2.0, 2.0, 3.0]
    np.testing.assert_allclose(r["b.z"][:, 0], [0.0, 0.0, 1.0, 2.0, 3.0], rtol=1e-14)


def test_a_block_sees_what_hit_before_it_at_the_same_instant_and_old_values_of_the_rest():
    """Swapping two delays: both next values are taken from the values of the output phase."""
    blocks = {"a": UnitDelay(1, initial=1.0), "b": UnitDelay(1, initial=2.0)}
    r = simulate(build("a.y>b.u b.y>a.u", **blocks), 3.0, log_at=[0.0, 1.0, 2.0, 3.0])
    assert r["a.y"][:, 0].tolist() == [1.0, 2.0, 1.0, 2.0]
    assert r["b.y"][:, 0].tolist() == [2.0, 1.0, 2.0, 1.0]


def test_the_present_tick_is_counted_and_its_time_is_known():
    @dataclass(frozen=True)
    class Watch(Block):
        def define(self, b):
            b.output("n", b.tick_count(1, "1/2"))
            b.output("t", b.tick_time(1, "1/2"))

    r = simulate(build("", w=Watch()), 2.0, log_at=[0.0, 0.5, 1.0, 1.5])
    assert r["w.n"][:, 0].tolist() == [0.0, 1.0, 1.0, 2.0]
    assert r["w.t"][:, 0].tolist() == [0.5, 0.5, 0.5, 1.5]


# --- the log
def test_the_log_is_right_continuous():
    """Log the values after step 3, then continue."""
    blocks = {"s": Step(0.5, 1.0, 2.0), "h": Hold(sample=0.1), "c": Clock()}
    r = simulate(build("c.y>h.u", **blocks), 1.0, log_at=[0.5])
    assert r["s.y"].item() == 2.0 and r["h.y"].item() == 0.5


def test_result_time_is_exactly_what_was_asked_for():
    asked = np.sort(
        np.concatenate([np.random.default_rng(1).uniform(0, 1, 50), np.arange(11) * 0.1, [1 / 3]])
    )
    r = simulate(build("c.y>x.u", c=Clock(), x=Integrator()), 1.0, log_at=asked)
    assert r.time.tobytes() == asked.tobytes()


@pytest.mark.parametrize("every", [0.1, "1/10", Fraction(1, 10)])
def test_log_every_gives_whole_multiples_each_rounded_once(every):
    r = simulate(build("", c=Clock()), 0.35, log_every=every)
    assert r.time.tolist() == [0.0, 0.1, 0.2, 0.3, 0.35]  # and the end


def test_log_every_includes_an_end_that_is_a_multiple():
    assert simulate(build("", c=Clock()), 3 * 0.1, log_every=0.1).time.tolist() == [0.0, 0.1, 0.2, 0.3]


def test_an_instant_asked_for_twice_is_logged_twice():
    r = simulate(build("", c=Clock()), 1.0, log_at=[0.25, 0.25, 1.0])
    assert r.time.tolist() == [0.25, 0.25, 1.0]


def test_a_log_time_that_misses_a_tick_by_rounding_shows_the_tick():
    times = [k * 0.1 for k in range(11)]  # 0.30000000000000004, ...
    early = [np.nextafter(t, 0.0) for t in times]
    for asked in (times, early):
        r = simulate(build("c.y>h.u", c=Clock(), h=Hold(sample=0.1)), 1.0, log_at=asked)
        assert r.time.tolist() == asked
        assert r["h.y"][:, 0].tolist() == [float(Fraction(k, 10)) for k in range(11)]


LOGS = [
    {"log_at": [1.0]},
    {"log_every": 0.007},
    {"log_at": [0.0, 0.05, 0.0999999, 0.1]},
    {"log_every": "step"},
]


@pytest.mark.parametrize("solver", list(OPTIONS))
def test_log_times_never_change_steps(solver):
    d = build("x.y>k.x k.u>x.u", x=Integrator(initial=1.0), k=StateFeedback(3.0, sample=0.1))
    runs = [simulate(d, 1.0, **OPTIONS[solver], **log) for log in LOGS]
    assert len({r.ticks("k.u").values.tobytes() for r in runs}) == 1
    assert len({r.statistics["steps"] for r in runs}) == 1


def test_log_times_are_as_exact_in_a_run_of_nanoseconds():
    period = Fraction(1, 10**11)  # s
    at = np.arange(101) * 1e-12
    d = build("c.y>h.u one.y>x.u", c=Clock(), h=Hold(sample=period), one=Constant(1.0), x=Integrator())
    r = simulate(d, 1e-10, solver="rk4", step=1e-11, log_at=at)
    np.testing.assert_allclose(r["x.y"][:, 0], at, rtol=1e-12)
    np.testing.assert_allclose(r["h.y"][:, 0], [k // 10 * 1e-11 for k in range(101)], rtol=1e-12)
    assert r.at(3e-12, "x.y").item() == pytest.approx(3e-12)


def test_log_every_step_shows_every_step_and_every_stop():
    d = build("c.y>x.u c.y>h.u", c=Clock(), x=Integrator(), h=Hold(sample=0.1))
    r = simulate(d, 0.2, solver="rk4", step=0.04, log_every="step")
    np.testing.assert_allclose(r.time, [0, 1 / 30, 2 / 30, 0.1, 4 / 30, 5 / 30, 0.2], rtol=1e-15)
    assert r.time[3] == 0.1 and r.time[6] == 0.2


def test_log_every_step_shows_accepted_memories_as_they_are_after_the_step():
    @dataclass(frozen=True)
    class Peak(Block):
        def define(self, b):
            u = b.input("u")
            x = b.continuous("x", 0.0)
            b.derivative(x, u)
            b.output("y", b.accepted("peak", lambda old: np.maximum(old, x), 0.0))
            b.output("x", x)

    d = build("c.y>p.u", c=Constant(1.0), p=Peak())
    r = simulate(d, 1.0, solver="rk4", step=0.25, log_every="step")
    assert len(r.time) == 5
    np.testing.assert_array_equal(r["p.y"], r["p.x"])


# --- steps
@pytest.mark.parametrize(
    ("length", "step", "n"),
    [
        (1.0, 0.1, 10),
        (1.0, 0.3, 4),
        (1.0, 1.0, 1),
        (1.0, 5.0, 1),
        (0.7, 0.1, 7),
        (0.3, 0.1, 3),
        (1.0, 1 / 3, 3),
    ],
)
def test_a_fixed_step_solver_takes_equal_steps_between_stops(length, step, n):
    """n = ceil((b - a)/step - 1e-9) equal steps."""
    r = simulate(
        build("c.y>x.u", c=Clock(), x=Integrator()), length, solver="euler", step=step, log_every="step"
    )
    assert r.statistics["steps"] == n
    np.testing.assert_allclose(np.diff(r.time), length / n, rtol=1e-12)
    assert r.time[-1] == length


def test_rounding_late_in_a_run_adds_no_steps():
    ticks = [k / 100 for k in range(10_000_000, 10_000_500)]
    assert {pieces(a, b, 1e-3) for a, b in itertools.pairwise(ticks)} == {10}


def test_ticks_and_instants_are_stops_log_times_are_not():
    d = build("s.y>x.u c.y>h.u", s=Step(0.25), x=Integrator(), c=Clock(), h=Hold(sample=0.4))
    r = simulate(d, 1.0, solver="euler", step=10.0, log_every="step")
    assert r.time.tolist() == [0.0, 0.25, 0.4, 0.8, 1.0]
    assert simulate(d, 1.0, solver="euler", step=10.0, log_every=0.1).statistics["steps"] == 4


@pytest.mark.parametrize("solver", list(OPTIONS))
def test_advance_ends_exactly_where_it_was_told_to(solver):
    sim = Simulation(mixed(), **OPTIONS[solver])
    for until in (np.pi / 10, 1 / 3, 0.7, 1.0):
        sim.advance(until)
        assert sim.time == until


def test_advance_to_where_it_stands_does_nothing():
    sim = Simulation(mixed())
    sim.advance(0.5)
    before = sim.snapshot()
    sim.advance(0.5)
    assert sim.snapshot().same(before)


def test_advance_backwards_is_refused():
    sim = Simulation(mixed())
    sim.advance(0.5)
    for until in (0.4, np.nan, np.inf):
        with pytest.raises(PlantloopError, match="expected a finite time not before the present 0.5 s"):
            sim.advance(until)


def test_step_goes_from_stop_to_stop():
    sim = Simulation(build("s.y>x.u c.y>h.u", s=Step(0.25), x=Integrator(), c=Clock(), h=Hold(sample=0.4)))
    assert [sim.step() for _ in range(4)] == [0.25, 0.4, 0.8, float(Fraction(12, 10))]


# --- snapshots
@pytest.mark.parametrize("solver", list(OPTIONS))
def test_two_advances_equal_one_where_the_first_ends_on_a_tick(solver):
    """Where T is already a tick of both runs advance(T), advance(2T) also equals advance(2T)."""
    one, two = (Simulation(mixed(), **OPTIONS[solver]) for _ in range(2))
    one.advance(1.0)
    two.advance(0.5)  # a tick of 20 Hz
    two.advance(1.0)
    assert one.snapshot().same(two.snapshot())


@pytest.mark.parametrize("solver", list(OPTIONS))
@pytest.mark.parametrize("T", [0.25, 0.37, 1 / 3])
def test_a_restored_snapshot_goes_on_bit_for_bit(solver, T):
    """advance(T), advance(2T) equals advance(T), save, load, advance(2T), bit for bit."""
    sim = Simulation(mixed(), **OPTIONS[solver])
    sim.advance(T)
    state = pickle.dumps(sim.snapshot())
    sim.advance(2 * T)
    expected = sim.snapshot()
    sim.restore(pickle.loads(state))  # back in the same simulation
    assert sim.time == T
    sim.advance(2 * T)
    assert sim.snapshot().same(expected)
    fresh = Simulation(mixed(), **OPTIONS[solver])  # and in another one
    fresh.restore(pickle.loads(state))
    fresh.advance(2 * T)
    assert fresh.snapshot().same(expected)


@pytest.mark.slow
def test_a_snapshot_goes_on_bit_for_bit_in_another_process():
    sim = Simulation(mixed(), **OPTIONS["dopri5"])
    sim.advance(0.37)
    state = pickle.dumps(sim.snapshot())
    root = pathlib.Path(cosim.__file__).parents[1]
    command = [sys.executable, "-m", "tests.helpers.mixed", "dopri5", "0.74"]
    done = subprocess.run(command, input=state, cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    sim.advance(0.74)
    assert pickle.loads(done.stdout).same(sim.snapshot())


def test_a_snapshot_is_a_copy():
    sim = Simulation(mixed())
    sim.advance(0.3)
    taken = sim.snapshot()
    kept = pickle.dumps(taken)
    sim.advance(0.6)
    assert pickle.dumps(taken) == kept
    sim.restore(taken)
    sim.advance(0.6)
    assert pickle.dumps(taken) == kept


def test_a_snapshot_before_the_start_has_the_first_tick_done():
    sim = Simulation(mixed())
    first = sim.snapshot()
    sim.advance(0.0)
    assert sim.snapshot().same(first)


def test_a_snapshot_differs_once_time_has_passed():
    sim = Simulation(mixed())
    first = sim.snapshot()
    sim.advance(0.01)
    assert not sim.snapshot().same(first)


def test_a_snapshot_of_another_diagram_is_refused():
    sim, other = Simulation(mixed()), Simulation(build("", c=Constant(1.0)))
    with pytest.raises(PlantloopError, match="this snapshot was taken of another diagram"):
        other.restore(sim.snapshot())


def test_going_back_and_branching():
    sim = Simulation(build("x.y>k.x k.u>x.u", x=Integrator(initial=1.0), k=StateFeedback(1.0, sample=0.1)))
    sim.advance(0.5)
    fork = sim.snapshot()
    ends = []
    for K in (1.0, 2.0, 1.0):
        sim.restore(fork)
        sim.set_parameter("k.K", K)
        sim.advance(1.0)
        ends.append(sim.value("x.y").item())
    assert ends[0] == ends[2] != ends[1]


# --- changes on the way
def test_an_input_and_a_parameter_change_from_now_on():
    d = Diagram("d")
    d.connect(d.inport("u"), d.add("g", Gain(1.0))["u"])
    d.connect("g.y", d.add("x", Integrator())["u"])
    d.connect("g.y", d.add("h", Hold(sample=1))["u"])
    sim = Simulation(d, solver="rk4", step=0.1)
    sim.advance(1.0)
    sim.set_input("u", 2.0)
    assert sim.value("h.y").item() == 0.0  # the tick of this instant is over
    sim.advance(2.0)
    assert sim.value("h.y").item() == 2.0
    sim.set_parameter("g.k", 10.0)
    sim.advance(3.0)
    assert sim.value("x.y").item() == pytest.approx(0.0 + 2.0 + 20.0)


def test_two_runs_from_the_same_start_give_the_same_bytes():
    for options in OPTIONS.values():
        one, two = (simulate(mixed(), 1.0, log_every=0.013, **options) for _ in range(2))
        assert all(one[name].tobytes() == two[name].tobytes() for name in one)


def test_a_sampled_sine_and_a_held_one_agree_at_their_ticks():
    d = build("s.y>h.u", s=Sine(), h=Hold(sample=0.1), k=Sine(sample=0.1))
    r = simulate(d, 1.0, log_every=0.03)
    np.testing.assert_array_equal(r["h.y"], r["k.y"])


def test_a_function_of_a_sampled_and_a_continuous_signal_moves_between_ticks():
    d = build("c.y>h.u c.y>f.a h.y>f.b", c=Clock(), h=Hold(sample=1), f=Function(lambda a, b: a - b))
    r = simulate(d, 2.0, log_at=[0.0, 0.5, 1.0, 1.75])
    assert r["f.y"][:, 0].tolist() == [0.0, 0.5, 0.0, 0.75]


def test_states_of_a_plant_between_ticks_follow_the_exact_solution():
    p = StateSpace(-1.0, 1.0, 1.0, initial=1.0)  # x' = -x + u, u = -x held over 0.5 s
    d = build("p.y>k.x k.u>p.u", p=p, k=StateFeedback(1.0, sample="1/2"))
    r = simulate(d, 1.5, rtol=1e-11, atol=1e-13, log_at=[0.25, 0.5, 0.75, 1.0, 1.5])
    x, t, expected = 1.0, 0.0, []
    for asked in (0.25, 0.5, 0.75, 1.0, 1.5):
        if asked > t + 0.5:
            x, t = x * (2 * np.exp(-0.5) - 1), t + 0.5
        expected.append(x * (2 * np.exp(-(asked - t)) - 1))
    np.testing.assert_allclose(r["p.y"][:, 0], expected, rtol=1e-10)
