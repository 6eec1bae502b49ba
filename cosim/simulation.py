"""Run a diagram: `simulate` from start to end, or `Simulation` step by step."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from blocks.arguments import flag, is_number
from blocks.contract.block import Block
from blocks.contract.rate import Rate
from blocks.errors import PlantloopError, SimulationError, StepCollapsed, near_miss, shown
from cosim.advancing import Advancing
from cosim.block_alone import system_of
from cosim.built_for import built_for, built_with
from cosim.diagram import Diagram
from cosim.driven import driven
from cosim.engines.choose import choose
from cosim.engines.engine import Engine, Logged, left
from cosim.engines.reference.log import SMALL, given_times, log_times
from cosim.names import mapped
from cosim.progress import Progress, telling
from cosim.result.checked_values import checked_events, plain
from cosim.result.other_names import OF_A_SIMULATION
from cosim.result.record import SettingValue
from cosim.result.result import Result
from cosim.run import snapshot as snapshot_file
from cosim.run.context import Context
from cosim.run.crowded_events import say_crowded
from cosim.run.memory import check_memory
from cosim.run.named_values import set_all, set_initial, set_input, set_parameter
from cosim.run.parameter_checks import check_parameters
from cosim.run.ranges import Ranges, strip
from cosim.run.run_length import check_length
from cosim.run.snapshot_check import shape_faults
from cosim.run.told import settings_of, statistics_of
from cosim.run.walltime import WallTime
from cosim.run.watched import warn_of_early, warn_of_unmet, warn_of_watched, watches
from cosim.settings import Keywords, RunSettings, takes_settings, takes_settings_of_steps, with_texts
from cosim.system import System

if TYPE_CHECKING:
    from cosim.result.live_plot import LivePlot


class Simulation:
    """A diagram being run, step by step: it owns the context; everything else is immutable.

    Parameters
    ----------
    diagram : Diagram, Block or System
    initial : dict          state name -> value at t = 0, such as "motor.w"; "arm/motor.w" of a block in a
                            subsystem, "motor.x[0]" for one component; a block alone is called "plant", and
                            "plant." may be left out
    parameters : dict       parameter name -> value, "controller.K"; what `Diagram.parameter` made in the
                            diagram itself may be structural too (a sample time, the instant of a step)
    signals : list of str   what to log; default all outputs and held inputs, and the continuous states of
                            plants. States, modes and parameters are logged by their names; a star stands for
                            any text ("plant.*"); a component ("motor.w[0]") logs the whole
    settings : RunSettings  several of the following at once; each may also be given by itself
    **settings

    Raises
    ------
    WiringError, AlgebraicLoopError    from flattening
    PlantloopError                     unknown names, wrong sizes, settings that make no sense

    >>> sim = Simulation(d)
    >>> sim.advance(1.0); before = sim.snapshot()
    >>> sim.advance(2.0); sim.restore(before)

    With opaque blocks that keep something open, such as a device, use it in a ``with`` statement.
    """

    @takes_settings_of_steps
    def __init__(
        self,
        diagram: Diagram | Block | System,
        *,
        settings: RunSettings | None = None,
        initial: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        signals: Sequence[str] | None = None,
        **keywords: Unpack[Keywords],
    ) -> None:
        self.settings = RunSettings.of(settings, **keywords)
        given = mapped(parameters, "parameters")
        diagram, tunable = built_for(diagram, given, self.settings.solve_loops, self.settings.driven)
        self._built_with = {name: value for name, value in given.items() if name not in tunable}
        self.system = system_of(diagram, self.settings.solve_loops, self.settings.driven)
        drawn = diagram.drawn if isinstance(diagram, System) else diagram
        context = Context.initial(self.system)
        context.built_with = built_with(diagram, self.system)
        self._changed = {"parameters": tunable, "initial": mapped(initial, "initial")}
        set_all(self.system, context, "parameter", tunable)
        check_parameters(self.system, context.p, tunable)
        set_all(self.system, context, "state", self._changed["initial"])
        self._origin = None if drawn is None else (drawn, self.system, context.copy())
        self._engine: Engine = choose(self.system, self.settings, context)
        self._names = self.system.chosen(signals)
        self._whole = True  # does its log begin with the run?
        self._kept: Logged | None = None  # what was logged before the newest `restore` or `log`
        self._times: np.ndarray | None = None
        self._ranges = Ranges.of(self.system)
        self._hidden = [s.name for s in self._ranges.signals if s.name not in self._names]
        self._engine.start_log([*self._names, *self._hidden], None)
        self._given: list[tuple[Callable[[System, Context, str, Any], None], str, Any]] | None = []
        self._advancing = Advancing(self.system.name)
        self._wall = WallTime(self.system, self._engine.instances)
        self._unchecked: list[str] = []  # parameters that were set since it went on last

    def __repr__(self) -> str:
        states = f"{len(self.system.x0)} continuous states, {len(self.system.rates)} rates"
        how = f"{self.settings.solver}, {self._engine.name} engine"
        return f"<Simulation of '{self.system.name}' at t = {self.time:.9g} s: {states}; {how}>"

    def __getitem__(self, name: str) -> np.ndarray:
        raise PlantloopError(
            f"a Simulation is not asked in brackets for {shown(name)}.",
            hint=f"Its present value is sim.value({shown(name)}), its course sim.result()[{shown(name)}].",
        )

    def __getattr__(self, name: str) -> Any:
        """Only what is not there: it says what to write instead."""
        near = OF_A_SIMULATION.get(name) or near_miss(name, [n for n in dir(Simulation) if n[0] != "_"])
        raise AttributeError(f"a Simulation has no attribute '{name}'; {near}")

    # --- running ---------------------------------------------------------------------------------
    @property
    def names(self) -> list[str]:
        """What is logged."""
        return list(self._names)

    @property
    def given(self) -> dict[str, dict[str, Any]]:
        """Parameters and initial values of the start, as they were given."""
        return {
            "parameters": {**self._built_with, **self._changed["parameters"]},
            "initial": dict(self._changed["initial"]),
        }

    @property
    def time(self) -> float:
        """Present time [s]."""
        return self._engine.context.t

    def advance(self, until: float, progress: Progress | bool | None = None) -> None:
        """Run to exactly `until` [s]; a tick that falls there is executed.

        progress : True for a bar, or a function of the time reached [s]

        Raises
        ------
        SimulationError     the run stopped before; ``error.result`` holds what was computed
        PlantloopError      it is being advanced already, in another thread or by a function it calls; then it
                            cannot be changed either, and looked at by that thread (`progress`) alone
        """
        with self._advancing.taken():
            self._advance(until, progress)

    def _advance(self, until: float, progress: Progress | bool | None) -> None:
        finite = is_number(until) and math.isfinite(until)
        end = max(self.system.snapped(float(until)), min(self.time, float(until))) if finite else math.nan
        if not end >= self.time:
            given = f"{until:g}" if is_number(until) else shown(until)
            raise PlantloopError(
                f"advance({given}): expected a finite time not before the present {self.time:g} s.",
                value=until,
            )
        until = end
        check_length(self.system, self.settings, self.time, until)
        check_parameters(self.system, self._engine.context.p, self._unchecked)
        self._unchecked.clear()
        self._engine.allow(self._wall.total)
        try:
            with self._wall, telling(progress, until) as tell:
                self._engine.advance(until, tell)
        except PlantloopError as error:
            if isinstance(error, StepCollapsed):
                logged = self._logged()
                say_crowded(error, logged.events, logged.time[0] if len(logged.time) else 0.0)
            error.result = self.result(complete=False, message=str(error))
            error.before = self._before()
            raise
        except SystemExit as exit:
            ended = left(exit, self.time)
            ended.result = self.result(complete=False, message=str(ended))
            raise ended from exit

    @property
    def next_stop(self) -> float:
        """Time of the next tick or listed instant [s]; inf if there is none."""
        return self._engine.next_stop()

    def step(self) -> float:
        """Run to the next tick or listed instant and return its time; without any, make one solver step."""
        self.advance(self.time)
        stop = self._engine.next_stop()
        if not math.isfinite(stop):
            stop = self.time + self.settings.step
        self.advance(stop)
        return self.time

    # --- looking and changing --------------------------------------------------------------------
    def value(self, name: str) -> np.ndarray:
        """Present value of a signal, state, mode or parameter, (k,), or of a component ("motor.w[0]"), ()."""
        full, component = self.system.locate(name)
        self._advancing.refuse_looks(f"value('{name}')")
        found = self._engine.value(full)
        return found if component is None else found[component]

    def set_input(self, name: str, value: Any) -> None:
        """Set an input of the diagram, from now on."""
        self._set(set_input, name, value)

    def set_parameter(self, name: str, value: Any) -> None:
        """Change a parameter, from now on; its block checks the value when the run continues."""
        self._set(set_parameter, name, value)
        self._unchecked.append(name)

    def _set(self, how: Callable[[System, Context, str, Any], None], name: str, value: Any) -> None:
        self._advancing.refuse_changes(f"{how.__name__}({shown(name)})")
        how(self.system, self._engine.context, name, value)
        if self._engine.context.started:
            self._changed_on_the_way()
        elif self._given is not None:
            self._given.append((how, name, value))

    def _changed_on_the_way(self) -> None:
        self._given = None
        self._engine.look_back.forget()

    def _before(self) -> Context | None:
        """A snapshot from before the present instant: of up to 0.1 s of wall time ago, or the start."""
        kept = self._engine.look_back
        if kept.older is not None or self._given is None:
            return kept.older or kept.only
        context = Context.initial(self.system)
        steps = [(set_parameter, *item) for item in self._changed["parameters"].items()]
        steps += [(set_initial, *item) for item in self._changed["initial"].items()]
        for how, name, value in [*steps, *self._given]:
            how(self.system, context, name, value)
        return context

    def snapshot(self) -> Context:
        """A copy of everything that changes."""
        self.advance(self.time)
        return self._engine.context.copy()

    def snapshot_of_start(self) -> Context:
        """The context as it is, with nothing executed for the present instant."""
        return self._engine.context.copy()

    def restore(self, snapshot: Context) -> None:
        """Go back to a snapshot of this diagram; rows logged after its time are dropped."""
        if not isinstance(snapshot, Context):
            raise PlantloopError(
                f"restore({snapshot!r}): expected what Simulation.snapshot returned.",
                value=snapshot,
                hint="A file is read with Simulation.load.",
            )
        self._advancing.refuse_changes("restore")
        context = self._engine.context
        if (fault := next(shape_faults(snapshot, self.system), None)) is not None:
            raise PlantloopError(f"this snapshot was taken of another diagram: {fault}.")
        here, there = context.built_with or {}, snapshot.built_with or {}
        if other := [name for name in here if name in there and here[name] != there[name]]:
            raise PlantloopError(
                f"this snapshot was taken of '{self.system.name}' built with another '{other[0]}'.",
                path=other[0],
                hint="Restore it in a simulation with the same structural parameters.",
            )
        context.assign(snapshot)
        self._whole = snapshot.t == 0.0 and not snapshot.started
        self._changed_on_the_way()
        self._kept = self._logged().before(context.t)
        later = None if self._times is None else self._times[self._times > context.t]
        self._engine.start_log([*self._names, *self._hidden], later)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot to a file (.npz), from which another process can continue, bit for bit."""
        snapshot_file.save(path, self.snapshot(), self.system)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file that `save` wrote for the same diagram; anything else is refused.

        The file contains the parameters, but no settings such as the solver and the seed.
        """
        context, instances = self._engine.context, self._engine.instances
        before = context.copy()
        try:
            self.restore(snapshot_file.load(path, self.system, instances.names))
        except PlantloopError:
            context.assign(before)  # a block could not put its part back
            raise

    def close(self) -> None:
        """End the run for good and close opaque blocks such as devices. The result stays available."""
        self._engine.instances.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- result ----------------------------------------------------------------------------------
    def log(self, times: Sequence[float] | np.ndarray | None) -> None:
        """Choose the instants [s] to log from now on; None logs every step, as at the beginning.

        Raises
        ------
        PlantloopError     no list of times, not finite, decreasing, or before the present
        """
        self._log_at(None if times is None else given_times(times, self.time))

    def _log_at(self, times: np.ndarray | None) -> None:
        self._advancing.refuse_changes("log")
        self._times = times
        if self._engine.context.started:
            self._kept = self._logged()
        self._engine.start_log([*self._names, *self._hidden], self._times)

    def _logged(self) -> Logged:
        newest = self._engine.logged()
        return newest if self._kept is None else self._kept.then(newest)

    def result(self, complete: bool = True, message: str = "") -> Result:
        """What was logged so far; the message is that of a stop event, if one ended the run.

        complete : did the run reach its end? message : another one
        """
        self._advancing.refuse_looks("result")
        complete = flag(complete, "complete")
        if not isinstance(message, str):
            raise PlantloopError(f"message is {shown(message)}, expected a text.", value=message)
        logged = self._logged()
        if watches(self.system):
            warn_of_watched(self.system, logged.events)
            warn_of_early(self.system, logged.events)
            if self._whole:
                warn_of_unmet(self.system, logged.events, self._engine.context.signs)
        self._ranges.warn(logged, self._engine.context.p)
        logged = strip(logged, self._hidden)
        logged.freeze()
        return Result.of_run(
            {
                "events": lambda: checked_events(logged.events),
                "settings": self._all_settings(),
                "statistics": self._statistics(),
            },
            name=self.system.name,
            time=logged.time,
            signals=MappingProxyType(logged.signals),
            tree=self.system.tree(self._names),
            ticks_of=MappingProxyType(logged.ticks),
            complete=complete,
            message=message or self._engine.context.stopped,
            origin=self._origin,
            coupling=self._engine.coupling(),
            drawing=None,
        )

    def live_plot(
        self, *names: str | Sequence[str], window: float | None = None, show: bool = True
    ) -> LivePlot:
        """A figure of signals that follows this simulation, in a window or a notebook's cell.

        ::

            live = sim.live_plot(["ref.y", "plant.theta"], "controller.u", window=5.0)
            live.run(20.0)                      # or sim.advance(...) and live.update()

        names : as in `Result.plot`; window : how many of the newest seconds are shown, None for all
        show : False makes a figure (``live.figure``) without displaying it

        Raises
        ------
        PlantloopError      no such signal
        """
        from cosim.result.live_plot import LivePlot  # Matplotlib only where something is drawn

        return LivePlot(self, names, window, show)

    def _all_settings(self) -> Callable[[], Mapping[str, SettingValue]]:
        """A function that gives the settings for a result; it keeps nothing of the run."""
        given = {
            name: SettingValue(plain(np.asarray(value)), f"{kind}=")
            for kind, values in self.given.items()
            for name, value in values.items()
        }
        engine = self._engine
        return partial(settings_of, self.system, self.settings, engine.name, engine.why, given)

    def _statistics(self) -> Callable[[], Mapping[str, Any]]:
        """A function that gives the statistics for a result; it keeps nothing of the run."""
        engine, system = self._engine, self.system
        ticks = tuple(engine.context.ticks)
        counters, wall = engine.counters.copy(), self._wall.statistics(engine)
        return partial(statistics_of, system, self.time, wall, counters, ticks)


Simulation.__doc__ = with_texts(Simulation.__doc__)


def check_log(sim: Simulation, begin: float, until: float, times: np.ndarray | None) -> None:
    """Refuse a log that does not fit into memory, where its number of rows is known before the run."""
    settings, system = sim.settings, sim.system
    rows, columns = float(0 if times is None else len(times)), system.tree(sim._names).width
    if times is None and len(system.x0) and not settings.adaptive:
        rows = (until - begin) / settings.step
    if rows * (1 + columns) <= SMALL:
        return
    check_memory(
        8.0 * rows * (1 + columns), f"a log of {rows:.3g} rows of {columns} numbers",
        "Log less often (log_every=), or fewer signals (signals=).",
    )  # fmt: skip


@takes_settings
def simulate(
    diagram: Diagram | Block | System,
    until: float | None = None,
    *,
    settings: RunSettings | None = None,
    initial: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    log_every: Rate | str | None = None,
    log_at: Sequence[float] | None = None,
    signals: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    **keywords: Unpack[Keywords],
) -> Result:
    """Run a diagram from t = 0 to `until` [s] and return what was logged.

    Parameters
    ----------
    log_every : s, or "step"              log at multiples of an interval, or after every step and everything
                                          due at its end; default a thousandth of the run
    log_at : (n,) s                       log exactly at these instants
    inputs : dict                         the diagram's own inputs: constant, ``(times, values)``, a function
                                          of time, a pandas Series; or a DataFrame: see `cosim.driven`
    progress : callable, or True          called with the time [s] after every stop; True shows a bar
    initial, parameters, signals          as for `Simulation`
    settings : RunSettings                several of the following at once; each may also be given by itself
    **settings

    Names are "block.port", "sub/block.port" inside a subsystem, "block.port[i]" for one component; a block
    alone is called "plant".

    Raises
    ------
    SimulationError     the run stopped before its end; ``error.result`` is the Result up to there, and
                        ``error.before`` a snapshot from shortly before, as `cosim.replay` takes it

    Ctrl-C ends the run and returns what was computed, with ``complete=False``.
    """
    if until is None:
        raise PlantloopError(
            "until is missing, expected a finite time of zero or more [s].",
            hint="Write simulate(d, until=10.0).",
        )
    if not (is_number(until) and math.isfinite(until) and until >= 0):
        raise PlantloopError(
            f"until is {shown(until)}, expected a finite time of zero or more [s].", value=until
        )
    times = log_times(0.0, float(until), log_every, log_at)
    origin, constants = driven(diagram, inputs)
    settings = RunSettings.of(settings, **keywords)
    sim = Simulation(origin, settings=settings, initial=initial, parameters=parameters, signals=signals)
    check_log(sim, 0.0, float(until), times)
    with sim:
        for name, value in constants.items():
            sim.set_input(name, value)
        sim._log_at(times)
        with contextlib.suppress(KeyboardInterrupt):
            sim.advance(until, progress)
            return sim.result()
        return sim.result(complete=False, message=f"interrupted at t={sim.time:.9g} s")


__all__ = ["Simulation", "SimulationError", "simulate"]
