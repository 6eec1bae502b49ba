"""Friction, play, limits and converters against closed forms and slow interpreters, on both engines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from scipy.integrate import solve_ivp

from blocks import (
    ADC,
    DAC,
    PWM,
    Backlash,
    BlockError,
    BoucWen,
    Constant,
    CoulombFriction,
    DynamicDeadZone,
    DynamicRateLimiter,
    DynamicSaturation,
    Encoder,
    Function,
    Gain,
    HitCrossing,
    Hold,
    Integrator,
    Ramp,
    Sine,
    StickSlip,
    TimeTable,
)
from cosim import Diagram, simulate
from tests.blocks.library.test_logic import fed, sampled

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


@ENGINES
def test_a_mass_comes_to_rest_and_stays(engine):
    """v0 = 2 m/s, friction 3 N on 1.5 kg: at rest after v0 m / F, having gone v0^2 m / 2 F."""
    d = fed(StickSlip(1.5, 3.0, initial_speed=2.0), {"u": Constant(0.0)}, "x")
    r = simulate(d, 3.0, log_at=[0.5, 0.9, 1.1, 3.0], engine=engine)
    close(r["it.v"][:, 0], [1.0, 0.2, 0, 0], atol=1e-9)
    close(r["it.x"][2:, 0], 1.0, atol=1e-9)
    assert r["it.sticks"][:, 0].tolist() == [0, 0, 1, 1]
    assert r.events[0].time == pytest.approx(1.0, abs=1e-9)


@ENGINES
def test_it_breaks_away_at_the_static_force_and_sticks_again(engine):
    d = fed(StickSlip(1.0, 1.0, static=2.0, stribeck=0.1), {"u": Ramp(1.0)}, "x")
    at = [1.9, 2.5, 3.0, 4.0]
    r = simulate(d, 4.0, log_at=at, engine=engine)
    law = lambda t, v: t - 1 - np.exp(-((v / 0.1) ** 2))
    wanted = solve_ivp(law, (2.0, 4.0), [0.0], t_eval=at[1:], rtol=1e-11, atol=1e-13).y[0]
    close(r["it.v"][1:, 0], wanted, rtol=1e-6)
    assert r["it.v"][0, 0] == 0
    assert r["it.friction"][0, 0] == pytest.approx(1.9)
    assert r.events[0].time == pytest.approx(2.0, abs=1e-8)


def belt(engine, until, at):
    """A mass on a moving belt, held by a spring: m = k = 1, belt 0.2, Coulomb 1, static 1.5."""
    d = Diagram("belt")
    mass = d.add("mass", StickSlip(1.0, 1.0, static=1.5, stribeck=1e-9, support=0.2, initial_speed=0.2))
    spring = d.add("spring", Gain(-1.0))
    d.connect(mass["x"], spring["u"])
    d.connect(spring["y"], mass["u"])
    return simulate(d, until, log_at=at, engine=engine, rtol=1e-10, atol=1e-12)


def test_it_bears_exactly_what_it_bears():
    """A push that jumps to 2, up or down, is held by a static force of 2; one bit more is not."""
    for push, breaks in ((2.0, 0), (-2.0, 0), (np.nextafter(2.0, 3.0), 1), (np.nextafter(-2.0, -3.0), 1)):
        source = TimeTable([0.0, 0.5], [0.0, push], "previous")
        r = simulate(fed(StickSlip(1.0, 1.0, static=2.0), {"u": source}, "x"), 1.0, engine="reference")
        assert r["it.sticks"][-1, 0] == 1 - breaks
        assert np.sign(r["it.v"][-1, 0]) == breaks * np.sign(push)


@ENGINES
def test_stick_slip_on_a_belt_is_the_published_limit_cycle(engine):
    """Stick until k x = static, slip on an ellipse round coulomb/k, stick at the speed of the belt.

    With w = sqrt(k/m), a = (static - coulomb)/k: slip lasts 2 (pi - atan(a w / v))/w, stick 2 a / v (Popp
    and Stelter, Phil. Trans. R. Soc. A 332 (1990) 89-105, sec. 2).
    """
    v, a = 0.2, 0.5
    stick, slip = 2 * a / v, 2 * (np.pi - np.arctan(a / v))
    r = belt(engine, 40.0, [40.0])
    away = [e.time for e in r.events if "breaks" in e.name]
    back = [e.time for e in r.events if "stops" in e.name]
    assert away[0] == pytest.approx(1.5 / v, abs=1e-8)
    close(np.diff(away), stick + slip, atol=2e-5)
    close(np.array(back) - away[: len(back)], slip, atol=2e-5)


@ENGINES
def test_a_mass_rides_on_a_belt_until_the_spring_pulls_it_away(engine):
    r = belt(engine, 7.0, [1.0, 7.0])
    close(r["mass.x"][:, 0], [0.2, 1.4], atol=1e-12)
    close(r["mass.v"][:, 0], 0.2, atol=1e-15)
    close(r["mass.friction"][:, 0], [-0.2, -1.4], atol=1e-12)


@ENGINES
def test_friction_as_a_law_of_speed(engine):
    t = np.linspace(0.05, 6, 40)
    law = CoulombFriction(2.0, 0.5, 3.0, 0.4)
    r = simulate(fed(law, {"u": Sine(1.3)}), 6.0, log_at=t, engine=engine)
    v = 1.3 * np.sin(t)
    close(r["it.y"][:, 0], np.sign(v) * (2 + np.exp(-((v / 0.4) ** 2))) + 0.5 * v, atol=1e-9)


def played(u, width, y):
    """Play, by tiny steps."""
    found = []
    for v in u:
        y = min(max(y, v - width / 2), v + width / 2)
        found.append(y)
    return np.array(found)


@pytest.mark.slow
@ENGINES
def test_backlash_drives_where_it_is_pushed(engine):
    source = Function(lambda s: 2 * np.sin(s) + 0.7 * np.sin(2.3 * s))
    d = Diagram("d")
    f = d.add("f", source)
    d.connect(d.add("t", Ramp(1.0, 0.0))["y"], f["s"])
    gear = d.add("it", Backlash(0.8, 0.2))
    d.connect(f["y"], gear["u"])
    d.connect(gear["y"], d.add("area", Integrator())["u"])
    t = np.linspace(0.1, 12, 120)
    r = simulate(d, 12.0, log_at=t, engine=engine)
    fine = np.linspace(0, 12, 600_001)
    y = played(2 * np.sin(fine) + 0.7 * np.sin(2.3 * fine), 0.8, 0.2)
    close(r["it.y"][:, 0], np.interp(t, fine, y), atol=1e-7)
    assert r["area.y"][-1, 0] == pytest.approx(np.trapezoid(y, fine), abs=1e-6)


@ENGINES
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_backlash_that_starts_at_a_flank_lets_go_where_u_moves_away(engine, way):
    """u begins outside of the play and moves back at once; y followed it up and down."""
    d = fed(Backlash(0.5), {"u": Sine(way, 2 * np.pi, -1.1)})
    t = np.linspace(0.05, 1.5, 30)
    fine = np.linspace(0, 1.5, 150_001)
    y = played(way * np.sin(2 * np.pi * fine - 1.1), 0.5, 0.0)
    assert abs(y[0]) > 0.5
    close(simulate(d, 1.5, log_at=t, engine=engine)["it.y"][:, 0], np.interp(t, fine, y), atol=1e-7)


@ENGINES
def test_backlash_of_a_signal_that_jumps(engine):
    u = np.array([0.0, 1.0, 0.8, 0.2, -1.0, -0.9, 3.0])
    d = fed(Backlash(1.0), {"u": TimeTable(np.arange(7.0), u, "previous")})
    r = simulate(d, 7.0, log_at=np.arange(7) + 0.5, engine=engine)
    close(r["it.y"][:, 0], played(u, 1.0, 0.0), atol=1e-9)


@ENGINES
def test_pulses_of_whole_periods_are_one(engine):
    """On from 0.5 to 2.2 s and from 2.5 to 2.7 s: at the ends of whole periods it fell for a moment."""
    d = fed(PWM(0.5), {"u": TimeTable([0.0, 0.5, 2.0], [0.0, 1.0, 0.4], "previous")})
    d["it"] >> d.add("falls", HitCrossing(0.5, "falling"))
    r = simulate(d, 2.9, log_at=[2.3, 2.9], engine=engine)
    assert r["falls.y"][:, 0].tolist() == [1.0, 2.0]
    close(r["falls.time"][:, 0], [2.2, 2.7], atol=1e-12)
    close(r["area.y"][:, 0], [1.7, 1.9], atol=1e-9)


@ENGINES
def test_a_sampled_block_sees_play_whose_input_has_jumped_across_it(engine):
    """From one flank to the other at one instant: it saw y as it was before, a period late."""
    u = np.array([0.0, 6.0, 0.0, 0.0, 6.0, 0.0, 3.0, -2.0, 4.0, 3.5, -3.0, -2.5])  # and back within it
    d = fed(Backlash(2.0), {"u": TimeTable(np.arange(12.0), u, "previous")})
    d["it"] >> d.add("seen", Hold(sample=1))
    r = simulate(d, 11.0, log_at=np.arange(12), engine=engine)
    close(r["seen.y"][:, 0], played(u, 2.0, 0.0), atol=1e-9)


@ENGINES
def test_bouc_wen_loops_are_those_of_scipy(engine):
    t = np.linspace(0.1, 8, 30)
    r = simulate(fed(BoucWen(0.6, 0.3, 1.5), {"u": Sine(3.0)}), 8.0, log_at=t, engine=engine)

    def rate(s, z):
        v = 3 * np.cos(s)
        return v - (0.6 * abs(v) * np.sign(z) + 0.3 * v) * np.abs(z) ** 1.5

    wanted = solve_ivp(rate, (0, 8), [0.0], t_eval=t, rtol=1e-10, atol=1e-12, max_step=1e-2).y[0]
    close(r["it.y"][:, 0], wanted, atol=1e-5)


@pytest.mark.parametrize("n", [1.0, 1.5])
def test_bouc_wen_starts_with_the_slope_of_its_input(n):
    """z' = u' at z = 0; of Euler's steps the first goes so far."""
    d = fed(BoucWen(0.6, 0.3, n), {"u": Ramp(2.0)}, None)
    r = simulate(d, 0.2, solver="euler", step=0.1, log_at=[0.1, 0.2], engine="reference")
    close(r["it.y"][:, 0], [0.2, 0.4 - 0.1 * 0.9 * 2.0 * 0.2**n], rtol=1e-14)


