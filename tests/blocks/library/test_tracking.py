"""Memory in continuous time is exact: rate limits, turns, peaks, against closed forms, off-sample."""

import numpy as np
import pytest
from scipy.optimize import brentq

from blocks import (
    Clock,
    Constant,
    Function,
    Gain,
    Hold,
    Integrator,
    PeakHold,
    RateLimiter,
    Sine,
    Sum,
    TimeTable,
    TurnCounter,
)
from blocks.errors import BlockError, WiringError
from cosim import Diagram, simulate
from tests.helpers.made import Made

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
TIMES = np.linspace(0.0137, 5.0, 211)


def behind(block, *source) -> Diagram:
    d = Diagram("d")
    node = d.add("it", block)
    signal = d.add("source", source[0])["y"]
    for k, function in enumerate(source[1:]):
        f = d.add(f"f{k}", function)
        d.connect(signal, f["u"])
        signal = f["y"]
    d.connect(signal, node["u"])
    integral = d.add("integral", Integrator())
    d.connect(node["y"], integral["u"])
    return d


def limited_sine(w: float, rate: float, until: float):
    """The rate-limited sine and its integral, by solving for where lines are met and left, phase by phase."""
    t, y, mode, phases = 0.0, 0.0, 1, []
    while t < until:
        grid = np.linspace(t + 1e-7, t + 2 * np.pi / w, 40001)
        if mode:
            gap = lambda s, t=t, y=y, mode=mode: mode * (np.sin(w * s) - y - mode * rate * (s - t))
        else:
            gap = lambda s: rate - abs(w * np.cos(w * s))
        k = int(np.flatnonzero(gap(grid) < 0)[0])
        end = brentq(gap, grid[max(k - 1, 0)], grid[k], xtol=1e-15) if k else grid[0]
        phases.append((t, end, mode, y))
        slope = w * np.cos(w * end)
        mode = int(np.sign(slope)) if not mode or abs(slope) > rate else 0
        t, y = end, float(np.sin(w * end))

    def at(s: float) -> tuple[float, float]:
        total = 0.0
        for start, end, mode, y in phases:
            stop = min(s, end)
            if mode:
                total += y * (stop - start) + 0.5 * mode * rate * (stop - start) ** 2
            else:
                total += (np.cos(w * start) - np.cos(w * stop)) / w
            if s <= end:
                return (y + mode * rate * (s - start) if mode else np.sin(w * s)), total
        raise AssertionError

    return np.array([at(s) for s in TIMES])


@ENGINES
def test_a_sine_behind_a_rate_limit_is_the_closed_form(engine):
    r = simulate(behind(RateLimiter(1.5), Sine(1.0, 3.0)), 5.0, log_at=TIMES, engine=engine)
    expected = limited_sine(3.0, 1.5, 5.0)
    np.testing.assert_allclose(r["it.y"][:, 0], expected[:, 0], atol=1e-8)
    np.testing.assert_allclose(r["integral.y"][:, 0], expected[:, 1], atol=1e-7)


@ENGINES
def test_a_jump_is_followed_along_a_line_up_and_another_down(engine):
    table = TimeTable([0.0, 0.5, 2.03], [0.0, 2.0, -1.0], interpolation="previous")
    r = simulate(behind(RateLimiter(4.0, 1.0, initial=0.5), table), 5.0, log_at=TIMES, engine=engine)
    t = TIMES
    expected = np.select(
        [t <= 0.5, t <= 0.5 + 2.0 / 4.0, t <= 2.03, t <= 5.03],
        [np.maximum(0.5 - t, 0.0), 4.0 * (t - 0.5), 2.0 + 0.0 * t, 2.0 - (t - 2.03)],
    )
    np.testing.assert_allclose(r["it.y"][:, 0], expected, atol=1e-8)


@ENGINES
def test_a_reset_that_makes_the_signal_jump_is_not_followed_at_once(engine):
    def saw(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, 0.5 + 0.0 * x)
        b.when(x - 1.0, {x: x - 1.0}, direction="rising", name="falls back")
        b.output("y", x)

    r = simulate(behind(RateLimiter(10.0, 2.0), Made(saw)), 3.0, log_at=[1.9, 2.1, 2.3, 2.5], engine=engine)
    np.testing.assert_allclose(r["it.y"][:, 0], [0.95, 0.8, 0.4, 0.25], atol=1e-8)


def angle(u):
    return np.arctan2(np.sin(u), np.cos(u))


@ENGINES
@pytest.mark.parametrize("speed", [80.0, -80.0, 20 * np.pi, 1e4])
def test_turns_at_constant_speed_are_counted_however_long_the_steps_are(engine, speed):
    d = behind(TurnCounter(), Constant(speed), Integrator(), Function(angle))
    r = simulate(d, 1.0, engine=engine, log_every=0.0101)
    np.testing.assert_allclose(r["it.y"][:, 0], speed * r.time, rtol=1e-12, atol=1e-9)


