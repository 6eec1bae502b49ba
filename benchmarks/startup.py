"""What stands before a short run: importing, reading, building, flattening, compiling, writing the result.

    python -m benchmarks.startup [--smoke]

- *known shapes*: a fresh diagram of five blocks, whose shapes were seen before in the process, is built,
  flattened and run for 10 s of simulated time; the same equations with other numbers.
- *new equations*: the first run of such a diagram with equations never compiled before; the runtime is warm.
- *cosim run*: the inverted pendulum's scenario in a new process with a warm cache, result file included.
- *import cosim* and a bare interpreter, in new processes.

Wall time, and processor time of all that was started. The error of the first two is that of the output at
10 s against the closed form; that of `cosim run` what the file holds for the angle, which should end at 0.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.support.table import Row, heading, show, smoke
from blocks import Constant, Function, Gain, Integrator, Sum, TransferFunction
from cosim import Diagram, Result, simulate

ROOT = Path(__file__).parents[1]
SCENARIO = ROOT / "examples" / "inverted_pendulum" / "scenario.toml"
END = 10.0  # s


def loop(gain: float, factor: float) -> Diagram:
    """First-order lag y' = 1 - (1 + gain) y from 0, written as a closed loop; factor is part of the code."""
    d = Diagram("loop")
    reference, difference = d.add("reference", Constant(1.0)), d.add("difference", Sum("+-"))
    controller, plant = d.add("controller", Gain(gain)), d.add("plant", TransferFunction([1.0], [1.0, 1.0]))
    shown = d.add("shown", Function(lambda u: factor * u)) if factor else d.add("shown", Integrator(0.0))
    reference["y"] >> difference["in1"]
    plant["y"] >> difference["in2"]
    difference["y"] >> controller["u"]
    controller["y"] >> plant["u"]
    plant["y"] >> shown["u"]
    return d


def error(result: Result, gain: float) -> float:
    """Of the lag at the end."""
    rate = 1.0 + gain
    return abs(result["plant.y"][-1, 0] - gain / rate * (1.0 - math.exp(-rate * END)))


def _processor_time() -> float:
    """Of this process and those it started [s]; of the latter in steps of 10 ms."""
    return time.process_time() + sum(os.times()[2:4])


class Timed:
    """Shortest wall and processor times [s] of a call, children included."""

    def __init__(self, call: Callable[[], object], rounds: int) -> None:
        self.wall = self.processor = math.inf
        for _ in range(rounds):
            before, began = _processor_time(), time.perf_counter()
            call()
            self.wall = min(self.wall, time.perf_counter() - began)
            self.processor = min(self.processor, _processor_time() - before)

    def row(self, name: str, wanted: float | None, error: float | None = None) -> Row:
        """A line of the table [ms]."""
        limit = f"{1e3 * wanted:.0f}" if wanted else "-"
        return Row(name, (f"{1e3 * self.wall:.1f}", f"{1e3 * self.processor:.1f}", limit), error)


def main(short: bool = False) -> None:
    """Print the table."""
    heading("what stands before a short run")
    few, some = (1, 2) if short else (10, 40)
    numbers = iter(range(1, 10**6))
    found: list[float] = []

    def known() -> None:
        gain = 2.0 + 0.01 * next(numbers)
        found.append(error(simulate(loop(gain, 0.0), END), gain))

    def new() -> None:
        gain = 2.0 + 0.01 * next(numbers)
        found.append(error(simulate(loop(gain, time.time_ns() % 10**9 * 1e-9 + 1.0), END), gain))

    known()
    rows = [Timed(known, some).row("fresh diagram of known shapes, built and run", 0.01, max(found))]
    found.clear()
    new()
    rows.append(Timed(new, few).row("first run of new equations", 0.2, max(found)))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cosim", "run", str(SCENARIO), "--out", folder]
        process = lambda *line: lambda: subprocess.run(line, cwd=ROOT, check=True, capture_output=True)
        process(*command)()
        run = Timed(process(*command), few)
        left = abs(Result.load(Path(folder) / "result.nc")["plant.pendulum"][-1, 0])
    rows.append(run.row("cosim run of the pendulum, new process", 0.7, left))
    for what, code, wanted in (("import cosim", "import cosim", 0.05), ("bare interpreter", "pass", None)):
        rows.append(Timed(process(sys.executable, "-c", code), few).row(f"{what}, new process", wanted))
    show(("", "wall ms", "CPU ms", "wanted", "error"), rows)


if __name__ == "__main__":
    main(smoke())
