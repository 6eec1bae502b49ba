"""Overlays, windows, phase planes and spectra of results."""

import numpy as np
import pytest

from blocks import Gain, Integrator, Relay, Sine
from blocks.errors import PlantloopError
from cosim import Result, simulate
from cosim.result.spectrum import amplitudes
from tests.helpers.runs import build


@pytest.fixture(scope="module")
def run():
    d = build("s.y>g.u s.y>r.u g.y>i.u", s=Sine(2.0, 3.0), g=Gain(0.5), r=Relay(0.5, -0.5), i=Integrator(0.0))
    return simulate(d, 10.0, log_every=0.01)


def test_a_list_of_names_shares_axes(run, tmp_path):
    figure = run.plot(["s.y", "g.y"], "i.y", path=tmp_path / "a.png", window=(2.0, 4.0))
    first, second = figure.axes
    assert [line.get_label() for line in first.lines] == ["s.y", "g.y"]
    assert np.array_equal(first.lines[1].get_ydata(), run["g.y"][:, 0])
    assert first.get_xlim() == second.get_xlim() == (2.0, 4.0)
    assert (tmp_path / "a.png").stat().st_size > 5000
    inside = [e.time for e in run.events if 2.0 <= e.time <= 4.0]
    marks = [segment[0][0] for c in first.collections for segment in c.get_segments()]
    assert sorted(set(inside)) == marks


@pytest.mark.parametrize("window", [(1.0,), (2.0, 1.0), "ab", (0.0, float("nan")), 3.0])
def test_a_window_is_two_times(run, window):
    with pytest.raises(PlantloopError, match="expected two times"):
        run.plot("s.y", window=window)


def test_a_window_shows_some_of_the_run(run):
    end = run.time[-1]
    with pytest.raises(PlantloopError, match=rf"window is \(.*but the run goes from 0 to {end:g} s"):
        run.plot("s.y", window=(end + 1.0, end + 2.0))
    with pytest.raises(PlantloopError, match="the run goes from 0"):
        run.plot("s.y", window=(-2.0, -1.0))
    run.plot("s.y", window=(end, end + 1.0))


def test_the_phase_plane_is_one_over_the_other(run, tmp_path):
    axes = run.phase("i.y", "s.y", path=tmp_path / "p.svg").axes[0]
    assert np.array_equal(axes.lines[0].get_xdata(), run["i.y"][:, 0])
    assert np.array_equal(axes.lines[0].get_ydata(), run["s.y"][:, 0])
    with pytest.raises(PlantloopError, match="no signal"):
        run.phase("i.y", "nothing")


@pytest.mark.parametrize(("a", "f"), [(3.0, 5.0), (0.02, 12.3)])
def test_amplitudes_of_sines_are_theirs(a, f):
    t = np.arange(4000) * 1e-2
    frequency, size = amplitudes(t, 7.0 + a * np.sin(2 * np.pi * f * t + 0.4))
    k = int(np.argmax(size))
    assert frequency[k] == pytest.approx(f, abs=frequency[1])
    assert size[k] == pytest.approx(a, rel=2e-3)
    far = np.abs(frequency - f) > 8 * frequency[1]
    assert size[far].max() < 2e-3 * a


def test_the_spectrum_is_drawn(run, tmp_path):
    axes = run.spectrum("s.y", path=tmp_path / "s.png").axes[0]
    line = axes.lines[0]
    assert line.get_xdata()[int(np.argmax(line.get_ydata()))] == pytest.approx(3 / (2 * np.pi), abs=0.1)
    with pytest.raises(PlantloopError, match="16 are the least"):
        Result("short", np.arange(3.0), {"a.y": np.arange(3.0)}).spectrum("a.y")
    with pytest.raises(PlantloopError, match="all 20 instants are at t = 2 s"):
        Result("instant", np.full(20, 2.0), {"a.y": np.arange(20.0)}).spectrum("a.y")
    with pytest.raises(PlantloopError, match="a spectrum of inf, the value at t = 3 s"):
        Result("far", np.arange(20.0), {"a.y": np.where(np.arange(20) == 3, np.inf, 0.0)}).spectrum("a.y")
