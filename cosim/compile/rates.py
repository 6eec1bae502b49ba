"""Which rate a signal has, and the holds that ports put in front of their block."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blocks.contract.declared import PortHold
from blocks.contract.event_memories import Branch
from blocks.contract.rate import Ticks
from blocks.contract.trace import TraceCache
from blocks.errors import PlantloopError, WiringError
from blocks.library.hold import Hold
from blocks.library.routing import Mux, Selector
from cosim.compile.netlist import Port
from cosim.compile.placed_block import PlacedBlock

CONTINUOUS = 1  # bit 0 of a rate set; bit k+1 stands for rates[k]


class SignalRates:
    """The set of rates of every component of every output, as bit sets of `rates`."""

    def __init__(self, placed: dict[str, PlacedBlock]) -> None:
        self.placed = placed
        self.rates: dict[Ticks, int] = {}
        self.sets: dict[Port, list[int]] = {}
        self._masks: dict[Port, np.ndarray] = {}
        self._base: dict[Port, list[int]] = {}
        self._shapes: dict[int, list[tuple[str, np.ndarray, list[int]]]] = {}
        readers: dict[Port, set[str]] = defaultdict(set)
        for inst in placed.values():
            for source in inst.drivers:
                if source is not None:
                    readers[source].add(inst.path)
            if id(inst.traced) not in self._shapes:
                self._shapes[id(inst.traced)] = list(self._own(inst))
            for name, mask, base in self._shapes[id(inst.traced)]:
                port = (inst.path, name)
                self._masks[port], self._base[port] = mask, base
                self.sets[port] = list(base)
        queue = deque(placed)
        queued = set(placed)
        while queue:
            path = queue.popleft()
            queued.discard(path)
            for port in self._update(placed[path]):
                fresh = readers[port] - queued
                queue.extend(sorted(fresh))
                queued |= fresh

    def _own(self, inst: PlacedBlock) -> Iterator[tuple[str, np.ndarray, list[int]]]:
        """Feedthrough mask and own rates of each output; alike for all blocks of a shape."""
        own = [
            self._bit(m.rate) if m.rate else CONTINUOUS
            for m in inst.traced.declared.memories
            for _ in range(m.size)
        ]
        own_ticks = [bits for ticks in inst.traced.declared.ticks for bits in self._of_ticks(inst, ticks)]
        for output in inst.traced.declared.outputs:
            inputs, memories, ticks, time = _through_branches(
                inst, inst.traced.depends(f"y:{output.name}", output.expression)
            )
            base = []
            for c in range(output.size):
                bits = CONTINUOUS if time[c] else 0
                for k in np.flatnonzero(memories[c]):
                    bits |= own[k]
                for k in np.flatnonzero(ticks[c]):
                    bits |= own_ticks[k]
                base.append(bits)
            yield output.name, inputs, base

    def _of_ticks(self, inst: PlacedBlock, ticks: Ticks) -> tuple[int, int, int]:
        """Rates of the time of the newest tick, of the count of ticks, and of that since events.

        A clock belongs to a function of time, and the last of them is set back between ticks as well.
        """
        if ticks in inst.traced.declared.clocks:
            return CONTINUOUS, CONTINUOUS, CONTINUOUS
        rate = self._bit(ticks)
        return rate, rate, rate | CONTINUOUS

    def _bit(self, ticks: Ticks) -> int:
        return 2 << self.rates.setdefault(ticks, len(self.rates))

    def _update(self, inst: PlacedBlock) -> Iterator[Port]:
        """Recompute the outputs of a block; yields those that changed."""
        inputs = [
            bits
            for port, source in zip(inst.traced.declared.inputs, inst.drivers, strict=True)
            for bits in self.held(source, port.hold, port.size)
        ]
        if not inputs:
            return
        for output in inst.traced.declared.outputs:
            port = (inst.path, output.name)
            mask, found = self._masks[port], self.sets[port]
            changed = False
            for c in range(output.size):
                bits = self._base[port][c]
                for k in np.flatnonzero(mask[c]):
                    bits |= inputs[k]
                if bits != found[c]:
                    found[c], changed = bits, True
            if changed:
                yield port

    def held(self, source: Port | None, hold: PortHold | None, size: int) -> list[int]:
        """Rates of an input's components behind the hold of its port."""
        driver = [0] * size if source is None else self.sets[source]
        if hold is None:
            return driver
        if hold.sampling_period > 0:
            ticks = self._bit(Ticks(hold.sampling_period, hold.offset_time))
            return [CONTINUOUS if hold.hold_order else ticks] * size
        return [CONTINUOUS if hold.hold_order and bits else bits for bits in driver]

    def ticks_of(self, bits: int) -> list[Ticks]:
        """The rates in a bit set."""
        return [ticks for ticks, k in self.rates.items() if bits & (2 << k)]

    def rate_of(self, port: Port) -> Ticks | None:
        """The one rate all components of a signal share, None where there is none."""
        found = set(self.sets[port])
        if len(found) != 1 or (bits := found.pop()) & CONTINUOUS:
            return None
        ticks = self.ticks_of(bits)
        return ticks[0] if len(ticks) == 1 else None


