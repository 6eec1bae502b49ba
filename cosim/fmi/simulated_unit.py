"""A block of ours as a unit that steps itself: a run of its own, from one communication point to the next.

What an FMU of the block would be, without making one: its inputs are held over a step, its outputs sampled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.driven import DrivenBlock, Reached, UnitParameter, UnitPort
from blocks.contract.rate import Rate, Ticks
from cosim.block_alone import ALONE, around
from cosim.settings import RunSettings
from cosim.simulation import Simulation


@dataclass(frozen=True, eq=False)
class SimulatedUnit(Block):
    """A block that is coupled like an FMU for co-simulation.

    Inputs, outputs and parameters: those of the block.  Direct feedthrough: none.

    block : what is stepped; sample, offset : communication points [s]
    settings : how it is run between them; initial : its states at the start, by their names in it
    sizes : of its inputs by name, as wired; those not named have the sizes the block has by itself
    """

    block: Block
    sample: Rate
    offset: Rate = 0
    settings: RunSettings = field(default_factory=RunSettings)
    initial: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def define(self, b: Equations) -> None:
        """Define the block itself, for a run without a master."""
        self.block.define(b)

    def driven(self) -> Block:
        """A unit of a co-simulation master."""
        system = around(self.block, self.sizes).system()
        parameters = {name: (slot.initial, slot) for name, slot in system.parameters.items()}
        shaped = []
        for name, (values, slot) in parameters.items():
            whole = np.zeros(slot.shape)
            whole[slot.mask] = values
            shaped.append(UnitParameter(name.removeprefix(f"{ALONE}."), whole))
        return DrivenBlock(
            tuple(UnitPort(name, slot.size) for name, slot in system.inputs.items()),
            tuple(UnitPort(name, system.signal(s).size) for name, s in system.outports.items()),
            tuple(shaped),
            np.concatenate([np.zeros(0), *(slot.initial for slot in system.inputs.values())]),
            lambda: RunningUnit(self, tuple(q.name for q in shaped)),
            Ticks.of(self.sample, self.offset),
            type(self.block).__name__,
            endings=tuple(dict.fromkeys(text for text in system.stops if text)),
        )


class RunningUnit:
    """One run of a `SimulatedUnit` (a `SteppingUnit` of a master)."""

    slopes, rolls_back, variable_step = 0, True, True

    def __init__(self, of: SimulatedUnit, parameters: tuple[str, ...]) -> None:
        self._sim = Simulation(
            around(of.block, of.sizes), settings=of.settings, initial=of.initial, signals=[]
        )
        self._sim.log([])
        s = self._sim.system
        self._inputs = {name: slot.size for name, slot in s.inputs.items()}
        self._parameters = {name: s.parameters[f"{ALONE}.{name}"] for name in parameters}
        self._outputs = list(s.outports)
        self._begun, self._fresh = 0.0, self._sim.snapshot_of_start()

    def _give(self, u: np.ndarray) -> None:
        at = 0
        for name, size in self._inputs.items():
            self._sim.set_input(name, u[at : at + size])
            at += size

    def begin(self, t: float, u: np.ndarray, p: np.ndarray) -> None:
        """See `SteppingUnit.begin`."""
        self.tune(p)
        self._begun = t
        self._fresh = self._sim.snapshot_of_start()

    def exchange(self, u: np.ndarray) -> np.ndarray:
        """See `SteppingUnit.exchange`."""
        self._sim.restore(self._fresh)
        self._give(u)
        self._sim.advance(0.0)
        return self.outputs()

    def start(self) -> np.ndarray:
        """See `SteppingUnit.start`."""
        self._sim.advance(0.0)
        return self.outputs()

    def step(self, t: float, h: float, u: np.ndarray, slope: np.ndarray, curvature: np.ndarray) -> Reached:
        """See `SteppingUnit.step`."""
        self._give(u)
        self._sim.advance(t + h - self._begun)
        return Reached(self._sim.time + self._begun, self._sim.result().message if self._stopped else "")

    @property
    def _stopped(self) -> bool:
        return bool(self._sim.snapshot_of_start().stopped)

    def meet_in_loop(self) -> None:
        """See `SteppingUnit.meet_in_loop`: it is not visited."""

    def visit(self, u: np.ndarray) -> str:
        """See `SteppingUnit.visit`: its inputs are given over steps only."""
        return ""

    def outputs(self) -> np.ndarray:
        """See `SteppingUnit.outputs`."""
        return np.concatenate([np.zeros(0), *(np.ravel(self._sim.value(name)) for name in self._outputs)])

    def tune(self, p: np.ndarray) -> None:
        """See `SteppingUnit.tune`."""
        at = 0
        for name, slot in self._parameters.items():
            size = int(np.prod(slot.shape))
            self._sim.set_parameter(name, p[at : at + size].reshape(slot.shape))
            at += size

    def keep(self, room: Any = None) -> Any:
        """See `SteppingUnit.keep`."""
        return self._sim.snapshot()

    def restore(self, kept: Any) -> None:
        """See `SteppingUnit.restore`."""
        self._sim.restore(kept)

    def save(self) -> bytes:
        """See `SteppingUnit.save`."""
        with tempfile.TemporaryDirectory() as folder:
            self._sim.save(Path(folder) / "unit.npz")
            return (Path(folder) / "unit.npz").read_bytes()

    def load(self, state: bytes) -> None:
        """See `SteppingUnit.load`."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "unit.npz").write_bytes(state)
            self._sim.load(Path(folder) / "unit.npz")

    def close(self) -> None:
        """See `SteppingUnit.close`."""
        self._sim.close()
