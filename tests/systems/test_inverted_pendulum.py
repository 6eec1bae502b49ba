"""The inverted pendulum read from XML, against answers computed with another formulation."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import linearize
from plant import Plant
from tests.helpers.cases import MODELS, case_ids, expected, worst_ratio

CASES = case_ids("inverted_pendulum")


@pytest.mark.parametrize(("case", "deck"), CASES)
def test_adaptive(case, deck):
    worst, where = worst_ratio("inverted_pendulum", case, deck)
    assert worst < 1e-3, where  # the solver is far finer than the stated tolerance


def test_rk4_error_falls_with_the_fourth_power_of_the_step():
    """rk4 at 1 ms: the error is the method's, 16 times less for half the step."""
    case, deck = "a2_open_loop_fall", "inverted_pendulum_ic01.xml"
    errors = []
    for step in (0.05, 0.025, 0.0125):
        worst, _ = worst_ratio("inverted_pendulum", case, deck, solver="rk4", step=step, rtol=None, atol=None)
        errors.append(worst)
    ratios = np.array(errors[:-1]) / errors[1:]
    assert np.all((ratios > 12) & (ratios < 22)), ratios


@pytest.mark.parametrize(("case", "deck"), CASES)
def test_rk4_at_one_millisecond(case, deck):
    worst, where = worst_ratio("inverted_pendulum", case, deck, solver="rk4", step=1e-3, rtol=None, atol=None)
    assert worst < 1e-2, where


def test_linear_model():
    known = expected("inverted_pendulum")["linearization"]
    ss = linearize(Plant.read(MODELS / known["model_file"]))
    # joint coordinates: hinge angle about +Y is minus theta, see the note in the deck
    order = [
        ss.state_labels.index(n) for n in ("slider_on_ground_q", "hinge_q", "slider_on_ground_qd", "hinge_qd")
    ]
    sign = np.diag([1.0, -1.0, 1.0, -1.0])
    a = sign @ ss.A[np.ix_(order, order)] @ sign
    b = sign @ ss.B[order]
    c = ss.C[:, order] @ sign
    assert np.allclose(a, known["A"], atol=1e-9)
    assert np.allclose(b, known["B"], atol=1e-9)
    assert np.allclose(c, known["C"], atol=1e-12)
    assert np.allclose(ss.D, known["D"], atol=1e-12)
    assert list(ss.input_labels) == ["control_force", "disturbance_force"]


def test_designed_and_simulated_gains_have_the_published_poles():
    """The exact discrete model of the sampled loop has the closed-loop poles of the reference."""
    from tests.helpers.cases import build

    known = expected("inverted_pendulum")
    case = next(c for c in known["cases"] if c["name"] == "b_zoh_100Hz")
    d, _ = build(Plant.read(MODELS / "inverted_pendulum.xml"), known, case)
    modulus = np.sort(np.abs(np.linalg.eigvals(linearize(d).A)))
    assert np.allclose(modulus, known["lqr"]["closed_loop_pole_modulus_100Hz"], atol=1e-7)
