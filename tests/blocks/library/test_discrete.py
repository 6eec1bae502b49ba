"""Sampled linear blocks against tables worked by hand and python-control."""

import control
import numpy as np
import pytest

from blocks import DiscreteIntegrator, DiscreteStateSpace, DiscreteTransferFunction, UnitDelay
from tests.helpers.solo import Solo


def test_unit_delay_shows_the_last_sample_from_the_next_tick_on():
    delay = UnitDelay(1, initial=9)
    y = Solo(delay, {"u": 1}).run([0, 0.9, 1, 1.9, 2], u=lambda t: 10 * t + 1)["y"]
    np.testing.assert_array_equal(y[:, 0], [9, 9, 1, 1, 11])


def test_unit_delay_has_no_feedthrough_even_at_its_ticks():
    assert not Solo(UnitDelay(1), {"u": 2}).feedthrough(ticking=True)["y"].any()


def test_unit_delay_with_an_offset_shows_its_initial_value_before_and_after_the_first_tick():
    y = Solo(UnitDelay(1, offset=0.5, initial=[7, 8])).run([0, 0.5, 1.4, 1.5], u=lambda t: [t, 2])["y"]
    np.testing.assert_array_equal(y, [[7, 8], [7, 8], [7, 8], [0.5, 2]])


@pytest.mark.parametrize(
    ("method", "expected"),  # of u = 1, 3, 2, 4 with T = 1/2 and x_0 = 10
    [
        ("forward", [10, 10.5, 12, 13]),
        ("backward", [10.5, 12, 13, 15]),
        ("trapezoidal", [10.25, 11.25, 12.5, 14]),
    ],
)
def test_discrete_integrator_by_hand(method, expected):
    u = [1, 3, 2, 4]
    block = DiscreteIntegrator(0.5, method=method, initial=10)
    y = Solo(block, {"u": 1}).run([0, 0.5, 1, 1.5], u=lambda t: u[int(2 * t)])["y"]
    np.testing.assert_array_equal(y[:, 0], expected)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        ("none", [10, 11, 12, 13, 14, 15, 16]),
        ("level", [10, 11, 10, 10, 11, 12, 10]),
        ("rising", [10, 11, 10, 11, 12, 13, 10]),
        ("falling", [10, 11, 12, 13, 10, 11, 12]),
        ("either", [10, 11, 10, 11, 10, 11, 10]),
    ],
)
def test_a_discrete_integrator_is_reset_by_edges_through_a_half_or_above_it(reset, expected):
    """Exactly 0.5 is off, and so is what was before the first tick."""
    block = DiscreteIntegrator(1, method="forward", initial=10, reset=reset)
    signals = {"u": lambda t: 1, "reset": lambda t: [0, 0.5, 1, 1, 0.5, 0, 1][int(t)]}
    signals = signals if reset != "none" else {"u": signals["u"]}
    y = Solo(block, dict.fromkeys(signals, 1)).run(range(7), **signals)["y"]
    np.testing.assert_array_equal(y[:, 0], expected)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        ("level", [10, 11, 10, 13]),
        ("rising", [10, 11, 10, 13]),
        ("falling", [10, 10, 12, 10]),
        ("either", [10, 10, 10, 10]),
    ],
)
def test_the_threshold_of_a_reset_is_its_own(reset, expected):
    """-1 itself is off at a threshold of -1, and so is what was before the first tick, though 0 is on."""
    block = DiscreteIntegrator(1, initial=10, reset=reset, threshold=-1.0)
    signals = {"u": lambda t: [1, 2, 3, 1][int(t)], "reset": lambda t: [0, -1, 0, -3][int(t)]}
    y = Solo(block, dict.fromkeys(signals, 1)).run(range(4), **signals)["y"]
    np.testing.assert_array_equal(y[:, 0], expected)


def test_discrete_integrator_shows_its_initial_value_before_an_offset():
    for method in ("forward", "backward", "trapezoidal"):
        block = DiscreteIntegrator(1, 0.5, method, initial=10)
        assert Solo(block, {"u": 1}).run([0.25], u=lambda t: 1)["y"] == 10


def test_discrete_state_space_output_and_next_state():
    """x+ = x/2 + u, y = x + 3 u: u = 1 gives x = 4, 3, 2.5, 2.25."""
    block = DiscreteStateSpace(0.5, 1, 1, 3, sample=0.1, initial=4)
    y = Solo(block).run([0, 0.05, 0.1, 0.2, 0.3], u=lambda t: 1.0)["y"]
    np.testing.assert_array_equal(y[:, 0], [7, 7, 6, 5.5, 5.25])


def test_discrete_state_space_shows_zero_before_its_first_tick():
    block = DiscreteStateSpace(0.5, 1, 1, sample=0.1, offset=0.05, initial=4)
    np.testing.assert_array_equal(Solo(block).run([0, 0.05], u=lambda t: 1.0)["y"][:, 0], [0, 4])


@pytest.mark.parametrize(
    ("num", "den"),
    [([1, 0], [1, -0.5]), ([1], [1, -0.5]), ([0, 1, 2], [2, -0.5, 0.25]), ([3, 1, 2], [2, 1, 0.25])],
)
def test_discrete_transfer_function_against_its_difference_equation(num, den):
    u = np.random.default_rng(1).normal(size=8)
    n = len(den)
    padded = np.concatenate([np.zeros(n - len(num)), num])
    y = np.zeros(8)
    for k in range(8):
        past = range(min(k + 1, n))
        y[k] = (sum(padded[j] * u[k - j] for j in past) - sum(den[j] * y[k - j] for j in past if j)) / den[0]
    result = Solo(DiscreteTransferFunction(num, den, sample=1)).run(range(8), u=lambda t: u[round(t)])["y"]
    np.testing.assert_allclose(result[:, 0], y, rtol=1e-12, atol=1e-14)


SYSTEM = control.tf([1, 0.2], [1, -0.5, 0.3], 0.1)


@pytest.mark.parametrize(
    "block",
    [DiscreteStateSpace.of(SYSTEM), DiscreteTransferFunction.of(SYSTEM)],
    ids=lambda b: type(b).__name__,
)
def test_python_control_systems_bring_their_sample_time(block):
    assert block.sample == 0.1
    expected = control.step_response(SYSTEM, np.arange(6) * 0.1).outputs
    y = Solo(block).run([k / 10 for k in range(6)], u=lambda t: 1.0)["y"]
    np.testing.assert_allclose(y[:, 0], expected, rtol=1e-12)


def test_a_system_without_a_sample_time_takes_the_one_given():
    block = DiscreteStateSpace.of(control.tf([1], [1, -0.5], True), sample=0.2, offset=0.1)
    assert (block.sample, block.offset) == (0.2, 0.1)
