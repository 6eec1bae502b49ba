"""From nested diagrams to drivers: borders of subsystems, open inputs, and all mistakes in one report."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Constant, Gain, Integrator, Selector, Sum, WiringError
from cosim import Diagram
from tests.helpers.runs import Simulation, simulate


def value(d, name, **options):
    return simulate(d, 0.0, log_at=[0.0], **options)[name][0]


def problems(d):
    with pytest.raises(WiringError) as caught:
        d.system()
    return caught.value.problems


def wire():
    """A subsystem that only passes its input on."""
    d = Diagram("wire")
    d.inport("u")
    d.outport("y", "u.out")
    return d


def amplifier(k=2.0):
    d = Diagram("amplifier")
    d.connect(d.inport("u"), d.add("g", Gain(k))["u"])
    d.outport("y", "g.y")
    return d


# --- what works
def test_signals_pass_through_three_levels_of_subsystems():
    middle = Diagram("middle")
    middle.connect(middle.inport("u"), middle.add("inner", amplifier())["u"])
    middle.outport("y", "inner.y")
    d = Diagram("d")
    d.connect(d.add("c", Constant([1.0, 2.0]))["y"], d.add("outer", middle)["u"])
    d.connect("outer.y", d.add("last", Gain(10.0))["u"])
    assert value(d, "last.y").tolist() == [20.0, 40.0]
    assert value(d, "outer/inner/g.y").tolist() == [2.0, 4.0]


def test_a_pass_through_subsystem_is_a_wire():
    d = Diagram("d")
    d.add("c", Constant(4.0))
    d.connect("c.y", d.add("w1", wire())["u"])
    d.connect("w1.y", d.add("w2", wire())["u"])
    d.connect("w2.y", d.add("g", Gain(0.5))["u"])
    d.outport("shown", "w2.y")
    assert value(d, "g.y") == 2.0
    assert d.system().outports == {"shown": "c.y"}


def test_an_inport_may_feed_several_blocks_and_an_output_several_subsystems():
    two = Diagram("two")
    u = two.inport("u")
    u >> two.add("a", Gain(1.0))["u"]
    u >> two.add("b", Gain(2.0))["u"]
    d = Diagram("d")
    c = d.add("c", Constant(3.0))["y"]
    c >> d.add("left", two)["u"]
    c >> d.add("right", two)["u"]
    shown = [value(d, f"{part}/{block}.y").item() for part in ("left", "right") for block in "ab"]
    assert shown == [3.0, 6.0, 3.0, 6.0]


def test_the_size_of_a_subsystems_inport_is_that_of_what_is_connected_outside():
    d = Diagram("d")
    d.connect(d.add("c", Constant([1.0, 2.0, 3.0]))["y"], d.add("a", amplifier())["u"])
    assert d.system().signals["a/g.y"].size == 3


def test_an_inport_at_the_top_is_an_input_of_the_system_with_its_own_size():
    d = Diagram("d")
    d.connect(d.inport("u", size=2), d.add("g", Gain(3.0))["u"])
    sim = Simulation(d)
    assert sim.value("g.y").tolist() == [0.0, 0.0]
    sim.set_input("u", [1.0, 2.0])
    assert sim.value("g.y").tolist() == [3.0, 6.0]
    assert value(d, "g.y", inputs={"u": [4.0, 5.0]}).tolist() == [12.0, 15.0]


def test_a_grounded_input_is_zero():
    d = Diagram("d")
    d.add("s", Sum("+-"))
    d.connect(d.add("c", Constant([1.0, 2.0]))["y"], "s.in1")
    d.ground("s.in2")
    assert value(d, "s.y").tolist() == [1.0, 2.0]


def test_grounding_the_input_of_a_subsystem_grounds_all_it_feeds():
    d = Diagram("d")
    d.add("a", amplifier())
    d.ground(d["a"]["u"])
    assert value(d, "a/g.y") == 0.0


def test_an_input_grounded_inside_a_subsystem():
    inner = Diagram("inner")
    inner.add("i", Integrator(2.0))
    inner.ground("i.u")
    d = Diagram("d")
    d.add("part", inner)
    assert value(d, "part/i.y") == 2.0


@dataclass(frozen=True)
class Rows(Block):
    """Its second input is only declared once the size of the first is right."""

    def define(self, b):
        m = np.reshape(b.input("m"), (2, 3))
        b.output("y", m @ b.input("v"))


def test_a_block_that_cannot_be_traced_before_its_sizes_are_known_has_all_its_ports():
    d = Diagram("d")
    d.add("rows", Rows())
    d.connect(d.add("m", Constant([1.0, 0.0, 0.0, 0.0, 2.0, 0.0]))["y"], "rows.m")
    d.connect(d.add("v", Constant([5.0, 6.0, 7.0]))["y"], "rows.v")
    d.connect("rows.y", d.add("g", Gain(1.0))["u"])
    assert value(d, "g.y").tolist() == [5.0, 12.0]


def test_such_a_block_with_an_open_or_misspelt_input():
    d = Diagram("d")
    d.add("rows", Rows())
    c = d.add("c", Constant(np.ones(6)))["y"]
    c >> d["rows"]["m"]
    assert problems(d) == [
        "input 'rows.v' is not connected; connect it, or leave it open on purpose with ground('rows.v')."
    ]
    c >> d["rows"]["w"]
    assert len(problems(d)) == 1 and "rows.v" in problems(d)[0]


# --- what is refused
def test_all_mistakes_are_reported_together_with_near_misses():
    d = Diagram("many")
    d.add("plant", Integrator())
    d.add("gain", Gain(2.0))
    d.add("one", Constant(1.0))
    d.add("part", amplifier())
    d.connect("one.y", "plant.uu")
    d.connect("one.z", "gain.u")
    d.connect("plant.u", "part.u")
    d.connect("part.Y", "plant.u")
    d.ground("gain.w")
    assert set(problems(d)) == {
        "'plant' has no input 'uu'; did you mean 'u'?",
        "'one' has no output 'z'; there is 'y'.",
        "'plant' has no output 'u': that is an input. connect(output, input) goes from an output to an "
        "input.",
        "'part' has no output 'Y'; did you mean 'y'?",
        "ground: 'gain' has no input 'w'; there is 'u'.",
    }
    with pytest.raises(WiringError, match=r"^5 problems in the diagram:\n- "):
        simulate(d, 1.0)


def test_every_open_input_is_named_with_the_cure_in_its_own_diagram():
    inner = Diagram("inner")
    inner.add("s", Sum("++"))
    inner.connect(inner.inport("u"), "s.in1")
    d = Diagram("d")
    d.add("part", inner)
    d.add("i", Integrator())
    assert problems(d) == [
        "input 'part.u' is not connected; connect it, or leave it open on purpose with ground('part.u').",
        "input 'part/s.in2' is not connected; connect it, or leave it open on purpose with "
        "ground('s.in2') in diagram 'part'.",
        "input 'i.u' is not connected; connect it, or leave it open on purpose with ground('i.u').",
    ]


def test_an_input_of_a_subsystem_that_nothing_inside_uses_must_be_connected_too():
    inner = Diagram("inner")
    inner.inport("unused")
    d = Diagram("d")
    d.add("part", inner)
    assert problems(d) == [
        "input 'part.unused' is not connected; connect it, or leave it open on purpose with "
        "ground('part.unused')."
    ]
    d.ground("part.unused")
    assert d.system().signals == {}


def test_two_drivers_of_one_input_are_both_named():
    d = Diagram("d")
    d.add("a", Constant(1.0))
    d.add("b", Constant(2.0))
    d.add("g", Gain(1.0))
    d.connect("a.y", "g.u")
    d.connect("b.y", "g.u")
    assert problems(d) == [
        "input 'g.u' is driven twice, by 'a.y' and by 'b.y'; keep one, or add them with a Sum."
    ]


def test_two_drivers_inside_a_subsystem_are_named_by_path():
    inner = Diagram("inner")
    inner.connect(inner.inport("u"), inner.add("g", Gain(1.0))["u"])
    inner.connect(inner.add("c", Constant(1.0))["y"], "g.u")
    d = Diagram("d")
    d.add("part", inner)
    d.ground("part.u")
    assert "input 'part/g.u' is driven twice, by 'part/u.out' and by 'part/c.y'" in problems(d)[0]


def test_an_output_into_an_output_says_which_way_connections_go():
    d = Diagram("d")
    d.add("a", Constant(1.0)), d.add("b", Constant(2.0))
    d.connect("a.y", "b.y")
    assert problems(d) == [
        "'b' has no input 'y': that is an output. connect(output, input) goes from an output to an input."
    ]


def test_a_block_without_ports_takes_no_connection():
    @dataclass(frozen=True)
    class Empty(Block):
        def define(self, b):
            pass

    d = Diagram("d")
    d.add("c", Constant(1.0))
    d.add("e", Empty())
    d.connect("c.y", "e.u")
    assert problems(d) == ["'e' has no input 'u'; there are none."]
    with pytest.raises(WiringError, match=r"block 'e' \(Empty\) has no port 'u'; there are none"):
        d["e"]["u"]


def test_an_output_of_a_subsystem_that_shows_nothing_is_found_although_nobody_reads_it():
    inner = Diagram("inner")
    inner.add("c", Constant(1.0))
    inner.outport("y", "c.out")
    d = Diagram("d")
    d.add("part", inner)
    assert problems(d) == ["'part/c' has no output 'out'; there is 'y'."]


def test_an_output_of_the_diagram_that_shows_nothing():
    d = Diagram("d")
    d.add("c", Constant(1.0))
    d.outport("y", "c.x")
    assert problems(d) == ["'c' has no output 'x'; there is 'y'."]
    d = Diagram("d")
    d.add("w", wire())
    d.ground("w.u")
    d.outport("y", "w.y")
    assert problems(d) == ["output 'y' of 'd' shows an input that is left open."]


def test_an_inport_cannot_be_driven_and_has_one_port():
    d = Diagram("d")
    d.inport("u")
    d.add("c", Constant(1.0))
    d.connect("c.y", "u.in")
    d.connect("u.y", d.add("g", Gain(1.0))["u"])
    assert set(problems(d)) == {
        "'u' is an inport: it drives blocks inside its diagram and cannot be driven here.",
        "inport 'u' has no port 'y'; connect 'u.out'.",
    }


def test_a_subsystem_has_no_input_of_that_name():
    d = Diagram("d")
    d.add("part", amplifier())
    d.connect(d.add("c", Constant(1.0))["y"], "part.v")
    assert problems(d)[-1] == "'part' has no input 'v'; there is 'u'."


def test_a_wire_that_bites_its_tail_is_found():
    d = Diagram("d")
    d.add("w", wire())
    d.connect("w.y", "w.u")
    d.connect("w.y", d.add("g", Gain(1.0))["u"])
    assert problems(d) == ["'w.y' is connected to itself through subsystem borders."]


def test_a_block_that_cannot_be_traced_is_one_problem_among_the_others():
    @dataclass(frozen=True)
    class Wrong(Block):
        def define(self, b):
            if b.input("u", size=1)[0] > 0:
                b.output("y", 1.0)

    d = Diagram("d")
    d.connect(d.add("c", Constant(1.0))["y"], d.add("w", Wrong())["u"])
    d.add("i", Integrator())
    found = problems(d)
    assert len(found) == 2
    assert "block 'w': a condition on a signal was used as True or False" in found[0]
    assert "'i.u' is not connected" in found[1]


def test_a_wrong_size_and_a_wrong_index_are_told_with_their_block():
    d = Diagram("d")
    d.connect(d.add("c", Constant([1.0, 2.0]))["y"], d.add("pick", Selector([5]))["in"])
    assert "block 'pick': Selector: index 5 is beyond the 2 components" in problems(d)[0]


def test_an_error_survives_pickling():
    import pickle

    d = Diagram("d")
    d.add("i", Integrator())
    d.add("j", Integrator())
    with pytest.raises(WiringError) as caught:
        d.system()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.problems == caught.value.problems
