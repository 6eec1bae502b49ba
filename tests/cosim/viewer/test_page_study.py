"""Studies in the page: a selection is one for all rooms, and numbers are those of the table."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from blocks import Gain, Step, Sum, TransferFunction
from cosim import Diagram, Study, open_study
from cosim.study.study_plots import worst
from cosim.viewer import study_data
from tests.helpers.browser import shown


def step_loop():
    d = Diagram("loop <b>")
    d.add("lag", TransferFunction([1.0], [0.3, 1.0]))
    d.add("sum", Sum("+-"))
    d.add("k", Gain(5.0))
    d.add("step", Step(time=0.2))
    d.connect("step.y", "sum.in1")
    d.connect("lag.y", "sum.in2")
    d.connect("sum.y", "k.u")
    d.connect("k.y", "lag.u")
    return d


GAINS = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    s = Study(
        step_loop(),
        until=2.0,
        sweep={"k.k": GAINS, "step.after": [1.0, 2.0]},
        metrics={"last": "final(lag.y)", "peak": "max(k.y)"},
        requirements=[{"name": "follows", "always": "k.y < 40"}],
        store={"keep": "all", "signals": ["lag.y", "k.y"], "every": 0.02},
    ).run(folder / "out", workers=1)
    return s, folder


@pytest.mark.slow
def test_selections_are_linked_and_numbers_are_those_of_the_table(study):
    s, folder = study
    file = folder / "study.html"
    s.view(out=file)
    table = s.table
    selected = "Array.from(viewer.studyState.selected)"
    with shown(file) as page:
        assert page.locator("#cases tbody tr").count() == len(table)
        for name in ("last", "peak", "k.k"):
            found = page.evaluate(
                "n => Array.from(viewer.studyState.columns.find(c => c.name === n).list)", name
            )
            assert np.array_equal(found, table[name].to_numpy(dtype=float)), name
        # in the table
        page.locator("#cases .filter").fill("k.k > 3 & step.after = 2")
        wanted = ((table["k.k"] > 3) & (table["step.after"] == 2)).to_numpy()
        assert np.array_equal(page.evaluate(selected), wanted.astype(int))
        assert f"{wanted.sum()} selected" in page.locator("#about").inner_text()
        # on an axis of the parallel coordinates, and both at once
        page.evaluate("viewer.studyState.brush('last', [0.9, 1.9])")
        both = wanted & table["last"].between(0.9, 1.9).to_numpy()
        assert np.array_equal(page.evaluate(selected), both.astype(int))
        assert page.locator("#cases tbody tr").count() == both.sum()
        # those that fail
        page.locator("#cases [data-do=all]").click()
        assert sum(page.evaluate(selected)) == len(table)
        page.locator("#cases [data-do=bad]").click()
        assert np.array_equal(page.evaluate(selected), table.index.isin(s.failed.index).astype(int))
        page.locator("#cases [data-do=all]").click()
        # a click into the scatter chooses a case
        x, y = page.evaluate("viewer.studyState.scatterAt(5)")
        page.mouse.click(x, y)
        text = page.locator("#cases .info").inner_text()
        assert "case 5" in text
        assert ".case(5).result" in text
        assert page.evaluate("viewer.studyState.lines") >= 1
        # a rectangle in the scatter selects
        page.mouse.move(x - 9, y - 9)
        page.mouse.down()
        page.mouse.move(x + 9, y + 9, steps=3)
        page.mouse.up()
        assert page.evaluate(selected)[5] == 1
        assert 1 <= sum(page.evaluate(selected)) < len(table)
        with page.expect_download() as got:
            page.locator("#cases [data-do=rows]").click()
        lines = got.value.path().read_text().splitlines()
        assert len(lines) == 1 + sum(page.evaluate(selected))


@pytest.mark.slow
def test_envelopes_are_percentiles_of_what_is_stored(study):
    s, folder = study
    page_of = s.view(show=False)
    page_of.save(folder / "envelope.html")
    values = np.asarray(s.signals["lag.y"], dtype=float)
    with shown(folder / "envelope.html") as page:
        at = page.evaluate("viewer.content.study.signals.findIndex(x => x.name === 'lag.y')")
        rows = page.evaluate(
            "k => viewer.numbers(viewer.content.study.signals[k].envelope).map(r => Array.from(r))", at
        )
        wanted = np.percentile(values, [0, 100, 5, 95, 25, 75, 50], axis=0)
        assert np.allclose(rows, wanted, rtol=1e-12, atol=1e-12)
        curves = page.evaluate(
            "k => viewer.numbers(viewer.content.study.signals[k].curves).map(r => Array.from(r))", at
        )
        assert np.array_equal(curves, values)
        page.locator("#envelopes [data-pick=signal]").select_option(index=1)
        for room in ("parallel", "metrics", "envelopes"):
            colours = page.evaluate(
                """r => { const c = document.querySelector(`#${r} canvas`);
                const g = c.getContext('2d');
                const all = g.getImageData(0, 0, c.width, c.height).data.buffer;
                return new Set(new Uint32Array(all)).size; }""",
                room,
            )
            assert colours > 5, room


@pytest.mark.slow
def test_the_command_shows_a_folder_also_one_that_is_not_complete(study, tmp_path):
    s, folder = study
    copy = shutil.copytree(folder / "out", tmp_path / "copy")
    done, out = sorted((copy / "table").glob("*.parquet")), tmp_path / "page.html"
    subprocess.run([sys.executable, "-m", "cosim", "view", copy, "--out", out], check=True)
    with shown(out) as page:
        assert page.locator("#cases tbody tr").count() == len(s.table)
        assert page.locator("#title").inner_text() == "loop <b>"
        assert page.evaluate("document.querySelector('#title b')") is None
    assert done
    for file in done:
        file.unlink()
    half = open_study(copy)
    half.view(out=out)
    with shown(out) as page:
        assert page.locator("#about").inner_text().startswith(f"0 of {len(s)} cases done")


def test_a_page_has_room_for_so_many_numbers_the_worst_cases_first(study, monkeypatch):
    """The first signals took all the room, and the worst cases had no curve where they came late."""
    s, _ = study
    width = sum(size for size, _ in s.store.manifest.stored.values())
    monkeypatch.setattr(study_data, "MOST_CURVES", 5 * width * len(s.store.manifest.times))
    monkeypatch.setattr(study_data, "WORST", 3)
    signals = study_data.of_study(s).content["study"]["signals"]
    drawn = signals[0]["cases"]
    assert len(signals) == width and 3 < len(drawn) <= 5 and set(worst(s, 3)) < set(drawn)
    assert all(one["cases"] == drawn for one in signals)
    monkeypatch.setattr(study_data, "MOST_NUMBERS", 6 * (1 + len(s.table.columns)))
    columns = {c["name"]: c for c in study_data.of_study(s).content["study"]["columns"]}
    assert columns["case"]["values"]["shape"] == [6]
