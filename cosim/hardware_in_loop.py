"""Blocks that exchange numbers with other programs while a run goes on: UDP packets and shared memory.

For hardware in the loop: `cosim run --pace 1` keeps a run in step with a clock. What is outside is no part of
a snapshot, and a run with such blocks is repeatable only as far as what is outside is.

A packet is float64 in little-endian order: the time of the tick [s], then the values. Shared memory is a file
that programs map (on Linux in /dev/shm): 8 bytes "plantlp1", then as uint64 in little-endian order how many
values there are and a counter that is odd while they are written, then as float64 the time and the values.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import socket
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.errors import BlockError
from blocks.files import is_file

__all__ = ["SharedMemoryRead", "SharedMemoryWrite", "UDPReceive", "UDPSend"]

NETWORK = "exchanges packets over the network"
MEMORY = "writes or reads a file that other programs share"
MOST_VALUES = 8000  # of a packet: UDP carries 65507 bytes
MOST_PACKETS = 10_000  # taken at a tick, should they come faster than ticks
MAGIC = b"plantlp1"
HEAD = 32  # bytes before the values: magic, how many, counter, time
TRIES = 1000  # of reading while another program writes


@dataclass(frozen=True)
class UDPSend(Block):
    """Sends its input as a packet at every tick.

    A packet is float64 in little-endian order: the time of the tick [s], then the values.

    Output: sent_k = k + 1, how many packets have been sent.  Direct feedthrough: none.

    address, port : where to; structural
    size : components of u; sample, offset : s; structural

    Use::

        from cosim.hardware_in_loop import UDPSend

        out = d.add("out", UDPSend(port=5005, size=2, sample="1/1000"))
        d.connect(controller["u"], out["u"])
    """

    reaches: ClassVar[str] = NETWORK

    port: int
    size: int = 1
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    address: str = field(default="127.0.0.1", kw_only=True)

    def __post_init__(self) -> None:
        _check_network(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        u = b.input("u", size=self.size)
        b.output("sent", b.external("sent", self._made, u, 1, self.sample, self.offset))

    def _made(self) -> _Sender:
        return _Sender(self.address, int(self.port))


@dataclass(frozen=True)
class UDPReceive(Block):
    """The values of the newest packet that has come, read at every tick.

    A packet is float64 in little-endian order: a time [s], which is not looked at, then the values.

    Outputs: y_k, the newest values, `initial` before the first packet; received_k, how many packets were
    taken; refused_k, how many were not: of another size, or with a number that is not finite.

    address, port : where to listen; structural
    size : components of y; sample, offset : s; structural
    wait : s that a tick waits at most for a packet newer than the last; 0: it never waits
    """

    reaches: ClassVar[str] = NETWORK
    alone: ClassVar[str] = "listens at a port"

    port: int
    size: int = 1
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)
    wait: float = field(default=0.0, kw_only=True)
    address: str = field(default="127.0.0.1", kw_only=True)

    def __post_init__(self) -> None:
        _check_network(self)
        _check_initial(self)
        wait = checks.numbers(self, "wait", dims=(0,))
        if wait < 0:
            raise checks.fault(self, "wait", f"is {wait:g}", "0 s or more")
        checks.assign(self, wait=float(wait))

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        _outputs(self, b, self._made, 2)

    def _made(self) -> _Receiver:
        return _Receiver(self.address, int(self.port), _initial(self), float(self.wait))


@dataclass(frozen=True)
class SharedMemoryWrite(Block):
    """Writes its input into shared memory at every tick.

    Output: written_k = k + 1, how often it has been written.  Direct feedthrough: none.

    file : such as "/dev/shm/plant"; made where it is not there, and then removed at the end; structural
    size : components of u; sample, offset : s; structural

    A file that is no shared memory of as many values is refused, not overwritten.
    """

    reaches: ClassVar[str] = MEMORY
    alone: ClassVar[str] = "writes to a place in shared memory"

    file: str
    size: int = 1
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_memory(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        u = b.input("u", size=self.size)
        b.output("written", b.external("written", self._made, u, 1, self.sample, self.offset))

    def _made(self) -> _Writer:
        return _Writer(Path(self.file), self.size)


@dataclass(frozen=True)
class SharedMemoryRead(Block):
    """The values that stand in shared memory, read at every tick.

    Outputs: y_k, `initial` as long as nothing was written; received_k, how often another program has written.

    file : such as "/dev/shm/plant"; may appear while the run goes on; structural
    size : components of y; sample, offset : s; structural
    """

    reaches: ClassVar[str] = MEMORY

    file: str
    size: int = 1
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _check_memory(self)
        _check_initial(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        _outputs(self, b, self._made, 1)

    def _made(self) -> _Reader:
        return _Reader(Path(self.file), _initial(self))


# --- shared by the blocks ---------------------------------------------------------------------------------
def _check_network(block: UDPSend | UDPReceive) -> None:
    checks.rate(block)
    size, port = checks.count(block, "size", most=MOST_VALUES), checks.count(block, "port", most=65535)
    checks.assign(block, size=size, port=port)
    if not isinstance(block.address, str) or not block.address:
        raise checks.fault(block, "address", f"is {block.address!r}", 'a name or number such as "127.0.0.1"')


def _check_memory(block: SharedMemoryWrite | SharedMemoryRead) -> None:
    checks.rate(block)
    if not isinstance(block.file, str) or not block.file or "\0" in block.file:
        raise checks.fault(block, "file", f"is {block.file!r}", 'the path of a file such as "/dev/shm/plant"')
    checks.assign(block, size=checks.count(block, "size"))


def _check_initial(block: UDPReceive | SharedMemoryRead) -> None:
    checks.assign(block, initial=checks.numbers(block, "initial"))
    if np.size(block.initial) not in (1, block.size):
        what = f"has {np.size(block.initial)} components"
        raise checks.fault(block, "initial", what, f"{block.size} as in size, or one number")


def _initial(block: UDPReceive | SharedMemoryRead) -> np.ndarray:
    return np.array(np.broadcast_to(np.ravel(np.asarray(block.initial, dtype=float)), (block.size,)))


def _outputs(block: UDPReceive | SharedMemoryRead, b: Equations, make: Any, counts: int) -> None:
    """Output y, and the counts behind it."""
    start = np.concatenate([_initial(block), np.zeros(counts)])
    nothing = np.zeros(0)
    all_ = b.external("y", make, nothing, block.size + counts, block.sample, block.offset, start)
    b.output("y", all_[: block.size])
    for k, name in enumerate(("received", "refused")[:counts]):
        b.output(name, all_[block.size + k : block.size + k + 1])


# --- what a run has of its own ----------------------------------------------------------------------------
class _Sender:
    """A socket that packets go out of."""

    def __init__(self, address: str, port: int) -> None:
        self._where = (address, port)
        self._socket = _socket(address, port, listen=False)
        self._sent = 0

    def call(self, t: float, u: np.ndarray) -> Any:
        """Send u; returns how many packets were sent."""
        try:
            self._socket.sendto(np.concatenate([[t], u]).astype("<f8").tobytes(), self._where)
        except OSError as error:
            where = f"{self._where[0]}:{self._where[1]}"
            raise BlockError(f"UDPSend: cannot send to {where} at t={t:g}: {error}.", value=where) from error
        self._sent += 1
        return [float(self._sent)]

    def save(self) -> bytes:
        """How many packets were sent."""
        return struct.pack("<q", self._sent)

    def load(self, state: bytes) -> None:
        """See `save`."""
        (self._sent,) = struct.unpack("<q", state)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class _Receiver:
    """A socket that packets come in at, and the newest values."""

    def __init__(self, address: str, port: int, initial: np.ndarray, wait: float) -> None:
        self._socket = _socket(address, port, listen=True)
        self._values, self._wait = initial, wait
        self._received = self._refused = 0

    def call(self, t: float, u: np.ndarray) -> Any:
        """Take what has come; returns the newest values and both counts."""
        before, end = self._received, time.monotonic() + self._wait
        self._take()
        while self._received == before and (left := end - time.monotonic()) > 0:
            select.select([self._socket], [], [], left)
            self._take()
        return [*self._values, float(self._received), float(self._refused)]

    def _take(self) -> None:
        for _ in range(MOST_PACKETS):
            try:
                packet = self._socket.recv(65536)
            except (BlockingIOError, ConnectionError):
                return
            if len(packet) == 8 * (1 + len(self._values)):
                values = np.frombuffer(packet, "<f8")[1:].astype(float)
                if np.isfinite(values).all():
                    self._values = values
                    self._received += 1
                    continue
            self._refused += 1

    def save(self) -> bytes:
        """Newest values and counts."""
        return struct.pack("<2q", self._received, self._refused) + self._values.tobytes()

    def load(self, state: bytes) -> None:
        """See `save`."""
        self._received, self._refused = struct.unpack("<2q", state[:16])
        self._values = np.frombuffer(state[16:]).copy()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _socket(address: str, port: int, listen: bool) -> socket.socket:
    """A socket for packets.

    Raises
    ------
    BlockError     no such address, or another program listens there
    """
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0][0]
        made = socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        raise BlockError(f"no address '{address}' for packets: {error}.", value=address) from error
    try:
        if listen:
            made.setblocking(False)
            made.bind((address, port))
    except OSError as error:
        made.close()
        raise BlockError(
            f"UDPReceive: cannot listen at {address}:{port}: {error.strerror or error}.",
            value=port,
            hint="Another program, or another run, may listen there; choose another port. "
            "Runs of a study that listen go one after the other: workers=1.",
        ) from error
    return made


class _Mapped:
    """Shared memory as arrays."""

    def __init__(self, path: Path, size: int) -> None:
        with path.open("r+b") as file:
            content = file.read(HEAD + 8 * size + 1)
            if len(content) != HEAD + 8 * size or content[:8] != MAGIC or content[8:16] != _number(size):
                raise BlockError(
                    f"'{path}' is there and is no shared memory of {size} values.",
                    value=str(path),
                    hint="Name another file, or give both sides the same size.",
                )
            self._map = mmap.mmap(file.fileno(), len(content))
        whole = np.frombuffer(self._map, "<f8", offset=24)
        self.counter: Any = np.frombuffer(self._map, "<u8", 1, offset=16)
        self.time, self.values = whole[:1], whole[1:]

    def close(self) -> None:
        """Give the memory back."""
        del self.counter, self.time, self.values
        with contextlib.suppress(BufferError):  # something still looks at it: it goes with that
            self._map.close()


def _number(size: int) -> bytes:
    return struct.pack("<Q", size)


class _Writer:
    """The side that writes."""

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._own = path, not path.exists()
        if self._own:
            aside = path.with_name(f".{path.name}.{os.getpid()}")
            try:
                aside.write_bytes(MAGIC + _number(size) + bytes(HEAD - 16 + 8 * size))
                os.replace(aside, path)  # appears whole
            except OSError as error:
                raise BlockError(
                    f"SharedMemoryWrite: cannot make '{path}': {error.strerror or error}.", value=str(path)
                ) from error
        elif not is_file(path):
            raise BlockError(f"SharedMemoryWrite: '{path}' is no file.", value=str(path))
        self._memory = _Mapped(path, size)
        self._written = 0

    def call(self, t: float, u: np.ndarray) -> Any:
        """Write u; returns how often that was done."""
        memory = self._memory
        count = int(memory.counter[0]) // 2 * 2
        memory.counter[0] = count + 1
        memory.time[0] = t
        memory.values[:] = u
        memory.counter[0] = count + 2
        self._written += 1
        return [float(self._written)]

    def save(self) -> bytes:
        """How often it was written."""
        return struct.pack("<q", self._written)

    def load(self, state: bytes) -> None:
        """See `save`."""
        (self._written,) = struct.unpack("<q", state)

    def close(self) -> None:
        """Give the memory back; remove the file if it was made here."""
        self._memory.close()
        if self._own:
            self._path.unlink(missing_ok=True)


class _Reader:
    """The side that reads."""

    def __init__(self, path: Path, initial: np.ndarray) -> None:
        self._path, self._values, self._received = path, initial, 0
        self._memory: _Mapped | None = None

    def call(self, t: float, u: np.ndarray) -> Any:
        """The values that stand there, and how often there were new ones."""
        if self._memory is None and is_file(self._path):
            self._memory = _Mapped(self._path, len(self._values))
        if self._memory is not None:
            for _ in range(TRIES):
                before = int(self._memory.counter[0])
                values = self._memory.values.copy()
                if before % 2 == 0 and int(self._memory.counter[0]) == before:
                    if before and np.isfinite(values).all():
                        self._values, self._received = values, before // 2
                    break
        return [*self._values, float(self._received)]

    def save(self) -> bytes:
        """Newest values and their count."""
        return struct.pack("<q", self._received) + self._values.tobytes()

    def load(self, state: bytes) -> None:
        """See `save`."""
        (self._received,) = struct.unpack("<q", state[:8])
        self._values = np.frombuffer(state[8:]).copy()

    def close(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self._memory.close()
