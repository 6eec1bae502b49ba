"""Pictures of state charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.charts.language import Code
from blocks.charts.states import ChartTree, State, Transition
from blocks.figure_file import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BEND = 0.15  # of an arrow, as a part of its length
BEHIND = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}


def drawn(
    states: tuple[State, ...],
    transitions: tuple[Transition, ...],
    initial: str,
    parallel: bool,
    path: Any = None,
) -> Figure:
    """States as boxes on a circle, transitions as arrows with their guards; inner ones by whole names."""
    import networkx as nx
    from matplotlib.figure import Figure

    tree = ChartTree(states, initial, parallel)
    leaves = [n for n in tree.nodes if not n.children]
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(n.path for n in tree.nodes)
    for t in transitions:
        graph.add_edge(tree.find(t.source).path, tree.find(t.target).path, text=_text(t))
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    places = nx.circular_layout(graph)
    faces = ["#dce9f7" if n in leaves else "#f3f3f3" for n in tree.nodes]
    boxes = dict(zip(graph.nodes, faces, strict=True))
    for name, (x, y) in places.items():
        style = {"boxstyle": "round,pad=0.5", "fc": boxes[name], "ec": "#33557a"}
        axes.annotate(name, (x, y), ha="center", va="center", bbox=style, zorder=3)
    nx.draw_networkx_edges(graph, places, ax=axes, connectionstyle=f"arc3,rad={BEND}", node_size=2500)
    axes.margins(0.25)
    figure.draw_without_rendering()  # where places are on the page is known then, and arrows bend there
    for source, target, text in graph.edges(data="text"):
        middle = _middle(*(axes.transData.transform(places[name]) for name in (source, target)))
        x, y = axes.transData.inverted().transform(middle)
        axes.annotate(text, (x, y), ha="center", va="center", fontsize=8, zorder=4, bbox=BEHIND)
    if path is not None:
        save_figure(figure, path)
    return figure


def _middle(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The middle of an arrow that matplotlib bends, (2,): half way to its control point.

    Source: matplotlib.patches.ConnectionStyle.Arc3.
    """
    (x0, y0), (x1, y1) = start, end
    return 0.5 * (start + end) + 0.5 * BEND * np.array([y1 - y0, x0 - x1])


def _text(t: Transition) -> str:
    guard = "" if t.guard is None else f"[{_code(t.guard)}]"
    return " ".join(part for part in (t.on, guard, f"/ {_code(t.action)}" if t.action else "") if part)


def _code(code: Code) -> str:
    return code if isinstance(code, str) else getattr(code, "__name__", "function")
