"""Parts of a result that are made where somebody looks: those of their run, whatever happens later."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from blocks import Constant, Integrator, StateFeedback
from cosim import Diagram, Simulation, simulate
from tests.helpers.hybrid import Ball

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


def ball():
    d = Diagram("d")
    d.add("ball", Ball())
    return d


@ENGINES
def test_events_and_counts_stay_where_the_run_goes_on(engine):
    """The second half has bounces too; what was looked at before and what was not are alike."""
    with Simulation(ball(), engine=engine) as sim:
        sim.advance(1.0)
        looked, late = sim.result(), sim.result()
        times, counts = [e.time for e in looked.events], dict(looked.statistics)
        sim.advance(2.0)
        assert len(sim.result().events) > len(times) > 0
        assert [e.time for e in late.events] == times
        assert late.events is late.events
        kept = ("steps", "events", "simulated time [s]", "ticks", "state that limited most steps")
        assert [late.statistics[k] for k in kept] == [counts[k] for k in kept]
        assert sim.result().statistics["steps"] > counts["steps"]


@ENGINES
def test_values_that_were_given_are_those_of_the_run(engine):
    d = Diagram("d")
    d.add("k", StateFeedback(np.array([[2.0]]), sample=0.1))
    d.connect(d.add("c", Constant(1.0))["y"], "k.x")
    given = np.array([[3.0]])
    r = simulate(d, 0.1, parameters={"k.K": given}, engine=engine)
    given[:] = 7.0
    assert r.settings["k.K"].value == ((3.0,),)
    assert r.settings["engine"].value == engine


@ENGINES
def test_copies_and_pickles_have_what_nobody_has_looked_at(engine):
    r = simulate(ball(), 1.0, engine=engine)
    for made in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
        assert [e.time for e in made.events] == [e.time for e in r.events]
        assert dict(made.settings) == dict(r.settings)
        assert dict(made.statistics) == dict(r.statistics)


def test_a_result_keeps_nothing_of_its_run():
    d = Diagram("d")
    d.add("x", Integrator(1.0))
    d.ground("x.u")
    sim = Simulation(d)
    sim.advance(1.0)
    r, engine = sim.result(), weakref.ref(sim._engine)
    del sim
    gc.collect()
    assert engine() is None
    assert r.statistics["steps"] > 0
    assert r.settings["solver"].value == "dopri5"
    with pytest.raises(AttributeError, match="a Result has no attribute 'evnts'"):
        r.evnts  # noqa: B018
