"""Sizes of macro steps in Python, as `test_runtime_units.py` has them in C, for Euler's method."""

from types import SimpleNamespace

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim.fmi.coupling import error_control
from cosim.fmi.coupling.error_control import ErrorControl


class Euler:
    """A master of one unit with one output, held between communication points."""

    order = 0

    def __init__(self, rate):
        self.rate, self.context = rate, SimpleNamespace(t=0.0)
        self.coupling = SimpleNamespace(rtol=0.0, atol=6.0)
        self.engine = SimpleNamespace(log_mark=lambda: None, log_back=lambda mark: None)
        self.log = SimpleNamespace(mark=lambda: None, back=lambda mark: None, rejected=0)
        none = np.zeros(0, int)
        unit = SimpleNamespace(y=np.array([0]), inputs=none, smooth_outputs=np.array([True]))
        unit.smooth_inputs, unit.output_names, unit.input_names = none.astype(bool), lambda: ["a.y"], list
        self.coupled = SimpleNamespace(units=[unit], follows=lambda at_once: none.astype(bool))
        self.runs = [
            SimpleNamespace(standing=SimpleNamespace(y=[(0.0, np.zeros(1))], u=[(0.0, np.zeros(0))]))
        ]

    @property
    def y(self):
        return self.runs[0].standing.y[0][1]

    def mark(self):
        t, y = self.context.t, self.y.copy()

        def back():
            self.context.t, self.y[:] = t, y

        return SimpleNamespace(back=back)

    def make(self, t1, every):
        self.y[:] += (t1 - self.context.t) * self.rate(self.context.t)
        self.context.t = t1
        return ""


@pytest.fixture
def control(monkeypatch):
    monkeypatch.setattr(error_control, "kept", lambda runs: None)
    monkeypatch.setattr(error_control, "restored", lambda runs, units: None)
    return lambda rate, first: ErrorControl(Euler(rate), first, [np.array([False])])


def test_steps_are_the_longest_whose_error_is_allowed(control):
    """One step of H and two halves differ by H^2 / 2; allowed is 6 H / 10. 5 s is 25/6 times too wrong."""
    c = control(lambda t: 2 * t, 5.0)
    assert c.make(10.0, 10.0) == ""
    h = 5.0 * 0.85 / (25 / 6)
    assert (c.macro.context.t, c.size, c.macro.log.rejected) == (pytest.approx(h), pytest.approx(h), 1)
    assert c.macro.y[0] == pytest.approx(h**2 / 2)


def test_without_an_error_steps_double_and_the_rest_is_divided_evenly(control):
    c, times = control(lambda t: 3.0, 1.0), []
    while c.macro.context.t < 10.0:
        assert c.make(10.0, 10.0) == ""
        times.append((c.macro.context.t, c.size))
    assert times == [(1.0, 2.0), (3.0, 4.0), (6.5, 7.0), (10.0, 7.0)]
    assert c.macro.y[0] == pytest.approx(30.0)


def test_a_jump_at_one_instant_makes_the_step_collapse(control):
    with pytest.raises(SimulationError, match="collapses at t=0 s.*'a.y' is still wrong"):
        control(lambda t: 1e99 * (t > 0), 1.0).make(10.0, 10.0)
