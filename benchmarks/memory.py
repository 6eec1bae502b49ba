"""A hundred million steps, logged every ten thousand: memory of the process.

    python -m benchmarks.memory [--smoke] [100000000]

The cart-pole of `benchmarks.cartpole` in a process of its own. The error is that of the state at 1 s.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.cartpole import exact
from benchmarks.support.table import Row, heading, numbers, show

RUN = """
import json, os, resource, sys, warnings
from benchmarks.cartpole_model import closed_loop
from cosim import simulate

def peak():
    if os.path.exists("/proc/self/status"):  # what getrusage says contains the process that started this one
        lines = open("/proc/self/status").read().splitlines()
        return next(float(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM"))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 2**10

until, d, fixed = float(sys.argv[1]), closed_loop(), {"solver": "rk4", "step": 1e-3, "engine": "native"}
state = simulate(d, 1.0, **fixed)["plant.state"][-1].tolist()
before = peak()
warnings.simplefilter("ignore")  # samples at 100 Hz are kept up to a bound, and it says so
r = simulate(d, until, log_every=10, **fixed)
facts = [r.statistics["steps"], len(r.time), r.statistics["wall time [s]"], before, peak(), state]
print(json.dumps(facts))
"""


def main(steps: int) -> float:
    """Print the table; returns the peak [MB]."""
    heading("a long run")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(steps / 1000)], check=True, capture_output=True, text=True
    )
    done_steps, rows, seconds, before, peak, state = json.loads(done.stdout)
    error = float(np.abs(np.array(state) - exact()).max())
    cells = (f"{done_steps:.3g}", f"{rows}", f"{seconds:.2f}", f"{before:.0f}", f"{peak:.0f}")
    columns = ("", "steps", "rows", "wall [s]", "before [MB]", "peak [MB]", "error")
    show(columns, [Row("cart-pole, logged every 10 s", cells, error)])
    return float(peak)


if __name__ == "__main__":
    for count in numbers([100_000_000], [100_000]):
        main(count)
