"""Conditional parts inside each other, of several rates and offsets, against a slow interpreter."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks import Hold, State, StateChart, TimeTable, Transition
from cosim import Diagram, Enabled, Resettable, simulate
from tests.helpers.nests import GRID, LEAF, Walked, built, nests, signals

INSTANTS = 12
LEVELS = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=INSTANTS, max_size=INSTANTS)
FEW = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


def drawn(nest, levels, held):
    """The nest with its signals as tables, taken at ticks or not."""
    d = Diagram("d")
    times = [float(k * GRID) for k in range(INSTANTS)]
    node = d.add("nest", built(nest))
    d.add("u", TimeTable(times, [k + 1.0 for k in range(INSTANTS)], interpolation="previous")) >> node["u"]
    for name, values in levels.items():
        signal = d.add(name, TimeTable(times, values, interpolation="previous"))
        if held:
            signal = signal >> d.add(f"{name}_held", Hold(sample=GRID, initial=values[0]))
        signal >> node[name]
    return d, times


def agrees(nest, levels, held, engine):
    d, times = drawn(nest, levels, held)
    walked = Walked(nest)
    wanted = [
        walked.step(k * GRID, k + 1.0, {n: v[k] for n, v in levels.items()}, True, None)
        for k in range(INSTANTS)
    ]
    found = simulate(d, times[-1], engine=engine, log_at=times)["nest.y"][:, 0]
    np.testing.assert_allclose(found, wanted, err_msg=f"{nest}, {levels}, held={held}")


@pytest.mark.slow
@FEW
@given(st.data(), nests(3), st.booleans())
def test_nests_agree_with_a_slow_interpreter(data, nest, held):
    levels = {name: data.draw(LEVELS) for name in signals(nest)}
    agrees(nest, levels, held, "reference")


WITHIN = ("enabled", True, True, "c2", LEAF)


@pytest.mark.slow
@FEW
@given(st.data(), nests(2, repeated=True), st.integers(1, 4), st.booleans())
def test_nests_in_loops_agree_with_a_slow_interpreter(data, body, rounds, anew):
    nest = ("for", rounds, anew, body, GRID, 0 * GRID)
    agrees(nest, {name: data.draw(LEVELS) for name in signals(nest)}, True, "reference")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(
    ("nest", "levels"),
    [  # each was wrong once
        (("if", "c0", LEAF, LEAF), {"c0": [1, 0, 1, 0, 2, 0, 0, 1, 0, 1, 1, 0]}),
        (
            ("enabled", True, False, "c0", ("triggered", "either", "c1", LEAF)),
            {"c0": [1, 1, 1, -1, -1, 1, 1, -1, 1, 1, 1, 1], "c1": [0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0]},
        ),
        (
            ("enabled", False, True, "c0", ("triggered", "either", "c1", LEAF)),
            {"c0": [0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1], "c1": [1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0]},
        ),
        (
            (
                "triggered",
                "rising",
                "c0",
                ("resettable", "either", "c1", ("enabled", True, True, "c2", LEAF)),
            ),
            {
                "c0": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
                "c1": [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0],
                "c2": [1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1],
            },
        ),
    ],
)
def test_nests_that_were_wrong_once(nest, levels, engine):
    for held in (False, True):
        agrees(nest, {name: [float(v) for v in values] for name, values in levels.items()}, held, engine)


@pytest.mark.parametrize("sample", [None, GRID])
def test_a_chart_starts_anew_with_its_part(sample):
    """It counts up to the third state, and is put back to its first while it is in the second."""
    chart = StateChart(
        outputs={"y": 0.0},
        states=[State("a", entry="y = 1"), State("b", entry="y = 2"), State("c", entry="y = 3")],
        transitions=[Transition("a", "b", "after(0.25)"), Transition("b", "c", "after(0.5)")],
        sample=sample,
    )
    times = [float(k * GRID) for k in range(INSTANTS)]
    for part, port, levels in (
        (Resettable(chart), "reset", [-1.0] * 4 + [1.0] * 8),
        (Enabled(chart, reset=True), "enable", [1.0] * 3 + [-1.0] + [1.0] * 8),
    ):
        d = Diagram("d")
        d.add("s", TimeTable(times, levels, interpolation="previous")) >> d.add("part", part)[port]
        y = simulate(d, times[-1], engine="reference", log_at=times)["part.y"][:, 0]
        assert y.tolist() == [1, 1, 2, 2, 1, 1, 2, 2, 2, 2, 3, 3]
