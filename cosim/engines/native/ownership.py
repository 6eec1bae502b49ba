"""Who could have written a file that is about to be loaded as machine code: nobody but this user may."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

WRITABLE_BY_OTHERS = 0o022


def fault_of_folder(place: Path) -> str:
    """Why others could put files into a folder, "" if they cannot; links to it are followed."""
    return _fault(os.stat(place), stat.S_ISDIR, "it is no folder")


def fault_of_entry(place: Path, *names: str) -> str:
    """Why others could have written a folder or its files, "" if they cannot; a link is no folder or file.

    Raises
    ------
    OSError     something is not there
    """
    fault = _fault(os.lstat(place), stat.S_ISDIR, "it is no folder")
    for name in names:
        fault = fault or _fault(os.lstat(place / name), stat.S_ISREG, f"{name} is no file")
    return fault


def make_private(folder: Path) -> None:
    """A folder of this user alone, whatever the umask says; those above it are made as usual.

    Raises
    ------
    OSError     it cannot be made
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise


def close_to_others(folder: Path, *names: str) -> None:
    """Take the rights of others to write a folder and its files away, which a umask may have given."""
    os.chmod(folder, 0o700)
    for name in names:
        os.chmod(folder / name, 0o600)


def _fault(found: os.stat_result, is_kind: Callable[[int], bool], otherwise: str) -> str:
    if not is_kind(found.st_mode):
        return otherwise
    if not hasattr(os, "geteuid"):  # Windows: the profile of a user is closed to others
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, and you are user {os.geteuid()}"
    if stat.S_IMODE(found.st_mode) & WRITABLE_BY_OTHERS:
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):o})"
    return ""
