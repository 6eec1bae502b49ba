"""What a scenario or a study names is read and written where it may be, whichever block or key names it."""

import os
import re

import pytest
from typer.testing import CliRunner

from blocks.errors import ScenarioError
from cosim import Study
from cosim.cli.cli import app
from cosim.scenario import load_scenario
from cosim.study import open_study

TABLE = "t,y\n0,1\n1,{}\n"
RECORDED = '[blocks.road]\ntype = "FromData"\ndata = "{}"\n[run]\nuntil = 1.0\nlog_every = 0.5\n'
PLAIN = '[blocks.a]\ntype = "Sine"\n[run]\nuntil = 0.02\nengine = "reference"\n'
PLOT = '[[outputs.plots]]\nfile = "{}"\nsignals = ["a.y"]\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """own/, with a table, links that lead to a private one, and a pipe; the command is called from there."""
    (tmp_path / "own" / "data").mkdir(parents=True)
    (tmp_path / "private.csv").write_text(TABLE.format(77))
    (tmp_path / "own" / "data" / "road.csv").write_text(TABLE.format(3))
    (tmp_path / "own" / "link.csv").symlink_to(tmp_path / "private.csv")
    (tmp_path / "own" / "away").symlink_to(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(place, text, name="s.toml"):
    (place / "own" / name).write_text(text)
    return place / "own" / name


def called(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


# --- reading ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["{p}/private.csv", "../private.csv", "link.csv", "away/private.csv"])
def test_a_recorded_signal_comes_from_the_folder_of_the_scenario(place, name):
    """Any .csv or .parquet file of the user was read, and shown as a signal."""
    path = written(place, RECORDED.format(name.format(p=place)))
    with pytest.raises(ScenarioError, match=r"s\.toml:3: \[blocks\.road\] data: .*leads out of the.*--trust"):
        load_scenario(path)
    assert load_scenario(path, trust=True).run()["road.y"][-1, 0] == 77
    more = '[[variants]]\nname = "b"\n[variants.blocks.road]\ndata = "{}"\n[metrics]\nm = "max(road.y)"\n'
    variant = written(place, RECORDED.format("data/road.csv") + more.format(name.format(p=place)))
    with pytest.raises(ScenarioError, match="leads out of the scenario's folder"):
        Study(variant)


def test_it_is_looked_for_beside_the_scenario_and_not_where_the_command_is_called(place):
    (place / "data").mkdir()
    (place / "data" / "road.csv").write_text(TABLE.format(88))
    assert load_scenario(written(place, RECORDED.format("data/road.csv"))).run()["road.y"][-1, 0] == 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pipe.csv", "pipe or a device"),
        ("data", r"\.csv or \.parquet|folder"),
        ("rood.csv", r"no file 'rood\.csv' in folder .*did you mean 'road\.csv'"),
        ("~/road.csv", "there is no folder"),
        ("$HOME/road.csv", "there is no folder"),
        ("a\\u0000.csv", "no file|NUL"),
        ("b" * 5000 + ".csv", "no file|too long"),
    ],
)
def test_what_is_no_table(place, name, says):
    os.mkfifo(place / "own" / "pipe.csv")
    (place / "own" / "road.csv").write_text(TABLE.format(3))
    with pytest.raises(ScenarioError, match=rf"\[blocks\.road\] data: .*({says})"):
        load_scenario(written(place, RECORDED.format(name)))


def test_results_of_a_study_keep_the_table_they_were_made_with(place):
    more = '[blocks.a]\ntype = "Sine"\n[sweep]\n"a.amplitude" = [1.0, 2.0]\n[metrics]\nm = "max(road.y)"\n'
    path = written(place, RECORDED.format("data/road.csv") + more)
    Study(path).run(place / "out")
    (place / "own" / "data" / "road.csv").unlink()
    assert open_study(place / "out").case(1).run()["road.y"][-1, 0] == 3


