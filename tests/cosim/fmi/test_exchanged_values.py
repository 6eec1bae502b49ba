"""Values that go to an FMU and come from it: their order, their types in C, and what these cannot hold.

The FMU is a table: functions write values into it, and read them out of it, by reference.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cosim.fmi.description import Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.caller import Caller
from cosim.fmi.interface.dialect import DIALECTS
from cosim.fmi.interface.exchange import Getter, Setter, get_any, set_any

CTYPE = {word: kind for word, kind, _ in DIALECTS[3].types.values()}
CTYPE |= {"Real": "double", "Integer": "int", "String": "char *", "Boolean2": "int"}


class Table:
    """The functions of an FMU that stand for a table of lists of values by reference."""

    def __init__(self, major: int = 3, status: int = 0) -> None:
        self.major, self.status, self.known, self.file = major, status, {}, "unit.fmu"
        self.values: dict[int, list[Any]] = {}
        self.calls: list[tuple[str, int, tuple[int, ...]]] = []
        log = SimpleNamespace(name="unit", shown=lambda: "It said nothing.", problem=None)
        self.call = Caller(self, DIALECTS[major].prefix, log)  # type: ignore[arg-type]
        self.call.time = 0.5

    def function(self, name: str) -> Any:
        assert name[:4] == f"fmi{self.major}"
        verb, word = name[4:7], name[7:]
        kind = "int" if self.major == 2 and word == "Boolean" else CTYPE[word]

        def called(component: Any, references: Any, n: int, pointer: Any, *counts: int) -> int:
            self.calls.append((name[4:], n, counts))
            values, at = ffi().cast(f"{kind} *", pointer), 0
            for k in range(n):
                kept = self.values[references[k]]
                for i in range(len(kept)):
                    if verb == "Get":
                        values[at] = kept[i]
                    elif kind == "char *":
                        kept[i] = ffi().string(values[at]).decode()
                    else:
                        kept[i] = values[at]
                    at += 1
            assert counts == ((at,) if self.major == 3 else ())
            return self.status

        return called

    @property
    def given(self) -> tuple[Any, Any]:
        """What getters and setters begin with."""
        return self.call, DIALECTS[self.major]


def variable(name: str, reference: int, kind: str, shape: tuple[int, ...] = (), **more: Any) -> Variable:
    return Variable(name, reference, kind, "input", "discrete", shape=shape, **more)


MIXED = [
    variable("a", 1, "Float64"), variable("n", 2, "Int32", (2,)), variable("b", 3, "Float64", (1, 3)),
    variable("none", 4, "Float64", (0,)), variable("flag", 5, "Boolean"), variable("far", 6, "Int64"),
    variable("m", 7, "Int32"), variable("s", 8, "Float32"),
]  # fmt: skip
NUMBERS = [1.5, -7.0, 8.0, 0.25, 0.5, 0.75, 1.0, 2.0**53, 9.0, 0.125]


def test_values_of_all_types_stand_in_the_order_of_the_variables():
    """One call for each type, whose members need not be neighbours."""
    t = Table()
    t.values = {v.reference: [0] * v.size for v in MIXED}
    setter, getter = Setter(*t.given, MIXED), Getter(*t.given, MIXED)
    assert setter.size == getter.size == len(NUMBERS)
    setter.write(np.array(NUMBERS))
    assert t.values == {
        1: [1.5], 2: [-7, 8], 3: [0.25, 0.5, 0.75], 4: [], 5: [True], 6: [2**53], 7: [9], 8: [0.125],
    }  # fmt: skip
    assert getter.read().tolist() == NUMBERS
    assert [call[:2] for call in t.calls[:5]] == [
        ("SetFloat64", 2), ("SetInt32", 2), ("SetBoolean", 1), ("SetInt64", 1), ("SetFloat32", 1),
    ]  # fmt: skip
    assert [call[0] for call in t.calls[5:]] == [call[0].replace("Set", "Get") for call in t.calls[:5]]


def test_numbers_of_one_type_go_through_as_they_are():
    t = Table(2)
    pair = [variable("a", 4, "Float64"), variable("b", 2, "Float64")]
    t.values = {4: [0.0], 2: [0.0]}
    Setter(*t.given, pair).write(np.array([math.inf, -0.1]))
    assert t.values == {4: [math.inf], 2: [-0.1]}
    assert Getter(*t.given, pair).read().tolist() == [math.inf, -0.1]
    assert t.calls == [("SetReal", 2, ()), ("GetReal", 2, ())]
    assert Getter(*t.given, []).read().tolist() == []


ITEMS = {1: "off", 4: "on"}


@pytest.mark.parametrize(
    ("kind", "taken", "refused", "words"),
    [
        ("Int8", (-128, 127), (-129, 128), "only whole numbers from -128 to 127"),
        ("UInt8", (0, 255), (-1, 256), "only whole numbers from 0 to 255"),
        ("Int16", (-(2**15), 2**15 - 1), (-(2**15) - 1, 2**15), "from -32768 to 32767"),
        ("UInt16", (0, 2**16 - 1), (-1, 2**16), "from 0 to 65535"),
        ("Int32", (-(2**31), 2**31 - 1), (2**31,), "from -2147483648 to 2147483647"),
        ("UInt32", (0, 2**32 - 1), (2**32,), "from 0 to 4294967295"),
        ("Int64", (-(2**53), 2**53), (2**53 + 2, -(2**53) - 2), "from -9007199254740992 to 9007199254740992"),
        ("UInt64", (0, 2**53), (-1, 2**53 + 2), "from 0 to 9007199254740992"),
        ("Enumeration", (1, 4), (0, 2, 3, 5), r"only 1 \(off\), 4 \(on\)"),
        ("Float32", (0.5, math.nan, math.inf, -math.inf, 3.4028234663852886e38), (3.5e38, -1e300),
         r"only numbers from -3\.403e\+38 to 3\.403e\+38"),
        ("Boolean", (0, 1, -2), (math.nan,), r"cannot take nan\."),
    ],
)  # fmt: skip
def test_what_a_type_holds_is_taken_and_nothing_else(kind, taken, refused, words):
    """The message names the scalar's variable, of several."""
    t = Table()
    items = {"items": ITEMS} if kind == "Enumeration" else {}
    pair = [variable("one", 1, kind, (2,), **items), variable("other", 2, kind, (2,), **items)]
    t.values = {1: [0, 0], 2: [0, 0]}
    setter, good = Setter(*t.given, pair), float(taken[0])
    for value in taken:
        setter.write(np.array([good, good, value, good]))
        if value == value:
            assert t.values[2][0] == (value != 0 if kind == "Boolean" else value)
        else:
            assert t.values[2][0] != t.values[2][0]
    kept = [list(t.values[1]), list(t.values[2])]
    beyond = [float(v) for v in refused]
    whole = [0.5, math.nan, math.inf] if "whole" in words else []
    for place, name in ((1, "one"), (2, "other")):
        for value in (*beyond, *whole):
            numbers = np.full(4, good)
            numbers[place] = value
            with pytest.raises(
                FMUCallError, match=rf"'unit.fmu', instance 'unit': '{name}' is .*{words}"
            ) as said:
                setter.write(numbers)
            error = said.value
            assert (error.port, error.time, error.path) == (name, 0.5, "unit")
            assert error.value == value or value != value
            cure = "Look for" if value != value else "Round" if value % 1 == 0.5 else "Limit"
            assert (error.hint or "").startswith(cure)
    assert [t.values[1], t.values[2]] == kept


