"""Integrals of signals faster than the states: a warning, and the closed form of the integral of sin^2."""

import math
import warnings

import numpy as np
import pytest

from blocks import Integrator, Sine, Step, TransferFunction
from cosim import Diagram, Study
from cosim.study.integral_check import IntegralWarning, unresolved

END, W = 10.0, 10.0  # s, rad/s
CLOSED = END / 2 - math.sin(2 * W * END) / (4 * W)


def slow(frequency=W):
    """A slow lag behind a step, and a sine that it does not see."""
    d = Diagram("slow")
    d.add("s", Sine(frequency=frequency))
    d.add("step", Step(time=0.0))
    d.add("lag", TransferFunction([1.0], [2.0, 1.0]))
    d.connect("step.y", "lag.u")
    return d


def study(d, **more):
    return Study(d, until=END, log_every=0.1, metrics={"e": "integral(s.y^2)", "r": "rms(s.y)"}, **more)


@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_signal_that_the_steps_do_not_follow(solver, engine):
    (found,) = unresolved(study(slow(), solver=solver, engine=engine).plan, 0)
    assert found[0] == "metric 'e' and metric 'r'"
    assert 1e-3 < found[1] < 0.1


def test_it_is_said_once_with_the_cure(tmp_path):
    with pytest.warns(IntegralWarning, match="metric 'e'.* in case 0: .*max_step") as said:
        off = study(slow(), sweep={"lag.num": [[1.0], [2.0], [3.0]]}).run(tmp_path / "a").table["e"]
    assert len(said) == 1 and abs(off[0] / CLOSED - 1) > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = study(slow(), max_step=0.05).run(tmp_path / "b").table
    assert fine["e"][0] == pytest.approx(CLOSED, rel=1e-7)
    assert fine["r"][0] == pytest.approx(math.sqrt(CLOSED / END), rel=1e-7)


def test_integrals_that_are_resolved_are_not_spoken_of():
    moved = slow()
    moved.add("i", Integrator())
    moved.connect("s.y", "i.u")  # a state that sees the sine
    for d, more in ((moved, {}), (slow(0.1), {}), (slow(), {"solver": "rk4", "step": 0.5})):
        assert unresolved(study(d, **more).plan, 0) == []


def test_the_check_changes_no_bit(tmp_path):
    s = study(slow(), store={"signals": ["lag.y"]})
    before = s.case(0).result["lag.y"]
    with pytest.warns(IntegralWarning):
        s.run(tmp_path / "a")
    assert np.array_equal(s.case(0).result["lag.y"], before)
