"""States that are active together are entered each at its own time, which `after` counts from."""

import numpy as np
import pytest

from blocks import State, StateChart, TimeTable, Transition
from cosim import Diagram, simulate

SAMPLES = [None, 0.05]


def run(chart, until, engine="reference", **signals):
    d = Diagram("d")
    d.add("chart", chart)
    for name, (times, values) in signals.items():
        d.add(name, TimeTable(times, values, interpolation="previous")) >> d["chart"][name]
    return simulate(d, until, log_every=0.05, engine=engine)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_watchdog_barks_half_a_second_after_the_newest_kick(sample, engine):
    chart = StateChart(
        events=["kick"],
        outputs={"late": 0.0, "beats": 0.0},
        states=[
            State("on", parallel=True, states=[State("dog"), State("heart", entry="beats += 1")]),
            State("off", entry="late = 1"),
        ],
        transitions=[
            Transition("dog", "dog", on="kick"),
            Transition("dog", "off", "after(0.5)"),
            Transition("heart", "heart", "after(0.35)"),
        ],
        sample=sample,
    )
    kicks = [0.0, 0.2, 0.25, 0.4, 0.45, 0.7, 0.75], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    r = run(chart, 1.6, engine, kick=kicks)
    assert r["chart.late"][:, 0] == pytest.approx(
        np.where(r.time > 1.19, 1.0, 0.0)
    )  # the last kick was at 0.7
    assert r["chart.beats"][:, 0] == pytest.approx(1 + np.floor(np.minimum(r.time + 1e-9, 1.2) / 0.35))


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("inside", [False, True])
def test_timers_side_by_side_start_anew_each_by_itself(sample, inside):
    timers = [State("p", entry="n += 1"), State("q", entry="m += 1")]
    chart = StateChart(
        outputs={"n": 0.0, "m": 0.0},
        states=[State("both", states=timers, parallel=True)] if inside else timers,
        parallel=not inside,
        transitions=[Transition("p", "p", "after(0.3)"), Transition("q", "q", "after(0.5)")],
        sample=sample,
    )
    r = run(chart, 2.0)
    for name, seconds in (("n", 0.3), ("m", 0.5)):
        assert r[f"chart.{name}"][:, 0] == pytest.approx(1 + np.floor((r.time + 1e-9) / seconds))


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_parallel_state_that_its_inside_leads_back_to_is_entered_then(sample):
    chart = StateChart(
        outputs={"n": 0.0},
        parallel=True,
        states=[State("p", entry="n += 1", states=[State("a"), State("b")]), State("q")],
        transitions=[
            Transition("a", "b", "after(0.1)"),
            Transition("b", "p", "after(0.2)"),
            Transition("p", "p", "after(0.45)"),  # never: p is entered every 0.3 s
        ],
        sample=sample,
    )
    r = run(chart, 2.0)
    assert r["chart.n"][:, 0] == pytest.approx(1 + np.floor((r.time + 1e-9) / 0.3))


def test_a_state_that_is_entered_anew_keeps_no_other_from_acting():
    chart = StateChart(
        events=["kick"],
        outputs={"n": 0.0, "m": 0.0},
        parallel=True,
        states=[State("p", during="n += 1"), State("q", during="m += 1")],
        transitions=[Transition("p", "p", on="kick")],
        sample=0.05,
    )
    kicks = [0.0, 0.2, 0.3, 0.5, 0.55], [0.0, 1.0, 0.0, 1.0, 0.0]
    r = run(chart, 1.0, kick=kicks)
    ticks = np.arange(21)
    assert r["chart.m"][:, 0] == pytest.approx(ticks)
    assert r["chart.n"][:, 0] == pytest.approx(ticks - (ticks >= 4) - (ticks >= 10.0))
