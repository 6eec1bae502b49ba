"""Adaptive runs whose steps have become so small that they never come to their end."""

import numpy as np
import pytest

from blocks import Integrator, SimulationError, Sine, StopWhen
from cosim import Simulation, simulate
from cosim.engines import pace
from cosim.settings import RunSettings
from tests.helpers.made import alone
from tests.helpers.runs import build


@pytest.fixture
def few(monkeypatch):
    """40 steps in a row instead of thousands, for both engines."""
    monkeypatch.setattr(pace, "LOOKED_AT", 40)


@pytest.fixture(scope="module")
def sticking():
    """A body that friction holds: pushed by half of what friction can do."""

    def equations(b):
        n = b.continuous("n", 1.0)
        v = b.continuous("v", 1e-9)
        b.derivative(n, 0 * n)
        b.derivative(v, 0.5 - np.sign(v))

    return alone(equations)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_a_body_that_friction_holds_ends_alike_on_both_engines(few, sticking, solver):
    """It needs 1e7 steps a second; both stop at the same step, and keep what ran."""
    ends = []
    for engine in ("native", "reference"):
        sim = Simulation(sticking, engine=engine, solver=solver)
        with pytest.raises(SimulationError, match=r"40 steps in a row.*STEP5.*where_event.*wall_limit") as e:
            sim.advance(1e5)
        assert e.value.path == "it.v" and "limits the steps is 'it.v'" in str(e.value)
        assert e.value.time == e.value.result.time[-1] == sim.time < 0.01 and not e.value.result.complete
        ends.append((sim.time, sim.value("it.v").tobytes(), str(e.value)))
    assert ends[0] == ends[1]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_short_limited_and_stepwise_runs_of_it_go_on(few, sticking, engine):
    """Nobody is told how long a run takes that ends within 1e10 steps, or that wall_limit ends."""
    r = simulate(sticking, 2e-6, engine=engine)
    assert r.complete and r.statistics["steps"] > 41
    sim = Simulation(sticking, engine=engine)
    for k in range(1, 9):
        sim.advance(2.5e-7 * k)
    with pytest.raises(SimulationError, match="reached its wall_limit"):
        simulate(sticking, 1e5, engine=engine, wall_limit=0.02)


def test_a_stop_event_may_end_a_run_before(sticking):
    watched = build("s.y>i.u i.y>stop.u", s=Sine(), i=Integrator(), stop=StopWhen("there", 0.5))
    assert pace.most_steps(watched.system(), RunSettings.of()) == 0.0
    assert pace.most_steps(sticking.system(), RunSettings.of()) == 1e10
    assert pace.most_steps(sticking.system(), RunSettings.of(solver="rk4", step=1e-3)) == 0.0


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_pulse_that_passes_and_long_steps_go_on(engine):
    """Tens of steps of 1e-10 s at the start of a run of 1000 s; then a slow decay."""

    def equations(b):
        x = b.continuous("x", np.array([1.0, 1.0]))
        b.derivative(x, np.array([-1e9 * x[0], -0.01 * x[1]]))

    r = simulate(alone(equations), 1000.0, engine=engine, solver="rodas4")
    assert r.complete and r.statistics["steps"] > 40
