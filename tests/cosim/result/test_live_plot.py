"""A figure that follows a simulation: the same figure, the newest numbers, windows, and what ends a run."""

import numpy as np
import pytest

from blocks import CheckRange, Integrator, Sine, StopWhen
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation


def wave():
    d = Diagram("wave")
    d.add("s", Sine()) >> d.add("x", Integrator())
    return Simulation(d, engine="reference", step=0.05, solver="rk4")


def curves(figure):
    return [[line.get_xydata() for line in axes.lines] for axes in figure.axes]


def test_it_follows_the_simulation():
    sim = wave()
    live = sim.live_plot(["s.y", "x.y"], "s.y")
    sim.advance(1.0)
    first = live.figure
    assert live.update() is first
    (together, alone) = curves(first)
    assert len(together) == 2
    assert np.allclose(alone[0], np.column_stack([sim.result().time, np.sin(sim.result().time)]))
    live.run(2.0, every=0.25)
    assert sim.time == 2.0
    assert live.figure is first
    assert len(first.axes) == 2
    (together, _) = curves(first)
    assert np.allclose(together[1][-1], [2.0, 1.0 - np.cos(2.0)], atol=1e-6)


def test_pictures_between_change_rounding_alone_where_steps_end_there_anyhow():
    one, other = wave(), wave()
    one.live_plot("x.y").run(1.0, every=0.25)
    other.advance(1.0)
    assert np.allclose(one.result()["x.y"], other.result()["x.y"], rtol=0, atol=1e-14)


@pytest.mark.slow
def test_a_window_shows_the_newest():
    sim = wave()
    live = sim.live_plot("x.y", window=0.5)
    live.run(2.0)
    axes = live.figure.axes[0]
    assert axes.get_xlim() == (1.5, 2.0)
    seen = 1.0 - np.cos([1.5, 2.0])  # and no more than a step and a margin of 8 % around it
    assert np.allclose(axes.get_ylim(), seen + 0.08 * np.ptp(seen) * np.array([-1, 1]), atol=0.06)


def test_a_figure_has_room_for_its_rows():
    sim = wave()
    heights = [
        sim.live_plot(*names, show=False).figure.get_figheight() for names in (["s.y"] * 6, (), ["s.y"])
    ]
    assert heights == pytest.approx([0.7 + 1.7 * 6, 0.7 + 1.7 * 2, 0.7 + 1.7 * 1.6])


def test_what_ends_a_run_is_shown_and_said():
    d = Diagram("stops")
    s = d.add("s", Sine())
    s >> d.add("stop", StopWhen("high enough", threshold=0.5))
    s >> d.add("range", CheckRange(-1.0, 0.2, action="warn"))
    sim = Simulation(d, engine="reference")
    live = sim.live_plot("s.y")
    live.run(3.0, every=1.0)
    assert abs(sim.time - np.arcsin(0.5)) < 1e-9
    assert abs(live.figure.axes[0].get_xlim()[1] - sim.time) < 1e-12
    with pytest.warns(UserWarning, match="left its range"):
        sim.result()


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        (("x.z",), {}, "no signal 'x.z'; did you mean 'x.y'"),
        (("x.y",), {"window": 0.0}, "window is 0.0"),
        (("x.y",), {"show": "yes"}, "show is 'yes', expected True or False"),
    ],
)
def test_what_cannot_be_shown_is_refused_at_once(names, given, said):
    with pytest.raises(PlantloopError, match=said):
        wave().live_plot(*names, **given)


def test_a_bad_step_or_end():
    live = wave().live_plot("x.y")
    with pytest.raises(PlantloopError, match="every is -1"):
        live.run(1.0, every=-1)
    with pytest.raises(PlantloopError, match="until is nan"):
        live.run(float("nan"))
