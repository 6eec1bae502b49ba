"""Which rates a signal is made of where that is hard to follow: order of drawing, mixtures, branches."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from blocks import Block, Clock, Constant, Gain, Mux, Sine, Sum, WiringError
from blocks.contract.declared import PortHold
from blocks.contract.rate import Ticks
from tests.helpers.runs import build, simulate

FIFTY = "50 Hz, zero-order hold (file)"


@dataclass(frozen=True)
class Taker(Block):
    """Shows what its port, which holds, gives it; without a state."""

    order: int = 0
    period: str = "0"

    def define(self, b):
        hold = PortHold(Fraction(self.period), Fraction(0), self.order, "file")
        b.output("y", b.input("u", size=1, hold=hold))


@dataclass(frozen=True)
class Switched(Block):
    """A parameter before and another one after a switch, as a branch that an event flips."""

    by: str  # what the switch looks at

    def define(self, b):
        first, second = b.parameters(first=1.0, second=2.0)
        ticks = Ticks.of("1/10")
        looked_at = {
            "time": lambda: b.time - 0.25,
            "ticks": lambda: b.tick_count(ticks) - 2.5,
            "memory": lambda: b.sampled(b.time, ticks) - 0.25,
            "signal": lambda: b.input("u", size=1),
        }[self.by]()
        b.output("y", b.where_event(looked_at, second, first))


def rate(d, port="p.u"):
    return d.system().port_rates[port]


@pytest.mark.parametrize("order", ["front to back", "back to front"])
def test_a_rate_is_found_however_the_chain_was_drawn(order):
    chain = {
        "s": Sine(sample=0.02),
        "g": Gain(2.0),
        "h": Gain(3.0),
        "m": Mux(2),
        "k": Gain([[1.0, 1.0]]),
        "p": Taker(),
    }
    names = list(chain) if order == "front to back" else list(reversed(chain))
    d = build("s.y>g.u g.y>h.u h.y>m.in1 g.y>m.in2 m.out>k.u k.y>p.u", **{n: chain[n] for n in names})
    assert rate(d) == FIFTY
    r = simulate(d, 0.05, log_at=[0.05])
    assert r["p.y"].item() == pytest.approx(8.0 * np.sin(0.04), rel=1e-14)  # 6 + 2 of the sample at 0.04


@pytest.mark.parametrize("order", ["front to back", "back to front"])
def test_what_is_continuous_is_found_however_the_chain_was_drawn(order):
    chain = {
        "c": Clock(),
        "g": Gain(2.0),
        "s": Sine(sample=0.02),
        "a": Sum("++"),
        "h": Gain(1.0),
        "p": Taker(1),
    }
    names = list(chain) if order == "front to back" else list(reversed(chain))
    d = build("c.y>g.u g.y>a.in1 s.y>a.in2 a.y>h.u h.y>p.u", **{n: chain[n] for n in names})
    assert rate(d) == "continuous (file)"
    r = simulate(d, 0.05, log_at=[0.05])
    assert r["p.y"].item() == pytest.approx(0.1 + np.sin(0.04), rel=1e-14)


@pytest.mark.parametrize(
    ("order", "text"),
    [(0, "zero-order hold"), (1, "first-order extrapolation"), (2, "second-order extrapolation")],
)
def test_what_a_port_does_is_said_in_words(order, text):
    d = build("s.y>p.u", s=Sine(sample=0.02, offset=0.01), p=Taker(order))
    assert rate(d) == f"50 Hz, offset 0.01 s, {text} (file)"


def test_only_what_is_sampled_and_nothing_else_has_ticks_in_the_result():
    blocks = {"s": Sine(sample=0.1), "c": Clock(), "k": Constant(2.0), "mixed": Sum("++"), "held": Sum("++")}
    d = build("s.y>mixed.in1 c.y>mixed.in2 s.y>held.in1 k.y>held.in2", **blocks)
    r = simulate(d, 0.3)
    assert {"s.y", "held.y"} <= set(r.ticks_of) and not {"mixed.y", "c.y", "k.y"} & set(r.ticks_of)
    np.testing.assert_array_equal(r.ticks("held.y").values[:, 0], 2.0 + np.sin(np.arange(4) / 10))


def test_two_rates_and_something_continuous_are_continuous_and_no_error():
    blocks = {"s": Sine(sample=0.02), "f": Sine(sample=0.03), "c": Clock(), "a": Sum("+++"), "p": Taker(1)}
    d = build("s.y>a.in1 f.y>a.in2 c.y>a.in3 a.y>p.u", **blocks)
    assert rate(d) == "continuous (file)"
    assert simulate(d, 0.05, log_at=[0.05])["p.y"].item() == pytest.approx(
        np.sin(0.04) + np.sin(0.03) + 0.05, rel=1e-14
    )


@pytest.mark.parametrize(
    ("taker", "source", "expected"),
    [
        (Taker(1), Constant(3.0), FIFTY),  # nothing to extrapolate: a constant has no rate of its own
        (Taker(0), Constant(3.0), FIFTY),
        (Taker(1), Sine(sample=0.02), "continuous (file)"),  # what is extrapolated moves between samples
        (Taker(0), Sine(sample=0.02), FIFTY),
        (Taker(0, "1/50"), Clock(), FIFTY),  # sampled by the port itself
        (Taker(1, "1/50"), Clock(), "continuous (file)"),
        (Taker(0, "1/50"), Constant(3.0), FIFTY),
    ],
)
def test_behind_a_port_that_holds(taker, source, expected):
    """The signal behind another port's hold, added to one of 50 Hz."""
    blocks = {"source": source, "t": taker, "s": Sine(sample=0.02), "a": Sum("++"), "p": Taker()}
    d = build("source.y>t.u t.y>a.in1 s.y>a.in2 a.y>p.u", **blocks)
    assert rate(d) == expected


