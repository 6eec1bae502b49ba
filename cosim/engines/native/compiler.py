"""Find a C compiler and run it on several files at once."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from blocks.errors import PlantloopError, shown
from blocks.files import is_no_file
from cosim.engines.native.compiler_jobs import CompilerJobs, result_of
from cosim.engines.native.library_file import ends_early

CANDIDATES = ("cc", "gcc", "clang")
# No contraction and no reassociation: both engines give the same bits. pow stays a call of the library, as
# in CasADi's virtual machine; errno is not read by anyone.
FLAGS = (
    "-std=c99",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-builtin-pow",
    "-fvisibility=hidden",
)
HOW_TO_GET_ONE = (
    "Install gcc or clang, or `pip install plantloop[cc]`, or set $CC, for the fast native engine."
)


ANOTHER = "Use engine='reference', or another compiler in $CC."
LONGEST = 300  # characters of a command in a message
ROOM = 2**20  # bytes: with less, a disk is called full


class CompilerError(PlantloopError):
    """No C compiler, or it failed."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler as a command.

    command : words it is called with; identity : changes when the compiler does
    jobs : CompilerJobs     its processes under way
    """

    command: tuple[str, ...]
    identity: str
    jobs: CompilerJobs = field(default_factory=CompilerJobs, compare=False)

    def compile(
        self, sources: Sequence[Path], optimise: Sequence[str], headers: Path, aside: Path
    ) -> list[Path]:
        """Object files of C files, compiled side by side; ``headers`` is the folder with what they include.

        Raises
        ------
        CompilerError     it failed; the file it failed on is kept in the folder ``aside``
        """
        self.refuse_hung()  # it may have hung in another thread since it was found
        objects = [s.with_suffix(".o") for s in sources]
        jobs = [
            (*self.command, *FLAGS, *self._level(level), f"-I{headers}", "-c", str(source), "-o", str(target))
            for source, level, target in zip(sources, optimise, objects, strict=True)
        ]
        with self.jobs.threads(_processors()) as pool:
            running = [pool.submit(self.jobs.run, job) for job in jobs]
            for source, one in zip(sources, running, strict=True):
                error, made = result_of(one), source.with_suffix(".o")
                if not error and is_no_file(made):  # none at all is for the linker to miss
                    error = self.jobs.first(
                        "it ended without a complaint, but made something that is no object file"
                    )
                if error:
                    raise self._failed(source, error, headers, aside)
        return objects

    def refuse_hung(self) -> None:
        """Raise if it ran into the time limit before: nobody waits for it twice."""
        if self.identity in _hung:
            raise CompilerError(
                f"the C compiler {self._name} hung before in this process: {_hung[self.identity]}.",
                hint=ANOTHER,
            )

    def _level(self, level: str) -> list[str]:
        """How much to optimise: what $CC says, else what a file asks for."""
        return [] if any(word.startswith("-O") for word in self.command) else [level]

    def _failed(self, source: Path, error: str, headers: Path, aside: Path) -> CompilerError:
        if self.jobs.slow:
            _hung[self.identity] = error
        kept = _keep(source, headers, aside)
        return CompilerError(
            f"the C compiler {self._name} failed on {kept}:\n{error}\n",
            path=str(kept),
            hint=full_disk(source.parent) or ANOTHER,
        )

    def link(self, objects: Sequence[Path], library: Path) -> None:
        """One shared library of object files."""
        command = (*self.command, "-shared", "-o", str(library), *map(str, objects), "-lm")
        with self.jobs.threads(1) as pool:
            error = result_of(pool.submit(self.jobs.run, command))
        if self.jobs.slow:
            _hung[self.identity] = error
        if error := error or _fault(library):
            raise CompilerError(
                f"the C compiler {self._name} cannot link {library}:\n{error}\n",
                hint=full_disk(library.parent) or ANOTHER,
            )

    def unusable(self, library: Path, why: Exception) -> CompilerError:
        """The error for a library it made that this process cannot use."""
        return CompilerError(
            f"the C compiler {self._name} made {library}, which cannot be used: {shown(str(why), 500)}.",
            path=str(library),
            hint=ANOTHER,
        )

    @property
    def _name(self) -> str:
        command = " ".join(self.command)
        return command if len(command) <= LONGEST else f"{command[:LONGEST]}..."


def find() -> Compiler:
    """The compiler in $CC, else cc, gcc, clang, else the one of the Python package ziglang.

    Raises
    ------
    CompilerError     none of them is there
    """
    found = _found()
    found.refuse_hung()
    return found


_hung: dict[str, str] = {}
"""Compilers that ran into the time limit in this process, and what was said: nobody waits for them twice."""


def _found() -> Compiler:
    wanted = os.environ.get("CC", "").strip()
    if wanted:
        try:
            words = shlex.split(wanted)
        except ValueError:  # a quote that is not closed
            words = []
        path = shutil.which(words[0]) if words and words[0] else None
        if path is None:
            raise CompilerError(
                f"$CC names {shown(wanted)}, which is no program on this machine.",
                hint="Name one that is, or unset $CC: cc, gcc and clang are then looked for.",
            )
        return Compiler((path, *words[1:]), _identity(path, *words[1:]))
    for name in CANDIDATES:
        path = shutil.which(name)
        if path is not None:
            return Compiler((path,), _identity(path))
    zig = importlib.util.find_spec("ziglang")
    if zig is not None and zig.origin is not None:
        return Compiler((sys.executable, "-m", "ziglang", "cc"), _identity(zig.origin))
    raise CompilerError("no C compiler found ($CC, cc, gcc, clang, ziglang).", hint=HOW_TO_GET_ONE)


def _identity(path: str, *words: str) -> str:
    """Fingerprint of a compiler without starting it: its file, its words, the flags."""
    real = Path(path).resolve()
    found = real.stat()
    text = repr((str(real), found.st_size, found.st_mtime_ns, words, FLAGS))
    return hashlib.sha256(text.encode()).hexdigest()


def _fault(library: Path) -> str:
    """What to say of a library that a compiler should have made, "" where it is sound."""
    if library.is_symlink() or not library.is_file():
        return "it ended without a complaint, but made no library"
    return "it ended without a complaint, but the library is not whole" if ends_early(library) else ""


def full_disk(folder: Path) -> str:
    """Which disk is full: that of a folder, or the one compilers write temporary files to; "" for none."""
    for place in (folder, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(place).free
            if free < ROOM:
                return f"The disk of {place} is full: {free} bytes are free. Free some space there."
    return ""


def _keep(source: Path, headers: Path, aside: Path) -> Path:
    """Copy a C file and the headers to where they stay; the file itself if there is no room."""
    try:
        aside.mkdir(exist_ok=True)
        for path in (source, *headers.glob("*.h")):
            shutil.copyfile(path, aside / path.name)
    except OSError:
        return source
    return aside / source.name


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
