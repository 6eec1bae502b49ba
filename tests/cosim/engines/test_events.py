"""Zero crossings, resets, modes and branches, on both engines."""

import numpy as np
import pytest

from blocks import (
    Abs,
    CompareToConstant,
    Constant,
    DeadZone,
    Hold,
    Integrator,
    PeakHold,
    Pulse,
    Quantizer,
    Relay,
    Sign,
    SimulationError,
    Sine,
    StopWhen,
    TimeTable,
)
from cosim import Diagram, Simulation
from cosim import simulate as simulate_with
from tests.helpers.made import Made, alone, chain, ramp

ENGINE = {"name": "reference"}


@pytest.fixture(autouse=True, params=["reference", "native"])
def engine(request):
    """Every test here runs twice."""
    ENGINE["name"] = request.param


def simulate(d, until, **settings):
    native = ENGINE["name"] == "native" and settings.get("solver") != "BDF"
    return simulate_with(d, until, engine="native" if native else "reference", **settings)


def names(r):
    return [(round(e.time, 9), e.name.partition(".")[2]) for e in r.events]


# --- when an event fires ------------------------------------------------------------------------------


@pytest.mark.parametrize("wave", [(1.0, 3.0, 2.0, 2.5), (1.788, 2.686, 1.762, 2.995)], ids=str)
def test_what_rises_above_its_threshold_and_falls_within_a_quarter_of_a_step_is_seen(wave):
    """The second peak is a little higher than the first value, and the steps of the integral are long."""
    amplitude, frequency, phase, until = wave
    d = chain(Sine(amplitude, frequency, phase), PeakHold(), Integrator())
    times = np.linspace(0.0, until, 200_001)
    highest = (amplitude * np.sin(frequency * times + phase)).max()
    assert simulate(d, until)["b2.y"][-1, 0] == pytest.approx(highest, abs=1e-8)


@pytest.mark.parametrize("inside", [False, True])
def test_events_of_a_branch_that_is_switched_at_ticks_say_what_it_was(inside):
    """A pulse jumps at 0.2, 0.4, 0.6 s; sin(2 t), sampled at 20 Hz, passes 0.5 at the ticks 0.3 and 1.35."""
    pulse, sine = Pulse(period=0.4), Sine(frequency=2.0, sample=0.05)
    for source, times in ((pulse, [0.2, 0.4, 0.6]), (sine, [0.3, 1.35])):
        d = Diagram("d")
        d.add("u", source)
        d.add("c", CompareToConstant(">", 0.5))
        d.add("x", Integrator())
        d.connect("u.y -> c.u", "c.y -> x.u")
        if inside:
            outer = Diagram("outer")
            outer.add("part", d)
        r = simulate(outer if inside else d, until=times[-1] + 0.01)
        assert [e.time for e in r.events] == pytest.approx(times, abs=1e-15)
        now = [next(iter(e.after.values()))[0] for e in r.events]
        assert now == [float(e.name.endswith("on")) for e in r.events]
        assert [next(iter(e.before.values()))[0] for e in r.events] == [1.0 - n for n in now]
        assert now[1:] == [1.0 - n for n in now[:-1]]


@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.07}, {"solver": "BDF"}])
def test_an_event_is_located_inside_a_step(settings):
    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, np.cos(b.time) + 0 * x)
        n = b.mode("n", 0.0)
        b.when(x[0] - 0.5, [(n, n + 1)], "rising", "up")
        b.when(x[0] - 0.5, [(n, n + 10)], "falling", "down")
        b.output("n", n)

    r = simulate(alone(equations), 10.0, log_at=[10.0], **settings)
    expected = [(np.pi / 6, "up"), (5 * np.pi / 6, "down"), (13 * np.pi / 6, "up"), (17 * np.pi / 6, "down")]
    assert [e.time for e in r.events] == pytest.approx([t for t, _ in expected], abs=1e-5)
    assert [n for _, n in names(r)] == [n for _, n in expected]
    assert r["it.n"][-1, 0] == 22


@pytest.mark.parametrize("direction", ["rising", "falling", "both"])
@pytest.mark.parametrize("slope", [1.0, -1.0, 0.0])
def test_a_start_on_the_threshold_fires_only_when_moving_in_the_direction(direction, slope):
    def equations(b):
        x = ramp(b, slope)
        n = b.mode("n", 0.0)
        b.when(x[0], [(n, n + 1)], direction, "zero")

    fires = {"rising": slope > 0, "falling": slope < 0, "both": slope != 0}[direction]
    r = simulate(alone(equations), 1.0)
    assert names(r) == ([(0.0, "zero")] if fires else [])


