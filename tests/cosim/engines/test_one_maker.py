"""What several threads or processes need at once is compiled once a process, and nothing is left of it."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from blocks import Gain, Integrator
from cosim import Diagram, simulate
from cosim.engines.native import build, cache, compiler
from cosim.engines.native.one_maker import OneMaker

try:
    REAL = compiler.find().command[0]
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="shell scripts of POSIX"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """The words of every call of a compiler that takes its time; the cache is empty, no runtime loaded."""
    log, script = tmp_path / "calls", tmp_path / "counting-cc"
    script.write_text(f'#!/bin/sh\necho "$@" >> {log}\nsleep 0.05\nexec {REAL} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_runtimes", {})
    monkeypatch.setattr(compiler, "_hung", {})
    return log


def decay(gains):
    """x' = -c x with c the product of some gains: another structure for every number of them."""
    d = Diagram(f"decay{len(gains)}")
    x = d.add("x", Integrator(1.0))
    port = x["y"]
    for k, gain in enumerate(gains):
        block = d.add(f"g{k}", Gain(gain))
        d.connect(port, block["u"])
        port = block["y"]
    d.connect(port, x["u"])
    return d


def end_of(gains):
    return simulate(decay(gains), 1.0, engine="native", log_at=[1.0])["x.y"][-1].item()


def sources(log):
    """Names of the C files that were compiled, one for each time."""
    lines = [line.split() for line in log.read_text().splitlines()]
    return [words[words.index("-c") + 1].rsplit("/", 1)[-1] for words in lines if "-c" in words]


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False])
def test_threads_compile_the_runtime_once(calls, same):
    lists = [[-2.0]] * 4 if same else [[-2.0] + [1.0] * k for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(end_of, lists))
    np.testing.assert_allclose(found, np.exp(-2.0), rtol=1e-5)
    compiled = sources(calls)
    runtime = [path.name for path in build.RUNTIME.glob("*.c")]
    assert sorted(name for name in compiled if name in runtime) == sorted(runtime)
    home = cache.folder()
    assert len([p for p in home.iterdir() if cache._read(p)]) == (2 if same else 5)
    assert list(home.glob("making-*")) == []


@pytest.mark.slow
def test_processes_with_an_empty_cache_agree(calls, tmp_path):
    code = "from tests.cosim.engines.test_one_maker import end_of; print(end_of([-2.0]).hex())"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": os.getcwd()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    said = [run.communicate(timeout=100) for run in runs]
    assert {out.strip() for out, _ in said} == {end_of([-2.0]).hex()}, said
    assert [err for _, err in said] == [""] * 3
    home = cache.folder()
    assert all(cache._read(place) for place in home.iterdir()) and len(list(home.iterdir())) == 2


@pytest.mark.slow
def test_a_compiler_that_hangs_is_waited_for_once_by_all_threads(calls, monkeypatch):
    log = calls.with_name("begun")
    script = calls.with_name("counting-cc")
    script.write_text(f"#!/bin/sh\necho begun >> {log}\nsleep 1000\n")
    monkeypatch.setenv("PLANTLOOP_COMPILE_LIMIT", "1")

    def why(_):
        with pytest.raises(compiler.CompilerError) as caught:
            end_of([-2.0])
        return str(caught.value)

    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(why, range(4)))
    assert all("did not end within 1 s" in text for text in said)
    assert time.monotonic() - began < 60  # not a question of speed: 300 s each would be the limit itself
    assert sum("hung before" in text for text in said) >= 2


def test_who_waits_hears_ctrl_c():
    makers, inside = OneMaker(), threading.Event()
    leave = threading.Event()

    def hold():
        with makers.alone("k"):
            inside.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(60)
    with makers.alone("another"):
        pass  # other keys are free
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), makers.alone("k"):
        pass
    leave.set()
    holder.join()
    with makers.alone("k"):
        pass


def test_a_failure_lets_the_next_one_in(calls):
    """The first thread's compiler fails; the second's does not."""
    with pytest.raises(ZeroDivisionError):
        cache.get("k", lambda folder: 1 / 0)

    def make(folder):
        shutil.copy(sys.executable, folder / cache.LIBRARY)
        return {}

    assert cache.get("k", make).library.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_that_is_forked_meanwhile_waits_for_nobody():
    makers = OneMaker()
    with makers.alone("k"):
        child = os.fork()
        if child == 0:  # pragma: no cover
            signal.alarm(10)
            with makers.alone("k"):
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
