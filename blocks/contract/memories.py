"""The kinds of memories a block may have: anything that a context stores for it under a name.

One class per kind answers what the compiler, the engines and snapshots ask. Sizes are numbers of scalars,
expressions dense CasADi SX columns in the block's own symbols.

=================== ====== ==================================================================================
kind                vector its value changes
=================== ====== ==================================================================================
`ContinuousState`   x      with its derivative
`DiscreteState`     h      at its ticks, to what the update phase of the tick before has found
`SampledMemory`     h      in the output phase of its ticks
`ExternalOutput`    h      in the output phase of its ticks, when its opaque block is called
`ModeMemory`        h      by events only (`event_memories`)
`LoopRounds`        h      where events are repeated in a loop at one instant (`event_memories`)
`Branch`            h      by events, at the start, and in the output phase of every tick (`event_memories`)
`AcceptedMemory`    h      after every accepted step and event
`LatchedOutput`     h      likewise; at the start it is its signal where the part it leaves is given nothing
`Conditional`       h      in the output phase: at the ticks of a rate, or at every instant and after events
`Repeated`          h      likewise, until its first component is 0
`HeldState`         h      likewise: a discrete state of a part that runs when it is called
`Afterwards`        h      behind all else at an instant
`StartValue`        h      once, at the start of a run
`RandomDraw`        h      at its ticks, before the output phase
`DeliveredOutput`   h      at its ticks, before them: a co-simulation master writes it (`unit_memories`)
`VisitedOutput`     h      likewise, and in their output phase, when the unit is visited (`unit_memories`)
`CountedInstants`   h      at the instants it counts
`AlgebraicUnknown`  w      at every evaluation: it makes a residual zero
`DelayedSignal`     w      at every evaluation: it is the past of a signal
`Slope`             none   never stored: an expression takes its place
=================== ====== ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np

from blocks.contract.callback import FUNCTION
from blocks.contract.exact_instants import ListedInstants
from blocks.contract.instance import Make
from blocks.contract.rate import Ticks

ROUNDS = 100  # of a chart at one instant; more are an error


# --- what kinds have in common ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Memory:
    """What all kinds of memories have in common; each kind is a subclass.

    symbol : (size,) symbols of its value; initial : (size,) float
    field : the dataclass field of the block that gives the initial value, None if none does
    private : of use to the equations of its block only: no signal, and not set by `initial=`
    """

    name: str
    symbol: ca.SX
    initial: np.ndarray
    field: str | None = None
    _: KW_ONLY
    private: bool = False

    word: ClassVar[str]  # what messages call the kind, with its article
    vector: ClassVar[Literal["x", "h", "w", ""]] = "h"  # of the flat system; "" for none
    placed_last: ClassVar[bool] = False  # in its vector, behind the unknowns that loops add
    moves: ClassVar[bool] = False  # also between instants
    has_next: ClassVar[bool] = False  # its next value waits for the next tick
    settable: ClassVar[bool] = False  # by `initial=` of a run
    resettable: ClassVar[bool] = False  # by events
    uses_slopes: ClassVar[bool] = False  # its expression may: it is found together with them
    carried_over: ClassVar[bool] = False  # into the next stage of a run whose system changes

    @cached_property
    def size(self) -> int:
        """Number of components."""
        return int(self.symbol.numel())

    @property
    def shown(self) -> str:
        """What messages call it: the output that shows it, else its own name."""
        return self.name

    @property
    def component_labels(self) -> tuple[str, ...]:
        """A label for each component; empty where none are given."""
        return ()

    @property
    def rate(self) -> Ticks | None:
        """The ticks at which alone it changes; None if it also changes otherwise."""
        return None

    @property
    def reads(self) -> ca.SX:
        """What its new value is found from, (n,); nothing of what changes by itself."""
        return ca.SX(0, 1)

    def continues(self, old: Memory) -> bool:
        """Does it take the value of `old`, which had its name in the stage before?"""
        return self.carried_over and type(self) is type(old) and self.size == old.size


@dataclass(frozen=True)
class Evolving(Memory):
    """A memory with an expression: its derivative, new value, signal or residual, (size,).

    The expression may be given after the memory is declared, by the call `given_by` of `Equations`.
    """

    expression: ca.SX | None = None

    given_by: ClassVar[str]

    @property
    def equation(self) -> ca.SX:
        """The expression, which is there once the block is traced."""
        if self.expression is None:
            raise ValueError(f"'{self.name}', {self.word}, has no expression")
        return self.expression

    @property
    def reads(self) -> ca.SX:
        """See `Memory.reads`."""
        return self.equation


@dataclass(frozen=True)
class Ticked(Memory):
    """A memory that changes at the ticks of one rate only."""

    _: KW_ONLY
    ticks: Ticks

    @property
    def rate(self) -> Ticks:
        """See `Memory.rate`."""
        return self.ticks


@dataclass(frozen=True)
class Refreshed(Memory):
    """A memory that is refreshed in the output phase: at a tick, signals pass it.

    At an instant what reads it needs what it reads.
    """

    may_keep: ClassVar[bool] = False  # its old value: it may change after a loop it is in
    reads_itself: ClassVar[bool] = False  # its own old value, which is no loop
    repeats: ClassVar[bool] = False  # until its first component is 0; it stays whole

    @property
    def again(self) -> bool:
        """Is it refreshed once more after the events of an instant?"""
        return False

    @property
    def external(self) -> External | None:
        """The opaque block that is called for its new value, if one is."""
        return None

    @property
    def old_in(self) -> Sequence[Container[str]]:
        """Outputs that may show its old value in a loop at a tick, those first that lose least by it."""
        return ()

    @property
    def at_rest(self) -> float | None:
        """What its old value counts as where nothing it reads moves between ticks; None: as what it is."""
        return None


@dataclass(frozen=True)
class StateMemory(Evolving):
    """A state of the block's own dynamics, with a label for each component (may be empty)."""

    _: KW_ONLY
    labels: tuple[str, ...] = ()

    settable: ClassVar[bool] = True
    resettable: ClassVar[bool] = True

    @property
    def component_labels(self) -> tuple[str, ...]:
        """See `Memory.component_labels`."""
        return self.labels