def test_on_the_threshold_and_moving_away_is_armed_not_fired():
    """x = t (t - 1) starts on 0 moving down: "rising" is armed, and fires when it comes back at t = 1."""

    def equations(b):
        n = b.mode("n", 0.0)
        b.when(b.time * (b.time - 1), [(n, n + 1)], "rising", "back")
        ramp(b)

    assert names(simulate(alone(equations), 2.0)) == [(1.0, "back")]


def test_a_crossing_that_rests_on_zero_fires_when_it_jumps_off():
    def equations(b):
        u = b.input("u")
        n = b.mode("n", 0.0)
        b.when(u[0], [(n, n + 1)], "rising", "up")
        b.when(u[0], [(n, n + 1)], "falling", "down")
        b.output("n", n)

    d = Diagram("logic")
    u = d.add("u", TimeTable([0, 1, 2, 3, 4], [0, 1, 0, -1, 0], "previous"))
    it = d.add("it", Made(equations))
    d.connect(u["y"], it["u"])
    assert names(simulate(d, 5.0)) == [(1.0, "up"), (3.0, "down")]


def test_a_crossing_of_time_alone_is_found_without_continuous_states():
    r = simulate(chain(Sine(frequency=2 * np.pi), Abs()), 2.0, log_every=0.05)
    assert r["b2.y"][:, 0] == pytest.approx(np.abs(np.sin(2 * np.pi * r.time)), abs=1e-12)
    assert {round(e.time, 9) for e in r.events} >= {0.5, 1.0, 1.5}


def test_a_touching_crossing_and_one_between_two_ticks():
    def equations(b):
        x = ramp(b)
        n = b.mode("n", 0.0)
        k = b.discrete("k", 0.0, sample=0.1)
        b.update(k, k + 1)
        b.when((x[0] - 0.55) * (k[0] * 0 + 1), [(n, n + 1)], "both", "between")

    assert names(simulate(alone(equations), 1.0)) == [(0.55, "between")]


# --- several at once ----------------------------------------------------------------------------------


def test_resets_at_one_instant_read_the_values_before_any_of_them():
    def equations(b):
        x = ramp(b)
        a, c = b.mode("a", 1.0), b.mode("c", 2.0)
        b.when(x[0] - 0.5, [(a, c)], "rising", "first")
        b.when(x[0] - 0.5, [(c, a)], "rising", "second")
        b.output("both", np.concatenate([a, c]))

    r = simulate(alone(equations), 1.0, log_at=[1.0])
    assert names(r) == [(0.5, "first"), (0.5, "second")]
    assert r["it.both"][-1].tolist() == [2.0, 1.0]


def test_two_resets_of_one_state_at_once_are_an_error_naming_both():
    def equations(b):
        x = ramp(b)
        b.when(x[0] - 0.5, [(x, 0.0 * x)], "rising", "one")
        b.when(2 * x[0] - 1.0, [(x, 0.1 + 0 * x)], "rising", "other")

    with pytest.raises(SimulationError, match=r"'it\.other' and 'it\.one'.*reset one state") as caught:
        simulate(alone(equations), 1.0)
    assert caught.value.time == pytest.approx(0.5) and not caught.value.result.complete


def test_resets_of_one_state_that_take_turns_read_each_other():
    """From x = 0.5 to 2 x + 1 = 2, and from there to x / 4 = 0.5; a sum counts both."""

    def equations(b):
        x = ramp(b)
        n, m = b.mode("n", 0.0), b.mode("m", 0.0)
        b.when(x[0] - 0.5, [(x, 2 * x + 1), (n, n + 1)], "rising", "one", in_turn=True)
        b.when(x[0] + 0 * n[0] - 0.5, [(x, x / 4), (n, n + 1)], "rising", "other", in_turn=True)
        b.when(n[0] - 1.5, [(m, x)], "rising", "both")
        b.output("both", np.concatenate([x, n, m]))

    r = simulate(alone(equations), 0.75, log_at=[0.75])
    assert names(r) == [(0.5, "one"), (0.5, "other"), (0.5, "both")]
    assert r["it.both"][-1].tolist() == pytest.approx([0.75, 2.0, 0.5])


