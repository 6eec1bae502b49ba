"""Motion as a picture file, of any plant that ran."""

import numpy as np
import pytest
from PIL import Image

from blocks import Gain
from blocks.errors import PlantloopError
from cosim import Diagram, Result, simulate
from plant import Plant
from plant.figures import motion_of

FOUR_BAR = "tests/data/models/four_bar.xml"


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_plant_that_was_not_observed_moves_as_one_that_was(coordinates):
    plant = Plant.read(FOUR_BAR, coordinates=coordinates)
    seen = plant.observed()
    plain, watched = simulate(plant, 0.3, log_every=0.1), simulate(seen, 0.3, log_every=0.1)
    found, wanted = motion_of(plain, plant), motion_of(watched, seen)
    for one, other in zip(found.bodies.values(), wanted.bodies.values(), strict=True):
        for row in range(4):
            low, high = np.array(other.line(row)), np.array(one.line(row))
            assert np.abs(low[:, None] - high[None]).max(axis=2).min(axis=1).max() < 1e-6
        assert not np.allclose(one.line(0), one.line(3))


@pytest.mark.slow
def test_a_run_is_written_as_a_moving_picture(tmp_path):
    r = simulate(Plant.read(FOUR_BAR), 1.0, log_every=0.05)
    assert r.animate(tmp_path / "motion.gif", fps=10) == 11
    with Image.open(tmp_path / "motion.gif") as picture:
        assert picture.n_frames == 11
        first = np.asarray(picture.convert("RGB"))
        picture.seek(5)
        assert (np.asarray(picture.convert("RGB")) != first).any()


def test_what_cannot_be_animated_says_so(tmp_path):
    d = Diagram("none")
    d.connect(d.inport("u"), d.add("g", Gain(1.0))["u"])
    with pytest.raises(PlantloopError, match="no plant to animate"):
        simulate(d, 1.0).animate(tmp_path / "x.gif")
    r = simulate(Plant.read(FOUR_BAR), 0.1)
    with pytest.raises(PlantloopError, match="no plant 'plan'; did you mean 'plant'"):
        r.animate(tmp_path / "x.gif", plant="plan")
    with pytest.raises(PlantloopError, match=r"\.gif or \.mp4"):
        r.animate(tmp_path / "x.avi")
    r.save(tmp_path / "r.nc")
    with pytest.raises(PlantloopError, match="does not know what was run"):
        Result.load(tmp_path / "r.nc").animate(tmp_path / "x.gif")
