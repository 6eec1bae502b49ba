"""Handles of blocks and ports, as one wires them: ``a["y"] >> b["u"]``, ``a["y"] - b["y"]``, ``a >> b >> c``.

They are what `Diagram.add` gives back; what they need of a diagram is in `WiredDiagram`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from blocks.contract.block import Block
from blocks.errors import WiringError, shown
from cosim.node_ports import NodePorts


class WiredDiagram(Protocol):
    """What a handle asks the diagram it belongs to."""

    name: str

    def __getitem__(self, name: str) -> Node:
        """The handle of a block."""

    def add(self, name: str, block: Any) -> Node:
        """Put a block in."""

    def connect(self, source: Any, *targets: Any) -> None:
        """Connect an output to inputs."""

    def unused(self, name: str) -> str:
        """A name that is not taken."""

    def content(self, name: str) -> Any:
        """What is in a node."""

    def given(self, name: str) -> Mapping[str, Any]:
        """Parameters a subsystem was given where it was added."""

    def ports_at(self, name: str) -> NodePorts:
        """The ports of a node."""


@dataclass(frozen=True)
class PortRef:
    """One port of one node, as ``handle["port"]`` gives it. ``source >> target`` connects two."""

    diagram: WiredDiagram
    node: str
    port: str

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to the port

    def __rshift__(self, target: PortRef | Node) -> PortRef | Node:
        """Connect to an input, or to the only input of a block; returns what was connected to."""
        into = target.the("input") if isinstance(target, Node) else target
        self.diagram.connect(self, into)
        return target

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"

    def __repr__(self) -> str:
        return f"<port '{self}'>"

    # --- arithmetic: ordinary blocks with names made of those of the operands -------------------------
    def __add__(self, other: Any) -> PortRef:
        return self._shifted(other) if _is_number(other) else self._combined("Sum", "++", other, "plus")

    __radd__ = __add__

    def __sub__(self, other: Any) -> PortRef:
        if _is_number(other):
            return self._shifted(-np.asarray(other, dtype=float))
        return self._combined("Sum", "+-", other, "minus")

    def __rsub__(self, other: Any) -> PortRef:
        return -self + other

    def __neg__(self) -> PortRef:
        return self._scaled(-1.0, "minus")

    def __mul__(self, other: Any) -> PortRef:
        if isinstance(other, (PortRef, Node)):
            return self._combined("Product", "**", other, "times")
        return self._scaled(other, "scaled")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> PortRef:
        if isinstance(other, (PortRef, Node)):
            return self._combined("Product", "*/", other, "over")
        return self._scaled(1.0 / np.asarray(other, dtype=float) if _is_number(other) else other, "scaled")

    def _combined(self, kind: str, signs: str, other: Any, word: str) -> PortRef:
        second = other.the("output") if isinstance(other, Node) else other
        if not isinstance(second, PortRef):
            raise WiringError([f"{self} cannot be combined with {shown(other)}; give a number or a port."])
        from blocks.library.math import Product, Sum

        d, kinds = self.diagram, {"Sum": Sum, "Product": Product}
        name = d.unused(f"{self._slug()}_{word}_{second._slug()}")
        node = d.add(name, kinds[kind](signs))
        d.connect(self, node["in1"])
        d.connect(second, node["in2"])
        return node["y"]

    def _scaled(self, factor: Any, word: str) -> PortRef:
        if not _is_number(factor):
            raise WiringError([f"{self} cannot be multiplied by {shown(factor)}; give a number or a port."])
        from blocks.library.math import Gain

        return self._through(word, Gain(factor))

    def _shifted(self, by: Any) -> PortRef:
        from blocks.library.elementary import Bias

        return self._through("shifted", Bias(by))

    def _through(self, word: str, block: Block) -> PortRef:
        d = self.diagram
        node = d.add(d.unused(f"{word}_{self._slug()}"), block)
        d.connect(self, node["u"])
        return node["y"]

    def _slug(self) -> str:
        only = self.diagram[self.node].ports.outputs == (self.port,)
        return self.node if only else f"{self.node}_{self.port}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, np.ndarray)) and not isinstance(
        value, bool
    )


@dataclass(frozen=True)
class Node:
    """Handle of a block in a diagram; ``node["port"]`` names one of its ports."""

    diagram: WiredDiagram
    name: str

    __array_ufunc__ = None

    def __getitem__(self, port: str) -> PortRef:
        if not isinstance(port, str):
            hint = f"Write {self.name}['y']."
            raise WiringError([f"{shown(port)} is no port of '{self.name}'. {hint}"], value=port)
        ref = self.unchecked(port)
        self.ports.check(self.name, type(self.diagram.content(self.name)).__name__, ref.port)
        return ref

    def unchecked(self, port: str) -> PortRef:
        """The port of a name; whether there is one is told when the diagram is flattened."""
        block = self.diagram.content(self.name)
        name = block.port_name(port) if isinstance(block, Block) else port
        return PortRef(self.diagram, self.name, name)

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

    def __add__(self, other: Any) -> PortRef:
        return self.the("output") + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> PortRef:
        return self.the("output") - other

    def __rsub__(self, other: Any) -> PortRef:
        return other - self.the("output")

    def __neg__(self) -> PortRef:
        return -self.the("output")

    def __mul__(self, other: Any) -> PortRef:
        return self.the("output") * other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> PortRef:
        return self.the("output") / other

    def __getattr__(self, name: str) -> Any:
        """Only what is not there: ports are asked for in brackets."""
        raise AttributeError(f"a handle of a block has no attribute '{name}'; its ports are handle['port'].")

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