@pytest.mark.parametrize("n", [1.0, 1.5])
def test_bouc_wen_has_derivatives_by_its_parameters_at_rest(n):
    """z' = u' whatever they are: |z|^n has the derivative |z|^n log |z| by n, which is 0 at z = 0."""
    f = fed(BoucWen(0.6, 0.3, n), {"u": Sine(2.0)}, None).system().derivatives
    assert f(0.0, f.x0).tolist() == [2.0]
    by_p = dict(zip(f.columns["p"], f.by_p(0.0, f.x0, f.u0, f.p0)[0], strict=True))
    assert [by_p[f"it.{name}"] for name in ("beta", "gamma", "n")] == [0.0, 0.0, 0.0]


@ENGINES
def test_limits_that_are_signals(engine):
    t = np.linspace(0.05, 9, 90)
    sources = {"u": Sine(2.0, 1.3), "high": Sine(0.5, 0.7, 0.0, 1.0), "low": Constant(-0.4)}
    u, high = 2 * np.sin(1.3 * t), 1 + 0.5 * np.sin(0.7 * t)
    r = simulate(fed(DynamicSaturation(), sources), 9.0, log_at=t, engine=engine)
    close(r["it.y"][:, 0], np.clip(u, -0.4, high), atol=1e-9)
    r = simulate(fed(DynamicDeadZone(), sources), 9.0, log_at=t, engine=engine)
    close(r["it.y"][:, 0], u - np.clip(u, -0.4, high), atol=1e-9)


