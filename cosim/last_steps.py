"""The last steps before a failure once more, in the reference engine, with every step kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blocks.arguments import is_number, number
from blocks.contract.block import Block
from blocks.errors import PlantloopError, SimulationError, shown
from cosim.diagram import Diagram
from cosim.result.result import Result
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.simulation import Simulation
from cosim.system import System

STEPS = 20  # before the failure that are shown
MOST = 100_000  # steps that can be asked for


@dataclass(frozen=True)
class Replay:
    """What the last steps were.

    result : every step, from the reference engine: the states, and all signals that a run logs
    message : what it failed with now; "" where it did not
    begin : s, where the reference engine took over; failure : s, where the run had failed
    """

    result: Result
    message: str
    begin: float
    failure: float

    def __str__(self) -> str:
        """A line per step and event, and what it failed with."""
        lines = [f"{what}: {text}" for what, text in self.rows()]
        return "\n".join([*lines, *([f"failed: {self.message}"] if self.message else [])])

    def rows(self, most: int = 8) -> Iterator[tuple[str, str]]:
        """A line per step and event: what it is, and its text with up to `most` numbers."""
        r = self.result
        yield "from", f"t = {self.begin:.9g} s, reference engine, every step"
        names = [(n, k) for n in r for k in range(r[n].shape[1])][:most]
        times = r.time
        events = list(r.events)
        for i in range(len(times)):
            size = f"step {times[i] - times[i - 1]:.3g} s: " if i else ""
            while events and events[0].time <= times[i]:
                event = events.pop(0)
                yield "event", f"{event.name} at t = {event.time:.9g} s"
            numbers = ", ".join(f"{n}[{k}] = {r[n][i, k]:.9g}" for n, k in names)
            yield f"t = {times[i]:.9g}", size + numbers
        for event in events:
            yield "event", f"{event.name} at t = {event.time:.9g} s"
        if not self.message:
            yield "end", f"it did not fail again up to t = {times[-1]:.9g} s"


def replay(
    diagram: Diagram | Block | System,
    before: Context | SimulationError,
    failure: float | None = None,
    *,
    settings: RunSettings | None = None,
    steps: int = STEPS,
) -> Replay:
    """Run again from a snapshot towards a failure, and keep the last steps before it.

    ::

        try:
            simulate(d, until=10.0)
        except SimulationError as error:
            print(replay(d, error))

    Parameters
    ----------
    diagram : Diagram, Block or System      what ran
    before : the error of the run, or a snapshot: ``error.before``, or any other of this diagram
    failure : s                             where it failed; None: where the error says
    settings : RunSettings                  those of the run; the last steps are those of the reference engine
    steps : int                             how many steps before the failure to keep

    Raises
    ------
    PlantloopError      no snapshot, or one of another diagram
    """
    if isinstance(before, SimulationError):
        diagram, failure = _that_ran(diagram, before), before.time if failure is None else failure
        before = before.before
    if not isinstance(before, Context):
        raise PlantloopError(
            f"before is {shown(before)}, expected a snapshot: error.before of a run that failed.",
            value=before,
        )
    if not is_number(steps) or not 1 <= steps <= MOST or int(steps) != steps:
        raise PlantloopError(
            f"steps is {shown(steps)}, expected a whole number from 1 to {MOST}.", value=steps
        )
    failure = number(failure, "failure", "the time [s] at which the run failed", least=0.0)
    settings = RunSettings() if settings is None else RunSettings.of(settings)
    begin = _from_close_by(diagram, before, failure, settings, steps)
    slow = RunSettings.of(settings, engine="reference", wall_limit=None)
    with Simulation(diagram, settings=slow) as sim:
        names = [*sim.system.states, *(n for n in sim.names if n not in sim.system.states)]
    with Simulation(diagram, settings=slow, signals=names) as sim:
        sim.restore(begin)
        sim.log(None)
        message = ""
        try:
            sim.advance(failure + 2.0 * (failure - begin.t))
        except PlantloopError as error:
            message = str(error)
        return Replay(sim.result(complete=not message, message=message), message, begin.t, failure)


def _that_ran(diagram: Diagram | Block | System, error: SimulationError) -> Diagram | Block | System:
    """What failed, which parameters of the run may have built anew."""
    origin = None if error.result is None else error.result.origin
    return diagram if origin is None else origin[1]


def _from_close_by(
    diagram: Diagram | Block | System, before: Context, failure: float, settings: RunSettings, steps: int
) -> Context:
    """A snapshot so many steps before the failure, made with the engine of the run."""
    with Simulation(diagram, settings=settings, signals=[]) as sim:
        sim.restore(before)
        sim.log(None)
        try:
            sim.advance(failure)
            times = sim.result().time
        except PlantloopError as error:
            times = sim.result().time if error.result is None else error.result.time
        ends = np.unique(times)
        if len(ends) <= steps or ends[-1 - steps] <= before.t:
            return before
        target = float(ends[-1 - steps])
    with Simulation(diagram, settings=settings, signals=[]) as sim:
        sim.restore(before)
        try:
            sim.advance(target)
        except PlantloopError:
            return before
        return sim.snapshot()
