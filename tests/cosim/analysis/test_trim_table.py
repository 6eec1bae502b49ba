"""Operating points over a grid: closed forms, the branch they stay on, and their use in a gain schedule."""

import numpy as np
import pytest

from blocks import ODE, PlantloopError
from cosim import gain_schedule, trim_table
from tests.helpers.linearised import Pendulum

CART = ODE(  # v' = u - 0.1 v - 0.02 v^2, an engine against drag
    lambda t, x, u: u - 0.1 * x - 0.02 * x**2, 0.0, lambda t, x, u: x, inputs=1
)


def test_an_output_over_a_grid_has_its_input():
    v = [5.0, 10.0, 20.0]
    table = trim_table(CART, {"y": v}, free=["u"])
    np.testing.assert_allclose(table.values("u"), 0.1 * np.array(v) + 0.02 * np.array(v) ** 2, rtol=1e-9)
    np.testing.assert_allclose(table.values("x"), v, rtol=1e-9)
    assert table.at(10.0).inputs["u"] == pytest.approx(3.0)
    assert table.names == ("y",) and table.points.shape == (3,)


def test_a_table_shows_what_was_found():
    table = trim_table(CART, {"y": np.arange(1.0, 26.0)}, free=["u"])
    lines = repr(table).splitlines()
    assert lines[0] == "<OperatingTable over y: 25 points>" and lines[1].split() == ["y", "x", "u"]
    one = table.at(2.0)
    assert lines[3].split() == ["2", f"{one.states['x'][0]:.5g}", f"{one.inputs['u'][0]:.5g}"]
    assert len(lines) == 23 and lines[-1] == "... and 5 more"


def test_a_state_and_a_parameter_make_a_plane():
    """A pendulum held out at q needs the torque g sin q."""
    q, g = np.array([0.2, 0.5, 1.0]), np.array([1.6, 9.81])
    table = trim_table(Pendulum(), {"q": q, "g": g}, free=["u"])
    np.testing.assert_allclose(table.values("u"), np.outer(np.sin(q), g), rtol=1e-9)
    np.testing.assert_allclose(table.values("height"), np.outer(1 - np.cos(q), [1.0, 1.0]), rtol=1e-9)
    assert table.at(0.5, 1.6).states["q"] == pytest.approx(0.5, rel=1e-12)


def test_points_stay_on_the_branch_of_their_neighbours():
    """x' = x^2 - u has the branches sqrt(u) and -sqrt(u); the guess chooses once."""
    block = ODE(lambda t, x, u: x**2 - u, 0.0, lambda t, x, u: x, inputs=1)
    u = np.linspace(1.0, 9.0, 9)
    for sign in (1.0, -1.0):
        table = trim_table(block, {"u": u}, x={"x": sign})
        np.testing.assert_allclose(table.values("x"), sign * np.sqrt(u), rtol=1e-9)


def test_a_table_makes_a_gain_schedule():
    table = trim_table(CART, {"y": [5.0, 10.0, 20.0]}, free=["u"])
    law = gain_schedule(CART, table.axes[0], table.at, lambda ss: [[2.0 + ss.A.item()]], ["u"], ["y"])
    gains = np.ravel(law.K)
    np.testing.assert_allclose(gains, 2.0 - 0.1 - 0.04 * table.axes[0], rtol=1e-9)


def test_what_is_wrong_says_where():
    with pytest.raises(PlantloopError, match=r"at y = 10: no equilibrium found"):
        trim_table(CART, {"y": [0.0, 10.0]}, fixed=["x"])
    with pytest.raises(PlantloopError, match=r"no input, output, state or parameter 'yy'; did you mean 'y'"):
        trim_table(CART, {"yy": [1.0]})
    with pytest.raises(PlantloopError, match=r"over\['y'\] is \[\], expected some finite numbers"):
        trim_table(CART, {"y": []})
    with pytest.raises(PlantloopError, match="y = 7 is not on the grid"):
        trim_table(CART, {"y": [5.0, 10.0]}, free=["u"]).at(7.0)
    with pytest.raises(PlantloopError, match="no 'w'"):
        trim_table(CART, {"y": [5.0, 10.0]}, free=["u"]).values("w")
