"""Cases that reach their wall_limit: how often they are run, and what is kept of them."""

import numpy as np
import pytest

from blocks import ODE
from cosim import Diagram, Study, open_study, simulate_many
from cosim.engines.engine import Engine
from cosim.study import work
from cosim.study.work import simulation

LIMIT = 0.02  # s


@pytest.fixture
def slow():
    """x'' = -x in steps of 1e-4 s: 1e11 of them."""
    d = Diagram("slow")
    d.add("o", ODE(lambda t, x, u: np.array([x[1], -x[0]]), [1.0, 0.0], inputs=0))
    return d


@pytest.fixture
def counted(monkeypatch):
    """Times that a run of a batch, and a simulation of a case, is begun."""
    found = {"runs": 0, "simulations": 0}
    run_start = Engine.run_start

    def run(*arguments):
        found["runs"] += 1
        return run_start(*arguments)

    def begin(*arguments, **more):
        found["simulations"] += 1
        return simulation(*arguments, **more)

    monkeypatch.setattr(Engine, "run_start", run)
    monkeypatch.setattr(work, "simulation", begin)
    return found


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_case_is_run_once_and_again_to_shortly_before_its_end(slow, counted, tmp_path, engine):
    """It was run again for its message, and again to find where the snapshot before it has to be."""
    s = Study(
        slow, until=1e7, solver="rk4", step=1e-4, wall_limit=LIMIT, engine=engine, store={"keep": "summary"},
        metrics={"m": "final(o.y[0])"},
    )  # fmt: skip
    s.run(tmp_path / "a", workers=1, executor="threads")
    assert counted == {"runs": 1, "simulations": 1}
    row = open_study(tmp_path / "a").table.loc[0]
    assert row["status"] == "failed" and np.isnan(row["m"])
    end = float(row["message"].partition("at t=")[2].partition(" s")[0])
    with open_study(tmp_path / "a", study=s).case(0).replayed(engine) as sim:
        assert sim.time == pytest.approx(0.98 * end, rel=1e-6)
        assert sim.value("o.y")[0] == pytest.approx(np.cos(sim.time), abs=1e-6)  # x = cos t


def test_many_runs_are_not_repeated_for_their_message(slow, counted):
    runs = simulate_many(slow, 1, 1e7, solver="rk4", step=1e-4, wall_limit=LIMIT, threads=1)
    assert counted["runs"] == 1 and "wall_limit" in str(runs.errors[0])
