"""`cosim run --until --set`: another end and other values, of scenarios, FMUs and packages."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim import Diagram
from cosim.cli.cli import app
from cosim.fmi.fmu import FMU
from cosim.fmi.ssp.ssd_writer import export_ssp
from cosim.result.result import Result
from tests.helpers.fmus import build_fmu

DECAY = """
[blocks.x]
type = "Integrator"
initial = 2.0

[blocks.k]
type = "Gain"
k = -1.0

[wiring]
connect = ["x.y -> k.u", "k.y -> x.u"]

[run]
until = 1.0
"""


def ask(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["run", *words])
    return done.exit_code, " ".join(done.output.split())


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    (tmp_path / "decay.toml").write_text(DECAY)
    return str(tmp_path / "decay.toml")


@pytest.mark.parametrize("table", ["", '[parameters]\n"k.k" = -3.0\n'])
def test_a_scenario_runs_to_another_end_with_other_numbers(scenario: str, tmp_path: Path, table: str) -> None:
    """x = 2 exp(-t/2) up to 3 s; the file stays as it is."""
    Path(scenario).write_text(DECAY + table)
    code, text = ask(
        scenario, "--out", str(tmp_path), "--until", "3", "--set", "k.k = -0.5",
        "--engine", "reference",
    )  # fmt: skip
    assert code == 0, text
    r = Result.load(next(tmp_path.glob("*.nc")))
    assert r.time[-1] == 3.0
    assert r["x.y"][-1, 0] == pytest.approx(2.0 * math.exp(-1.5), rel=1e-6)
    assert Path(scenario).read_text() == DECAY + table


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "x.reset=1"], r"'x\.reset' is structural: .* Write reset = \.\.\. in \[blocks\.x\]"),
        (["--set", "k.kk=1"], r"parameters.*'k\.kk'; did you mean 'k\.k'"),
        (["--set", "x.x=1"], r"'x\.x' is a state, not a parameter: write it in \[initial\]"),
        (["--set", "k.k"], r"--set is 'k\.k', expected NAME=VALUE"),
        (["--set", "k.k="], "expected NAME=VALUE"),
        (["--set", "k.k=1", "--set", "k.k=2"], r"'k\.k' two values"),
        (["--set", "k.k=[[1, 2]"], "parameters.*expected a number"),
        (["--until", "-1"], "--until is -1"),
        (["--until", "nan"], "--until is nan"),
        (["--until", "2", "--case", "1"], "--until and --set belong to scenarios"),
    ],
)
def test_what_is_refused(scenario: str, words: list[str], says: str) -> None:
    code, text = ask(scenario, *words)
    assert code == 1
    assert re.search(says, text), text


def test_a_value_replaces_that_of_the_file_however_both_are_written(scenario: str, tmp_path: Path) -> None:
    """x = 2 exp(-6t) to 1 s; of two values of one name in a file the last one counted."""
    file = DECAY.replace("k.y -> x.u", "k.y -> h.u") + '\n[blocks.h]\ntype = "Gain"\nk = 1.0\n[parameters]\n'
    file = file.replace('"k.y -> h.u"]', '"k.y -> h.u", "h.y -> x.u"]')
    for given in ('"k.k" = -9.0\nh.k = 2.0\n', "k.k = -9.0\nh = { k = 2.0 }\n"):
        Path(scenario).write_text(file + given)
        for text in ("k.k = -3", "k = {k = -3}"):
            code, output = ask(scenario, "--out", str(tmp_path), "--set", text)
            assert code == 0, output
            x = Result.load(next(tmp_path.glob("*.nc")))["x.y"][-1, 0]
            assert x == pytest.approx(2.0 * math.exp(-6.0), rel=1e-6)
    Path(scenario).write_text(file + '"h.k" = 2.0\nh.k = 3.0\n')
    code, output = ask(scenario, "--out", str(tmp_path))
    assert code == 1 and "'h.k' is there twice, with and without quotes; keep one" in output


@pytest.mark.parametrize(
    "option", ["--plot", "--check-step", "--case 1", "--replay", "--pace 2", "--coordinates joint"]
)
@pytest.mark.parametrize("name", ["m.fmu", "m.ssp"])
def test_options_that_packages_do_not_have(name: str, option: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    code, text = ask(str(tmp_path / name), *option.split())
    assert code == 1 and re.search(rf"{option.split()[0]} belongs to .*; .* is a(n FMU| package)\.", text), (
        text
    )


def test_options_of_whole_scenarios(scenario: str, tmp_path: Path) -> None:
    for option in ("--plot", "--check-step"):
        code, text = ask(scenario, "--pace", "9", option)
        assert code == 1 and f"{option} belongs to runs of a whole scenario" in text
    (tmp_path / "m.xml").write_text("<Model/>")
    code, text = ask(str(tmp_path / "m.xml"), "--check-step")
    assert code == 1 and "--check-step belongs to scenarios and studies" in text and "is a deck" in text


def test_a_deck_says_its_end_itself(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text("<Model/>")
    code, text = ask(str(tmp_path / "m.xml"), "--until", "2")
    assert code == 1 and "is a deck" in text


def test_an_fmu_takes_start_values_and_an_end_on_its_own_clock(tmp_path: Path) -> None:
    """x = 3 exp(-2 (t - 2)) from 2 to 2.2 s."""
    later = lambda text: re.sub('startTime="0" stopTime="[^"]*"', 'startTime="2" stopTime="9"', text)
    path = str(build_fmu("dahlquist", change=later))
    code, text = ask(path, "--out", str(tmp_path), "--until", "2.2", "--set", "x=3", "--set", "k=2.0")
    assert code == 0 and "from 2 to 2.2 s" in text, text
    r = Result.load(tmp_path / "result.nc")
    assert r["plant.x"][-1, 0] == pytest.approx(3.0 * math.exp(-0.4), rel=1e-3)
    code, text = ask(path, "--until", "1")
    assert code == 1 and "begins at t=2 s" in text
    code, text = ask(path, "--set", "kk=1")
    assert code == 1 and "kk" in text and "'k'" in text


@pytest.mark.parametrize("start", [-1.0, -0.4, 123.4, 1.7e9])
def test_the_last_step_of_an_experiment_is_made_wherever_it_begins(start: float, tmp_path: Path) -> None:
    """x = exp(-(t - start)) up to 0.3 s behind the start, and to 0.2 s with --until, in steps of 0.1 s."""
    times = f'startTime="{start}" stopTime="{start + 0.3}"'
    later = lambda text: re.sub('startTime="0" stopTime="[^"]*"', times, text)
    path = str(build_fmu("dahlquist", change=later, kinds=("cs",)))
    for words, length in ([], 0.3), (["--until", repr(start + 0.2)], 0.2):
        code, text = ask(path, "--out", str(tmp_path), *words)
        assert code == 0, text
        r = Result.load(tmp_path / "result.nc")
        assert r.time[-1] == pytest.approx(start + length, rel=1e-15)
        assert r["plant.x"][-1, 0] == pytest.approx(math.exp(-length), rel=1e-3)
    code, text = ask(path, "--until", repr(start - 0.5))
    assert code == 1 and "the default experiment begins at" in text


def test_a_package_takes_parameters_of_its_components(tmp_path: Path) -> None:
    d = Diagram("pack")
    d.add("decay", FMU(build_fmu("dahlquist"), sample=0.001))
    export_ssp(d, tmp_path / "pack.ssp")
    code, text = ask(
        str(tmp_path / "pack.ssp"), "--trust", "--out", str(tmp_path), "--until", "0.5", "--set", "decay.k=2"
    )
    assert code == 0, text
    r = Result.load(tmp_path / "result.nc")
    assert r.time[-1] == 0.5
    assert r["decay.x"][-1, 0] == pytest.approx(math.exp(-1.0), rel=1e-2)


@pytest.fixture
def package(tmp_path: Path) -> str:
    """Two FMUs, x' = -k x, from 1, in steps of 0.01 s."""
    d = Diagram("pack")
    for name in ("decay", "other"):
        d.add(name, FMU(build_fmu("dahlquist"), sample=0.01))
    export_ssp(d, tmp_path / "pack.ssp", stop=9.0)
    return str(tmp_path / "pack.ssp")


