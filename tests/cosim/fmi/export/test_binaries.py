"""Platforms by their names, the compiler of each, and libraries of C files that are compiled once."""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import re
import sys
from types import SimpleNamespace

import pytest

from blocks.errors import PlantloopError
from cosim.engines.codegen.model_c import CFile
from cosim.engines.native.compiler import Compiler, CompilerError, find
from cosim.fmi.export import binaries
from tests.helpers.fmus import needs_compiler

ALL = ["x86_64-linux", "aarch64-linux", "x86_64-windows", "x86_64-darwin", "aarch64-darwin"]


@pytest.mark.parametrize(
    ("system", "machine", "found"),
    [
        ("linux", "x86_64", "x86_64-linux"),
        ("linux", "aarch64", "aarch64-linux"),
        ("win32", "AMD64", "x86_64-windows"),
        ("darwin", "arm64", "aarch64-darwin"),
        ("darwin", "x86_64", "x86_64-darwin"),
        ("freebsd14", "RISCV64", "riscv64-freebsd14"),
    ],
)
def test_this_machine_by_what_python_says(system, machine, found, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert binaries.host() == found and binaries.chosen(None) == [found]
    assert (found in binaries.PLATFORMS) is ("bsd" not in found)


def test_platforms_are_known_by_both_names_and_taken_once():
    assert list(binaries.PLATFORMS) == ALL
    for asked, found in (
        (["linux64"], ["x86_64-linux"]),
        ("win64", ["x86_64-windows"]),
        (["darwin64", "x86_64-darwin", "linux64", "x86_64-linux"], ["x86_64-darwin", "x86_64-linux"]),
        (["aarch64-darwin", "aarch64-linux"], ["aarch64-darwin", "aarch64-linux"]),
        ([], []),
        (ALL, ALL),
    ):
        assert binaries.chosen(asked) == found
    with pytest.raises(PlantloopError) as told:
        binaries.chosen(["linux64", "win46"])
    assert "no platform 'win46'; did you mean 'win64'" in str(told.value) and told.value.value == "win46"
    with pytest.raises(PlantloopError) as told:
        binaries.chosen(["vax"])
    names = re.findall(r"'([^']+)'|\b([a-z0-9_]+(?:-[a-z]+)?)\b", str(told.value))
    assert {"linux64", "win64", "darwin64", *ALL} <= {a or b for a, b in names}


def test_each_platform_has_a_suffix_and_a_name_of_the_other_compiler():
    found = {p.folder_3: (p.folder_2, p.suffix, p.target.split("-")[:2]) for p in binaries.PLATFORMS.values()}
    assert found == {
        "x86_64-linux": ("linux64", ".so", ["x86_64", "linux"]),
        "aarch64-linux": ("aarch64-linux", ".so", ["aarch64", "linux"]),
        "x86_64-windows": ("win64", ".dll", ["x86_64", "windows"]),
        "x86_64-darwin": ("darwin64", ".dylib", ["x86_64", "macos"]),
        "aarch64-darwin": ("aarch64-darwin", ".dylib", ["aarch64", "macos"]),
    }


def other():
    return next(name for name in ALL if name != binaries.host())


@needs_compiler
def test_this_machine_is_compiled_for_by_its_own_compiler(monkeypatch):
    own, found = find(), binaries.compiler_for(binaries.host())
    assert found.command == (*own.command, "-DPL_INSIDE", "-s") and found.identity == own.identity
    monkeypatch.setattr(binaries, "host", lambda: "aarch64-darwin")
    monkeypatch.setattr(sys, "platform", "darwin")  # its linker says that -s is obsolete
    assert binaries.compiler_for("aarch64-darwin").command == (*own.command, "-DPL_INSIDE")


@pytest.mark.parametrize("spec", [None, SimpleNamespace(origin=None)])
def test_other_platforms_need_ziglang(spec, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(CompilerError, match=f"no compiler for {other()}") as told:
        binaries.compiler_for(other())
    assert "plantloop[cc]" in told.value.hint


def test_ziglang_is_told_the_platform_and_known_by_its_file(tmp_path, monkeypatch):
    file = tmp_path / "__init__.py"
    file.write_text("one")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: SimpleNamespace(origin=str(file)))
    found = binaries.compiler_for(other())
    target = binaries.PLATFORMS[other()].target
    words = (sys.executable, "-m", "ziglang", "cc", "-target", target)
    assert found.command == (*words, "-DPL_INSIDE", "-fno-sanitize=undefined", "-s")
    assert found == binaries.compiler_for(other())
    file.write_text("another")
    assert found.identity != binaries.compiler_for(other()).identity
    third = next(name for name in ALL if name not in (other(), binaries.host()))
    assert binaries.compiler_for(third).identity != binaries.compiler_for(other()).identity


def library(folder, groups):
    """What a library of these groups returns, by its functions' names."""
    content = binaries.binary(binaries.host(), groups, "numbers")
    file = folder / f"numbers{len(list(folder.iterdir()))}.so"
    file.write_bytes(content)
    loaded = ctypes.CDLL(str(file))
    return lambda name: getattr(loaded, name)()


def numbered(name, value, level="-O0", file="part.c"):
    return CFile(file, f"int {name}(void) {{ return {value}; }}\n", level)


@pytest.fixture
def nothing_compiled(tmp_path_factory, monkeypatch):
    """A cache of the test's own, in which nothing is."""
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    monkeypatch.setenv("PLANTLOOP_CACHE", str(folder))


@needs_compiler
def test_groups_are_compiled_once_and_linked_whole(nothing_compiled, tmp_path, monkeypatch):
    """Files of the same name in two groups do not overwrite each other; what changes is compiled anew."""
    compiled = []
    made = Compiler.compile

    def noted(self, files, levels, *rest):
        compiled.append(sorted((f.name, level) for f, level in zip(files, levels, strict=True)))
        return made(self, files, levels, *rest)

    monkeypatch.setattr(Compiler, "compile", noted)
    long = CFile("long.c", "/* " + "x" * 100 + " */ int third(void) { return 3; }\n", "-O1")
    groups = [[numbered("first", 1), long], [numbered("second", 2)]]
    found = library(tmp_path, groups)
    assert [found(name) for name in ("first", "second", "third")] == [1, 2, 3]
    assert sorted(compiled) == [[("long.c", "-O1"), ("part.c", "-O0")], [("part.c", "-O0")]]
    library(tmp_path, groups)
    assert len(compiled) == 2
    for changed in (numbered("second", 4), numbered("second", 2, "-O1"), numbered("second", 2, file="p.c")):
        found = library(tmp_path, [groups[0], [changed]])
        assert found("second") == (4 if "4" in changed.text else 2) and found("third") == 3
    assert len(compiled) == 5


@needs_compiler
def test_headers_lie_beside_the_files(nothing_compiled, tmp_path):
    """Those of the runtime and of units, whose macro says that this is inside."""
    text = '#include "unit.h"\n#ifdef PL_INSIDE\nint inside(void) { return UNIT_ZERO; }\n#endif\n'
    assert library(tmp_path, [[CFile("inside.c", text, "-O0")]])("inside") == 9
