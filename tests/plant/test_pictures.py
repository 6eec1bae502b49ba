"""Pictures of observed plants: what is drawn where, and what is refused."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from plant.figures import motion_of
from plant.pictures import animate, curves, draw
from tests.helpers.plants import deck

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
EVERY = sorted(path.name for path in deck("bricard.xml").parent.glob("*.xml"))


def run(name: str, until: float = 0.2, **options):
    plant = Plant.read(deck(name), **options).observed()
    d = Diagram("pictures")
    node = d.add("plant", plant)
    for port in plant.inputs:
        d.ground(node[port])
    return simulate(d, until=until, log_every=0.02, engine="reference"), plant


@pytest.fixture(scope="module")
def four_bar():
    return run("four_bar.xml")


@pytest.mark.slow
def test_one_call_draws_everything(four_bar, tmp_path):
    r, plant = four_bar
    found = curves(r, plant, tmp_path)
    files = {path.stem for path in tmp_path.iterdir()}
    assert files == set(found) and len([n for n in found if n.startswith("body_")]) == 3
    assert {"constraint_residual", *(f"joint_joint_{k}" for k in (1, 2, 3, 4))} <= files
    sheet = found["joint_joint_3"]
    assert [axes.get_ylabel() for axes in sheet.axes] == [  # planar: no torques
        "force on I, global axes",
        "force on I, axes of I",
        "force on J, axes of J",
    ]
    first = sheet.axes[0].lines
    assert [line.get_label() for line in first] == ["x", "y"]
    assert (
        pytest.approx(r["plant.joint_3_reaction"][:, :2], abs=1e-6)
        == np.array([line.get_ydata() for line in first]).T
    )


def test_angles_go_on_beyond_half_a_turn():
    r, plant = run("dzhanibekov.xml", until=3.0)
    motion = motion_of(r, plant)
    (body,) = motion.bodies.values()
    for angle in body.angles(motion.normal).T:
        assert np.abs(np.diff(angle)).max() < 3.0
    r, plant = run("four_bar.xml", until=0.4)
    motion = motion_of(r, plant)
    crank = motion.bodies[next(n for n in motion.bodies if "crank" in n or "1" in n)]
    rate = np.gradient(crank.angles(motion.normal)[:, 0], r.time, edge_order=2)
    assert np.sign(rate[3:-3]) == pytest.approx(np.sign((crank.w @ motion.normal)[3:-3]), abs=2)
    assert rate[1:-1] == pytest.approx((crank.w @ motion.normal)[1:-1], abs=0.2 * np.abs(rate).max())


def test_lines_join_the_pins(four_bar):
    """The bars meet in joints 2 and 3 and stand on joints 1 and 4, at every instant."""
    r, plant = four_bar
    motion = motion_of(r, plant)
    lengths = [np.linalg.norm(np.diff(body.line(5), axis=0)) for body in motion.bodies.values()]
    assert sorted(lengths) == pytest.approx([10, 18, 26])
    ends = np.concatenate([body.line(5) for body in motion.bodies.values()])
    met = [int((np.abs(ends - end).max(axis=1) < 1e-9).sum()) for end in ends]
    assert sorted(met) == [1, 1, 2, 2, 2, 2]
    assert motion.axes == [0, 1] and len(motion.fixed) == 2
    for place in motion.fixed:
        assert np.abs(ends - place).max(axis=1).min() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_any_plant_is_drawn(name, tmp_path):
    r, plant = run(name, until=0.04)
    assert curves(r, plant)
    draw(r, plant, tmp_path / "there.png", at=0.04)
    with Image.open(tmp_path / "there.png") as picture:
        colours = picture.convert("RGB").getcolors(1 << 20)
    assert colours is not None and len(colours) > 5


def test_a_gif_has_a_frame_per_instant_asked_for(four_bar, tmp_path):
    assert animate(*four_bar, tmp_path / "motion.gif", fps=10, slower=2) == 5
    with Image.open(tmp_path / "motion.gif") as film:
        assert film.n_frames == 5 and film.info["duration"] == 100
        first = np.array(film.convert("RGB"))
        film.seek(3)
        assert (np.array(film.convert("RGB")) != first).any()


@pytest.mark.slow
def test_an_mp4_where_ffmpeg_is(four_bar, tmp_path):
    if shutil.which("ffmpeg") is None:
        with pytest.raises(ModelError, match="needs the program ffmpeg.*write a .gif"):
            animate(*four_bar, tmp_path / "motion.mp4")
    else:
        film = tmp_path / "motion.mp4"
        assert animate(*four_bar, film, fps=10, slower=2) == 5
        fields = "stream=codec_name,nb_read_frames,r_frame_rate,duration"
        asked = f"-v error -count_frames -show_entries {fields} -of default=nw=1"
        answer = subprocess.run(["ffprobe", *asked.split(), film], capture_output=True, text=True, check=True)
        said = dict(line.split("=") for line in answer.stdout.split())
        assert (said["nb_read_frames"], said["r_frame_rate"]) == ("5", "10/1")
        assert said["codec_name"] == "h264" and float(said["duration"]) == pytest.approx(0.5)


def test_a_plant_elsewhere_in_the_run_is_found_by_its_path():
    plant = Plant.read(deck("inverted_pendulum_ic01.xml")).observed()
    inner, outer = Diagram("inner"), Diagram("outer")
    inner.add("mechanism", plant)
    for name in plant.inputs:
        inner.ground(f"mechanism.{name}")
    outer.add("part", inner)
    r = simulate(outer, until=0.02, log_every=0.01, engine="reference")
    assert draw(r, plant, path="part/mechanism").axes
    with pytest.raises(ModelError, match="elsewhere in this run: path='part/mechanism'"):
        draw(r, plant)
    for at in (np.nan, "x", None):
        with pytest.raises(ModelError, match="at is"):
            draw(r, plant, path="part/mechanism", at=at)


def test_what_cannot_be_drawn_says_why(four_bar, tmp_path):
    r, plant = four_bar
    with pytest.raises(ModelError, match="are .gif or .mp4, got '.avi'"):
        animate(r, plant, tmp_path / "motion.avi")
    with pytest.raises(ModelError, match="fps is 0, expected a number above 0"):
        animate(r, plant, tmp_path / "motion.gif", fps=0)
    d = Diagram("plain")
    d.add("plant", Plant.read(deck("bricard.xml")))
    plain = simulate(d, until=0.02, engine="reference")
    with pytest.raises(ModelError, match=r"Add plant\.observed\(\)"):
        curves(plain, Plant.read(deck("bricard.xml")))
