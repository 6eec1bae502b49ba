"""Distributions, designs of cases, and numbers taken over a run: closed forms and printed definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammainc, ndtr, ndtri
from scipy.stats import truncnorm

from blocks.errors import PlantloopError
from cosim.study.between import SignalCourse
from cosim.study.distributions import distribution
from cosim.study.formulas import parsed
from cosim.study.measures import Measures
from cosim.study.sample_draws import (
    correlated,
    correlation_matrix,
    drawn,
    saltelli,
    shares,
    trajectories,
)
from cosim.study.search import SearchSpace
from cosim.study.step_metrics import described
from cosim.study.study_schema import MetricTable

U = np.array([0.003, 0.1, 0.37, 0.5, 0.81, 0.999])


def normal(u):
    return 2 + 0.5 * ndtri(u)


def exponential(u):
    return 1 - 2 * np.log1p(-u)


def lognormal(u, mean=3.0, std=1.5):
    variance = math.log(1 + (std / mean) ** 2)
    return np.exp(math.log(mean) - variance / 2 + math.sqrt(variance) * ndtri(u))


def triangular(u, low=1.0, mode=2.0, high=5.0):
    """The cumulative share is (x - low)^2 / ((high - low)(mode - low)) up to the mode."""
    rising = low + np.sqrt(u * (high - low) * (mode - low))
    return np.where(
        u <= (mode - low) / (high - low), rising, high - np.sqrt((1 - u) * (high - low) * (high - mode))
    )


def cut(u, low, high, mean=2.0, std=0.5):
    a, b = ndtr((low - mean) / std), ndtr((high - mean) / std)
    return mean + std * ndtri(a + u * (b - a))


@pytest.mark.parametrize(
    ("spec", "expected", "bounds"),
    [
        (
            {"distribution": "normal", "mean": 2.0, "std": 0.5},
            2 + 0.5 * ndtri(U),
            2 + 0.5 * ndtri([0.001, 0.999]),
        ),
        ({"distribution": "lognormal", "mean": 3.0, "std": 1.5}, lognormal(U), (0.0, lognormal(0.999))),
        ({"distribution": "triangular", "low": 1.0, "mode": 2.0, "high": 5.0}, triangular(U), (1.0, 5.0)),
        ({"distribution": "uniform", "low": -1.0, "high": 3.0}, -1 + 4 * U, (-1.0, 3.0)),
        ({"low": -1.0, "high": 3.0}, -1 + 4 * U, (-1.0, 3.0)),
        ({"distribution": "loguniform", "low": 0.1, "high": 1e3}, 0.1 * 1e4**U, (0.1, 1e3)),
        (
            {"distribution": "normal", "mean": 2.0, "std": 0.5, "low": 1.6, "high": 2.1},
            cut(U, 1.6, 2.1),
            (1.6, 2.1),
        ),
        (
            {"distribution": "normal", "mean": 2.0, "std": 0.5, "low": 2.2},
            cut(U, 2.2, math.inf),
            (2.2, cut(0.999, 2.2, math.inf)),
        ),
        (
            {"distribution": "expon", "loc": 1.0, "scale": 2.0},
            1 - 2 * np.log1p(-U),
            (1.0, 1 - 2 * math.log(1e-3)),
        ),
    ],
    ids=lambda v: " ".join(map(str, v.values())) if isinstance(v, dict) else "",
)
def test_quantiles_and_bounds(spec, expected, bounds):
    found = distribution(spec)
    assert found.quantile(U) == pytest.approx(np.asarray(expected), rel=1e-9)
    assert found.bounds == pytest.approx(tuple(bounds), rel=1e-9)


@pytest.mark.parametrize(
    ("low", "high"), [(6.0, math.inf), (8.0, math.inf), (9.0, 9.5), (-9.5, -9.0), (37.0, 38.0)]
)
def test_far_tails_have_as_many_values_as_the_middle(low, high):
    """Above 8 deviations all probabilities round to 1: there were seven values, then none."""
    cuts = {"low": low} | ({"high": high} if high < math.inf else {})
    found = distribution({"distribution": "normal", "mean": 0.0, "std": 1.0} | cuts)
    u = np.linspace(0.01, 0.99, 99)
    values = found.quantile(u)
    assert values == pytest.approx(truncnorm(low, high).ppf(u), rel=1e-12)
    assert len(np.unique(values)) == len(u)


def test_tails_whose_quantiles_scipy_does_not_know_are_refused():
    with pytest.raises(PlantloopError, match="'poisson' has no values within low = 30"):
        distribution({"distribution": "poisson", "mu": 3.0, "low": 30.0})


@pytest.mark.parametrize(("low", "high"), [(-9.45, 0.99), (-7.32, -0.93), (0.01, 9.83)])
@pytest.mark.parametrize("name", ["uniform", "triangular", "loguniform"])
def test_nothing_is_beyond_the_bounds_as_written(name, low, high):
    """low + (high - low) is 0.9900000000000002 for the first: a share of more than a block may take."""
    if name == "loguniform" and low < 0:
        return
    middle = {"mode": 0.5 * (low + high)} if name == "triangular" else {}
    found = distribution({"distribution": name, "low": low, "high": high} | middle)
    assert found.bounds == (low, high)
    parameters = {"a": found}
    assert sorted(drawn("corners", 2, 0, parameters)[:, 0]) == [low, high]
    assert drawn("morris", 200, 0, parameters).max() == high
    assert found.quantile(np.array([1e-300, 1 - 2**-53])).max() <= high
    space = SearchSpace({"a": found.bounds}, {}, frozenset(["a"]) if name == "loguniform" else frozenset())
    values = space.cases(np.array([[0.0], [1.0]]), 1, 0).columns["a"]
    assert low <= values.min() and values.max() <= high


def test_a_distribution_of_scipy_takes_its_own_numbers():
    found = distribution({"distribution": "gamma", "a": 2.5, "scale": 0.3})
    assert gammainc(2.5, found.quantile(U) / 0.3) == pytest.approx(U, rel=1e-9)


def test_whole_numbers_are_drawn_as_often_as_they_are_likely():
    """Poisson's shares k: e^-m m^k / k!, cut off below 2 and above 4, both included."""
    found = distribution({"distribution": "poisson", "mu": 3.0, "low": 1.5, "high": 4.9})
    shares = np.array([3.0**k / math.factorial(k) for k in (2, 3, 4)])
    values = found.quantile((np.arange(10_000) + 0.5) / 10_000)
    drawn_shares = [(values == k).mean() for k in (2, 3, 4)]
    assert drawn_shares == pytest.approx(shares / shares.sum(), abs=2e-4)
    assert found.bounds == (2.0, 4.0)
    assert list(found.nearest(np.array([2.4, 2.6]))) == [2.0, 3.0]
    dice = distribution({"distribution": "randint", "low": 1, "high": 7})
    assert list(dice.quantile((np.arange(6) + 0.5) / 6)) == [1, 2, 3, 4, 5, 6]
    assert distribution({"distribution": "poisson", "mu": 3.0, "loc": 0.5, "low": 1.0}).bounds[0] == 1.5


