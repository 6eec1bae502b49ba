"""What a block in conditional parts obeys: the signals that control them, and when they run."""

from __future__ import annotations

from dataclasses import dataclass

from blocks.contract.rate import Ticks

ACTIVE, RESTARTS, FRESH = "(active)", "(restarts)", "(fresh)"  # inputs a block gets


@dataclass(frozen=True)
class Obeyed:
    """The signals that control the blocks of a part.

    once : are they called? then `ticks` are those of the calls, None for any instant
    restarts : how many of the parts around them make them start anew?
    rounds : are the calls the rounds of a loop?
    between : may the part look at discrete states between their ticks?
    """

    once: bool
    ticks: Ticks | None
    restarts: int
    rounds: bool
    between: bool = False

    @property
    def where(self) -> str:
        """What messages call the part."""
        if self.rounds:
            return "a subsystem that is repeated within one tick"
        return "a part that is called" if self.once else "a part that starts anew"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that blocks get."""
        return (ACTIVE, *(f"{name}{k}" for k in range(self.restarts) for name in (RESTARTS, FRESH)))
