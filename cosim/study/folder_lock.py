"""A lock that allows one run of a study at a time in a folder of results.

The folder itself is locked, which leaves no file behind, and the system lets go of a lock when the process
that holds it ends, however it ends: none is ever stale. Where folders cannot be locked (Windows, object
stores, some network file systems) nothing guards them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from blocks.errors import PlantloopError
from cosim.study.folder import Folder, cannot_write

LONGEST_WAIT = 3.0  # s; workers of a killed run keep its lock until they have noticed
RETRY = 0.05  # s between two tries


@contextlib.contextmanager
def alone_in(url: str) -> Iterator[None]:
    """Keep other runs from writing to this folder; it is made if missing, and removed if it stays empty.

    Raises
    ------
    PlantloopError     another run is at work in it, or it cannot be made
    """
    if Folder(url).remote or os.name != "posix":
        yield
        return
    place, fresh = _locked(url)
    try:
        yield
    finally:
        if fresh:
            Folder(url).remove_if_empty()
        _lock(place, False)  # also for processes forked meanwhile, which share the lock
        os.close(place)


def _locked(url: str) -> tuple[int, bool]:
    """Open and lock the folder; returns its descriptor, and whether the folder was made by this call."""
    end, fresh = time.monotonic() + LONGEST_WAIT, False
    while True:
        try:
            Path(url).parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                Path(url).mkdir()
                fresh = True
            place = os.open(url, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError as error:  # removed by another run since it was found or made
            if time.monotonic() > end:
                raise cannot_write(url, error) from error
            time.sleep(RETRY)
            continue
        except OSError as error:
            raise cannot_write(url, error) from error
        if _lock(place, True) and _still_there(url, place):
            return place, fresh
        os.close(place)
        if time.monotonic() > end:
            raise PlantloopError(
                f"another run of a study is writing to '{url}'.",
                path=url,
                hint="Wait until it is done and go on with --resume (resume=True), or give another folder.",
            )
        time.sleep(RETRY)


def _lock(place: int, wanted: bool) -> bool:
    """Lock, or unlock; False if another run holds the lock. A folder that cannot be locked counts as ours."""
    import fcntl

    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB if wanted else fcntl.LOCK_UN)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _still_there(url: str, place: int) -> bool:
    """Whether the path still leads to this folder, not to a new one made after it was removed."""
    try:
        return os.path.samestat(os.fstat(place), os.stat(url))
    except OSError:
        return False