# --- writing ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ['[outputs]\nresult = "away/r.nc"\n', PLOT.format("away/deep/a.png")])
@pytest.mark.parametrize("more", [(), ("--plot",), ("--trust",), ("--pace", "1e3")])
def test_links_in_the_output_folder_are_not_followed(place, text, more):
    """A result, or a picture, beside which a link leads elsewhere; refused before the run."""
    (place / "out").mkdir()
    (place / "out" / "away").symlink_to(place / "elsewhere")
    shown = called("run", written(place, PLAIN + text), "--out", "out", *more)
    assert shown.exit_code == 1 and "leads out of the output folder 'out' through a link" in shown.output
    assert not list((place / "elsewhere").iterdir()) and len(list((place / "out").iterdir())) == 1


def test_a_link_in_place_of_a_file_is_replaced(place):
    (place / "out").mkdir()
    (place / "precious").write_text("precious")
    path = written(place, PLAIN + PLOT.format("a.png"))
    for name in ("a.png", "result.nc"):
        (place / "out" / name).symlink_to(place / "precious")
    assert called("run", path, "--out", "out", "--plot").exit_code == 0
    assert (place / "precious").read_text() == "precious" and not (place / "out" / "a.png").is_symlink()


@pytest.mark.parametrize("command", ["run", "sweep", "falsify"])
@pytest.mark.parametrize("link", ["results", "results/s"])
def test_a_link_packed_beside_a_scenario_is_no_output_folder(place, monkeypatch, command, link):
    """results/ that leads home: files would be written there that nobody asked for."""
    study = PLAIN + '[sweep]\n"a.amplitude" = [1.0, 2.0]\n[metrics]\nm = "max(a.y)"\n'
    written(place, study + '[[requirements]]\nname = "low"\nalways = "a.y < 5"\n[search]\nruns = 8\n')
    monkeypatch.chdir(place / "own")
    (place / "own" / link).parent.mkdir(exist_ok=True)
    (place / "own" / link).symlink_to(place / "elsewhere")
    if link != "results":
        (place / "own" / "results" / "s_search").symlink_to(place / "elsewhere")
    shown = called(command, "s.toml")
    assert shown.exit_code == 1 and re.search(r"leads to '.*elsewhere.*--out results/s", shown.output)
    assert not list((place / "elsewhere").iterdir())
    if command == "run":
        assert called(command, "s.toml", "--out", "results/s").exit_code == 0
        assert len(list((place / "elsewhere").rglob("result.nc"))) == 1


NAMES = [".png", "a.png.", "sub/.svg", "a\\u001b[2J.png", "a\\n.png", "C:a.png", "a.png/", "a.py"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_pictures(place, name):
    """Said when the file is read, not when the run is over."""
    with pytest.raises(ScenarioError, match=r"\[outputs\.plots\[0\]\] file: .*a file name ending in \.png"):
        load_scenario(written(place, PLAIN + PLOT.format(name)))


@pytest.mark.parametrize("name", ["a\\u001b[2J", "a\\rb", "C:", "c:x", "\\u0000", "a\\u009b2J"])
def test_names_of_scenarios(place, name):
    with pytest.raises(ScenarioError, match=r"\[scenario\] name: .*expected a name"):
        load_scenario(written(place, f'[scenario]\nname = "{name}"\n' + PLAIN))
    load_scenario(written(place, '[scenario]\nname = "Level: é 3"\n' + PLAIN))


# --- what is shown ----------------------------------------------------------------------------------------
STEERING = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u202e\\r"


@pytest.mark.parametrize(
    "text",
    [
        f'[scenario]\ndescription = "{STEERING}"\n' + PLAIN,
        PLAIN + f'[blocks."a{STEERING}"]\ntype = "Sine"\n',
        PLAIN + f'[blocks.b]\ntype = "Si{STEERING}ne"\n',
        PLAIN.replace("reference", STEERING),
        PLAIN + f'"{STEERING}" = 1\n',
    ],
)
def test_texts_of_a_file_do_not_steer_the_terminal(place, text):
    """Titles of windows, cleared screens, hidden lines: written out instead."""
    shown = called("run", written(place, text), "--out", "out")
    assert r"\x1b" in shown.output
    assert not set(shown.output) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
