"""How much machine code is optimised: what `$CC` says, else what each file asks for."""

import os
import sys

import pytest

from cosim.engines.native.compiler import _processors, find
from cosim.engines.native.compiler_jobs import CompilerJobs


@pytest.mark.parametrize(("words", "seen"), [("", ["-O2", "-O3"]), (" -g -O1", ["-O1", "-O1"])])
def test_a_level_in_CC_is_the_level_of_all_files(monkeypatch, tmp_path, words, seen):
    script = tmp_path / "logged-cc"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path / "lines"}\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", f"{script}{words}")
    files = [tmp_path / "slow.c", tmp_path / "fast.c"]
    for file, level in zip(files, ("-O2", "-O3"), strict=True):
        find().compile([file], [level], tmp_path, tmp_path)
    lines = (tmp_path / "lines").read_text().splitlines()
    assert [word for line in lines for word in line.split() if word.startswith("-O")] == seen


def test_a_compiler_has_a_session_of_its_own():
    """Ctrl-C in a terminal ends it by the runtime's own hand, with all it started."""
    asked = "import os, sys; sys.exit('alone' if os.getsid(0) == os.getpid() else 'with others')"
    assert CompilerJobs().run([sys.executable, "-c", asked]) == "alone"


def test_processors_where_the_system_does_not_say_which_are_ours(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for known, used in ((4, 4), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert _processors() == used
