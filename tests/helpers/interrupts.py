"""Ctrl-C while a run is under way, and none that arrives in another test."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c() -> Iterator[Callable[[float], None]]:
    """A function that sends this process SIGINT some seconds later; nothing is sent behind the block.

    Asked again while one is under way it sends none besides.
    """
    timers: list[threading.Timer] = []

    def later(seconds: float) -> None:
        if not any(timer.is_alive() for timer in timers):
            timers.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)))
            timers[-1].start()

    try:
        yield later
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
