"""A cluster that is not there: Dask's scheduler and our client, with workers that sleep the time of a piece.

    python -m benchmarks.cluster [--smoke]

All workers are threads of this process, so that its processor time is that of scheduler, client and workers
together: an upper bound of what a scheduler with a machine of its own needs for a piece of work. Chunks hold
as many cart-pole cases of 1 s (0.138 ms each) as take a second, as in a study; a worker sleeps instead.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from benchmarks.support.table import Row, heading, show, smoke
from cosim.study.dask_cluster import on_dask
from cosim.study.folder import Folder
from cosim.study.job import Job
from cosim.study.store import CHUNK_SECONDS, Manifest, StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import Chunk, Tally

CASE = 0.138e-3  # s of a processor
CHUNK = 7000  # cases


@dataclass
class Sleeper:
    """Does a piece of work by waiting as long as it would take."""

    seconds: float

    def work(self, chunks: list[Chunk]) -> Tally:
        """See `cosim.study.work.Worker.work`."""
        time.sleep(self.seconds * len(chunks))
        return Tally(sum(len(cases) for _, cases in chunks), 0, 0, self.seconds * len(chunks))


@dataclass
class SleepingPlan:
    """Stands for the plan of a study whose worker is there already."""

    _worker: Sleeper = field(default_factory=lambda: Sleeper(CHUNK_SECONDS))


def handed_out(threads: int, chunks: int) -> tuple[float, float]:
    """Wall and processor time [s] of a study of so many chunks on so many threads."""
    from distributed import LocalCluster

    one = np.arange(CHUNK)
    manifest = Manifest("asleep", CHUNK * chunks, CHUNK, ("",), (), (), (), {}, (), "summary", "float64", {})
    plan = cast(StudyPlan, SleepingPlan())
    each = min(50, threads)
    with LocalCluster(
        n_workers=threads // each,
        threads_per_worker=each,
        processes=False,
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        store = StudyStore(Folder("memory://asleep"), manifest)
        job = Job(
            plan, store, [(k, one) for k in range(chunks)], threads, cast(Any, cluster.scheduler_address)
        )
        total: list[Tally] = []
        began, spent = time.perf_counter(), time.process_time()
        on_dask(job, total.append)
        took = time.perf_counter() - began, time.process_time() - spent
    assert sum(t.done for t in total) == CHUNK * chunks
    return took


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns ms of a processor per piece by the number of workers."""
    heading("a simulated cluster", "dask", "distributed")
    rows, found = [], {}
    for threads in (4,) if short else (50, 200):
        chunks = threads * (2 if short else 20)
        wall, spent = handed_out(threads, chunks)
        ideal = CHUNK_SECONDS * chunks / threads
        found[str(threads)] = 1e3 * spent / chunks
        cells = (
            f"{chunks}",
            f"{CHUNK * chunks:.2g}",
            f"{wall:.1f}",
            f"{ideal / wall:.2f}",
            f"{1e3 * spent / chunks:.2f}",
        )
        rows.append(Row(f"{threads} workers", cells))
    show(("", "chunks", "cases", "wall s", "of ideal", "ms per chunk", ""), rows)
    return found


if __name__ == "__main__":
    main(smoke())
