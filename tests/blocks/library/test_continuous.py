"""Continuous linear blocks against closed forms and python-control."""

import control
import numpy as np
import pytest

from blocks import Integrator, StateSpace, TransferFunction
from tests.helpers.checked import closed_form, independent
from tests.helpers.solo import Solo

AT = [0, 0.1, 0.5, 1.0, 2.0]
t = np.array(AT)


def step_response(block, size=1, **options):
    return Solo(block, {"u": size}).run(AT, u=lambda t: 1.0, **options)["y"]


def test_integrator_of_a_polynomial_is_exact_in_rk4(checked):
    y = Solo(Integrator([0.5, -1]), {"u": 2}).run(AT, step=0.25, u=lambda t: [3 * t**2, 1])["y"]
    expected = np.transpose([0.5 + t**3, t - 1])
    checked(y, expected, "Integrator", "integral of a polynomial", closed_form("t^3, t"), atol=1e-14)


def test_integrator_takes_the_size_of_its_input_and_a_vector_initial_value_gives_it():
    assert Solo(Integrator(), {"u": 3}).own.size == 3
    assert Solo(Integrator([1, 2])).declared.inputs[0].size == 2


def test_state_space_of_an_oscillator(checked):
    """x'' = -4 x + u from rest, u = 1: x = (1 - cos 2 t)/4."""
    block = StateSpace([[0, 1], [-4, 0]], [[0], [1]], [[1, 0], [0, 1]])
    x = (1 - np.cos(2 * t)) / 4
    v = np.sin(2 * t) / 2
    y, known = step_response(block, step=1e-2), np.transpose([x, v])
    checked(y, known, "StateSpace", "step response", closed_form("(1 - cos 2t)/4"), atol=1e-8)


def test_state_space_initial_state_and_direct_feedthrough():
    solo = Solo(StateSpace(-1, 1, [[2]], [[3]], initial=5))
    np.testing.assert_array_equal(solo.outputs([np.array([10.0])])["y"], [2 * 5 + 3 * 10])


def test_no_feedthrough_without_d_and_only_where_d_is_not_zero():
    assert not Solo(StateSpace(-1, 1, 1)).feedthrough(ticking=False)["y"].any()
    block = StateSpace(-1, [[1, 1]], [[1], [1]], [[0, 2], [0, 0]])
    np.testing.assert_array_equal(
        Solo(block).feedthrough(ticking=False)["y"], [[False, True], [False, False]]
    )


@pytest.mark.parametrize(
    ("num", "den", "expected"),
    [
        ([2], [0.5, 1], 2 * (1 - np.exp(-2 * t))),
        ([0, 0, 2], [0, 0.5, 1], 2 * (1 - np.exp(-2 * t))),  # leading zeros
        ([1, 0], [1, 3], np.exp(-3 * t)),  # washout, with feedthrough
        ([1], [1, 2, 1], 1 - np.exp(-t) - t * np.exp(-t)),
        ([1, 3], [1, 3, 2], 1.5 - 2 * np.exp(-t) + 0.5 * np.exp(-2 * t)),
        (6, 4, np.full(5, 1.5)),
        ([0], [1, 1], np.zeros(5)),
    ],
)
def test_transfer_function_step_responses(checked, num, den, expected):
    y, known = step_response(TransferFunction(num, den))[:, 0], closed_form("sums of exponentials")
    checked(y, expected, "TransferFunction", "step response", known, atol=1e-8)


def test_transfer_function_feedthrough_needs_equal_degrees():
    assert Solo(TransferFunction([1, 2], [1, 3])).feedthrough(ticking=False)["y"].all()
    assert not Solo(TransferFunction([0, 2], [1, 3])).feedthrough(ticking=False)["y"].any()


def test_transfer_function_initial_states_are_those_of_the_canonical_form():
    solo = Solo(TransferFunction([1, 5], [2, 3, 4], initial=[10, 20]))
    np.testing.assert_array_equal(solo.outputs([np.zeros(1)])["y"], [1 * 10 + 5 * 20])
    np.testing.assert_array_equal(solo.slope(0, solo.own, [np.ones(1)]), [(1 - 3 * 10 - 4 * 20) / 2, 10])


SYSTEM = control.tf([1, 2, 3], [1, 2, 5])


@pytest.mark.parametrize(
    "block",
    [StateSpace.of(SYSTEM), StateSpace.of(control.ss(SYSTEM)), TransferFunction.of(SYSTEM)],
    ids=["tf as StateSpace", "ss as StateSpace", "tf as TransferFunction"],
)
def test_python_control_systems(checked, block):
    expected = control.step_response(SYSTEM, np.linspace(0, 2, 21)).outputs[[0, 1, 5, 10, 20]]
    oracle = independent("python-control, step_response")
    checked(
        step_response(block)[:, 0], expected, "systems of python-control", "step response", oracle, atol=1e-7
    )


def test_zeros_and_poles_come_through_python_control():
    block = TransferFunction.of(control.zpk([], [-1, -2], 3.0))
    y = step_response(block)[:, 0]
    np.testing.assert_allclose(y, 1.5 - 3 * np.exp(-t) + 1.5 * np.exp(-2 * t), atol=1e-8)
