"""Random draws that depend on nothing but (run seed, block path, tick): a counter-based generator.

Source: Salmon, Moraes, Dror & Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011 (Philox4x32-10).
Normal draws by Box & Muller, Annals of Mathematical Statistics 29 (1958) 610.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
MASK = 0xFFFFFFFF
ROUNDS = 10


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four 32-bit words for a 128-bit counter and a 64-bit key."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3


def stream(name: str) -> int:
    """64-bit number of a substream: the first bytes of the SHA-256 of its name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def draw(distribution: str, size: int, seed: int, substream: int, tick: int) -> np.ndarray:
    """The draws of one tick.

    Parameters
    ----------
    distribution : "uniform" on [0, 1), or "normal" with mean 0 and variance 1
    seed : of the run; substream : of the block; tick : number of the tick, from 1

    Returns
    -------
    values : (size,)     component k takes words 0 to 3 of counter (tick low, tick high, k, seed high)
    """
    values = np.empty(size)
    key = ((substream ^ seed) & MASK, ((substream >> 32) ^ (seed >> 32)) & MASK)
    for k in range(size):
        words = philox((tick & MASK, tick >> 32, k, seed & MASK), key)
        first, second = (_unit(words[2 * j], words[2 * j + 1]) for j in (0, 1))
        if distribution == "uniform":
            values[k] = first
        else:
            values[k] = math.sqrt(-2.0 * math.log(1.0 - first)) * math.cos(2.0 * math.pi * second)
    return values


def _unit(low: int, high: int) -> float:
    """53 random bits as a number in [0, 1)."""
    return ((low >> 5) * 67108864 + (high >> 6)) / 9007199254740992.0
