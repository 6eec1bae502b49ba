"""A diagram as a picture: `draw` lays its levels out and gives a matplotlib figure, also as SVG, PNG or PDF.

Wires have the colour of their rate; those of several components are thick and say how many; those that lead
back, which close a loop, are dashed. Subsystems are frames around what is inside them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from blocks.contract.picture import BlockPicture
from blocks.figure_file import save_figure
from cosim.drawing.in_box import draw_in_box, fill
from cosim.drawing.layered import Box, End, PlacedLevel, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTER = 0.125  # width of a letter of a label; heights and widths are in units of about 1 cm
BOLD = 0.13  # of a letter of the name over a box, which may reach a little into the gaps beside it
ROW = 0.42  # height of a row of ports
PAD = 0.55  # between a frame and what is in it
TITLE = 0.45
MARGIN = 0.2  # around a picture in a box
SCALE = 0.42  # inches per unit
LARGEST = 60.0  # inches; larger pictures are shrunk
MOST = 160  # letters of what is wrong with a diagram
CONTINUOUS = "#222222"
RATES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F4FBF", "#8C6D31")
NO_PICTURES: Mapping[str, BlockPicture] = MappingProxyType({})
FILL = {
    "block": "#FFFFFF",
    "plant": "#EAF3E6",
    "subsystem": "#F7F7F9",
    "inport": "#EEEEEE",
    "outport": "#EEEEEE",
}


@dataclass
class Sheet:
    """One level, laid out: its boxes by name, what is known of them, and the sheets of subsystems."""

    placed: PlacedLevel
    nodes: Mapping[str, Mapping[str, Any]]
    signals: Mapping[End, Mapping[str, Any]]
    inside: dict[str, Sheet] = field(default_factory=dict)
    pictures: Mapping[str, BlockPicture] = field(default_factory=dict)


def draw(
    data: Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    pictures: Mapping[str, BlockPicture] = NO_PICTURES,
) -> Figure:
    """Picture of a diagram.

    Parameters
    ----------
    data : dict      as `cosim.viewer.diagram_data.diagram_data` gives it
    path : path      where it is written: .svg, .png or .pdf
    pictures : dict  of blocks by their paths, drawn in their boxes

    Raises
    ------
    PlantloopError   the file cannot be written
    """
    from matplotlib.figure import Figure

    sheet = sheet_of(data["root"], pictures)
    width, height = max(sheet.placed.width, 2.0), sheet.placed.height + 1.6
    scale = min(SCALE, LARGEST / max(width, height))
    figure = Figure(figsize=(width * scale, height * scale), dpi=150)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-0.2, width + 0.2)
    axes.set_ylim(height - 0.6, -1.0)
    axes.set_aspect("equal")
    pen = _Pen(axes, scale / SCALE)
    pen.text(0.0, -0.65, data["name"], size=9, weight="bold")
    if data["problems"]:
        pen.text(0.0, -0.3, data["problems"].splitlines()[0][:MOST], size=5.5, color="#B00020")
    pen.sheet(sheet, 0.0, 0.0)
    pen.legend(data["rates"], sheet.placed.height + 0.55)
    if path is not None:
        save_figure(figure, path)
    return figure


def sheet_of(level: Mapping[str, Any], pictures: Mapping[str, BlockPicture] = NO_PICTURES) -> Sheet:
    """Lay out a level of a diagram and all levels inside."""
    nodes = {node["path"]: node for node in level["nodes"]}
    signals: dict[End, Mapping[str, Any]] = {}
    boxes, inside = [], {}
    for path, node in nodes.items():
        signals |= {(path, o["name"]): o for o in node["outputs"]}
        if "inside" in node:
            inside[path] = sheet_of(node["inside"], pictures)
            boxes.append(_frame(path, node, inside[path]))
        else:
            boxes.append(_box(path, node, pictures.get(path)))
    connections = [(tuple(e["from"]), tuple(e["to"])) for e in level["edges"]]
    shown = {}
    for name, (path, port) in level["outputs"].items():
        out = f"{name}|out"
        shown[out] = {"path": out, "name": name, "kind": "outport", "type": "output", "outputs": []}
        boxes.append(Box(out, _width(name), ROW, {"in": 0.5 * ROW}))
        connections.append(((path, port), (out, "in")))
    return Sheet(layout(boxes, connections), {**nodes, **shown}, signals, inside, pictures)


def _width(text: str) -> float:
    return 0.5 + LETTER * len(text)


def _box(path: str, node: Mapping[str, Any], picture: BlockPicture | None = None) -> Box:
    if node["kind"] == "inport":
        return Box(path, _width(node["name"]), ROW, {}, {"out": 0.5 * ROW})
    ins, outs = [p["name"] for p in node["inputs"]], [p["name"] for p in node["outputs"]]
    rows = max(len(ins), len(outs), 2)
    several = _beside(ins) + _beside(outs)
    width = max(1.3, _width(node["type"]) + several, BOLD * len(node["name"]))
    height = ROW * rows
    if picture is not None:
        width = max(width, picture.width + several + 2 * MARGIN)
        height = max(height, picture.height + 2 * MARGIN + ROW)
    return Box(path, width, height, _ports(ins, height), _ports(outs, height))


def _beside(names: Sequence[str]) -> float:
    """Room that the names of ports take on one side of a box."""
    return LETTER * 0.85 * _longest(names) * (len(names) > 1)


def _longest(names: Sequence[str]) -> int:
    return max(map(len, names), default=0)


def _ports(names: Sequence[str], height: float) -> dict[str, float]:
    return {n: height * (k + 0.5) / len(names) for k, n in enumerate(names)}


def _frame(path: str, node: Mapping[str, Any], inner: Sheet) -> Box:
    """A frame around a laid out level; its ports are as high as the inputs and outputs inside."""
    width = max(inner.placed.width + 2 * PAD, _width(node["type"]) + 0.3)
    height = inner.placed.height + 2 * PAD + TITLE
    where = {
        inner.nodes[n]["name"]: b.y + 0.5 * b.height + PAD + TITLE for n, b in inner.placed.boxes.items()
    }
    spread = _ports([p["name"] for p in (*node["inputs"], *node["outputs"])], height)
    at = lambda p: where.get(p["name"], spread[p["name"]])
    return Box(
        path,
        width,
        height,
        {p["name"]: at(p) for p in node["inputs"]},
        {p["name"]: at(p) for p in node["outputs"]},
    )


@dataclass
class _Pen:
    """Draws on axes; `size` shrinks letters and lines with the picture."""

    axes: Axes
    size: float

    def text(self, x: float, y: float, text: str, size: float = 6.5, **how: Any) -> None:
        self.axes.text(x, y, text.replace("$", r"\$"), fontsize=size * self.size, **{"va": "center", **how})

    def line(self, path: Sequence[tuple[float, float]], **how: Any) -> None:
        xs, ys = zip(*path, strict=True)
        self.axes.plot(xs, ys, solid_joinstyle="round", zorder=2, **how)

    def sheet(self, sheet: Sheet, x: float, y: float) -> None:
        """A level with its left upper corner at (x, y)."""
        for wire in sheet.placed.wires:
            self._wire(sheet, wire, x, y)
        for name, box in sheet.placed.boxes.items():
            self._node(sheet, name, box, x + box.x, y + box.y)

    def _wire(self, sheet: Sheet, wire: Any, x: float, y: float) -> None:
        facts = sheet.signals.get(wire.source, {})
        rate, components = facts.get("rate"), facts.get("size", 1)
        color = CONTINUOUS if rate is None else RATES[rate % len(RATES)]
        thick = (0.8 if components == 1 else 1.7) * self.size
        loops = len(wire.back)
        for k, path in enumerate(wire.paths):
            dashed = k >= len(wire.paths) - loops
            style = {"linestyle": (0, (4, 1.6))} if dashed else {}
            self.line([(x + a, y + b) for a, b in path], color=color, linewidth=thick, **style)
        ends = [*wire.targets, *wire.back]
        for name, port in ends:
            box = sheet.placed.boxes[name]
            self._arrow(x + box.x, y + box.y + box.inputs[port], color)
        for a, b in wire.dots:
            self.axes.plot([x + a], [y + b], "o", color=color, markersize=2.6 * self.size, zorder=3)
        if components > 1:
            box = sheet.placed.boxes[wire.source[0]]
            at = x + box.x + box.width + 0.1, y + box.y + box.outputs[wire.source[1]] - 0.14
            self.text(*at, str(components), size=5, color=color)

    def _arrow(self, x: float, y: float, color: str) -> None:
        fill(self.axes, [(x, y), (x - 0.17, y - 0.08), (x - 0.17, y + 0.08)], color, 3)

    def _node(self, sheet: Sheet, name: str, box: Box, x: float, y: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        node = sheet.nodes[name]
        kind = node["kind"]
        edge = "#2E7D32" if kind == "plant" else "#555555"
        rounding = 0.5 * box.height if kind in ("inport", "outport") else 0.06
        style = f"round,pad=0,rounding_size={rounding}"
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y), box.width, box.height, boxstyle=style, facecolor=FILL[kind], edgecolor=edge,
                linewidth=(1.6 if kind == "plant" else 0.8) * self.size,
                zorder=1 if kind == "subsystem" else 4,
            )
        )  # fmt: skip
        if kind in ("inport", "outport"):
            self.text(x + 0.5 * box.width, y + 0.5 * box.height, node["name"], ha="center", zorder=5)
            return
        if kind == "subsystem":
            self.text(x + 0.15, y + 0.28, node["name"], weight="bold", zorder=5)
            inner = sheet.inside[name]
            self.sheet(inner, x + 0.5 * (box.width - inner.placed.width), y + PAD + TITLE)
            self._links(inner, box, x, y)
            return
        middle = x + 0.5 * box.width
        self.text(middle, y - 0.13, node["name"], ha="center", weight="bold", zorder=5)
        picture = sheet.pictures.get(node["path"])
        low = y + (0.5 * box.height if picture is None else box.height - 0.5 * ROW)
        left, right = _beside([*box.inputs]), _beside([*box.outputs])
        between = middle + 0.5 * (left - right)
        self.text(between, low, node["type"], ha="center", color="#444444", zorder=5)
        if picture is not None:
            free = box.width - left - right, box.height - ROW
            corner = x + left + 0.5 * (free[0] - picture.width), y + 0.5 * (free[1] - picture.height)
            draw_in_box(self.axes, picture, *corner, self.size)
        for ports, at, align in (
            (box.inputs, x + 0.07, "left"),
            (box.outputs, x + box.width - 0.07, "right"),
        ):
            for port, height in ports.items() if len(ports) > 1 else ():
                self.text(at, y + height, port, size=5, ha=align, color="#666666", zorder=5)

    def _links(self, inner: Sheet, box: Box, x: float, y: float) -> None:
        """From the border of a frame to the inputs and outputs inside."""
        left = x + 0.5 * (box.width - inner.placed.width)
        for name, b in inner.placed.boxes.items():
            node = inner.nodes[name]
            height = y + PAD + TITLE + b.y + 0.5 * b.height
            if node["kind"] == "inport" and node["name"] in box.inputs:
                self.line([(x, height), (left + b.x, height)], color="#999999", linewidth=0.6 * self.size)
            if node["kind"] == "outport" and node["name"] in box.outputs:
                ends = [(left + b.x + b.width, height), (x + box.width, height)]
                self.line(ends, color="#999999", linewidth=0.6 * self.size)

    def legend(self, rates: Sequence[str], y: float) -> None:
        """What the colours mean, where there is more than one."""
        x = 0.0
        for color, text in [(CONTINUOUS, "continuous"), *zip(RATES, rates, strict=False)] if rates else ():
            self.line([(x, y), (x + 0.5, y)], color=color, linewidth=1.2 * self.size)
            self.text(x + 0.6, y, text, size=5.5)
            x += 0.9 + LETTER * len(text)