# --- the kinds --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ContinuousState(StateMemory):
    """State of an ordinary differential equation; the expression is its derivative by time.

    static : in an equilibrium "solve" x' = 0, "hold" x at its initial value, or "zero" (a rate)
    nominal : typical size, in its own unit, or that of each component; one that follows the parameters of the
        block is an expression of their symbols, or a function of their arrays by name
    part : the component of the block it belongs to, such as a joint
    correction : (size,) what brings the invariants back to zero
    velocity_of : name of the state that is the place of a body, whose velocities these are; "": of none. In
        space a place is (7,): unit quaternion, scalar first, and position along fixed axes; velocities (6,):
        the angular one along the body's axes [rad/s], that of the position along fixed axes. In a plane
        (3,): x, y and angle [rad], and their rates. The stiff method takes long steps where they turn
    """

    _: KW_ONLY
    static: str = "solve"
    nominal: float | tuple[float, ...] | ca.SX | Callable[..., Any] = 1.0
    part: str = ""
    correction: ca.SX | None = None
    velocity_of: str = ""

    word: ClassVar[str] = "a continuous state"
    given_by: ClassVar[str] = "derivative"
    vector: ClassVar[Literal["x", "h", "w", ""]] = "x"
    moves: ClassVar[bool] = True
    uses_slopes: ClassVar[bool] = True


@dataclass(frozen=True)
class DiscreteState(Ticked, StateMemory):
    """State that changes at ticks; the expression is its value at the next tick."""

    word: ClassVar[str] = "a discrete state"
    given_by: ClassVar[str] = "update"
    has_next: ClassVar[bool] = True


@dataclass(frozen=True)
class SampledMemory(Refreshed, Ticked, Evolving):
    """The value of an expression at the newest tick.

    output : the output that shows it, "" if none does
    """

    _: KW_ONLY
    output: str = ""

    word: ClassVar[str] = "a sampled memory"
    given_by: ClassVar[str] = "sampled"
    settable: ClassVar[bool] = True

    @property
    def shown(self) -> str:
        """See `Memory.shown`."""
        return self.output or self.name


@dataclass(frozen=True)
class External:
    """Ticked opaque block, called by the host: `make` gives a run its instance, `argument` is its input u.

    make : None: it is the unit of a co-simulation master; about : what messages call it
    """

    make: Make | None
    argument: ca.SX
    about: str = FUNCTION


@dataclass(frozen=True)
class ExternalOutput(Refreshed, Ticked):
    """Output of a ticked opaque block.

    asked : memory that says whether it is called, "" for always
    """

    _: KW_ONLY
    block: External
    asked: str = ""

    word: ClassVar[str] = "an output of an opaque block"

    @property
    def external(self) -> External:
        """See `Refreshed.external`."""
        return self.block

    @property
    def reads(self) -> ca.SX:
        """See `Memory.reads`."""
        return self.block.argument


@dataclass(frozen=True)
class AcceptedMemory(Evolving):
    """The value of an expression after the newest accepted step or event."""

    word: ClassVar[str] = "an accepted memory"
    given_by: ClassVar[str] = "accepted"
    carried_over: ClassVar[bool] = True


@dataclass(frozen=True)
class NearestValue(AcceptedMemory):
    """Which of its several values a signal has had last: a direction stands for many angles, turns apart."""

    settable: ClassVar[bool] = True


@dataclass(frozen=True)
class Started(Memory):
    """A memory whose value before the first instant is found there.

    start : (size,) an expression of the block, None: `initial`
    start_input : else an input, as its signal is where the conditional part that it leaves is given zeros
    initial_of : another memory of the block, whose initial value it has; "" for its own
    """

    _: KW_ONLY
    initial_of: str = ""
    start: ca.SX | None = None
    start_input: str = ""


