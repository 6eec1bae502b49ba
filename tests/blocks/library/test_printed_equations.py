"""Derivatives, next values and outputs beside the equations of the blocks' pages, written in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks import (
    PID,
    CompareToConstant,
    CompareToZero,
    Constant,
    Derivative,
    DiscretePID,
    DynamicRateLimiter,
    ScheduledFeedback,
    ScheduledPID,
    ScheduledStateSpace,
)
from cosim import simulate
from tests.helpers.made import chain
from tests.helpers.solo import Solo


def evaluated(block: Any, inputs: dict[str, Any], memories: dict[str, Any] | None = None) -> dict[str, Any]:
    """What every memory becomes (its rate, or its next value) and every output, by name."""
    u = {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in inputs.items()}
    solo = Solo(block, {name: len(value) for name, value in u.items()})
    for memory in solo.declared.memories:
        if memory.name in (memories or {}):
            solo.own[solo.at(memory)] = memories[memory.name]
    given = [u[i.name] for i in solo.declared.inputs]
    found = {n: solo.evaluate(n, e, given, 0.0, solo.own) for n, e in solo.expressions().items()}
    return solo.outputs(given) | found


def numbers(seed: int, *shapes: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def between(p: float, points: list[float], rows: Any) -> np.ndarray:
    """Straight between the values at the points, constant beyond them."""
    rows = np.asarray(rows, dtype=float)
    flat = rows.reshape(len(rows), -1)
    return np.array([np.interp(p, points, column) for column in flat.T]).reshape(rows.shape[1:])


POINTS = [-1.0, 0.5, 2.0]
AT = [-3.0, -1.0, 0.2, 0.5, 1.7, 5.0]


@pytest.mark.parametrize("p", AT)
def test_scheduled_feedback(p):
    """u = u0(p) - K(p) (x - x0(p))"""
    K, x0, u0, x = numbers(1, (3, 2, 4), (3, 4), (3, 2), 4)
    found = evaluated(ScheduledFeedback(POINTS, K, x0, u0), {"p": p, "x": x})
    expected = between(p, POINTS, u0) - between(p, POINTS, K) @ (x - between(p, POINTS, x0))
    assert found["u"] == pytest.approx(expected, rel=1e-13)
    plain = evaluated(ScheduledFeedback(POINTS, K), {"p": p, "x": x})
    assert plain["u"] == pytest.approx(-between(p, POINTS, K) @ x, rel=1e-13)


@pytest.mark.parametrize("p", AT)
def test_scheduled_state_space(p):
    A, B, C, D, x, u = numbers(2, (3, 2, 2), (3, 2, 3), (3, 4, 2), (3, 4, 3), 2, 3)
    found = evaluated(ScheduledStateSpace(POINTS, A, B, C, D), {"p": p, "u": u}, {"x": x})
    at = lambda rows: between(p, POINTS, rows)
    assert found["x"] == pytest.approx(at(A) @ x + at(B) @ u, rel=1e-13)
    assert found["y"] == pytest.approx(at(C) @ x + at(D) @ u, rel=1e-13)


@pytest.mark.parametrize("e", [-3.0, 0.4, 6.0])
def test_scheduled_pid(e):
    """d = cutoff (kd e - x), v = kp e + i + d, x' = d, i' = ki e + (u - v) / tracking"""
    kp, ki, kd = [1.0, 2.0, 4.0], [0.5, 3.0, 1.0], [0.2, 0.1, 0.3]
    block = ScheduledPID(POINTS, kp, ki, kd, cutoff=7.0, low=-2.0, high=3.0, tracking=0.4)
    p, i, x = 1.1, 0.3, 0.05
    gains = [np.interp(p, POINTS, k) for k in (kp, ki, kd)]
    d = 7.0 * (gains[2] * e - x)
    v = gains[0] * e + i + d
    u = min(max(v, -2.0), 3.0)
    found = evaluated(block, {"p": p, "e": e}, {"i": i, "x": x})
    assert [float(found[n][0]) for n in ("u", "x", "i")] == pytest.approx(
        [u, d, gains[1] * e + (u - v) / 0.4], rel=1e-13
    )


def parallel(form, kp, ki, kd):
    """Gains of kp (1 + ki/s + kd s) and of kp (1 + ki/s) (1 + kd s), multiplied out."""
    if form == "parallel":
        return kp, ki, kd
    return kp * (1 + ki * kd * (form == "series")), kp * ki, kp * kd


@pytest.mark.parametrize("form", ["parallel", "ideal", "series"])
@pytest.mark.parametrize("r", [-4.0, 0.6, 5.0])
@pytest.mark.parametrize("how", ["back-calculation", "clamping", "external"])
def test_pid(form, r, how):
    """v = kp (b r - y) + i + cutoff (kd (c r - y) - x) + ff, on the limits as each rule says"""
    y, ff, tr, i, x, T = 0.7, -0.2, 0.9, 0.35, -0.04, 0.1
    rule = "clamping" if how == "clamping" else "back-calculation"
    more = {"anti_windup": rule, "external_tracking": how == "external"}
    fields = dict(
        cutoff=9.0, low=-2.5, high=2.0, tracking=0.3, weights=(0.8, 0.3), form=form, feedforward=True, **more
    )
    given = (1.5, 0.8, 0.2)
    kp, ki, kd = parallel(form, *given)
    e = r - y
    inputs = {"r": r, "y": y, "ff": ff} | ({"tr": tr} if how == "external" else {})

    def integrated(v, u, share):
        """The step or rate of the integral, of whose own size `share` is."""
        acts = tr if how == "external" else u
        if how == "clamping":
            return share * ki * e if u == v or ki * e * (v - u) < 0 else 0.0
        return share * (ki * e + (acts - v) / 0.3)

    d = 9.0 * (kd * (0.3 * r - y) - x)
    v = kp * (0.8 * r - y) + i + d + ff
    u = min(max(v, -2.5), 2.0)
    beyond = {"at low": 2.0 * (v < -2.5), "at high": 2.0 * (v > 2.0)} if how == "clamping" else {}
    found = evaluated(PID(*given, **fields), inputs, {"i": i, "x": x} | beyond)
    assert [float(found[n][0]) for n in ("u", "x", "i")] == pytest.approx([u, d, integrated(v, u, 1.0)])
    for method in ("forward", "backward"):
        following = (x + T * 9.0 * kd * (0.3 * r - y)) / (1 + T * 9.0)
        v = kp * (0.8 * r - y) + i + 9.0 * (kd * (0.3 * r - y) - following) + ff
        v += T * ki * e * (method == "backward")
        u = min(max(v, -2.5), 2.0)
        block = DiscretePID(*given, sample="1/10", method=method, **fields)
        found = evaluated(block, inputs, {"i": i, "x": x})
        shown = next(value for name, value in found.items() if name.startswith("u@"))
        assert [float(v[0]) for v in (shown, found["x"], found["i"])] == pytest.approx(
            [u, following, i + integrated(v, u, T)]
        )


def test_rate_limits_that_are_signals():
    block = DynamicRateLimiter(sample="1/10")
    for u, expected in ((0.35, 0.35), (2.0, 0.3 + 0.1 * 4.0), (-2.0, 0.3 - 0.1 * 1.5)):
        found = evaluated(block, {"rising": 4.0, "u": u, "falling": -1.5}, {"last": 0.3})
        assert float(found["last"][0]) == pytest.approx(expected, rel=1e-14)


def test_a_filtered_derivative():
    """y = cutoff (u - u(0) - x), x' = y"""
    found = evaluated(Derivative(5.0), {"u": [0.7, -0.2]}, {"x": [0.1, 0.3], "start": [0.2, 0.4]})
    assert found["y"] == pytest.approx([5 * 0.4, 5 * -0.9], rel=1e-13)
    assert found["x"] == pytest.approx([5 * 0.4, 5 * -0.9], rel=1e-13)


COMPARED = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@pytest.mark.parametrize("operator", COMPARED)
def test_comparisons(operator):
    u = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])
    for block, against in ((CompareToZero(operator), 0.0), (CompareToConstant(operator, 1.0), 1.0)):
        r = simulate(chain(Constant(u), block), 0.1, engine="reference", log_at=[0.0, 0.1])
        assert r["b2.y"].tolist() == [COMPARED[operator](u, against).astype(float).tolist()] * 2
