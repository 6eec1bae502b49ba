"""From a diagram to the flat `System`: wiring, sizes, holds, order, expressions, layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.driven import DrivenBlock
from blocks.contract.memories import (
    AcceptedMemory,
    AlgebraicUnknown,
    Branch,
    ContinuousState,
    DelayedSignal,
    Evolving,
    Memory,
    RandomDraw,
    Slope,
    Started,
)
from blocks.contract.rate import Ticks
from blocks.contract.trace import LIBRARY, TraceCache, Traced, trace
from blocks.errors import BlockError, PlantloopError, WiringError, near_miss
from cosim.compile.additions import NOTHING_ADDED, Additions, moved_parameters, put_in
from cosim.compile.conditions import at_rest, obey, settle_rates
from cosim.compile.expressions import Expressions
from cosim.compile.jumps import warn_of_jumps
from cosim.compile.looked_at import FollowingBranch, without_idle_events
from cosim.compile.masks import Masks, Root, named, symbolic
from cosim.compile.netlist import Netlist
from cosim.compile.order import Dependencies, SignalNode
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.rates import SignalRates, insert_holds
from cosim.compile.schedule import build_schedule
from cosim.compile.sizes import resolve_sizes
from cosim.compile.slopes import Slopes
from cosim.compile.wiring import ExternalInput, expand
from cosim.slots import AddedSlot, LoopSlot, MemorySlot, ParameterSlot, Slot, Sought, TickSlot
from cosim.system import (
    CoupledUnit,
    Delay,
    Draw,
    FollowingStart,
    NamedTerm,
    Samples,
    Signal,
    System,
    SystemEvent,
    stack,
)

S = TypeVar("S", bound=Slot)
Look = Callable[[Mapping[str, PlacedBlock], Expressions], None]


def flatten(
    diagram: Netlist,
    solve_loops: bool = False,
    perturb: tuple[str, ...] = (),
    look: Look = warn_of_jumps,
    added: Additions = NOTHING_ADDED,
    driven: bool = False,
    opened: tuple[str, ...] = (),
) -> System:
    """Flat system of what was drawn.

    look : what looks at the blocks and their values between ticks, where there are continuous states
    driven : blocks that step themselves are left to a co-simulation master

    added : blocks besides what was drawn, and where they act
    Each output or input named in `perturb` gets an input of the system of its name, added to its value; of
    those named in `opened` as well it takes the place: what reads them does not see what they are.

    Raises
    ------
    WiringError            everything that is wrong with names, connections and sizes, together
    AlgebraicLoopError     signals that depend on themselves at one instant, hop by hop
    """
    cache = TraceCache(library=LIBRARY)
    wiring = expand(diagram.driven() if driven else diagram, cache)
    put_in(wiring, added, cache)
    traced = resolve_sizes(wiring, cache)
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
    wiring.masks.settle()
    settle_rates(placed, wiring.parts, cache)
    port_rates = insert_holds(placed, cache)
    obey(placed, wiring.parts)
    made = _Assembly(
        diagram.name, placed, port_rates, wiring.outports, wiring.borders, wiring.masks, perturb, opened,
        solve_loops,
    )  # fmt: skip
    made.move_parameters(added)
    found = made.system(look)
    return replace(
        found,
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


@dataclass
class _Vector(Generic[S]):
    """Collects the slots, symbols and initial values of one of the vectors x, h, w, p."""

    slots: dict[str, S] = field(default_factory=dict)
    symbols: list[ca.SX] = field(default_factory=list)
    initial: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, kind: Callable[..., S], name: str, symbol: ca.SX, initial: np.ndarray, *more: Any) -> S:
        """Give a symbol the next places; `more` are the fields of its kind of slot."""
        index = np.arange(self.size, self.size + symbol.numel())
        self.slots[name] = slot = kind(name, index, initial, *more)
        self.symbols.append(symbol)
        self.initial.append(initial)
        self.size += symbol.numel()
        return slot

    def stacked(self) -> tuple[ca.SX, np.ndarray]:
        return ca.vertcat(ca.SX(0, 1), *self.symbols), np.concatenate([np.zeros(0), *self.initial])


class _Assembly:
    """Gives every memory and parameter its place and symbols, then writes the expressions down."""

    def __init__(
        self,
        name: str,
        placed: dict[str, PlacedBlock],
        port_rates: dict[tuple[str, str], str],
        outports: dict[str, tuple[str, str]],
        borders: dict[tuple[str, str], tuple[tuple[str, str], ...]],
        masks: Masks,
        perturb: tuple[str, ...],
        opened: tuple[str, ...],
        solve_loops: bool,
    ) -> None:
        self.name, self.placed, self.solve_loops = name, placed, solve_loops
        self.port_rates, self.outports, self.borders = port_rates, outports, borders
        self.t = ca.SX.sym("t")
        self.x, self.p = _Vector[MemorySlot[ContinuousState]](), _Vector[ParameterSlot]()
        self.h, self.w = _Vector[Slot](), _Vector[Slot]()
        self.vectors: dict[str, _Vector[Any]] = {"x": self.x, "h": self.h, "w": self.w}  # of memories
        self.aliases: dict[str, str] = {}
        self.masks = masks
        self.roots = {root: self._root(root, value) for root, value in masks.tunable()}
        self.following: dict[str, str] = {}  # numbers of blocks that follow from parameters of diagrams
        self.rates = sorted({ticks for inst in placed.values() for ticks in inst.traced.declared.ticks})
        self.rate_index = {ticks: k for k, ticks in enumerate(self.rates)}
        for inst in placed.values():
            self._memories(inst)
            self._parameters(inst)
        self.loops = [
            Sought(f"{inst.path}.{m.name}", m.about or f"block '{inst.path}'")
            for inst in placed.values()
            for m in inst.memories(AlgebraicUnknown)
            for _ in range(m.size)
        ]
        self.tick_symbols = [self._tick(k, ticks) for k, ticks in enumerate(self.rates)]
        self.perturbed = {name: self._perturb(name) for name in perturb}  # last: the other places stay
        self.opened = frozenset(port for name in opened for port in self._openable(name))
        for inst in placed.values():
            used = [self.tick_symbols[self.rate_index[t]] for t in inst.traced.declared.ticks]
            inst.ticks = stack(used)

    def _memories(self, inst: PlacedBlock) -> None:
        for m in inst.traced.declared.memories:
            symbol = ca.SX.sym(f"{inst.path}.{m.name}", m.size)
            inst.symbols[m.name] = symbol
            if m.vector and not m.placed_last:
                self._place(inst, m)
        inst.own = stack(inst.symbols.values())

    def _place(self, inst: PlacedBlock, m: Memory) -> None:
        rate = None if m.rate is None else self.rate_index[m.rate]
        self.vectors[m.vector].add(
            MemorySlot,
            f"{inst.path}.{m.name}",
            inst.symbols[m.name],
            inst.values.initial[m.name],
            m,
            inst.owner,
            rate,
            inst.values.times.get(m.name, ()),
        )

    def _root(self, root: Root, value: np.ndarray) -> tuple[ca.SX, tuple[int, ...]]:
        """The symbols of a parameter of a diagram."""
        symbol = ca.SX.sym(named(root), value.size)
        self.p.add(ParameterSlot, named(root), symbol, value.ravel(), value.shape, np.ones(value.shape, bool))
        return symbol, value.shape

    def _linked(self, inst: PlacedBlock, what: str, name: str) -> dict[int, ca.SX]:
        """Places in a parameter or an initial value that follow from parameters of diagrams."""
        links = (k for k in self.masks.links.get(inst.path, ()) if (k.what, k.name) == (what, name))
        found = {}
        for link in links:
            found[link.place] = symbolic(link, self.roots)
            follows = ", ".join(sorted(named(root) for root in link.scope.roots(link.expression)))
            self.following[f"{inst.path}.{name}"] = follows
        return found

    def _starts(self) -> tuple[FollowingStart, ...]:
        """Initial values that follow from parameters of diagrams."""
        found = []
        for inst in self.placed.values():
            for m in inst.traced.declared.memories if inst.path in self.masks.links else ():
                if linked := self._linked(inst, "initial", m.name):
                    index = self.vectors[m.vector].slots[f"{inst.path}.{m.name}"].index
                    places = index[list(linked)]
                    found.append(FollowingStart(m.vector, places, stack(linked.values()), m.has_next))
        return tuple(found)

    def _parameters(self, inst: PlacedBlock) -> None:
        symbols = []
        for q in inst.traced.declared.parameters:
            value = inst.values.parameters[q.name]
            if q.size:
                symbol = ca.SX.sym(f"{inst.path}.{q.name}", q.size)
                name = f"{inst.path}.{q.name}"
                mask, linked = q.mask, self._linked(inst, "parameter", q.name)
                if linked:
                    mask = q.mask & ~np.isin(np.arange(q.mask.size), list(linked)).reshape(q.mask.shape)
                    places = np.flatnonzero(q.mask)
                    whole = [linked.get(int(k), symbol[i]) for i, k in enumerate(places)]
                    own = [symbol[i] for i, k in enumerate(places) if int(k) not in linked]
                    symbols.append(ca.vertcat(*whole))
                    symbol = ca.vertcat(ca.SX(0, 1), *own)
                else:
                    symbols.append(symbol)
                if symbol.numel():
                    self.p.add(ParameterSlot, name, symbol, value[mask], value.shape, mask)
                else:
                    continue
                for alias in q.aliases:
                    self.aliases[f"{inst.path}.{alias}"] = name
        inst.p = stack(symbols)

    def _perturbed(self, name: str) -> tuple[tuple[str, str], ...]:
        """The port of a block that a name means, or those behind the port of a subsystem."""
        path, _, port = name.rpartition(".")
        return self.borders.get((path, port), ((path, port),))

    def _perturb(self, name: str) -> Slot:
        path, port = self._perturbed(name)[0]
        inst = self.placed.get(path)
        declared = [inst.traced.declared] if inst else []
        sizes = {p.name: p.size for d in declared for ports in (d.inputs, d.outputs) for p in ports}
        if port not in sizes:
            shown = [i for i in self.placed.values() if not i.before]
            known = [f"{i.path}.{o.name}" for i in shown for o in i.traced.declared.outputs]
            known += [f"{i.path}.{u.name}" for i in shown for u in i.traced.declared.inputs]
            known += [".".join(border) for border in self.borders]
            raise WiringError([f"no port '{name}' to perturb; {near_miss(name, known)}"], path=name)
        size = sizes[port]
        return self.h.add(AddedSlot, f"{name}+", ca.SX.sym(f"{name}+", size), np.zeros(size))

    def _openable(self, name: str) -> tuple[tuple[str, str], ...]:
        """The ports of blocks behind the name of an output."""
        ports = self._perturbed(name)
        for path, port in ports:
            inst = self.placed[path]
            if all(o.name != port for o in inst.traced.declared.outputs):
                drivers = dict(zip((i.name for i in inst.traced.declared.inputs), inst.drivers, strict=True))
                source = drivers.get(port)
                hint = (
                    f"Open it at '{'.'.join(source)}', which drives it." if source else "Nothing drives it."
                )
                raise WiringError([f"'{name}' is an input; a loop is opened at an output. {hint}"], path=name)
        return ports

    def _tick(self, k: int, ticks: Ticks) -> ca.SX:
        symbol = ca.SX.sym(f"tick{k}", 3)
        start = np.array([float(ticks.offset), 0.0, 0.0])
        self.h.add(TickSlot, f"tick {ticks} #{k}", symbol, start)
        return symbol

    def move_parameters(self, added: Additions) -> None:
        """Put what becomes of parameters during the run in their place."""
        symbols = dict(zip(self.p.slots, self.p.symbols, strict=True))
        moved_parameters(self.placed, symbols, added, self.t)

    def system(self, look: Look) -> System:
        """Write down all expressions."""
        added: dict[tuple[str, str], ca.SX] = {}
        for name, slot in self.perturbed.items():
            symbol = self.h.symbols[list(self.h.slots).index(slot.name)]
            added |= {port: added.get(port, 0) + symbol for port in self._perturbed(name)}
        between = Expressions(self.placed, self.t, added=added, opened=self.opened)
        dependencies = Dependencies(self.placed, at_tick=False, solve=self.solve_loops)
        order = dependencies.order()
        self._refuse_opened(dependencies.cut)
        residual = self._evaluate(between, order, dependencies.cut)
        delays = self._delays(between)
        place = {name: slot.index for name, slot in self.h.slots.items()}
        schedule = build_schedule(
            self.placed,
            self.rates,
            between,
            place.__getitem__,
            self.solve_loops,
            frozenset(dependencies.cut),
        )
        (x, x0), (h, h0), (w, w0), (p, p0) = (v.stacked() for v in (self.x, self.h, self.w, self.p))
        derivative = self._derivative(between, look)
        events = tuple(self._events(between))
        if slopes := self._slopes(between):
            found = slopes.found(self.t, x, derivative, w, residual)
            derivative = slopes.put(derivative, found)
            events = tuple(_with_slopes(event, slopes, found) for event in events)
        signals = self._signals(between)
        accepted = self._refreshed(between, AcceptedMemory)
        invariants = ca.vertcat(ca.SX(0, 1), *self._block_parts(between, "invariants"))
        correction = ca.vertcat(ca.SX(0, 1), *self._corrections(between))
        if self.rates:
            everywhere = [derivative, residual, accepted[0], invariants, correction]
            everywhere += [part for delay in delays for part in (delay.signal, delay.seconds)]
            events, signals = without_idle_events(
                list(self._following(between)), events, schedule, signals, everywhere
            )
        return System(
            name=self.name,
            t=self.t, x=x, h=h, w=w, p=p,
            states=self.x.slots, held=self.h.slots, solved=self.w.slots, parameters=self.p.slots,
            aliases=self.aliases,
            inputs=self._inputs(),
            perturbed=self.perturbed,
            histories=self._histories(),
            rates=tuple(self.rates),
            tick_slots=self._tick_slots(),
            schedule=tuple(schedule),
            signals=signals,
            logged=(*signals, *self._states_to_log(signals)),
            derivative=derivative,
            accepted=accepted,
            starting=self._starting(between, order),
            events=events,
            residual=residual,
            loops=tuple(self.loops),
            delays=delays,
            draws=self._draws(),
            invariants=invariants,
            tolerances=self._tolerances(),
            correction=correction,
            rounding=self._rounding(),
            terms=self._terms(between),
            port_rates={".".join(port): text for port, text in self.port_rates.items()},
            order=self._order(order),
            opaque=tuple(i.path for i in self.placed.values() if i.traced.declared.calls),
            calls=tuple(c for i in self.placed.values() for c in i.traced.declared.calls),
            callers=tuple(i.path for i in self.placed.values() for _ in i.traced.declared.calls),
            outports={name: self._signal_name(port) for name, port in self.outports.items()},
            borders=self._border_signals(),
            fields=self._fields(),
            units=self._units(between),
            starts=self._starts(),
            refused=self._refused(),
            x0=x0, h0=h0, w0=w0, p0=p0,
        )  # fmt: skip

    def _refuse_opened(self, cut: set[SignalNode]) -> None:
        for node in cut:
            if (node.path, node.name) in self.opened:
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
        return ca.vertcat(ca.SX(0, 1), *rates)

    def _inputs(self) -> dict[str, Slot]:
        """What is set from outside between instants: external inputs, and signals that are perturbed."""
        inputs = {
            inst.path: self.h.slots[f"{inst.path}.value"]
            for inst in self.placed.values()
            if isinstance(inst.block, ExternalInput)
        }
        return inputs | self.perturbed

    def _tick_slots(self) -> tuple[tuple[int, int, int], ...]:
        """Places in h of every rate's last tick time, counter and the counter's twin."""
        return tuple(
            (int(s.index[0]), int(s.index[1]), int(s.index[2]))
            for s in self.h.slots.values()
            if isinstance(s, TickSlot)
        )

    def _order(self, order: list[SignalNode]) -> tuple[str, ...]:
        """Names of the signals of the diagram's own blocks in order of evaluation."""
        own = [n for n in order if not self.placed[n.path].before]
        return tuple(dict.fromkeys(f"{n.path}.{n.name}" for n in own))

    def _histories(self) -> tuple[Samples, ...]:
        slots = self._tick_slots()
        return tuple(
            Samples(
                self.h.slots[f"{inst.path}.{history.newest}"].index,
                tuple(self.h.slots[f"{inst.path}.{name}"].index for name in history.older),
                slots[self.rate_index[history.ticks]][2],
            )
            for inst in self.placed.values()
            for history in inst.traced.declared.histories
        )

    def _border_signals(self) -> dict[str, str]:
        """Signals by the names of the outputs of subsystems that show them."""
        outputs = {port: [o.name for o in i.traced.declared.outputs] for port, i in self.placed.items()}
        return {
            ".".join(border): self._signal_name(behind[0])
            for border, behind in self.borders.items()
            if behind[0][1] in outputs[behind[0][0]]
        }

    def _signals(self, between: Expressions) -> dict[str, Signal]:
        """All outputs, and the inputs of ports that hold, as seen behind the hold.

        Blocks the framework put before a port are seen through the port itself.
        """
        rates = SignalRates(self.placed)
        found = {}
        for inst in self.placed.values():
            d = inst.traced.declared
            if inst.before:
                continue
            for k, i in enumerate(d.inputs):
                if i.hold is not None:
                    source = inst.drivers[k]
                    value = between.input(inst, k)
                    ticks = None if source is None else rates.rate_of(source)
                    name = f"{inst.path}.{i.name}"
                    found[name] = Signal(name, value, i.labels, ticks, inst.path)
            for o in d.outputs:
                port = (inst.path, o.name)
                name = self._signal_name(port)
                ticks = rates.rate_of(port)
                value = between.cut_off.get(port, between.outputs[port])
                found[name] = Signal(name, value, o.labels, ticks, inst.path)
        return found

    def _signal_name(self, port: tuple[str, str]) -> str:
        """What the signal of an output is called: an inport by its own name."""
        return port[0] if isinstance(self.placed[port[0]].block, ExternalInput) else ".".join(port)

    def _refused(self) -> dict[str, str]:
        """Why some parameters cannot be changed, by name."""
        found = {name: f"it is structural: {why}" for name, why in self.masks.refused().items()}
        following = self.following | self.masks.bound
        return found | {name: f"it follows from '{whence}'" for name, whence in following.items()}

    def _units(self, between: Expressions) -> tuple[CoupledUnit, ...]:
        """Blocks that a co-simulation master runs."""
        return tuple(
            CoupledUnit(
                inst.path,
                inst.block,
                ca.vertcat(ca.SX(0, 1), *[between.input(inst, k) for k in range(len(inst.drivers))]),
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
                found |= {f"{inst.path}.{f.name}": given.get(f.name, "") for f in fields(inst.block)}  # type: ignore[arg-type]
        return found

    def _evaluate(self, between: Expressions, order: list[SignalNode], cut: set[SignalNode]) -> ca.SX:
        """All outputs in order, unknowns first; returns what is zero at the unknowns."""
        unknowns = sorted(cut, key=str)
        for node in unknowns:
            size = 1 if node.component is not None else self._size(node)
            symbol = ca.SX.sym(f"{node}", size)
            self.w.add(LoopSlot, f"loop {node}", symbol, np.zeros(size))
            self.loops += [Sought(str(node))] * size
            between.assume(node, symbol)
        for inst in self.placed.values():
            for m in inst.traced.declared.memories:
                if m.placed_last:
                    self._place(inst, m)
        for node in order:
            if node not in cut:
                between.output(node)
        residuals = [
            between.of(inst.path, "z:", ca.vertcat(*[m.equation for m in found]))
            for inst in self.placed.values()
            if (found := inst.memories(AlgebraicUnknown))
        ]
        return ca.vertcat(ca.SX(0, 1), *residuals, *[between.mismatch(node) for node in unknowns])

    def _size(self, node: SignalNode) -> int:
        outputs = self.placed[node.path].traced.declared.outputs
        return next(o.size for o in outputs if o.name == node.name)

    def _slopes(self, between: Expressions) -> Slopes:
        pairs = [(inst, m.name) for inst in self.placed.values() for m in inst.memories(Slope)]
        return Slopes(
            [f"{inst.path}.{name}" for inst, name in pairs],
            ca.vertcat(ca.SX(0, 1), *[inst.symbols[name] for inst, name in pairs]),
            ca.vertcat(ca.SX(0, 1), *[between.memory(inst.path, name) for inst, name in pairs]),
        )

    def _delays(self, between: Expressions) -> tuple[Delay, ...]:
        found = []
        for inst in self.placed.values():
            for m in inst.memories(DelayedSignal):
                name = f"{inst.path}.{m.name}"
                seconds = between.of(inst.path, f"delay:{m.name}", m.seconds)
                slot = self.w.slots[name]
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
                self.h.slots[f"{inst.path}.{m.name}"].index,
                self.rate_index[m.ticks],
                m.distribution,
                int(self.h.slots[f"{inst.path}.{m.counted_by}"].index[1]) if m.counted_by else -1,
            )
            for inst in self.placed.values()
            for m in inst.memories(RandomDraw)
        )

    def _events(self, between: Expressions) -> Iterator[SystemEvent]:
        for inst in self.placed.values():
            for k, event in enumerate(inst.traced.declared.events):
                crossing = between.of(inst.path, f"crossing{k}", event.crossing)
                resets, names, discrete = [], [], [np.zeros(0, dtype=int)]
                for target, value in event.resets:
                    name = f"{inst.path}.{target}"
                    m = inst.memory(target)
                    index = self.vectors[m.vector].slots[name].index
                    resets.append((m.vector, index, between.of(inst.path, f"reset{k}:{target}", value)))
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
                    event.rest,
                    warning=event.warning,
                    anew=tuple(f"{inst.path}.{name}" for name in event.anew),
                    eager=event.eager,
                    by_value=event.by_value,
                )

    def _refreshed(self, between: Expressions, kind: type[Evolving]) -> tuple[ca.SX, np.ndarray]:
        """New values and places of the memories of a kind."""
        found = [(i.path, m.name) for i in self.placed.values() for m in i.memories(kind)]
        places = [self.h.slots[f"{path}.{name}"].index for path, name in found]
        values = [between.memory(path, name) for path, name in found]
        return ca.vertcat(ca.SX(0, 1), *values), np.concatenate([np.zeros(0, int), *places])

    def _starting(self, between: Expressions, order: list[SignalNode]) -> tuple[ca.SX, np.ndarray]:
        """What is found before the first instant, and its places."""
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
                places = np.concatenate([places, self.h.slots[f"{inst.path}.{m.name}"].index])
        return values, places

    def _following(self, between: Expressions) -> Iterator[FollowingBranch]:
        """Branches that depend on what they were in ties at most, and never stand still."""
        for inst in self.placed.values():
            for m in inst.memories(Branch) if not inst.obeys else ():
                value, symbol = between.memory(inst.path, m.name), inst.symbols[m.name]
                if m.rest is not None or not ca.depends_on(value, symbol):
                    yield FollowingBranch(f"{inst.path}.{m.name}", symbol, value)

    def _tolerances(self) -> np.ndarray:
        found = [np.zeros(0)]
        for inst in self.placed.values():
            d = inst.traced.declared
            found += [np.full(g.numel(), tol) for g, tol in zip(d.invariants, d.tolerances, strict=True)]
        return np.concatenate(found)

    def _states_to_log(self, signals: Mapping[str, Signal]) -> list[str]:
        """Continuous states of blocks that want them in every log."""
        wanted = {inst.path for inst in self.placed.values() if inst.traced.declared.states_logged}
        return [name for name, s in self.x.slots.items() if s.path in wanted and name not in signals]

    def _rounding(self) -> np.ndarray:
        parts = [
            np.full(m.size, inst.traced.declared.rounding)
            for inst in self.placed.values()
            for m in inst.memories(ContinuousState)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _corrections(self, between: Expressions) -> list[ca.SX]:
        found = []
        for inst in self.placed.values():
            states = inst.memories(ContinuousState)
            if all(m.correction is None for m in states):
                found += [ca.SX.zeros(m.size) for m in states]
            else:
                parts = [ca.SX.zeros(m.size) if m.correction is None else m.correction for m in states]
                found.append(between.of(inst.path, "correction", ca.vertcat(*parts)))
        return found

    def _block_parts(self, between: Expressions, what: str) -> list[ca.SX]:
        return [
            between.of(inst.path, f"{what}{k}", expression)
            for inst in self.placed.values()
            for k, expression in enumerate(getattr(inst.traced.declared, what))
        ]

    def _terms(self, between: Expressions) -> tuple[NamedTerm, ...]:
        return tuple(
            NamedTerm(inst.path, term.text, between.of(inst.path, f"term{k}", term.expression))
            for inst in self.placed.values()
            for k, term in enumerate(inst.traced.declared.terms)
        )


def _with_slopes(event: SystemEvent, slopes: Slopes, found: ca.SX) -> SystemEvent:
    resets = tuple((vector, places, slopes.put(value, found)) for vector, places, value in event.resets)
    by_value = event.by_value or slopes.uses(event.crossing)
    return replace(event, crossing=slopes.put(event.crossing, found), resets=resets, by_value=by_value)


def structural_error(system: System, name: str) -> BlockError:
    """A parameter that cannot be changed at run time, and what to do instead."""
    if why := system.refused.get(name, ""):
        again = (
            "Set that one." if why.startswith("it follows") else "Use with_parameters, or add(parameters=)."
        )
        return BlockError(f"'{name}' in '{system.name}' cannot be set: {why}.", path=name, hint=again)
    if initial := system.fields.get(name, ""):
        return BlockError(
            f"'{name}' in '{system.name}' is an initial value, not a parameter.",
            path=name,
            hint=f"Write initial={{'{initial}': ...}}.",
        )
    if name in system.fields and name not in system.parameters:
        return BlockError(
            f"'{name}' in '{system.name}' is structural: a field of the block that no run can change.",
            path=name,
            hint="Build the block anew with the other value and add it to a diagram.",
        )
    return BlockError(
        f"'{name}' in '{system.name}' is structural (a zero of a matrix, or not a tunable number).",
        path=name,
        hint="Build the block anew with the other value and add it to a diagram.",
    )
