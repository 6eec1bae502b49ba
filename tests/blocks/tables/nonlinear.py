"""Play, friction, limits that are signals, and what stands between the analog and the digital."""

from blocks import (
    ADC,
    DAC,
    PWM,
    Backlash,
    BoucWen,
    CoulombFriction,
    DynamicDeadZone,
    DynamicRateLimiter,
    DynamicSaturation,
    Encoder,
    StickSlip,
)

EXAMPLES = {
    ADC: [(ADC(4, -2.0, 2.0, sample=0.1), {"u": 2})],
    Backlash: [(Backlash(0.5, 0.1), {"u": 2}), (Backlash([0.5, 1.0]), {"u": 1})],
    BoucWen: [(BoucWen(0.6, 0.3, 1.5), {"u": 2})],
    CoulombFriction: [
        (CoulombFriction(1.0, 0.1), {"u": 2}),
        (CoulombFriction(1.0, static=1.5, stribeck=0.5, sliding=True), {"u": 1}),
        (CoulombFriction([1.0, 2.0], 0.1, 3.0, 0.5), {"u": 1}),
    ],
    DAC: [(DAC(4, -2.0, 2.0, sample=0.1), {"u": 2})],
    DynamicDeadZone: [(DynamicDeadZone(), {"high": 1, "u": 2, "low": 1})],
    DynamicRateLimiter: [(DynamicRateLimiter(sample=0.1), {"rising": 1, "u": 2, "falling": 1})],
    DynamicSaturation: [(DynamicSaturation(), {"high": 1, "u": 2, "low": 1})],
    Encoder: [(Encoder(100, sample=0.1), {"u": 2})],
    PWM: [(PWM(0.25, 0.05, 2.0, -1.0), {"u": 1})],
    StickSlip: [
        (StickSlip(1.5, 0.5, 0.1, 0.8, 0.2, 0.1), {"u": 1}),
        (StickSlip(2.0, initial_speed=1.0), {"u": 1}),
    ],
}
