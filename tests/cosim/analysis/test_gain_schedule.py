"""Feedback from a table of operating points, against each design by hand."""

import control
import numpy as np
import pytest

from blocks import ODE, Constant, Mux
from blocks.errors import PlantloopError
from cosim import Diagram, gain_schedule, linearize, simulate, trim

ENGINES = ("reference", "native")
LEVELS = [1.0, 4.0, 9.0]


def tank():
    """h' = u - sqrt(h): at a level h the inflow that holds it is sqrt(h), and h' = du - dh / (2 sqrt(h))."""
    return ODE(lambda t, h, u: u - np.sqrt(h), [1.0], inputs=1)


def at(level):
    return trim(tank(), x={"x": level}, fixed=["x"], free=["u"], u={"u": 1.0})


def fast(model):
    return control.acker(model.A, model.B, [-2.0])


def law(**more):
    return gain_schedule(tank(), LEVELS, at, fast, inputs=["u"], outputs=["y"], **more)


def test_every_point_has_its_gain_and_what_holds_it():
    """K = 2 - 1 / (2 sqrt(h)), x0 = h, u0 = sqrt(h)."""
    found = law()
    for k, level in enumerate(LEVELS):
        assert found.K[k][0][0] == pytest.approx(2 - 0.5 / np.sqrt(level), abs=1e-8)
        assert found.x0[k][0] == level
        assert found.u0[k][0] == pytest.approx(np.sqrt(level), abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sample", [None, 0.01])
def test_the_loop_rests_at_every_point_of_the_table(engine, sample):
    """Towards another point of the table the level goes there and stays, without an integral."""
    d = Diagram("d")
    d.add("wanted", Constant(4.0))
    d.add("tank", tank())
    d.add("law", law(sample=sample))
    d.connect("wanted.y -> law.p", "tank.y -> law.x", "law.u -> tank.u")
    r = simulate(d, until=15.0, engine=engine, log_at=[15.0])
    assert r["tank.y"][-1, 0] == pytest.approx(4.0, abs=1e-6)
    if sample is None:
        assert linearize(d, [], ["tank.y"], {"tank.x": 4.0}).A[0, 0] == pytest.approx(-2.0, abs=1e-8)


def test_between_points_numbers_are_straight_and_beyond_them_constant():
    d = Diagram("d")
    d.add("x", Constant(0.0))
    d.add("all", Mux(3))
    for k, p in enumerate((2.5, 0.0, 20.0), start=1):
        d.add(f"p{k}", Constant(p))
        d.add(f"law{k}", law())
        d.connect(f"p{k}.y -> law{k}.p", f"x.y -> law{k}.x", f"law{k}.u -> all.in{k}")
    u = simulate(d, until=0.1)["all.out"][-1]
    K = 2 - 0.5 / np.sqrt(LEVELS)
    between = 1.5 + 0.5 * (K[0] + K[1]) * 2.5
    assert u == pytest.approx([between, 1.0 + K[0], 3.0 + 9 * K[2]], abs=1e-7)


def test_what_does_not_fit_is_refused():
    with pytest.raises(PlantloopError, match=r"at\(1\) is 3, expected an operating point"):
        gain_schedule(tank(), LEVELS, lambda h: 3, fast, ["u"], ["y"])
    with pytest.raises(PlantloopError, match=r"shape \(1, 2\) at 1, expected \(1, 1\)"):
        gain_schedule(tank(), LEVELS, at, lambda model: [1.0, 2.0], ["u"], ["y"])
    with pytest.raises(PlantloopError, match="design is 4, expected a function"):
        gain_schedule(tank(), LEVELS, at, 4, ["u"], ["y"])
