"""Second-order sections as equations, in continuous time or at ticks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array
from blocks.library.sections import Section
from blocks.library.state_sizes import state_sizes

Sizes = Callable[..., np.ndarray]  # gain= -> (n,) of the states of all sections


def cascade(
    b: Equations,
    u: Array,
    parts: Sequence[Section],
    sample: Any = None,
    offset: Any = 0,
    sizes: Sizes | None = None,
) -> Array:
    """Sections one after the other, (1,): s' (or the next s) from the transposed direct form II.

    y = s[0] + b0 u,  s[0]' = b1 u - a1 y + s[1],  s[1]' = b2 u - a2 y, with num = [b0, b1, b2], den = [1, a1,
    a2].

    sizes : of the states in continuous time, see `cascade_sizes`; None: 1
    """
    start = 0
    for k, (num, den) in enumerate(parts):
        order = len(den) - 1
        if not order:
            u = num[0] * u
            continue
        if sample is None:
            s = b.continuous(f"s{k}", 0.0, size=order, nominal=_part_of(sizes, start, order))
            start += order
        else:
            s = b.discrete(f"s{k}", 0.0, sample, offset, size=order)
        y = s[0:1] + num[0] * u if num[0] else s[0:1]
        rows = [num[j] * u - den[j] * y for j in range(1, order + 1)]
        if order == 2:
            rows[0] = rows[0] + s[1:2]
        (b.derivative if sample is None else b.update)(s, np.concatenate(rows))
        u = y
    return u


def cascade_sizes(parts: Sequence[Section]) -> Sizes:
    """Typical sizes of the states of a cascade, see `state_sizes`, with the parameter `gain` in front."""
    A, B, C, D = _realised(parts)

    @lru_cache(maxsize=1)  # each section asks for its own
    def found(gain: float) -> np.ndarray:
        return state_sizes(A, gain * B, C, gain * D)

    return lambda gain=1.0: found(float(gain))


def _part_of(sizes: Sizes | None, start: int, order: int) -> Any:
    if sizes is None:
        return 1.0
    return lambda **parameters: sizes(**parameters)[start : start + order]


def _realised(parts: Sequence[Section]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C, D of sections in a row, with their states as `cascade` has them."""
    A, B, C, D = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1))
    for num, den in parts:
        n = len(den) - 1
        a = np.eye(n, k=1)
        a[:, :1] = -np.reshape(den[1:], (n, 1))
        b, c = np.reshape(num[1:], (n, 1)) - np.reshape(den[1:], (n, 1)) * num[0], np.eye(1, n)
        A = np.block([[A, np.zeros((len(A), n))], [b @ C, a]])
        B, C, D = np.vstack([B, b @ D]), np.hstack([num[0] * C, c]), num[0] * D
    return A, B, C, D
