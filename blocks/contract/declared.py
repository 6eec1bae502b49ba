"""What a block declares: the plain records `Equations` collects and every engine reads.

Sizes are numbers of scalars, times are exact rationals in s, expressions are dense CasADi SX columns in
the block's own symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import casadi as ca
import numpy as np

from blocks.contract.callback import PythonCall
from blocks.contract.instance import Make
from blocks.contract.rate import Ticks


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
    """Input port; `inherits` when its size is that of the signal connected to it."""

    name: str
    size: int
    inherits: bool
    hold: PortHold | None
    symbol: ca.SX
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    """Output port: its value as an expression, and a label for each component (may be empty).

    An `auxiliary` output is there to be looked at: it is logged, but no part of the block's linear model.
    """

    name: str
    expression: ca.SX
    labels: tuple[str, ...]
    auxiliary: bool = False

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
    unit: str = ""
    aliases: tuple[str, ...] = ()  # other names it may be set by

    @cached_property
    def size(self) -> int:
        """Number of run-time numbers."""
        return int(self.symbol.numel())


@dataclass(frozen=True)
class Memory:
    """Anything a context stores for a block under a name.

    kind is one of `KINDS`; `initial` is an array (size,); `field` names the dataclass field it comes from.
    `ticks` is set for discrete states and sampled memories. `expression` is the derivative of a continuous
    state, the next value of a discrete one, the sampled or accepted value, the delayed signal, or the
    residual of an algebraic unknown; for a branch its value at the start and at ticks; None for a plain mode
    and for counted instants.
    """

    name: str
    kind: str
    symbol: ca.SX
    initial: np.ndarray
    field: str | None = None
    ticks: Ticks | None = None
    expression: ca.SX | None = None
    labels: tuple[str, ...] = ()
    static: str = "solve"
    nominal: float = 1.0
    delay: ca.SX | None = None
    times: tuple[Fraction, ...] = ()
    times_field: str | None = None
    distribution: str = ""
    external: External | None = None
    rest: float | None = None  # of a branch: what it is while its condition rests on the threshold
    correction: ca.SX | None = None  # of a continuous state: what brings the invariants back to zero
    part: str = ""  # of a continuous state: the component of the block it belongs to, such as a joint
    output: str = ""  # of a sampled memory: the output that shows it

    @cached_property
    def size(self) -> int:
        """Number of components."""
        return int(self.symbol.numel())

    @property
    def shown(self) -> str:
        """What messages call it: the output that shows it, else its own name."""
        return self.output or self.name

    @property
    def equation(self) -> ca.SX:
        """The expression, where the kind of memory must have one."""
        if self.expression is None:
            raise ValueError(f"memory '{self.name}' of kind {self.kind} has no expression")
        return self.expression


KINDS = (
    "continuous",  # ODE state
    "discrete",  # state changed at ticks, in the update phase
    "sampled",  # refreshed in the output phase of its ticks
    "external",  # output of a ticked opaque block
    "mode",  # changed by events only
    "branch",  # mode that follows its condition at the start and, like a sampled memory, at every tick
    "accepted",  # refreshed after every accepted step
    "algebraic",  # implicit unknown
    "delayed",  # the past of a signal
    "slope",  # how fast an expression changes along the solution
    "random",  # one draw per tick
    "instants",  # how many of the listed instants have passed
)


@dataclass(frozen=True)
class External:
    """Ticked opaque block, called by the host: `make` gives a run its instance, `argument` is its input u."""

    make: Make
    argument: ca.SX


@dataclass(frozen=True)
class Event:
    """Zero crossing with resets: when `crossing` crosses zero in `direction`, each target takes its value.

    A stop event has no resets but a message. `rest` is the sign (-1 or 1) of a crossing that rests exactly on
    zero: where it is armed to fire, unless it says otherwise.
    """

    name: str
    crossing: ca.SX
    direction: int  # -1 falling, +1 rising, 0 both
    resets: tuple[tuple[str, ca.SX], ...] = ()
    stop: str = ""
    rest: int = 1


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
class Declared:
    """All that one shape of a block declares; immutable once traced.

    time : symbol of t [s]; ticks : the local rates, in order of use; tick_symbols : (3*len(ticks),)
    symbols [time of the last tick, number of ticks so far, number since holds restarted] per rate.
    """

    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    memories: tuple[Memory, ...] = ()
    events: tuple[Event, ...] = ()
    invariants: tuple[ca.SX, ...] = ()
    terms: tuple[Term, ...] = ()
    ticks: tuple[Ticks, ...] = ()
    calls: tuple[PythonCall, ...] = ()  # Python functions inside continuous equations
    time: ca.SX = field(default_factory=lambda: ca.SX.sym("t"))
    tick_symbols: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    tolerances: tuple[float, ...] = ()  # of each expression in `invariants`
    histories: tuple[SampleHistory, ...] = ()
    rounding: float = 0.0  # times what a last digit changes, back on the invariants, is no error of a step

    def memories_of(self, kind: str) -> list[Memory]:
        """Memories of one kind, in order of declaration."""
        return [m for m in self.memories if m.kind == kind]
