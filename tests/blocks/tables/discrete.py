"""Sampled delays, filters, derivatives and integrals."""

from blocks import (
    FIR,
    Biquad,
    Delay,
    Difference,
    DiscreteDerivative,
    DiscreteIntegrator,
    DiscreteZeroPoleGain,
    EnabledDelay,
    Memory,
    MovingAverage,
    ResettableDelay,
    TappedDelay,
    VariableIntegerDelay,
)
from tests.blocks.tables.first import EXAMPLES as FIRST

SOS = [[0.2, 0.1, 0.3, 2.0, -0.5, 0.25], [1.0, -0.3, 0.0, 1.0, 0.4, 0.0]]

EXAMPLES = {
    Biquad: [(Biquad(SOS, sample=0.1), {"u": 1})],
    Delay: [(Delay(3, 0.1, initial=[1.0, 2.0]), {"u": 2}), (Delay(0, 0.1), {"u": 1})],
    Difference: [(Difference(0.1, initial=0.5), {"u": 2})],
    DiscreteDerivative: [(DiscreteDerivative(0.1, gain=2.0), {"u": 2})],
    DiscreteIntegrator: [
        *FIRST[DiscreteIntegrator],
        (DiscreteIntegrator(0.1, low=-1.0, high=[1.0, 2.0]), {"u": 2}),
        (DiscreteIntegrator(0.1, method="backward", reset="rising", high=0.5), {"u": 1, "reset": 1}),
        (
            DiscreteIntegrator(0.1, method="trapezoidal", reset="level", external_initial=True),
            {"u": 1, "x0": 1, "reset": 1},
        ),
    ],
    DiscreteZeroPoleGain: [
        (DiscreteZeroPoleGain([0.5], [0.3 + 0.4j, 0.3 - 0.4j, -0.2], 2.0, sample=0.1), {"u": 1}),
        (DiscreteZeroPoleGain([0.5, 0.25], [0.3, -0.2], sample=0.1), {"u": 1}),
        (DiscreteZeroPoleGain([], [], 2.0, sample=0.1), {"u": 1}),
    ],
    EnabledDelay: [(EnabledDelay(2, 0.1, initial=0.5), {"u": 2, "enable": 1})],
    FIR: [(FIR([0.5, 0.25, -0.25], sample=0.1), {"u": 1}), (FIR(2.0, sample=0.1), {"u": 1})],
    Memory: [(Memory(0.5), {"u": 2})],
    MovingAverage: [(MovingAverage(4, sample=0.1, initial=0.5), {"u": 2})],
    ResettableDelay: [
        (ResettableDelay(2, 0.1, initial=0.5), {"u": 2, "reset": 1}),
        (ResettableDelay(2, 0.1, reset="level", external_initial=True), {"u": 1, "reset": 1, "x0": 1}),
    ],
    TappedDelay: [(TappedDelay(3, 0.1), {"u": 1}), (TappedDelay(2, 0.1, 0, 1.0, True, True), {"u": 1})],
    VariableIntegerDelay: [(VariableIntegerDelay(3, 0.1, initial=0.5), {"u": 2, "d": 1})],
}
