"""Compilers under way: each has a time limit, and all of them end at once when the work is given up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import IO, TypeVar

T = TypeVar("T")
LIMIT = 300.0
"""Time [s] one call of a compiler may take, unless $PLANTLOOP_COMPILE_LIMIT says otherwise."""
LOOK = 0.1
"""Time [s] between two looks for Ctrl-C: one that another thread took, or that came just before a wait began,
does not end that wait."""

MOST = 4000
"""Characters of what a compiler says that are kept."""


def limit() -> float:
    """Time [s] one call of a compiler may take."""
    try:
        given = float(os.environ.get("PLANTLOOP_COMPILE_LIMIT", LIMIT))
    except ValueError:
        return LIMIT
    return given if given > 0 else LIMIT


class CompilerJobs:
    """Processes of one piece of work, which may run in several threads.

    slow : str      the command that took longer than the limit, if one did
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ended = False
        self.slow = ""
        self._complaint = ""  # of the first that failed: why the others were given up

    @contextlib.contextmanager
    def threads(self, count: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for the work; what ends it early, also Ctrl-C at any place of it, ends all processes."""
        with ThreadPoolExecutor(count) as pool:
            try:
                yield pool
            except BaseException:
                self.end()
                raise

    def run(self, command: Sequence[str]) -> str:
        """Run a command; its complaints if it fails, else nothing. Called in one of the threads."""
        seconds = limit()
        try:
            process = self._begin(command)
        except (OSError, ValueError) as error:
            return str(error)
        words = _Words(process)
        try:
            _ended(process, seconds)
        except subprocess.TimeoutExpired:
            self.slow = command[0]
            return self.first(
                f"it did not end within {seconds:g} s; PLANTLOOP_COMPILE_LIMIT [s] allows another time"
            )
        finally:
            _kill(process)
            self._running.discard(process)
        if process.returncode == 0:
            return ""
        return self.first(words.text() or _end_of(process.returncode))

    def first(self, complaint: str) -> str:
        """A complaint, but where the work was given up that of the job it was given up for."""
        with self._lock:
            if not self._complaint:
                self._complaint = complaint
            return self._complaint if self._ended else complaint

    def _begin(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._ended:
                raise OSError(self._complaint or "the work was given up")
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
            return process

    def end(self) -> None:
        """End all processes, and begin no others."""
        with self._lock:
            self._ended = True
            for process in list(self._running):
                _kill(process)


def result_of(future: Future[T]) -> T:
    """The result of work in another thread, waited for so that Ctrl-C ends the wait."""
    while not wait([future], timeout=LOOK).done:
        pass
    return future.result()


class _Words:
    """What a process writes, both streams, up to a limit; the rest is passed over as it comes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._texts = (bytearray(), bytearray())  # of standard error, which is of more use, and output
        streams = (process.stderr, process.stdout)
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in zip(streams, self._texts, strict=True)
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: IO[bytes], text: bytearray) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            while piece := stream.read1(65536):  # type: ignore[attr-defined]  # of a BufferedReader
                text.extend(piece[: max(0, 4 * MOST - len(text))])

    def text(self) -> str:
        """What was said; what it started and left behind may hold the streams open for ever."""
        for reader in self._readers:
            reader.join(LOOK)
        texts = [bytes(text).decode(errors="replace").strip() for text in self._texts]
        return next((text for text in texts if text), "")[:MOST]


def _ended(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for the end of a process, so that Ctrl-C ends the wait.

    Raises
    ------
    TimeoutExpired      it takes longer
    """
    latest = time.monotonic() + seconds
    while True:
        left = latest - time.monotonic()
        try:
            process.wait(timeout=max(0.0, min(left, LOOK)))
            return
        except subprocess.TimeoutExpired:
            if left <= LOOK:
                raise


def _end_of(code: int) -> str:
    """How a process ended that said nothing."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by signal {-code}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with those it started, if it has not ended."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # its own session: it leads a group
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
        process.wait(timeout=5)
