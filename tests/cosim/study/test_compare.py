"""How far numbers of two studies are apart, and in which case."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from blocks.errors import PlantloopError
from cosim.study.compare import _farthest, _signals, compare

NAN = np.nan


@pytest.mark.parametrize(
    ("x", "y", "apart"),
    [
        ([1.0, 2.0, 3.0], [1.5, 2.0, 1.0], (2.0, 12)),
        ([NAN, 2.0, 3.0], [NAN, 2.5, 3.0], (0.5, 11)),
        ([1.0, 2.0, 3.0], [9.0, NAN, 3.0], (np.inf, 11)),
        ([NAN, 2.0, 3.0], [1.0, 5.0, 3.0], (np.inf, 10)),
        ([np.inf, 2.0, 3.0], [np.inf, 2.0, 4.0], (1.0, 12)),
        ([np.inf, 2.0, 3.0], [-np.inf, 2.0, 4.0], (np.inf, 10)),
    ],
)
def test_the_farthest_case_of_a_metric(x, y, apart):
    assert _farthest(np.array(x), np.array(y), np.array([10, 11, 12])) == apart


def view(times, **signals):
    """Signals (cases, times, size) by name."""
    stored = {name: [np.shape(v)[2], []] for name, v in signals.items()}
    store = SimpleNamespace(manifest=SimpleNamespace(times=times, stored=stored), numbers_of=np.asarray)
    return SimpleNamespace(store=store, signals={name: np.array(v) for name, v in signals.items()})


def test_the_farthest_case_of_a_signal():
    """Case 2 of 3 by 0.5 in its second component at the last instant; nan in both is alike."""
    x = np.arange(12.0).reshape(3, 2, 2)
    x[0, 0, 0] = NAN
    y = x.copy()
    y[2, 1, 1] += 0.5
    y[1, 0, 0] -= 0.25
    cases = np.arange(3)
    before = view([0.0, 1.0], a=x, only=x, size=x)
    after = view([0.0, 1.0], a=y, size=x[:, :, :1])
    assert _signals(before, after, cases) == {"a": (0.5, 2)}
    assert _signals(before, after, cases[:2]) == {"a": (0.25, 1)}
    assert _signals(before, view([0.0, 2.0], a=y), cases) == {}
    y[1, 1, 1] = NAN
    assert _signals(before, view([0.0, 1.0], a=y), cases) == {"a": (np.inf, 1)}


def test_signals_that_are_inf_in_both_are_the_same():
    """As float32 keeps what is too large for it."""
    x = np.full((2, 2, 1), np.inf)
    y = x.copy()
    y[1, 0, 0] = -np.inf
    assert _signals(view([0.0, 1.0], a=x), view([0.0, 1.0], a=x), np.arange(2)) == {"a": (0.0, 0)}
    assert _signals(view([0.0, 1.0], a=x), view([0.0, 1.0], a=y), np.arange(2)) == {"a": (np.inf, 1)}


def test_more_cases_than_are_looked_at_at_once():
    x = np.zeros((2500, 1, 1))
    y = x.copy()
    y[[700, 2300], 0, 0] = 1.0, 2.0
    assert _signals(view([0.0], a=x), view([0.0], a=y), np.arange(2500)) == {"a": (2.0, 2300)}
    assert _signals(view([0.0], a=x), view([0.0], a=y), np.arange(2200)) == {"a": (1.0, 700)}


def results(**columns):
    """Cases 3 and 4 of a study whose parameter is k."""
    manifest = SimpleNamespace(
        parameters=["k"], requirements=[], metrics=[], fingerprints={}, times=(), stored={}
    )
    table = pd.DataFrame(columns, index=[3, 4])
    return SimpleNamespace(table=table, store=SimpleNamespace(manifest=manifest), signals={})


def test_cases_of_one_number_that_are_not_the_same():
    """Of variants in another order the slow one was compared with the fast one."""
    slow_first = results(variant=["slow", "fast"], k=[1.0, 1.0])
    assert compare(slow_first, slow_first).cases == 2
    assert compare(slow_first, results(k=[1.0, 1.0])).cases == 2  # two versions of a model, each by itself
    with pytest.raises(PlantloopError, match="case 3 .*'variant' is 'slow' and 'fast'"):
        compare(slow_first, results(variant=["fast", "slow"], k=[1.0, 1.0]))
    with pytest.raises(PlantloopError, match="case 4 .*'k' is 1.0 and 1.0000000000000002"):
        compare(slow_first, results(k=[1.0, 1.0 + 2**-52]))
