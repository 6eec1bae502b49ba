"""A deck or a scenario that is not trusted reads in its own folder and writes in the output folder only."""

import os
import sys

import pytest

from blocks.errors import ModelError, ScenarioError
from blocks.files import read_whole
from cosim.deck import run_deck
from cosim.scenario import load_scenario
from plant import Plant
from tests.helpers.decks import deck, pendulum, simulate

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

RUN = simulate("Transient", end_time=0.01)


@pytest.fixture
def place(tmp_path):
    """own/deck.xml beside secret.xml, with links that lead out of own/ and out/."""
    for name in ("own", "out", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret.xml").write_bytes(deck(pendulum(0.3), RUN))
    (tmp_path / "victim.xml").write_text("precious")
    (tmp_path / "own" / "link.xml").symlink_to(tmp_path / "secret.xml")
    (tmp_path / "own" / "away").symlink_to(tmp_path)
    (tmp_path / "out" / "away").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "out" / "link.xml").symlink_to(tmp_path / "victim.xml")
    return tmp_path


def written(place, commands, name="deck.xml"):
    path = place / "own" / name
    path.write_bytes(deck(pendulum(0.5), commands))
    return path


@pytest.mark.parametrize(
    "name",
    ["{p}/victim.xml", "../victim.xml", "../own/deck.xml", "a/../../victim.xml", "away/x.xml", "link.xml",
     "{p}/new.xml", "../../../../../../tmp/x.xml", "away/../../victim.xml"],
)  # fmt: skip
@pytest.mark.parametrize("again", [False, True])
def test_save_leads_out_of_the_output_folder(place, name, again):
    """Refused before anything runs or is written; also where the command comes from another file."""
    name = name.format(p=place)
    command = RUN + f'<Save model_file="{name}"/>'
    if again:
        written(place, command, "more.xml")
        command = '<Load_Command command_file="more.xml"/>'
    path, before = written(place, command), sorted(map(str, place.rglob("*")))
    with pytest.raises(
        ModelError, match=r"\.xml:1: Save: model_file=.*leads out of the output folder.*--trust"
    ):
        run_deck(path, out=place / "out")
    assert (place / "victim.xml").read_text() == "precious"
    assert sorted(map(str, place.rglob("*"))) == before


def test_save_inside_the_output_folder(place):
    """A name, a folder, an absolute path in it; a link that appears later is replaced, not followed."""
    names = ["later.xml", "sub/later.xml", str(place / "out" / "full.xml")]
    run_deck(written(place, RUN + "".join(f'<Save model_file="{n}"/>' for n in names)), out=place / "out")
    for name in names:
        assert Plant.read(place / "out" / name).mechanism.dof == 1


def test_trust_lets_save_leave_the_folder(place):
    run_deck(written(place, RUN + '<Save model_file="../victim.xml"/>'), out=place / "out", trust=True)
    assert "Body_Rigid" in (place / "victim.xml").read_text()
    run_deck(written(place, RUN + '<Save model_file="link.xml"/>'), out=place / "out", trust=True)
    assert not (place / "out" / "link.xml").is_symlink()


@pytest.mark.parametrize("kind", ["Load_Model model_file", "Load_Command command_file"])
@pytest.mark.parametrize("name", ["{p}/secret.xml", "../secret.xml", "link.xml", "away/secret.xml"])
def test_reading_outside_the_folder_of_the_deck(place, kind, name):
    path = written(place, f'<{kind}="{name.format(p=place)}"/>' + simulate("Transient", duration=0.01))
    with pytest.raises(ModelError, match=r"deck\.xml:1: Load_\w+: .*leads out of the deck's folder.*--trust"):
        run_deck(path)
    run_deck(path, trust=True)


