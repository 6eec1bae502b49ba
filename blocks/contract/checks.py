"""Checks of a block's fields, made once when the block is constructed.

Arrays become nested tuples of floats, so that blocks stay immutable, comparable, hashable and picklable.
Every complaint is a `BlockError` that names the class, the field, what was given, what is expected and the
cure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Set
from fractions import Fraction
from typing import Any

import numpy as np

from blocks.arguments import is_whole, real_numbers
from blocks.contract.exact_instants import moments
from blocks.contract.rate import LONGEST, Rate, Ticks, instant
from blocks.errors import BlockError, near_miss, shown

PLAIN = (int, float, np.integer, np.floating)  # numbers
KINDS_OF_ARRAY = {0: "a number", 1: "a vector (n,)", 2: "a matrix (m, n)"}


def assign(block: Any, **values: Any) -> None:
    """Replace fields of a frozen dataclass; for ``__post_init__`` only."""
    for name, value in values.items():
        object.__setattr__(block, name, value)


def fault(block: Any, field: str, what: str, expected: str, hint: str = "") -> BlockError:
    """The error about one field: ``<class>: <field> <what>, expected <expected>. <cure>``."""
    value = getattr(block, field)
    found = " ".join(what.split())
    found, expected = (text if len(text) <= 200 else f"{text[:197]}..." for text in (found, expected))
    return BlockError(
        f"{type(block).__name__}: {field} {found}, expected {expected}.", value=value, hint=hint or None
    )


def _array(block: Any, field: str, dims: tuple[int, ...], infinite: bool) -> np.ndarray:
    given = getattr(block, field)
    expected = " or ".join(KINDS_OF_ARRAY.get(d, f"{d} axes") for d in dims)
    try:
        array = real_numbers(given)
    except (OverflowError, TypeError, ValueError):
        hint = "Give every row the same length and real numbers only." if 2 in dims else ""
        raise fault(block, field, f"is {shown(given)}", expected, hint) from None
    if array.ndim not in dims or array.size == 0:
        raise fault(block, field, f"has shape {array.shape}", expected)
    if np.any(np.isnan(array)) or not (infinite or np.all(np.isfinite(array))):
        where = "missing value was computed" if np.any(np.isnan(array)) else "number was divided by 0"
        raise fault(block, field, f"is {shown(given)}", "finite numbers", f"Look where the {where}.")
    return array


def _tuples(nested: Any) -> Any:
    if not isinstance(nested, list):
        return nested
    return tuple(map(_tuples, nested)) if nested and isinstance(nested[0], list) else tuple(nested)


def numbers(block: Any, field: str, dims: tuple[int, ...] = (0, 1), infinite: bool = False) -> Any:
    """A number, vector or matrix as float or nested tuples of floats.

    Parameters
    ----------
    dims : tuple of int     allowed numbers of dimensions
    infinite : bool         are +-inf allowed (limits)? nan never is
    """
    return _tuples(_array(block, field, dims, infinite).tolist())


def matrix(block: Any, field: str, shape: tuple[int | None, int | None], vector: str = "row") -> Any:
    """A matrix (m, n) as a tuple of rows; None in `shape` leaves that size open.

    A scalar counts as 1 x 1, a vector as one row or, with ``vector="column"``, as one column.
    """
    array = _array(block, field, (0, 1, 2), infinite=False)
    if array.ndim < 2:
        array = array.reshape(-1, 1) if vector == "column" else array.reshape(1, -1)
    if any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        rows, columns = ("any" if s is None else s for s in shape)
        raise fault(block, field, f"has shape {array.shape}", f"({rows}, {columns})")
    return _tuples(array.tolist())


def positive(block: Any, field: str, unit: str = "", hint: str = "") -> None:
    """Refuse anything not above zero."""
    if np.any(np.asarray(getattr(block, field), dtype=float) <= 0):
        raise fault(block, field, f"is {shown(getattr(block, field))}{unit}", f"more than 0{unit}", hint)


MOST = 10**6  # components of one block
PORTS = 10**5  # ports of one block
PORT = 27_000  # bytes a port takes, measured on a Mux of 10000


def count(block: Any, field: str, least: int = 1, most: int = MOST) -> int:
    """An int from `least` to `most`."""
    value = getattr(block, field)
    if not is_whole(value) or not least <= value <= most:
        raise fault(block, field, f"is {shown(value)}", f"an integer of at least {least} and at most {most}")
    return int(value)


def ports(block: Any, field: str) -> int:
    """A number of ports, from one to what memory and time allow."""
    value = getattr(block, field)
    if is_whole(value):
        _fit(block, field, value)
    return count(block, field)


def _fit(block: Any, field: str, value: int) -> None:
    """Refuse a number of ports that memory and time do not allow."""
    if value > PORTS:
        size = f"{PORT * value / 2**30:.3g}" if value < 10**15 else "endless"
        what = f"is {shown(getattr(block, field))}, so many ports, which need {size} GB of memory"
        raise fault(block, field, what, f"at most {PORTS}", "Use signals of several components.")


def counts(block: Any, field: str, least: int) -> tuple[int, ...]:
    """A non-empty sequence of ints, each at least `least`."""
    value = getattr(block, field)
    try:
        items = [] if isinstance(value, (Mapping, Set)) else list(value)
    except TypeError:
        items = []
    plain = all(map(is_whole, items))
    if not items or not plain or any(not least <= v <= MOST for v in items):
        expected = f"a list of integers of at least {least} and at most {MOST}"
        raise fault(block, field, f"is {shown(value)}", expected)
    return tuple(int(v) for v in items)


def flag(block: Any, field: str) -> bool:
    """True or False."""
    value = getattr(block, field)
    if not isinstance(value, (bool, np.bool_)):
        raise fault(block, field, f"is {shown(value)}", "True or False")
    return bool(value)


def choice(block: Any, field: str, choices: Iterable[str]) -> None:
    """Refuse a word that is not one of `choices`, offering the nearest."""
    value, known = getattr(block, field), list(choices)
    if not isinstance(value, str) or value not in known:
        cure = near_miss(shown(value), known)
        listed = " or ".join(f'"{c}"' for c in known)
        raise fault(block, field, f"is {shown(value)}", listed, cure[0].upper() + cure[1:])


def signs(block: Any, field: str, alphabet: str) -> str:
    """A word over `alphabet` such as "+-"; an int n means n times its first letter."""
    value = getattr(block, field)
    if is_whole(value) and value >= 1:
        return alphabet[0] * ports(block, field)
    if isinstance(value, str):
        _fit(block, field, len(value))
    if not isinstance(value, str) or not value or set(value) - set(alphabet):
        letters = " and ".join(f'"{letter}"' for letter in alphabet)
        raise fault(
            block, field, f"is {shown(value)}", f"one of {letters} per input, or the number of inputs"
        )
    return value


def limits(block: Any) -> None:
    """Check ``low`` and ``high`` (None leaves a side open); refuse low > high and sizes that differ."""
    sides = ("low", "high")
    assign(block, **{s: numbers(block, s, infinite=True) for s in sides if getattr(block, s) is not None})
    if block.low is None or block.high is None:
        return
    low, high = np.asarray(block.low), np.asarray(block.high)
    if low.ndim and high.ndim and low.shape != high.shape:
        raise fault(block, "low", f"has {low.size} components", f"{high.size} as in high, or one number")
    if np.any(low > high):
        raise fault(block, "low", f"is {block.low}", f"at most high = {block.high}", "Exchange them.")


def rate(block: Any, optional: bool = False) -> None:
    """Check ``sample`` and ``offset``; with `optional` a sample time of None means continuous."""
    name = type(block).__name__
    if block.sample is None:
        if not optional:
            raise BlockError(f"{name} needs a sample time.", hint="Give one in seconds, as in sample=0.01.")
        if not (isinstance(block.offset, (int, float, Fraction)) and block.offset == 0):
            raise fault(block, "offset", f"is {block.offset!r} without a sample time", "0", "Give sample=...")
        return
    given = block.sample
    if isinstance(given, (list, tuple)) and len(given) == 2:
        hint = f"Write sample={shown(given[0])}, offset={shown(given[1])}."
        raise fault(block, "sample", f"is {shown(given)}", "a number of seconds", hint)
    odd = (bool, np.bool_, np.timedelta64)
    for field in ("sample", "offset"):
        found = getattr(block, field)
        if isinstance(found, odd) or not isinstance(found, (str, Fraction, *PLAIN)):
            raise fault(block, field, f"is {shown(found)}", "a number of seconds")
    try:
        Ticks.of(block.sample, block.offset)
    except BlockError as error:
        raise BlockError(f"{name}: {error}", value=error.value) from None


def period(block: Any) -> float:
    """Sample time T [s] of a checked block, for use inside equations."""
    return float(Ticks.of(block.sample, block.offset).period)


def entries(block: Any, field: str) -> np.ndarray:
    """What a field that lists instants holds, each as it was given, (n,); masked entries are none."""
    given = getattr(block, field)
    if np.ma.is_masked(given):
        raise fault(block, field, f"is {shown(given)}", "numbers of seconds", "Leave masked entries out.")
    return np.atleast_1d(np.asarray(given, dtype=object))


def moments_of(block: Any, field: str) -> tuple[float | Fraction, ...]:
    """All instants that a field lists, as `moment` gives them.

    Raises
    ------
    BlockError     no list of numbers of seconds
    """
    listed = entries(block, field)
    if listed.ndim != 1 or listed.size == 0:
        raise fault(block, field, f"has shape {listed.shape}", "(n,)")
    given = listed.tolist()
    if set(map(type, given)) <= {float, int, np.float64}:  # tables are long
        with contextlib.suppress(OverflowError):  # a whole number beyond all floats
            plain = listed.astype(float)
            if np.all(np.abs(plain) <= LONGEST):  # False for nan
                return tuple(moments(plain.tolist()).tolist())
    return tuple(moment(block, field, time) for time in given)


def moment(block: Any, field: str, value: Rate) -> float | Fraction:
    """An instant [s] as the float nearest to its exact time; a Fraction stays one where no float means it.

    A float is what ``b.parameters`` and ``b.instants`` both recognise as the field's run-time number, and the
    scheduler's t at that instant is exactly it.
    """
    try:
        exact = instant(value, field)
    except BlockError as error:
        raise BlockError(f"{type(block).__name__}: {error}", value=value) from None
    except (OverflowError, TypeError, ValueError):
        raise fault(block, field, f"has {shown(value)}", "a number of seconds") from None
    nearest = float(exact)
    return nearest if nearest == value or instant(nearest) == exact else exact
