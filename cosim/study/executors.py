"""Who does the pieces of work of a study: threads, processes, or Dask, here or on a cluster.

An executor is a function (job, tell) that has every chunk of the job worked at and calls `tell` with the
tally of
each piece. Chunks are put together into pieces that take long enough for the handing out to cost less than 2
%.
"""

from __future__ import annotations

import concurrent.futures as futures
import multiprocessing
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.batch.ways import no_processes
from cosim.study.job import Job, Pieces, Tell
from cosim.study.running import FAILED, CaseOutcome
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import Chunk, Tally, Worker

LOOK = 0.1  # s between two looks


# --- threads ----------------------------------------------------------------------------------------------
def in_threads(job: Job, tell: Tell) -> None:
    """Threads of this process, which compiled code runs in at the same time."""
    worker, pieces = Worker(job.plan, job.store), Pieces(job.chunks, job.workers)
    try:
        with futures.ThreadPoolExecutor(job.workers) as pool:
            try:
                _keep_busy(pieces, job.workers, lambda piece: pool.submit(worker.work, piece), tell)
            except BaseException:
                worker.cancel()
                raise
    finally:
        worker.close()


def _keep_busy(
    pieces: Pieces, workers: int, submit: Callable[[list[Chunk]], futures.Future[Tally]], tell: Tell
) -> None:
    """Hand out pieces, two for every worker at a time, until none are left."""
    under_way: dict[futures.Future[Tally], int] = {}
    while under_way or pieces.left:
        while pieces.left and len(under_way) < 2 * workers:
            piece = pieces.next()
            under_way[submit(piece)] = len(piece)
        done, _ = futures.wait(under_way, timeout=LOOK, return_when=futures.FIRST_COMPLETED)
        for one in done:
            count, tally = under_way.pop(one), one.result()
            tell(tally)
            pieces.took(count, tally.seconds)


# --- processes --------------------------------------------------------------------------------------------
def in_processes(job: Job, tell: Tell) -> None:
    """Processes of this machine; a run that ends its process is a row, and the others go on."""
    if (obstacle := no_processes()) is not None:
        raise PlantloopError(f"executor 'processes': {obstacle}.", hint="Use 'threads' or 'dask'.")
    for k in range(len(job.plan.variants)):
        job.plan.prepared(k)  # before the program divides itself: compiled once
    left, suspects = list(job.chunks), []
    while left:
        left, died = _processes_once(job, left, tell)
        suspects += died
    done = set(job.store.done().tolist()) if suspects else set()
    for chunk, cases in suspects:
        mine = np.array([k for k in cases.tolist() if k not in done], dtype=np.int64)
        if len(mine) and not _alone(job, chunk, mine, tell):
            for case in mine:
                _case_alone(job, chunk, int(case), tell)


def _processes_once(job: Job, chunks: list[Chunk], tell: Tell) -> tuple[list[Chunk], list[Chunk]]:
    """Work until all is done, or a process dies: what is left, and what was under way then."""
    pieces = Pieces(chunks, job.workers)
    under_way: dict[futures.Future[Tally], list[Chunk]] = {}
    context: Any = multiprocessing.get_context("fork")

    def submit(piece: list[Chunk]) -> futures.Future[Tally]:
        made = pool.submit(_in_process, piece)
        under_way[made] = piece
        return made

    def forget(tally: Tally) -> None:
        tell(tally)

    with futures.ProcessPoolExecutor(
        job.workers, mp_context=context, initializer=_begin_process, initargs=(job.plan, job.store)
    ) as pool:
        try:
            _keep_busy(pieces, job.workers, submit, forget)
        except futures.process.BrokenProcessPool:
            lost = [p for f, piece in under_way.items() if not f.done() or f.exception() for p in piece]
            return list(pieces.left), lost
        except BaseException:
            for one in under_way:
                one.cancel()
            for process in list(getattr(pool, "_processes", {}).values()):
                process.terminate()
            raise
    return [], []


_mine: list[Worker] = []  # of a process of a pool: what `_begin_process` made


def _begin_process(plan: StudyPlan, store: StudyStore) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    _mine[:] = [Worker(plan, store)]


def _in_process(piece: list[Chunk]) -> Tally:
    return _mine[0].work(piece)


def _alone(job: Job, chunk: int, cases: np.ndarray, tell: Tell) -> bool:
    """Some cases of a chunk in a process of their own; did it live?"""
    process = _process(job, chunk, cases)
    if process.exitcode == 0:
        tell(Tally(len(cases), 0, 0))
    return bool(process.exitcode == 0)


def _case_alone(job: Job, chunk: int, case: int, tell: Tell) -> None:
    """A case in a process of its own, since it may be the one that ends its process."""
    process = _process(job, chunk, np.array([case]))
    if process.exitcode == 0:
        tell(Tally(1, 0, 0))
        return
    message = f"the run ended its process (exit code {process.exitcode}), without a message"
    tell(worker_row(job, chunk, case, message))


def _process(job: Job, chunk: int, cases: np.ndarray) -> Any:
    """A process that has worked at some cases of a chunk."""
    context: Any = multiprocessing.get_context("fork")
    worker = Worker(job.plan, job.store)
    process = context.Process(target=worker.work, args=([(chunk, cases)],))
    process.start()
    process.join()
    return process


def worker_row(job: Job, chunk: int, case: int, message: str) -> Tally:
    """Write down a case that gave nothing."""
    measures = job.plan.measures
    table: dict[str, np.ndarray] = {}
    for name in measures.columns:
        table[name] = np.zeros(1, bool) if name in measures.requirements else np.full(1, np.nan)
    table |= {"end_time": np.full(1, np.nan), "status": np.array([FAILED], dtype=object)}
    table |= {"message": np.array([message], dtype=object), "wall_time": np.full(1, np.nan)}
    signals = None
    if job.store.manifest.stored:
        width = sum(size for size, _ in job.store.manifest.stored.values())
        signals = np.full((1, len(job.store.manifest.times), width), np.nan, job.store.manifest.dtype)
    from cosim.study.work import case_columns

    cases = np.array([case])
    job.store.commit(chunk, CaseOutcome(cases, table, signals), case_columns(job.plan, cases))
    return Tally(1, 1, 0)


# --- which there are --------------------------------------------------------------------------------------
def in_dask(job: Job, tell: Tell) -> None:
    """Dask's workers: a cluster on this machine, or the one of a scheduler that is given."""
    from cosim.study.dask_cluster import on_dask

    on_dask(job, tell)


EXECUTORS: Mapping[str, Callable[[Job, Tell], None]] = {
    "threads": in_threads,
    "processes": in_processes,
    "dask": in_dask,
}


def executor_for(plan: StudyPlan, wanted: str | None, scheduler: str | None) -> str:
    """The executor that was asked for, or the fastest that is possible.

    Raises
    ------
    PlantloopError     there is no such executor, or a scheduler is given to another than Dask
    """
    if wanted is not None and wanted not in EXECUTORS:
        raise PlantloopError(f"no executor '{wanted}'; {near_miss(wanted, EXECUTORS)}", value=wanted)
    if scheduler is not None and wanted not in (None, "dask"):
        raise PlantloopError(
            f"a scheduler is given to executor '{wanted}', which has none.", hint="Use executor='dask'."
        )
    if wanted is not None:
        return wanted
    if scheduler is not None:
        return "dask"
    return "processes" if plan.python and no_processes() is None else "threads"


def processors() -> int:
    """How many this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
