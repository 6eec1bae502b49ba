"""The working folder of the process, which some FMUs change when they begin and end."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator


class _WorkingFolder:
    """The working folder before the first of the calls that are under way, which may be several in threads.

    It is one for the whole process: a call that begins while another has moved it must not take that for the
    folder to go back to.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls, self._before = 0, ""

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """See `same_folder`."""
        with self._lock:
            if not self._calls:
                self._before = _now()
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if self._before and _now() != self._before:
                    with contextlib.suppress(OSError):
                        os.chdir(self._before)


_of_process = _WorkingFolder()


def same_folder() -> contextlib.AbstractContextManager[None]:
    """While an FMU is called that may change the working folder: relative names mean the same afterwards."""
    return _of_process.kept()


def _now() -> str:
    """The working folder; "" where it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""
