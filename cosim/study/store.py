"""The results of a study on disk: a row per case, signals in chunks of many cases, and the study's inputs.

::

    DIR/study.json                what was run: fingerprints of its parts, versions, names, sizes
    DIR/inputs/                   the study file and the model, as they were
    DIR/table/000000.parquet      rows of the cases of a chunk; a chunk is done when it is there
    DIR/signals.zarr              a group; each signal is an array (case, time) or (case, time, component)
    DIR/failures/17.npz           a snapshot shortly before a run failed

A chunk's signals are written before its rows, and the file of rows appears whole or not at all: whatever is
killed at any time, what is missing is done again and gives the same.
"""

from __future__ import annotations

import hashlib
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.run.memory import check_memory
from cosim.study.array_names import array_names
from cosim.study.folder import Folder, cannot_write
from cosim.study.manifest_check import check_manifest
from cosim.study.measures import ROBUSTNESS
from cosim.study.running import CaseOutcome
from cosim.study.stored_rows import check_cases, damage_named, read_cases, read_rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FORMAT = 1
SEARCH = "search for"  # begins the print of cases that a search has chosen
MANIFEST, TABLE, SIGNALS, INPUTS, FAILURES = "study.json", "table", "signals.zarr", "inputs", "failures"
MOST_CASES, MOST_BYTES = 10_000, 64 * 2**20  # most cases, and bytes, in a chunk
ROWS_AGAIN = "Remove this file; --resume does its cases again."
CHUNK_SECONDS, PIECES = 1.0, 8  # s of work in a chunk; chunks for each worker


@dataclass(frozen=True)
class Manifest:
    """The description of a store's contents, as plain data.

    stored : signals that are kept -> (size, labels); columns : of the table, those of cases first
    units, signal_units : of parameters, and of components of signals ("plant.x[0]"), that have one
    """

    name: str
    count: int
    chunk: int
    variants: tuple[str, ...]
    parameters: tuple[str, ...]
    metrics: tuple[str, ...]
    requirements: tuple[str, ...]
    stored: Mapping[str, tuple[int, tuple[str, ...]]]
    times: tuple[float, ...]
    keep: str
    dtype: str
    fingerprints: Mapping[str, str]
    study_file: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # name in inputs/ -> sha256
    design: str = ""  # of the samples, if it is one of `cosim.study.sample_draws.DESIGNS`
    sampled: tuple[str, ...] = ()  # parameters of the design, in its order
    spans: tuple[float, ...] = ()  # of each of these, from its lower to its upper bound
    other_names: Mapping[str, str] = field(default_factory=dict)  # outputs of subsystems -> stored signals
    units: Mapping[str, str] = field(default_factory=dict)
    signal_units: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @staticmethod
    def read(content: bytes, url: str) -> Manifest:
        """Read a manifest from the file of a store.

        Raises
        ------
        PlantloopError     it is damaged, or of another version
        """
        try:
            given = json.loads(content)
            if not isinstance(given, dict):
                raise ValueError("it is no JSON object")
            if given.get("format") != FORMAT:
                raise PlantloopError(
                    f"'{url}' was written in format {given.get('format')}, this version reads {FORMAT}.",
                    path=url,
                )
            check_manifest(given)
            stored = {n: (int(size), tuple(labels)) for n, (size, labels) in given["stored"].items()}
            lists = {
                n: tuple(given[n]) for n in ("variants", "parameters", "metrics", "requirements", "times")
            }
            lists |= {n: tuple(given.get(n, ())) for n in ("sampled", "spans")}
            return Manifest(**given | {"stored": stored} | lists)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise PlantloopError(f"'{url}/{MANIFEST}' is damaged: {error}.", path=url) from error

    @property
    def searched(self) -> bool:
        """Whether a search has chosen the cases; those of the study file are others."""
        return self.fingerprints.get("cases", "").startswith(SEARCH)

    def command(self, case: int | str, url: str) -> str:
        """What runs a case again, of the study in a folder: a command, or a line of Python."""
        file = PurePosixPath(self.study_file).name
        if file and not self.searched:
            return f"cosim run {shlex.quote(file)} --case {case}"
        return f"open_study({json.dumps(url)}{'' if file else ', study=study'}).case({case}).result"

    def titled(self, column: str) -> str:
        """A column of the table with its unit, "motor.J [kg m^2]"; its name where it has none."""
        return f"{column} [{self.units[column]}]" if column in self.units else column

    def signal_unit(self, name: str) -> str:
        """The unit of a component of a stored signal, or of a whole one's first; "" where it has none."""
        full = self.other_names.get(name, name)
        return self.signal_units.get(full) or self.signal_units.get(f"{full}[0]", "")

    def text(self) -> bytes:
        """The manifest as the bytes of its file."""
        return json.dumps(asdict(self), indent=1).encode()

    def changes(self, new: Manifest) -> list[str]:
        """Differences from a new manifest, in words."""
        found = []
        if self.count != new.count:
            found.append(f"it has {self.count} cases, now there are {new.count}")
        if self.parameters != new.parameters:
            before, now = ", ".join(self.parameters), ", ".join(new.parameters)
            found.append(f"its parameters were {before}, now they are {now}")
        for name in dict.fromkeys([*self.fingerprints, *new.fingerprints]):
            before, now = self.fingerprints.get(name, ""), new.fingerprints.get(name, "")
            if before != now and not (found and name == "cases"):
                found.append(f"{name} changed ({before or 'none'} -> {now or 'none'})")
        return found