def test_numbers_are_those_of_scipy_whatever_they_are_called():
    """lognorm has one called s; uniform and loguniform may be written in both ways, and cut off."""
    assert distribution({"distribution": "lognorm", "s": 0.5, "scale": 2.0}).quantile(U) == pytest.approx(
        2 * np.exp(0.5 * ndtri(U)), rel=1e-9
    )
    assert distribution({"distribution": "loguniform", "a": 0.1, "b": 10.0}).bounds == pytest.approx(
        (0.1, 10)
    )
    half = distribution({"distribution": "uniform", "loc": 1.0, "scale": 2.0, "high": 2.0})
    assert half.bounds == (1.0, 2.0)
    assert half.quantile(U) == pytest.approx(1 + U)


def test_designs_and_searches_go_to_whole_numbers():
    some = {
        "a.n": distribution({"distribution": "randint", "low": 0, "high": 6}),
        "a.k": distribution({"low": 0, "high": 1}),
    }
    for method, runs in (("morris", 30), ("saltelli", 32), ("corners", 0), ("sobol", 16)):
        values = drawn(method, runs, 1, some)[:, 0]
        assert set(values) <= {0, 1, 2, 3, 4, 5}, method
    space = SearchSpace({"a.n": (0.0, 5.0)}, {}, whole={"a.n": some["a.n"]})
    cases = space.cases(np.array([[0.0], [0.29], [0.31], [1.0]]), 1, 0)
    assert list(cases.columns["a.n"][:, 0]) == [0, 1, 2, 5]


