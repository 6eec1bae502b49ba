"""What a diagram contains, as plain data."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blocks.contract.block import Block
from blocks.contract.memories import DiscreteState
from blocks.fact_sheet import FactSheet
from cosim.compile.netlist import Inport, Netlist
from cosim.slots import ParameterSlot
from cosim.system import System


def facts_of(drawn: Netlist, found: System) -> FactSheet:
    """Blocks, connections, signals and numbers of a diagram.

    Returns
    -------
    facts : FactSheet   ``blocks`` (path to type), ``connections``, ``inputs``, ``outputs``, ``missing``: why
                    it cannot run, one text each; where that is empty also ``signals`` (name: size and rate),
                    ``states``, ``parameters``, the second names that some of these have (``other names``:
                    that name to the one listed), those for which it is built anew (``structural``),
                    ``order`` of evaluation; ``open``: outputs that nobody reads
    """
    inputs = {target for target, _ in _connections(drawn)} | set(_grounded(drawn))
    sources = {source for _, source in _connections(drawn)}
    read = {found.shown.get(source, source) for source in sources} | set(found.outports.values())
    facts = {
        **drawn_facts(drawn, ()),
        "outputs": dict(found.outports),
        "signals": {
            name: {"size": s.size, "rate": "continuous" if s.ticks is None else str(s.ticks)}
            for name, s in found.signals.items()
        },
        "states": states_of(found),
        "parameters": parameters_of(found),
        "other names": other_names_of(found),
        "structural": list(structural_of(found)),
        "order": list(found.order),
        "open": [name for name, s in found.signals.items() if name not in read | inputs and name != s.path],
    }
    return FactSheet(facts)


def drawn_facts(drawn: Netlist, missing: Sequence[str]) -> FactSheet:
    """What is drawn, of a diagram that need not be finished; see `facts_of`."""
    facts = {
        "name": drawn.name,
        "blocks": dict(_blocks(drawn)),
        "connections": [f"{source} -> {target}" for target, source in _connections(drawn)],
        "inputs": {name: port.size for name, port in drawn.nodes.items() if isinstance(port, Inport)},
        "outputs": {name: ".".join(port) for name, port in drawn.outports.items()},
        "missing": list(missing),
    }
    return FactSheet(facts)


def states_of(found: System) -> dict[str, np.ndarray]:
    """Initial values (k,) of continuous and discrete states by name."""
    states = {name: slot.initial.copy() for name, slot in found.states.items()}
    held = found.held_of(DiscreteState).items()
    return states | {name: slot.initial.copy() for name, slot in held if not slot.memory.private}


def parameters_of(found: System) -> dict[str, Any]:
    """Values of parameters by name: numbers of a run, structural entries nan; then structural ones."""
    return {name: _array_of(slot) for name, slot in found.parameters.items()} | structural_of(found)


def other_names_of(found: System) -> dict[str, str]:
    """Second names of parameters, "plant.cart.mass", to those listed, "plant.Body_Rigid/2.mass"."""
    return {other: name for other, name in found.aliases.items() if name in found.parameters}


def structural_of(found: System) -> dict[str, Any]:
    """Parameters for which a diagram is built anew, as they were given: those that are numbers or texts.

    Parameters of the diagram and of those inside, and fields of blocks: sample times, sizes, choices. Fields
    that were left at None are not listed.
    """
    return {name: v for name, v in found.given().items() if builds(found, name) and _is_plain(v)}


def builds(system: System, name: str) -> bool:
    """Does a name decide how the diagram of this system is built?"""
    if name in system.parameters or "(" in name:  # numbers of a run; blocks that subsystems put in themselves
        return False
    if name in system.refused:
        return system.refused[name].builds
    return system.fields.get(name) == ""  # no initial value


def _is_plain(value: Any) -> bool:
    """Numbers, texts, and tuples and arrays of them."""
    if isinstance(value, (tuple, list)):
        return all(_is_plain(v) for v in value)
    return isinstance(value, (numbers.Number, str)) or (
        isinstance(value, np.ndarray) and not value.dtype.hasobject
    )


def _array_of(slot: ParameterSlot) -> np.ndarray:
    found = np.full(slot.shape, np.nan)
    found[slot.mask] = slot.initial
    return found


def _blocks(drawn: Netlist, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Paths and types of all blocks, those of subsystems too."""
    for name, node in drawn.nodes.items():
        if isinstance(node, Netlist):
            yield from _blocks(node, f"{prefix}{name}/")
        elif isinstance(node, Block):
            yield prefix + name, type(node).__name__


def _grounded(drawn: Netlist, prefix: str = "") -> Iterator[str]:
    """Inputs left open on purpose, those of subsystems too."""
    yield from (f"{prefix}{into}.{target}" for into, target in drawn.grounded)
    for name, node in drawn.nodes.items():
        if isinstance(node, Netlist):
            yield from _grounded(node, f"{prefix}{name}/")


def _connections(drawn: Netlist, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(input, output) of all connections, those of subsystems too."""
    for (out, source), (into, target) in drawn.connections:
        yield f"{prefix}{into}.{target}", f"{prefix}{out}.{source}"
    for name, node in drawn.nodes.items():
        if isinstance(node, Netlist):
            yield from _connections(node, f"{prefix}{name}/")
