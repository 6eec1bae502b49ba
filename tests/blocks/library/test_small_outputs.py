"""Linear blocks are exact whatever their gain and cutoff, at default tolerances: steps in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

from blocks import (
    LQG,
    PID,
    Butterworth,
    Constant,
    DescriptorStateSpace,
    FirstOrder,
    LeadLag,
    Notch,
    ScheduledStateSpace,
    SecondOrder,
    ZeroPoleGain,
)
from cosim import simulate
from tests.helpers.runs import build

TIMES = np.linspace(0.0, 10.0, 11)  # over the cutoff


def response(A, B, C, D):
    """Of a system in a time of its own to a step, (11,)."""
    A, B, C, D = (np.atleast_2d(np.asarray(M, dtype=float)) for M in (A, B, C, D))
    n = len(A)
    whole = np.block([[A, B], [np.zeros((1, n + 1))]])
    return np.array([(C @ expm(whole * t)[:n, n:] + D).item() for t in TIMES])


def of(num, den):
    return response(*signal.tf2ss(np.atleast_1d(num), np.atleast_1d(den)))


LAG, BUTTER = ([1.0], [1.0, 1.0]), signal.butter(4, 1.0, analog=True)
POLES = signal.butter(4, 1.0, analog=True, output="zpk")[1]


@pytest.mark.parametrize("w", [1e-6, 1e6])
@pytest.mark.parametrize(
    ("make", "gain", "expected"),
    [
        (lambda w: FirstOrder(1e-9, 1 / w), 1e-9, of(*LAG)),
        (lambda w: SecondOrder(1e-9, w, 0.7), 1e-9, of([1.0], [1.0, 1.4, 1.0])),
        (lambda w: LeadLag(1e-9, 1e-3 / w, 1 / w), 1e-9, of([1e-3, 1.0], [1.0, 1.0])),
        (lambda w: LeadLag(1.0, 1e6 / w, 1 / w), 1e6, of([1.0, 1e-6], [1.0, 1.0])),
        (lambda w: PID(kp=1e-9, kd=1e-9 / w, cutoff=w), 1e-9, of([2.0, 1.0], [1.0, 1.0])),
        (lambda w: PID(kp=0.0, ki=1e-9 * w), 1e-9, TIMES),
        (lambda w: Butterworth(4, w), 1.0, of(*BUTTER)),
        (lambda w: Notch(w, 1.0), 1.0, of([1.0, 0.0, 1.0], [1.0, 1.0, 1.0])),
        (lambda w: ZeroPoleGain([], POLES * w, 1e-12 * w**4), 1e-12, of(*BUTTER)),
        (
            lambda w: DescriptorStateSpace(
                np.diag([1.0, 1.0, 0.0]),
                [[0.0, 1.0, 0.0], [-w * w, -1.4 * w, 1.0], [0.0, 0.0, -1.0]],
                [0.0, 0.0, 1.0],
                [w * w, 0.0, 0.0],
            ),
            1.0,
            of([1.0], [1.0, 1.4, 1.0]),
        ),
    ],
    ids=["lag", "second order", "lead", "far lead", "PD", "I", "Butterworth", "notch", "ZPK", "descriptor"],
)  # fmt: skip
def test_steps(make, gain, expected, w):
    block = make(w)
    port, out = ("e", "u") if isinstance(block, PID) else ("u", "y")
    d = build(f"c.y>f.{port}", c=Constant(1.0), f=block)
    found = simulate(d, TIMES[-1] / w, log_at=TIMES / w)[f"f.{out}"].ravel()
    assert np.abs(found / gain - expected).max() < 1e-8


def test_a_scheduled_filter_and_a_regulator():
    w = 1e6
    A, B, C, D = signal.tf2ss(*signal.butter(2, w, analog=True))
    f = ScheduledStateSpace([0.0, 1.0], [A, A], [B, B], [C, C], [D, D])
    d = build("c.y>f.u half.y>f.p", c=Constant(1.0), half=Constant(0.5), f=f)
    found = simulate(d, 10.0 / w, log_at=TIMES / w)["f.y"].ravel()
    assert np.abs(found - of(*signal.butter(2, 1.0, analog=True))).max() < 1e-8
    # in canonical form the estimate is as small as the states of the filter
    lqg = LQG((A, B, C, D), np.diag([0.0, w**4]), 1.0, np.diag([w, 0.0]), 1.0)
    K, L = lqg.gains()
    d = build("c.y>k.y", c=Constant(1.0), k=lqg)
    found = simulate(d, 10.0 / w, log_at=TIMES / w)["k.u"].ravel()
    s = np.array([w, w * w])  # estimate in units of its own, time in 1 / w
    expected = response((A - B @ K - L @ C) * s[:, None] / s / w, L * s[:, None] / w, -K / s, [[0.0]])
    assert np.abs(found - expected).max() < 1e-7 * np.abs(expected).max()
