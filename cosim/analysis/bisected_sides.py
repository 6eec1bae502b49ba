"""Both sides of a switch, found numerically: conditions are bisected down to neighbouring floats.

Along lines through random points; a jump that no line meets is not found, nor one inside a call (a plant, a
spline).
"""

from __future__ import annotations

import numpy as np

from cosim.compile.jumps import Sides, Switching

SAMPLES = 200
LINES = 4  # that are bisected for each condition
BISECTIONS = 56  # down to neighbouring floats


def bisected_sides(switching: Switching) -> Sides:
    """Both sides of every condition on a few lines through random points."""
    rng, f, count = np.random.default_rng(20240401), switching.f, len(switching.names)
    drawn = np.array([switching.points.draw(rng) for _ in range(SAMPLES)])
    switched = switching.at(f, drawn)[1]
    change = np.isfinite(switched[1:] - switched[:-1]) & (switched[1:] != switched[:-1])
    lines = [(k, i) for k in range(count) for i in np.flatnonzero(change[:, k])[:LINES]]
    if not lines:
        return
    which, begin = (np.array(part) for part in zip(*lines, strict=True))
    old, every = switched[begin, which], np.arange(len(lines))
    low, high = np.zeros((len(lines), 1)), np.ones((len(lines), 1))
    place = lambda s: drawn[begin] + s * (drawn[begin + 1] - drawn[begin])
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        same = (switching.at(f, place(middle))[1][every, which] == old)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    below, above = switching.at(f, place(low))[0], switching.at(f, place(high))[0]
    for n in np.flatnonzero(np.isfinite(below - above).all(axis=1)):
        yield int(which[n]), below[n], above[n]
