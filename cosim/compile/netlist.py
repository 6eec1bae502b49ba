"""What was drawn, as data: the blocks of one diagram and how its ports are connected.

A netlist is all the compiler knows of a diagram. The class with which users draw makes it.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any, Literal

from blocks.arguments import is_whole
from blocks.contract.block import Block
from blocks.contract.recipes import turned
from blocks.contract.units import Units, units_of
from blocks.errors import WiringError, near_miss, shown


@dataclass(frozen=True)
class PartCondition:
    """When the blocks of a diagram are active: what the outputs of one of its nodes say.

    control : that node, whose output "active" is above 0.5 while they are
    own     : nodes that always are: the control and those that hold outputs
    once    : is a period of activity one call, at which everything sampled inside ticks once?
    restarts : do they start anew when "restarts" of the control counts on?
    """

    control: str
    own: frozenset[str]
    once: bool
    restarts: bool


Driven = bool | Literal["held"]
"""Are blocks that step themselves left to a co-simulation master? "held": as a run does by default."""

Port = tuple[str, str]  # (name or path of a node, name of one of its ports)


@dataclass(frozen=True)
class Inport:
    """Where a signal enters a diagram: an input of the subsystem, or of the whole system.

    `size` is only needed at the top level, where nothing is connected to it.
    unit : what is connected is checked to be in it
    start : (size,) the value of an input of the whole system before it is set; None: zeros
    """

    size: int = 1
    unit: Units = ""
    start: tuple[float, ...] | None = None

    @staticmethod
    def of(name: str, size: Any, unit: Units) -> Inport:
        """An inport of what a user says.

        Raises
        ------
        WiringError    the size is no whole number of 1 or more, or the unit is none
        """
        if not is_whole(size) or size < 1:
            raise WiringError(
                [f"the size of inport {shown(name)} is {shown(size)}, expected a whole number, 1 or more."],
                value=size,
            )
        if unit is not None:
            units_of(unit, f"inport '{name}'")
        return Inport(int(size), unit)


@dataclass(frozen=True)
class Netlist:
    """Nodes by name and connections between their ports, as drawn: nothing is checked yet.

    connections : (output, input) for each connection; a signal of an `Inport` is its port "out"
    outports    : outputs of the diagram by name, and the port inside that each shows
    grounded    : inputs left open on purpose
    owner       : what its parameters call the diagram they belong to
    parameters  : its parameters and their values
    given       : of nodes that are diagrams, what their parameters are here
    units       : of nodes, units of their ports and parameters that are said here
    converted   : inputs whose signal is converted to the unit they expect
    variants    : instead of all of this, the diagrams of which the parameter `chosen` names one
    """

    name: str
    nodes: dict[str, Block | Netlist | Inport]
    connections: tuple[tuple[Port, Port], ...]
    outports: dict[str, Port]
    grounded: frozenset[Port]
    owner: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    units: Mapping[str, Mapping[str, Units]] = field(default_factory=dict)
    converted: frozenset[Port] = frozenset()
    condition: PartCondition | None = None
    variants: Mapping[Any, Netlist] = field(default_factory=dict)
    chosen: Any = None

    def driven(self) -> Netlist:
        """The same with blocks that step themselves left to a co-simulation master.

        What is in a conditional part is called by it.
        """
        if self.condition is not None:
            return self
        nodes = {n: _turned(x, DRIVEN) for n, x in self.nodes.items()}
        variants = {name: variant.driven() for name, variant in self.variants.items()}
        return replace(self, nodes=nodes, variants=variants)

    def uncoupled(self) -> Netlist:
        """The same as a run has it that says nothing of coupling; itself, if nothing in it steps itself.

        What is in a conditional part is called by it.
        """
        if self.condition is not None:
            return self
        nodes = {n: _turned(x, UNCOUPLED) for n, x in self.nodes.items()}
        variants = {name: variant.uncoupled() for name, variant in self.variants.items()}
        changed = any(nodes[n] is not x for n, x in self.nodes.items())
        if not changed and all(variants[n] is x for n, x in self.variants.items()):
            return self
        return replace(self, nodes=nodes, variants=variants)

    def routed(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Values of its own parameters, and those of diagrams inside, which are called "then.J", by node."""
        own: dict[str, Any] = {}
        inside: dict[str, dict[str, Any]] = {}
        for name, value in given.items():
            node, dot, rest = name.partition(".")
            if dot and isinstance(self.nodes.get(node), Netlist):
                inside.setdefault(node, {})[rest] = value
            elif name not in self.parameters and (by := self._enclosing(name)):
                inside.setdefault(by, {})[name] = value
            else:
                own[name] = value
        return own, inside

    def changed(self, values: Mapping[str, Any]) -> Netlist:
        """The same with other parameters of diagrams inside ("part.T"), or fields of blocks ("a/step.time").

        Raises
        ------
        WiringError     there is no such parameter or field, with the near miss
        """
        nodes, given = dict(self.nodes), {name: dict(own) for name, own in self.given.items()}
        for name, value in values.items():
            node, deeper, rest = _first_step(name)
            inner = nodes.get(node)
            by = self._enclosing(name) if inner is None else ""
            if isinstance(around := nodes.get(by), EnclosingBlock):
                nodes[by] = around.with_enclosed(around.enclosed().changed({name: value}))
            elif isinstance(inner, Netlist) and deeper == "/":
                nodes[node] = inner.changed({rest: value})
            elif isinstance(inner, Netlist) and rest in inner.parameters:
                given.setdefault(node, {})[rest] = value
            elif isinstance(inner, Block) and rest in inner.value_names():
                nodes[node] = inner.with_value(rest, value)
            else:
                raise WiringError(
                    [f"'{self.name}' has no '{name}'; {_near(self.nodes, node, rest)}"], path=name
                )
        return replace(self, nodes=nodes, given=given)

    @property
    def settable(self) -> list[str]:
        """Its parameters and those of diagrams inside, as `routed` knows them."""
        nested = ((n, x.settable) for n, x in self.nodes.items() if isinstance(x, Netlist))
        enclosed = (x.enclosed().settable for x in self.nodes.values() if isinstance(x, EnclosingBlock))
        deeper = [f"{n}.{name}" for n, names in nested for name in names]
        return [*dict.fromkeys([*self.parameters, *deeper, *(name for names in enclosed for name in names)])]

    def _enclosing(self, name: str) -> str:
        """The node whose diagram, flattened on its own, has what a name means; "" if there is none."""
        first, _, _ = _first_step(name)
        around = {n: x.enclosed() for n, x in self.nodes.items() if isinstance(x, EnclosingBlock)}
        return next((n for n, x in around.items() if first in x.nodes or x._enclosing(name)), "")

    @property
    def inports(self) -> dict[str, Inport]:
        """Inputs of the diagram by name."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, Inport)}


class EnclosingBlock(Block):
    """Interface of blocks whose equations are those of a diagram, which is flattened on its own.

    Its subsystem has the parameters of that diagram, which are thereby called as if it stood there.
    """

    @abc.abstractmethod
    def enclosed(self) -> Netlist:
        """The diagram."""

    @abc.abstractmethod
    def with_enclosed(self, diagram: Netlist) -> EnclosingBlock:
        """The same block around another diagram."""

    @abc.abstractmethod
    def placed(self, place: Any) -> EnclosingBlock:
        """The same block where parameters are known: `place` is a `cosim.compile.masks.MaskPlace`."""

    @abc.abstractmethod
    def masks_inside(self, sizes: Mapping[str, int]) -> Any:
        """`Masks` of the diagram with inputs of these sizes once it is flattened; None without a place."""


DRIVEN, UNCOUPLED = methodcaller("driven"), methodcaller("uncoupled")


def _turned(node: Block | Netlist | Inport, turn: Callable[[Any], Any]) -> Any:
    if isinstance(node, Inport):
        return node
    return turned(node, turn) if isinstance(node, Block) else turn(node)


def _first_step(name: str) -> tuple[str, str, str]:
    """The node a name begins with, what follows it, and the rest: parameters of FMUs may hold both signs."""
    node = re.split(r"[./]", name, maxsplit=1)[0]
    return node, name[len(node) : len(node) + 1], name[len(node) + 1 :]


def _near(nodes: Mapping[str, Block | Netlist | Inport], node: str, rest: str) -> str:
    """The node and the field of it that were probably meant."""
    inner = nodes.get(node)
    if isinstance(inner, Netlist):
        return near_miss(rest, [*inner.nodes, *inner.parameters])
    return near_miss(rest, inner.value_names()) if isinstance(inner, Block) else near_miss(node, nodes)
