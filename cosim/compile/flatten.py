"""From a diagram to the flat `System`: wiring, sizes, holds, order, expressions, layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.declared import BlockEvent
from blocks.contract.driven import DrivenBlock
from blocks.contract.event_memories import Branch
from blocks.contract.memories import (
    AcceptedMemory,
    AlgebraicUnknown,
    ContinuousState,
    DelayedSignal,
    Evolving,
    RandomDraw,
    Started,
)
from blocks.contract.no_numbers import no_numbers
from blocks.contract.trace import LIBRARY, TraceCache, Traced, trace
from blocks.errors import PlantloopError, WiringError
from cosim.columns import pick, stack
from cosim.compile.additions import NOTHING_ADDED, Additions, put_in
from cosim.compile.block_invariants import correction, invariant_names, rounding, tolerances
from cosim.compile.conditions import at_rest, obey, settle_rates
from cosim.compile.expressions import Expressions
from cosim.compile.feedthrough import feeds_of
from cosim.compile.jumps import warn_of_jumps
from cosim.compile.masks import Masks, given_values
from cosim.compile.named_parts import implicit_solutions, named_terms
from cosim.compile.netlist import Driven, Netlist
from cosim.compile.order import Dependencies
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.rates import insert_holds
from cosim.compile.schedule import build_schedule
from cosim.compile.shown_signals import ShownSignals
from cosim.compile.signal_nodes import SignalNode
from cosim.compile.sizes import resolve_sizes
from cosim.compile.slopes import Slopes, with_slopes
from cosim.compile.starting import in_order, waiting_modes
from cosim.compile.tick_only_branches import FollowingBranch, without_idle_events
from cosim.compile.units import WireUnits, convert, follow_units
from cosim.compile.vectors import Vectors
from cosim.compile.wiring import ExternalInput, Wiring, expand, leave_open
from cosim.segments import Segment
from cosim.slots import LoopSlot, Slot, Sought
from cosim.system import System
from cosim.system_parts import (
    CoupledUnit,
    Delay,
    Draw,
    NamedRange,
    Samples,
    SystemEvent,
    Unsettable,
)

S = TypeVar("S", bound=Slot)
Look = Callable[[Mapping[str, PlacedBlock], Expressions], None]


@no_numbers()
def flatten(
    diagram: Netlist,
    solve_loops: bool = False,
    perturb: tuple[str, ...] = (),
    look: Look = warn_of_jumps,
    added: Additions = NOTHING_ADDED,
    driven: Driven = False,
    opened: tuple[str, ...] = (),
    inspect: Callable[[Wiring, WireUnits], None] | None = None,
    masks: Masks | None = None,
    cache: TraceCache | None = None,
) -> System:
    """Flat system of what was drawn.

    look : what looks at the blocks and their values between ticks, where there are continuous states
    inspect : is shown the wiring and what is known of units; then unit faults are no errors
    masks : parameters known where the diagram stands; takes up those of the diagram
    driven : blocks that step themselves are left to a co-simulation master; "held": as in a run by default
    cache : what was traced a moment ago

    added : blocks besides what was drawn, and where they act
    Each output or input named in `perturb` gets an input of the system of its name, added to its value; of
    those named in `opened` as well it takes the place: what reads them does not see what they are.

    Raises
    ------
    WiringError            everything that is wrong with names, connections and sizes, together
    AlgebraicLoopError     signals that depend on themselves at one instant, hop by hop
    """
    cache = TraceCache(library=LIBRARY) if cache is None else cache
    if driven:
        diagram = diagram.uncoupled() if driven == "held" else diagram.driven()
    wiring = expand(diagram, cache, masks)
    put_in(wiring, added, cache)
    leave_open(wiring, frozenset((*perturb, *opened)))
    traced = resolve_sizes(wiring, cache)
    units = follow_units(wiring, traced, refuse=inspect is None)
    if inspect is not None:
        inspect(wiring, units)
    placed: dict[str, PlacedBlock] = {}
    problems = []
    _trace_apart(wiring.blocks, traced)
    for path, block in wiring.blocks.items():
        drivers = [wiring.drivers.get((path, i.name)) for i in traced[path].declared.inputs]
        try:
            traced[path] = wiring.masks.link(path, block, traced[path], cache)
            placed[path] = PlacedBlock(path, block, traced[path], traced[path].values(block), drivers)
        except PlantloopError as error:
            problems.append(f"block '{path}': {error}")
    if problems:
        raise WiringError(problems, path=diagram.name)
    wiring.masks.compute()
    convert(placed, units, cache)
    settle_rates(placed, wiring.parts, cache)
    port_rates = insert_holds(placed, cache, bool(opened))
    obey(placed, wiring.parts)
    vectors = Vectors(placed, wiring.borders, wiring.masks, perturb, opened, units)
    vectors.move_parameters(added)
    found = _Writer(diagram.name, vectors, port_rates, wiring.outports, solve_loops).system(look)
    return replace(
        found,
        drawn=diagram,
        remake=partial(flatten, diagram, solve_loops, perturb, added=added, driven=driven, opened=opened),
    )


def _trace_apart(blocks: dict[str, Block], traced: dict[str, Traced]) -> None:
    """Give blocks of one shape that call what a run makes a trace each: none shares it."""
    seen: set[int] = set()
    for path, block in blocks.items():
        found = traced[path]
        if id(found) in seen and any(call.make for call in found.declared.calls):
            traced[path] = found = trace(block, {i.name: i.size for i in found.declared.inputs})
        seen.add(id(found))


class _Writer:
    """Writes down all expressions of placed blocks whose memories and parameters have their places."""

    def __init__(
        self,
        name: str,
        vectors: Vectors,
        port_rates: dict[tuple[str, str], str],
        outports: dict[str, tuple[str, str]],
        solve_loops: bool,
    ) -> None:
        self.name, self.v, self.solve_loops = name, vectors, solve_loops
        self.placed, self.masks, self.borders = vectors.placed, vectors.masks, vectors.borders
        self.port_rates, self.outports = port_rates, outports

    def system(self, look: Look) -> System:
        """Write down all expressions."""
        between = Expressions(self.placed, self.v.t, added=self._perturbations(), opened=self.v.opened)
        dependencies = Dependencies(self.placed, at_tick=False, solve=self.solve_loops)
        order = dependencies.order()
        self._refuse_opened(dependencies.cut)
        residual = self._evaluate(between, order, dependencies.cut)
        delays = self._delays(between)
        place = {name: slot.index for name, slot in self.v.h.slots.items()}
        schedule = build_schedule(
            self.placed,
            self.v.rates,
            between,
            place.__getitem__,
            self.solve_loops,
            frozenset(dependencies.cut),
        )
        for segment in schedule:
            if segment.repeated_by >= 0:  # a number of rounds begins with 1 in a loop
                self.v.begin_with(segment.repeated_by, 1.0)
        (x, x0), (h, h0), (w, w0), (p, p0) = (v.stacked() for v in (self.v.x, self.v.h, self.v.w, self.v.p))
        derivative = self._derivative(between, look)
        events = tuple(self._events(between))
        accepted = self._refreshed(between, AcceptedMemory)
        inputs, of_inputs = self._inputs(), dict[str, bool]()
        if slopes := Slopes.of(self.placed, between):
            outside = pick(h, [place for slot in inputs.values() for place in slot.index])
            of_inputs = slopes.of_inputs(outside, (derivative, residual))
            residual = slopes.into_residual(self.v.t, x, derivative, w, residual)
            found = slopes.found(self.v.t, x, derivative, w, residual)
            derivative = slopes.put(derivative, found)
            events = with_slopes(events, slopes, found)
            accepted = (slopes.put(accepted[0], found), accepted[1])  # where crossings of inactive parts stay
        shown = ShownSignals(self.v)
        signals = shown.found(between)
        invariants = stack(self._block_parts(between, "invariants"))
        brings_back = correction(self.placed, between)
        if self.v.rates:
            everywhere = [derivative, residual, accepted[0], invariants, brings_back]
            everywhere += [part for delay in delays for part in (delay.signal, delay.seconds)]
            events, signals = without_idle_events(
                list(self._following(between)), events, schedule, signals, everywhere
            )
        return System(
            name=self.name,
            t=self.v.t, x=x, h=h, w=w, p=p,
            states=self.v.x.slots, held=self.v.h.slots, solved=self.v.w.slots, parameters=self.v.p.slots,
            aliases=self.v.aliases,
            inputs=inputs, input_slopes=of_inputs,
            perturbed=self.v.perturbed,
            histories=self._histories(),
            rates=tuple(self.v.rates),
            tick_slots=self.v.tick_places,
            schedule=tuple(schedule),
            signals=signals,
            logged=(*signals, *shown.states_to_log(signals)),
            derivative=derivative,
            accepted=accepted,
            starting=self._starting(between, order, schedule),
            events=events,
            residual=residual,
            loops=tuple(self.v.loops),
            delays=delays,
            draws=self._draws(),
            invariants=invariants,
            tolerances=tolerances(self.placed),
            invariant_names=invariant_names(self.placed),
            correction=brings_back,
            rounding=rounding(self.placed),
            terms=named_terms(self.placed, between),
            implicit=partial(implicit_solutions, self.placed, between),
            port_rates={".".join(port): text for port, text in self.port_rates.items()},
            order=self._order(order),
            opaque=tuple(i.path for i in self.placed.values() if i.traced.declared.calls),
            calls=tuple(c for i in self.placed.values() for c in i.traced.declared.calls),
            callers=tuple(i.path for i in self.placed.values() for _ in i.traced.declared.calls),
            outports={name: shown.name_of(port) for name, port in self.outports.items()},
            borders=shown.of_borders(),
            fields=self._fields(),
            ranges=self._ranges(between),
            units=self._units(between),
            starts=self.v.following_starts(),
            sizes=tuple(self.v.sizes),
            refused=self._refused(),
            feeds=partial(feeds_of, {i.path: i.traced for i in self.placed.values()}),
            parts={
                i.path: (i.block, {q.name: q.field or "" for q in i.traced.declared.parameters})
                for i in self.placed.values()
            },
            given=partial(given_values, {i.path: i.block for i in self.placed.values()}, self.masks),
            x0=x0, h0=h0, w0=w0, p0=p0,
        )  # fmt: skip

    def _perturbations(self) -> dict[tuple[str, str], ca.SX]:
        """The symbols that are added to ports: those of the inputs that perturb them."""
        added: dict[tuple[str, str], ca.SX] = {}
        for name, slot in self.v.perturbed.items():
            symbol = self.v.h.symbols[list(self.v.h.slots).index(slot.name)]
            added |= {port: added.get(port, 0) + symbol for port in self.v.ports_of(name)}
        return added

    def _refuse_opened(self, cut: set[SignalNode]) -> None:
        for node in cut:
            if (node.path, node.name) in self.v.opened:
                name = f"{node.path}.{node.name}"
                raise WiringError(
                    [f"'{name}' is solved for in an algebraic loop; open the loop at another signal of it."],
                    path=name,
                )

    def _derivative(self, between: Expressions, look: Look) -> ca.SX:
        """(nx, 1) rates of all continuous states."""
        rates = [
            between.memory(inst.path, m.name)
            for inst in self.placed.values()
            for m in inst.memories(ContinuousState)
        ]
        if rates:
            look(self.placed, between)
        return stack(rates)

    def _inputs(self) -> dict[str, Slot]:
        """Values set from outside between instants: external inputs, and perturbations of signals."""
        inputs = {
            inst.path: self.v.h.slots[f"{inst.path}.value"]
            for inst in self.placed.values()
            if isinstance(inst.block, ExternalInput)
        }
        return inputs | self.v.perturbed

    def _order(self, order: list[SignalNode]) -> tuple[str, ...]:
        """Names of the signals of the diagram's own blocks in order of evaluation."""
        own = [n for n in order if not self.placed[n.path].before]
        return tuple(dict.fromkeys(f"{n.path}.{n.name}" for n in own))

    def _histories(self) -> tuple[Samples, ...]:
        return tuple(
            Samples(
                self.v.h.slots[f"{inst.path}.{history.newest}"].index,
                tuple(self.v.h.slots[f"{inst.path}.{name}"].index for name in history.older),
                self.v.count_read(inst.path, history.ticks),
            )
            for inst in self.placed.values()
            for history in inst.traced.declared.histories
        )

    def _refused(self) -> dict[str, Unsettable]:
        """Why some parameters cannot be changed, by name."""
        following = (self.v.following | self.masks.bound).items()
        early = {
            f"{inst.path}.{name}": Unsettable("no run can change it", builds=builds, cure=cure)
            for inst in self.placed.values()
            for builds, names in ((False, inst.block.start_only), (True, inst.block.built_anew))
            for name, cure in names.items()
        }
        return (
            early
            | self.masks.refused()
            | {name: Unsettable(f"it follows from '{whence}'", follows=True) for name, whence in following}
        )

    def _units(self, between: Expressions) -> tuple[CoupledUnit, ...]:
        """Blocks that a co-simulation master runs."""
        return tuple(
            CoupledUnit(
                inst.path,
                inst.block,
                stack(between.input(inst, k) for k in range(len(inst.drivers))),
            )
            for inst in self.placed.values()
            if isinstance(inst.block, DrivenBlock)
        )

    def _fields(self) -> dict[str, str]:
        """Fields of blocks: the name of the initial value that a field gives, "" for others."""
        found: dict[str, str] = {}
        for inst in self.placed.values():
            if not inst.before and not isinstance(inst.block, ExternalInput):
                given = {m.field: f"{inst.path}.{m.name}" for m in inst.traced.declared.memories if m.field}
                found |= {f"{inst.path}.{f}": given.get(f, "") for f in inst.block.drawn_fields}
        return found

    def _evaluate(self, between: Expressions, order: list[SignalNode], cut: set[SignalNode]) -> ca.SX:
        """All outputs in order, unknowns first; returns what is zero at the unknowns."""
        unknowns = sorted(cut, key=str)
        for node in unknowns:
            size = 1 if node.component is not None else self.placed[node.path].output(node.name).size
            symbol = ca.SX.sym(f"{node}", size)
            self.v.w.add(LoopSlot, f"loop {node}", symbol, np.zeros(size))
            self.v.loops += [Sought(str(node))] * size
            between.assume(node, symbol)
        for inst in self.placed.values():
            for m in inst.traced.declared.memories:
                if m.placed_last:
                    self.v.place(inst, m)
        for node in order:
            if node not in cut:
                between.output(node)
        residuals = [
            between.of(inst.path, "z:", ca.vertcat(*[m.equation for m in found]))
            for inst in self.placed.values()
            if (found := inst.memories(AlgebraicUnknown))
        ]
        return stack([*residuals, *(between.mismatch(node) for node in unknowns)])

    def _delays(self, between: Expressions) -> tuple[Delay, ...]:
        found = []
        for inst in self.placed.values():
            for m in inst.memories(DelayedSignal):
                name = f"{inst.path}.{m.name}"
                seconds = between.of(inst.path, f"delay:{m.name}", m.seconds)
                slot = self.v.w.slots[name]
                found.append(
                    Delay(
                        name,
                        slot.index,
                        between.memory(inst.path, m.name),
                        seconds,
                        slot.initial,
                        m.shortest,
                        m.longest,
                    )
                )
        return tuple(found)

    def _draws(self) -> tuple[Draw, ...]:
        return tuple(
            Draw(
                f"{inst.path}.{m.stream or m.name}",
                self.v.h.slots[f"{inst.path}.{m.name}"].index,
                self.v.rate_index[m.ticks],
                m.distribution,
                int(self.v.h.slots[f"{inst.path}.{m.counted_by}"].index[1]) if m.counted_by else -1,
            )
            for inst in self.placed.values()
            for m in inst.memories(RandomDraw)
        )

    def _events(self, between: Expressions) -> Iterator[SystemEvent]:
        for inst in self.placed.values():
            counts = self.v.restarted_by(inst.path) if inst.traced.declared.events else ()
            values = iter(between.of_events(inst.path))
            for event in inst.traced.declared.events:
                crossing = next(values)
                resets, names, discrete = [], [], [np.zeros(0, dtype=int)]
                for target, _ in event.resets:
                    name = f"{inst.path}.{target}"
                    m = inst.memory(target)
                    index = self.v.vectors[m.vector].slots[name].index
                    resets.append((m.vector, index, next(values)))
                    names.append(name)
                    if m.has_next:
                        discrete.append(index)
                yield SystemEvent(
                    f"{inst.path}.{event.name}",
                    inst.path,
                    crossing,
                    event.direction,
                    tuple(resets),
                    tuple(names),
                    np.concatenate(discrete),
                    event.stop,
                    counts,
                    event.rest,
                    warning=event.warning,
                    unmet=event.unmet,
                    anew=tuple(f"{inst.path}.{name}" for name in event.anew),
                    eager=event.eager,
                    by_value=event.by_value,
                    timed=self._place_of_time(inst.path, event),
                    follow_time=event.follow_time,
                    left=event.left,
                    acknowledges=event.acknowledges,
                    in_turn=event.in_turn,
                )

    def _place_of_time(self, path: str, event: BlockEvent) -> int:
        return int(self.v.h.slots[f"{path}.{event.timed}"].index[0]) if event.timed else -1

    def _refreshed(self, between: Expressions, kind: type[Evolving]) -> tuple[ca.SX, np.ndarray]:
        """New values and places of the memories of a kind."""
        found = [(i.path, m.name) for i in self.placed.values() for m in i.memories(kind)]
        places = [self.v.h.slots[f"{path}.{name}"].index for path, name in found]
        values = [between.memory(path, name) for path, name in found]
        return stack(values), np.concatenate([np.zeros(0, int), *places])

    def _starting(
        self, between: Expressions, order: list[SignalNode], schedule: list[Segment]
    ) -> tuple[ca.SX, np.ndarray]:
        """Values determined before the first instant, and their places."""
        values, places = self._refreshed(between, Branch)
        for inst in self.placed.values():
            for m in inst.memories(Started):
                if m.start is not None:
                    value = between.of(inst.path, f"start:{m.name}", m.start)
                elif m.start_input:
                    value = at_rest(self.placed, between, order, inst, m.start_input)
                else:
                    continue
                values = ca.vertcat(values, value)
                places = np.concatenate([places, self.v.h.slots[f"{inst.path}.{m.name}"].index])
        if not len(places):
            return values, places
        h = self.v.h.stacked()[0]
        found = in_order(ca.densify(values), h[places.tolist()])
        kept = ~waiting_modes(values, places, h, self.placed, self.v.h.slots, schedule)
        return found[np.flatnonzero(kept).tolist()], places[kept]

    def _following(self, between: Expressions) -> Iterator[FollowingBranch]:
        """Branches that depend on what they were in ties at most, and never stand still."""
        for inst in self.placed.values():
            for m in inst.memories(Branch) if not inst.obeys else ():
                value, symbol = between.memory(inst.path, m.name), inst.symbols[m.name]
                if m.rest is not None or not ca.depends_on(value, symbol):
                    yield FollowingBranch(f"{inst.path}.{m.name}", symbol, value)

    def _block_parts(self, between: Expressions, what: str) -> list[ca.SX]:
        return [
            between.of(inst.path, f"{what}{k}", expression)
            for inst in self.placed.values()
            for k, expression in enumerate(getattr(inst.traced.declared, what))
        ]

    def _ranges(self, between: Expressions) -> tuple[NamedRange, ...]:
        return tuple(
            NamedRange(i.path, between.of(i.path, f"range{k}", r.value), r.low, r.high, r.what, r.otherwise)
            for i in self.placed.values()
            for k, r in enumerate(i.traced.declared.ranges)
        )
