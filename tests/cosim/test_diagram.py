"""The diagram as a data structure: adding, connecting, looking, and what is refused at once."""

import re

import networkx as nx
import pytest

from blocks import Constant, Gain, Integrator, PlantloopError, Step, WiringError
from cosim import Diagram, system_of
from tests.helpers.runs import simulate
from tests.helpers.three_blocks import three


def chain():
    d = Diagram("chain")
    source = d.add("source", Constant(3.0))
    double = d.add("double", Gain(2.0))
    source["y"] >> double["u"]
    return d


def test_the_graph_is_a_networkx_multigraph_with_blocks_and_port_names():
    graph = chain().graph
    assert isinstance(graph, nx.MultiDiGraph)
    assert graph.nodes["double"]["block"] == Gain(2.0)
    assert list(graph.edges(data=True)) == [("source", "double", {"source": "y", "target": "u"})]


def test_the_graph_cannot_be_changed():
    with pytest.raises(nx.NetworkXError):
        chain().graph.add_node("intruder")


def test_attributes_of_the_graph_are_not_those_of_the_diagram():
    d = chain()
    name, block = next(iter(d.blocks.items()))
    graph = d.graph
    graph.nodes[name]["block"] = graph.nodes[name]["colour"] = "red"
    for *_, ports in graph.edges(data=True):
        ports["source"] = "nowhere"
    assert d.content(name) is block and "colour" not in d.graph.nodes[name]
    assert all(ports["source"] != "nowhere" for *_, ports in d.graph.edges(data=True))


def test_two_connections_between_the_same_blocks_are_two_edges():
    d = Diagram("d")
    a, b = d.add("a", Constant(1.0)), d.add("b", Gain(1.0))
    d.connect(a["y"], b["u"])
    d.connect(a["y"], b["u"])
    assert d.graph.number_of_edges("a", "b") == 2


def test_connect_takes_handles_text_and_the_arrow_alike():
    values = []
    for wire in (
        lambda d: d.connect(d["source"]["y"], d["double"]["u"]),
        lambda d: d.connect("source.y", "double.u"),
        lambda d: d["source"]["y"] >> d["double"]["u"],
    ):
        d = Diagram("d")
        d.add("source", Constant(3.0))
        d.add("double", Gain(2.0))
        wire(d)
        values.append(simulate(d, 0.0, log_at=[0.0])["double.y"].item())
    assert values == [6.0] * 3


def test_the_arrow_gives_its_target_so_that_one_source_may_fan_out():
    d = chain()
    target = d.add("again", Gain(3.0))["u"]
    assert d["source"]["y"] >> target == target
    assert simulate(d, 0.0, log_at=[0.0])["again.y"].item() == 9.0


def test_inports_and_outports_by_name():
    d = Diagram("d")
    d.connect(d.inport("force", size=2), d.add("g", Gain(1.0))["u"])
    d.outport("moved", "g.y")
    assert list(d.inports) == ["force"] and d.inports["force"].size == 2
    assert {name: str(ref) for name, ref in d.outports.items()} == {"moved": "g.y"}


def test_a_system_is_kept_until_the_diagram_changes():
    d = chain()
    first = d.system()
    assert d.system() is first
    d.outport("y", "double.y")
    assert d.system() is not first


def test_a_system_is_kept_until_a_diagram_inside_changes():
    inner = Diagram("inner")
    inner.add("step", Step(1.0))
    outer = Diagram("outer")
    outer.add("part", inner)
    first = outer.system()
    assert outer.system() is first
    inner.add("more", Constant(1.0))
    assert "part/more.y" in outer.system().signals


def test_one_diagram_used_twice_is_two_independent_subsystems():
    lag = Diagram("lag")
    lag.connect(lag.inport("u"), lag.add("x", Integrator())["u"])
    lag.outport("y", "x.y")
    d = Diagram("d")
    for name, value in (("a", 1.0), ("b", 2.0)):
        d.connect(d.add(f"{name}_source", Constant(value))["y"], d.add(name, lag)["u"])
    r = simulate(d, 1.0, log_at=[1.0], initial={"b/x.x": 5.0})
    assert r["a/x.y"].item() == pytest.approx(1.0)
    assert r["b/x.y"].item() == pytest.approx(7.0)


@pytest.mark.parametrize("name", ["", "a.b", "a/b", "a[0]", "a b", "a\tb"])
def test_a_block_name_that_would_break_a_path_is_refused(name):
    with pytest.raises(WiringError, match="must not be empty or contain"):
        Diagram("d").add(name, Constant(1.0))


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(WiringError, match="'chain' has a block 'double' already; give this one another name"):
        chain().add("double", Gain(1.0))


