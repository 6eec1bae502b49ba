"""Simulate with analysis_type Transient: one stretch of time, from where the deck stands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from blocks.contract.rate import rational
from blocks.errors import PlantloopError
from cosim.deck.outcome import DeckStep
from cosim.engines.methods.solvers import solver as solver_named
from cosim.result.record import Setting
from cosim.result.result import Result
from cosim.simulation import DEFAULT_SOLVER
from plant.elements import Param_Transient, Reference_Array, Sensor_Event, Simulate

if TYPE_CHECKING:
    from cosim.deck.stage import Stage

PRINT_INTERVAL = Fraction(1, 100)  # s; the format's default
STIFF = "rodas4"
SOLVERS = {"ABAM": DEFAULT_SOLVER, "MSTIFF": STIFF, "VSTIFF": STIFF, "DSTIFF": STIFF}
"""Ours for each integrator_type; a name that is not here is told and takes the default."""


class Halted(Exception):
    """The deck ends before its last command: a sensor with ``halt``, or Ctrl-C; with the step that ended."""

    def __init__(self, why: str, step: DeckStep, complete: bool = True) -> None:
        super().__init__(why)
        self.step, self.complete = step, complete


@dataclass(frozen=True)
class Settings:
    """Solver settings of a transient simulation, and where each comes from."""

    solver: str
    rtol: float | None
    atol: float | None
    max_step: float | None
    origins: dict[str, str]

    @staticmethod
    def of(stage: Stage) -> Settings:
        """Those of Param_Transient, and those given for the run, which win."""
        given, element = stage.options, stage.parameters.get(Param_Transient.tag)
        origins = {}
        solver, atol, longest = DEFAULT_SOLVER, None, None
        if isinstance(element, Param_Transient):
            if element.integrator_type:
                solver = SOLVERS.get(element.integrator_type.upper(), DEFAULT_SOLVER)
                origins["solver"] = f"{element.where}, integrator_type={element.integrator_type}"
            atol, longest = element.integr_tol, element.h_max
            origins |= {n: element.where for n, v in (("atol", atol), ("max_step", longest)) if v is not None}
        if given.solver is not None:
            solver, origins["solver"] = given.solver, "argument"
        if not solver_named(solver).adaptive:
            return Settings(solver, None, None, None, origins)
        return Settings(solver, given.rtol, atol, longest, origins)


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
    settings = Settings.of(stage)
    sim = stage.simulation(
        solver=settings.solver, rtol=settings.rtol, atol=settings.atol, max_step=settings.max_step
    )
    sim.log(None if command.print_increment else times_of(stage, command, start, end))
    message = ""
    with _interrupted() as stopped:
        for stop in [*_restarts(stage, command, start, end), end]:
            sim.advance(stop, stage.options.progress)
            if sim.time < stop:
                break
            if stop < end:  # the integrator forgets its history
                here = sim.snapshot()
                here.step = 0.0
                sim.restore(here)
    result = sim.result(complete=not stopped, message="interrupted" if stopped else "")
    if result.message and not stopped:
        message = result.message
    result = _told(_thinned(result, command.print_increment), settings)
    stage.go_on_from(sim.snapshot() if not stopped else sim.snapshot_of_start())
    text = f"simulated from {start:g} to {sim.time:.9g} s in {result.statistics['steps']} steps"
    if stage.dof == 0:
        text += " (kinematic: no degrees of freedom)"
    step = DeckStep(command, sim.time, f"{text}; {message}" if message else text, result)
    if stopped:
        raise Halted(f"interrupted at t={sim.time:.9g} s", step, complete=False)
    if message and (sensor := _sensor(stage, message)) is not None and sensor.halt:
        raise Halted(message, step)
    return step


@contextlib.contextmanager
def _interrupted() -> Iterator[list[str]]:
    """Ctrl-C ends what runs; the list then holds why."""
    why: list[str] = []
    try:
        yield why
    except KeyboardInterrupt:
        why.append("interrupted")


def end_of(stage: Stage, command: Simulate) -> float:
    """When a simulation ends [s]."""
    if command.duration is not None:
        return stage.time + command.duration
    return stage.time if command.end_time is None else command.end_time


def times_of(stage: Stage, command: Simulate, start: float, end: float) -> np.ndarray:
    """Instants of output [s], the end among them."""
    if command.print_array_id is not None:
        array = stage.model.find(Reference_Array, command.print_array_id, command, "print_array_id")
        inside = sorted({t for t in array.values if start <= t <= end})
        return np.array([*inside, *([end] if end not in inside else [])])
    if command.num_steps is not None:
        return np.array([start + (end - start) * k / command.num_steps for k in range(command.num_steps + 1)])
    every = rational(command.print_interval, "print_interval") if command.print_interval else PRINT_INTERVAL
    first = Fraction(start).limit_denominator(10**6)  # 0.3 is 3/10; after an event it is what it is
    if float(first) != start:
        first = Fraction(start)
    count = int((Fraction(end) - first) / every + Fraction(1, 10**9))
    times = [float(first + k * every) for k in range(count + 1)]
    if times[-1] < end * (1 - 1e-12):
        times.append(end)
    times[-1] = min(times[-1], end)
    return np.array(times)


def _restarts(stage: Stage, command: Simulate, start: float, end: float) -> list[float]:
    if command.restart_array_id is None:
        return []
    array = stage.model.find(Reference_Array, command.restart_array_id, command, "restart_array_id")
    return sorted({t for t in array.values if start < t < end})


def _thinned(result: Result, every: int | None) -> Result:
    """Every n-th of the steps that were logged, and the last."""
    if not every:
        return result
    rows = np.unique([*range(0, len(result.time), every), len(result.time) - 1])
    signals = {name: values[rows] for name, values in result.signals.items()}
    return replace(result, time=result.time[rows], signals=signals)


def _told(result: Result, settings: Settings) -> Result:
    """The result with where the deck set what."""
    found = dict(result.settings)
    for name, origin in settings.origins.items():
        if name in found:
            found[name] = Setting(found[name].value, origin)
    return replace(result, settings=found)


def _sensor(stage: Stage, message: str) -> Sensor_Event | None:
    """The sensor whose stop a message tells of."""
    for sensor in stage.model.all(Sensor_Event):
        if message.startswith(f"{sensor.where}: "):
            return sensor
    return None
