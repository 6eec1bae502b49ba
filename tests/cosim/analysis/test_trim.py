"""Operating points: what `trim` finds, keeps and refuses."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Constant,
    Function,
    Integrator,
    PlantloopError,
)
from cosim import OperatingPoint, trim
from plant import Plant
from tests.helpers.decks import deck, pendulum
from tests.helpers.linearised import Pendulum, Spacecraft
from tests.helpers.runs import Simulation, build


def test_an_equilibrium_with_a_given_input():
    op = trim(Pendulum(), u={"u": 4.905})
    assert isinstance(op, OperatingPoint)
    assert op.states["q"].item() == pytest.approx(np.pi / 6, rel=1e-9) and op.states["v"].item() == 0.0
    assert op.outputs["height"].item() == pytest.approx(1 - np.cos(np.pi / 6), rel=1e-9)
    assert op.residual < 1e-9


def test_an_input_is_found_for_an_output():
    op = trim(Pendulum(), y={"angle": 2.0}, free=["u"])
    assert op.inputs["u"].item() == pytest.approx(9.81 * np.sin(2.0), rel=1e-12)
    assert op.states["q"].item() == pytest.approx(2.0, rel=1e-12)


def test_a_first_guess_chooses_among_equilibria():
    assert trim(Pendulum(), x={"q": 0.3}).states["q"].item() == pytest.approx(0.0, abs=1e-9)
    assert trim(Pendulum(), x={"q": 3.0}).states["q"].item() == pytest.approx(np.pi, rel=1e-9)


def test_a_fixed_state_stays_and_the_input_follows():
    op = trim(Pendulum(), x={"q": 0.5}, fixed=["q"], free=["u"])
    assert op.states["q"].item() == 0.5 and op.inputs["u"].item() == pytest.approx(9.81 * np.sin(0.5))


def test_bounds_choose_a_branch():
    op = trim(Pendulum(), x={"q": 1.0}, u={"u": 4.905}, bounds={"q": (np.pi / 2, np.pi)})
    assert op.states["q"].item() == pytest.approx(5 * np.pi / 6, rel=1e-9)


def test_bounds_on_a_free_input():
    with pytest.raises(PlantloopError, match="no equilibrium found: .* is "):
        trim(Pendulum(), y={"angle": 1.5}, free=["u"], bounds={"u": (-5.0, 5.0)})


def test_a_rate_is_zero_although_its_start_is_not():
    assert trim(Pendulum(), x={"v": 3.0}).states["v"].item() == 0.0


def test_a_held_state_keeps_its_value_and_need_not_rest():
    @dataclass(frozen=True)
    class Drifting(Block):
        def define(self, b):
            turns = b.continuous("turns", 3.0, static="hold")
            b.derivative(turns, 1.0)
            x = b.continuous("x", 0.0)
            b.derivative(x, turns - x)
            b.output("y", x)

    assert trim(Drifting()).states == {"turns": [3.0], "x": [3.0]}


def test_a_run_from_an_operating_point_stays_there():
    op = trim(Pendulum(), u={"u": 3.0})
    sim = Simulation(Pendulum(), initial=op.initial)
    sim.set_input("u", 3.0)
    sim.advance(5.0)
    np.testing.assert_allclose(sim.value("plant.angle"), op.outputs["angle"], rtol=1e-8)


def test_an_operating_point_of_a_diagram():
    d = build("c.y>p.u", c=Constant(2.0), p=Pendulum())
    assert trim(d).states["p.q"].item() == pytest.approx(np.arcsin(2 / 9.81), rel=1e-9)


def test_an_operating_point_respects_invariants():
    op = trim(Spacecraft(), x={"q": [0.8, 0.6, 0.0, 0.0]})
    assert np.linalg.norm(op.states["q"]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("block", "options", "text"),
    [
        (Integrator(), {"u": {"u": 1.0}}, "no equilibrium found: the derivative of state 'x' is 1"),
        (Pendulum(), {"u": {"u": 20.0}}, "no equilibrium found: the derivative of state 'v' is 10.2"),
        (Pendulum(), {"u": {"w": 1.0}}, "no input 'w'; there is 'u'"),
        (Pendulum(), {"u": {"u": [1.0, 2.0]}}, "'u' got 2 numbers, expected 1"),
        (Pendulum(), {"free": ["w"]}, "no input 'w'"),
        (Pendulum(), {"y": {"angel": 1.0}}, "no output 'angel'; did you mean 'angle'?"),
        (Pendulum(), {"y": {"angle": [1.0, 2.0]}}, "output 'angle' got 2 numbers, expected 1"),
        (Pendulum(), {"x": {"r": 1.0}}, "has no state 'r'"),
        (Pendulum(), {"fixed": ["r"]}, "no state 'r'"),
        (Pendulum(), {"bounds": {"r": (0.0, 1.0)}}, "no state or input 'r'"),
        (Pendulum(), {"bounds": {"q": (1.0, 1.0)}}, r"bounds of 'q' are \(1.0, 1.0\), expected low < high"),
    ],
)
def test_what_cannot_be_trimmed_says_why(block, options, text):
    with pytest.raises(PlantloopError, match=text):
        trim(block, **options)


def test_a_guess_at_which_the_equations_are_not_finite_is_refused():
    d = build("x.y>f.x f.y>x.u", x=Integrator(-1.0), f=Function(lambda x: 2.0 - np.sqrt(x)))
    with pytest.raises(PlantloopError, match="the derivative of state 'x.x' is nan"):
        trim(d)
    assert trim(d, x={"x.x": 1.0}).states["x.x"].item() == pytest.approx(4.0)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_joint_that_is_driven_on_and_on_has_no_rest_and_the_error_says_why(coordinates):
    """It was "an invariant or algebraic equation is -8", with the advice to free a state."""
    motion = '<Motion_Joint id="1" joint_id="1" joint_type="R" type="EXPRESSION" val_type="V" expr="8"/>'
    driven = Plant.read(deck(pendulum(0.5) + motion), coordinates=coordinates)
    with pytest.raises(PlantloopError, match=r"a velocity that a motion .* is -8.*without it; a steady"):
        trim(driven)
