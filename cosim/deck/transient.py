"""Simulate with analysis_type Transient: one interval of time, from the present state of the deck."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.contract.rate import rational
from blocks.errors import PlantloopError, shown
from cosim.deck.outcome import DeckStep
from cosim.engines.methods.solvers import STIFF
from cosim.result.result import Result
from cosim.run.memory import check_memory
from cosim.settings import RunSettings, misplaced
from plant.elements import Param_Transient, Reference_Array, Sensor_Event, Simulate

if TYPE_CHECKING:
    from cosim.deck.stage import Stage

PRINT_INTERVAL = Fraction(1, 100)  # s; the format's default
SOLVERS = {"ABAM": "dopri5", "MSTIFF": STIFF, "VSTIFF": STIFF, "DSTIFF": STIFF}
"""Ours for each integrator_type; a name that is not here takes the default."""


NO_RECURSION = ("ABAM", "VSTIFF", "MSTIFF")
"""Integrators with which no variable may be defined by itself."""


class Halted(Exception):
    """The deck ends before its last command, by a sensor with ``halt`` or Ctrl-C; has the step that ended."""

    def __init__(self, why: str, step: DeckStep, complete: bool = True) -> None:
        super().__init__(why)
        self.step, self.complete = step, complete


def settings_of(stage: Stage) -> RunSettings:
    """Settings given for the run, and otherwise those of Param_Transient that apply to the solver."""
    given, element = stage.options.settings, stage.parameters.get(Param_Transient.tag)
    if not isinstance(element, Param_Transient):
        return given
    values: dict[str, Any] = {"atol": element.integr_tol, "max_step": element.h_max}
    origins = dict.fromkeys(values, element.where)
    if element.integrator_type:
        if "solver" not in given.origins:
            _refuse_recursion(stage, element)
        values["solver"] = SOLVERS.get(element.integrator_type.upper(), RunSettings().solver)
        origins["solver"] = f"{element.where}, integrator_type={element.integrator_type}"
    values = {n: v for n, v in values.items() if v is not None and n not in given.origins}
    while (wrong := misplaced(values.get("solver", given.solver), values)) is not None:
        del values[wrong]
    return replace(given, **values, origins={n: origins[n] for n in values} | dict(given.origins))


def _refuse_recursion(stage: Stage, element: Param_Transient) -> None:
    """Variables defined by themselves are not allowed with some integrators.

    Source: MotionSolve reference guide, Reference_Variable, comment 6.
    """
    integrator = (element.integrator_type or "").upper()
    recursive = stage.plant.recursive
    if integrator in NO_RECURSION and recursive:
        raise PlantloopError(
            f"{recursive[0].where}: is defined by itself, which is not allowed with "
            f"integrator_type={element.integrator_type} ({element.where}).",
            path=recursive[0].where,
            value=[v.id for v in recursive],
            hint='Write integrator_type="DSTIFF", or the variable as an equation with is_implicit="true".',
        )


def transient(stage: Stage, command: Simulate) -> DeckStep:
    """Simulate to the command's end time.

    Raises
    ------
    PlantloopError     an end that is not after the present time
    SimulationError    the run stopped; ``error.result`` holds what was computed
    """
    start, end = stage.time, end_of(stage, command)
    if not end > start:
        raise PlantloopError(
            f"{command.where}: end_time={end:g} is not after the present time, {start:g} s, which the "
            "simulations before it reached.",
            path=command.where,
            value=end,
            hint="Raise end_time, or write duration.",
        )
    sim = stage.simulation(settings_of(stage))
    sim.log(None if command.print_increment else times_of(stage, command, start, end))
    with _interrupted() as stopped:
        for stop in [*_restarts(stage, command, start, end), end]:
            sim.advance(stop, stage.options.progress)
            if sim.time < stop:
                break
            if stop < end:  # the integrator forgets the steps it has made
                here = sim.snapshot()
                here.step = 0.0
                sim.restore(here)
    result = sim.result(complete=not stopped, message="interrupted" if stopped else "")
    halted = _halted(stage, result)
    message = "" if stopped else halted or result.message
    result = _thinned(result, command.print_increment)
    stage.go_on_from(sim.snapshot() if not stopped else sim.snapshot_of_start())
    text = f"simulated from {start:g} to {sim.time:.9g} s in {result.statistics['steps']} steps"
    if stage.dof == 0:
        text += " (kinematic: no degrees of freedom)"
    step = DeckStep(command, sim.time, f"{text}; {message}" if message else text, result)
    if stopped:
        raise Halted(f"interrupted at t={sim.time:.9g} s", step, complete=False)
    if halted:
        raise Halted(halted, step)
    return step


def _halted(stage: Stage, result: Result) -> str:
    """What a sensor with ``halt`` says that fired, "" if none did; one that returns may do so with it."""
    fired = {event.name for event in result.events}
    said = {event.stop for event in stage.system.events if event.stop and event.name in fired}
    halting = (sensor.stop_message for sensor in stage.model.all(Sensor_Event) if sensor.halt)
    return next((text for text in halting if text in said), "")


@contextlib.contextmanager
def _interrupted() -> Iterator[list[str]]:
    """Let Ctrl-C end the simulation; the list then holds the reason."""
    why: list[str] = []
    try:
        yield why
    except KeyboardInterrupt:
        why.append("interrupted")


def end_of(stage: Stage, command: Simulate) -> float:
    """The end of a simulation [s]."""
    if command.duration is not None:
        return stage.time + command.duration
    return stage.time if command.end_time is None else command.end_time


def times_of(stage: Stage, command: Simulate, start: float, end: float) -> np.ndarray:
    """Instants of output [s], including the end."""
    if command.print_array_id is not None:
        array = stage.model.find(Reference_Array, command.print_array_id, command, "print_array_id")
        inside = sorted({t for t in array.values if start <= t <= end})
        return np.array([*inside, *([end] if end not in inside else [])])
    if command.num_steps is not None:
        _check_number(command, command.num_steps + 1)
        return np.array([start + (end - start) * k / command.num_steps for k in range(command.num_steps + 1)])
    every = rational(command.print_interval, "print_interval") if command.print_interval else PRINT_INTERVAL
    first = Fraction(start).limit_denominator(10**6)  # 0.3 is 3/10; after an event it is what it is
    if float(first) != start:
        first = Fraction(start)
    count = int((Fraction(end) - first) / every + Fraction(1, 10**9))
    _check_number(command, count + 1)
    times = [float(first + k * every) for k in range(count + 1)]
    if times[-1] < end * (1 - 1e-12):
        times.append(end)
    times[-1] = min(times[-1], end)
    return np.array(times)


def _check_number(command: Simulate, count: int) -> None:
    """Refuse more instants of output than fit into memory."""
    what = f"{command.where}: output at {shown(count)} instants"
    check_memory(100.0 * min(count, 2**999), what, "Lengthen print_interval, or write fewer num_steps.")


def _restarts(stage: Stage, command: Simulate, start: float, end: float) -> list[float]:
    if command.restart_array_id is None:
        return []
    array = stage.model.find(Reference_Array, command.restart_array_id, command, "restart_array_id")
    return sorted({t for t in array.values if start < t < end})


def _thinned(result: Result, every: int | None) -> Result:
    """Every n-th of the logged steps, and the last."""
    if not every:
        return result
    rows = np.unique([*range(0, len(result.time), every), len(result.time) - 1])
    signals = {name: values[rows] for name, values in result.signals.items()}
    return replace(result, time=result.time[rows], signals=signals)