def test_a_range_without_values_is_refused():
    with pytest.raises(PlantloopError, match="no values between low = 5 and high = 6"):
        distribution({"distribution": "normal", "mean": 0.0, "std": 0.1, "low": 5.0, "high": 6.0})


# --- designs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sobol", "halton", "lhs", "monte_carlo"])
def test_shares_fill_the_cube_evenly_and_rows_do_not_depend_on_how_many_there_are(method):
    u = shares(method, 256, 3, 7)
    assert u.shape == (256, 3) and (u > 0).all() and (u < 1).all()
    assert u.mean(axis=0) == pytest.approx(0.5, abs=0.06) and u.std(axis=0) == pytest.approx(0.289, abs=0.03)
    assert np.corrcoef(u.T) == pytest.approx(np.eye(3), abs=0.2)
    assert not np.array_equal(u, shares(method, 256, 3, 8))
    if method != "lhs":
        assert np.array_equal(shares(method, 16, 3, 7), u[:16])


def test_groups_of_saltelli_exchange_one_number_after_the_other():
    groups = saltelli(8, 3, 5).reshape(8, 5, 3)
    a, b = groups[:, 0], groups[:, -1]
    assert (a != b).all()
    for k in range(3):
        expected = a.copy()
        expected[:, k] = b[:, k]
        assert np.array_equal(groups[:, 1 + k], expected)


def test_trajectories_of_morris_move_every_parameter_once_by_two_thirds():
    found = trajectories(40, 4, 3).reshape(40, 5, 4)
    assert (
        np.unique(np.round(3 * found)).tolist() == [0, 1, 2, 3] and (np.round(3 * found) == 3 * found).all()
    )
    moves = np.diff(found, axis=1)
    assert ((moves != 0).sum(axis=2) == 1).all() and ((moves != 0).sum(axis=1) == 1).all()
    assert np.abs(moves).sum(axis=1) == pytest.approx(2 / 3)
    assert (moves > 0).any() and (moves < 0).any()
    orders = {tuple(one) for one in (moves != 0).argmax(axis=2)}
    assert len(orders) > 5 and len(np.unique(found[:, 0], axis=0)) > 20
    low, high = {"low": -2.0, "high": 4.0}, {"low": 1.0, "high": 1.5}
    ends = {"a": distribution(low), "b": distribution(high)}
    values = drawn("morris", 30, 3, ends)
    levels = trajectories(10, 2, 3)
    assert values == pytest.approx(np.stack([-2 + 6 * levels[:, 0], 1 + 0.5 * levels[:, 1]], axis=1))


def test_corners():
    ends = {"a": distribution({"low": 0.0, "high": 1.0}), "b": distribution({"low": 5.0, "high": 6.0})}
    assert drawn("corners", 4, 1, ends).tolist() == [[0, 5], [0, 6], [1, 5], [1, 6]]


def test_correlated_shares_are_a_gaussian_copula():
    """Scores are L z: the second one r z1 + sqrt(1 - r^2) z2."""
    u = shares("monte_carlo", 50, 2, 3)
    r = -0.6
    found = correlated(u, correlation_matrix(["a", "b"], [("a", "b", r)]))
    z = ndtri(u)
    assert found[:, 0] == pytest.approx(u[:, 0], rel=1e-12)
    assert ndtri(found[:, 1]) == pytest.approx(r * z[:, 0] + math.sqrt(1 - r * r) * z[:, 1], rel=1e-8)
    ends = correlated(np.array([[1 - 1e-16, 0.5], [1e-300, 0.5]]), correlation_matrix(["a", "b"], []))
    assert (
        ends[:, 0] == pytest.approx([1.0, 0.0], abs=2e-12)
        and (ends > 1e-13).all()
        and (ends < 1 - 1e-13).all()
    )
    three = correlation_matrix(["a", "b", "c"], [("a", "c", 0.3), ("c", "b", -0.2)])
    assert three.tolist() == [[1, 0, 0.3], [0, 1, -0.2], [0.3, -0.2, 1]]
    values = drawn(
        "monte_carlo", 50, 3, {n: distribution({"low": 0.0, "high": 1.0}) for n in "ab"}, [("a", "b", r)]
    )
    assert values == pytest.approx(found, rel=1e-12)


