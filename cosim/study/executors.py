"""Executors for the work of a study: threads, processes, or Dask, here or on a cluster.

An executor is a function (job, tell) that has every chunk of the job worked at and calls `tell` with the
tally of each piece. Chunks are put together into pieces that take long enough for the handing out to cost
less than 2 %.
"""

from __future__ import annotations

import concurrent.futures as futures
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from blocks.errors import PlantloopError, near_miss, shown
from cosim.batch.forked import FORKED
from cosim.batch.ways import no_processes
from cosim.study.apart import end_with_parent, in_own_process
from cosim.study.job import Job, Pieces, Tell
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.study_progress import StudyProgress
from cosim.study.suspects import find_culprits
from cosim.study.work import Chunk, Tally, Worker

LOOK = 0.1  # s between two looks


# --- threads ----------------------------------------------------------------------------------------------
def in_threads(job: Job, tell: Tell) -> None:
    """Run in threads of this process; compiled code runs in them at the same time."""
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
    """Run in processes of this machine; a run that ends its process becomes a row, and others continue."""
    if (obstacle := no_processes()) is not None:
        raise PlantloopError(f"executor 'processes': {obstacle}.", hint="Use 'threads' or 'dask'.")
    for k in range(len(job.plan.variants)):
        job.plan.prepared(k)  # before the program divides itself: compiled once
    left, suspects = list(job.chunks), []
    try:
        while left:
            left, died = _processes_once(job, left, tell)
            suspects += died
        find_culprits(job, suspects, partial(_alone, job), tell)
    finally:
        job.store.folder.remove_leftovers()  # of processes that were killed while they wrote


def _processes_once(job: Job, chunks: list[Chunk], tell: Tell) -> tuple[list[Chunk], list[Chunk]]:
    """Work until all is done or a process dies; returns the chunks left, and those running at that moment."""
    pieces = Pieces(chunks, job.workers)
    under_way: dict[futures.Future[Tally], list[Chunk]] = {}

    def submit(piece: list[Chunk]) -> futures.Future[Tally]:
        made = pool.submit(_in_process, piece)
        under_way[made] = piece
        return made

    with futures.ProcessPoolExecutor(
        job.workers, mp_context=FORKED, initializer=_begin_process, initargs=(job.plan, job.store)
    ) as pool:
        try:
            _keep_busy(pieces, job.workers, submit, tell)
        except futures.process.BrokenProcessPool:
            kept = {n for f, piece in under_way.items() if _went_well(f) for n, _ in piece}
            kept |= {n for n, _ in pieces.left}
            return list(pieces.left), [chunk for chunk in chunks if chunk[0] not in kept]
        finally:
            _end_processes(pool, under_way)
    return [], []


def _went_well(one: futures.Future[Tally]) -> bool:
    return one.done() and not one.cancelled() and one.exception() is None


def _end_processes(pool: futures.ProcessPoolExecutor, under_way: Iterable[futures.Future[Tally]]) -> None:
    """End the processes of a pool, whatever they are doing.

    Nobody waits for them: where one was killed while it waited for work, it still holds the lock of the
    queue, and a pool that asks the others to end through it waits forever.
    """
    for one in under_way:
        one.cancel()
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.kill()


_mine: list[Worker] = []  # of a process of a pool: what `_begin_process` made


def _begin_process(plan: StudyPlan, store: StudyStore) -> None:
    end_with_parent()
    _mine[:] = [Worker(plan, store)]


def _in_process(piece: list[Chunk]) -> Tally:
    return _mine[0].work(piece)


def _alone(job: Job, some: Chunk) -> Tally | str:
    """Run some cases of a chunk in a process of their own; returns the tally, or how the process ended."""
    found, end = in_own_process(partial(Worker(job.plan, job.store).work, [some]))
    return found if isinstance(found, Tally) else end


# --- which there are --------------------------------------------------------------------------------------
def in_dask(job: Job, tell: Tell) -> None:
    """Run on Dask's workers: a cluster on this machine, or that of a given scheduler."""
    from cosim.study.dask_cluster import on_dask

    on_dask(job, tell)


EXECUTORS: Mapping[str, Callable[[Job, Tell], None]] = {
    "threads": in_threads,
    "processes": in_processes,
    "dask": in_dask,
}


def work_at(name: str, job: Job, display: StudyProgress) -> None:
    """Do a job by the executor of a name; an interruption says how to go on."""
    try:
        EXECUTORS[name](job, display.add)
    except KeyboardInterrupt:
        text = f"what is done is kept in '{job.store.folder.url}'; go on with resume=True (--resume)"
        raise KeyboardInterrupt(text) from None


def executor_for(plan: StudyPlan, wanted: str | None, scheduler: str | None) -> str:
    """The executor that was asked for, or the fastest one possible.

    Raises
    ------
    PlantloopError     there is no such executor, or a scheduler is given to another than Dask
    """
    for name, given in {"executor": wanted, "scheduler": scheduler}.items():
        if not isinstance(given, str | None):
            raise PlantloopError(f"{name} is {shown(given)}, expected a text.", value=given)
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
    """The number of processors this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
