"""Checks of the contents of a result: read-only arrays of the right shape, and values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.result.record import FloatArray, TickSeries
from cosim.signal_tree import Leaf, SignalTree


def plain(value: object) -> Any:
    """``value`` with nothing but None, bool, int, float, str, tuples and dicts with text keys.

    Never fails, because it runs when a result is being rescued: what JSON cannot hold becomes its text.
    """
    match value:
        case None | bool() | np.bool_():
            return None if value is None else bool(value)
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return float(value)
        case str():
            return str(value)
        case np.ndarray():
            return plain(value.tolist())
        case Mapping():
            return {str(k): plain(v) for k, v in value.items()}
        case set() | frozenset():
            return tuple(plain(v) for v in sorted(value, key=str))
        case tuple() | list():
            return tuple(plain(v) for v in value)
        case _:
            return str(value)


def _read_only(values: object) -> FloatArray:
    view = np.asarray(values, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def checked_instants(values: object, owner: str) -> FloatArray:
    """Times [s] (n,), read-only.

    Raises
    ------
    PlantloopError    not one row, or decreasing somewhere
    """
    time = _read_only(values)
    if time.ndim != 1 or bool(np.any(np.diff(time) < 0)):
        raise PlantloopError(f"times of {owner} must be one row of numbers that never decrease, got {time}.")
    return time


def checked_rows(values: object, n: int, owner: str) -> FloatArray:
    """``values``, (n,) or (n, k), as read-only (n, k).

    Raises
    ------
    PlantloopError    of another shape
    """
    given = _read_only(values)
    array = given[:, np.newaxis] if given.ndim == 1 else given
    if array.ndim != 2 or array.shape[0] != n:
        raise PlantloopError(
            f"values of '{owner}' do not match its {n} instants: got shape {given.shape}, "
            f"expected ({n},) or ({n}, k).",
            path=owner,
        )
    return array


def checked_ticks(signal: str, time: object, values: object) -> TickSeries:
    """Times (m,) [s] and values (m, k) of the ticks of a signal, read-only; errors as of its parts."""
    instants = checked_instants(time, f"the ticks of '{signal}'")
    return TickSeries(instants, checked_rows(values, len(instants), signal))


def fitting(tree: SignalTree, width: Mapping[str, int]) -> SignalTree:
    """The facts of a tree about signals of these widths, checked.

    Raises
    ------
    PlantloopError    it says another width of one
    """
    for signal, k in width.items():
        if signal in tree and tree[signal].size != k:
            raise PlantloopError(
                f"'{signal}' has {k} components, and {tree[signal].size} in the tree of signals.", path=signal
            )
    if len(tree) == len(width) and all(n == leaf.name for n, leaf in zip(width, tree.leaves, strict=True)):
        return tree
    leaves = (tree[n] if n in tree else Leaf(n, 0, k) for n, k in width.items())
    return SignalTree.of(leaves, tree.aliases)