def test_a_loaded_model_in_a_folder_below_may_use_what_is_beside_it(place):
    """The deck's folder is the one of the deck that was run, names are relative to the model at hand."""
    (place / "own" / "below").mkdir()
    (place / "own" / "below" / "model.xml").write_bytes(deck(pendulum(0.2), ""))
    (place / "own" / "below" / "other.xml").write_bytes(deck(pendulum(0.1), ""))
    load = '<Load_Model model_file="below/model.xml"/><Load_Model model_file="{}"/>'
    run_deck(written(place, load.format("other.xml") + RUN))
    run_deck(written(place, load.format("../deck.xml") + RUN))
    with pytest.raises(ModelError, match="leads out of the deck's folder"):
        run_deck(written(place, load.format("../../secret.xml") + RUN))


@pytest.mark.skipif(sys.platform == "win32", reason="no such devices")
@pytest.mark.parametrize("kind", ["Load_Model model_file", "Load_Command command_file"])
@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.timeout(120)
def test_devices_pipes_and_folders_are_no_files(place, kind, trust):
    os.mkfifo(place / "own" / "pipe.xml")
    (place / "own" / "zero.xml").symlink_to("/dev/zero")
    (place / "own" / "folder.xml").mkdir()
    for name in ("pipe.xml", "zero.xml", "folder.xml"):
        with pytest.raises(ModelError, match="pipe or a device|folder"):
            run_deck(written(place, f'<{kind}="{name}"/>' + RUN), trust=trust)
        with pytest.raises(ModelError):
            Plant.read(place / "own" / name)


def test_a_file_is_read_up_to_a_size(tmp_path):
    (tmp_path / "large.xml").write_bytes(b"x" * 1001)
    assert len(read_whole(tmp_path / "large.xml", 1001)) == 1001
    with pytest.raises(OSError, match="larger than"):
        read_whole(tmp_path / "large.xml", 1000)
    with open(tmp_path / "sparse.xml", "wb") as file:
        file.truncate(2**34)
    with pytest.raises(ModelError, match="larger than 64 MB"):
        Plant.read(tmp_path / "sparse.xml")
    (tmp_path / "sparse.xml").rename(tmp_path / "sparse.toml")
    with pytest.raises(ScenarioError, match="larger than 64 MB"):
        load_scenario(tmp_path / "sparse.toml")


@pytest.mark.slow
def test_nesting_and_number_of_command_files_are_bounded(place):
    """A chain of files, and files that load the next one four times: 4^n files with commands."""
    for k in range(30):
        written(place, f'<Load_Command command_file="c{k + 1}.xml"/>', f"c{k}.xml")
        written(place, RUN * 50 + f'<Load_Command command_file="d{k + 1}.xml"/>' * 4, f"d{k}.xml")
    written(place, RUN, "c30.xml")
    with pytest.raises(ModelError, match="nested 20 deep"):
        run_deck(place / "own" / "c0.xml")
    run_deck(place / "own" / "c20.xml")
    written(place, RUN, "d12.xml")
    with pytest.raises(ModelError, match="more than 10000 commands"):
        run_deck(place / "own" / "d0.xml")


SCENARIO = '[model]\nfile = "{}"\n[run]\nuntil = 0.01\n[outputs]\nresult = "{}"\n'


@pytest.mark.parametrize("name", ["../secret.xml", "{p}/secret.xml", "link.xml", "away/secret.xml"])
def test_a_scenario_reads_in_its_own_folder(place, name):
    path = place / "own" / "s.toml"
    path.write_text(SCENARIO.format(name.format(p=place), "result.nc"))
    with pytest.raises(
        ScenarioError, match=r"s\.toml:2: \[model\] file: .*out of the scenario's folder.*--trust"
    ):
        load_scenario(path)
    assert load_scenario(path, trust=True).plant() is not None


@pytest.mark.parametrize("name", ["../r.nc", "/tmp/r.nc", "a/../../r.nc", "..\\\\r.nc", "C:r.nc"])
def test_a_scenario_writes_in_the_output_folder(place, name):
    path = place / "own" / "s.toml"
    path.write_text(SCENARIO.format("deck.xml", name))
    written(place, "")
    with pytest.raises(ScenarioError, match="inside the folder given by --out"):
        load_scenario(path, trust=True)
