"""What an FMU, an SSP package, a study and its results can do before somebody runs them, and what not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks import Integrator, PythonFunction, Sine
from blocks.errors import PlantloopError, SimulationError
from cosim import FMU, Diagram, Study, import_ssp, open_study, simulate_many
from cosim.cli.cli import app
from cosim.scenario import load_scenario
from cosim.scenario.keys import ScenarioError
from tests.helpers.fmus import COMPILER, build_fmu, needs_compiler

HOSTILE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) {
    const char *name = getenv("HOSTILE_MARK");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) fclose(file);
}
"""


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """An FMU whose machine code leaves a file where it is loaded, and that file."""
    good, path, mark = build_fmu("lag", tmp_path / "good"), tmp_path / "bad.fmu", tmp_path / "mark"
    (tmp_path / "bad.c").write_text(HOSTILE)
    library = tmp_path / "bad.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, tmp_path / "bad.c"], check=True)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = library.read_bytes() if name.startswith("binaries/") else old.read(name)
            new.writestr(name, content)
    monkeypatch.setenv("HOSTILE_MARK", str(mark))
    return path, mark


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a constructor of ELF or Mach-O")


# --- FMUs -------------------------------------------------------------------------------------------------
@needs_compiler
def test_to_look_at_an_fmu_runs_nothing_of_it(hostile):
    path, mark = hostile
    unit = FMU(path, sample=0.1)
    assert "bad.fmu" in repr(unit)
    assert CliRunner().invoke(app, ["info", str(path)]).exit_code == 0
    d = Diagram("d")
    d.add("unit", unit)
    assert not mark.exists()
    with pytest.raises(PlantloopError):  # it has none of the functions of FMI
        unit.open()
    assert mark.exists()  # opening it is running it


@needs_compiler
def test_a_scenario_runs_an_fmu_with_trust_only(hostile, tmp_path):
    path, mark = hostile
    file = tmp_path / "s.toml"
    unit = f'[fmus.unit]\nfile = "{path.name}"\nsample = 0.1\n'
    wired = '[blocks.s]\ntype = "Sine"\n[wiring]\nconnect = ["s.y -> unit.u"]\n[run]\nuntil = 1.0\n'
    file.write_text(unit + wired)
    with pytest.raises(ScenarioError, match=r"s\.toml:2: \[fmus\.unit\] file: .*native code.*--trust"):
        load_scenario(file)
    assert not mark.exists()
    with pytest.raises(PlantloopError):
        load_scenario(file, trust=True).run()
    assert mark.exists()


