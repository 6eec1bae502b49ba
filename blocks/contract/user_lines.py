"""Lines of a user's own files: which one was running when something went wrong, or is warned about."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_LIBRARIES = tuple(
    f"{Path(spec.origin).parent}{os.sep}"
    for spec in map(find_spec, ("numpy", "casadi", "scipy", "pandas"))  # without loading them
    if spec is not None and spec.origin is not None
)
_ROOT = Path(__file__).parents[2]
_OURS = tuple(f"{_ROOT / package}{os.sep}" for package in ("blocks", "plant", "cosim"))
_STANDARD = f"{sysconfig.get_path('stdlib')}{os.sep}"
_INSTALLED = ("site-packages", "dist-packages")  # inside the standard library's folder, and none of it


def user_line(frames: Sequence[traceback.FrameSummary]) -> str:
    """``file:line: source`` of the innermost frame outside CasADi, NumPy, SciPy, pandas and plantloop.

    Where there is none, as in a block of the library, it is the innermost one outside CasADi and NumPy.
    """
    around = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
    own = [f for f in around if not f.filename.startswith(_OURS)]
    for frame in reversed(own or around):
        return f"{frame.filename}:{frame.lineno}: {(frame.line or '').strip()}"
    return "an unknown line"


def line_of(error: BaseException) -> str:
    """``, in file:line: source``: where a user's own code raised an error; "" where none did."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not _passed_over(f.filename)]
    return f", in {user_line(own)}" if own else ""


def line_of_caller() -> str:
    """``file:line: source`` of the innermost frame of a user's own code now."""
    return user_line([f for f in traceback.extract_stack() if not _passed_over(f.filename)])


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's own code that the present call came from.

    Frames of plantloop, NumPy, CasADi and Python's library are passed over.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _passed_over(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Show a warning once that is raised several times meanwhile with the same text."""
    show, said = warnings.showwarning, set[tuple[str, type[Warning]]]()

    def once(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if (key := (str(message), category)) not in said:
            said.add(key)
            show(message, category, *rest, **more)

    warnings.showwarning = once
    try:
        yield
    finally:
        warnings.showwarning = show


def _passed_over(file: str) -> bool:
    if file.startswith((*_LIBRARIES, *_OURS, "<")):
        return True
    return file.startswith(_STANDARD) and not any(name in file for name in _INSTALLED)
