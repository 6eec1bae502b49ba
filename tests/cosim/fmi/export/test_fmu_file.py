"""What is written, and what of the arguments of `export_fmu` decides it; what makes no sense is refused."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest

import blocks as B
from blocks.errors import PlantloopError
from cosim import Diagram, export_fmu
from cosim.fmi.export import binaries
from cosim.settings import RunSettings


def lag():
    d = Diagram("lag")
    d.connect(d.inport("u"), d.add("lag", B.FirstOrder(gain=2.0))["u"])
    d.outport("y", "lag.y")
    return d


def described(folder, d=None, **options):
    path = export_fmu(d or lag(), folder / "lag.fmu", **{"platforms": [], **options})
    return fmpy.read_model_description(str(path))


@pytest.fixture
def no_compiler(monkeypatch):
    """Binaries are what they were asked for, as text."""
    monkeypatch.setattr(
        binaries, "binary", lambda name, groups, library: f"{name} {library} {len(groups)}".encode()
    )


PLACES = {
    "2.0": {
        "linux64": "linux64/lag.so", "win64": "win64/lag.dll", "aarch64-darwin": "aarch64-darwin/lag.dylib",
    },
    "3.0": {
        "linux64": "x86_64-linux/lag.so", "win64": "x86_64-windows/lag.dll",
        "aarch64-darwin": "aarch64-darwin/lag.dylib",
    },
}  # fmt: skip


@pytest.mark.parametrize("version", PLACES)
def test_binaries_lie_where_importers_of_a_version_look_for_them(version, no_compiler, tmp_path):
    """FMI 2.0.4, section 2.3; FMI 3.0.2, section 2.5.1.4."""
    asked = list(PLACES[version])
    path = export_fmu(lag(), tmp_path / "lag.fmu", version=version, platforms=asked, sources=False)
    assert path == tmp_path / "lag.fmu"
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        found = [archive.read(n).decode() for n in names[1:]]
        assert all(info.compress_type == zipfile.ZIP_DEFLATED for info in archive.infolist())
    assert names == ["modelDescription.xml", *(f"binaries/{PLACES[version][p]}" for p in asked)]
    assert found == [f"{PLACES['3.0'][p].partition('/')[0]} lag 4" for p in asked]


def test_by_default_there_is_a_binary_of_this_machine_and_the_sources(no_compiler, tmp_path):
    with zipfile.ZipFile(export_fmu(lag(), tmp_path / "lag.fmu")) as archive:
        names = archive.namelist()
        assert b'fmiVersion="3.0"' in archive.read("modelDescription.xml")
    assert [n.split("/")[1] for n in names if n.startswith("binaries/")] == [binaries.host()]
    assert "sources/unit.c" in names and "sources/buildDescription.xml" in names


def test_the_solver_is_rk4_unless_something_is_said_that_it_does_not_know(tmp_path):
    """Steps of 1 ms at most; tolerances and steps without an end belong to a solver that chooses them."""
    plain = RunSettings()
    for options, told in (
        ({}, "solver rk4, step 0.001 s"),
        ({"step": 0.002}, "solver rk4, step 0.002 s"),
        ({"rtol": 1e-4}, "solver dopri5, rtol 0.0001"),
        ({"atol": 1e-3}, "solver dopri5, rtol 1e-08"),
        ({"max_step": 0.1}, "solver dopri5, rtol 1e-08"),
        ({"solver": "rodas4"}, "solver rodas4, rtol 1e-08"),
        ({"settings": plain}, "solver dopri5, rtol 1e-08"),
        ({"settings": plain, "solver": "rk4"}, "solver rk4, step 0.001 s"),
    ):
        assert described(tmp_path, **options).description == f"lag: {told}", options


def test_start_values_are_those_that_were_given(tmp_path):
    found = described(tmp_path, parameters={"lag.gain": 5.0}, initial={"lag.x": -1.5})
    starts = {v.name: v.start for v in found.modelVariables if v.start is not None}
    assert {name: float(starts[name]) for name in ("lag.gain", "lag.x")} == {"lag.gain": 5.0, "lag.x": -1.5}


def test_names_may_be_given_one_by_one(tmp_path):
    """A single text is a list of one; kinds come in one order and once, whatever was asked for."""
    found = described(tmp_path, kinds="me", outputs="lag.y", locals="y")
    assert found.modelExchange is not None and found.coSimulation is None
    assert [v.name for v in found.modelVariables if v.causality == "output"] == ["lag.y"]
    for kinds in (["me", "cs"], ("cs", "me", "cs"), np.array(["cs", "me"])):
        found = described(tmp_path, kinds=kinds)
        assert found.modelExchange is not None and found.coSimulation is not None
    assert not described(tmp_path, outputs=[]).outputs


@pytest.mark.parametrize("name", ["stop", "interval"])
@pytest.mark.parametrize("value", [0, 0.0, -1.0, float("inf"), float("nan"), "1", True, [1.0]])
def test_times_of_the_experiment_are_above_zero_and_end(name, value, tmp_path):
    with pytest.raises(PlantloopError, match=re.escape(f"{name} is {value!r}, expected a time above 0")):
        described(tmp_path, **{name: value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (3, "path is 3, expected where"),
        ("", "path is '', expected where"),
        (None, "path is None"),
        ("unit.zip", "'unit.zip' does not end in .fmu"),
        ("unit", "does not end in .fmu"),
        ("nowhere/unit.fmu", "the folder 'nowhere' of 'unit.fmu' is not there"),
    ],
)
def test_files_that_cannot_be_written(path, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlantloopError, match=re.escape(text)):
        export_fmu(lag(), path, platforms=[])
    assert not list(tmp_path.iterdir())


def test_a_suffix_in_capitals_and_a_path_as_text_are_as_good(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert export_fmu(lag(), "UNIT.FMU", platforms=[]) == Path("UNIT.FMU")
    assert (tmp_path / "UNIT.FMU").is_file()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"version": "3"}, "version is '3', expected 2.0 or 3.0, as a text"),
        ({"version": 2.0}, "version is 2.0, expected 2.0 or 3.0, as a text"),
        ({"version": ["2.0"]}, "expected 2.0 or 3.0, as a text"),
        ({"kinds": ["ms"]}, "no kind 'ms'; there is 'cs', 'me'"),
        ({"kinds": []}, "kinds is empty"),
        ({"platforms": ["linux46"]}, "no platform 'linux46'; did you mean 'linux64'"),
        ({"sources": 1}, "sources"),
        ({"engine": "reference"}, "engine='reference' has no code to export"),
    ],
)
def test_arguments_that_mean_nothing(options, text, tmp_path):
    with pytest.raises(PlantloopError, match=re.escape(text)):
        described(tmp_path, **options)


def test_blocks_in_python_are_named_once_each(tmp_path):
    d = lag()
    for name in ("first", "second"):
        d.add(name, B.PythonFunction(lambda t, u: u, sample=0.1))
        d.connect("lag.y", f"{name}.u")
    with pytest.raises(PlantloopError) as told:
        described(tmp_path, d)
    (line, *_) = str(told.value).splitlines()
    assert line.count("'first' runs in Python") == line.count("'second' runs in Python") == 1
    assert told.value.path == "first" and "connect them to the exported rest" in told.value.hint
