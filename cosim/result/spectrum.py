"""Amplitudes of a signal over frequency."""

from __future__ import annotations

import numpy as np

from blocks.errors import PlantloopError
from cosim.result.record import FloatArray


def amplitudes(time: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Frequencies (m,) [Hz] and amplitudes (m,) of a signal (n,) without its mean, at equal steps.

    A sine of amplitude a that fits the length shows a at its frequency: a flat-top window keeps amplitudes
    between the lines to 0.1 percent. Source: G. Heinzel, A. Rüdiger, R. Schilling, Spectrum and spectral
    density estimation by the DFT, 2002, section D.3.1 (SFT5F).

    Raises
    ------
    PlantloopError      fewer than 16 values, no time between them, or values that are not finite
    """
    n = len(time)
    if n < 16:
        raise PlantloopError(f"a spectrum of {n} instants says nothing; 16 are the least.")
    if not time[-1] > time[0]:
        raise PlantloopError(
            f"all {n} instants are at t = {time[0]:g} s; a spectrum needs some time of a run."
        )
    if bad := np.flatnonzero(~np.isfinite(values)).tolist():
        raise PlantloopError(
            f"a spectrum of {values[bad[0]]}, the value at t = {time[bad[0]]:g} s, says nothing."
        )
    even = np.linspace(time[0], time[-1], n)
    course = np.interp(even, time, values)
    z = 2 * np.pi * np.arange(n) / n
    weights = (0.1881, -0.36923, 0.28702, -0.13077, 0.02488)
    window = sum(w * np.cos(k * z) for k, w in enumerate(weights))
    found = np.fft.rfft((course - course.mean()) * window) / (n * weights[0])
    size = 2 * np.abs(found)
    step = (even[-1] - even[0]) / (n - 1)
    return np.fft.rfftfreq(n, step), size
