"""Plants as small pictures: lengths and angles as they are at the start, up where gravity does not pull."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plant import Plant
from plant.scene import scene_of
from plant.sketch import HEIGHT, WIDTH, sketch

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pendulum():
    return Plant.read(ROOT / "examples" / "inverted_pendulum" / "inverted_pendulum.xml")


def test_the_pendulum_stands_above_its_slider_and_its_spring_lies(pendulum):
    rod, spring = map(np.array, (found := pendulum.picture()).lines)
    assert found.width == WIDTH
    assert np.allclose(rod[1] - rod[0], [0.0, -WIDTH / 4])  # 0.5 m of 2 m, y is down
    assert np.allclose(spring[1] - spring[0], [-WIDTH, 0.0])
    assert np.allclose(found.joints[0], rod[0])


def test_a_turned_rod_is_drawn_turned(pendulum):
    scene = scene_of(pendulum)
    start = [np.array(q, dtype=float) for q in scene.start]
    hinge = scene.states.index("hinge.q")
    start[hinge] = start[hinge] + 0.3
    rod, spring = (np.diff(line, axis=0)[0] for line in sketch(replace(scene, start=tuple(start))).lines)
    assert abs(rod[0]) / -rod[1] == pytest.approx(np.tan(0.3))
    assert np.hypot(*rod) / np.hypot(*spring) == pytest.approx(0.25)


def test_what_is_not_planar_is_seen_from_above_and_fits(pendulum):
    scene = replace(scene_of(pendulum), normal=None)
    found = sketch(scene)
    assert found.height <= HEIGHT + 1e-12
    assert found.width <= WIDTH + 1e-12
    rod, spring = (np.diff(line, axis=0)[0] for line in found.lines)
    assert rod[0] == pytest.approx(0.0, abs=1e-12)
    assert rod[1] < 0.0 < abs(spring[1])


def test_gravity_the_other_way_turns_the_picture(pendulum):
    scene = scene_of(pendulum)
    rod = np.diff(sketch(replace(scene, gravity=-scene.gravity)).lines[0], axis=0)[0]
    assert rod[1] == pytest.approx(WIDTH / 4)


def test_nothing_to_see(pendulum):
    assert sketch(replace(scene_of(pendulum), bodies=(), forces=())) is None
