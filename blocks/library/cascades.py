"""Second-order sections as equations, in continuous time or at ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array
from blocks.library.sections import Section


def cascade(b: Equations, u: Array, parts: Sequence[Section], sample: Any = None, offset: Any = 0) -> Array:
    """Sections one after the other, (1,): s' (or the next s) from the transposed direct form II.

    y = s[0] + b0 u,  s[0]' = b1 u - a1 y + s[1],  s[1]' = b2 u - a2 y, with num = [b0, b1, b2], den = [1, a1,
    a2].
    """
    for k, (num, den) in enumerate(parts):
        order = len(den) - 1
        if not order:
            u = num[0] * u
            continue
        if sample is None:
            s = b.continuous(f"s{k}", 0.0, size=order)
        else:
            s = b.discrete(f"s{k}", 0.0, sample, offset, size=order)
        y = s[0:1] + num[0] * u if num[0] else s[0:1]
        rows = [num[j] * u - den[j] * y for j in range(1, order + 1)]
        if order == 2:
            rows[0] = rows[0] + s[1:2]
        (b.derivative if sample is None else b.update)(s, np.concatenate(rows))
        u = y
    return u
