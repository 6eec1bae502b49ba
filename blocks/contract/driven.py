"""Blocks that step themselves, as a co-simulation master sees them.

A master lets such a *unit* step from one communication point to the next and writes its outputs. In the
system stands a `DrivenBlock` in its place: the ports and parameters of the unit, with outputs that are curves
in time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.rate import Ticks
from blocks.contract.units import UnitText


@dataclass(frozen=True)
class UnitPort:
    """A port of a unit; what is not `continuous`, such as an integer, is held and never extrapolated.

    single : its numbers are of single precision inside, the unit rounds what it is given
    visited : an input that the unit is given in visits at its ticks, not over steps; an output that follows
        such inputs at once
    """

    name: str
    size: int = 1
    continuous: bool = True
    unit: UnitText = ""
    visited: bool = False
    single: bool = False


@dataclass(frozen=True)
class UnitParameter:
    """A parameter of a unit that a run may change."""

    name: str
    value: Any
    unit: UnitText = ""


@dataclass(frozen=True)
class Reached:
    """Where a step of a unit ended.

    time : s; ended : the message of a unit that asks to end the run there, else ""
    jumped : did continuous outputs jump on the way, so that their past says nothing of what comes?
    """

    time: float
    ended: str = ""
    jumped: bool = False


class SteppingUnit(Protocol):
    """One run's own unit. Inputs u (n,), outputs y (m,) and parameters p are its ports' one after the other.

    slopes : highest derivative of inputs it takes over a step (0: they are held)
    rolls_back : can `keep` and `restore`
    variable_step : takes steps of any length
    """

    @property
    def slopes(self) -> int:
        """See above."""

    @property
    def rolls_back(self) -> bool:
        """See above."""

    @property
    def variable_step(self) -> bool:
        """See above."""

    def begin(self, t: float, u: np.ndarray, p: np.ndarray) -> None:
        """Enter initialisation at t [s]."""

    def exchange(self, u: np.ndarray) -> np.ndarray:
        """During initialisation: outputs for these inputs."""

    def start(self) -> np.ndarray:
        """Leave initialisation; outputs at the start."""

    def step(self, t: float, h: float, u: np.ndarray, slope: np.ndarray, curvature: np.ndarray) -> Reached:
        """From t over h [s] with inputs u + slope s + curvature s^2 / 2 at t + s."""

    def meet_in_loop(self) -> None:
        """Handle events at the end of a step there, from now on, and go on with them in the visit behind it.

        Only of a unit that is visited, in a loop at one instant: others see what events make of its outputs.
        """

    def visit(self, u: np.ndarray) -> str:
        """Handle the instant where it stands, with the inputs (nv,) that are given in visits.

        Returns the message if it asks to end the run there, else "". Only of a unit with such inputs.
        """

    def outputs(self) -> np.ndarray:
        """Where it stands."""

    def tune(self, p: np.ndarray) -> None:
        """Parameters from now on."""

    def keep(self, room: Any = None) -> Any:
        """Its state, for `restore`; `room` is the result of an earlier call, which may be overwritten."""

    def restore(self, kept: Any) -> None:
        """Back to what `keep` gave."""

    def save(self) -> bytes:
        """Its state, for another process; a BlockError says what cannot be saved and the cure."""

    def load(self, state: bytes) -> None:
        """Put back what `save` gave, into a unit that has not begun or has."""

    def close(self) -> None:
        """Free what it holds."""


class CalledUnit(SteppingUnit, Protocol):
    """A unit that compiled code calls, which then reports what it has done."""

    def resume(self) -> None:
        """Compiled code goes on from the present state."""

    def pause(self) -> str:
        """Take over from compiled code; the message if the unit has asked to end the run, else ""."""

    def came_to(self, t: float) -> None:
        """Compiled code has stepped it to t [s]."""

    def stepped(self, end: float, status: int, bent: bool) -> Reached:
        """Compiled code has tried to step it to `end` [s], and the FMU returned this status.

        bent : were inputs not held over the step?
        """


@dataclass(frozen=True, eq=False)
class DrivenBlock(Block):
    """A unit whose outputs a master writes: y(t) = y_k + s (t - t_k) + c (t - t_k)^2 / 2.

    Between communication points t_k the master gives y_k, s and c; what is not continuous is held.
    With `sampled`, y(t) = y_k is a sampled signal: ports hold it as they do others, rates follow from it.
    Direct feedthrough: at communication points, where it has inputs that are `visited`, from these to all
    outputs. In a loop at a point some outputs are seen as they were before its visit: first those that are
    not `visited`, which follow its own events there, and lose nothing by it.

    inputs, outputs, parameters : its ports and what of it a run may change
    start : (n,) inputs before any are known
    make : gives a run its unit
    ticks : communication points [s]; name : of the unit in messages, such as its file
    calls : fills in a structure of compiled code what to call of a unit, and returns what must live as long;
        None where it cannot be called without Python
    endings : all messages with which it may end the run, see `Reached`
    given_before, given_anew : see `Block.start_only`, `Block.built_anew`
    inner_step : s; it makes steps of this size inside, so that it does not see shorter ones; 0: none is known
    stands_for : fields of the block in the diagram that it stands for
    numbers : see `Block.numbers_only`
    made_open : what `make` is where inputs of these names are left open; None: the same
    """

    inputs: tuple[UnitPort, ...]
    outputs: tuple[UnitPort, ...]
    parameters: tuple[UnitParameter, ...]
    start: np.ndarray
    make: Callable[[], SteppingUnit]
    ticks: Ticks
    name: str = field(default="", compare=False)  # a file's path is no part of what it is
    calls: Callable[[Any, Any], list[Any] | None] = lambda unit, table: None
    sampled: bool = False
    endings: tuple[str, ...] = ()
    given_before: Mapping[str, str] = field(default_factory=dict)
    given_anew: Mapping[str, str] = field(default_factory=dict)
    inner_step: float = 0.0
    stands_for: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    made_open: Callable[[frozenset[str]], Callable[[], SteppingUnit]] | None = None

    def opened(self, inputs: frozenset[str]) -> Block:
        """See `Block.opened`."""
        return self if self.made_open is None else replace(self, make=self.made_open(inputs))

    @property
    def drawn_fields(self) -> tuple[str, ...]:
        """See `Block.drawn_fields`."""
        return self.stands_for

    @property
    def start_only(self) -> Mapping[str, str]:
        """See `Block.start_only`."""
        return self.given_before

    @property
    def built_anew(self) -> Mapping[str, str]:
        """See `Block.built_anew`."""
        return self.given_anew

    @property
    def numbers_only(self) -> frozenset[str]:
        """See `Block.numbers_only`."""
        return self.numbers

    @property
    def n_inputs(self) -> int:
        """Scalars of all inputs."""
        return sum(port.size for port in self.inputs)

    @property
    def n_outputs(self) -> int:
        """Scalars of all outputs."""
        return sum(port.size for port in self.outputs)

    @property
    def smooth_outputs(self) -> np.ndarray:
        """(m,) bool: the scalars of continuous outputs."""
        none = np.zeros(0, bool)
        return np.concatenate([none, *(np.full(port.size, port.continuous) for port in self.outputs)])

    @property
    def visits(self) -> bool:
        """Whether it is visited at its ticks."""
        return any(port.visited for port in self.inputs)

    def define(self, b: Equations) -> None:
        """Declare ports, parameters and the curve of the outputs."""
        at, given = 0, []
        for port in self.inputs:
            start = self.start[at : at + port.size]
            u = b.input(port.name, size=port.size, unit=port.unit, unconnected=start)
            given += [u] if port.visited else []
            at += port.size
        for q in self.parameters:
            b.parameter(q.name, q.value, unit=q.unit, full=True)
        n = self.n_outputs
        if self.sampled:
            self._define_sampled(b, n, given)
            return
        y = self._visited(b, n, given) if given else b.mode("y", np.zeros(n), size=n)
        slope, curvature = (b.mode(name, np.zeros(n), size=n) for name in ("slope", "curvature"))
        begun = b.mode("since", 0.0, size=1)
        b.private(y, slope, curvature, begun)
        since = b.time - begun[0]
        place = 0
        for port in self.outputs:
            part = slice(place, place + port.size)
            moves = slope[part] * since + curvature[part] * since * since / 2
            if not port.continuous:  # its slope is 0, but keeps a visited output from being a sampled signal
                moves = slope[part] if given else 0.0
            b.output(port.name, y[part] + moves, unit=port.unit)
            place += port.size

    def _visited(self, b: Equations, n: int, given: list[Any]) -> Any:
        """Outputs that follow inputs at ticks; what moves by itself loses nothing by being a step late."""
        free = [port for port in self.outputs if not port.visited]
        late = ([port for port in free if port.continuous], free, self.outputs)
        names = tuple(frozenset(port.name for port in ports) for ports in late)
        return b.visited("y", np.concatenate(given), n, self.ticks, names)

    def _define_sampled(self, b: Equations, n: int, given: list[Any]) -> None:
        y = self._visited(b, n, given) if given else b.delivered("y", np.zeros(n), n, self.ticks)
        b.private(y)
        place = 0
        for port in self.outputs:
            b.output(port.name, y[place : place + port.size], unit=port.unit)
            place += port.size
