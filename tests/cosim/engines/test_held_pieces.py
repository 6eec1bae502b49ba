"""Many blocks whose memories and crossings depend on what is held: what an event changes, and nothing else.

Compiled code looks again only at what reads a place that an event has written; the reference engine always
at everything.
"""

from __future__ import annotations

import numpy as np

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


def test_both_engines_hold_the_same_after_every_event() -> None:
    d = coupled()
    compiled, interpreted = (run(engine, d) for engine in ("native", "reference"))
    assert len(interpreted["events"]) > 300
    assert compiled.keys() == interpreted.keys()
    for name in interpreted:
        assert np.array_equal(compiled[name], interpreted[name]), name
