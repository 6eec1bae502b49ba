"""Sobol indices and elementary effects of test functions known in closed form, and beside SALib's."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from blocks import Constant, PlantloopError
from cosim import Diagram, Study, open_study
from cosim.study.sample_draws import shares
from cosim.study.sensitivity import sensitivity

PI = np.pi


def constants(names):
    d = Diagram("constants")
    for name in names:
        d.add(name, Constant(0.0))
    return d


def sampled(names, method, runs, bounds, metrics, folder, **more):
    sampling = {
        "method": method, "runs": runs, "seed": 5,
        "parameters": {f"{n}.value": {"low": bounds[0], "high": bounds[1]} for n in names},
    }  # fmt: skip
    study = Study(
        constants(names), until=0.1, solver="rk4", step=0.1, log_every=0.1, sampling=sampling,
        metrics=metrics, store={"keep": "summary"}, **more,
    )  # fmt: skip
    return study.run(folder, workers=1)


ISHIGAMI = "sin(final(a.y)) + 7*sin(final(b.y))^2 + 0.1*final(c.y)^4*sin(final(a.y))"


def test_sobol_indices_of_ishigami(tmp_path):
    """T. Ishigami, T. Homma, ISUMA 1990: variances of parts in closed form for a = 7, b = 0.1."""
    s = sampled("abc", "saltelli", 5 * 1024, (-PI, PI), {"y": ISHIGAMI}, tmp_path / "out")
    va, vb = 0.5 * (1 + 0.1 * PI**4 / 5) ** 2, 49 / 8
    vac = 0.01 * PI**8 * 8 / 225
    whole = va + vb + vac
    found = s.sensitivity("y")
    assert list(found.columns) == ["first order", "total"]
    for name, first, total in (("a", va, va + vac), ("b", vb, vb), ("c", 0.0, vac)):
        assert found["first order"][f"{name}.value"] == pytest.approx(first / whole, abs=0.03)
        assert found["total"][f"{name}.value"] == pytest.approx(total / whole, abs=0.03)
    sobol = pytest.importorskip("SALib.analyze.sobol")
    problem = {"num_vars": 3, "names": ["a.value", "b.value", "c.value"], "bounds": [[-PI, PI]] * 3}
    theirs = sobol.analyze(problem, s.table["y"].to_numpy(), calc_second_order=False, num_resamples=2, seed=1)
    ours = found.loc[problem["names"]]
    assert np.allclose(ours["first order"], theirs["S1"], atol=1e-10)
    assert np.allclose(ours["total"], theirs["ST"], atol=1e-10)
    assert open_study(tmp_path / "out").sensitivity("y", "sobol").equals(found)
    with pytest.raises(PlantloopError, match="method = .morris."):
        s.sensitivity("y", "morris")


def test_sobol_indices_of_g_function(tmp_path):
    """I. Sobol, G. Saltelli: g = prod (|4 x - 2| + a) / (1 + a), parts of the variance 1 / (3 (1 + a)^2)."""
    weights = {"a": 0.0, "b": 1.0, "c": 4.5, "d": 9.0}
    y = "*".join(f"(abs(4*final({n}.y) - 2) + {w})/{1 + w}" for n, w in weights.items())
    s = sampled("abcd", "saltelli", 6 * 2048, (0.0, 1.0), {"y": y}, tmp_path / "out")
    parts = {n: 1 / (3 * (1 + w) ** 2) for n, w in weights.items()}
    whole = np.prod([1 + v for v in parts.values()]) - 1
    found = s.sensitivity("y")
    for n, part in parts.items():
        total = part * (whole + 1) / (1 + part)
        assert found["first order"][f"{n}.value"] == pytest.approx(part / whole, abs=0.03)
        assert found["total"][f"{n}.value"] == pytest.approx(total / whole, abs=0.03)


def test_elementary_effects(tmp_path):
    """y = 4 a + b - c + 3 a c on [0, 2]: of a 2 (4 + 3 c), of b always 2, of c 2 (3 a - 1)."""
    y = "4*final(a.y) + final(b.y) - final(c.y) + 3*final(a.y)*final(c.y)"
    s = sampled("abc", "morris", 4 * 200, (0.0, 2.0), {"y": y}, tmp_path / "out")
    found = s.sensitivity("y")
    assert found["mean size"]["b.value"] == pytest.approx(2.0, rel=1e-12)
    assert found["deviation"]["b.value"] == pytest.approx(0.0, abs=1e-12)
    assert found["mean"]["a.value"] == pytest.approx(2 * (4 + 3), abs=0.8)
    assert found["mean"]["c.value"] == pytest.approx(2 * (3 - 1), abs=0.8)
    morris = pytest.importorskip("SALib.analyze.morris")
    names = ["a.value", "b.value", "c.value"]
    problem = {"num_vars": 3, "names": names, "bounds": [[0.0, 2.0]] * 3}
    theirs = morris.analyze(problem, s.table[names].to_numpy(), s.table["y"].to_numpy(), num_levels=4, seed=1)
    ours = found.loc[names]
    assert np.allclose(ours["mean size"], np.asarray(theirs["mu_star"], float), rtol=1e-9)
    assert np.allclose(ours["mean"], np.asarray(theirs["mu"], float), rtol=1e-9)
    assert np.allclose(ours["deviation"], np.asarray(theirs["sigma"], float), rtol=1e-9, atol=1e-9)


def test_groups_without_a_value_are_left_out_and_a_sweep_gives_more_of_them(tmp_path):
    y = {"y": "final(a.y) + 2*final(b.y)"}
    s = sampled("ab", "saltelli", 4 * 256, (0.0, 1.0), y, tmp_path / "out")
    (tmp_path / "out" / "table" / "000002.parquet").unlink()
    s = open_study(tmp_path / "out")
    assert 0 < len(s.missing) < 1024
    assert s.sensitivity("y")["first order"]["b.value"] == pytest.approx(0.8, abs=0.1)
    swept = Study(
        constants("abc"), until=0.1, metrics={"y": "final(a.y)*final(c.y)"}, sweep={"c.value": [1.0, 3.0]},
        sampling={
            "method": "morris", "runs": 12,
            "parameters": {n: {"low": 0.0, "high": 1.0} for n in ("a.value", "b.value")},
        },
    ).run(tmp_path / "b", workers=1)  # fmt: skip
    found = swept.sensitivity("y")
    assert list(found.index) == ["a.value", "b.value"]
    assert found["mean"]["a.value"] == pytest.approx(2.0, rel=1e-12)  # of 1 and 3, as many of each
    assert found["deviation"]["a.value"] == pytest.approx(np.std([1] * 4 + [3] * 4, ddof=1), rel=1e-12)


def test_a_design_needs_whole_groups():
    with pytest.raises(PlantloopError, match="groups of 5 cases for 3 parameters, so write 95 or 100"):
        sampled("abc", "saltelli", 99, (0.0, 1.0), {"y": ISHIGAMI}, "never")
    with pytest.raises(PlantloopError, match="do not go with method"):
        Study(
            constants("ab"), until=0.1,
            sampling={
                "method": "morris", "runs": 6, "correlations": [["a.value", "b.value", 0.5]],
                "parameters": {n: {"low": 0.0, "high": 1.0} for n in ("a.value", "b.value")},
            },
        )  # fmt: skip


def view_of(table, names):
    """A study whose table it is."""
    manifest = SimpleNamespace(design="", parameters=names)
    return SimpleNamespace(
        store=SimpleNamespace(manifest=manifest), table=table, column=lambda name: table[name].to_numpy()
    )


@pytest.mark.parametrize("runs", [128, 256])
@pytest.mark.parametrize("method", ["sobol", "lhs"])
def test_first_order_indices_of_cases_that_fill_the_cube_evenly(runs, method):
    """y = a b: 3/7 each. Of as many cases of Sobol's sequence as a power of 2 they were 0.75 and 0.05."""
    pytest.importorskip("SALib")
    found = []
    for seed in range(8):
        u = shares(method, runs, 2, seed)
        table = pd.DataFrame({"a": u[:, 0], "b": u[:, 1], "y": u[:, 0] * u[:, 1]})
        found.append(sensitivity(view_of(table, ["a", "b"]), "y", "rbd_fast")["first order"][["a", "b"]])
    apart = np.abs(np.array(found) - 3 / 7)
    assert apart.max() < 0.15 and np.sqrt((apart**2).mean()) < 0.06


