"""Parts of connections by themselves: conversions, transformations, components of arrays, their blocks."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import blocks as B
from cosim import Diagram, simulate
from cosim.fmi.ssp.array_parts import ArrayParts
from cosim.fmi.ssp.conversions import conversion
from cosim.fmi.ssp.drawn_connections import connections_of, has_arrays, shape_at
from cosim.fmi.ssp.ssp_errors import SSPError
from cosim.fmi.ssp.structure import (
    BaseUnit,
    ConnectorLink,
    ParameterValue,
    Transformation,
)
from cosim.fmi.ssp.wires import ArrayComponent, GatheredArray, LinearConnection, MappedConnection, OpenInput

TEMPERATURE = {"K": 1}
UNITS = {
    "K": BaseUnit("K", TEMPERATURE),
    "degC": BaseUnit("degC", TEMPERATURE, 1.0, 273.15),
    "degF": BaseUnit("degF", TEMPERATURE, 5 / 9, 459.67 * 5 / 9),
    "kelvin": BaseUnit("kelvin", TEMPERATURE),
    "m": BaseUnit("m", {"m": 1}),
}


def link(**more: object) -> ConnectorLink:
    return ConnectorLink(("a", "y"), ("", "u"), line=7, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "end", "factor", "offset"),
    [
        ("degC", "K", 1.0, 273.15),
        ("K", "degC", 1.0, -273.15),
        ("degC", "degF", 1.8, 32.0),
        ("degF", "degC", 5 / 9, -32.0 * 5 / 9),
    ],
)
def test_units_are_converted_through_their_base(start, end, factor, offset):
    """100 degrees Celsius are 212 degrees Fahrenheit."""
    found = conversion(link(), UNITS.get(start), UNITS.get(end), "a.ssd")
    assert found is not None
    assert (found.factor, found.offset) == (pytest.approx(factor), pytest.approx(offset, abs=1e-9))
    assert not found.table


@pytest.mark.parametrize(
    ("start", "end"), [("K", "K"), ("", "K"), ("K", ""), ("K", "kelvin"), ("K", "unknown"), ("unknown", "K")]
)
def test_nothing_is_converted_where_numbers_mean_the_same_or_nothing_is_known(start, end):
    assert conversion(link(), UNITS.get(start), UNITS.get(end), "a.ssd") is None


def test_units_of_other_quantities_are_refused_unless_it_is_meant():
    with pytest.raises(SSPError, match=r"^a.ssd:7: 'a.y' is in degC, but 'u' is in m: they do not measure"):
        conversion(link(), UNITS["degC"], UNITS["m"], "a.ssd")
    assert conversion(link(convert_units=False), UNITS["degC"], UNITS["m"], "a.ssd") is None


def test_transformations_of_values_one_after_the_other():
    """2 (3 x + 1) + 5 = 6 x + 7."""
    one, two = Transformation(3.0, 1.0), Transformation(2.0, 5.0)
    assert one.then(two) == Transformation(6.0, 7.0)
    assert one.of((1.0, (2.0, 0.5))) == (4.0, (7.0, 2.5))
    assert Transformation(9.0, 9.0, {1: 4, "on": "off"}).of((1, 2, "on")) == (4, 2, "off")
    value = ParameterValue("p", 2.0, "Real", change=one)
    assert (value.changed(), value.changed(10.0), value.changed(0.0)) == (7.0, 31.0, 1.0)
    assert ParameterValue("p", 2.0, "Real").changed(0.0) == 0.0


# --- blocks of connections ------------------------------------------------------------------------
def outputs(*chain: B.Block) -> np.ndarray:
    d = Diagram("d")
    nodes = [d.add(f"b{k}", block) for k, block in enumerate(chain)]
    for one, other in pairwise(nodes):
        d.connect(one["y"], other["u"])
    return simulate(d, 0.0)[f"b{len(chain) - 1}.y"][-1]


def test_blocks_of_connections():
    assert outputs(B.Constant(3.0), LinearConnection(2.0, -0.5)).tolist() == [5.5]
    assert outputs(B.Constant(3.0), LinearConnection()).tolist() == [3.0] and outputs(
        OpenInput()
    ).tolist() == [0.0]
    table = MappedConnection(((1.0, 4.0), (4.0, 2.0)))
    assert table.switches_by_design  # where it switches is no finding of a check
    assert [outputs(B.Constant(u), table)[0] for u in (0.0, 1.0, 4.0, 3.0)] == [0.0, 4.0, 2.0, 3.0]
    assert outputs(OpenInput([[1.0, 2.0], [3.0, 4.0]])).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert outputs(B.Constant([5.0, 6.0, 7.0]), ArrayComponent(2, 3)).tolist() == [7.0]
    assert outputs(B.Constant([5.0, 6.0, 7.0]), ArrayComponent(0, 3)).tolist() == [5.0]
    d = Diagram("d")
    d.add("g", GatheredArray((9.0, 8.0, 7.0, 6.0), (1, 3)))
    d.connect(d.add("a", B.Constant(1.0))["y"], "g.u0")
    d.connect(d.add("b", B.Constant(2.0))["y"], "g.u1")
    assert simulate(d, 0.0)["g.y"][-1].tolist() == [9.0, 1.0, 7.0, 2.0]


def drawn(d: Diagram) -> dict[tuple[str, str], list[object]]:
    """By the end of connections: what each of them is."""
    found: dict[tuple[str, str], list[object]] = {}
    for c in connections_of(d.netlist()):
        found.setdefault(c.end, []).append((c.start, dict(c.indices), c.linear, c.table))
    return found


def test_blocks_of_connections_are_drawn_as_parts_of_one():
    """(2 (3 u + 1) + 5), a table, and one of three components counted from 1."""
    d = Diagram("d")
    d.add("source", B.Constant(1.0))
    d.add("one", LinearConnection(3.0, 1.0))
    d.add("two", LinearConnection(2.0, 5.0))
    d.add("sink", B.Gain(1.0))
    for start, end in (("source.y", "one.u"), ("one.y", "two.u"), ("two.y", "sink.u")):
        d.connect(start, end)
    d.add("map", MappedConnection(((1.0, 2.0),)))
    d.connect(d.inport("w"), "map.u")
    d.outport("mapped", "map.y")
    d.add("wide", B.Constant([1.0, 2.0, 3.0]))
    d.add("part", ArrayComponent(1, 3))
    d.connect("wide.y", "part.u")
    d.outport("part_of", "part.y")
    assert drawn(d) == {
        ("sink", "u"): [(("source", "y"), {}, (6.0, 7.0), ())],
        ("", "mapped"): [(("", "w"), {}, None, ((1.0, 2.0),))],
        ("", "part_of"): [(("wide", "y"), {"startIndices": (2,)}, None, ())],
    }
    assert shape_at(d.netlist(), "w", "input") == shape_at(d.netlist(), "mapped", "output") == ()
    assert not has_arrays(d.netlist())


def test_arrays_that_are_put_together_are_drawn_as_connections_of_components():
    d = Diagram("d")
    d.add("g", GatheredArray((9.0, 8.0, 7.0), (0, 2)))
    d.add("k", LinearConnection(2.0, 0.0))
    d.connect(d.add("a", B.Constant(1.0))["y"], "k.u")
    d.connect("k.y", "g.u0")
    d.connect(d.add("b", B.Constant(2.0))["y"], "g.u1")
    d.outport("y", "g.y")
    source, *parts = drawn(d)["", "y"]
    assert source == (("g", "y"), {}, None, ())
    assert parts == [
        (("a", "y"), {"endIndices": (1,)}, (2.0, 0.0), ()), (("b", "y"), {"endIndices": (3,)}, None, ()),
    ]  # fmt: skip
    assert shape_at(d.netlist(), "y", "output") == (3,)
    d.connect("g.y", d.add("again", ArrayComponent(0, 3))["u"])
    d.outport("first", "again.y")
    with pytest.raises(
        SSPError, match="the array that 'g' puts together goes to another block that converts"
    ):
        drawn(d)


@pytest.mark.parametrize("first", ["table", "linear"])
@pytest.mark.parametrize("second", ["table", "linear"])
def test_a_table_stands_alone_on_a_connection(first, second):
    make = {"table": lambda: MappedConnection(((1.0, 2.0),)), "linear": lambda: LinearConnection(2.0, 1.0)}
    d = Diagram("d")
    d.add("one", make[first]())
    d.add("two", make[second]())
    d.connect(d.inport("u"), "one.u")
    d.connect("one.y", "two.u")
    d.outport("y", "two.y")
    if first == second == "linear":
        assert drawn(d) == {("", "y"): [(("", "u"), {}, (4.0, 3.0), ())]}
    else:
        with pytest.raises(SSPError, match="ends behind 'two' has two transformations one after the other"):
            drawn(d)


def test_systems_with_arrays_at_their_ports_have_arrays():
    d, inner = Diagram("d"), Diagram("inner")
    inner.outport("y", inner.inport("u", size=2))
    assert has_arrays(inner.netlist()) and shape_at(inner.netlist(), "u", "input") == (2,)
    d.connect(d.add("a", B.Constant([1.0, 2.0]))["y"], d.add("inner", inner)["u"])
    d.outport("y", "inner.y")
    assert has_arrays(d.netlist()) and shape_at(d.netlist(), "y", "output") == (2,)


# --- components of arrays in a file ---------------------------------------------------------------
def array_parts(shape: tuple[int, ...]) -> ArrayParts:
    """Of a system with an FMU "a" whose value of "p" is 3, whose description says 4 for "q"."""
    description = SimpleNamespace(variable=lambda name: SimpleNamespace(start=4.0 if name == "q" else None))
    return ArrayParts(
        "a.ssd", {"a": description},  # type: ignore[dict-item]
        SimpleNamespace(shape=lambda end: shape), {("a", "p"): 3.0},  # type: ignore[arg-type]
    )  # fmt: skip


def test_components_are_counted_from_1_along_each_dimension():
    parts = array_parts((2, 3))
    every = [(i, j) for i in (1, 2) for j in (1, 2, 3)]
    found = [parts.component(link(start_index=index)) for index in every]
    assert found == [ArrayComponent(k, 6) for k in range(6)]
    for bad in ((3, 1), (2, 4), (1,), (1, 1, 1), ()):
        said = " ".join(map(str, bad))
        with pytest.raises(SSPError, match=rf"^a.ssd:7: .*component '{said}' of 'a.y', .* shape \(2, 3\)"):
            parts.component(link(start_index=bad))


def test_components_that_are_put_together():
    """In order of their places, beside start values: those given, of the description, or 0."""
    for port, start in (("p", 3.0), ("q", 4.0), ("r", 0.0)):
        parts = array_parts((3,))
        to = lambda k, port=port: ConnectorLink(("", "u"), ("a", port), line=8, end_index=(k,))
        parts.gather(to(3), "third")
        parts.gather(to(1), "first")
        assert list(parts.gathered()) == [
            (("a", port), GatheredArray((start,) * 3, (0, 2)), ["first", "third"])
        ]
        with pytest.raises(
            SSPError, match=rf"^a.ssd:8: two connections end at component \(3,\) of 'a.{port}'"
        ):
            parts.gather(to(3), "again")
