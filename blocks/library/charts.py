"""State charts, and calls of subsystems."""

from __future__ import annotations

from dataclasses import dataclass

from blocks.charts.chart import StateChart
from blocks.charts.states import State, Transition
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate

__all__ = ["FunctionCallGenerator", "State", "StateChart", "Transition"]


@dataclass(frozen=True)
class FunctionCallGenerator(Block):
    """Calls a `FunctionCall` subsystem at a rate: a count of calls.

    Output: call = number of ticks so far.  No inputs.

    sample, offset : s; structural

    Use::

        caller = d.add("caller", FunctionCallGenerator(sample=0.01))
        d.connect(caller["call"], sink["u"])
    """

    sample: Rate
    offset: Rate = 0

    def __post_init__(self) -> None:
        checks.rate(self)

    @property
    def counts_calls(self) -> tuple[str, ...]:
        """See `Block.counts_calls`."""
        return ("call",)

    def define(self, b: Equations) -> None:
        """Declare the count."""
        count = b.tick_count(self.sample, self.offset)
        b.output("call", count, sample=self.sample, offset=self.offset)
