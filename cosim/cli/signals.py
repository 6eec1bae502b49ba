"""Signals that end a program: they act like Ctrl-C on the command line, but not while a file is written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = ("SIGTERM", "SIGHUP")
"""Signals that ask a program to end, where the system has them: of `kill`, of a terminal that is closed."""


def ending_signals() -> list[int]:
    """Numbers of the signals that ask a program to end."""
    return [getattr(signal, name) for name in ENDING if hasattr(signal, name)]


@contextmanager
def ending_signals_interrupt() -> Iterator[None]:
    """A context in which signals that end a program interrupt it: a run stops and writes its results.

    A signal that is ignored, as by ``nohup``, stays ignored.
    """
    before: dict[int, Any] = {}
    for number in ending_signals():
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if callable(signal.getsignal(signal.SIGINT)):  # the present handler of Ctrl-C acts
        signal.raise_signal(signal.SIGINT)
    else:  # it is ignored, as in the background of a script
        raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A context for writing a file, in which signals wait; the first of them acts at the end.

    In another thread than the first nothing waits, because no signal acts there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, *ending_signals()]
    came: list[int] = []
    before = {n: signal.signal(n, lambda number, _: came.append(number)) for n in numbers
              if signal.getsignal(n) not in (signal.SIG_IGN, None)}  # fmt: skip
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
