"""Results on disk: NetCDF, NPZ and CSV; and as a table.

A NetCDF file holds the arrays of `layout_of`, so any tool that reads NetCDF sees named arrays over time;
xarray opens it as the Dataset of `Result.to_xarray`. It is written and read through netCDF4 itself, because
xarray and pandas take longer to import than most runs take. An NPZ file has the same arrays by the same names
and one JSON text, ``header``, for the rest.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from blocks.arguments import file_path
from blocks.errors import PlantloopError, shown
from blocks.files import DAMAGE, is_file, replacing
from cosim.result.drawing import KeptDrawing
from cosim.result.record import Event, Record, TickSeries, described
from cosim.result.result_layout import (
    FORMAT,
    Array,
    Layout,
    UniqueNames,
    check_format,
    fields_from,
    file_name_of,
    from_header,
    header_of,
    layout_of,
    mapping_of,
)
from cosim.run.memory import check_memory

if TYPE_CHECKING:
    import pandas as pd

Made = TypeVar("Made")
DRAWING = "plantloop drawing"  # names of variables have no space


def to_table(result: Record) -> pd.DataFrame:
    """Table of all signals; see `Result.to_pandas`."""
    import pandas as pd

    names = UniqueNames(("time",))  # an input may be called like the index, or like a component
    columns = [
        names.take(s if v.shape[1] == 1 else f"{s}[{i}]")
        for s, v in result.signals.items()
        for i in range(v.shape[1])
    ]
    values = np.hstack([np.empty((len(result.time), 0)), *result.signals.values()])
    return pd.DataFrame(values, index=pd.Index(result.time, name="time"), columns=columns)


def save(result: Record, path: str | os.PathLike[str], drawing: KeptDrawing | None = None) -> None:
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
        write(result, temporary, drawing)


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
    if not is_file(source):
        raise PlantloopError(
            f"no result file '{source}' (looked in {source.parent.resolve()}).", path=str(source)
        )
    try:
        return make(**read(source))
    except DAMAGE as reason:
        why = "" if "allow_pickle" in str(reason) else f" ({str(reason).rstrip('.')})"  # NumPy's guess
        raise PlantloopError(
            f"'{source}' is damaged or not a plantloop result{why}.",
            path=str(source),
            hint="Load a file written by Result.save.",
        ) from reason


def _write_netcdf(result: Record, path: Path, drawing: KeptDrawing | None) -> None:
    from netCDF4 import Dataset

    layout = layout_of(result, file_name_of)
    _check_texts(layout)
    with Dataset(path, "w", format="NETCDF4") as file:
        file.set_fill_off()  # every number is written, and NaN is a value like others
        file.setncatts(layout.attrs)
        for name, array in layout.arrays.items():
            for dim, length in zip(array.dims, array.values.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, length)
            texts = array.values.dtype.kind == "U"
            variable = file.createVariable(name, str if texts else array.values.dtype, array.dims)
            variable.setncatts(array.attrs)
            if array.values.size:
                variable[:] = array.values.astype(object) if texts else array.values
        if drawing is not None:  # in a group of its own: other tools see the signals alone
            group = file.createGroup(DRAWING)
            for name, values in _parts(drawing).items():
                group.createDimension(name, len(values))
                made = group.createVariable(name, values.dtype, (name,), zlib=True, shuffle=True)
                made[:] = values


def _check_texts(layout: Layout) -> None:
    """Refuse texts that the file would end early, without a word."""
    arrays = layout.arrays.values()
    listed = (text for a in arrays if a.values.dtype.kind == "U" for text in a.values.flat)
    for text in (*layout.attrs.values(), *(t for a in arrays for t in a.attrs.values()), *listed):
        if isinstance(text, str) and "\0" in text:
            raise PlantloopError(
                f"a NetCDF file ends texts at a NUL character, as one of this result has: {shown(text)}.",
                value=text,
                hint="Save it as .npz.",
            )


def _parts(drawing: KeptDrawing) -> dict[str, np.ndarray]:
    return {"packed": np.frombuffer(drawing.packed, np.uint8), "numbers": drawing.numbers}


def _read_netcdf(path: Path) -> dict[str, Any]:
    from netCDF4 import Dataset

    with Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_always_mask(False)
        drawn = file.groups[DRAWING].variables if DRAWING in file.groups else {}
        numbers = [v for v in (*file.variables.values(), *drawn.values()) if v.dtype is not str]
        _check_size(sum(math.prod(v.shape) * v.dtype.itemsize for v in numbers))
        arrays = {name: Array(v.dimensions, v[...], v.__dict__) for name, v in file.variables.items()}
        fields = fields_from(arrays, file.__dict__, f"'{path}'")
        if (group := file.groups.get(DRAWING)) is not None:
            fields["drawing"] = KeptDrawing(group["packed"][...].tobytes(), group["numbers"][...])
        return fields


def _write_npz(result: Record, path: Path, drawing: KeptDrawing | None) -> None:
    kept = {} if drawing is None else {f"{DRAWING}.{n}": v for n, v in _parts(drawing).items()}
    names = UniqueNames(("time", "header", "file", "allow_pickle", *kept))  # two are arguments of savez
    arrays: dict[str, Any] = {"time": result.time}
    where: dict[str, dict[str, Any]] = {"signals": {}, "ticks_of": {}}
    for signal, values in result.signals.items():
        where["signals"][signal] = key = names.take(file_name_of(signal))
        arrays[key] = values
    for signal, ticks in result.ticks_of.items():
        keys = [names.take(f"{file_name_of(signal)}@{part}") for part in ("time", "ticks")]
        where["ticks_of"][signal] = keys
        arrays |= dict(zip(keys, ticks, strict=True))
    leaves = result.tree.leaves
    labels = {leaf.name: leaf.labels for leaf in leaves if leaf.labels}
    units = {leaf.name: leaf.units for leaf in leaves if leaf.units}
    rest = {"labels": labels, "units": units, "events": result.events}
    arrays["header"] = np.array(json.dumps({"format": FORMAT, **header_of(result), **where, **rest}))
    np.savez(path, **(arrays | kept))


def _check_size(needed: float) -> None:
    """Refuse a file that grows beyond this machine's memory when it is read; it may be small itself."""
    check_memory(needed, "reading it", "Load a file written by Result.save.")


def _read_npz(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        _check_size(sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as arrays:
        members = set(arrays.files)
        header = mapping_of(arrays["header"].item()) if "header" in members else {}
        check_format(header.get("format"), f"'{path}'")
        # with the suffix, a member is found even where another signal is named like it plus ".npy"
        get = lambda key: arrays[f"{key}.npy"]
        drawing = None
        if f"{DRAWING}.packed" in members and f"{DRAWING}.numbers" in members:
            drawing = KeptDrawing(get(f"{DRAWING}.packed").tobytes(), get(f"{DRAWING}.numbers"))
        return described(
            dict(
                time=get("time"),
                signals={s: get(key) for s, key in header["signals"].items()},
                ticks_of={s: TickSeries(*map(get, keys)) for s, keys in header["ticks_of"].items()},
                labels=header["labels"],
                units=header["units"],
                drawing=drawing,
                events=tuple(Event(*e) for e in header["events"]),
                **from_header(header),
            )
        )


def _write_csv(result: Record, path: Path, _: KeptDrawing | None) -> None:
    to_table(result).to_csv(path)


WRITERS: Mapping[str, Callable[[Record, Path, KeptDrawing | None], None]] = {
    ".nc": _write_netcdf,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
READERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {".nc": _read_netcdf, ".npz": _read_npz}
