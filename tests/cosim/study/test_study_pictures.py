"""Pictures and tables of a study, from numbers whose percentiles are known."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cosim.study import executors, report_pictures, study_report
from cosim.study.store import Manifest
from cosim.study.study_plots import plotted


@pytest.mark.parametrize(("cases", "lines"), [(10, 10), (500, 500), (900, 450)])
def test_every_case_is_a_line_until_there_are_too_many(monkeypatch, cases, lines):
    monkeypatch.setattr(report_pictures, "picture", lambda figure, name: figure)
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"p": rng.random(cases), "m": rng.random(cases)})
    manifest = SimpleNamespace(parameters=["p"], metrics=["m"], requirements=[], titled=str)
    monkeypatch.setattr(report_pictures, "_bad", lambda view: np.zeros(cases, bool))
    figure = report_pictures.parallel(SimpleNamespace(store=SimpleNamespace(manifest=manifest), table=table))
    assert len(figure.axes[0].lines) == lines


def test_bands_of_a_signal_and_a_column_over_another(monkeypatch):
    """Percentiles of 0, 1, ..., 100 are themselves; cases that failed are red."""
    y, time = np.arange(101.0)[:, None] * np.ones(3), [0.0, 1.0, 2.0]
    table = pd.DataFrame({"p": np.arange(101.0), "m": np.arange(101.0) ** 2})
    manifest = SimpleNamespace(
        times=time,
        stored={"a.y": (1, ())},
        other_names={},
        requirements=[],
        signal_unit=lambda n: "m",
        titled=str,
    )
    store = SimpleNamespace(manifest=manifest, numbers_of=np.asarray)
    view = SimpleNamespace(
        store=store, table=table, signals={"a.y": y}, failed=table.iloc[[3, 5]],
        column=lambda name: table[name].to_numpy(),
    )  # fmt: skip
    (axes,) = plotted(view, ["a.y"], [7]).axes
    edges = [part.get_paths()[0].vertices[:, 1] for part in axes.collections]
    assert [(e.min(), e.max()) for e in edges] == [(0, 100), (5, 95), (25, 75)]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[7.0] * 3] and axes.get_title(
        "left"
    ) == "a.y [m]"
    (axes,) = plotted(view, ["p", "m"], None).axes
    good, bad = (part.get_offsets() for part in axes.collections)
    assert len(good) == 99 and bad.tolist() == [[3.0, 9.0], [5.0, 25.0]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("p", "m")


def test_tables_of_a_report(monkeypatch):
    """Percentiles of 0, 1, ..., 100 are themselves; a case that failed or misses a requirement is marked."""
    count = 101
    table = pd.DataFrame({
        "p": np.zeros(count), "m": np.arange(float(count)), "r": [True] * 98 + [False] * 3,
        "r.robustness": np.arange(98.0, -3.0, -1.0), "status": ["done"] * 100 + ["failed"],
        "message": [""] * 100 + ["a < b"],
    })  # fmt: skip
    manifest = SimpleNamespace(
        metrics=["m"], requirements=["r"], parameters=["p"], titled=str,
        command=lambda case, url: f"cosim sweep --case {case}",
    )  # fmt: skip
    view = SimpleNamespace(
        store=SimpleNamespace(manifest=manifest, folder=SimpleNamespace(url="out")),
        table=table,
        column=lambda name: table[name].to_numpy(dtype=float),
    )
    metrics = ET.fromstring(study_report._metrics(view))
    assert [cell.text for cell in metrics[1]] == ["m", "0", "5", "50", "95", "100", "0"]
    requirements = ET.fromstring(study_report._requirements(view))
    assert [cell.text for cell in requirements[1]] == ["r", "98 of 101", "-2"]
    worst = ET.fromstring(study_report._worst(view))
    rows = {row[0].text: row for row in worst[1:]}
    assert list(rows)[:5] == ["100", "99", "98", "97", "96"]
    assert [rows[k].get("class") for k in ("100", "99", "98", "97", "96")] == ["bad", "bad", "bad", "", ""]
    assert rows["100"][3].text == "a < b" and rows["100"][4][0].text == "cosim sweep --case 100"


def test_a_metric_without_values_and_a_study_without_a_file():
    """The number of cases without a value stood in the column of the least; a command named no file."""
    table = pd.DataFrame({"p": [0.0, 1.0], "m": [np.nan, np.inf], "status": "done", "message": ""})
    manifest = Manifest("d", 2, 2, (), ("p",), ("m",), (), {}, (0.0,), "all", "float64", {})
    folder = SimpleNamespace(url="out")
    view = SimpleNamespace(
        store=SimpleNamespace(manifest=manifest, folder=folder), table=table, failed=table[:0],
        column=lambda name: table[name].to_numpy(dtype=float),
    )  # fmt: skip
    metrics = ET.fromstring(study_report._metrics(view))
    assert [cell.text for cell in metrics[1]] == ["m", None, None, None, None, None, "2"]
    worst = ET.fromstring(study_report._worst(view))
    assert [row[-1][0].text for row in worst[1:]] == [
        f'open_study("out", study=study).case({k}).result' for k in range(2)
    ]
    assert list(report_pictures.scatters(view)) == []


def test_an_interruption_says_how_to_go_on(monkeypatch):
    def stopped(job, tell):
        raise KeyboardInterrupt

    monkeypatch.setitem(executors.EXECUTORS, "threads", stopped)
    job = SimpleNamespace(store=SimpleNamespace(folder=SimpleNamespace(url="out")))
    with pytest.raises(KeyboardInterrupt, match=r"kept in 'out'; go on with resume=True"):
        executors.work_at("threads", job, SimpleNamespace(add=None))
