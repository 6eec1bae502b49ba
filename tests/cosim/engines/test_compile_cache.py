"""The compiler and the cache of machine code: what if one is missing, fails, is full, damaged or shared."""

import hashlib
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim import simulate
from cosim.cli.cli import app
from cosim.engines.native import build, cache, compiler
from tests.helpers.hybrid import (
    FIXED,
    fresh_diagram,
    same,
)

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="plantloop\\[cc\\]"):
        assert simulate(fresh_diagram(), 0.1).settings["engine"].value == "reference"
    with pytest.raises(compiler.CompilerError, match="no C compiler"):
        simulate(fresh_diagram(), 0.1, engine="native")


def test_the_compiler_of_a_python_package_is_found_last(monkeypatch, tmp_path):
    package = tmp_path / "ziglang.py"
    package.write_text("")
    monkeypatch.setenv("CC", "")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "ziglang" not in compiler.find().command
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler.find().command == (sys.executable, "-m", "ziglang", "cc")


def test_a_failing_compiler_tells_file_and_message(monkeypatch, tmp_path):
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\necho 'disk on fire' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(compiler.CompilerError, match="disk on fire") as caught:
        simulate(fresh_diagram(), 0.1, engine="native")
    kept = Path(caught.value.path)  # of the model or of the runtime, whichever failed first
    assert kept.parent == tmp_path / "cache" / cache.FAILED and kept.suffix == ".c"
    assert f"failed on {kept}:" in str(caught.value)
    assert kept.stat().st_size > 0
    assert (kept.parent / "functions.h").exists()  # what one needs to try the compiler by hand
    with pytest.warns(UserWarning, match="reference engine"):
        assert simulate(fresh_diagram(), 0.1).settings["engine"].value == "reference"
    cache.clear()
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setenv("CC", "not-there")
    with pytest.raises(compiler.CompilerError, match="not-there.*unset"):
        simulate(fresh_diagram(), 0.1, engine="native")


def test_a_compiler_that_makes_nothing_is_no_full_disk(monkeypatch, tmp_path):
    silent = tmp_path / "silent-cc"
    silent.write_text("#!/bin/sh\nexit 0\n")
    silent.chmod(0o755)
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", str(silent))
    with pytest.raises(compiler.CompilerError, match="(?s)silent-cc cannot link.*made no library.*CC"):
        simulate(fresh_diagram(), 0.1, engine="native")


def test_an_unwritable_cache_is_replaced_for_this_process(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(cache, "_temporary", [])
    with pytest.warns(UserWarning, match="cannot be written"):
        simulate(fresh_diagram(), 0.1, engine="native")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(fresh_diagram(), 0.1, engine="native")


def test_a_full_disk_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))

    def no_room(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "_compile", no_room)
    with pytest.raises(cache.CacheError, match="disk is full"):
        simulate(fresh_diagram(), 0.1, engine="native")
    assert list(tmp_path.glob("making-*")) == []


@pytest.mark.parametrize("damage", ["truncate", "foreign", "no note", "bad note"])
def test_damaged_entries_are_made_anew(monkeypatch, tmp_path, damage):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    sound = simulate(fresh_diagram(), 0.1, engine="native", **FIXED)
    for place in tmp_path.glob("[0-9a-f]*"):
        library, note = place / cache.LIBRARY, place / cache.NOTE
        library.chmod(0o644)
        if damage == "truncate":
            data = library.read_bytes()
            library.unlink()
            library.write_bytes(data[: len(data) // 2])
        elif damage == "foreign":
            library.unlink()
            library.write_bytes(b"something else")
        elif damage == "no note":
            note.unlink()
        else:
            note.write_text("{")
    again = simulate(fresh_diagram(), 0.1, engine="native", **FIXED)
    same(sound, again)
    assert list(tmp_path.glob("making-*")) == []


@pytest.mark.slow
def test_processes_that_compile_at_once_agree(tmp_path):
    script = """
        from benchmarks.cartpole_model import closed_loop
        from cosim import simulate
        r = simulate(closed_loop(), 0.5, engine="native", solver="rk4", step=0.01)
        print(r["plant.state"][-1].tobytes().hex())
    """
    environment = os.environ | {"PLANTLOOP_CACHE": str(tmp_path), "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    time.sleep(0.7)
    killed.kill()
    killed.wait()
    assert len({run.communicate()[0] for run in runs}) == 1
    assert [run.returncode for run in runs] == [0, 0, 0]
    entries = [p for p in tmp_path.iterdir() if not p.name.startswith("making-")]
    assert len(entries) == 2
    assert all(cache._read(p) is not None for p in entries)


def test_the_cache_is_bounded_and_can_be_cleared(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    (tmp_path / "mine.txt").write_text("somebody else's")
    monkeypatch.setattr(cache, "LIMIT", 1)
    monkeypatch.setattr(cache, "LOOK", 1)

    def make(folder):
        (folder / cache.LIBRARY).write_bytes(b"x" * 100)
        return {}

    for key in ("a", "b", "c"):
        cache.get(key, make)
        time.sleep(0.01)
    assert cache.info().entries == 1
    assert cache.get("c", lambda folder: pytest.fail("it was there")).library.exists()
    assert cache.clear().entries == 1
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_the_whole_cache_is_looked_through_now_and_then(monkeypatch, tmp_path):
    """About once in LOOK bytes: a look takes as long as there are entries, and the folder stays bounded."""
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "LIMIT", 30_000)
    monkeypatch.setattr(cache, "LOOK", 10_000)
    looks, original = [], cache._bound
    monkeypatch.setattr(cache, "_bound", lambda keep: (looks.append(keep), original(keep)))

    def make(size):
        return lambda folder: (folder / cache.LIBRARY).write_bytes(b"x" * size) and {}

    keys = [hashlib.sha256(str(k).encode()).hexdigest()[:40] for k in range(200)]
    sizes = [(cache.get(key, make(500)), cache.info().size)[1] for key in keys]
    assert 5 <= len(looks) <= 30  # 200 entries of some 600 bytes: 12 looks
    assert max(sizes) < 80_000 and max(sizes[-50:]) > 20_000
    cache.get("large", make(20_000))
    assert looks[-1].name == "large" and cache.info().size <= 30_000


def test_the_command_line_shows_and_clears_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    simulate(fresh_diagram(), 0.1, engine="native")
    shown = CliRunner().invoke(app, ["cache", "info"])
    assert str(tmp_path) in shown.stdout
    assert "compiled libraries" in shown.stdout
    assert CliRunner().invoke(app, ["cache", "clear"]).exit_code == 0
    assert list(tmp_path.iterdir()) == []
