"""The norm that steps are chosen by counts every state alike, wherever it stands."""

import numpy as np
import pytest

from blocks import Gain, Integrator
from cosim import Diagram, simulate

N = 19  # two groups of eight, and three behind them


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_one_state_that_moves_takes_the_same_steps_in_any_place(solver, engine):
    d = Diagram("alike")
    x, down = d.add("x", Integrator(np.zeros(N))), d.add("down", Gain(-1.0))
    d.connect(x["y"], down["u"])
    d.connect(down["y"], x["u"])
    taken = set()
    for k in range(N):
        r = simulate(
            d, 3.0, solver=solver, engine=engine, log_at=[3.0], initial={f"x.x[{k}]": 1.0}, signals=["x.y"]
        )
        assert np.flatnonzero(r["x.y"][0]).tolist() == [k]
        taken.add((r.statistics["steps"], r["x.y"][0, k]))
    assert len(taken) == 1
    assert taken.pop()[1] == pytest.approx(np.exp(-3.0), rel=1e-4)
