"""The *shape* of a block: its class, its structural fields and its input sizes.

Blocks of one shape have the same equations and differ in numbers only, so that they can share them.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from blocks.contract.block import Block

LONG = 1000  # numbers; equations with longer tables in them are not kept for diagrams to come
PLAIN = (bool, int, float, complex, str, bytes, Fraction, np.generic, enum.Enum)


def shape(block: Block, sizes: Mapping[str, int], roles: Mapping[str, str]) -> Hashable:
    """What blocks of one class must have in common to share their equations.

    Parameters
    ----------
    sizes : dict        input name -> number of components
    roles : dict        field -> what the numbers in it are: "parameter", "initial" or "times"
    """
    return with_inputs(shape_of_fields(block, roles), sizes)


def with_inputs(fields: tuple[Hashable, ...], sizes: Mapping[str, int]) -> Hashable:
    """The shape of a block from that of its fields and the sizes of its inputs."""
    return tuple(sorted(sizes.items())), *fields


def shape_of_fields(block: Block, roles: Mapping[str, str]) -> tuple[Hashable, ...]:
    """The part of a shape that does not depend on inputs."""
    parts: list[Hashable] = []
    for f in dataclasses.fields(block):  # type: ignore[arg-type]
        value = getattr(block, f.name)
        role = roles.get(f.name)
        if role is None or isinstance(value, (str, bool)) or value is None:
            parts.append(frozen(value))
            continue
        if isinstance(value, (int, float)):
            parts.append(role)
            continue
        array = np.asarray(value, dtype=object if role == "times" else float)
        mask = (array != 0).tobytes() if role == "parameter" and array.ndim >= 2 else b""
        parts.append((role, array.shape, mask))
    return tuple(parts)


def frozen(value: Any) -> Hashable:
    """Hashable stand-in for a structural field value."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, (list, tuple)):
        if _floats(value):  # tables are long
            return (type(value).__name__, "floats", np.array(value).tobytes())
        return (type(value).__name__, *(frozen(v) for v in value))
    if isinstance(value, dict):
        return ("dict", *((k, frozen(v)) for k, v in value.items()))
    if isinstance(value, float):  # -0.0 equals 0.0, and nan does not equal itself
        return (type(value).__name__, float(value).hex())
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return (type(value).__name__, value)


def says_all(block: Block) -> bool:
    """Is the shape of this block all its equations can depend on, so that it holds in every diagram?

    It is for the blocks of this package with plain data in their fields. A class of a user may read a
    variable of its module, and a function or an object in a field may have changed since it was traced.
    """
    inside = type(block).__module__.partition(".")[0] == __name__.partition(".")[0]
    return inside and all(_plain(getattr(block, f.name)) for f in dataclasses.fields(block))  # type: ignore[arg-type]


def _plain(value: object) -> bool:
    """Only texts and numbers, and collections of them that are no long tables."""
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject and value.size <= LONG
    if isinstance(value, (list, tuple)):
        return len(value) <= LONG and (_floats(value) or all(_plain(v) for v in value))
    if isinstance(value, dict):
        return all(_plain(k) and _plain(v) for k, v in value.items())
    return value is None or isinstance(value, PLAIN)


def _floats(values: Sequence[object]) -> bool:
    """Only floats."""
    return set(map(type, values)) == {float}
