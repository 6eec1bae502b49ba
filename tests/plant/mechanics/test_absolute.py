"""Absolute coordinates: free bodies with quaternions, or x, y, phi where joints keep them in planes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.formats.motionsolve.reader import read_model
from tests.helpers.loops import largest_residual, n_four_bar
from tests.helpers.plants import Alone, deck
from tests.helpers.trees import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


def tilted():
    """The four-bar with gravity out of its plane, so that its bodies get quaternions."""
    model = read_model(deck("four_bar.xml"))
    return replace(model, gravity=replace(model.gravity, grav_z=-0.5))


def test_bodies_in_a_plane_have_three_coordinates():
    plant = Plant.read(deck("four_bar.xml"), coordinates="absolute")
    assert [link.joint.name for link in plant.mechanism.links] == ["PLANAR"] * 3
    assert list(plant.initial)[:2] == ["body_1_crank.q", "body_2_coupler.q"]
    q0 = np.concatenate([link.q0 for link in plant.mechanism.links])
    seed = [1.7101, 4.69846, 1.22173, 16.0195, 12.59967, 0.248928, 24.3094, 7.9012, 4.213076 - 2 * np.pi]
    assert q0 == pytest.approx(seed, abs=1e-4)
    assert plant.info()["formulation"] == "absolute coordinates"


@pytest.mark.parametrize("seed", range(3))
def test_trees_accelerate_alike_in_both_coordinates(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(["REVOLUTE", "CYLINDRICAL", "SPHERICAL", "UNIVERSAL", "TRANSLATIONAL"], rng)
    joint, absolute = (Plant.from_model(model, coordinates=c) for c in ("joint", "absolute"))
    assert joint.mechanism.dof == absolute.info()["dof"]
    a, b = Alone(joint), Alone(absolute)
    assert np.isfinite(a.derivative(0.0, a.x0)).all() and np.isfinite(b.derivative(0.0, b.x0)).all()


@pytest.mark.slow
def test_redundant_rows_in_space():
    """20 rows of rank 17: the motion is that of the plane, reactions in the plane are unique."""
    spatial = Plant.from_model(n_four_bar(1), coordinates="absolute")
    assert spatial.info()["dof"] == 1
    model = tilted()
    found = []
    for coordinates in ("joint", "absolute"):
        plant = Plant.from_model(model, coordinates=coordinates)
        d = Diagram("four-bar")
        d.add("plant", plant)
        d.ground("plant.crank_torque")
        r = simulate(d, until=0.2, log_at=[0.0, 0.1, 0.2], rtol=1e-9, atol=1e-11, engine="reference")
        found.append(np.hstack([r["plant.angles_and_rates"], 1e-4 * r["plant.joint_3_reaction"]]))
        if coordinates == "absolute":
            assert [link.joint.name for link in plant.mechanism.links] == ["FREE"] * 3
            assert len(plant.assembly.closing.kept) == 20 and plant.info()["dof"] == 1
            assert any("joint 4" in line for line in plant.assembly.redundant)
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.slow
def test_spatial_constraints_hold_at_every_step():
    assert largest_residual(Plant.from_model(tilted(), coordinates="absolute"), 0.2) < 1e-10
