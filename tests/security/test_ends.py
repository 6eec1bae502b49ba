"""What ends a run from outside or inside keeps its result: signals, sys.exit, compilers that hang."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from blocks import Integrator, PythonFunction, Sine
from blocks.errors import SimulationError
from cosim import export_fmu, simulate
from cosim.engines.native import cache, compiler, compiler_jobs
from cosim.result.result import Result
from tests.helpers.decks import deck, pendulum
from tests.helpers.made import Made, chain

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]
SCENARIO = """
[blocks.a]
type = "Sine"
[blocks.i]
type = "Integrator"
[wiring]
connect = ["a.y -> i.u"]
[run]
until = 1e6
solver = "rk4"
step = 1e-3
log_every = 1e2
"""


def wait_until(true, seconds=60.0, pause=0.02):
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, "it never came"
        time.sleep(pause)


def worked(process):
    """Processor time a process has taken [s]."""
    taken = psutil.Process(process).cpu_times()
    return taken.user + taken.system


def loaded(process):
    """How many libraries of compiled code a process has."""
    with contextlib.suppress(psutil.Error):
        return sum(Path(one.path).name == cache.LIBRARY for one in psutil.Process(process).memory_maps())
    return 0


# --- signals ----------------------------------------------------------------------------------------------
def _as_started(sigint: signal.Handlers) -> None:
    """In a child: signals as a terminal leaves them, where `nohup` or a script has set them to be ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, sigint)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "kind"),
    [("SIGTERM", "scenario"), ("SIGHUP", "scenario"), ("SIGINT", "deck"), ("SIGTERM", "background")],
)
def test_a_signal_ends_a_run_with_its_result(tmp_path, number, kind):
    """Also where SIGINT is ignored, as in the background of a script: then the others act."""
    file = tmp_path / ("s.xml" if kind == "deck" else "s.toml")
    if kind == "deck":
        commands = '<Simulate analysis_type="Transient" end_time="1e8" print_interval="1e4"/>'
        file.write_bytes(deck(pendulum(1.0), commands))
    else:
        file.write_text(SCENARIO)
    command = [sys.executable, "-m", "cosim", "run", file.name, "--out", "out"]
    ignored = kind == "background"
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": os.getcwd(), "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: _as_started(sigint=signal.SIG_IGN if ignored else signal.SIG_DFL),
    )  # fmt: skip
    wait_until(lambda: loaded(process.pid) >= 2, pause=0.1)  # the runtime and the model: it is about to begin
    began = worked(process.pid)
    wait_until(lambda: worked(process.pid) > began + 0.3)  # it has, however busy the processor is
    process.send_signal(getattr(signal, number))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    result = Result.load(tmp_path / "out" / "result.nc")
    assert not result.complete and "interrupted" in result.message
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["result.nc"]


def test_a_signal_while_a_file_is_written_waits(tmp_path):
    from cosim.cli.signals import uninterrupted

    done = []
    with pytest.raises(KeyboardInterrupt):
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            done.append("written")
        pytest.fail("it acts at the end")
    assert done == ["written"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


# --- sys.exit ---------------------------------------------------------------------------------------------
def leaving(t, u):
    if t > 0.5:
        sys.exit(3)
    return u


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("sample", [0.1, None])
def test_sys_exit_in_a_block_keeps_the_result(engine, sample):
    d = chain(Sine(), PythonFunction(leaving, sample=sample), Integrator())
    with pytest.raises(
        SimulationError, match=r"sys\.exit\(3\) was called in the run at t=0\.[456]"
    ) as caught:
        simulate(d, 1.0, engine=engine, log_every=0.1, solver="rk4", step=0.05)
    result = caught.value.result
    assert not result.complete and len(result.time) >= 5 and "sys.exit" in result.message


# --- compilers --------------------------------------------------------------------------------------------
@pytest.fixture
def hung(tmp_path, monkeypatch):
    """A compiler that never ends, and an empty cache."""
    script = tmp_path / "hung-cc"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'begun'}\nsleep 1000\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_hung", {})
    return tmp_path


def fresh():
    value = float(np.random.default_rng().random())
    return chain(Sine(), Made(lambda b: b.output("y", b.input("u", size=1) + value)), Integrator())


def test_a_hung_compiler_is_given_up_after_a_time_and_not_waited_for_twice(hung, monkeypatch):
    monkeypatch.setenv("PLANTLOOP_COMPILE_LIMIT", "0.5")
    with pytest.warns(UserWarning, match=r"(?s)slow reference engine: .*hung-cc.*did not end within 0.5 s"):
        result = simulate(fresh(), 0.1)
    assert result.complete and result.settings["engine"].value == "reference"
    began = time.monotonic()
    with pytest.warns(UserWarning, match="hung before in this process") as told:
        simulate(fresh(), 0.01)
    assert len(told) == 1 and time.monotonic() - began < 60
    with pytest.raises(compiler.CompilerError, match="hung before"):
        simulate(fresh(), 0.1, engine="native")
    assert list((hung / "cache").glob("making-*")) == []


COMPILING = {
    "a run": lambda folder: simulate(fresh(), 0.1, engine="native"),
    "an export": lambda folder: export_fmu(fresh(), folder / "x.fmu", solver="rk4", step=0.1),
}


@pytest.mark.parametrize("taken", ["by the process", "by another thread"])
@pytest.mark.parametrize("work", COMPILING)
def test_ctrl_c_ends_a_hung_compiler_at_once(hung, work, taken):
    """Also one that another thread takes: like one just before a wait, it wakes nobody who waits."""

    def interrupt():
        wait_until((hung / "begun").exists)
        if taken == "by the process":
            os.kill(os.getpid(), signal.SIGINT)
        else:
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        COMPILING[work](hung)
    assert list((hung / "cache").glob("making-*")) == []
    listed = subprocess.run(["ps", "-ef"], capture_output=True, text=True, check=False).stdout
    assert "hung-cc" not in listed or str(hung) not in listed


@pytest.mark.parametrize("work", COMPILING)
def test_ctrl_c_that_comes_while_threads_are_begun_ends_a_hung_compiler_too(hung, work, monkeypatch):
    submit = ThreadPoolExecutor.submit

    def interrupted(pool, function, *args):
        made = submit(pool, function, *args)
        if threading.current_thread() is threading.main_thread():
            wait_until((hung / "begun").exists)
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        COMPILING[work](hung)
    assert list((hung / "cache").glob("making-*")) == []


def test_the_time_limit_is_stated_and_can_be_set(monkeypatch):
    assert compiler_jobs.limit() == compiler_jobs.LIMIT == 300.0
    for text, seconds in (("2", 2.0), ("0", 300.0), ("-1", 300.0), ("soon", 300.0), ("nan", 300.0)):
        monkeypatch.setenv("PLANTLOOP_COMPILE_LIMIT", text)
        assert compiler_jobs.limit() == seconds


@pytest.mark.parametrize("odd", ["'", '"cc', "/", "/dev/null", "''", "cc\n-x", "not there at all", "."])
def test_an_odd_cc_falls_back_with_its_reason_once(monkeypatch, tmp_path, odd):
    monkeypatch.setenv("CC", odd)
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = simulate(fresh(), 0.01)
    assert result.complete
    if result.settings["engine"].value == "reference":
        texts = [str(w.message) for w in told if "reference engine" in str(w.message)]
        assert len(texts) == 1 and ("$CC names" in texts[0] or "C compiler" in texts[0])
