"""Margins of loops against python-control, closed forms, and the gain that makes the loop unstable."""

import warnings

import control
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from blocks import (
    Encoder,
    Gain,
    Hold,
    Integrator,
    Mux,
    Quantizer,
    Relay,
    StateFeedback,
    StateSpace,
    Sum,
    TransferFunction,
    TransportDelay,
    UnitDelay,
)
from blocks.errors import PlantloopError
from cosim import Diagram, linearize, margins, simulate
from cosim.analysis.margins import HeldLoopWarning, margins_of
from cosim.analysis.periodic_loop import PeriodicLoop
from cosim.analysis.rounded import RoundedLoopWarning


def continuous(k=1.0, num=(4.0,), den=(1.0, 3.0, 3.0, 1.0)):
    """L = k num / den at the controller's output."""
    d = Diagram("loop")
    c, p = d.add("c", Gain(-k)), d.add("p", TransferFunction(num, den))
    c >> p
    p >> c
    return d


@pytest.mark.parametrize(
    ("num", "den"),
    [([4.0], [1.0, 3.0, 3.0, 1.0]), ([1.0], [1.0, 0.5, 1.0, 0.0]), ([30.0, 20.0], [1.0, 6.0, 5.0, 0.0, 0.0])],
)
def test_a_continuous_loop_has_the_margins_python_control_finds(num, den):
    found = margins(continuous(1.0, num, den), at="c.y")
    gm, pm, _, wcg, wcp, _ = control.stability_margins(control.tf(num, den))
    assert found.stable == bool((control.feedback(control.tf(num, den), 1).poles().real < 0).all())
    if found.stable and np.isfinite(gm):
        assert (found.gain[1] if gm > 1 else found.gain[0]) == pytest.approx(gm, rel=1e-6)
        assert found.phase_crossover == pytest.approx(wcg, rel=1e-6)
    assert found.phase == pytest.approx(abs(pm), rel=1e-6)
    assert found.crossover == pytest.approx(wcp, rel=1e-6)


def test_closed_forms():
    """L = 4 / (s + 1)^3: real and negative at w = sqrt(3), where it is -1/2."""
    found = margins(continuous(), at="c.y")
    assert found.gain == (0.0, pytest.approx(2.0, rel=1e-9))
    assert found.phase_crossover == pytest.approx(np.sqrt(3.0), rel=1e-9)
    w = np.sqrt(4 ** (2 / 3) - 1)
    assert found.crossover == pytest.approx(w, rel=1e-9)
    lag = np.pi - 3 * np.arctan(w)
    assert found.phase == pytest.approx(np.degrees(lag), rel=1e-9)
    assert found.delay == pytest.approx(lag / w, rel=1e-9)
    s = 1j * np.geomspace(1e-3, 1e3, 200_001)
    L = 4 / (s + 1) ** 3
    assert found.sensitivity == pytest.approx(np.abs(1 / (1 + L)).max(), rel=1e-4)
    assert found.disk == pytest.approx((2 / np.abs((1 - L) / (1 + L))).min(), rel=1e-4)


def test_the_top_of_a_narrow_resonance_is_found_between_the_frequencies_that_are_looked_at():
    """L = b s / ((s^2 + w^2) (s - p)): |S| has its top 2 % beside the modulus of the pole that makes it."""
    num, den = [55.7, 0.0], np.polymul([1.0, 0.0, 516.5], [1.0, -3.48])
    found = margins(continuous(1.0, num, den), at="c.y")
    S = lambda w: abs(np.polyval(den, 1j * w) / np.polyval(np.polyadd(den, num), 1j * w))
    top = minimize_scalar(lambda w: -S(w), bounds=(23.0, 25.0), method="bounded", options={"xatol": 1e-10})
    assert found.sensitivity == pytest.approx(-top.fun, rel=1e-9)
    spread = lambda w: abs(2 * np.polyval(den, 1j * w) / np.polyval(np.polyadd(den, num), 1j * w) - 1)
    top = minimize_scalar(
        lambda w: -spread(w), bounds=(23.0, 25.0), method="bounded", options={"xatol": 1e-10}
    )
    assert found.disk == pytest.approx(-2 / top.fun, rel=1e-9)