@ENGINES
def test_turns_of_a_motor_that_speeds_up_and_turns_back(engine):
    """Acceleration -9 rad/s^2 from 60 rad/s: steps of a polynomial become as long as they may."""
    d = behind(TurnCounter(), Constant(-9.0), Integrator(60.0), Integrator(), Function(angle))
    r = simulate(d, 20.0, engine=engine, log_every=0.37)
    np.testing.assert_allclose(r["it.y"][:, 0], 60.0 * r.time - 4.5 * r.time**2, atol=1e-5)


@ENGINES
@pytest.mark.parametrize("kind", ["max", "min"])
def test_a_peak_between_steps_is_held_exactly(engine, kind):
    sign = 1.0 if kind == "max" else -1.0
    r = simulate(behind(PeakHold(kind), Sine(sign, 3.0)), 5.0, log_at=TIMES, engine=engine)
    top = np.where(np.pi / 6 > TIMES, np.sin(3.0 * TIMES), 1.0)
    area = np.where(np.pi / 6 > TIMES, (1 - np.cos(3 * TIMES)) / 3, 1 / 3 + TIMES - np.pi / 6)
    np.testing.assert_allclose(r["it.y"][:, 0], sign * top, atol=1e-9)
    np.testing.assert_allclose(r["integral.y"][:, 0], sign * area, atol=1e-7)


@ENGINES
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_signal_that_leaves_its_peak_at_the_start_is_not_followed(engine, sign):
    """sin(3 t + 2) falls from the first instant on, until it passes that value at t = pi - 4/3; both do."""
    phases = np.array([2.0, 1.8])
    r = simulate(
        behind(PeakHold("max" if sign > 0 else "min"), Sine(sign, 3.0, phases)),
        1.8, log_at=TIMES[TIMES < 1.8], engine=engine,
    )  # fmt: skip
    np.testing.assert_allclose(r["it.y"], np.tile(sign * np.sin(phases), (len(r.time), 1)), atol=1e-12)
    np.testing.assert_allclose(r["integral.y"], sign * np.outer(r.time, np.sin(phases)), atol=1e-9)


@pytest.mark.slow
def test_a_peak_goes_on_from_tick_to_tick_without_events():
    """Steps of less than 1 every 0.1 s on a slow ramp: passed at ticks, but for once by the ramp alone."""
    d = Diagram("steps")
    steps, ramp, total = d.add("steps", Hold(sample=0.1)), d.add("ramp", Gain(0.2)), d.add("sum", Sum("++"))
    d.add("sine", Sine(0.8, 3.0))["y"] >> steps["u"]
    d.add("t", Clock())["y"] >> ramp["u"]
    steps["y"] >> total["in1"]
    ramp["y"] >> total["in2"]
    total["y"] >> d.add("it", PeakHold())["u"]
    r = simulate(d, 3.0, log_at=np.arange(30) * 0.1 + 0.05, engine="reference")
    assert [e.name for e in r.events] == ["it.follows passed"]
    top = 0.8 * np.sin(1.5) + 0.2 * 0.6
    assert r.events[0].time == pytest.approx((top - 0.8 * np.sin(1.8)) / 0.2, abs=1e-7)
    ends = 0.8 * np.sin(0.3 * np.arange(30)) + 0.2 * (0.1 * np.arange(30) + 0.1)  # just before the next tick
    now = ends - 0.2 * 0.05
    wanted = np.maximum(now, np.maximum.accumulate([0.0, *ends[:-1]]))
    np.testing.assert_allclose(r["it.y"][:, 0], wanted, atol=1e-7)


@ENGINES
def test_the_slope_of_a_signal_is_its_derivative_along_the_solution(engine):
    def clock(b):
        u = b.input("u", 1)
        x = b.continuous("x", 0.0)
        b.derivative(x, b.slope(u * u))
        b.output("y", x)

    r = simulate(behind(Made(clock), Sine(2.0, 3.0)), 5.0, log_at=TIMES, engine=engine)
    np.testing.assert_allclose(r["it.y"][:, 0], 4.0 * np.sin(3.0 * TIMES) ** 2, atol=1e-7)


def test_a_slope_is_refused_where_it_cannot_be_known_in_time():
    with pytest.raises(WiringError, match=r"output 'y' depends on b\.slope.*derivatives and residuals alone"):
        simulate(behind(Made(lambda b: b.output("y", b.slope(b.input("u", 1)))), Sine()), 1.0)


def test_a_slope_that_needs_itself_is_refused_by_name():
    def loop(b):
        u = b.input("u", 1)
        x = b.continuous("x", 0.0)
        b.derivative(x, 1.0 + b.slope(x + u, "course"))
        b.output("y", x)

    with pytest.raises(BlockError, match=r"slopes depend on themselves: 'it\.course'"):
        simulate(behind(Made(loop), Sine()), 1.0)
