"""Variables of an exported model: names, numbers, units, what may be set, and in which order they come."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

import blocks as B
from blocks import Block
from cosim import Diagram
from cosim.block_alone import around
from cosim.fmi.export.exported_variables import Exported, fmi_name, variables_of
from cosim.run.context import Context
from tests.helpers.made import Made, alone


def variables(d, **options):
    system = d.system()
    return variables_of(system, Context.initial(system), **options)


# the grammar of structured names, FMI 3.0.2, section 2.4.7.5.1
IDENTIFIER = r"(?:[A-Za-z_][A-Za-z0-9_]*|'(?:[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\.)+')"
STRUCTURED = re.compile(rf"{IDENTIFIER}(?:\.{IDENTIFIER})*(?:\[\d+(?:,\d+)*\])?")
NAMES = {
    "x": "x",
    "arm/motor.w": "arm.motor.w",
    "arm/motor.w[2]": "arm.motor.w[3]",
    "a.A[0,3]": "a.A[1,4]",
    "a.A[9,10,0]": "a.A[10,11,1]",
    "plant.Joint_Revolute/31.q": "plant.Joint_Revolute.'31'.q",
    "two words.y": "'two words'.y",
    "y@sampled": "'y@sampled'",
    "a.b[c]": "a.'b[c]'",
    "it's.a\\b": "'it_s'.'a_b'",
    "\u00e4.y": "'_'.y",
    "a..b": "a.'_'.b",
    "line\nend": "'line_end'",
}


@pytest.mark.parametrize("path", NAMES)
def test_names_in_the_grammar_of_the_standard(path):
    assert fmi_name(path) == NAMES[path]
    assert STRUCTURED.fullmatch(NAMES[path])


@dataclass(frozen=True)
class Body(Block):
    """x' = A x + u: with a sampled sum, a count of events, and a state of one number."""

    A: tuple = ((0.0, 2.0, 0.0), (-3.0, 0.0, 5.0))
    k: float = 7.0

    def define(self, b):
        A, k = b.parameter("A", self.A, unit="kg"), b.parameter("k", self.k)
        u = b.input("u", size=3, unit=("N", "N", "m"))
        x = b.continuous("x", [0.5, -0.25], labels=("left", ""), nominal=[2.0, 100.0])
        z, n, m = b.continuous("z", 1.5), b.discrete("n", 4.0, 0.5), b.mode("m", 6.0)
        b.derivative(x, A @ u)
        b.derivative(z, k * z)
        b.update(n, n + 1.0)
        b.when(x[0] - u[0], {m: m + 1.0}, direction="rising", name="up/there")
        b.output("x", x, unit=("m", "rad"), labels=("left", ""))
        b.output("moves", np.stack([u[0] + 0.0, b.time, z[0]]), unit="N")
        b.output("rests", m + n + k)
        b.output("held", b.sampled(u, 0.5, name="kept"))


def body():
    d = Diagram("body")
    b = d.add("it", Body())
    d.connect(d.inport("u", 3), b["u"])
    for name in ("x", "moves", "rests", "held"):
        d.outport(name, b[name])
    return d