@pytest.mark.parametrize(("num", "den", "w"), [([4.0], [1.0, 0.0, 0.0], 2.0), ([1.0], [1.0, 0.0, 8.0], 3.0)])
def test_a_loop_on_the_edge_of_stability_has_no_margin(num, den, w):
    """Its closed loop is s^2 + w^2: L is -1 at w, where S is infinite."""
    found = margins(continuous(1.0, num, den), at="c.y")
    assert not found.stable
    assert found.crossover == pytest.approx(w, rel=1e-9)
    assert found.phase == pytest.approx(0.0, abs=1e-9)
    assert found.sensitivity == np.inf
    assert found.disk == 0.0


def test_large_factors_on_a_loop_of_many_ticks_have_poles():
    """Twelve ticks of x+ = (u - x) / 2, where u is x and what is added: a factor g makes (g - 1) / 2 of x."""
    n = 12
    D, C = np.eye(n), np.zeros((n, 1))
    C[0] = 1.0
    for j in range(n - 1):
        D[j + 1, j] = 0.5  # with u = x the state is 0 from the next tick on
    B = np.zeros((1, n))
    B[0, -1] = 0.5
    loop = PeriodicLoop(np.zeros((1, 1)), B, C, D, 0.1 * np.arange(n), 0.1 * n)
    for g in (0.5, 1.5, 40.0, 1e4):
        assert loop.radius(g) == pytest.approx(abs((g - 1.0) / 2.0) ** n, rel=1e-9)
    assert loop.radius(1e40) == np.inf
    assert loop.gains()[1] == pytest.approx(3.0, rel=1e-9)


def sampled(k=1.0, extra=0):
    """A double integrator under sampled feedback of its state, with periods of delay on the way."""
    d = Diagram("sampled")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    c, g = d.add("c", StateFeedback([[4.0, 3.0]], sample="0.1")), d.add("g", Gain(k))
    last = c["u"]
    for i in range(extra):
        delay = d.add(f"delay{i}", UnitDelay(sample="0.1"))
        d.connect(last, delay["u"])
        last = delay["y"]
    d.connect(last, g["u"])
    d.connect(g["y"], p["u"])
    d.connect(p["y"], c["x"])
    return d