def test_converters_at_their_ticks():
    u = np.array([-1.0, 0.0, 0.3, 1.9999, 4.999, 7.0])
    out = sampled(ADC(3, 0.0, 4.0, sample=0.1), u=u)
    assert out["code"][:, 0].tolist() == [0, 0, 0, 3, 7, 7]
    close(out["y"][:, 0], [0, 0, 0, 1.5, 3.5, 3.5])
    close(sampled(DAC(3, 0.0, 4.0, sample=0.1), u=[-1.0, 0.4, 3.6, 9.0])["y"][:, 0], [0, 0, 2.0, 3.5])
    out = sampled(Encoder(100, 360.0, sample=0.1), u=[0.0, 3.5, 3.7, -0.1, 720.0])
    assert out["count"][:, 0].tolist() == [0, 0, 1, -1, 200]
    close(out["y"][:, 0], [0, 0, 3.6, -3.6, 720])
    up = sampled(
        DynamicRateLimiter(sample=0.5), rising=[1, 1, 2, 2], u=[3, 3, 3, -3], falling=[-1, -1, -1, -4]
    )
    close(up["y"][:, 0], [0.5, 1.0, 2.0, 0.0])


@ENGINES
def test_pulses_last_for_the_part_asked_for(engine):
    """The mean over each period is the part of it that is on; 0 and 1 have no pulses."""
    parts = np.array([0.0, 0.3, 1.0, 0.75, 1.2, -0.1, 0.01])
    d = fed(PWM(0.5, on_value=3.0, off_value=-1.0), {"u": TimeTable(0.5 * np.arange(7), parts, "previous")})
    r = simulate(d, 3.5, log_at=0.5 * np.arange(1, 8), engine=engine)
    area = np.diff(r["area.y"][:, 0], prepend=0.0)
    close(area, 0.5 * (4 * np.clip(parts, 0, 1) - 1), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: StickSlip(coulomb=2.0, static=1.0), "static is 1.0, expected at least coulomb = 2.0"),
        (lambda: StickSlip(0.0), "mass is 0.0"),
        (lambda: CoulombFriction(-1.0), "coulomb is -1.0"),
        (lambda: Backlash(-1.0), "width is -1.0"),
        (lambda: BoucWen(n=0.5), "n is 0.5"),
        (lambda: ADC(0, sample=0.1), "bits is 0"),
        (lambda: DAC(8, 1.0, 1.0, sample=0.1), "low is 1.0"),
        (lambda: Encoder(0, sample=0.1), "counts is 0"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)
