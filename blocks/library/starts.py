"""What a signal is at the start of a run, or of the part that a block is in, kept from then on."""

from __future__ import annotations

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array


def at_start(b: Equations, name: str, u: Array) -> Array:
    """The value of a signal at the start, (n,): memory afterwards."""
    return b._branch(name, 0.0, u.size, lambda old: np.where(b.time <= 0.0, u, old), begins=True)
