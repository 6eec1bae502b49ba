"""What resets a block: an edge of a signal, or its level."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Equations
from blocks.contract.symbols import Array
from blocks.library.truth import LEVEL

RESETS = ("none", "rising", "falling", "either", "level")


def check_threshold(block: Any) -> None:
    """Check the field `threshold` of a block with a field `reset`.

    Raises
    ------
    BlockError      it is no number, or given without a reset
    """
    checks.assign(block, threshold=checks.numbers(block, "threshold", dims=(0,)))
    if block.reset in ("none", False) and block.threshold != LEVEL:
        what = f"is {block.threshold} without a reset"
        raise checks.fault(block, "threshold", what, f"{LEVEL}", "Give reset=...")


class Trigger:
    """The input "reset" of a sampled block; its fields `reset` and `threshold` say what counts.

    The signal counts as off before the first tick.
    """

    def __init__(self, b: Equations, block: Any) -> None:
        self.signal = signal = b.input("reset", size=1)[0]
        on = signal > b.parameter("threshold", block.threshold)
        if block.reset == "level":
            self.fires = on
            return
        last = b.discrete("last_reset", 0.0, block.sample, block.offset, size=1)
        b.update(last, np.where(on, 1.0, 0.0))
        was = last[0] > LEVEL
        rose = np.logical_and(on, np.logical_not(was))
        fell = np.logical_and(np.logical_not(on), was)
        self.fires = {"rising": rose, "falling": fell, "either": rose | fell}[block.reset]

    def chosen(self, reset: Array, other: Array) -> Array:
        """`reset` where the signal fires, else `other`; nan where it is nan."""
        return np.where(np.isnan(self.signal), self.signal, np.where(self.fires, reset, other))
