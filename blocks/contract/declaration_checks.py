"""Checks of what a block passes to the calls of `Equations`: names, sizes, labels, texts, functions.

Complaints are `BlockError`; where a block is traced they get its path and the line of its ``define``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import is_number
from blocks.contract.elements import has_symbols
from blocks.contract.symbols import column, hash_of
from blocks.errors import BlockError, shown


def name_of(value: Any, what: str) -> str:
    """A name, which is a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise BlockError(f"the name of {what} is {shown(value)}, expected a text.", value=value)
    return value


def count_of(value: Any, name: str) -> int:
    """How many components something has: a whole number, zero or more."""
    if not is_number(value) or value < 0 or value % 1 != 0:  # nan and inf have no remainder of 0
        raise BlockError(
            f"the size of '{name}' is {shown(value)}, expected a whole number, zero or more.", value=value
        )
    return int(value)


def labels_of(value: Any, name: str, size: int | None) -> tuple[str, ...]:
    """Labels of components: none, or one for each.

    size : None where it is not known yet
    """
    if not isinstance(value, (list, tuple)) or not all(isinstance(label, str) for label in value):
        raise BlockError(
            f"labels of '{name}' are {shown(value)}, expected a list of texts.",
            value=value,
            hint="Write labels=['a', 'b'].",
        )
    if size is not None and len(value) not in (0, size):
        raise BlockError(f"'{name}' has {len(value)} labels for {size} components.", value=value)
    return tuple(value)


def texts_of(value: Any, what: str) -> tuple[str, ...]:
    """A list of texts; a text alone is none."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise BlockError(f"{what} is {shown(value)}, expected a list of texts.", value=value)
    return tuple(value)


def text_of(value: Any, what: str) -> str:
    """A text, which may be empty."""
    if not isinstance(value, str):
        raise BlockError(f"{what} is {shown(value)}, expected a text.", value=value)
    return value


def positive(value: Any, what: str) -> float:
    """A finite number above 0."""
    if not is_number(value) or not 0 < value < float("inf"):
        raise BlockError(f"{what} is {shown(value)}, expected a number above 0.", value=value)
    return float(value)


def not_negative(value: Any, what: str) -> float:
    """A number of 0 or more; inf is one."""
    if not is_number(value) or not value >= 0:
        raise BlockError(f"{what} is {shown(value)}, expected a number of 0 or more.", value=value)
    return float(value)


def functions_of(name: str, **given: Callable[..., Any] | None) -> None:
    """Refuse what is neither a function nor None."""
    for what, value in given.items():
        if value is not None and not callable(value):
            raise BlockError(f"{what} of '{name}' is {shown(value)}, expected a function.", value=value)


def typical_sizes(
    nominal: Any, size: int, name: str, parameters: ca.SX
) -> float | tuple[float, ...] | ca.SX | Callable[..., Any]:
    """The typical size of a state, or of each of its components; `parameters` : symbols it may depend on.

    Raises
    ------
    BlockError    a size that is not above 0, another number of them than components, one that depends on more
        than parameters
    """
    what = f"nominal of state '{name}'"
    if has_symbols(nominal):
        return _following(column(nominal, what), size, name, parameters)
    if callable(nominal):
        return nominal
    if isinstance(nominal, np.ndarray) and nominal.ndim == 1:
        nominal = nominal.tolist()
    if not isinstance(nominal, list | tuple):
        return positive(nominal, what)
    _one_each(len(nominal), size, name)
    return tuple(positive(each, what) for each in nominal)


def _following(nominal: ca.SX, size: int, name: str, parameters: ca.SX) -> ca.SX:
    """A size that follows from parameters."""
    if nominal.numel() != 1:
        _one_each(nominal.numel(), size, name)
    known = {hash_of(parameters[k]) for k in range(parameters.numel())}
    others = [s.name() for s in ca.symvar(nominal) if hash_of(s) not in known]
    if others:
        raise BlockError(
            f"nominal of state '{name}' depends on '{others[0]}', expected numbers, or an expression of what "
            "parameters() returned.",
            hint="A size that changes within a run is none: give the largest.",
        )
    return nominal


def _one_each(count: int, size: int, name: str) -> None:
    if count != size:
        raise BlockError(
            f"state '{name}': {count} nominal sizes for {size} components.",
            hint="Give one number, or one per component.",
        )
