"""What a simulation has logged goes back with it."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Clock, Hold
from blocks.errors import PlantloopError, WiringError
from cosim import Diagram, Simulation, simulate


def clock() -> Diagram:
    d = Diagram("clock")
    c, h = d.add("c", Clock()), d.add("h", Hold(sample=0.1))
    c["y"] >> h["u"]
    return d


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_restore_drops_what_was_logged_later(engine):
    sim = Simulation(clock(), engine=engine)
    sim.advance(0.25)
    before = sim.snapshot()
    sim.advance(0.55)
    sim.restore(before)
    sim.advance(0.4)
    r = sim.result()
    assert np.all(np.diff(r.time) >= 0)
    assert r.time[-1] == 0.4
    np.testing.assert_allclose(r.ticks("h.y").time, [0.0, 0.1, 0.2, 0.3, 0.4])
    once = simulate(clock(), 0.4, engine=engine, log_every="step")
    np.testing.assert_array_equal(r["h.y"][-1], once["h.y"][-1])


def test_listed_instants_after_a_restore():
    sim = Simulation(clock())
    sim.log([0.1, 0.2, 0.3, 0.4])
    sim.advance(0.2)
    before = sim.snapshot()
    sim.advance(0.4)
    sim.restore(before)
    sim.advance(0.35)
    assert sim.result().time.tolist() == [0.1, 0.2, 0.3]


def test_a_simulation_logs_from_the_start():
    sim = Simulation(clock())
    sim.advance(0.3)
    assert sim.result().time.tolist() == [0.0, 0.1, 0.2, 0.3]


@pytest.mark.parametrize("times", [[-1.0, 0.1], [0.1, np.nan], [3.0, 2.0], [[0.1]], "x", 0.1])
def test_instants_to_log_are_checked(times):
    with pytest.raises(PlantloopError, match="instants to log"):
        Simulation(clock()).log(times)


def test_without_a_wish_a_thousand_intervals_are_logged():
    r = simulate(clock(), 2.0)
    assert len(r.time) == 1001
    assert (r.time[0], r.time[500], r.time[-1]) == (0.0, 1.0, 2.0)


def test_grounded_and_connected_is_a_contradiction():
    d = clock()
    d.ground("h.u")
    with pytest.raises(WiringError, match="'h.u' is grounded and connected to 'c.y'"):
        simulate(d, 1.0)
