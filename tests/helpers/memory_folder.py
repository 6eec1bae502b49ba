"""Where files of tests lie: in memory, where the system has a folder there.

Tests make and remove a hundred thousand small files, none of which lasts. On a disk that takes a
fifth of the processor time of tests of FMUs and studies, and the disk is waited for besides.
"""

from __future__ import annotations

import os
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # of Linux
WANTED = 2 * 1024**3  # bytes free; a whole run needs a part of it


def memory_folder() -> Path | None:
    """The folder, or None where there is none, it is small, or compiled code may not be run from it."""
    if not (SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK | os.X_OK)):
        return None
    system = os.statvfs(SHARED_MEMORY)
    small = system.f_bavail * system.f_frsize < WANTED
    return None if small or system.f_flag & os.ST_NOEXEC else SHARED_MEMORY
