"""What every engine does for a `Simulation`: advance a context through time, and log on the way."""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.contract.user_lines import line_of
from blocks.errors import PlantloopError, SimulationError
from cosim.engines.counters import Counters
from cosim.engines.look_back import LookBack
from cosim.engines.starts import DONE, Starts
from cosim.result.record import Event, TickSeries
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System

if TYPE_CHECKING:
    from cosim.fmi.coupling.quality import CouplingQuality


def left(exit: SystemExit, t: float) -> SimulationError:
    """The error about a run in which somebody called `sys.exit`, at t [s]."""
    text = f"sys.exit({exit.code!r}) was called in the run at t={t:.9g} s{line_of(exit)}."
    return SimulationError(text, time=t, hint="Let a stop event end a run: b.when(..., stop=).")


@dataclass(frozen=True)
class Logged:
    """What an engine has logged: times (n,) s, each signal (n, k), samples, events.

    found : the events, or a function that makes them where somebody looks
    """

    time: np.ndarray
    signals: dict[str, np.ndarray]
    ticks: dict[str, TickSeries]
    found: tuple[Event, ...] | Callable[[], tuple[Event, ...]] = ()

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events in their order."""
        return self.found() if callable(self.found) else self.found

    def freeze(self) -> None:
        """Make its arrays read-only."""
        for array in (self.time, *self.signals.values()):
            array.flags.writeable = False
        for series in self.ticks.values():
            series.time.flags.writeable = series.values.flags.writeable = False

    def before(self, t: float) -> Logged:
        """What was logged up to and at time t [s]."""
        n = int(np.searchsorted(self.time, t, side="right"))
        ticks = {name: TickSeries(s.time[(m := s.time <= t)], s.values[m]) for name, s in self.ticks.items()}
        events = tuple(e for e in self.events if e.time <= t)
        return Logged(self.time[:n], {k: v[:n] for k, v in self.signals.items()}, ticks, events)

    def then(self, later: Logged) -> Logged:
        """This log and one that goes on from it; of two rows at one restart the later one stays."""
        n = int(np.searchsorted(self.time, later.time[0], side="left")) if len(later.time) else len(self.time)
        return Logged(
            np.concatenate([self.time[:n], later.time]),
            {k: np.concatenate([v[:n], later.signals[k]]) for k, v in self.signals.items()},
            {k: _joined(s, later.ticks[k]) for k, s in self.ticks.items()},
            self.events + later.events,
        )


def _joined(first: TickSeries, second: TickSeries) -> TickSeries:
    times = np.concatenate([first.time, second.time])
    return TickSeries(times, np.concatenate([first.values, second.values]))


def out_of_time(settings: RunSettings, t: float) -> SimulationError:
    """The error of a run that reached its wall_limit at t [s]."""
    return SimulationError(
        f"the run reached its wall_limit of {settings.wall_limit:g} s at t={t:.9g} s.",
        time=t,
        hint="Raise wall_limit, loosen tolerances, or take larger steps.",
    )


class Engine(abc.ABC):
    """Runs one system with one context."""

    name: str
    why: str = ""  # this one, where a user might have expected another

    def __init__(self, system: System, settings: RunSettings, context: Context) -> None:
        self.system, self.settings, self.context = system, settings, context
        self.counters = Counters()
        self.cancelled = False
        self.deadline = math.inf  # of the clock `time.perf_counter` [s], when an advance has to end
        self.instances = context.begin(system)
        self.look_back = LookBack()

    @abc.abstractmethod
    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """Run to exactly `until` [s], executing a tick that falls there; or to a stop event."""

    def allow(self, spent: float = 0.0) -> None:
        """Start the clock of the run's wall_limit, of which some time [s] is spent."""
        self.deadline = time.perf_counter() + self.settings.wall_limit - spent

    @abc.abstractmethod
    def approach(self, until: float) -> None:
        """Run to `until` [s] from the left, without what happens at that instant; `arrive` goes on.

        Whoever looks on may change what the context holds in between.
        """

    @abc.abstractmethod
    def arrive(self, ended: str = "") -> None:
        """Everything that happens at the instant that `approach` came to; `ended`: why the run ends there."""

    @abc.abstractmethod
    def log_mark(self) -> Any:
        """The present length of the log."""

    @abc.abstractmethod
    def log_back(self, mark: Any) -> None:
        """Forget what was logged since a mark."""

    def another(self, context: Context, settings: RunSettings) -> Engine:
        """A new instance of this engine for the same system."""
        return type(self)(self.system, settings, context)

    @property
    def needs_python(self) -> str:
        """Why a run needs Python on the way, in words; empty if threads can run at the same time."""
        return f"the {self.name} engine is Python{f' ({self.why})' if self.why else ''}"

    def run_starts(self, starts: Starts, first: int, end: int) -> None:
        """Runs `first` to before `end` of a batch; the state of one that stops early is not DONE.

        What this instance held before is lost.
        """
        for k in range(first, end):
            if self.cancelled:
                return
            try:
                self.run_start(starts, k)
            except PlantloopError as error:
                starts.errors[k] = error.with_traceback(None)  # which holds the engine of the run

    def run_start(self, starts: Starts, k: int) -> None:
        """One run of a batch, by an instance of its own.

        Raises
        ------
        PlantloopError      it stopped early; what it logged until then is kept
        """
        one = self.another(starts.context(k), starts.settings_of(k))
        one.start_log(starts.names, starts.times)
        one.allow()
        try:
            one.advance(starts.until)
            starts.state[k] = DONE
        except SystemExit as exit:
            raise left(exit, one.context.t) from exit
        finally:
            one.instances.close()
            logged = one.logged()
            starts.record(k, logged.time, logged.signals)
            starts.stopped[k] = one.system.stop_event(one.context.stopped)
            starts.ended[k] = one.context.t

    def cancel(self) -> None:
        """Stop runs of a batch that are under way in another thread."""
        self.cancelled = True

    def coupling(self) -> CouplingQuality | None:
        """The quality of the coupling of units that step themselves; None without a coupling."""
        return None

    @abc.abstractmethod
    def next_stop(self) -> float:
        """Time of the next tick or listed instant [s]; inf if there is none."""

    @abc.abstractmethod
    def start_log(self, names: Sequence[str], times: np.ndarray | None) -> None:
        """Forget what was logged; log these signals at these instants, None for every step."""

    @abc.abstractmethod
    def logged(self) -> Logged:
        """What was logged since."""

    @abc.abstractmethod
    def value(self, name: str) -> np.ndarray:
        """Present value of a signal, (k,)."""
