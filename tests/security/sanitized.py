"""The C runtime and generated code of some models under address and undefined-behaviour sanitizers.

``python -m tests.security.sanitized`` compiles everything anew with ``gcc -fsanitize=address,undefined`` and
runs it in a process of its own; it exits with 1 and the sanitizer's report where something is found, and says
so and exits with 0 where there is no such compiler. Snapshots that were forged go through the same code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
CHILD = "--in-this-process"


def main() -> int:
    """Run the child under the sanitizers."""
    compiler = shutil.which("gcc")
    library = ""
    if compiler:
        asked = [compiler, "-print-file-name=libasan.so"]
        library = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    if not compiler or not Path(library).is_file():
        print("no gcc with libasan here: nothing was looked at")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            # the compiler itself needs no sanitizer: its memory would be watched too
            "CC": f"env -u LD_PRELOAD {compiler} -O1 {SANITIZERS}",
            "PLANTLOOP_CACHE": folder, "LD_PRELOAD": library,
            "ASAN_OPTIONS": "detect_leaks=0:exitcode=1", "UBSAN_OPTIONS": "print_stacktrace=1",
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.security.sanitized", CHILD]
        return subprocess.run(command, env=environment, check=False).returncode


def in_this_process() -> None:
    """Every kind of thing the runtime does, shortly."""
    from cosim import Diagram, simulate, simulate_many
    from tests.cosim.engines.test_turning import Top, Wheels
    from tests.helpers.everything import simulation
    from tests.helpers.hybrid import DIAGRAMS
    from tests.security.fuzz import Random, tried

    runs = 0
    for name in ("bouncing", "rates", "loops", "relay", "pendulum"):
        make = DIAGRAMS[name]
        for settings in ({"solver": "rk4", "step": 1e-2}, {}, {"solver": "rodas4", "rtol": 1e-6}):
            result = simulate(make(), 0.5, engine="auto", solve_loops=name == "loops", **settings)
            assert result.settings["engine"].value == "native", name
            runs += 1
    for block in (Top(), Wheels()):
        turning = Diagram("turning")
        turning.add("it", block)
        simulate(turning, 0.5, engine="native", solver="rodas4")
        runs += 1
    sim = simulation("dopri5", "auto")
    sim.advance(0.7)
    before = sim.snapshot()
    sim.advance(1.1)
    sim.restore(before)
    sim.advance(1.1)
    simulate_many(DIAGRAMS["rates"](), 3, 0.2)
    for k in range(50):
        assert not (what := tried("snapshots", Random(f"snapshots {k}"))), what
    print(f"sanitizers: {runs + 2} runs, 50 forged snapshots, nothing found")


if __name__ == "__main__":
    if CHILD in sys.argv:
        warnings.simplefilter("ignore")
        in_this_process()
    else:
        sys.exit(main())
