"""A run under a user's control: forwards to the next stop, or back to an earlier one; the log is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.rate import Rate
from blocks.errors import PlantloopError, near_miss
from cosim.engines.reference.log import log_times
from cosim.result.result import Result
from cosim.run.context import Context
from cosim.scenario.handles import Opened
from cosim.scenario.replay import Change, Recording, put
from cosim.simulation import Simulation, check_log
from cosim.viewer.arrow_data import Flat
from cosim.viewer.page_data import blocks_of
from cosim.viewer.server.arrows_now import ArrowsNow
from plant import Plant
from plant.equations.pushes import push_ports
from plant.scene import Scene, scene_of

MOST_KEPT = 2000  # stops one can go back to, thinned where there are more
MOST_BYTES = 2**27


@dataclass(frozen=True)
class KeptStop:
    """A stop to go back to: the context, and the lengths of everything that grows."""

    context: Context
    next_multiple: int
    rows: int
    stops: int
    changes: int


@dataclass(frozen=True)
class SliderHandle:
    """A number or array that can be changed, with its value; kind: "input", "open input" or "parameter".

    What of `value` is structural is nan.
    """

    name: str
    label: str
    kind: str
    value: np.ndarray


class WatchedRun:
    """A run under a user's control; one thread at a time may call it.

    Parameters
    ----------
    sim : Simulation            of the system of `opened`, at its start
    opened : Opened             the diagram with handles
    every : s                   it stops at all multiples of this
    until : s                   where it ends
    log : log_every, log_at     as for `cosim.simulate`
    forces : function           of an observed plant, its flat system: arrows of forces and reactions
                                that the run does not have itself; None: they are left out
    """

    def __init__(
        self,
        sim: Simulation,
        opened: Opened,
        every: Rate,
        until: float,
        log: tuple[Any, Any],
        forces: Flat | None = None,
    ) -> None:
        self.sim, self.opened, self.until, self.log = sim, opened, float(until), log
        self.recording = Recording(every)
        self.problem = ""  # why it cannot go on from here
        blocks = blocks_of(opened.netlist)
        plants = {path: block for path, block in blocks if isinstance(block, Plant)}
        self.scenes: dict[str, Scene] = {path: scene_of(block) for path, block in plants.items()}
        pushed = {
            f"{push.plant}.{push_ports(plants[push.plant].mechanism)[push.link]}": push.signal
            for push in opened.pushes
        }
        self.arrows = {path: ArrowsNow(block, path, sim, pushed, forces) for path, block in plants.items()}
        self.tree = sim.system.tree(sim.names)
        width = 1 + self.tree.width + sum(sum(self.widths(path)) for path in self.scenes)
        self.table = np.zeros((256, width))  # a row: time, signals, poses and arrows of all plants
        self.rows = 0
        self._next = 1
        self.kept: list[KeptStop] = []
        times = log_times(0.0, self.until, *log)
        check_log(sim, 0.0, self.until, times)
        sim.log(times)
        sim.advance(0.0)
        self._look()

    # --- looking ----------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        """Present time [s]."""
        return self.sim.time

    def widths(self, path: str) -> tuple[int, int]:
        """Numbers of a row for the poses and for the arrows of a plant."""
        return 12 * len(self.scenes[path].mechanism.links), self.arrows[path].width

    @property
    def ended(self) -> str:
        """The reason why it cannot continue; empty if it can."""
        stopped = self.problem or self.kept[-1].context.stopped
        return stopped or (f"the end, {self.until:g} s" if self.time >= self.until else "")

    @property
    def next_time(self) -> float:
        """The stop [s] that `forward` goes to."""
        return min(self.recording.stop(self._next), self.until)

    def sliders(self) -> list[SliderHandle]:
        """Everything that can be changed besides pushes, inputs first."""
        pushes = {push.parameter for push in self.opened.pushes}
        found = []
        for name, value in self.values().items():
            port = self.opened.opened.get(name)
            kind = "parameter" if port is None else "open input"
            if name in self.sim.system.inputs:
                kind = "input"
            if name not in pushes:
                found.append(SliderHandle(name, port or name, kind, value))
        return sorted(found, key=lambda s: s.kind == "parameter")

    def values(self) -> dict[str, np.ndarray]:
        """Present values of all inputs and parameters; structural entries are nan."""
        system, context = self.sim.system, self.sim.snapshot_of_start()
        found = {name: np.array(context.h[slot.index]) for name, slot in system.inputs.items()}
        for name, parameter in system.parameters.items():
            array = np.full(parameter.shape, np.nan)
            array[parameter.mask] = context.p[parameter.index]
            found[name] = array
        return found

    def result(self) -> Result:
        """The results logged so far."""
        return self.sim.result(complete=not self.problem, message=self.problem)

    # --- steering ---------------------------------------------------------------------------------
    def forward(self) -> None:
        """Advance to the next multiple of the interval."""
        if not self.ended:
            target = self.next_time
            self._next += 1
            self._advance(target)

    def step(self) -> None:
        """Go on to the next tick or listed instant, or multiple of the interval where that comes first."""
        stop = self.sim.next_stop
        if stop >= self.next_time:
            self.forward()
        elif not self.ended:
            self.recording.stops.append(stop)
            self._advance(stop)

    def back(self, to: float | None = None) -> None:
        """Go back to the stop before the present one, or to the newest one up to an instant [s].

        Parameters, inputs and what was recorded are as they were then.
        """
        if to is None and len(self.kept) > 1:
            self.kept.pop()
        while len(self.kept) > 1 and to is not None and self.kept[-1].context.t > to:
            self.kept.pop()
        last = self.kept[-1]
        self.sim.restore(last.context)
        self._next, self.rows, self.problem = last.next_multiple, last.rows, ""
        del self.recording.stops[last.stops :]
        del self.recording.changes[last.changes :]

    def reset(self) -> None:
        """Go back to the start; changes are kept, but pushes are released."""
        now = {slider.name: slider.value for slider in self.sliders()}
        self.back(0.0)
        before = self.values()
        for name, value in now.items():
            if value.tobytes() != before[name].tobytes():
                self.change(name, value)

    def change(self, name: str, value: Any) -> None:
        """Set a parameter or an input, from now on.

        Raises
        ------
        PlantloopError      there is none, or the value does not fit
        """
        system = self.sim.system
        if name not in system.inputs and name not in system.parameters:
            near = near_miss(name, [*system.inputs, *system.parameters])
            raise PlantloopError(f"no parameter and no input '{name}'; {near}", value=name)
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise PlantloopError(f"'{name}' got something else than numbers.", value=value) from None
        if name in system.parameters and array.shape == (slot := system.parameters[name]).shape:
            array = np.where(slot.mask, array, 0.0)
        put(self.sim, name, array)
        self.recording.add(Change(self.time, name, array.tolist()))

    def play_again(self, recording: Recording) -> None:
        """Repeat everything recorded in another run with the same interval, up to the end."""
        left = list(recording.changes)
        for stop in (0.0, *recording.all_stops(self.until)):
            if stop == self.next_time:
                self.forward()
            elif stop > 0.0:
                self.recording.stops.append(stop)
                self._advance(stop)
            while left and left[0].at <= self.time:
                self.change(left[0].name, left.pop(0).value)

    # --- inside -----------------------------------------------------------------------------------
    def _advance(self, to: float) -> None:
        try:
            self.sim.advance(to)
        except PlantloopError as error:
            self.problem = str(error)
        self._look()

    def _look(self) -> None:
        """Evaluate the present instant, and keep it to come back to."""
        if self.rows == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        self.table[self.rows] = self._row()
        self.rows += 1
        context, recording = self.sim.snapshot_of_start(), self.recording
        self.kept.append(
            KeptStop(context, self._next, self.rows, len(recording.stops), len(recording.changes))
        )
        size = 8 * sum(len(v) for v in (context.x, context.h, context.next, context.p, context.w)) + 2000
        if len(self.kept) > min(MOST_KEPT, max(20, MOST_BYTES // size)):
            half = len(self.kept) // 2
            self.kept[:half] = self.kept[:half:2]  # the first stays

    def _row(self) -> np.ndarray:
        values = [np.array([self.time]), *(self.sim.value(leaf.name) for leaf in self.tree.leaves)]
        for path, scene in self.scenes.items():
            names = [f"{path}.{name}" for name in scene.states if name]
            q = np.concatenate([np.zeros(0), *(self.sim.value(name) for name in names)])
            poses = scene.poses(q[None])
            values += [poses.ravel(), self.arrows[path].values(q, poses[0])]
        return np.concatenate(values)