def test_every_variable_of_a_block_in_order():
    """References count numbers; kinds come one after the other; states are followed by their rates."""
    found = variables(body())
    exact, calculated = ("local", "discrete", "exact"), ("local", "continuous", "calculated")
    expected = [
        ("time", 0, "UNIT_TIME", (0,), (), "independent", "continuous", ""),
        ("u", 1, "UNIT_INPUT", None, (3,), "input", "continuous", "exact"),
        ("x", 4, "UNIT_SIGNAL", (0, 1), (2,), "output", "continuous", "calculated"),
        ("moves", 6, "UNIT_SIGNAL", (2, 3, 4), (3,), "output", "continuous", "calculated"),
        ("rests", 9, "UNIT_SIGNAL", (5,), (), "output", "discrete", "calculated"),
        ("held", 10, "UNIT_SIGNAL", (6, 7, 8), (3,), "output", "discrete", "calculated"),
        ("it.A", 13, "UNIT_PARAMETER", (-1, 0, -1, 1, -1, 2), (2, 3), "parameter", "tunable", "exact"),
        ("it.k", 19, "UNIT_PARAMETER", (3,), (), "parameter", "tunable", "exact"),
        ("it.x", 20, "UNIT_STATE", (0, 1), (2,), "local", "continuous", "exact"),
        ("der(it.x)", 22, "UNIT_RATE", (0, 1), (2,), *calculated),
        ("it.z", 24, "UNIT_STATE", (2,), (), "local", "continuous", "exact"),
        ("der(it.z)", 25, "UNIT_RATE", (2,), (), *calculated),
        ("it.n", 26, "UNIT_DISCRETE", None, (), *exact),
        ("it.m", 27, "UNIT_HELD", None, (), *exact),
        ("it.kept", 28, "UNIT_HELD", None, (3,), *exact),
        ("indicators.it.up.there", 31, "UNIT_INDICATOR", (0,), (), *calculated),
    ]
    told = [
        (v.name, v.reference, v.kind, v.places, v.shape, v.causality, v.variability, v.initial)
        for v in found.every
    ]
    for mine, its in zip(expected, told, strict=True):
        assert tuple(b if a is None else a for a, b in zip(mine, its, strict=True)) == its
    assert [v.name for v in found.outputs] == ["x", "moves", "rests", "held"]
    assert [v.name for v in found.of("UNIT_STATE")] == ["it.x", "it.z"]
    by_name = {v.name: v for v in found.every}
    starts = {name: v.start.tolist() for name, v in by_name.items() if v.start is not None}
    assert starts == {
        "u": [0.0] * 3, "it.A": [0.0, 2.0, 0.0, -3.0, 0.0, 5.0], "it.k": [7.0], "it.x": [0.5, -0.25],
        "it.z": [1.5], "it.n": [4.0], "it.m": [6.0], "it.kept": [0.0] * 3,
    }  # fmt: skip
    nominals = {name: v.nominal for name, v in by_name.items() if v.nominal}
    assert nominals == {"it.x": (2.0, 100.0), "it.z": (1.0,)}
    derivatives = {name: v.derivative_of for name, v in by_name.items() if v.derivative_of is not None}
    assert derivatives == {"der(it.x)": 20, "der(it.z)": 24}
    texts = {name: v.text for name, v in by_name.items() if v.text}
    assert texts == {"time": "time", "x": "left, ", "it.x": "left"}


def test_numbers_by_reference():
    """Kind and place of each, where a variable begins and how many numbers it has; zeros have no place."""
    found = variables(body())
    numbers, sizes = found.numbers, found.sizes
    assert len(numbers) == len(sizes) == 32
    assert numbers[13:20] == [
        ("UNIT_ZERO", 0), ("UNIT_PARAMETER", 0), ("UNIT_ZERO", 0), ("UNIT_PARAMETER", 1), ("UNIT_ZERO", 0),
        ("UNIT_PARAMETER", 2), ("UNIT_PARAMETER", 3),
    ]  # fmt: skip
    assert sizes[:14] == [1, 3, 0, 0, 2, 0, 3, 0, 0, 1, 3, 0, 0, 6] and sizes[-1] == 1
    system = body().system()
    inputs = system.inputs["u"].index.tolist()
    assert numbers[1:4] == [("UNIT_INPUT", k) for k in inputs]
    for name, reference in (("it.n", 26), ("it.m", 27)):
        assert numbers[reference][1] == system.held[name].index[0]
    begins = np.cumsum([0, *(s.size for s in system.signals.values())])
    first = dict(zip(system.signals, begins, strict=False))
    assert found.shown == tuple(
        first[name] + k
        for name, n in (("it.x", 2), ("it.moves", 3), ("it.rests", 1), ("it.held", 3))
        for k in range(n)
    )


def test_units_of_numbers_and_of_variables():
    """Of all numbers if they share one; of a rate the state's per second, where that is known."""
    by_name = {v.name: v for v in variables(body()).every}
    assert by_name["time"].unit == "s"
    assert (by_name["x"].units, by_name["x"].unit) == (("m", "rad"), "")
    assert (by_name["moves"].units, by_name["moves"].unit) == (("N",) * 3, "N")
    assert by_name["it.x"].units == ("m", "rad") and by_name["der(it.x)"].units == ("m/s", "rad/s")
    assert (by_name["it.z"].unit, by_name["der(it.z)"].unit) == ("N", "N/s")  # as the output that shows it
    assert {by_name[name].unit for name in ("it.k", "it.n", "it.m", "rests")} == {""}
    assert (by_name["it.A"].units, by_name["it.A"].unit) == (("kg",) * 6, "kg")


def test_a_block_alone_has_its_own_names_and_the_units_it_declares():
    """Not those of the diagram around it; its state comes behind the output of that name."""
    found = variables(around(Body()), local=["plant.moves"])
    assert [v.name for v in found.every] == [
        "time", "u", "x", "moves", "rests", "held", "A", "k", "moves_2", "x_2", "der(x_2)", "z", "der(z)",
        "n", "m", "kept", "indicators.up.there",
    ]  # fmt: skip
    (u,) = found.of("UNIT_INPUT")
    assert u.units == ("N", "N", "m") and u.name == "u"


