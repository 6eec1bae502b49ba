"""Films: every frame is the picture that is drawn anew, in files that play at the right speed."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from blocks.errors import PlantloopError
from plant.film import Film, writer_of


def stage(projection, place):
    """A curve that stays, a dot that moves, a title that changes."""
    figure = Figure(figsize=(3.2, 2.4), dpi=50)
    axes = figure.add_subplot(projection=projection)
    where = [[place]] * (3 if projection else 2)
    axes.plot(*([0.0, 1.0] for _ in where), "r-")
    (dot,) = axes.plot(*where, "bo")
    return figure, dot, axes.set_title(f"at {place}")


@pytest.mark.parametrize("projection", [None, "3d"])
def test_a_frame_is_the_picture_drawn_anew(projection):
    figure, dot, title = stage(projection, 0.2)
    film = Film(figure, [dot, title])
    for place in (0.2, 0.7, 0.2):
        dot.set_data([place], [place])
        if projection:
            dot.set_3d_properties([place])
        title.set_text(f"at {place}")
        wanted = FigureCanvasAgg(stage(projection, place)[0])
        wanted.draw()
        assert np.array_equal(film.frame(), wanted.buffer_rgba())


def pictures(n):
    """Frames of one colour each, as many different ones as there are."""
    for k in range(n):
        yield np.full((4, 6, 4), (k % 256, 255 - k % 256, k // 256, 255), dtype=np.uint8)


@pytest.mark.parametrize(("fps", "delays"), [(30.0, [30, 40, 30]), (0.5, [2000] * 3), (16.0, [60, 60, 70])])
def test_a_gif_plays_at_the_speed_asked_for(tmp_path, fps, delays):
    """Delays are whole hundredths of a second."""
    writer_of(tmp_path / "a.GIF")(tmp_path / "a.gif", pictures(3), fps)
    with Image.open(tmp_path / "a.gif") as film:
        found = []
        for k in range(film.n_frames):
            film.seek(k)
            found.append(film.info["duration"])
    assert found == delays


def test_a_gif_has_the_colours_of_its_first_frames_and_the_nearest_to_others(tmp_path):
    writer_of(tmp_path / "a.gif")(tmp_path / "a.gif", pictures(40), 10.0)
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 12  # the other frames have the last of these colours
        for k in range(12):
            film.seek(k)
            assert np.array(film.convert("RGB"))[2, 3].tolist() == [k, 255 - k, 0]
        assert film.info["duration"] == 2900


def test_what_cannot_be_written_says_so(tmp_path):
    for name in ("a.gif", "a.mp4"):
        (tmp_path / name).mkdir()
        with pytest.raises(PlantloopError, match=f"{name}.*|needs the program ffmpeg"):
            writer_of(tmp_path / name)(tmp_path / name, pictures(2), 10.0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.gif", "a.mp4"]


def test_a_failure_on_the_way_leaves_no_file(tmp_path):
    def broken():
        yield next(pictures(1))
        raise KeyboardInterrupt

    for name in ("a.gif", "a.mp4"):
        with pytest.raises((KeyboardInterrupt, PlantloopError), match="|needs the program ffmpeg"):
            writer_of(tmp_path / name)(tmp_path / name, broken(), 10.0)
    assert not list(tmp_path.iterdir())
