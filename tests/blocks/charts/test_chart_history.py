"""History of state charts: a state is entered where it was left."""

import numpy as np
import pytest

from blocks import (
    State,
    StateChart,
    TimeTable,
    Transition,
)
from blocks.charts.states import ChartTree
from blocks.errors import BlockError
from cosim import Diagram, Simulation, simulate

ENGINES = ("reference", "native")


def player(history, sample=None, **more):
    """Playing: slow or fast, each with a quiet and a loud state inside; paused and gone on."""
    inner = (State("quiet"), State("loud"))
    return StateChart(
        events=["pause", "resume", "faster", "louder", "straight"],
        states=[
            State(
                "on",
                states=[State("slow", states=inner), State("fast", states=inner)],
                history=history,
                **more,
            ),
            State("off"),
        ],
        transitions=[
            Transition("on", "off", on="pause"),
            Transition("off", "on", on="resume"),
            Transition("off", "on.slow.loud", on="straight"),
            Transition("on.slow", "on.fast", on="faster"),
            Transition("on.slow.quiet", "on.slow.loud", on="louder"),
            Transition("on.fast.quiet", "on.fast.loud", on="louder"),
        ],
        sample=sample,
    )


PRESSED = {"louder": [2, 6], "pause": [3, 7, 12], "resume": [4, 8], "faster": [5], "straight": [13]}
SEEN = {  # at 0.5, 1.5, ... s, by hand: 2 slow.quiet, 3 slow.loud, 5 and 6 the fast ones, 7 off
    "": [2, 2, 3, 7, 2, 5, 6, 7, 2, 2, 2, 2, 7, 3],
    "shallow": [2, 2, 3, 7, 2, 5, 6, 7, 5, 5, 5, 5, 7, 3],
    "deep": [2, 2, 3, 7, 3, 5, 6, 7, 6, 6, 6, 6, 7, 3],
}


def played(chart):
    d = Diagram("player")
    d.add("it", chart)
    for event, times in PRESSED.items():
        corners = [v for t in times for v in (t, t + 0.25)]
        d.add(event, TimeTable([0, *corners], [0, *[1, 0] * len(times)], "previous"))
        d.connect(f"{event}.y", f"it.{event}")
    return d


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sample", [None, 0.125])
@pytest.mark.parametrize("history", SEEN)
def test_history_enters_what_was_active_last(engine, sample, history):
    chart = player(history, sample)
    names = [n.path for n in ChartTree(chart.states, "", False).nodes]
    assert [names[k] for k in (2, 3, 5, 6, 7)] == [
        "on.slow.quiet", "on.slow.loud", "on.fast.quiet", "on.fast.loud", "off",
    ]  # fmt: skip
    r = simulate(played(chart), until=14.0, log_at=np.arange(14) + 0.5, engine=engine)
    assert r["it.state"][:, 0].tolist() == SEEN[history]
    sim = Simulation(played(chart), engine=engine)
    sim.advance(7.5)
    saved = sim.snapshot()
    sim.advance(8.5)
    again = Simulation(played(chart), engine=engine)
    again.restore(saved)
    again.advance(8.5)
    assert sim.value("it.state") == again.value("it.state") == SEEN[history][8]


def test_history_of_what_was_never_active_is_the_first_state():
    chart = StateChart(
        events=["go"],
        outputs={"entered": 0.0},
        states=[
            State("off"),
            State(
                "on",
                states=[State("a", entry="entered += 1"), State("b", entry="entered += 10")],
                initial="b",
                history="shallow",
            ),
        ],
        transitions=[Transition("off", "on", on="go")],
    )
    d = Diagram("d")
    d.add("it", chart)
    d.add("go", TimeTable([0, 1], [0, 1], "previous"))
    d.connect("go.y", "it.go")
    r = simulate(d, until=2.0, log_at=[0.5, 2.0], engine="reference")
    assert r["it.entered"][:, 0].tolist() == [0.0, 10.0]
    assert r["it.active.on.b"][-1] == 1.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: State("a", states=[State("b")], history="last"), 'expected "shallow" or "deep"'),
        (lambda: State("a", history="deep"), "has no states inside"),
        (lambda: State("a", states=[State("b")], history=True), "is True, expected"),
    ],
)
def test_a_history_that_means_nothing_is_refused(make, text):
    with pytest.raises(BlockError, match=text):
        make()
