"""A thousand blocks at three rates: the native engine beside other libraries, per block and step.

    python -m benchmarks.cells [--smoke] [40 1000 10000]

The diagram of `cells_model`. rk4 1 ms, or what a library has that comes nearest. The error is that of the
integrators after 50 ms, in other libraries as far as they get within some seconds, against the same scheme in
NumPy, written by hand for this diagram. The build is all that comes before, compiling and a first run too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.cells_model import BLOCKS, STEP, cells, numpy_by_hand
from benchmarks.support.peers_cells import PEERS
from benchmarks.support.table import Row, heading, in_turn, installed, numbers, seconds, show, smoke
from cosim import Result, simulate

COMPARED = 0.05  # s simulated for the error of ours
FURTHER, PATIENCE = (0.02, 0.05, 0.2, 1.0), 0.5  # s simulated by others as long as the last took less [s]
Run = Callable[[float], np.ndarray]


@dataclass(frozen=True)
class Entry:
    """A library's run, the time it takes to get there, how far it is run, and its error there."""

    run: Run
    build: float
    until: float
    error: float


def entry(build: Callable[[], Run], count: int, short: bool) -> Entry:
    """Build, and run as far as patience lets."""
    until, began = 0.005, time.perf_counter()
    run = build()
    run(until)  # what is compiled or filled at the first call belongs to the build
    took = time.perf_counter() - began
    for further in () if short else FURTHER:
        began = time.perf_counter()
        run(until)
        if time.perf_counter() - began > PATIENCE:
            break
        until = further
    known = numpy_by_hand(count, until)
    return Entry(run, took, until, float(np.abs(run(until) - known).max()))


def measure(blocks: int, short: bool) -> list[Row]:
    """Lines of the table for so many blocks."""
    count = max(1, blocks // BLOCKS)
    ours = 0.1 if short or blocks > 1000 else 2.0  # simulated time [s]
    d, signals = cells(count), [f"state{k}.y" for k in range(count)]

    def run(until: float, signals: list[str]) -> Result:
        return simulate(d, until, solver="rk4", step=STEP, engine="native", signals=signals, log_at=[until])

    build, ends = seconds(lambda: run(STEP, [])), run(COMPARED, signals)
    found = np.array([ends[name][-1, 0] for name in signals])
    error = float(np.abs(found - numpy_by_hand(count, COMPARED)).max())
    calls: dict[str, Callable[[], float]] = {
        "native": lambda: run(ours, []).statistics["wall time [s]"] / ours,
        "NumPy by hand, for this diagram only": lambda: seconds(lambda: numpy_by_hand(count, 0.5)) / 0.5,
    }
    facts: dict[str, tuple[str, float | None]] = {"native": (f"{build:.2f}", error)}
    for name, (package, make, most) in PEERS.items():
        if installed(package) and blocks <= (100 if short else most):
            e = entry(lambda make=make: make(count), count, short)
            calls[name] = lambda e=e: seconds(lambda: e.run(e.until)) / e.until
            facts[name] = f"{e.build:.2f}", e.error
    best = in_turn(calls, 1 if short else 20, 10.0, clock=lambda call: call())
    total = BLOCKS * count

    def row(name: str, t: float) -> Row:
        took, error = facts.get(name, ("-", None))
        return Row(f"{total} blocks: {name}", (f"{1e9 * STEP * t / total:.4g}", took), error)

    return [row(name, t) for name, t in best.items()]


def main(sizes: list[int], short: bool = False) -> None:
    """Print a table for every size."""
    heading(
        "many blocks at three rates, ns per block and step", *(package for package, _, _ in PEERS.values())
    )
    for n in sizes:
        show(("", "ns", "build [s]", "error"), measure(n, short), 1e-6)


if __name__ == "__main__":
    main(numbers([40, 1000, 10_000], [40]), smoke())
