"""Where the delay in a loop comes from: its causes, the phase each costs, and the margin without each.

A delay T turns the loop by w T at its crossover w. What is held for a period T between ticks is on average
T / 2 old; what goes on between them as the line through two samples lags by w T - arctan(w T) only. A filter
turns it by the angle of its own linear model there. Each row is one block (or one signal whose held values
are read in between), and what the phase margin would be without it: a delay or filter is taken out of the
diagram and the margins found anew; for holding, which cannot be taken out, what it turns is added.

Source: Åström & Wittenmark, Computer-Controlled Systems, 3rd ed., section 3.7 (a hold as a delay of T/2);
Franklin, Powell & Workman, Digital Control of Dynamic Systems, 3rd ed., section 5.3 (holds of higher order).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.memories import ContinuousState, DelayedSignal, DiscreteState
from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError
from blocks.library.hold import Hold
from blocks.library.math import Gain
from cosim.analysis.linear import linear_model
from cosim.analysis.margins import Margins, margins, margins_of
from cosim.analysis.operating import OperatingPoint, model_of
from cosim.analysis.rounded import in_loop, wiring_of
from cosim.built_for import built_for
from cosim.compile.wiring import Wiring
from cosim.diagram import Diagram
from cosim.names import mapped, no_block
from cosim.run.context import Context
from cosim.run.named_values import set_parameter
from cosim.slots import MemorySlot
from cosim.system import System
from cosim.system_parts import Delay

FLAT = 1e-9  # relative: a gain that varies less with frequency is that of a delay


@dataclass(frozen=True)
class LoopDelay:
    """One cause of delay in a loop.

    path : of the block; kind : "transport", "sampled delay", "sampling and hold", "filter", or
        "hold of order 1" (2, ...) where the signal is extrapolated between its ticks
    seconds : what it delays at the crossover; phase : [deg] it costs there
    without : [deg] phase margin without it; nan where the loop has no margin then
    """

    path: str
    kind: str
    seconds: float
    phase: float
    without: float


@dataclass(frozen=True)
class DelayAudit:
    """All delays in the loop through one signal, the most costly first; printed as a table.

    margins : of the loop as it is
    """

    margins: Margins
    delays: tuple[LoopDelay, ...]

    @property
    def total(self) -> float:
        """Phase they cost together [deg]."""
        return sum(d.phase for d in self.delays)

    def table(self) -> str:
        """The delays as lines of text."""
        m = self.margins
        lines = [
            f"loop at '{m.at}': phase margin {m.phase:.4g} deg at {m.crossover:.4g} rad/s, delay margin "
            f"{m.delay:.4g} s",
            f"{'block':32} {'cause':18} {'delay [ms]':>10} {'phase [deg]':>12} {'margin without':>15}",
        ]
        for d in self.delays:
            left = f"{d.without:.4g} deg" if np.isfinite(d.without) else "-"
            lines.append(f"{d.path:32} {d.kind:18} {1e3 * d.seconds:10.4g} {d.phase:12.4g} {left:>15}")
        lines.append(f"{'together':32} {'':18} {'':10} {self.total:12.4g}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def delay_audit(
    diagram: Diagram,
    at: str,
    point: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    pade: int | None = 6,
) -> DelayAudit:
    """Every delay in the loop through a signal: sampling, hold, transport, computation, filters.

    Parameters
    ----------
    diagram : Diagram        with the loop closed
    at : str                 a signal in the loop, as in `margins`
    point, parameters        as in `margins`
    pade : int               states that stand for each delay of a signal that is not held

    A block counts as a filter if its only output follows its only input with a stable lag; the margin
    without it keeps its gain at frequency zero. Blocks with several ports, and integrators, do not count as
    delays. What is held on one of several paths of the loop counts as if all of the loop went through it.

    Raises
    ------
    PlantloopError           no loop, no crossover, or what `margins` raises

    >>> print(delay_audit(d, at="controller.u"))
    """
    if not isinstance(diagram, Diagram):
        raise no_block(diagram, "a Diagram with a closed loop")
    diagram, parameters = built_for(diagram, parameters)
    found = margins(diagram, at, point, parameters, pade)
    w = found.crossover
    if not np.isfinite(w):
        raise PlantloopError(
            f"the loop at '{at}' has no crossover, so delays cost no phase there.",
            path=at,
            hint="Its gain is below one (or above) at all frequencies.",
        )
    system = diagram.system()
    wiring = wiring_of(diagram)
    loop = in_loop(wiring, system.signal(system.locate(at)[0]).path)
    audit = _Audit(diagram, system, wiring, loop, found, at, point, parameters, pade)
    rows = [*audit.of_blocks(), *audit.of_holds()]
    return DelayAudit(found, tuple(sorted(rows, key=lambda d: -d.phase)))


@dataclass(frozen=True)
class _Audit:
    diagram: Diagram
    system: System
    wiring: Wiring
    loop: set[str]
    found: Margins
    at: str
    point: OperatingPoint | Context | Mapping[str, Any] | None
    parameters: Mapping[str, Any] | None
    pade: int | None

    def of_blocks(self) -> Iterator[LoopDelay]:
        """Delays and filters."""
        w = self.found.crossover
        for path in sorted(self.loop):
            block, declared = self.wiring.blocks[path], self.wiring.probes[path].declared
            outputs = [o for o in declared.outputs if not o.auxiliary]
            if len(declared.inputs) != 1 or len(outputs) != 1:
                continue
            kinds = (ContinuousState, DiscreteState, DelayedSignal)
            memories = [m for m in declared.memories if isinstance(m, kinds)]
            if not memories:
                continue
            transport = [d for d in self.system.delays if self._place(d.name) == path]
            if transport:
                kind, seconds, gain = "transport", self._seconds(transport), 1.0
            else:
                response = self._response(block, w)
                if response is None:
                    continue
                steady, turned, flat = response
                kind = "sampled delay" if flat else "filter"
                seconds, gain = turned / w, steady
            if seconds > 0.0:
                yield LoopDelay(path, kind, seconds, np.degrees(w * seconds), self._without(path, gain))

    def _place(self, name: str) -> str:
        slot = self.system.solved[name]
        return slot.path if isinstance(slot, MemorySlot) else ""

    def _seconds(self, several: Sequence[Delay]) -> float:
        """Of the delays in a block together, by their run-time numbers."""
        s = self.system
        c = Context.initial(s)
        for name, value in mapped(self.parameters, "parameters").items():
            set_parameter(s, c, name, value)
        delays = ca.vertcat(*[d.seconds for d in several])
        found = ca.Function("s", [s.t, s.x, s.h, s.w, s.p], [delays])(c.t, c.x, c.h, c.w, c.p)
        return float(np.array(found).sum())

    def _response(self, block: Block, w: float) -> tuple[float, float, bool] | None:
        """Gain at frequency 0, angle at w, and whether the gain is constant; None if it is no stable lag."""
        try:
            model = linear_model(model_of(block))
        except PlantloopError:
            return None
        if model.ninputs != 1 or model.noutputs != 1 or not model.nstates:
            return None
        dt = float(model.dt or 0.0)
        poles = model.poles()
        if not ((np.abs(poles) < 1).all() if dt else (poles.real < 0).all()) or (dt and w * dt >= np.pi):
            return None
        at = lambda f: complex(model(np.exp(1j * f * dt) if dt else 1j * f))
        steady = complex(model(1.0 if dt else 0.0))
        if abs(steady) < 1e-12:
            return None
        here, half = at(w) / steady, at(0.5 * w) / steady
        flat = bool(dt) and max(abs(abs(here) - 1), abs(abs(half) - 1)) < FLAT
        path = np.array([at(f) / steady for f in np.linspace(0.0, w, 65)])
        return steady.real, float(-np.unwrap(np.angle(path))[-1]), flat

    def of_holds(self) -> Iterator[LoopDelay]:
        """Held values that are read between the ticks they change at."""
        w = self.found.crossover
        seen = set()
        for into, source in self.wiring.drivers.items():
            if source is None or {into[0], source[0]} - self.loop:
                continue
            held, order = self._hold_before(into, source)
            if held is None or (source, held, order) in seen:
                continue
            ages = self._ages(held, into[0])
            if ages != [0.0]:
                seen.add((source, held, order))
                turned = held_phase(w, float(held.period), order, ages)
                kind = "sampling and hold" if order == 0 else f"hold of order {order}"
                yield LoopDelay(
                    ".".join(source), kind, np.radians(turned) / w, turned, self.found.phase + turned
                )

    def _hold_before(self, into: tuple[str, str], source: tuple[str, str]) -> tuple[Ticks | None, int]:
        """Ticks and order of what holds a signal before an input; None: nothing does."""
        block, declared = self.wiring.blocks[into[0]], self.wiring.probes[into[0]].declared
        if isinstance(block, Hold) and block.order > 0:  # of order 0 its output is what is read in between
            return Ticks.of(block.sample, block.offset), block.order
        port = next((i.hold for i in declared.inputs if i.name == into[1]), None)
        signal = self.system.signals.get(".".join(source))
        ticks = None if signal is None else signal.ticks
        if port is None or (ticks is not None and ticks.period >= port.sampling_period):
            return ticks, 0 if port is None else port.hold_order
        own = Ticks(port.sampling_period, port.offset_time) if port.sampling_period > 0 else None
        return own, port.hold_order

    def _ages(self, held: Ticks, path: str) -> list[float] | None:
        """How old [s] what is held at these ticks is where a block reads it; None: it reads all the time."""
        readers = self._read_at(path, set())
        if None in readers:
            return None
        found = set()
        for ticks in readers:
            assert ticks is not None  # looked at above
            step = ticks.period % held.period
            age = (ticks.offset - held.offset) % held.period
            while age not in found:
                found.add(age)
                age = (age + step) % held.period
        return sorted(map(float, found))

    def _read_at(self, path: str, seen: set[str]) -> set[Ticks | None]:
        """Ticks at which a block reads; None among them: all the time.

        A formula, such as a Mux beside a continuous signal, reads when the blocks that read it do.
        """
        seen.add(path)
        declared = self.wiring.probes[path].declared
        signals = [self.system.signals.get(f"{path}.{o.name}") for o in declared.outputs]
        found = {s.ticks for s in signals if s is not None} or {None}
        readers = {into[0] for into, source in self.wiring.drivers.items() if source and source[0] == path}
        if None not in found or declared.memories or not readers & self.loop:
            return found
        behind = [self._read_at(reader, seen) for reader in sorted((readers & self.loop) - seen)]
        return found.difference([None]).union(*behind)

    def _without(self, path: str, gain: float) -> float:
        """Phase margin with a block as nothing but a gain."""
        try:
            other = with_block(self.diagram, path, Gain(gain))
            return margins_of(other, self.at, self.point, self.parameters, self.pade, rough=True).phase
        except PlantloopError:  # an algebraic loop, a signal of the block itself, a point with its states
            return float("nan")


def held_phase(w: float, period: float, order: int = 0, ages: Sequence[float] | None = None) -> float:
    """Lag [deg] at w [rad/s] of the polynomial through the newest samples, see `blocks.library.hold`.

    period : s, of the samples; ages : s, how long after a sample the polynomial is read; None: all the time

    What it makes of e^{jwt}, with z = e^{jwT} and s = (t - t_k) / T, is on average
    the mean over s of e^{-jwTs} sum_j (1 - 1/z)^j s (s + 1) ... (s + j - 1) / j!
    """
    if ages is not None:
        s = np.asarray(ages) / period
        weights = np.full(len(s), 1.0 / len(s))
    else:
        nodes, twice = np.polynomial.legendre.leggauss(32)
        s, weights = 0.5 * (nodes + 1.0), 0.5 * twice
    step = 1.0 - np.exp(-1j * w * period)
    term = total = np.ones(len(s), dtype=complex)
    for j in range(1, order + 1):
        term = term * step * (s + (j - 1)) / j
        total = total + term
    return -float(np.degrees(np.angle(weights @ (total * np.exp(-1j * w * period * s)))))


def with_block(diagram: Diagram, path: str, block: Block) -> Diagram:
    """A copy of a diagram with another block in a place: "filter", or "sub/filter" in a subsystem.

    Raises
    ------
    PlantloopError      the block is in a part that is not just a diagram, or its ports are others
    """
    name, _, rest = path.partition("/")
    other = diagram.with_parameters()
    if not rest:
        other.replace(name, block)
        return other
    inner = other.graph.nodes[name]["block"]
    if not isinstance(inner, Diagram):
        raise PlantloopError(f"'{name}' is no plain subsystem, so '{path}' cannot be exchanged.", path=path)
    other.replace(name, with_block(inner, rest, block), copy.copy(other.graph.nodes[name]["given"]))
    return other
