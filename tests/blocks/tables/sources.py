"""Sources, noise and recorded signals."""

import numpy as np

from blocks import (
    BandLimitedWhiteNoise,
    Chirp,
    CounterFreeRunning,
    CounterLimited,
    FromData,
    GaussianPulse,
    MultiStep,
    PinkNoise,
    RepeatingSequence,
    RepeatingSequenceStair,
    Sawtooth,
    Source,
    SquareWave,
    Triangle,
)


def swell(t):
    return [np.sin(t), t * t]


T = [0.0, 0.5, 0.75, 1.5, 2.0]

EXAMPLES = {
    BandLimitedWhiteNoise: [(BandLimitedWhiteNoise([0.1, 0.2], sample=0.1), {})],
    Chirp: [(Chirp(2.0, 1.0, 5.0, 3.0, bias=0.5), {}), (Chirp(kind="exponential"), {})],
    CounterFreeRunning: [(CounterFreeRunning(2, sample=0.1), {})],
    CounterLimited: [(CounterLimited(2, sample=0.1, offset=0.05), {})],
    FromData: [
        (FromData((T, [[1.0, 2.0], [0.5, 1.0], [2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])), {}),
        (FromData((T, [1.0, 0.5, 2.0, 1.0, 0.0]), interpolation="previous"), {}),
        (FromData((T, [1.0, 0.5, 2.0, 1.0, 0.0]), interpolation="cubic"), {}),
    ],
    GaussianPulse: [(GaussianPulse([1.0, 2.0], 0.5, 0.25, 0.1), {})],
    MultiStep: [(MultiStep([0.5, 1.0, 1.25], [1.0, -1.0, 2.0], 0.5), {})],
    PinkNoise: [(PinkNoise(2.0, sample=0.1), {})],
    RepeatingSequence: [(RepeatingSequence([0, 0.25, 1.0], [[0.0, 1.0], [1.0, 0.0], [0.5, 2.0]]), {})],
    RepeatingSequenceStair: [(RepeatingSequenceStair([3.0, 1.0, 2.0], sample=0.25), {})],
    Sawtooth: [(Sawtooth([1.0, 2.0], 0.5, 0.25, 0.5), {})],
    Source: [(Source(swell), {}), (Source(np.cos, 0.1), {})],
    SquareWave: [(SquareWave([1.0, 2.0], 0.5, 0.25, 0.1, 0.5), {})],
    Triangle: [(Triangle(2.0, 1.0, 0.25, 0.1, 0.5), {})],
}
