"""The cases of a study: variants, numbers and seeds; case k is the same for whoever asks for it."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blocks.arguments import is_whole
from blocks.errors import PlantloopError, near_miss
from blocks.table_file import SUFFIXES, read_table
from cosim.run.memory import check_memory
from cosim.study.measures import ROBUSTNESS
from cosim.study.sample_draws import drawn
from cosim.study.study_schema import Axis, SamplingTable, StudyTables

RESERVED = ("case", "variant", "seed", "status", "message", "warnings", "wall_time", "end_time")
"""Columns of every table of cases."""
SEED = "seed"  # the column with the seeds in a file of cases


@dataclass(frozen=True)
class Cases:
    """All cases, numbered from 0.

    columns : name -> (cases, size) float: values of parameters and initial values
    variant : (cases,) numbers of variants; seeds : (cases,) uint64 of random draws
    """

    columns: Mapping[str, np.ndarray]
    variant: np.ndarray
    seeds: np.ndarray

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def flat(self) -> dict[str, np.ndarray]:
        """One column per number: "controller.K[0]", "controller.K[1]" for a name with several numbers."""
        found: dict[str, np.ndarray] = {}
        for name, values in self.columns.items():
            found |= dict(zip(columns_of(name, values.shape[1]), values.T, strict=True))
        return found

    @property
    def fingerprint(self) -> str:
        """A hash that changes with any number of any case."""
        digest = hashlib.sha256(repr({n: v.shape for n, v in self.columns.items()}).encode())
        for values in (*self.columns.values(), self.variant, self.seeds):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    def take(self, cases: Sequence[int] | np.ndarray) -> Cases:
        """The cases with these numbers, in the order given."""
        return Cases({n: v[cases] for n, v in self.columns.items()}, self.variant[cases], self.seeds[cases])


def seeds_of(seed: int, count: int) -> np.ndarray:
    """Seeds, (count,) uint64 below 2^63: the k-th depends on the seed and k alone.

    Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
    (SplitMix).
    """
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed & (2**64 - 1)], np.uint64) + np.uint64(0x9E3779B97F4A7C15))
        found = _mixed(start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return found >> np.uint64(1)


def _mixed(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def make_cases(tables: StudyTables, variants: int, folder: Path, seed: int = 0) -> Cases:
    """Variants x grid x samples; variants change slowest, samples fastest.

    folder : where a file of cases is looked for; seed : of the runs, where samples have none of their own

    Raises
    ------
    PlantloopError     a file of cases that cannot be read, or has other than numbers in it; names of two
                       columns of the table of cases that are the same
    """
    grid, steps = _grid(tables.sweep)
    sampling = tables.sampling
    own = None if sampling is None else sampling.seed
    seed = seed & (2**64 - 1) if own is None else own  # runs may have any, also one below 0
    samples, own_seeds = _samples(sampling, folder, seed) if sampling is not None else ({}, None)
    _check_names(tables, grid, samples)
    runs = len(next(iter(samples.values()))) if samples else (len(own_seeds) if own_seeds is not None else 1)
    columns = {n: np.tile(np.repeat(v, runs, axis=0), (variants, 1)) for n, v in grid.items()}
    columns |= {n: np.tile(v, (variants * steps, 1)) for n, v in samples.items()}
    count = variants * steps * runs
    width = sum(v.shape[1] for v in (*grid.values(), *samples.values()))
    _check_room(count, width)
    seeds = seeds_of(seed, count)
    if own_seeds is not None:
        seeds = np.tile(own_seeds, variants * steps)
    return Cases(columns, np.repeat(np.arange(variants), steps * runs), seeds)


def _check_names(
    tables: StudyTables, grid: Mapping[str, np.ndarray], samples: Mapping[str, np.ndarray]
) -> None:
    """Refuse names of numbers that vary where another column of the table has them."""
    results = {*tables.metrics, *(r.name for r in tables.requirements)}
    results |= {f"{r.name}{ROBUSTNESS}" for r in tables.requirements}
    for name in (*grid, *samples):
        taken = results & {name, *columns_of(name, (grid if name in grid else samples)[name].shape[1])}
        if name in grid and name in samples:
            what, cure = "it is swept and in the samples", "Take it out of one of them."
        elif name in RESERVED:
            what, cure = "it is the name of a column of every table of cases", "Call the parameter otherwise."
        elif taken:
            column = "it" if name in taken else f"its column '{min(taken)}'"
            what, cure = f"{column} is the name of a metric or a requirement too", "Rename that one."
        else:
            continue
        raise PlantloopError(f"'{name}' varies, and {what}.", path=name, value=name, hint=cure)


def columns_of(name: str, width: int) -> list[str]:
    """Names of the columns of the table for a name with so many numbers."""
    return [name] if width == 1 else [f"{name}[{k}]" for k in range(width)]


def _grid(axes: Sequence[Axis]) -> tuple[dict[str, np.ndarray], int]:
    """Values of all names at every point of the grid, and the number of points."""
    sizes = [len(axis.rows) for axis in axes]
    count = math.prod(sizes)
    _check_room(count, sum(np.size(v) for axis in axes for v in axis.rows[0]))
    found, steps = {}, count  # steps: between two values of an axis, the last of which changes fastest
    for axis, size in zip(axes, sizes, strict=True):
        steps //= size
        places = np.arange(count) // steps % size
        for k, name in enumerate(axis.names):
            found[name] = _array(name, [row[k] for row in axis.rows])[places]
    return found, count


def _check_room(count: int, width: int) -> None:
    """Refuse cases whose numbers and results would not fit into memory.

    Raises
    ------
    PlantloopError     more cases than this machine's memory can hold
    """
    check_memory(
        24.0 * count * (width + 2),
        f"a study of {count} cases",
        "Split it by the seed, or into sweeps.",
    )


def _array(name: str, values: Sequence[Any]) -> np.ndarray:
    """Values of one name, (n, size)."""
    sizes = {np.size(v) for v in values}
    if len(sizes) > 1:
        raise PlantloopError(
            f"'{name}' has values of different sizes, {sorted(sizes)}; give all as many numbers.",
            path=name,
        )
    return np.array([np.ravel(np.asarray(v, dtype=float)) for v in values])


def _samples(s: SamplingTable, folder: Path, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Columns of the samples, and their seeds where a file gives them."""
    if s.method == "list":
        return _listed(s.cases)
    if s.method == "file":
        return _from_file(folder / str(s.file), str(s.file))
    values = drawn(s.method, s.runs or 0, seed, s.parameters, s.correlations)
    return {name: values[:, k : k + 1] for k, name in enumerate(s.parameters)}, None


