"""The answer of a closed loop to a step, and its poles, against python-control; four pictures in one call."""

import control
import numpy as np
import pytest

from blocks import Constant, DiscretePID, Gain, Integrator
from cosim import Diagram, margins
from cosim.analysis.loop_pictures import step_response

PLANT = control.tf([3.0], [0.2, 1.0])


def loop(controller, free=True):
    d = Diagram("loop")
    r, c, p = d.add("r", Constant(1.0)), d.add("c", controller), d.add("p", PLANT)
    (r - p) >> c >> p
    if free:
        p >> d.add("angle", Integrator())
    return d


def test_a_continuous_loop():
    known = control.feedback(control.tf([5.0], [1.0, 1.2, 0.0]), 1)
    d = Diagram("loop")
    r, k = d.add("r", Constant(1.0)), d.add("k", Gain(5.0))
    p = d.add("p", control.tf([1.0], [1.0, 1.2, 0.0]))
    (r - p) >> k >> p
    m = margins(d, at="k.y")
    _, y = control.step_response(known, m.step[:, 0])
    assert np.abs(y - m.step[:, 1]).max() < 1e-12 and m.step[-1, 0] == pytest.approx(8.0 / 0.6)
    assert np.allclose(np.sort_complex(m.poles), np.sort_complex(known.poles())) and m.dt == 0.0


@pytest.mark.slow
def test_a_sampled_loop_beside_a_shaft_that_turns_freely(tmp_path):
    m = margins(loop(DiscretePID(kp=1.0, ki=4.0, sample=0.02)), at="c.u")
    P = control.sample_system(control.ss(PLANT), 0.02)
    known = control.feedback((1 + control.tf([0.08], [1, -1], 0.02)) * P, 1)
    _, y = control.step_response(known, m.step[:, 0])
    assert np.abs(y - m.step[:, 1]).max() < 1e-12 and m.dt == 0.02
    assert np.allclose(np.sort_complex(m.poles), np.sort_complex(known.poles()))
    figure = m.plot(tmp_path / "loop.png")
    assert tuple(figure.get_size_inches()) == (12, 6)
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert {"frequency [rad/s]", "Re L", "time [s]", "poles of the closed loop, z, period 0.02 s"} <= set(
        labels
    )
    step, poles = (figure.axes[labels.index(t)] for t in ("time [s]", labels[-1]))
    assert np.array_equal(step.lines[0].get_ydata(), m.step[:, 1])
    assert np.array_equal(poles.lines[0].get_xdata(), m.poles.real)


@pytest.mark.slow
def test_several_rates_answer_as_one_that_is_written_as_two():
    """A controller at 20 ms beside another block at 40 ms that has no part: the common period is 40 ms."""
    one, two = (
        loop(DiscretePID(kp=1.0, ki=4.0, sample=0.02), free=False),
        loop(DiscretePID(kp=1.0, ki=4.0, sample=0.02), free=False),
    )
    two.connect("p", two.add("slow", DiscretePID(kp=1.0, sample=0.04)))
    a, b = margins(one, at="c.u"), margins(two, at="c.u")
    n = min(len(a.step), len(b.step))
    assert b.dt == 0.04 and np.abs(a.step[:n] - b.step[:n]).max() < 1e-12


def test_what_grows_is_shown_for_eight_times_its_own_time_whatever_decays():
    """x' = 0.5 x beside a slow -0.01 and a fast -5, and z+ = 1.1 z."""
    A = np.diag([0.5, -0.01, -5.0])
    found = step_response(A, np.ones((3, 1)), np.ones((1, 3)), np.zeros((1, 1)), 0.0, np.zeros(1))
    assert found[-1, 0] == pytest.approx(8.0 / 0.5)
    t = found[:, 0]
    exact = (np.exp(0.5 * t) - 1) / 0.5 + (1 - np.exp(-0.01 * t)) / 0.01 + (1 - np.exp(-5 * t)) / 5
    assert 1.0 - found[:, 1] == pytest.approx(exact, rel=1e-9, abs=1e-9)
    sampled = step_response(
        np.diag([1.1, 0.99]), np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1)), 0.2, np.zeros(1)
    )
    assert sampled[-1, 0] == pytest.approx(8.0 / (np.log(1.1) / 0.2), abs=0.2)


def test_minus_one_is_in_the_middle_of_nyquists_picture():
    figure = margins(loop(Gain(0.2)), at="c.y").plot()
    (axes,) = [a for a in figure.axes if a.get_xlabel() == "Re L"]
    assert sum(axes.get_ylim()) == 0.0 and axes.get_xlim()[0] < -1.0 < axes.get_xlim()[1]
