"""Andrews' squeezing mechanism, against the published solution at t = 0.03 and pin forces from t = 0 on.

Source: Test Set for IVP Solvers, problem andrews (PSIDE, tolerances 1e-14).
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from tests.helpers.plants import deck, reference

BODIES = reference("A03_andrews_bodies")
PUBLISHED = reference("A03_andrews_squeezer")["published_reference_t_0p03"]
POSITIONS = np.array(BODIES["positions"]["rows"])
PINS = np.array(BODIES["pin_multipliers"]["rows"])
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


@pytest.fixture(scope="module", params=["joint", "absolute"])
def run(request):
    d = Diagram("squeezer")
    d.add("plant", Plant.read(deck("andrews.xml"), coordinates=request.param))
    times = POSITIONS[:7, 0]
    return simulate(d, until=times[-1], log_at=times, rtol=1e-10, atol=1e-10, engine="reference")


def bodies(run):
    return run["plant.bodies"].reshape(-1, 7, 5)  # x, y, angle, rate, acceleration of each


def test_positions(run):
    found = bodies(run)[:, :, :3]
    expected = POSITIONS[:7, 1:].reshape(-1, 7, 3)
    assert np.abs(found - expected)[:, :, :2].max() < BODIES["accept"]["position_m"] / 1e3
    assert np.abs(found - expected)[:, :, 2].max() < 1e-8


def test_pin_forces(run):
    largest = np.abs(PINS[:7, 1:]).max(axis=1, keepdims=True)
    assert (np.abs(run["plant.pins"] + PINS[:7, 1:]) / largest).max() < 1e-6


def test_published_digits(run):
    def angles(column):
        """beta, Theta, gamma, Phi, delta, Omega, epsilon from the angles of the seven bodies."""
        k1, k2, k3, k4, k5, k6, k7 = bodies(run)[-1, :, column]
        return [k1, k2 - k1, k3, k4 - k5, k5, k6 - k7, k7]

    assert angles(2) == pytest.approx(PUBLISHED["q"], rel=2e-9, abs=2e-9)
    assert angles(3) == pytest.approx(PUBLISHED["qd"], rel=2e-7)
    assert angles(4) == pytest.approx(PUBLISHED["qdd"], rel=3e-6)
    assert -run["plant.pins"][-1, 4:10] == pytest.approx(PUBLISHED["lambda_"], rel=3e-6)
