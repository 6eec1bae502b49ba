"""Cases of an earlier study used again: the same bits, and only where they are the same cases."""

import numpy as np
import pandas as pd
import pytest

from blocks import Gain, PlantloopError, Sine, TransferFunction
from cosim import Diagram, Study


@pytest.fixture
def quiet():
    """A sine through a gain and a lag: nothing is drawn."""
    d = Diagram("quiet")
    d.add("sine", Sine(frequency=3.0))
    d.add("k", Gain(1.0))
    d.add("lag", TransferFunction([1.0], [0.3, 1.0]))
    d.connect("sine.y", "k.u")
    d.connect("k.y", "lag.u")
    return d


def study_of(d, gains, **more):
    given = {
        "until": 1.0, "log_every": 0.05, "metrics": {"top": "max(lag.y)"},
        "requirements": [{"name": "low", "always": "lag.y < 0.8"}],
    }  # fmt: skip
    return Study(d, sweep={"k.k": gains}, **given | more)


@pytest.mark.slow
def test_what_is_the_same_is_copied_and_the_rest_run(quiet, tmp_path):
    old = study_of(quiet, [1.0, 2.0, 3.0, 4.0]).run(tmp_path / "old", workers=1)
    new = study_of(quiet, [7.0, 3.0, 5.0, 1.0, 6.0])
    told = []
    s = new.run(tmp_path / "new", workers=1, reuse=tmp_path / "old", progress=told.append)
    fresh = new.run(tmp_path / "fresh", workers=1)
    same = lambda a, b: pd.testing.assert_frame_equal(a, b, check_exact=True)
    same(s.table.drop(columns="wall_time"), fresh.table.drop(columns="wall_time"))
    assert np.array_equal(s.signals["lag.y"], fresh.signals["lag.y"])
    assert s.table.loc[1, "wall_time"] == old.table.loc[2, "wall_time"]
    assert s.table.loc[3, "wall_time"] == old.table.loc[0, "wall_time"]
    assert (told[0].done, told[-1].done) == (2, 5)
    assert told[0].unmet == int((~old.table.loc[[0, 2], "low"].astype(bool)).sum())


def test_where_something_draws_the_seed_counts(loop, tmp_path):
    cases = lambda *seeds: {"method": "list", "cases": [{"k.k": 2.0, "seed": s} for s in seeds]}
    base = {"until": 0.5, "metrics": {"last": "final(noise.y)"}, "store": {"keep": "summary"}}
    old = Study(loop, sampling=cases(1, 2, 3), **base).run(tmp_path / "old", workers=1)
    s = Study(loop, sampling=cases(9, 3), **base).run(tmp_path / "new", workers=1, reuse=tmp_path / "old")
    assert s.table.loc[1, "wall_time"] == old.table.loc[2, "wall_time"]
    assert s.table.loc[0, "last"] != s.table.loc[1, "last"] == old.table.loc[2, "last"]


def test_what_changed_is_named_and_nothing_is_written(quiet, tmp_path):
    study_of(quiet, [1.0, 2.0]).run(tmp_path / "old", workers=1)
    for change, says in (
        ({"metrics": {"top": "min(lag.y)"}}, "metrics changed"),
        ({"rtol": 1e-4}, "settings changed"),
        ({"until": 2.0}, "until"),
    ):
        with pytest.raises(PlantloopError, match=says):
            study_of(quiet, [1.0], **change).run(tmp_path / "new", reuse=tmp_path / "old")
    with pytest.raises(PlantloopError, match="no folder of a study"):
        study_of(quiet, [1.0]).run(tmp_path / "new", reuse=tmp_path / "nowhere")
    assert not (tmp_path / "new").exists()
    other = Study(
        quiet, until=1.0, log_every=0.05, metrics={"top": "max(lag.y)"}, sweep={"sine.frequency": [1.0]},
        requirements=[{"name": "low", "always": "lag.y < 0.8"}],
    )  # fmt: skip
    assert other.run(tmp_path / "new", reuse=tmp_path / "old", workers=1).complete  # nothing is the same


def test_chunks_of_which_only_some_cases_are_known(quiet, tmp_path):
    """40 cases in chunks of several, of which every other one was run before, in another order."""
    gains = np.linspace(0.1, 4.0, 40)
    study_of(quiet, gains[::-2].tolist()).run(tmp_path / "old", workers=1)
    new = study_of(quiet, gains.tolist())
    told = []
    s = new.run(tmp_path / "new", workers=1, reuse=tmp_path / "old", progress=told.append)
    assert told[0].done == 20 and s.store.manifest.chunk > 1
    fresh = new.run(tmp_path / "fresh", workers=1)
    pd.testing.assert_frame_equal(s.table.drop(columns="wall_time"), fresh.table.drop(columns="wall_time"))
    assert np.array_equal(s.signals["lag.y"], fresh.signals["lag.y"])
