"""What engines have logged, cut and put together where a run goes on; counters begin at nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

import blocks as B
from cosim import Diagram, Simulation
from cosim.engines.counters import Counters
from cosim.engines.engine import Logged
from cosim.result.record import TickSeries


def logged(times):
    t = np.array(times)
    events = tuple(SimpleNamespace(time=x) for x in times)
    return Logged(t, {"y": t[:, None] ** 2}, {"y": TickSeries(t, 3.0 * t[:, None])}, events)


def test_a_log_goes_on_and_the_row_at_the_restart_is_the_later_one():
    whole = logged([0.0, 0.1, 0.2]).then(logged([0.2, 0.3]))
    assert whole.time.tolist() == [0.0, 0.1, 0.2, 0.3]
    np.testing.assert_array_equal(whole.signals["y"][:, 0], whole.time**2)
    assert whole.ticks["y"].time.tolist() == [0.0, 0.1, 0.2, 0.2, 0.3]
    np.testing.assert_array_equal(whole.ticks["y"].values, 3.0 * whole.ticks["y"].time[:, None])
    assert [e.time for e in whole.events] == [0.0, 0.1, 0.2, 0.2, 0.3]


def test_a_log_up_to_a_time_has_what_was_at_that_time():
    found = logged([0.0, 0.1, 0.2, 0.3]).before(0.2)
    for times in (found.time, found.ticks["y"].time, [e.time for e in found.events]):
        assert list(times) == [0.0, 0.1, 0.2]
    np.testing.assert_array_equal(found.signals["y"][:, 0], found.time**2)


def test_nothing_is_counted_before_anything_happened():
    begun = Counters()
    assert (begun.steps, begun.rejected, begun.evaluations, begun.events) == (0, 0, 0, 0)
    assert begun.refused_by < 0, "no state"


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_an_instant_that_is_dealt_with_before_any_advance_is_logged(engine):
    """A master of units may begin so: row and sample of the start were lost on the native engine."""
    d = Diagram("d")
    d.add("delay", B.UnitDelay(sample=0.1))
    d.connect(d.add("one", B.Constant(1.0))["y"], "delay.u")
    with Simulation(d, engine=engine) as sim:
        sim.log([0.0, 0.1])
        sim._engine.arrive()
        sim.advance(0.1)
        found = sim._engine.logged()
    assert found.time.tolist() == [0.0, 0.1]
    assert found.ticks["delay.y"].time.tolist() == [0.0, 0.1]
