"""Which ports a block or a subsystem has, while a diagram is being written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blocks.contract.block import Block
from blocks.contract.shape import says_all
from blocks.contract.trace import LIBRARY, Traced, trace
from blocks.errors import PlantloopError, WiringError, near_miss
from cosim.compile.netlist import Inport


@dataclass(frozen=True)
class NodePorts:
    """Names of inputs and outputs, and of outputs that are there to be looked at only (`aside`).

    known : bool    False where they cannot be known yet
    fault : str     what is wrong with the block, for which they cannot be known
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    known: bool = True
    fault: str = ""

    def check(self, node: str, kind: str, port: str) -> None:
        """Is there such a port?

        Raises
        ------
        WiringError    no, with the near miss
        """
        every = [*self.inputs, *self.outputs, *self.aside]
        if not self.known or port in every:
            return
        raise WiringError(
            [f"block '{node}' ({kind}) has no port '{port}'; {near_miss(port, every)}"], path=f"{node}.{port}"
        )

    def check_used(self, node: str, kind: str, used: set[str]) -> None:
        """Are the connected ports of a block there in the one that replaces it?

        Raises
        ------
        WiringError    no, with what there is
        """
        every = [*self.inputs, *self.outputs, *self.aside]
        lost = sorted(used.difference(every)) if self.known else []
        if lost:
            are = "which is connected" if len(lost) == 1 else "which are connected"
            what = f"it has no port {', '.join(map(repr, lost))}, {are}"
            there = ", ".join(map(repr, every)) or "none"
            cure = "Disconnect them first, or remove the block and add the new one."
            raise WiringError(
                [f"'{node}' cannot be replaced by this {kind}: {what}; there is {there}. {cure}"],
                path=f"{node}.{lost[0]}",
            )

    def directed(self, node: str, port: str, what: str) -> None:
        """Is a port the "input" or "output" that this end of a wire must be?

        Raises
        ------
        WiringError    it is the other
        """
        other = "output" if what == "input" else "input"
        own, others = (self.inputs, self.outputs) if what == "input" else (self.outputs, self.inputs)
        if port in others and port not in own:
            raise WiringError(
                [f"'{node}.{port}' is an {other}. A wire goes from an output to an input: out -> in."],
                path=f"{node}.{port}",
            )

    def only(self, node: str, what: str) -> str:
        """The port that is meant where none is named: the only input or output.

        Raises
        ------
        WiringError    there is none, or several
        """
        ports = self.inputs if what == "input" else self.outputs
        if len(ports) == 1:
            return ports[0]
        if self.known:
            found = f"has the {what}s {', '.join(ports)}: which one is meant?" if ports else f"has no {what}."
            hint = f" Write {node}['{ports[0]}']." if ports else ""
        else:
            found = f"has {what}s that cannot be known yet{f': {self.fault}' if self.fault else '.'}"
            hint = "" if self.fault else f" Name one: {node}['port']."
        raise WiringError([f"block '{node}' {found}{hint}"], path=node)


LARGER = (2, 3, 4, 6, 9, 12)  # components of inputs, tried where one is too few for the equations


def _with_larger_inputs(block: Block) -> Traced | None:
    """What a block declares with inputs of several components, where its equations work with so many."""
    tried = (trace(block, {}, size) for size in LARGER)
    return next((found for found in tried if not found.partial), None)


def traced_alone(block: Block) -> Traced:
    """What a block declares with inputs of one component, or of several where that is too few for it."""
    found = LIBRARY.get(block, {}, 1) if says_all(block) else trace(block, {}, 1)
    if found.partial and (larger := _with_larger_inputs(block)) is not None:
        return larger
    return found


def ports_of(content: Any) -> NodePorts:
    """Ports of what is in a node: a block, an input of the diagram, or a diagram."""
    if isinstance(content, Inport):
        return NodePorts((), ("out",))
    if not isinstance(content, Block):
        return NodePorts(tuple(content.inports), tuple(content.outports))
    if (named := content.ports_by_name()) is not None:
        return NodePorts(tuple(named[0]), tuple(named[1]))
    try:
        found = traced_alone(content)
    except PlantloopError as error:  # said when the diagram is flattened, unless ports are asked for before
        return NodePorts(known=False, fault=str(error))
    if found.partial:
        why = f"with inputs of one component, {found.why}"
        return NodePorts(known=False, fault=f"{why} If it is made for more, name its port: handle['port'].")
    return ports_declared(found)


def ports_declared(found: Traced) -> NodePorts:
    """Ports of a block whose equations are known."""
    declared = found.declared
    shown, aside = (tuple(o.name for o in declared.outputs if o.auxiliary is k) for k in (False, True))
    return NodePorts(tuple(i.name for i in declared.inputs), shown, aside)
