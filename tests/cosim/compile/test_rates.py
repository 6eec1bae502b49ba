"""Which rate a port has and what it does between samples."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from blocks import (
    Block,
    Clock,
    Constant,
    CounterFreeRunning,
    CounterLimited,
    Demux,
    DynamicSaturation,
    Function,
    Gain,
    Hold,
    MinMax,
    Mux,
    Pulse,
    RateTransition,
    RepeatingSequenceStair,
    Sine,
    StateFeedback,
    Step,
    Sum,
    UnitDelay,
    WiringError,
)
from blocks.contract.declared import PortHold
from tests.helpers.runs import Simulation, build, simulate


@dataclass(frozen=True)
class Plant(Block):
    """An integrator whose input port holds, as a plant's port does."""

    hold: PortHold

    def define(self, b):
        u = b.input("u", hold=self.hold)
        x = b.continuous("x", 0.0, size=u.size)
        b.derivative(x, u)
        b.output("y", x)


def port(order=0, period=0, offset=0, origin="file"):
    return Plant(PortHold(Fraction(period), Fraction(offset), order, origin))


def told(d, name="p.u"):
    return d.system().port_rates[name]


def lead(last, blocks, connections, order=0):
    """Diagram in which the port is driven by the output `last`."""
    return build(f"{connections} {last}>p.u", **blocks, p=port(order))


# --- inheriting a rate
def test_a_port_takes_the_rate_of_a_sampled_driver():
    d = lead("k.u", {"c": Clock(), "k": StateFeedback(1.0, sample=0.01)}, "c.y>k.x", order=1)
    assert told(d) == "100 Hz, first-order extrapolation (file)"


@pytest.mark.parametrize(
    ("blocks", "connections", "last"),
    [
        ({"g": Gain(2.0)}, "s.y>g.u", "g.y"),
        ({"g": Gain([[2.0], [3.0]]), "x": Demux(2)}, "s.y>g.u g.y>x.in", "x.out2"),
        ({"c": Constant(1.0), "a": Sum("++")}, "s.y>a.in1 c.y>a.in2", "a.y"),
        ({"r": Sine(sample=0.02), "a": Sum("++")}, "s.y>a.in1 r.y>a.in2", "a.y"),
        ({"m": Mux(2), "x": Demux(2)}, "s.y>m.in1 s.y>m.in2 m.out>x.in", "x.out1"),
        ({"f": Function(np.sin), "g": Gain(0.5)}, "s.y>f.u f.y>g.u", "g.y"),
        ({"e": UnitDelay(0.02)}, "s.y>e.u", "e.y"),
        ({"x": MinMax("max", 4)}, "s.y>x.in1 s.y>x.in2 s.y>x.in3 s.y>x.in4", "x.y"),
        ({"x": DynamicSaturation()}, "s.y>x.high s.y>x.u s.y>x.low", "x.y"),
    ],
)
def test_a_rate_goes_through_blocks_without_memory_and_constants(blocks, connections, last):
    d = lead(last, {"s": Sine(sample=0.02), **blocks}, connections)
    assert told(d) == "50 Hz, zero-order hold (file)"


@pytest.mark.parametrize(
    ("blocks", "connections", "last"),
    [
        ({"c": Clock()}, "", "c.y"),
        ({"c": Clock(), "a": Sum("++")}, "s.y>a.in1 c.y>a.in2", "a.y"),
        ({"f": Function(lambda u: u), "c": Clock(), "a": Sum("++")}, "c.y>f.u f.y>a.in1 s.y>a.in2", "a.y"),
        ({"step": Step(1.0)}, "", "step.y"),
        ({"pulse": Pulse(period=0.1)}, "", "pulse.y"),
        ({"h": Hold(1, sample=0.02)}, "s.y>h.u", "h.y"),
        ({"c": Constant(3.0)}, "", "c.y"),
    ],
)
def test_anything_continuous_or_constant_couples_straight_through(blocks, connections, last):
    d = lead(last, {"s": Sine(sample=0.02), **blocks}, connections, order=1)
    assert told(d) == "continuous (file)"


