"""Random numbers: limits, moments, and what is held between ticks."""

import numpy as np
import pytest

from blocks import UniformRandomNumber
from cosim import Diagram, simulate


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_uniform_numbers_fill_their_range(engine):
    """Within low and high; the mean of n is (low + high)/2, their variance (high - low)^2/12."""
    d, n = Diagram("noise"), 4000
    d.add("it", UniformRandomNumber([2.0, -1.0], [5.0, 3.0], sample=0.01))
    y = simulate(d, 0.01 * (n - 1), log_every=0.01, engine=engine, seed=4)["it.y"]
    low, high = np.array([2.0, -1.0]), np.array([5.0, 3.0])
    width = high - low
    assert np.all(y >= low) and np.all(y <= high) and len(np.unique(y)) == 2 * n
    sigma = width / np.sqrt(12.0)
    assert np.all(np.abs(y.mean(axis=0) - 0.5 * (low + high)) < 4 * sigma / np.sqrt(n))
    assert y.std(axis=0) == pytest.approx(sigma, rel=0.03)
    assert np.all(np.ptp(y, axis=0) > 0.995 * width)
