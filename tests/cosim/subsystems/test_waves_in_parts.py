"""Signals that are functions of time, in parts that pause or are called: they show what time says."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from blocks import Block, PlantloopError, Pulse, RepeatingSequence, Sawtooth, SquareWave, TimeTable, Triangle
from cosim import Diagram, Enabled, If, Triggered, simulate

WAVES = {
    "pulse": (
        Pulse(2.0, period=1, width=Fraction(2, 5), delay=Fraction(1, 10)),
        [0, 0.4, 0.4, 1],
        [2, 2, 0, 0],
    ),
    "square": (SquareWave(duty=0.25, delay=0.1), [0, 0.25, 0.25, 1], [1, 1, -1, -1]),
    "saw": (Sawtooth(bias=1.0, delay=0.1), [0, 1], [0, 2]),
    "triangle": (Triangle(rise=0.3, delay=0.1), [0, 0.3, 1], [-1, 1, -1]),
    "sequence": (RepeatingSequence([0, 0.3, 0.5, 1], [0, 3, 1, 4]), [0, 0.3, 0.5, 1], [0, 3, 1, 4]),
}
CHANGES = [0.0, 0.2, 0.63, 1.3, 1.72, 2.45, 3.15]  # on at first, between ticks of all waves
INSTANTS = np.arange(1, 45) * 0.08 - 0.01  # s


def course(name, t):
    """The wave by straight lines within its period, at times behind its delay."""
    block, times, values = WAVES[name]
    s = (t - float(getattr(block, "delay", 0.0))) % 1.0
    k = min(np.searchsorted(times, s, side="right"), len(times) - 1)
    a, b = times[k - 1], times[k]
    return values[k - 1] + (values[k] - values[k - 1]) * (s - a) / (b - a)


def with_switch(part, port):
    d = Diagram("d")
    d.add("on", TimeTable(CHANGES, [1.0, -1.0] * 3 + [1.0], interpolation="previous"))
    d["on"] >> d.add("part", part)[port]
    return d


def on(t):
    return np.searchsorted(CHANGES, t, side="right") % 2 == 1


@pytest.mark.parametrize("name", WAVES)
def test_a_wave_in_a_part_that_pauses_goes_on_with_time(name):
    d = with_switch(Enabled(WAVES[name][0], outputs="reset", initial=9.0), "enable")
    found = simulate(d, INSTANTS[-1], log_at=INSTANTS, engine="reference")["part.y"][:, 0]
    for t, y in zip(INSTANTS, found, strict=True):
        if t > 0.1:
            assert y == pytest.approx(course(name, t) if on(t) else 9.0, abs=1e-9), t


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_wave_that_is_called_shows_its_value_at_the_call(engine):
    inner = Diagram("waves")
    for name, (block, *_) in WAVES.items():
        inner.outport(name, inner.add(name, block)["y"])
    d = with_switch(Triggered(inner, edge="either"), "trigger")
    found = simulate(d, INSTANTS[-1], log_at=INSTANTS, engine=engine)
    calls = CHANGES[1:]
    for name in WAVES:
        for t, y in zip(INSTANTS, found[f"part.{name}"][:, 0], strict=True):
            if t > calls[0]:
                assert y == pytest.approx(course(name, max(c for c in calls if c <= t)), abs=1e-9)


def test_the_branches_of_a_choice_show_waves_in_turn():
    d = with_switch(If(WAVES["square"][0], WAVES["triangle"][0]), "condition")
    found = simulate(d, INSTANTS[-1], log_at=INSTANTS, engine="native")["part.y"][:, 0]
    for t, y in zip(INSTANTS, found, strict=True):
        if t > 0.1:
            assert y == pytest.approx(course("square" if on(t) else "triangle", t), abs=1e-9)


@dataclass(frozen=True)
class Staircase(Block):
    """The number of ticks of a clock; sampled at them too, if it is to be."""

    sampled: bool = False

    def define(self, b):
        b.output("y", b.clock("1/4", "1/8")[1])
        if self.sampled:
            x = b.discrete("x", 0.0, sample="1/4", offset="1/8")
            b.update(x, x + 1)


def test_a_clock_of_a_block_of_ones_own():
    d = with_switch(Enabled(Staircase(), outputs="reset", initial=-1.0), "enable")
    found = simulate(d, INSTANTS[-1], log_at=INSTANTS, engine="reference")["part.y"][:, 0]
    np.testing.assert_array_equal(
        found, np.where(on(INSTANTS), np.floor((INSTANTS - 0.125) / 0.25) + 1, -1.0)
    )


def test_samples_at_the_ticks_of_a_clock_are_refused():
    with pytest.raises(PlantloopError, match=r"'x' is sampled at the ticks of a clock.*tick_count"):
        simulate(with_switch(Enabled(Staircase(sampled=True)), "enable"), 1.0)
