"""The two ends of an isolated FMU in one process: every call of a component arrives, and its answer too."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import socket
import subprocess
import tempfile
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest

from cosim.fmi import isolated, isolated_host
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.log_lines import KEPT
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.isolated import IsolatedComponent, RemoteLog
from cosim.fmi.isolated_host import MEMORY, REPLY, SHARED, Host, limit_memory

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="isolation needs a POSIX system")
MANY = SHARED // 8 + 3  # numbers that shared memory has no room for


class Described:
    """Of a description, what messages need."""

    file = "u.fmu"

    def fault(self, text, hint=""):
        return FMUError(f"FMU '{self.file}': {text}. {hint}")


class Values:
    """A getter or a setter of a component that notes its calls."""

    def __init__(self, told, size):
        self.told, self.size = told, size

    def read(self):
        return np.arange(self.size, dtype=float) + 0.5

    def write(self, values):
        self.told.append(("write", values.tolist()))


class Fake:
    """A component that notes its calls, with as many states as it is asked for."""

    made = None

    def __init__(self, description, interface, unpacked, name, event_mode):
        Fake.made = self
        self.opened = (interface, unpacked.folder, unpacked.library("i"), name, event_mode)
        self.log = types.SimpleNamespace(tee=None, lines=["said at once"])
        self.call = types.SimpleNamespace(time=None)
        self.told, self.status, self.outcome, self.fails, self.clocks = [], 0, None, None, self
        self.saved = 0

    def getter(self, variables):
        return Values(self.told, variables[0])

    setter = getter

    def stepping(self):
        self.told.append("stepping")
        return lambda t, h: self.told.append((t, h)) or self.status

    def step(self, t, h, no_way_back):
        self.told.append((t, h, no_way_back))
        return self.outcome

    def stepped(self, t, h, status):
        self.told.append((t, h, status))
        return self.outcome

    def save(self):
        self.saved += 1
        name = f"state {self.saved}"
        return types.SimpleNamespace(name=name, close=lambda: self.told.append(("close", name)))

    def load(self, state):
        self.told.append(("load", state.name))

    def _vector(self, name, out):
        self.told.append((name, out[:2].tolist(), len(out)))
        out[:] = out + 1.0
        return out

    def states(self, out):
        return self._vector("states", out)

    def derivatives(self, out):
        return self._vector("derivatives", out)

    def indicators(self, out):
        return self._vector("indicators", out)

    def nominals(self, out):
        return self._vector("nominals", out)

    def set_states(self, x):
        self.told.append(("set_states", x.tolist()))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*given):
            self.told.append((name, *given))
            if self.fails is not None:
                raise self.fails
            return [f"of {name}"]

        return call


@pytest.fixture
def both(monkeypatch):
    """The end of the caller, and the component at the other."""

    def begin(self, name):
        self._connection, theirs = socket.socketpair()
        shared = mmap.mmap(-1, SHARED)
        self._numbers = np.frombuffer(shared, dtype=float)
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        self.log = RemoteLog(name, read)
        self.host = Host(theirs, shared, write)
        thread = threading.Thread(target=self.host.serve, daemon=True)
        thread.start()

        def end():
            self._connection.close()
            thread.join(10.0)
            theirs.close()
            os.close(read)
            os.close(write)

        self._end = weakref.finalize(self, end)
        self._process = types.SimpleNamespace(wait=lambda s: None, poll=lambda: 3)

    monkeypatch.setattr(IsolatedComponent, "_begin", begin)
    monkeypatch.setattr(isolated_host, "Component", Fake)
    unpacked = types.SimpleNamespace(folder=Path("/f"), library=lambda identifier: Path("/f") / identifier)
    interface = types.SimpleNamespace(identifier="i")
    one = IsolatedComponent(Described(), interface, unpacked, "u1", True, timeout=20.0)
    assert Fake.made.opened == (interface, Path("/f"), Path("/f/i"), "u1", True)
    yield one, Fake.made
    one.close()


def test_every_call_arrives_with_what_was_given(both):
    one, fake = both
    assert one._connection.gettimeout() == 20.0
    calls = [
        ("get", ("v",)), ("set", ("v", 2.0)), ("exit_initialization", ()), ("terminate", ()), ("reset", ()),
        ("enter_step_mode", ()), ("enter_event_mode", ()), ("update_once", ()), ("activate", ("c", 1.5)),
        ("update_discrete_states", ()), ("enter_continuous_time_mode", ()), ("counts", ()),
        ("completed_step", ()),
        ("serialized", ()), ("deserialize", (b"\x00",)), ("configure", ({"v": 1.0},)),
        ("enter_initialization", (0.5, 2.0, 1e-6)), ("directional", (["y"], ["u"], 3.0)),
    ]  # fmt: skip
    answering = ("get", "update_once", "update_discrete_states", "activate", "counts", "completed_step",
                 "serialized", "directional")  # fmt: skip
    for name, given in calls:
        fake.told.clear()
        found = getattr(one, name)(*given)
        assert fake.told == [(name, *given)], name
        assert found == ([f"of {name}"] if name in answering else None)
    fake.told.clear()
    one.configure({})
    assert fake.told == []


def test_the_time_of_messages_is_that_of_the_last_call(both):
    one, fake = both
    one.enter_initialization(0.5)
    assert one.call.time == 0.5 and fake.told[-1] == ("enter_initialization", 0.5, None, None)
    one.set_time(0.75)
    assert one.call.time == 0.75 and fake.told[-1] == ("set_time", 0.75)
    one.activate("c", 1.25)
    assert one.call.time == 1.25
    one.reset()
    assert one.call.time is None


def test_clocks_are_called_through_the_component(both):
    one, fake = both
    clocks = one.clocks
    for name, more in (
        ("tick", ()),
        ("ticked", ()),
        ("intervals", ()),
        ("shifts", ()),
        ("set_intervals", ([0.5],)),
    ):
        fake.told.clear()
        assert getattr(clocks, name)([], *more) in (None, []) and fake.told == []
        found = getattr(clocks, name)(("a", "b"), *more)
        assert fake.told == [(name, ["a", "b"], *more)]
        assert found == (None if name in ("tick", "set_intervals") else [f"of {name}"])


@pytest.mark.parametrize("size", [1, 3, SHARED // 8, MANY])
def test_numbers_go_through_shared_memory_or_in_a_message(both, size):
    """More of them than shared memory holds were an error of NumPy."""
    one, fake = both
    reader, other, writer = one.getter([size]), one.getter([2]), one.setter([size])
    assert (reader.size, writer.size) == (size, size)
    assert reader.read().tolist() == (np.arange(size) + 0.5).tolist()
    assert other.read().tolist() == [0.5, 1.5]
    fake.told.clear()
    given = np.arange(size, dtype=float) - 0.25
    writer.write(given)
    assert fake.told == [("write", given.tolist())]
    fake.told.clear()
    one.set_states(given)
    assert fake.told == [("set_states", given.tolist())]
    for name in ("states", "derivatives", "indicators", "nominals"):
        fake.told.clear()
        out = given.copy()
        assert getattr(one, name)(out) is out
        assert fake.told == [(name, given[:2].tolist(), size)] and out.tolist() == (given + 1.0).tolist()


def test_no_numbers_are_no_request(both):
    one, fake = both
    fake.told.clear()
    one.set_states(np.zeros(0))
    assert len(one.states(np.zeros(0))) == 0 and fake.told == []


def test_steps_and_their_flags(both):
    """A plain step says its end; any other comes back with what the component makes of it."""
    one, fake = both
    step = one.stepping()
    fake.told.clear()
    assert (step(0.5, 0.25), fake.call.time) == (0, 0.75)
    assert step(0.75, 0.25) == 0 and fake.told == ["stepping", (0.5, 0.25), (0.75, 0.25)]
    assert one.stepped(0.75, 0.25, 0) == StepOutcome(1.0, False, False, False, False) and one.call.time == 1.0
    fake.status = 2
    for k in range(4):
        flags = [k == j for j in range(4)]
        fake.outcome = StepOutcome(1.125, *flags)
        fake.told.clear()
        assert step(1.0, 0.5) == 1 and fake.told == [(1.0, 0.5), (1.0, 0.5, 2)]
        assert one.stepped(1.0, 0.5, 1) == fake.outcome and one.call.time == 1.125
        for way in (True, False):
            fake.told.clear()
            assert one.step(1.0, 0.5, way) == fake.outcome
            assert fake.told == ([(1.0, 0.5, True)] if way else [(1.0, 0.5), (1.0, 0.5, 2)])
    fake.told.clear()
    one.step(2.0, 0.5)
    assert fake.told == [(2.0, 0.5, True)]


def test_states_are_kept_until_the_next_is_saved_after_they_were_dropped(both):
    one, fake = both
    fake.told.clear()
    first, second = one.save(), one.save()
    one.load(first)
    one.load(second)
    assert fake.told == [("load", "state 1"), ("load", "state 2")]
    second.close()
    second.close()
    assert len(fake.told) == 2 and one.dropped == [2]
    third = one.save()
    assert fake.told[2:] == [("close", "state 2")] and one.dropped == []
    one.load(first)
    one.load(third)
    assert fake.told[3:] == [("load", "state 1"), ("load", "state 3")]
    assert len(one.host._states) == 2


@pytest.mark.parametrize("made", [FMUError, FMUCallError, ValueError])
def test_an_error_there_is_one_here(both, made):
    one, fake = both
    one.set_time(1.5)
    fake.fails = made("no oil") if made is ValueError else made("no oil", port="p", time=0.5, value=2.0)
    with pytest.raises(FMUError, match="no oil") as caught:
        one.terminate()
    error = caught.value
    assert type(error) is (FMUError if made is FMUError else FMUCallError)
    if made is ValueError:
        assert (error.port, error.time, error.value) == (None, 1.5, None)
    else:
        assert (error.port, error.time, error.value) == ("p", 0.5, 2.0)
        fake.fails = made("no oil", value=np.ones(2))
        with pytest.raises(FMUError) as caught:
            one.terminate()
        assert caught.value.value is None and caught.value.time == 1.5
    fake.fails = None
    one.terminate()  # it goes on


def test_a_process_that_is_gone_says_how_it_ended_to_all_who_ask(both):
    one, fake = both
    one.set_time(0.25)
    fake.fails = ConnectionResetError()
    fake.log.tee("low\noil")
    one.host._connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(
        FMUCallError, match=r"instance 'u1': its process ended by itself with code 3 in terminate"
    ) as caught:
        one.terminate()
    text = str(caught.value)
    assert "at t=0.25 s" in text and "Its last log lines:\n  said at once\n  low oil" in text
    assert one.closed
    with pytest.raises(FMUCallError) as again:
        one.reset()
    assert again.value is caught.value


def test_a_process_that_was_ended_says_so(both):
    one, _ = both
    one.close()
    with pytest.raises(FMUError, match=r"its process has ended.*Open it again"):
        one.terminate()


@pytest.mark.parametrize(
    ("code", "said"),
    [(0, "ended by itself with code 0"), (None, "ended by itself with code None"), (-11, "crashed (SIGSEGV)"),
     (-200, "crashed (signal 200)")],
)  # fmt: skip
def test_how_a_process_ended(both, code, said):
    one, _ = both
    waited = []

    def wait(seconds):
        waited.append(seconds)
        raise subprocess.TimeoutExpired("host", seconds)

    one._process = types.SimpleNamespace(wait=wait, poll=lambda: code)
    assert one._how_it_ended() == said and len(waited) == 1


def test_an_answer_in_pieces_is_put_together():
    ours, theirs = socket.socketpair()
    one = IsolatedComponent.__new__(IsolatedComponent)
    one._connection, one.description, one._died = ours, Described(), None
    one._end = types.SimpleNamespace(alive=True)
    payload = pickle.dumps("found")
    message = REPLY.pack(0, len(payload), 0.5, 0, 1, 0, 1) + payload
    with ours, theirs:
        for cut in (1, REPLY.size - 1, REPLY.size, REPLY.size + 2):
            ours.settimeout(10.0)

            def answer(cut=cut):
                theirs.recv(3)
                theirs.sendall(message[:cut])
                threading.Event().wait(0.02)
                theirs.sendall(message[cut:])

            thread = threading.Thread(target=answer)
            thread.start()
            header, found = one._exchanged(b"ask")
            thread.join()
            assert header == (0, len(payload), 0.5, 0, 1, 0, 1) and pickle.loads(found) == "found"


def test_log_lines_are_one_line_of_2000_bytes_at_most():
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    host = Host(None, mmap.mmap(-1, SHARED), write)
    log = RemoteLog("u", read)
    assert log.shown() == "It logged nothing."
    host._tell("a\nb")
    host._tell("ü" * 1500)
    assert log.shown() == f"Its last log lines:\n  a b\n  {'ü' * 1000}"
    for k in range(KEPT + 5):
        host._tell(str(k))
        log.shown()
    assert list(log.lines) == [str(k) for k in range(5, KEPT + 5)]
    assert log.shown().splitlines()[1:] == [f"  {k}" for k in range(KEPT, KEPT + 5)]
    assert log.shown(2).splitlines()[1:] == [f"  {k}" for k in range(KEPT + 3, KEPT + 5)]
    os.write(write, b"half")
    assert "half" not in log.shown(1)
    os.write(write, b" done\n")
    assert log.shown(1).endswith("  half done")
    while True:  # nobody reads: lines are lost, nothing waits
        try:
            os.write(write, b"x" * 4096)
        except BlockingIOError:
            break
    host._tell("lost")
    os.close(read)
    os.close(write)


def test_memory_is_limited_beyond_what_is_used_and_no_core_is_written(monkeypatch):
    limits = {}
    monkeypatch.setattr(resource, "setrlimit", lambda what, both: limits.update({what: both}))
    before = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    limit_memory()
    after = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    assert limits.keys() == {resource.RLIMIT_AS, resource.RLIMIT_CORE} and limits[resource.RLIMIT_CORE] == (
        0,
        0,
    )
    soft, hard = limits[resource.RLIMIT_AS]
    assert soft == hard and min(before, after) <= soft - MEMORY <= max(before, after) and MEMORY == 2**31


def test_the_process_ignores_interrupts_and_serves_what_it_is_given(monkeypatch):
    """A SIGINT of the terminal is for its caller, which ends it."""
    served, handled = [], []
    monkeypatch.setattr(isolated_host, "limit_memory", lambda: served.append("limited"))
    monkeypatch.setattr(isolated_host.signal, "signal", lambda *given: handled.append(given))
    monkeypatch.setattr(
        Host, "serve", lambda self: served.append((self._connection.fileno(), len(self._numbers), self._log))
    )
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    with ours, tempfile.TemporaryFile() as memory:
        memory.truncate(SHARED)
        fd = theirs.detach()
        monkeypatch.setattr(isolated_host.sys, "argv", ["host", str(fd), str(memory.fileno()), str(write)])
        isolated_host.main()
    assert handled == [(signal.SIGINT, signal.SIG_IGN)]
    assert served == ["limited", (fd, SHARED // 8, write)]
    assert not os.get_blocking(write)
    os.close(read)
    os.close(write)


def test_a_process_that_does_not_end_is_killed():
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    story = []

    class Process:
        def wait(self, seconds=None):
            story.append(("wait", seconds))
            if len(story) == 1:
                raise subprocess.TimeoutExpired("host", seconds)

        def kill(self):
            story.append("kill")

    isolated._ended(Process(), ours, read)
    assert story == [("wait", 0.5), "kill", ("wait", None)]
    assert ours.fileno() == -1
    with pytest.raises(OSError):
        os.fstat(read)
    isolated._ended(Process(), ours, read)  # a descriptor that is closed already
    theirs.close()
    os.close(write)
