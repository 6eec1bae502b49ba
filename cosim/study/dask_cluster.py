"""A study on Dask: work stealing, lost workers, back-pressure and memory are Dask's."""

from __future__ import annotations

import multiprocessing
from typing import Any

from blocks.errors import PlantloopError
from cosim.study.job import Job, Pieces, Tell
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import Chunk, Tally, Worker, version
from cosim.version import __version__

CONNECT = 10  # s to wait for a scheduler
GUARD = (
    'Workers read a script again when they start: put what runs the study under if __name__ == "__main__":, '
    "or use executor='processes'."
)
RETRIES = 3  # of a piece whose worker was lost


def on_dask(job: Job, tell: Tell) -> None:
    """Have all chunks worked at; see `cosim.study.executors`.

    Raises
    ------
    PlantloopError     the scheduler does not answer, or its workers have another version
    """
    from distributed import KilledWorker, as_completed

    with client_of(job) as client:
        _check_versions(client)
        threads = sum(client.nthreads().values()) or job.workers
        pieces = Pieces(job.chunks, threads)
        plan = client.scatter(job.plan, broadcast=True, hash=False)
        running: dict[Any, int] = {}
        finished = as_completed()

        def hand_out() -> None:
            while pieces.left and len(running) < 2 * threads:
                piece = pieces.next()
                one = client.submit(worked, plan, job.store.folder.url, piece, pure=False, retries=RETRIES)
                running[one] = len(piece)
                finished.add(one)

        hand_out()
        for one in finished:
            count = running.pop(one)
            try:
                tally = one.result()
                tell(tally)
            except KilledWorker as error:
                raise PlantloopError(
                    f"workers ended without a message, {RETRIES} times, at the same piece of work: {error}.",
                    hint="A run ends its process, or needs more memory than a worker has. What is done is "
                    "kept; --resume with executor 'processes' finds the case.",
                ) from error
            pieces.took(count, tally.seconds)
            hand_out()


def worked(plan: StudyPlan, url: str, piece: list[Chunk]) -> Tally:
    """What a worker does: the plan stays with it, and so do the engines made for it."""
    found = vars(plan).get("_worker")
    if found is None:
        found = vars(plan)["_worker"] = Worker(plan, StudyStore.opened(url))
    tally: Tally = found.work(piece)
    return tally


def client_of(job: Job) -> Any:
    """A client of the scheduler that is given, or of a cluster of this machine."""
    from distributed import Client, LocalCluster

    if job.scheduler is None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise PlantloopError("a worker that starts comes to this study again.", hint=GUARD)
        try:
            cluster = LocalCluster(
                n_workers=job.workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=50,
            )
        except RuntimeError as error:
            raise PlantloopError(
                f"no workers start on this machine ({str(error).rstrip('.')}).", hint=GUARD
            ) from error
        client = _OwnCluster(cluster)
        job.begun(f"dashboard at {cluster.dashboard_link}")
        return client
    try:
        found = Client(job.scheduler, timeout=CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise PlantloopError(
            f"no Dask scheduler answers at '{job.scheduler}': {error or 'no answer'}.",
            value=job.scheduler,
            hint="Start one with: dask scheduler --host 0.0.0.0 --port 8786",
        ) from error
    job.begun(f"dashboard at {found.dashboard_link}")
    return found


class _OwnCluster:
    """A client that closes its cluster with itself."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def __enter__(self) -> Any:
        from distributed import Client

        self._client = Client(self._cluster)
        return self._client

    def __exit__(self, *problem: object) -> None:
        self._client.close()
        self._cluster.close()


def _check_versions(client: Any) -> None:
    """Do all workers have this version of plantloop?"""
    found = client.run(_version_here)
    for address, other in found.items():
        if other != __version__:
            raise PlantloopError(
                f"the worker at {address} has plantloop {other or 'none'}, here it is {__version__}.",
                value=other,
                hint="Install the same version on all workers.",
            )


def _version_here() -> str:
    return version()