@pytest.mark.parametrize(
    "source",
    [
        CounterLimited(9, sample=0.1),
        CounterFreeRunning(4, sample=0.1),
        RepeatingSequenceStair(np.arange(10.0), sample=0.1),
    ],
)
def test_a_source_that_counts_ticks_has_their_rate(source):
    """A line through the two newest of 0, 1, 2, ... ahead of the stair, of which the first step is flat."""
    d = lead("s.y", {"s": source}, "", order=1)
    assert told(d) == "10 Hz, first-order extrapolation (file)"
    x = simulate(d, 0.5, log_at=[0.1, 0.2, 0.5])["p.y"][:, 0]
    assert x == pytest.approx([0.0, 0.1 * 1.5, 0.1 * (1.5 + 2.5 + 3.5 + 4.5)], abs=1e-12)


def test_two_rates_in_one_signal_are_an_error_with_the_cures():
    d = lead("a.y", {"s": Sine(sample=0.1), "f": Sine(sample=0.02, offset=0.01), "a": Sum("++")},
             "s.y>a.in1 f.y>a.in2")  # fmt: skip
    with pytest.raises(WiringError) as caught:
        d.system()
    assert caught.value.problems == [
        "port 'p.u' takes its rate from 'a.y', which mixes 10 Hz and 50 Hz, offset 0.01 s. "
        "Put a Hold (rate transition) before it or give the port a sampling_period."
    ]


def test_every_port_with_two_rates_is_reported():
    blocks = {"s": Sine(sample=0.1), "f": Sine(sample=0.02), "a": Sum("++"), "p": port(), "q": port(1)}
    d = build("s.y>a.in1 f.y>a.in2 a.y>p.u a.y>q.u", **blocks)
    with pytest.raises(WiringError) as caught:
        d.system()
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("cure", ["transition", "period"])
def test_the_cures_for_two_rates_work(cure):
    blocks = {"s": Sine(sample=0.1), "f": Sine(sample=0.02), "a": Sum("++")}
    connections = "s.y>a.in1 f.y>a.in2"
    if cure == "transition":
        d = lead("h.y", blocks | {"h": RateTransition(0.02)}, connections + " a.y>h.u")
        assert told(d) == "50 Hz, zero-order hold (file)"
    else:
        d = build(connections + " a.y>p.u", **blocks, p=port(0, "1/100"))
        assert told(d) == "100 Hz, zero-order hold (file)"


def test_a_mux_of_two_rates_is_judged_component_by_component():
    blocks = {"s": Sine(sample=0.1), "f": Sine(sample=0.02), "c": Clock(), "m": Mux(3)}
    d = lead("m.out", blocks, "s.y>m.in1 c.y>m.in2 f.y>m.in3", order=1)
    order = "first-order extrapolation"
    assert told(d) == f"10 Hz, {order} and continuous and 50 Hz, {order} (file)"
    r = simulate(d, 0.25, log_at=[0.25])
    fast = np.sin(0.24) + (np.sin(0.24) - np.sin(0.22)) * 0.5
    slow = np.sin(0.2) + (np.sin(0.2) - np.sin(0.1)) * 0.5
    np.testing.assert_allclose(r["p.u"][0], [slow, 0.25, fast], rtol=1e-13)


def test_a_rate_round_a_loop_of_continuous_signals_stays_continuous():
    # the plant's own output is continuous, whatever samples it
    blocks = {"k": StateFeedback(1.0, sample=0.1), "a": Sum("++"), "p": port(), "q": port()}
    d = build("p.y>k.x k.u>p.u p.y>a.in1 k.u>a.in2 a.y>q.u", **blocks)
    assert told(d) == "10 Hz, zero-order hold (file)"
    assert told(d, "q.u") == "continuous (file)"


def test_a_grounded_port_says_so():
    d = build("", p=port())
    d.ground("p.u")
    assert told(d) == "grounded"


def test_a_port_without_hold_attributes_is_not_listed():
    d = build("c.y>g.u", c=Clock(), g=Gain(1.0))
    assert d.system().port_rates == {}


# --- holds at an explicit period
def polynomial(order, samples, s):
    """Through the newest samples, by NumPy's own fit; s = 0 at the newest, -1 at the one before."""
    known = samples[-(order + 1) :]
    degree = len(known) - 1
    at = np.arange(-degree, 1)
    return np.polyval(np.polyfit(at, known, degree), s) if degree else known[-1]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("offset", [0, Fraction(1, 50)])