def test_some_of_many_cases_are_as_all_are():
    """y = a + b + c: alike. Every fourth case had a and b in one half: 0.15, 0.16 and 0.40."""
    pytest.importorskip("SALib")
    u = shares("sobol", 4000, 3, 1)
    table = pd.DataFrame(u, columns=[*"abc"]).assign(y=u.sum(axis=1))
    found = sensitivity(view_of(table, [*"abc"]), "y", "pawn")["pawn"]
    assert found.max() < 1.25 * found.min()
    few = sensitivity(view_of(table.iloc[:1000], [*"abc"]), "y", "pawn")["pawn"]  # these are all looked at
    assert few.max() < 1.25 * few.min() and found.mean() == pytest.approx(few.mean(), rel=0.1)


def test_a_column_of_texts_has_no_sensitivity_and_is_not_drawn(tmp_path):
    s = sampled("ab", "lhs", 10, (0.0, 1.0), {"y": "final(a.y)"}, tmp_path / "out")
    for name in ("message", "status"):
        with pytest.raises(PlantloopError, match=f"column '{name}' of the table has texts"):
            s.sensitivity(name)
        with pytest.raises(PlantloopError, match=f"column '{name}' of the table has texts"):
            s.plot("a.value", name)
    assert s.column("y").dtype == float


