"""Look over a diagram by numbers: continuous equations that jump where a condition switches.

Along lines through random points the conditions are bisected down to neighbouring floats, and the equations
compared on both sides. A jump that no line meets is not found, nor one inside a call (a plant, a spline).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from blocks.arguments import flag
from blocks.contract.block import Block
from cosim.block_alone import around
from cosim.compile.expressions import Expressions
from cosim.compile.flatten import flatten
from cosim.compile.jumps import Jump, Sides, Switching, jumps
from cosim.compile.placed_block import PlacedBlock
from cosim.diagram import Diagram

SAMPLES = 200
LINES = 4  # that are bisected for each condition
BISECTIONS = 56  # down to neighbouring floats


def check(diagram: Diagram | Block, solve_loops: bool = False) -> tuple[Jump, ...]:
    """Equations of a diagram, or of a block alone, that jump at switches which are no events.

    Each says its block, equation, size and what switches; printed, it is one line. Make such a switch an
    event: ``b.where_event(condition, a, b)`` instead of ``np.where``, ``b.instants`` for times. Takes some
    20 ms for every kind of block with a switch; flattening looks at switches at a value of one signal only.

    Raises
    ------
    WiringError, AlgebraicLoopError     the diagram cannot be flattened
    """
    flag(solve_loops, "solve_loops")
    found: list[Jump] = []

    def look(placed: Mapping[str, PlacedBlock], between: Expressions) -> None:
        found.extend(jumps(placed, between, bisected_sides))

    drawn = diagram if isinstance(diagram, Diagram) else around(diagram)
    flatten(drawn.netlist(), solve_loops, look=look)
    return tuple(found)


def bisected_sides(switching: Switching) -> Sides:
    """Both sides of every condition on a few lines through random points."""
    rng, f, count = np.random.default_rng(20240401), switching.f, len(switching.names)
    drawn = np.array([switching.points.draw(rng) for _ in range(SAMPLES)])
    switched = switching.at(f, drawn)[1]
    change = np.isfinite(switched[1:] - switched[:-1]) & (switched[1:] != switched[:-1])
    lines = [(k, i) for k in range(count) for i in np.flatnonzero(change[:, k])[:LINES]]
    if not lines:
        return
    which, begin = (np.array(part) for part in zip(*lines, strict=True))
    old, every = switched[begin, which], np.arange(len(lines))
    low, high = np.zeros((len(lines), 1)), np.ones((len(lines), 1))
    place = lambda s: drawn[begin] + s * (drawn[begin + 1] - drawn[begin])
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        same = (switching.at(f, place(middle))[1][every, which] == old)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    below, above = switching.at(f, place(low))[0], switching.at(f, place(high))[0]
    for n in np.flatnonzero(np.isfinite(below - above).all(axis=1)):
        yield int(which[n]), below[n], above[n]
