"""Cart-pole cases of 1 s as a study with metrics, beside the bare batch: `Study.run` and `simulate_many`.

    python -m benchmarks.studies [--smoke]

Masses and starting angles differ from case to case; rk4 1 ms, state feedback at 100 Hz. The bare batch keeps
the end alone; the study finds the peak of the angle every 10 ms and the integral of u^2, and writes a row per
case. The difference is the largest one of the final angles, which are the same runs. Then the same with 1000
stored instants of the four states, beside the batch that logs them; what two workers gain, beside two copies
of an empty loop; and as many runs as other libraries do in a second.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.cartpole_model import closed_loop
from benchmarks.many import EMPTY, SAMPLE, empty_loops, scenarios, tell_threads
from benchmarks.support.peers_studies import PEERS
from benchmarks.support.table import Row, heading, in_turn, installed, seconds, show, smoke
from cosim import Study, simulate_many

SETTINGS = {"solver": "rk4", "step": 1e-3, "engine": "native"}
METRICS = {
    "peak": "max(abs(plant.state[1]))",
    "effort": "integral(controller.u^2)",
    "end": "final(plant.state[1])",
}


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns ms per case."""
    heading("cart-pole cases of 1 s as a study", "dask", "joblib", "pathsim", "drake")
    count, stored = (200, 20) if short else (20_000, 10_000)
    angles, masses = scenarios(count)
    initial = np.zeros((count, 4))
    initial[:, 1] = angles
    d = closed_loop(SAMPLE)
    cases = [{"plant.m": m, "plant.x[1]": a} for m, a in zip(masses.tolist(), angles.tolist(), strict=True)]

    def bare(n: int, **log: float) -> np.ndarray:
        runs = {"parameters": {"plant.m": masses[:n]}, "initial": {"plant.x": initial[:n]}}
        found = simulate_many(d, runs, 1.0, threads=1, signals=["plant.state"], **log, **SETTINGS)
        return found["plant.state"][:, -1, 1]

    def study(n: int, store: dict[str, object]) -> Study:
        sampling = {"method": "list", "cases": cases[:n]}
        return Study(d, until=1.0, sampling=sampling, metrics=METRICS, store=store, **SETTINGS)

    summary = study(count, {"keep": "summary", "every": SAMPLE})
    whole = study(stored, {"signals": ["plant.state"], "every": 1e-3})
    sizes: dict[str, float] = {}

    def run(made: Study, name: str, workers: int = 1) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            s = made.run(Path(folder) / "out", executor="threads", workers=workers)
            sizes[name] = s.store.folder.size / len(made)
            return s.table["end"].to_numpy()

    error = float(np.abs(run(summary, "summary") - bare(count)).max())
    best = in_turn(
        {
            "bare": lambda: bare(count),
            "study": lambda: run(summary, "summary"),
            "two": lambda: run(summary, "summary", 2),
            **empty_loops(EMPTY // 20 if short else EMPTY),
            "bare, stored": lambda: bare(stored, log_every=1e-3),
            "study, stored": lambda: run(whole, "stored"),
        },
        2 if short else 5,
        30.0,
    )
    per = {name: 1e3 * t / (stored if "stored" in name else count) for name, t in best.items()}
    for name in ("empty one", "empty two"):
        per[name] = 1e3 * best[name]
    times = {
        name: per[name] / per[base] for name, base in (("study", "bare"), ("study, stored", "bare, stored"))
    }
    rows = [
        Row("simulate_many, the end", (f"{per['bare']:.4f}", "1", "")),
        Row(
            "study, three metrics",
            (f"{per['study']:.4f}", f"{times['study']:.2f}", f"{sizes['summary']:.0f}"),
            error,
        ),
        Row("simulate_many, 1001 instants", (f"{per['bare, stored']:.4f}", "1", "")),
        Row(
            "study, 1001 instants stored",
            (f"{per['study, stored']:.4f}", f"{times['study, stored']:.2f}", f"{sizes['stored']:.0f}"),
        ),
    ]
    show(("", "ms per case", "x bare", "bytes on disk", "difference"), rows)
    same = run(summary, "summary").tobytes() == run(summary, "summary", 2).tobytes()
    tell_threads({**per, "one": per["study"]}, same)
    tell_peers(initial, masses, 1e3 / per["two"], run(summary, "summary"), short)
    return per


def tell_peers(starts: np.ndarray, masses: np.ndarray, ours: float, angles: np.ndarray, short: bool) -> None:
    """Runs per second of other libraries with two workers, beside `ours`."""
    rows = [Row("study, two workers", (f"{ours:.0f}", "1"), 0.0)]
    for name, (packages, enough, many) in PEERS.items():
        if not all(map(installed, packages)):
            continue
        count = 2 if short else enough
        many(starts[:2], masses[:2])
        timed = partial(many, starts[:count], masses[:count])
        took = min(seconds(timed) for _ in range(1 if short else 2))
        error = float(np.abs(many(starts[:2], masses[:2]) - angles[:2]).max())
        rows.append(Row(name, (f"{count / took:.1f}", f"{count / took / ours:.5f}"), error))
    show(("", "runs per s", "x ours", "difference"), rows)


if __name__ == "__main__":
    main(smoke())
