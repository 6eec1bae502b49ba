"""Crossings of many states, whose code is in several pieces: each is found where its own state passes."""

from functools import cache

import numpy as np
import pytest

from blocks import Constant, Integrator, Relay
from cosim import Diagram, simulate

N = 150  # more than the copies of a block that share a loop
RATES = 1.0 + np.arange(N) / 7.0
END = 1.2  # s


@cache
def ramps(order):
    """x_k = c_k t switches a relay on at 1, at 1/c_k, and from then on y_k is integrated."""
    d = Diagram("ramps")
    for k in order:
        rate, x = d.add(f"c{k}", Constant(RATES[k])), d.add(f"x{k}", Integrator())
        relay, z = d.add(f"r{k}", Relay(1.0, 0.5, on_value=RATES[k])), d.add(f"z{k}", Integrator())
        d.connect(rate["y"], x["u"])
        d.connect(x["y"], relay["u"])
        d.connect(relay["y"], z["u"])
    return d


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(
    "settings", [{"solver": "rk4", "step": 0.3}, {"solver": "dopri5"}, {"solver": "rodas4"}], ids=str
)
@pytest.mark.parametrize("order", [range(N), range(N)[::-1]], ids=["forward", "backward"])
def test_each_of_many_ramps_passes_at_its_own_time(engine, settings, order):
    r = simulate(
        ramps(order), END, engine=engine, log_at=[END], signals=[f"z{k}.y" for k in range(N)], **settings
    )
    found = {event.name.split(".")[0]: event.time for event in r.events}
    assert len(r.events) == len(found) == N
    np.testing.assert_allclose([found[f"r{k}"] for k in range(N)], 1.0 / RATES, rtol=1e-12)
    np.testing.assert_allclose([r[f"z{k}.y"][0, 0] for k in range(N)], RATES * END - 1.0, rtol=1e-9)