def test_ten_cases_are_enough_and_a_regression_is_sorted_by_numbers_not_by_ranks():
    """y = 1000 p + q, where p is 1 once, as q is largest, and small otherwise: by ranks q is first."""
    table = pd.DataFrame({"q": np.arange(10.0), "p": [0.1, -0.1] * 4 + [0.1, 1.0]})
    table["y"] = 1000.0 * (table["p"] > 0.5) + table["q"]

    found = sensitivity(view_of(table, ["q", "p"]), "y", "regression")
    assert list(found.index) == ["p", "q"] and abs(found["regression"]["p"]) > 0.9
    assert found["rank correlation"]["q"] > 0.999 > found["rank correlation"]["p"]
    with pytest.raises(PlantloopError, match="9 cases have a value of 'y', expected 10 or more"):
        sensitivity(view_of(table.iloc[:9], ["q", "p"]), "y", "regression")


@pytest.mark.parametrize("power", [600, -700])
def test_sizes_of_metrics_whose_squares_are_no_doubles(tmp_path, power):
    """Squares of numbers beyond 1e154 are inf, those below 1e-162 are 0: indices were 0 and nan."""
    y = "final(a.y) + 2*final(b.y)*final(b.y)"
    metrics = {"y": y, "big": f"2^({power})*({y})"}
    for method, runs, factor in (("saltelli", 64, 1.0), ("lhs", 24, 1.0), ("morris", 60, 2.0**power)):
        s = sampled("ab", method, runs, (0.0, 1.0), metrics, tmp_path / method)
        plain, big = s.sensitivity("y"), s.sensitivity("big")
        assert np.isfinite(plain.to_numpy()).all() and plain.to_numpy().any()
        pd.testing.assert_frame_equal(big, plain * factor, check_exact=True)


def test_parameters_whose_squares_are_no_doubles():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.random(50), "b": rng.random(50)})
    table["y"] = table["a"] - 2 * table["b"]
    plain = sensitivity(view_of(table, ["a", "b"]), "y", "regression")
    large = sensitivity(view_of(table.assign(a=2.0**900 * table["a"]), ["a", "b"]), "y", "regression")
    pd.testing.assert_frame_equal(large, plain, check_exact=True)


def test_a_parameter_that_varies_only_where_the_metric_has_no_value():
    """Its standard deviation among the others is 0: all coefficients were nan."""
    table = pd.DataFrame({"a": np.arange(12.0), "b": [0.0] * 11 + [1.0]})
    table["y"] = [*(3.0 * np.arange(11.0)), np.nan]
    found = sensitivity(view_of(table, ["a", "b"]), "y", "regression")
    assert list(found.index) == ["a"] and found["regression"]["a"] == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(PlantloopError, match="no parameter varies among the cases with a value of 'y'"):
        sensitivity(view_of(table.assign(a=[1.0] * 11 + [2.0]), ["a", "b"]), "y", "regression")


def test_a_sweep_and_variants_are_no_part_of_the_variance(tmp_path):
    """y = 100 c + a + 2 b, c swept: 0.2 and 0.8 of what a and b spread; with c they were 1e-4 and 3e-4.

    y = c a + b, c of 1 and 3: the variances at the points, of a 1 and 9 times that of b, add up: 10 / 12.
    """
    metrics = {"y": "100*final(c.y) + final(a.y) + 2*final(b.y)", "z": "final(c.y)*final(a.y) + final(b.y)"}
    s = Study(
        constants("abc"), until=0.1, metrics=metrics, sweep={"c.value": [1.0, 3.0]},
        sampling={
            "method": "saltelli", "runs": 4 * 512,
            "parameters": {n: {"low": 0.0, "high": 1.0} for n in ("a.value", "b.value")},
        },
        store={"keep": "summary"},
    ).run(tmp_path / "a", workers=1)  # fmt: skip
    for metric, first in (("y", 0.2), ("z", 10 / 12)):
        found = s.sensitivity(metric)
        for column in ("first order", "total"):
            assert found[column]["a.value"] == pytest.approx(first, abs=0.01)
            assert found[column]["b.value"] == pytest.approx(1 - first, abs=0.01)


def test_elementary_effects_of_whole_numbers(tmp_path):
    """y = n, n of 0, 1, 2: the whole way is 2. A move is half of it, not 2/3: it was 1.5."""
    s = Study(
        constants("ab"), until=0.1, metrics={"y": "final(a.y) + 3*final(b.y)"},
        sampling={
            "method": "morris", "runs": 30,
            "parameters": {
                "a.value": {"distribution": "randint", "low": 0, "high": 3},
                "b.value": {"low": -1.0, "high": 1.0},
            },
        },
        store={"keep": "summary"},
    ).run(tmp_path / "a", workers=1)  # fmt: skip
    found = open_study(tmp_path / "a").sensitivity("y")
    assert found["mean size"]["a.value"] == pytest.approx(2.0, rel=1e-12)
    assert found["mean size"]["b.value"] == pytest.approx(6.0, rel=1e-12)
    assert s.sensitivity("y").equals(found)
