"""The blocks the library began with: a few of every family."""

import numpy as np

from blocks import (
    PID,
    Abs,
    Block,
    Clock,
    Constant,
    DeadZone,
    Demux,
    DiscreteIntegrator,
    DiscretePID,
    DiscreteStateSpace,
    DiscreteTransferFunction,
    Function,
    Gain,
    Hold,
    Integrator,
    LookupTable1D,
    LookupTable2D,
    Mux,
    PeakHold,
    Product,
    Pulse,
    PythonFunction,
    Quantizer,
    Ramp,
    RandomNumber,
    RateLimiter,
    RateTransition,
    Relay,
    Saturation,
    Selector,
    Sign,
    Sine,
    StateFeedback,
    StateSpace,
    Step,
    StopWhen,
    Sum,
    Switch,
    TimeTable,
    TransferFunction,
    TransportDelay,
    TurnCounter,
    UniformRandomNumber,
    UnitDelay,
)

A, B, C = [[0.0, 1.0], [-2.0, -3.0]], [[0.0], [1.0]], [[1.0, 0.5]]
LONG = np.arange(40) / 8  # s; more rows than a tree of comparisons takes


def weighted(t, u):
    return [u.sum() + t, u @ np.arange(1, u.size + 1)]


def drag(v, w):
    return -0.3 * v * np.sin(w) + v