# --- numbers of a run ------------------------------------------------------------------------------------


def taken(text, runs):
    """A metric of runs of one signal, given at the instants of `TIME`."""
    measures = Measures({"it": parsed(text)})
    columns = dict.fromkeys(measures.probes().formulas, runs)
    return measures.evaluate(TIME, columns)["it"]


TIME = np.array([0.0, 0.5, 2.0, 2.5, 4.0])
RUNS = np.array([[0.0, 3.0, -1.0, 2.0, 1.0], [5.0, -4.0, 4.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max(a.y)", [3, 5]),
        ("min(a.y)", [-1, -4]),
        ("time_of_max(a.y)", [0.5, 0]),
        ("time_of_min(a.y)", [2.0, 0.5]),
        ("initial(a.y)", [0, 5]),
        ("final(a.y)", [1, 0]),
        ("median(a.y)", [1, 0]),
        ("std(a.y)", [math.sqrt(2), math.sqrt(10.4)]),  # about means 1 and 1
        ("percentile(a.y, 25)", [0, 0]),
        ("percentile(a.y, 90)", [2.6, 4.6]),
        ("count(a.y > 0.5)", [2, 2]),
        ("count(a.y >= 0)", [2, 2]),
        ("duration(a.y > 0.5)", [1.5 + 1.5, 0.5 + 0.5]),
        ("duration(a.y > 0.5 or a.y == 0)", [0.5 + 1.5 + 1.5, 0.5 + 0.5 + 1.5]),
        ("duration(not (a.y > 0.5))", [0.5 + 0.5, 1.5 + 1.5]),
        ("duration(a.y > 1.5 implies a.y > 2.5)", [2.5, 4.0]),
        ("max(a.y) - 2*min(a.y)", [5, 13]),
        ("abs(min(a.y))^2/max(a.y)", [1 / 3, 16 / 5]),
    ],
)
def test_reductions(text, expected):
    assert taken(text, RUNS) == pytest.approx(np.array(expected, dtype=float), abs=1e-12)


def metric(**table):
    return described(MetricTable(**table), SignalCourse(TIME, RUNS)).tolist()


def test_described_metrics_by_hand():
    """The first run goes from 0 to 1 by way of 3, -1 and 2; the second from 5 to 0 by way of -4 and 4."""
    y = parsed("a.y")
    assert metric(percentile=y, q=90.0) == pytest.approx([2.6, 4.6])
    assert metric(overshoot=y) == pytest.approx([200, 80])
    assert metric(overshoot=y, value=2.0) == pytest.approx([50, 100 * 6 / 3])
    assert metric(overshoot=y, value=9.0)[0] == 0.0
    assert metric(rise=y) == [0.0 + 0.5 - 0.5, 0.0]
    assert metric(rise=y, value=4.0, low=0.1, high=0.7)[0] == 0.0
    assert math.isnan(metric(rise=y, value=4.0, high=0.8)[0])
    slow = described(
        MetricTable(rise=y, low=0.2, high=0.6), SignalCourse(TIME, np.array([[0.0, 0.2, 0.5, 0.6, 1.0]]))
    )
    assert slow.tolist() == [2.0]
    assert metric(settling=y, band=1.0) == pytest.approx([4.0, 2.5])  # about 0
    assert metric(settling=y, band=1.0, value=1.5)[0] == 2.5
    assert metric(settling=y, band=9.0) == [0.0, 0.0]
    assert metric(settling=y, band=0.7, relative=True, value=3.0)[0] == 2.5
    assert math.isnan(metric(settling=y, band=0.5, value=2.0)[0])
