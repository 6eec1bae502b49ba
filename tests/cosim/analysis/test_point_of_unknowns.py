"""Linear models at points where unknowns and delayed signals are far from their guesses."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Function, Hold, Integrator, TransportDelay
from cosim import Diagram, linearize
from tests.helpers.hybrid import CubeRoot


def cube_root(sampled: bool) -> Diagram:
    """x' = z - x with z^3 + z = u + x; sampled: u comes through a hold."""
    d = Diagram("root")
    u = d.inport("u", 1)
    if sampled:
        hold = d.add("hold", Hold(sample="1/10"))
        d.connect(u, hold["u"])
        u = hold["y"]
    d.add("total", Function(lambda u, x: u + x))
    d.add("rate", Function(lambda z, x: z - x))
    d.add("root", CubeRoot())
    d.add("x", Integrator())
    d.connect(u, "total.u")
    for wire in ("x.y>total.x", "total.y>root.u", "root.z>rate.z", "x.y>rate.x", "rate.y>x.u"):
        d.connect(*wire.split(">"))
    d.outport("z", "root.z")
    return d


@pytest.mark.parametrize("sampled", [False, True])
def test_an_implicit_unknown_is_solved_at_the_point(sampled):
    """At u = 9, x = 1 the root is z = 2: dz = (du + dx) / 13"""
    m = linearize(cube_root(sampled), at={"u": 9.0, "x.x": 1.0})
    rate = 1 / 13 - 1
    a = np.exp(0.1 * rate) if sampled else rate
    b = (a - 1) / rate / 13 if sampled else 1 / 13
    assert np.asarray(m.C)[0, 0] == pytest.approx(1 / 13, rel=1e-9)
    assert np.asarray(m.D)[0, 0] == pytest.approx(1 / 13, rel=1e-9)
    assert np.asarray(m.A)[0, 0] == pytest.approx(a, rel=1e-9)
    assert np.asarray(m.B)[0, 0] == pytest.approx(b, rel=1e-9)


@pytest.mark.parametrize("sampled", [False, True])
def test_a_delayed_signal_is_what_it_is_at_rest(sampled):
    """y = v^3 with v = u a while ago: at u = 2 the gain for slow signals is 12, whatever v was at first."""
    d = Diagram("late")
    u = d.inport("u", 1)
    if sampled:
        hold = d.add("hold", Hold(sample="1/10"))
        d.connect(u, hold["u"])
        u = hold["y"]
    late = d.add("late", TransportDelay(0.25, initial=7.0))
    d.connect(u, late["u"])
    d.connect(late["y"], d.add("cube", Function(lambda v: v**3))["v"])
    d.outport("y", "cube.y")
    m = linearize(d, at={"u": 2.0}, pade=None if sampled else 4)
    assert np.real(m.dcgain()).item() == pytest.approx(12.0, rel=1e-9)