def test_names_and_indices_of_single_numbers():
    by_name = {v.name: list(v.scalars()) for v in variables(body()).every}
    assert by_name["it.A"] == [("it.A[1,2]", 1), ("it.A[2,1]", 3), ("it.A[2,3]", 5)]
    assert by_name["it.k"] == [("it.k", 0)] and by_name["x"] == [("x[1]", 0), ("x[2]", 1)]
    assert by_name["der(it.x)"] == [("der(it.x[1])", 0), ("der(it.x[2])", 1)]
    assert by_name["der(it.z)"] == [("der(it.z)", 0)]


def test_of_parts_of_a_diagram_as_locals_only_what_is_new():
    """Not outputs, inputs and states again; components and what differs are; each name once."""

    def local(*names):
        return [(v.name, v.shape) for v in variables(body(), local=names).every if v.kind == "UNIT_SIGNAL"][
            4:
        ]

    assert local("it.x", "it.n", "it.m", "it.k", "it.z", "rests") == []
    assert local("it.moves[1]", "it.x[0]") == [("it.moves[2]", ())]
    d = body()
    d.add("twice", B.Gain(2.0))
    d.connect("it.x -> twice.u")
    found = variables(d, local=["twice.y", "it.moves"], outputs=["it.x[1]"])
    signals = [(v.name, v.causality, v.places, v.shape) for v in found.of("UNIT_SIGNAL")]
    assert signals == [
        ("it.x[2]", "output", (0,), ()), ("twice.y", "local", (1, 2), (2,)),
        ("it.moves", "local", (3, 4, 5), (3,)),
    ]  # fmt: skip
    units = {v.name: v.units for v in found.of("UNIT_SIGNAL")}
    assert units["it.x[2]"] == ("rad",)


def test_names_that_are_taken_get_a_number():
    """Before its index, also where only a component of a vector is called so."""
    d = Diagram("twins")
    for name in ("a-b", "a_b", "a'b", "a\\b", 'a"b'):
        d.add(name, B.Constant(1.0))
    names = [v.name for v in variables(d).outputs]
    assert names == ["'a-b'.y", "a_b.y", "'a_b'.y", "'a_b'.y_2", "'a_b'.y_3"]
    found = variables(body(), outputs=["it.x", "it.x[0]", "it.x[1]", "it.x[0]"]).outputs
    assert [v.name for v in found] == ["it.x", "it.x_2[1]", "it.x_2[2]", "it.x_3[1]"]


def test_the_independent_variable_gives_way_to_an_input_of_that_name():
    d = Diagram("clocked")
    d.connect(d.inport("time"), d.add("g", B.Gain(1.0))["u"])
    assert [v.name for v in variables(d).every][:2] == ["'time'", "time"]


@pytest.mark.parametrize(
    ("equations", "variability"),
    [
        (lambda b: b.output("y", b.time), "continuous"),
        (lambda b: b.output("y", [1.0, b.time]), "continuous"),
        (lambda b: b.output("y", b.tick_time(0.5)), "discrete"),
        (lambda b: b.output("y", b.mode("m", 1.0)), "discrete"),
        (lambda b: b.output("y", 3.0), "discrete"),
        (lambda b: b.output("y", b.delayed(b.time, 0.5)), "continuous"),
    ],
)
def test_signals_are_continuous_where_they_move_between_instants(equations, variability):
    (y,) = variables(alone(equations)).outputs
    assert y.variability == variability


def test_what_follows_an_input_at_once_is_continuous_and_what_samples_it_is_not():
    d = Diagram("follows")
    u = d.inport("u")
    for name, block in (("g", B.Gain(2.0)), ("h", B.Hold(sample=0.1))):
        d.connect(u, d.add(name, block)["u"])
        d.outport(f"of_{name}", f"{name}.y")
    assert [v.variability for v in variables(d).outputs] == ["continuous", "discrete"]


def test_start_values_of_states_on_an_invariant_are_guesses():
    def equations(b):
        x = b.continuous("x", [1.0, 0.0])
        b.derivative(x, [-x[1], x[0]])
        b.invariant(x[0] ** 2 + x[1] ** 2 - 1.0)
        b.output("y", x)

    (x,) = variables(alone(equations)).of("UNIT_STATE")
    assert x.initial == "approx"


def test_a_variable_without_units_has_none():
    v = Exported("v", 3, "UNIT_INPUT", (1, 2), (2,), "input", "continuous", "exact")
    assert (v.size, v.unit, v.start, v.nominal, v.derivative_of) == (2, "", None, (), None)


def test_made_blocks_have_all_signals_as_outputs_where_none_is_named():
    d = alone(lambda b: (b.output("y", 1.0), b.output("z", 2.0)))
    assert [v.name for v in variables(d).outputs] == ["it.y", "it.z"]
    assert isinstance(d.graph.nodes["it"]["block"], Made)
