"""What stands in a system for a unit that steps itself: its ports, and its outputs as curves in time."""

import casadi as ca
import numpy as np
import pytest

from blocks.contract.driven import DrivenBlock, UnitParameter, UnitPort
from blocks.contract.rate import Ticks
from blocks.contract.trace import trace

IN = (UnitPort("u", 2, unit="m"), UnitPort("on", continuous=False))
OUT = (UnitPort("s", 2, unit="m"), UnitPort("n", continuous=False), UnitPort("v", unit="m/s"))


def declared(**more):
    start = np.array([1.0, 2.0, 3.0])
    block = DrivenBlock(
        IN, OUT, (UnitParameter("k", [4.0, 5.0], "N"),), start, lambda: None, Ticks.of("1/10"), **more
    )
    assert (block.n_inputs, block.n_outputs) == (3, 4)
    return trace(block, {}).declared


@pytest.mark.parametrize("sampled", [False, True])
def test_ports_and_parameters(sampled):
    d = declared(sampled=sampled)
    assert [(i.name, i.symbol.numel()) for i in d.inputs] == [("u", 2), ("on", 1)]
    assert [(o.name, o.expression.numel()) for o in d.outputs] == [("s", 2), ("n", 1), ("v", 1)]
    assert [(q.name, q.size) for q in d.parameters] == [("k", 2)]


@pytest.mark.parametrize("sampled", [False, True])
def test_outputs_between_communication_points(sampled):
    """From t = 3 s: y + s (t - 3) + c (t - 3)^2 / 2 where it is continuous, else y."""
    d = declared(sampled=sampled)
    y, slope, curvature = np.arange(1.0, 5.0), np.arange(10.0, 14.0), np.arange(20.0, 24.0)
    given = {"y": y} if sampled else {"y": y, "slope": slope, "curvature": curvature, "since": [3.0]}
    assert [m.name for m in d.memories] == list(given) and all(m.private for m in d.memories)
    symbols = [m.symbol for m in d.memories]
    function = ca.Function("outputs", [d.time, *symbols], [ca.vertcat(*[o.expression for o in d.outputs])])
    moves = np.zeros(4) if sampled else np.array([1, 1, 0, 1]) * (0.5 * slope + 0.125 * curvature)
    assert np.array(function(3.5, *given.values())).ravel() == pytest.approx(y + moves, abs=1e-15)
