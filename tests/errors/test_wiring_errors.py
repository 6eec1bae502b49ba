"""What a diagram that cannot be flattened says, word for word."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from blocks import (
    Block,
    Clock,
    Constant,
    Gain,
    Hold,
    Integrator,
    Mux,
    PlantloopError,
    PythonFunction,
    Selector,
    Sine,
    StateFeedback,
    StateSpace,
    Sum,
    UnitDelay,
    WiringError,
)
from blocks.contract.declared import PortHold
from cosim import Diagram
from tests.helpers.runs import build, simulate


def subsystem():
    inner = build("", g=Gain(2.0))
    inner.connect(inner.inport("u"), "g.u")
    inner.outport("y", "g.y")
    return inner


def with_subsystem(connections, **blocks):
    d = build("", **blocks)
    d.add("part", subsystem())
    for text in connections.split():
        d.connect(*text.split(">"))
    return d


@dataclass(frozen=True)
class Port(Block):
    def define(self, b):
        x = b.continuous("x", 0.0)
        b.derivative(x, b.input("u", size=1, hold=PortHold(Fraction(0), Fraction(0), 1, "file")))
        b.output("y", x)


@dataclass(frozen=True)
class Branches(Block):
    def define(self, b):
        u = b.input("u", size=1)
        b.output("y", u if u[0] > 0 else -u)


FLATTEN = {
    "open input": (
        lambda: build("", x=Integrator()),
        "input 'x.u' is not connected; connect it, or leave it open on purpose with ground('x.u').",
    ),
    "open input of a subsystem": (
        lambda: with_subsystem(""),
        "input 'part.u' is not connected; connect it, or leave it open on purpose with ground('part.u').",
    ),
    "unknown input": (
        lambda: build("c.y>s.in3", c=Constant(1.0), s=Sum("+")),
        "2 problems in the diagram:\n"
        "- 's' has no input 'in3'; did you mean 'in1'?\n"
        "- input 's.in1' is not connected; connect it, or leave it open on purpose with ground('s.in1').",
    ),
    "unknown output": (
        lambda: build("c.out>g.u", c=Constant(1.0), g=Gain(1.0)),
        "'c' has no output 'out'; there is 'y'.",
    ),
    "unknown output of a subsystem": (
        lambda: with_subsystem("c.y>part.u part.yy>g.u", c=Constant(1.0), g=Gain(1.0)),
        "'part' has no output 'yy'; did you mean 'y'?",
    ),
    "wrong way round": (
        lambda: build("g.u>c.y", c=Constant(1.0), g=Gain(1.0)),
        "2 problems in the diagram:\n"
        "- 'c' has no input 'y': that is an output. connect(output, input) goes from an output to an input.\n"
        "- input 'g.u' is not connected; connect it, or leave it open on purpose with ground('g.u').",
    ),
    "two drivers": (
        lambda: build("a.y>g.u b.y>g.u", a=Constant(1.0), b=Constant(2.0), g=Gain(1.0)),
        "input 'g.u' is driven twice, by 'a.y' and by 'b.y'; keep one, or add them with a Sum.",
    ),
    "sizes": (
        lambda: build("c.y>p.u", c=Constant([1.0, 2.0, 3.0]), p=StateSpace(-np.eye(2), np.eye(2), np.eye(2))),
        "'c.y' has 3 components but input 'p.u' expects 2; use a Mux, Demux, Selector or Gain in between.",
    ),
    "sizes in one block": (
        lambda: build("a.y>s.in1 b.y>s.in2", a=Constant([1.0] * 3), b=Constant([1.0] * 2), s=Sum("+-")),
        "block 's': Sum: sizes differ: in1 has 3, in2 has 2. Make them equal (Mux, Selector) or "
        "scalar; a scalar "
        "expands to a vector. (its input 'in1' has 3, 'in2' has 2)",
    ),
    "index": (
        lambda: build("c.y>s.in", c=Constant([1.0, 2.0]), s=Selector([2])),
        "block 's': Selector: index 2 is beyond the 2 components of input 'in'. Indices count from "
        "0; the last "
        "component is 1. (its input 'in' has 2)",
    ),
    "no fixed point": (
        lambda: build("m.out>m.in1 c.y>m.in2", m=Mux(2), c=Constant([1.0] * 20)),
        "the sizes of these blocks have no fixed point, each makes the next one wider: m {'in1': "
        "1021, 'in2': 20}. "
        "Give one of them a size of its own (a vector initial value, a matrix gain).",
    ),
    "two rates": (
        lambda: build(
            "a.y>s.in1 b.y>s.in2 s.y>p.u", a=Sine(sample=0.1), b=Sine(sample=0.25), s=Sum("++"), p=Port()
        ),
        "port 'p.u' takes its rate from 's.y', which mixes 10 Hz and 4 Hz. Put a Hold (rate "
        "transition) before it or "
        "give the port a sampling_period.",
    ),
    "loop": (
        lambda: build("c.y>s.in1 g.y>s.in2 s.y>g.u", c=Constant(1.0), s=Sum("+-"), g=Gain(2.0)),
        "Algebraic loop between ticks through 4 ports:\n"
        "  s.y  ->  g.u\n"
        "  g.u  feeds through to  g.y\n"
        "  g.y  ->  s.in2\n"
        "  s.in2  feeds through to  s.y\n"
        "Break it with a delay or a sampled block, or allow it with solve_loops=True.",
    ),
    "loop at a tick": (
        lambda: build("h.y>k.x k.u>h.u", h=Hold(sample=0.1), k=StateFeedback(2.0)),
        "Algebraic loop at a tick through 4 ports:\n"
        "  k.u  ->  h.u\n"
        "  h.u  feeds through to  h.y\n"
        "  h.y  ->  k.x\n"
        "  k.x  feeds through to  k.u\n"
        "Break it with a delay or a sampled block, or allow it with solve_loops=True.",
    ),
    "output that shows nothing": (
        lambda: (d := build("", c=Constant(1.0)), d.outport("y", "c.z"))[0],
        "'c' has no output 'z'; there is 'y'.",
    ),
    "wire in a circle": (
        lambda: with_wire("w.y>w.u w.y>g.u", g=Gain(1.0)),
        "'w.y' is connected to itself through subsystem borders.",
    ),
}


def with_wire(connections, **blocks):
    wire = Diagram("wire")
    wire.inport("u")
    wire.outport("y", "u.out")
    d = build("", **blocks)
    d.add("w", wire)
    for text in connections.split():
        d.connect(*text.split(">"))
    return d


@pytest.mark.parametrize("case", FLATTEN)
def test_flattening_says(case):
    make, text = FLATTEN[case]
    with pytest.raises(PlantloopError) as caught:
        simulate(make(), 1.0)
    assert sorted(str(caught.value).splitlines()) == sorted(text.splitlines())


WIRE = {
    "unknown block": (
        lambda d: d.connect("c.y", "gian.u"),
        "no block 'gian' in diagram 'd'; did you mean 'gain'?",
    ),
    "no port": (lambda d: d.disconnect("gain"), "'gain' names no port; write 'block.port'."),
    "which port": (
        lambda d: d.connect(d.add("both", Sum("+-"))["y"], "both"),
        "block 'both' has the inputs in1, in2: which one is meant? Write both['in1'].",
    ),
    "a handle": (
        lambda d: d.ground(d["gain"]),
        "<Gain 'gain': inputs u; outputs y> is no port. Write handle['port'].",
    ),
    "a port as a size": (
        lambda d: d.inport("u", d["gain"]["u"]),
        "the inport 'u' is given <port 'gain.u'> as its size. "
        "Connect what it returns: d.connect(d.inport('u'), ...).",
    ),
    "another diagram": (
        lambda d: d.connect(Diagram("other").inport("u"), d["gain"]["u"]),
        "port 'u.out' belongs to diagram 'other', not to 'd'. Connect through inport and outport of "
        "the subsystem.",
    ),
    "name taken": (
        lambda d: d.add("c", Gain(1.0)),
        "diagram 'd' has a block 'c' already; give this one another name.",
    ),
    "bad name": (
        lambda d: d.add("my block", Gain(1.0)),
        "block name 'my block' must not be empty or contain '.', '/', '[', ']' or blanks.",
    ),
    "a class": (lambda d: d.add("g", Gain), "'g' is the class Gain, not a block; write Gain(...)."),
    "no name": (lambda d: d.add(Gain(2.0)), "the name Gain(k=2.0) is no text; write add('name', block)."),
    "no block": (lambda d: d.add("g"), "'g' is a NoneType, expected a Block or a Diagram."),
    "a number": (lambda d: d.add("g", 3.0), "'g' is a float, expected a Block or a Diagram."),
    "itself": (lambda d: d.add("d", d), "diagram 'd' cannot contain itself."),
    "output twice": (
        lambda d: (d.outport("y", "c.y"), d.outport("y", "gain.y")),
        "'d' has an output 'y' already, which shows 'c.y'; give this one another name.",
    ),
    "unknown block grounded": (
        lambda d: d.ground("plant.force"),
        "no block 'plant' in diagram 'd'; there is 'c', 'gain'.",
    ),
}


@pytest.mark.parametrize("case", WIRE)
def test_wiring_says(case):
    act, text = WIRE[case]
    with pytest.raises(WiringError) as caught:
        act(build("", c=Constant(1.0), gain=Gain(1.0)))
    assert str(caught.value) == text


def test_a_block_with_an_if_on_a_signal_is_told_with_its_line():
    with pytest.raises(WiringError) as caught:
        simulate(build("c.y>b.u", c=Clock(), b=Branches()), 1.0)
    text = str(caught.value)
    assert text.startswith(
        "block 'b': a condition on a signal was used as True or False; its value is known only"
    )
    assert "test_wiring_errors.py:" in text and "u if u[0] > 0 else -u" in text
    assert text.endswith(
        "Use np.where(condition, a, b), np.logical_and / np.logical_or, np.minimum / np.maximum."
    )


def test_problems_of_all_kinds_come_in_one_report():
    d = build("c.y>x.uu p.y>q.u", c=Constant(1.0), x=Integrator(), p=UnitDelay(0.1), q=Gain(1.0))
    d.add("f", PythonFunction(lambda t, u: u, 2, sample=0.1))
    with pytest.raises(WiringError) as caught:
        simulate(d, 1.0)
    assert len(caught.value.problems) == 4
    assert str(caught.value).startswith("4 problems in the diagram:\n- ")


def test_both_ends_of_a_wrong_connection_are_told():
    d = build("s.out>g.in", s=Sine(), g=Gain(2.0))
    with pytest.raises(WiringError) as error:
        d.system()
    text = str(error.value)
    assert "'g' has no input 'in'; there is 'u'." in text and "'s' has no output 'out'; there is 'y'." in text
