"""Where memories and parameters of a diagram stand in the vectors of its system, and their symbols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import casadi as ca
import numpy as np

from blocks.contract.exact_instants import NO_INSTANTS
from blocks.contract.memories import AlgebraicUnknown, ContinuousState, Memory, Started
from blocks.contract.rate import Ticks
from blocks.contract.units import names_of
from blocks.errors import WiringError, near_miss
from cosim.columns import stack
from cosim.compile.additions import Additions, moved_parameters
from cosim.compile.masks import Masks, Root, named, symbolic
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.restarted_holds import RestartedHolds
from cosim.compile.units import WireUnits
from cosim.slots import AddedSlot, MemorySlot, ParameterSlot, Slot, Sought, TickSlot
from cosim.system_parts import FollowingSize, FollowingStart, TickPlaces

S = TypeVar("S", bound=Slot)


@dataclass
class Vector(Generic[S]):
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
        return stack(self.symbols), np.concatenate([np.zeros(0), *self.initial])


class Vectors:
    """Gives every memory and parameter of the placed blocks its place in x, h, w or p, and its symbols.

    perturb : names of signals that get an added input each; opened : those of them that it takes the place of
    units : what is known of the units of ports and parameters
    """

    def __init__(
        self,
        placed: dict[str, PlacedBlock],
        borders: dict[tuple[str, str], tuple[tuple[str, str], ...]],
        masks: Masks,
        perturb: tuple[str, ...],
        opened: tuple[str, ...],
        units: WireUnits,
    ) -> None:
        self.placed, self.borders, self.units = placed, borders, units
        self.t = ca.SX.sym("t")
        self.x, self.p = Vector[MemorySlot[ContinuousState]](), Vector[ParameterSlot]()
        self.h, self.w = Vector[Slot](), Vector[Slot]()
        self.vectors: dict[str, Vector[Any]] = {"x": self.x, "h": self.h, "w": self.w}  # of memories
        self.aliases: dict[str, str] = {}
        self.masks = masks
        self.roots = {root: self._root(root, value) for root, value in masks.tunable()}
        self.following: dict[str, str] = {}  # numbers of blocks that follow from parameters of diagrams
        self.sizes: list[FollowingSize] = []  # of states, where they follow from parameters
        self.rates = sorted({ticks for inst in placed.values() for ticks in inst.traced.declared.ticks})
        self.rate_index = {ticks: k for k, ticks in enumerate(self.rates)}
        for inst in placed.values():
            self._memories(inst)
            self._parameters(inst)
            self._sizes(inst)
        self.loops = [
            Sought(f"{inst.path}.{m.name}", m.about or f"block '{inst.path}'")
            for inst in placed.values()
            for m in inst.memories(AlgebraicUnknown)
            for _ in range(m.size)
        ]
        self.restarted = RestartedHolds(placed)
        self.tick_symbols = [self._tick(k, ticks) for k, ticks in enumerate(self.rates)]
        self.perturbed = {name: self._perturb(name) for name in perturb}  # last: the other places stay
        self.opened = frozenset(port for name in opened for port in self._openable(name))
        for inst in placed.values():
            inst.ticks = stack([self._ticks_of(inst.path, t) for t in inst.traced.declared.ticks])

    def _memories(self, inst: PlacedBlock) -> None:
        for m in inst.traced.declared.memories:
            symbol = ca.SX.sym(f"{inst.path}.{m.name}", m.size)
            inst.symbols[m.name] = symbol
            if m.vector and not m.placed_last:
                self.place(inst, m)
        inst.own = stack(inst.symbols.values())

    def place(self, inst: PlacedBlock, m: Memory) -> None:
        rate = None if m.rate is None else self.rate_index[m.rate]
        self.vectors[m.vector].add(
            MemorySlot,
            f"{inst.path}.{m.name}",
            inst.symbols[m.name],
            inst.values.initial[m.name],
            m,
            inst.owner,
            rate,
            inst.values.times.get(m.name, NO_INSTANTS),
            names_of(self.units.states.get((inst.path, m.name), ())),
        )

    def begin_with(self, place: int, value: float) -> None:
        """Give the number at a place of h, a memory of its own, another initial value."""
        k, name = next((k, s.name) for k, s in enumerate(self.h.slots.values()) if place in s.index)
        self.h.initial[k] = np.array([value])
        self.h.slots[name] = replace(self.h.slots[name], initial=self.h.initial[k])

    def _root(self, root: Root, value: np.ndarray) -> tuple[ca.SX, tuple[int, ...]]:
        """The symbols of a parameter of a diagram."""
        name = self.masks.slot(root)
        symbol = ca.SX.sym(name, value.size)
        self.p.add(ParameterSlot, name, symbol, value.ravel(), value.shape, np.ones(value.shape, bool))
        return symbol, value.shape

    def _linked(self, inst: PlacedBlock, what: str, name: str) -> dict[int, ca.SX]:
        """Places in a parameter or an initial value that follow from parameters of diagrams."""
        links = (k for k in self.masks.links.get(inst.path, ()) if (k.what, k.name) == (what, name))
        found = {}
        for link in links:
            found[link.place] = symbolic(link, self.roots)
            if inst.path in self.masks.settled:
                continue  # it is that parameter, under a name of its own
            follows = ", ".join(sorted(named(root) for root in link.scope.roots(link.expression)))
            self.following[f"{inst.path}.{name}"] = follows
        return found

    def following_starts(self) -> tuple[FollowingStart, ...]:
        """Initial values that follow from parameters of diagrams."""
        found = []
        for inst in self.placed.values():
            for m in inst.traced.declared.memories if inst.path in self.masks.links else ():
                name = (m.initial_of if isinstance(m, Started) else "") or m.name
                if linked := self._linked(inst, "initial", name):
                    index = self.vectors[m.vector].slots[f"{inst.path}.{m.name}"].index
                    places = index[list(linked)]
                    found.append(FollowingStart(m.vector, places, stack(linked.values()), m.has_next))
        return tuple(found)

    def _parameters(self, inst: PlacedBlock) -> None:
        symbols = []
        for q in inst.traced.declared.parameters:
            value = inst.values.parameters[q.name]
            if q.name in self.masks.settled.get(inst.path, ()):
                symbols.append(ca.SX(ca.DM(value[q.mask])))
            elif q.size:
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
                    unit = self.units.parameters.get((inst.path, q.name))
                    shown = "" if unit is None else unit.name
                    self.p.add(ParameterSlot, name, symbol, value[mask], value.shape, mask, shown)
                else:
                    continue
                for alias in q.aliases:
                    self.aliases[f"{inst.path}.{alias}"] = name
        inst.p = stack(symbols)

    def _sizes(self, inst: PlacedBlock) -> None:
        """Sizes of states that follow from the parameters of their block, before these are moved."""
        traced = inst.traced
        for m in inst.memories(ContinuousState):
            name = f"{inst.path}.{m.name}"
            if isinstance(m.nominal, ca.SX):
                own = stack(q.symbol for q in traced.declared.parameters)
                self.sizes.append(FollowingSize(name, ca.substitute(m.nominal, own, inst.p)))
            elif callable(m.nominal):
                self.sizes.append(FollowingSize(name, inst.p, partial(traced.sizes_of, m)))

    def ports_of(self, name: str) -> tuple[tuple[str, str], ...]:
        """The port of a block that a name means, or those behind the port of a subsystem."""
        path, _, port = name.rpartition(".")
        return self.borders.get((path, port), ((path, port),))

    def _perturb(self, name: str) -> Slot:
        path, port = self.ports_of(name)[0]
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
        ports = self.ports_of(name)
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
        symbol = ca.SX.sym(f"tick{k}", 2 + self.restarted.counts(ticks))
        start = np.zeros(symbol.numel())
        start[0] = float(ticks.offset)
        self.h.add(TickSlot, f"tick {ticks} #{k}", symbol, start)
        return symbol

    def _ticks_of(self, path: str, ticks: Ticks) -> ca.SX:
        """Time, count and count since a restart, as the block at a path reads them."""
        symbol = self.tick_symbols[self.rate_index[ticks]]
        return ca.vertcat(symbol[:2], symbol[2 + self.restarted.read(path, ticks)])

    def move_parameters(self, added: Additions) -> None:
        """Put what becomes of parameters during the run in their place."""
        symbols = dict(zip(self.p.slots, self.p.symbols, strict=True))
        moved_parameters(self.placed, symbols, added, self.t)

    @cached_property
    def tick_places(self) -> tuple[TickPlaces, ...]:
        """Places in h of what is counted of every rate."""
        places = [s.index.tolist() for s in self.h.slots.values() if isinstance(s, TickSlot)]
        return tuple(TickPlaces(time, count, tuple(since)) for time, count, *since in places)

    def restarted_by(self, path: str) -> tuple[int, ...]:
        """Places in h of the counts of samples that the events of a block start anew."""
        places = self.tick_places
        return tuple(places[self.rate_index[ticks]].since[k] for ticks, k in self.restarted.by(path))

    def count_read(self, path: str, ticks: Ticks) -> int:
        """Place in h of the count of samples that a block reads."""
        return self.tick_places[self.rate_index[ticks]].since[self.restarted.read(path, ticks)]
