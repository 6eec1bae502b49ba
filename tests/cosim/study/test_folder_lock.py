"""Two runs in one folder of results at once: the second is refused, whoever was killed before."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from blocks import PlantloopError
from cosim import open_study
from cosim.study import folder_lock
from cosim.study.folder_lock import alone_in
from tests.cosim.study.test_study_runs import study_of

HOLD = """
import sys, os, time
from cosim.study.folder_lock import alone_in
with alone_in(sys.argv[1]):
    if len(sys.argv) > 2 and os.fork() == 0:
        time.sleep(float(sys.argv[2]))
        os._exit(0)
    print("held", flush=True)
    time.sleep(60)
"""


def holder(out, *more):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(out), *more], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    return process


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(folder_lock, "LONGEST_WAIT", 0.1)


@pytest.mark.slow
def test_the_second_run_is_refused(loop, tmp_path, impatient):
    study, out = study_of(loop), tmp_path / "out"
    told = []

    def meanwhile(tally):
        for resume in (False, True):
            with pytest.raises(
                PlantloopError, match=r"another run of a study is writing to '.*out'"
            ) as error:
                study.run(out, resume=resume)
            told.append(error.value.hint)

    whole = study.run(out, progress=meanwhile)
    assert "--resume" in told[0]
    assert whole.complete
    assert sorted(p.name for p in out.iterdir()) == ["signals.zarr", "study.json", "table"]
    assert len(study.run(out, resume=True)) == len(study)


def test_a_run_of_another_process_is_seen_until_it_is_killed(tmp_path, impatient):
    out = tmp_path / "out"
    process = holder(out)
    with pytest.raises(PlantloopError, match="another run"), alone_in(str(out)):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    with alone_in(str(out)):
        assert out.is_dir()


def test_workers_that_outlive_a_killed_run_are_waited_for(tmp_path):
    process = holder(tmp_path / "out", "0.5")
    process.kill()
    process.wait()
    with alone_in(str(tmp_path / "out")):
        pass


def test_processes_that_were_divided_off_hold_nothing(tmp_path, impatient):
    """As workers that have not ended yet when a run is over."""
    waits = multiprocessing.get_context("fork").Event()
    with alone_in(str(tmp_path / "out")):
        child = multiprocessing.get_context("fork").Process(target=waits.wait)
        child.start()
    with alone_in(str(tmp_path / "out")):
        waits.set()
    child.join()


def test_a_folder_that_is_removed_meanwhile_is_made_again(tmp_path):
    """Who waits for a run that fails and removes its folder does not lock what is gone."""
    out, began, seen = str(tmp_path / "out"), threading.Event(), []

    def second():
        began.set()
        with alone_in(out):
            seen.append(os.path.isdir(out))

    with alone_in(out):
        thread = threading.Thread(target=second)
        thread.start()
        began.wait()
    thread.join()
    assert seen == [True]
    assert not os.path.exists(out)


def test_who_makes_a_folder_removes_it_also_if_it_was_there_a_moment_before(tmp_path, monkeypatch):
    """Another run's empty folder goes between a look for it and the attempt to make it."""
    out = tmp_path / "out"
    out.mkdir()
    mkdir = Path.mkdir

    def made(self, *arguments, **named):
        if self == out and out.exists():
            out.rmdir()
        return mkdir(self, *arguments, **named)

    monkeypatch.setattr(Path, "mkdir", made)
    with alone_in(str(out)):
        assert out.is_dir()
    assert not out.exists()


def test_a_folder_that_goes_between_two_calls_of_the_system_is_made_again(tmp_path, monkeypatch):
    """Another run that failed removes its empty folder after it was found and before it is opened."""
    out, plain, opened = tmp_path / "out", os.open, []
    out.mkdir()

    def late(*given):
        if not opened:
            out.rmdir()
        opened.append(given)
        return plain(*given)

    monkeypatch.setattr(folder_lock.os, "open", late)
    with alone_in(str(out)):
        assert out.is_dir()
    assert len(opened) == 2
    assert not out.exists()  # the second one is ours


def test_a_link_that_leads_nowhere_is_said(tmp_path, impatient):
    (tmp_path / "out").symlink_to(tmp_path / "missing")
    with (
        pytest.raises(PlantloopError, match="cannot write to .*No such file"),
        alone_in(str(tmp_path / "out")),
    ):
        pass


def test_what_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantloopError, match="cannot write to"), alone_in(str(tmp_path / "file" / "out")):
        pass


@pytest.mark.parametrize("gone", [False, True])
def test_a_folder_that_is_moved_or_removed_meanwhile_ends_the_run(loop, tmp_path, gone):
    """It was made anew without its manifest: the cases from there on were said to be done, and lost."""
    study, out, moved, told = study_of(loop), tmp_path / "out", tmp_path / "moved", []

    def meanwhile(tally):
        if not told:
            told.append(tally)
            out.rename(moved)  # at once, while others write to it
            if gone:
                shutil.rmtree(moved, ignore_errors=True)

    with pytest.raises(PlantloopError, match=r"'.*out' were moved or removed while the study ran"):
        study.run(out, progress=meanwhile, workers=1)
    if not gone:
        assert 0 < len(open_study(moved).table.query("status == 'done'")) < len(study)
        assert study.run(moved, resume=True).complete


def test_the_lock_is_let_go_of_although_others_still_have_the_folder_open(monkeypatch, tmp_path):
    """As a process that was forked meanwhile does."""
    opened, plain = [], os.open

    def also(*given):
        found = plain(*given)
        opened.append(os.dup(found))
        return found

    monkeypatch.setattr(folder_lock.os, "open", also)
    with alone_in(str(tmp_path / "out")):
        (tmp_path / "out" / "file").write_text("")
        assert len(opened) == 1
    monkeypatch.setattr(folder_lock, "LONGEST_WAIT", 0.0)
    with alone_in(str(tmp_path / "out")):
        pass
    for number in opened:
        os.close(number)


def test_three_seconds_are_waited_with_pauses(monkeypatch, tmp_path):
    """By a clock that goes on in pauses alone."""
    now, pauses = [50.0], []

    def sleep(seconds):
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(folder_lock, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    with alone_in(str(tmp_path / "out")):
        with (
            pytest.raises(PlantloopError, match="another run of a study is writing"),
            alone_in(str(tmp_path / "out")),
        ):
            pass
        assert 3.0 < sum(pauses) < 3.2 and max(pauses) < 0.2