@needs_compiler
def test_an_fmu_leaves_nothing_behind(tmp_path, monkeypatch):
    """It is unpacked into a folder of its own, which goes with it; resources are not found elsewhere."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    path = build_fmu("lag", tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    session = FMU(path, sample=0.1).open()
    (inside,) = [p for p in folder.iterdir() if p.name.startswith("fmu-")]
    assert (inside / "modelDescription.xml").exists() and inside.stat().st_mode & 0o077 == 0
    session.close()
    del session
    assert not inside.exists()


def test_a_description_reads_no_other_file(tmp_path):
    """External entities and document types are refused before anything is looked up."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    path = tmp_path / "x.fmu"
    for text in (
        f'<!DOCTYPE a [<!ENTITY b SYSTEM "{secret.as_uri()}">]><fmiModelDescription modelName="&b;"/>',
        f'<!DOCTYPE fmiModelDescription SYSTEM "{secret.as_uri()}"><fmiModelDescription/>',
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("modelDescription.xml", text)
        with pytest.raises(PlantloopError, match="DOCTYPE|well-formed") as caught:
            FMU(path)
        assert "the secret" not in str(caught.value)


# --- SSP --------------------------------------------------------------------------------------------------
HEAD = (
    '<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
    'version="1.0" name="made"><ssd:System name="S"><ssd:Elements><ssd:Component name="m" '
    'type="application/x-fmu-sharedlibrary" source="{}"/></ssd:Elements></ssd:System>'
    "</ssd:SystemStructureDescription>"
)


@needs_compiler
@pytest.mark.parametrize(
    "source", ["../bad.fmu", "{p}/bad.fmu", "file://{p}/bad.fmu", "http://127.0.0.1:9/bad.fmu"]
)
def test_a_package_takes_units_from_inside_itself(hostile, tmp_path, source):
    path, mark = hostile
    assert path == tmp_path / "bad.fmu"
    package = tmp_path / "inside" / "x.ssp"
    package.parent.mkdir()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("SystemStructure.ssd", HEAD.format(source.format(p=tmp_path)))
    with pytest.raises(PlantloopError, match="which is not in the package|there is no"):
        import_ssp(package)
    assert not mark.exists()


@needs_compiler
def test_to_draw_a_package_runs_nothing_of_it(hostile, tmp_path):
    path, mark = hostile
    package = tmp_path / "x.ssp"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("SystemStructure.ssd", HEAD.format("resources/bad.fmu"))
        archive.write(path, "resources/bad.fmu")
    d = import_ssp(package, sample=0.1)
    assert d.name and not mark.exists()


# --- studies ----------------------------------------------------------------------------------------------
STUDY = """
[blocks.s]
type = "Sine"
[blocks.i]
type = "Integrator"
[wiring]
connect = ["s.y -> i.u"]
[run]
until = 1.0
log_every = 0.5
"""
CASES = '[sampling]\nmethod = "file"\nfile = "{}"\n'
PRIVATE = 1234567.25


@pytest.fixture
def place(tmp_path):
    """A folder for the study, and a table of numbers outside it, reachable through a link as well."""
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.csv").write_text(f"s.amplitude\n{PRIVATE}\n")
    (tmp_path / "own" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "own" / "away").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["../secret.csv", "{p}/secret.csv", "link.csv", "away/secret.csv"])
def test_a_study_reads_its_cases_in_its_own_folder(place, name):
    path = place / "own" / "study.toml"
    path.write_text(STUDY + CASES.format(name.format(p=place)))
    with pytest.raises(ScenarioError, match=r"study\.toml:\d+: \[sampling\] file: .*--trust") as caught:
        Study(path)
    assert str(PRIVATE) not in str(caught.value)
    shown = CliRunner().invoke(app, ["sweep", str(path), "--out", str(place / "out")])
    assert shown.exit_code == 1 and not (place / "out").exists()
    assert len(Study(path, trust=True).cases) == 1


def test_cases_inside_its_folder_are_read(place):
    (place / "own" / "cases.csv").write_text("s.amplitude\n1\n2\n")
    path = place / "own" / "study.toml"
    path.write_text(STUDY + CASES.format("cases.csv"))
    assert len(Study(path).cases) == 2


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_cases_come_from_a_regular_file(place, kind):
    name = place / "own" / "cases.csv"
    if kind == "pipe":
        os.mkfifo(name)
    elif kind == "folder":
        name.mkdir()
    else:
        name.symlink_to("/dev/zero")
    path = place / "own" / "study.toml"
    path.write_text(STUDY + CASES.format("cases.csv"))
    for trust in (False, True):
        with pytest.raises(ScenarioError, match=r"\[sampling\] file"):
            Study(path, trust=trust)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch {p}/ran')",
        "max(open('{p}/ran', 'w').write('x'))",
        "max(i.y.__class__)",
        "max(i.y) if True else exec('1')",
        "(lambda: 0)()",
    ],
)
def test_formulas_are_a_language_of_their_own(place, text):
    path = place / "own" / "study.toml"
    path.write_text(STUDY + f"[metrics]\nm = {json.dumps(text.format(p=place))}\n")
    with pytest.raises(PlantloopError, match=r"\[metrics\] m"):
        study = Study(path)
        study.run(place / "out")
    assert not (place / "ran").exists()


