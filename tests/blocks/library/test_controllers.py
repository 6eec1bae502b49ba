"""Controllers: transfer functions, difference equations by hand, limits and anti-windup."""

import casadi as ca
import numpy as np
import pytest

from blocks import PID, DiscretePID, Ramp, Sine, StateFeedback, Step, TransferFunction, TransportDelay
from blocks.contract.trace import trace
from blocks.errors import SimulationError
from cosim import Diagram, simulate
from tests.helpers.checked import closed_form
from tests.helpers.solo import Solo


def frequency_response(block, omega):
    """C (j omega - A)^-1 B + D of a continuous block, from its exact derivatives."""
    solo = Solo(block, {"e": 1})
    t, own, p, ticks, e = solo.traced.arguments
    rate = ca.vertcat(*[m.expression for m in solo.declared.memories])
    y = solo.declared.outputs[0].expression
    parts = [ca.jacobian(f, x) for f in (rate, y) for x in (own, e)]
    A, B, C, D = (np.array(m) for m in ca.Function("f", [t, own, p, ticks, e], parts)(0, 0, solo.p, [], 0))
    return np.array([(C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B) + D)[0, 0] for w in omega])


def test_pid_is_its_transfer_function(checked):
    s = 1j * np.array([0.1, 1.0, 10.0, 300.0])
    expected = 2 + 3 / s + 0.5 * s / (1 + s / 40)
    found, known = (
        frequency_response(PID(2, 3, 0.5, cutoff=40), s.imag),
        closed_form("kp + ki/s + kd s/(1 + s/N)"),
    )
    checked(found, expected, "PID", "frequency response", known, rtol=1e-12)


def test_parts_left_out_have_no_state():
    assert Solo(PID(2), {"e": 1}).own.size == 0
    assert list(Solo(PID(2, 1), {"e": 1}).traced.slices) == ["i"]
    assert list(Solo(PID(2, kd=1), {"e": 1}).traced.slices) == ["x"]


def test_pi_of_a_constant_error(checked):
    y = Solo(PID(2, 3, initial=1), {"e": 2}).run([0, 0.5, 2], e=lambda t: [1, -1])["u"]
    known = [[3, -1], [4.5, -2.5], [9, -7]]
    checked(y, known, "PID", "PI of a constant error", closed_form("kp e + i0 + ki e t"), rtol=1e-12)


def test_setpoint_weights():
    solo = Solo(PID(2, 3, 0.5, cutoff=10, weights=(0.25, 0)), {"r": 1, "y": 1})
    r, y = np.array([8.0]), np.array([1.0])
    d = 10 * (0.5 * (0 * 8 - 1))
    np.testing.assert_allclose(solo.outputs([r, y])["u"], [2 * (0.25 * 8 - 1) + d])
    np.testing.assert_allclose(solo.slope(0, solo.own, [r, y]), [3 * (8 - 1), d])  # i', x'


@pytest.mark.parametrize(
    ("method", "expected"),
    # e = 1, 1, -2 with kp = 2, ki = 4, T = 1/2 so w = 2 e: i = 0, 2, 4; limits not reached
    [("forward", [2, 4, 0]), ("backward", [4, 6, -4])],
)
def test_discrete_pi_by_hand(method, expected):
    e = [1, 1, -2]
    block = DiscretePID(2, 4, sample=0.5, method=method, low=-10, high=10)
    y = Solo(block, {"e": 1}).run([0, 0.5, 1], e=lambda t: e[int(2 * t)])["u"]
    np.testing.assert_array_equal(y[:, 0], expected)


def test_discrete_derivative_by_hand():
    """kd = 1, cutoff = 4, T = 1/4: x+ = (x + e)/2, d = 4 (e - x+). e = 1: x+ = 1/2, 3/4, 7/8."""
    block = DiscretePID(0, kd=1, cutoff=4, sample=0.25)
    y = Solo(block, {"e": 1}).run([0, 0.25, 0.5], e=lambda t: 1)["u"]
    np.testing.assert_array_equal(y[:, 0], [2, 1, 0.5])


