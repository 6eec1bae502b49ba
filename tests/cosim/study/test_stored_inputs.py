"""What a study was made of is in its results: its cases are run again when all of that is gone."""

import shutil
import sys

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import Study, open_study
from cosim.scenario import load_scenario
from cosim.study.study_files import named_in
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


def test_files_of_one_name_from_the_root_on_are_kept_beside_each_other(project):
    """The later one was written over the earlier one, also over one of this name beside the study."""
    second = project / "more"
    second.mkdir()
    shutil.copy(project / "data" / "u2.csv", second / "u1.csv")
    shutil.copy(project / "data" / "u1.csv", project / "studies" / "u1.csv")
    (project / "studies" / "u1.csv").write_text("t,u\n0,0\n1,5\n")
    variants = "".join(
        f'[[variants]]\nname = "{k}"\nblocks.u.data = "{data}"\n'
        for k, data in enumerate(("u1.csv", project / "data" / "u1.csv", second / "u1.csv"))
    )
    (project / "studies" / "study.toml").write_text(RECORDED.format(data="u1.csv") + variants)
    out = project.parent / "out"
    Study(project / "studies" / "study.toml", trust=True).run(out, workers=1)
    inputs = out / "inputs"
    kept = sorted(path.read_text().split(",")[-1].strip() for path in inputs.rglob("u1.csv"))
    assert kept == ["1", "2", "5"] and (inputs / "u1.csv").read_text().endswith(",5\n")
    s = open_study(out, trust=True)
    assert s.table["last"].tolist() == [5.0, 1.0, 2.0]
    assert [s.case(k).result["k.y"][-1, 0] for k in range(3)] == pytest.approx([5.0, 1.0, 2.0])


def test_a_file_that_changes_before_the_first_run_is_no_part_of_the_results(project):
    """Its new content was copied beside results of the old one."""
    study = project / "studies" / "study.toml"
    study.write_text(RECORDED.format(data="../data/u1.csv"))
    read = Study(study, trust=True)
    (project / "data" / "u1.csv").write_text("t,u\n0,0\n1,10\n")
    with pytest.raises(
        PlantloopError, match=r"u1.csv' was changed after the study was read.*make the Study again"
    ):
        read.run(project / "out", workers=1)
    assert not (project / "out" / "study.json").exists()
    assert Study(study, trust=True).run(project / "out", workers=1).table["last"].tolist() == [10.0]


FACTORY = """
from study_parts import law
from study_parts.more import gain
import study_helper
from blocks import Constant, Gain
from cosim import Diagram

def build():
    d = Diagram("d")
    k = d.add("k", Gain(gain() * law.K * study_helper.K))
    d.connect(d.add("c", Constant(1.0))["y"], k["u"])
    return d
"""
MODULES = {
    "factory.py": FACTORY,
    "study_helper.py": "import study_deep\nK = study_deep.K",
    "study_deep.py": "K = 2.0",
    "study_broken.py": "this is no Python",
    "study_parts/__init__.py": "from . import law",
    "study_parts/law.py": "K = 3.0",
    "study_parts/more/__init__.py": "from ..own import K\ndef gain(): return K",
    "study_parts/own.py": "K = 5.0",
    "study_parts/unused.py": "K = 7.0",
}


def test_modules_that_a_factory_imports(project, monkeypatch):
    for name, text in MODULES.items():
        (project / "studies" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "studies" / name).write_text(text)
    text = (
        '[diagram]\nfactory = "factory:build"\n[run]\nuntil = 1.0\nlog_every = 1.0\n'
        '[metrics]\nlast = "final(k.y)"\n'
    )
    try:
        s = run_and_remove(project, text)
        unused = {"study_broken.py", "study_parts/unused.py"}
        assert set(s.store.manifest.files) == {"study.toml", *MODULES} - unused
        for name in [name for name in sys.modules if name.startswith("study_")]:
            del sys.modules[name]
        assert s.case(0).result["k.y"][-1, 0] == s.table["last"][0] == 30.0
    finally:
        for name in [name for name in sys.modules if name.startswith("study_")]:
            del sys.modules[name]


def test_scripts_that_a_model_names(tmp_path):
    model = tmp_path / "m" / "plant.xml"
    model.parent.mkdir()
    model.write_text('<a script_name=\'law.py\' other="../out.py" dll="lib/ke.so" gone="gone.py" x=\'m\'/>')
    for name in ("m/law.py", "m/deep.py", "m/lib/ke.so", "out.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import deep\n")
    found = [path.relative_to(tmp_path).as_posix() for path in named_in(model)]
    assert sorted(found) == ["m/deep.py", "m/law.py", "m/lib/ke.so"]


SEARCHED = """
[blocks.u]
type = "Constant"
value = 1.0
[blocks.k]
type = "Gain"
k = 1.0
[wiring]
connect = ["u.y -> k.u"]
[run]
until = 1.0
log_every = 0.5
[sampling]
method = "lhs"
runs = 40
[sampling.parameters]
"k.k" = { low = 0.0, high = 1.0 }
[metrics]
last = "final(k.y)"
[[requirements]]
name = "small"
always = "k.y < 0.5"
"""


def test_cases_of_a_search_are_its_own(project):
    """Those of the study file were run for them, with other numbers."""
    pytest.importorskip("cma")
    file = project / "study.toml"
    file.write_text(SEARCHED)
    found = Study(file).falsify(project / "out", runs=32, workers=1)
    for s in (found.study, open_study(project / "out"), open_study(project / "out", study=Study(file))):
        one = s.case(20)
        assert one.parameters["k.k"] == found.study.table["k.k"][20]
        assert one.parameters["seed"] == found.study.table["seed"][20]
        assert one.result["k.y"][-1, 0] == found.study.table["last"][20]
        assert s.store.manifest.command(20, "out") == 'open_study("out").case(20).result'
    (project / "out" / "table" / "000001.parquet").unlink()
    with pytest.raises(PlantloopError, match="case 20 is not done yet"):
        open_study(project / "out").case(20)
    assert open_study(project / "out").case(3).parameters["seed"] == found.study.table["seed"][3]


def test_a_case_is_not_run_again_with_another_model(project):
    """What is given to a file in Python, and what is read from the root on, is not in the copies."""
    file = project / "study.toml"
    file.write_text(RECORDED.format(data=project / "data" / "u1.csv") + '[sweep]\n"k.k" = [3.0, 4.0]\n')
    study = Study(file, trust=True)
    study.run(project / "out", workers=1)
    assert open_study(project / "out", trust=True).case(1).result["k.y"][-1, 0] == 4.0
    (project / "data" / "u1.csv").write_text("t,u\n0,0\n1,10\n")
    with pytest.raises(PlantloopError, match="no case of .* can be run again: model changed"):
        open_study(project / "out", trust=True).case(1)
    assert open_study(project / "out", trust=True).table["last"].tolist() == [3.0, 4.0]
    assert open_study(project / "out", study=study).case(1).result["k.y"][-1, 0] == 4.0
    Study(file, until=0.5, trust=True).run(project / "b", workers=1)
    with pytest.raises(PlantloopError, match="can be run again: until changed"):
        open_study(project / "b", trust=True).case(1)
    with pytest.raises(PlantloopError, match="can be run again: until, model changed"):
        open_study(project / "b", study=study).case(1)