def _listed(cases: Sequence[Mapping[str, Any]]) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    first = cases[0]
    for k, case in enumerate(cases):
        if set(case) != set(first):
            odd = sorted(set(case) ^ set(first))[0]
            raise PlantloopError(
                f"cases[{k}] and cases[0] name different things: '{odd}' is in one of them only.",
                path=odd,
                hint="Give every case a value of everything.",
            )
    found = {name: _array(name, [case[name] for case in cases]) for name in first if name != SEED}
    if SEED not in first:
        return found, None
    return found, _seeds([case[SEED] for case in cases], lambda k: f"cases[{k}], '{SEED}'")


def _seeds(values: Sequence[Any], where: Callable[[int], str]) -> np.ndarray:
    """Seeds, (cases,) uint64, read digit for digit: a double keeps only 53 bits of them."""
    for k, value in enumerate(values):
        if not is_whole(value) or not 0 <= value < 2**63:
            raise PlantloopError(
                f"{where(k)}: got {_cell(value)}, expected a whole number from 0 to 2^63 - 1.",
                path=SEED,
                hint="Seeds of cases are in the table of a study, and shown by --dry-run.",
            )
    return np.array([int(v) for v in values], dtype=np.uint64)


def _cell(value: Any) -> str:
    """The content of a cell as a message shows it; nan for an empty cell of a table that pandas read."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _from_file(path: Path, given: str) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Cases from a CSV or Parquet file: a column per name; "name[0]", "name[1]" for several numbers.

    given : what the study calls it, for messages
    """
    import pandas as pd

    if path.suffix.lower() not in SUFFIXES:
        raise PlantloopError(f"'{path.name}' is no file of cases: expected .csv or .parquet.", path=given)
    try:
        frame = read_table(path)
        if {*frame.index.names} - {None, "case"}:  # pandas stores an index with a name beside the columns
            frame = frame.reset_index()
        named = pd.read_csv(path, header=None, nrows=1) if path.suffix.lower() == ".csv" else frame
    except Exception as error:  # pandas and pyarrow raise many kinds
        raise PlantloopError(
            f"cannot read the cases in '{path.name}': {str(error).strip()}.", path=given
        ) from error
    columns = [str(name).strip() for name in (named.iloc[0] if named is not frame else frame.columns)]
    if twice := [name for name, count in Counter(columns).items() if count > 1]:
        raise PlantloopError(f"'{path.name}' has a column '{twice[0]}' twice; keep one.", path=given)
    frame.columns = columns
    if not len(frame):
        raise PlantloopError(f"'{path.name}' has no rows: it lists no cases.", path=given)
    for name in frame.columns:
        values = pd.to_numeric(frame[name], errors="coerce")
        if frame[name].dtype.kind in "bmM":  # true and false, times and dates, which to_numeric counts
            values = pd.Series(np.nan, frame.index)
        if bad := [int(k) for k in np.flatnonzero(~np.isfinite(values.to_numpy(dtype=float)))]:
            raise PlantloopError(
                f"'{path.name}', column '{name}', row {bad[0] + 1}: got {_cell(frame[name].iloc[bad[0]])}, "
                "expected a finite number.",
                path=given,
            )
    found: dict[str, list[np.ndarray]] = {}
    seeds = None
    for name in frame.columns:
        if name == SEED:
            seeds = _seeds(list(frame[name]), lambda k: f"'{path.name}', column '{SEED}', row {k + 1}")
            continue
        whole, bracket, rest = str(name).rpartition("[")
        several = bracket and rest[:-1].isdigit() and f"{whole}[0]" in frame.columns
        found.setdefault(whole if several else str(name), []).append(frame[name].to_numpy(dtype=float))
    return {name: np.column_stack(parts) for name, parts in found.items()}, seeds


def parsed_cases(text: str, count: int) -> list[int]:
    """Read the numbers of cases from "17,42" or "3-9,20".

    Raises
    ------
    PlantloopError     no numbers, or no such cases
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not (last.isdigit() and int(first) <= int(last))):
            words = ("failed", "missing")
            hint = near_miss(text, words) if text.strip().isalpha() else "Write numbers such as 17,42."
            raise PlantloopError(f"'{text}' names no cases; {hint}", value=text)
        found += range(int(first), int(last or first) + 1)
    for k in found:
        if k >= count:
            raise PlantloopError(f"no case {k}: there are {count}, counted from 0.", value=k)
    return list(dict.fromkeys(found))
