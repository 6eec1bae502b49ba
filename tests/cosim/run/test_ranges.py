"""Values that are meant to stay within a range: said at the end of a run, which takes no notice."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from blocks import Constant, Integrator, UnitDelay
from blocks.contract.block import Block
from cosim import Diagram, Simulation, simulate, simulate_many
from cosim.engines.engine import Logged
from cosim.run.ranges import Ranges
from cosim.run.watched import WatchedSignalWarning
from cosim.system_parts import NamedRange, Signal


@dataclass(frozen=True)
class Meant(Block):
    """y = u, meant to stay between low and high."""

    low: float
    high: float

    def define(self, b):
        u = b.input("u", size=1)
        b.output("y", u)
        b.meant_within(u[0], self.low, self.high, "its input", "nothing happens")


def drawn(low: float, high: float) -> Diagram:
    """x = 3 t - 1, and its samples of every 0.25 s, one tick late."""
    d = Diagram("d")
    rise = d.add("rise", Integrator(initial=-1.0))
    late = d.add("late", UnitDelay(sample=0.25))
    d.connect(d.add("three", Constant(3.0))["y"], rise["u"])
    d.connect(rise["y"], late["u"])
    d.connect(rise["y"], d.add("smooth", Meant(low, high))["u"])
    d.connect(late["y"], d.add("sampled", Meant(low, high))["u"])
    return d


def said(low: float, high: float, **options: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WatchedSignalWarning)
        result = simulate(drawn(low, high), 1.0, **options)
    assert list(result.signals) == options.get(
        "signals", ["three.y", "rise.y", "late.y", "smooth.y", "sampled.y"]
    )
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("signals", [["three.y"], ["three.y", "rise.y", "late.y", "smooth.y", "sampled.y"]])
def test_how_far_and_when_first(engine, signals):
    """Continuous and sampled, with and without the signals in the log."""
    options = {"engine": engine, "log_every": 0.125, "signals": signals}
    smooth, sampled = said(-0.9, 1.0, **options)
    assert smooth == ("'smooth': its input went to 2, beyond -0.9 to 1 (first at t=0 s); nothing happens.")
    assert sampled == (
        "'sampled': its input went to 1.25, beyond -0.9 to 1 (first at t=0.25 s); nothing happens."
    )
    assert said(-1.0, 2.0, **options) == []


def test_a_run_that_is_cut_says_the_same():
    sim = Simulation(drawn(-1.0, 1.5), engine="reference", signals=[])
    sim.advance(0.5)
    sim.restore(sim.snapshot())
    sim.log(np.array([0.75, 1.0]))
    sim.advance(1.0)
    with pytest.warns(WatchedSignalWarning, match=r"'smooth': its input went to 2, .* \(first at t=1 s\)"):
        assert sim.result().signals == {}


@pytest.mark.parametrize(
    ("low", "high", "values", "first"),
    [
        (0.0, 1e3, [0.0, 1e3 + 5e-7, -5e-7], None),  # within rounding: 1e-9 of the range
        (0.0, 1e3, [0.0, 1e3 + 5e-7, 1e3 + 2e-6], 2),
        (1e6, 1e6 + 1.0, [1e6, 1e6 - 1e-6, 1e6], 1),  # of its width, not of its numbers
        (1.0, 1.0, [1.0, 1.0, 1.5], 2),
        (0.0, 1.0, [0.5, float("nan"), -0.5], 2),
    ],
)
def test_how_much_is_beyond(low, high, values, first):
    value = ca.SX.sym("value")
    asked = NamedRange("it", value, low, high, "it", "nothing")
    shown = Signal("it.y", value, (), None)
    function = ca.Function("ranges", [ca.SX.sym("t"), ca.SX.sym("p", 0), value], [value])
    logged = Logged(np.arange(3.0), {"it.y": np.array(values)[:, None]}, {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WatchedSignalWarning)
        Ranges((asked,), (shown,), function).warn(logged, np.zeros(0))
    assert [f"first at t={first} s" in str(w.message) for w in caught] == [True] * (first is not None)


@pytest.mark.parametrize("log", [{"log_every": 0.25}, {}])
def test_many_runs_say_how_many_left_a_range(log):
    """x goes to 2, 0.5 and 3.5, and late to 1.25, 0.125 and 2.375. Nothing is added to the results."""
    runs = {"parameters": {"three.value": [3.0, 1.5, 4.5]}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WatchedSignalWarning)
        found = simulate_many(drawn(-1.0, 1.6), runs, 1.0, signals=["three.y"], engine="reference", **log)
    assert found.keys() == ["three.y"]
    assert [str(w.message) for w in caught] == [
        "'smooth': its input went beyond -1 to 1.6; nothing happens (in 2 of 3 runs, run 0 the first).",
        "'sampled': its input went beyond -1 to 1.6; nothing happens (in 1 of 3 runs, run 2 the first).",
    ]
