"""What a block declares: the plain records `Equations` collects and every engine reads.

Sizes are numbers of scalars, times are exact rationals in s, expressions are dense CasADi SX columns in
the block's own symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from blocks.contract.callback import PythonCall
from blocks.contract.memories import Memory
from blocks.contract.rate import Ticks
from blocks.contract.units import Found, PhysicalUnit

M = TypeVar("M", bound=Memory)


@dataclass(frozen=True)
class PortHold:
    """What a port does between samples of the signal that drives it.

    sampling_period : s; 0 takes the rate of whatever drives the port
    offset_time     : s; samples at offset_time + k*sampling_period
    hold_order      : degree of the extrapolating polynomial through the newest samples
    origin          : where the numbers come from ("file", "file default", "with_port")
    """

    sampling_period: Fraction = Fraction(0)
    offset_time: Fraction = Fraction(0)
    hold_order: int = 0
    origin: str = "default"


@dataclass(frozen=True)
class Input:
    """Input port; `inherits` when its size is that of the signal connected to it.

    unconnected : (size,) its value where nothing is connected; None: zeros
    """

    name: str
    size: int
    inherits: bool
    hold: PortHold | None
    symbol: ca.SX
    labels: tuple[str, ...] = ()
    units: Found = ()
    unconnected: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Output:
    """Output port: its value as an expression, and a label for each component (may be empty).

    An `auxiliary` output is logged, but is not part of the block's linear model.
    units : of its components, or one for all
    """

    name: str
    expression: ca.SX
    labels: tuple[str, ...]
    auxiliary: bool
    units: Found = ()

    @cached_property
    def size(self) -> int:
        """Number of components."""
        return int(self.expression.numel())


@dataclass(frozen=True)
class Parameter:
    """Tunable array; `mask` says which entries are run-time numbers (others are structural zeros)."""

    name: str
    value: np.ndarray
    mask: np.ndarray
    field: str | None  # dataclass field it is the value of, when it is exactly that
    symbol: ca.SX  # one symbol per True of mask, row-major
    unit: PhysicalUnit | None = None
    aliases: tuple[str, ...] = ()  # other names it may be set by

    @cached_property
    def size(self) -> int:
        """Number of run-time numbers."""
        return int(self.symbol.numel())


@dataclass(frozen=True)
class BlockEvent:
    """Zero crossing with resets: when `crossing` crosses zero in `direction`, each target takes its value.

    A stop event has a message instead of resets. `warning` is given at the end of a run in which the event
    fired, `unmet` of a run that began beyond the crossing, in its direction, and in which it did not fire.
    `rest` is the sign (-1 or 1) of a crossing that rests exactly on zero; by default that from which it can
    fire. An `eager` event also fires if a run starts beyond the crossing. One that is `timed` is due at the
    time that the memory of that name holds, and fires in the schedule of an instant, after what it reads and
    before what reads what it changes; those that `follow_time` do so together with it. `left` is the value
    that its only target leaves, where that is known beforehand: a branch that is refreshed at an instant has
    its new value already when the event comes. One that `acknowledges` marks as met what others answer that
    are due with it: crossings that depend on what it resets do not wait for it. Those that come `in_turn` and
    reset one memory are not applied together: the others wait for the first of them.
    """

    name: str
    crossing: ca.SX
    direction: int  # -1 falling, +1 rising, 0 both
    resets: tuple[tuple[str, ca.SX], ...] = ()
    stop: str = ""
    rest: int = 1
    warning: str = ""
    unmet: str = ""
    anew: tuple[str, ...] = ()  # events of the block whose signs are taken anew after its resets
    eager: bool = False
    by_value: bool = False  # the value of the crossing alone decides on the threshold, not how it moves
    timed: str = ""
    follow_time: bool = False
    left: float | None = None
    acknowledges: bool = False
    in_turn: bool = False


@dataclass(frozen=True)
class SampleHistory:
    """The newest samples of a signal that is extrapolated between them.

    newest : the sampled memory u_k; older : the discrete states u_k-1, u_k-2, ..., in this order
    ticks : when they are taken; the count since a restart of these ticks says how many of them count
    """

    newest: str
    older: tuple[str, ...]
    ticks: Ticks


@dataclass(frozen=True)
class Term:
    """A named part of the equations, evaluated only to explain a non-finite value."""

    text: str
    expression: ca.SX


@dataclass(frozen=True)
class ValueRange:
    """Between which numbers a value is meant to stay, looked at when a run is over.

    what : what it is, in words; otherwise : what happens beyond, and what to do
    """

    what: str
    value: ca.SX
    low: float
    high: float
    otherwise: str


@dataclass(frozen=True)
class ImplicitSolution:
    """Values y with r(y, ...) = 0: dy = -(dr/dy)^-1 dr, where dr is taken at fixed y.

    solution : (n, 1) SX        the expressions that find y
    residual : (n, 1) SX        r, written with these expressions, none of which may cancel in it
    factors : (k, 1) SX         what `solve` needs to know of dr/dy
    solve : function            (factors, right (n, c)) -> (n, c) solution of dr/dy dy = right, in MX
    """

    solution: ca.SX
    residual: ca.SX
    factors: ca.SX
    solve: Callable[[ca.MX, ca.MX], ca.MX]


@dataclass(frozen=True)
class Declared:
    """All that one shape of a block declares; immutable once traced.

    time : symbol of t [s]; ticks : the local rates, in order of use; tick_symbols : (3*len(ticks),)
    symbols [time of the last tick, number of ticks so far, number since holds restarted] per rate.
    clocks : those of `ticks` that go on in a conditional part, whether it is active or not
    counted_anew : those that are counted from 1 again where a part starts anew
    """

    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    memories: tuple[Memory, ...] = ()
    events: tuple[BlockEvent, ...] = ()
    invariants: tuple[ca.SX, ...] = ()
    terms: tuple[Term, ...] = ()
    ticks: tuple[Ticks, ...] = ()
    calls: tuple[PythonCall, ...] = ()  # Python functions inside continuous equations
    time: ca.SX = field(default_factory=lambda: ca.SX.sym("t"))
    tick_symbols: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    tolerances: tuple[float, ...] = ()  # of each expression in `invariants`
    invariant_names: tuple[tuple[str, ...], ...] = ()  # of each component of each, for messages
    histories: tuple[SampleHistory, ...] = ()
    states_logged: bool = False  # continuous states are in every log where none is chosen
    rounding: float = 0.0  # times what a last digit changes, back on the invariants, is no error of a step
    ranges: tuple[ValueRange, ...] = ()
    implicit: tuple[Callable[[], ImplicitSolution], ...] = ()
    clocks: tuple[Ticks, ...] = ()
    counted_anew: tuple[Ticks, ...] = ()
    _of_kind: dict[type, list[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def memories_of(self, kind: type[M]) -> list[M]:
        """Memories of one kind, in order of declaration."""
        found: list[M] | None = self._of_kind.get(kind)
        if found is None:
            self._of_kind[kind] = found = [m for m in self.memories if isinstance(m, kind)]
        return found

    @property
    def timed_events(self) -> list[BlockEvent]:
        """Events at times that modes hold, and those that follow them at once."""
        found = [e for e in self.events if e.timed or e.follow_time]
        return found if any(e.timed for e in found) else []
