"""From a system to compiled code in this process, through the cache on disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as once
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.contract.derived import Derived
from cosim.engines.codegen.host_functions import host_functions, numbers_called
from cosim.engines.codegen.number_tables import NumberTables
from cosim.engines.codegen.system_functions import whole
from cosim.engines.methods import through_solutions
from cosim.engines.methods.stiff import linearised
from cosim.engines.native import bindings, cache
from cosim.engines.native.compiler import Compiler, CompilerError, find
from cosim.engines.native.compiler_jobs import result_of
from cosim.engines.native.host_calls import HostFunction, described
from cosim.engines.native.number_files import numbers_apart
from cosim.engines.native.tables import tables_of
from cosim.system import System
from cosim.version import __version__

if TYPE_CHECKING:  # the printer is imported where the cache does not have the code: it takes 20 ms
    from cosim.engines.codegen.model_c import CFile

ENGINES = Path(__file__).parents[1]
RUNTIME = ENGINES / "native" / "runtime"
# all that decides what code looks like
GENERATOR = (
    ENGINES.parent / "compile",  # writes how crossings move, beside the equations that are hashed themselves
    ENGINES / "codegen",
    ENGINES / "methods",
    ENGINES / "native",
)
# over all crossings or states, several at once
LOOPS = (
    "crossing_search.c",
    "crossings.c",
    "explicit.c",
)


def runtime_file(path: Path) -> CFile:
    """A C file of fixed text, and how much to optimise it."""
    from cosim.engines.codegen.model_c import CFile

    return CFile(path.name, path.read_text(), "-O3" if path.name in LOOPS else "-O2")


@dataclass(frozen=True)
class RowOfSignals:
    """What the runtime has to know to write some signals side by side.

    width : how many numbers; n_pieces : of the signals that are evaluated for them; n_inner : numbers of x, h
        and p
    pointers : to the places of the numbers, to the pieces in order, and to the places of the inner numbers
    """

    width: int
    n_pieces: int
    n_inner: int
    pointers: tuple[Any, Any, Any]


class Compiled:
    """A system as machine code, with the tables the runtime reads. Shared by all its runs, never changed."""

    def __init__(self, system: System) -> None:
        began = time.perf_counter()
        compiler = find()
        tables = NumberTables([whole(system)[1]])
        self.runtime, entry = _both(system, compiler, tables)
        with _usable(compiler, entry):
            self._library = bindings.library(entry.library)
            self.model = known = self._library.pl_get_model()
        if not bindings.fits(known, len(system.x0), len(system.p0)):
            raise CompilerError(
                f"{entry.library} is not the code of '{system.name}'.", hint="Clear the cache."
            )
        self._needs: list[list[int]] = entry.note["needs"]
        self._piece_of = {place: k for k, places in enumerate(entry.note["outputs"]) for place in places}
        self.places: dict[str, np.ndarray] = {}
        start = 0
        for name, signal in system.signals.items():
            self.places[name] = np.arange(start, start + signal.size, dtype=np.int32)
            start += signal.size
        self.first_inner = start  # x, h and p stand behind the signals
        for slots, size in (
            (system.states, len(system.x0)),
            (system.held, len(system.h0)),
            (system.parameters, 0),
        ):
            for name, slot in slots.items():
                if name in system.inner:
                    self.places[name] = (start + slot.index).astype(np.int32)
            start += size
        self.host_functions: Sequence[HostFunction] = ()
        if system.calls:
            self.host_functions = described(_hosted(system)[0], system.calls)
        self.numbers = bindings.Pointers(tables.numbers)
        self.tables, self._kept = tables_of(system)
        self.workspace = self.runtime.pl_workspace_size(known, self.tables) // 8 + 2  # doubles
        self._rows = Derived()
        self.seconds = time.perf_counter() - began

    def row(self, names: tuple[str, ...]) -> RowOfSignals:
        """A row of some signals, each by its name; found once."""
        return self._rows.get(names, lambda: self._row(names))

    def _row(self, names: tuple[str, ...]) -> RowOfSignals:
        places = np.concatenate([np.zeros(0, np.int32), *(self.places[n] for n in names)])
        pieces, inner = self.pieces(places), places[places >= self.first_inner]
        pointers = bindings.pointer(places), bindings.pointer(pieces), bindings.pointer(inner)
        return RowOfSignals(len(places), len(pieces), len(inner), pointers)

    def pieces(self, places: np.ndarray) -> np.ndarray:
        """Pieces of the signals that must be evaluated for these places, in order."""
        wanted: set[int] = set()
        todo = {self._piece_of[int(k)] for k in places if k < self.first_inner}
        while todo:
            piece = todo.pop()
            wanted.add(piece)
            todo |= set(self._needs[piece]) - wanted
        return np.array(sorted(wanted), dtype=np.int32)


def _both(system: System, compiler: Compiler, tables: NumberTables) -> tuple[bindings.Library, cache.Entry]:
    """The runtime and the code of a system; where the runtime has to be compiled that is done beside."""

    def code() -> cache.Entry:
        key = _key(system, compiler, tables)
        return cache.get(key, lambda place: _build(system, compiler, tables, place))

    key = _runtime_key(compiler)
    if key in _runtimes or cache.find(key) is not None:
        return _runtime(compiler), code()
    with compiler.jobs.threads(1) as aside:
        runtime = aside.submit(_runtime, compiler)
        entry = code()
        return result_of(runtime), entry


def compiled(system: System) -> Compiled:
    """Machine code of a system, made once and kept with it.

    Raises
    ------
    CompilerError, CacheError      no compiler, it failed, or there is no room for what it made
    """
    return system.derived.get("compiled", lambda: Compiled(system))


class CompiledJacobian:
    """The linearised derivative of a system as machine code, with the tables that go with it."""

    def __init__(self, system: System) -> None:
        compiler = find()
        function = whole(system)[1]
        tables, more = NumberTables([function]), through_solutions.equations(system)
        if tables.numbers:  # which numbers derivatives have besides is not known before they are there
            more = [linearised(system)[0], *more]
            tables = NumberTables([function, more[0]])
        key = _key(system, compiler, tables, more) + "-jacobian"
        entry = cache.get(key, partial(_build_jacobian, system, compiler, tables))
        with _usable(compiler, entry):
            self._library = bindings.library(entry.library)
            self.code = known = self._library.pl_get_jacobian()
        if not bindings.fits(known, len(system.x0), len(system.p0)):
            raise CompilerError(
                f"{entry.library} is not the Jacobian of '{system.name}'.", hint="Clear the cache."
            )
        self.numbers = bindings.Pointers(tables.numbers)
        lists = {n: v for n, v in entry.note.items() if n != "sparse"}
        self.tables = {n: np.array(v, dtype=np.int32) for n, v in lists.items()}
        self.sparse = bool(entry.note["sparse"])
        self.host_functions: Sequence[HostFunction] = ()
        if system.calls:
            functions = host_functions([whole(system)[1], linearised(system)[0]])
            self.host_functions = described(functions, system.calls)


def compiled_jacobian(system: System) -> CompiledJacobian:
    """Machine code of a system's Jacobian, made when a stiff integrator first asks and kept with the system.

    Raises
    ------
    CompilerError, CacheError      no compiler, it failed, or there is no room for what it made
    """
    return system.derived.get("compiled jacobian", lambda: CompiledJacobian(system))


def _build_jacobian(system: System, compiler: Compiler, tables: NumberTables, place: Path) -> dict[str, Any]:
    from cosim.engines.codegen.model_c import generate_jacobian

    function, plan = linearised(system)
    _compile(compiler, generate_jacobian(system, function, tables), place)
    return plan.note()


def _key(
    system: System,
    compiler: Compiler,
    tables: NumberTables | None = None,
    more: Sequence[ca.Function] = (),
) -> str:
    """Everything that decides the code of a system and of further functions, except the numbers of tables."""
    digest = hashlib.sha256()
    for text in (__version__, ca.CasadiMeta.version(), compiler.identity, fingerprint(*GENERATOR)):
        digest.update(text.encode() + b"\n")
    names, function = whole(system)
    digest.update(repr(names).encode())
    tables = tables or NumberTables([function])
    for part in (part for f in (function, *more) for part in tables.identity(f)):
        digest.update(part)
    if system.calls:
        digest.update(repr(_hosted(system)[1]).encode())
    return digest.hexdigest()[:40]


def _hosted(system: System) -> tuple[list[ca.Function], list[list[int]]]:
    """What the code of a system asks the host for, and the numbers of what it calls."""

    def found() -> tuple[list[ca.Function], list[list[int]]]:
        function = whole(system)[1]
        host = host_functions([function])
        return host, numbers_called([function], host)

    return system.derived.get("hosted", found)


@once
def fingerprint(*folders: Path) -> str:
    """Hash of all sources in some folders and below, whatever they are called."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".c", ".h")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _build(system: System, compiler: Compiler, tables: NumberTables, place: Path) -> dict[str, Any]:
    from cosim.engines.codegen.model_c import generate

    generated = generate(system, tables=tables)
    _compile(compiler, generated.sources, place)
    return generated.note


