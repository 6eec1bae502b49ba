"""What callers pass to public functions, checked before it is used.

Each function gives the value back, or raises an error of ours that names the argument, shows what came and
says how to write it.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Collection
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from blocks.errors import PlantloopError, near_miss, shown

LONGEST = 4000  # characters of a path
LARGEST = sys.float_info.max


def is_number(value: object) -> TypeGuard[float]:
    """A real number, Python's or NumPy's, that a float can be; True and False are none."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    return isinstance(value, (float, np.number)) and not isinstance(
        value, (np.complexfloating, np.timedelta64)
    )


def is_whole(value: object) -> TypeGuard[int]:
    """An integer, Python's or NumPy's; no flag, and no span of time, which NumPy counts among them."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def number(
    value: Any,
    what: str,
    expected: str = "a finite number",
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    error: type[PlantloopError] = PlantloopError,
) -> float:
    """A finite number, greater than `above`, not less than `least`; `expected` says which in words."""
    if not (is_number(value) and math.isfinite(value) and value > above and value >= least):
        raise error(f"{what} is {shown(value)}, expected {expected}.", value=value)
    return float(value)


def whole_number(value: Any, what: str) -> int:
    """A number of things, at least one.

    Raises
    ------
    PlantloopError      it is none
    """
    if not is_number(value) or value != int(number(value, what)) or value < 1:
        raise PlantloopError(f"{what} is {shown(value)}, expected a whole number, one or more.", value=value)
    return int(value)


def flag(value: Any, what: str, error: type[PlantloopError] = PlantloopError) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"{what} is {shown(value)}, expected True or False.", value=value)
    return bool(value)


def choice(
    value: Any, what: str, choices: Collection[str], error: type[PlantloopError] = PlantloopError
) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in choices:
        words = " or ".join(f"'{word}'" for word in choices)
        near = near_miss(value, choices) if isinstance(value, str) else ""
        end = f"; {near}" if near.startswith("did") else "."
        raise error(f"{what} is {shown(value)}, expected {words}{end}", value=value)
    return value


def function(value: Any, what: str, takes: str) -> Callable[..., Any] | None:
    """Something that can be called, or None; `takes` says with what."""
    if value is not None and (not callable(value) or isinstance(value, type)):
        raise PlantloopError(
            f"{what} is {shown(value)}, expected a function of {takes}.",
            value=value,
            hint=f"Write {what}=print to see what comes.",
        )
    found: Callable[..., Any] | None = value
    return found


def file_path(value: Any, what: str, example: str = "run.nc") -> Path:
    """The path of a file or folder, text or a Path."""
    if not isinstance(value, (str, os.PathLike)) or not str(value) or not isinstance(os.fspath(value), str):
        raise PlantloopError(
            f"{what} is {shown(value)}, expected the path of a file.",
            value=value,
            hint=f"Write '{example}'.",
        )
    name = os.fspath(value)
    why = "contains a NUL character" if "\0" in name else ""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        why = "has a character that no name of a file can have"
    if len(name) > LONGEST or any(len(part.encode(errors="replace")) > 255 for part in Path(name).parts):
        why = "is longer than names can be"
    if why:
        raise PlantloopError(
            f"{what} is {shown(value)}, which {why}.", value=value, hint=f"Write '{example}'."
        )
    return Path(value)


def real_numbers(value: Any) -> np.ndarray:
    """The numbers of an array, of nested lists or of a table as floats, any shape.

    Raises
    ------
    TypeError    texts, dates, complex or structured numbers, masked entries: they would lose their meaning
    ValueError, OverflowError    rows that differ in length, numbers no float can be
    """
    if np.ma.is_masked(value):
        raise TypeError("masked entries are no numbers")
    if isinstance(value, bytearray):  # NumPy takes its bytes for numbers, but not those of bytes
        raise TypeError("bytes are no numbers")
    found = np.asarray(value)
    odd = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64, date, timedelta)
    if found.dtype.kind not in "biufO" or (
        found.dtype.kind == "O" and any(isinstance(v, odd) for v in found.flat)
    ):
        raise TypeError(f"entries of type {found.dtype} are no numbers")
    return found.astype(float)


def array(
    value: Any,
    what: str,
    shape: tuple[int | None, ...],
    unit: str = "",
    error: type[PlantloopError] = PlantloopError,
) -> np.ndarray:
    """Finite numbers whose last axes have a shape; None is any length, and axes before them are free."""
    words = " x ".join("n" if n is None else str(n) for n in shape)
    expected = f"numbers whose last axes are {words}" if len(shape) > 1 else f"{words} numbers in a row"
    expected += f" [{unit}]" if unit else ""
    try:
        if isinstance(value, np.ndarray) and value.dtype.kind not in "iuf":
            raise TypeError
        found = real_numbers(value)
    except (TypeError, ValueError, OverflowError):
        found = np.asarray(None)
    if found.dtype.kind != "f" or found.ndim < len(shape):
        raise error(f"{what} is {shown(value)}, expected {expected}.", value=value)
    last = found.shape[found.ndim - len(shape) :]
    if any(n is not None and n != m for n, m in zip(shape, last, strict=True)):
        raise error(f"{what} has the shape {found.shape}, expected {expected}.", value=value)
    if not np.isfinite(found).all():
        raise error(f"{what} is not finite: {shown(value)}.", value=value)
    return found
