"""Many blocks whose memories and crossings depend on what is held: what an event changes, and nothing else.

Compiled code looks again only at what reads a place that an event has written; the reference engine always
at everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks import (
    Backlash,
    CompareToConstant,
    FirstOrder,
    MinMaxRunning,
    Quantizer,
    Relay,
    Sine,
    Sum,
    UnitDelay,
)
from cosim import Diagram, Simulation

CELLS = 30


def coupled() -> Diagram:
    """Cells in a chain: what one holds is compared in the next ones, and lags of all make them switch."""
    d = Diagram("chain")
    before = source = d.add("source", Sine(amplitude=4.0, frequency=60.0))["y"]
    for k in range(CELLS):
        v = (k + 1) / (CELLS + 1)
        lag = d.add(f"lag{k}", FirstOrder(1.0, 0.005 + 0.02 * v))
        d.connect(before, lag["u"])
        relay = d.add(f"relay{k}", Relay(0.3 * v, -0.3 * v))
        d.connect(lag["y"], relay["u"])
        play = d.add(f"play{k}", Backlash(0.2 + v))
        d.connect(relay["y"], play["u"])
        most = d.add(f"most{k}", MinMaxRunning())
        both = d.add(f"both{k}", Sum("++"))
        d.connect(play["y"], both["in1"])
        d.connect(relay["y"], both["in2"])
        d.connect(both["y"], most["u"])
        level = d.add(f"level{k}", Quantizer(0.3))
        d.connect(both["y"], level["u"])
        above = d.add(f"above{k}", CompareToConstant(">", 0.5 * v))
        d.connect(level["y"], above["u"])
        late = d.add(f"late{k}", UnitDelay(0.01 if k % 2 else 0.025))
        d.connect(above["y"], late["u"])
        again = d.add(f"again{k}", Relay(0.6, 0.4))
        d.connect(late["y"], again["u"])
        mixed = d.add(f"mixed{k}", Sum("++-"))
        d.connect(source, mixed["in1"])
        d.connect(again["y"], mixed["in2"])
        d.connect(level["y"], mixed["in3"])
        before = mixed["y"]
    return d


def run(engine: str, d: Diagram) -> dict[str, np.ndarray]:
    """A run with pauses, a parameter that changes, and a second way on from the middle."""
    with Simulation(d, engine=engine, solver="rk4", step=0.005) as sim:
        sim.log(np.arange(0, 41) * 0.01)
        sim.advance(0.103)
        there = sim.snapshot()
        sim.advance(0.2)
        sim.restore(there)
        sim.advance(0.15)
        sim.set_parameter("source.amplitude", 5.0)
        sim.advance(0.4)
        r = sim.result()
        kept = {name: r[name] for name in r}
        kept["events"] = np.array([event.time for event in r.events])
        kept["kinds"] = np.array([event.name for event in r.events])
        return kept


@pytest.mark.slow
def test_both_engines_hold_the_same_after_every_event() -> None:
    d = coupled()
    compiled, interpreted = (run(engine, d) for engine in ("native", "reference"))
    assert len(interpreted["events"]) > 300
    assert compiled.keys() == interpreted.keys()
    for name in interpreted:
        assert np.array_equal(compiled[name], interpreted[name]), name


AMPLITUDE, STRONGER, CHANGED = 2.6, 3.4, 2.05  # of cell 3 from that time on, s


def waves(cells: int) -> Diagram:
    """Rounded sines, each with the lamp of the cell before on top: lamps depend on what is held."""
    d = Diagram("waves")
    before = None
    for k in range(cells):
        wave = d.add(f"wave{k}", Sine(amplitude=AMPLITUDE, frequency=5.0 + 0.1 * k, phase=0.7 * k))
        level = d.add(f"level{k}", Quantizer(1.0))
        d.connect(wave["y"], level["u"])
        both = level["y"] if before is None else level["y"] + before
        lamp = d.add(f"lamp{k}", Relay(2.5, -1.5))
        d.connect(both, lamp["u"])
        above = d.add(f"above{k}", CompareToConstant(">", 1.5))
        d.connect(both, above["u"])
        most = d.add(f"most{k}", MinMaxRunning(function="max", initial=-9.0))
        d.connect(both, most["u"])
        before = lamp["y"]
    return d


def solution(times: np.ndarray, cells: int) -> dict[str, np.ndarray]:
    """What all of them are, from the values at many times in a row."""
    found, before = {}, np.zeros(len(times))
    for k in range(cells):
        size = np.where((times >= CHANGED) & (k == 3), STRONGER, AMPLITUDE)
        both = np.round(size * np.sin((5.0 + 0.1 * k) * times + 0.7 * k)) + before
        switched = np.where(both > 2.5, 1.0, np.where(both < -1.5, 0.0, np.nan))
        newest = np.maximum.accumulate(np.where(np.isnan(switched), -1, np.arange(len(times))))
        before = np.where(newest < 0, 0.0, switched[np.maximum(newest, 0)])
        found[f"lamp{k}.y"], found[f"above{k}.y"] = before, (both > 1.5) * 1.0
        found[f"most{k}.y"] = np.maximum.accumulate(both)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "cells"), [("native", 40), ("reference", 6)])
@pytest.mark.parametrize("how", [{}, {"solver": "rk4", "step": 0.05}], ids=["dopri5", "rk4"])
def test_what_is_held_is_what_the_waves_say(how: dict[str, Any], cells: int, engine: str) -> None:
    """Twice from a snapshot on, and behind a parameter that changes; none of the times is one of an event."""
    times = np.arange(30001) * 1e-4
    expected = solution(times, cells)
    looks = np.arange(57, len(times), 171)
    with Simulation(waves(cells), engine=engine, **how) as sim:
        sim.log(times[looks])
        sim.advance(0.7)
        there = sim.snapshot()
        sim.advance(1.3)
        sim.restore(there)
        sim.advance(CHANGED)
        sim.set_parameter("wave3.amplitude", STRONGER)
        sim.advance(3.0)
        r = sim.result()
    assert sum(len(np.unique(v[looks])) > 1 for v in expected.values()) > 2 * cells
    for name, values in expected.items():
        assert r[name][:, 0].tolist() == values[looks].tolist(), name
    for k in range(cells):
        changes = times[1:][np.diff(expected[f"lamp{k}.y"]) != 0.0]
        events = [e.time for e in r.events if e.name.startswith(f"lamp{k}.")]
        assert events == pytest.approx(changes, abs=1.01e-4), k  # the first of the times behind them
