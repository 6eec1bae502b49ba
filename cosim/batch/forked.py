"""Processes that are made by dividing this one (fork), and so have all of its objects as they are."""

from __future__ import annotations

import multiprocessing.context
import warnings


class ForkedProcess(multiprocessing.context.ForkProcess):
    """A process that begins as a copy of this one."""

    def start(self) -> None:
        """Begin it.

        Python 3.12 and newer warn where this process has other threads, whose locks a copy may find taken for
        ever. Those of linear algebra (OpenBLAS) look after themselves, and so do our own that compile
        (`one_maker.py`).
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            super().start()


class Forked(multiprocessing.context.ForkContext):
    """What `multiprocessing.get_context("fork")` gives, with processes of this kind."""

    Process = ForkedProcess


FORKED = Forked()
