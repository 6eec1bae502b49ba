"""Time to import packages, each in new processes.

    python -m benchmarks.imports [--smoke]

Nothing to compare with a reference here, so there is no error.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable

from benchmarks.support.table import Row, heading, installed, seconds, show, smoke

OURS = {
    "(bare interpreter)": "pass",
    "cosim": "import cosim",
    "cosim.simulate": "from cosim import Diagram, simulate",
    "blocks": "import blocks; blocks.Gain",
    "plant.Plant": "from plant import Plant",
}
OTHERS = {
    "numpy": "numpy",
    "control": "control",
    "pathsim": "pathsim",
    "bdsim": "bdsim",
    "pydrake.all": "drake",
    "mujoco": "mujoco",
    "pinocchio": "pin",
    "exudyn": "exudyn",
    "numba": "numba",
    "jaxonomy": "jaxonomy",
}


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns medians [s]."""
    heading("imports in new processes", *OTHERS.values())
    found = {name: f"import {name}" for name, package in OTHERS.items() if installed(package)}
    calls: dict[str, Callable[[], object]] = {
        name: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
        for name, code in (OURS | found).items()
    }
    took: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 if short else 7):
        for name, call in calls.items():
            took[name].append(seconds(call))
    medians = {name: statistics.median(times) for name, times in took.items()}
    show(("", "s", "error"), [Row(name, (f"{t:.3f}",)) for name, t in medians.items()])
    return medians


if __name__ == "__main__":
    main(smoke())
