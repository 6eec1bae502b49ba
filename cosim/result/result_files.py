"""Results on disk, as an xarray Dataset and as a table.

A NetCDF file is the Dataset of `to_dataset`, so any tool that reads NetCDF sees named arrays over time. The
Dataset carries everything: what a variable means is in its attribute ``role``, the signal's own name in
``signal``, because NetCDF allows fewer names than a diagram does. An NPZ file has the same arrays by the
same names and one JSON text, ``header``, for the rest.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote
from zipfile import BadZipFile

import numpy as np

from blocks.errors import PlantloopError
from cosim.names import file_path
from cosim.result.record import Event, FloatArray, Record, Setting, Ticks

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Made = TypeVar("Made")

FORMAT = "plantloop result 1"  # the number grows when an older reader would misread a newer file
EVENT = ("event", "event_time", "event_name", "event_before", "event_after")


# -- names


class Names:
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
    """``signal`` as a name NetCDF allows: ASCII, no slash, a letter, digit or underscore first."""
    name = quote(signal, safe=".[](),:+-@=")
    return name if name[:1].isalnum() or name[:1] == "_" else f"_{name}"


# -- xarray


def to_dataset(result: Record, rename: Callable[[str], str] = str) -> xr.Dataset:
    """Everything in ``result`` as a Dataset; see `Result.to_xarray`. ``rename`` maps signals to variables."""
    import xarray as xr

    names = Names(("time", *EVENT))
    variable = {s: names.take(rename(s)) for s in {**result.signals, **result.ticks_of}}
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {"time": ("time", result.time, {"units": "s"})}
    components: dict[tuple[str, int], str] = {}

    def column(signal: str, values: FloatArray, along: str, role: str) -> tuple[Any, ...]:
        attrs = {"role": role, "signal": signal, **_texts(result, signal)}
        k = values.shape[1]
        if k == 1:
            return (along,), values[:, 0], attrs
        if (signal, k) not in components:
            dim = components[signal, k] = names.take(f"{variable[signal]}.component")
            if signal in result.labels:
                coords[dim] = (dim, np.array(result.labels[signal], dtype=str))
        return (along, components[signal, k]), values, attrs

    for signal, values in result.signals.items():
        data[variable[signal]] = column(signal, values, "time", "signal")
    for signal, ticks in result.ticks_of.items():
        along = names.take(f"{variable[signal]}@time")
        coords[along] = (along, ticks.time, {"units": "s"})
        data[names.take(f"{variable[signal]}@ticks")] = column(signal, ticks.values, along, "ticks")
    if result.events:
        data |= {name: ("event", values) for name, values in _event_columns(result.events).items()}
    return xr.Dataset(data, coords, {"format": FORMAT, **_header(result)})


def from_dataset(dataset: xr.Dataset, source: str) -> dict[str, Any]:
    """Fields of the result that `to_dataset` made ``dataset`` of; ``source`` is named in errors."""
    _check_format(dataset.attrs.get("format"), source)
    signals: dict[str, FloatArray] = {}
    ticks: dict[str, Ticks] = {}
    labels: dict[str, tuple[str, ...]] = {}
    units: dict[str, tuple[str, ...]] = {}
    for variable in dataset.data_vars.values():
        role, signal = variable.attrs.get("role"), str(variable.attrs.get("signal"))
        if role == "signal":
            signals[signal] = variable.values
        elif role == "ticks":
            ticks[signal] = Ticks(dataset[variable.dims[0]].values, variable.values)
        for of, attribute in ((labels, "component_labels"), (units, "component_units")):
            if attribute in variable.attrs:
                of[signal] = tuple(json.loads(variable.attrs[attribute]))
    columns = [dataset[name].values.tolist() for name in EVENT[1:]] if "event_time" in dataset else []
    return dict(
        time=dataset["time"].values,
        signals=signals,
        ticks_of=ticks,
        events=_events(*columns) if columns else (),
        labels=labels,
        units=units,
        **_from_header(dataset.attrs),
    )


def _texts(result: Record, signal: str) -> dict[str, str]:
    """Attributes for labels and units: all of them as JSON, and CF's ``units`` where there is just one."""
    attrs = {}
    if signal in result.labels:
        attrs["component_labels"] = json.dumps(result.labels[signal])
    if signal in result.units:
        units = result.units[signal]
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


# -- pandas


def to_table(result: Record) -> pd.DataFrame:
    """Table of all signals; see `Result.to_pandas`."""
    import pandas as pd

    columns = [
        s if v.shape[1] == 1 else f"{s}[{i}]" for s, v in result.signals.items() for i in range(v.shape[1])
    ]
    values = np.hstack([np.empty((len(result.time), 0)), *result.signals.values()])
    return pd.DataFrame(values, index=pd.Index(result.time, name="time"), columns=columns)


# -- what is not an array


def _header(result: Record) -> dict[str, Any]:
    return {
        "name": result.name,
        "complete": int(result.complete),
        "message": result.message,
        "settings": json.dumps({k: s._asdict() for k, s in result.settings.items()}),
        "statistics": json.dumps(dict(result.statistics)),
        "aliases": json.dumps(dict(result.aliases)),
    }


