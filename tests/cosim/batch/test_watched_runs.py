"""Blocks that warn do so after many runs too: a sin(w t) leaves -1..1.5 in those runs whose a allows it."""

import warnings

import numpy as np
import pytest

from blocks import CheckRange, Constant, Integrator, Sine
from cosim import Diagram, simulate_many
from cosim.run.watched import WatchedSignalWarning


def watched(action="warn"):
    d = Diagram("watched")
    sine = d.add("sine", Sine(amplitude=d.parameter("a", 1.0), frequency=6.0))
    sine >> d.add("safe", CheckRange(-1.0, 1.5, "too hot", action))
    ramp = d.add("ramp", Integrator(initial=[0.0, 0.0]))
    d.add("rates", Constant([1.0, 2.0])) >> ramp >> d.add("far", CheckRange(high=[3.0, 2.5], action=action))
    sine >> d.add("stop", CheckRange(high=1.9, message="end"))
    return d


def said(*arguments, **settings):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        runs = simulate_many(*arguments, **settings)
    return runs, [str(w.message) for w in found if w.category is WatchedSignalWarning], found


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("at", [[0.5], [0.0, 2.0], None])
def test_how_many_runs_and_which_first(engine, at):
    """Also what happens behind the last instant that is logged; a run that stops early counts until then."""
    given = {"parameters": {"a": [0.5, 1.2, 2.0, 1.7]}}
    runs, texts, found = said(watched(), given, 2.0, log_at=at, engine=engine, signals=["sine.y"])
    assert texts == [
        "'safe': too hot (in 3 of 4 runs, run 1 the first).",
        "'far': a signal left its range (in 3 of 4 runs, run 0 the first).",
    ]
    assert found[0].filename == __file__
    assert runs.keys() == ["sine.y"]
    assert runs.table.shape == (4, len(at or [2.0]), 1)
    assert runs.time.tolist() == (at or [2.0])
    assert runs.stopped.tolist() == [False, False, True, False]
    last = np.array([0.5, 1.2, 1.7]) * np.sin(6.0 * runs.time[-1])
    assert np.abs(runs["sine.y"][[0, 1, 3], -1, 0] - last).max() < 1e-12


def test_runs_that_are_built_apart_are_counted_together():
    d = watched()
    d.add("other", Sine(frequency=1.0, sample=d.parameter("T", 0.1)))
    given = {"parameters": {"a": [1.2, 0.5, 1.2], "T": [0.1, 0.2, 0.2]}}
    _, texts, _ = said(d, given, 1.0, engine="reference")
    assert texts == ["'safe': too hot (in 2 of 3 runs, run 0 the first)."]


def test_nothing_is_said_where_nothing_happened():
    assert not said(watched(), {"parameters": {"a": [0.1, 0.9]}}, 1.0, engine="reference")[1]
    assert not said(watched("record"), {"parameters": {"a": [1.2, 1.8]}}, 2.0, engine="reference")[1]
