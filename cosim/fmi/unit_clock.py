"""The clock of an FMU whose experiment does not begin at 0 while a run does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from blocks.errors import BlockError


@dataclass(frozen=True)
class UnitClock:
    """The time of an FMU: that of the run plus `start` [s]."""

    start: float = 0.0

    def at(self, t: float) -> float:
        """What the clock shows at time t of the run [s]."""
        return t + self.start

    def run_time(self, shown: float) -> float:
        """A time of the run [s] at which the clock shows `shown` [s] or more, later at most by rounding.

        The FMU, asked there, finds that an instant which it announced has been reached.
        """
        t = shown - self.start
        while t + self.start < shown:
            t = math.nextafter(t, math.inf)
        return t

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
