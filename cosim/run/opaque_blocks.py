"""Opaque blocks in one run: made at its start, called, saved, loaded and closed with its context."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from blocks.contract.callback import LiveCall, PythonCall, answered_by
from blocks.errors import BlockError, PlantloopError, naming_block
from cosim.segments import Segment
from cosim.system import System


@dataclass(frozen=True)
class OpaqueBlock:
    """What a system has one of in every run: where, how it is made, and functions that are called with it."""

    path: str
    make: Callable[[], Any]
    calls: list[PythonCall] = field(default_factory=list)


def _opaque(system: System, ticked: bool) -> dict[str, OpaqueBlock]:
    """Those of a system, each by the name under which its state is saved."""
    found: dict[str, OpaqueBlock] = {}
    for s in system.schedule if ticked else ():
        if s.external is not None and s.external.make is not None:
            found[s.names[0]] = OpaqueBlock(s.path, s.external.make)
    names: dict[Callable[[], Any], str] = {}
    for call, path in zip(system.calls, system.callers, strict=True):
        if call.make is not None:
            name = names.setdefault(call.make, f"{path}.{call.name()}")
            found.setdefault(name, OpaqueBlock(path, call.make)).calls.append(call)
    for unit in system.units:
        from cosim.fmi.coupling.unit_run import UnitRun  # few runs have any

        in_loop = any(s.in_loop and s.path == unit.path for s in system.schedule)
        found[unit.path] = OpaqueBlock(unit.path, partial(UnitRun, unit.block, unit.path, in_loop))
    return found


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
        made: dict[str, OpaqueBlock] = system.derived.get(("opaque", ticked), lambda: _opaque(system, ticked))
        self._blocks = made
        self.calls = {call: LiveCall(call) for call in system.calls}
        self._made: dict[str, Any] = {}
        self._closed = False
        self.load(states or {})

    # --- their life -------------------------------------------------------------------------------
    def load(self, states: Mapping[str, bytes]) -> None:
        """Restore what `save` returned; instances that are not in it start afresh."""
        for name, block in self._blocks.items():
            if name not in states or name not in self._made:
                self._close(name)
                with self._with_path(name):
                    self._made[name] = block.make()
                for call in block.calls:
                    self.calls[call].instance = self._made[name]
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
        return naming_block(self._blocks[name].path)

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

    def answering(self, loses: bool = True) -> contextlib.AbstractContextManager[None]:
        """While the equations of this run are evaluated in this thread; it looks after Ctrl-C as well.

        Ctrl-C cannot be raised where CasADi is about to call Python: it would be lost there. It is raised
        inside a user's function, and noted outside: engines look at `ended`.

        loses : False where whoever calls the functions notes all that is raised
        """
        if not self.calls:
            return contextlib.nullcontext()
        self.forget()
        return self._catching() if loses else _Answering(self)

    @contextlib.contextmanager
    def _catching(self) -> Iterator[None]:
        main = threading.current_thread() is threading.main_thread()
        ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours:
            signal.signal(signal.SIGINT, self._note)
        try:
            with _Answering(self):
                yield
        finally:
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: Any) -> None:
        if any(live.inside for live in self.calls.values()):
            raise KeyboardInterrupt
        self.interrupt(KeyboardInterrupt())

    def interrupt(self, why: BaseException) -> None:
        """Record the exception that ends the run."""
        next(iter(self.calls.values())).interrupt = why

    def forget(self) -> None:
        """Nothing is to end the run."""
        for live in self.calls.values():
            live.interrupt = None

    @property
    def ended(self) -> BaseException | None:
        """What ended a user's function other than an error, or Ctrl-C, if anything did."""
        return next((live.interrupt for live in self.calls.values() if live.interrupt is not None), None)


class _Answering:
    """While inside, CasADi's calls in this thread go to those of a run; after it nothing is to end that."""

    def __init__(self, instances: Instances) -> None:
        self._instances, self._calls = instances, answered_by(instances.calls)

    def __enter__(self) -> None:
        self._calls.__enter__()

    def __exit__(self, *problem: object) -> None:
        self._calls.__exit__(*problem)
        self._instances.forget()


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
