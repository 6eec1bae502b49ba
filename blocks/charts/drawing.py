"""Pictures of state charts: states as boxes in the frames of those around them, transitions as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.charts.chart_layout import PAD, SMALL, Rectangle, TransitionArrow, laid_out, text_size, written
from blocks.charts.states import ChartNode, ChartTree, State, Transition
from blocks.figure_file import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawn(
    states: tuple[State, ...],
    transitions: tuple[Transition, ...],
    initial: str,
    parallel: bool,
    path: Any = None,
) -> Figure:
    """States by whole names in the frames of those around them, transitions as arrows with their guards.

    A dot leads to the state that is entered first; states that are active together have dashed borders.
    """
    from matplotlib.figure import Figure

    tree = ChartTree(states, initial, parallel)
    layout = laid_out(tree, transitions)
    covered = [*layout.boxes.values(), *layout.texts]
    low = np.min([(r.x, r.y) for r in covered], axis=0) - 2 * PAD
    high = np.max([(r.x + r.width, r.y + r.height) for r in covered], axis=0) + 2 * PAD
    figure = Figure(figsize=tuple(high - low))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    for node in tree.nodes:
        _draw_state(axes, node, layout.boxes[node.path])
    for arrow, place in zip(layout.arrows, layout.texts, strict=True):
        _draw_arrow(axes, arrow, place)
    if path is not None:
        save_figure(figure, path)
    return figure


def _draw_state(axes: Axes, node: ChartNode, box: Rectangle) -> None:
    from matplotlib.patches import FancyBboxPatch

    depth = len(node.line())
    assert node.parent is not None
    face = "#dce9f7" if not node.children else ("#f7f7f7" if depth % 2 == 0 else "#ececec")
    round_corners = f"round,pad=0,rounding_size={0.5 * PAD}"
    dashes = "--" if node.parent.parallel else "-"
    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y), box.width, box.height, round_corners, fc=face, ec="#33557a", ls=dashes,
            zorder=2 + 0.01 * depth,
        )
    )  # fmt: skip
    x, y = box.middle[0], box.y + box.height - PAD
    for text, size in written(node):
        height = text_size(text, size)[1]
        axes.annotate(text, (x, y - 0.5 * height), ha="center", va="center", fontsize=size, zorder=4)
        y -= height
    if not node.parent.parallel and node is node.parent.first:
        corner = box.x + PAD, box.y + box.height
        dot = corner[0] - 0.5 * PAD, corner[1] + 1.2 * PAD
        style = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", corner, dot, arrowprops=style, zorder=4)
        axes.plot(*dot, "ko", ms=4, zorder=4)


def _draw_arrow(axes: Axes, arrow: TransitionArrow, place: Rectangle) -> None:
    from matplotlib.patches import FancyArrowPatch

    ends = [(float(x), float(y)) for x, y in (arrow.start, arrow.end)]
    style = f"arc3,rad={arrow.bend}"
    axes.add_patch(
        FancyArrowPatch(
            *ends, arrowstyle="-|>", mutation_scale=10, connectionstyle=style, shrinkA=0, shrinkB=0, zorder=3
        )
    )
    behind = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
    axes.annotate(
        arrow.text, tuple(place.middle), ha="center", va="center", fontsize=SMALL, zorder=5,
        bbox=behind if arrow.text else None,
    )  # fmt: skip
