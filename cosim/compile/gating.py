"""Blocks of conditional parts: the equations of a block, obeying a signal that says whether it is active.

Under a condition that lasts (an enabled part) a block keeps its ticks, and while it is inactive nothing in
it changes: derivatives are 0, memories keep what they are, crossings stay on their side. In a part that is
called (a triggered one) everything sampled in a block ticks once per call, whatever its sample times are.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.declared import BlockEvent, Declared, Input, Term
from blocks.contract.event_memories import Branch, ModeMemory
from blocks.contract.instance import MakeAnew
from blocks.contract.memories import (
    AcceptedMemory,
    Afterwards,
    AlgebraicUnknown,
    Conditional,
    ContinuousState,
    DelayedSignal,
    DiscreteState,
    Evolving,
    ExternalOutput,
    HeldState,
    LatchedOutput,
    Memory,
    RandomDraw,
    Repeated,
    SampledMemory,
    Slope,
    Started,
    StartValue,
)
from blocks.contract.rate import Ticks
from blocks.contract.trace import Traced
from blocks.errors import BlockError
from cosim.compile.obeyed import ACTIVE, FRESH, RESTARTS, Obeyed
from cosim.compile.restarted_holds import samples_in_a_row


def gated(traced: Traced, obeyed: Obeyed) -> Traced:
    """The shape of a block inside a part.

    Raises
    ------
    BlockError      something in it cannot stand still, or cannot be called
    """
    return Traced(_Gate(traced.declared, obeyed).declared())


def gated_control(traced: Traced, obeyed: Obeyed, activity: str) -> Traced:
    """The same for what controls a part inside: its output `activity` is above 0 only where both are."""
    gate = _Gate(traced.declared, obeyed)
    found = gate.declared()
    outputs = tuple(
        replace(o, expression=ca.if_else(gate.on, o.expression, 0.0)) if o.name == activity else o
        for o in found.outputs
    )
    return Traced(replace(found, outputs=outputs))


def finite_or_zero(value: ca.SX) -> ca.SX:
    """Numbers as they are, 0 in place of those that are not finite.

    For what is computed in an inactive part too, such as a division that an `If` guards.
    """
    return ca.densify(ca.if_else(ca.fabs(value) <= np.finfo(float).max, value, 0.0))


class _Gate:
    """Rewrites what one shape of a block declares."""

    def __init__(self, d: Declared, obeyed: Obeyed) -> None:
        self.d, self.obeyed = d, obeyed
        self.symbols = {name: ca.SX.sym(name) for name in obeyed.inputs}
        self.on = self.symbols[ACTIVE] > 0.5
        self.added: list[Memory] = []
        self.events: list[BlockEvent] = []
        self.eyes: list[tuple[ca.SX, ca.SX]] = []  # symbols, and what is seen in their place
        self.always = {m.name for m in d.memories if isinstance(m, Branch) and m.always}
        self.put_back: set[str] = set()  # what the event of a start anew resets
        self.fresh = ca.SX(0.0)  # is that event still to come?
        self.begun: dict[str, ca.SX] = {}  # memories as their own equations see them
        self.anew: dict[str, ca.SX] = {}  # was there a restart, by the memory that finds out

    def keep(self, new: ca.SX, old: ca.SX) -> ca.SX:
        """A new value while active, else the old one."""
        return ca.densify(ca.if_else(self.on, new, old))

    def declared(self) -> Declared:
        """All of it."""
        self._refuse()
        d, seen = self.d, self._seen()
        outputs = tuple(replace(o, expression=seen(o.expression)) for o in d.outputs)
        memories = [new for m in d.memories for new in self._memory(m, seen)]
        events = [e for k, event in enumerate(d.events) for e in self._event(k, event, seen)]
        ports = [Input(name, 1, False, None, symbol) for name, symbol in self.symbols.items()]
        invariants = tuple(self.keep(seen(g), ca.SX.zeros(g.numel())) for g in d.invariants)
        once = self.obeyed.once
        going_on = [k for k, ticks in enumerate(d.ticks) if ticks in d.clocks]
        clock_symbols = ca.vertcat(ca.SX(0, 1), *[d.tick_symbols[3 * k : 3 * k + 3] for k in going_on])
        return replace(
            d,
            inputs=(*d.inputs, *ports),
            outputs=outputs,
            memories=(*memories, *self.added),
            events=(*events, *self.events),
            invariants=invariants,
            terms=self._terms(seen),
            ticks=d.clocks if once else d.ticks,
            tick_symbols=clock_symbols if once else d.tick_symbols,
            histories=() if once else d.histories,
            implicit=(),  # what follows is not what they found, where the part is not active
        )

    def _terms(self, seen: Any) -> tuple[Term, ...]:
        """Named parts of expressions, all seen at once."""
        ends = np.cumsum([0, *(t.expression.numel() for t in self.d.terms)])
        whole = seen(ca.vertcat(ca.SX(0, 1), *[t.expression for t in self.d.terms]))
        return tuple(
            replace(t, expression=whole[int(a) : int(b)])
            for t, (a, b) in zip(self.d.terms, pairwise(ends), strict=True)
        )

    def _refuse(self) -> None:
        for m in self.d.memories:
            cure = ""
            if isinstance(m, DelayedSignal) and (self.obeyed.once or self.obeyed.restarts):
                cure = "Put a continuous delay outside, or use a UnitDelay inside."
            if self.obeyed.once and isinstance(m, ContinuousState):
                cure = "Use a discrete block" + ("." if self.obeyed.rounds else ", or an Enabled part.")
            if self.obeyed.rounds and isinstance(m, (RandomDraw, ExternalOutput, AlgebraicUnknown)):
                cure = "Put it outside of the loop, and connect it."
            timeless = self.obeyed.once and self.obeyed.ticks is None
            if timeless and isinstance(m, (RandomDraw, ExternalOutput)):
                cure = "Put it outside of the part, and connect it."
            if cure:
                raise BlockError(
                    f"'{m.name}' is {m.word}, which {self.obeyed.where} cannot have.", port=m.name, hint=cure
                )
        kept = {m.name for m in self.d.memories if isinstance(m, Branch)}
        for event in self.d.events:
            if event.eager and not event.timed:  # puts continuous states back, and there are none
                continue
            if (self.obeyed.once and not {name for name, _ in event.resets} <= kept) or (
                self.obeyed.once and event.stop
            ):
                rounds = self.obeyed.rounds
                raise BlockError(
                    f"'{event.name}' is an event, and {self.obeyed.where} has none between its "
                    f"{'rounds' if rounds else 'calls'}.",
                    hint="Use a sampled block." if rounds else "Use an Enabled part.",
                )

    # --- what expressions see in place of symbols ---------------------------------------------------------
    def _seen(self) -> Any:
        for k, ticks in enumerate(self.d.ticks):
            if ticks not in self.d.clocks:
                self._ticks(k, ticks)
        if self.obeyed.restarts:
            self._start_anew()
        if self.obeyed.between:
            self._shown_states()
        return self._with_eyes

    def _with_eyes(self, expression: ca.SX) -> ca.SX:
        """An expression as the block sees it in its part."""
        if not self.eyes:
            return expression
        old, new = (ca.vertcat(*[pair[k] for pair in self.eyes]) for k in (0, 1))
        return ca.densify(ca.substitute(expression, old, new))

    def _shown_states(self) -> None:
        """Discrete states move on at a tick in a pause: seen is what they were at the active one before.

        Not so those that events reset, between ticks too.
        """
        by_events = {name for event in self.d.events for name, _ in event.resets}
        for m in self.d.memories_of(DiscreteState):
            if m.name in by_events:
                continue
            name = f"(shown {m.name})"
            shown = ca.SX.sym(name, m.size)
            value = self.keep(self._with_eyes(m.symbol), shown)
            self.eyes = [pair for pair in self.eyes if pair[0] is not m.symbol]
            self.eyes.append((m.symbol, shown))
            self.added.append(
                Conditional(name, shown, m.initial, expression=value, ticks=m.rate, start=m.symbol)
            )

    def _ticks(self, k: int, ticks: Ticks) -> None:
        """Time, count and count since a restart of a rate, as far as the block was active then."""
        three = self.d.tick_symbols[3 * k : 3 * k + 3]
        every, own = ca.veccat(*self._every()), ca.SX.sym(f"(ticks {k})", 3)
        drawn = any(m.ticks == ticks for m in self.d.memories_of(RandomDraw))
        if not drawn and not ca.depends_on(every, three):
            return
        fresh, once = three[2], self.obeyed.once
        now = self.d.time if once else three[0]
        since = own[2] + 1 if once else samples_in_a_row(own, three, float(ticks.period))
        if self.obeyed.restarts and ca.depends_on(every, fresh):
            since = ca.if_else(self._fresh_at(ticks), 1, since)
        count = own[1] + 1
        if self.obeyed.restarts and ticks in self.d.counted_anew:
            count = ca.if_else(self._fresh_at(ticks), 1, count)
        value = self.keep(ca.vertcat(now, count, since), own)
        initial, rate = np.array([float(ticks.offset), 0.0, 0.0]), self.obeyed.ticks if once else ticks
        self.added.append(Conditional(f"(ticks {k})", own, initial, expression=value, ticks=rate))
        shown = own if once else ca.vertcat(own[0], own[1], ca.fmin(own[2], fresh))
        self.eyes.append((three, shown))

    def _every(self) -> Iterable[ca.SX]:
        d = self.d
        yield from (o.expression for o in d.outputs)
        yield from (m.equation for m in d.memories_of(Evolving))
        yield from (m.reads for m in d.memories_of(ExternalOutput))
        for e in d.events:
            yield e.crossing
            yield from (v for _, v in e.resets)
        yield from d.invariants

    def _start_anew(self) -> None:
        """States are seen at their initial values from a restart on: until an event, or their next tick."""
        resets = []
        of_parts = range(self.obeyed.restarts)
        self.fresh = fresh = functools.reduce(ca.fmax, [self.symbols[f"{FRESH}{k}"] for k in of_parts])
        for m in self.d.memories:
            held = not self.obeyed.once and isinstance(m, (ContinuousState, ModeMemory))
            if not held and not isinstance(m, (DiscreteState, Repeated)) and not self._follows_steps(m):
                continue
            start = self._start_of(m) if not self._is_time(m) else self.d.time
            if isinstance(m, Repeated):  # its first round at an instant begins there
                first = ca.logic_and(self._fresh_at(m.ticks), m.symbol[0] < 0.5)
                start = ca.SX(start)
                for place in m.counts:
                    start[place] = m.symbol[place]
                self.begun[m.name] = ca.if_else(first, start, m.symbol)
                continue
            if isinstance(m, AcceptedMemory) and not self.obeyed.once:
                condition = self._fresh_since_a_step()
            elif not held:
                condition = self._fresh_at(None if isinstance(m, AcceptedMemory) else m.rate)
            else:
                resets.append((m.name, start))
                condition = fresh > 0.5
            self.eyes.append((m.symbol, ca.if_else(condition, start, m.symbol)))
        for branch in self.d.memories_of(Branch):
            if branch.remembers and not branch.begins:
                resets += self._branch_anew(branch)
        if resets:
            crossing = ca.if_else(fresh > 0.5, 1.0, -1.0)
            self.put_back = {name for name, _ in resets}
            self.events.append(BlockEvent("restart", crossing, 1, tuple(resets), rest=-1, eager=True))

    def _start_of(self, m: Memory) -> ca.SX:
        """The value a memory begins with, also where a run gives another than the block."""
        name = f"(start of {m.name})"
        start = ca.SX.sym(name, m.size)
        if isinstance(m, (Branch, AcceptedMemory)):  # has changed by the time at which others begin
            self.added.append(StartValue(name, start, m.initial, initial_of=m.name))
        else:
            self.added.append(StartValue(name, start, m.initial, start=m.symbol))
        return start

    @staticmethod
    def _follows_steps(m: Memory) -> bool:
        """Is it an accepted memory of the block itself?"""
        return isinstance(m, AcceptedMemory) and not isinstance(m, LatchedOutput)

    def _branch_anew(self, m: Branch) -> list[tuple[str, ca.SX]]:
        """A branch with a memory goes on from its initial value: what the event of a restart makes it."""
        start = self._start_of(m)
        if self.obeyed.once:
            self.begun[m.name] = ca.if_else(self._fresh_at(None), start, m.symbol)
            return []
        self.begun[m.name] = ca.if_else(self.fresh > 0.5, start, m.symbol)
        first = self.keep(self._with_eyes(ca.substitute(m.equation, m.symbol, start)), start)
        self.eyes.append((m.symbol, ca.if_else(self.fresh > 0.5, first, m.symbol)))
        return [(m.name, first)]

    @functools.cached_property
    def _restarts(self) -> ca.SX:
        """How often the parts around the block have started anew."""
        found = [self.symbols[f"{RESTARTS}{k}"] for k in range(self.obeyed.restarts)]
        return functools.reduce(operator.add, found, ca.SX(0.0))

    def _fresh_since_a_step(self) -> ca.SX:
        """Was there a restart since the newest accepted step or event?"""
        name = "(restarts accepted)"
        if name not in self.anew:
            own = ca.SX.sym(name)
            value = self.keep(self._restarts, own)
            self.added.append(AcceptedMemory(name, own, np.zeros(1), expression=value))
            self.anew[name] = self._restarts != own
        return self.anew[name]

    def _fresh_at(self, ticks: Ticks | None) -> ca.SX:
        """Was there a restart since the last tick, or call? One memory, 2*seen + fresh."""
        ticks_of = self.obeyed.ticks if self.obeyed.once else ticks
        name = f"(restarts at {ticks})"
        if name not in self.anew:
            own = ca.SX.sym(name)
            new = ca.if_else(self._restarts != ca.floor(0.5 * own), 1.0, 0.0)
            value = self.keep(2.0 * self._restarts + new, own)
            self.added.append(Conditional(name, own, np.zeros(1), expression=value, ticks=ticks_of))
            self.anew[name] = own - 2.0 * ca.floor(0.5 * own) > 0.5
        return self.anew[name]

    # --- memories and events ------------------------------------------------------------------------------
    def _memory(self, m: Memory, seen: Any) -> Iterable[Memory]:
        if isinstance(m, ContinuousState):
            zeros = ca.SX.zeros(m.size)
            correction = None if m.correction is None else self.keep(seen(m.correction), zeros)
            yield replace(m, expression=self.keep(seen(m.equation), zeros), correction=correction)
        elif self.obeyed.once and isinstance(m, DiscreteState):
            yield from self._called(m, seen)
        elif isinstance(m, Started) and isinstance(m, Evolving):
            yield self._again(m, seen)
        elif isinstance(m, Branch) and m.begins and not self.obeyed.once:
            yield self._beginning(m)
        elif isinstance(m, AcceptedMemory) and not self.obeyed.once and self._is_time(m):
            yield m  # when the newest step ended: that goes on, so that no pause counts as time since then
        elif isinstance(m, (SampledMemory, Branch, AcceptedMemory)) and (
            self.obeyed.once or isinstance(m, SampledMemory)
        ):
            ticks = self.obeyed.ticks if self.obeyed.once else m.rate
            equation = m.equation
            if isinstance(m, Branch) and m.rest is not None:  # nothing moves when it is called
                equation = ca.substitute(equation, m.symbol, ca.SX(m.rest))
            value = self.keep(seen(self._own(m, equation)), m.symbol)
            kind = Afterwards if isinstance(m, AcceptedMemory) else Conditional
            yield kind(m.name, m.symbol, m.initial, m.field, expression=value, ticks=ticks)
        elif isinstance(m, Branch) and m.always:
            yield replace(m, expression=seen(m.equation))
        elif isinstance(m, (DiscreteState, Branch, AcceptedMemory)):
            yield replace(m, expression=self.keep(seen(self._own(m, m.equation)), m.symbol))
        elif isinstance(m, DelayedSignal):
            yield from self._delayed(m, seen)
        elif isinstance(m, AlgebraicUnknown):
            yield from self._unknown(m, seen)
        elif isinstance(m, Evolving):
            yield replace(m, expression=seen(m.equation))
        elif isinstance(m, RandomDraw):
            yield from self._draw(m)
        elif isinstance(m, ExternalOutput):
            yield from self._external(m, seen)
        else:
            yield m

    def _own(self, m: Memory, equation: ca.SX) -> ca.SX:
        """An equation of a memory, with what it was as it sees that itself."""
        return ca.substitute(equation, m.symbol, self.begun[m.name]) if m.name in self.begun else equation

    def _beginning(self, m: Branch) -> Branch:
        """The value of a signal where the part is active first or starts anew: an event, or at a tick."""
        restarts, name = self._restarts, f"(begun {m.name})"
        begun = ca.SX.sym(name)
        value = self.keep(restarts + 1.0, begun)
        self.added.append(Afterwards(name, begun, np.zeros(1), expression=value))
        coming = ca.logic_and(self.on, begun != restarts + 1.0)
        there = self._with_eyes(self._at_the_start(m.equation))
        crossing = ca.if_else(coming, 1.0, -1.0)
        self.events.append(BlockEvent(f"{m.name} begins", crossing, 1, ((m.name, there),), rest=-1))
        return replace(m, expression=ca.densify(ca.if_else(coming, there, m.symbol)))

    def _at_the_start(self, equation: ca.SX) -> ca.SX:
        """An equation as it is where the run begins, whenever that is."""
        begins = [m.symbol for m in self.d.memories_of(StartValue) if self._is_begin(m)]
        there = begins[0] if begins else ca.SX(0.0)
        return ca.substitute(equation, self.d.time, there)

    def _is_begin(self, m: StartValue) -> bool:
        """Is it the time at which the run begins?"""
        return m.start is not None and m.start.is_scalar() and bool(ca.is_equal(m.start, self.d.time))

    def _is_time(self, m: Memory) -> bool:
        """Is it the time of the newest accepted step?"""
        if not isinstance(m, AcceptedMemory):
            return False
        return bool(m.equation.is_scalar() and ca.is_equal(m.equation, self.d.time))

    def _delayed(self, m: DelayedSignal, seen: Any) -> Iterable[Memory]:
        """Time goes on in a delay: what it is given while the part is inactive is the newest value before."""
        name = f"(newest {m.name})"
        newest = ca.SX.sym(name, m.size)
        value = self.keep(seen(m.equation), newest)
        self.added.append(LatchedOutput(name, newest, m.initial, expression=value, start=m.symbol))
        yield replace(m, expression=value, seconds=seen(m.seconds))

    def _unknown(self, m: AlgebraicUnknown, seen: Any) -> Iterable[Memory]:
        """An unknown stays where it is while the part is inactive, whether there is a solution or not.

        In a part that is called it is its guess between calls.
        """
        name = f"(newest {m.name})"
        kept = ca.SX.sym(name, m.size)
        if self.obeyed.once:
            self.added.append(StartValue(name, kept, m.initial, initial_of=m.name))
        else:
            value = self.keep(m.symbol, kept)
            self.added.append(LatchedOutput(name, kept, m.initial, initial_of=m.name, expression=value))
        yield replace(m, expression=self.keep(seen(m.equation), m.symbol - kept))

    def _draw(self, m: RandomDraw) -> Iterable[Memory]:
        """Random draws for the next active tick, and those of the newest one."""
        drawn = ca.SX.sym(f"(draw of {m.name})", m.size)
        count = f"(ticks {self.d.ticks.index(m.ticks)})"
        ticks = (self.obeyed.ticks or m.ticks) if self.obeyed.once else m.ticks
        name, stream = f"(draw of {m.name})", m.stream or m.name
        yield replace(m, name=name, symbol=drawn, counted_by=count, ticks=ticks, stream=stream)
        kept = self.keep(drawn, m.symbol)
        yield Conditional(m.name, m.symbol, m.initial, m.field, expression=kept, ticks=ticks)

    def _external(self, m: ExternalOutput, seen: Any) -> Iterable[Memory]:
        """An opaque block that is called only while the part is active."""
        asked = ca.SX.sym(f"(asked {m.name})")
        ticks = m.ticks if not self.obeyed.once or self.obeyed.ticks is None else self.obeyed.ticks
        value = ca.if_else(self.on, 1.0, 0.0)
        yield Conditional(f"(asked {m.name})", asked, np.zeros(1), expression=value, ticks=ticks)
        argument, make = seen(m.block.argument), m.block.make
        if self.obeyed.restarts and make is not None:
            argument, make = ca.vertcat(argument, self._restarts), MakeAnew(make)
        given = ca.if_else(asked > 0.5, argument, 0.0)
        block = replace(m.block, argument=ca.densify(given), make=make)
        yield replace(m, block=block, ticks=ticks, asked=f"(asked {m.name})")

    def _again(self, m: Memory, seen: Any) -> Memory:
        """A memory of a control or latch, whose part is inside this one."""
        assert isinstance(m, (Conditional, Afterwards, LatchedOutput))
        start = None if m.start is None else seen(m.start)
        value = self.keep(seen(self._own(m, m.equation)), m.symbol)
        if self.obeyed.once and isinstance(m, AcceptedMemory):
            more: dict[str, Any] = {"start": start, "start_input": m.start_input, "ticks": self.obeyed.ticks}
            return Conditional(m.name, m.symbol, m.initial, m.field, expression=value, **more)
        if self.obeyed.once and isinstance(m, (Conditional, Afterwards)):
            return replace(m, expression=value, start=start, ticks=self.obeyed.ticks)
        found: Memory = replace(m, expression=value, start=start)
        return found

    def _called(self, m: DiscreteState, seen: Any) -> Iterable[Memory]:
        """A state of a part that is called: what it is, and what it will be when it is called next."""
        coming = ca.SX.sym(f"(next {m.name})", m.size)
        ticks = self.obeyed.ticks
        yield HeldState(
            m.name, m.symbol, m.initial, m.field,
            expression=self.keep(coming, m.symbol), ticks=ticks, labels=m.labels,
        )  # fmt: skip
        self.added.append(
            Afterwards(
                f"(next {m.name})",
                coming,
                m.initial,
                expression=self.keep(seen(m.equation), coming),
                ticks=ticks,
                start=m.symbol,
            )
        )

    def _event(self, k: int, event: BlockEvent, seen: Any) -> Iterable[BlockEvent]:
        """Crossings of an inactive block stay where they were, at first where they are at the start of a run.

        What resets a state that a start anew resets too waits until that is done.
        """
        if self.obeyed.once:
            return
        last, now = ca.SX.sym(f"(crossing {k})"), seen(event.crossing)
        if event.resets and {name for name, _ in event.resets} <= self.always:
            followed = self.keep(now, finite_or_zero(now))
            yield replace(event, crossing=followed, resets=tuple((name, seen(v)) for name, v in event.resets))
            return
        crossing = self.keep(now, last)
        if self.put_back & {name for name, _ in event.resets}:
            begun = ca.SX.sym(f"(begun {k})")  # 0 at the start of a run, where nothing is an edge
            self.added.append(AcceptedMemory(f"(begun {k})", begun, np.zeros(1), expression=ca.SX(1.0)))
            waits = self.fresh > 0.5 if event.eager else ca.logic_and(self.fresh > 0.5, begun > 0.5)
            crossing = ca.if_else(waits, last, crossing)
        slopes = [m.symbol for m in self.d.memories_of(Slope)]  # unknown before the first instant
        unknown = slopes and ca.depends_on(now, ca.vertcat(*slopes))
        start = (
            None if unknown or event.eager else self.keep(now, finite_or_zero(now))
        )  # an eager event is due as soon as it is active
        self.added.append(
            LatchedOutput(f"(crossing {k})", last, np.zeros(1), expression=crossing, start=start)
        )
        resets = tuple((name, seen(value)) for name, value in event.resets)
        yield replace(event, crossing=crossing, resets=resets)
