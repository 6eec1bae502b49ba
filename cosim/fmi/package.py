"""An FMU file: its contents, safe unpacking, and the library of this platform.

Nothing of the file is trusted: names that lead out of the folder, links, encrypted entries and archives that
unpack to absurd sizes are refused before anything is written.
"""

from __future__ import annotations

import contextlib
import platform
import shutil
import stat
import sys
import tempfile
import warnings
import weakref
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from blocks.files import is_file, is_folder
from cosim.fmi.fmi_errors import FMUError

MOST_ENTRIES = 100_000
MOST_BYTES = 4 * 2**30  # limit of the unpacked size of all entries
MOST_XML = 512 * 2**20
LONGEST_NAME, LONGEST_PART = 3000, 255  # letters of an entry's name: a path has 4095 bytes at most
DESCRIPTION, RESOURCES = "modelDescription.xml", "resources"
FOR_READERS = ("documentation/", "sources/")  # nothing that runs reads them

MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "i386": "x86", "i686": "x86", "x86": "x86"}
SYSTEMS = {"linux": ("linux", ".so"), "win32": ("windows", ".dll"), "darwin": ("darwin", ".dylib")}
OLD_NAMES = {
    "x86_64-linux": "linux64", "x86-linux": "linux32", "x86_64-windows": "win64", "x86-windows": "win32",
    "x86_64-darwin": "darwin64",
}  # fmt: skip


