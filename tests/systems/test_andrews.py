"""Andrews' squeezing mechanism, against the published solution at t = 0.03 and pin forces from t = 0 on.

Source: Test Set for IVP Solvers, problem andrews (PSIDE, tolerances 1e-14).
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.energy import ledger
from tests.helpers.checked import closed_form, independent, published
from tests.helpers.plants import deck, reference

BODIES = reference("A03_andrews_bodies")
PUBLISHED = reference("A03_andrews_squeezer")["published_reference_t_0p03"]
POSITIONS = np.array(BODIES["positions"]["rows"])
PINS = np.array(BODIES["pin_multipliers"]["rows"])
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


NAME = "Andrews' squeezer (IFToMM A03)"
LAGRANGE = independent("Lagrange's equations with multipliers eliminated, DOP853 at 1e-13")
OTHER = independent("a DAE of 21 coordinates, DOP853")


@pytest.fixture(scope="module", params=["joint", "absolute"])
def run(request):
    d = Diagram("squeezer")
    d.add("plant", Plant.read(deck("andrews.xml"), coordinates=request.param))
    times = POSITIONS[:7, 0]
    return simulate(d, until=times[-1], log_at=times, rtol=1e-10, atol=1e-10, engine="reference")


def bodies(run):
    return run["plant.bodies"].reshape(-1, 7, 5)  # x, y, angle, rate, acceleration of each


def test_positions(checked, run):
    found = bodies(run)[:, :, :3]
    expected = POSITIONS[:7, 1:].reshape(-1, 7, 3)
    limit = BODIES["accept"]["position_m"] / 1e3
    checked(found[:, :, :2], expected[:, :, :2], NAME, "positions to 0.03 s", OTHER, atol=limit)
    checked(found[:, :, 2], expected[:, :, 2], NAME, "angles to 0.03 s", OTHER, atol=1e-8)


def test_pin_forces(checked, run):
    largest = np.abs(PINS[:7, 1:]).max(axis=1, keepdims=True)
    checked(
        -run["plant.pins"] / largest,
        PINS[:7, 1:] / largest,
        NAME,
        "pin forces to 0.03 s over the largest",
        OTHER,
        atol=1e-6,
    )


def test_published_digits(checked, run):
    def angles(column):
        """beta, Theta, gamma, Phi, delta, Omega, epsilon from the angles of the seven bodies."""
        k1, k2, k3, k4, k5, k6, k7 = bodies(run)[-1, :, column]
        return [k1, k2 - k1, k3, k4 - k5, k5, k6 - k7, k7]

    digits = published("Test Set for IVP Solvers, andrews: PSIDE at 1e-14")
    checked(angles(2), PUBLISHED["q"], NAME, "angles at 0.03 s", digits, rtol=2e-9, atol=2e-9)
    checked(angles(3), PUBLISHED["qd"], NAME, "rates at 0.03 s", digits, rtol=2e-7)
    checked(angles(4), PUBLISHED["qdd"], NAME, "accelerations at 0.03 s", digits, rtol=3e-6)
    checked(
        -run["plant.pins"][-1, 4:10], PUBLISHED["lambda_"], NAME, "multipliers at 0.03 s", digits, rtol=3e-6
    )


# --- to 0.05 s -------------------------------------------------------------------------------------------
SQUEEZER = reference("A03_andrews_squeezer")
TABLE = SQUEEZER["independent_solution"]["table"]


@pytest.fixture(scope="module", params=["joint", "absolute"])
def whole(request):
    d = Diagram("squeezer")
    plant = Plant.read(deck("andrews.xml"), coordinates=request.param)
    d.add("plant", plant.audited())
    times = [row["t"] for row in TABLE]
    return simulate(d, until=times[-1], log_at=times, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
def test_after_the_published_instant(checked, whole):
    """Angles, rates and multipliers to 0.05 s, where small errors have grown."""
    known = [np.array([row[name] for row in TABLE]) for name in ("q", "qd", "lambda_")]
    both = whole["plant.bodies"].reshape(len(TABLE), 7, 5)
    for column, (name, limit) in enumerate((("angles", 1e-8), ("rates", 2e-6)), start=2):
        k1, k2, k3, k4, k5, k6, k7 = both[:, :, column].T
        found = np.array([k1, k2 - k1, k3, k4 - k5, k5, k6 - k7, k7]).T
        checked(found, known[column - 2], NAME, f"{name} to 0.05 s", LAGRANGE, atol=limit)
    pins = -whole["plant.pins"][:, 4:10]
    scale = np.abs(known[2]).max(axis=1, keepdims=True)
    checked(
        pins / scale, known[2] / scale, NAME, "multipliers to 0.05 s over the largest", LAGRANGE, atol=2e-7
    )


def test_bodies_and_pins_after_the_published_instant(checked, whole):
    """The rows of the bodies' reference at 0.04 and 0.05 s."""
    rows = [k for k, row in enumerate(TABLE) if row["t"] in (0.04, 0.05)]
    found = whole["plant.bodies"].reshape(len(TABLE), 7, 5)[rows, :, :3]
    expected = np.array([row for row in POSITIONS if row[0] in (0.04, 0.05)])[:, 1:].reshape(-1, 7, 3)
    checked(found[:, :, :2], expected[:, :, :2], NAME, "positions at 0.04 and 0.05 s", OTHER, atol=1e-10)
    checked(found[:, :, 2], expected[:, :, 2], NAME, "angles at 0.04 and 0.05 s", OTHER, atol=1e-8)
    pins = np.array([row for row in PINS if row[0] in (0.04, 0.05)])[:, 1:]
    largest = np.abs(pins).max(axis=1, keepdims=True)
    got = -whole["plant.pins"][rows]
    checked(
        got / largest,
        pins / largest,
        NAME,
        "pin forces at 0.04 and 0.05 s over the largest",
        OTHER,
        atol=2e-7,
    )


def test_energy(checked, whole):
    """T and V by themselves, and the benchmark's balance T + V - E0 - tau (beta - beta0)."""
    account = ledger(whole)
    checked(
        account.KE, [row["kin_J"] for row in TABLE], NAME, "kinetic energy to 0.05 s", LAGRANGE, atol=1e-9
    )
    spring = [row["spring_J"] for row in TABLE]
    checked(account.springs, spring, NAME, "energy of the spring to 0.05 s", LAGRANGE, atol=1e-9)
    beta = whole["plant.bodies"][:, 2]
    work = SQUEEZER["parameters"]["motor_torque_on_crank"] * (beta - beta[0])
    balance = account.KE + account.springs - account.springs[0] - work
    law = closed_form("T + V - E0 = tau (beta - beta0)")
    checked(
        balance, 0.0, NAME, "energy balance to 0.05 s", law, atol=SQUEEZER["accept"]["energy_balance_J"] / 1e3
    )
    checked(account.work_in, work, NAME, "work of the motor", closed_form("tau (beta - beta0)"), atol=1e-9)
