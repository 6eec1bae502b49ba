"""N parallelogram windows through singular poses, where the degrees of freedom rise from 1 to N + 1.

Reference: elliptic closed form, agreeing with DOP853 to 1e-11.
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from tests.helpers.loops import largest_residual, n_four_bar
from tests.helpers.plants import reference

KNOWN = reference("A02_n_four_bar")
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("n", [2, 40])
def test_tip_through_singular_poses(n, coordinates):
    rows = np.array(KNOWN["reference"][f"N{n}"]["rows"])
    if n == 40:
        rows = rows[rows[:, 0] <= (4.0 if coordinates == "joint" else 2.0)]
    plant = Plant.from_model(n_four_bar(n), coordinates=coordinates)
    assert plant.info()["dof"] == 1
    d = Diagram("windows")
    d.add("plant", plant)
    r = simulate(d, until=rows[-1, 0], log_at=rows[:, 0], rtol=1e-9, atol=1e-10, engine="reference")
    error = np.abs(r["plant.tip"][:, :2] - rows[:, 2:4]).max()
    assert error < KNOWN["accept"]["position_m"] / (50 if n == 2 else 1)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_constraints_hold_at_every_step(coordinates):
    assert largest_residual(Plant.from_model(n_four_bar(2), coordinates=coordinates), 3.0) < 1e-10