def test_a_port_extrapolates_with_a_polynomial_through_its_newest_samples(order, offset):
    period = Fraction(1, 20)
    d = build(
        "f.y>p.u c.y>f.u", c=Clock(), f=Function(lambda u: np.exp(u) - 1.0), p=port(order, period, offset)
    )
    at = np.arange(0, 40) / 200
    r = simulate(d, float(at[-1]), log_at=at)
    expected = []
    for t in at:
        taken = [float(offset + k * period) for k in range(10) if float(offset + k * period) <= t]
        samples = np.exp(taken) - 1.0
        expected.append(polynomial(order, samples, (t - taken[-1]) / float(period)) if taken else 0.0)
    np.testing.assert_allclose(r["p.u"][:, 0], expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_at_a_tick_a_port_shows_exactly_the_sample(order):
    d = build("s.y>p.u", s=Sine(), p=port(order, "1/10"))
    at = np.arange(11) / 10
    r = simulate(d, 1.0, log_at=at)
    np.testing.assert_array_equal(r["p.u"][:, 0], np.sin(at))


def test_a_polynomial_of_the_holds_degree_is_extrapolated_exactly():
    for order, curve in ((1, lambda u: 2.0 + 3.0 * u), (2, lambda u: 1.0 + u - 4.0 * u**2)):
        d = build("c.y>f.u f.y>p.u", c=Clock(), f=Function(curve), p=port(order, "1/10"))
        at = np.linspace(order / 10, 1.0, 37)
        r = simulate(d, 1.0, log_at=at)
        np.testing.assert_allclose(r["p.u"], r["f.y"], rtol=1e-12)


def test_a_port_at_its_own_period_resamples_a_driver_of_another_rate():
    d = build("s.y>p.u", s=Sine(sample=0.02), p=port(0, "1/20"))
    assert told(d) == "20 Hz, zero-order hold (file)"
    r = simulate(d, 0.16, log_at=[0.0, 0.04, 0.05, 0.09, 0.1, 0.15])
    expected = np.sin([0.0, 0.0, 0.04, 0.04, 0.1, 0.14])  # what the driver shows at each of the port's ticks
    np.testing.assert_allclose(r["p.u"][:, 0], expected, rtol=1e-14)


def test_what_is_logged_under_the_ports_name_is_what_the_plant_sees():
    d = build("s.y>p.u", s=Sine(sample=0.1), p=port(1))
    r = simulate(d, 1.0, solver="rk4", step=0.01, log_at=[0.35])
    seen = np.sin(0.3) + 0.5 * (np.sin(0.3) - np.sin(0.2))
    assert r["p.u"].item() == pytest.approx(seen, rel=1e-13)
    assert r["s.y"].item() == pytest.approx(np.sin(0.3), rel=1e-15)


def test_the_settings_of_a_run_list_every_port_with_rate_order_and_origin():
    d = build("s.y>p.u", s=Sine(sample=0.01), p=port(1, origin="file default"))
    r = simulate(d, 0.1)
    assert r.settings["port p.u"].value == "100 Hz, first-order extrapolation (file default)"


def test_a_sampled_signal_of_one_rate_has_ticks_in_the_result_and_a_mixed_one_has_none():
    blocks = {"s": Sine(sample=0.1), "f": Sine(sample=0.02), "a": Sum("++"), "g": Gain(2.0)}
    r = simulate(build("s.y>a.in1 f.y>a.in2 s.y>g.u", **blocks), 0.5)
    np.testing.assert_array_equal(r.ticks("g.y").time, np.arange(6) / 10)
    np.testing.assert_array_equal(r.ticks("g.y").values, 2.0 * np.sin(np.arange(6)[:, None] / 10))
    assert "a.y" not in r.ticks_of


def test_ticks_of_a_mux_only_where_all_components_have_one_rate():
    blocks = {"s": Sine(sample=0.1), "f": Sine(sample=0.02), "m": Mux(2), "n": Mux(2)}
    d = build("s.y>m.in1 f.y>m.in2 s.y>n.in1 s.y>n.in2", **blocks)
    r = simulate(d, 0.1)
    assert "m.out" not in r.ticks_of and r.ticks("n.out").values.shape == (2, 2)


def test_a_hold_that_an_outer_diagram_adds_does_not_show_as_a_block():
    d = build("s.y>p.u", s=Sine(sample=0.1), p=port(2))
    sim = Simulation(d)
    assert set(sim.system.signals) == {"s.y", "p.u", "p.y"}
