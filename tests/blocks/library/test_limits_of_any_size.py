"""Limits, thresholds and dead zones of any size: what happens at them is the same in every unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from blocks import (
    Backlash,
    CompareToConstant,
    Constant,
    DeadZone,
    HitCrossing,
    Integrator,
    IntervalTest,
    RateLimiter,
    Relay,
    SecondOrderIntegrator,
    Sine,
    Step,
    StopWhen,
    Sum,
    Switch,
    TimeTable,
)
from cosim import Diagram, Simulation, simulate
from tests.helpers.runs import build

ENGINES = ("reference", "native")
SIZES = (1e-12, 1e-6, 1.0, 1e6, 1e12)
TIMES = np.linspace(0.0, 10.0, 101)


def clipped(rise, w=1.0):
    """x' = rise sin(w t) from 0 within -1 and 1: half periods are monotone, so each ends clipped."""

    def way(a, b):
        return rise / w * (np.cos(w * a) - np.cos(w * b))

    marks, ends = [0.0], [0.0]
    while marks[-1] < TIMES[-1]:
        marks.append(len(marks) * np.pi / w)
        ends.append(np.clip(ends[-1] + way(*marks[-2:]), -1.0, 1.0))
    k = np.searchsorted(marks, TIMES, side="right") - 1
    return np.clip(np.array(ends)[k] + way(np.array(marks)[k], TIMES), -1.0, 1.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_an_integrator_at_both_of_its_limits(size, engine):
    """Within 1e6 the run ended with an error, and within 1e-12 too."""
    d = build("s.y>i.u", s=Sine(amplitude=3.0 * size, frequency=1.0), i=Integrator(low=-size, high=size))
    r = simulate(d, 10.0, engine=engine, log_at=TIMES)
    assert np.abs(r["i.y"].ravel() / size - clipped(3.0)).max() < 1e-7
    assert [e.name for e in r.events][:3] == ["i.high reached", "i.high left", "i.low reached"]
    assert len(r.events) == 6


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("flow", [1e-3, 1.0, 1e6, 1e12])
def test_a_tank_that_runs_empty(flow, engine):
    """One limit, at 0, says nothing of the size: x' = flow cos t within 0: full sines, flat from 3 pi/2."""
    d = build("s.y>i.u", s=Sine(amplitude=flow, frequency=1.0, phase=0.5 * np.pi), i=Integrator(low=0.0))
    r = simulate(d, 10.0, engine=engine, log_at=TIMES)
    t = TIMES
    expected = np.where(t < np.pi, np.sin(t), np.where(t < 1.5 * np.pi, 0.0, np.sin(t) + 1.0))
    late = t > 2.5 * np.pi  # from its top, 2, on
    expected[late] = np.sin(t[late]) + 1.0
    assert np.abs(r["i.y"].ravel() / flow - expected).max() < 1e-7 + 1e-9 / flow
    assert [e.name for e in r.events] == ["i.low reached", "i.low left"]


@pytest.mark.parametrize("size", SIZES)
def test_components_that_reach_their_limits_at_one_instant(size):
    d = build(
        "s.y>i.u",
        s=Sine(amplitude=[3.0 * size] * 2, frequency=1.0),
        i=Integrator(initial=[0.0, 0.0], low=-size, high=[size, size]),
    )
    y = simulate(d, 10.0, log_at=TIMES)["i.y"] / size
    assert np.abs(y - clipped(3.0)[:, None]).max() < 1e-7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_reset_that_ends_beyond_a_limit_does_not_move_it(engine):
    """From outside x is put to 6 at 1 s, beyond 5, and rests there; put to 0 at 2 s it rises to 5 again."""
    d = build(
        "u.y>i.u on.y>both.in1 off.y>both.in2 both.y>i.reset to.y>i.x0",
        u=Constant(1.0), on=Step(time=1.0), off=Step(time=2.0), both=Sum("+-"),
        to=Step(time=1.5, before=6.0, after=0.0),
        i=Integrator(high=5.0, reset="either", external_initial=True, threshold=0.5),
    )  # fmt: skip
    r = simulate(d, 9.0, engine=engine, log_at=[0.9, 1.5, 2.5, 6.9, 7.1, 9.0])
    assert r["i.y"].ravel() == pytest.approx([6.0, 6.0, 0.5, 4.9, 5.0, 5.0], abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_a_slider_between_stops(size, engine):
    """x'' = 2 size from rest at 0: at the stop, 1, after 1 s, without speed; then it is driven back."""
    d = build(
        "on.y>u.in1 back.y>u.in2 u.y>s.u",
        on=Step(time=0.0, after=2.0 * size), back=Step(time=2.0, after=-4.0 * size), u=Sum("++"),
        s=SecondOrderIntegrator(low=-size, high=size),
    )  # fmt: skip
    r = simulate(d, 5.0, engine=engine, log_at=[0.5, 1.5, 2.5, 3.0, 5.0])
    assert r["s.x"].ravel() / size == pytest.approx([0.25, 1.0, 0.75, 0.0, -1.0], abs=1e-8)
    assert r["s.dx"].ravel() / size == pytest.approx([1.0, 0.0, -1.0, -2.0, 0.0], abs=1e-7)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda s: DeadZone(-s, s), lambda u: u - np.clip(u, -1.0, 1.0)),
        (lambda s: CompareToConstant(">=", s), lambda u: u >= 1.0),
        (lambda s: CompareToConstant("<", -s), lambda u: u < -1.0),
        (lambda s: IntervalTest(-s, s), lambda u: np.abs(u) <= 1.0),
    ],
    ids=["dead zone", "above", "below", "interval"],
)
def test_signals_beside_limits(make, expected, size, engine):
    d = build("s.y>b.u", s=Sine(amplitude=3.0 * size, frequency=1.0), b=make(size))
    y = simulate(d, 10.0, engine=engine, log_at=TIMES, max_step=0.1)["b.y"].ravel()
    found = y / size if isinstance(make(1.0), DeadZone) else y
    assert np.abs(found - expected(3.0 * np.sin(TIMES))).max() < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_a_relay_switches_at_both_of_its_points(size, engine):
    d = build("s.y>b.u", s=Sine(amplitude=3.0 * size, frequency=1.0), b=Relay(size, -size))
    r = simulate(d, 10.0, engine=engine, log_at=TIMES, max_step=0.1)
    first = np.arcsin(1 / 3)  # on there, off at pi + that, ...
    expected = [first + k * np.pi for k in range(4) if first + k * np.pi < 10.0]
    assert [e.time for e in r.events] == pytest.approx(expected, abs=1e-9)
    assert r["b.y"].ravel().tolist() == (np.searchsorted(expected, TIMES) % 2).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_backlash_of_any_width(size, engine):
    """u = 3 sin t with a play of 2: y = u - 1 up to 2, held, u + 1 down to -2, held, ..."""
    d = build("s.y>b.u", s=Sine(amplitude=3.0 * size, frequency=1.0), b=Backlash(2.0 * size))
    y = simulate(d, 10.0, engine=engine, log_at=TIMES, max_step=0.1)["b.y"].ravel() / size
    fine = np.linspace(0.0, 10.0, 100_001)
    old, expected = 0.0, []
    for u in 3.0 * np.sin(fine):
        old = min(max(old, u - 1.0), u + 1.0)
        expected.append(old)
    assert np.abs(y - np.array(expected)[::1000]).max() < 1e-7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_a_limited_rate(size, engine):
    """3 sin t is followed at 1 per second: a straight line until it meets 3 sin t, at t1 = 3 sin t1."""
    d = build("s.y>b.u", s=Sine(amplitude=3.0 * size, frequency=1.0), b=RateLimiter(size))
    times = np.array([1.0, 2.0, 2.5, 3.0, 4.0])
    y = simulate(d, 4.0, engine=engine, log_at=times, max_step=0.1)["b.y"].ravel() / size
    met = brentq(lambda t: t - 3.0 * np.sin(t), 2.0, 2.5)  # from there on down, again 1 per second
    assert y == pytest.approx(np.where(times < met, times, 2.0 * met - times), abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_switches_hits_and_ends(size, engine):
    d = build(
        "s.y>switch.control up.y>switch.in1 down.y>switch.in2 s.y>hits.u s.y>end.u",
        s=Sine(amplitude=3.0 * size, frequency=1.0), up=Constant(1.0), down=Constant(-1.0),
        switch=Switch(threshold=size), hits=HitCrossing(-size, "falling"),
        end=StopWhen("there", 2.0 * size, "falling"),
    )  # fmt: skip
    r = simulate(d, 10.0, engine=engine, log_at=TIMES, max_step=0.1)
    first, end = np.arcsin(1 / 3), np.pi - np.arcsin(2 / 3)
    assert [e.time for e in r.events] == pytest.approx([first, end], abs=1e-9)
    assert r.time[-1] == pytest.approx(end, abs=1e-9)
    assert r["switch.y"].ravel().tolist() == np.where(r.time > first, 1.0, -1.0).tolist()
    d.remove("end")
    r = simulate(d, 10.0, engine=engine, log_at=[10.0], max_step=0.1)
    assert r["hits.time"].item() == pytest.approx(3 * np.pi + first, abs=1e-9)
    assert r["hits.y"].item() == 2.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_what_rests_at_a_limit_stays_there_while_its_rate_jumps(size, engine):
    """From 1 s on at the limit; the rate is held, and jumps from 1 to 3 and 2 meanwhile: nothing happens."""
    rate = TimeTable([0.0, 2.0, 3.0, 4.0], [size, 3.0 * size, 2.0 * size, -size], "previous")
    r = simulate(
        build("s.y>i.u", s=rate, i=Integrator(high=size)), 4.5, engine=engine, log_at=[0.5, 1.5, 3.5, 4.5]
    )
    assert r["i.y"].ravel() / size == pytest.approx([0.5, 1.0, 1.0, 0.5], abs=1e-9)
    assert [e.name for e in r.events if "i." in e.name] == ["i.high reached"]  # it leaves with a jump


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        (1.25, [0.75, 0.875, 0.5, 0.0, 0.25, 0.5, 0.5]),  # it falls already
        (0.75, [0.75, 0.625, 0.25, -0.25, 0.0, 0.25, 0.5]),  # it stays at 3/4 until it is driven back
    ],
)
def test_a_limit_that_moves_below_a_state_lets_it_leave_and_holds_it_when_it_comes_back(moved, expected):
    """x' = 1, -1/2, 1 from t = 0, 1, 3 on, within 2, and from `moved` on within 1/2."""
    d = Diagram("d")
    push = d.add("push", TimeTable([0.0, 1.0, 3.0], [1.0, -0.5, 1.0], interpolation="previous"))
    push >> d.add("x", Integrator(low=-5.0, high=2.0))
    sim = Simulation(d, engine="reference")
    sim.log([0.75, 1.25, 2.0, 3.0, 3.25, 3.5, 4.0])
    sim.advance(moved)
    sim.set_parameter("x.high", 0.5)
    sim.advance(4.0)
    np.testing.assert_allclose(sim.result()["x.y"][:, 0], expected, atol=1e-9)


def test_a_state_that_a_reset_has_put_beyond_its_limit_is_driven_back():
    """x' = -1 from 0 on, within 2, put to 3 at t = 1."""
    d = build(
        "u.y>i.u on.y>i.reset to.y>i.x0",
        u=Constant(-1.0), on=Step(1.0), to=Step(0.5, after=3.0),
        i=Integrator(high=2.0, reset="rising", external_initial=True),
    )  # fmt: skip
    r = simulate(d, 3.0, log_every=0.5, engine="reference")
    np.testing.assert_allclose(r["i.y"][:, 0], [0.0, -0.5, 3.0, 2.5, 2.0, 1.5, 1.0], atol=1e-9)
