"""Compiled libraries kept on disk: found by the hash of all that went into them.

An entry is a folder named by its key with the library and ``entry.json``, which holds the library's checksum
and what the builder noted. Entries are made in a folder of their own and renamed into place, so processes
never see half of one; whoever comes second takes the first one's. A damaged entry is made anew, and one that
another user could have written is not taken: a checksum beside a library says nothing about who wrote both.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from cosim.engines.native.one_maker import OneMaker
from cosim.engines.native.ownership import close_to_others, fault_of_entry, fault_of_folder, make_private

LIMIT = 512 * 2**20  # bytes; beyond, the entries not used for longest go
LOOK = 2 * 2**20  # bytes; about so many are added until somebody looks through the whole folder
LEFTOVER = 24 * 3600  # s; unfinished folders of processes that were killed go after this time
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY, NOTE = f"library{SUFFIX}", "entry.json"
MAKING = "making-"  # what folders that are not finished begin with
FAILED = "failed-compilation"  # the folder with the C file a compiler failed on last


class CacheError(PlantloopError):
    """Compiled code cannot be stored."""


@dataclass(frozen=True)
class Entry:
    """A compiled library and what its builder noted about it."""

    library: Path
    note: dict[str, Any]


def folder() -> Path:
    """Where entries are kept: $PLANTLOOP_CACHE, or a folder "plantloop" where the system keeps caches.

    Raises
    ------
    CacheError      this system does not say where, as without a home
    """
    chosen = os.environ.get("PLANTLOOP_CACHE")
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        usual = Path(platformdirs.user_cache_dir("plantloop", appauthor=False))
        if usual.is_absolute():  # "~/.cache" where there is no home
            return usual
        raise RuntimeError("this user has no home")
    except (RuntimeError, KeyError, OSError) as error:
        raise CacheError(
            f"there is no place for compiled code: {error}.", hint="Name a folder in $PLANTLOOP_CACHE."
        ) from error


def find(key: str) -> Entry | None:
    """The entry of a key, if there is a sound one."""
    return _read(_home() / key)


def get(key: str, build: Callable[[Path], dict[str, Any]]) -> Entry:
    """The entry of a key; ``build(folder)`` makes the library ``folder/LIBRARY`` and returns a note.

    Where the cache cannot be written the library is built in a temporary folder of this process. Of several
    threads that want an entry at once one makes it; of several processes each does, and the first's stays.

    Raises
    ------
    CacheError      there is no room on disk for it
    """
    home = _home()
    found = _read(home / key)
    if found is not None:
        with contextlib.suppress(OSError):
            os.utime(home / key / NOTE)  # last use
        return found
    with _makers.alone(key):
        return _made(_writable(home), key, build)


_makers = OneMaker()


def _made(home: Path, key: str, build: Callable[[Path], dict[str, Any]]) -> Entry:
    """The entry of a key in a folder that can be written, unless another thread or process has made it."""
    found = _read(home / key)
    if found is not None:
        return found
    making = home / f"{MAKING}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        make_private(making)
        note = build(making)
        library = making / LIBRARY
        for other in making.iterdir():
            if other.name != LIBRARY and other.suffix != ".c":
                other.unlink()
        files = sorted(other.name for other in making.iterdir())
        entry = {"checksum": _checksum(library), "files": files, "note": note}
        (making / NOTE).write_text(json.dumps(entry))
        close_to_others(making, LIBRARY, NOTE)
        return _publish(making, home / key)
    except OSError as error:
        shutil.rmtree(making, ignore_errors=True)
        why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error)
        raise CacheError(
            f"compiled code cannot be stored in {home}: {why}.",
            path=str(home),
            hint="Free some space, or choose another folder in $PLANTLOOP_CACHE.",
        ) from error
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise


def _publish(making: Path, place: Path) -> Entry:
    """Rename a finished folder into place; a sound one that is there already wins, a damaged one goes."""
    for _ in range(3):
        try:
            os.rename(making, place)
            break
        except OSError:
            found = _read(place)
            if found is not None:
                shutil.rmtree(making, ignore_errors=True)
                return found
            old = place.with_name(f"{MAKING}old-{secrets.token_hex(4)}")
            with contextlib.suppress(OSError):
                os.rename(place, old)
            _remove(old)
    else:
        place = making  # somebody keeps a damaged entry there: use our own for this process
    if _shall_look(place):
        _bound(place)
    found = _read(place)
    if found is None:
        raise OSError(errno.EIO, f"{place} cannot be read back")
    return found


def _read(place: Path) -> Entry | None:
    """An entry, None where there is none, it is damaged, or another user could have written it."""
    try:
        if fault_of_entry(place, LIBRARY, NOTE):
            return None
        entry = json.loads((place / NOTE).read_text())
        if entry["checksum"] != _checksum(place / LIBRARY):
            return None
        return Entry(place / LIBRARY, dict(entry["note"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_temporary: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def _home() -> Path:
    """The cache folder if nobody else can write to it, or a private temporary one, after a warning."""
    try:
        home = folder()
        fault = fault_of_folder(home) if home.exists() else ""
        if fault.startswith("others") and _all_ours(home):
            close_to_others(home)
            fault = fault_of_folder(home)
    except CacheError as error:
        return _instead(str(error).removesuffix("Name a folder in $PLANTLOOP_CACHE.").rstrip(" ."))
    except OSError as error:
        return _instead(f"the cache folder cannot be looked at ({error.strerror or error})")
    return _instead(f"the cache folder {home} is not used: {fault}") if fault else home


def _all_ours(home: Path) -> bool:
    """Is everything in a folder of the cache's making? Then its mode may be changed."""
    names = [place.name for place in home.iterdir() if not (place / NOTE).is_file()]
    return all(name.startswith(MAKING) or name == FAILED for name in names)


