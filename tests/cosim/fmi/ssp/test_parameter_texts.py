"""Values in the XML of parameter sets: read as their type says, written as they are read."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from cosim.fmi.ssp.parameter_texts import check_size, read_value, truth, write_value

CHILD = "{http://ssp-standard.org/SSP1/SystemStructureParameterValues}Value"


def element(whole: str | None = None, *each: str) -> Any:
    found = etree.Element("x")
    if whole is not None:
        found.set("value", whole)
    for text in each:
        etree.SubElement(found, CHILD, value=text)
    return found


@pytest.mark.parametrize(
    ("word", "text", "value"),
    [
        ("Real", "1.5e3", 1500.0),
        ("Real", "7", 7),
        ("Integer", "-12", -12),
        ("Int64", "+9007199254740993", 2**53 + 1),
        ("Float64", "1 2.5 -3", (1, 2.5, -3)),
        ("Boolean", "true", True),
        ("Boolean", "0 1 false", (False, True, False)),
        ("String", "a b", "a b"),
        ("String", "", ""),
        ("Enumeration", "on", "on"),
        ("Binary", "0aFF", b"\x0a\xff"),
    ],
)
def test_a_value_of_each_type(word, text, value):
    found = read_value(element(text), word)
    assert found == value and type(found) is type(value)


def test_arrays_of_texts_have_an_element_each():
    assert read_value(element(None, "a b", "", "c"), "String") == ("a b", "", "c")
    assert read_value(element(None, "00", "ff"), "Binary") == (b"\0", b"\xff")
    assert read_value(element(None, "1 2", "3"), "Real") == (1, 2, 3)
    assert read_value(element(None, "one"), "String") == "one"
    other = element("7")
    other.append(etree.Comment("{}Value"))
    etree.SubElement(other, "{x}Other", value="8")
    assert read_value(other, "Real") == 7


@pytest.mark.parametrize(
    ("typed", "word", "said"),
    [
        (element(), "Real", "has no value"),
        (element("1", "2"), "Real", "has its value twice"),
        (element("1 x"), "Real", "is '1 x', which is no Real"),
        (element(""), "Integer", "is '', which is no Integer"),
        (element("True"), "Boolean", "is 'True', which is no Boolean"),
        (element("0g"), "Binary", "is '0g', which is no Binary"),
    ],
)
def test_what_is_no_value(typed, word, said):
    with pytest.raises(ValueError, match=f"^{said}$"):
        read_value(typed, word)


def test_truth_values_are_spelled_as_in_schemas():
    assert [truth(text) for text in ("true", "1", "false", "0")] == [True, True, False, False]
    for text in ("TRUE", "yes", ""):
        with pytest.raises(ValueError, match=f"^{text}$"):
            truth(text)


def test_sizes_are_those_of_the_dimensions():
    sizes = lambda *given: [{} if size is None else {"size": size} for size in given]
    six = (1, 2, 3, 4, 5, 6)
    for good in ((), (None,), ("2", None), ("2", "3"), ("6",)):
        check_size(six, sizes(*good))
    check_size(7.0, sizes("2", "3"))  # one for all
    with pytest.raises(ValueError, match="^has 6 values, its dimensions say 4$"):
        check_size(six, sizes("2", "2"))
    for bad in ("x", "-2", "\u0663"):
        with pytest.raises(ValueError, match=f"^has the dimensions 2 {bad}, expected whole numbers$"):
            check_size(six, sizes("2", bad))


@pytest.mark.parametrize(
    ("value", "text", "each"),
    [
        (1.5, "1.5", []), (True, "true", []), (False, "false", []), ("a b", "a b", []), (b"\x0a", "0a", []),
        ([1, 2.5], "1 2.5", []), ((True, False), "true false", []), (["a b", ""], None, ["a b", ""]),
        ([b"\x00", b"\xff"], None, ["00", "ff"]), (0.1, "0.1", []),
    ],
)  # fmt: skip
def test_values_are_written_as_they_are_read(value, text, each):
    typed = etree.Element("x")
    write_value(typed, value, CHILD)
    assert typed.get("value") == text and [e.get("value") for e in typed] == each
    assert all(e.tag == CHILD for e in typed)
