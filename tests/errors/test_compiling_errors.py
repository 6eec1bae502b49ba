"""What may go wrong around compiled code: killed processes, full disks, Ctrl-C. The cache stays sound."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from blocks import Gain, Integrator
from cosim import Diagram, simulate
from cosim.engines.native import cache, compiler

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and shell scripts of POSIX")

MODEL = """
    from blocks import Gain, Integrator
    from cosim import Diagram, simulate
    d = Diagram("fresh")
    x, g = d.add("x", Integrator(1.0)), d.add("g", Gain(-1.0))
    d.connect(x["y"], g["u"])
    d.connect(g["y"], x["u"])
"""
RUN = 'print(simulate(d, 1.0, engine="native", solver="rk4", log_at=[1.0])["x.y"].tobytes().hex())'


def diagram() -> Diagram:
    """The one of `MODEL`."""
    d = Diagram("fresh")
    x, g = d.add("x", Integrator(1.0)), d.add("g", Gain(-1.0))
    d.connect(x["y"], g["u"])
    d.connect(g["y"], x["u"])
    return d


def started(script: str, folder: Path, **more: str) -> subprocess.Popen:
    """A Python process with a cache of its own."""
    environment = os.environ | {"PLANTLOOP_CACHE": str(folder), "PYTHONPATH": os.getcwd()} | more
    command = [sys.executable, "-c", textwrap.dedent(MODEL) + textwrap.dedent(script)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def slow_compiler(folder: Path, seconds: float) -> Path:
    """A compiler that tells when it begins and takes its time."""
    real = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    script = folder / "slow-cc"
    begun = folder / "begun"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *.c*) touch {begun}; sleep {seconds};; esac\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    return script


def wait_for(path: Path) -> None:
    for _ in range(3000):
        if path.exists():
            return
        time.sleep(0.02)
    pytest.fail(f"{path} never appeared")


def entries(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if not p.name.startswith("making-")] if folder.exists() else []


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A fresh cache for this process too."""
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.slow
def test_kill_9_while_compiling_leaves_no_broken_entry(home, tmp_path):
    process = started(RUN, home, CC=str(slow_compiler(tmp_path, 30.0)))
    wait_for(tmp_path / "begun")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert entries(home) == []
    left = list(home.glob("making-*"))
    assert left  # nobody was there to clean up
    again = started(RUN, home)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert bytes.fromhex(out.strip()) == simulate(diagram(), 1.0, solver="rk4", log_at=[1.0])["x.y"].tobytes()
    assert all(cache._read(entry) is not None for entry in entries(home))
    for place in left:  # a day later
        os.utime(place, (time.time() - 2 * cache.LEFTOVER,) * 2)
    cache._bound(home / "none")
    assert list(home.glob("making-*")) == []


@pytest.mark.slow
def test_kill_9_while_running_leaves_the_cache_as_it_was(home):
    assert started(RUN, home).wait(timeout=60) == 0
    before = {p: cache._checksum(p / cache.LIBRARY) for p in entries(home)}
    assert before
    script = """
        told = lambda t: print("at", t, flush=True)
        simulate(d, 1e9, engine="native", solver="rk4", log_every=1e6, progress=told)
    """
    process = started(script, home)
    assert process.stdout.readline().startswith("at ")
    process.kill()
    process.wait()
    assert {p: cache._checksum(p / cache.LIBRARY) for p in entries(home)} == before
    assert list(home.glob("making-*")) == []


@pytest.mark.slow
def test_ctrl_c_while_compiling_leaves_nothing_behind(home, tmp_path, monkeypatch):
    quick = os.environ["CC"]
    monkeypatch.setenv("CC", str(slow_compiler(tmp_path, 1.0)))
    threading.Thread(
        target=lambda: (wait_for(tmp_path / "begun"), os.kill(os.getpid(), signal.SIGINT)), daemon=True
    ).start()
    with pytest.raises(KeyboardInterrupt):
        simulate(diagram(), 0.1, engine="native")
    assert list(home.glob("making-*")) == []
    monkeypatch.setenv("CC", quick)
    assert simulate(diagram(), 0.1, engine="native").complete


def test_a_compiler_without_room_says_so(home, tmp_path, monkeypatch):
    full = tmp_path / "full-cc"
    full.write_text(
        '#!/bin/sh\ncase "$*" in *--version*|*-v*|*-dumpmachine*) echo full-cc 1; exit 0;; esac\n'
        "echo 'fatal error: error writing to out.o: No space left on device' >&2\nexit 1\n"
    )
    full.chmod(0o755)
    monkeypatch.setenv("CC", str(full))
    with pytest.raises(compiler.CompilerError, match="No space left on device") as caught:
        simulate(diagram(), 0.1, engine="native")
    assert str(full) in str(caught.value)
    assert list(home.glob("making-*")) == []
    with pytest.warns(UserWarning, match="(?s)reference engine.*No space left"):
        assert simulate(diagram(), 0.1).settings["engine"].value == "reference"


@pytest.mark.slow
def test_files_that_cannot_grow(home):
    """What a disk that is full does to a compiler that runs: its files end somewhere in the middle."""
    script = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        try:
            simulate(d, 1.0, engine="native")
        except Exception as error:
            print(type(error).__name__)
        import warnings
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            engine = simulate(d, 1.0).settings["engine"].value
        print(engine, len([w for w in told if "reference" in str(w.message)]))
    """
    process = started(script, home)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    first, second = out.splitlines()
    assert first in ("CompilerError", "CacheError")
    assert second == "reference 1"
    assert entries(home) == []
    assert list(home.glob("making-*")) == []
    assert simulate(diagram(), 0.1, engine="native").complete  # once there is room again


def test_the_cache_is_where_the_system_keeps_caches_unless_a_folder_is_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "mine"))
    assert cache.folder() == tmp_path / "mine"
    monkeypatch.setenv("PLANTLOOP_CACHE", "~/mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "mine"
    monkeypatch.delenv("PLANTLOOP_CACHE")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
        assert cache.folder() == tmp_path / "caches" / "plantloop"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache.folder() == tmp_path / ".cache" / "plantloop"
    monkeypatch.delenv("HOME")
    assert cache.folder().is_absolute() and "plantloop" in cache.folder().parts
