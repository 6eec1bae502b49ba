"""Subsystems that run several times within one tick: `For` and `While`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import choice, is_number
from blocks.contract import checks
from blocks.contract.block import Equations
from blocks.contract.masks import default, filled, found_in
from blocks.contract.memories import CountedInstants, Repeated
from blocks.contract.rate import CALLED, Rate, Ticks
from blocks.contract.symbols import as_array, column
from blocks.errors import BlockError, shown
from cosim.compile.flatten import flatten
from cosim.compile.masks import MaskPlace, Masks
from cosim.compile.netlist import EnclosingBlock, Inport, Netlist, PartCondition
from cosim.subsystems.control import PartControl
from cosim.subsystems.parts import CONTROL, Subsystem, checked_inner, netlist_of, wrapped
from cosim.subsystems.rounds import MOST as PASSES
from cosim.subsystems.rounds import Inside
from cosim.system import System

BODY = "body"  # what is repeated is called in its subsystem
INDEX = "index"  # an input of the inside that is told the number of the repetition
MOST = 100_000  # repetitions within one tick
HEAD = 4  # numbers in front of what is kept: more?, the repetition, where it waits, has it ever run?
STATES = ("held", "reset")


@dataclass(frozen=True)
class For(Subsystem):
    """Runs `count` times within each tick: every sampled block inside ticks that often.

    inner : Block or Diagram without continuous states, events and delays, of one rate, with conditional
        parts, charts and loops in it; an input "index" of it is the number of the repetition, from 0
    count : how often; None for an input "count", cut to a whole number; a parameter of a diagram may be it
    sample, offset : of the ticks [s]; None in another loop, or in a part that is called
    states : "held" continues from the previous tick, "reset" starts each tick from the initial values
    """

    inner: Any
    count: int | None = None
    sample: Rate | None = None
    offset: Rate = 0
    states: str = "held"

    def __post_init__(self) -> None:
        checked_inner("For", self.inner)
        if _of_parameters(self, "count", "sample", "offset"):
            return
        if self.count is not None:
            whole("count", self.count, 0)
        choice(self.states, "states", STATES, BlockError)
        checks.rate(self, optional=True)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        body = _repeated(self.inner)
        block = Iterated(body, self.sample, self.offset, self.count, "", self.states == "reset")
        return _around(body, block, ("count",) if self.count is None else ())


@dataclass(frozen=True)
class While(Subsystem):
    """Runs at each tick until its output "condition" is not above 0, at most `limit` times.

    inner, sample, offset, states : see `For`; the inside has an output "condition"
    """

    inner: Any
    sample: Rate | None = None
    offset: Rate = 0
    states: str = "reset"
    limit: int = 1000

    def __post_init__(self) -> None:
        checked_inner("While", self.inner)
        if _of_parameters(self, "limit", "sample", "offset"):
            return
        whole("limit", self.limit, 1)
        choice(self.states, "states", STATES, BlockError)
        checks.rate(self, optional=True)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        body = _repeated(self.inner)
        if "condition" not in body.outports:
            raise BlockError(
                "While: the inside has no output 'condition'.", hint='Add d.outport("condition", ...).'
            )
        block = Iterated(body, self.sample, self.offset, self.limit, "condition", self.states == "reset")
        return _around(body, block, ())


@dataclass(frozen=True)
class Iterated(EnclosingBlock):
    """A diagram that runs several times within one tick.

    Output: those of `body` after the last repetition. Direct feedthrough: from all inputs at a tick.

    sample, offset : of its ticks; None for those of the part that it is in
    count : how often at most, None for the input "count"; until : output that ends it where it is not above 0
    anew : does each tick start at the initial values?
    place : where parameters of `body` get their values; None where it has none
    """

    body: Netlist
    sample: Rate | None
    offset: Rate
    count: int | None
    until: str
    anew: bool
    place: MaskPlace | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            least, what = (1, "limit") if self.until else (0, "count")
            whole(what, self.count, least)
            object.__setattr__(self, "count", int(self.count))
        checks.rate(self, optional=True)

    def enclosed(self) -> Netlist:
        """See `EnclosingBlock.enclosed`."""
        return self.body

    def with_enclosed(self, diagram: Netlist) -> Iterated:
        """See `EnclosingBlock.with_enclosed`."""
        return replace(self, body=diagram)

    def placed(self, place: MaskPlace) -> Iterated:
        """See `EnclosingBlock.placed`."""
        return replace(self, body=replace(self.body, parameters={}), place=place)

    def masks_inside(self, sizes: Mapping[str, int]) -> Masks | None:
        """See `EnclosingBlock.masks_inside`."""
        return self._inside({n: sizes[n] for n in self.body.inports if n != INDEX})[1]

    def _inside(self, sizes: Mapping[str, int]) -> tuple[System, Masks | None]:
        """What is repeated with inputs of these sizes, and its parameters."""
        called, place = _called(self.body, sizes), self.place
        if place is None:
            return flatten(called), None

        def made() -> tuple[System, Masks]:
            masks = place.masks()
            return flatten(called, masks=masks), masks

        return place.derived.get(tuple(sorted(sizes.items())), made)

    def define(self, b: Equations) -> None:
        """Declare ports, the vector that is kept, and one pass through what is repeated."""
        wanted = {n: b.input(n) for n in self.body.inports if n != INDEX}
        count: Any = np.trunc(b.input("count", size=1)[0]) if self.count is None else float(self.count)
        ticks = CALLED if self.sample is None else Ticks.of(self.sample, self.offset)
        s, _ = self._inside({n: int(u.size) for n, u in wanted.items()})
        p = ca.vertcat(ca.SX(0, 1), *[_parameter(b, name, s) for name in s.parameters])
        b._calls.extend(s.calls)
        nh, outs = len(s.h0), [s.signal(name).expression for name in s.outports]
        ends = np.cumsum([0, *[o.numel() for o in outs]])
        kept = np.concatenate([np.zeros(HEAD), s.h0, np.zeros(int(ends[-1]))])
        b.tick_count(ticks)
        v = ca.SX.sym("v", len(kept))
        k = ca.if_else(v[0] > 0.5, v[1], 0.0)
        given = {n: column(u) for n, u in wanted.items()} | {INDEX: k}
        places = {int(i): e for n, slot in s.inputs.items() for i, e in _pairs(slot.index, given[n])}
        inside = Inside(s, column(b.time), p, places | _of_time(b, s, ticks))
        going_on = v[0] > 0.5 if self.anew else v[3] > 0.5
        h = ca.if_else(going_on, v[HEAD : HEAD + nh], inside.first())
        found = inside.run(h, v[2])
        run = k < column(count)
        more = ca.logic_and(run, ca.logic_or(ca.logic_not(found.done), k + 1.0 < column(count)))
        values = ca.vertcat(ca.SX(0, 1), *found.outputs)
        if self.until:
            condition = found.outputs[list(s.outports).index(self.until)][0]
            more = ca.logic_and(more, ca.logic_or(ca.logic_not(found.done), condition > 0))
        over = ca.logic_and(run, found.done)
        new = ca.vertcat(
            ca.if_else(more, 1.0, 0.0),
            ca.if_else(found.done, k + 1.0, k),
            ca.if_else(run, found.waiting, 0.0),
            ca.if_else(run, 1.0, v[3]),
            ca.if_else(run, found.held, h),
            ca.if_else(over, values, v[HEAD + nh :]),
        )
        limit = min(PASSES, (MOST if self.count is None else max(2, self.count + 1)) * inside.passes)
        memory = b._memory(Repeated, "loop", kept, None, ticks=ticks, limit=limit)
        new = ca.substitute(ca.densify(new), v, column(memory))
        b._complete(memory, Repeated, as_array(new), "repetition")
        for name, start, end in zip(s.outports, ends, ends[1:], strict=False):
            b.output(name, memory[HEAD + nh + int(start) : HEAD + nh + int(end)])


def _called(body: Netlist, sizes: Mapping[str, int]) -> Netlist:
    """What is repeated, as a part that is called at each round."""
    ports = {name: Inport(size) for name, size in sizes.items()}
    nodes = {**body.nodes, **ports, CONTROL: PartControl(rounds=True)}
    own = frozenset([CONTROL, *body.inports])
    return replace(body, nodes=nodes, condition=PartCondition(CONTROL, own, once=True, restarts=False))


def _of_time(b: Equations, s: System, own: Ticks) -> dict[int, ca.SX]:
    """Places in h of what is inside that are functions of time: listed instants, ticks of clocks."""
    found: dict[int, ca.SX] = {}
    for name, slot in s.held_of(CountedInstants).items():
        counted = b._memory(CountedInstants, name, 0.0, 1, times=slot.times)
        found[int(slot.index[0])] = column(counted)
    control, _ = s.parts[CONTROL]  # its ticks are the rounds, which nothing inside counts
    for ticks, places in zip(s.rates, s.tick_slots, strict=True):
        if ticks == control.ticks:
            continue
        time, count = _clock(b, ticks, own)
        found |= {places.time: time, **dict.fromkeys((places.count, *places.since), count)}
    return found


def _clock(b: Equations, ticks: Ticks, own: Ticks) -> tuple[ca.SX, ca.SX]:
    """Time and count of a clock; of one with the ticks of the loop, those a period later and the first."""
    if ticks != own:
        time, count = b.clock(ticks)
        return column(time), column(count)
    later, count = b.clock(replace(ticks, offset=ticks.offset + ticks.period))
    first = float(ticks.offset)
    time = ca.if_else(column(count) > 0.5, column(later), first)
    return time, column(count) + ca.if_else(column(b.time) >= first, 1.0, 0.0)


def _pairs(places: np.ndarray, values: ca.SX) -> Iterator[tuple[int, ca.SX]]:
    for k, place in enumerate(places):
        yield int(place), values[k]


def _parameter(b: Equations, name: str, s: System) -> ca.SX:
    """The numbers of a parameter inside, as one of the block."""
    slot = s.parameters[name]
    numbers = s.p0[slot.index]
    return column(b.parameter(name.replace("/", "."), numbers))


def _around(body: Netlist, block: Iterated, control: tuple[str, ...]) -> Netlist:
    ports = {n: Inport(i.size) for n, i in body.inports.items() if n != INDEX} | {
        n: Inport() for n in control
    }
    wires = tuple(((n, "out"), (BODY, n)) for n in ports)
    nodes: dict[str, Any] = {BODY: block, **ports}
    return Netlist(
        "loop", nodes, wires, {n: (BODY, n) for n in body.outports}, frozenset(), body.owner, body.parameters
    )


def _of_parameters(loop: For | While, *names: str) -> bool:
    """Are fields made of parameters of a diagram? Then what they are at first is checked."""
    given = {name: getattr(loop, name) for name in names}
    if not any(True for _ in found_in(given)):
        return False
    replace(loop, **filled(given, default))
    return True


def _repeated(inner: Any) -> Netlist:
    """What is repeated; what has a condition or is a choice stands in a diagram of its own."""
    body = netlist_of(inner)
    return wrapped(body) if body.condition is not None or body.variants else body


def whole(what: str, value: Any, least: int, most: int = MOST) -> None:
    """Refuse what is no whole number from `least` to `most`."""
    if not is_number(value) or not least <= value <= most or int(value) != value:
        raise BlockError(
            f"{what} is {shown(value)}, expected a whole number from {least} to {most}.", value=value
        )
