"""The working folder of the process, which some FMUs change when they begin and end."""

from __future__ import annotations

import contextlib
import os
import threading


class _OfThread(threading.local):
    """How many calls are under way in this thread, one inside the other."""

    depth = 0


class _WorkingFolder:
    """The working folder before the first of the calls that are under way, which may be several in threads.

    It is one for the whole process: a call that begins while another has moved it must not take that for the
    folder to go back to. Of calls one inside the other only the outermost looks.
    """

    def __init__(self) -> None:
        self._lock, self._mine = threading.Lock(), _OfThread()
        self._threads, self._before = 0, ""

    def __enter__(self) -> None:
        self._mine.depth += 1
        if self._mine.depth > 1:
            return
        with self._lock:
            if not self._threads:
                self._before = _now()
            self._threads += 1

    def __exit__(self, *problem: object) -> None:
        self._mine.depth -= 1
        if self._mine.depth:
            return
        with self._lock:
            self._threads -= 1
            if self._before and _now() != self._before:
                with contextlib.suppress(OSError):
                    os.chdir(self._before)


_of_process = _WorkingFolder()


def same_folder() -> contextlib.AbstractContextManager[None]:
    """While an FMU is called that may change the working folder: relative names mean the same afterwards."""
    return _of_process


def _now() -> str:
    """The working folder; "" where it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""
