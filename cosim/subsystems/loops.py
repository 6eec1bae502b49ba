"""Subsystems that run several times within one tick: `For` and `While`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import choice, is_number
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.memories import Repeated
from blocks.contract.rate import Rate, Ticks
from blocks.contract.symbols import as_array, column
from blocks.errors import BlockError, shown
from cosim.compile.flatten import flatten
from cosim.compile.netlist import Inport, Netlist
from cosim.subsystems.parts import Subsystem, checked_inner, netlist_of
from cosim.system import System

BODY = "body"  # what is repeated is called in its subsystem
MOST = 100_000  # repetitions within one tick
STATES = ("held", "reset")


@dataclass(frozen=True)
class For(Subsystem):
    """Runs `count` times within each tick: every sampled block inside ticks that often.

    inner : Block or Diagram without continuous states, events and delays, of one rate; an input "index"
        of it is the number of the repetition, from 0
    count : how often; None for an input "count", cut to a whole number
    sample, offset : of the ticks [s]
    states : "held" continues from the previous tick, "reset" starts each tick from the initial values
    """

    inner: Any
    count: int | None = None
    sample: Rate = 0
    offset: Rate = 0
    states: str = "held"

    def __post_init__(self) -> None:
        checked_inner("For", self.inner)
        if self.count is not None:
            whole("count", self.count, 0)
        choice(self.states, "states", STATES, BlockError)
        checks.rate(self)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        body = netlist_of(self.inner)
        block = Iterated(body, self.sample, self.offset, self.count, "", self.states == "reset")
        return _around(body, block, ("count",) if self.count is None else ())


@dataclass(frozen=True)
class While(Subsystem):
    """Runs at each tick until its output "condition" is not above 0, at most `limit` times.

    inner, sample, offset, states : see `For`; the inside has an output "condition"
    """

    inner: Any
    sample: Rate = 0
    offset: Rate = 0
    states: str = "reset"
    limit: int = 1000

    def __post_init__(self) -> None:
        checked_inner("While", self.inner)
        whole("limit", self.limit, 1)
        choice(self.states, "states", STATES, BlockError)
        checks.rate(self)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        body = netlist_of(self.inner)
        if "condition" not in body.outports:
            raise BlockError(
                "While: the inside has no output 'condition'.", hint='Add d.outport("condition", ...).'
            )
        block = Iterated(body, self.sample, self.offset, self.limit, "condition", self.states == "reset")
        return _around(body, block, ())


@dataclass(frozen=True)
class Iterated(Block):
    """A diagram that runs several times within one tick.

    Output: those of `body` after the last repetition. Direct feedthrough: from all inputs at a tick.

    count : how often at most, None for the input "count"; until : output that ends it where it is not above 0
    anew : does each tick start at the initial values?
    """

    body: Netlist
    sample: Rate
    offset: Rate
    count: int | None
    until: str
    anew: bool

    def define(self, b: Equations) -> None:
        """Declare ports, the vector that is kept, and one repetition."""
        wanted = {n: b.input(n) for n in self.body.inports if n != "index"}
        sizes = {n: Inport(int(u.size)) for n, u in wanted.items()}
        count: Any = b.input("count", size=1)[0] if self.count is None else float(self.count)
        s = flatten(replace(self.body, nodes={**self.body.nodes, **sizes}))
        _refuse(s)
        p = ca.vertcat(ca.SX(0, 1), *[_parameter(b, name, s) for name in s.parameters])
        nh, outs = len(s.h0), [s.signal(name).expression for name in s.outports]
        ends = np.cumsum([0, *[o.numel() for o in outs]])
        kept = np.concatenate([[0.0, 0.0], s.h0, np.zeros(int(ends[-1]))])
        ticks = Ticks.of(self.sample, self.offset)
        limit = MOST if self.count is None else max(2, self.count + 1)
        b.tick_count(ticks)
        memory = b._memory(Repeated, "loop", kept, None, ticks=ticks, limit=limit)
        v = column(memory)
        k = ca.if_else(v[0] > 0.5, v[1], 0.0)
        h = v[2 : 2 + nh]
        if self.anew:
            h = ca.if_else(v[0] > 0.5, h, ca.SX(ca.DM(s.h0)))
        given = {n: column(u) for n, u in wanted.items()} | {"index": k}
        shown_now, after = _tick(s, h, column(b.time), p, {n: given[n] for n in s.inputs})
        run = k < column(count)
        more = ca.logic_and(run, k + 1.0 < column(count))
        values = ca.vertcat(ca.SX(0, 1), *shown_now)
        if self.until:
            more = ca.logic_and(more, shown_now[list(s.outports).index(self.until)][0] > 0)
        new = ca.vertcat(
            ca.if_else(more, 1.0, 0.0),
            k + 1.0,
            ca.if_else(run, after, h),
            ca.if_else(run, values, v[2 + nh :]),
        )
        b._complete(memory, Repeated, as_array(ca.densify(new)), "repetition")
        for name, start, end in zip(s.outports, ends, ends[1:], strict=False):
            b.output(name, as_array(v[2 + nh + int(start) : 2 + nh + int(end)]))


def _tick(s: System, h: ca.SX, t: ca.SX, p: ca.SX, inputs: dict[str, ca.SX]) -> tuple[list[ca.SX], ca.SX]:
    """Outputs at a tick of a system from what it held before, and what it holds before the next one."""
    now = ca.SX(h)
    for name, value in inputs.items():
        now[s.inputs[name].index.tolist()] = value
    for places in s.tick_slots:
        now[places.time] = t
        for place in (places.count, *places.since):
            now[place] = now[place] + 1.0

    def at(expression: ca.SX, held: ca.SX) -> ca.SX:
        function = ca.Function("f", [s.t, s.x, s.h, s.w, s.p], [ca.densify(expression)])
        found: ca.SX = function.call([t, ca.SX(0, 1), held, ca.SX(0, 1), p], True, False)[0]
        return found

    later = []
    for segment in s.schedule:
        if segment.writes_next:
            later.append(segment)
        else:
            value, now = at(segment.expression, now), ca.SX(now)
            now[segment.writes.tolist()] = value
    following = ca.SX(now)
    for segment in later:
        following[segment.writes.tolist()] = at(segment.expression, now)
    return [at(s.signal(name).expression, now) for name in s.outports], following


def _refuse(s: System) -> None:
    """What cannot run several times at one instant."""
    wrong = {
        "continuous states": len(s.x0),
        "events": len(s.events),
        "delays": len(s.delays),
        "random draws": len(s.draws),
        "algebraic unknowns": len(s.w0),
        "opaque or repeated blocks": sum(
            not g.refreshes or g.word in ("rounds", "solve") for g in s.schedule
        ),
        "several rates": len(s.rates) > 1,
    }
    if found := [what for what, number in wrong.items() if number]:
        raise BlockError(
            f"a subsystem that is repeated within one tick has {found[0]}.",
            hint="Use discrete blocks of one sample time inside.",
        )


def _parameter(b: Equations, name: str, s: System) -> ca.SX:
    """The numbers of a parameter inside, as one of the block."""
    slot = s.parameters[name]
    numbers = s.p0[slot.index]
    return column(b.parameter(name.replace("/", "."), numbers))


def _around(body: Netlist, block: Iterated, control: tuple[str, ...]) -> Netlist:
    ports = {n: Inport(i.size) for n, i in body.inports.items() if n != "index"} | {
        n: Inport() for n in control
    }
    wires = tuple(((n, "out"), (BODY, n)) for n in ports)
    nodes: dict[str, Any] = {BODY: block, **ports}
    return Netlist("loop", nodes, wires, {n: (BODY, n) for n in body.outports}, frozenset())


def whole(what: str, value: Any, least: int, most: int = MOST) -> None:
    """Refuse what is no whole number from `least` to `most`."""
    if not is_number(value) or not least <= value <= most or int(value) != value:
        raise BlockError(
            f"{what} is {shown(value)}, expected a whole number from {least} to {most}.", value=value
        )
