"""Small parts of studies by themselves: processors, formulas, keys, chunks, verdicts, tallies, units."""

import os
from dataclasses import replace
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pandas as pd
import pytest

from blocks import PlantloopError
from cosim import Study, open_study
from cosim.scenario import load_scenario
from cosim.study import dask_cluster, executors, study_progress, suspects
from cosim.study.bases import Base
from cosim.study.between import SignalCourse
from cosim.study.executors import processors
from cosim.study.folder import Folder
from cosim.study.formulas import parsed
from cosim.study.loading import find_key
from cosim.study.measures import Measures, reduction
from cosim.study.opened import StudyResult
from cosim.study.probes import _counted, slopes_of
from cosim.study.reuse import _copy_snapshots
from cosim.study.running import FAILED
from cosim.study.step_metrics import _first
from cosim.study.store import FAILURES, MOST_BYTES, MOST_CASES, chunk_size
from cosim.study.study_progress import WARNINGS, StudyProgress, warn_of_cases
from cosim.study.study_schema import RequirementTable
from cosim.study.study_units import units_of
from cosim.study.verdicts import watched
from cosim.study.work import Tally, snapshot_before_failure
from tests.helpers.decks import deck, pendulum
from tests.helpers.made import alone, ramp


def test_processors_are_those_this_program_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5} if pid == 0 else {0}, raising=False)
    assert processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for count, known in ((6, 6), (None, 1)):
        monkeypatch.setattr(executors.os, "cpu_count", lambda count=count: count)
        assert processors() == known


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("a", ("a",)), ("b.c", ("b", "c")), ("c", ("b", "c")), ("x.y", ("x.y",)), ("p.q", ("b", "p.q")),
        ("list", ("l",)), ("deep", ("l", 1, "deep")), ("some", ("t",)), ("no", None), ("a.b", None),
    ],
)  # fmt: skip
def test_where_a_name_stands_in_a_table(name, keys):
    table = {
        "a": 3, "b": {"c": 1, "p.q": 2}, "x.y": 0, "t": "about some text", "l": ["list", {"deep": 5}], "p": 7,
    }  # fmt: skip
    if name == "list":
        keys = ("l", 0)
    assert find_key(table, name) == keys


@pytest.mark.parametrize(("word", "hint"), [("x", False), ("q", False), ("maxi", True), ("tim", True)])
def test_one_letter_is_like_no_other_name(word, hint):
    with pytest.raises(PlantloopError) as caught:
        parsed(f"{word} < 1")
    first = str(caught.value).splitlines()[0]
    assert (
        first.startswith(f"'{word}' is no name: a signal is block.port") and first.endswith(".port.") != hint
    )


@pytest.mark.parametrize(
    ("texts", "needed"),
    [
        (["final(a.y)"], False), (["final(a.y) + 2"], False), (["max(a.y)"], True),
        (["final(a.y) - max(a.y)"], True), (["final(a.y) - mean(a.y)"], False),
        (["always(a.y < 1)"], True), (["final(a.y) < 3"], False), ([], False),
    ],
)  # fmt: skip
def test_instants_within_a_run_are_needed_where_something_looks_at_them(texts, needed):
    assert Measures({str(k): parsed(text) for k, text in enumerate(texts)}).need_grid is needed


@pytest.mark.parametrize("end", [0.5, 1.0, 4.0])
def test_a_mean_square_over_a_short_run_too(end):
    """y = 3 t: rms = 3 end / sqrt 3, mean 3 end / 2, of integrals that a run gives."""
    time = np.linspace(0.0, end, 5)
    course = SignalCourse(time, 3.0 * time[None, :])
    integrals = lambda power: np.array([3.0**power * end ** (power + 1) / (power + 1)])
    rms, mean = parsed("rms(a.y)"), parsed("mean(a.y)")

    class Integrals(dict):
        def __missing__(self, key):
            return integrals(1 if key == mean.of else 2)

    assert reduction(rms, time, lambda f: course, Integrals()) == pytest.approx([3.0 * end / np.sqrt(3.0)])
    assert reduction(mean, time, lambda f: course, Integrals()) == pytest.approx([1.5 * end])
    still = SignalCourse(np.zeros(1), np.array([[-2.0]]))
    assert reduction(rms, np.zeros(1), lambda f: still, Integrals()) == pytest.approx([2.0])


