"""Standard output and error as a command finds them: closed, full, or a pipe that nobody reads any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


@contextmanager
def standard_streams() -> Iterator[None]:
    """A context for a command: what it prints is left out where a stream is closed.

    Where standard output cannot be written to, the command ends with one line on standard error and exit
    code 1; without that line where its reader has gone, as in ``cosim info x.toml | head``.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere())
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:  # of a file, not of a stream
            raise
        sys.stdout = _nowhere()  # the interpreter's end writes what is left
        if not isinstance(error, BrokenPipeError):
            with suppress(OSError):
                print(f"cannot write to standard output: {error.strerror or error}.", file=sys.stderr)
        sys.exit(1)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")
