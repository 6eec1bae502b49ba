"""Opaque blocks in one run: made at its start, called, saved, loaded and closed with its context."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from blocks.contract.callback import LiveCall, PythonCall, answered_by
from blocks.errors import BlockError, PlantloopError, naming_block
from cosim.segments import Segment
from cosim.system import System


class Instances:
    """What the opaque blocks of a system are in one run.

    Parameters
    ----------
    states : dict      what `save` gave for some of them; the others start anew
    ticked : bool      also those that are called at ticks, not only those inside the equations

    Raises
    ------
    BlockError         one cannot be made, with the block's path
    """

    def __init__(
        self, system: System, states: Mapping[str, bytes] | None = None, ticked: bool = True
    ) -> None:
        self._makes: dict[str, Callable[[], Any]] = {}
        self._paths: dict[str, str] = {}
        for s in system.schedule if ticked else ():
            if s.external is not None and s.external.make is not None:
                self._makes[s.names[0]], self._paths[s.names[0]] = s.external.make, s.path
        shared: dict[Callable[[], Any], str] = {}
        self._of_call: dict[str, list[LiveCall]] = {}
        self.calls: dict[PythonCall, LiveCall] = {}
        for call, path in zip(system.calls, system.callers, strict=True):
            live = self.calls.setdefault(call, LiveCall(call))
            if call.make is not None:
                if call.make not in shared:
                    shared[call.make] = f"{path}.{call.name()}"
                name = shared[call.make]
                self._makes[name], self._paths[name] = call.make, path
                self._of_call.setdefault(name, []).append(live)
        for unit in system.units:
            from cosim.fmi.coupling.unit_run import UnitRun  # few runs have any

            in_loop = any(s.in_loop and s.path == unit.path for s in system.schedule)
            self._makes[unit.path] = partial(UnitRun, unit.block, unit.path, in_loop)
            self._paths[unit.path] = unit.path
        self._made: dict[str, Any] = {}
        self._closed = False
        self.load(states or {})

    # --- their life -------------------------------------------------------------------------------
    def load(self, states: Mapping[str, bytes]) -> None:
        """Restore what `save` returned; instances that are not in it start afresh."""
        for name, make in self._makes.items():
            if name not in states or name not in self._made:
                self._close(name)
                with self._with_path(name):
                    self._made[name] = make()
                for live in self._of_call.get(name, ()):
                    live.instance = self._made[name]
            if name in states and hasattr(self._made[name], "load"):
                with self._with_path(name):
                    self._put_back(name, states[name])

    def _put_back(self, name: str, state: bytes) -> None:
        try:
            self._made[name].load(state)
        except PlantloopError:
            raise
        except Exception as error:  # a block may raise anything where the bytes are not its own
            raise BlockError(
                f"its saved state cannot be put back: {type(error).__name__}: {error}."
            ) from error

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which states are saved."""
        return tuple(name for name, instance in self._made.items() if hasattr(instance, "save"))

    def save(self, without: Container[str] = ()) -> dict[str, bytes]:
        """The state of each instance by name, except some.

        Raises
        ------
        BlockError     one keeps something it cannot save
        """
        found = {}
        for name, instance in self._made.items():
            if hasattr(instance, "save") and name not in without:
                with self._with_path(name):
                    found[name] = bytes(instance.save())
        return found

    def put_back(self, states: Mapping[str, bytes]) -> None:
        """Restore some of what `save` returned; the others stay as they are."""
        for name, state in states.items():
            with self._with_path(name):
                self._made[name].load(state)

    def made(self, name: str) -> Any:
        """The instance of a block, as long as the run is not closed."""
        if self._closed:
            raise PlantloopError(
                f"block '{name}' is called after the simulation was closed.",
                path=name,
                hint="Begin a new Simulation.",
            )
        return self._made[name]

    def close(self) -> None:
        """Close all of them; a run cannot go on after that."""
        self._closed = True
        for name in list(self._made):
            self._close(name)

    def _close(self, name: str) -> None:
        close = getattr(self._made.pop(name, None), "close", None)
        if close is not None:
            close()

    def _with_path(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Errors carry the path of the block."""
        return naming_block(self._paths[name])

    # --- calls ------------------------------------------------------------------------------------
    def call(self, segment: Segment, t: float, u: np.ndarray) -> Any:
        """Outputs of the block of an external segment at t [s] and input u (n,)."""
        unit = segment.external is not None and segment.external.make is None
        name = segment.path if unit else segment.names[0]
        if self._closed:
            raise PlantloopError(
                f"block '{segment.path}' is called after the simulation was closed.",
                path=segment.path,
                hint="Begin a new Simulation.",
            )
        with self._with_path(name):
            return self._made[name].call(t, u)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """While the equations of this run are evaluated in this thread; it looks after Ctrl-C as well.

        Ctrl-C cannot be raised where compiled code or CasADi is about to call Python: it would be lost there.
        It is raised inside a user's function, and noted outside: engines look at `ended`.
        """
        if not self.calls:
            yield
            return
        self._forget()
        main = threading.current_thread() is threading.main_thread()
        ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours:
            signal.signal(signal.SIGINT, self._note)
        try:
            with answered_by(self.calls):
                yield
        finally:
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            self._forget()

    def _note(self, number: int, frame: Any) -> None:
        if any(live.inside for live in self.calls.values()):
            raise KeyboardInterrupt
        self.interrupt(KeyboardInterrupt())

    def interrupt(self, why: BaseException) -> None:
        """Record the exception that ends the run."""
        next(iter(self.calls.values())).interrupt = why

    def _forget(self) -> None:
        for live in self.calls.values():
            live.interrupt = None

    @property
    def ended(self) -> BaseException | None:
        """What ended a user's function other than an error, or Ctrl-C, if anything did."""
        return next((live.interrupt for live in self.calls.values() if live.interrupt is not None), None)


@contextlib.contextmanager
def looking_at(system: System, states: Mapping[str, bytes] | None = None) -> Iterator[None]:
    """While functions of a system are evaluated outside a run: its Python functions as a run has them."""
    if not system.calls:
        yield
        return
    instances = Instances(system, states, ticked=False)
    try:
        with answered_by(instances.calls):
            yield
    finally:
        instances.close()