def test_a_level_is_reached_before_the_peak_behind_it():
    """sin t every 0.5 s: 0.95 between 1 and 1.5 s, the peak between 1.5 and 2 s."""
    time = np.arange(0.0, 3.1, 0.5)
    course = SignalCourse(time, np.sin(time)[None, :], np.cos(time)[None, :])
    assert _first(course, np.array([0.95]), np.ones(1)) == pytest.approx([np.arcsin(0.95)], abs=2e-3)
    assert _first(course, np.array([0.9985]), np.ones(1)) == pytest.approx([np.arcsin(0.9985)], abs=2e-2)


@pytest.mark.parametrize(
    ("count", "each", "seconds", "workers", "size"),
    [
        (80_000, 8, 1e-3, 1, 1000), (80_000, 8, 0.3, 1, 3), (80_000, 8, 10.0, 1, 1), (800, 8, 1e-6, 4, 25),
        (801, 8, 1e-6, 4, 26), (10**9, 8, 1e-9, 1, MOST_CASES), (10**9, MOST_BYTES // 10, 1e-9, 1, 10),
        (0, 0, 0.0, 1, 1),
    ],
)  # fmt: skip
def test_a_chunk_is_a_second_of_work(count, each, seconds, workers, size):
    assert chunk_size(count, each, seconds, workers) == size


def test_snapshots_of_failures_are_copied_with_their_new_numbers(tmp_path):
    old, new = (SimpleNamespace(folder=Folder(str(tmp_path / name))) for name in ("old", "new"))
    for k in (0, 4):
        old.folder.write(f"{FAILURES}/{k}.npz", bytes([k]))
    _copy_snapshots(old, new, np.array([5, 6, 7, 8]), np.array([0, -1, 4, 2]))
    assert sorted(p.name for p in (tmp_path / "new" / FAILURES).iterdir()) == ["5.npz", "7.npz"]
    assert new.folder.read(f"{FAILURES}/5.npz") == b"\0" and new.folder.read(f"{FAILURES}/7.npz") == b"\4"


def test_no_such_case_is_said_and_the_first_is_number_0():
    result = StudyResult(SimpleNamespace(manifest=SimpleNamespace(count=3)))
    assert [result.case(k).number for k in (0, 2, np.int64(1))] == [0, 2, 1]
    for k in (-1, 3, 1.0, "0"):
        with pytest.raises(PlantloopError, match="there are 3, counted from 0"):
            result.case(k)


def test_tallies_are_added_up_from_nothing():
    told = []
    progress = StudyProgress(told.append)
    for tally in (Tally(3, 2, 1, 0.5), Tally(1, 0, 1, 0.25)):
        progress.add(tally)
    assert told == [Tally(3, 2, 1, 0.5), Tally(4, 2, 2, 0.75)]


def test_instants_of_a_variant_end_where_it_does(loop):
    """Every 0.1 s: variants that end on one, in between, and a rounding before one."""
    plan = Study(loop, until=0.4, log_every=0.1, metrics={"a": "max(lag.y)"}).plan
    ends = (0.4, 0.25, 0.3 * (1 - 1e-15))
    plan = replace(plan, bases=[replace(plan.bases[0], until=end) for end in ends])
    grids = [plan.times_of(k) for k in range(3)]
    assert grids[0] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4]) and grids[1] == pytest.approx(
        [0.0, 0.1, 0.2, 0.25]
    )
    assert grids[2] == pytest.approx([0.0, 0.1, 0.2, 0.3])


