"""Checks that a user's value is one of a variable of an FMU; nothing is rounded or truncated."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from blocks.contract.rate import rational
from blocks.errors import BlockError, near_miss, shown
from cosim.fmi.description import FLOATS, FMUDescription, Variable

HEX = re.compile("([0-9a-fA-F]{2})*")
MOST_SINGLE = float(np.finfo(np.float32).max)
LIMITS = {
    "Int8": (-(2**7), 2**7 - 1), "UInt8": (0, 2**8 - 1),
    "Int16": (-(2**15), 2**15 - 1), "UInt16": (0, 2**16 - 1),
    "Int32": (-(2**31), 2**31 - 1), "UInt32": (0, 2**32 - 1), "Int64": (-(2**63), 2**63 - 1),
    "UInt64": (0, 2**64 - 1), "Enumeration": (-(2**31), 2**31 - 1),
}  # fmt: skip


def checked_value(d: FMUDescription, v: Variable, value: Any, what: str = "") -> Any:
    """A value in the type of its variable: a number, text, bytes, or an array of its shape (raveled).

    what : what messages call a value that is nan; "" names the variable

    Raises
    ------
    FMUError      another type, another shape, out of the type's range, no number
    """
    found = _value(d, v, value)
    if v.type in FLOATS:
        _check_numbers(d, v, found, what or f"the value of '{v.name}'")
    return found


def _value(d: FMUDescription, v: Variable, value: Any) -> Any:
    if not v.shape:
        return _scalar(d, v, value)
    if isinstance(value, (str, bytes)) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return [_scalar(d, v, value)] * v.size
    try:
        array = np.asarray(value, dtype=object)
    except ValueError:
        array = np.zeros(0, dtype=object)
    if array.shape != v.shape and array.shape != (v.size,):
        raise d.fault(
            f"'{v.name}' has shape {v.shape}, got {shown(value)}"
            + (f" of shape {array.shape}" if array.size else ""),
            name=v.name,
        )
    return [_scalar(d, v, e) for e in array.ravel().tolist()]


def _scalar(d: FMUDescription, v: Variable, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    if isinstance(value, np.generic):
        value = value.item()
    if v.type == "String" and isinstance(value, str) and "\0" not in value:
        return value
    if v.type == "Binary" and isinstance(value, (bytes, bytearray, memoryview)):
        if v.max_size is not None and len(value) > v.max_size:
            what = f"'{v.name}' takes {v.max_size} bytes at most (maxSize); got {len(value)}"
            raise d.fault(what, name=v.name)
        return bytes(value)
    if v.type in ("Boolean", "Clock") and (isinstance(value, bool) or value in (0, 1)):
        return bool(value)
    if v.type in FLOATS and isinstance(value, numbers.Real) and not isinstance(value, bool):
        return _fitting(d, v, float(value))
    if v.type in LIMITS and _is_whole(value):
        low, high = LIMITS["Int64" if v.type == "Enumeration" and d.major > 2 else v.type]
        if not low <= value <= high:
            raise d.fault(
                f"'{v.name}' is of type {v.type}, from {low} to {high}; got {shown(value)}", name=v.name
            )
        return _item(d, v, int(value))
    if v.type == "Enumeration" and isinstance(value, str):
        values = {name: number for number, name in v.items.items()}
        if value in values:
            return values[value]
        raise d.fault(f"'{v.name}' has no item '{value}'; {near_miss(value, values)}", name=v.name)
    expected = {
        "String": "a text",
        "Binary": "bytes",
        "Boolean": "True or False",
        "Clock": "True or False",
    }
    wanted = expected.get(v.type, "a number" if v.type in FLOATS else "a whole number")
    raise d.fault(f"'{v.name}' is of type {v.type} and takes {wanted}; got {shown(value)}", name=v.name)


def _fitting(d: FMUDescription, v: Variable, value: float) -> float:
    if v.type == "Float32" and MOST_SINGLE < abs(value) < math.inf:
        what = f"'{v.name}' is of type Float32, from {-MOST_SINGLE:.4g} to {MOST_SINGLE:.4g}"
        raise d.fault(f"{what}; got {value!r}", name=v.name)
    return value


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _item(d: FMUDescription, v: Variable, value: int) -> int:
    if v.type == "Enumeration" and v.items and value not in v.items:
        raise d.fault(f"'{v.name}' takes one of {v.listed_items}; got {value}", name=v.name)
    return value


def checked_start(d: FMUDescription, start: Mapping[str, Any]) -> dict[str, Any]:
    """Values to set before initialisation, each checked, by name; for an alias, by its variable's name.

    Raises
    ------
    FMUError      no such variable (with a near miss), one that cannot be set or has two names here, or no
                  value of it
    """
    found: dict[str, Any] = {}
    for name, value in start.items():
        v = d.variable(name)
        check_has_start(d, v)
        if v.type == "Binary":
            value = _from_digits(value)
        own = v.alias_of or name
        if own in found:
            raise d.fault(f"start of '{name}': it is given twice, since '{own}' has aliases", name=name)
        what = f"start of '{name}'"
        found[own] = checked_value(d, v, value, what) if v.clock is None else _interval(d, v, value)
    return found


def _from_digits(value: Any) -> Any:
    """Bytes from hexadecimal digits, as descriptions have them, for files without a way to write bytes."""
    if isinstance(value, (list, tuple)):
        return [_from_digits(e) for e in value]
    return bytes.fromhex(value) if isinstance(value, str) and HEX.fullmatch(value) else value


def _check_numbers(d: FMUDescription, v: Variable, value: Any, what: str) -> None:
    """Refuse nan: its effect on an FMU is undefined."""
    if type(value) is float and value == value:  # the most frequent path
        return
    places = np.flatnonzero(np.isnan(np.atleast_1d(np.asarray(value, dtype=float))))
    if len(places):
        index = tuple(int(k) for k in np.unravel_index(int(places[0]), v.shape)) if v.shape else ()
        where = f" at index {list(index)}" if index else ""
        raise d.fault(f"{what} is nan{where}, expected a number", name=v.name)


def _interval(d: FMUDescription, v: Variable, value: Any) -> Fraction:
    """The interval of a clock [s], exact."""
    try:
        found = rational(value, f"the interval of clock '{v.name}'")
    except BlockError as error:
        raise d.fault(str(error), name=v.name) from error
    if found <= 0:
        raise d.fault(f"the interval of clock '{v.name}' is {shown(value)} s, expected above 0", name=v.name)
    return found


def check_has_start(d: FMUDescription, v: Variable) -> None:
    """Refuse a variable that cannot be set before initialisation.

    Raises
    ------
    FMUError      it is constant, or calculated
    """
    if not v.is_start_settable and v.clock is not None:
        what = f"clock '{v.name}' is {v.clock.kind}: its interval is not the user's to choose"
        hint = "It ticks when its port rises." if v in d.triggers else None
        raise d.fault(what, hint, v.name)
    if not v.is_start_settable:
        what = f"is {_article(v)} and found by the FMU itself"
        what = "is constant" if v.variability == "constant" else what
        same = (u for u in d.variables.values() if (u.type, u.reference) == (v.type, v.reference))
        settable = next((u.name for u in same if u.is_start_settable), None)
        hint = None if settable is None else f"It is another name of '{settable}': give that one."
        raise d.fault(f"start of '{v.name}': it {what}", hint, v.name)


def _article(v: Variable) -> str:
    return "an output" if v.causality == "output" else f"a {v.causality}"


def check_items(d: FMUDescription, variables: Sequence[Variable], values: np.ndarray) -> None:
    """Refuse numbers (n,) that are not items of their variable's enumeration.

    Raises
    ------
    FMUError      it says which number, and the items
    """
    start = 0
    for v in variables:
        for number in values[start : start + v.size]:
            if v.items and number not in v.items:
                raise d.fault(f"'{v.name}' takes one of {v.listed_items}; got {float(number)!r}", name=v.name)
        start += v.size
