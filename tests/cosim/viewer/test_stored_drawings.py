"""What a page shows of files: results that keep their drawing, and FMUs."""

import json
import pickle

import numpy as np
import pytest

from blocks import Gain, Integrator, Sine
from blocks.errors import PlantloopError
from cosim import Diagram, Result, simulate
from cosim.result.drawing import KeptDrawing
from cosim.scenario import load_scenario
from cosim.viewer.stored_drawings import of_drawing, of_result
from plant import Plant
from tests.helpers.browser import shown
from tests.helpers.fmus import build_fmu

FOUR_BAR = "tests/data/models/four_bar.xml"


@pytest.fixture(scope="module")
def ran():
    d = Diagram("kept")
    plant = d.add("plant", Plant.read(FOUR_BAR))
    gain = d.add("gain", Gain(0.5))
    d.connect(d.add("s", Sine(1.0, 2.0))["y"], gain["u"])
    d.connect(gain["y"], plant["crank_torque"])
    return simulate(d, 1.0, log_every=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nc", ".npz"])
def test_a_stored_result_shows_what_was_run(ran, tmp_path, suffix):
    ran.save(tmp_path / f"run{suffix}")
    again = Result.load(tmp_path / f"run{suffix}")
    assert again.origin is None
    again.save(tmp_path / "twice.nc")
    Result.load(tmp_path / "twice.nc").view(out=tmp_path / "twice.html")
    ran.view(out=tmp_path / "first.html")
    look = """() => ({nodes: [...document.querySelectorAll('.node')].map(n => n.dataset.path).sort(),
        links: viewer.content.plants[0].links, moving: viewer.content.plants[0].moving,
        points: [0, 20, 50].flatMap(k => [0, 1, 2].flatMap(b => viewer.pointAt(0, k, b, [0.3, 0.1, 0.2]))),
        names: [...viewer.signals.keys()]})"""
    found = []
    for name in ("first.html", "twice.html"):
        with shown(tmp_path / name) as page:
            found.append(page.evaluate(look))
            assert page.locator("#motion").is_visible()
            assert page.locator("#title").inner_text() == "kept"
    points = [np.array(f.pop("points")) for f in found]
    assert found[0] == found[1]
    assert found[0]["moving"]
    assert np.abs(points[0] - points[1]).max() < 1e-5  # places are kept as single precision


def test_a_run_of_a_scenario_knows_its_diagram_here_and_from_its_file(tmp_path):
    r = load_scenario("examples/inverted_pendulum/scenario.toml").run()
    r.save(tmp_path / "run.nc")
    pages = [of_result(r), of_result(Result.load(tmp_path / "run.nc"))]
    for page in pages:
        names = [node["path"] for node in page.content["diagram"]["root"]["nodes"]]
        assert set(names) >= {"plant", "controller"}
        assert page.content["plants"][0]["moving"]
    assert pages[0].content["diagram"] == pages[1].content["diagram"]


def test_the_drawing_can_be_left_out_and_is_no_part_of_the_data(ran, tmp_path):
    import xarray

    ran.save(tmp_path / "with.nc")
    ran.save(tmp_path / "without.nc", drawing=False)
    with (
        xarray.open_dataset(tmp_path / "with.nc") as one,
        xarray.open_dataset(tmp_path / "without.nc") as other,
    ):
        assert one.identical(other)
    assert Result.load(tmp_path / "without.nc").drawing is None
    with pytest.raises(PlantloopError, match="drawing is 'no', expected True or False"):
        ran.save(tmp_path / "x.nc", drawing="no")


@pytest.mark.slow
def test_long_runs_keep_fewer_poses_with_their_times(ran, monkeypatch, tmp_path):
    monkeypatch.setattr("cosim.viewer.stored_drawings.MOST_POSES", 12 * 3 * 10)
    ran.save(tmp_path / "run.nc")
    content = of_drawing(Result.load(tmp_path / "run.nc").drawing).content
    rows = content["plants"][0]["poses"]["shape"][0]
    assert 5 <= rows <= 11
    Result.load(tmp_path / "run.nc").view(out=tmp_path / "few.html")
    ran.view(out=tmp_path / "all.html")
    seen = []
    for name in ("few.html", "all.html"):
        with shown(tmp_path / name) as page:
            page.evaluate("viewer.setTime(0.6)")
            seen.append(page.evaluate("viewer.poseAt(0, 0.6, 1, [0.1, 0, 0])"))
    assert np.allclose(seen[0], seen[1], atol=1e-5)  # 0.6 s is one of the instants that are kept


def test_copies_keep_a_coupling_and_forget_what_was_run(ran, tmp_path):
    copy = pickle.loads(pickle.dumps(ran))
    assert copy.origin is None
    assert copy.coupling is None
    ran.save(tmp_path / "run.nc")
    loaded = Result.load(tmp_path / "run.nc")
    again = pickle.loads(pickle.dumps(loaded))
    assert again.drawing.packed == loaded.drawing.packed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("title"), "title"),
        (lambda c: c["plants"][0]["poses"].update(at=10**9), "not there"),
        (lambda c: c["plants"][0]["poses"].update(shape=[-1, 3, 12]), "not there"),
        (lambda c: c["plants"][0]["bodies"][0].update(link=17), "link that is not there"),
        (lambda c: c["plants"][0].pop("joints"), "joints"),
    ],
)
def test_a_damaged_drawing_is_refused(ran, change, says, tmp_path):
    ran.save(tmp_path / "run.nc")
    kept = Result.load(tmp_path / "run.nc").drawing
    content = json.loads(kept.text())
    change(content)
    with pytest.raises(PlantloopError, match=f"damaged.*{says}"):
        of_drawing(KeptDrawing.of(json.dumps(content), kept.numbers))
    with pytest.raises(PlantloopError, match="damaged"):
        of_drawing(KeptDrawing(kept.packed[:-20] + b"x" * 20, kept.numbers))