def test_a_case_that_fails_has_a_result_up_to_there():
    """x' = x^2 from 1: x = 1 / (1 - t) has no value at 1 s."""

    def equations(b):
        x = b.continuous("x", 1.0)
        b.derivative(x, x * x)
        b.output("y", x)

    case = Study(
        alone(equations), until=2.0, log_every=0.25, metrics={"a": "max(it.y)"}, engine="reference"
    ).case(0)
    result = case.result
    assert 0.7 < result.time[-1] <= 1.0 and result["it.y"][2, 0] == pytest.approx(2.0, rel=1e-5)


def test_files_of_a_study_are_the_scenario_and_its_cases(study_file, tmp_path):
    (tmp_path / "cases.csv").write_text("k.k\n1\n2\n")
    path = study_file('[sampling]\nmethod = "file"\nfile = "cases.csv"\n[metrics]\na = "max(lag.y)"\n')
    study = Study(path)
    assert study.plan.bases[0].files() == [path] and len(study) == 2
    done = study.run(tmp_path / "out", workers=1)
    assert set(done.store.manifest.files) == {"study.toml", "cases.csv"}
    assert sorted(p.name for p in (tmp_path / "out" / "inputs").iterdir()) == ["cases.csv", "study.toml"]
    assert (
        Study(alone(lambda b: b.output("y", 1.0)), until=1.0, metrics={"a": "max(it.y)"})
        .plan.bases[0]
        .files()
        == []
    )


def test_problems_of_a_study_are_listed_from_top_to_bottom(study_file):
    text = (
        '[[requirements]]\nname = "r"\nalways = "no.y < 1"\n'
        '[metrics]\nb = "max(none.y)"\na = "max(never.y)"\n[sweep]\n"k.no" = [1]\n'
    )
    with pytest.raises(PlantloopError) as caught:
        Study(study_file(text)).plan.prepared(0)
    found = str(caught.value)
    places = [found.index(word) for word in ("no.y", "none.y", "never.y", "k.no")]
    assert places == sorted(places)


def test_events_at_one_instant_are_counted():
    """A memory that is refreshed at every accepted step: one more where the time is that of the last."""

    def equations(b):
        x = ramp(b)
        b.when(b.time - 0.5, {x: x + 1.0}, "rising", "due")

    d = alone(equations)
    system = _counted(d.system())
    values, _ = system.accepted
    f = ca.Function("f", [system.t, system.x, system.h, system.w, system.p], [values])
    for t, last, count in ((1.0, 1.0, 4.0), (1.0, 0.5, 3.0), (1.0, 1.0 - 1e-3, 3.0), (2.0, 1.0, 3.0)):
        h = np.concatenate([system.h0[:-2], [3.0, last]])
        assert np.array(f(t, system.x0, h, system.w0, system.p0)).ravel()[-2:].tolist() == [count, t]


def test_units_of_what_is_varied_and_stored():
    """A matrix has that of all its numbers; initial values and parameters without a unit have none."""

    def equations(b):
        b.parameter("J", [[1.0, 2.0], [3.0, 4.0]], unit="kg*m^2")
        k, x = b.parameter("k", 1.0), b.continuous("x", [0.0, 0.0])
        b.derivative(x, -k * x)
        b.output("y", x, unit=["m", ""])
        b.output("z", x[0], unit="rad")

    system = alone(equations).system()
    found = units_of(system, ["it.y", "it.z"], ["it.J[1]", "it.J", "it.k", "it.x", "push.value"])
    assert found == {
        "units": {"it.J[1]": "kg*m^2", "it.J": "kg*m^2"},
        "signal_units": {"it.y[0]": "m", "it.z": "rad"},
    }


@pytest.mark.parametrize(
    ("given", "breaks"),
    [
        ({"always": "a.y < 1"}, True),
        ({"eventually": "a.y < 1"}, False),
        ({"eventually": "a.y < 1", "before": 2.0}, True),
        ({"whenever": "a.y > 1", "always": "b.y < 1"}, True),
        ({"whenever": "a.y > 1", "eventually": "b.y < 1"}, False),
        ({"whenever": "a.y > 1", "eventually": "b.y < 1", "within": 1.0}, True),
        ({"until": "a.y > 1", "always": "b.y < 1"}, True),
        ({"formula": "always[0, 1](a.y < 1)"}, False),
    ],
)
def test_which_requirements_are_broken_before_the_end_of_a_run(given, breaks):
    table = RequirementTable(
        name="r", **{k: parsed(v) if isinstance(v, str) else v for k, v in given.items()}
    )
    assert watched(table).breaks is breaks