def test_events_may_cause_events_at_the_same_instant():
    def equations(b):
        x = ramp(b)
        a, c = b.mode("a", 0.0), b.mode("c", 0.0)
        b.when(x[0] - 0.5, [(a, 1.0 + a)], "rising", "cause")
        b.when(a[0] - 0.5, [(c, 1.0 + c)], "rising", "effect")
        b.output("c", c)

    r = simulate(alone(equations), 1.0, log_at=[0.4, 1.0])
    assert names(r) == [(0.5, "cause"), (0.5, "effect")] and r["it.c"][:, 0].tolist() == [0.0, 1.0]


def test_chattering_is_an_error_with_the_block_names_and_the_result_so_far():
    """x' = -sign(x) held by events without hysteresis slides along x = 0."""

    def equations(b):
        x = b.continuous("x", 0.5)
        side = b.mode("side", 1.0)
        b.when(x[0], [(side, -side)], "both", "flip")
        b.derivative(x, -side)
        b.output("x", x)

    with pytest.raises(SimulationError, match=r"chattering or Zeno.*'it\.flip'") as caught:
        simulate(alone(equations), 2.0, log_every=0.1)
    assert caught.value.time == pytest.approx(0.5, abs=1e-6)
    assert caught.value.result.time[-1] == 0.4 and "hysteresis" in caught.value.hint


def test_an_event_met_again_and_again_after_a_restore_is_no_chattering():
    def equations(b):
        x = ramp(b)
        b.when(x[0] - 0.5, [(x, x + 1)], "rising", "jump")

    sim = Simulation(alone(equations), engine=ENGINE["name"])
    start = sim.snapshot()
    for _ in range(120):
        sim.restore(start)
        sim.advance(0.6)
        assert sim.value("it.x") == pytest.approx([1.6])


def test_two_events_that_undo_each_other_forever_are_an_error():
    def equations(b):
        x = ramp(b)
        a = b.mode("a", 0.0)
        b.when(np.where(a[0] > 0.5, -1.0, x[0] - 0.5), [(a, 1.0 + 0 * a)], "rising", "on")
        b.when(np.where(a[0] > 0.5, x[0] - 9.0, 1.0), [(a, 0 * a)], "falling", "off")

    with pytest.raises(SimulationError, match=r"'it\.o(n|ff)'"):
        simulate(alone(equations), 1.0)


def test_a_crossing_that_is_not_a_number_stops_the_run():
    def equations(b):
        x = ramp(b)
        b.when(np.sqrt(0.5 - x[0]), [], "both", "root")

    with pytest.raises(SimulationError, match=r"it\.root"):
        simulate(alone(equations), 1.0, solver="rk4", step=0.2)


def test_resets_may_be_written_as_a_dictionary():
    """h falls from 1 m; speeds by the restitution, counted in a mode."""

    def ball(b):
        h, v = b.continuous("h", 1.0), b.continuous("v", 0.0)
        n = b.mode("n", 0.0)
        b.derivative(h, v)
        b.derivative(v, -9.81 + 0 * v)
        b.when(h, {v: -0.8 * v, n: n + 1}, direction="falling", name="bounce")
        b.output("n", n)

    r = simulate(alone(ball), 1.5)
    first = np.sqrt(2 / 9.81)
    assert [e.time for e in r.events] == pytest.approx([first, first * 2.6], rel=1e-9)
    assert r["it.n"][-1, 0] == 2


def test_signals_are_keys_by_identity():
    kept = []
    alone(lambda b: (kept.append(b.continuous("x", 1.0)), b.derivative(kept[0], -kept[0]))).system()
    assert {kept[0]: "x"}[kept[0]] == "x" and kept[0] + 0.0 not in {kept[0]: "x"}


# --- ticks --------------------------------------------------------------------------------------------


def test_at_a_tick_the_event_goes_first():
    """x passes 0.5 exactly at the tick t = 0.5, which samples the value after the reset."""

    def equations(b):
        x = ramp(b)
        b.when(x[0] - 0.5, [(x, x + 10)], "rising", "jump")
        b.output("y", x, sample=0.25)

    r = simulate(alone(equations), 1.0)
    y = r.ticks("it.y").values
    assert y[:, 0] == pytest.approx([0, 0.25, 10.5, 10.75, 11.0])


def test_a_reset_of_a_discrete_state_writes_current_and_next():
    def equations(b):
        x = ramp(b)
        k = b.discrete("k", 0.0, sample=0.25)
        b.update(k, k + 1)
        b.when(x[0] - 0.6, [(k, 100 + 0 * k)], "rising", "set")
        b.output("k", k)

    r = simulate(alone(equations), 1.0, log_at=[0.59, 0.61, 0.75, 1.0])
    assert r["it.k"][:, 0].tolist() == [2.0, 100.0, 100.0, 101.0]


