"""The layout of a result as named arrays over named dimensions, for xarray and NetCDF files.

The arrays carry everything: what one means is in its attribute ``role``, the signal's own name in ``signal``,
because NetCDF allows fewer names than a diagram does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from blocks.errors import PlantloopError
from cosim.result.record import Event, FloatArray, Record, SettingValue, TickSeries, described
from cosim.signal_tree import Leaf

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "plantloop result 1"  # the number grows when an older reader would misread a newer file
LONGEST = 200  # characters; NetCDF allows 256, and ".component" and underscores may follow
EVENT = ("event", "event_time", "event_name", "event_before", "event_after")


# -- names


class UniqueNames:
    """Hands out variable names, each once; the first to ask keeps the plain one."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.taken = set(reserved)

    def take(self, name: str) -> str:
        """``name``, with as many underscores behind it as make it new."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def file_name_of(signal: str) -> str:
    """``signal`` as a name NetCDF allows: ASCII, no slash, a letter, digit or underscore first.

    Of a long one the beginning is kept, and a number that tells it from others.
    """
    name = quote(signal, safe=".[](),:+-@=")
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 17]}_{sha256(signal.encode()).hexdigest()[:16]}"
    return name if name[:1].isalnum() or name[:1] == "_" else f"_{name}"


# -- arrays


@dataclass(frozen=True)
class Array:
    """An array of numbers or texts, one dimension name per axis, and what is written beside it."""

    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """Arrays by name; a coordinate has the name of its dimension. `attrs` hold what is no array."""

    data: Mapping[str, Array]
    coordinates: Mapping[str, Array]
    attrs: Mapping[str, Any]

    @property
    def arrays(self) -> dict[str, Array]:
        """All of them, coordinates first."""
        return {**self.coordinates, **self.data}


def layout_of(result: Record, rename: Callable[[str], str] = str) -> Layout:
    """Everything in ``result``; ``rename`` maps signals to names of arrays."""
    names = UniqueNames(("time", *EVENT))
    variable = {s: names.take(rename(s)) for s in {**result.signals, **result.ticks_of}}
    data: dict[str, Array] = {}
    coordinates = {"time": Array(("time",), result.time, {"units": "s"})}
    components: dict[tuple[str, int], str] = {}

    def column(signal: str, values: FloatArray, along: str, role: str) -> Array:
        attrs = {"role": role, "signal": signal, **_texts(result, signal)}
        k = values.shape[1]
        if k == 1:
            return Array((along,), values[:, 0], attrs)
        if (signal, k) not in components:
            dim = components[signal, k] = names.take(f"{variable[signal]}.component")
            if labels := result.tree[signal].labels:
                coordinates[dim] = Array((dim,), np.array(labels, dtype=str), {})
        return Array((along, components[signal, k]), values, attrs)

    for signal, values in result.signals.items():
        data[variable[signal]] = column(signal, values, "time", "signal")
    for signal, ticks in result.ticks_of.items():
        along = names.take(f"{variable[signal]}@time")
        coordinates[along] = Array((along,), ticks.time, {"units": "s"})
        data[names.take(f"{variable[signal]}@ticks")] = column(signal, ticks.values, along, "ticks")
    if result.events:
        data |= {n: Array(("event",), values, {}) for n, values in _event_columns(result.events).items()}
    return Layout(data, coordinates, {"format": FORMAT, **header_of(result)})


def fields_from(arrays: Mapping[str, Array], attrs: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Fields of the result that `layout_of` gave these arrays of; ``source`` is named in errors."""
    check_format(attrs.get("format"), source)
    signals: dict[str, FloatArray] = {}
    ticks: dict[str, TickSeries] = {}
    labels: dict[str, tuple[str, ...]] = {}
    units: dict[str, tuple[str, ...]] = {}
    for array in arrays.values():
        role, signal = array.attrs.get("role"), str(array.attrs.get("signal"))
        if role == "signal":
            signals[signal] = array.values
        elif role == "ticks":
            ticks[signal] = TickSeries(arrays[array.dims[0]].values, array.values)
        for of, attribute in ((labels, "component_labels"), (units, "component_units")):
            if attribute in array.attrs:
                of[signal] = tuple(json.loads(array.attrs[attribute]))
    columns = [arrays[name].values.tolist() for name in EVENT[1:]] if "event_time" in arrays else []
    return described(
        dict(
            time=arrays["time"].values,
            signals=signals,
            ticks_of=ticks,
            events=_events(*columns) if columns else (),
            labels=labels,
            units=units,
            **from_header(attrs),
        )
    )


