"""Binaries of an exported model: one library per platform, by the compiler of this machine or by ziglang.

Object files are kept in the cache of compiled code, found by the text they were made of: the fixed part is
compiled once per platform, equations when they change; only the data is compiled each time.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blocks.errors import PlantloopError, near_miss
from cosim.engines.codegen.model_c import CFile
from cosim.engines.native import cache
from cosim.engines.native.compiler import Compiler, CompilerError, find
from cosim.engines.native.compiler_jobs import result_of
from cosim.fmi.export.sources import headers
from cosim.names import listed


@dataclass(frozen=True)
class Platform:
    """A platform.

    folder_2, folder_3 : in `binaries` of FMI 2 and FMI 3; suffix : of a library there
    target : what ziglang calls it
    """

    folder_2: str
    folder_3: str
    suffix: str
    target: str


PLATFORMS = {
    p.folder_3: p
    for p in (
        Platform("linux64", "x86_64-linux", ".so", "x86_64-linux-gnu.2.17"),
        Platform("aarch64-linux", "aarch64-linux", ".so", "aarch64-linux-gnu.2.17"),
        Platform("win64", "x86_64-windows", ".dll", "x86_64-windows-gnu"),
        Platform("darwin64", "x86_64-darwin", ".dylib", "x86_64-macos"),
        Platform("aarch64-darwin", "aarch64-darwin", ".dylib", "aarch64-macos"),
    )
}
ALIASES = {p.folder_2: p.folder_3 for p in PLATFORMS.values()}
SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}
MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def host() -> str:
    """This machine's platform, by its folder in FMI 3."""
    system = SYSTEMS.get(sys.platform, sys.platform)
    machine = MACHINES.get(platform.machine().lower(), platform.machine().lower())
    return f"{machine}-{system}"


def chosen(platforms: Sequence[str] | None) -> list[str]:
    """Platforms by their folders in FMI 3, each once; this machine's for None.

    Raises
    ------
    PlantloopError      no such platform, with a near miss
    """
    if platforms is None:
        return [host()]
    found = []
    for name in listed(platforms, "platforms"):
        full = ALIASES.get(name, name)
        if full not in PLATFORMS:
            known = [*ALIASES, *(p for p in PLATFORMS if p not in ALIASES)]
            raise PlantloopError(f"no platform {name!r}; {near_miss(name, known)}", value=name)
        found.append(full)
    return list(dict.fromkeys(found))


def compiler_for(name: str) -> Compiler:
    """The compiler of this machine for itself, ziglang for every other platform.

    Raises
    ------
    CompilerError      there is none
    """
    if name == host():
        own = find()
        extra = ["-DPL_INSIDE"] if sys.platform == "darwin" else ["-DPL_INSIDE", "-s"]
        return Compiler((*own.command, *extra), own.identity)
    zig = importlib.util.find_spec("ziglang")
    if zig is None or zig.origin is None:
        raise CompilerError(
            f"no compiler for {name}: other platforms than this machine's are compiled by ziglang.",
            hint="`pip install plantloop[cc]`, or leave the platform out: the sources are in the FMU.",
        )
    words = (sys.executable, "-m", "ziglang", "cc", "-target", PLATFORMS[name].target)
    stat = os.stat(zig.origin)
    identity = hashlib.sha256(repr((words, stat.st_size, stat.st_mtime_ns)).encode()).hexdigest()
    return Compiler((*words, "-DPL_INSIDE", "-fno-sanitize=undefined", "-s"), identity)


def binary(name: str, groups: Sequence[Sequence[CFile]], library: str) -> bytes:
    """The library of some groups of C files on a platform; each group is compiled once and kept.

    library : its name without suffix, which on some systems is in the file as well

    Raises
    ------
    CompilerError, CacheError      no compiler, it failed, or there is no room for what it made
    """
    compiler = compiler_for(name)
    with tempfile.TemporaryDirectory(prefix="plantloop-") as place:
        folder = Path(place)
        with compiler.jobs.threads(len(groups)) as pool:
            running = [pool.submit(_objects, compiler, group) for group in groups]
            archives = [result_of(one) for one in running]
        objects = [
            folder / f"{k}-{name}" for k, names in enumerate(archives) for name in _unpack(names, folder, k)
        ]
        target = folder / f"{library}{PLATFORMS[name].suffix}"
        compiler.link(objects, target)
        return target.read_bytes()


def _unpack(archive: Path, folder: Path, number: int) -> list[str]:
    """Object files of a group into a folder, each beginning with the group's number."""
    with zipfile.ZipFile(archive) as found:
        for name in found.namelist():
            (folder / f"{number}-{name}").write_bytes(found.read(name))
        return found.namelist()


def _objects(compiler: Compiler, files: Sequence[CFile]) -> Path:
    """The object files of some C files as an archive in the cache."""
    digest = hashlib.sha256(repr((compiler.command, compiler.identity)).encode())
    for name, text in sorted(headers().items()):
        digest.update(f"{name} {len(text)}\n{text}".encode())
    for f in files:
        digest.update(f"{f.name} {f.level} {len(f.text)}\n{f.text}".encode())

    def build(place: Path) -> dict[str, Any]:
        for name, text in headers().items():
            (place / name).write_text(text)
        sources = sorted(files, key=lambda f: -len(f.text))  # the longest first
        for f in sources:
            (place / f.name).write_text(f.text)
        made = compiler.compile(
            [place / f.name for f in sources], [f.level for f in sources], place, place.parent / cache.FAILED
        )
        with zipfile.ZipFile(place / cache.LIBRARY, "w") as archive:
            for path in made:
                archive.write(path, path.name)
        return {}

    return cache.get(f"objects-{digest.hexdigest()[:40]}", build).library
