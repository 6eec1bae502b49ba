"""What a study was made of is in its results: its cases are run again when all of that is gone."""

import shutil

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import Study, open_study
from cosim.scenario import load_scenario
from tests.helpers.fmus import build_fmu, needs_compiler

RECORDED = """
[blocks.u]
type = "FromData"
data = "{data}"
[blocks.k]
type = "Gain"
k = 1.0
[wiring]
connect = ["u.y -> k.u"]
[run]
until = 1.0
log_every = 0.5
[metrics]
last = "final(k.y)"
"""
CASES = '[sampling]\nmethod = "file"\nfile = "{}"\n'


@pytest.fixture
def project(tmp_path):
    """Folders studies/ and data/ beside each other, with two recorded signals and two cases."""
    for name in ("studies/own", "data"):
        (tmp_path / "project" / name).mkdir(parents=True)
    for k in (1, 2):
        (tmp_path / "project" / "data" / f"u{k}.csv").write_text(f"t,u\n0,0\n1,{k}\n")
    (tmp_path / "project" / "data" / "cases.csv").write_text("k.k\n3\n4\n")
    return tmp_path / "project"


def run_and_remove(project, text, name="studies/study.toml"):
    """The results of a study, opened without it."""
    (project / name).write_text(text)
    out = project.parent / "out"
    Study(project / name, trust=True).run(out, workers=1)
    shutil.rmtree(project)
    return open_study(out, trust=True)


@pytest.mark.parametrize(
    ("data", "cases", "kept"),
    [
        ("../data/u1.csv", "../data/cases.csv", {"studies/study.toml", "data/u1.csv", "data/cases.csv"}),
        (
            "own/u.csv", "../studies/own/cases.csv",
            {"studies/study.toml", "studies/own/u.csv", "studies/own/cases.csv"},
        ),
        ("own/../own/u.csv", "own/./cases.csv", {"study.toml", "own/u.csv", "own/cases.csv"}),
        ("own/linked.csv", "own/cases.csv", {"study.toml", "own/linked.csv", "own/cases.csv"}),
    ],
    ids=["beside", "by the way of the parent", "below", "a link"],
)  # fmt: skip
def test_files_lie_to_each_other_as_they_did(project, data, cases, kept):
    own = project / "studies" / "own"
    shutil.copy(project / "data" / "u1.csv", own / "u.csv")
    shutil.copy(project / "data" / "cases.csv", own / "cases.csv")
    (own / "linked.csv").symlink_to("../../data/u1.csv")
    s = run_and_remove(project, RECORDED.format(data=data) + CASES.format(cases))
    assert set(s.store.manifest.files) == kept
    assert s.case(1).result["k.y"].ravel() == pytest.approx([0.0, 2.0, 4.0])
    assert s.table["last"].tolist() == [3.0, 4.0]


def test_files_of_variants(project):
    variants = "".join(f'[[variants]]\nname = "{k}"\nblocks.u.data = "../data/u{k}.csv"\n' for k in (1, 2))
    s = run_and_remove(project, RECORDED.format(data="../data/u1.csv") + variants)
    assert s.table["last"].tolist() == [1.0, 2.0]
    assert s.case(1).result["k.y"].ravel() == pytest.approx([0.0, 1.0, 2.0])


def test_a_file_named_from_the_root_on_is_kept_by_its_name(project):
    data = project / "data" / "u1.csv"
    (project / "studies" / "study.toml").write_text(RECORDED.format(data=data))
    s = Study(project / "studies" / "study.toml", trust=True).run(project / "out", workers=1)
    assert set(s.store.manifest.files) == {"study.toml", "u1.csv"}
    assert len(open_study(project / "out", trust=True).case(0).result.time) == 3


@needs_compiler
@pytest.mark.slow
def test_an_fmu(project):
    build_fmu("mass", project / "studies")
    text = (
        '[fmus.mass]\nfile = "mass.fmu"\nkind = "cs"\nsample = 0.05\n'
        '[wiring]\nground = ["mass.f"]\n[run]\nuntil = 0.1\nlog_every = 0.05\n'
    )
    s = run_and_remove(project, text)
    assert len(s.case(0).result.time) == 3


def test_a_scenario_with_tables_in_python_leaves_no_study_file(project):
    """One of the scenario alone would be another study."""
    (project / "data" / "scenario.toml").write_text(RECORDED.format(data="u1.csv").partition("[metrics]")[0])
    study = Study(load_scenario(project / "data" / "scenario.toml"), sweep={"k.k": [1.0, 2.0]})
    study.run(project / "out", workers=1)
    s = open_study(project / "out")
    assert s.plan is None
    assert np.array_equal(s.case(1).result["k.y"].ravel(), [0.0, 1.0, 2.0])


def test_a_file_that_went_before_the_run_is_named(project):
    (project / "data" / "study.toml").write_text(RECORDED.format(data="u1.csv"))
    study = Study(project / "data" / "study.toml")
    (project / "data" / "u1.csv").unlink()
    with pytest.raises(PlantloopError, match="cannot copy '.*u1.csv' into the results: No such file"):
        study.run(project / "out")
    assert not (project / "out").exists()
