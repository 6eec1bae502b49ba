"""The data of a result: samples, events, settings, and the fields of a whole record."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blocks.contract.rate import Ticks
from cosim.signal_tree import SignalTree

FloatArray = NDArray[np.float64]


class TickSeries(NamedTuple):
    """A sampled signal at its own ticks; unpacks as ``t, u = r.ticks("controller.u")``."""

    time: FloatArray  # (m,) s
    values: FloatArray  # (m, k), or (m,) where one component was asked for


class Event(NamedTuple):
    """Something that happened between or at ticks: a crossing with its resets, or a stop."""

    time: float  # s
    name: str
    before: Any = None  # values just before and just after: numbers, tuples, mappings of them, or None
    after: Any = None


class EventList(tuple[Event, ...]):
    """The events of a run in their order: a tuple of `Event`, printed one per line, at most a dozen.

    Whoever makes one has seen to it that times are float, names str, and values what JSON can hold.
    """

    def __repr__(self) -> str:
        shown = [f"  {event.time:.9g} s  {event.name}" for event in self]
        if len(shown) > 12:
            shown[8:-3] = [f"  ... {len(shown) - 11} more"]
        return "\n".join([f"{len(self)} event{'s' * (len(self) != 1)}", *shown])


class SettingValue(NamedTuple):
    """One effective setting of a run and where it came from ("default", "simulate()", a file, ...)."""

    value: Any
    origin: str


class Record(Protocol):
    """What a file of a result holds; the fields are those of `Result`, which explains them."""

    @property
    def name(self) -> str: ...
    @property
    def time(self) -> FloatArray: ...
    @property
    def signals(self) -> Mapping[str, FloatArray]: ...
    @property
    def tree(self) -> SignalTree: ...
    @property
    def ticks_of(self) -> Mapping[str, TickSeries]: ...
    @property
    def events(self) -> tuple[Event, ...]: ...
    @property
    def settings(self) -> Mapping[str, SettingValue]: ...
    @property
    def statistics(self) -> Mapping[str, Any]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def message(self) -> str: ...


def described(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a result whose labels, units, aliases and rates become its tree of signals."""
    rest = dict(fields)
    labels, units, aliases = (rest.pop(name, {}) for name in ("labels", "units", "aliases"))
    rates = {s: Ticks(*map(Fraction, text)) for s, text in rest.pop("rates", {}).items()}
    arrays = [*rest["signals"].items(), *((s, ticks[1]) for s, ticks in rest["ticks_of"].items())]
    sizes: dict[str, int] = {}
    for signal, values in arrays:
        sizes.setdefault(signal, (*np.shape(values), 1, 1)[1])
    return {**rest, "tree": SignalTree.described(sizes, labels, units, aliases, rates)}