@dataclass(frozen=True)
class Conditional(Started, Refreshed, Evolving):
    """A memory that may read its old one: refreshed at ticks of a rate, or (None) at every instant."""

    _: KW_ONLY
    ticks: Ticks | None = None

    word: ClassVar[str] = "a memory of a conditional part"
    given_by: ClassVar[str] = "conditional"
    reads_itself: ClassVar[bool] = True
    carried_over: ClassVar[bool] = True

    @property
    def rate(self) -> Ticks | None:
        """See `Memory.rate`."""
        return self.ticks

    @property
    def again(self) -> bool:
        """See `Refreshed.again`."""
        return self.ticks is None


@dataclass(frozen=True)
class Repeated(Conditional):
    """A memory that is refreshed again and again at one instant, until its first component is 0.

    limit : after so many times it is an error
    counts : components that count calls, and go on doing so where a part that it is in starts anew
    """

    _: KW_ONLY
    limit: int = ROUNDS
    counts: tuple[int, ...] = ()

    word: ClassVar[str] = "a memory of rounds"
    repeats: ClassVar[bool] = True


@dataclass(frozen=True)
class HeldState(Conditional):
    """A discrete state of a part that runs when it is called; its labels may be empty."""

    _: KW_ONLY
    labels: tuple[str, ...] = ()

    settable: ClassVar[bool] = True

    @property
    def component_labels(self) -> tuple[str, ...]:
        """See `Memory.component_labels`."""
        return self.labels


@dataclass(frozen=True)
class Afterwards(Started, Evolving):
    """A memory that changes last at an instant: at its ticks, or (None) at every instant."""

    _: KW_ONLY
    ticks: Ticks | None = None

    word: ClassVar[str] = "a memory written behind all others"
    given_by: ClassVar[str] = "afterwards"
    carried_over: ClassVar[bool] = True

    @property
    def rate(self) -> Ticks | None:
        """See `Memory.rate`."""
        return self.ticks


@dataclass(frozen=True)
class StartValue(Started):
    """A value as it is at the start of a run."""

    word: ClassVar[str] = "a value at the start"
    carried_over: ClassVar[bool] = True


@dataclass(frozen=True)
class LatchedOutput(Started, AcceptedMemory):
    """The last value of an output of a conditional part while the part was active."""

    word: ClassVar[str] = "a latched output"


@dataclass(frozen=True)
class RandomDraw(Ticked):
    """One draw per tick from a `distribution`: "normal" or "uniform".

    counted_by : memory whose second number counts the ticks so far; "" for those of the rate
    stream : the name its numbers depend on; "" for its own
    """

    _: KW_ONLY
    distribution: str
    counted_by: str = ""
    stream: str = ""

    word: ClassVar[str] = "a random draw"


@dataclass(frozen=True)
class CountedInstants(Memory):
    """How many of the listed `times` [s] have passed; `times_field` is the block's field that lists them."""

    _: KW_ONLY
    times: ListedInstants
    times_field: str | None = None

    word: ClassVar[str] = "a count of instants"

    def passed(self, time: float) -> np.ndarray:
        """The count (1,) when the `time` [s] is so much; an instant that is now has passed."""
        return np.array([float(np.searchsorted(self.times.nearest, time, side="right"))])


@dataclass(frozen=True)
class AlgebraicUnknown(Evolving):
    """Implicit unknown; the expression is as much of the block's residual as it has components.

    about : whose equation it solves, for messages; "" says the block's
    """

    _: KW_ONLY
    about: str = ""

    uses_slopes: ClassVar[bool] = True
    word: ClassVar[str] = "an algebraic unknown"
    given_by: ClassVar[str] = "residual"
    vector: ClassVar[Literal["x", "h", "w", ""]] = "w"
    moves: ClassVar[bool] = True


@dataclass(frozen=True)
class DelayedSignal(Evolving):
    """The value of its expression `seconds` [s] ago, from `shortest` to `longest` (0: it stays)."""

    _: KW_ONLY
    seconds: ca.SX
    shortest: float = 0.0
    longest: float = 0.0

    word: ClassVar[str] = "a delayed signal"
    given_by: ClassVar[str] = "delayed"
    vector: ClassVar[Literal["x", "h", "w", ""]] = "w"
    placed_last: ClassVar[bool] = True
    moves: ClassVar[bool] = True


@dataclass(frozen=True)
class Slope(Evolving):
    """The derivative of its expression along the solution, per s, inserted once all derivatives are known.

    assuming : unknowns of the block by name, and their values; exact : refuse delayed signals, else constant
    """

    _: KW_ONLY
    assuming: tuple[tuple[str, float], ...]
    exact: bool

    word: ClassVar[str] = "a slope"
    given_by: ClassVar[str] = "slope"
    vector: ClassVar[Literal["x", "h", "w", ""]] = ""
