"""N parallelogram windows through singular poses, where the degrees of freedom rise from 1 to N + 1.

Reference: elliptic closed form, agreeing with DOP853 to 1e-11.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from tests.helpers.checked import closed_form
from tests.helpers.loops import largest_residual, n_four_bar
from tests.helpers.plants import reference

KNOWN = reference("A02_n_four_bar")
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


ELLIPTIC = closed_form("Jacobi's elliptic functions")


@functools.cache
def windows(n, coordinates):
    d = Diagram("windows")
    plant = Plant.from_model(n_four_bar(n), coordinates=coordinates)
    assert plant.info()["dof"] == 1
    d.add("plant", plant)
    return d


def error_of(d, n, until, **options):
    """Largest error of the tip's place on the way to a time."""
    rows = np.array(KNOWN["reference"][f"N{n}"]["rows"])
    rows = rows[rows[:, 0] <= until]
    r = simulate(d, until=rows[-1, 0], log_at=rows[:, 0], **options)
    return np.abs(r["plant.tip"][:, :2] - rows[:, 2:4]).max()


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("n", "until"), [(2, 10.0), (40, 1.5)])
def test_tip_through_singular_poses(checked, n, until, coordinates):
    error = error_of(windows(n, coordinates), n, until, rtol=1e-9, atol=1e-10, engine="reference")
    limit = KNOWN["accept"]["position_m"] / 50
    checked(
        error,
        0.0,
        f"{n} parallelogram windows",
        "tip, relative to singular poses passed",
        ELLIPTIC,
        atol=limit,
    )


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_tighter_tolerances_are_not_drowned_by_rounding_at_singular_poses(coordinates):
    # at a distance e from a singular pose a rounding error of angles makes velocities wrong by it over e^2
    d = windows(40, coordinates)
    for rtol in (1e-9, 1e-10, 1e-11):
        error = error_of(d, 40, 10.0, rtol=rtol, atol=rtol / 10)
        assert error < max(1e3 * rtol, KNOWN["accept"]["tight_position_m"])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_constraints_hold_at_every_step(coordinates):
    assert largest_residual(Plant.from_model(n_four_bar(2), coordinates=coordinates), 3.0) < 1e-10
