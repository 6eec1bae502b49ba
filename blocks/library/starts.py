"""What a signal is at the start of a run, or of the part that a block is in, kept from then on."""

from __future__ import annotations

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.memories import StartValue
from blocks.contract.symbols import Array, column


def start_time(b: Equations) -> Array:
    """Time [s] at which the run begins, (): 0, or where an exported FMU is told to begin."""
    time = b._memory(StartValue, "start time", 0.0, 1, start=column(b.time))
    b.private(time)
    return time[0]


def at_start(b: Equations, name: str, u: Array) -> Array:
    """The value of a signal at the start, (n,): memory afterwards."""
    begin = start_time(b)
    return b._branch(name, 0.0, u.size, lambda old: np.where(b.time <= begin, u, old), begins=True)
