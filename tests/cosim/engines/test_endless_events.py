"""Bounces without a direction; events without end, judged by their progress in time."""

import numpy as np
import pytest

from blocks import SimulationError
from cosim import simulate
from tests.helpers.checked import closed_form
from tests.helpers.made import alone

G, E = 9.81, 0.8
FALL = np.sqrt(2 / G)  # s, from 1 m
ZENO = FALL * (1 + E) / (1 - E)  # s, when the last of the bounces is over
BOUNCES = FALL * np.array([1 + 2 * E * (1 - E**n) / (1 - E) for n in range(20)])


def ball(floor, direction, lifted=False, height=1.0):
    """A ball that falls on a floor [m]; its reset may also lift it back onto the floor."""

    def equations(b):
        x, v = b.continuous("x", floor + height), b.continuous("v", 0.0)
        b.derivative(x, v)
        b.derivative(v, 0 * v - G)
        resets = [(v, -E * v)] + lifted * [(x, floor + np.abs(x - floor))]
        b.when(x[0] - floor, resets, **({"direction": direction} if direction else {}), name="bounce")
        b.output("x", x)

    return alone(equations)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("floor", "engine", "lifted"),
    [
        *((floor, "native", lifted) for floor in (0.0, -5.0, -1e6, 3e3) for lifted in (False, True)),
        (0.0, "reference", True),
        (-1e6, "reference", False),
    ],
)
def test_a_ball_bounces_without_a_direction_as_with_one_and_ends_as_zeno(checked, floor, lifted, engine):
    """The times of the bounces are a geometric series; where they end no progress is left."""
    times = []
    for direction in ("falling", None):
        d = ball(floor, direction, lifted)
        r = simulate(d, BOUNCES[5] + 0.01, engine=engine, log_every=0.01)
        found, series = [e.time for e in r.events], closed_form("a geometric series")
        name = f"ball that bounces, floor at {floor:g} m"
        checked(found, BOUNCES[:6], name, "times of bounces", series, atol=1e-14 * max(1, abs(floor)) + 1e-12)
        assert r["it.x"].min() >= floor
        with pytest.raises(SimulationError, match=r"chattering or Zeno\): 'it\.bounce'") as caught:
            simulate(d, 2 * ZENO, engine=engine, log_every=0.01)
        assert caught.value.path == "it" and caught.value.time == pytest.approx(ZENO, abs=0.02)
        assert caught.value.result["it.x"].min() >= floor and len(caught.value.result.events) < 2000
        assert "rest state" in caught.value.hint and ("direction" in caught.value.hint) == (not direction)
        times.append([e.time for e in r.events])
    assert times[0] == times[1]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_pair_of_balls_far_from_the_origin_meets_without_a_direction(engine):
    """Two equal masses exchange their velocities; each pair bounces where it is, at one instant."""

    def equations(b):
        x, v = b.continuous("x", [0.0, 3.0, 2e5, 2e5 + 3]), b.continuous("v", [1.0, -0.5, 1.0, -0.5])
        b.derivative(x, v)
        b.derivative(v, 0 * v)
        b.when(x[1] - x[0], [(v, np.array([v[1], v[0], v[2], v[3]]))], name="near")
        b.when(x[3] - x[2] - 1e-9 * x[0], [(v, np.array([v[0], v[1], v[3], v[2]]))], name="far")
        b.output("v", v)

    r = simulate(alone(equations), 5.0, engine=engine)
    assert sorted(e.name for e in r.events) == ["it.far", "it.near"]
    assert r["it.v"][-1].tolist() == [-0.5, 1.0, -0.5, 1.0]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_reset_that_jumps_back_over_its_own_threshold_fires_once(engine):
    """A sawtooth of both directions: what its reset does is no second event."""

    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, 1.0 + 0 * x)
        n = b.mode("n", 0.0)
        b.when(x[0] - 1, [(x, x - 1), (n, n + 1)], name="back")
        b.output("x", x)
        b.output("n", n)

    r = simulate(alone(equations), 3.5, engine=engine, log_every=0.25)
    assert [e.time for e in r.events] == pytest.approx([1, 2, 3], abs=1e-12)
    assert r["it.x"][:, 0] == pytest.approx(r.time % 1.0, abs=1e-12) and r["it.n"][-1, 0] == 3


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_jump_of_a_crossing_is_no_rounding(engine):
    """A crossing that is 1 or -1 has no value near its threshold: its events come all the same."""

    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, np.cos(b.time) + 0 * x)
        n = b.mode("n", 0.0)
        b.when(np.where(x[0] > 0.5, 1.0, -1.0), [(n, n + 1)], name="side")
        b.output("n", n)

    r = simulate(alone(equations), 10.0, engine=engine)
    assert [e.time for e in r.events] == pytest.approx(np.array([1, 5, 13, 17]) * np.pi / 6, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_a_relay_that_switches_ten_thousand_times_a_second_is_allowed(start, engine):
    """x' = -+1 between two levels 1e-4 apart, after a way of any length."""

    def equations(b):
        x, up = b.continuous("x", start), b.mode("up", 0.0)
        b.derivative(x, 2 * up - 1)
        b.when(x[0] + 0.5e-4, [(up, 1.0 + 0 * up)], "falling", "low")
        b.when(x[0] - 0.5e-4, [(up, 0 * up)], "rising", "high")

    end = start + 0.5e-4 + 0.15
    r = simulate(alone(equations), end + 0.5e-4, engine=engine, log_every=0.1)
    assert r.complete and len(r.events) == 1501
    assert np.diff([e.time for e in r.events]) == pytest.approx(1e-4, abs=1e-12)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_sliding_without_hysteresis_has_no_progress(engine):
    def equations(b):
        x = b.continuous("x", 0.5)
        b.derivative(x, -b.where_event(x[0], 1.0, -1.0, "side") + 0 * x)
        b.output("x", x)

    with pytest.raises(SimulationError, match=r"chattering or Zeno\): 'it\.side o(n|ff)'") as caught:
        simulate(alone(equations), 2.0, engine=engine, log_every=0.1)
    assert caught.value.time == pytest.approx(0.5, abs=1e-6) and "direction" not in caught.value.hint


@pytest.mark.parametrize("engine", [pytest.param("reference", marks=pytest.mark.slow), "native"])
def test_who_dives_and_comes_back_within_a_quarter_of_a_step_has_left_the_threshold(engine):
    """Dives of 0.01 s, and hops of 2e-9 s between them: an event for each direction, crossings apart.

    After a hop, which rounding hides, the second event has left its threshold during the dive before it.
    """

    def equations(b):
        x, v, a, n = b.continuous("x", 0.0), b.continuous("v", -0.5), b.mode("a", 100.0), b.mode("n", 0.0)
        b.derivative(x, v)
        b.derivative(v, a)
        b.when(x[0], {a: -100.0, v: 1e-7}, direction="rising", name="up")
        b.when(2.0 * x[0], {a: 100.0, v: -0.5, n: n + 1.0}, direction="falling", name="down")
        b.output("n", n)

    until, both = 10.205, 2 * 0.5 / 100 + 2 * 1e-7 / 100
    r = simulate(alone(equations), until, engine=engine, solver="rk4", step=0.1, log_at=[until])
    assert r["it.n"][-1, 0] == 1 + until // both  # the first at the start