def test_a_jump_at_a_tick_fires():
    d = Diagram("jump")
    source, relay = d.add("source", Pulse(1.0, 0.4, 0.5, 0.1)), d.add("relay", Relay(0.5, 0.2))
    it = d.add("it", Integrator())
    d.connect(source["y"], relay["u"])
    d.connect(relay["y"], it["u"])
    r = simulate(d, 0.7, log_at=[0.1, 0.3, 0.5, 0.7])
    assert r["relay.y"][:, 0].tolist() == [1, 0, 1, 0]
    assert r["it.y"][:, 0] == pytest.approx([0, 0.2, 0.2, 0.4], abs=1e-14)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (Abs(), [0, 1, 2, 1, 0, 1, 2]),
        (Sign(), [0, 1, 1, 1, 0, -1, -1]),
        (DeadZone(-1, 1), [0, 0, 1, 0, 0, 0, -1]),
        (Relay(2, -1), [0, 0, 1, 1, 1, 0, 0]),
        (Quantizer(2.0), [0, 2, 2, 2, 0, -2, -2]),
    ],
)
def test_sampled_blocks_see_a_branch_as_it_is_after_the_jump_of_the_same_tick(block, expected):
    """A sampled signal through a block with events into another sampled block: no tick is lost."""
    d = chain(TimeTable(np.arange(7) / 10, [0, 1, 2, 1, 0, -1, -2], "previous"), Hold(sample=0.1), block)
    last = d.add("b4", Hold(sample=0.1))
    d.connect(d["b3"]["y"], last["u"])
    r = simulate(d, 0.6)
    assert r.ticks("b3.y").values[:, 0].tolist() == expected
    assert r.ticks("b4.y").values[:, 0].tolist() == expected


def test_hold_histories_restart_after_an_event():
    """A first-order hold does not extrapolate through a reset: the interval after it is constant."""

    def equations(b):
        x = ramp(b)
        b.when(x[0] - 0.35, [(x, x + 10)], "rising", "jump")

    d = Diagram("hold")
    it, hold = d.add("it", Made(equations)), d.add("hold", Hold(1, sample=0.1))
    d.connect(it["x"], hold["u"])
    r = simulate(d, 0.7, log_at=[0.25, 0.34, 0.36, 0.45, 0.55])
    assert r["hold.y"][:, 0] == pytest.approx([0.25, 0.34, 0.3, 10.4 + 0.05 * 101, 10.55])


def test_a_branch_is_on_the_side_of_its_condition_from_the_start_at_ticks_and_between():
    def equations(b):
        x = ramp(b)
        b.output("up", b.where_event(x[0] - 0.35, 10.0, 20.0))
        b.output("down", b.where_event(0.65 - x[0], 10.0, 20.0))
        b.output("sampled", x, sample=0.25)

    r = simulate(alone(equations), 1.0, log_at=[0.0, 0.3, 0.5, 0.6, 0.7, 1.0])
    assert r["it.up"][:, 0].tolist() == [20, 20, 10, 10, 10, 10]
    assert r["it.down"][:, 0].tolist() == [10, 10, 10, 10, 20, 20]


def test_a_branch_that_begins_on_its_threshold_is_on_the_side_of_zero_and_follows_where_that_moves():
    """g >= 0 is the first side, also where it stays 0, or only a tick looks at it."""

    def equations(b):
        x, still = ramp(b), b.continuous("still", 0.5)
        b.derivative(still, 0 * still)
        b.output("rests", b.where_event(still[0] - 0.5, 10.0, 20.0))
        b.output("rises", b.where_event(x[0], 10.0, 20.0))
        b.output("falls", b.where_event(-x[0], 10.0, 20.0))
        b.output("sampled", x, sample=0.25)

    r = simulate(alone(equations), 1.0, log_at=[0.0, 0.1, 0.25, 1.0])
    assert r["it.rests"][:, 0].tolist() == r["it.rises"][:, 0].tolist() == [10] * 4
    assert r["it.falls"][1:, 0].tolist() == [20] * 3