def test_a_case_whose_process_was_lost_has_a_row(monkeypatch):
    rows = []
    monkeypatch.setattr(suspects, "case_columns", lambda plan, cases: {"k": cases * 2.0})
    manifest = SimpleNamespace(stored={"a.y": (2, ()), "b.y": (1, ())}, times=[0.0, 1.0], dtype="float32")
    measures = SimpleNamespace(columns=["m", "r", "r.robustness"], requirements=["r"])
    store = SimpleNamespace(manifest=manifest, commit=lambda *row: rows.append(row))
    job = SimpleNamespace(plan=SimpleNamespace(measures=measures, watches=True), store=store)
    assert suspects.lost_case(job, 3, 17, "killed") == Tally(1, 1, 0)
    ((chunk, outcome, columns),) = rows
    assert (chunk, outcome.cases.tolist(), columns["k"].tolist()) == (3, [17], [34.0])
    assert outcome.signals.shape == (1, 2, 3) and np.isnan(outcome.signals).all()
    row = {name: values[0] for name, values in outcome.table.items()}
    assert (row["r"], row["status"], row["message"], row["warnings"]) == (False, FAILED, "killed", "")
    assert all(np.isnan(row[name]) for name in ("m", "r.robustness", "end_time", "wall_time"))


@pytest.mark.parametrize("watches", [True, False])
def test_what_blocks_warn_of_is_said_once_with_how_often(monkeypatch, watches):
    monkeypatch.setattr(study_progress, "warn_of_integrals", lambda store, plan: None)
    table = pd.DataFrame({WARNINGS: ["", "too hot", "too hot\ntoo fast", ""]}, index=[0, 2, 5, 6])
    plan, said = SimpleNamespace(watches=watches, store=SimpleNamespace(dtype="float64")), []
    monkeypatch.setattr(study_progress, "warn_user", lambda text, kind: said.append(text))
    warn_of_cases(SimpleNamespace(table=lambda: table), plan)
    often = ["too hot (in 2 of 4 cases, case 2 the first).", "too fast (in 1 of 4 cases, case 5 the first)."]
    assert said == often * watches
    warn_of_cases(SimpleNamespace(table=lambda: table.drop(columns=WARNINGS)), plan)
    assert said == often * watches


def test_the_model_of_a_scenario_is_one_of_its_files(tmp_path):
    (tmp_path / "rod.xml").write_bytes(deck(pendulum(0.5)))
    (tmp_path / "a.toml").write_text('[model]\nfile = "rod.xml"\n[run]\nuntil = 0.1\n')
    base = Base.of_scenario(load_scenario(tmp_path / "a.toml"))
    assert base.files() == [tmp_path / "a.toml", tmp_path / "rod.xml"]
    assert len(base.diagram().system().x0) == 2


def test_a_run_that_fails_in_its_first_step_has_no_snapshot_before():
    """x' = sqrt(-t) has a value at 0 s alone; x' = sqrt(0.5 - t) up to 0.5 s."""

    def falling(last):
        def equations(b):
            x = b.continuous("x", 1.0)
            b.derivative(x, np.sqrt(last - b.time) + 0.0 * x)
            b.output("y", x)

        return Study(alone(equations), until=1.0, metrics={"a": "max(it.y)"}, engine="reference").plan

    assert snapshot_before_failure(falling(0.0), 0) is None
    assert snapshot_before_failure(falling(0.5), 0)
    assert snapshot_before_failure(falling(2.0), 0) is None  # it does not fail