def test_a_study_that_names_code_needs_trust(place):
    (place / "own" / "build.py").write_text(f"open({str(place / 'ran')!r}, 'w').close()\n")
    path = place / "own" / "study.toml"
    path.write_text('[diagram]\nfactory = "build:make"\n[run]\nuntil = 1.0\n')
    with pytest.raises(ScenarioError, match="--trust"):
        Study(path)
    assert not (place / "ran").exists()
    with pytest.raises(PlantloopError):
        Study(path, trust=True)
    assert (place / "ran").exists()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of a small study that ran."""
    folder = tmp_path_factory.mktemp("kept")
    file = folder / "study.toml"
    file.write_text(STUDY + '[sweep]\n"s.amplitude" = [1.0, 2.0]\n[metrics]\npeak = "max(i.y)"\n')
    Study(file).run(folder / "out", executor="threads")
    return folder / "out"


def test_a_folder_of_results_holds_no_pickles(kept):
    for file in kept.rglob("*"):
        if file.is_file():
            head = file.read_bytes()[:2]
            assert file.suffix not in (".pkl", ".pickle", ".dill") and head[:1] != b"\x80", file


def test_a_folder_of_results_names_no_study_outside_it(kept, tmp_path):
    """The study file that a manifest names is the copy inside the folder; another one is not read."""
    folder = tmp_path / "out"
    shutil.copytree(kept, folder)
    (tmp_path / "build.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    (tmp_path / "other.toml").write_text('[diagram]\nfactory = "build:make"\n[run]\nuntil = 1.0\n')
    manifest = json.loads((folder / "study.json").read_text())
    manifest["study_file"] = "../../other.toml"
    (folder / "study.json").write_text(json.dumps(manifest))
    s = open_study(folder)
    assert np.isfinite(s.table["peak"]).all()  # what is stored is data, and stays readable
    with pytest.raises(PlantloopError, match=r"'\.\./\.\./other\.toml', which leads out of it"):
        _ = s.case(0).result
    with pytest.raises(PlantloopError, match="which leads out of it"):
        _ = open_study(folder, trust=True).case(0).result
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("keep", [0, 1, 0.5, 0.95])
def test_damaged_files_of_a_folder_of_results_are_errors_of_ours(kept, tmp_path, keep):
    folder = tmp_path / "out"
    shutil.copytree(kept, folder)
    tables = [p for p in folder.rglob("*") if p.is_file() and p.parent.name != "inputs"]
    assert len(tables) >= 2
    for file in tables:
        whole = file.read_bytes()
        file.write_bytes(b"\xff" * len(whole) if keep == 1 else whole[: int(keep * len(whole))])
        try:
            s = open_study(folder)
            table = s.table
            assert len(table) <= 2
        except PlantloopError as error:
            assert str(folder) in str(error)
        file.write_bytes(whole)


# --- sys.exit in many runs --------------------------------------------------------------------------------
def leaves(t, u):
    """Ends the program where the signal is large."""
    if np.any(u > 0.4):
        sys.exit(3)
    return u


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("sample", [0.1, None])
@pytest.mark.parametrize("threads", [1, 2])
def test_sys_exit_ends_one_of_many_runs(engine, sample, threads):
    """The run is an error with its place; the others go to their ends."""
    d = Diagram("many")
    s, p, i = d.add("s", Sine()), d.add("p", PythonFunction(leaves, sample=sample)), d.add("i", Integrator())
    d.connect(s["y"], p["u"])
    d.connect(p["y"], i["u"])
    runs = simulate_many(
        d, {"parameters": {"s.amplitude": [0.1, 1.0, 0.2]}}, until=1.0, engine=engine, threads=threads,
        log_at=[0.0, 0.25, 0.5, 1.0], solver="rk4", step=0.05,
    )  # fmt: skip
    assert list(runs.errors) == [1]
    assert isinstance(runs.errors[1], SimulationError)
    assert "sys.exit(3) was called in the run at t=0." in str(runs.errors[1])
    found = runs["i.y"][:, :, 0]
    assert np.isfinite(found[[0, 2]]).all() and np.isnan(found[1, -1])
    np.testing.assert_allclose(found[2], 2 * found[0], rtol=1e-12)
