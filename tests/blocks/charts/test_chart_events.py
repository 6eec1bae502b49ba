"""Events that charts send: each is over after its round, and calls whoever hears it."""

from dataclasses import replace

import numpy as np
import pytest

from blocks import Sine, State, StateChart, TimeTable, Transition
from cosim import Diagram, Simulation, simulate
from tests.blocks.charts.test_state_charts import ENGINES


def toggling(sample=None, **heard):
    """A lamp that every "go" switches."""
    return StateChart(
        outputs={"lit": 0.0},
        states=[State("off", entry="lit = 0"), State("on", entry="lit = 1")],
        transitions=[Transition("off", "on", on="go"), Transition("on", "off", on="go")],
        sample=sample,
        **heard,
    )


@pytest.mark.parametrize("sample", [None, 0.1])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_event_is_over_after_its_round(engine, sample):
    """One press switches on, the next one off; a chart that it calls each time does the opposite."""
    change = {"on": "press", "action": "send(go)"}
    chart = StateChart(
        events=["press"], sends=["go"], sample=sample, states=[State("off"), State("on")],
        transitions=[Transition("off", "on", **change), Transition("on", "off", **change)],
    )  # fmt: skip
    d = Diagram("d")
    d.add("press", TimeTable([0, 1, 2, 3, 4, 5], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0], interpolation="previous"))
    d.add("lamp", chart)
    d.add("other", replace(toggling(sample, calls=["go"]), initial="on"))
    d.connect("press.y", "lamp.press")
    d.connect("lamp.go", "other.go")
    r = simulate(d, until=6.0, engine=engine, log_every=0.5)
    assert r["lamp.state"][:, 0].tolist() == [0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    assert r["other.lit"][:, 0].tolist() == [1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0]


def test_every_event_that_one_chart_sends_calls_another():
    """The sine comes above 1/2 at 1/12 s of every second; an event that rises is the first one alone."""
    d = Diagram("relayed")
    d.add("wave", Sine(frequency=2 * np.pi))
    sender = StateChart(
        inputs=["u"],
        sends=["go"],
        states=[State("low"), State("high")],
        transitions=[
            Transition("low", "high", "u > 0.5", action="send(go)"),
            Transition("high", "low", "u < -0.5"),
        ],
    )
    d["wave"] >> d.add("sender", sender)["u"]
    for name, chart in (
        ("at_once", toggling(calls=["go"])),
        ("sampled", toggling(0.25, calls=["go"])),
        ("rises", toggling(events=["go"])),
    ):
        d.connect("sender.go", d.add(name, chart)["go"])
    times = [0.05, 0.1, 0.3, 1.05, 1.1, 1.3, 2.1, 2.3]
    sim = Simulation(d, engine="reference")
    sim.log(times)
    sim.advance(1.1)
    sim.restore(sim.snapshot())
    sim.advance(2.3)
    r = sim.result()
    assert r["at_once.lit"][:, 0].tolist() == [0, 1, 1, 1, 0, 0, 1, 1]
    assert r["sampled.lit"][:, 0].tolist() == [0, 0, 1, 1, 1, 0, 0, 1]
    assert r["rises.lit"][:, 0].tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
