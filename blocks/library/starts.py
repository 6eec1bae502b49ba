"""What a signal is at the start of a run, kept from then on."""

from __future__ import annotations

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array


def at_start(b: Equations, name: str, u: Array) -> Array:
    """The value of a signal at t = 0, (n,): memory afterwards."""
    return b.mode(name, 0.0, size=u.size, at_ticks=lambda old: np.where(b.time <= 0.0, u, old))
