"""Whatever is killed while a study runs: nothing is lost, doubled or left behind; going on gives the same.

PLANTLOOP_KILLS=100 kills that often instead of a few times, and workers and schedulers of Dask as well.
"""

import os
import signal
import socket
import time
from dataclasses import replace

import numpy as np
import psutil
import pytest

from blocks import Constant, Integrator, PythonFunction
from cosim import Diagram, Study, open_study
from cosim.study import executors
from cosim.study.job import Job
from cosim.study.suspects import find_culprits
from cosim.study.work import Worker
from tests.cosim.study.programs import begin, run_dask, run_study
from tests.cosim.study.test_study_ends import SAMPLING
from tests.cosim.study.test_study_runs import same, study_of

FILES = 70  # of those that one process of these studies writes, the 23 of an empty folder first
KILLS = int(os.environ.get("PLANTLOOP_KILLS", "3"))
patient = pytest.mark.timeout(
    max(600, 60 * KILLS)
)  # s: on a busy machine a program takes half a minute to start


def wait_for_rows(out, process):
    """Until the first are written, or it has ended."""
    wait_for(lambda: (out / "table").exists() or not process.is_alive())


def wait_for(happens, seconds=600):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.002)


def children_of(process):
    return psutil.Process(process.pid).children(recursive=True) if process.is_alive() else []


def leftovers(out):
    return [*out.rglob(".writing-*"), *out.rglob("*.partial")]


def whole_so_far(out, whole):
    """Whatever was killed, what is there is complete."""
    found = open_study(out).table
    assert found.index.is_unique
    same(found, whole.table.loc[found.index])
    return found


def gone_on_with(study, out, whole):
    parts = study.run(out, resume=True)
    same(whole.table, parts.table)
    assert np.array_equal(whole.signals["lag.y"], parts.signals["lag.y"])
    assert not leftovers(out)


def ended(process):
    """Did it come to its end by itself?"""
    process.join(600)
    assert process.exitcode is not None
    return process.exitcode == 0


@pytest.mark.slow
@patient
def test_killed_at_random_points_and_gone_on_with(loop, tmp_path):
    """A third each: the program, one of its processes, and whichever of them writes a certain file."""
    study = study_of(loop, sampling=SAMPLING)
    whole = study.run(tmp_path / "whole", workers=2)
    for attempt in range(KILLS):
        chance = np.random.default_rng(attempt)
        out = tmp_path / f"killed{attempt}"
        for executor in ("threads", "processes")[attempt % 2 :]:
            write = int(chance.integers(1, FILES)) if attempt % 3 == 1 else None
            process = begin(run_study, out, executor, None, write)
            if write is None:
                wait_for_rows(out, process)
                time.sleep(chance.uniform(0.0, 0.15))
            workers = children_of(process)
            if write is None:
                victims = workers if attempt % 3 == 2 and workers else [process]
                victims[int(chance.integers(len(victims)))].kill()
            whole_by_itself = ended(process)
            assert not psutil.wait_procs(workers, timeout=120)[1], "processes are left behind"
            if whole_by_itself:  # a worker alone is nothing to the others
                assert len(whole_so_far(out, whole)) == len(study)
                assert not leftovers(out)
            elif (out / "study.json").exists():
                whole_so_far(out, whole)
        gone_on_with(study, out, whole)


long = pytest.mark.skipif("PLANTLOOP_KILLS" not in os.environ, reason="takes long: set PLANTLOOP_KILLS")


