"""Pictures of a result."""

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.figure import Figure

from blocks import Gain, Integrator, Sine
from blocks.errors import PlantloopError
from cosim import simulate
from cosim.result.result import Result

# -- looking at it
from tests.helpers.made import chain
from tests.helpers.results import awkward, made, pendulum


def test_plot_stacks_axes_and_saves_a_png(tmp_path):
    before = dict(rcParams)
    figure = pendulum().plot("plant.pendulum", "controller.u", path=tmp_path / "pictures" / "run.png")
    assert isinstance(figure, Figure)
    assert (tmp_path / "pictures" / "run.png").read_bytes().startswith(b"\x89PNG")
    assert dict(rcParams) == before
    top, bottom = figure.axes
    assert [line.get_label() for line in top.lines] == ["theta [rad]", "omega [rad/s]"]
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["theta [rad]", "omega [rad/s]"]
    assert bottom.get_xlabel() == "time [s]"
    assert [axes.get_title(loc="left") for axes in (top, bottom)] == ["plant.pendulum", "controller.u [N]"]
    assert bottom.get_legend() is None
    assert figure.get_suptitle() == "inverted_pendulum"


def test_sampled_signals_are_drawn_as_steps_from_their_ticks():
    (axes,) = pendulum().plot("controller.u").axes
    (line,) = axes.lines
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xydata().tolist() == [[0.0, 1.0], [0.2, 2.0], [0.3, 2.0]]  # held to the end of the log
    (continuous,) = pendulum().plot("plant.slider[0]").axes[0].lines
    assert continuous.get_drawstyle() == "default"


@pytest.mark.slow
def test_plot_without_names_draws_everything_even_awkward_or_empty(tmp_path):
    assert len(pendulum().plot().axes) == 3
    assert len(awkward().plot(path=tmp_path / "awkward.png").axes) == len(awkward().keys())
    Result("r", [], {"a.b": np.empty((0, 2))}).plot(path=tmp_path / "empty.png")


def test_a_partial_result_says_so_in_the_title():
    figure = pendulum(complete=False).plot("plant.slider", title="run 7")
    assert figure.get_suptitle() == "run 7 (stopped at t = 0.3 s)"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("plant.pendulum[0]", "plant.pendulum[0], theta [rad]"),
        ("plant.pendulum.theta", "plant.pendulum.theta [rad]"),
        ("plant.pendulum.theta [rad]", "plant.pendulum.theta [rad]"),
        ("mass.v", "mass.v [m/s]"),
        ("bare", "bare"),
    ],
)
def test_one_line_has_no_legend_but_its_label_in_the_title(name, title):
    one = made(
        name="one",
        time=np.arange(2.0),
        signals={"plant.pendulum": np.zeros((2, 2)), "mass.v": np.zeros(2), "bare": np.zeros(2)},
        labels={"plant.pendulum": ("theta [rad]", "omega [rad/s]")},
        units={"mass.v": ("m/s",)},
    )
    (axes,) = one.plot(name).axes
    assert axes.get_legend() is None
    assert axes.get_title(loc="left") == title


def test_a_wide_signal_has_a_short_legend():
    r = Result("r", [0.0, 1.0], {"wide.y": np.zeros((2, 30))})
    (axes,) = r.plot().axes
    assert len(axes.lines) == 30
    assert len(axes.get_legend().get_texts()) == 10
    assert axes.get_legend().get_title().get_text() == "and 20 more"


def test_plot_errors_name_the_cure(tmp_path):
    with pytest.raises(PlantloopError, match="did you mean 'plant.slider'"):
        pendulum().plot("plant.slidr")
    with pytest.raises(PlantloopError, match="nothing to draw"):
        Result("r", [0.0], {}).plot()
    with pytest.raises(PlantloopError, match="100 signals do not fit one picture.*Name up to 60"):
        Result("r", [0.0], {f"b{i}.y": [0.0] for i in range(100)}).plot()
    with pytest.raises(PlantloopError, match=r"suffix '.xyz' is unknown. Use .png"):
        pendulum().plot(path=tmp_path / "run.xyz")


def test_a_name_with_stars_means_all_that_fit_on_one_pair_of_axes():
    r = simulate(chain(Sine(), Gain(2.0), Integrator()), 1.0, engine="reference", log_every=0.1)
    figure = r.plot("b*.y", ["b1.y", "*3.y"])
    labels = [[line.get_label() for line in axes.lines] for axes in figure.axes]
    assert [len(group) for group in labels] == [3, 2]
    assert np.array_equal(figure.axes[0].lines[1].get_ydata(), r["b2.y"][:, 0])
    with pytest.raises(PlantloopError, match=r"no signal that fits 'q\*\.y'; "):
        r.plot("q*.y")
