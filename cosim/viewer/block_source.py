"""The source of a block's equations: its place, and the text of its `define`."""

from __future__ import annotations

import inspect
import textwrap
from functools import lru_cache
from typing import Any

from blocks.contract.block import Block
from cosim.compile.netlist import Netlist

MOST_LINES = 120  # of a text; the rest is left out


def source_of(cls: type[Block]) -> str:
    """The place of a class's equations, as "blocks.library.math, line 40"."""
    code = getattr(cls.define, "__code__", None)
    return "" if code is None else f"{cls.define.__module__}, line {code.co_firstlineno}"


def sources_of(netlist: Netlist) -> dict[str, str]:
    """The text at each such place, for all blocks of a diagram, if it is available."""
    found: dict[str, str] = {}
    for block in netlist.nodes.values():
        if isinstance(block, Netlist):
            found |= sources_of(block)
        elif isinstance(block, Block) and (text := _text(type(block))):
            found[source_of(type(block))] = text
    return found


@lru_cache(maxsize=1000)
def _text(cls: type[Any]) -> str:
    try:
        lines = textwrap.dedent(inspect.getsource(cls.define)).splitlines()
    except (OSError, TypeError):  # typed at a prompt, or not written in Python
        return ""
    more = ["…"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more])