def test_a_block_that_cannot_be_shown_is_no_reason_to_lose_a_result(tmp_path, monkeypatch):
    d = Diagram("odd")
    d.connect(d.add("c", Sine(1.0, 1.0))["y"], d.add("i", Integrator())["u"])
    r = simulate(d, 0.1)

    def broken(block):
        raise ZeroDivisionError("no repr")

    monkeypatch.setattr("cosim.viewer.diagram_data._fields", broken)
    with pytest.warns(UserWarning, match="saved without its drawing: no repr"):
        r.save(tmp_path / "run.nc")
    assert Result.load(tmp_path / "run.nc")["i.y"].shape == r["i.y"].shape


@pytest.mark.slow
def test_an_fmu_shows_its_variables_and_structure(tmp_path):
    path = build_fmu("mass", folder=tmp_path)
    from cosim.viewer.fmu_data import of_fmu
    from cosim.viewer.page import view

    data = of_fmu(path)
    view(data, tmp_path / "fmu.html")
    rows = {row[0]: row for row in data.content["tables"][0]["rows"]}
    with shown(tmp_path / "fmu.html") as page:
        assert page.locator(".node.fmu").count() == 1
        assert page.locator(".node.fmu .picture").text_content().startswith("FMI ")
        assert page.locator("#tables tbody tr").count() == len(rows)
        page.locator("#tables .filter").fill("causality = input")
        names = page.evaluate(
            "[...document.querySelectorAll('#tables tbody tr')].map(r => r.cells[0].innerText)"
        )
        assert names == [n for n, row in rows.items() if row[1] == "input"]
        assert names
        page.locator("#tables .tools button", has_text="structure").click()
        assert "depends on" in page.locator("#tables thead").inner_text()
        page.locator("#tables th").first.click()
        first = page.evaluate(
            "[...document.querySelectorAll('#tables tbody tr')].map(r => r.cells[0].innerText)"
        )
        assert first == sorted(first)
