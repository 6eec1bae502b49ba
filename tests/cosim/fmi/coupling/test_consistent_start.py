"""The start of coupled units: inputs agree with outputs, in loops too, or the one that does not is named."""

import re

import numpy as np
import pytest

from blocks import Function, PlantloopError
from cosim import Diagram, simulate
from cosim.fmi.coupling.consistent_start import ConsistentStart
from tests.helpers.units import LinearUnit


def _gain(k, start=0.0):
    """y = z + k u with z at rest."""
    none = np.zeros((1, 1))
    return LinearUnit(none, none, np.eye(1), np.array([start]), 0.1, D=np.array([[k]]))


def test_a_start_through_a_loop_is_consistent():
    d = Diagram("loop")
    d.add("a", _gain(2.0, 1.0))
    d.add("b", _gain(-3.0, 0.5))
    d.connect("b.y", "a.u")
    d.connect("a.y", "b.u")
    r = simulate(d, 0.05, coupling="jacobi", log_at=[0.0])
    a, b = np.linalg.solve([[1, -2], [3, 1]], [1.0, 0.5])
    np.testing.assert_allclose([r["a.y"][0, 0], r["b.y"][0, 0]], [a, b], rtol=1e-9)


def _loop(d, name, function):
    """A unit y = u whose input is a function of its output."""
    d.add(name, _gain(1.0))
    d.connect(f"{name}.y", d.add(f"{name}_f", Function(function))["u"])
    d.connect(f"{name}_f.y", f"{name}.u")


def test_a_start_is_found_where_newtons_step_leads_too_far():
    """u = u + 1.2 atan(u - 7) is solved by 7; only a sixteenth of the first step leads nearer."""
    d = Diagram("loop")
    _loop(d, "a", lambda u: u + 1.2 * np.arctan(u - 7.0))
    _loop(d, "b", lambda u: np.cos(u))
    r = simulate(d, 0.05, coupling="jacobi", log_at=[0.0])
    np.testing.assert_allclose([r["a.y"][0, 0], r["b.y"][0, 0]], [7.0, 0.7390851332151607], rtol=1e-9)


def test_a_start_that_does_not_exist_names_the_input():
    """The input that misses most, of its size: by 1 of 1 + |u| here, by a part of that at the other."""
    d = Diagram("loop")
    _loop(d, "fine", lambda u: 2.0 - u)
    _loop(d, "a", lambda u: u + 1.0)
    with pytest.raises(PlantloopError, match=r"no consistent start .*'a\.u' is") as caught:
        simulate(d, 1.0, coupling="jacobi")
    found = re.search(r"is (\S+), but what drives it gives (\S+) \(residual (\S+)\)", str(caught.value))
    u, given, residual = map(float, found.groups())
    assert given - u == pytest.approx(1.0) and residual == caught.value.value == pytest.approx(1.0)
    assert caught.value.path == "a.u" and caught.value.time == 0.0


def test_inputs_agree_within_1e_10_of_one_and_their_size():
    close = lambda residual, u: ConsistentStart._close(np.array(residual), np.array(u))
    assert close([0.9e-10, -0.9e-7], [0.0, 1e3]) and close([], [])
    assert not close([1.1e-10, 0.0], [0.0, 1e3])
    assert not close([0.0, -1.1e-7], [0.0, -1e3])
