"""The process of an isolated FMU: it answers requests of `isolated.py` until the other end is closed.

A request is a fixed header (operation, number, two floats); numbers of vectors are in shared memory. CALL
is followed by a pickle that names a method of `Component`.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cosim.fmi.interface.binding import remember
from cosim.fmi.interface.component import Component, SavedState

REQUEST = struct.Struct("<BIdd")
REPLY = struct.Struct("<BIdBBBB")  # failed?, length of what follows, time, and flags of a step
CALL, READ, WRITE, STEP, SET_TIME, SET_STATES, VECTOR = range(7)
VECTORS = ("states", "derivatives", "indicators", "nominals")
SHARED = 2**20  # bytes of numbers; larger requests go through pickles
MEMORY = 2 * 2**30  # bytes of memory for an FMU


@dataclass(frozen=True)
class Elsewhere:
    """The folder of an FMU that another process has unpacked and will remove."""

    folder: Path
    binary: Path
    loaded: dict[str, Any] = field(default_factory=dict)

    def library(self, identifier: str) -> Path:
        """The binary."""
        return self.binary


class Host:
    """Serves one component."""

    def __init__(self, connection: socket.socket, shared: mmap.mmap, log: int) -> None:
        self._connection = connection
        self._numbers = np.frombuffer(shared, dtype=float)
        self._log = log
        self._ports: list[Any] = []  # getters and setters by number
        self._states: dict[int, SavedState] = {}
        self.component: Component | None = None
        self._stepping: Callable[[float, float], int] | None = None

    def serve(self) -> None:
        """Answer until the other end is closed, in the midst of a call too."""
        with contextlib.suppress(ConnectionError):
            self._answer()

    def _answer(self) -> None:
        while header := self._received(REQUEST.size):
            operation, number, a, b = REQUEST.unpack(header)
            payload, time = b"", 0.0
            flags: tuple[int, ...] = (0, 0, 0, 0)
            try:
                if operation == CALL:
                    method, given = pickle.loads(self._received(number))  # from our own parent only
                    payload = pickle.dumps(self._call(method, given), protocol=5)
                else:
                    time, flags = self._fast(operation, number, a, b)
            except Exception as error:
                payload = pickle.dumps(_told(error), protocol=5)
                self._connection.sendall(REPLY.pack(1, len(payload), 0.0, 0, 0, 0, 0) + payload)
                continue
            self._connection.sendall(REPLY.pack(0, len(payload), time, *flags) + payload)

    def _received(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            part = self._connection.recv(size - len(parts))
            if not part:
                return b""
            parts += part
        return parts

    def _fast(self, operation: int, number: int, a: float, b: float) -> tuple[float, tuple[int, ...]]:
        c = self.component
        assert c is not None  # opened by the first call
        if operation == STEP:  # the most frequent requests
            return self._step(c, a, b, bool(number))
        if operation == READ:
            found = self._ports[number].read()
            self._numbers[: len(found)] = found
        elif operation == WRITE:
            setter = self._ports[number]
            setter.write(self._numbers[: setter.size].copy())
        elif operation == SET_TIME:
            c.set_time(a)
        elif operation == SET_STATES:
            c.set_states(self._numbers[:number].copy())
        else:
            size = int(a)
            self._numbers[:size] = getattr(c, VECTORS[number])(self._numbers[:size].copy())
        return 0.0, (0, 0, 0, 0)

    def _step(self, c: Component, t: float, h: float, no_way_back: bool) -> tuple[float, tuple[int, ...]]:
        """Step; returns the time reached, and flags."""
        if no_way_back:
            outcome = c.step(t, h, True)
        else:
            if self._stepping is None:
                self._stepping = c.stepping()
            status = self._stepping(t, h)
            if status == 0:
                c.call.time = t + h
                return t + h, (0, 0, 0, 0)
            outcome = c.stepped(t, h, status)
        flags = (outcome.terminate, outcome.event, outcome.early, outcome.discarded)
        return outcome.time, tuple(int(flag) for flag in flags)

    def _call(self, method: str, given: tuple[Any, ...]) -> Any:
        if method == "open":
            declared, description, interface, folder, binary, name, event_mode = given
            remember(declared)
            self.component = made = Component(
                description, interface, Elsewhere(folder, binary), name, event_mode
            )
            made.log.tee = self._tell
            for line in made.log.lines:
                self._tell(line)
            return None
        c = self.component
        assert c is not None  # opened by the first call
        if method in ("getter", "setter"):
            self._ports.append(getattr(c, method)(*given))
            return len(self._ports) - 1, self._ports[-1].size
        if method == "read":
            return self._ports[given[0]].read()
        if method == "write":
            return self._ports[given[0]].write(given[1])
        if method == "save":
            key = max(self._states, default=0) + 1
            self._states[key] = c.save()
            return key
        if method == "load":
            return c.load(self._states[given[0]])
        if method == "free":
            return self._states.pop(given[0]).close()
        *inside, name = method.split(".")
        for attribute in inside:
            c = getattr(c, attribute)
        return getattr(c, name)(*given)

    def _tell(self, line: str) -> None:
        """Send a log line at once, so that it survives a crash; it is lost if nobody reads."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._log, line.replace("\n", " ").encode("utf-8", "replace")[:2000] + b"\n")


def _told(error: Exception) -> tuple[str, str, Any, Any, Any]:
    """An error as data from which the other process makes an equal one."""
    value = getattr(error, "value", None)
    plain = value if isinstance(value, (int, float, str, type(None))) else None
    return type(error).__name__, str(error), getattr(error, "port", None), getattr(error, "time", None), plain


def limit_memory() -> None:
    """Limit memory to `MEMORY` beyond the present use of the process."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * mmap.PAGESIZE + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):  # not on this system
        return


def main() -> None:
    """Serve on the descriptors given as arguments: a socket, shared memory, a pipe for the log."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection, memory, log = (int(word) for word in sys.argv[1:4])
    os.set_blocking(log, False)
    shared = mmap.mmap(memory, SHARED)
    limit_memory()
    Host(socket.socket(fileno=connection), shared, log).serve()


if __name__ == "__main__":
    main()
