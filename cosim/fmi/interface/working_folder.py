"""The working folder of the process, which some FMUs change when they begin and end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def same_folder() -> Iterator[None]:
    """While an FMU is called that may change the working folder: relative names mean the same afterwards."""
    try:
        before = os.getcwd()
    except OSError:  # it has been deleted
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if _now() != before:
                os.chdir(before)


def _now() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
