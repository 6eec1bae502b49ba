"""Cart-pole cases of 1 s as a study with metrics, beside the bare batch: `Study.run` and `simulate_many`.

    python -m benchmarks.studies [--smoke]

Masses and starting angles differ from case to case; rk4 1 ms, state feedback at 100 Hz. The bare batch keeps
the end alone; the study finds the peak of the angle every 10 ms and the integral of u^2, and writes a row per
case. The difference is the largest one of the final angles, which are the same runs. Then the same with 1000
stored instants of the four states, beside the batch that logs them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.cartpole_model import closed_loop
from benchmarks.many import SAMPLE, scenarios
from benchmarks.support.table import Row, heading, in_turn, show, smoke
from cosim import Study, simulate_many

SETTINGS = {"solver": "rk4", "step": 1e-3, "engine": "native"}
METRICS = {
    "peak": "max(abs(plant.state[1]))",
    "effort": "integral(controller.u^2)",
    "end": "final(plant.state[1])",
}


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns ms per case."""
    heading("cart-pole cases of 1 s as a study")
    count, stored = (200, 20) if short else (20_000, 1000)
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

    def run(made: Study, name: str) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            s = made.run(Path(folder) / "out", executor="threads", workers=1)
            sizes[name] = s.store.folder.size / len(made)
            return s.table["end"].to_numpy()

    error = float(np.abs(run(summary, "summary") - bare(count)).max())
    best = in_turn(
        {
            "bare": lambda: bare(count),
            "study": lambda: run(summary, "summary"),
            "bare, stored": lambda: bare(stored, log_every=1e-3),
            "study, stored": lambda: run(whole, "stored"),
        },
        2 if short else 5,
        30.0,
    )
    per = {name: 1e3 * t / (stored if "stored" in name else count) for name, t in best.items()}
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
    return per


if __name__ == "__main__":
    main(smoke())
