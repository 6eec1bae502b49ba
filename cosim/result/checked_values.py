"""Checks of the contents of a result: read-only arrays of the right shape, and values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.arguments import is_number
from blocks.errors import PlantloopError, shown
from cosim.names import mapped
from cosim.result.record import Event, EventList, FloatArray, SettingValue, TickSeries
from cosim.signal_tree import Leaf, SignalTree


def plain(value: object) -> Any:
    """``value`` with nothing but None, bool, int, float, str, tuples and dicts with text keys.

    Never fails, because it runs when a result is being rescued: what JSON cannot hold becomes its text.
    """
    if type(value) in (float, int, str, bool):
        return value
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


def _read_only(values: object, what: str) -> FloatArray:
    try:
        view = np.asarray(values, dtype=np.float64).view()
    except (TypeError, ValueError, OverflowError):
        raise PlantloopError(f"{what} are {shown(values)}, expected numbers.", value=values) from None
    view.flags.writeable = False
    return view


def checked_instants(values: object, owner: str) -> FloatArray:
    """Times [s] (n,), read-only.

    Raises
    ------
    PlantloopError    not one row, or decreasing somewhere
    """
    time = _read_only(values, f"times of {owner}")
    if time.ndim != 1 or bool((time[1:] < time[:-1]).any()):
        raise PlantloopError(f"times of {owner} must be one row of numbers that never decrease, got {time}.")
    return time


def checked_rows(values: object, n: int, owner: str) -> FloatArray:
    """``values``, (n,) or (n, k), as read-only (n, k).

    Raises
    ------
    PlantloopError    of another shape
    """
    given = _read_only(values, f"values of '{owner}'")
    array = given[:, np.newaxis] if given.ndim == 1 else given
    if array.ndim != 2 or array.shape[0] != n:
        raise PlantloopError(
            f"values of '{owner}' do not match its {n} instants: got shape {given.shape}, "
            f"expected ({n},) or ({n}, k).",
            path=owner,
        )
    return array


def checked_ticks(signal: str, series: Any) -> TickSeries:
    """Times (m,) [s] and values (m, k) of the ticks of a signal, read-only; errors as of its parts."""
    time, values = _parts(series, 2, f"ticks of '{signal}'", "times and values")
    instants = checked_instants(time, f"the ticks of '{signal}'")
    return TickSeries(instants, checked_rows(values, len(instants), signal))


def checked_events(values: Any) -> EventList:
    """Events of a run, their values as plain data.

    Raises
    ------
    PlantloopError    no list of times, names, and values before and after
    """
    if isinstance(values, EventList):
        return values
    if not isinstance(values, (tuple, list)):
        raise PlantloopError(f"events is {shown(values)}, expected a list of events.", value=values)
    found = []
    for event in values:
        time, name, before, after = _parts(event, 4, "an event", "time, name, and values before and after")
        if not is_number(time):
            raise PlantloopError(
                f"the time of event '{name}' is {shown(time)}, expected seconds.", value=time
            )
        found.append(Event(float(time), str(name), plain(before), plain(after)))
    return EventList(found)


def checked_settings(values: Any) -> dict[str, SettingValue]:
    """Settings of a run with their origins, as plain data.

    Raises
    ------
    PlantloopError    no mapping to pairs of a value and its origin
    """
    found = {}
    for name, pair in mapped(values, "settings").items():
        own = type(pair) is SettingValue
        value, origin = pair if own else _parts(pair, 2, f"setting '{name}'", "a value and its origin")
        found[name] = SettingValue(plain(value), str(origin))
    return found


def _parts(values: Any, count: int, what: str, expected: str) -> tuple[Any, ...]:
    """The parts of a tuple or list of `count`.

    Raises
    ------
    PlantloopError    something else
    """
    if not isinstance(values, (tuple, list)) or len(values) != count:
        raise PlantloopError(f"{what}: got {shown(values)}, expected {expected}.", value=values)
    return tuple(values)


def fitting(tree: SignalTree, width: Mapping[str, int]) -> SignalTree:
    """The facts of a tree about signals of these widths, checked.

    Raises
    ------
    PlantloopError    no tree, or it says another width of one
    """
    if not isinstance(tree, SignalTree):
        raise PlantloopError(f"tree is {shown(tree)}, expected a SignalTree.", value=tree)
    for signal, k in width.items():
        if signal in tree and tree[signal].size != k:
            raise PlantloopError(
                f"'{signal}' has {k} components, and {tree[signal].size} in the tree of signals.", path=signal
            )
    if len(tree) == len(width) and all(n == leaf.name for n, leaf in zip(width, tree.leaves, strict=True)):
        return tree
    leaves = (tree[n] if n in tree else Leaf(n, 0, k) for n, k in width.items())
    return SignalTree.of(leaves, tree.aliases)
