"""A diagram as plain data for drawing: blocks, ports, wires, and the contents of subsystems."""

from __future__ import annotations

import dataclasses
import inspect
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from blocks.contract.block import Block
from blocks.contract.picture import BlockPicture
from cosim.compile.netlist import Inport, Netlist
from cosim.node_ports import NodePorts, ports_of
from cosim.system import System
from cosim.system_parts import PortFeed
from cosim.viewer.block_source import source_of, sources_of

LONGEST = 200  # letters of the value of a field that are shown
MOST_LINES = 400  # a larger mechanism is not drawn in its block
Feeds = Mapping[str, tuple[PortFeed, ...]]


def diagram_data(netlist: Netlist, system: System | None, problems: str = "") -> dict[str, Any]:
    """A diagram and the diagrams in it, as data for JSON.

    Its keys are ``name``, ``problems`` (why it cannot run, if it cannot), ``rates`` (as texts), ``grounded``
    and ``root``: a level with ``nodes`` and ``edges``. A node has a path, a kind ("block", "subsystem",
    "plant" or "inport"), its ports with sizes and rates, the equations of its class (the docstring), fields,
    states, direct feedthrough as ``feeds`` (input, output, at ticks only?), a picture where it has one,
    where its class stands as ``source``, and as ``inside`` the level below. An edge has the two ends as
    (path, port) and the name of its signal. ``sources`` has the text of each class's equations.

    netlist : what is drawn; system : the same, flat; None where it cannot run
    """
    rates = [str(rate) for rate in system.rates] if system is not None else []
    feeds = {} if system is None else system.feeds()
    root = _level(netlist, "", system, feeds)
    grounded = sorted(f"{node}.{port}" for node, port in netlist.grounded)
    return {
        "name": netlist.name, "problems": problems, "rates": rates, "grounded": grounded, "root": root,
        "sources": sources_of(netlist),
    }  # fmt: skip


def _level(drawn: Netlist, prefix: str, system: System | None, feeds: Feeds) -> dict[str, Any]:
    used: dict[str, set[str]] = defaultdict(set)
    fed: dict[str, set[str]] = defaultdict(set)
    for (out, source), (into, target) in drawn.connections:
        used[out].add(source)
        fed[into].add(target)
    for name, port in drawn.grounded:
        fed[name].add(port)
    nodes = [
        _node(name, block, prefix + name, sorted(fed[name]), sorted(used[name]), system, feeds)
        for name, block in drawn.nodes.items()
    ]
    edges = [
        {
            "from": [prefix + out, source],
            "to": [prefix + into, target],
            "signal": _signal(prefix + out, source, drawn.nodes[out], system),
        }
        for (out, source), (into, target) in drawn.connections
    ]
    shown = {name: [prefix + node, port] for name, (node, port) in drawn.outports.items()}
    return {"nodes": nodes, "edges": edges, "outputs": shown}


def _node(
    name: str,
    block: Any,
    path: str,
    fed: Iterable[str],
    used: Iterable[str],
    system: System | None,
    feeds: Feeds,
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "path": path, "type": type(block).__name__, "kind": "block"}
    signals = {} if system is None else system.signals
    own = {n.rpartition(".")[2]: s for n, s in signals.items() if s.path == path}
    if isinstance(block, Netlist):
        found |= {"kind": "subsystem", "type": block.name, "inside": _level(block, path + "/", system, feeds)}
        inputs = [inner for inner, content in block.nodes.items() if isinstance(content, Inport)]
        outputs = list(block.outports)
    elif isinstance(block, Inport):
        found |= {"kind": "inport", "type": "input"}
        inputs, outputs = [], ["out"]
    else:
        ports = ports_of(block) if system is None else NodePorts()
        outputs = list(dict.fromkeys([*(n for n in own if n not in fed), *ports.outputs, *used]))
        inputs = list(dict.fromkeys([*ports.inputs, *fed]))
        found["kind"] = block.drawn_as
        found |= {"doc": inspect.getdoc(type(block)) or "", "fields": _fields(block)}
        found |= {"source": source_of(type(block)), "picture": _picture(block)}
        found["feeds"] = [
            [f.input, f.output, f.at_ticks]
            for f in feeds.get(path, ())
            if f.input in inputs and f.output in outputs
        ]
    found["inputs"] = [{"name": n} for n in inputs]
    found["outputs"] = [
        {
            "name": n,
            "signal": _signal(path, n, block, system),
            **_facts(_signal(path, n, block, system), system),
        }
        for n in outputs
    ]
    if system is not None:
        found["states"] = [n for n in (*system.states, *system.inner) if n.rpartition(".")[0] == path]
        found["states"] = list(dict.fromkeys(n for n in found["states"] if n not in system.parameters))
        found["parameters"] = [n for n in system.parameters if n.rpartition(".")[0] == path]
    return found


def picture_data(picture: BlockPicture) -> dict[str, Any]:
    """A picture as data for JSON."""
    points = lambda lines: [[list(p) for p in line] for line in lines]
    return {
        "width": picture.width, "height": picture.height, "lines": points(picture.lines),
        "arrows": points(picture.arrows), "boxes": [list(box) for box in picture.boxes],
        "joints": [list(p) for p in picture.joints],
    }  # fmt: skip


def _picture(block: Block) -> dict[str, Any] | None:
    """The drawing in a block's box, as plain numbers."""
    picture = block.picture()
    if picture is None or len(picture.lines) > MOST_LINES:
        return None
    return picture_data(picture)


def _signal(path: str, port: str, block: Any, system: System | None) -> str:
    """Name of the signal of an output; "" if there is none."""
    if system is None:
        return ""
    name = path if isinstance(block, Inport) else f"{path}.{port}"
    return name if name in system.signals else system.shown.get(name, "")


def _facts(signal: str, system: System | None) -> dict[str, Any]:
    if system is None or not signal:
        return {}
    found = system.signals[signal]
    rate = None if found.ticks is None else system.rates.index(found.ticks)
    return {"size": found.size, "rate": rate, "labels": list(found.labels), "units": list(found.units)}


def _fields(block: Block) -> list[list[str]]:
    """Fields of a block with their values, in short."""
    if not dataclasses.is_dataclass(block):
        return []
    found = []
    for field in dataclasses.fields(block):
        if field.repr and not field.name.startswith("_"):
            text = _short(getattr(block, field.name))
            found.append([field.name, text])
    return found


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        value = dict(value)
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