def _compile(compiler: Compiler, sources: list[CFile], place: Path) -> None:
    """One library of C files."""
    for source in sources:
        (place / source.name).write_text(numbers_apart(source.name, source.text, place))
    # the longest first, so that no processor waits for it at the end
    sources = sorted(sources, key=lambda s: -len(s.text))
    files, levels = [place / s.name for s in sources], [s.level for s in sources]
    objects = compiler.compile(files, levels, RUNTIME, place.parent / cache.FAILED)
    compiler.link(objects, place / cache.LIBRARY)


_runtimes: dict[str, bindings.Library] = {}


def _runtime_key(compiler: Compiler) -> str:
    text = compiler.identity + fingerprint(RUNTIME) + repr(LOOPS)
    return "runtime-" + hashlib.sha256(text.encode()).hexdigest()[:32]


def _runtime(compiler: Compiler) -> bindings.Library:
    """The runtime's library, compiled once per machine."""
    key = _runtime_key(compiler)
    if key not in _runtimes:

        def build(place: Path) -> dict[str, Any]:
            _compile(compiler, [runtime_file(path) for path in sorted(RUNTIME.glob("*.c"))], place)
            return {"interface": bindings.described()}

        entry = cache.get(key, build)
        bindings.remember(entry.note["interface"])
        with _usable(compiler, entry):
            _runtimes.setdefault(key, bindings.runtime(entry.library))
    return _runtimes[key]


@contextmanager
def _usable(compiler: Compiler, entry: cache.Entry) -> Iterator[None]:
    """Use a library for the first time; one that a compiler made wrongly leaves the cache.

    Raises
    ------
    CompilerError      it cannot be loaded, or lacks what it should have
    """
    try:
        yield
    except (OSError, AttributeError, bindings.ffi().error) as error:  # the last: a function is missing
        cache.drop(entry)
        raise compiler.unusable(entry.library, error) from error
