"""Pictures of a result: stacked axes over a shared time axis.

Figures are made with `matplotlib.figure.Figure` and drawn by Agg, without pyplot: nothing global changes, no
window opens, and threads may draw at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from blocks.errors import PlantloopError
from cosim.names import UNIT
from cosim.result.record import FloatArray

# Okabe and Ito's palette, distinct also to colour-blind readers; yellow left out, it is lost on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
MOST_AXES = 60  # more rows than this make a picture nobody can read
MOST_EVENTS = 200  # more marks than this hide the curves
MOST_LEGEND = 10  # entries; further components are drawn and counted
INK, GRID = "#333333", "#DDDDDD"
MARGIN = 0.08  # of the range of values, above and below them


@dataclass(frozen=True)
class Course:
    """One signal or component over time.

    time : (n,) s; values : (n, k); labels, units : k texts, empty where there are none
    sampled : the values are those of ticks and hold until the next one
    """

    name: str
    time: FloatArray
    values: FloatArray
    sampled: bool
    labels: Sequence[str]
    units: Sequence[str]


def draw(
    groups: Sequence[Sequence[Course]],
    span: tuple[float, float] | None,
    name: str,
    title: str | None,
    complete: bool,
    events: Sequence[float] = (),
    figure: Figure | None = None,
    window: bool = False,
) -> Figure:
    """A figure with one row per group of courses; see `Result.plot`.

    span : first and last logged instant [s], None without any
    name : of the result, its title where `title` is None
    window : is the span a part of what was logged?
    figure : drawn into, in place of what is in it; None for a new one
    """
    if not groups or len(groups) > MOST_AXES:
        few = "there is nothing to draw" if not groups else f"{len(groups)} signals do not fit one picture"
        raise PlantloopError(
            f"{few} in result '{name}'.",
            hint=f"Name up to {MOST_AXES} signals: result.plot('plant.pendulum', ...)." if groups else None,
        )
    if figure is None:
        figure = Figure(figsize=size_of(len(groups)), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
    figure.clear()
    rows = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for axes, group in zip(rows, groups, strict=True):
        if len(group) == 1:
            _draw_course(axes, group[0], span)
        else:
            _draw_together(axes, group, span)
        if window and span is not None:
            _fit(axes, span)
        if 0 < len(events) <= MOST_EVENTS:
            marks = {"colors": "#CC79A7", "linewidth": 0.8, "linestyle": ":", "zorder": 0}
            axes.vlines(events, 0, 1, transform=axes.get_xaxis_transform(), **marks)
    rows[-1].set_xlabel("time [s]", color=INK)
    if span is not None and span[1] > span[0]:
        rows[-1].set_xlim(*span)
    text = name if title is None else title
    if not complete:
        text += f" (stopped at t = {span[1]:.6g} s)" if span else " (stopped before the first instant)"
    figure.suptitle(text, color=INK, fontsize="large")
    return figure


def size_of(rows: int) -> tuple[float, float]:
    """Width and height [inches] of a figure of so many rows."""
    return 8.0, 0.7 + 1.7 * max(rows, 1.6)


def _draw_course(axes: Axes, course: Course, span: tuple[float, float] | None) -> None:
    """One signal alone on its axes."""
    legends, unit = _legends(course)
    heading = course.name
    if len(legends) == 1:  # one line needs no legend
        heading, unit, legends = _alone(course.name, legends[0], unit), "", [""]
    _lines(axes, course, legends, cycle(COLOURS), span, 0)
    _dress(axes, heading, unit, any(legends), max(len(legends) - MOST_LEGEND, 0))


def _draw_together(axes: Axes, group: Sequence[Course], span: tuple[float, float] | None) -> None:
    """Several signals on the same axes; a unit they share goes to the title."""
    colours, drawn = cycle(COLOURS), 0
    shared = {unit for course in group for unit in course.units}
    for course in group:
        texts, unit = _legends(course)
        legends = [_alone(course.name, text, unit if len(shared) > 1 else "") for text in texts]
        _lines(axes, course, legends, colours, span, drawn)
        drawn += len(legends)
    unit = shared.pop() if len(shared) == 1 else ""
    _dress(axes, ", ".join(course.name for course in group), unit, True, max(drawn - MOST_LEGEND, 0))


def _lines(
    axes: Axes,
    course: Course,
    legends: Sequence[str],
    colours: Iterator[str],
    span: tuple[float, float] | None,
    drawn: int,
) -> None:
    time, values = course.time, course.values
    if course.sampled:
        time, values = _held_to_end(course, span)
    for i, (legend, colour) in enumerate(zip(legends, colours, strict=False)):
        named = (legend or None) if drawn + i < MOST_LEGEND else None
        style: dict[str, Any] = {"color": colour, "label": named}
        if course.sampled:
            dots = slice(None, -1)  # the last point only carries the line to the end
            style |= {"drawstyle": "steps-post", "marker": ".", "markevery": dots, "linewidth": 1.0}
            style["markersize"] = _dot_size(len(time))
        else:
            style["linewidth"] = 1.5
        axes.plot(time, values[:, i], **style)
    if values.size == 0:
        axes.text(0.5, 0.5, "no values", color="#888888", ha="center", va="center", transform=axes.transAxes)


def _dot_size(ticks: int) -> float:
    """Size of the dots of a sampled signal in points: smaller where there are many."""
    if ticks <= 100:
        return 5.0
    return 3.0 if ticks <= 300 else 1.5


def _alone(name: str, label: str, unit: str) -> str:
    """Title of axes with one line: its name, label and unit, each once."""
    bare = UNIT.sub("", label)
    if label and name.endswith((f".{bare}", f".{label}")):
        title = name.removesuffix(label).removesuffix(bare) + label
    else:
        title = f"{name}, {label}" if label else name
    return f"{title} [{unit}]" if unit and not title.endswith(f"[{unit}]") else title


def _fit(axes: Axes, span: tuple[float, float]) -> None:
    """Scale an axis of values to its lines inside a window, with one more point on either side."""
    seen = []
    for line in axes.lines:
        time, values = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        first = max(int(np.searchsorted(time, span[0], "right")) - 1, 0)
        seen.append(values[first : int(np.searchsorted(time, span[1], "left")) + 1])
    found = np.concatenate(seen)
    found = found[np.isfinite(found)]
    if len(found):
        low, high = float(found.min()), float(found.max())
        margin = MARGIN * (high - low) or MARGIN * abs(high) or 1.0
        axes.set_ylim(low - margin, high + margin)


def _held_to_end(course: Course, span: tuple[float, float] | None) -> tuple[FloatArray, FloatArray]:
    """The samples and one more point that holds the last of them to the end of the log."""
    time, values = course.time, course.values
    if not len(time):
        return time, values
    end = max(time[-1], span[1] if span else time[-1])
    return np.append(time, end), np.vstack([values, values[-1:]])


def _legends(course: Course) -> tuple[list[str], str]:
    """Legend texts of the components, and the unit they share (or "").

    A shared unit goes to the title of the axes, differing ones go to the legend.
    """
    units, k = course.units, len(course.units)
    numbered = [f"[{i}]" if k > 1 else "" for i in range(k)]
    texts = [label or number for label, number in zip(course.labels, numbered, strict=True)]
    if len(set(units)) == 1:
        return texts, units[0]
    return [
        text if not unit or text.endswith(f"[{unit}]") else f"{text} [{unit}]"
        for text, unit in zip(texts, units, strict=True)
    ], ""


def _dress(axes: Axes, name: str, unit: str, legend: bool, hidden: int) -> None:
    axes.set_title(f"{name} [{unit}]" if unit else name, loc="left", fontsize="medium", color=INK)
    axes.grid(True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#999999")
    axes.tick_params(color="#999999", labelcolor=INK, labelsize="small")
    axes.margins(y=MARGIN)
    if legend:
        title = f"and {hidden} more" if hidden else None
        box = axes.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small", title=title
        )
        box.get_title().set_fontsize("small")


def draw_phase(x: Course, y: Course, name: str) -> Figure:
    """One component over another, from the first instant (a dot) on; see `Result.phase`."""
    figure, axes = _single()
    axes.plot(x.values[:, 0], y.values[:, 0], color=COLOURS[0], linewidth=1.5)
    axes.plot(x.values[:1, 0], y.values[:1, 0], "o", color=COLOURS[0])
    for course, put in ((x, axes.set_xlabel), (y, axes.set_ylabel)):
        texts, unit = _legends(course)
        put(_alone(course.name, texts[0], unit), color=INK)
    figure.suptitle(name, color=INK, fontsize="large")
    return figure


def draw_spectrum(frequency: FloatArray, size: FloatArray, course: Course) -> Figure:
    """Amplitudes (m,) over frequencies (m,) [Hz]; see `Result.spectrum`."""
    figure, axes = _single()
    texts, unit = _legends(course)
    axes.semilogy(frequency, np.maximum(size, 1e-300), color=COLOURS[0], linewidth=1.5)
    top = float(size.max(initial=0.0)) or 1.0
    axes.set_ylim(top * 1e-8, top * 2)
    axes.set_xlabel("frequency [Hz]", color=INK)
    axes.set_ylabel("amplitude" + (f" [{unit}]" if unit else ""), color=INK)
    figure.suptitle(_alone(course.name, texts[0], ""), color=INK, fontsize="large")
    return figure


def _single() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 4.8), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.grid(True, color=GRID)
    return figure, axes