def test_integers_that_no_wire_holds_are_refused_when_they_are_read():
    t = Table()
    three = [variable("one", 1, "UInt64"), variable("two", 2, "UInt64", (2,)), variable("last", 3, "UInt64")]
    t.values = {1: [2**53], 2: [1, 2], 3: [2**53]}
    getter = Getter(*t.given, three)
    assert getter.read().tolist() == [2.0**53, 1.0, 2.0, 2.0**53]
    for reference, k, name in ((1, 0, "one"), (2, 0, "two"), (2, 1, "two"), (3, 0, "last")):
        kept, t.values[reference][k] = t.values[reference][k], 2**53 + 1
        with pytest.raises(FMUCallError, match=rf"'{name}' is 9007199254740993, .* \(2\^53 is") as said:
            getter.read()
        assert (said.value.port, said.value.value, said.value.time) == (name, 2**53 + 1, 0.5)
        t.values[reference][k] = kept
    negative = variable("low", 9, "Int64")
    t.values[9] = [-(2**53)]
    assert Getter(*t.given, [negative]).read().tolist() == [-(2.0**53)]
    t.values[9] = [-(2**53) - 1]
    with pytest.raises(FMUCallError, match="'low' is -9007199254740993"):
        Getter(*t.given, [negative]).read()


@pytest.mark.parametrize(
    ("count", "words"), [(3, "for 'v0', 'v1', 'v2'"), (5, "for 'v0', 'v1', 'v2' and 2 more")]
)
def test_a_call_that_fails_names_its_variables(count, words):
    t = Table(status=1)
    some = [variable(f"v{k}", k, "Float64") for k in range(count)]
    t.values = {k: [float(k)] for k in range(count)}
    assert Getter(*t.given, some).read().tolist() == list(range(count))  # with a warning
    t.status = 3
    with pytest.raises(FMUCallError, match=rf"fmi3GetFloat64 returned error \({words}\) at t=0.5 s"):
        Getter(*t.given, some).read()
    with pytest.raises(FMUCallError, match="fmi3SetFloat64 returned error"):
        Setter(*t.given, some).write(np.zeros(count))


@pytest.mark.parametrize("major", [2, 3])
def test_single_variables_of_any_type(major):
    t = Table(major)
    if major == 3:
        text, flags = variable("text", 1, "String", (2,)), variable("flags", 2, "Boolean", (2, 1))
        t.values = {1: ["", ""], 2: [0, 1], 3: [2**63 + 1]}
        assert get_any(*t.given, variable("n", 3, "UInt64")) == 2**63 + 1  # no digit is lost
        found = get_any(*t.given, flags)
        assert (found.tolist(), found.dtype) == ([[False], [True]], bool)
        set_any(*t.given, flags, [True, False])
        assert t.values[2] == [True, False]
        set_any(*t.given, text, ["\u00e4", "b"])
        assert t.values[1] == ["\u00e4", "b"]
    else:
        t.values = {1: [""], 2: [1], 3: [-5]}
        set_any(*t.given, variable("text", 1, "String"), "\u00e4")
        assert t.values[1] == ["\u00e4"]
        assert get_any(*t.given, variable("flag", 2, "Boolean")) is True
        set_any(*t.given, variable("n", 3, "Int32"), 12)
        assert get_any(*t.given, variable("n", 3, "Int32")) == 12


def test_bytes_at_no_address_are_an_error():
    """The process ended where they were read."""
    t = Table(3)

    def sizes_only(component: Any, references: Any, n: int, sizes: Any, values: Any, total: int) -> int:
        sizes[0] = 5
        return 0

    t.known["GetBinary"] = sizes_only
    with pytest.raises(FMUCallError, match=r"fmi3GetBinary returned ok \(and 5 bytes of 'b' at no address\)"):
        get_any(*t.given, variable("b", 1, "Binary"))