def test_a_package_whose_fmus_are_built_anew_keeps_its_drawing(package: str, tmp_path: Path) -> None:
    words = ["--trust", "--out", str(tmp_path), "--until", "0.5", "--set", "decay.sample=0.1"]
    code, text = ask(package, *words)
    assert code == 0 and "warning" not in text, text
    r = Result.load(tmp_path / "result.nc")
    assert r.drawing is not None
    assert len(r.ticks("decay.x").time) == 6 and len(r.ticks("other.x").time) == 51


def test_a_package_shows_the_time_its_fmus_are_given(package: str, tmp_path: Path) -> None:
    times = [word for name in ("decay", "other") for word in ("--set", f"{name}.start_time=2")]
    code, text = ask(package, "--trust", "--out", str(tmp_path), "--until", "2.5", *times)
    assert code == 0 and "from 2 to 2.5 s" in text, text
    r = Result.load(tmp_path / "result.nc")
    assert (r.time[0], r.time[-1]) == (2.0, 2.5)
    assert r.ticks("decay.x").time[-1] == 2.5
    assert r["decay.x"][-1, 0] == pytest.approx(math.exp(-0.5), rel=1e-2)
    code, text = ask(package, "--trust", "--until", "0.5", *times)
    assert code == 1 and "begins at t=2 s" in text
    code, text = ask(package, "--trust", "--until", "2.5", *times[:2])
    assert code == 1 and "'decay' at 2 s, 'other' at 0 s" in text and "same start_time" in text


@pytest.mark.parametrize("value", ["true", "[true]"])
def test_a_package_takes_no_boolean_for_a_number(package: str, value: str) -> None:
    code, text = ask(package, "--trust", "--set", f"decay.k={value}")
    assert code == 1 and "'decay.k' takes numbers; got" in text, text
