"""Handles of blocks and ports, as one wires them: ``a["y"] >> b["u"]``, ``a["y"] - b["y"]``, ``a >> b >> c``.

They are what `Diagram.add` gives back; what they need of a diagram is in `WiredDiagram`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from blocks.contract.block import Block
from blocks.errors import WiringError, shown
from cosim.node_ports import NodePorts
from cosim.port_arithmetic import PortArithmetic, components


class WiredDiagram(Protocol):
    """What a handle asks the diagram it belongs to."""

    name: str

    def __getitem__(self, name: str) -> Node:
        """The handle of a block."""

    def add(self, name: str, block: Any) -> Node:
        """Put a block in."""

    def connect(self, source: Any, *targets: Any) -> None:
        """Connect an output to inputs."""

    def __contains__(self, name: str) -> bool:
        """Is there a block of this name?"""

    def drivers(self, name: str) -> Mapping[str, tuple[str, str]]:
        """Which node and port drive the inputs of a node."""

    def content(self, name: str) -> Any:
        """What is in a node."""

    def given(self, name: str) -> Mapping[str, Any]:
        """Parameters a subsystem was given where it was added."""

    def ports_at(self, name: str) -> NodePorts:
        """The ports of a node."""


@dataclass(frozen=True)
class PortRef(PortArithmetic["PortRef"]):
    """One port of one node, as ``handle["port"]`` gives it. ``source >> target`` connects two.

    is_condition : whether a comparison (``a > 0.5``) made it, whose truth nobody can ask for while wiring
    """

    diagram: WiredDiagram
    node: str
    port: str
    is_condition: bool = field(default=False, compare=False, repr=False)

    def operand(self) -> PortRef:
        """This port."""
        return self

    def __rshift__(self, target: PortRef | Node) -> PortRef | Node:
        """Connect to an input, or to the only input of a block; returns what was connected to."""
        into = target.the("input") if isinstance(target, Node) else target
        self.diagram.connect(self, into)
        return target

    def __bool__(self) -> bool:
        if self.is_condition:
            why = f"whether {self} is true changes from instant to instant: it is a signal."
            raise WiringError([f"{why} Choose with a Switch, or an If of two parts."])
        return True

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"

    def __repr__(self) -> str:
        return f"<port '{self}'>"

    def __getitem__(self, index: int | slice | Sequence[int]) -> PortRef:
        """Some components: ``x["y"][0]``, ``x["y"][1:3]``, ``x["y"][[2, 0]]``, which makes a Selector."""
        return components(self, index)

    def __iter__(self) -> Iterator[PortRef]:
        raise WiringError([f"how many components {self} has is not known yet; write {self.port}[0], ..."])

    def __dir__(self) -> list[str]:
        """Names to offer while one types."""
        return ["diagram", "node", "port"]

    def slug(self) -> str:
        """What names of blocks made of it call it."""
        only = self.diagram[self.node].ports.outputs == (self.port,)
        return self.node if only else f"{self.node}_{self.port}"


@dataclass(frozen=True)
class Node(PortArithmetic[PortRef]):
    """Handle of a block in a diagram; ``node["port"]`` names one of its ports."""

    diagram: WiredDiagram
    name: str

    def __repr__(self) -> str:
        """Its kind and ports, as somebody needs them who is about to connect it."""
        ports, kind = self.ports, type(self.diagram.content(self.name)).__name__
        if not ports.known:
            return f"<{kind} '{self.name}'>"
        sides = {"inputs": ports.inputs, "outputs": ports.outputs}
        listed = [f"{side} {', '.join(names) or 'none'}" for side, names in sides.items()]
        return f"<{kind} '{self.name}': {'; '.join(listed)}>"

    def operand(self) -> PortRef:
        """Its only output."""
        return self.the("output")

    def __getitem__(self, port: str) -> PortRef:
        if not isinstance(port, str):
            first = (*self.ports.outputs, *self.ports.inputs, "y")[0]
            hint = f"Write {self.name}['{first}'], and {self.name}['{first}'][0] for one component."
            raise WiringError([f"{shown(port)} is no port of '{self.name}'. {hint}"], value=port)
        ref = self.unchecked(port)
        self.ports.check(self.name, type(self.diagram.content(self.name)).__name__, ref.port)
        return ref

    def unchecked(self, port: str) -> PortRef:
        """The port of a name; whether there is one is checked when the diagram is flattened."""
        block = self.diagram.content(self.name)
        name = block.port_name(port) if isinstance(block, Block) else port
        return PortRef(self.diagram, self.name, name)

    @property
    def block(self) -> Any:
        """What is in it: a block, a diagram or a subsystem."""
        return self.diagram.content(self.name)

    @property
    def ports(self) -> NodePorts:
        """The ports the block has, by name."""
        return self.diagram.ports_at(self.name)

    def the(self, what: str) -> PortRef:
        """The only "input" or "output"; an error names the choices where there are several."""
        return PortRef(self.diagram, self.name, self.ports.only(self.name, what))

    def __rshift__(self, target: PortRef | Node) -> PortRef | Node:
        """Connect the only output to an input, or to the only input of a block: ``a >> b >> c``."""
        return self.the("output") >> target

    def __getattr__(self, name: str) -> Any:
        """Only what is not there: ports are asked for in brackets."""
        text = f"a handle of a block has no attribute '{name}'; "
        if not name.startswith("_") and name in getattr(self.block, "__dataclass_fields__", ()):
            raise AttributeError(f"{text}the field is handle.block.{name}.")
        raise AttributeError(f"{text}its ports are handle['port'].")

    def __dir__(self) -> list[str]:
        """Names to offer while one types."""
        return ["block", "diagram", "name", "ports"]

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.ports.inputs, *self.ports.outputs]


def port_of(diagram: WiredDiagram, given: Any) -> PortRef:
    """A reference to a port of this very diagram.

    Raises
    ------
    WiringError    something else
    """
    if not isinstance(given, PortRef):  # callers without types may pass anything
        text = "" if isinstance(given, Node) else " or 'block.port'"
        raise WiringError([f"{shown(given)} is no port. Write handle['port']{text}."], value=given)
    if given.diagram is not diagram:
        whose = f"diagram '{given.diagram.name}', not to '{diagram.name}'"
        if given.diagram.name == diagram.name:
            whose = f"another diagram that is called '{diagram.name}' too"
        cure = "Connect through inport and outport of the subsystem."
        raise WiringError([f"port '{given}' belongs to {whose}. {cure}"], path=str(given))
    return given