def test_a_class_instead_of_a_block_says_how_to_write_it():
    with pytest.raises(
        WiringError, match=r"'i' is the class Integrator, not a block; write Integrator\(...\)"
    ):
        Diagram("d").add("i", Integrator)


def test_something_that_is_no_block_is_refused():
    with pytest.raises(WiringError, match="'x' is a float, expected a Block or a Diagram"):
        Diagram("d").add("x", 3.0)


def test_a_diagram_cannot_contain_itself_directly_or_through_another():
    a, b = Diagram("a"), Diagram("b")
    with pytest.raises(WiringError, match="diagram 'a' cannot contain itself"):
        a.add("me", a)
    a.add("b", b)
    with pytest.raises(WiringError, match="diagram 'a' cannot contain itself"):
        b.add("a", a)


def test_an_unknown_block_offers_the_near_miss():
    with pytest.raises(WiringError, match="no block 'duoble' in diagram 'chain'; did you mean 'double'?"):
        chain().connect("source.y", "duoble.u")


def test_text_without_a_port_is_refused_where_no_end_of_a_wire_is_meant():
    with pytest.raises(WiringError, match=r"'double' names no port; write 'block.port'"):
        chain().ground("double")


def test_a_handle_of_another_diagram_is_no_port():
    with pytest.raises(WiringError, match=r"is no port. Write handle\['port'\]"):
        chain().connect(chain()["source"], "double.u")


def test_what_is_not_there_says_how_it_is_written():
    d = chain()
    with pytest.raises(AttributeError, match=r"no attribute 'double'; the block is diagram\['double'\]"):
        d.double  # noqa: B018
    with pytest.raises(AttributeError, match=r"write from cosim import simulate, and simulate\(d, ...\)"):
        d.run(1.0)
    with pytest.raises(AttributeError, match="no attribute 'conect'; did you mean 'connect'"):
        d.conect("source.y", "double.u")
    with pytest.raises(AttributeError, match=r"its ports are handle\['port'\]"):
        d["double"].u  # noqa: B018


def test_a_port_of_another_diagram_says_to_use_inport_and_outport():
    d, other = chain(), chain()
    with pytest.raises(WiringError, match="another diagram that is called 'chain' too.*inport and outport"):
        d.connect(other["source"]["y"], d["double"]["u"])


def test_a_second_output_of_one_name_is_refused():
    d = chain()
    d.outport("y", "double.y")
    with pytest.raises(WiringError, match="'chain' has an output 'y' already"):
        d.outport("y", "source.y")


def test_a_reference_made_by_hand_to_a_block_that_is_not_there_is_refused():
    from cosim.port_handles import PortRef

    d = chain()
    with pytest.raises(WiringError, match="no block 'ghost'"):
        d.connect(PortRef(d, "ghost", "y"), "double.u")
    assert "ghost" not in d.graph


def test_ports_of_a_diagram_inside_follow_what_is_added_to_it_later():
    inner, d = Diagram("inner"), Diagram("d")
    d.add("in", inner)
    assert d["in"].ports.inputs == ()
    inner.outport("y", inner.inport("u"))
    assert (d["in"].ports.inputs, d["in"].ports.outputs) == (("u",), ("y",))
    inner.outport("z", inner.inport("v"))
    assert (d["in"].ports.inputs, d["in"].ports.outputs) == (("u", "v"), ("y", "z"))
    d.replace("in", Gain(2.0))
    assert (d["in"].ports.inputs, d["in"].ports.outputs) == (("u",), ("y",))


@pytest.mark.parametrize("ask", ["content", "drivers", "given", "ports_at"])
@pytest.mark.parametrize("name", ["gian", "", 3, ["gain"], None])
def test_what_is_asked_of_a_block_that_is_not_there_is_refused(ask, name):
    d = Diagram("d")
    d.add("gain", Gain(2.0))
    getattr(d, ask)("gain")
    with pytest.raises(WiringError, match=f"no block '{re.escape(str(name))}' in diagram 'd'"):
        getattr(d, ask)(name)


def test_what_is_opened_is_perturbed_and_the_first_that_is_not_is_named():
    d, *_ = three()
    d.connect("a.y -> b.u, c.u")
    with pytest.raises(PlantloopError, match=r"opened lists 'b\.y', .*perturb=\['b\.y'\]"):
        d.system(perturb=["a.y"], opened=["a.y", "b.y", "c.y"])


@pytest.mark.parametrize("given", ["units", 2, None])
def test_how_units_are_run_is_true_false_or_held(given):
    """Also where a system is given, which was made one way or the other already."""
    d, *_ = three()
    d.connect("a.y -> b.u, c.u")
    for made in (d, d.system(), Gain(2.0)):
        with pytest.raises(PlantloopError, match="driven"):
            system_of(made, driven=given)
        assert system_of(made, driven="held").name == system_of(made, driven=True).name
