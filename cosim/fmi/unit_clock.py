"""The clock of an FMU whose experiment does not begin at 0 while a run does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from blocks.errors import BlockError

KNOWN = 2.0**49  # digits of a number times its size, of which subtractions leave the last ones unknown
NEAR = 1e-12  # relative to the time of the run; instants closer than this are one
ROUNDED = 5e-14  # relative to what the clock shows: several times what `run_time` may be off


@dataclass(frozen=True)
class UnitClock:
    """The time of an FMU: that of the run plus `start` [s]."""

    start: float = 0.0

    def at(self, t: float) -> float:
        """What the clock shows at time t of the run [s]."""
        return t + self.start

    def run_time(self, shown: float) -> float:
        """The time of the run [s] at which the clock shows `shown` [s], but for rounding.

        Digits that the subtraction cannot know are left out, so that 123.5 s is 0.1 s behind 123.4 s. What is
        no time, as an FMU may say it, is not finite here either.
        """
        since = shown - self.start
        if not self.start or not math.isfinite(since):
            return since
        largest, scale = max(abs(shown), abs(self.start)), 1.0
        while 10.0 * scale * largest <= KNOWN:
            scale *= 10.0
        return round(since * scale) / scale

    def near(self, t: float) -> float:
        """By how much two instants near time t of the FMU may differ and still be one [s]."""
        return max(NEAR * max(1.0, abs(t - self.start)), ROUNDED * max(abs(t), abs(self.start)))

    def check_same(self, start: float, file: str) -> None:
        """Check that a state was saved in a run with this clock.

        Raises
        ------
        BlockError      the clock of FMU `file` was another one there
        """
        if start != self.start:
            raise BlockError(
                f"FMU '{file}': this state is that of a run with start_time={start:g} s, and here it is "
                f"{self.start:g} s.",
                value=start,
                hint="Load it in a run whose FMU has the same start_time.",
            )
