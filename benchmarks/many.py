"""A thousand cart-pole scenarios: `simulate_many` beside the loop written by hand in C.

    python -m benchmarks.many [--smoke]

Masses and starting angles differ from run to run; 10 s each, rk4 1 ms, state feedback at 100 Hz, the end is
logged. What two threads gain stands beside what two copies of an empty C loop gain; results are the same
bits. The error is the largest difference from the loop by hand at 0.1 s: the same method, other roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.cartpole_model import GAIN, closed_loop
from benchmarks.support.c_by_hand import CARTPOLE, REPEAT, library
from benchmarks.support.peers_cartpole import numba_loop
from benchmarks.support.table import Row, heading, in_turn, installed, show, smoke
from cosim import simulate_many

SAMPLE = 0.01
EMPTY = 40_000_000  # turns of the empty loop, some 0.1 s


def scenarios(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Starting angles [rad] and masses of the pole [kg]."""
    draw = np.random.default_rng(1)
    return draw.uniform(-0.15, 0.15, count), draw.uniform(0.05, 0.2, count)


def by_hand(angles: np.ndarray, masses: np.ndarray, until: float) -> np.ndarray:
    """Final states (runs, 4)."""
    x, gain = np.zeros((len(angles), 4)), np.array(GAIN)
    x[:, 1] = angles
    samples = round(until / SAMPLE)
    library(CARTPOLE).many(x.ctypes.data, masses.ctypes.data, gain.ctypes.data, len(x), samples)
    return x


def empty_loops(turns: int) -> dict[str, Callable[[], object]]:
    """Two empty loops in C one after the other, and side by side in threads."""
    empty = library(REPEAT).empty

    def twice() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(empty, [turns, turns]))

    return {"empty one": lambda: (empty(turns), empty(turns)), "empty two": twice}


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns ms per run."""
    heading("1000 cart-pole scenarios", "numba")
    count, until = (50, 0.5) if short else (1000, 10.0)
    angles, masses = scenarios(count)
    initial = np.zeros((count, 4))
    initial[:, 1] = angles
    d = closed_loop(SAMPLE)

    def many(threads: int, end: float = until) -> np.ndarray:
        runs = {"parameters": {"plant.m": masses}, "initial": {"plant.x": initial}}
        found = simulate_many(
            d, runs, end, threads=threads, solver="rk4", step=1e-3, engine="native", signals=["plant.state"]
        )
        return found["plant.state"][:, -1]

    calls: dict[str, Callable[[], object]] = {
        "hand": lambda: by_hand(angles, masses, until),
        "one": lambda: many(1),
        "two": lambda: many(2),
        **empty_loops(EMPTY // 20 if short else EMPTY),
    }
    if installed("numba"):
        loop = numba_loop()

        def with_numba(end: float = until) -> np.ndarray:
            samples = round(end / SAMPLE)
            return np.array([loop(x, m, samples) for x, m in zip(initial, masses, strict=True)])

        with_numba(SAMPLE)
        calls["numba"] = with_numba
    first, second = many(1), many(2)
    best = in_turn(calls, 2 if short else 7, 20.0)
    per = {name: 1e3 * t / count for name, t in best.items()}
    error = float(np.abs(many(1, 0.1) - by_hand(angles, masses, 0.1)).max())
    hand = per["hand"]
    rows = [
        Row("C by hand, 1 thread", (f"{hand:.4f}", "1"), 0.0),
        Row("simulate_many, 1 thread", (f"{per['one']:.4f}", f"{per['one'] / hand:.2f}"), error),
        Row("simulate_many, 2 threads", (f"{per['two']:.4f}", f"{per['two'] / hand:.2f}"), error),
    ]
    if "numba" in calls:
        error = float(np.abs(with_numba(0.1) - by_hand(angles, masses, 0.1)).max())
        rows.append(
            Row("numba by hand, 1 thread", (f"{per['numba']:.4f}", f"{per['numba'] / hand:.2f}"), error)
        )
    show(("", "ms per run", "x by hand", "difference"), rows)
    tell_threads(per, first.tobytes() == second.tobytes())
    return per


def tell_threads(per: dict[str, float], same: bool) -> None:
    """What a second thread brings, beside what it brings to a loop that needs no memory."""
    gain, possible = per["one"] / per["two"], per["empty one"] / per["empty two"]
    share = gain / possible
    print(f"two threads gain {gain:.2f}, two copies of an empty loop {possible:.2f}: {share:.2f} of it")
    print(f"one and two threads: {'the same bits' if same else 'DIFFERENT bits'}")


if __name__ == "__main__":
    main(smoke())
