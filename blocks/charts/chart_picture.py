"""A state chart as a small picture: states in states, and an arrow per transition."""

from __future__ import annotations

import math
from collections.abc import Sequence

from blocks.charts.states import ChartNode, ChartTree, Transition
from blocks.contract.picture import BlockPicture

LETTER, ROW, GAP, TITLE = 0.11, 0.42, 0.4, 0.32
MOST = 20  # states in a small picture
BESIDE = 0.09  # between the arrows there and back

Place = tuple[float, float, float, float]


def chart_picture(tree: ChartTree, transitions: Sequence[Transition]) -> BlockPicture | None:
    """The states of a chart by name and an arrow per transition; None of a chart with many states."""
    if len(tree.nodes) > MOST:
        return None
    places: dict[str, Place] = {}
    width, height = _placed(tree.root, 0.0, 0.0, places)
    ends = ((tree.find(t.source).path, tree.find(t.target).path) for t in transitions)
    arrows = (_arrow(places[a], places[b]) for a, b in dict.fromkeys(ends) if a != b)
    boxes = tuple((*places[n.path], n.path.rpartition(".")[2]) for n in tree.nodes)
    return BlockPicture(width, height, arrows=tuple(arrows), boxes=boxes)


def _placed(node: ChartNode, x: float, y: float, places: dict[str, Place]) -> tuple[float, float]:
    """Put a state and those in it at (x, y); its size. States lie in rows, as many rows as columns."""
    name = node.path.rpartition(".")[2]
    least = 0.35 + LETTER * len(name)
    if not node.children:
        places[node.path] = (x, y, least, ROW)
        return least, ROW
    edge = 0.0 if node.parent is None else 0.5 * GAP
    columns = math.ceil(math.sqrt(len(node.children)))
    width, down = 0.0, y + (edge and TITLE)
    for k in range(0, len(node.children), columns):
        along, tallest = x + edge, 0.0
        for child in node.children[k : k + columns]:
            w, h = _placed(child, along, down, places)
            along, tallest = along + w + GAP, max(tallest, h)
        width, down = max(width, along - GAP - x + edge), down + tallest + GAP
    size = max(width, least), down - GAP + edge - y
    if node.parent is not None:
        places[node.path] = (x, y, *size)
    return size


def _arrow(source: Place, target: Place) -> tuple[tuple[float, float], ...]:
    """From border to border on the line between the middles, a little to the right of it."""
    (x0, y0), (x1, y1) = ((x + 0.5 * w, y + 0.5 * h) for x, y, w, h in (source, target))
    far = math.hypot(x1 - x0, y1 - y0) or 1.0
    along = (x1 - x0) / far, (y1 - y0) / far
    aside = -BESIDE * along[1], BESIDE * along[0]
    ends = []
    for (_, _, w, h), (x, y), way in ((source, (x0, y0), 1.0), (target, (x1, y1), -1.0)):
        reach = min(
            0.5 * size / abs(part) for size, part in zip((w, h), along, strict=True) if abs(part) > 1e-9
        )
        ends.append((x + aside[0] + way * reach * along[0], y + aside[1] + way * reach * along[1]))
    return tuple(ends)