class Package:
    """An FMU file that was opened: every entry has been checked, nothing is unpacked yet.

    Parameters
    ----------
    path : file

    Raises
    ------
    FMUError      no such file, no zip archive, unsafe or absurdly large entries, no modelDescription.xml
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as archive:
            self._entries, self._folders = _checked(path, archive)
            if DESCRIPTION not in self._entries:
                raise self._fault(_no_description(self._entries))
            if self._entries[DESCRIPTION].file_size > MOST_XML:
                raise self._fault(f"{DESCRIPTION} is larger than {MOST_XML >> 20} MB")
            self.xml = self._read(archive, DESCRIPTION)

    @property
    def names(self) -> list[str]:
        """Names of all files in it."""
        return list(self._entries)

    @property
    def platforms(self) -> list[str]:
        """Folders with binaries, such as "linux64"."""
        found = (PurePosixPath(name).parts for name in self._entries)
        return sorted({parts[1] for parts in found if len(parts) > 2 and parts[0] == "binaries"})

    def library(self, identifier: str) -> str:
        """Name of the entry that is the binary of this platform.

        Raises
        ------
        FMUError      there is none; the message lists the platforms there are
        """
        folders, suffix = here()
        for folder in folders:
            name = f"binaries/{folder}/{identifier}{suffix}"
            if name in self._entries:
                return name
        there = [n for n in self._entries if n.startswith(tuple(f"binaries/{f}/" for f in folders))]
        if there:
            hint = f"Its modelIdentifier should be the name of one of these: {', '.join(there)}."
            raise self._fault(f"no binary '{identifier}{suffix}' for {folders[0]}", hint)
        has = f"it has binaries for {', '.join(self.platforms)}" if self.platforms else "it has no binaries"
        sources = any(n.startswith("sources/") for n in self._entries)
        hint = "Ask its maker for one for this platform."
        if sources:
            hint = "It has sources: compile them for this platform, for instance with `fmpy compile`."
        raise self._fault(f"no binary for this platform ({' or '.join(folders)}); {has}", hint)

    def unpacked(self) -> Unpacked:
        """The unpacked FMU in a folder of its own, which is removed when nothing uses it any more."""
        return Unpacked(self)

    def extract(self, folder: Path) -> None:
        """Write what runs below a folder; sizes are counted while writing, not taken from the archive.

        Sources and documentation stay in the archive: they are most of the files, and making a file is what
        takes the time. Empty folders are made too, and `resources` in any case: some FMUs refuse to start
        without it.
        """
        left = MOST_BYTES
        for name in sorted({RESOURCES, *self._folders} - self._entries.keys()):
            with self._damage(), self._room(folder):
                folder.joinpath(*name.split("/")).mkdir(parents=True, exist_ok=True)
        with self._opened() as archive:
            for name, entry in self._entries.items():
                if name.startswith(FOR_READERS):
                    continue
                target = folder.joinpath(*PurePosixPath(name).parts)
                with self._damage(), self._room(folder):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(entry) as source, open(target, "wb") as file:
                        while chunk := source.read(2**20):
                            left -= len(chunk)
                            if left < 0:
                                raise self._fault(f"it unpacks to more than {MOST_BYTES >> 30} GB")
                            file.write(chunk)

    def _read(self, archive: zipfile.ZipFile, name: str) -> bytes:
        with self._damage(), archive.open(self._entries[name]) as file:
            return file.read(MOST_XML + 1)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        if not is_file(self.path):
            what = "a folder" if is_folder(self.path) else "not there"
            raise FMUError(f"FMU '{self.path}' is {what}.", path=str(self.path), hint="Give an .fmu file.")
        with self._damage():
            archive = zipfile.ZipFile(self.path)
        with archive:
            yield archive

    @contextlib.contextmanager
    def _room(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.no_room(folder, error) from error

    def no_room(self, folder: Path, error: OSError) -> FMUError:
        """The error for a folder that it cannot be unpacked to."""
        what = f"it cannot be unpacked to '{folder}': {error.strerror or error}"
        return self._fault(what, "Make room, or name another folder for temporary files in $TMPDIR.")

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError) as error:
            raise self._fault(f"no FMU, or a damaged one: {error}", "It should be a zip archive.") from error
        except Exception as error:
            if isinstance(error, FMUError):
                raise
            raise self._fault(f"a damaged entry: {error}") from error

    def _fault(self, what: str, hint: str | None = None) -> FMUError:
        return FMUError(f"FMU '{self.path}': {what}.", path=str(self.path), hint=hint)


class Unpacked:
    """The folder of an FMU, removed with this object, and at the end of the process.

    loaded : binaries of it that stay loaded until then, by their names without ending
    """

    def __init__(self, package: Package) -> None:
        self.package, self._libraries = package, dict[str, Path]()
        self.loaded = dict[str, Any]()
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="fmu-")).resolve()
        except OSError as error:
            raise package.no_room(Path(tempfile.gettempdir()), error) from error
        self._remove = weakref.finalize(self, _removed, self.folder, self.loaded)
        try:
            package.extract(self.folder)
        except BaseException:
            self.close()
            raise

    def library(self, identifier: str) -> Path:
        """The binary of this platform."""
        if identifier not in self._libraries:
            self._libraries[identifier] = self.folder / self.package.library(identifier)
        return self._libraries[identifier]

    def close(self) -> None:
        """Remove the folder now."""
        self._remove()


def _removed(folder: Path, loaded: dict[str, Any]) -> None:
    loaded.clear()  # some systems remove no file that is in use
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        warnings.warn(f"the folder {folder} of an unpacked FMU could not be removed.", stacklevel=2)


def here() -> tuple[list[str], str]:
    """Folders in `binaries` that may fit this process, the likeliest first, and the suffix of libraries."""
    machine = platform.machine().lower()
    machine = MACHINES.get(machine, machine)
    if sys.maxsize < 2**32 and machine == "x86_64":
        machine = "x86"
    system, suffix = SYSTEMS.get(sys.platform, (sys.platform, ".so"))
    new = f"{machine}-{system}"
    found = [new] + ([OLD_NAMES[new]] if new in OLD_NAMES else [])
    return found if new != "aarch64-darwin" else [new, "darwin64"], suffix


def _checked(path: Path, archive: zipfile.ZipFile) -> tuple[dict[str, zipfile.ZipInfo], set[str]]:
    """The files of an archive by name, checked, and the names of its entries that are folders."""

    def fault(what: str) -> FMUError:
        return FMUError(f"FMU '{path}': {what}.", path=str(path), hint="Do not use it: no tool writes this.")

    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise fault(f"{len(infos)} entries, more than {MOST_ENTRIES}")
    if sum(i.file_size for i in infos) > MOST_BYTES:
        raise fault(f"it unpacks to more than {MOST_BYTES >> 30} GB")
    found: dict[str, zipfile.ZipInfo] = {}
    empty: set[str] = set()
    for info in infos:
        name = info.filename.replace("\\", "/")
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or ":" in name.split("/")[0] or "\0" in info.orig_filename:
            raise fault(f"the entry '{info.filename}' leads out of the folder it is unpacked to")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise fault(f"the entry '{info.filename}' is a link")
        if info.flag_bits & 1:
            raise fault(f"the entry '{info.filename}' is encrypted")
        clean = "/".join(parts)
        if name.endswith("/") and not clean:
            continue  # the folder of all of them
        if clean in found:
            raise fault(f"the entry '{info.filename}' is there twice")
        if not clean or len(name) > LONGEST_NAME or max(map(len, parts)) > LONGEST_PART:
            raise fault(f"the entry '{name[:60]}' has a name that no file can have")
        if name.endswith("/"):
            empty.add(clean)
        else:
            found[clean] = info
    every = {*found, *empty}
    folders = {"/".join(parts[:k]) for n in every for parts in [n.split("/")] for k in range(1, len(parts))}
    if both := sorted((folders | empty) & found.keys()):
        raise fault(f"the entry '{both[0]}' is a file, and a folder of other entries")
    return found, empty


def _no_description(entries: dict[str, zipfile.ZipInfo]) -> str:
    inside = [name for name in entries if name.endswith("/" + DESCRIPTION)]
    if inside:
        return f"no {DESCRIPTION} at the top; there is '{inside[0]}', so a folder was packed too much"
    return f"no {DESCRIPTION} in it"
