"""Models written back as XML: every deck of the tests reads again as the same plant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blocks.contract.trace import trace
from plant import Plant
from plant.elements import Reference_Array, Reference_Spline
from plant.formats.motionsolve.reader import read_model
from plant.formats.motionsolve.writer import model_text
from tests.helpers.decks import deck, pendulum
from tests.helpers.plants import DATA, Alone

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
DECKS = [path for folder in ("models", "plants") for path in sorted((DATA / folder).glob("*.xml"))]


def again(plant, **more):
    """The plant of what is written of a plant at its start."""
    text = model_text(plant, plant.start, plant.rates, plant.initial)
    return Plant.read(text.encode(), coordinates=plant.coordinates, trust=True, **more), text


@pytest.mark.slow
@pytest.mark.parametrize("path", DECKS, ids=lambda p: p.name)
def test_a_deck_starts_as_it_did(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    plant = Plant.read(path, trust=True)
    second, text = again(plant)
    assert second.initial.keys() == plant.initial.keys()
    for name, value in plant.initial.items():
        assert second.initial[name] == pytest.approx(value, abs=1e-9), name
    assert [*second.outputs] == [*plant.outputs] and [*second.requests] == [*plant.requests]
    counts = {tag: len(same) for tag, same in plant.model.elements.items()}
    found = {tag: len(same) for tag, same in read_model(text.encode()).elements.items()}
    assert {tag: found.get(tag, 0) for tag in counts} == counts


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_accelerations_are_the_same_elsewhere(coordinates):
    """Moved and turning: the second plant starts there and accelerates as the first does there."""
    path = DATA / "plants" / "double_pendulum_rods.xml"
    plant = Plant.read(path, coordinates=coordinates)
    first = Plant.read(path)  # its own coordinates tell where to go
    q, qd = [q + 0.3 for q in first.start], [qd + 0.7 for qd in first.rates]
    there = replace(first, start=tuple(q), rates=tuple(qd))
    text = model_text(there, q, qd, there.initial)
    second = Plant.read(text.encode(), coordinates=coordinates)
    a, b = Alone(second), Alone(there)
    for port in plant.outputs:
        assert a.output(port) == pytest.approx(b.output(port), abs=1e-9), port
    for port in plant.requests:
        assert a.output(port) == pytest.approx(b.output(port), abs=1e-8), port
    assert trace(second, {}) is not None


def test_numbers_lists_and_signs_survive():
    more = (
        '<Reference_Spline id="3" num_xy_pair="4">0 1 1 2.5 2 -3 3.25 0.1</Reference_Spline>'
        '<Reference_Array id="4" type="IC">1e-3 2</Reference_Array>'
        '<Reference_Variable id="5" label="a &lt; &quot;b&quot;" expr="IF(TIME-1: 1, 2, 3)"/>'
    )
    plant = Plant.read(deck(pendulum(0.3) + more))
    _, text = again(plant)
    model = read_model(text.encode())
    spline, array = model.find(Reference_Spline, 3), model.find(Reference_Array, 4)
    assert (spline.x, spline.y) == ((0.0, 1.0, 2.0, 3.25), (1.0, 2.5, -3.0, 0.1))
    assert array.values == (1e-3, 2.0)
    assert model.elements["Reference_Variable"][5] == plant.model.elements["Reference_Variable"][5]
    assert model.gravity == plant.model.gravity and np.isfinite(model.frames[20][0]).all()


def test_a_marker_of_the_ground_given_relative_to_a_moving_one_stays_where_it_is():
    """It went along with the rod: the file had it relative to where the rod is now."""
    beside = '<Reference_Marker id="15" body_id="1" rm_id="20" pos_x="0.4" pos_y="0.1" psi="0.3"/>'
    plant = Plant.read(deck(pendulum(0.3) + beside))
    text = model_text(plant, [q + 0.5 for q in plant.start], plant.rates, plant.initial)
    r, A = read_model(text.encode()).frames[15]
    x, z = 0.5 * np.sin(0.3), -0.5 * np.cos(0.3)  # where the rod is drawn
    assert r == pytest.approx([x + 0.4, 0.1, z], abs=1e-14)
    assert A[:, 0] == pytest.approx([np.cos(0.3), np.sin(0.3), 0.0], abs=1e-14)
