"""Parameters that decide how a diagram is built, given where a run begins: it is built anew with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blocks.contract.shape import frozen
from cosim.compile.netlist import Driven
from cosim.diagram import Diagram
from cosim.diagram_facts import builds
from cosim.names import mapped
from cosim.system import System


def built_for(
    diagram: Any, parameters: Mapping[str, Any] | None, solve_loops: bool = False, driven: Driven = False
) -> tuple[Any, dict[str, Any]]:
    """A diagram built with the structural ones among its own parameters, and the others, for its run.

    diagram : Diagram, or what else may be run, which is given back
    parameters : dict       name -> value, as for `Simulation`

    What was built last is kept with the diagram. Code that was compiled serves it where only instants and
    sample times are others.

    Raises
    ------
    WiringError, AlgebraicLoopError     it cannot be built, as it is or with these
    """
    given = mapped(parameters, "parameters")
    if not isinstance(diagram, Diagram):
        return diagram, given
    new = {n: given.pop(n) for n in structural(diagram, given, solve_loops, driven)}
    if not new:
        return diagram, given
    kept, key = diagram.kept("built"), tuple(sorted((name, frozen(value)) for name, value in new.items()))
    if key not in kept:
        kept.clear()
        kept[key] = diagram.with_parameters(**new)
    return kept[key], given


def built_with(diagram: Any, system: System) -> dict[str, Any] | None:
    """The diagram's own parameters that decide how it is built, frozen; None where there are none."""
    if not isinstance(diagram, Diagram):
        return None
    refused, own = system.refused, diagram.own_parameters.items()
    found = {name: frozen(value) for name, value in own if name in refused and refused[name].builds}
    return found | {name: frozen(value) for name, value in diagram.inner_values.items()} or None


def structural(
    diagram: Diagram, names: Mapping[str, Any], solve_loops: bool = False, driven: Driven = False
) -> list[str]:
    """Those of some names that decide how the diagram is built.

    Parameters of the diagram itself and of those inside, and fields of blocks that are no numbers of a run.
    """
    if not names:
        return []
    system = diagram.system(solve_loops, driven=driven)
    return [name for name in names if builds(system, name)]
