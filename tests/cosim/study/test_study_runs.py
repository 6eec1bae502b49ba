"""Studies run: the same bits whoever runs them, resumable, one row per case whatever happens."""

import json
import os
import warnings

import numpy as np
import pandas as pd
import pytest

from blocks import (
    CheckRange,
    Constant,
    Gain,
    Integrator,
    PlantloopError,
    Product,
    PythonFunction,
    Sine,
    Step,
    StopWhen,
)
from cosim import Diagram, Enabled, Study, open_study, simulate
from cosim.run.watched import WatchedSignalWarning
from tests.cosim.study.conftest import FILE, noisy_loop

UNTIL = 1.0


def study_of(d, **changes):
    given = {
        "until": UNTIL,
        "sweep": {"k.k": {"from": 1.0, "to": 9.0, "count": 5}},
        "sampling": {
            "method": "monte_carlo", "runs": 3, "seed": 7,
            "parameters": {"lag.x": {"distribution": "normal", "mean": 0.0, "std": 0.1}},
        },
        "metrics": {"effort": "integral(k.y^2)", "peak": "max(abs(lag.y))"},
        "requirements": [{"name": "low", "always": "lag.y < 0.9"}],
        "log_every": 0.01,
    }  # fmt: skip
    return Study(d, **given | changes)


def by_hand(d, study, k, **settings):
    numbers = {name: column[k] for name, column in study.cases.columns.items()}
    return simulate(
        d, UNTIL, parameters={"k.k": numbers["k.k"]}, initial={"lag.x": numbers["lag.x"]},
        seed=int(study.cases.seeds[k]), log_every=0.01, **settings,
    )  # fmt: skip


