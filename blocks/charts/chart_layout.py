"""Where the states, transitions and texts of a chart lie in its picture."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from blocks.charts.language import Code
from blocks.charts.states import ChartNode, ChartTree, Transition

BEND = 0.15  # of an arrow, as a part of its length
WIDEST = 32  # characters in a line
NAME, SMALL = 10.0, 8.0  # sizes of letters [pt]
LINE = 1.25 / 72.0  # height of a line per size of its letters [in/pt]
PAD = 0.12  # between a text and the border around it [in]
GAP = 0.35  # at least, between states [in]
SCALES = tuple(1.25**k for k in range(8))  # of the gaps, until no text covers another
ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # where a text may stand on its arrow
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))  # of a short one


@dataclass(frozen=True)
class Rectangle:
    """A box on the page: its lower left corner and its size [in]."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> np.ndarray:
        """(2,) [in]"""
        return np.array([self.x + 0.5 * self.width, self.y + 0.5 * self.height])

    def moved(self, dx: float, dy: float) -> Rectangle:
        """The same box elsewhere."""
        return Rectangle(self.x + dx, self.y + dy, self.width, self.height)

    def common(self, other: Rectangle) -> float:
        """The area that both cover [in^2]."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(wide, 0.0) * max(high, 0.0)

    def border(self, direction: np.ndarray) -> np.ndarray:
        """Where a ray from the middle leaves the box, (2,) [in]."""
        half = 0.5 * np.array([self.width, self.height])
        with np.errstate(divide="ignore"):
            return self.middle + direction * np.min(half / np.abs(direction))


@dataclass(frozen=True)
class TransitionArrow:
    """A transition on the page: a curve of second degree, with its text."""

    start: np.ndarray  # (2,) [in]
    end: np.ndarray
    bend: float
    text: str

    def at(self, s: float) -> np.ndarray:
        """A point of the curve, (2,) [in]; 0 <= s <= 1.

        Source: matplotlib.patches.ConnectionStyle.Arc3.
        """
        dx, dy = self.end - self.start
        control = 0.5 * (self.start + self.end) + self.bend * np.array([dy, -dx])
        return (1 - s) ** 2 * self.start + 2 * s * (1 - s) * control + s**2 * self.end


@dataclass(frozen=True)
class ChartLayout:
    """Where all lies: states by path, arrows in the order of the transitions, places of their texts."""

    boxes: Mapping[str, Rectangle]
    arrows: Sequence[TransitionArrow]
    texts: Sequence[Rectangle]


def laid_out(tree: ChartTree, transitions: Sequence[Transition]) -> ChartLayout:
    """A chart with the smallest gaps at which no text covers another."""
    ways = [(tree.find(t.source).path, tree.find(t.target).path, _text(t)) for t in transitions]
    tried: list[tuple[float, ChartLayout]] = []
    texts_in = _texts_in(tree, ways)
    for scale in SCALES:
        gaps = {path: tuple(scale * size for size in sizes) for path, sizes in texts_in.items()}
        boxes = {n.path: box for n, box in _nested(tree.root, gaps) if n.parent is not None}
        arrows = [_arrow(boxes[a], boxes[b], text) for a, b, text in ways]
        taken = [_heading(n, boxes[n.path]) for n in tree.nodes]
        texts, covered = _texts(arrows, taken)
        tried.append((covered, ChartLayout(boxes, arrows, texts)))
        if not covered:
            break
    return min(tried, key=lambda found: found[0])[1]


def _texts_in(tree: ChartTree, ways: list[tuple[str, str, str]]) -> dict[str, tuple[float, float]]:
    """Room for the texts between the states in each frame: width and height [in]."""
    found = {n.path: (GAP, GAP) for n in (tree.root, *tree.nodes)}
    for source, target, text in ways:
        lines = zip(tree.find(source).line(), tree.find(target).line(), strict=False)
        around = [a.path for a, b in lines if a is b and a.children][-1]
        (w, h), (width, height) = found[around], text_size(text, SMALL)
        found[around] = max(w, width + 2 * PAD), max(h, height + 4 * PAD)
    return found


def _nested(node: ChartNode, gaps: dict[str, tuple[float, ...]]) -> list[tuple[ChartNode, Rectangle]]:
    """A state and those in it, the lower left corner of the first at the origin."""
    heading = _heading_size(node)
    if not node.children:
        return [(node, Rectangle(0.0, 0.0, *heading))]
    inside = [_nested(child, gaps) for child in node.children]
    wide, high = gaps[node.path]
    places = _on_ellipse([found[0][1] for found in inside], wide, high)
    low = np.min([(p.x, p.y) for p in places], axis=0) - np.array([GAP, 0.5 * (GAP + high)])
    high_corner = np.max([(p.x + p.width, p.y + p.height) for p in places], axis=0)
    size = high_corner + np.array([GAP, 0.5 * GAP]) - low
    aside = 0.5 * max(heading[0] - size[0], 0.0)
    frame = Rectangle(0.0, 0.0, max(heading[0], size[0]), size[1] + heading[1])
    moved = (
        (n, box.moved(place.x - low[0] + aside, place.y - low[1]))
        for place, found in zip(places, inside, strict=True)
        for n, box in found
    )
    return [(node, frame), *moved]


def _on_ellipse(boxes: list[Rectangle], wide: float, high: float) -> list[Rectangle]:
    """Boxes around a middle, clockwise from the left, a gap across or up between any two."""
    angles = [math.pi * (1.0 - 2.0 * k / len(boxes)) for k in range(len(boxes))]
    across, up = max(b.width for b in boxes) + wide, max(b.height for b in boxes) + high
    radius = 0.0 if len(boxes) == 1 else 0.5
    while True:
        places = [
            b.moved(radius * across * math.cos(a) - 0.5 * b.width, radius * up * math.sin(a) - 0.5 * b.height)
            for a, b in zip(angles, boxes, strict=True)
        ]
        with_gaps = [Rectangle(p.x, p.y, p.width + 0.998 * wide, p.height + 0.998 * high) for p in places]
        if not any(a.common(b) for a, b in itertools.combinations(with_gaps, 2)):
            return places
        radius *= 1.05


def _arrow(source: Rectangle, target: Rectangle, text: str) -> TransitionArrow:
    """From border to border; to the same state around its corner, between a state and its frame straight."""
    if source == target:
        x, y = source.x + source.width, source.y + source.height
        reach = 0.4 * min(source.width, source.height)
        return TransitionArrow(np.array([x - reach, y]), np.array([x, y - reach]), -1.6, text)
    if source.common(target) > 0.0:  # one is the frame of the other
        inner, outer = sorted((source, target), key=lambda r: r.width * r.height)
        begin = np.array([inner.middle[0], inner.y])
        ends = [begin, np.array([begin[0], outer.y])]
        start, end = ends if source is inner else ends[::-1]
        return TransitionArrow(start, end, 0.0, text)
    along = target.middle - source.middle
    return TransitionArrow(source.border(along), target.border(-along), BEND, text)


def _texts(arrows: list[TransitionArrow], taken: list[Rectangle]) -> tuple[list[Rectangle], float]:
    """A place for the text of each arrow, and the area in which texts cover something [in^2]."""
    places: list[Rectangle] = []
    covered = 0.0
    for arrow in arrows:
        width, height = text_size(arrow.text, SMALL)
        room = 0.5 * np.array([width, height])
        middles = [arrow.at(s) for s in ALONG]
        if arrow.bend != BEND:  # too short to stand on
            middles += [middle + side * (room + 0.03) for side in SIDES for middle in middles]
        found = [Rectangle(x, y, width, height) for x, y in (middle - room for middle in middles)]
        areas = [sum(place.common(other) for other in (*taken, *places)) for place in found]
        best = int(np.argmin(areas))
        covered += areas[best]
        places.append(found[best])
    return places, covered


def _heading_size(node: ChartNode) -> tuple[float, float]:
    """Width and height of name and actions, with room around them [in]."""
    if node.parent is None:
        return 0.0, 0.0
    sizes = [text_size(*text) for text in written(node)]
    return max(w for w, _ in sizes) + 2 * PAD, sum(h for _, h in sizes) + 2 * PAD


def _heading(node: ChartNode, box: Rectangle) -> Rectangle:
    """What a state covers: all of a box, of a frame its name and actions."""
    width, height = _heading_size(node)
    if not node.children:
        return box
    return Rectangle(box.middle[0] - 0.5 * width, box.y + box.height - height, width, height)


def text_size(text: str, letters: float) -> tuple[float, float]:
    """Width and height of a text [in]."""
    lines = text.split("\n") if text else []
    return max((_width(line, letters) for line in lines), default=0.0), LINE * letters * len(lines)


@cache
def _width(line: str, letters: float) -> float:
    from matplotlib.textpath import TextPath

    return float(TextPath((0.0, 0.0), line, size=letters).get_extents().width) / 72.0 + 0.05


def _wrapped(text: str, further: str = "    ") -> str:
    return textwrap.fill(text, WIDEST, break_on_hyphens=False, subsequent_indent=further)


def written(node: ChartNode) -> Iterator[tuple[str, float]]:
    """The name of a state and what it does, from top to bottom: texts of some lines, their letters [pt]."""
    assert node.state is not None
    yield _wrapped(node.path), NAME
    if node.history:
        yield f"history: {node.history}", SMALL
    for what in ("entry", "during", "exit"):
        if action := getattr(node.state, what):
            yield _wrapped(f"{what} / {_code(action)}"), SMALL


def _text(t: Transition) -> str:
    guard = "" if t.guard is None else f"[{_code(t.guard)}]"
    parts = (t.on, guard, f"/ {_code(t.action)}" if t.action else "")
    return "\n".join(_wrapped(part, "  ") for part in parts if part)


def _code(code: Code) -> str:
    return code if isinstance(code, str) else getattr(code, "__name__", "function")