def to_dataset(result: Record) -> xr.Dataset:
    """Everything in ``result`` as a Dataset; see `Result.to_xarray`."""
    import xarray as xr

    layout = layout_of(result)
    data, coordinates = (
        {name: (a.dims, a.values, dict(a.attrs)) for name, a in arrays.items()}
        for arrays in (layout.data, layout.coordinates)
    )
    return xr.Dataset(data, coordinates, layout.attrs)


def _texts(result: Record, signal: str) -> dict[str, str]:
    """Attributes for labels and units: all of them as JSON, and CF's ``units`` where there is just one."""
    attrs, leaf = {}, result.tree[signal]
    if leaf.labels:
        attrs["component_labels"] = json.dumps(leaf.labels)
    if units := leaf.units:
        attrs["component_units"] = json.dumps(units)
        if len(set(units)) == 1 and units[0]:
            attrs["units"] = units[0]
    return attrs


def _event_columns(events: tuple[Event, ...]) -> dict[str, np.ndarray]:
    return {
        "event_time": np.array([e.time for e in events], dtype=np.float64),
        "event_name": np.array([e.name for e in events], dtype=str),
        "event_before": np.array([json.dumps(e.before) for e in events], dtype=str),
        "event_after": np.array([json.dumps(e.after) for e in events], dtype=str),
    }


def _events(
    time: Iterable[float], name: Iterable[str], before: Iterable[str], after: Iterable[str]
) -> tuple[Event, ...]:
    rows = zip(time, name, before, after, strict=True)
    return tuple(Event(t, n, json.loads(b), json.loads(a)) for t, n, b, a in rows)


# -- what is not an array


def header_of(result: Record) -> dict[str, Any]:
    """Everything that is not an array, as texts and numbers."""
    return {
        "name": result.name,
        "complete": int(result.complete),
        "message": result.message,
        "settings": json.dumps({k: s._asdict() for k, s in result.settings.items()}),
        "statistics": json.dumps(dict(result.statistics)),
        "aliases": json.dumps(dict(result.tree.aliases)),
        "rates": json.dumps({s.name: _rate(s) for s in result.tree.leaves if s.rate is not None}),
    }


def from_header(header: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a result from what `header_of` gave."""
    return {
        "name": str(header["name"]),
        "complete": bool(header["complete"]),
        "message": str(header["message"]),
        "settings": {k: SettingValue(**s) for k, s in mapping_of(header["settings"]).items()},
        "statistics": mapping_of(header["statistics"]),
        "aliases": mapping_of(header.get("aliases", "{}")),
        "rates": mapping_of(header.get("rates", "{}")),
    }


def mapping_of(text: str) -> dict[str, Any]:
    """A JSON object in a file of a result.

    Raises
    ------
    ValueError      it is something else, or has half a character ("\\ud800") that no file can hold
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object, got {text[:40]}")
    json.dumps(found, ensure_ascii=False).encode()
    return found


def _rate(leaf: Leaf) -> list[str]:
    """Period and offset of a signal [s], as exact fractions."""
    return [str(leaf.rate.period), str(leaf.rate.offset)] if leaf.rate is not None else []


def check_format(found: object, source: str) -> None:
    """Refuse data that are no result, or one of another version."""
    if found is None:
        raise PlantloopError(
            f"{source} is no result of plantloop.", path=source, hint="Load a file written by Result.save."
        )
    if found != FORMAT:
        raise PlantloopError(
            f"{source} is not a result this version reads: got format {found!r}, expected {FORMAT!r}.",
            path=source,
            value=found,
            hint="Load a file written by Result.save, or update plantloop if a newer one wrote it.",
        )
