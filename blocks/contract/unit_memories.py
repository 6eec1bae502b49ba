"""Memories for the outputs of blocks that step themselves, which a co-simulation master writes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import casadi as ca

from blocks.contract.memories import External, Refreshed, Ticked


@dataclass(frozen=True)
class DeliveredOutput(Ticked):
    """An output of a block that steps itself, written by a co-simulation master at its ticks."""

    word: ClassVar[str] = "an output of a co-simulated block"


@dataclass(frozen=True)
class VisitedOutput(Refreshed, Ticked):
    """Outputs of a unit that is visited at its ticks, so that some of its inputs pass it at once.

    The master writes it where the unit arrives, before the tick. In a loop at a tick some outputs show that.

    late : outputs that may, those first that lose least by it
    """

    _: KW_ONLY
    block: External
    late: tuple[frozenset[str], ...]

    word: ClassVar[str] = "an output of a co-simulated block that is visited"

    @property
    def external(self) -> External:
        """See `Refreshed.external`."""
        return self.block

    @property
    def old_in(self) -> Sequence[Container[str]]:
        """See `Refreshed.old_in`."""
        return self.late

    @property
    def reads(self) -> ca.SX:
        """See `Memory.reads`."""
        return self.block.argument
