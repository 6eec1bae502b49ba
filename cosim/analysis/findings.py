"""Findings in a diagram: jumps, unit errors, unused outputs, rates that do not match, events nobody hears.

Nothing is run. Each finding says its place, what is wrong and the cure; a `fault` makes numbers wrong or
keeps the diagram from running, what is no fault may well be meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.contract.rate import Ticks
from cosim.analysis.bisected_sides import bisected_sides
from cosim.compile.expressions import Expressions
from cosim.compile.flatten import flatten
from cosim.compile.jumps import jumps
from cosim.compile.netlist import Netlist, Port
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.units import WireUnits
from cosim.compile.wiring import Wiring
from cosim.subsystems.parts import CONTROL
from cosim.system import System

CLOSE = Fraction(1, 20)  # periods this near to each other, but not equal, were hardly meant to differ
FINE = 1000  # as many steps of the common grid in the shortest period are suspicious
OLD = Fraction(1, 2)  # of a period; a sample that is older when it is read comes too late
MOST = 6  # names that one line lists
KINDS = ("jumps", "units", "open outputs", "rates", "events")


@dataclass(frozen=True)
class DiagramFinding:
    """One finding in a diagram.

    kind : one of "jumps", "units", "open outputs", "rates", "events"
    place : the block, signal or wire; text : what is wrong there; cure : what to do
    fault : does it make numbers wrong?
    """

    kind: str
    place: str
    text: str
    cure: str
    fault: bool = False

    def __str__(self) -> str:
        return f"{self.text}{'' if self.text.endswith(('.', ':')) else '.'} {self.cure}".strip()


@dataclass
class _Seen:
    """What flattening found."""

    drivers: dict[Port, Port | None] = field(default_factory=dict)
    outports: set[Port] = field(default_factory=set)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    units: WireUnits = field(default_factory=WireUnits)
    beside: set[Port] = field(default_factory=set)  # outputs that are only there to be looked at

    def wiring(self, wiring: Wiring, units: WireUnits) -> None:
        self.drivers, self.units, self.blocks = dict(wiring.drivers), units, dict(wiring.blocks)
        self.outports = set(wiring.outports.values())
        declared = {path: probe.declared.outputs for path, probe in wiring.probes.items()}
        self.beside = {(path, o.name) for path, outputs in declared.items() for o in outputs if o.auxiliary}


def findings(drawn: Netlist, solve_loops: bool = False) -> tuple[DiagramFinding, ...]:
    """All findings in a diagram, errors first.

    Raises
    ------
    WiringError, AlgebraicLoopError     it cannot be flattened, for other reasons than its units
    """
    flag(solve_loops, "solve_loops")
    found: list[DiagramFinding] = []
    seen = _Seen()

    def look(placed: Mapping[str, PlacedBlock], between: Expressions) -> None:
        for jump in jumps(placed, between, bisected_sides):
            found.append(DiagramFinding("jumps", jump.path, str(jump), jump.cure, True))

    system = flatten(drawn, solve_loops, look=look, inspect=seen.wiring)
    for fault in dict.fromkeys(seen.units.faults):
        found.append(DiagramFinding("units", fault.place, *_parted(fault.text), fault.sure))
    found += _unread(system, seen)
    found += _rates(system, seen)
    found += _unheard(seen)
    return tuple(sorted(found, key=lambda f: not f.fault))


def _parted(text: str) -> tuple[str, str]:
    """What is wrong, and the cure behind it."""
    what, _, cure = text.partition(": ")
    return (f"{what}:", cure) if cure else (text, "")


def _unread(system: System, seen: _Seen) -> Iterator[DiagramFinding]:
    """Inputs of the diagram, and outputs of blocks, that nothing reads."""
    read = {source for source in seen.drivers.values() if source is not None} | seen.outports | seen.beside
    open_: dict[str, list[str]] = {}
    for name, signal in system.signals.items():
        port = (signal.path, name.removeprefix(f"{signal.path}."))
        if name in system.inputs:
            if (name, "out") not in read:
                text = f"input '{name}' of the whole drives nothing"
                yield DiagramFinding("open outputs", name, text, "Connect it, or take it away.")
        elif port not in read and port not in seen.drivers:
            open_.setdefault(signal.path, []).append(port[1])
    for path, names in open_.items():
        several = f"outputs {', '.join(names[:MOST])}" + (", ..." if len(names) > MOST else "")
        what = several if len(names) > 1 else f"output {names[0]}"
        text = f"{what} of '{path}': nobody reads {'them' if len(names) > 1 else 'it'}"
        yield DiagramFinding(
            "open outputs", path, text, "Connect what is missing; what is only looked at may stay so."
        )


def _unheard(seen: _Seen) -> Iterator[DiagramFinding]:
    """Counts of events at inputs that look for rises above 0: it does so once."""
    for (path, name), source in seen.drivers.items():
        cure = seen.blocks[path].hears_rises.get(name) if path in seen.blocks else None
        if cure is None or source is None or source[0] not in seen.blocks:
            continue
        if source[1] in seen.blocks[source[0]].counts_calls:
            given, path = ".".join(source), path.removesuffix(f"/{CONTROL}")
            text = f"'{given}' counts events, of which '{path}.{name}' hears one at most, where that passes 0"
            yield DiagramFinding("events", f"{given} -> {path}.{name}", text, cure)


def _rates(system: System, seen: _Seen) -> Iterator[DiagramFinding]:
    """Rates that are probably mistakes, and wires between rates that do not match."""
    users: dict[Ticks, list[str]] = {}
    for inst in system.signals.values():
        if inst.ticks is not None:
            users.setdefault(inst.ticks, []).append(inst.path)
    where = {ticks: _some(users.get(ticks, [])) for ticks in system.rates}
    yield from _grid(system.rates, where)
    for a, b in _pairs(system.rates):
        if a.period != b.period and abs(a.period - b.period) <= CLOSE * min(a.period, b.period):
            text = f"{a}{where[a]} and {b}{where[b]} are nearly the same rate"
            yield DiagramFinding(
                "rates", f"{a} and {b}", text, "Give both the same period, if that is meant."
            )
    for ticks in system.rates:
        if ticks.offset >= ticks.period:
            late = f"comes after {float(ticks.offset):g} s, a whole period or more"
            text = f"the first tick of {ticks}{where[ticks]} {late}"
            yield DiagramFinding("rates", str(ticks), text, "Until then outputs show their initial values.")
    yield from _wires(system, seen)


def _wires(system: System, seen: _Seen) -> Iterator[DiagramFinding]:
    """Sampled signals that sampled blocks read at other instants."""
    own: dict[str, set[Ticks]] = {}
    for signal in system.signals.values():
        if signal.ticks is not None:
            own.setdefault(signal.path, set()).add(signal.ticks)
    for (path, name), source in seen.drivers.items():
        given = None if source is None else system.signals.get(".".join(source))
        declared = own.get(path, set())
        if given is None or given.ticks is None or len(declared) != 1:
            continue
        (reader,), writer = declared, given.ticks
        wire, words = (
            f"{given.name} -> {path}.{name}",
            f"'{given.name}' ({writer}) is read by '{path}' ({reader})",
        )
        whole = (reader.period / writer.period).denominator == 1 or (
            writer.period / reader.period
        ).denominator == 1
        if not whole:
            why = "neither period is a multiple of the other, so that its age changes from tick to tick"
            text = f"{words}: {why}"
            yield DiagramFinding("rates", wire, text, "Choose periods in a whole ratio.")
            continue
        step = min(reader.period, writer.period)
        age = (reader.offset - writer.offset) % step
        if age > OLD * step:
            late = float((writer.offset - reader.offset) % step)
            text = f"{words} {late:g} s before it is renewed, when it is {float(age):g} s old"
            yield DiagramFinding(
                "rates", wire, text, f"Read it later: offset={float(writer.offset):g} or just after."
            )


def _grid(rates: tuple[Ticks, ...], where: Mapping[Ticks, str]) -> Iterator[DiagramFinding]:
    """Ticks of all rates fall on a grid that is much finer than any of them."""
    if len(rates) < 2:
        return
    times = [t for r in rates for t in (r.period, r.offset) if t]
    d = lcm(*(t.denominator for t in times))
    step = Fraction(gcd(*(int(t * d) for t in times)), d)
    shortest = min(rates, key=lambda r: r.period)
    if shortest.period / step > FINE:
        shown = ", ".join(f"{r}{where[r]}" for r in rates[:6])
        text = f"ticks of {shown} only meet on a grid of {float(step):.3g} s"
        yield DiagramFinding(
            "rates", str(shortest), text, "Is one of them mistyped? Choose periods in simple ratios."
        )


def _pairs(rates: tuple[Ticks, ...]) -> Iterator[tuple[Ticks, Ticks]]:
    ordered = sorted(rates, key=lambda r: r.period)
    yield from pairwise(ordered)


def _some(paths: list[str]) -> str:
    names = list(dict.fromkeys(paths))
    if not names:
        return ""
    more = ", ..." if len(names) > 3 else ""
    return f" (of {', '.join(names[:3])}{more})"
