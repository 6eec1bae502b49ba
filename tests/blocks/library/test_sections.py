"""Zeros and poles in sections, of any size."""

import numpy as np
import pytest
from scipy import signal

from blocks.library.sections import from_zpk


@pytest.mark.parametrize("w", [1e-12, 1.0, 1e12])
def test_sections_multiply_to_the_filter_in_any_unit_of_time(w):
    zeros, poles, gain = signal.ellip(5, 1.0, 40.0, w, analog=True, output="zpk")
    found = from_zpk(zeros, poles, gain)
    s = 1j * w * np.array([0.1, 0.9, 1.1, 10.0])
    value = np.prod([np.polyval(num, s) / np.polyval(den, s) for num, den in found], axis=0)
    np.testing.assert_allclose(value, signal.freqs_zpk(zeros, poles, gain, s.imag)[1], rtol=1e-9)
    assert [len(den) for _, den in found] == [3, 3, 2]


def test_integrators_are_real_poles():
    assert from_zpk([], [0.0, 0.0, -2.0], 3.0) == [
        ([0.0, 0.0, 3.0], [1.0, 2.0, 0.0]),
        ([0.0, 1.0], [1.0, 0.0]),
    ]
