"""Conditional parts of a flat diagram: which blocks obey what, when calls happen, what latches hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from blocks.contract.event_memories import Branch
from blocks.contract.memories import Memory, Started, StartValue
from blocks.contract.rate import CALLED, Ticks
from blocks.contract.trace import TraceCache, Traced
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError, WiringError
from cosim.compile.expressions import Expressions
from cosim.compile.gating import finite_or_zero, gated, gated_control
from cosim.compile.netlist import PartCondition
from cosim.compile.obeyed import Obeyed
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.rates import SignalRates
from cosim.compile.signal_nodes import SignalNode
from cosim.subsystems.control import Latch, PartControl

Parts = Mapping[str, PartCondition]  # by the path of the diagram that is a part


class UnitInPartWarning(UserWarning):
    """A unit that steps itself is called by a conditional part."""


@dataclass(frozen=True)
class _Around:
    """A part around a block."""

    path: str
    condition: PartCondition

    @property
    def control(self) -> str:
        return f"{self.path}/{self.condition.control}" if self.path else self.condition.control


def around(path: str, parts: Parts) -> list[_Around]:
    """The parts whose condition a block obeys, the outermost first."""
    found = []
    pieces = path.split("/")
    for k in range(len(pieces)):
        outer = "/".join(pieces[:k])
        if outer in parts and pieces[k] not in parts[outer].own:
            found.append(_Around(outer, parts[outer]))
    return found


def settle_rates(placed: dict[str, PlacedBlock], parts: Parts, cache: TraceCache) -> None:
    """Find when parts are called, and at which rates outputs are held; changes `placed` in place."""
    if not parts:
        return
    for _ in range(len(parts) + 2):  # a call may come from another part
        rates = SignalRates(placed)
        changes = {
            path: found
            for path, inst in placed.items()
            if isinstance(inst.block, (PartControl, Latch))
            and (found := _settled(inst, placed, parts, rates)) != inst.block
        }
        for path, block in changes.items():
            inst = placed[path]
            traced = cache.get(block, {i.name: i.size for i in inst.traced.declared.inputs})
            inst.block, inst.traced, inst.values = block, traced, traced.values(block)
        if not changes:
            return


def _settled(
    inst: PlacedBlock, placed: Mapping[str, PlacedBlock], parts: Parts, rates: SignalRates
) -> PartControl | Latch:
    """A control with the rate of its calls, a latch with that of its signal."""
    block = inst.block
    if isinstance(block, PartControl):
        if block.rounds:
            return replace(block, ticks=_of_rounds(inst.path, placed, parts))
        if not block.caller:
            return block
        names = [i.name for i in inst.traced.declared.inputs]
        source = inst.drivers[names.index(block.caller)]
        outer = _calls(inst.path, placed, parts)
        if outer is not None:
            return replace(block, ticks=outer.ticks)
        return replace(block, ticks=None if source is None else rates.rate_of(source))
    assert isinstance(block, Latch)
    inside = inst.path.rpartition("/")[0]
    own = [_Around(inside, parts[inside])] if inside in parts else []
    called = _first_call([*around(inst.path, parts), *own], placed)
    if called is not None:
        return replace(block, kind="sampled", ticks=called.ticks)
    sources = [s for s, i in zip(inst.drivers, inst.traced.declared.inputs, strict=True) if i.name[0] == "u"]
    ticks = tuple(None if s is None else rates.rate_of(s) for s in sources)
    if len(set(ticks)) == 1 and ticks[0] is not None:
        return replace(block, kind="sampled", ticks=ticks[0], rates=())
    return replace(block, kind="continuous", ticks=None, rates=ticks if any(ticks) else ())


def _of_rounds(control: str, placed: Mapping[str, PlacedBlock], parts: Parts) -> Ticks:
    """The ticks that stand for the rounds of a loop: those of what is inside, unless a clock has the same.

    Raises
    ------
    WiringError     blocks inside have several rates
    """
    found: dict[Ticks, str] = {}
    clocks: set[Ticks] = set()
    for path, inst in placed.items():
        calls = [part for part in around(path, parts) if part.condition.once]
        if [part.control for part in calls] == [control]:  # what is called inside has no rate of its own
            clocks.update(inst.traced.declared.clocks)
            found |= {t: path for t in inst.traced.declared.ticks if t not in inst.traced.declared.clocks}
    found = {ticks: path for ticks, path in found.items() if ticks != CALLED}
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise WiringError(
            [
                f"a subsystem that is repeated within one tick has several rates: '{first}' ({one}) and "
                f"'{second}' ({other}). Use blocks of one sample time inside; loops inside need none."
            ],
            path=second,
        )
    ticks = next(iter(found), Ticks.of(1))
    while ticks in clocks:
        ticks = replace(ticks, offset=ticks.offset + ticks.period)
    return ticks


def _calls(path: str, placed: Mapping[str, PlacedBlock], parts: Parts) -> PartControl | None:
    """The control that calls a block: that of the outermost called part around it."""
    return _first_call(around(path, parts), placed)


def _first_call(chain: list[_Around], placed: Mapping[str, PlacedBlock]) -> PartControl | None:
    for part in chain:
        block = placed[part.control].block
        if part.condition.once and isinstance(block, PartControl):
            return block
    return None


def obey(placed: dict[str, PlacedBlock], parts: Parts) -> None:
    """Let every block in a part obey its control; changes `placed` in place.

    Raises
    ------
    WiringError     blocks that cannot stand still, or cannot be called, together
    """
    made: dict[tuple[int, Obeyed, bool], Traced] = {}
    rates = _rates_inside(placed, parts)
    problems = []
    units: dict[str, bool] = {}  # blocks that step themselves: do they go on where their parts do?
    for path in list(placed):
        inst = placed[path]
        chain = around(path, parts)
        inst.obeys = bool(chain) or isinstance(inst.block, (PartControl, Latch))
        calls = _first_call(chain, placed)
        if calls is None and CALLED in inst.traced.declared.ticks:
            problems.append(
                f"block '{path}' needs a sample time. Give one in seconds, as in sample=0.01; without one it "
                "runs in a part that is called, and in a loop."
            )
        if not chain:
            continue
        nearest = chain[-1]
        control = isinstance(inst.block, PartControl)  # it goes on counting where others start anew
        anew = [part for part in chain if part.condition.restarts and not control]
        if inst.block.driven() is not inst.block:
            units[path] = not anew
        rounds = calls is not None and calls.rounds
        between = calls is None and len(rates[nearest.path]) > 1
        obeyed = Obeyed(calls is not None, calls.ticks if calls else None, len(anew), rounds, between)
        key = (id(inst.traced), obeyed, control)
        try:
            if key not in made and isinstance(inst.block, PartControl):
                made[key] = gated_control(inst.traced, obeyed, PartControl.ACTIVITY)
            elif key not in made:
                made[key] = gated(inst.traced, obeyed)
        except PlantloopError as error:
            problems.append(f"block '{path}': {error}")
            continue
        inst.traced = made[key]
        inst.drivers.append((nearest.control, PartControl.ACTIVITY))
        inst.drivers += [(part.control, output) for part in anew for output in ("restarts", "fresh")]
        known = inst.values.initial
        new = {m.name: _initial(m, known) for m in inst.traced.declared.memories if m.name not in known}
        inst.values = replace(inst.values, initial={**known, **new})
    if problems:
        raise WiringError(problems)
    _tell_of_units(units)


def _rates_inside(placed: Mapping[str, PlacedBlock], parts: Parts) -> dict[str, set[Ticks | None]]:
    """The rates of what is in each part, None of what changes at any time; besides those of its control."""
    found: dict[str, set[Ticks | None]] = {path: set() for path in parts}
    for path, inst in placed.items():
        declared = inst.traced.declared
        rates = {*declared.ticks, *(m.rate for m in declared.memories if not isinstance(m, StartValue))}
        rates |= {None for _ in declared.events}
        pieces = path.split("/")
        for k in range(len(pieces)):
            outer = "/".join(pieces[:k])
            if outer in found and path != _Around(outer, parts[outer]).control:
                found[outer] |= rates
    return found


def _tell_of_units(units: Mapping[str, bool]) -> None:
    """Warn of units in conditional parts, by their paths: do they go on after a pause?"""
    if not units:
        return
    over = any(units.values())
    warn_user(
        f"{', '.join(map(repr, units))}: in a conditional part co-simulation is initialised with the start "
        "values of its inputs, which first outputs that follow inputs show"
        + (", and its first step after a pause goes over the pause: states go on with time" if over else "")
        + '. Use kind="me" where the FMU has it'
        + (", reset=True of the part," if over else "")
        + " or leave the FMU outside.",
        UnitInPartWarning,
    )


def _initial(added: Memory, known: Mapping[str, np.ndarray]) -> np.ndarray:
    """The initial value of a memory that makes a block obey, from those the block has."""
    of = added.initial_of if isinstance(added, Started) else ""
    return known[of] if of else added.initial


def at_rest(
    placed: Mapping[str, PlacedBlock],
    between: Expressions,
    order: list[SignalNode],
    latch: PlacedBlock,
    name: str,
) -> ca.SX:
    """The signal of an input of a latch where the part that it belongs to is given zeros.

    Conditions inside rest, whatever the signals are at which the run starts. 0 where that is not finite, as
    of a division by an input.
    """
    inside = f"{latch.path.rpartition('/')[0]}/"
    layer = between.with_new_values()
    for path, inst in placed.items():
        if path.startswith(inside):
            for m in inst.memories(Branch):
                rest = m.initial if m.rest is None else np.full(m.size, m.rest)
                layer.memories[path, m.name] = ca.SX(ca.DM(rest))
    for path, port in _entering(placed, inside):
        layer.outputs[path, port] = ca.SX.zeros(placed[path].output(port).size)
    for node in order:
        if node.path.startswith(inside) and node.path != latch.path:
            layer.output(node)
    k = next(k for k, i in enumerate(latch.traced.declared.inputs) if i.name == name)
    return finite_or_zero(layer.input(latch, k))


def _entering(placed: Mapping[str, PlacedBlock], inside: str) -> Iterator[tuple[str, str]]:
    """Signals from elsewhere that blocks of a part read."""
    for path, inst in placed.items():
        if path.startswith(inside):
            yield from (s for s in inst.drivers if s is not None and not s[0].startswith(inside))
