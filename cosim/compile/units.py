"""Units along the wires of a flat diagram: followed through blocks, checked where wires end, and converted.

A wire is refused where one of its ends says its unit (a block, ``units=``, an FMU) and the other end's, said
or found, is another. Where both were only found from equations it is a finding of ``check``.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from blocks.contract.block import Block
from blocks.contract.trace import TraceCache, Traced
from blocks.contract.units import Found, PhysicalUnit, spread, units_of
from blocks.errors import PlantloopError, WiringError, near_miss
from blocks.library.unit_conversion import UnitConversion
from cosim.compile.netlist import Port
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.unit_flow import UnitFlow, shown_states, unit_flow
from cosim.compile.wiring import Wiring

VISITS = 20  # of one block, on wires in a circle


class UnitFault(NamedTuple):
    """A place where units do not fit: what is wrong, with the cure; is it sure enough to refuse it? Where?"""

    text: str
    sure: bool
    place: str


@dataclass
class WireUnits:
    """The units of a flat diagram, as far as they are known.

    outputs, inputs : one unit per component, () where nothing is known
    parameters : by block and name
    states : of every state by block and name, one per component
    conversions : inputs whose signal is converted: the units it has and gets, per component
    """

    outputs: dict[Port, Found] = field(default_factory=dict)
    inputs: dict[Port, Found] = field(default_factory=dict)
    parameters: dict[Port, PhysicalUnit] = field(default_factory=dict)
    states: dict[Port, Found] = field(default_factory=dict)
    conversions: dict[Port, tuple[Found, Found]] = field(default_factory=dict)
    faults: list[UnitFault] = field(default_factory=list)

    def of(self, port: Port) -> Found:
        """Units of a port, an output or what arrives at an input."""
        return self.outputs.get(port) or self.inputs.get(port, ())


def follow_units(wiring: Wiring, traced: Mapping[str, Traced], refuse: bool = True) -> WireUnits:
    """Find and check the units of all ports; `refuse` what is wrong, or only note it in the outcome.

    Raises
    ------
    WiringError     wires whose ends do not fit, all of them together
    """
    found = WireUnits()
    work = _Units(wiring, traced, found)
    if work.asked:
        work.follow()
    wrong = [f.text for f in found.faults if f.sure]
    if wrong and refuse:
        raise WiringError(dict.fromkeys(wrong), path=wiring.name)
    return found


def convert(placed: dict[str, PlacedBlock], found: WireUnits, cache: TraceCache) -> None:
    """Put a conversion before every input that asks for one; changes `placed` in place."""
    for (path, name), (old, new) in found.conversions.items():
        inst = placed[path]
        k = next(k for k, i in enumerate(inst.traced.declared.inputs) if i.name == name)
        driver = inst.drivers[k]
        assert driver is not None  # a grounded input has no unit to convert
        block = UnitConversion(tuple(u or "" for u in old), tuple(u or "" for u in new))
        traced = cache.get(block, {"u": len(old)})
        own = f"{path}.{name}#unit"
        placed[own] = PlacedBlock(own, block, traced, traced.values(block), [driver], path)
        inst.drivers[k] = (own, "y")


class _Units:
    def __init__(self, wiring: Wiring, traced: Mapping[str, Traced], found: WireUnits) -> None:
        self.wiring, self.traced, self.found = wiring, traced, found
        self.given: dict[Port, Found] = {}
        self.flows: dict[Hashable, UnitFlow] = {}
        self.sizes: dict[Port, int] = {}
        for path, named in wiring.units.items():
            self._read(path, named)
        self.said = {id(t): _said(t) for t in {id(t): t for t in traced.values()}.values()}
        self.asked = bool(wiring.units or wiring.converted or found.faults or any(self.said.values()))

    def _read(self, path: str, named: Mapping[str, object]) -> None:
        """Units given where a block was added; its names are checked."""
        inside = self.traced.get(path)
        known = self.wiring.border_ports(path)
        if inside is not None:
            d = inside.declared
            known = [p.name for part in (d.inputs, d.outputs, d.parameters) for p in part]
        block = self.wiring.blocks.get(path)
        for spelled, text in named.items():
            name = spelled if block is None or spelled in known else block.port_name(spelled)
            if name not in known:
                near = near_miss(name, known)
                self.fault(f"units of '{path}': it has no port or parameter '{name}'; {near}")
                continue
            try:
                self.given[path, name] = units_of(text, f"'{path}.{name}'")  # type: ignore[arg-type]  # checked there
            except PlantloopError as error:
                self.fault(str(error))

    def fault(self, text: str, sure: bool = True) -> None:
        self.found.faults.append(UnitFault(text, sure, text.partition("'")[2].partition("'")[0]))

    def follow(self) -> None:
        """Outputs first as they are said, then through the blocks until nothing new is found."""
        readers: dict[Port, list[str]] = defaultdict(list)
        for (path, _), source in self.wiring.drivers.items():
            if source is not None:
                readers[source].append(path)
        for path, traced in self.traced.items():
            self._parameters(path, traced)
            for o in traced.declared.outputs:
                if units := self._said((path, o.name), o.units, o.size):
                    self.found.outputs[path, o.name] = units
        queue, visits = deque(self.traced), dict.fromkeys(self.traced, 0)
        while queue:
            path = queue.popleft()
            if visits[path] >= VISITS:
                continue
            visits[path] += 1
            for port in self._through(path):
                queue.extend(readers[port])
        for (path, name), source in self.wiring.drivers.items():
            if source is not None and path in self.traced:
                self._arrive(path, name, source, check=True)
        for path in self.traced:
            self._mixed(path)
            self._states(path)

    def _parameters(self, path: str, traced: Traced) -> None:
        for q in traced.declared.parameters:
            found = self._said((path, q.name), () if q.unit is None else (q.unit,), 1)
            if found and found[0] is not None:
                self.found.parameters[path, q.name] = found[0]

    def _said(self, port: Port, declared: Found, size: int) -> Found:
        """The unit of a port as the block declares it, or as it is given where it was added."""
        declared, given = spread(declared, size), self.given.get(port, ())
        name = ".".join(port)
        if given and not spread(given, size):
            self.fault(f"'{name}' has {len(given)} units for {size} components; give one for each, or one.")
            return declared
        given = spread(given, size)
        if not given or not declared:
            return given or declared
        for a, b in zip(declared, given, strict=True):
            if a and b and a.sure and not a.is_same(b):
                cure = "leave it out, and convert the wire"
                self.fault(f"'{name}' is in {a} by its block, units= says {b}; {cure}.")
        return tuple(b or a for a, b in zip(declared, given, strict=True))

    def _through(self, path: str) -> Iterator[Port]:
        """Look through a block; yields outputs of which more is known now."""
        traced, arrived = self.traced[path], []
        for i in traced.declared.inputs:
            source = self.wiring.drivers.get((path, i.name))
            units = () if source is None else self._arrive(path, i.name, source)
            units = units or self._said((path, i.name), i.units, i.size)
            if units:
                self.found.inputs[path, i.name] = units
            arrived.append(units)
        if not any(arrived):
            return
        silent = [o for o in traced.declared.outputs if not self._whole((path, o.name))]
        if not silent:
            return
        flow = self._flow(path, arrived).outputs
        for o in silent:
            port = (path, o.name)
            old = self.found.outputs.get(port, ()) or (None,) * o.size
            new = tuple(a or b for a, b in zip(old, flow[o.name], strict=True))
            if any(new) and new != old:
                self.found.outputs[port] = new
                yield port

    def _whole(self, port: Port) -> bool:
        units = self.found.outputs.get(port, ())
        return bool(units) and all(units)

    def _flow(self, path: str, arrived: list[Found]) -> UnitFlow:
        """The units of a block's outputs; found once for all blocks of a shape with the same units."""
        traced, own = self.traced[path], self._own_parameters(path)
        key = (
            id(traced),
            tuple(arrived),
            tuple(own.items()),
            any(u and u.followed for s in arrived for u in s),
        )
        if key not in self.flows:
            self.flows[key] = unit_flow(traced, arrived, own, _units_follow(self.wiring.blocks[path]))
        return self.flows[key]

    def _own_parameters(self, path: str) -> dict[str, PhysicalUnit]:
        names = [q.name for q in self.traced[path].declared.parameters]
        return {n: u for n in names if (u := self.found.parameters.get((path, n))) is not None}

    def _mixed(self, path: str) -> None:
        """Units that a block adds although they do not fit."""
        traced = self.traced[path]
        arrived = [self.found.inputs.get((path, i.name), ()) for i in traced.declared.inputs]
        if not any(arrived):
            return
        flow = self._flow(path, arrived)
        for o in traced.declared.outputs:
            for said, found in zip(
                self.found.outputs.get((path, o.name), ()), flow.outputs[o.name], strict=False
            ):
                if said and found and not (said.offset or found.offset or said.is_same(found)):
                    cure = "Convert an input, or say the unit of what multiplies it."
                    self.fault(f"'{path}.{o.name}' is in {said}, but by its inputs {found}: {cure}", False)
        for a, b in flow.mixed:
            cure = _cure(a, b, "an input")
            if a.is_kind_of(b):
                known = cure.partition(" Convert")[0]
                cure = f"{known} Put UnitConversion('{a}', '{b}') before one of its inputs."
            sure = a.sure and b.sure and _units_follow(self.wiring.blocks[path])
            sure = sure and not (a.followed or b.followed)
            self.fault(f"block '{path}' adds or compares {a} and {b}: {cure}", sure)

    def _states(self, path: str) -> None:
        """A state has the unit of the output that shows it, else what its rate makes it."""
        traced = self.traced[path]
        arrived = [self.found.inputs.get((path, i.name), ()) for i in traced.declared.inputs]
        known = {o.name: self.found.outputs.get((path, o.name), ()) for o in traced.declared.outputs}
        by_rate = self._flow(path, arrived).states if any(arrived) else {}
        for name, units in shown_states(traced, known).items():
            rates = by_rate.get(name, (None,) * len(units))
            found = tuple(a or b for a, b in zip(units, rates, strict=True))
            if any(found):
                self.found.states[path, name] = found

    def _arrive(self, path: str, name: str, source: Port, check: bool = False) -> Found:
        """The units at an input behind all conversions on its wire from an output."""
        size = next(i.size for i in self.traced[path].declared.inputs if i.name == name)
        declared = next(i.units for i in self.traced[path].declared.inputs if i.name == name)
        hops = self.wiring.route((path, name))
        if not hops:
            return spread(self.found.outputs.get(source, ()), size)
        ends = [self._at_border(hop, size) for hop, _ in hops[:-1]]
        said = self._said if check else self._quiet
        ends.append(said((path, name), declared, size))
        first = list(spread(self.found.outputs.get(source, ()), size) or (None,) * size)
        now, begun = list(first), [source] * size
        asked = [False] * size
        for (hop, converts), expected in zip(hops, ends, strict=True):
            for k in range(size):
                asked[k] |= converts
                here = expected[k] if expected else None
                if here is None:
                    continue
                there = now[k]
                if there is not None and not there.is_same(here) and check:
                    self._wrong(begun[k], there, hop, here, asked[k])
                if there is None and asked[k] and check:
                    self._pointless(source, hop, source)
                first[k] = first[k] if first[k] is not None else here
                now[k], begun[k], asked[k] = here, hop, False
        if check:
            half = [k for k in range(size) if asked[k] and now[k] is not None]
            if half or (any(asked) and not any(now)):
                self._pointless(source, (path, name), (path, name) if half else source)
            pairs = [(a, b) for a, b in zip(first, now, strict=True) if a and b]
            if any(not a.is_same(b) and a.is_kind_of(b) for a, b in pairs):
                self.found.conversions[path, name] = (tuple(first), tuple(now))
        return tuple(now) if any(now) else ()

    def _quiet(self, port: Port, declared: Found, size: int) -> Found:
        return spread(self.given.get(port, ()), size) or spread(declared, size)

    def _at_border(self, port: Port, size: int) -> Found:
        return spread(self.given.get(port, ()) or self.wiring.border_units.get(port, ()), size)

    def _pointless(self, source: Port, target: Port, silent: Port) -> None:
        name, (path, port) = ".".join(silent), silent
        self.fault(
            f"the wire from '{'.'.join(source)}' to '{'.'.join(target)}' is to be converted, but the unit of "
            f"'{name}' is not known; give it: add('{path.rpartition('/')[2]}', ..., units={{'{port}': ...}})."
        )

    def _wrong(self, source: Port, a: PhysicalUnit, target: Port, b: PhysicalUnit, asked: bool) -> None:
        if asked and a.is_kind_of(b):
            return
        out, into = ".".join(source), ".".join(target)
        cure = _cure(a, b, f"'{into}'")
        self.fault(
            f"'{out}' is in {a} but input '{into}' expects {b}: {cure}", (a.sure or b.sure) and not a.followed
        )


