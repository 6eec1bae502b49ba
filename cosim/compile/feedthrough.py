"""Direct feedthrough of blocks, port by port: which inputs an output shows at the same instant."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from blocks.contract.memories import AlgebraicUnknown, Refreshed
from blocks.contract.trace import Traced
from cosim.system_parts import PortFeed


def feeds_of(traced: Mapping[str, Traced]) -> dict[str, tuple[PortFeed, ...]]:
    """Feedthrough of every block by its path; blocks without any are left out."""
    return {path: found for path, t in traced.items() if (found := port_feeds(t))}


def port_feeds(traced: Traced) -> tuple[PortFeed, ...]:
    """Feedthrough of one block, output by output in the order of its inputs.

    Outputs read inputs, algebraic unknowns of the block that follow from inputs, and at ticks memories that
    are sampled then.
    """
    found: list[PortFeed] = []
    for output in traced.declared.outputs:
        seen = traced.depends(f"y:{output.name}", output.expression)
        now, later = (_inputs(traced, seen, at_ticks) for at_ticks in (False, True))
        found += [
            PortFeed(name, output.name, name not in now)
            for name in (i.name for i in traced.declared.inputs)
            if name in later
        ]
    return tuple(found)


def _inputs(traced: Traced, seen: tuple[np.ndarray, ...], at_ticks: bool) -> set[str]:
    """Inputs that something depends on: at once, and by memories that follow inputs at the same instant."""
    found, left = _named(traced, seen[0]), [seen[1]]
    done: set[str] = set()
    unknowns = [m for m in traced.declared.memories if isinstance(m, AlgebraicUnknown)]
    while left:
        used = left.pop()
        for memory in traced.declared.memories:
            if memory.name in done or not used[:, traced.slices[memory.name]].any():
                continue
            done.add(memory.name)
            if isinstance(memory, AlgebraicUnknown):
                behind = traced.depends("z:", ca.vertcat(*[m.equation for m in unknowns]))
            elif at_ticks and isinstance(memory, Refreshed):
                behind = traced.depends(f"m:{memory.name}", memory.reads)
            else:
                continue
            found |= _named(traced, behind[0])
            left.append(behind[1])
    return found


def _named(traced: Traced, mask: np.ndarray) -> set[str]:
    """Names of the inputs in a mask of components."""
    found, start = set(), 0
    for i in traced.declared.inputs:
        if mask[:, start : start + i.size].any():
            found.add(i.name)
        start += i.size
    return found
