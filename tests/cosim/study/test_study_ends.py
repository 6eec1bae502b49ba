"""A study meets a full disk, workers of another version, a lost scheduler: one clear error, nothing lost."""

import errno
import os

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import open_study
from tests.cosim.study.test_study_runs import same, study_of

SAMPLING = {"method": "sobol", "runs": 64, "seed": 1, "parameters": {"lag.x": {"low": 0.0, "high": 1.0}}}


@pytest.mark.slow
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


@pytest.mark.slow
def test_workers_of_another_version(loop, tmp_path, monkeypatch):
    monkeypatch.setattr("cosim.study.dask_cluster.__version__", "9.9")
    with pytest.raises(
        PlantloopError, match="the worker at .* has plantloop .*, here it is 9.9.*same version"
    ):
        study_of(loop).run(tmp_path / "out", executor="dask", workers=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_leaves_nothing_behind(loop, tmp_path, monkeypatch):
    monkeypatch.setattr("cosim.study.dask_cluster.CONNECT", 1)
    with pytest.raises(PlantloopError, match="no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        study_of(loop).run(tmp_path / "out", executor="dask", scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()


def test_a_scheduler_without_workers(loop, tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr("cosim.study.dask_cluster.WORKERS", 0.2)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None, silence_logs=50) as cluster,
        pytest.raises(PlantloopError, match="no worker has joined .*inproc.*Start some with: dask worker"),
    ):
        study_of(loop).run(tmp_path / "out", scheduler=cluster.scheduler_address)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_scheduler_that_is_lost(loop, tmp_path):
    from distributed import LocalCluster

    study = study_of(loop, sampling=SAMPLING)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=50) as cluster:

        def lost(tally):
            cluster.close()

        with pytest.raises(PlantloopError, match="connection to the Dask scheduler at .* was lost.*--resume"):
            study.run(tmp_path / "out", scheduler=cluster.scheduler_address, progress=lost)
    assert 0 < len(open_study(tmp_path / "out").table) < len(study)
    same(study.run(tmp_path / "whole").table, study.run(tmp_path / "out", resume=True).table)


def test_a_url_of_no_kind_that_is_known(loop):
    url = "nowhere://a/b"
    with pytest.raises(PlantloopError, match=f"no folder of results is reached at '{url}'.*fsspec knows"):
        study_of(loop).wanted(url, resume=True)
    with pytest.raises(PlantloopError, match="no folder of results is reached"):
        open_study(url)


@pytest.mark.slow
def test_a_url_of_a_file_is_its_path(loop, tmp_path):
    out = tmp_path / "a folder"
    s = study_of(loop).run(out.as_uri(), workers=1)
    assert (out / "study.json").exists() and s.store.folder.url == str(out)
    assert len(open_study(out.as_uri()).table) == len(s)
