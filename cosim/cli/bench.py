"""Run the scripts of `benchmarks/`: they belong to the source checkout and are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from blocks.errors import PlantloopError, near_miss

# linear algebra uses one thread, the same for all
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def scripts(start: Path) -> dict[str, Path]:
    """The benchmarks by name: all files of `benchmarks/` except the models they share.

    Raises
    ------
    PlantloopError      `start` is in no checkout
    """
    for folder in (start, *start.parents):
        found = folder / "benchmarks"
        if (found / "cartpole_model.py").is_file() and (folder / "cosim" / "cli" / "bench.py").is_file():
            return {f.stem: f for f in sorted(found.glob("*.py")) if not f.stem.endswith("_model")}
    raise PlantloopError(
        f"no checkout of plantloop at '{start}' or above: the benchmarks are part of the sources, not of the "
        "installed package.",
        path=str(start),
        hint="Run cosim bench inside a checkout.",
    )


def run_scripts(start: Path, names: Sequence[str], smoke: bool) -> None:
    """Run scripts one after the other, each in a process of its own.

    A smoke run compiles into a cache of its own and leaves nothing behind.

    Raises
    ------
    PlantloopError      no checkout, an unknown name, or scripts that failed
    """
    known = scripts(start)
    for name in names:
        if name not in known:
            raise PlantloopError(f"no benchmark '{name}'; {near_miss(name, known)}", path=name)
    environment = dict.fromkeys(ONE_THREAD, "1") | os.environ
    failed = []
    with tempfile.TemporaryDirectory(prefix="cosim-bench-") if smoke else nullcontext() as folder:
        if folder:
            environment |= {"PLANTLOOP_CACHE": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        for name in names or known:
            command = [sys.executable, "-m", f"benchmarks.{name}", *(["--smoke"] if smoke else [])]
            if subprocess.run(command, cwd=known[name].parents[1], env=environment).returncode:
                failed.append(name)
    if failed:
        raise PlantloopError(
            f"benchmarks that failed: {', '.join(failed)}.", hint="What they said is printed above."
        )
