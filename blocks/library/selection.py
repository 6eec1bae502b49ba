"""Choose among signals at run time, hand them over by name, and keep them: switches, tags, stores, buses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.arguments import is_whole
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.errors import near_miss, shown
from blocks.functions import clip, pick
from blocks.library.elementary import stepwise
from blocks.library.expansion import input_like, together
from blocks.library.truth import LEVEL

__all__ = [
    "BusCreator",
    "BusSelector",
    "DataStore",
    "From",
    "Goto",
    "IndexVector",
    "ManualSwitch",
    "Merge",
    "MultiportSwitch",
]


def whole_number(b: Equations, control: Array, first: int, n: int, name: str = "n") -> Array:
    """The whole number nearest to a signal, counted from 0, within 0 and n - 1; changes are events."""
    nearest = stepwise(b, control, np.floor(control + 0.5), lambda k: k + 0.5, lambda k: k - 0.5, name)[0]
    return clip(nearest - float(first), 0.0, float(n - 1))


@dataclass(frozen=True)
class MultiportSwitch(Block):
    """Pass one of several signals, as a number says.

    Output: y = in1, in2, ... where control, rounded, is 1, 2, ... (or 0, 1, ... with first=0); a number
    beyond the ends takes the first or the last. A change is an event; the other signals are not looked at.
    Direct feedthrough: every input but control to y; control at ticks only.

    n : number of inputs; structural
    first : number of in1, 0 or 1; structural

    Use::

        gear = d.add("gear", MultiportSwitch(3))
        d.connect(source["y"], gear["control"])
    """

    n: int = 2
    first: int = 1

    def __post_init__(self) -> None:
        checks.assign(self, n=checks.count(self, "n", most=1000))
        checks.assign(self, first=checks.count(self, "first", least=0, most=1))

    def define(self, b: Equations) -> None:
        """Declare ports and the choice."""
        control = b.input("control", size=1)
        inputs = together(b, self, **{f"in{k}": b.input(f"in{k}") for k in range(1, self.n + 1)})
        b.output("y", pick(inputs, whole_number(b, control, self.first, self.n)))


@dataclass(frozen=True)
class IndexVector(Block):
    """Pass one component of a vector, as a number says.

    Output: y = u[k], k = control, rounded, less `first`; a number beyond the ends takes the first or the last
    component. A change is an event.
    Direct feedthrough: u to y; control at ticks only.

    first : number of the first component, 0 or 1; structural

    Use::

        cell = d.add("cell", IndexVector())
        d.connect(source["y"], cell["control"])
    """

    first: int = 0

    def __post_init__(self) -> None:
        checks.assign(self, first=checks.count(self, "first", least=0, most=1))

    def define(self, b: Equations) -> None:
        """Declare ports and the choice."""
        control, u = b.input("control", size=1), b.input("u")
        b.output(
            "y", pick([u[k : k + 1] for k in range(u.size)], whole_number(b, control, self.first, u.size))
        )


@dataclass(frozen=True)
class ManualSwitch(Block):
    """Pass one of two signals, as set by hand: before a run, or between its parts.

    Output: y = in1 with position below 1.5, else in2. The other signal is not looked at.
    Direct feedthrough: in1 and in2 to y.

    position : 1 or 2; tunable

    Use::

        choice = d.add("choice", ManualSwitch(2))
        d.connect(source["y"], choice["in1"])
    """

    position: float = 1

    def __post_init__(self) -> None:
        checks.assign(self, position=checks.numbers(self, "position", dims=(0,)))
        if self.position not in (1.0, 2.0):
            raise checks.fault(self, "position", f"is {self.position}", "1 or 2")

    def define(self, b: Equations) -> None:
        """Declare ports and the choice."""
        (position,) = b.parameters(position=self.position)
        first, second = together(b, self, in1=b.input("in1"), in2=b.input("in2"))
        b.output("y", np.where(position < 1.5, first, second))


@dataclass(frozen=True)
class Merge(Block):
    """Whichever of several signals is the newest: has changed last at a tick, or was last called active.

    Output: with `sample`, y_k = the first of in1, in2, ... that is another than at the tick before, y_k-1
    where none is; y_-1 = initial. Without, there is an input "on1", "on2", ... for each, y = the first of
    in1, in2, ... that is on (above 0; its crossings are events), what it was last where none is, and initial
    before one was.
    Update: y and the inputs.  Direct feedthrough: the inputs to y, with `sample` at ticks; "on1", ... none.

    n : number of inputs; structural
    sample, offset : s, None in continuous time; structural
    initial : number, of y and of the inputs before the first tick; run-time number

    Use::

        newest = d.add("newest", Merge(2, sample=0.01))
        d.connect(source["y"], newest["in1"])
    """

    n: int = 2
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        checks.assign(self, n=checks.count(self, "n", most=1000))
        checks.assign(self, initial=checks.numbers(self, "initial", dims=(0,)))

    def define(self, b: Equations) -> None:
        """Declare ports and what was there before."""
        inputs = together(b, self, **{f"in{k}": b.input(f"in{k}") for k in range(1, self.n + 1)})
        size = inputs[0].size
        if self.sample is None:
            wanted = [b.input(f"on{k}", size=1)[0] for k in range(1, self.n + 1)]
            on = [b.where_event(-g, 0.0, 1.0) for g in wanted]  # at 0 it is off

            def newest(old: Array) -> Array:
                y = old
                for u, here in reversed(list(zip(inputs, on, strict=True))):
                    y = np.where(here > 0.5, u, y)
                return y

            b.output("y", newest(b.accepted("last", newest, self.initial, size=size)))
            return
        old = b.discrete("last", self.initial, self.sample, self.offset, size=size)
        y = old
        for k in range(self.n, 0, -1):
            u = inputs[k - 1]
            last = b.discrete(f"last{k}", self.initial, self.sample, self.offset, size=size)
            b.update(last, u)
            y = np.where(np.isnan(u), u, np.where(np.any(u != last), u, y))
        now = b.sampled(y, self.sample, self.offset, initial=self.initial, name="now")
        b.update(old, now)
        b.output("y", now)


def _check_tag(block: Any) -> None:
    if not isinstance(block.tag, str) or not block.tag:
        raise checks.fault(block, "tag", f"is {shown(block.tag)}", "a name")


@dataclass(frozen=True)
class Goto(Block):
    """Give a signal a name, by which `From` finds it without a wire.

    Output: y = u.  Direct feedthrough: u to y.

    tag : the name; once in a diagram. It is known there and in the subsystems inside; structural

    Use::

        speed = d.add("speed", Goto("speed"))
        d.connect(source["y"], speed["u"])
    """

    tag: str

    def __post_init__(self) -> None:
        _check_tag(self)

    def define(self, b: Equations) -> None:
        """Declare ports."""
        b.output("y", b.input("u"))


@dataclass(frozen=True)
class From(Block):
    """The signal that a `Goto` has given a name.

    Output: y = the signal of the Goto of that name in the same diagram, else in the nearest one around it;
    the input "u" is left open, for it is what the Goto drives.
    Direct feedthrough: u to y.

    tag : the name; structural

    Use::

        speed = d.add("speed", From("speed"))
        d.connect(speed["y"], sink["u"])
    """

    tag: str

    def __post_init__(self) -> None:
        _check_tag(self)

    def define(self, b: Equations) -> None:
        """Declare ports."""
        b.output("y", b.input("u"))


@dataclass(frozen=True)
class DataStore(Block):
    """A value that is kept until another one is written.

    Output: y_k = x_k, what was written before tick k.  Update: x_k+1 = u_k where "write" is on (above 0.5),
    else x_k.  Initial value: x_0 = initial.  Direct feedthrough: none.

    sample, offset : s; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        kept = d.add("kept", DataStore(sample=0.01))
        d.connect(source["y"], kept["write"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the value."""
        u = input_like(b, "u", self.initial)
        on = b.input("write", size=1)[0] > LEVEL
        x = b.discrete("x", self.initial, self.sample, self.offset, size=u.size)
        b.update(x, np.where(on, u, x))
        b.output("y", x)


Members = Mapping[str, Any]


def _flat(members: Any, prefix: str = "") -> list[tuple[str, int]]:
    """Members with their sizes, nested ones by dotted names; raises TypeError for anything else."""
    found: list[tuple[str, int]] = []
    for name, size in members.items() if isinstance(members, Mapping) else members:
        if not isinstance(name, str) or not name:
            raise TypeError
        if isinstance(size, Mapping):
            found += _flat(size, f"{prefix}{name}.")
        elif is_whole(size) and 1 <= size <= checks.MOST:
            found.append((prefix + name, int(size)))
        else:
            raise TypeError
    return found


def _check_members(block: Any) -> None:
    try:
        members = _flat(block.members)
    except (TypeError, ValueError, AttributeError):
        members = []
    if not members or len(dict(members)) < len(members) or len(members) > 10_000:
        expected = 'names with sizes, as {"speed": 1, "pose": {"place": 3, "angle": 1}}'
        raise checks.fault(block, "members", f"is {shown(block.members)}", expected)
    checks.assign(block, members=tuple(members))


def _labels(name: str, size: int) -> list[str]:
    return [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]


@dataclass(frozen=True)
class BusCreator(Block):
    """Put named signals into one.

    Output: bus = the members, one after the other; its components are shown by their names.  Inputs are
    called as the members, those of a nested bus "pose.place".  Direct feedthrough: each input to its own
    part.

    members : {name: size}, nested for a bus inside; structural

    Use::

        bus = d.add("bus", BusCreator({"speed": 1, "pose": {"place": 3, "angle": 1}}))
        d.connect(source["y"], bus["speed"])
    """

    members: Members | Sequence[tuple[str, int]]

    def __post_init__(self) -> None:
        _check_members(self)

    def define(self, b: Equations) -> None:
        """Declare the inputs and the bus."""
        members: Any = self.members  # pairs by now
        labels = [label for name, size in members for label in _labels(name, size)]
        b.output("bus", np.concatenate([b.input(name, size=size) for name, size in members]), labels=labels)


@dataclass(frozen=True)
class BusSelector(Block):
    """Take named signals out of one.

    Output: an output per name asked for, called as it; the name of a nested bus takes all of it.
    Direct feedthrough: each part of "bus" to its own output.

    members : {name: size} of the bus, as in `BusCreator`; structural
    names : which ones, as "speed", "pose" or "pose.angle"; structural

    Use::

        turn = d.add("turn", BusSelector({"speed": 1, "pose": {"place": 3, "angle": 1}}, ["pose.angle"]))
        d.connect(source["y"], turn["bus"])
    """

    members: Members | Sequence[tuple[str, int]]
    names: Sequence[str]

    def __post_init__(self) -> None:
        _check_members(self)
        names = (self.names,) if isinstance(self.names, str) else self.names
        if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) for n in names):
            raise checks.fault(self, "names", f"is {shown(self.names)}", "names of members")
        checks.assign(self, names=tuple(names))
        for name in names:
            if not self._places(name):
                pairs: Any = self.members
                cure = near_miss(name, [member for member, _ in pairs])
                raise checks.fault(self, "names", f"has {name!r}", "members of the bus", cure)
        if len(set(names)) < len(names):
            raise checks.fault(self, "names", f"is {names}", "each name once")

    def _places(self, name: str) -> list[int]:
        places: list[int] = []
        start = 0
        members: Any = self.members
        for member, size in members:
            if member == name or member.startswith(f"{name}."):
                places += range(start, start + size)
            start += size
        return places

    def define(self, b: Equations) -> None:
        """Declare the input and the parts."""
        members: Any = self.members
        bus = b.input("bus", size=sum(size for _, size in members))
        for name in self.names:
            b.output(name, bus[self._places(name)])
