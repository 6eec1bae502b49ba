"""The note about equations that jump where a condition switches."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from blocks import PID, Constant, Function, Hold, Integrator, Saturation, Sine
from cosim import Diagram, check
from cosim.compile.jumps import JumpWarning
from tests.helpers.made import Made, alone
from tests.helpers.runs import build


def note(d: Diagram) -> str:
    """What is told when a diagram is flattened; empty when nothing is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d.system()
    found = [str(w.message) for w in caught if w.category is JumpWarning]
    assert len(found) <= 1
    return "".join(found)


def moving(b, value):
    """A block whose state x has the given rate, a function of x and t."""
    x = b.continuous("x", 1.0)
    b.derivative(x, value(x, b.time) + 0 * x)
    b.output("x", x)


JUMPS = {
    "where": (lambda x, t: np.where(x > 3.0, 5.0, x), 2.0),
    "far away": (lambda x, t: np.where(x > 700.0, 0.0, x), 700.0),
    "sign": (lambda x, t: -np.sign(x), 2.0),
    "floor": (lambda x, t: np.floor(x), 1.0),
    "a condition used as a number": (lambda x, t: 4.0 * (x < 1.0), 4.0),
    "two conditions at one place": (lambda x, t: np.where(x > 0, x + 1, 0.0) + np.where(x <= 0, x, 0.0), 1.0),
}


@pytest.mark.parametrize("name", list(JUMPS))
def test_a_jump_is_told_with_its_size(name):
    law, size = JUMPS[name]
    told = note(alone(lambda b: moving(b, law)))
    (found,) = re.findall(r"'it' \(Made\): the derivative of 'x' jumps by (\S+) at a switch", told)
    assert float(found) == pytest.approx(size, rel=1e-3)
    assert "b.where_event(condition, a, b)" in told


def test_a_time_calls_for_instants():
    told = note(alone(lambda b: moving(b, lambda x, t: np.where(t >= 2.0, 1.0, 0.0))))
    assert "jumps by 1 at a certain time" in told and "b.instants" in told


SMOOTH = {
    "clip": lambda x, t: np.clip(x, -1.0, 1.0),
    "abs": lambda x, t: np.abs(x),
    "max": lambda x, t: np.maximum(x, 3.0),
    "meeting sides": lambda x, t: np.where(x > 2.0, x * x, 2.0 * x),
    "two conditions": lambda x, t: np.where(x > 0, x, 0.0) + np.where(x <= 0, x, 0.0),
    "steep": lambda x, t: 1e6 * np.where(x > 0, x, 0.0),
}


@pytest.mark.parametrize("name", list(SMOOTH))
def test_sides_that_meet_are_not_told(name):
    d = alone(lambda b: moving(b, SMOOTH[name]))
    assert note(d) == "" and check(d) == ()


@pytest.mark.parametrize("name", list(JUMPS))
def test_a_check_finds_what_flattening_finds(name):
    law, size = JUMPS[name]
    (found,) = check(alone(lambda b: moving(b, law)))
    assert (found.path, found.kind, found.what) == ("it", "Made", "the derivative of 'x'")
    assert found.size == pytest.approx(size, rel=1e-3) and not found.in_time


HIDDEN = {
    "a curve": (lambda x, v, t: np.where(x * x > 2.0, 5.0, 0.0), 5.0),
    "two states": (lambda x, v, t: np.where(x + v > 1.0, 3.0, 0.0), 3.0),
    "a state and the time": (lambda x, v, t: np.sign(x - t), 2.0),
}


@pytest.mark.parametrize("name", list(HIDDEN))
def test_a_check_searches_where_flattening_does_not_look(name):
    law, size = HIDDEN[name]

    def equations(b):
        x, v = b.continuous("x", 1.0), b.continuous("v", 0.0)
        b.derivative(x, v)
        b.derivative(v, law(x, v, b.time) - x)

    d = alone(equations)
    assert note(d) == ""
    (found,) = check(d)
    assert found.what == "the derivative of 'v'" and found.size == pytest.approx(size, rel=1e-6)
    assert "'it' (Made): the derivative of 'v' jumps by" in str(found)
    assert check(next(b for _, b in d.graph.nodes(data="block")))[0].path == "plant"  # a block alone


def test_an_affine_place_is_plain_whatever_its_numbers():
    told = note(alone(lambda b: moving(b, lambda x, t: np.where(2.0 * x - 0.3 <= 0.7 - 8.0 * x, 1.0, -1.5))))
    assert "jumps by 2.5 at a switch" in told


def test_an_event_is_not_told():
    def law(b):
        x = b.continuous("x", 1.0)
        b.derivative(x, b.where_event(x[0] - 3.0, -1.0, 1.0) + 0 * x)

    assert note(alone(law)) == ""


def test_what_is_held_between_ticks_does_not_jump():
    blocks = {"s": Sine(), "f": Function(lambda u: np.sign(u)), "i": Integrator()}
    assert "'f' (Function): output 'y' jumps by 2" in note(build("s.y>f.u f.y>i.u", **blocks))
    assert note(build("s.y>h.u h.y>f.u f.y>i.u", h=Hold(sample=0.1), **blocks)) == ""
    assert note(build("s.y>f.u f.y>i.u", **(blocks | {"s": Constant(1.0)}))) == ""


def test_without_states_nothing_is_integrated():
    assert note(build("s.y>f.u", s=Sine(), f=Function(lambda u: np.sign(u)))) == ""


def test_library_blocks_are_quiet():
    blocks = {"s": Sine(), "c": PID(2.0, 1.0, 0.1, low=-1.0, high=1.0, anti_windup="clamping")}
    blocks |= {"limit": Saturation(-0.5, 0.5), "i": Integrator()}
    assert note(build("s.y>c.e c.u>limit.u limit.y>i.u", **blocks)) == ""


def test_every_block_is_in_one_note():
    d = Diagram("two")
    for name in ("first", "second"):
        d.add(name, Made(lambda b: moving(b, lambda x, t: np.sign(x))))
    told = note(d)
    assert "'first'" in told and "'second'" in told and note(d) == ""
