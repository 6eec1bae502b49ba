"""The delays of a loop: each cost against its closed form, each margin left against the loop built so."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from blocks import (
    Block,
    DiscreteTransferFunction,
    Gain,
    Hold,
    Integrator,
    Mux,
    StateFeedback,
    StateSpace,
    TransferFunction,
    TransportDelay,
    UnitDelay,
)
from blocks.contract.declared import PortHold
from blocks.errors import PlantloopError
from cosim import Diagram, delay_audit, margins
from cosim.analysis.delay_audit import _Audit, held_phase


def low_pass(w):
    return TransferFunction([1.0], [1.0 / w, 1.0])


PARTS = {
    "lag": lambda: low_pass(40.0),
    "computing": lambda: UnitDelay(sample="1/50"),
    "wire": lambda: TransportDelay(0.007),
}


def loop(without=(), nested=False):
    """A double integrator under sampled feedback, with a filter, a period of computing and a wire."""
    d = Diagram("loop")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    c = d.add("c", StateFeedback([[4.0, 3.0]], sample="1/50"))
    p >> c
    last = c
    for name in ("computing", "wire", "lag"):
        if name in without:
            continue
        part = PARTS[name]()
        if nested:
            inner = Diagram(name)
            inner.connect(inner.inport("u"), inner.add("it", part)["u"])
            inner.outport("y", inner["it"]["y"])
            part = inner
        last = last >> d.add(name, part)
    last >> p
    return d


@cache
def plain_audit():
    return delay_audit(loop(), at="c.u")


@cache
def phase_without(name):
    """Phase margin of the loop that is built without one of its parts [deg]."""
    return margins(loop(without=[name]), at="c.u", pade=6).phase


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
def test_every_delay_has_its_cost_and_what_would_be_left(nested):
    found = delay_audit(loop(nested=True), at="c.u") if nested else plain_audit()
    w, by = found.margins.crossover, {d.path.removesuffix("/it"): d for d in found.delays}
    assert len(found.delays) == 4
    assert by["computing"].kind == "sampled delay" and by["wire"].kind == "transport"
    assert by["computing"].seconds == pytest.approx(0.02, rel=1e-9)
    assert by["wire"].seconds == pytest.approx(0.007, rel=1e-12)
    assert by["lag"].phase == pytest.approx(np.degrees(np.arctan(w / 40.0)), rel=1e-9)
    hold = next(d for d in found.delays if d.kind == "sampling and hold")
    assert hold.phase == pytest.approx(np.degrees(w * 0.01), rel=1e-9)
    for name in PARTS:
        left = phase_without(name)
        assert by[name].without == pytest.approx(left, rel=1e-9)
        assert left > found.margins.phase


@pytest.mark.slow
def test_the_costs_together_are_what_an_ideal_loop_has_more():
    """To first order: the phase of the ideal continuous loop at the crossover of the real one."""
    found = plain_audit()
    w = found.margins.crossover
    ideal = np.degrees(np.angle(-(4.0 + 3.0j * w) / (1j * w) ** 2 * -1)) + 180.0
    assert found.margins.phase + found.total == pytest.approx(ideal % 360.0, abs=0.3)


@pytest.mark.slow
def test_it_prints_as_a_table():
    lines = str(plain_audit()).splitlines()
    assert lines[0].startswith("loop at 'c.u': phase margin") and "margin without" in lines[1]
    assert len(lines) == 7 and lines[-1].startswith("together")
    assert any("transport" in line and " 7 " in line for line in lines)


def test_a_continuous_loop_has_no_sampling():
    d = Diagram("d")
    k, p = d.add("k", Gain(-2.0)), d.add("p", TransferFunction([1.0], [1.0, 1.0, 0.0]))
    k >> p >> d.add("f", low_pass(20.0)) >> k
    found = delay_audit(d, at="k.y")
    assert [(row.path, row.kind) for row in found.delays] == [("f", "filter")]


def test_a_loop_without_crossover_says_so():
    d = Diagram("d")
    k = d.add("k", Gain(-0.1))
    k >> d.add("f", low_pass(20.0)) >> k
    with pytest.raises(PlantloopError, match=r"loop at 'k\.y' has no crossover"):
        delay_audit(d, at="k.y")


@dataclass(frozen=True)
class Cart(Block):
    """v' = u, behind a port that samples by itself."""

    hold: PortHold

    def define(self, b):
        u = b.input("u", size=1, hold=self.hold)
        v = b.continuous("v", 0.0)
        b.derivative(v, u)
        b.output("y", v)


