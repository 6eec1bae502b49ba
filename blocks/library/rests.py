"""States that rest at a limit: reaching it and leaving it are events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.event_equations import SAME_INSTANT
from blocks.contract.symbols import Array

DRIVEN_BACK = -1e-6  # of the unit: no limit is reached there; outside the threshold of a crossing


def rests(
    b: Equations,
    name: str,
    beyond: Array,
    push: Array,
    x: Array,
    unit: Array,
    stop: Sequence[tuple[Array, Any]] = (),
) -> Array:
    """Does x rest at a limit? Reaching it, which also resets `stop`, and leaving it flip a mode.

    Where x is located at a limit it is beyond by what rounding makes of its way there. It stays there and
    leaves from there, so that this is remembered: a state that leaves has not reached its limit once more.
    Nor has one that is beyond because its limit has moved, and is driven back.

    beyond : how far x is beyond the limit; push : how strongly it is driven further; unit : see `unit_of`
    """
    near = beyond >= -1e-9 * (unit + np.abs(x))  # wider than the threshold of a crossing
    mode = b.mode(f"at {name}", 0.0, at_ticks=np.where(np.logical_and(near, push > 0), 1.0, 0.0))
    missed = b.mode(f"missed {name}", 0.0)
    b.private(missed)
    free = mode[0] < 0.5
    bit = 1e-9 * (unit + np.abs(x)) + SAME_INSTANT * np.maximum(1.0, np.abs(b.time)) * np.abs(push)
    rounding = np.where(np.abs(beyond) <= bit, beyond, 0.0)
    resets = [(mode, 1.0), (missed, rounding), *stop]
    further = (beyond - missed[0]) / unit
    further = np.where(push > 0, further, np.minimum(further, DRIVEN_BACK))
    b.when(np.where(free, further, -1.0), resets, "rising", f"{name} reached")
    leaving = np.where(free, 1.0, np.where(near, push / unit, -1.0))
    b.when(leaving, [(mode, 0.0)], "falling", f"{name} left")
    return mode[0] > 0.5