def _through_branches(
    inst: PlacedBlock, found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The symbols a value depends on; branches are replaced by the symbols that decide them."""
    inputs, own, ticks, time = np.array(found[0]), np.array(found[1]), np.array(found[2]), np.array(found[3])
    branches = inst.memories(Branch)
    for _ in branches:  # one may decide another, in any order
        going_on = False
        for m in branches:
            place = inst.traced.slices[m.name]
            used = own[:, place].any(axis=1)
            own[:, place] = False
            if used.any():
                behind = inst.traced.depends(f"m:{m.name}", m.equation)
                inputs[used] |= np.any(behind[0], axis=0)
                own[used] |= np.any(behind[1], axis=0)
                own[:, place] = False
                ticks[used] |= np.any(behind[2], axis=0)
                time[used] |= bool(behind[3].any())
                going_on = True
        if not going_on:
            break
    for m in branches:
        own[:, inst.traced.slices[m.name]] = False
    return inputs, own, ticks, time


def insert_holds(placed: dict[str, PlacedBlock], cache: TraceCache, opened: bool = False) -> dict[Port, str]:
    """Put a Hold before every port that samples or extrapolates; changes `placed` in place.

    opened : something else may take the place of a signal, at other instants than its ticks. A port of order
        0 that follows the rate of what drives it then gets no Hold: what is held passes as it is anyway, and
        what comes later is not put off until the next tick

    Returns
    -------
    rates : dict        for each port with hold attributes, in words, what it does ("100 Hz, first-order
                        extrapolation (file default)")

    Raises
    ------
    WiringError         a port inherits its rate from a signal of two rates
    """
    ports = [
        (inst, k, port)
        for inst in placed.values()
        for k, port in enumerate(inst.traced.declared.inputs)
        if port.hold is not None
    ]
    if not ports:
        return {}
    rates = SignalRates(placed)
    problems: list[str] = []
    described: dict[Port, str] = {}
    for inst, k, port in ports:
        hold = port.hold
        source = inst.drivers[k]
        assert hold is not None  # selected above
        if source is None:
            described[inst.path, port.name] = "grounded"
            continue
        name = f"{inst.path}.{port.name}"
        found = _component_rates(rates, source, hold, port.size)
        for bits in set(rates.sets[source]) if hold.sampling_period == 0 else ():
            several = rates.ticks_of(bits)
            if not bits & CONTINUOUS and len(several) > 1:
                listed = " and ".join(str(t) for t in several)
                problems.append(
                    f"port '{name}' takes its rate from '{'.'.join(source)}', which mixes {listed}. "
                    "Put a Hold (rate transition) before it or give the port a sampling_period."
                )
        described[inst.path, port.name] = _describe(found, hold)
        if opened and hold.sampling_period == 0 and hold.hold_order == 0:
            continue
        inst.drivers[k] = _hold(_Before(placed, cache, inst.path), name, source, found, hold.hold_order)
    if problems:
        raise WiringError(problems)
    return described


def _component_rates(rates: SignalRates, source: Port, hold: PortHold, size: int) -> list[Ticks | None]:
    """Rate at which each component is sampled by the port, None where it is coupled straight."""
    if hold.sampling_period > 0:
        return [Ticks(hold.sampling_period, hold.offset_time)] * size
    found: list[Ticks | None] = []
    for bits in rates.sets[source]:
        several = rates.ticks_of(bits)
        found.append(several[0] if len(several) == 1 and not bits & CONTINUOUS else None)
    return found


@dataclass(frozen=True)
class _Before:
    """Where blocks are put before a port of the block at `path`."""

    placed: dict[str, PlacedBlock]
    cache: TraceCache
    path: str


def _hold(at: _Before, name: str, source: Port, found: list[Ticks | None], order: int) -> Port:
    """Add the blocks that hold each group of components at its rate; returns the held signal."""
    groups = list(dict.fromkeys(found))
    if len(groups) == 1:
        if groups[0] is None:
            return source
        whole = Hold(order=order, sample=groups[0].period, offset=groups[0].offset)
        return _add(at, name, whole, [source])
    parts: list[Port] = []
    where = np.empty(len(found), dtype=int)
    start = 0
    for g, ticks in enumerate(groups):
        chosen = [c for c, t in enumerate(found) if t == ticks]
        part = _add(at, f"{name}#{g}", Selector(chosen), [source])
        if ticks is not None:
            held = Hold(order=order, sample=ticks.period, offset=ticks.offset)
            part = _add(at, f"{name}#{g}hold", held, [part])
        parts.append(part)
        where[chosen] = start + np.arange(len(chosen))
        start += len(chosen)
    stacked = _add(at, f"{name}#all", Mux(len(parts)), parts)
    return _add(at, name, Selector([int(k) for k in where]), [stacked])


def _add(at: _Before, path: str, block: Hold | Mux | Selector, sources: list[Port]) -> Port:
    """A block of the framework's own in front of a port; returns its output."""
    placed = at.placed
    names = [i.name for i in at.cache.get(block, {}, guess=1).declared.inputs]
    sizes = {}
    for name, (driver, output) in zip(names, sources, strict=True):
        outputs = placed[driver].traced.declared.outputs
        sizes[name] = next(o.size for o in outputs if o.name == output)
    try:
        traced = at.cache.get(block, sizes)
    except PlantloopError as error:
        raise WiringError([f"hold of port '{path}': {error}"], path=path) from error
    placed[path] = PlacedBlock(path, block, traced, traced.values(block), list(sources), at.path)
    return path, traced.declared.outputs[0].name


def _describe(found: list[Ticks | None], hold: PortHold) -> str:
    kinds = {0: "zero-order hold", 1: "first-order extrapolation", 2: "second-order extrapolation"}
    order = kinds.get(hold.hold_order, f"extrapolation of order {hold.hold_order}")
    parts = [f"{t}, {order}" if t else "continuous" for t in dict.fromkeys(found)]
    return f"{' and '.join(parts)} ({hold.origin})"
