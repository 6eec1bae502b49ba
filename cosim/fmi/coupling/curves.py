"""Signals over a communication step: polynomials through values at communication points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Sample = tuple[float, np.ndarray]
"""A time [s] and values (n,) there."""


@dataclass(frozen=True)
class Curve:
    """v(t) = value + slope (t - t0) + curvature (t - t0)^2 / 2, all (n,); t0 in s."""

    t0: float
    value: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray

    @staticmethod
    def held(t0: float, value: np.ndarray) -> Curve:
        """A constant curve."""
        zero = np.zeros(len(value))
        return Curve(t0, value, zero, zero)

    def at(self, t: float) -> np.ndarray:
        """Values at t [s], (n,)."""
        s = t - self.t0
        found: np.ndarray = self.value + self.slope * s + self.curvature * (s * s / 2)
        return found

    def moved(self, t: float) -> Curve:
        """The same curve about another t0 [s]."""
        s = t - self.t0
        return Curve(t, self.at(t), self.slope + self.curvature * s, self.curvature)

    def mean(self, end: float) -> np.ndarray:
        """Mean from t0 to `end` [s], (n,)."""
        h = end - self.t0
        found: np.ndarray = self.value + self.slope * (h / 2) + self.curvature * (h * h / 6)
        return found


def through(samples: Sequence[Sample], order: int, smooth: np.ndarray) -> Curve:
    """The polynomial through the newest samples, about the newest of them.

    samples : the newest first, times falling; with fewer than `order` + 1 the highest order they allow
    smooth : (n,) bool    components that are not are held

    Source: Newton's divided differences.
    """
    t0, v0 = samples[0]
    order = min(order, len(samples) - 1)
    if order == 0 or not smooth.any():
        return Curve.held(t0, v0)
    t1, v1 = samples[1]
    first = (v0 - v1) / (t0 - t1)
    if order == 1:
        return Curve(t0, v0, np.where(smooth, first, 0.0), np.zeros(len(v0)))
    t2, v2 = samples[2]
    second = (first - (v1 - v2) / (t1 - t2)) / (t0 - t2)
    slope = first + second * (t0 - t1)
    return Curve(t0, v0, np.where(smooth, slope, 0.0), np.where(smooth, 2 * second, 0.0))


def between(end: Sample, samples: Sequence[Sample], order: int, smooth: np.ndarray) -> Curve:
    """The curve from the newest sample to the known sample `end`, about the newest sample.

    Of order 0, and where it is not smooth, the value at the end is held.
    """
    start = samples[0][0]
    if order == 0:
        return Curve.held(start, end[1])
    curve = through([end, *samples], order, smooth).moved(start)
    return Curve(start, np.where(smooth, curve.value, end[1]), curve.slope, curve.curvature)