def same(a, b):
    pd.testing.assert_frame_equal(a.drop(columns="wall_time"), b.drop(columns="wall_time"), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_case_is_the_run_made_by_hand_bit_for_bit(loop, tmp_path, executor):
    study = study_of(loop)
    s = study.run(tmp_path / "out", executor=executor, workers=2)
    for k in (0, 7, 14):
        r = by_hand(loop, study, k)
        assert np.array_equal(s.signals["lag.y"][k], r["lag.y"][:, 0])
        assert np.array_equal(s.case(k).result["noise.y"], r["noise.y"])
        assert s.table.loc[k, "peak"] == np.abs(r["lag.y"]).max()
        assert s.table.loc[k, "low.robustness"] == (0.9 - r["lag.y"]).min()
        assert s.table.loc[k, "low"] == (r["lag.y"].max() <= 0.9)
    assert s.complete
    assert set(s.table["status"]) == {"done"}


@pytest.mark.parametrize(
    "settings", [{"solver": "rk4", "step": 0.01}, {"engine": "reference"}, {"rtol": 1e-4}]
)
def test_what_is_measured_changes_no_bit_of_a_run(loop, tmp_path, settings):
    study = study_of(loop, sweep={"k.k": [3.0]}, **settings)
    found = study.case(1).result
    assert np.array_equal(found["lag.y"], by_hand(loop, study, 1, **settings)["lag.y"])


def test_an_integral_is_exact():
    d = Diagram("sine")
    d.add("sine", Sine(frequency=1.0))
    d.add("held", Gain(2.0))
    d.add("lag", Integrator())
    d.connect("sine.y", "lag.u")
    d.connect("sine.y", "held.u")
    study = Study(
        d, until=2.0, metrics={"a": "integral(sine.y^2)", "m": "mean(held.y) + 1", "r": "rms(held.y)"}
    )
    found = study.case(0).measures
    w = 2 * np.pi if abs(simulate(d, 0.25, log_at=[0.25])["sine.y"][0, 0] - 1) < 1e-9 else 1.0
    square = 1.0 - np.sin(4 * w) / (4 * w)  # of sin(w t)^2 over 2 s
    assert found["a"] == pytest.approx(square, abs=1e-7)
    assert found["r"] == pytest.approx(2 * np.sqrt(square / 2), abs=1e-7)
    assert found["m"] == pytest.approx(1 + (1 - np.cos(2 * w)) / w, abs=1e-7)


@pytest.mark.slow
def test_order_number_of_workers_and_pieces_change_nothing(loop, tmp_path):
    study = study_of(loop)
    whole = study.run(tmp_path / "a", executor="threads", workers=1)
    study.run(tmp_path / "b", only="11,3", workers=2)
    study.run(tmp_path / "b", resume=True, limit=4)
    parts = study.run(tmp_path / "b", resume=True, executor="processes", workers=2)
    same(whole.table, parts.table)
    assert np.array_equal(whole.signals["lag.y"], parts.signals["lag.y"])


def test_draws_and_seeds_do_not_depend_on_how_many_runs(loop):
    for method in ("monte_carlo", "sobol", "halton"):
        sampling = {"method": method, "seed": 4, "parameters": {"lag.x": {"low": 0.0, "high": 1.0}}}
        few, many = (Study(loop, until=1.0, sampling=sampling | {"runs": runs}).cases for runs in (4, 16))
        assert np.array_equal(few.columns["lag.x"], many.columns["lag.x"][:4])
        assert np.array_equal(few.seeds, many.seeds[:4])
        assert len(set(many.seeds.tolist())) == 16


def test_results_of_another_study_are_not_touched(loop, tmp_path):
    study_of(loop).run(tmp_path / "out")
    with pytest.raises(PlantloopError, match="already"):
        study_of(loop).run(tmp_path / "out")
    changed = study_of(loop, requirements=[{"name": "low", "always": "lag.y < 0.8"}])
    with pytest.raises(PlantloopError, match="requirements changed"):
        changed.run(tmp_path / "out", resume=True)
    with pytest.raises(PlantloopError, match="settings changed"):
        study_of(loop, rtol=1e-6).run(tmp_path / "out", resume=True)
    with pytest.raises(PlantloopError, match="it has 15 cases, now there are 12"):
        study_of(loop, sweep={"k.k": [1.0, 2.0, 3.0, 4.0]}).run(tmp_path / "out", resume=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    with pytest.raises(PlantloopError, match="letter.txt"):
        study_of(loop).run(other)
    assert [p.name for p in other.iterdir()] == ["letter.txt"]


def test_requirements_may_have_numbers_alone_in_them(loop):
    """What says nothing of a signal stays the same over the run, at every instant and in every window."""
    texts = {
        "a": "always(1 < 3)", "b": "eventually[0.1, 0.2](lag.y < 50 or 0 > 1)",
        "c": "1 > 3 until[0, 1] 0 < 2", "d": "always[0.5, 9](k.y > -99 and 1 < 2)",
    }  # fmt: skip
    requirements = [{"name": n, "formula": text} for n, text in texts.items()]
    requirements += [{"name": "e", "check": "always(max(lag.y) < 9) and 2 < 5"}]
    study = study_of(loop, requirements=requirements)
    found, r = study.case(4).measures, by_hand(loop, study, 4)
    assert found["a.robustness"] == 2.0
    part = r["lag.y"][(r.time > 0.099) & (r.time < 0.201), 0]
    assert found["b.robustness"] == pytest.approx(50 - part.min(), abs=1e-12)
    assert found["c.robustness"] == 2.0
    assert found["d.robustness"] == 1.0
    assert found["e.robustness"] == min(3.0, 9.0 - r["lag.y"].max())


def test_numbers_of_cases_in_wrong_order_are_refused(loop, tmp_path):
    with pytest.raises(PlantloopError, match="'5-2' names no cases"):
        study_of(loop).run(tmp_path / "out", only="5-2")


@pytest.mark.parametrize(
    "wrong",
    [{"only": "99"}, {"only": "foo"}, {"only": [15]}, {"limit": 0}, {"workers": 0}, {"executor": "dusk"}],
    ids=str,
)
def test_a_request_that_is_refused_writes_nothing(loop, tmp_path, wrong):
    with pytest.raises(PlantloopError):
        study_of(loop).run(tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_a_failed_run_is_a_row_and_a_stop_is_no_failure(tmp_path):
    d = Diagram("growth")  # x' = a x^2 from 1 runs away at 1/a
    d.add("x", Integrator(initial=1.0))
    d.add("square", Product("**"))
    d.add("a", Gain(1.0))
    d.add("end", StopWhen("large enough", threshold=50.0))
    for target in ("square.in1", "square.in2", "end.u"):
        d.connect("x.y", target)
    d.connect("square.y", "a.u")
    d.connect("a.y", "x.u")
    study = Study(
        d, until=2.0, sweep={"a.k": [0.1, 1.0]}, metrics={"last": "final(x.y)"},
        requirements=[{"name": "small", "always": "x.y < 2"}], log_every=0.1,
    )  # fmt: skip
    s = study.run(tmp_path / "out")
    assert list(s.table["status"]) == ["done", "stopped"]
    assert s.table.loc[1, "message"] == "'end': large enough"
    assert s.table.loc[1, "last"] == pytest.approx(50.0, rel=1e-6)
    assert s.table.loc[1, "end_time"] == pytest.approx(1 - 1 / 50, abs=1e-6)
    assert list(s.failed.index) == [1]
    assert np.isnan(s.signals["x.y"][1, -1])
    d2 = Diagram("growth2")
    for name in ("x", "square", "a"):
        d2.add(name, d.graph.nodes[name]["block"])
    d2.connect("x.y", "square.in1")
    d2.connect("x.y", "square.in2")
    d2.connect("square.y", "a.u")
    d2.connect("a.y", "x.u")
    s = Study(d2, until=2.0, sweep={"a.k": [0.1, 1.0]}, log_every=0.1).run(tmp_path / "out2")
    assert list(s.table["status"]) == ["done", "failed"]
    assert "t=1" in s.table.loc[1, "message"] or "t=0.99" in s.table.loc[1, "message"]
    sim = s.case(1).replayed()
    assert 0.9 < sim.time < 1.0
    with pytest.raises(PlantloopError):
        sim.advance(2.0)


def test_python_in_the_model_runs_in_processes(tmp_path):
    d = Diagram("python")
    d.add("f", PythonFunction(lambda t, u: os._exit(3) if u[0] > 2.5 else 2 * u, 1, sample=0.1))
    d.add("u", Constant(1.0))
    d.connect("u.y", "f.u")
    study = Study(d, until=0.3, sweep={"u.value": [1.0, 2.0, 3.0]}, metrics={"last": "final(f.y)"})
    s = study.run(tmp_path / "out", workers=2)
    assert list(s.table["last"][:2]) == [2.0, 4.0]
    assert list(s.table["status"]) == ["done", "done", "failed"]
    assert "exit code 3" in s.table.loc[2, "message"]


class NoTextError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class UndecodedNameError(Exception):
    """Of a file that is not called in UTF-8, as Python reads its name."""

    def __str__(self):
        return "no file \udcff"


@pytest.mark.slow
@pytest.mark.parametrize("sample", [0.1, None])
def test_errors_without_a_text_that_files_keep_are_rows_too(tmp_path, sample):
    def fail(t, u):
        if u[0] > 1.0 and t > 0.1:
            raise (NoTextError if u[0] < 2.5 else UndecodedNameError)
        return u

    d = Diagram("python")
    d.add("f", PythonFunction(fail, 1, sample=sample))
    d.add("u", Constant(1.0))
    d.add("x", Integrator())
    d.connect("u.y", "f.u")
    d.connect("f.y", "x.u")
    study = Study(d, until=0.3, sweep={"u.value": [1.0, 2.0, 3.0]}, metrics={"last": "final(f.y)"})
    table = study.run(tmp_path / "out", executor="threads", workers=1).table
    assert list(table["status"]) == ["done", "failed", "failed"]
    assert "raised NoTextError" in table.loc[1, "message"]
    assert r"no file \udcff" in table.loc[2, "message"]


@pytest.mark.slow
def test_a_run_that_ends_its_process_among_blocks_that_warn(tmp_path):
    d = Diagram("python")
    d.add("f", PythonFunction(lambda t, u: os._exit(3) if u[0] > 2.5 else 2 * u, 1, sample=0.1))
    d.add("u", Constant(1.0))
    d.add("range", CheckRange(high=3.0, action="warn"))
    d.connect("u.y", "f.u")
    d.connect("f.y", "range.u")
    study = Study(d, until=0.3, sweep={"u.value": [3.0, 2.0, 1.0]}, metrics={"last": "final(f.y)"})
    with pytest.warns(WatchedSignalWarning, match="in 1 of 3 cases, case 1 the first"):
        s = study.run(tmp_path / "out", executor="processes", workers=1)
    assert list(s.table["status"]) == ["failed", "done", "done"]
    assert [bool(text) for text in s.table["warnings"]] == [False, True, False]


@pytest.mark.slow
def test_what_is_kept(loop, tmp_path):
    summary = study_of(loop, store={"keep": "summary"}).run(tmp_path / "a")
    assert not (tmp_path / "a" / "signals.zarr").exists()
    with pytest.raises(PlantloopError, match="keeps no signals"):
        _ = summary.signals
    wanted = {"keep": "failed", "signals": ["l*", "k.y"], "every": 0.1, "dtype": "float32"}
    failed = study_of(loop, store=wanted).run(tmp_path / "b")
    assert set(failed.signals) == {"lag.y", "k.y"}
    assert failed.signals["k.y"].dtype == np.float32
    kept = np.isfinite(failed.signals["lag.y"]).any("time").to_numpy()
    assert np.array_equal(kept, ~failed.table["low"].to_numpy(dtype=bool))
    assert 0 < kept.sum() < len(kept)


def test_of_variants_the_signals_all_have_are_stored(loop, tmp_path):
    from tests.cosim.study.conftest import noisy_loop

    more = noisy_loop()
    more.add("extra", Gain(1.0))
    more.connect("lag.y", "extra.u")
    study = study_of(loop, variants={"plain": loop, "more": more}, sweep={"k.k": [1.0, 2.0]})
    s = study.run(tmp_path / "out", workers=2)
    assert "extra.y" not in s.signals
    for k in (1, len(study) - 1):
        for name in ("k.y", "noise.y"):
            assert np.array_equal(s.signals[name][k], s.case(k).result[name][:, 0])


def test_variants_that_end_at_different_times(study_file, tmp_path):
    """Whichever comes first: runs are looked at and stored until each of them is over."""
    for name, ends in (("up", (0.5, 2.0)), ("down", (2.0, 0.5))):
        variants = "".join(f'[[variants]]\nname = "{end}"\nrun.until = {end}\n' for end in ends)
        base = FILE + '[metrics]\nlatest = "time_of_max(step.y + t)"\n' + variants
        study = Study(study_file("", base, f"{name}.toml"), engine="reference")
        s = study.run(tmp_path / name, executor="threads")
        assert list(s.table["latest"]) == list(ends)
        last = [float(s.signals["time"][np.isfinite(row)][-1]) for row in s.signals["lag.y"].values]
        assert last == list(ends)


def test_the_end_of_a_shorter_variant_is_measured(study_file, tmp_path):
    """Also where it lies between two instants of the grid, and where nothing but the end is looked at."""
    text = '[metrics]\narea = "integral(step.y)"\nend = "final(lag.y)"\n'
    text += '[[variants]]\nname = "long"\n[[variants]]\nname = "short"\nrun.until = 0.97\n'
    short = 5 / 6 * (1 - np.exp(-20 * 0.77))  # of 0.3 y' = 5 (1 - y) - y from 0.2 s on
    for keep in ("summary", "all"):
        file = study_file(f'[store]\nkeep = "{keep}"\nevery = 0.1\n', FILE + text)
        s = Study(file, engine="reference").run(tmp_path / keep, executor="threads")
        assert s.table["area"].tolist() == pytest.approx([1.8, 0.77], abs=1e-9)
        assert s.table["end"].tolist() == pytest.approx([5 / 6, short], abs=1e-6)
    assert list(np.isfinite(s.signals["lag.y"].values).sum(axis=1)) == [21, 10]  # 0, 0.1 ... 0.9
    assert s.case(1).result.time[-1] == 0.97


def test_variants_stand_on_one_grid(study_file):
    variants = '[[variants]]\nname = "a"\n[[variants]]\nname = "b"\nrun.log_every = 0.1\n'
    with pytest.raises(PlantloopError, match=r"'a' and 'b' .* 0.02 s and 0.1 s.*\[store\] every"):
        Study(study_file(variants))
    assert len(Study(study_file(variants + "[store]\nevery = 0.05")).plan.times) == 41
    assert len(Study(study_file(variants.replace("0.1", '"1/50"'))).plan.times) == 101


def test_what_decides_the_structure_is_built_anew(study_file):
    """The integral of a step from T on until 1 s is 1 - T."""
    motor = Diagram("motor")
    motor.add("step", Step(time=motor.parameter("T", 0.1)))
    motor.outport("y", "step.y")
    d = Diagram("outer")
    d.add("motor", motor)
    d.add("late", Step(time=0.5))
    area = {"until": 1.0, "metrics": {"a": "integral(motor.y + late.y)"}, "engine": "reference"}
    both = {"motor.T": 0.3, "late.time": 0.8}
    for study in (
        Study(d, parameters=both, **area),
        Study(d, variants={"a": d.with_parameters(**both)}, **area),
    ):
        assert study.case(0).measures["a"] == pytest.approx(0.7 + 0.2, abs=1e-12)
    text = '[[variants]]\nname = "a"\n[[variants]]\nname = "b"\nblocks.step.time = 0.7\n'
    file = study_file('[metrics]\na = "integral(step.y)"\n', FILE + text)
    study = Study(file, engine="reference")
    assert [study.case(k).measures["a"] for k in (0, 1)] == pytest.approx([1.8, 1.3], abs=1e-12)


def test_stars_find_outputs_of_parts(study_file):
    inner = Diagram("inner")
    inner.add("i", Integrator())
    inner.connect(inner.inport("u"), "i.u")
    inner.outport("y", "i.y")
    d = Diagram("outer")
    d.add("c", Constant(1.0))
    d.add("en", Enabled(inner))
    d.connect("c.y", "en.u")
    d.connect("c.y", "en.enable")
    for pattern in ("en.*", "e?.y", "en.y"):
        stored = Study(d, until=1.0, store={"signals": [pattern]}).plan.prepared(0).stored
        assert [d.system().shown["en.y"]] == list(stored)
    with pytest.raises(PlantloopError, match=r"no signal fits 'em.\*'; there is .*'en.y'"):
        Study(d, until=1.0, store={"signals": ["em.*"]})


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_blocks_that_warn_do_so_in_studies(loop, tmp_path, executor):
    loop.add("high", CheckRange(high=0.7, message="too high", action="warn"))
    loop.connect("lag.y", "high.u")
    loop.add("low", CheckRange(low=-9.0, action="warn"))
    loop.connect("lag.y", "low.u")
    grid = {
        "engine": "reference",
        "store": {"keep": "summary"},
        "log_every": 0.3,
    }  # the end is no instant of it
    study = study_of(loop, sampling=None, **grid)
    with pytest.warns(WatchedSignalWarning) as caught:
        s = study.run(tmp_path / "out", executor=executor, workers=2)
    dense = [by_gain(loop, study, k) for k in range(len(study))]
    fired = np.array([r["lag.y"].max() > 0.7 for r in dense])
    assert 0 < fired.sum() < len(fired)
    assert list(s.table["warnings"]) == ["'high': too high" if f else "" for f in fired]
    first, count = int(np.argmax(fired)), int(fired.sum())
    assert [str(w.message) for w in caught] == [
        f"'high': too high (in {count} of {len(fired)} cases, case {first} the first)."
    ]
    with pytest.warns(WatchedSignalWarning, match="too high"):
        again = study.run(tmp_path / "again", reuse=tmp_path / "out")
    same(s.table, again.table)
    assert "warnings" not in study_of(noisy_loop(), sampling=None).case(0).measures


def test_before_the_first_case_the_table_has_its_columns(loop, tmp_path):
    loop.add("high", CheckRange(high=9.0, action="warn"))
    loop.connect("lag.y", "high.u")
    study = study_of(loop, engine="reference")
    begun = study.run(tmp_path / "out", only="failed")
    before = begun.table
    names = [*before]
    assert len(before) == len(begun.failed) == 0
    after = study.run(tmp_path / "out", resume=True, limit=1, executor="threads")
    assert [*names, "warnings"] == sorted(after.table, key=lambda n: n == "warnings")
    same(before, after.table.iloc[:0].drop(columns="warnings"))  # of the same kinds too


def by_gain(d, study, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WatchedSignalWarning)
        gain, seed = study.cases.columns["k.k"][k], int(study.cases.seeds[k])
        return simulate(d, UNTIL, parameters={"k.k": gain}, seed=seed, engine="reference")


@pytest.mark.slow
def test_chunks_of_many_batches_are_the_same_bits(loop, tmp_path, monkeypatch):
    study = study_of(
        loop, sampling={"method": "halton", "runs": 9, "parameters": {"lag.x": {"low": 0, "high": 1}}}
    )
    whole = study.run(tmp_path / "a", workers=1)
    monkeypatch.setattr("cosim.study.running.BATCH", 1)
    single = study.run(tmp_path / "b", workers=1)
    same(whole.table, single.table)
    assert np.array_equal(whole.signals["lag.y"], single.signals["lag.y"])


@pytest.mark.slow
def test_opened_elsewhere_without_the_model(loop, tmp_path):
    study_of(loop).run(tmp_path / "out")
    s = open_study(tmp_path / "out")
    r = by_hand(loop, study_of(loop), 3)
    assert np.array_equal(s.case(3).result["lag.y"], r["lag.y"])
    assert s.case(3).parameters["k.k"] == 3.0
    assert json.loads((tmp_path / "out" / "study.json").read_text())["count"] == 15
    with pytest.raises(PlantloopError, match="no case 15"):
        s.case(15)
    with pytest.raises(PlantloopError, match=r"no folder of a study: there is no such"):
        open_study(tmp_path / "nothing")
    (tmp_path / "out" / "table" / "000002.parquet").write_bytes(b"half a file")
    with pytest.raises(PlantloopError, match="damaged"):
        _ = s.table


@pytest.mark.slow
def test_in_memory_of_fsspec(loop):
    s = study_of(loop).run("memory://study_of_loop")
    assert len(open_study("memory://study_of_loop").table) == 15
    assert np.array_equal(s.signals["lag.y"][2], by_hand(loop, study_of(loop), 2)["lag.y"][:, 0])


@pytest.mark.slow
def test_dask_gives_the_same(loop, tmp_path, monkeypatch):
    study = study_of(loop)
    whole = study.run(tmp_path / "a", workers=1)
    parts = study.run(tmp_path / "b", executor="dask", workers=2)
    same(whole.table, parts.table)
    assert np.array_equal(whole.signals["lag.y"], parts.signals["lag.y"])
    monkeypatch.setattr("cosim.study.dask_cluster.CONNECT", 1)
    with pytest.raises(PlantloopError, match="no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        study.run(tmp_path / "c", executor="dask", scheduler="tcp://127.0.0.1:1")


def test_initial_values_that_follow_from_parameters_of_the_diagram(tmp_path):
    d = Diagram("follows")
    x0 = d.parameter("x0", 1.0)
    d.add("x", Integrator(initial=2 * x0))
    d.add("u", Constant(x0))
    d.connect("u.y", "x.u")
    study = Study(d, until=1.0, sweep={"x0": [1.0, 3.0]}, metrics={"end": "final(x.y)"})
    s = study.run(tmp_path / "out", workers=1)
    assert list(s.table["end"]) == pytest.approx([3.0, 9.0])
    assert s.case(1).result["x.y"][0, 0] == 6.0
    both = Study(d, until=1.0, sweep={"x0": [1.0, 3.0]}, initial={"x.x": 0.5}, metrics={"end": "final(x.y)"})
    assert both.case(1).measures["end"] == pytest.approx(3.5)


def test_what_a_study_is_looked_at(loop, study_file):
    """An interval that is given counts for files too; that instants of single runs do not, is said."""
    with pytest.raises(PlantloopError, match="log_every is 'step', expected seconds.*one grid"):
        study_of(loop, log_every="step")
    with pytest.raises(PlantloopError, match="log_every"):
        study_of(loop, log_every=-1.0)
    own = FILE.replace("log_every = 0.02", "log_at = [0.5, 2.0]")
    metric = '[metrics]\npeak = "max(lag.y)"\n'
    with pytest.warns(UserWarning, match="log_at of 'study.toml' is for single runs.*every thousandth"):
        assert len(Study(study_file(metric, own), engine="reference").plan.times) == 1001
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Study(study_file(metric, own), engine="reference", log_every=0.5).plan.times) == 5
        every = study_file(
            metric + "[store]\nevery = 0.1\n", own.replace("log_at = [0.5, 2.0]", 'log_every = "step"')
        )
        assert len(Study(every, engine="reference").plan.times) == 21
