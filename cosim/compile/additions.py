"""What is put into a diagram besides what was drawn, once it is flat: blocks between, and at parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import casadi as ca

from blocks.contract.block import Block
from blocks.contract.trace import TraceCache
from blocks.errors import WiringError
from cosim.compile.netlist import Port
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.wiring import Wiring


@dataclass(frozen=True)
class Additions:
    """Blocks by name, and where they act; ports are those of the flat diagram.

    blocks : name -> block, in the order in which they act
    inputs : input of an added block -> the output it reads, as it is without what comes later in `blocks`
    outputs : output of a block -> outputs of added blocks that others read in its place, one after the other
    entries : input of a block -> outputs of added blocks that drive it instead, one after the other; an input
        "u" of an added block gets what drove the input before
    parameters : parameter -> added blocks with outputs "share" and "target": what of the way to the target
        is gone
    """

    blocks: Mapping[str, Block] = field(default_factory=dict)
    inputs: Mapping[Port, Port] = field(default_factory=dict)
    outputs: Mapping[Port, tuple[Port, ...]] = field(default_factory=dict)
    entries: Mapping[Port, tuple[Port, ...]] = field(default_factory=dict)
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


NOTHING_ADDED = Additions()


def put_in(wiring: Wiring, added: Additions, cache: TraceCache) -> None:
    """Add blocks and change drivers.

    Raises
    ------
    WiringError     a name is taken
    """
    for name, block in added.blocks.items():
        if name in wiring.blocks:
            raise WiringError([f"'{name}' is a block already; give the action another name."], path=name)
        wiring.blocks[name] = block
        wiring.probes[name] = cache.get(block, {}, guess=1)
    shown = {port: chain[-1] for port, chain in added.outputs.items()}
    mine = set(added.blocks)
    for into, source in list(wiring.drivers.items()):
        if source in shown and into[0] not in mine:
            wiring.drivers[into] = shown[source]
    for port, chain in added.outputs.items():
        before = port
        for name, output in chain:
            wiring.drivers[name, "u"] = before
            before = (name, output)
    for into, chain in added.entries.items():
        source = wiring.drivers.get(into)
        for name, output in chain:
            wiring.drivers[name, "u"] = source
            source = (name, output)
        wiring.drivers[into] = source
    for into, source in added.inputs.items():
        wiring.drivers[into] = source


def moved_parameters(
    placed: Mapping[str, PlacedBlock], symbols: Mapping[str, ca.SX], added: Additions, t: ca.SX
) -> None:
    """Put what parameters have become in the place of their symbols, in all blocks."""
    for name, movers in added.parameters.items():
        symbol = symbols[name]
        value = symbol
        for mover in movers:
            share, target = _outputs(placed[mover], ("share", "target"), t)
            value = ca.if_else(
                share >= 1, target, ca.if_else(share <= 0, value, value + share * (target - value))
            )
        for inst in placed.values():
            if inst.path not in added.blocks and inst.p.numel():
                inst.p = ca.substitute(inst.p, symbol, value)


def _outputs(inst: PlacedBlock, names: Iterable[str], t: ca.SX) -> list[ca.SX]:
    """Outputs of a block that depend on its own memories and numbers alone."""
    declared = inst.traced.declared
    inputs = [ca.SX.zeros(i.size) for i in declared.inputs]
    found = []
    for name in names:
        output = next(o for o in declared.outputs if o.name == name)
        function = inst.traced.function(f"y:{name}", output.expression)
        found.append(function.call([t, inst.own, inst.p, inst.ticks, *inputs], True, False)[0])
    return found
