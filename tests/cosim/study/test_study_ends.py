"""A study meets a full disk, a kill, workers of another version: one clear error, nothing lost or doubled.

PLANTLOOP_KILLS=100 kills that often instead of a few times.
"""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from blocks import PlantloopError
from cosim import open_study
from tests.cosim.study.test_study_runs import same, study_of

KILLS = int(os.environ.get("PLANTLOOP_KILLS", "3"))
SAMPLING = {"method": "sobol", "runs": 64, "seed": 1, "parameters": {"lag.x": {"low": 0.0, "high": 1.0}}}
PROGRAM = """
import sys
from tests.cosim.study.conftest import noisy_loop
from tests.cosim.study.test_study_runs import study_of
from tests.cosim.study.test_study_ends import SAMPLING
study_of(noisy_loop(), sampling=SAMPLING).run(sys.argv[1], resume=True, workers=2, executor=sys.argv[2])
"""


def killed(out, executor, chance, whole):
    """A program that runs the study, or one of its workers, is killed at some time after its first chunk."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(out), executor], env=environment, start_new_session=True
    )
    began = time.monotonic()
    while not (out / "table").exists() and process.poll() is None and time.monotonic() - began < 60:
        time.sleep(0.002)
    time.sleep(chance.uniform(0.0, 0.15))
    if whole or executor == "threads":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        workers = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        if workers:
            os.kill(workers[int(chance.integers(len(workers)))].pid, signal.SIGKILL)
    return process.wait(timeout=120)


def test_killed_at_random_points_and_gone_on_with(loop, tmp_path):
    study = study_of(loop, sampling=SAMPLING)
    whole = study.run(tmp_path / "whole", workers=2)
    for attempt in range(KILLS):
        chance = np.random.default_rng(attempt)
        out = tmp_path / f"killed{attempt}"
        for executor in ("threads", "processes")[attempt % 2 :]:
            killed(out, executor, chance, whole=attempt % 3 < 2)
            if (out / "study.json").exists():
                found = open_study(out).table  # whatever was killed, what is there is whole
                assert found.index.is_unique
                same(found, whole.table.loc[found.index])
        parts = study.run(out, resume=True)
        same(whole.table, parts.table)
        assert np.array_equal(whole.signals["lag.y"], parts.signals["lag.y"])
        assert not list(out.rglob(".writing-*"))


@pytest.mark.parametrize("place", ["rows", "signals"])
def test_a_full_disk(loop, tmp_path, monkeypatch, place):
    study = study_of(loop, sampling=SAMPLING)
    whole = study.run(tmp_path / "whole", workers=1)
    out, count = tmp_path / "full", []

    def full(*arguments):
        count.append(place == "signals" or "/table/" in str(arguments[1]))
        if sum(count) > 5 and count[-1]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return (replace if place == "rows" else write)(*arguments)

    from cosim.study.store import StudyStore

    replace, write = os.replace, StudyStore._write_signals
    with monkeypatch.context() as patch:
        if place == "rows":
            patch.setattr("cosim.study.folder.os.replace", full)
        else:
            patch.setattr(StudyStore, "_write_signals", full)
        with pytest.raises(PlantloopError, match="cannot write to .*No space left on device.*--resume"):
            study.run(out, workers=2)
    assert not list(out.rglob(".writing-*"))
    assert 0 < len(open_study(out).table) < len(study)
    parts = study.run(out, resume=True)
    same(whole.table, parts.table)
    assert np.array_equal(whole.signals["lag.y"], parts.signals["lag.y"])


def test_workers_of_another_version(loop, tmp_path, monkeypatch):
    monkeypatch.setattr("cosim.study.dask_cluster.__version__", "9.9")
    with pytest.raises(
        PlantloopError, match="the worker at .* has plantloop .*, here it is 9.9.*same version"
    ):
        study_of(loop).run(tmp_path / "out", executor="dask", workers=1)
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_does_not_answer_leaves_nothing_behind(loop, tmp_path, monkeypatch):
    monkeypatch.setattr("cosim.study.dask_cluster.CONNECT", 1)
    with pytest.raises(PlantloopError, match="no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        study_of(loop).run(tmp_path / "out", executor="dask", scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()