def chunk_size(count: int, bytes_each: int, seconds: float, workers: int) -> int:
    """The number of cases stored in one chunk: enough that writing costs little compared with running.

    seconds : one case takes; workers : that are to have something to do at the end too
    """
    wanted = CHUNK_SECONDS / max(seconds, 1e-9)
    return int(
        max(1, min(wanted, -(-count // (PIECES * workers)), MOST_CASES, MOST_BYTES // max(1, bytes_each)))
    )


@dataclass(frozen=True)
class StudyStore:
    """The results of a study in a folder; made by `create` or `opened`."""

    folder: Folder
    manifest: Manifest

    @staticmethod
    def opened(url: str) -> StudyStore:
        """Open an existing store.

        Raises
        ------
        PlantloopError     there is none, it is damaged, or has links, pipes or devices in it
        """
        folder = Folder(url)
        if not folder.exists(MANIFEST):
            what = "there is no such folder" if not folder.exists() else f"it has no {MANIFEST}"
            raise PlantloopError(
                f"'{url}' is no folder of a study: {what}.",
                path=url,
                hint="Write it with Study.run or cosim sweep.",
            )
        folder.check_inside()
        with damage_named(url, MANIFEST, "Give a folder that was written by a study."):
            return StudyStore(folder, Manifest.read(folder.read(MANIFEST), url))

    @staticmethod
    def create(url: str, manifest: Manifest, files: Mapping[str, bytes]) -> StudyStore:
        """Create a store; the manifest is written last.

        Raises
        ------
        PlantloopError     the folder holds something else, or cannot be written to
        """
        folder = Folder(url)
        known = {INPUTS, SIGNALS, TABLE, FAILURES}
        if others := [n for n in folder.names() if n not in known]:
            raise PlantloopError(
                f"'{url}' is not empty and no folder of a study: it has '{others[0]}'.",
                path=url,
                hint="Give a new folder with --out.",
            )
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        made = StudyStore(folder, replace(manifest, files=hashes))
        for name, content in files.items():
            folder.write(f"{INPUTS}/{name}", content)
        if manifest.stored:
            made._make_signals()
        folder.write(MANIFEST, made.manifest.text())
        return made

    def grown(self, count: int) -> StudyStore:
        """The same with room for more cases; the manifest is written last."""
        group = self._zarr("r+") if self.manifest.stored else {}
        for name in ("case", *self._array_names.values()) if group else ():
            group[name].resize((count, *group[name].shape[1:]))
        if group:
            group["case"][:] = np.arange(count)
        made = StudyStore(self.folder, replace(self.manifest, count=count))
        self.folder.write(MANIFEST, made.manifest.text())
        return made

    def discard(self) -> None:
        """Remove the files `create` has written, if no case of the study was run."""
        if len(self.done()):
            return
        for name in (MANIFEST, INPUTS, SIGNALS, TABLE):
            self.folder.remove(name)
        self.folder.remove_if_empty()

    # --- signals --------------------------------------------------------------------------------------------
    def _zarr(self, mode: Any) -> Any:
        import zarr

        return zarr.open_group(f"{self.folder.url.rstrip('/')}/{SIGNALS}", mode=mode, zarr_format=3)

    def _make_signals(self) -> None:
        from zarr.codecs import BloscCodec, Crc32cCodec

        m = self.manifest
        # bytes of equal weight together, then lz4: a third of the time of zstd on numbers, and no larger
        compressor = BloscCodec(cname="lz4", clevel=1, shuffle="shuffle", typesize=np.dtype(m.dtype).itemsize)
        try:
            group = self._zarr("w")
            group.attrs["study"] = m.name
            time = group.create_array(
                "time", shape=(len(m.times),), dtype="float64", dimension_names=("time",)
            )
            time[:] = np.array(m.times)
            time.attrs["units"] = "s"
            case = group.create_array("case", shape=(m.count,), dtype="int64", dimension_names=("case",))
            case[:] = np.arange(m.count)
            for name, (size, labels) in m.stored.items():
                more = () if size == 1 else (size,)
                array = self._array_names[name]
                made = group.create_array(
                    array,
                    shape=(m.count, len(m.times), *more),
                    chunks=(m.chunk, len(m.times), *more),
                    dtype=m.dtype,
                    fill_value=float("nan"),
                    dimension_names=("case", "time", *([f"{array} component"] if more else [])),
                    compressors=(compressor, Crc32cCodec()),
                )
                made.attrs.update({"signal": name, "labels": list(labels)})
        except OSError as error:
            raise cannot_write(self.folder.url, error) from error

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        group = self._zarr("r+")
        return {name: group[array] for name, array in self._array_names.items()}

    @cached_property
    def _array_names(self) -> dict[str, str]:
        return array_names(self.manifest.stored)

    def _write_signals(self, chunk: int, done: CaseOutcome) -> None:
        assert done.signals is not None
        m, first = self.manifest, chunk * self.manifest.chunk
        end, column = min(first + m.chunk, m.count), 0
        whole = len(done.cases) == end - first
        for name, (size, _) in m.stored.items():
            part = done.signals[:, :, column : column + size]
            part = part[:, :, 0] if size == 1 else part
            array = self._arrays[name]
            if not whole:
                region = np.array(array[first:end])
                region[done.cases - first] = part
                part = region
            array[first:end] = part
            column += size

    def signals_of(self, cases: np.ndarray) -> np.ndarray | None:
        """Stored signals of some cases side by side, (m, n, width); None where none are stored."""
        if not self.manifest.stored:
            return None
        parts = []
        with self.reading_signals():
            for name in self.manifest.stored:
                found = np.asarray(self._arrays[name].oindex[cases.tolist()])
                parts.append(found[:, :, None] if found.ndim == 2 else found)
            return np.concatenate(parts, axis=2)

    def reading_signals(self) -> AbstractContextManager[None]:
        """A context for reading signals: damage is one error that names them."""
        return damage_named(self.folder.url, SIGNALS, "The table can be read; run the study again elsewhere.")

    def dataset(self) -> xr.Dataset:
        """Stored signals by their names over (case, time), read when they are used.

        Raises
        ------
        PlantloopError     they are damaged, or of other shapes than the manifest says
        """
        import xarray as xr

        m = self.manifest
        with self.reading_signals():
            url = f"{self.folder.url.rstrip('/')}/{SIGNALS}"
            found: xr.Dataset = xr.open_zarr(url, consolidated=False)
            for name, (size, _) in m.stored.items():
                shape = (m.count, len(m.times), *(() if size == 1 else (size,)))
                if (array := found[self._array_names[name]]).shape != shape or array.dtype != m.dtype:
                    raise ValueError(f"'{name}' is {array.dtype} of shape {array.shape}, expected {shape}")
            found = found[[*self._array_names.values()]]
            found = found.rename({array: name for name, array in self._array_names.items()})
            return found.assign({name: found[full] for name, full in m.other_names.items()})

    def numbers_of(self, array: xr.DataArray) -> np.ndarray:
        """Numbers of a stored signal, or of a part of it, as doubles.

        Raises
        ------
        PlantloopError     they are damaged, or do not fit into memory
        """
        check_memory(8.0 * array.size, f"signal '{array.name}' of these cases", "Take fewer cases.")
        with self.reading_signals():
            return np.asarray(array, dtype=float)

    # --- rows -----------------------------------------------------------------------------------------------
    def rows_name(self, chunk: int) -> str:
        """The file with the rows of a chunk."""
        return f"{TABLE}/{chunk:06d}.parquet"

    def commit(self, chunk: int, done: CaseOutcome, cases: Mapping[str, np.ndarray]) -> None:
        """Write cases of one chunk: signals first, then the rows, which make the cases count as done.

        cases : columns that say what each of them is, (m,) each
        """
        import pandas as pd

        self._check_there()
        try:
            if done.signals is not None:
                self._write_signals(chunk, done)
        except OSError as error:
            raise cannot_write(self.folder.url, error) from error
        frame = pd.DataFrame({"case": done.cases, **cases, **done.table})
        name = self.rows_name(chunk)
        if self.folder.exists(name):
            old = self._frame(name)
            frame = pd.concat([old[~old["case"].isin(frame["case"])], frame]).sort_values("case")
        memory = io.BytesIO()
        frame.to_parquet(memory, index=False, compression="zstd", write_page_checksum=True)
        self.folder.write(name, memory.getvalue())
        self._check_there()  # it may have gone while this was written

    def _check_there(self) -> None:
        """Whether it is still where the run began; one that was moved is made anew, without its manifest."""
        if not self.folder.remote and not self.folder.exists(MANIFEST):
            raise PlantloopError(
                f"the results in '{self.folder.url}' were moved or removed while the study ran.",
                path=self.folder.url,
                hint="What was written is complete; go on with --resume (resume=True) where it is now.",
            )

    def _frame(self, name: str, like: pd.DataFrame | None = None) -> pd.DataFrame:
        with damage_named(self.folder.url, name, ROWS_AGAIN):
            like = self._no_rows() if like is None else like
            return read_rows(self.folder.read(name), like, self.manifest.count)

    def _stamps(self) -> dict[str, object]:
        """The files of rows, with their stamps."""
        names = (f"{TABLE}/{n}" for n in self.folder.names(TABLE) if n.endswith(".parquet"))
        return {name: self.folder.stamp(name) for name in names}

    def table(self) -> pd.DataFrame:
        """Rows of all cases done so far, in order; only files that were not read before are read."""
        import pandas as pd

        stamps, known = self._stamps(), self._read.get("stamps")
        if known != stamps:
            frames, like = [], self._no_rows()
            if known and all(stamps.get(name) == stamp for name, stamp in known.items()):
                frames.append(self._read["table"].reset_index())
            else:
                known = {}
            frames += [self._frame(name, like) for name in stamps if name not in known]
            table = pd.concat(frames, ignore_index=True) if frames else like
            with damage_named(self.folder.url, TABLE, ROWS_AGAIN):
                check_cases(table["case"].to_numpy(), self.manifest.count)
            self._read.update(stamps=stamps, table=table.set_index("case").sort_index())
        found: pd.DataFrame = self._read["table"].copy()
        return found

    def first_rows(self) -> pd.DataFrame:
        """Rows of the first chunk with cases that are done."""
        names = sorted(n for n in self.folder.names(TABLE) if n.endswith(".parquet"))
        return self._frame(f"{TABLE}/{names[0]}") if names else self._no_rows()

    def _no_rows(self) -> pd.DataFrame:
        """The table without rows, before the first case is done."""
        import pandas as pd

        m = self.manifest
        like: dict[str, Any] = {"case": 0} | ({"variant": ""} if len(m.variants) > 1 else {}) | {"seed": 0}
        like |= dict.fromkeys((*m.parameters, *m.metrics), 0.0)
        for name in m.requirements:
            like |= {name: True, name + ROBUSTNESS: 0.0}
        like |= {"end_time": 0.0, "status": "", "message": "", "wall_time": 0.0}
        return pd.DataFrame({name: [value] for name, value in like.items()}).iloc[:0]

    @cached_property
    def _read(self) -> dict[str, Any]:
        """The table as last read, and the files it was read from, with their stamps."""
        return {}

    @cached_property
    def _cases_read(self) -> dict[str, tuple[object, np.ndarray]]:
        """Numbers of the cases in each file of rows, with the stamp of the file they were read from."""
        return {}

    def done(self) -> np.ndarray:
        """Numbers of the cases that have a row; only files that were not read before are read."""
        found = [np.zeros(0, np.int64)]
        for name, stamp in self._stamps().items():
            if self._cases_read.get(name, (None,))[0] != stamp:
                with damage_named(self.folder.url, name, ROWS_AGAIN):
                    cases = read_cases(self.folder.read(name), self.manifest.count)
                self._cases_read[name] = stamp, cases
            found.append(self._cases_read[name][1])
        return np.sort(np.concatenate(found))

    def by_chunk(self, cases: Sequence[int] | np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Cases of each chunk, in order."""
        numbers = np.unique(np.asarray(cases, dtype=np.int64))
        chunks = numbers // self.manifest.chunk
        return [(int(c), numbers[chunks == c]) for c in np.unique(chunks)]