def test_discrete_pid_approaches_the_continuous_one():
    fields = {"kp": 2.0, "ki": 3.0, "kd": 0.2, "cutoff": 10.0}
    slow = Solo(PID(**fields), {"e": 1}).run([1.0], step=1e-2, e=np.sin)["u"]
    for method in ("forward", "backward"):
        block = DiscretePID(**fields, sample=1e-3, method=method)
        fast = Solo(block, {"e": 1}).run([1.0], e=np.sin)["u"]
        np.testing.assert_allclose(fast, slow, rtol=4e-3)


def saturated_then_reversed(t):
    """Error 1 for two seconds, then -0.1."""
    return 1.0 if t < 2 else -0.1


@pytest.mark.parametrize("method", ["forward", "backward"])
@pytest.mark.parametrize(
    ("anti_windup", "leaves_at"),
    [("clamping", 2.0), ("back-calculation", 2.0), ("none", None)],
)
def test_a_saturated_discrete_pid_leaves_saturation_when_the_error_changes_sign(
    anti_windup, leaves_at, method
):
    block = DiscretePID(
        1.0, 2.0, sample=0.1, method=method, low=-1, high=1, anti_windup=anti_windup, tracking=0.2
    )
    at = [k / 10 for k in range(31)]
    u = Solo(block, {"e": 1}).run(at, e=saturated_then_reversed)["u"][:, 0]
    assert np.all(u[5:20] == 1)
    inside = [t for t, value in zip(at, u, strict=True) if t >= 2 and abs(value) < 1]
    assert inside[:1] == ([] if leaves_at is None else [leaves_at])


@pytest.mark.parametrize(
    ("anti_windup", "leaves"), [("clamping", True), ("back-calculation", True), ("none", False)]
)
def test_a_saturated_pid_leaves_saturation_when_the_error_changes_sign(anti_windup, leaves):
    d = Diagram("reversed")
    d.add("e", Step(2.0, 1.0, -0.1))
    d.add("pid", PID(1.0, 2.0, low=-1, high=1, anti_windup=anti_windup, tracking=0.2))
    d.connect("e.y", "pid.e")
    u = simulate(d, 3.0, log_at=[1, 1.99, 2, 2.01, 3])["pid.u"][:, 0]
    np.testing.assert_array_equal(u[:2], [1, 1])
    assert (u[2] < 1) == leaves  # at the very instant the error changes sign
    assert (u[4] < 1) == leaves


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("solver", [{}, {"solver": "rk4", "step": 1e-3}], ids=["dopri5", "rk4"])
def test_clamping_slides_along_the_limit(engine, solver):
    """e = 2 - t, kp = 1, ki = 3, |u| <= 1: i rests until v = e comes back to 1, and is 1 - e from there on.

    Until ki e = 1 the integral alone would drive v out again; then it is inside, and i' = ki e.
    """
    d = Diagram("slides")
    d.add("e", Ramp([-1.0, 1.0], 0.0, [2.0, -2.0]))
    d.add("pid", PID(1.0, 3.0, low=-1.0, high=1.0, anti_windup="clamping"))
    d.connect("e.y", "pid.e")
    at = np.array([0.0, 0.5, 1.0, 1.2, 1.6, 1.7, 1.9, 2.5])
    r = simulate(d, 2.5, log_at=at, signals=["pid.i", "pid.u"], engine=engine, wall_limit=20.0, **solver)
    e = 2.0 - at
    i = np.where(at < 1.0, 0.0, np.where(at < 5 / 3, 1.0 - e, 2 / 3 + 1.5 * (1 / 9 - e**2)))
    np.testing.assert_allclose(r["pid.i"], np.stack([i, -i], axis=1), atol=1e-8)
    u = np.minimum(e + i, 1.0)
    np.testing.assert_allclose(r["pid.u"], np.stack([u, -u], axis=1), atol=1e-8)