def held_loop(order, how):
    """v' = -3 v, held 5 times a second: by a block, or by the port of the cart."""
    d = Diagram("held")
    hold = PortHold(Fraction(1, 5), Fraction(0), order)
    x = d.add("x", Cart(hold) if how == "port" else Integrator())
    k = d.add("k", Gain(-3.0))
    x >> k
    if how == "block":
        k = k >> d.add("hold", Hold(order, sample=0.2))
    k >> x
    return d


@pytest.mark.parametrize("how", ["block", "port"])
def test_a_hold_of_order_1_costs_what_its_line_lags(how):
    """Franklin, Powell & Workman: a line through two samples turns by arctan(w T) - w T."""
    (zero,) = delay_audit(held_loop(0, how), at="k.y").delays
    (line,) = delay_audit(held_loop(1, how), at="k.y").delays
    w = delay_audit(held_loop(1, how), at="k.y").margins.crossover
    assert zero.kind == "sampling and hold" and zero.seconds == pytest.approx(0.1, rel=1e-9)
    assert line.kind == "hold of order 1"
    assert line.phase == pytest.approx(np.degrees(w * 0.2 - np.arctan(w * 0.2)), rel=1e-9)
    assert line.without - line.phase == pytest.approx(margins(held_loop(1, how), at="k.y").phase)


def test_lags_of_holds_by_their_closed_forms():
    """Order 0 read all the time and at ticks; order 2 by the integral of its parabola, worked out by hand."""
    x = 0.7  # w T
    assert held_phase(7.0, 0.1) == pytest.approx(np.degrees(x / 2), rel=1e-12)
    assert held_phase(7.0, 0.1, 0, np.arange(5) * 0.02) == pytest.approx(np.degrees(7.0 * 0.04), rel=1e-12)
    e, step = np.exp(-1j * x), 1 - np.exp(-1j * x)
    moments = [step / (1j * x)]  # of s^n e^{-jxs} over 0 to 1, by parts
    for n in (1, 2):
        moments.append((n * moments[-1] - e) / (1j * x))
    parabola = moments[0] + step * moments[1] + step**2 * (moments[1] + moments[2]) / 2
    assert held_phase(7.0, 0.1, 2) == pytest.approx(-np.degrees(np.angle(parabola)), rel=1e-10)


def through(*sensors, offset=0):
    """A double integrator whose position is measured at ticks and whose speed is not, in one vector."""
    d = Diagram("through")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    d.add("all", Mux(2))
    d.add("c", StateFeedback([[4.0, 3.0]], sample="1/50", offset=offset))
    last = p["y"][0]
    for k, sensor in enumerate(sensors):
        last = last >> d.add(f"s{k}", sensor)
    d.connect(last, d["all"]["in1"])
    d.connect(p["y"][1], d["all"]["in2"])
    d.connect("all.out -> c.x", "c.u -> p.u")
    return d


def test_what_is_held_and_read_at_the_same_ticks_costs_nothing():
    """Poles of the loop are those without the sensor's hold, so the margin is too."""
    (row,) = delay_audit(through(Hold(sample="1/50"), Gain(1.0)), at="c.u").delays
    (alone,) = delay_audit(through(), at="c.u").delays
    assert (row.path, row.kind, row.without) == ("c.u", "sampling and hold", pytest.approx(alone.without))
    faster = delay_audit(through(Hold(sample="1/100")), at="c.u")
    assert [d.path for d in faster.delays] == ["c.u"]


def test_what_is_read_some_time_after_it_was_sampled_costs_that_time():
    """A controller that ticks 8 ms after the sensor: 8 ms, no half period; a slow sensor: 0 to 3 periods."""
    late = delay_audit(through(Hold(sample="1/50"), offset="8/1000"), at="c.u")
    found = {d.path: d.seconds for d in late.delays}
    assert found == {"s0.y": pytest.approx(0.008, rel=1e-9), "c.u": pytest.approx(0.01, rel=1e-9)}
    slow = delay_audit(through(Hold(sample="4/50")), at="c.u")
    found = {d.path: d.seconds for d in slow.delays}
    assert found == {"s0.y": pytest.approx(0.03, rel=1e-9), "c.u": pytest.approx(0.01, rel=1e-9)}


def test_a_filter_on_the_edge_of_stability_is_no_lag():
    """Poles at -1 ring for ever; at -0.5 it is one."""
    for pole, is_lag in ((1.0, False), (0.5, True)):
        block = DiscreteTransferFunction([1.0], [1.0, pole], sample=0.1)
        assert (_Audit._response(None, block, 1.0) is not None) == is_lag
