"""One rule for names: signals, states, parameters, inputs and outputs, wherever they are asked for."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Constant, Gain, StateSpace
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, linearize, simulate, simulate_many, trim
from cosim.names import Names


@dataclass(frozen=True)
class Thing:
    size: int
    labels: tuple[str, ...] = ()


KNOWN = {
    "plant.q": Thing(2, ("theta [rad]", "s [m]")),
    "plant.q.s": Thing(1),
    "a.b": Thing(2, ("same", "same")),
    "sub/k.y": Thing(1),
    "odd[0]": Thing(3),
    "plant.control_force": Thing(1),
}
NAMES = Names("signal", "'d'", KNOWN, {"out": "plant.q", "gone": "nowhere"}, "plant.")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("plant.q", ("plant.q", None)),
        ("q", ("plant.q", None)),  # the prefix is left out
        ("plant.sub/k.y", ("sub/k.y", None)),  # the prefix is in excess
        ("out", ("plant.q", None)),
        ("out[1]", ("plant.q", 1)),
        ("q[1]", ("plant.q", 1)),
        ("q.theta", ("plant.q", 0)),
        ("plant.q.theta [rad]", ("plant.q", 0)),
        ("plant.q.s", ("plant.q.s", None)),  # a whole thing before a label
        ("odd[0]", ("odd[0]", None)),  # an exact name before a component
        ("odd[0][2]", ("odd[0]", 2)),
        ("sub.k.y", ("sub/k.y", None)),  # as FMUs write it
        ("plant/q", ("plant.q", None)),
        ("Sub.K.y", ("sub/k.y", None)),
        ("plant.Control force", ("plant.control_force", None)),  # the label it was made from
        ("Control-Force", ("plant.control_force", None)),
    ],
)
def test_what_a_name_means(name, found):
    assert NAMES.locate(name) == found and NAMES.whole(name) == found[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plant.qq", "'d' has no signal 'plant.qq'; did you mean 'plant.q'"),
        ("gone", "'d' has no signal 'gone'; there is"),
        ("plant", "'d' has no signal 'plant'; there is 'plant.control_force', 'plant.q', 'plant.q.s'."),
        ("sub", "'d' has no signal 'sub'; there is 'sub/k.y'."),
        ("q.thetta", "has no signal 'q.thetta'; did you mean 'plant.q.theta'"),
        ("q[2]", "no component 2 in 'plant.q': it has 2, counted from 0"),
        ("a.b.same", r"'a.b.same' is ambiguous. Use one of 'a.b\[0\]', 'a.b\[1\]'"),
        (3, "signal: 3 is no name"),
    ],
)
def test_what_means_nothing(name, text):
    with pytest.raises(PlantloopError, match=text):
        NAMES.locate(name)


def test_whole_things_only():
    names = Names("parameter", "'d'", KNOWN, prefix="plant.", parts=False)
    assert names.find("q[0]") is None and names.find("q.theta") is None
    assert names.find("q") == ("plant.q", None) and names.find("sub.k.y") == ("sub/k.y", None)
    assert names.find("Sub.k.y") is None
    both = Names("parameter", "'d'", {"a.b/c": Thing(1), "a/b.c": Thing(1)}, parts=False)
    assert both.find("a.b.c") is None and both.find("a/b.c") == ("a/b.c", None)


@dataclass(frozen=True)
class Pair(Block):
    """Two states with names, x' = k u."""

    k: tuple[float, float] = (1.0, 2.0)

    def define(self, b):
        u, (k,) = b.input("u", size=2), b.parameters(k=self.k)
        x = b.continuous("x", 0.0, size=2, labels=("first", "second"))
        b.output("y", x, labels=("first", "second"))
        b.derivative(x, k * u)


def loop():
    """A subsystem with a lag, driven by a constant."""
    part = Diagram("part")
    lag = part.add("lag", StateSpace(-1.0, 1.0, 1.0))
    part.connect(part.inport("u"), lag["u"])
    part.outport("y", lag["y"])
    d = Diagram("d")
    arm, one, twice = d.add("arm", part), d.add("one", Constant(1.0)), d.add("twice", Gain(2.0))
    d.connect(one["y"], arm["u"])
    d.connect(arm["y"], twice["u"])
    d.outport("shown", twice["y"])
    return d


