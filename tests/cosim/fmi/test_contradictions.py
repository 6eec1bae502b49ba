"""Contradictions in model descriptions, each named in words, and what a reader changes to take them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from lxml import etree

from cosim.fmi.contradictions import check_counts, contradictions, no_states, odd_elements, wrong_indices
from cosim.fmi.description import Dependent, Experiment, FMUDescription, Interface, Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.repairs import repaired, written
from cosim.fmi.tolerated import tolerated


def parsed(text: str) -> Any:
    return etree.fromstring(text)


def variable(name: str = "v", kind: str = "Float64", **more: Any) -> Variable:
    return Variable(name, 1, kind, "local", "continuous", line=3, **more)


def described(*variables: Variable, **more: Any) -> FMUDescription:
    return FMUDescription("unit.fmu", "3.0", "unit", "", {v.name: v for v in variables}, **more)


STRUCTURE = """<fmiModelDescription>
<ModelVariables>
<!-- two variables -->
<ScalarVariable><Real/></ScalarVariable>
<ScalarVariable><Real derivative="{0}"/></ScalarVariable>
</ModelVariables>
<ModelStructure>
<Outputs><Unknown index="{1}" dependencies="{2}"/></Outputs>
</ModelStructure>
</fmiModelDescription>"""


def test_indices_are_those_of_variables():
    assert wrong_indices(parsed(STRUCTURE.format("1", "2", "1 2 x"))) == []
    assert wrong_indices(parsed(STRUCTURE.format("3", "0", "2 -1"))) == [
        "Unknown (line 8) has index 0, but variables are numbered from 1 to 2",
        "Unknown (line 8) has dependencies -1, but variables are numbered from 1 to 2",
        "Real (line 5) has derivative 3, but variables are numbered from 1 to 2",
    ]
    assert wrong_indices(parsed("<a><ModelStructure><Unknown index='1'/></ModelStructure></a>")) == [
        "Unknown (line 1) has index 1, but variables are numbered from 1 to 0"
    ]


def test_what_cannot_be_a_state():
    rate = lambda of, **more: variable("r", derivative_of=of, **more)
    entries = {"derivatives": (Dependent("r"),)}
    assert no_states(described(variable("x"), rate("x"), **entries)) == []
    assert no_states(described(variable("x"), rate(None), **entries)) == []
    start = "'r' (line 3) is the derivative of "
    assert no_states(described(rate("r"), **entries)) == [start + "itself"]
    found = no_states(described(variable("x", "Int32"), rate("x"), **entries))
    assert found == [start + "'x', which is of type Int32"]
    found = no_states(described(variable("x", shape=(2,)), rate("x", shape=(3,)), **entries))
    assert found == [start + "'x', which has 2 components instead of 3"]


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        (Experiment(0.0, 0.0, step=0.1), []),
        (Experiment(1.0, None), []),
        (Experiment(step=0.0), ["the step size of its default experiment is 0 s"]),
        (Experiment(step=-1.0), ["the step size of its default experiment is -1 s"]),
        (Experiment(2.0, 1.0), ["its default experiment ends at 1 s, before it begins at 2 s"]),
    ],
)
def test_experiments(experiment, said):
    assert contradictions(described(experiment=experiment)) == said


def test_derivatives_that_the_structure_does_not_list():
    both = variable("x"), variable("r", derivative_of="x")
    me = Interface("me", "unit")
    (said,) = contradictions(described(*both, me=me))
    assert said.startswith("variable 'r' (line 3) is the derivative of 'x', but the structure lists no")
    assert contradictions(described(*both)) == []
    assert contradictions(described(*both, me=me, derivatives=(Dependent("r"),))) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"minimum": 1.0, "maximum": 1.0, "start": 1.0}, None),
        ({"minimum": 2.0, "maximum": 1.0, "start": 5.0}, "has min 2 above max 1"),
        ({"minimum": 1.0, "start": 0.5}, "starts with 0.5, below its min 1"),
        ({"maximum": 1.0, "start": (0.5, 1.5)}, "starts with 1.5, above its max 1"),
        ({"minimum": 1.0, "start": (1.0, 0.25), "shape": (2,)}, "starts with 0.25, below its min 1"),
        ({"start": math.nan}, "has a start value that is no number"),
        ({"start": (1.0, math.nan)}, "has a start value that is no number"),
        ({"kind": "Enumeration", "items": {1: "a", 2: "b"}, "start": 2}, None),
        ({"kind": "Enumeration", "items": {1: "a", 2: "b"}, "start": 3},
         "has start=3, which is none of 1 (a), 2 (b)"),
        ({"kind": "Boolean", "minimum": 1.0, "start": False}, None),
        ({"kind": "Binary", "max_size": 2, "start": b"ab"}, None),
        ({"kind": "Binary", "max_size": 2, "start": (b"a", b"abc")},
         "has a start value of more bytes than its maxSize 2"),
        ({"kind": "Binary", "max_size": 2}, None),
    ],
)  # fmt: skip
def test_start_values(more, said):
    found = contradictions(described(variable(**more)))
    assert found == ([] if said is None else [f"variable 'v' (line 3) {said}"])


ODD = """<fmiModelDescription>
<TypeDefinitions>
<EnumerationType name="e">
<Item name="a" value="1"/><Item name="a" value="2"/><Item name="b" value="2"/></EnumerationType>
<SimpleType name="s">
<Enumeration><Item name="a" value="1"/><Item name="b" value="1"/></Enumeration></SimpleType>
<EnumerationType name="good"><Item name="a" value="1"/><Item name="b" value="2"/></EnumerationType>
</TypeDefinitions>
<ModelVariables>
<!-- none --><Float64 name=" "/><Float64 name="x"/><Float64/>
</ModelVariables>
<ModelStructure>
<!-- none -->
<Output dependencies="1 2" dependenciesKind="fixed"/><Output dependencies="1" dependenciesKind="fixed"/>
<Output dependenciesKind="fixed"/><Output dependencies="1"/>
</ModelStructure>
</fmiModelDescription>"""


def test_odd_elements_are_named_with_their_line():
    assert odd_elements(parsed(ODD)) == [
        "the variable in line 10 has an empty name, by which nobody can wire or set it",
        "enumeration 's' (line 5) has several items of value 1; the last one counts",
        "enumeration 'e' (line 3) has several items of name a; the last one counts",
        "enumeration 'e' (line 3) has several items of value 2; the last one counts",
        "Output (line 14) has 1 dependenciesKind for 2 dependencies",
        "Output (line 15) has 1 dependenciesKind for 0 dependencies",
    ]
    assert odd_elements(parsed("<fmiModelDescription/>")) == []


def test_numbers_of_states_and_indicators_are_those_of_the_binary():
    unit = lambda *said: SimpleNamespace(
        counts=lambda: said or None, description=SimpleNamespace(file="unit.fmu")
    )
    check_counts(unit(2, 3), 2, 3)
    check_counts(unit(), 2, 3)
    with pytest.raises(FMUCallError, match=r"its description has 2 states, its binary 1\."):
        check_counts(unit(1, 3), 2, 3)
    with pytest.raises(FMUCallError, match=r"its description has 3 event indicators, its binary 4\."):
        check_counts(unit(2, 4), 2, 3)


# --- what is left out -----------------------------------------------------------------------------
LOOSE = """<fmiModelDescription fmiVersion="{0}" odd="1">
<Strange/>
<LogCategories/>
<ModelVariables><Float64 name="x" strange="2"/></ModelVariables>
<CoSimulation/>
<ModelStructure/>
</fmiModelDescription>"""


def problem(line: int, tag: str, said: str, attribute: str = "") -> str:
    where = f", attribute '{attribute}'" if attribute else ""
    return f"ERROR (line {line}, column 0): Element '{tag}'{where}: {said}"


UNKNOWN = "The attribute '{}' is not allowed."
UNEXPECTED = "This element is not expected."
EMPTY = "Missing child element(s)."


def test_what_matters_to_no_run_is_left_out():
    root = parsed(LOOSE.format("3.0"))
    assert tolerated(root, [
        problem(1, "fmiModelDescription", UNKNOWN.format("odd"), "odd"), problem(2, "Strange", UNEXPECTED),
        problem(3, "LogCategories", EMPTY), problem(4, "Float64", UNKNOWN.format("strange"), "strange"),
        problem(5, "CoSimulation", UNEXPECTED),
    ])  # fmt: skip
    assert [e.tag for e in root] == ["CoSimulation", "ModelVariables", "ModelStructure"]
    assert dict(root.attrib) == {"fmiVersion": "3.0"} and dict(root[1][0].attrib) == {"name": "x"}


@pytest.mark.parametrize(
    "other",
    [
        "something else",
        problem(9, "Strange", UNEXPECTED),  # not in that line
        problem(4, "Float64", UNEXPECTED),  # not a child of the root
        problem(4, "Float64", EMPTY),  # no list
        problem(4, "Float64", UNKNOWN.format("there"), "there"),  # no such attribute
        problem(4, "Float64", "The value 'x' is no number.", "name"),
        problem(2, "Strange", "Another thing."),
    ],
)
def test_nothing_is_changed_where_one_problem_matters(other):
    root = parsed(LOOSE.format("2.0"))
    before = etree.tostring(root)
    assert not tolerated(root, [problem(2, "Strange", UNEXPECTED), other])
    assert etree.tostring(root) == before
    assert not tolerated(root, [])


def test_lists_with_entries_and_elements_in_order_are_no_reason():
    text = "<fmiModelDescription fmiVersion='2.0'><LogCategories><a/></LogCategories></fmiModelDescription>"
    assert not tolerated(parsed(text), [problem(1, "LogCategories", EMPTY)])
    assert not tolerated(parsed(text), [problem(1, "LogCategories", UNEXPECTED)])


# --- what is written as the reader takes it -------------------------------------------------------
TYPES = """<fmiModelDescription>
<TypeDefinitions>
<!-- gone -->
<ClockType name="fast" intervalVariability="fixed" intervalDecimal="0.5" priority="1" description="d"/>
<BinaryType name="picture" mimeType="image/png" maxSize="9"><!-- gone as well --></BinaryType>
<BinaryType name="plain"/>
</TypeDefinitions>
<ModelVariables>
<Clock name="a" declaredType="fast"/>
<Clock name="b" declaredType="fast" intervalCounter="3" priority="2"/>
<Clock name="c"/>
<Binary name="d" declaredType="picture" maxSize="5"/>
<Binary name="e" declaredType="plain" clocks=" 1  2 "/>
</ModelVariables>
<ModelStructure>
<Output dependencies="1\t2" dependenciesKind="fixed  fixed"/><Output dependencies="1 2"/></ModelStructure>
</fmiModelDescription>"""


def test_types_stand_at_their_variables_afterwards():
    root = parsed(TYPES)
    assert repaired(root)
    found = {v.get("name"): dict(v.attrib) for v in root.find("ModelVariables")}
    assert found == {
        "a": {"name": "a", "intervalVariability": "fixed", "intervalDecimal": "0.5", "priority": "1"},
        "b": {"name": "b", "intervalVariability": "fixed", "intervalCounter": "3", "priority": "2"},
        "c": {"name": "c"},
        "d": {"name": "d", "declaredType": "picture", "mimeType": "image/png", "maxSize": "5"},
        "e": {"name": "e", "declaredType": "plain", "clocks": "1 2"},
    }
    assert [dict(e.attrib) for e in root.find("ModelStructure")] == [
        {"dependencies": "1 2", "dependenciesKind": "fixed fixed"}, {"dependencies": "1 2"},
    ]  # fmt: skip
    assert b"gone as well" not in written(root) and b'maxSize="9"' not in written(root)
    assert not repaired(root)  # once is enough