def _from_header(header: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": str(header["name"]),
        "complete": bool(header["complete"]),
        "message": str(header["message"]),
        "settings": {k: Setting(**s) for k, s in json.loads(header["settings"]).items()},
        "statistics": json.loads(header["statistics"]),
        "aliases": json.loads(header.get("aliases", "{}")),
    }


def _check_format(found: object, source: str) -> None:
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


# -- files


def save(result: Record, path: str | os.PathLike[str]) -> None:
    """Write ``result`` in the format of the suffix of ``path``; see `Result.save`."""
    target = file_path(path, "the file of a result")
    write = WRITERS.get(target.suffix.lower())
    if write is None:
        raise PlantloopError(
            f"cannot save a result as '{target}': the suffix '{target.suffix}' is unknown.",
            path=str(target),
            hint=f"Use one of {', '.join(WRITERS)}.",
        )
    with replacing(target) as temporary:
        write(result, temporary)


def load(path: str | os.PathLike[str], make: Callable[..., Made]) -> Made:
    """What `make` makes of the fields of a result written by `save`; see `Result.load`."""
    source = file_path(path, "the file of a result")
    read = READERS.get(source.suffix.lower())
    if read is None:
        raise PlantloopError(
            f"cannot load a result from '{source}': only {' and '.join(READERS)} hold a whole result.",
            path=str(source),
            hint="Save as .nc to load it again." if source.suffix.lower() in WRITERS else None,
        )
    if not source.is_file():
        raise PlantloopError(
            f"no result file '{source}' (looked in {source.parent.resolve()}).", path=str(source)
        )
    try:
        return make(**read(source))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, BadZipFile) as reason:
        why = "" if "allow_pickle" in str(reason) else f" ({str(reason).rstrip('.')})"  # NumPy's guess
        raise PlantloopError(
            f"'{source}' is damaged or not a plantloop result{why}.",
            path=str(source),
            hint="Load a file written by Result.save.",
        ) from reason


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary name beside ``target``, moved onto it when the block succeeds and removed when not."""
    temporary = target.with_name(f".{target.stem}-{uuid.uuid4().hex[:8]}{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, target)
    except (OSError, RuntimeError) as reason:  # the NetCDF library reports a full disk as RuntimeError
        raise PlantloopError(
            f"cannot write '{target}': {reason}.",
            path=str(target),
            hint="Check that there is space and that the folder may be written. Nothing was changed.",
        ) from reason
    finally:
        with suppress(OSError):
            temporary.unlink()


def _write_netcdf(result: Record, path: Path) -> None:
    dataset = to_dataset(result, file_name_of)
    # no fill value: NaN is a value here, and a file must give back the same bits
    exact: dict[Any, dict[str, Any]] = {
        name: {"_FillValue": None} for name, v in dataset.variables.items() if v.dtype.kind == "f"
    }
    dataset.to_netcdf(path, engine="netcdf4", format="NETCDF4", encoding=exact)


def _read_netcdf(path: Path) -> dict[str, Any]:
    import xarray as xr

    return from_dataset(xr.load_dataset(path, engine="netcdf4", decode_cf=False), f"'{path}'")


def _write_npz(result: Record, path: Path) -> None:
    names = Names(("time", "header", "file", "allow_pickle"))  # the last two are arguments of savez
    arrays: dict[str, Any] = {"time": result.time}
    where: dict[str, dict[str, Any]] = {"signals": {}, "ticks_of": {}}
    for signal, values in result.signals.items():
        where["signals"][signal] = key = names.take(file_name_of(signal))
        arrays[key] = values
    for signal, ticks in result.ticks_of.items():
        keys = [names.take(f"{file_name_of(signal)}@{part}") for part in ("time", "ticks")]
        where["ticks_of"][signal] = keys
        arrays |= dict(zip(keys, ticks, strict=True))
    rest = {"labels": dict(result.labels), "units": dict(result.units), "events": result.events}
    arrays["header"] = np.array(json.dumps({"format": FORMAT, **_header(result), **where, **rest}))
    np.savez(path, **arrays)


def _read_npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as arrays:
        members = set(arrays.files)
        header = json.loads(arrays["header"].item()) if "header" in members else {}
        _check_format(header.get("format"), f"'{path}'")
        # with the suffix, a member is found even where another signal is named like it plus ".npy"
        get = lambda key: arrays[f"{key}.npy"]
        return dict(
            time=get("time"),
            signals={s: get(key) for s, key in header["signals"].items()},
            ticks_of={s: Ticks(*map(get, keys)) for s, keys in header["ticks_of"].items()},
            labels=header["labels"],
            units=header["units"],
            events=tuple(Event(*e) for e in header["events"]),
            **_from_header(header),
        )


def _write_csv(result: Record, path: Path) -> None:
    to_table(result).to_csv(path)


WRITERS: Mapping[str, Callable[[Record, Path], None]] = {
    ".nc": _write_netcdf,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
READERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {".nc": _read_netcdf, ".npz": _read_npz}
