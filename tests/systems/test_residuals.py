"""Constraints hold at every accepted step and at every logged instant of every run with projection.

Every deck of the tests and examples that has constraints is run, and every type of joint, both ways.
"""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.mechanics.joints import JOINT_TYPES
from tests.helpers.loops import n_four_bar
from tests.helpers.plants import DATA
from tests.helpers.residuals import watched
from tests.plant.constraints.test_constraints import numbers_of, pair
from tests.systems.test_servo import arm

POSITIONS, VELOCITIES = 1e-10, 1e-8
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
both = pytest.mark.parametrize("coordinates", ["joint", "absolute"])

FOLDERS = (DATA / "plants", DATA / "models", ROOT / "examples")
DECKS = sorted({path.stem: path for folder in FOLDERS for path in folder.rglob("*.xml")}.values())


@functools.cache
def read(path: Path, coordinates: str) -> Plant | None:
    """The plant; None if these coordinates cannot describe it or nothing restricts them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlantWarning)
            plant = Plant.read(path, trust=True, coordinates=coordinates)
    except ModelError as error:
        assert coordinates == "absolute" and "inertia" in str(error)  # point masses on massless links
        return None
    closing = plant.assembly and plant.assembly.closing
    return plant if closing is not None and closing.kept else None


FREE = {"kinetic_energy", "kinetic_energy_aligned", "bead_on_catenary_off", "dzhanibekov"}  # loose bodies
CHAINS = {  # without a loop: joint coordinates have nothing to keep
    "throw", "energy_audit", "inverted_pendulum", "sampled", "soft_angle", "inverted_pendulum_ic01",
    "inverted_pendulum_ic01_20hz", "inverted_pendulum_ic01_foh", "cartpole", "double_pendulum_points",
    "double_pendulum_rods", "simple_pendulum",
}  # fmt: skip


@functools.cache
def watched_deck(path: Path, coordinates: str) -> Diagram | None:
    """The plant of `read` and its residuals, flattened once."""
    plant = read(path, coordinates)
    return None if plant is None else watched(plant)


def named(name: str, coordinates: str) -> Diagram:
    """The plant of the deck called `name` and its residuals; it has something to keep."""
    d = watched_deck(next(path for path in DECKS if path.stem == name), coordinates)
    assert d is not None
    return d


def check(d: Diagram, until: float, engine: str = "reference", **options) -> None:
    """Residuals at the ends of accepted steps, and at three hundred instants in between."""
    shown = ["plant.positions", "plant.velocities"]
    for log in ({"log_every": "step"}, {"log_at": np.linspace(0.0, until, 301)}):
        r = simulate(d, until, engine=engine, signals=shown, **log, **options)
        assert r.complete and len(r.time) > 3
        assert sum(r[name].shape[1] for name in shown) > 2
        assert np.abs(r["plant.positions"]).max() < POSITIONS
        assert np.abs(r["plant.velocities"]).max() < VELOCITIES


@pytest.mark.slow
@both
@pytest.mark.parametrize("path", DECKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_deck(path, coordinates):
    d = watched_deck(path, coordinates)
    assert (d is None) == (path.stem in FREE or (coordinates == "joint" and path.stem in CHAINS))
    if d is not None:
        check(d, 0.02 if "andrews" in path.stem else 0.5)


@pytest.mark.slow
@both
@pytest.mark.parametrize("type", [name for name, entry in JOINT_TYPES.items() if entry.in_decks])
def test_joint_type(type, coordinates):
    check(watched(Plant.from_model(pair(type, **numbers_of(type)), coordinates=coordinates)), 0.3)


@both
@pytest.mark.parametrize("model", [arm, functools.partial(n_four_bar, 3)], ids=["servo", "windows"])
def test_model_in_python(model, coordinates):
    check(watched(Plant.from_model(model(), coordinates=coordinates)), 1.0)


@pytest.mark.slow
@both
@pytest.mark.parametrize("name", ["four_bar", "bricard", "robot_2d"])
@pytest.mark.parametrize("options", [{}, {"solver": "rk4", "step": 1e-3}], ids=["dopri5", "rk4"])
def test_native_engine(name, coordinates, options):
    check(named(name, coordinates), 0.2, "native", **options)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["rodas4", "DOP853", "Radau", "LSODA"])
@pytest.mark.parametrize("name", ["four_bar", "leaning_four_bar"])
def test_other_solvers(name, solver):
    until = 0.002 if solver == "LSODA" else 0.2  # it begins anew with small steps after each projection
    check(named(name, "joint"), until, solver=solver, rtol=1e-5, atol=1e-7)
