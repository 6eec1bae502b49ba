"""What rounds signals to steps: their slope is 0, so that linear models see nothing of what passes there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import networkx as nx

from blocks.contract.block import Block
from blocks.contract.trace import LIBRARY, TraceCache
from blocks.contract.user_lines import warn_user
from cosim.compile.wiring import Wiring, expand
from cosim.diagram import Diagram
from cosim.system import System


class RoundedLoopWarning(UserWarning):
    """A linear model, or margins, of what is rounded to steps in a loop or on the way to an output."""


def wiring_of(diagram: Diagram) -> Wiring:
    """Its blocks and wires; found once until it changes, and not to be changed."""
    kept = diagram.kept("wiring")
    if "wiring" not in kept:
        kept["wiring"] = expand(diagram.netlist(), TraceCache(library=LIBRARY))
    found: Wiring = kept["wiring"]
    return found


def _graph(wiring: Wiring, opened: Iterable[tuple[str, str]] = ()) -> nx.DiGraph:
    """Which block, or input of the diagram, drives which; without what opened signals drive."""
    cut = set(opened)
    pairs = ((source, into) for into, source in wiring.drivers.items() if source is not None)
    return nx.DiGraph((source[0], into[0]) for source, into in pairs if source not in cut)


def in_loop(wiring: Wiring, path: str) -> set[str]:
    """Blocks through which a signal of a block comes back to it."""
    graph = _graph(wiring)
    return nx.descendants(graph, path) & nx.ancestors(graph, path) | {path} if path in graph else set()


def mention_rounded_loop(diagram: Diagram, signal: str) -> None:
    """Warn of quantizers and converters in the loop through a signal."""
    flat = diagram.system()
    if not _any_rounds(flat):
        return
    wiring = wiring_of(diagram)
    loop = in_loop(wiring, flat.signal(signal).path)
    if rounding := {path: b for path in sorted(loop) if (b := wiring.blocks[path]).in_steps}:
        warn_user(
            f"in this loop signals are rounded by {_listed(rounding)}, through which no small change passes: "
            "its margins are those without these paths. For those of the loop with gains in their places, "
            f"replace in a copy of the diagram {_others(rounding)}.",
            RoundedLoopWarning,
        )


def rounding_between(
    diagram: Diagram, flat: System, inputs: Iterable[str], outputs: Iterable[str], opened: Iterable[str]
) -> dict[str, Block]:
    """What rounds by its path, where it is in a loop, or on a way from the inputs to the outputs.

    inputs : of the diagram, or ports to which an input is added; opened : signals at which loops are open
    """
    if not _any_rounds(flat):
        return {}
    wiring = wiring_of(diagram)

    def meant(name: str) -> Iterable[tuple[str, str]]:
        path, _, port = name.rpartition(".")
        return wiring.borders.get((path, port), ((path, port),))

    graph = _graph(wiring, [port for name in opened for port in meant(name)])
    begins: set[str] = set()
    for name in inputs:
        if name in diagram.inports:
            begins |= set(graph.successors(name)) if name in graph else set()
            continue
        for port in meant(name):
            readers = {into[0] for into, source in wiring.drivers.items() if source == port}
            begins |= {port[0]} if port in wiring.drivers else readers
    ends = {flat.signal(name).path for name in outputs} & set(graph)
    moved = begins.union(*(nx.descendants(graph, b) for b in begins if b in graph))
    shown = ends.union(*(nx.ancestors(graph, e) for e in ends))
    loops = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
    found = (moved & shown).union(*loops, nx.nodes_with_selfloops(graph))
    return {path: b for path in sorted(found) if (b := wiring.blocks.get(path)) is not None and b.in_steps}


def mention_rounded(rounding: Mapping[str, Block]) -> None:
    """Warn of what `rounding_between` has found, if it has."""
    if rounding:
        warn_user(
            f"signals are rounded by {_listed(rounding)}, through which no small change passes: the linear "
            "model is that without these paths. For the one with gains in their places, replace in a copy of "
            f"the diagram {_others(rounding)}.",
            RoundedLoopWarning,
        )


def _any_rounds(flat: System) -> bool:
    return any(block.in_steps for block, _ in flat.parts.values())


def _listed(rounding: Mapping[str, Block]) -> str:
    return " and ".join(f"'{path}' ({type(block).__name__})" for path, block in rounding.items())


def _others(rounding: Mapping[str, Block]) -> str:
    return " and ".join(f"'{path}' by {_gain_for(block)}" for path, block in rounding.items())


def _gain_for(block: Block) -> str:
    """What passes a signal on when a block that rounds it does, as it is written."""
    ticks = getattr(block, "sample", None)
    return "Gain(1.0)" if ticks is None else f"Hold(sample={str(ticks)!r})"
