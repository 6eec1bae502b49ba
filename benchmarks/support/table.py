"""Timing and tables: everything in one table is timed in turn, in one process, on one machine."""

from __future__ import annotations

import importlib.util
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from blocks import Constant
from cosim import Diagram, Simulation
from cosim.engines.native.compiler import CompilerError, find

OURS = ("plantloop", "casadi", "numpy", "scipy")
MODULES = {"drake": "pydrake", "pin": "pinocchio"}  # a module that is not called as its package


def installed(package: str) -> bool:
    """Is a package there? It is not imported."""
    return importlib.util.find_spec(MODULES.get(package, package)) is not None


def heading(title: str, *packages: str) -> None:
    """Print what is measured, on what machine, with what versions."""
    print(f"\n== {title}")
    print(f"{_processor()}, {os.cpu_count()} processors, {platform.system()} {platform.machine()}")
    there = dict.fromkeys([*OURS, *filter(installed, packages)])
    found = [f"{name} {_version(name)}" for name in there]
    print(", ".join([f"Python {platform.python_version()}", *found, _compiler()]))
    missing = [name for name in packages if not installed(name)]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _version(package: str) -> str:
    if package == "plantloop":
        from cosim import __version__

        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def _compiler() -> str:
    try:
        said = subprocess.run([*find().command, "--version"], capture_output=True, text=True).stdout
    except CompilerError:
        return "no C compiler"
    return said.splitlines()[0] if said else "a C compiler"


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call [s]."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def built(call: Callable[[], object]) -> str:
    """Wall time and, in brackets, processor time [s] of one call, compilers it starts included."""
    before = os.times()
    wall = seconds(call)
    spent = sum(os.times()[:4]) - sum(before[:4])
    return f"{wall:.2f} ({spent:.1f})"


@contextmanager
def private_cache(folder: str) -> Iterator[None]:
    """Compile for sure: an empty cache on disk. The runtime, compiled once per machine, is there already."""
    d = Diagram("nothing")
    d.add("state", Constant(0.0))
    Simulation(d, engine="native", solver="rk4", step=1.0)
    before = os.environ.get("PLANTLOOP_CACHE")
    os.environ["PLANTLOOP_CACHE"] = folder
    try:
        yield
    finally:
        del os.environ["PLANTLOOP_CACHE"]
        if before is not None:
            os.environ["PLANTLOOP_CACHE"] = before


def in_turn(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int = 10,
    budget: float = 3.0,
    clock: Callable[[Callable[[], Any]], float] = seconds,
) -> dict[str, float]:
    """Shortest time [s] of each call, as `clock` takes it.

    Every round runs each call once, so that a busy moment of the machine meets all of them; a call that has
    used up its budget [s] sits out the rounds that are left.
    """
    found = {name: [clock(call)] for name, call in calls.items()}
    for _ in range(rounds - 1):
        for name, call in calls.items():
            if sum(found[name]) < budget:
                found[name].append(clock(call))
    return {name: min(times) for name, times in found.items()}


def repeated(call: Callable[[], object], at_least: float = 0.002) -> tuple[Callable[[], object], int]:
    """A call that lasts, for what is too short to be timed once; and how often it does the work."""
    call()
    times = max(1, int(at_least / max(min(seconds(call) for _ in range(3)), 1e-8)))

    def run() -> None:
        for _ in range(times):
            call()

    return run, times


@dataclass(frozen=True)
class Row:
    """One line of a table: who, numbers already as text, and the error beside the reference."""

    name: str
    cells: tuple[str, ...]
    error: float | None = None


def show(columns: Iterable[str], rows: Iterable[Row], wrong: float = math.inf) -> None:
    """Print a table; the error is its last column, and a time with one beyond `wrong` is marked."""
    rows, columns = list(rows), list(columns)
    wide = max([len(row.name) for row in rows] + [len(columns[0])])
    widths = [max(11, len(c) + 1) for c in columns[1:]]
    print(f"{columns[0]:{wide}s}" + "".join(f"{c:>{w}s}" for c, w in zip(columns[1:], widths, strict=True)))
    marked = False
    for row in rows:
        error = "-" if row.error is None else f"{row.error:.1e}"
        mark = row.error is not None and not row.error <= wrong
        marked = marked or mark
        cells = zip((*row.cells, error), widths, strict=True)
        line = f"{row.name:{wide}s}" + "".join(f"{c:>{w}s}" for c, w in cells)
        print(line + (" *" if mark else ""), flush=True)
    if marked:
        print(f"* an error beyond {wrong:g}: the time does not count")


def smoke() -> bool:
    """Was the script asked for a short run that only shows that it works?"""
    return "--smoke" in sys.argv[1:]


def numbers(default: list[int], short: list[int]) -> list[int]:
    """Sizes from the command line, or the script's own."""
    given = [int(a) for a in sys.argv[1:] if a != "--smoke"]
    return given or (short if smoke() else default)
