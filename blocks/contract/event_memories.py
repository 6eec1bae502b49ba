"""Memories that events change: modes, which times of events to come are too, branches, rounds in loops."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import casadi as ca

from blocks.contract.memories import Evolving, Memory, Refreshed

NEVER = 1e30  # s; the time of an event that does not come


@dataclass(frozen=True)
class ModeMemory(Memory):
    """Discrete state without ticks, which only events change; so is the time of an event to come [s]."""

    word: ClassVar[str] = "a mode"
    settable: ClassVar[bool] = True
    resettable: ClassVar[bool] = True
    carried_over: ClassVar[bool] = True


@dataclass(frozen=True)
class LoopRounds(Memory):
    """How often events of a block have been repeated in a loop at one instant, and 1; 0 if it is in none.

    With which of both a run begins is found when a diagram is flattened.
    """

    word: ClassVar[str] = "a number of rounds"


@dataclass(frozen=True)
class Branch(Refreshed, Evolving):
    """Mode that takes the value of its expression at the start and, like a sampled memory, at every tick.

    rest : what it is while its condition rests on the threshold; None: what it was
    always : does it follow its condition, and do its events fire, in an inactive part of a diagram too?
    begins : is its value that of a signal at the start, kept from then on? In a part of a diagram that is the
        instant at which the part becomes active first, and at which it starts anew
    """

    _: KW_ONLY
    rest: float | None = None
    always: bool = False
    begins: bool = False

    word: ClassVar[str] = "a branch"
    given_by: ClassVar[str] = "mode"
    resettable: ClassVar[bool] = True
    carried_over: ClassVar[bool] = True
    may_keep: ClassVar[bool] = True
    reads_itself: ClassVar[bool] = True

    @property
    def at_rest(self) -> float | None:
        """See `Refreshed.at_rest`."""
        return self.rest

    @property
    def remembers(self) -> bool:
        """Does its value depend on what it was, not only while a condition rests on its threshold?"""
        return self.rest is None and not self.always and bool(ca.depends_on(self.equation, self.symbol))
