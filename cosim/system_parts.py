"""What a flat system consists of besides its vectors: signals, events, delays, draws, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.contract.driven import DrivenBlock
from blocks.contract.rate import Ticks
from cosim.slots import Place


@dataclass(frozen=True)
class Signal:
    """A value anyone may look at: an output, or a plant input behind its hold."""

    name: str
    expression: ca.SX
    labels: tuple[str, ...]
    ticks: Ticks | None  # its one rate, if it has one
    path: str = ""  # the block it belongs to
    units: tuple[str, ...] = ()  # of its components, "" where nothing is known

    @property
    def size(self) -> int:
        """Number of components."""
        return int(self.expression.numel())


@dataclass(frozen=True)
class PortFeed:
    """Output `output` of a block shows its input `input` at the same instant; `at_ticks`: at ticks only."""

    input: str
    output: str
    at_ticks: bool


@dataclass(frozen=True)
class SystemEvent:
    """Zero crossing of the flat system.

    resets : (vector "x" or "h", places, values) per target; starts : places of discrete states among them
    counts : places in h of the counts of samples that start anew, of holds that what it resets may reach
    """

    name: str
    path: str
    crossing: ca.SX
    direction: int
    resets: tuple[tuple[str, np.ndarray, ca.SX], ...]
    targets: tuple[str, ...]
    discrete: np.ndarray  # places in h whose next value is reset too
    stop: str = ""
    counts: tuple[int, ...] = ()
    rest: int = 1  # sign of a crossing that rests exactly on zero
    by_value: bool = False  # its value alone decides on the threshold; so for slopes, whose own are not found
    warning: str = ""  # what to warn of at the end of a run in which it fired
    unmet: str = ""  # of one that began beyond the crossing, and in which it did not fire
    anew: tuple[str, ...] = ()  # names of events whose signs are taken anew after its resets
    eager: bool = False  # fires also where a run starts beyond it
    timed: int = -1  # place in h of the time at which it is due, see `BlockEvent`; -1 where there is none
    follow_time: bool = False  # fires together with a timed one too
    left: float | None = None  # what its only target has been before it, see `BlockEvent`
    acknowledges: bool = False  # those that depend on what it resets do not wait for it, see `BlockEvent`
    in_turn: bool = False  # others of its block that reset the same come before or after it, see `BlockEvent`

    @property
    def place(self) -> Place:
        """What a message about it names."""
        return Place(self.name, self.path)

    def before(self, found: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        """Values of its targets before it, from those `found` when it came."""
        return found if self.left is None else dict.fromkeys(found, (self.left,))


@dataclass(frozen=True)
class Delay:
    """w[places] is `signal` as it was `seconds` ago, `initial` before there is a past.

    shortest, longest : s, of `seconds` where they change; 0: they do not
    """

    name: str
    places: np.ndarray
    signal: ca.SX
    seconds: ca.SX
    initial: np.ndarray
    shortest: float = 0.0
    longest: float = 0.0


@dataclass(frozen=True)
class Draw:
    """h[places] is drawn anew at every tick of a rate, from the substream of `name`."""

    name: str
    places: np.ndarray
    rate: int
    distribution: str
    counter: int = -1  # place in h of how many there were so far; -1: one per tick of the rate


@dataclass(frozen=True)
class TickPlaces:
    """Places in h of what is counted of one rate.

    time : of its last tick; count : ticks so far
    since : samples since holds started anew, one count for all holds that the same events start anew
    """

    time: int
    count: int
    since: tuple[int, ...]


@dataclass(frozen=True)
class Samples:
    """Places in h of the samples an extrapolating hold goes through, and of the count that restarts them."""

    newest: np.ndarray
    older: tuple[np.ndarray, ...]  # the newest of them first
    count: int


@dataclass(frozen=True)
class FollowingStart:
    """Initial values, at `places` of "x" or "h", that follow from parameters; `both`: next values, too."""

    vector: str
    places: np.ndarray
    expression: ca.SX
    both: bool = False


@dataclass(frozen=True)
class FollowingSize:
    """The nominal size of a state that follows from parameters.

    state : its name; values : what it is found from, an expression in p
    sizes : values (n,) -> (size,); None: they are it, or one for all
    """

    state: str
    values: ca.SX
    sizes: Callable[[np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True)
class Unsettable:
    """Why a run cannot set a parameter.

    follows : it follows from another one, which may be set
    builds : it decides how a diagram is built; one that is built anew takes it
    cure : what to do, where it is none of these
    """

    why: str
    follows: bool = False
    builds: bool = False
    cure: str = ""


@dataclass(frozen=True)
class NamedTerm:
    """Names a part of the equations, to explain a non-finite value (`Equations.term`)."""

    path: str
    text: str
    expression: ca.SX


@dataclass(frozen=True)
class NamedRange:
    """Between which numbers a value is meant to stay (`Equations.meant_within`)."""

    path: str
    value: ca.SX
    low: float
    high: float
    what: str
    otherwise: str


@dataclass(frozen=True)
class CoupledUnit:
    """A block that steps itself, left to a co-simulation master; inputs (n, 1): what arrives at it."""

    path: str
    block: DrivenBlock
    inputs: ca.SX
