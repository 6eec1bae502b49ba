"""What stands in a system for a unit that steps itself: its ports, and its outputs as curves in time."""

import casadi as ca
import numpy as np
import pytest

from blocks.contract.driven import DrivenBlock, UnitParameter, UnitPort
from blocks.contract.rate import Ticks
from blocks.contract.trace import trace

TICKS = Ticks.of("1/10")
IN = (UnitPort("u", 2, unit="m"), UnitPort("on", continuous=False))
OUT = (UnitPort("s", 2, unit="m"), UnitPort("n", continuous=False), UnitPort("v", unit="m/s"))


def declared(**more):
    start = np.array([1.0, 2.0, 3.0])
    k = UnitParameter("k", [4.0, 5.0], "N"), UnitParameter("M", [[1.0, 0.0], [0.0, 2.0]])
    block = DrivenBlock(IN, OUT, k, start, lambda: None, TICKS, **more)
    assert (block.n_inputs, block.n_outputs) == (3, 4)
    return trace(block, {}).declared


@pytest.mark.parametrize("sampled", [False, True])
def test_ports_and_parameters(sampled):
    d = declared(sampled=sampled)
    assert [(i.name, i.symbol.numel()) for i in d.inputs] == [("u", 2), ("on", 1)]
    assert [(o.name, o.expression.numel()) for o in d.outputs] == [("s", 2), ("n", 1), ("v", 1)]
    assert [(q.name, q.size) for q in d.parameters] == [("k", 2), ("M", 4)]  # zeros may be set, too
    if sampled:
        assert (d.ticks, d.memories[0].ticks) == ((TICKS,), TICKS)


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


@pytest.mark.parametrize("sampled", [False, True])
def test_outputs_that_follow_inputs_at_communication_points(sampled):
    """What is seen a visit late in a loop: first what moves by itself, then what follows events, then all."""
    ports = UnitPort("u", 2), UnitPort("a", 2, visited=True), UnitPort("b", visited=True)
    outputs = UnitPort("s"), UnitPort("n", continuous=False), UnitPort("v", 2, visited=True)
    d = trace(
        DrivenBlock(ports, outputs, (), np.arange(5.0), lambda: None, TICKS, sampled=sampled), {}
    ).declared
    y, *others = d.memories
    assert (y.name, y.size, y.initial.tolist(), y.ticks) == ("y", 4, [0.0] * 4, TICKS)
    assert (d.ticks, y.private) == ((TICKS,), True)
    assert y.late == (frozenset("s"), frozenset("sn"), frozenset("snv"))
    symbols = [i.symbol for i in d.inputs]
    given = ca.Function("given", symbols, [y.reads])([7.0, 8.0], [1.0, 2.0], 3.0)
    assert np.array(given).ravel().tolist() == [1.0, 2.0, 3.0] and y.external.argument is y.reads
    curves = [[10.0] * 4, [0.5] * 4, [8.0] * 4, [1.0]][: len(d.memories)]
    shown = ca.Function("shown", [d.time, y.symbol, *[m.symbol for m in others]],
                        [ca.vertcat(*[o.expression for o in d.outputs])])  # fmt: skip
    curve = 0.5 * 2.0 + 8.0 * 2.0**2 / 2  # 2 s behind the point
    moves = [0.0] * 4 if sampled else [curve, 0.5, curve, curve]
    assert np.array(shown(3.0, *curves)).ravel() == pytest.approx(10.0 + np.array(moves))
