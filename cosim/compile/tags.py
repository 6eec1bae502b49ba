"""Wires that are not drawn: what a `From` shows is the signal of the `Goto` of its name."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from blocks.errors import near_miss
from blocks.library.selection import From, Goto
from cosim.compile.netlist import Port


def connect_tags(nodes: Mapping[str, Any], edges: MutableMapping[Port, Port], problems: list[str]) -> None:
    """Give every `From` that nothing drives the `Goto` of its name, the nearest one around it."""
    gotos: dict[tuple[str, str], str] = {}
    for path, node in nodes.items():
        if isinstance(node, Goto):
            place = (path.rpartition("/")[0], node.tag)
            if place in gotos:
                problems.append(f"'{gotos[place]}' and '{path}' are both the Goto '{node.tag}'; rename one.")
            gotos[place] = path
    for path, node in nodes.items():
        if not isinstance(node, From) or (path, "u") in edges:
            continue
        scope = path
        found = None
        while found is None and scope:
            scope = scope.rpartition("/")[0]
            found = gotos.get((scope, node.tag))
        if found is None:
            cure = near_miss(node.tag, [tag for _, tag in gotos]) if gotos else "there is no Goto at all."
            problems.append(
                f"'{path}' looks for the Goto '{node.tag}', which no diagram around it has: {cure}"
            )
        else:
            edges[path, "u"] = (found, "y")
