"""A study on Dask, which does work stealing, recovery from lost workers, back-pressure and memory limits."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from typing import Any

from blocks.errors import PlantloopError
from cosim.study.job import Job, Pieces, Tell
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.suspects import find_culprits
from cosim.study.work import Chunk, Tally, Worker, version
from cosim.version import __version__

CONNECT = 10  # s to wait for a scheduler
WORKERS = 600  # s to wait for the first worker
GUARD = (
    'Workers read a script again when they start: put what runs the study under if __name__ == "__main__":, '
    "or use executor='processes'."
)
RETRIES = 3  # attempts at a piece whose worker was lost
PAUSE = 1.0  # s until a worker that is shutting down is gone
DIED = "the run ended its worker each time it was tried"


def on_dask(job: Job, tell: Tell) -> None:
    """Run all chunks on Dask; see `cosim.study.executors`.

    Raises
    ------
    PlantloopError     the scheduler does not answer or is lost, or its workers have another version
    """
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    try:
        _hand_out(job, tell)
    except (CommClosedError, FutureCancelledError) as error:
        where = "on this machine" if job.scheduler is None else f"at '{job.scheduler}'"
        raise PlantloopError(
            f"the connection to the Dask scheduler {where} was lost.",
            value=job.scheduler,
            hint="What is done is kept; start the scheduler again and go on with --resume.",
        ) from error


def _hand_out(job: Job, tell: Tell) -> None:
    """Hand out pieces, two for every thread at a time, until none are left."""
    from distributed import as_completed

    with client_of(job) as client:
        _wait_for_workers(client, job)
        _check_versions(client)
        if job.scheduler is None:
            client.run(_leave_interrupts)
        hands = _Hands(client, job)
        threads = sum(client.nthreads().values()) or job.workers
        pieces = Pieces(job.chunks, threads)
        running: dict[Any, list[Chunk]] = {}
        suspects: list[Chunk] = []
        finished = as_completed(loop=client.loop)

        def hand_out() -> None:
            while pieces.left and len(running) < 2 * threads:
                piece = pieces.next()
                one = hands.submit(piece)
                running[one] = piece
                finished.add(one)

        hand_out()
        for one in finished:
            piece, found = running.pop(one), hands.result(one)
            if isinstance(found, Tally):
                tell(found)
                pieces.took(len(piece), found.seconds)
            else:
                suspects += piece
            hand_out()
        if suspects:
            find_culprits(job, suspects, hands.alone, tell)
        job.store.folder.remove_leftovers()  # of workers that were killed while they wrote


class _Hands:
    """Workers that have the plan; it is sent again if all workers that had it died."""

    def __init__(self, client: Any, job: Job) -> None:
        self._client, self._job = client, job
        self._give()

    def _give(self) -> None:
        from distributed.comm.core import CommClosedError

        for attempt in range(RETRIES + 1):
            try:
                self._plan = self._client.scatter(self._job.plan, broadcast=True, hash=False)
                return
            except (CommClosedError, TimeoutError):  # a worker is shutting down, or the scheduler
                if self._client.status != "running" or attempt == RETRIES:
                    raise
                time.sleep(PAUSE)

    def submit(self, piece: list[Chunk]) -> Any:
        """Submit a piece of work."""
        url = self._job.store.folder.url
        return self._client.submit(worked, self._plan, url, piece, pure=False, retries=RETRIES)

    def result(self, one: Any) -> Tally | str:
        """The tally of a piece, or a text if its workers died."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            found: Tally = one.result()
            return found
        except KilledWorker:
            return DIED
        except FutureCancelledError:
            if self._client.status != "running":
                raise
            self._give()
            return DIED

    def alone(self, some: Chunk) -> Tally | str:
        """Run some cases of a chunk while nothing else is running."""
        for _ in range(RETRIES):
            found = self.result(self.submit([some]))
            if isinstance(found, Tally):
                break
        return found


def worked(plan: StudyPlan, url: str, piece: list[Chunk]) -> Tally:
    """Run a piece on a worker, which keeps the plan and the engines made for it."""
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
        found = Client(job.scheduler, timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise PlantloopError(
            f"no Dask scheduler answers at '{job.scheduler}': {error or 'no answer'}.",
            value=job.scheduler,
            hint="Start one with: dask scheduler --host 0.0.0.0 --port 8786",
        ) from error
    job.begun(f"dashboard at {found.dashboard_link}")
    return found


class _OwnCluster:
    """A client that closes its cluster together with itself."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def __enter__(self) -> Any:
        from distributed import Client

        self._client = Client(self._cluster, set_as_default=False)
        return self._client

    def __exit__(self, *problem: object) -> None:
        self._client.close()
        self._cluster.close()


def _wait_for_workers(client: Any, job: Job) -> None:
    """Wait until there is a worker: the queue of a cluster may take a while to start one."""
    if client.nthreads():
        return
    job.begun(f"the scheduler has no workers yet; waiting for the first, {WORKERS} s at most")
    try:
        client.wait_for_workers(1, timeout=WORKERS)
    except TimeoutError as error:
        raise PlantloopError(
            f"no worker has joined the Dask scheduler at '{job.scheduler}' within {WORKERS} s.",
            value=job.scheduler,
            hint=f"Start some with: dask worker {job.scheduler}",
        ) from error


def _check_versions(client: Any) -> None:
    """Refuse workers with another version of plantloop."""
    found = client.run(_version_here)
    for address, other in found.items():
        if other != __version__:
            raise PlantloopError(
                f"the worker at {address} has plantloop {other or 'none'}, here it is {__version__}.",
                value=other,
                hint="Install the same version on all workers.",
            )


def _leave_interrupts() -> None:
    """Leave Ctrl-C, which goes to all processes of a terminal, to the program that ends its workers."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _version_here() -> str:
    return version()
