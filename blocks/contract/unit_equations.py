"""The calls with which a block declares values that a co-simulation master gives it."""

from __future__ import annotations

from typing import Any

from blocks.contract.event_equations import EventEquations
from blocks.contract.memories import External
from blocks.contract.rate import Ticks
from blocks.contract.symbols import Array, column
from blocks.contract.unit_memories import DeliveredOutput, VisitedOutput


class UnitEquations(EventEquations):
    """The part of `Equations` that is about blocks that step themselves."""

    def delivered(self, name: str, initial: Any, size: int, ticks: Ticks) -> Array:
        """A value that a co-simulation master writes at the ticks of a rate, before anything else there."""
        self._rate_symbols(ticks)
        return self._memory(DeliveredOutput, name, initial, size, ticks=ticks)

    def visited(
        self, name: str, argument: Any, size: int, ticks: Ticks, late: tuple[frozenset[str], ...]
    ) -> Array:
        """Outputs of a unit of a co-simulation master that is given `argument` at its ticks.

        late : outputs of the block that show their value before that in a loop, those first that lose least
        """
        self._rate_symbols(ticks)
        block = External(None, column(argument))
        return self._memory(VisitedOutput, name, 0.0, size, ticks=ticks, block=block, late=late)
