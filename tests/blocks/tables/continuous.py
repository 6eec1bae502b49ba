"""Continuous dynamics: integrators, filters, delays, equations, PID with everything."""

from blocks import (
    DAE,
    ODE,
    PID,
    Bessel,
    Butterworth,
    Chebyshev,
    Derivative,
    DescriptorStateSpace,
    DiscretePID,
    FirstOrder,
    Integrator,
    LeadLag,
    Notch,
    PipeDelay,
    SecondOrder,
    SecondOrderIntegrator,
    VariableTransportDelay,
    ZeroPoleGain,
)
from tests.blocks.tables.first import EXAMPLES as FIRST


def swing(t, x, u):
    return [x[1], u[0] - 2.0 * x[0] - 0.3 * x[1] ** 3]


def seen(t, x, u):
    return [x[0] + x[1], x[1] * u[0]]


def net(t, x, u):
    return [x[1] - x[0], u[0] - x[0] - 2.0 * x[1] - x[1] ** 3]


FULL = {"weights": (0.5, 0.1), "feedforward": True, "external_tracking": True, "reset": "rising"}
PORTS = {"r": 1, "y": 1, "ff": 1, "tr": 1, "reset": 1}

EXAMPLES = {
    Bessel: [(Bessel(3, 5.0), {"u": 1})],
    Butterworth: [
        (Butterworth(3, 5.0), {"u": 1}),
        (Butterworth(2, (3.0, 6.0), "bandpass", sample=0.1), {"u": 1}),
        (Butterworth(2, 3.0, "highpass"), {"u": 1}),
    ],
    Chebyshev: [(Chebyshev(2, 1.0, 5.0), {"u": 1}), (Chebyshev(3, 40.0, 5.0, type=2), {"u": 1})],
    DAE: [
        (DAE([[1.0, 0.0], [0.0, 0.0]], net, [0.5, 0.1], inputs=1), {"u": 1}),
        (DAE([[1.0, 1.0], [1.0, 2.0]], swing, [0.5, 0.1], seen, 1), {"u": 1}),
    ],
    Derivative: [(Derivative([20.0, 10.0]), {"u": 1})],
    DescriptorStateSpace: [
        (
            DescriptorStateSpace([[1, 0], [0, 0]], [[-1, 1], [1, -2]], [[0], [1]], [[1, 0]], initial=0.5),
            {"u": 1},
        ),
        (DescriptorStateSpace([[2.0]], [[-1.0]], [1.0], [1.0], [0.5]), {"u": 1}),
    ],
    DiscretePID: [
        *FIRST[DiscretePID],
        (DiscretePID(2.0, 1.0, 0.1, sample=0.1, high=1.0, form="series", **FULL), PORTS),
        (DiscretePID(2.0, 1.0, 0.1, sample=0.1, form="ideal"), {"e": 2}),
    ],
    FirstOrder: [(FirstOrder([2.0, 1.0], 0.5, 0.25), {"u": 1})],
    Integrator: [
        *FIRST[Integrator],
        (Integrator(reset="level", external_initial=True), {"u": 2, "x0": 2, "reset": 1}),
        (Integrator(0.5, reset="either"), {"u": 1, "reset": 1}),
        (Integrator(0.5, reset="level", state_port=True, threshold=0.25), {"u": 2, "reset": 1}),
        (Integrator(low=-1.0, high=1.0, external_initial=True), {"u": 1, "x0": 1}),
    ],
    LeadLag: [(LeadLag(2.0, 0.5, [0.1, 0.2]), {"u": 2})],
    Notch: [(Notch(4.0, 2.0), {"u": 1}), (Notch(4.0, 2.0, sample=0.1), {"u": 1})],
    ODE: [(ODE(swing, [0.5, 0.1], inputs=1), {"u": 1}), (ODE(swing, [0.5, 0.1], seen), {"u": 1})],
    PID: [
        *FIRST[PID],
        (PID(2.0, 1.0, 0.1, high=1.0, form="series", **FULL), PORTS),
        (PID(2.0, 1.0, 0.1, form="ideal"), {"e": 2}),
    ],
    PipeDelay: [(PipeDelay(0.5, 2.0, 0.05, 0.25), {"u": 2, "v": 1})],
    SecondOrder: [(SecondOrder(2.0, 3.0, [0.5, 1.5], 0.25), {"u": 1})],
    SecondOrderIntegrator: [
        (SecondOrderIntegrator(0.1, [0.2, 0.3], low=-0.5, high=0.4), {"u": 1}),
        (SecondOrderIntegrator(rate_low=-0.25, rate_high=0.5), {"u": 2}),
    ],
    VariableTransportDelay: [(VariableTransportDelay(2.0, 0.05, 0.5), {"u": 2, "delay": 1})],
    ZeroPoleGain: [
        (ZeroPoleGain([-1.0], [-2.0, -1 + 3j, -1 - 3j], 10.0), {"u": 1}),
        (ZeroPoleGain([-1.0], [-2.0], 2.0), {"u": 1}),
    ],
}
