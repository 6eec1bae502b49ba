"""Values that a user gives to variables of an FMU: what each type takes, and what is said of all else."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cosim.fmi.description import ClockTiming, FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.values import check_items, checked_start, checked_value

ITEMS = {1: "off", 4: "on"}


def described(*variables: Variable, version: str = "3.0") -> FMUDescription:
    return FMUDescription("unit.fmu", version, "unit", "", {v.name: v for v in variables})


def variable(kind: str, shape: tuple[int, ...] = (), **more: Any) -> Variable:
    return Variable("v", 1, kind, "input", "discrete", shape=shape, **more)


def checked(kind: str, value: Any, shape: tuple[int, ...] = (), version: str = "3.0", **more: Any) -> Any:
    v = variable(kind, shape, **more)
    return checked_value(described(v, version=version), v, value)


def refused(match: str, kind: str, value: Any, shape: tuple[int, ...] = (), **more: Any) -> None:
    with pytest.raises(FMUError, match=match) as said:
        checked(kind, value, shape, **more)
    assert (said.value.path, said.value.port) == ("unit.fmu", "v")


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_have_their_limits(bits):
    for kind, low, high in (
        (f"Int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
        (f"UInt{bits}", 0, 2**bits - 1),
    ):
        for value in (low, 0, 1.0, np.int64(7), np.array([3]), high):
            found = checked(kind, value)
            assert found == value and type(found) is int
        for value in (low - 1, high + 1):
            refused(rf"is of type {kind}, from {low} to {high}; got ", kind, value)
        for value in (1.5, True, "1", None, math.inf):
            refused("takes a whole number; got ", kind, value)


def test_enumerations_take_items_by_number_and_name():
    assert [checked("Enumeration", x, items=ITEMS) for x in (1, 4.0, "on")] == [1, 4, 4]
    refused(r"takes one of 1 \(off\), 4 \(on\); got 2", "Enumeration", 2, items=ITEMS)
    refused("no item 'onn'; did you mean 'on'", "Enumeration", "onn", items=ITEMS)
    assert checked("Enumeration", 2**40) == 2**40
    assert checked("Enumeration", 2**31 - 1, version="2.0") == 2**31 - 1
    for value in (2**31, -(2**31) - 1):
        refused("from -2147483648 to 2147483647", "Enumeration", value, version="2.0")
    refused("from -9223372036854775808 to", "Enumeration", 2**63)


def test_real_numbers_are_finite_or_infinite():
    for kind in ("Float64", "Float32"):
        assert [checked(kind, x) for x in (1, Fraction(1, 2), -math.inf)] == [1.0, 0.5, -math.inf]
        for value in (True, "1", 1j):
            refused("takes a number; got ", kind, value)
        refused(r"the value of 'v' is nan, expected a number", kind, math.nan)
    assert checked("Float64", 1e300) == 1e300
    most = float(np.finfo(np.float32).max)
    assert [checked("Float32", x) for x in (most, -most)] == [most, -most]
    for value in (math.nextafter(most, math.inf), -1e39):
        refused(r"Float32, from -3.403e\+38 to 3.403e\+38; got ", "Float32", value)


@pytest.mark.parametrize("kind", ["Boolean", "Clock"])
def test_truth_values(kind):
    found = [checked(kind, x) for x in (True, 0, 1.0, np.bool_(False))]
    assert found == [True, False, True, False] and all(type(x) is bool for x in found)
    for value in (2, 0.5, "yes"):
        refused("takes True or False; got ", kind, value)


def test_texts_and_bytes():
    assert checked("String", "a b") == "a b"
    for value in ("a\0b", b"a", 1):
        refused("takes a text; got ", "String", value)
    assert checked("Binary", bytearray(b"abc"), max_size=3) == b"abc"
    assert checked("Binary", memoryview(b"abcd")) == b"abcd"
    refused(r"takes 3 bytes at most \(maxSize\); got 4", "Binary", b"abcd", max_size=3)
    refused("takes bytes; got ", "Binary", "abc")


def test_arrays_take_a_number_for_all_or_their_own_shape():
    """Raveled, row-major."""
    assert checked("Float64", 2.0, (2, 3)) == [2.0] * 6
    assert checked("Float64", [[1, 2, 3], [4, 5, 6]], (2, 3)) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert checked("Int32", np.arange(6), (2, 3)) == [0, 1, 2, 3, 4, 5]
    assert checked("String", "x", (2,)) == ["x", "x"]
    assert checked("Boolean", [True, 0], (2,)) == [True, False]
    for value, of in (([[1, 2], [3, 4], [5, 6]], r" of shape \(3, 2\)"), ([1, 2, 3], r" of shape \(3,\)")):
        refused(rf"'v' has shape \(2, 3\), got .*{of}", "Float64", value, (2, 3))
    for value in ([[1, 2], [3]], True, []):
        refused(r"'v' has shape \(2, 3\), got ", "Float64", value, (2, 3))
    refused("is of type Int8, from -128 to 127; got 128", "Int8", [1, 128], (2,))
    refused(r"the value of 'v' is nan at index \[1, 0\]", "Float64", [[1, 2], [math.nan, math.nan]], (2, 2))


def start(values: dict[str, Any]) -> dict[str, Any]:
    second = ClockTiming("tunable", Fraction(1))
    return checked_start(
        described(
            Variable("u", 1, "Float64", "input", "continuous"),
            Variable("also", 1, "Float64", "input", "continuous", alias_of="u"),
            Variable("y", 1, "Float64", "output", "continuous", initial="calculated"),
            Variable("z", 3, "Float64", "local", "continuous", initial="calculated"),
            Variable("c", 4, "Float64", "local", "constant", initial="exact"),
            Variable("bytes", 5, "Binary", "parameter", "fixed"),
            Variable("more", 6, "Binary", "parameter", "fixed", shape=(2,)),
            Variable("every", 7, "Clock", "input", "discrete", clock=second),
            Variable("pressed", 8, "Clock", "input", "discrete", clock=ClockTiming("triggered")),
            Variable("own", 9, "Clock", "input", "discrete", clock=ClockTiming("fixed")),
        ),
        values,
    )


def test_start_values_belong_to_the_variable_itself():
    assert start({"also": 2, "every": "1/3", "bytes": "0aFf", "more": ["", b"x"]}) == {
        "u": 2.0, "every": Fraction(1, 3), "bytes": b"\x0a\xff", "more": [b"", b"x"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "words", "hint"),
    [
        ({"u": 1, "also": 2}, r"start of 'also': it is given twice, since 'u' has aliases", None),
        ({"y": 1}, r"start of 'y': it is an output and found by the FMU itself", "another name of 'u'"),
        ({"z": 1}, r"start of 'z': it is a local and found by the FMU itself", None),
        ({"c": 1}, r"start of 'c': it is constant", None),
        ({"u": math.nan}, r"start of 'u' is nan, expected a number", None),
        ({"bytes": "0a0"}, r"'bytes' is of type Binary and takes bytes; got '0a0'", None),
        ({"every": 0}, r"interval of clock 'every' is 0 s, expected above 0", None),
        ({"every": -1}, r"interval of clock 'every' is -1 s, expected above 0", None),
        ({"every": "x"}, r"unit.fmu.* interval of clock 'every'", None),
        ({"pressed": 1}, r"clock 'pressed' is triggered: its interval is not", "ticks when its port rises"),
        ({"own": 1}, r"clock 'own' is fixed: its interval is not the user's to choose", None),
        ({"uu": 1}, r"no variable 'uu'; did you mean 'u'", None),
    ],
)
def test_what_cannot_be_a_start_value(values, words, hint):
    with pytest.raises(FMUError, match=words) as said:
        start(values)
    assert (hint in str(said.value.hint)) if hint else not said.value.hint


def test_items_on_wires():
    free, mode = (
        variable("Float64", (2,)),
        Variable("mode", 2, "Enumeration", "input", "discrete", items=ITEMS),
    )
    last = Variable("last", 3, "Enumeration", "input", "discrete", shape=(2,), items=ITEMS)
    d = described(free, mode, last)
    check_items(d, [free, mode, last], np.array([7.0, 2.0, 1.0, 4.0, 1.0]))
    for place, name in ((2, "mode"), (3, "last"), (4, "last")):
        numbers = np.array([7.0, 2.0, 1.0, 4.0, 1.0])
        numbers[place] = 2.5
        with pytest.raises(FMUError, match=rf"'{name}' takes one of 1 \(off\), 4 \(on\); got 2.5"):
            check_items(d, [free, mode, last], numbers)