def test_a_branch_that_rests_on_its_threshold_leaves_it_to_either_side():
    """At t = 0.5 one signal goes up from there, which changes nothing, and one goes down."""

    def equations(b):
        moves = np.where(b.instants([0.5])[0] > 0.5, 1.0, 0.0)
        for name, way in (("up", 1.0), ("down", -1.0)):
            x = b.continuous(name, 0.0)
            b.derivative(x, way * moves + 0 * x)
            b.output(f"{name}_side", b.where_event(x[0], 10.0, 20.0, name=f"{name}_branch"))

    r = simulate(alone(equations), 1.0, log_at=[0.0, 0.4, 0.6, 1.0])
    assert r["it.up_side"][:, 0].tolist() == [10] * 4
    assert r["it.down_side"][:, 0].tolist() == [10, 10, 20, 20]
    assert [e.name for e in r.events] == ["it.down_branch off"]


def test_a_branch_that_only_an_accepted_memory_reads_follows_between_ticks():
    def equations(b):
        x = ramp(b)
        b.output("sampled", x, sample=0.25)
        b.output(
            "most",
            b.accepted("most", lambda old: np.maximum(old, b.where_event(x[0] - 0.35, 10.0, 1.0)), 0.0),
        )

    r = simulate(alone(equations), 0.45, log_at=[0.3, 0.4, 0.45])
    assert r["it.most"][:, 0].tolist() == [1, 10, 10]


# --- stop, log ----------------------------------------------------------------------------------------


def test_a_stop_event_ends_the_run_with_its_message_and_a_complete_result():
    d = chain(Constant(1.0), Integrator(), StopWhen("far enough", threshold=0.75))
    r = simulate(d, 2.0, log_every=0.1)
    assert r.complete and r.message == "far enough"
    assert r.time == pytest.approx([*np.arange(8) / 10, 0.75]) and r.time[-1] == r.events[-1].time
    assert r["b2.y"][-1] == pytest.approx(0.75, abs=1e-12)
    sim = Simulation(d, engine="reference")
    before = sim.snapshot()
    sim.advance(2.0)
    assert sim.time == pytest.approx(0.75)
    sim.advance(3.0)
    assert sim.time == pytest.approx(0.75)
    sim.restore(before)
    sim.advance(0.5)
    assert sim.time == 0.5


def test_the_log_holds_what_was_asked_for_and_events_their_values():
    def equations(b):
        x = ramp(b)
        b.when(x[0] - 0.35, [(x, 0 * x)], "rising", "back")

    asked = [0.0, 0.1, 0.35, 0.4, 0.7, 0.9]
    r = simulate(alone(equations), 1.0, log_at=asked)
    assert r.time.tolist() == asked
    assert [e.name for e in r.events] == ["it.back"] * 2
    assert r.events[0].before["it.x"] == pytest.approx((0.35,)) and r.events[0].after["it.x"] == (0.0,)
    assert r["it.x"][:, 0] == pytest.approx([0, 0.1, 0.0, 0.05, 0.0, 0.2], abs=1e-12)


@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.07}, {"solver": "rodas4"}])
def test_a_log_of_every_step_has_one_row_at_an_event_right_continuous(settings):
    """Located inside a step (n = 1, 2), at a tick (n = 3), and one that follows another (n = 10)."""

    def equations(b):
        x = ramp(b)
        n, m = b.mode("n", 0.0), b.mode("m", 0.0)
        jump = b.sampled(x[0] > 0.65, 0.1)
        b.when(x[0] - 0.33, [(n, n + 1)], "rising", "first")
        b.when(x[0] - 0.555, [(n, n + 1), (m, m + 1)], "rising", "second")
        b.when(jump[0] - 0.5, [(n, n + 1)], "rising", "at a tick")
        b.when(m[0] - 0.5, [(n, n + 10)], "rising", "follows")
        b.output("n", n)

    r = simulate(alone(equations), 1.0, log_every="step", **settings)
    assert len(np.unique(r.time)) == len(r.time)
    n = r["it.n"][:, 0]
    for event, expected in (("first", 1), ("second", 12), ("follows", 12), ("at a tick", 13)):
        (time,) = {e.time for e in r.events if e.name == f"it.{event}"}
        assert r.at(time, "it.n") == expected
        assert n[np.flatnonzero(r.time == time)[0] - 1] < expected
    assert set(np.unique(n)) == {0, 1, 12, 13}


def test_a_fixed_step_run_divides_what_is_left_after_an_event():
    """Between stops and events the steps are equal, so rk4 stays exact for x' = t^3 with a reset inside."""

    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, b.time**3 + 0 * x)
        b.when(b.time - 0.333, [(x, 0 * x)], "rising", "zero")
        b.output("x", x)

    r = simulate(alone(equations), 1.0, solver="rk4", step=0.25, log_at=[1.0])
    assert r["it.x"][0, 0] == pytest.approx((1 - 0.333**4) / 4, abs=1e-14)
