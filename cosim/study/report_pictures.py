"""Pictures of a report, as text to embed in its page."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cosim.study.study_plots import envelope, worst
from cosim.study.study_view import StudyView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 80
MOST = 6  # largest number of pictures of one kind
POINTS = 4000  # most points in one scatter plot
LINES = 400  # most cases in parallel coordinates
COLUMNS = 500  # of the picture of requirements
MET, NOT_MET = "#0072b2", "#d55e00"  # colours that people with colour blindness can distinguish


def picture(figure: Figure, title: str) -> str:
    """An image element with everything in it."""
    memory = io.BytesIO()
    figure.savefig(memory, format="png", dpi=DPI)
    data = base64.b64encode(memory.getvalue()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'


def _new(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _bad(view: StudyView) -> np.ndarray:
    failed = set(view.failed.index)
    return np.array([k in failed for k in view.table.index], dtype=bool)


def distributions(view: StudyView) -> Iterator[str]:
    """Histograms of the values of each metric and of each margin."""
    m = view.store.manifest
    margins = [f"{r}.robustness" for r in m.requirements]
    for name in (*m.metrics, *margins):
        values = view.column(name)
        some = values[np.isfinite(values)]
        if not len(some):
            continue
        figure = _new(4.2, 2.6)
        axes = figure.subplots()
        axes.hist(some, bins=min(40, max(5, int(np.sqrt(len(some))))), color="C0")
        if name in margins:
            axes.axvline(0.0, color="C3")
        axes.set_title(name, fontsize="medium")
        axes.set_ylabel("cases")
        yield picture(figure, f"distribution of {name}")


def matrix(view: StudyView) -> str:
    """A matrix of cases (columns) and requirements (rows): met, not met, failed.

    Of more cases than are told apart: the share of neighbours that meet it.
    """
    from matplotlib.colors import LinearSegmentedColormap

    m, table = view.store.manifest, view.table
    if not m.requirements or not len(table):
        return ""
    met = np.array([table[name].to_numpy(dtype=float) for name in m.requirements])
    failed = (table["status"] == "failed").to_numpy()
    words = "case: blue met, orange not met, black failed"
    if met.shape[1] > COLUMNS:
        edges = np.linspace(0, met.shape[1], COLUMNS + 1).astype(int)
        met = np.add.reduceat(met, edges[:-1], axis=1) / np.diff(edges)
        failed = np.zeros(COLUMNS, bool)
        several = len(table) // COLUMNS
        number = f"some {several}" if several > 1 else "one or two"
        words = f"case: of {number} neighbours blue all meet it, orange none"
    figure = _new(9, 0.9 + 0.35 * len(met))
    axes = figure.subplots()
    colours = LinearSegmentedColormap.from_list("met", [NOT_MET, MET]).with_extremes(bad="black")
    axes.imshow(
        np.ma.masked_array(met, np.broadcast_to(failed, met.shape)),
        aspect="auto", cmap=colours, vmin=0, vmax=1, interpolation="nearest",
        extent=(-0.5, len(table) - 0.5, len(met) - 0.5, -0.5),
    )  # fmt: skip
    axes.set_yticks(range(len(met)), list(m.requirements))
    axes.set_xlabel(words)
    return picture(figure, "requirements by case")


def scatters(view: StudyView) -> Iterator[str]:
    """Scatter plots of metrics over the parameters."""
    m, table, bad = view.store.manifest, view.table, _bad(view)
    names = [n for n in m.parameters if table[n].nunique() > 1][:MOST]
    step = max(1, len(table) // POINTS)
    shown = np.zeros(len(table), bool)
    shown[::step] = True
    shown[np.flatnonzero(bad)[: POINTS // 2]] = True
    for metric in (m.metrics or tuple(f"{r}.robustness" for r in m.requirements))[:MOST]:
        y = view.column(metric)
        if not names:
            return
        if not np.isfinite(y).any():
            continue
        figure = _new(2.6 * len(names) + 0.8, 2.6)
        rows = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
        for name, axes in zip(names, rows, strict=True):
            x = view.column(name)
            for some, colour in ((shown & ~bad, "C0"), (shown & bad, "C3")):
                axes.scatter(x[some], y[some], s=4, color=colour, linewidths=0)
            axes.set_xlabel(m.titled(name), fontsize="small")
        rows[0].set_ylabel(metric)
        yield picture(figure, f"{metric} over the parameters")


def parallel(view: StudyView) -> str:
    """Each case as a line through its parameters and metrics; red if it misses a requirement."""
    m, table, bad = view.store.manifest, view.table, _bad(view)
    names = [n for n in (*m.parameters, *m.metrics) if table[n].nunique() > 1]
    if len(names) < 2:
        return ""
    values = table[names].to_numpy(dtype=float)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    figure = _new(min(14.0, 1.6 * len(names) + 1), 3.2)
    axes = figure.subplots()
    places = np.arange(len(names))
    for some, colour, alpha in ((~bad, "C0", 0.15), (bad, "C3", 0.5)):
        chosen = np.flatnonzero(some)
        for k in chosen[:: max(1, len(chosen) // LINES)]:
            axes.plot(places, scaled[k], color=colour, alpha=alpha, linewidth=0.6)
    titles = map(m.titled, names)
    axes.set_xticks(places, [f"{n}\n{a:.3g} .. {b:.3g}" for n, a, b in zip(titles, low, high, strict=True)])
    axes.tick_params(axis="x", labelsize="small")
    axes.set_yticks([])
    return picture(figure, "parallel coordinates")


def envelopes(view: StudyView) -> Iterator[str]:
    """Percentiles of stored signals over all cases, with the worst cases as lines."""
    m = view.store.manifest
    names = [n if size == 1 else f"{n}[{k}]" for n, (size, _) in m.stored.items() for k in range(size)]
    for name in names[:MOST]:
        figure = _new(9, 2.4)
        envelope(view, name, figure.subplots(), None)
        figure.axes[0].set_xlabel("time [s]")
        yield picture(figure, f"envelope of {name}")


__all__ = ["distributions", "envelopes", "matrix", "parallel", "picture", "scatters", "worst"]