def test_clamping_behind_a_delay_that_chatters_is_told_what_to_take_instead():
    """The slope of what comes out of a continuous delay is not known: nothing slides along the limit."""
    d = Diagram("late")
    pid = d.add("pid", PID(0.5, 5.0, low=-1.0, high=1.0, anti_windup="clamping"))
    x, late = d.add("x", TransferFunction([1.5], [1.0, 1.0])), d.add("late", TransportDelay(0.4))
    (d.add("r", Sine(1.5, 0.7)) - late) >> pid >> x >> late
    with pytest.raises(
        SimulationError, match='pid.high met.*anti_windup="back-calculation", or a DiscretePID'
    ):
        simulate(d, 2.0)
    d.replace("pid", PID(0.5, 5.0, low=-1.0, high=1.0))
    simulate(d, 2.0)
    assert not PID(1.0, 1.0, high=1.0).endless_cure
    assert not PID(1.0, anti_windup="clamping", high=1.0).endless_cure


def test_a_saturated_integral_stays_bounded():
    """Back-calculation: v settles at high + tracking ki e, so the integral at high + tracking ki e - kp e."""
    solo = Solo(PID(1.0, 2.0, low=-1, high=1, tracking=0.2), {"e": 1})
    solo.run([4], step=0.05, e=lambda t: 1.0)
    np.testing.assert_allclose(solo.own, [1 + 0.2 * 2 - 1], rtol=1e-6)


@pytest.mark.parametrize("cls", [PID, DiscretePID])
def test_a_vector_limit_on_a_vector_signal_stays_a_vector(cls):
    sampled = {"sample": 0.1} if cls is DiscretePID else {}
    block = cls(1.0, 1.0, low=[-1, -2], high=[1, 2], **sampled)
    u = Solo(block, {"e": 2}).run([0, 5], e=lambda t: [9, -9])["u"]
    np.testing.assert_array_equal(u, [[1, -2], [1, -2]])
    one = Solo(block, {"e": 1}).run([0, 5], e=lambda t: 9)["u"]  # a scalar error expands to the limits
    np.testing.assert_array_equal(one, [[1, 2], [1, 2]])


@pytest.mark.parametrize("K", [[1, 2], (1, 2), [[1, 2]], np.array([1.0, 2.0]), np.array([[1, 2]])])
def test_state_feedback_of_one_row(K):
    np.testing.assert_array_equal(Solo(StateFeedback(K)).outputs([np.array([3.0, 4.0])])["u"], [-11])
    assert StateFeedback(K) == StateFeedback([[1, 2]])


def test_state_feedback_of_several_rows_in_continuous_time_and_at_ticks():
    K = [[1, 2], [0, 3]]
    x = lambda t: [t, 1]
    np.testing.assert_array_equal(Solo(StateFeedback(K)).run([0, 0.25], x=x)["u"], [[-2, -3], [-2.25, -3]])
    held = Solo(StateFeedback(K, sample=0.2, offset=0.1)).run([0, 0.1, 0.25, 0.3], x=x)["u"]
    np.testing.assert_allclose(held, [[0, 0], [-2.1, -3], [-2.1, -3], [-2.3, -3]], rtol=1e-15)


@pytest.mark.parametrize("make", [PID, lambda *gains, **more: DiscretePID(*gains, sample=0.1, **more)])
def test_run_time_numbers_are_those_that_count(make):
    def names(*gains, **more):
        block = make(*gains, anti_windup="back-calculation", **more)
        return {p.name for p in trace(block, {}, guess=1).declared.parameters}

    assert names(2.0) == {"kp"}
    assert names(2.0, 1.0) == {"kp", "ki"}
    assert names(2.0, kd=1.0) == {"kp", "kd", "cutoff"}
    assert names(2.0, low=-1.0) == {"kp", "low"}
    assert names(2.0, 1.0, low=-1.0) == {"kp", "ki", "low", "tracking"}
    assert names(2.0, 1.0, high=1.0) == {"kp", "ki", "high", "tracking"}
    assert names(2.0, 1.0, external_tracking=True) == {"kp", "ki", "tracking"}
