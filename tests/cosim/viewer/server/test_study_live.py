"""The page of a study that runs: it renews itself, and what was selected stays selected."""

import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from blocks import Gain, PlantloopError, Step, Sum, TransferFunction
from cosim import Diagram, Study, open_study
from tests.helpers.browser import shown, wait_until


def loop():
    d = Diagram("loop")
    d.connect(d.add("step", Step(time=0.2))["y"], d.add("sum", Sum("+-"))["in1"])
    d.connect(d["sum"]["y"], d.add("k", Gain(5.0))["u"])
    d.connect(d["k"]["y"], d.add("lag", TransferFunction([1.0], [0.3, 1.0]))["u"])
    d.connect(d["lag"]["y"], d["sum"]["in2"])
    return d


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "out"
    Study(
        loop(),
        until=1.0,
        sweep={"k.k": list(np.linspace(1.0, 20.0, 40))},
        metrics={"last": "final(lag.y)", "peak": "max(k.y)"},
        store={"keep": "all", "signals": ["lag.y"], "every": 0.05},
    ).run(folder, workers=1)
    return folder


def parts_of_table(folder):
    return sorted((folder / "table").glob("*.parquet"))


def in_halves(finished, folder):
    """A copy of a folder with ten rows of its table, as while the study ran; what writes the others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.copytree(finished, folder)
    tables = [pq.read_table(file) for file in parts_of_table(folder)]
    first = parts_of_table(folder)[0]
    for file in parts_of_table(folder)[1:]:
        file.unlink()
    whole = pa.concat_tables(tables)
    pq.write_table(whole.slice(0, 10), first)
    return lambda: pq.write_table(whole.slice(10), first.with_name("zz-later.parquet"))


@pytest.mark.slow
def test_cases_appear_and_what_was_selected_stays(finished, tmp_path):
    go_on = in_halves(finished, tmp_path / "out")
    view = open_study(tmp_path / "out")
    assert len(view.table) == 10
    selected = "viewer.studyState.selected.reduce((a, b) => a + b, 0)"
    with view.view(live=True, show=False) as live, shown(live.address, offline=False) as page:
        assert page.locator("#cases tbody tr").count() == 10
        assert "10 of 40 cases done" in page.locator("#about").inner_text()
        wait_until(page, "viewer.studyLive.renewed === 1")  # what there is when the socket opens
        page.evaluate("viewer.studyState.brush('k.k', [2, 8])")
        page.evaluate("viewer.studyState.choose(6)")
        page.locator("#metrics [data-pick=y]").select_option("peak")
        page.locator("#cases .filter").fill("last > 0.1")
        gains = view.table["k.k"]
        before = page.evaluate(selected)
        assert before == ((gains >= 2) & (gains <= 8)).sum() < 10
        go_on()
        wait_until(page, "viewer.studyLive.renewed === 2")
        gains = open_study(tmp_path / "out").table["k.k"]
        assert "40 of 40 cases done" in page.locator("#about").inner_text()
        assert page.evaluate(selected) == ((gains >= 2) & (gains <= 8)).sum() > before
        assert page.locator("#cases .filter").input_value() == "last > 0.1"
        assert page.evaluate("document.activeElement.matches('#cases .filter')")
        assert page.locator("#metrics [data-pick=y]").input_value() == "peak"
        assert page.locator("#cases .info h3").inner_text() == "case 6"
        # rooms still open alone, and their buttons do one thing only
        page.locator("#cases [data-do=all]").click()
        assert page.evaluate(selected) == 40
        page.locator("#parallel h2").dblclick(position={"x": 20, "y": 8})
        assert page.locator("#cases").is_hidden()
        page.locator("#parallel h2").dblclick(position={"x": 20, "y": 8})
        assert page.locator("#cases").is_visible()
        with page.expect_download() as download:
            page.locator("#cases [data-do=rows]").click()
        assert download.value.suggested_filename == "cases.csv"


@pytest.mark.slow
def test_a_page_opened_before_the_first_case_is_done(finished, tmp_path):
    folder = tmp_path / "out"
    go_on = in_halves(finished, folder)
    (first,) = parts_of_table(folder)
    aside = first.rename(tmp_path / "aside.parquet")
    with (
        open_study(folder).view(live=True, show=False) as live,
        shown(live.address, offline=False) as page,
    ):
        assert page.locator("#parallel").is_hidden()
        shutil.copy(aside, first)
        go_on()
        wait_until(page, "document.querySelectorAll('#cases tbody tr').length === 40")
        for room in ("parallel", "metrics", "envelopes"):
            assert page.locator(f"#{room}").is_visible()
        # it takes no commands, and damage is told, not fatal
        later = folder / "table" / "zz-later.parquet"
        later.write_bytes(b"no parquet")
        wait_until(page, "document.querySelector('[data-study=said]').textContent !== ''")
        go_on()
        wait_until(page, "document.querySelector('[data-study=said]').textContent === ''")


def opened_as_soon_as_it_is_one(folder, running):
    while running.is_alive():
        try:
            return open_study(folder)
        except PlantloopError:
            running.join(0.02)
    return open_study(folder)


@pytest.mark.slow
def test_a_study_is_watched_from_its_first_to_its_last_case(tmp_path):
    study = Study(loop(), until=0.5, sweep={"k.k": list(np.linspace(1.0, 20.0, 60))})
    running = threading.Thread(target=lambda: study.run(tmp_path / "out", workers=1))
    running.start()
    try:
        with (
            opened_as_soon_as_it_is_one(tmp_path / "out", running).view(live=True, show=False) as live,
            shown(live.address, offline=False) as page,
        ):
            wait_until(page, "document.querySelectorAll('#cases tbody tr').length === 60", seconds=60.0)
    finally:
        running.join()


@pytest.mark.slow
def test_a_case_is_run_and_opened(finished):
    """The page of a case is that of a run of it; it needs the model, and a number that is one."""
    study = Study(
        loop(),
        until=1.0,
        sweep={"k.k": list(np.linspace(1.0, 20.0, 40))},
        metrics={"last": "final(lag.y)", "peak": "max(k.y)"},
        store={"keep": "all", "signals": ["lag.y"], "every": 0.05},
    )
    view = open_study(finished, study=study)
    with view.view(live=True, show=False) as live, shown(live.address, offline=False) as page:
        wait_until(page, "viewer.studyLive.renewed === 1")
        page.evaluate("viewer.studyState.choose(6)")
        with page.expect_popup() as popup:
            page.locator("#cases .info a.open").click()
        case = popup.value
        case.wait_for_selector("html[data-ready=yes]")
        found = case.evaluate("Array.from(viewer.signals.get('lag.y').values)")
        assert np.array_equal(found, view.case(6).result["lag.y"][:, 0])
        assert case.evaluate("document.title").endswith("case 6")
        assert case.locator("#diagram .node").count() == 4
        said = case.evaluate("path => fetch(path).then(() => 'let in', () => 'refused')", "../case/7")
        assert said == "refused"  # its policy lets it ask for nothing
        case.close()
        for path, status, text in (
            ("case/40", 200, "no case 40"),
            ("case/x", 404, ""),
            ("etc/passwd", 404, ""),
        ):
            answer = page.request.get(live.address + path)
            assert (answer.status, text in answer.text()) == (status, True)
        assert page.request.get(live.address.rsplit("/", 2)[0] + "/wrong/case/6").status == 404


@pytest.mark.slow
def test_what_does_not_belong_to_a_live_page_is_refused(finished, tmp_path):
    view = open_study(finished)
    with pytest.raises(PlantloopError, match="a live page is no file"):
        view.view(live=True, out=tmp_path / "x.html", show=False)
    with pytest.raises(PlantloopError, match="port belongs to live pages"):
        view.view(port=1, show=False)
    with pytest.raises(PlantloopError, match="live is 1, expected True or False"):
        view.view(live=1)
    command = [sys.executable, "-m", "cosim", "view", str(finished), "--live", "--forces"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--live of a study takes no other option" in done.stderr
