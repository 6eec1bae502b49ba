"""Controllers and estimators designed from a model."""

import numpy as np

from blocks import EKF, LQG, LQI, LQR, MPC, UKF, KalmanFilter, Luenberger, ReferenceGovernor

A, B, C, D = [[0.0, 1.0], [2.0, -0.5]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]]
FULL = (A, B, C, D)
CLOSED = ([[0.0, 1.0], [-4.0, -0.8]], [[0.0], [4.0]], [[1.0, 0.0]], [[0.0]])
TWO = ([[-1.0, 0.2], [0.0, -2.0]], [[1.0, 0.0], [0.3, 2.0]], [[1.0, 0.0], [0.0, 1.0]], np.zeros((2, 2)))


def pendulum(t, x, u):
    return [x[1], np.sin(x[0]) - 0.2 * x[1] + u[0]]


def seen(t, x, u):
    return [x[0] + 0.1 * x[0] ** 3]


NONLINEAR = {"sample": 0.1, "inputs": 1}
BOTH = {"u": 1, "y": 1}

EXAMPLES = {
    EKF: [(EKF(pendulum, seen, 1e-3, 0.01, [0.5, 0.0], 0.1, 2, **NONLINEAR), BOTH)],
    KalmanFilter: [
        (KalmanFilter(FULL, 0.1, 0.01), BOTH),
        (KalmanFilter(FULL, [0.1, 0.2], 0.01, sample=0.1, initial=[0.5, 0.1]), BOTH),
        (KalmanFilter(FULL, 0.1, 0.01, "time-varying", sample=0.1), BOTH),
    ],
    LQG: [(LQG(FULL, 1.0, 1.0, 0.1, 0.01), {"y": 1}), (LQG(FULL, sample=0.1), {"y": 1})],
    LQI: [(LQI(FULL, 1.0, 2.0, 0.5), {"x": 2, "r": 1}), (LQI(FULL, sample=0.1), {"x": 2, "r": 1})],
    LQR: [(LQR((A, B), [1.0, 2.0], 0.5), {"x": 2}), (LQR((A, B), sample=0.1), {"x": 2})],
    Luenberger: [
        (Luenberger(FULL, [-3.0, -4.0]), BOTH),
        (Luenberger(FULL, [0.5 + 0.1j, 0.5 - 0.1j], sample=0.1), BOTH),
    ],
    MPC: [(MPC(FULL, 5, u_min=-100.0, u_max=100.0, sample=0.1), {"x": 2, "r": 1})],
    ReferenceGovernor: [
        (ReferenceGovernor(CLOSED, -0.5, 1.0, 12, sample=0.1), {"x": 2, "r": 1}),
        (ReferenceGovernor(TWO, None, [1.0, 0.4], 8, 0.01, initial=0.1, sample=0.1), {"x": 2, "r": 2}),
    ],
    UKF: [(UKF(pendulum, seen, 1e-3, 0.01, [0.5, 0.0], 0.1, 2, **NONLINEAR), BOTH)],
}
