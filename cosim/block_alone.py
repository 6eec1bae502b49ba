"""A block looked at alone, as a diagram around it; the flat system of whatever may be run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.contract.trace import LIBRARY, TraceCache
from blocks.contract.units import names_of
from cosim.compile.netlist import Driven, Inport
from cosim.diagram import Diagram
from cosim.names import no_block
from cosim.node_ports import ports_declared
from cosim.system import System

ALONE = "plant"  # what a block is called when it is looked at alone


def around(
    block: Block, sizes: Mapping[str, int] = MappingProxyType({}), cache: TraceCache | None = None
) -> Diagram:
    """Diagram of one block called `ALONE`, its inputs and outputs as those of the diagram.

    sizes : of inputs by name, where they are not those that the block has by itself
    cache : takes up what the block declares

    Names in its system may leave out "plant.".
    """
    if not isinstance(block, Block):
        raise no_block(block, "a Diagram or a Block")
    d = Diagram(block.called)
    d.prefix = f"{ALONE}."
    node = d.add(ALONE, block)
    cache = TraceCache(library=LIBRARY) if cache is None else cache
    traced = cache.get(block, dict(sizes), guess=1)
    if not traced.partial:
        d._know(ALONE, ports_declared(traced))
    probe = traced.declared
    for i in probe.inputs:
        inport = d._node(i.name, Inport(i.size, names_of(i.units), i.unconnected), of_port=True)
        d.connect(inport["out"], node[i.name])
    for o in probe.outputs:
        if not o.auxiliary:
            d._show(o.name, node[o.name])
    return d


def system_alone(block: Block, solve_loops: bool = False) -> System:
    """Flat system of one block: its inputs are those of the system, and names may leave out "plant."."""
    return _at_once(block).system(solve_loops)


def system_of(diagram: Diagram | Block | System, solve_loops: bool = False, driven: Driven = False) -> System:
    """The flat system of a diagram, or of one block with its inputs as inputs of the system.

    With `driven`, blocks that step themselves are left to a co-simulation master; see `Diagram.system`.

    Raises
    ------
    WiringError, AlgebraicLoopError     as `Diagram.system`
    PlantloopError                      something else was given
    """
    flag(solve_loops, "solve_loops")
    if not isinstance(driven, str) or driven != "held":
        flag(driven, "driven")
    if isinstance(diagram, Block):
        diagram = _at_once(diagram)
    if isinstance(diagram, Diagram):
        return diagram.system(solve_loops, driven=driven)
    if isinstance(diagram, System):
        return diagram
    raise no_block(diagram, "a Diagram or a Block to simulate")


def _at_once(block: Block) -> Diagram:
    """Diagram of one block that is flattened at once: what the block declares is not asked again."""
    cache = TraceCache(library=LIBRARY)
    d = around(block, cache=cache)
    d.kept("traced")["now"] = cache
    return d
