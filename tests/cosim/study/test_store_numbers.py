"""Signals and metrics at the ends of what numbers hold: float32 in the store, squares that are no doubles."""

import warnings

import numpy as np
import pytest

from blocks import Clock, Constant, Gain, Mux
from cosim import Diagram, Study, open_study


def study(**store):
    d = Diagram("d")
    c, g, m = d.add("c", Constant(1.0)), d.add("g", Gain(1.0)), d.add("m", Mux(2))
    d.connect(c["y"], g["u"], m["in1"])
    d.connect(g["y"], m["in2"])
    return Study(
        d, until=1.0, log_every=0.5, sweep={"g.k": [1.0, 1e39, -1e300, 3e38]}, metrics={"y": "final(g.y)"},
        store={"signals": ["g.y", "m.out"], **store},
    )  # fmt: skip


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_what_float32_does_not_hold_is_said_once(tmp_path, executor):
    """IEEE 754: the largest single is (2 - 2^-23) 2^127, 3.4e38; NumPy warned of a cast, once per chunk."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        s = study(dtype="float32").run(tmp_path / "a", executor=executor, workers=1)
    assert [str(w.message) for w in said] == [
        "signals were stored as inf, beyond the largest number of float32: g.y, m.out (in 2 of 4 cases, "
        'case 1 the first). Say dtype = "float64" in [store] to keep them.'
    ]
    assert [bool(text) for text in s.table["message"]] == [False, True, True, False]
    assert np.array_equal(s.signals["g.y"][:, 0], np.array([1.0, np.inf, -np.inf, 3e38], np.float32))
    assert list(s.table["y"]) == [1.0, 1e39, -1e300, 3e38]


def test_rows_of_inf_alone_are_rows(tmp_path):
    """They were taken for instants that were not logged."""
    with pytest.warns(UserWarning, match="stored as inf"):
        study(dtype="float32", signals=["g.y"]).run(tmp_path / "a", workers=1)
    r = open_study(tmp_path / "a").case(1).result
    assert list(r.time) == [0.0, 0.5, 1.0] and np.isposinf(r["g.y"]).all()


def test_cases_that_are_not_kept_lose_nothing(tmp_path):
    study(dtype="float32", keep="failed").run(tmp_path / "a", workers=1)  # warnings are errors in tests
    study().run(tmp_path / "b", workers=1)


def test_deviations_of_signals_whose_squares_are_no_doubles(tmp_path):
    """Of 0, 1, ..., n - 1 it is sqrt((n^2 - 1) / 12); times 1e200 it was inf, times 1e-200 it was 0."""
    d = Diagram("d")
    g = d.add("g", Gain(1.0))
    d.connect(d.add("t", Clock())["y"], g["u"])
    s = Study(
        d, until=10.0, log_every=1.0, sweep={"g.k": [1.0, 1e200, 1e-200]}, metrics={"s": "std(g.y)"},
        store={"keep": "summary"},
    ).run(tmp_path / "a", workers=1)  # fmt: skip
    assert (s.table["s"] / s.table["g.k"]).to_numpy() == pytest.approx(np.sqrt(10.0), rel=1e-12)
