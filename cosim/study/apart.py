"""Work in a process of its own, whose end, whatever that is, harms no other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from blocks.errors import PlantloopError
from cosim.batch.forked import FORKED


def in_own_process(work: Callable[[], Any]) -> tuple[Any, str]:
    """What `work` returns, or None and a text about how its process ended.

    Raises
    ------
    PlantloopError     what `work` raises
    """
    here, there = FORKED.Pipe(duplex=False)
    process = FORKED.Process(target=_send, args=(work, there))
    process.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = None
    except BaseException:
        process.kill()
        raise
    finally:
        process.join()
        here.close()
    if isinstance(found, PlantloopError):
        raise found
    return found, f"the run ended its process (exit code {process.exitcode})"


def _send(work: Callable[[], Any], there: Any) -> None:
    """The main function of such a process."""
    end_with_parent()
    try:
        there.send(work())
    except PlantloopError as error:
        there.send(error)


def end_with_parent() -> None:
    """Have this process end with its parent, which alone hears Ctrl-C, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
