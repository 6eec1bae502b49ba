"""Zeros and poles in sections, of any size."""

import numpy as np
import pytest
from scipy import signal

from blocks.library.sections import from_zpk, sections


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


def test_poles_have_the_nearest_zeros():
    """Notches of 1, 3 and 10 rad/s, in another order than the poles beside them, and a real zero alone."""
    notches, beside = (1.0, 3.0, 10.0), (9.0, 1.2, 2.8)
    zeros = [s * 1j * w for w in notches for s in (1, -1)] + [-4.0]
    poles = [complex(-0.1, s * w) for w in beside for s in (1, -1)] + [-5.0]
    found = {round(den[-1], 9): num for num, den in sections(zeros, poles)}
    assert found == {81.01: [1.0, 0.0, 100.0], 1.45: [1.0, 0.0, 1.0], 7.85: [1.0, 0.0, 9.0], 5.0: [1.0, 4.0]}
