"""Pictures of a result: stacked axes over a shared time axis.

Figures are made with `matplotlib.figure.Figure` and drawn by Agg, without pyplot: nothing global changes, no
window opens, and threads may draw at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from blocks.errors import PlantloopError
from cosim.names import UNIT
from cosim.result.result import FloatArray, Result
from cosim.result.result_files import replacing

# Okabe and Ito's palette, distinct also to colour-blind readers; yellow left out, it is lost on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
MOST_AXES = 60  # more rows than this make a picture nobody can read
MOST_LEGEND = 10  # entries; further components are drawn and counted
INK, GRID = "#333333", "#DDDDDD"


def draw(result: Result, names: Sequence[str] = (), title: str | None = None) -> Figure:
    """A figure with one row per name; see `Result.plot`."""
    shown = list(names) or list(result.keys())
    if not shown or len(shown) > MOST_AXES:
        few = "there is nothing to draw" if not shown else f"{len(shown)} signals do not fit one picture"
        raise PlantloopError(
            f"{few} in result '{result.name}'.",
            hint=f"Name up to {MOST_AXES} signals: result.plot('plant.pendulum', ...)." if shown else None,
        )
    figure = Figure(figsize=(8.0, 0.7 + 1.7 * max(len(shown), 1.6)), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, name in zip(rows, shown, strict=True):
        _draw_signal(axes, result, name)
    rows[-1].set_xlabel("time [s]", color=INK)
    if len(result.time) > 1 and result.time[-1] > result.time[0]:
        rows[-1].set_xlim(result.time[0], result.time[-1])
    figure.suptitle(_headline(result, title), color=INK, fontsize="large")
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the picture; the suffix chooses among the formats matplotlib knows (.png, .svg, .pdf, ...)."""
    target = Path(path)
    known = figure.canvas.get_supported_filetypes()
    if target.suffix.lower().lstrip(".") not in known:
        raise PlantloopError(
            f"cannot save a picture as '{target}': the suffix '{target.suffix}' is unknown.",
            path=str(target),
            hint=f"Use .png, or one of {', '.join('.' + k for k in sorted(known))}.",
        )
    with replacing(target) as temporary:
        figure.savefig(temporary)


def _headline(result: Result, title: str | None) -> str:
    text = result.name if title is None else title
    if result.complete:
        return text
    reached = (
        f"stopped at t = {result.time[-1]:.6g} s" if len(result.time) else "stopped before the first instant"
    )
    return f"{text} ({reached})"


def _draw_signal(axes: Axes, result: Result, name: str) -> None:
    sampled = _is_sampled(result, name)
    time, values = result.ticks(name) if sampled else (result.time, result[name])
    values = values.reshape(len(time), -1) if values.ndim == 1 else values
    legends, unit = _legends(result, name, sampled)
    heading = name
    if len(legends) == 1:  # one line needs no legend
        heading, unit, legends = _alone(name, legends[0], unit), "", [""]
    if sampled:
        time, values = _held_to_end(result, time, values)
    for i, (colour, legend) in enumerate(zip(cycle(COLOURS), legends, strict=False)):
        style: dict[str, Any] = {"color": colour, "label": (legend or None) if i < MOST_LEGEND else None}
        if sampled:
            dots = slice(None, -1)  # the last point only carries the line to the end
            style |= {"drawstyle": "steps-post", "marker": ".", "markevery": dots, "linewidth": 1.0}
            style["markersize"] = 5.0 if len(time) <= 100 else 3.0 if len(time) <= 300 else 1.5
        else:
            style["linewidth"] = 1.5
        axes.plot(time, values[:, i], **style)
    _dress(axes, heading, unit, any(legends), max(len(legends) - MOST_LEGEND, 0))
    if values.size == 0:
        axes.text(0.5, 0.5, "no values", color="#888888", ha="center", va="center", transform=axes.transAxes)


def _alone(name: str, label: str, unit: str) -> str:
    """Title of axes with one line: its name, label and unit, each once."""
    bare = UNIT.sub("", label)
    if label and name.endswith((f".{bare}", f".{label}")):
        title = name.removesuffix(label).removesuffix(bare) + label
    else:
        title = f"{name}, {label}" if label else name
    return f"{title} [{unit}]" if unit and not title.endswith(f"[{unit}]") else title


def _is_sampled(result: Result, name: str) -> bool:
    signal = result.locate(name)[0] if name in result else name
    return signal in result.ticks_of


def _held_to_end(result: Result, time: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The samples and one more point that holds the last of them to the end of the log."""
    if not len(time):
        return time, values
    end = max(time[-1], result.time[-1] if len(result.time) else time[-1])
    return np.append(time, end), np.vstack([values, values[-1:]])


def _legends(result: Result, name: str, sampled: bool) -> tuple[list[str], str]:
    """Legend texts of the components drawn for ``name``, and the unit they share (or "").

    A shared unit goes to the title of the axes, differing ones go to the legend.
    """
    signal, component = result.locate(name, result.ticks_of if sampled else result.signals)
    size = (result.ticks_of[signal].values if sampled else result.signals[signal]).shape[1]
    chosen = slice(None) if component is None else slice(component, component + 1)
    units = result.units.get(signal, ("",) * size)[chosen]
    labels = result.labels.get(signal, ("",) * size)[chosen]
    k = len(units)
    numbered = [f"[{i}]" if k > 1 else "" for i in range(k)]
    texts = [label or number for label, number in zip(labels, numbered, strict=True)]
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
    axes.margins(y=0.08)
    if legend:
        title = f"and {hidden} more" if hidden else None
        box = axes.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small", title=title
        )
        box.get_title().set_fontsize("small")
