"""The inverted pendulum read from XML, against answers computed with another formulation."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import linearize
from plant import Plant
from tests.helpers.cases import MODELS, case_ids, expected, worst_ratio
from tests.helpers.checked import independent

OTHER = independent("other formulations of the model, DOP853 (its expected.json)")
CASES = case_ids("inverted_pendulum")


@pytest.mark.parametrize(("case", "deck"), CASES)
def test_adaptive(checked, case, deck):
    worst, where = worst_ratio("inverted_pendulum", case, deck)
    assert worst < 1e-3, where  # the solver is far finer than the stated tolerance
    what = f"{case}: worst signal in parts of its tolerance"
    checked(worst, 0.0, "model inverted_pendulum", what, OTHER, atol=1e-3)


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
def test_rk4_at_one_millisecond(checked, case, deck):
    worst, where = worst_ratio("inverted_pendulum", case, deck, solver="rk4", step=1e-3, rtol=None, atol=None)
    assert worst < 1e-2, where
    what = f"{case}, rk4 at 1 ms: worst signal in parts of its tolerance"
    checked(worst, 0.0, "model inverted_pendulum", what, OTHER, atol=1e-2)


def test_linear_model(checked):
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
    for name, found, limit in (("A", a, 1e-9), ("B", b, 1e-9), ("C", c, 1e-12), ("D", ss.D, 1e-12)):
        checked(found, known[name], "model inverted_pendulum", f"linear model, {name}", OTHER, atol=limit)
    assert list(ss.input_labels) == ["control_force", "disturbance_force"]


def test_designed_and_simulated_gains_have_the_published_poles(checked):
    """The exact discrete model of the sampled loop has the closed-loop poles of the reference."""
    from tests.helpers.cases import build

    known = expected("inverted_pendulum")
    case = next(c for c in known["cases"] if c["name"] == "b_zoh_100Hz")
    d, _ = build(Plant.read(MODELS / "inverted_pendulum.xml"), known, case)
    modulus = np.sort(np.abs(np.linalg.eigvals(linearize(d).A)))
    poles = known["lqr"]["closed_loop_pole_modulus_100Hz"]
    checked(
        modulus, poles, "model inverted_pendulum", "poles of the loop at 100 Hz, moduli", OTHER, atol=1e-7
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_frequency_response_and_poles(checked, coordinates):
    """The response does not depend on the order or the sign of states."""
    known = expected("inverted_pendulum")["linearization"]
    ss = linearize(Plant.read(MODELS / known["model_file"], coordinates=coordinates))
    response = known["frequency_response_Fc"]
    force = list(ss.input_labels).index("control_force")
    found = ss(1j * np.array(response["omega_rad_s"]))[:, force, :].T
    wanted = np.array(response["re"]) + 1j * np.array(response["im"])
    checked(found, wanted, "model inverted_pendulum", "frequency response", OTHER, rtol=1e-9, atol=1e-12)
    poles = np.array([complex(*pair) for pair in known["eigenvalues_re_im"]])
    found = np.sort_complex(np.round(ss.poles(), 12))
    checked(found, np.sort_complex(poles), "model inverted_pendulum", "poles", OTHER, atol=1e-9)


def test_poles_of_the_loop_at_20_hz(checked):
    """The loop of the case with offset: where its ticks begin does not move its poles."""
    from tests.helpers.cases import build

    known = expected("inverted_pendulum")
    case = next(c for c in known["cases"] if c["name"] == "d_zoh_20Hz_offset")
    assert case["inputs"]["offset"] > 0
    d, _ = build(Plant.read(MODELS / "inverted_pendulum.xml"), known, case)
    ss = linearize(d)
    assert ss.dt == 0.05
    modulus = np.sort(np.abs(np.linalg.eigvals(ss.A)))
    poles = known["lqr"]["closed_loop_pole_modulus_20Hz"]
    checked(modulus, poles, "model inverted_pendulum", "poles of the loop at 20 Hz, moduli", OTHER, atol=1e-7)