def _instead(why: str) -> Path:
    """A temporary folder of this process in the place of the cache folder."""
    if not _temporary:
        warn_user(
            f"{why}; compiled code is kept for this process only. Choose another folder in $PLANTLOOP_CACHE."
        )
        try:
            _temporary.append(tempfile.TemporaryDirectory(prefix="plantloop-"))  # of mode 0700
        except OSError as error:
            raise CacheError(f"{why}, and there is no temporary folder: {error}.") from error
    return Path(_temporary[0].name)


def _writable(home: Path) -> Path:
    """The folder, or a temporary one if it cannot be written."""
    try:
        make_private(home)
        probe = home / f"{MAKING}probe-{os.getpid()}-{secrets.token_hex(4)}"
        probe.mkdir()
        probe.rmdir()
        return home
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise CacheError(
                f"compiled code cannot be stored in {home}: the disk is full.",
                path=str(home),
                hint="Free some space, or choose another folder in $PLANTLOOP_CACHE.",
            ) from error
        return _instead(f"the cache folder {home} cannot be written ({error.strerror})")


# --- size -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Content:
    """The contents of the cache."""

    folder: Path
    entries: int
    size: int  # bytes


def info() -> Content:
    """Number and size of the entries."""
    found = _entries()
    return Content(folder(), len(found), sum(size for _, size, _ in found))


def clear() -> Content:
    """Remove all entries, and nothing that is not the cache's; returns what there was."""
    before = info()
    for place, _, _ in _entries():
        _remove(place)
    with contextlib.suppress(OSError):
        for place in (*folder().glob(f"{MAKING}*"), folder() / FAILED):
            _remove(place)
    return before


def drop(entry: Entry) -> None:
    """Remove an entry that turned out to be of no use."""
    _remove(entry.library.parent)


def _entries() -> list[tuple[Path, int, float]]:
    """(folder, bytes, last use) of all entries; nothing else in the folder is ours."""
    found = []
    with contextlib.suppress(OSError):
        for place in folder().iterdir():
            with contextlib.suppress(OSError):
                if place.is_symlink() or not place.is_dir():
                    continue
                used = (place / NOTE).lstat().st_mtime
                found.append((place, _size(place), used))
    return found


def _shall_look(entry: Path) -> bool:
    """Shall whoever added an entry look through the whole folder, which takes as long as there are entries?

    After a large entry always, after small ones about once in LOOK bytes: the key, a hash, is as good as a
    random number, and processes have nothing to agree on.
    """
    return zlib.crc32(entry.name.encode()) / 2**32 < _size(entry) / LOOK


def _size(entry: Path) -> int:
    """Bytes of the files of an entry."""
    with os.scandir(entry) as files:
        return sum(file.stat(follow_symlinks=False).st_size for file in files)


def _bound(keep: Path) -> None:
    """Remove what was not used for longest, and what killed processes left behind."""
    entries = sorted(_entries(), key=lambda e: e[2])
    total = sum(size for _, size, _ in entries)
    for place, size, _ in entries:
        if total <= LIMIT:
            break
        if place != keep:
            _remove(place)
            total -= size
    with contextlib.suppress(OSError):
        for place in folder().glob(f"{MAKING}*"):
            with contextlib.suppress(OSError):
                if time.time() - place.stat().st_mtime > LEFTOVER:
                    _remove(place)


def _remove(place: Path) -> None:
    """Remove a folder of ours: only files an entry consists of, never what somebody else put there.

    A finished entry lists them; of one that was not finished, and of what a compiler failed on, their names
    decide. Links are not followed.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        if place.is_symlink() or not place.is_dir():
            return
        if (place / NOTE).is_file() and not place.name.startswith(MAKING):
            listed = {NOTE, *json.loads((place / NOTE).read_text()).get("files", [LIBRARY])}
            own = [f for f in place.iterdir() if f.name in listed]
        else:
            own = [f for f in place.iterdir() if f.suffix in (".c", ".o", ".h", ".bin", SUFFIX, ".json")]
        for f in own:
            f.unlink()
        place.rmdir()