def test_a_sampled_loop_is_that_of_its_exact_discrete_model():
    open_loop = control.ss([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    plant, K = control.c2d(open_loop, 0.1), np.array([[4.0, 3.0]])
    _, pm, _, _, wcp, _ = control.stability_margins(control.ss(plant.A, plant.B, K @ plant.C, 0, 0.1))
    found = margins(sampled(), at="c.u")
    assert found.stable
    poles = np.linalg.eigvals(plant.A - found.gain[1] * plant.B @ K)
    assert np.abs(poles).max() == pytest.approx(1.0, abs=1e-9)
    assert found.phase == pytest.approx(pm, rel=1e-6)
    assert found.crossover == pytest.approx(wcp, rel=1e-6)


@pytest.mark.parametrize("extra", [0, 1, 2])
def test_the_loop_becomes_unstable_at_its_gain_margin(extra):
    low, high = margins(sampled(1.0, extra), at="c.u").gain
    for factor, side in ((high, 1), (low, -1)):
        if not 0 < factor < np.inf:
            continue
        radius = lambda k: np.abs(linearize(sampled(k, extra), inputs=["g.y"], outputs=["g.y"]).poles()).max()
        assert radius(factor * (1 - 1e-4 * side)) < 1 < radius(factor * (1 + 1e-4 * side))


def test_margins_are_the_same_wherever_the_loop_has_one_signal():
    one, other = margins(sampled(), at="c.u"), margins(sampled(), at="g.y")
    assert one.phase == pytest.approx(other.phase, rel=1e-9)
    assert one.gain == pytest.approx(other.gain)


def test_one_component_is_opened_and_the_others_stay_closed():
    open_loop = control.ss([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    plant = control.c2d(open_loop, 0.1)
    inner = plant.A - plant.B @ np.array([[4.0, 0.0]])  # the place is fed back as before
    _, pm, _, _, wcp, _ = control.stability_margins(control.ss(inner, plant.B, [[0.0, 3.0]], 0, 0.1))
    found = margins(sampled(), at="p.y[1]")
    assert found.stable
    assert found.phase == pytest.approx(pm, rel=1e-6)
    assert found.crossover == pytest.approx(wcp, rel=1e-6)


@pytest.mark.slow
def test_unstable_loops_are_told_and_pictures_drawn(tmp_path):
    found = margins(continuous(10.0), at="c.y")
    assert not found.stable
    assert "UNSTABLE" in repr(found)
    assert found.gain[0] == pytest.approx(0.2, rel=1e-6)
    found.plot(tmp_path / "loop.png")
    assert (tmp_path / "loop.png").stat().st_size > 10_000


def test_what_has_no_loop_says_so():
    d = Diagram("open")
    d.add("g", Gain(2.0)) >> d.add("i", Integrator(0.0))
    d.ground("g.u")
    with pytest.raises(PlantloopError, match=r"no loop goes through 'g\.y'"):
        margins(d, at="g.y")
    switched = continuous()
    switched.replace("c", Relay())
    with pytest.raises(PlantloopError, match=r"drawn through 'p\.y' passes no small changes.*A switch"):
        margins(switched, at="p.y")
    with pytest.raises(PlantloopError, match=r"'p\.y' has 2 components.*'p\.y\[0\]'"):
        margins(sampled(), at="p.y")
    with pytest.raises(PlantloopError, match=r"c\.v"):
        margins(sampled(), at="c.v")
    with pytest.raises(PlantloopError, match=r"'i\.u' is an input, and .* Write at='g\.y', which drives it"):
        margins(d, at="i.u")
    with pytest.raises(PlantloopError, match=r"no signal 'g\.u'"):  # nothing drives it
        margins(d, at="g.u")


# --- several rates ------------------------------------------------------------------------------------------
def two_rates(k=1.0, late=None):
    """A double integrator: rate fed back at 20 ms, place at 50 ms; k and late act on the fast one."""
    d = Diagram("two")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    d.add("fast", StateFeedback([[0.0, 8.0]], sample="1/50"))
    d.add("slow", StateFeedback([[16.0, 0.0]], sample="1/20"))
    d.add("both", Sum("++"))
    d.connect("p.y -> fast.x, slow.x", "slow.u -> both.in2")
    last = d["fast"] >> d.add("g", Gain(k))
    if late is not None:
        last = last >> d.add("late", TransportDelay(late))
    d.connect(last.the("output"), d["both"]["in1"])
    d["both"] >> p
    return d


def grows(d):
    """Does the simulated motion grow?"""
    start = {"p.x": [1.0, 0.0]}
    how = {"engine": "native", "solver": "rk4", "step": 0.005, "initial": start}
    r = simulate(d, 40.0, **how, log_every=0.1, signals=["p.y"])
    size = np.abs(r["p.y"]).max(axis=1)
    return size[-100:].max() > size[-200:-100].max()


@pytest.mark.slow
def test_margins_of_several_rates_are_where_the_simulated_loop_becomes_unstable():
    found = margins(two_rates(), at="fast.u")
    assert found.stable and 0 < found.gain[0] < 1 < found.gain[1] < np.inf
    for k, stable in ((found.gain[1], (0.99, 1.01)), (found.gain[0], (1.02, 0.98))):
        assert [grows(two_rates(k * f)) for f in stable] == [False, True]
    assert [grows(two_rates(late=found.delay * f)) for f in (0.985, 1.015)] == [False, True]


def test_a_factor_on_a_loop_of_several_rates_is_taken_off_its_margins():
    whole = margins_of(two_rates(), "fast.u", None, None, None, rough=True)
    near, beyond = (
        margins_of(two_rates(f * whole.gain[1]), "fast.u", None, None, None, rough=True) for f in (0.9, 1.1)
    )
    assert near.stable and near.gain[1] == pytest.approx(1 / 0.9, rel=1e-6)
    assert not beyond.stable and beyond.gain[0] == pytest.approx(1 / 1.1, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0, "1/25"])
def test_one_rate_written_as_two_has_the_margins_of_one(offset):
    """An idle sample at another rate changes nothing, whichever way the margins are found."""
    one, other = sampled(), sampled()
    other.add("idle", UnitDelay(sample="3/20", offset=offset))
    other.connect(other["g"]["y"], other["idle"]["u"])
    a, b = margins(one, at="c.u"), margins(other, at="c.u")
    assert b.gain == pytest.approx(a.gain, rel=1e-6)
    assert (b.phase, b.crossover) == pytest.approx((a.phase, a.crossover), rel=1e-6)
    assert (b.phase_crossover, b.delay) == pytest.approx((a.phase_crossover, a.delay), rel=1e-6)
    assert (b.disk, b.sensitivity) == pytest.approx((a.disk, a.sensitivity), rel=1e-8)
    inside = b.frequency < np.pi / 0.1
    expected = np.interp(b.frequency[inside], a.frequency, np.abs(a.loop))
    np.testing.assert_allclose(np.abs(b.loop[inside]), expected, rtol=1e-2)


def test_the_delay_margin_of_a_held_signal_is_exact():
    found = margins(sampled(), at="c.u")

    def radius(late):
        d = sampled()
        d.disconnect("p.u")
        d["g"] >> d.add("late", TransportDelay(late)) >> d["p"]
        return np.abs(linearize(d, inputs=["g.y"], outputs=["g.y"]).poles()).max()

    assert radius(found.delay * (1 - 1e-5)) < 1 < radius(found.delay * (1 + 1e-5))
    assert found.delay == pytest.approx(np.radians(found.phase) / found.crossover, rel=0.05)


def test_what_rounds_in_a_loop_is_named_with_what_could_stand_in_its_place():
    """With the hold that the warning names the margins are those of the loop without an encoder."""
    plain, rounded = margins(sampled(), at="c.u"), sampled()
    rounded.disconnect("c.x")
    inner = Diagram("sensor")
    inner.connect(inner.inport("u"), inner.add("it", Encoder(1000, sample="0.1"))["u"])
    inner.outport("y", inner["it"]["y"])
    rounded["p"]["y"][0] >> rounded.add("sensor", inner)
    rounded.add("all", Mux(2))
    rounded.connect("sensor.y -> all.in1", "p.y[1] -> all.in2", "all.out -> c.x")
    rounded.add("aside", Quantizer(0.1))
    rounded.connect("p.y[0] -> aside.u")
    named = (
        r"by 'sensor/it' \(Encoder\), through.* copy of the diagram 'sensor/it' by Hold\(sample='0.1'\)\.$"
    )
    with pytest.warns(RoundedLoopWarning, match=named):
        blind = margins(rounded, at="c.u")
    assert len(blind.outside) == 1  # the position comes back nowhere
    inner.replace("it", Hold(sample="0.1"))
    rounded.replace("sensor", inner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = margins(rounded, at="c.u")  # the quantizer is in no loop
    assert (found.phase, found.delay) == pytest.approx((plain.phase, plain.delay), rel=1e-9)


def test_margins_with_a_hold_where_there_is_none_are_told():
    """An integrator, a lag and a sampled gain: between the two a held perturbation is another loop."""
    d = Diagram("lag")
    d.add("x", Integrator())
    d.add("lag", TransferFunction([1.0], [0.2, 1.0]))
    d.add("c", StateFeedback([[2.0]], sample="0.1"))
    d.connect("x.y -> lag.u", "lag.y -> c.x", "c.u -> x.u")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        phase = [margins(d, at).phase for at in ("c.u", "lag.y")]
    assert phase[0] == pytest.approx(phase[1], abs=1e-6)  # what only the controller reads
    with pytest.warns(HeldLoopWarning, match="margins at 'x.y' are those of its loop with a hold there"):
        held = margins(d, "x.y")
    assert held.phase < phase[0] - 1.0  # degrees