@long
@patient
def test_killed_on_dask(loop, tmp_path):
    """A worker, one that writes, the scheduler with its workers, and the client, in turn."""
    study = study_of(loop, sampling=SAMPLING)
    whole = study.run(tmp_path / "whole", workers=2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    made = {}

    def there(name, arguments, *killed_at):
        if name not in made or not made[name].is_alive():
            made[name] = begin(run_dask, name.rstrip("01"), tmp_path / f"{name}.log", arguments, *killed_at)

    try:
        for attempt in range(KILLS):
            chance, out = np.random.default_rng(attempt), tmp_path / f"killed{attempt}"
            killed = ("worker0", "a write", "scheduler", "client")[attempt % 4]
            there("scheduler", ["--host", address])
            if killed == "a write":
                end(made.pop("worker0", None))
            write = int(chance.integers(1, FILES - 23))
            for k in range(2):
                at = (out, write) if killed == "a write" and k == 0 else ()
                there(f"worker{k}", [address, "--no-nanny", "--nthreads", "1"], *at)
            made["client"] = process = begin(run_study, out, "dask", address)
            if killed != "a write":
                wait_for_rows(out, process)
                time.sleep(chance.uniform(0.0, 0.2))
                for name in ("scheduler", "worker0", "worker1") if killed == "scheduler" else (killed,):
                    end(made[name])
            if ended(process):
                assert len(whole_so_far(out, whole)) == len(study)
            gone_on_with(study, out, whole)
    finally:
        for process in made.values():
            end(process)


def end(process):
    if process is not None:
        process.kill()
        process.join()


@pytest.mark.slow
def test_a_worker_that_answers_no_more_holds_up_no_end(loop, tmp_path, monkeypatch):
    """As where it was killed while it held the lock of the queue from which the others are told to end."""
    keep_busy, others = executors._keep_busy, set(psutil.Process().children())
    workers = []

    def then_stopped(*arguments):
        keep_busy(*arguments)
        workers.extend(set(psutil.Process().children()) - others)
        os.kill(workers[0].pid, signal.SIGSTOP)

    monkeypatch.setattr(executors, "_keep_busy", then_stopped)
    assert study_of(loop).run(tmp_path / "out", executor="processes", workers=2).complete
    assert workers
    assert not any(one.is_running() for one in workers)


@pytest.mark.slow
def test_work_that_is_handed_out_while_workers_die_is_done(loop, tmp_path):
    killed, others = [], set(psutil.Process().children())

    def kill(tally):
        if not killed:
            for one in set(psutil.Process().children()) - others:
                killed.append(one.pid)
                one.kill()
            time.sleep(0.3)  # the next piece meets a pool that has noticed

    study = study_of(loop)
    assert study.run(tmp_path / "out", executor="processes", workers=2, progress=kill).complete
    assert killed


def test_what_was_being_written_is_removed(loop, tmp_path):
    study, out = study_of(loop), tmp_path / "out"
    study.run(out, limit=3)
    for name in ("table/.writing-0a", "signals.zarr/lag.y/c/0/0.0a.partial"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(b"begun")
    assert study.run(out, resume=True).complete
    assert not leftovers(out)


@pytest.mark.slow
def test_the_case_that_ends_its_process_is_found(loop, tmp_path):
    """Of 12 cases in two chunks, 2 done before: parts are halved until the one that dies is alone."""
    study = study_of(loop)
    store = study.open_store(str(tmp_path / "out"), resume=False)
    store = replace(store, manifest=replace(store.manifest, chunk=6))
    worker = Worker(study.plan, store)
    worker.work([(0, np.array([0, 4]))])
    tried, told = [], []

    def attempt(some):
        tried.append(some[1].tolist())
        return "it ended its process" if 2 in some[1] else worker.work([some])

    job = Job(study.plan, store, [], 1)
    find_culprits(job, [(0, np.arange(6)), (1, np.arange(6, 12))], attempt, told.append)
    worker.close()
    assert tried == [[6, 7, 8, 9, 10, 11], [1, 2, 3, 5], [1, 2], [1], [2], [3, 5]]
    assert sum(t.done for t in told) == 10
    assert sum(t.failed for t in told) == 1
    table = store.table()
    assert table["message"][2] == "it ended its process, without a message"
    same(table.drop(index=2), study.run(tmp_path / "whole").table.loc[table.index].drop(index=2))


@long
def test_a_run_that_ends_its_worker_of_dask_is_a_row(tmp_path):
    import dask

    d = Diagram("crash")
    d.add("u", Constant(1.0))
    d.add("f", PythonFunction(ends_above, 1, sample=0.1))
    d.add("i", Integrator())
    d.connect("u.y", "f.u")
    d.connect("f.y", "i.u")
    study = Study(d, until=0.2, sweep={"u.value": [1.0, 3.0, 2.0]}, metrics={"end": "final(i.y)"})
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        s = study.run(tmp_path / "out", executor="dask", workers=1)
    assert list(s.table["status"]) == ["done", "failed", "done"]
    assert "ended its worker each time" in s.table["message"][1]
    assert list(s.table["end"]) == pytest.approx([0.4, np.nan, 0.8], nan_ok=True)


def ends_above(t, u):
    return os._exit(3) if u[0] > 2.5 else 2 * u