def _units_follow(block: object) -> bool:
    return isinstance(block, Block) and block.units_follow


def _said(traced: Traced) -> bool:
    """Does any port or parameter of a block have a unit?"""
    d = traced.declared
    ports = any(i.units for i in d.inputs) or any(o.units for o in d.outputs)
    return ports or any(q.unit for q in d.parameters)


def _cure(a: PhysicalUnit, b: PhysicalUnit, where: str) -> str:
    """The cure for a signal in `a` where `b` is expected."""
    if not a.is_kind_of(b):
        if {"rad", "cycle"} <= {*a.base.replace("^", " ").split(), *b.base.replace("^", " ").split()}:
            return f"one counts cycles, the other radians; put a Gain of 2 pi with a unit before {where}."
        kinds = f"these measure different things, {a.base} and {b.base}"
        return f"{kinds}; a Gain with a unit makes one of the other, units={{'k': '{_quotient(b, a)}'}}."
    gain, bias = a.conversion(b)
    known = f"1 {a} = {gain + bias:.12g} {b}" if not bias else f"x {a} = {gain:.12g} x {bias:+.12g} {b}"
    return f"{known}. Convert it: connect(..., convert=True), or UnitConversion('{a}', '{b}') before {where}."


def _quotient(b: PhysicalUnit, a: PhysicalUnit) -> str:
    found = b.times(a, -1)
    return "..." if found is None else found.name
