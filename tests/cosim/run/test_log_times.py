"""When a run is logged: multiples of an interval and, whatever it is, the end; how many runs there are."""

import numpy as np
import pytest

from blocks import Integrator, PlantloopError, Ramp, RandomNumber, StopWhen
from cosim import Diagram, simulate, simulate_many

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


def parabola() -> Diagram:
    d = Diagram("parabola")
    d.connect(d.add("ramp", Ramp(2.0))["y"], d.add("it", Integrator())["u"])
    return d


@ENGINES
@pytest.mark.parametrize(
    ("every", "until", "times"),
    [
        (0.3, 1.0, [0.0, 0.3, 0.6, 0.9, 1.0]),
        (2.0, 0.7, [0.0, 0.7]),
        (0.25, 1.0, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (0.1, 0.30000000000000004, [0.0, 0.1, 0.2, 0.3]),
    ],
)
def test_the_end_is_logged_whatever_the_interval(engine, every, until, times):
    r = simulate(parabola(), until, log_every=every, engine=engine)
    assert r.time.tolist() == times
    np.testing.assert_allclose(r["it.y"][:, 0], r.time**2, rtol=1e-9, atol=1e-12)


@ENGINES
def test_the_end_is_logged_where_it_is_that_of_the_instants_but_for_rounding(engine):
    """3 times 0.05 is a last digit above 0.15."""
    asked = 0.05 * np.arange(4)
    assert asked[-1] > 0.15
    r = simulate(parabola(), 0.15, log_at=asked, engine=engine)
    assert r.time.tolist() == asked.tolist()
    np.testing.assert_allclose(r["it.y"][:, 0], r.time**2, rtol=1e-9, atol=1e-12)


@ENGINES
def test_where_a_run_stops_at_an_instant_asked_for_the_last_row_is_of_that_instant(engine):
    d = parabola()
    d.add("stop", StopWhen("enough", threshold=0.6))
    d.connect("ramp.y", "stop.u")
    r = simulate(d, 1.0, log_every=0.1, engine=engine)
    assert r.time.tolist() == [0.0, 0.1, 0.2, 0.3]
    np.testing.assert_allclose(r["it.y"][:, 0], r.time**2, rtol=1e-9, atol=1e-12)


def test_a_number_of_runs_differs_by_its_draws():
    d = Diagram("noise")
    d.add("it", RandomNumber(0.0, 1.0, sample=0.1))
    counted = simulate_many(d, 3, 0.5, seed=7)
    listed = simulate_many(d, [{}, {}, {}], 0.5, seed=7)
    np.testing.assert_array_equal(counted["it.y"], listed["it.y"])
    assert len(np.unique(counted["it.y"])) == 3


@pytest.mark.parametrize("runs", [None, True, 0, -1, 2.5])
def test_what_is_no_number_of_runs_is_refused(runs):
    with pytest.raises(PlantloopError, match="runs is .*expected a list of dicts"):
        simulate_many(parabola(), runs, 1.0)
