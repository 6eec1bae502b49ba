"""The entries of a schedule: what is called at an instant with ticks, and when each is due.

One class per kind of segment, which answers what engines and the compiler ask: where its values go, whether
they are a fixed point, what is called with them. When it is due is its *activation*, a value of its own.
"""

from __future__ import annotations

import abc
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np

from blocks.contract.memories import External
from blocks.contract.rate import Ticks
from cosim.slots import Place, Slot


# --- when -------------------------------------------------------------------------------------------------
class Activation(abc.ABC):
    """When a segment is called.

    number : of its rate in tables, -1 for one that has none
    """

    number: int = -1
    again: bool = False  # also after the events of an instant

    @abc.abstractmethod
    def due(self, rates: Container[int]) -> bool:
        """Is it called at an instant at which these rates tick?"""

    @abc.abstractmethod
    def text(self, rates: Sequence[Ticks]) -> str:
        """In words, given all rates."""


@dataclass(frozen=True)
class AtRate(Activation):
    """At the ticks of one rate, by its number."""

    number: int

    def due(self, rates: Container[int]) -> bool:
        """See `Activation.due`."""
        return self.number in rates

    def text(self, rates: Sequence[Ticks]) -> str:
        """See `Activation.text`."""
        return str(rates[self.number])


@dataclass(frozen=True)
class EveryTick(Activation):
    """At every instant that may tick: branches follow jumps there."""

    def due(self, rates: Container[int]) -> bool:
        """See `Activation.due`."""
        return True

    def text(self, rates: Sequence[Ticks]) -> str:
        """See `Activation.text`."""
        return "at every tick"


@dataclass(frozen=True)
class EveryInstant(Activation):
    """At every instant, and once more after the events of one: conditional parts follow both."""

    again: bool = True

    def due(self, rates: Container[int]) -> bool:
        """See `Activation.due`."""
        return True

    def text(self, rates: Sequence[Ticks]) -> str:
        """See `Activation.text`."""
        return "at every instant"


@dataclass(frozen=True)
class AtEventTimes(Activation):
    """At every instant at which an event is due at a time that a mode holds, or a crossing with it jumps."""

    def due(self, rates: Container[int]) -> bool:
        """See `Activation.due`; engines look whether an event is."""
        return True

    def text(self, rates: Sequence[Ticks]) -> str:
        """See `Activation.text`."""
        return "at their times"


# --- what -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Segment(abc.ABC):
    """One entry of the schedule, called where its activation is due in the order of the list.

    path : block of the first memory written
    names : of the memories written; writes : their places in h
    expression : the numbers it computes
    """

    activation: Activation
    path: str
    names: tuple[str, ...]
    expression: ca.SX
    writes: np.ndarray
    seams: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # outputs of blocks on the way

    word: ClassVar[str]  # what lists of a schedule call it
    writes_next: ClassVar[bool] = False  # to the next values of discrete states, not the present ones

    @property
    def external(self) -> External | None:
        """The opaque block it calls with what it computes, if it does."""
        return None

    @property
    def asked(self) -> int:
        """Place in h that says whether it is called; -1: always."""
        return -1

    @property
    def in_loop(self) -> bool:
        """Do others in a loop at one instant see what it writes only after it is called?"""
        return False

    @property
    def repeated_by(self) -> int:
        """Place in h that rises where events of it are repeated in a loop at an instant; -1: they are not."""
        return -1

    @property
    def refreshes(self) -> bool:
        """Are its numbers the new values of what it writes, with everything else as it stands?"""
        return self.external is None

    def place_of(self, k: int, held: Mapping[str, Slot]) -> Place:
        """The k-th number written."""
        slot = next(s for n in self.names if self.writes[k] in (s := held[n]).index)
        return slot.place(int(self.writes[k]))


@dataclass(frozen=True)
class OutputSegment(Segment):
    """Refreshes sampled memories and branches: h[writes] = expression."""

    word: ClassVar[str] = "output"


@dataclass(frozen=True)
class LastSegment(OutputSegment):
    """Memories of conditional parts that change last at an instant: h[writes] = expression."""

    word: ClassVar[str] = "afterwards"


@dataclass(frozen=True)
class RepeatSegment(OutputSegment):
    """Rounds of a state chart or loop: h[writes] = expression, until the first number is 0.

    limit : after so many times it is an error
    """

    limit: int = 100
    word: ClassVar[str] = "rounds"


@dataclass(frozen=True)
class SolveSegment(Segment):
    """Sampled memories that depend on themselves: h[writes] is to be a fixed point of the expression."""

    word: ClassVar[str] = "solve"

    @property
    def refreshes(self) -> bool:
        """See `Segment.refreshes`: a fixed point has to be found."""
        return False

    def mismatch(self, own: ca.SX) -> ca.SX:
        """What is zero at the fixed point, given the symbols of what is written."""
        return self.expression - own


@dataclass(frozen=True)
class ExternalSegment(Segment):
    """Calls an opaque block: h[writes] = call(t, expression).

    late : outputs that show what it returns only after the tick, since they are in a loop there
    looped : are there such outputs, or others of which nothing is lost by that?
    """

    word: ClassVar[str] = "external"
    block: External = field(kw_only=True)
    only_if: int = field(kw_only=True, default=-1)
    late: tuple[str, ...] = field(kw_only=True, default=())
    looped: bool = field(kw_only=True, default=False)

    @property
    def in_loop(self) -> bool:
        """See `Segment.in_loop`."""
        return self.looped

    @property
    def asked(self) -> int:
        """See `Segment.asked`."""
        return self.only_if

    @property
    def external(self) -> External:
        """See `Segment.external`."""
        return self.block


@dataclass(frozen=True)
class UpdateSegment(Segment):
    """Writes next values of discrete states: next[writes] = expression."""

    word: ClassVar[str] = "update"
    writes_next: ClassVar[bool] = True


@dataclass(frozen=True)
class EventSegment(Segment):
    """Events of a block at times that its modes hold, and what follows them or its inputs; names are theirs.

    following : which of those that follow do so after inputs too, by their places among them: where inputs
        may jump at an instant, and something there reads what they change; expression : their crossings, and
        behind them, where `rounds` are counted, what they read of a loop at one instant
    early : signals that they read as they were before the instant, since these need what they change
    rounds : see `Segment.repeated_by`
    """

    word: ClassVar[str] = "events"
    early: tuple[str, ...] = field(kw_only=True, default=())
    following: tuple[int, ...] = field(kw_only=True, default=())
    rounds: int = field(kw_only=True, default=-1)

    @property
    def repeated_by(self) -> int:
        """See `Segment.repeated_by`."""
        return self.rounds
