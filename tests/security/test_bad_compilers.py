"""Compilers that fail, say without end, leave servers behind, or make what is no library; and full disks."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from blocks import Integrator, Sine
from cosim import simulate
from cosim.engines.native import compiler, compiler_jobs
from cosim.engines.native.library_file import ends_early
from tests.helpers.made import chain

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="scripts of a shell"),
]
GOOD = shutil.which("tcc") or shutil.which("cc") or "cc"
TARGET = 'o=""; for k in "$@"; do [ "$p" = -o ] && o="$k"; p="$k"; done'
LINKS = 'case "$*" in *-shared*) ;; *) exec ' + GOOD + ' "$@";; esac'  # what follows acts on the library


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Make a script the compiler, with a cache of its own."""
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("cosim.engines.native.build._runtimes", {})

    def make(text, name="cc"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CC", str(path))
        return path

    return make


def diagram():
    return chain(Sine(1.0, 2.0), Integrator(0.25))


def refused(match):
    with pytest.raises(compiler.CompilerError, match=match) as caught:
        simulate(diagram(), 0.1, engine="native")
    assert len(str(caught.value)) < 6000
    assert not str(caught.value.path).endswith(".so") or not os.path.exists(str(caught.value.path))
    with pytest.warns(UserWarning, match="running with the slow reference engine"):
        assert simulate(diagram(), 0.1).settings["engine"].value == "reference"
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("act", [':> "$o"', 'echo no library > "$o"'])
def test_a_library_that_cannot_be_loaded(script, tmp_path, act):
    """It was a raw OSError, which the command took for one of standard output; and it stayed in the cache."""
    script(f"{TARGET}\n{LINKS}\n{act}")
    refused("(?s)cc made .*which cannot be used.*another compiler")


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF files")
@pytest.mark.parametrize("bytes_left", ["20", "100", "1000", "-1"])
def test_a_library_that_ends_early(script, bytes_left):
    """A full disk, and a compiler that does not look: loading it ended the process with SIGBUS."""
    script(f'{TARGET}\n{LINKS}\n{GOOD} "$@" && truncate -s {bytes_left} "$o"')
    refused("(?s)cannot link .*the library is not whole")


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF files")
@pytest.mark.parametrize("name", ["tcc", "gcc", "clang"])
def test_whole_libraries_are_taken(tmp_path, name):
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    (tmp_path / "x.c").write_text("int x; double y[1000]; int f(void) { return x; }\n")
    subprocess.run([name, "-shared", "-fPIC", "-o", "x.so", "x.c"], cwd=tmp_path, check=True)
    whole = (tmp_path / "x.so").read_bytes()
    assert not ends_early(tmp_path / "x.so")
    (tmp_path / "y.so").write_bytes(whole[:-1])
    assert ends_early(tmp_path / "y.so")


@pytest.mark.slow
def test_a_library_that_lacks_its_functions(script, tmp_path):
    (tmp_path / "x.c").write_text("int x;\n")
    script(f'{TARGET}\n{LINKS}\nexec {GOOD} -shared -fPIC -o "$o" {tmp_path}/x.c')
    refused("(?s)cc made .*which cannot be used")


@pytest.mark.slow
@pytest.mark.parametrize("act", ['mkfifo "$o"', 'mkdir "$o"', 'ln -s /dev/zero "$o"'])
@pytest.mark.parametrize(
    ("links", "says"),
    [(LINKS, "cannot link .*made no library"), ("", "failed on .*made something that is no object file")],
)
def test_what_is_no_file(script, act, links, says):
    """A pipe in place of the library was read for ever."""
    script(f"{TARGET}\n{links}\n{act}")
    refused(f"(?s){says}")


@pytest.mark.slow
def test_a_compiler_that_says_more_than_anybody_reads(script, monkeypatch):
    """Until its time was over all of it was kept in memory."""
    monkeypatch.setattr(compiler_jobs, "LIMIT", 1.0)
    script('echo "error in line 1" >&2; exec yes >&2')
    assert "did not end within 1 s" in refused("did not end within 1 s")
    script("echo 'error in line 1' >&2; head -c 20000000 /dev/zero | tr '\\0' x >&2; exit 1", "other")
    assert "error in line 1\nxxx" in refused("(?s)failed on")


def test_a_server_that_a_compiler_leaves_behind_is_not_waited_for(script, tmp_path):
    """As caches of compilers start one: it holds the streams open, and calls took the whole time limit."""
    script(f'sleep 100 & echo $! >> {tmp_path}/pids\nexec {GOOD} "$@"')
    try:
        assert simulate(diagram(), 0.1, engine="native").complete
    finally:
        for pid in (tmp_path / "pids").read_text().split():
            os.kill(int(pid), 9)


def test_who_is_ended_for_the_fault_of_another_job_says_that_fault():
    """Runtime and model are compiled side by side: the one that was given up said "ended by SIGKILL"."""
    jobs = compiler_jobs.CompilerJobs()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(jobs.run, ["sleep", "60"])
        while not jobs._running:
            time.sleep(0.01)
        assert jobs.first("it made no object file") == "it made no object file"
        jobs.end()
        assert other.result(30.0) == "it made no object file"
        assert jobs.first("another fault") == "it made no object file"


def test_a_compiler_that_a_signal_ends(script):
    script("kill -SEGV $$")
    refused("(?s)failed on .*it was ended by SIGSEGV")


@pytest.mark.slow
def test_a_path_with_blanks_and_words_of_any_length(script, monkeypatch):
    path = script(f'exec {GOOD} "$@"', "with blanks/cc")
    with pytest.raises(compiler.CompilerError, match=r"\$CC names .*which is no program"):
        simulate(diagram(), 0.1, engine="native")
    monkeypatch.setenv("CC", f"'{path}' -O1")
    assert simulate(diagram(), 0.1, engine="native").complete
    monkeypatch.setenv("CC", f"'{path}' -D{'x' * 50_000} -bogus-option")
    refused("(?s)failed on")


@pytest.mark.slow
def test_a_full_disk_is_named(script, tmp_path, monkeypatch):
    """The compiler's words say that a disk is full, not which: that of the cache, or of temporary files."""
    script("echo 'ld: final link failed: No space left on device' >&2; exit 1")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    real = shutil.disk_usage

    def full(of):
        return lambda place: real(place)._replace(free=12_345 if str(place).startswith(str(of)) else 2**40)

    monkeypatch.setattr(shutil, "disk_usage", full(tmp_path / "cache"))
    said = refused(r"No space left on device\nThe disk of \S+ is full: 12345 bytes are free")
    assert str(tmp_path / "cache") in said
    monkeypatch.setattr(shutil, "disk_usage", full(temporary))
    assert f"The disk of {temporary} is full: 12345 bytes" in refused("No space left")
    monkeypatch.setattr(shutil, "disk_usage", full("nowhere"))
    assert "is full" not in refused("(?s)No space left.*another compiler")


@pytest.mark.slow
def test_a_bad_library_is_one_line_of_the_command(script, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from cosim.cli.cli import app

    script(f'{TARGET}\n{LINKS}\n:> "$o"')
    file = tmp_path / "s.toml"
    file.write_text('[blocks.a]\ntype = "Sine"\n[blocks.i]\ntype = "Integrator"\n[wiring]\n'
                    'connect = ["a -> i"]\n[run]\nuntil = 0.1\nengine = "native"\n')  # fmt: skip
    shown = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert shown.exit_code == 1 and "standard output" not in shown.output
    assert "which cannot be used" in shown.output and isinstance(shown.exception, SystemExit)