EXAMPLES: dict[type[Block], list[tuple[Block, dict[str, int]]]] = {
    Abs: [(Abs(), {"u": 2})],
    Clock: [(Clock(), {})],
    Constant: [(Constant(2.5), {}), (Constant([1.0, -2.0]), {})],
    DeadZone: [(DeadZone(-0.5, 0.25), {"u": 2}), (DeadZone([-0.5, -0.1], 0.25), {"u": 1})],
    Demux: [(Demux(2), {"in": 2}), (Demux([1, 3]), {"in": 4})],
    DiscreteIntegrator: [
        (DiscreteIntegrator(0.1, method=method, initial=initial), {"u": 2})
        for method in ("forward", "backward", "trapezoidal")
        for initial in (0.5, [1.0, 2.0])
    ],
    DiscretePID: [
        (DiscretePID(2.0, sample=0.1), {"e": 1}),
        (DiscretePID(2.0, 1.0, 0.1, sample=0.1, offset=0.05, low=-1.0, high=[1.0, 2.0]), {"e": 2}),
        (DiscretePID([2.0, 1.0], 1.0, sample=0.1, method="backward", high=0.5, initial=0.1), {"e": 1}),
        (
            DiscretePID(
                2.0,
                1.0,
                0.1,
                sample=0.1,
                low=-1.0,
                high=1.0,
                anti_windup="back-calculation",
                weights=(0.5, 0.1),
            ),
            {"r": 1, "y": 1},
        ),
        (DiscretePID(2.0, 1.0, sample=0.1, low=-1.0, anti_windup="none"), {"e": 1}),
    ],
    DiscreteStateSpace: [
        (DiscreteStateSpace(A, B, C, sample=0.1, initial=[1.0, 2.0]), {"u": 1}),
        (DiscreteStateSpace(A, np.eye(2), np.eye(2), [[1.0, 0.0], [0.0, 0.0]], sample=0.1), {"u": 2}),
    ],
    DiscreteTransferFunction: [
        (DiscreteTransferFunction([0.1, 0.2], [2.0, -0.9, 0.3], sample=0.1, initial=0.4), {"u": 1}),
        (DiscreteTransferFunction([0.1, 0.2, 0.3], [2.0, -0.9, 0.3], sample=0.1), {"u": 1}),
        (DiscreteTransferFunction(3.0, 2.0, sample=0.1), {"u": 1}),
    ],
    Function: [
        (Function(drag), {"v": 2, "w": 2}),
        (Function(np.sin, sample=0.1), {"u": 3}),
    ],
    Gain: [
        (Gain(3.0), {"u": 2}),
        (Gain([1.0, 2.0, -3.0]), {"u": 1}),
        (Gain([[1.0, 0.0, 2.0], [0.0, 3.0, 0.5]]), {"u": 3}),
    ],
    Hold: [(Hold(order, sample=0.1, initial=0.5), {"u": 2}) for order in range(4)],
    Integrator: [
        (Integrator(), {"u": 2}),
        (Integrator([1.0, 2.0]), {"u": 2}),
        (Integrator(0.5, low=-1.0, high=[1.0, 2.0]), {"u": 2}),
        (Integrator(0.5, high=1.0, reset=True), {"u": 1, "reset": 1}),
    ],
    LookupTable1D: [
        (LookupTable1D([-1.0, 0.0, 0.5, 2.0], [1.0, 2.0, -1.0, 3.0], outside=outside), {"u": 2})
        for outside in ("hold", "extrapolate")
    ]
    + [
        (LookupTable1D([-1.0, 0.0, 2.0], [[1.0, 2.0], [2.0, 2.5], [-1.0, 3.0]]), {"u": 1}),
        (LookupTable1D([-1.0, 0.0, 0.5, 2.0], [1.0, 2.0, -1.0, 3.0], "cubic", "extrapolate"), {"u": 2}),
        (LookupTable1D(LONG - 2.5, np.sin(LONG)), {"u": 1}),
        (LookupTable1D(LONG - 2.5, np.sin(LONG), "cubic"), {"u": 1}),
    ],
    LookupTable2D: [
        (LookupTable2D([-1.0, 0.0, 2.0], [-0.5, 1.0], [[1.0, 2.0], [2.5, 0.5], [3.0, 7.0]], outside), sizes)
        for outside in ("hold", "extrapolate")
        for sizes in ({"u1": 1, "u2": 1},)
    ],
    Mux: [(Mux(3), {"in1": 1, "in2": 3, "in3": 2})],
    PID: [
        (PID(2.0), {"e": 2}),
        (PID(2.0, 1.0, 0.1, low=-1.0, high=[1.0, 2.0]), {"e": 2}),
        (
            PID(2.0, 1.0, 0.1, low=-1.0, high=1.0, anti_windup="clamping", weights=(0.5, 0.1)),
            {"r": 1, "y": 1},
        ),
        (PID(2.0, [1.0, 2.0], high=1.0, anti_windup="none", initial=[0.5, 0.6]), {"e": 1}),
    ],
    PeakHold: [(PeakHold(), {"u": 2}), (PeakHold("min", initial=0.5), {"u": 1})],
    Product: [(Product("*/"), {"in1": 3, "in2": 1}), (Product("/*"), {"in1": 1, "in2": 1})],
    Pulse: [(Pulse(5.0, 0.4, 0.25, 0.1), {}), (Pulse([1.0, 2.0]), {})],
    PythonFunction: [
        (PythonFunction(weighted, {"a": 2, "b": 1}, 2, sample=0.1, initial=0.5), {"a": 2, "b": 1}),
        (PythonFunction(lambda t, u: np.cos(t), 0, sample=0.1), {}),
        (PythonFunction(weighted, {"a": 2, "b": 1}, 2, sample=None), {"a": 2, "b": 1}),
    ],
    Quantizer: [(Quantizer(0.25), {"u": 2}), (Quantizer([0.25, 1.0]), {"u": 1})],
    Ramp: [(Ramp(2.0, 1.5, 0.25), {}), (Ramp([1.0, 2.0], 0.5), {})],
    RandomNumber: [
        (RandomNumber(1.0, 0.25, sample=0.1), {}),
        (RandomNumber([1.0, 2.0], 0.25, sample=0.1, offset=0.05), {}),
    ],
    RateLimiter: [
        (RateLimiter(1.0, 2.0), {"u": 2}),
        (RateLimiter([1.0, 2.0], initial=[0.5, 0.6]), {"u": 1}),
        (RateLimiter(1.0, [2.0, 3.0], sample=0.1, initial=0.5), {"u": 1}),
    ],
    RateTransition: [(RateTransition(0.1, initial=0.5), {"u": 2})],
    Relay: [
        (Relay(0.5, -0.5, 2.0, -1.0), {"u": 2}),
        (Relay([0.5, 1.0], -0.5, on=True), {"u": 1}),
    ],
    Saturation: [
        (Saturation(-1.0, 2.0), {"u": 2}),
        (Saturation([-1.0, -0.5], [0.5, 1.0]), {"u": 1}),
        (Saturation(None, 0.5), {"u": 1}),
    ],
    Selector: [(Selector([2, 0, 2]), {"in": 3})],
    Sign: [(Sign(), {"u": 2}), (Sign(sliding=True), {"u": 2})],
    Sine: [(Sine(2.0, 3.0, 0.5, 0.1), {}), (Sine([1.0, 2.0], 3.0, sample=0.1, offset=0.05), {})],
    StateFeedback: [
        (StateFeedback([1.0, 2.0]), {"x": 2}),
        (StateFeedback([[1.0, 2.0], [0.0, 3.0]], sample=0.1), {"x": 2}),
    ],
    StateSpace: [
        (StateSpace(A, B, C, initial=[1.0, 2.0]), {"u": 1}),
        (StateSpace(A, np.eye(2), np.eye(2), [[1.0, 0.0], [0.0, 0.0]]), {"u": 2}),
    ],
    Step: [(Step(0.5, 1.0, [2.0, 3.0]), {}), (Step(), {})],
    StopWhen: [(StopWhen("over"), {"u": 1}), (StopWhen("under", -1.5, "falling"), {"u": 1})],
    Sum: [(Sum("+-"), {"in1": 2, "in2": 1}), (Sum("-+-"), {"in1": 2, "in2": 2, "in3": 2})],
    TimeTable: [
        (TimeTable([0.5, 1.0, 1.02], [0.5, 1.0, 0.25], "previous"), {}),
        (TimeTable([0.5, 1.0, 1.0, 2.0], [[0.5, 1.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), {}),
        (TimeTable(LONG, np.sin(LONG) + 2), {}),
        (TimeTable(LONG, np.sin(LONG) + 2, "previous"), {}),
    ],
    TransferFunction: [
        (TransferFunction([1.0, 2.0], [2.0, 3.0, 4.0], initial=[0.5, 0.6]), {"u": 1}),
        (TransferFunction([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]), {"u": 1}),
        (TransferFunction(3.0, 2.0), {"u": 1}),
    ],
    Switch: [
        (Switch(0.5), {"in1": 2, "control": 1, "in2": 2}),
        (Switch(0.5, ">="), {"in1": 1, "control": 1, "in2": 2}),
    ],
    TransportDelay: [(TransportDelay(0.25), {"u": 2}), (TransportDelay(0.25, [1.0, 2.0]), {"u": 2})],
    TurnCounter: [(TurnCounter(), {"u": 2}), (TurnCounter(1.5, 3.0), {"u": 1})],
    UniformRandomNumber: [(UniformRandomNumber([-1.0, 0.0], 2.0, sample=0.1), {})],
    UnitDelay: [(UnitDelay(0.1, initial=0.5), {"u": 2}), (UnitDelay(0.1, 0.05, [1.0, 2.0]), {"u": 2})],
}
