"""The picture of a block, drawn on axes: where a chart's states are, what a mechanism looks like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from blocks.contract.picture import BlockPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FACE = "#33557A", "#DCE9F7"
HEAD = 0.12  # length of the head of an arrow; lengths are those of a sheet
Point = tuple[float, float]


def draw_in_box(axes: Axes, picture: BlockPicture, x: float, y: float, size: float) -> None:
    """Draw a picture with its left upper corner at (x, y); `size` shrinks letters and lines."""
    _boxes(axes, picture, x, y, size)
    for lines, thick in ((picture.lines, 1.4), (picture.arrows, 0.6)):
        for points in lines:
            xs, ys = zip(*((x + a, y + b) for a, b in points), strict=True)
            axes.plot(xs, ys, color=INK, linewidth=thick * size, zorder=6)
    for arrow in picture.arrows:
        fill(axes, [(x + a, y + b) for a, b in _head(*arrow[-2:])], INK, 6)
    for a, b in picture.joints:
        axes.plot([x + a], [y + b], "o", color=INK, markersize=2.4 * size, zorder=7)


def fill(axes: Axes, corners: Sequence[Point], color: str, zorder: int) -> None:
    """A polygon without a border."""
    from matplotlib.patches import Polygon

    axes.add_patch(Polygon(corners, closed=True, facecolor=color, edgecolor="none", zorder=zorder))


def _boxes(axes: Axes, picture: BlockPicture, x: float, y: float, size: float) -> None:
    from matplotlib.patches import Rectangle

    for left, top, width, height, text in picture.boxes:
        box = Rectangle(
            (x + left, y + top), width, height, facecolor=FACE, edgecolor=INK, linewidth=0.5 * size, zorder=5
        )
        axes.add_patch(box)
        middle, high = x + left + 0.5 * width, y + top + min(0.5 * height, 0.2)
        axes.text(middle, high, text, fontsize=5 * size, ha="center", va="center", zorder=7)


def _head(begin: Point, end: Point) -> list[Point]:
    """Corners of the head of an arrow."""
    far = math.hypot(end[0] - begin[0], end[1] - begin[1]) or 1.0
    a, b = ((q - p) / far * HEAD for p, q in zip(begin, end, strict=True))
    (x, y) = end
    return [end, (x - a - 0.5 * b, y - b + 0.5 * a), (x - a + 0.5 * b, y - b - 0.5 * a)]