def test_a_port_with_a_period_of_its_own_gives_that_rate_on():
    blocks = {"s": Sine(sample=0.02), "t": Taker(0, "1/10"), "a": Sum("++"), "p": Taker()}
    with pytest.raises(WiringError, match=r"mixes 10 Hz and 50 Hz|mixes 50 Hz and 10 Hz"):
        build("s.y>t.u t.y>a.in1 s.y>a.in2 a.y>p.u", **blocks).system()


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("time", "continuous (file)"),
        ("ticks", "10 Hz, zero-order hold (file)"),
        ("memory", "10 Hz, zero-order hold (file)"),
    ],
)
def test_a_branch_moves_with_what_decides_it(by, expected):
    """Alone, and added to a signal of 10 Hz, whose rate the sum has only if the branch has no other."""
    d = build("b.y>p.u", b=Switched(by), p=Taker())
    assert rate(d) == expected
    blocks = {"b": Switched(by), "s": Sine(sample=0.1), "a": Sum("++"), "p": Taker()}
    assert rate(build("b.y>a.in1 s.y>a.in2 a.y>p.u", **blocks)) == expected
    at = [0.2, 0.26, 0.31]
    found = simulate(d, 0.31, log_at=at)["p.y"][:, 0]
    # the switch at 0.25 s is seen at once, one on the tenths at the tick of 0.3 s or at the third tick
    switched = {"time": [1, 2, 2], "ticks": [2, 2, 2], "memory": [1, 1, 2]}[by]
    assert found.tolist() == switched


@pytest.mark.parametrize(
    ("source", "expected"),
    [(Clock(), "continuous (file)"), (Sine(sample=0.02), FIFTY), (Constant(1.0), "continuous (file)")],
)
def test_a_branch_has_the_rate_of_the_signal_that_decides_it(source, expected):
    d = build("s.y>b.u b.y>p.u", s=source, b=Switched("signal"), p=Taker())
    assert rate(d) == expected


def test_components_of_two_groups_come_back_in_their_places():
    """Three groups behind one port: each component is sampled at its own rate, in its own place."""
    blocks = {
        "s": Sine(sample=0.1), "f": Sine(2.0, sample=0.02), "c": Clock(), "m": Mux(5),
        "p": Wide(),
    }  # fmt: skip
    d = build("f.y>m.in1 s.y>m.in2 c.y>m.in3 s.y>m.in4 f.y>m.in5 m.out>p.u", **blocks)
    found = simulate(d, 0.17, log_at=[0.17])["p.y"][0]
    fast, slow = 2.0 * np.sin(0.16), np.sin(0.1)
    np.testing.assert_allclose(found, [fast, slow, 0.17, slow, fast], rtol=1e-14)


@dataclass(frozen=True)
class Wide(Block):
    """Shows what its port gives it, of any size."""

    def define(self, b):
        b.output("y", b.input("u", hold=PortHold(Fraction(0), Fraction(0), 0, "file")))