PLACES = {
    "value": ("signal", lambda d, name: Simulation(d).value(name)),
    "signals": ("signal", lambda d, name: simulate(d, 0.1, signals=[name])),
    "result": ("signal", lambda d, name: simulate(d, 0.1)[name]),
    "runs": ("signal", lambda d, name: simulate_many(d, [{}], 0.1)[name]),
    "linearize": ("signal", lambda d, name: linearize(d, inputs=["arm.u"], outputs=[name])),
    "initial": ("state", lambda d, name: simulate(d, 0.1, initial={name: 1.0})),
    "initial of runs": ("state", lambda d, name: simulate_many(d, [{"initial": {name: 1.0}}], 0.1)),
    "at": ("state", lambda d, name: linearize(d, inputs=["arm.u"], outputs=["shown"], at={name: 1.0})),
    "fixed": ("state", lambda d, name: trim(d, fixed=[name])),
    "parameters": ("parameter", lambda d, name: simulate(d, 0.1, parameters={name: 1.0})),
    "parameters of runs": ("parameter", lambda d, name: simulate_many(d, [{"parameters": {name: 1.0}}], 0.1)),
    "inputs": ("input", lambda d, name: simulate(d, 0.1, inputs={name: 1.0})),
    "set_input": ("input", lambda d, name: Simulation(d).set_input(name, 1.0)),
    "free": ("input", lambda d, name: trim(d, free=[name])),
    "y": ("output", lambda d, name: trim(d, y={name: 1.0})),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_means_nothing_is_answered_alike_everywhere(place):
    kind, use = PLACES[place]
    with pytest.raises(PlantloopError, match=rf"has no {kind} 'shwon'; (did you mean 'shown'|there)"):
        use(loop(), "shwon")


def test_states_and_inputs_have_components_by_number_and_label():
    sim = Simulation(Pair(), initial={"x.second": 3.0, "plant.x[0]": 1.0}, engine="reference")
    assert sim.value("y").tolist() == [1.0, 3.0]
    sim.set_input("u[1]", 5.0)
    sim.set_input("plant.u[0]", 4.0)
    sim.advance(1.0)
    assert sim.value("y.first") == pytest.approx(5.0) and sim.value("y[1]") == pytest.approx(13.0)
    with pytest.raises(PlantloopError, match="no component 2 in 'u': it has 2"):
        sim.set_input("u[2]", 1.0)
    with pytest.raises(PlantloopError, match=r"has no parameter 'k\[0\]'; there is 'plant.k'"):
        sim.set_parameter("k[0]", 1.0)


def test_a_block_alone_may_leave_out_its_name_in_trim_and_linearize():
    point = trim(StateSpace(-2.0, 1.0, 1.0), u={"plant.u": 4.0}, bounds={"plant.x": (0.0, 9.0)})
    assert point.outputs["y"] == pytest.approx(2.0)
    one = linearize(Pair(), inputs=["u"], outputs=["y[1]"])
    two = linearize(Pair(), inputs=["plant.u"], outputs=["plant.y.second"])
    assert np.array_equal(one.C, two.C) and np.array_equal(one.C, [[0.0, 1.0]])


TWICE = {
    "initial": lambda d, a, b: simulate(d, 0.1, initial={a: 1.0, b: 2.0}),
    "of runs": lambda d, a, b: simulate_many(d, [{"initial": {a: 1.0, b: 2.0}}], 0.1),
}


@pytest.mark.parametrize("how", TWICE)
def test_two_names_of_one_thing_are_refused_where_the_first_has_no_effect(how):
    for first, second in (("x", "plant.x"), ("x[1]", "x.second"), ("x[0]", "x")):
        with pytest.raises(PlantloopError, match=rf"'{re.escape(first)}' and '{second}' are the same state"):
            TWICE[how](Pair(), first, second)
    sim = Simulation(Pair(), initial={"x": 1.0, "x[1]": 3.0})  # all of it, then one
    assert sim.value("x").tolist() == [1.0, 3.0]
    with pytest.raises(PlantloopError, match=r"'plant.k' and 'k' are the same parameter.*Give one"):
        simulate(Pair(), 0.1, parameters={"plant.k": [1, 2], "k": [1, 2]})


def test_the_input_of_a_block_is_answered_with_what_drives_it():
    for use in (PLACES["value"][1], PLACES["signals"][1], PLACES["linearize"][1]):
        with pytest.raises(PlantloopError, match=r"no signal 'twice.u'. .* its signal is 'arm.y', which"):
            use(loop(), "twice.u")
    with pytest.raises(PlantloopError, match=r"no input 'twice.u': .* 'arm.y' drives it. .*d.inport\('u'\)"):
        simulate(loop(), 0.1, inputs={"twice.u": 1.0})


@dataclass(frozen=True)
class Cart(Block):
    """A number with a second name."""

    mass: float = 0.5

    def define(self, b):
        mass = b.parameter("Body_Rigid/2.mass", self.mass, aliases=["cart.mass"])
        b.output("y", mass * b.input("u", size=1))


def test_a_parameter_is_looked_at_and_logged_by_either_name():
    d = Diagram("cart")
    d.add("plant", Cart())
    d.connect(d.add("u", Constant(1.0))["y"], "plant.u")
    sim = Simulation(d)
    sim.set_parameter("plant.cart.mass", 0.7)
    assert sim.value("plant.cart.mass") == sim.value("plant.Body_Rigid/2.mass") == 0.7
    r = simulate(d, 1.0, signals=["plant.cart.mass"])
    assert r["plant.cart.mass"][-1, 0] == r["plant.Body_Rigid/2.mass"][-1, 0] == 0.5


def test_both_names_of_a_parameter_are_listed():
    d = Diagram("cart")
    d.add("plant", Cart())
    d.ground("plant.u")
    facts = d.info()
    assert "plant.Body_Rigid/2.mass" in facts["parameters"] and "plant.cart.mass" not in facts["parameters"]
    assert facts["other names"] == {"plant.cart.mass": "plant.Body_Rigid/2.mass"}
    with pytest.raises(PlantloopError, match="'plant.cart.mass' and 'plant.Body_Rigid/2.mass' are the same"):
        simulate(d, 0.1, parameters={"plant.cart.mass": 1.0, "plant.Body_Rigid/2.mass": 2.0})