def test_slopes_are_not_claimed_of_what_solves_equations_with_a_delayed_signal():
    """z^3 + z = x + (t - 0.1), x' = 2: neither of z nor of what is solved with it; of x they are."""

    def equations(b):
        x, late = b.continuous("x", 0.5), b.delayed(b.time, 0.1, name="d")
        b.derivative(x, 2.0 + 0.0 * x)
        z, own = b.algebraic("z", 0.3), b.algebraic("own", 0.3)
        b.residual(z**3 + z - x - late)
        b.residual(own**3 + own - x)
        for name, shown in (("z", z), ("own", own), ("x", x), ("late", late)):
            b.output(name, shown)

    system = alone(equations).system()
    found = slopes_of(system, [parsed(f"it.{name}") for name in ("z", "own", "x", "late")])
    arguments = [system.t, system.x, system.h, system.w, system.p]
    values = ca.Function("f", arguments, [ca.vertcat(*found)])(
        1.0, system.x0, system.h0, system.w0, system.p0
    )
    assert np.array(values).ravel() == pytest.approx([0.0, 0.0, 2.0, 0.0])


def test_python_code_of_a_study_that_is_opened_runs_with_trust_alone(tmp_path):
    (tmp_path / "build.py").write_text(
        "from blocks import Constant\nfrom cosim import Diagram\n\n"
        "def make(value=1.0):\n    d = Diagram('d')\n    d.add('one', Constant(value))\n    return d\n"
    )
    file = tmp_path / "study.toml"
    file.write_text('[diagram]\nfactory = "build:make"\n[run]\nuntil = 0.1\n[metrics]\na = "max(one.y)"\n')
    Study(file, trust=True).run(tmp_path / "out", workers=1)
    assert open_study(tmp_path / "out").table["a"].tolist() == [1.0]
    with pytest.raises(PlantloopError, match="trust"):
        open_study(tmp_path / "out").find_plan()
    assert open_study(tmp_path / "out", trust=True).find_plan().measures.columns == ["a"]


@pytest.mark.parametrize("given", [{}, {"show": True}, {"show": False}])
def test_a_browser_shows_a_page_unless_it_is_not_to(monkeypatch, given):
    from cosim.viewer import page, study_data

    shown = []
    monkeypatch.setattr(study_data, "of_study", lambda study: study)
    monkeypatch.setattr(page, "view", lambda data, out, show: shown.append((out, show)))
    StudyResult(SimpleNamespace()).view(**given)
    assert shown == [(None, given.get("show", True))]


def test_keys_of_a_study_file_at_their_limits(study_file):
    """A percentile is that of numbers, not of a condition; a search may have one run, and not none."""
    metric = '[metrics]\na = { percentile = "lag.y", q = 95 }\n'
    text = lambda runs: f'{metric}[search]\nmetrics = ["a"]\nruns = {runs}\n[sweep]\n"k.k" = [1, 2]\n'
    assert Study(study_file(text(1))).plan.measures.columns == ["a"]
    with pytest.raises(PlantloopError, match="runs.*at least 1"):
        Study(study_file(text(0)))
    with pytest.raises(PlantloopError, match="percentile"):
        Study(study_file(text(1).replace('"lag.y"', '"lag.y > 1"')))


@pytest.mark.parametrize("scheduler", [None, "tcp://there:8786"])
def test_workers_of_dask_have_a_thread_each_and_no_other_client_is_replaced(monkeypatch, scheduler):
    import distributed  # it takes half a second

    asked, told = [], []
    made = lambda *given, **more: asked.append(more) or SimpleNamespace(dashboard_link="http://here")
    monkeypatch.setattr(distributed, "LocalCluster", made)
    monkeypatch.setattr(distributed, "Client", made)
    monkeypatch.setattr(dask_cluster, "_OwnCluster", lambda cluster: cluster)
    dask_cluster.client_of(SimpleNamespace(scheduler=scheduler, workers=3, begun=told.append))
    (given,) = asked
    if scheduler is None:
        assert (given["n_workers"], given["threads_per_worker"], given["processes"]) == (3, 1, True)
    else:
        assert given["set_as_default"] is False
    assert told == ["dashboard at http://here"]
