"""Cart-pole with a sampled state feedback: the engines beside hand-written C and other libraries.

    python -m benchmarks.cartpole [--smoke]

rk4 with 1 ms or an adaptive method, controller at 100 Hz, logged every 10 ms; the hand-written loop is
compiled by the same compiler with the same flags. Every time is per simulated second and stands beside the
error of the state at 1 s against DOP853 at 1e-12.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.cartpole_model import GAIN, START, closed_loop, from_file
from benchmarks.support.c_by_hand import CARTPOLE, library
from benchmarks.support.peers_cartpole import PEERS, slope
from benchmarks.support.table import Row, heading, in_turn, installed, show, smoke
from cosim import simulate

STEP, SAMPLE, WRONG = 1e-3, 0.01, 1e-6
FIXED = {"solver": "rk4", "step": STEP, "log_every": SAMPLE}


def by_hand(until: float) -> Callable[[], np.ndarray]:
    """The hand-written loop; returns its log (samples, 6)."""
    gain, samples = np.array(GAIN), round(until / SAMPLE)
    log, loop = np.zeros((samples, 6)), library(CARTPOLE).run

    def run() -> np.ndarray:
        x = np.array(START)
        loop(x.ctypes.data, gain.ctypes.data, samples, log.ctypes.data)
        return log

    return run


def exact(until: float = 1.0) -> np.ndarray:
    """State at `until` by DOP853 at 1e-12 from sample to sample."""
    x = np.array(START)
    for _ in range(round(until / SAMPLE)):
        u = -float(np.dot(GAIN, x))
        f = lambda t, y, u=u: slope(y, u)
        x = solve_ivp(f, (0, SAMPLE), x, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return x


FRESH = """
import json, time
from benchmarks.cartpole_model import closed_loop
from cosim import simulate
import cosim.analysis.linear, cosim.engines.native.native
began = time.perf_counter()
r = simulate(closed_loop(), 10.0, engine="native", solver="rk4", step=1e-3, log_every=0.01)
print(json.dumps(time.perf_counter() - began))
"""


def fresh_processes() -> tuple[float, float, float]:
    """Time [s] of `simulate` beyond imports in a new process.

    Wall time with an empty cache on disk, processor time that compiling takes, wall time with a warm cache.
    """
    command = [sys.executable, "-c", FRESH]

    def once(folder: str) -> tuple[float, float]:
        environment, before = os.environ | {"PLANTLOOP_CACHE": folder}, os.times()
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        return float(json.loads(done.stdout)), spent

    cold, warm = [], []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(once(folder))
            warm.append(once(folder))
    compiling = min(c[1] for c in cold) - min(w[1] for w in warm)
    return min(c[0] for c in cold), compiling, min(w[0] for w in warm)


def xml_plant(until: float) -> tuple[Callable[[], float], float]:
    """The plant read from a multibody deck: a call that returns time inside the engine [s], and its error."""
    d, start = from_file(SAMPLE), {"plant.hinge.q": 0.1}
    known = simulate(d, 1.0, initial=start, log_every=SAMPLE, rtol=1e-12, atol=1e-14)["plant.slider"][-1]
    error = np.abs(simulate(d, 1.0, initial=start, **FIXED)["plant.slider"][-1] - known).max()  # type: ignore[arg-type]

    def run() -> float:
        found = simulate(d, until, initial=start, engine="native", **FIXED)  # type: ignore[arg-type]
        return float(found.statistics["wall time [s]"])

    return run, float(error)


def our_runs(
    until: float,
) -> tuple[dict[str, Callable[[], object]], dict[str, float], dict[str, list[float]]]:
    """Calls of ours by name, their errors at 1 s, and lists that fill with times inside the engine [s]."""
    d, known = closed_loop(SAMPLE), exact()
    methods: dict[str, dict[str, Any]] = {"rk4": FIXED, "dopri5": {"log_every": SAMPLE}}
    inside: dict[str, list[float]] = {name: [] for name in (*methods, "deck")}

    def native(name: str) -> None:
        found = simulate(d, until, engine="native", **methods[name])
        inside[name].append(found.statistics["wall time [s]"])

    def error(**more: Any) -> float:
        return float(np.abs(simulate(d, 1.0, **more)["plant.state"][-1] - known).max())

    deck, deck_error = xml_plant(until)
    calls: dict[str, Callable[[], object]] = {"by hand": by_hand(until)}
    calls |= {name: (lambda name=name: native(name)) for name in methods}
    calls["deck"] = lambda: inside["deck"].append(deck())
    calls["reference"] = lambda: simulate(d, 1.0, engine="reference", **FIXED)  # type: ignore[arg-type]
    errors = {name: error(engine="native", **more) for name, more in methods.items()}
    errors |= {"deck": deck_error, "reference": error(engine="reference", **FIXED)}
    errors["by hand"] = float(np.abs(by_hand(1.01)()[100, 1:5] - known).max())
    return calls, errors, inside


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns ms per simulated second by row."""
    heading("cart-pole, state feedback at 100 Hz", *dict.fromkeys(p for p, _ in PEERS.values()))
    until, least = (1.0, 0.1) if short else (10.0, 1.0)  # of ours and of the others [s]
    calls, errors, inside = our_runs(until)
    simulated = dict.fromkeys(calls, until) | {"reference": 1.0}  # s
    peers = {name: build() for name, (package, build) in PEERS.items() if installed(package)}
    known = exact()
    for name, run in peers.items():
        errors[name] = float(np.abs(run(1.0) - known).max())
        calls[name], simulated[name] = (lambda run=run: run(least)), least
    best = in_turn(calls, 2 if short else 30, 2.5)
    per = {name: 1e3 * t / simulated[name] for name, t in best.items()}
    within = {name: 1e3 * min(times) / until for name, times in inside.items()}
    rows = [
        ("C by hand, rk4 1 ms", per["by hand"], errors["by hand"]),
        ("native rk4 1 ms, inside the engine", within["rk4"], errors["rk4"]),
        ("native rk4 1 ms, simulate() and Result", per["rk4"], errors["rk4"]),
        ("native rk4 1 ms, plant from XML, inside", within["deck"], errors["deck"]),
        ("native dopri5 1e-8, inside the engine", within["dopri5"], errors["dopri5"]),
        ("native dopri5 1e-8, simulate() and Result", per["dopri5"], errors["dopri5"]),
        ("reference engine rk4 1 ms (Python)", per["reference"], errors["reference"]),
        *[(name, per[name], errors[name]) for name in peers],
    ]
    limit = per["by hand"]
    columns = ("", "ms per s", "x by hand", "error at 1 s")
    show(columns, [Row(name, (f"{t:.4g}", f"{t / limit:.3g}"), error) for name, t, error in rows], WRONG)
    nanoseconds = 1e6 * within["rk4"] * STEP
    print(f"native rk4: {nanoseconds:.1f} ns per step inside; simulate() of 10 s {10 * per['rk4']:.2f} ms")
    if not short:
        first, spent, warm = fresh_processes()
        print(f"new process, beyond imports: {warm:.3f} s with a warm cache on disk, {first:.2f} s without")
        print(f"(compiling takes {spent:.2f} s of processor time, the runtime included)")
    return {name: t for name, t, _ in rows}


if __name__ == "__main__":
    main(smoke())
