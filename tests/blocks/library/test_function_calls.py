"""Who calls subsystems: a count of ticks."""

import pytest

from blocks import BlockError, CounterLimited, FunctionCallGenerator, State, StateChart, TimeTable, Transition
from cosim import Diagram, FunctionCall, Resettable, simulate
from tests.helpers.solo import Solo


def test_calls_are_counted_at_ticks():
    """0 before the first one, the count from each tick on."""
    at = [0, "1/10", "1/4", "3/10", "1/2", "7/10"]
    assert Solo(FunctionCallGenerator(0.2, 0.1)).run(at)["call"].ravel().tolist() == [0, 1, 1, 2, 3, 4]
    assert Solo(FunctionCallGenerator(0.2)).run([0, 0.1, 0.2])["call"].ravel().tolist() == [1, 1, 2]


def test_a_rate_is_needed():
    with pytest.raises(BlockError, match="^FunctionCallGenerator.*-1"):
        FunctionCallGenerator(-1)


@pytest.mark.parametrize("on_entry", [False, True])
def test_a_chart_that_starts_anew_goes_on_counting_its_calls(on_entry):
    """It calls where it enters "b", at t = 1, 3 and 6, or "a" too; at t = 4 it starts anew, in "b" before."""
    chart = StateChart(
        inputs=["u"],
        sends=["s"],
        states=[State("a", entry="send(s)" if on_entry else None), State("b", entry="send(s)")],
        transitions=[Transition("a", "b", "u > 0.5"), Transition("b", "a", "u < 0.5")],
        sample=1,
    )
    d = Diagram("d")
    for name, values in {"u": [0, 1, 0, 1, 0, 0, 1, 1], "again": [0, 0, 0, 0, 1, 1, 1, 0]}.items():
        d.add(name, TimeTable(range(8), values, interpolation="previous"))
    d.add("part", Resettable(chart))
    d.add("called", FunctionCall(CounterLimited(100, sample=1), initial=-1.0))  # from 0 on
    d.connect("u.y -> part.u", "again.y -> part.reset", "part.s -> called.call")
    r = simulate(d, 7.0, log_every=1.0, engine="reference")
    calls = [1, 2, 3, 4, 5, 5, 6, 6] if on_entry else [0, 1, 1, 2, 2, 2, 3, 3]
    assert r["part.s"][:, 0].tolist() == calls
    assert (r["called.y"][:, 0] + 1.0).tolist() == calls
