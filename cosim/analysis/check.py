"""Find continuous equations that jump where a condition switches, numerically.

Along lines through random points the conditions are bisected down to neighbouring floats, and the equations
compared on both sides. A jump that no line meets is not found, nor one inside a call (a plant, a spline).
"""

from __future__ import annotations

from collections.abc import Mapping

from blocks.arguments import flag
from blocks.contract.block import Block
from cosim.analysis.bisected_sides import bisected_sides
from cosim.block_alone import around
from cosim.compile.expressions import Expressions
from cosim.compile.flatten import flatten
from cosim.compile.jumps import Jump, jumps
from cosim.compile.placed_block import PlacedBlock
from cosim.diagram import Diagram


def check(diagram: Diagram | Block, solve_loops: bool = False) -> tuple[Jump, ...]:
    """Equations of a diagram, or of a block alone, that jump at switches which are no events.

    Each finding names the block, the equation, the size of the jump and the switch; printed, it is one line.
    Make such a switch an event: ``b.where_event(condition, a, b)`` instead of ``np.where``, ``b.instants``
    for times. Takes about 20 ms for every kind of block with a switch; flattening itself only examines
    switches at a value of one signal.

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
