"""Seed four-bar: three bars in a redundant loop with a stiff rotational spring-damper.

Reference: closed-loop scalar equation of motion, agreeing with a 9-coordinate DAE to 1e-13.
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Baumgarte, GammaQ, Plant, PlantWarning
from tests.helpers.loops import largest_residual
from tests.helpers.plants import deck, reference

SEED = reference("fourbar")
ROWS = np.array([row for row in SEED["reference"]["rows"] if row[0] <= 0.75])
FORCES = np.array([row for row in SEED["reactions"]["rows"] if row[0] <= 0.75])


def run(until=0.75, log_at=None, **options):
    plant = Plant.read(deck("four_bar.xml"), **options)
    d = Diagram("four-bar")
    d.add("plant", plant)
    d.ground("plant.crank_torque")
    times = ROWS[:, 0] if log_at is None else log_at
    return simulate(d, until=until, log_at=times, rtol=1e-9, atol=1e-11, engine="reference")


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_angles_rates_and_reactions(coordinates):
    r = run(coordinates=coordinates)
    assert r["plant.angles_and_rates"] == pytest.approx(ROWS[:, 1:], abs=2e-7)
    F = r["plant.joint_3_reaction"]
    assert F[:, :2] == pytest.approx(FORCES[:, 1:3], rel=1e-6, abs=0.05)
    assert np.hypot(*F[0, :2]) == pytest.approx(24932.06739, abs=1e-3)  # "about 25000 N" in the seed
    assert np.hypot(*F[:, 2:4].T) == pytest.approx(np.hypot(*F[:, :2].T))  # the same force along bar 3
    assert np.hypot(*F[:, 4:6].T) == pytest.approx(np.hypot(*F[:, :2].T))  # and on bar 2
    torques = r["plant.spring_and_damper_torque"]
    assert torques == pytest.approx(FORCES[:, 4:6], rel=1e-6, abs=0.2)


def test_redundant_rows_are_found_and_named():
    with pytest.warns(PlantWarning, match='"joint 3": 3 of its 5 conditions.*motion unaffected') as caught:
        plant = Plant.read(deck("four_bar.xml"))
    text = str(caught[0].message)
    assert all(f"Constraint_Joint {k}" in text for k in (1, 2, 4)) and "rotation about x of J" in text
    assert plant.info()["dof"] == 1 and len(plant.assembly.closing.kept) == 2
    assert plant.info()["cut joints"] == [plant.mechanism.cut[0].where]
    assert plant.assembly.moved == {} or max(map(abs, plant.assembly.moved.values())) < 1e-12


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_constraints_hold_at_every_step(coordinates):
    assert largest_residual(Plant.read(deck("four_bar.xml"), coordinates=coordinates), until=0.5) < 1e-10


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("stabilisation", ["baumgarte", Baumgarte(10.0, 200.0), GammaQ(0.05)])
def test_drift_fed_back_gives_the_same_motion(stabilisation):
    r = run(until=0.3, log_at=ROWS[:9, 0], stabilisation=stabilisation)
    assert r["plant.angles_and_rates"][:, :3] == pytest.approx(ROWS[:9, 1:4], abs=1e-6)
