"""The files a study is made of, as its results keep them: its own, and those that these name or import."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from blocks.errors import PlantloopError
from blocks.files import is_file, is_inside
from cosim.scenario.scenario import Scenario
from cosim.study.bases import Base
from cosim.study.study_schema import StudyTables

QUOTED = re.compile(rb"""["']([^"'<>\r\n]{1,1000})["']""")
COPIED = "The files of a study are copied when it first runs"
ELSEWHERE = "elsewhere"  # folder of the copies of files that lie nowhere beside the study


@dataclass(frozen=True)
class StudyFile:
    """A file of a study.

    stamp : its size and time [ns] when the study was read; None where it was not there
    """

    path: Path
    stamp: tuple[int, int] | None

    @staticmethod
    def of(path: Path) -> StudyFile:
        """A file as it is now."""
        return StudyFile(path, _stamp(path))

    def content(self) -> bytes:
        """Its content.

        Raises
        ------
        PlantloopError      it has gone or was changed since the study was read
        """
        try:
            found = self.path.read_bytes()
        except OSError as error:
            raise PlantloopError(
                f"cannot copy '{self.path}' into the results: {error.strerror}.",
                path=str(self.path),
                hint=f"{COPIED}: put it back, or make the Study again.",
            ) from error
        if self.stamp != _stamp(self.path):
            raise PlantloopError(
                f"'{self.path}' was changed after the study was read, which runs what it was before.",
                path=str(self.path),
                hint=f"{COPIED}: make the Study again.",
            )
        return found


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_size, known.st_mtime_ns


def files_of(scenario: Scenario, tables: StudyTables, bases: Sequence[Base]) -> dict[str, StudyFile]:
    """Files to copy into a store, the study file first, by their names there.

    They lie to each other as they do here, so that the study can be read from there, also where it names some
    outside its folder ("../plant.xml"). Those it names from the root on are read there again, their copies
    are a record.
    """
    folder = scenario.source.path.parent
    paths = [path for base in bases for path in base.files()]
    if tables.sampling is not None and tables.sampling.file:
        paths.append(folder / tables.sampling.file)
    paths = list(dict.fromkeys([*paths, *(more for path in paths for more in named_in(path))]))
    names = {path: _from(folder, path) for path in paths}
    up = max((name.parts.count("..") for name in names.values() if name is not None), default=0)
    home = Path(*folder.resolve().parts[1:][-up:]) if up else Path()
    found: dict[str, Path] = {}
    apart = []
    for path, name in names.items():
        there = "" if name is None else os.path.normpath(home / name)
        if name is None or there.split(os.sep)[0] == "..":  # there is no folder so far up
            apart.append(path)
        else:
            found[Path(there).as_posix()] = path
    for path in apart:
        hashed = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
        found[f"{ELSEWHERE}/{hashed}/{path.name}" if path.name in found else path.name] = path
    return {name: StudyFile.of(path) for name, path in found.items()}


def _from(folder: Path, path: Path) -> Path | None:
    """A path as it is written in a folder; None for one from the root on."""
    try:
        return Path(os.path.normpath(path.relative_to(folder)))
    except ValueError:
        return None


def named_in(file: Path) -> Iterator[Path]:
    """Files beside a file of a study that it names or imports, and those that Python files import."""
    if file.suffix.lower() == ".xml" and is_file(file):
        scripts = list(_named_in_model(file))
        yield from scripts
        for script in scripts:
            yield from imported_beside(script)
    yield from imported_beside(file)


def _named_in_model(file: Path) -> Iterator[Path]:
    """Files beside a model that texts in it name: scripts and libraries of user subroutines."""
    for text in dict.fromkeys(QUOTED.findall(file.read_bytes())):
        name = text.decode(errors="replace")
        if Path(name).suffix and not os.path.isabs(name):
            named = file.parent / os.path.normpath(name)
            if is_file(named) and is_inside(named, [file.parent]):
                yield named


def imported_beside(file: Path) -> list[Path]:
    """The modules in its folder that a Python file imports, and those that these import in turn."""
    if file.suffix != ".py":
        return []
    left, found = [file], dict[Path, None]()
    while left:
        one = left.pop()
        for parts in _imports(one, file.parent):
            for k in range(1, len(parts) + 1):
                place = file.parent.joinpath(*parts[:k])
                for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                    if path not in found and path != file and is_file(path):
                        found[path] = None
                        left.append(path)
    return list(found)


def _imports(file: Path, folder: Path) -> Iterator[Sequence[str]]:
    """The modules that a file may import, as names of folders in `folder`; none of a broken file."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    package = file.parent.relative_to(folder).parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) + 1 - node.level] if node.level else ()
            module = [*up, *(node.module or "").split(".")] if node.module else [*up]
            yield from ([*module, alias.name] for alias in node.names)
