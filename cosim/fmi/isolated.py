"""An FMU in a process of its own: if it crashes, hangs or exhausts memory, the host gets one error.

`IsolatedComponent` has the methods of a `Component`; each is a message to `isolated_host.py` and back.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.binding import described
from cosim.fmi.interface.log_lines import KEPT
from cosim.fmi.interface.outcomes import ClockInterval, DiscreteStates, StepOutcome
from cosim.fmi.isolated_host import (
    CALL,
    READ,
    REPLY,
    REQUEST,
    SET_STATES,
    SET_TIME,
    SHARED,
    STEP,
    VECTOR,
    VECTORS,
    WRITE,
)
from cosim.fmi.package import Unpacked

QUIET = (0, 0, 0, 0)  # flags of a step that needs no further action
START_UP = 60.0  # s to start; importing takes one or two


class RemoteLog:
    """The newest log lines of an isolated FMU: they come through a pipe, so that none is lost in a crash."""

    def __init__(self, name: str, descriptor: int) -> None:
        self.name, self._descriptor = name, descriptor
        self.lines: deque[str] = deque(maxlen=KEPT)
        self._rest = b""

    def shown(self, most: int = 5) -> str:
        """The last lines for a message, or that there are none."""
        with contextlib.suppress(OSError):
            while chunk := os.read(self._descriptor, 65536):
                self._rest += chunk
        *lines, self._rest = self._rest.split(b"\n")
        self.lines.extend(line.decode("utf-8", "replace") for line in lines)
        newest = list(self.lines)[-most:]
        return "It logged nothing." if not newest else "Its last log lines:\n  " + "\n  ".join(newest)


class Standing:
    """The present time of an isolated FMU [s], for messages; as `Caller.time`."""

    time: float | None = None


class IsolatedComponent:
    """A `Component` in a child process.

    timeout : s that a call may take, None for no limit

    Raises
    ------
    FMUCallError      the process dies, does not answer in time, or the FMU fails in it
    """

    def __init__(
        self,
        description: FMUDescription,
        interface: Interface,
        unpacked: Unpacked,
        name: str,
        event_mode: bool = False,
        timeout: float | None = None,
    ) -> None:
        if os.name != "posix":
            raise description.fault("isolate=True needs a POSIX system (Linux, macOS)")
        self.description, self.interface, self.name = description, interface, name
        self._unpacked, self._timeout, self.call = unpacked, timeout, Standing()
        self._stepped: Any = None  # outcome of the newest step
        self._died: FMUCallError | None = None  # how its process ended, if nobody ended it
        self.dropped: list[int] = []  # saved states that nobody can restore any more
        self._begin(name)
        self._doing = "instantiating"
        binary = unpacked.library(interface.identifier)
        self._connection.settimeout(START_UP if timeout is None else START_UP + timeout)
        self._ask("open", described(), description, interface, unpacked.folder, binary, name, event_mode)
        self._connection.settimeout(timeout)

    def _begin(self, name: str) -> None:
        self._connection, theirs = socket.socketpair()
        memory = tempfile.TemporaryFile()  # noqa: SIM115  # the mapping keeps it
        memory.truncate(SHARED)
        self._shared = mmap.mmap(memory.fileno(), SHARED)
        self._numbers = np.frombuffer(self._shared, dtype=float)
        read, write = os.pipe()
        os.set_blocking(read, False)
        self.log = RemoteLog(name, read)
        given = (theirs.fileno(), memory.fileno(), write)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cosim.fmi.isolated_host", *map(str, given)],
            pass_fds=given,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p or "." for p in sys.path)},
        )
        theirs.close()
        os.close(write)
        memory.close()
        self._end = weakref.finalize(self, _ended, self._process, self._connection, read)

    def close(self) -> None:
        """End the process."""
        self._end()

    @property
    def closed(self) -> bool:
        """Whether the process is ended."""
        return not self._end.alive

    @property
    def clocks(self) -> RemoteClocks:
        """See `Component.clocks`."""
        return RemoteClocks(self)

    # --- messages ---------------------------------------------------------------------------------
    def _ask(self, method: str, *given: Any) -> Any:
        self._doing = method
        payload = pickle.dumps((method, given), protocol=5)
        reply = self._exchanged(REQUEST.pack(CALL, len(payload), 0.0, 0.0) + payload)
        return pickle.loads(reply[1])  # from our own child

    def _fast(self, doing: str, operation: int, number: int, a: float = 0.0, b: float = 0.0) -> Any:
        self._doing = doing
        return self._exchanged(REQUEST.pack(operation, number, a, b))[0]

    def _exchanged(self, message: bytes) -> tuple[tuple[Any, ...], bytes]:
        if self._died is not None:  # the first to hear of it may not have been able to say it
            raise self._died
        if self.closed:
            raise self.description.fault("its process has ended", "Open it again, or begin a new run.")
        try:
            self._connection.sendall(message)
            found = self._connection.recv(REPLY.size)
            if len(found) < REPLY.size:
                found += self._received(REPLY.size - len(found))
            header = REPLY.unpack(found)
            payload = self._received(header[1]) if header[1] else b""
        except TimeoutError:
            raise self._dead(f"did not answer within {self._timeout} s (timeout) and was ended") from None
        except OSError:
            raise self._dead(self._how_it_ended()) from None
        if header[0]:
            kind, text, port, time, value = pickle.loads(payload)
            made = FMUCallError if kind != "FMUError" else FMUError
            raise made(text, port=port, time=time if time is not None else self.call.time, value=value)
        return header, payload

    def _received(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self._connection.recv(size - len(found))
            if not part:
                raise ConnectionResetError
            found += part
        return found

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        code = self._process.poll()
        if code is not None and code < 0:
            names = {s.value: s.name for s in signal.Signals}
            return f"crashed ({names.get(-code, f'signal {-code}')})"
        return f"ended by itself with code {code}"

    def _dead(self, how: str) -> FMUCallError:
        lines = self.log.shown()
        self.close()
        where = "" if self.call.time is None else f" at t={self.call.time:.9g} s"
        self._died = FMUCallError(
            f"FMU '{self.description.file}', instance '{self.name}': its process {how} in "
            f"{self._doing}{where}. {lines}",
            path=self.name,
            time=self.call.time,
            hint="It was isolated: this process and other results are not touched.",
        )
        return self._died

    # --- values -----------------------------------------------------------------------------------
    def getter(self, variables: Sequence[Variable]) -> RemoteValues:
        """A reader of some numeric variables."""
        return RemoteValues(self, "getter", variables)

    def setter(self, variables: Sequence[Variable]) -> RemoteValues:
        """A setter of some numeric variables."""
        return RemoteValues(self, "setter", variables)

    def read_at(self, number: int, size: int) -> np.ndarray:
        """Read the values of getter `number`."""
        if size > len(self._numbers):
            return np.asarray(self._ask("read", number), dtype=float)
        self._fast("a getter", READ, number)
        return self._numbers[:size]

    def write_at(self, number: int, values: np.ndarray) -> None:
        """Write the values of setter `number`."""
        if len(values) > len(self._numbers):
            self._ask("write", number, values)
            return
        self._numbers[: len(values)] = values
        self._fast("a setter", WRITE, number)

    def get(self, variable: Variable) -> Any:
        """The value of one variable of any type."""
        return self._ask("get", variable)

    def set(self, variable: Variable, value: Any) -> None:
        """Set one variable of any type."""
        self._ask("set", variable, value)

    # --- life -------------------------------------------------------------------------------------
    def configure(self, values: Mapping[Variable, Any]) -> None:
        """See `Component.configure`."""
        if values:
            self._ask("configure", dict(values))

    def enter_initialization(
        self, start: float, stop: float | None = None, tolerance: float | None = None
    ) -> None:
        """See `Component.enter_initialization`."""
        self.call.time = start
        self._ask("enter_initialization", start, stop, tolerance)

    def exit_initialization(self) -> None:
        """See `Component.exit_initialization`."""
        self._ask("exit_initialization")

    def terminate(self) -> None:
        """See `Component.terminate`."""
        self._ask("terminate")

    def reset(self) -> None:
        """See `Component.reset`."""
        self._ask("reset")
        self.call.time = None

    def step(self, t: float, h: float, no_way_back: bool = True) -> StepOutcome:
        """See `Component.step`."""
        self._stepped = self._fast("DoStep", STEP, int(no_way_back), t, h)
        return self.stepped(t, h, 0)

    def stepping(self) -> Callable[[float, float], int] | None:
        """See `Component.stepping`."""
        pack, exchanged = REQUEST.pack, self._exchanged

        def step(t: float, h: float) -> int:
            self._doing = "DoStep"
            self._stepped = exchanged(pack(STEP, 0, t, h))[0]
            return int(self._stepped[3:] != QUIET)

        return step

    def stepped(self, t: float, h: float, status: int) -> StepOutcome:
        """See `Component.stepped`."""
        _, _, time, *flags = self._stepped
        self.call.time = time
        return StepOutcome(time, *(bool(flag) for flag in flags))

    def enter_step_mode(self) -> None:
        """See `Component.enter_step_mode`."""
        self._ask("enter_step_mode")

    def enter_event_mode(self) -> None:
        """See `Component.enter_event_mode`."""
        self._ask("enter_event_mode")

    def update_once(self) -> DiscreteStates:
        """See `Component.update_once`."""
        found: DiscreteStates = self._ask("update_once")
        return found

    def activate(self, clock: Variable, t: float) -> tuple[list[str], list[tuple[str, ClockInterval]]]:
        """See `Component.activate`."""
        self.call.time = t
        found: tuple[list[str], list[tuple[str, ClockInterval]]] = self._ask("activate", clock, t)
        return found

    def update_discrete_states(self) -> DiscreteStates:
        """See `Component.update_discrete_states`."""
        found: DiscreteStates = self._ask("update_discrete_states")
        return found

    def enter_continuous_time_mode(self) -> None:
        """See `Component.enter_continuous_time_mode`."""
        self._ask("enter_continuous_time_mode")

    def set_time(self, t: float) -> None:
        """See `Component.set_time`."""
        self.call.time = t
        self._fast("SetTime", SET_TIME, 0, t)

    def set_states(self, x: np.ndarray) -> None:
        """See `Component.set_states`."""
        if len(x) > len(self._numbers):
            self._ask("set_states", x)
        elif len(x):
            self._numbers[: len(x)] = x
            self._fast("SetContinuousStates", SET_STATES, len(x))

    def states(self, out: np.ndarray) -> np.ndarray:
        """See `Component.states`."""
        return self._vector("states", out)

    def derivatives(self, out: np.ndarray) -> np.ndarray:
        """See `Component.derivatives`."""
        return self._vector("derivatives", out)

    def indicators(self, out: np.ndarray) -> np.ndarray:
        """See `Component.indicators`."""
        return self._vector("indicators", out)

    def nominals(self, out: np.ndarray) -> np.ndarray:
        """See `Component.nominals`."""
        return self._vector("nominals", out)

    def _vector(self, name: str, out: np.ndarray) -> np.ndarray:
        if len(out) > len(self._numbers):
            out[:] = self._ask(name, out)
        elif len(out):
            self._numbers[: len(out)] = out
            self._fast(name, VECTOR, VECTORS.index(name), float(len(out)))
            out[:] = self._numbers[: len(out)]
        return out

    def counts(self) -> tuple[int, int] | None:
        """See `Component.counts`."""
        found: tuple[int, int] | None = self._ask("counts")
        return found

    def completed_step(self) -> tuple[bool, bool]:
        """See `Component.completed_step`."""
        found: tuple[bool, bool] = self._ask("completed_step")
        return found

    def directional(
        self, unknowns: Sequence[Variable], knowns: Sequence[Variable], seed: np.ndarray
    ) -> np.ndarray:
        """See `Component.directional`."""
        found: np.ndarray = self._ask("directional", list(unknowns), list(knowns), seed)
        return found

    # --- states -----------------------------------------------------------------------------------
    def save(self) -> RemoteState:
        """See `Component.save`."""
        while self.dropped:
            self._ask("free", self.dropped.pop())
        return RemoteState(self, self._ask("save"))

    def load(self, state: RemoteState) -> None:
        """See `Component.load`."""
        self._ask("load", state.key)

    def serialized(self) -> bytes:
        """See `Component.serialized`."""
        found: bytes = self._ask("serialized")
        return found

    def deserialize(self, state: bytes) -> None:
        """See `Component.deserialize`."""
        self._ask("deserialize", state)


class RemoteValues:
    """A getter or a setter in the other process."""

    def __init__(self, of: IsolatedComponent, kind: str, variables: Sequence[Variable]) -> None:
        self._of = of
        self._number, self.size = of._ask(kind, list(variables))

    def read(self) -> np.ndarray:
        """(n,) float; overwritten by the next call."""
        return self._of.read_at(self._number, self.size)

    def write(self, values: np.ndarray) -> None:
        """Set (n,) float."""
        self._of.write_at(self._number, values)


class RemoteClocks:
    """See `ClockCalls`: its calls, made in the other process."""

    def __init__(self, of: IsolatedComponent) -> None:
        self._ask = of._ask

    def tick(self, clocks: Sequence[Variable]) -> None:
        """See `ClockCalls.tick`."""
        if clocks:
            self._ask("clocks.tick", list(clocks))

    def ticked(self, clocks: Sequence[Variable]) -> list[bool]:
        """See `ClockCalls.ticked`."""
        return list(self._ask("clocks.ticked", list(clocks))) if clocks else []

    def intervals(self, clocks: Sequence[Variable]) -> list[ClockInterval]:
        """See `ClockCalls.intervals`."""
        return list(self._ask("clocks.intervals", list(clocks))) if clocks else []

    def shifts(self, clocks: Sequence[Variable]) -> list[float]:
        """See `ClockCalls.shifts`."""
        return list(self._ask("clocks.shifts", list(clocks))) if clocks else []

    def set_intervals(self, clocks: Sequence[Variable], seconds: Sequence[float]) -> None:
        """See `ClockCalls.set_intervals`."""
        if clocks:
            self._ask("clocks.set_intervals", list(clocks), list(seconds))


class RemoteState:
    """A state of an FMU, kept in its process."""

    def __init__(self, of: IsolatedComponent, key: int) -> None:
        self.key = key
        self._drop = weakref.finalize(self, of.dropped.append, key)

    def close(self) -> None:
        """Free it, before the next state is saved."""
        self._drop()


def _ended(process: subprocess.Popen[bytes], connection: socket.socket, log: int) -> None:
    connection.close()
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with contextlib.suppress(OSError):
        os.close(log)
