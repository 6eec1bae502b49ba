"""What resets a sampled block: an edge of a signal, or its level."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array
from blocks.library.truth import LEVEL

RESETS = ("none", "rising", "falling", "either", "level")


class Trigger:
    """The input "reset" of a sampled block; its field `reset` says what counts.

    Edges go through 0.5, and the signal counts as off before the first tick.
    """

    def __init__(self, b: Equations, block: Any) -> None:
        self.signal = signal = b.input("reset", size=1)[0]
        if block.reset == "level":
            self.fires = signal > LEVEL
            return
        last = b.discrete("last_reset", 0.0, block.sample, block.offset, size=1)
        b.update(last, signal)
        rose = (signal > LEVEL) & (last[0] <= LEVEL)
        fell = (signal <= LEVEL) & (last[0] > LEVEL)
        self.fires = {"rising": rose, "falling": fell, "either": rose | fell}[block.reset]

    def chosen(self, reset: Array, other: Array) -> Array:
        """`reset` where the signal fires, else `other`; nan where it is nan."""
        return np.where(np.isnan(self.signal), self.signal, np.where(self.fires, reset, other))
