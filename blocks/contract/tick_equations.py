"""The calls with which a block declares what happens at its ticks and at listed instants."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import flag
from blocks.contract.exact_instants import instants
from blocks.contract.memories import CountedInstants, RandomDraw, SampledMemory
from blocks.contract.rate import Rate, Ticks
from blocks.contract.solving_equations import SolvingEquations
from blocks.contract.symbols import Array, as_scalar, column
from blocks.errors import BlockError, near_miss, shown

DISTRIBUTIONS = ("normal", "uniform")


class TickEquations(SolvingEquations):
    """The part of `Equations` that is about ticks and listed instants; `sample` and the like as there."""

    def sampled(
        self,
        expression: Any,
        sample: Rate | Ticks,
        offset: Rate = 0,
        initial: Any = 0.0,
        name: str | None = None,
    ) -> Array:
        """Memory that takes the value of `expression` in the output phase of its ticks; held in between."""
        label = name or f"sampled{len(self._memories)}"
        return self._sampled(label, column(expression), self._ticks(sample, offset), initial)

    def _sampled(self, name: str, value: ca.SX, ticks: Ticks, initial: Any, output: str = "") -> Array:
        array = self._memory(SampledMemory, name, initial, value.numel(), ticks=ticks, output=output)
        self._complete(array, SampledMemory, value, "sampled value")
        return array

    def tick_time(self, sample: Rate | Ticks, offset: Rate = 0) -> Array:
        """Time of the newest tick [s]; before the first tick, the time of the first tick."""
        return as_scalar(self._rate_symbols(self._ticks(sample, offset))[0])

    def tick_count(self, sample: Rate | Ticks, offset: Rate = 0, anew: bool = False) -> Array:
        """Number of ticks so far, the present one included.

        anew : count from 1 again where a part of a diagram that the block is in starts anew?
        """
        ticks = self._ticks(sample, offset)
        if flag(anew, "anew", BlockError):
            self._counted_anew[ticks] = None
        return as_scalar(self._rate_symbols(ticks)[1])

    def clock(self, sample: Rate | Ticks, offset: Rate = 0) -> tuple[Array, Array]:
        """Time of the newest tick [s] and number of ticks so far, of a clock that does not stand still.

        In a conditional part `tick_time` and `tick_count` tell of ticks at which the part was active; a clock
        goes on, as `time` does. It is for signals that are functions of time. A block that samples at the
        ticks of a clock of its own is refused.
        """
        ticks = self._ticks(sample, offset)
        time, count, _ = self._rate_symbols(ticks)
        self._clocks[ticks] = None
        return as_scalar(time), as_scalar(count)

    def sample_count(self, sample: Rate | Ticks, offset: Rate = 0) -> Array:
        """Like `tick_count`, but starts anew at 1 at events of blocks in front: holds restart there."""
        return as_scalar(self._rate_symbols(self._ticks(sample, offset))[2])

    def instants(self, times: Any, name: str | None = None) -> Array:
        """How many of the instants `times` [s] have passed, shape (1,); a step ends on each of them."""
        if np.ma.is_masked(times):
            raise BlockError(f"instants({shown(times)}): masked entries are no times.", value=times)
        exact = instants(tuple(np.atleast_1d(np.asarray(times, dtype=object)).ravel().tolist()))
        alone = times[0] if isinstance(times, (list, tuple)) and len(times) == 1 else times
        owner = self._field_of(times) if self._field_of(alone) is None else self._field_of(alone)
        label = name or f"instants{len(self._memories)}"
        return self._memory(CountedInstants, label, 0.0, 1, times=exact, times_field=owner)

    def random(
        self,
        sample: Rate | Ticks,
        kind: str = "normal",
        size: int = 1,
        offset: Rate = 0,
        name: str | None = None,
    ) -> Array:
        """One draw per tick, (size,); `kind`: "normal" (mean 0, variance 1) or "uniform" on [0, 1)."""
        if kind not in DISTRIBUTIONS:
            raise BlockError(f"random draw '{kind}': {near_miss(kind, DISTRIBUTIONS)}")
        ticks = self._ticks(sample, offset)
        label = name or f"random{len(self._memories)}"
        return self._memory(RandomDraw, label, 0.0, size, ticks=ticks, distribution=kind)
