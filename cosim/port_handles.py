"""Handles of blocks and ports, as one wires them: ``a["y"] >> b["u"]``, ``a["y"] - b["y"]``, ``a >> b >> c``.

They are what `Diagram.add` gives back; what they need of a diagram is in `WiredDiagram`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

    def __getitem__(self, index: int | slice | Sequence[int]) -> PortRef:
        """Some components: ``x["y"][0]``, ``x["y"][1:3]``, ``x["y"][[2, 0]]``, which makes a Selector."""
        from blocks.library.routing import Selector

        chosen = _components(self, index)
        return self._made("_".join((self._slug(), *map(str, chosen))), Selector(chosen), {"in": self})

    def __iter__(self) -> Iterator[PortRef]:
        raise WiringError([f"how many components {self} has is not known yet; write {self.port}[0], ..."])

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

    def __rmatmul__(self, matrix: Any) -> PortRef:
        """A matrix of numbers times the signal: ``K @ x["y"]``."""
        return self._scaled(np.atleast_2d(matrix) if _is_number(matrix) else matrix, "scaled")

    def __truediv__(self, other: Any) -> PortRef:
        if isinstance(other, (PortRef, Node)):
            return self._combined("Product", "*/", other, "over")
        return self._scaled(1.0 / np.asarray(other, dtype=float) if _is_number(other) else other, "scaled")

    def _combined(self, kind: str, signs: str, other: Any, word: str) -> PortRef:
        second = other.the("output") if isinstance(other, Node) else other
        if not isinstance(second, PortRef):
            raise WiringError([f"{self} cannot be combined with {shown(other)}; give a number or a port."])
        from blocks.library.math import Product, Sum

        block = {"Sum": Sum, "Product": Product}[kind](signs)
        return self._made(f"{self._slug()}_{word}_{second._slug()}", block, {"in1": self, "in2": second})

    def _scaled(self, factor: Any, word: str) -> PortRef:
        if not _is_number(factor):
            raise WiringError([f"{self} cannot be multiplied by {shown(factor)}; give a number or a port."])
        from blocks.library.math import Gain

        return self._through(f"{word}_{self._slug()}", Gain(factor))

    def _shifted(self, by: Any) -> PortRef:
        from blocks.library.elementary import Bias

        return self._through(f"shifted_{self._slug()}", Bias(by))

    def _through(self, name: str, block: Block) -> PortRef:
        return self._made(name, block, {"u": self})

    def _made(self, name: str, block: Block, inputs: Mapping[str, PortRef]) -> PortRef:
        """The output of such a block; the one that is there already where the same is written again."""
        d, wires = self.diagram, {port: (ref.node, ref.port) for port, ref in inputs.items()}
        own, k = name, 1
        while own in d:
            if d.content(own) == block and d.drivers(own) == wires:
                return d[own].the("output")
            own, k = f"{name}_{k + 1}", k + 1
        node = d.add(own, block)
        for port, ref in inputs.items():
            d.connect(ref, node[port])
        return node.the("output")

    def _slug(self) -> str:
        only = self.diagram[self.node].ports.outputs == (self.port,)
        return self.node if only else f"{self.node}_{self.port}"


def _components(port: PortRef, index: Any) -> tuple[int, ...]:
    """The components that are meant by an index, a slice with both ends, or a list of indices."""
    given: Any = np.ravel(index) if isinstance(index, np.ndarray) else index
    if not isinstance(given, (list, tuple, np.ndarray)):
        given = (index,)
    if isinstance(index, slice) and index.stop is not None:
        given = range(index.start or 0, index.stop, index.step or 1)
    whole = lambda k: isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    chosen = tuple(int(k) for k in given if whole(k) and k >= 0)
    if not chosen or len(chosen) < len(given):
        cure = "Count from 0 as in [0], [1:3] or [[2, 0]]; how many there are is found later."
        raise WiringError(
            [f"{shown(index)} names no components of {port}. {cure}"], path=str(port), value=index
        )
    return chosen


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
            first = (*self.ports.outputs, *self.ports.inputs, "y")[0]
            hint = f"Write {self.name}['{first}'], and {self.name}['{first}'][0] for one component."
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

    def __rmatmul__(self, matrix: Any) -> PortRef:
        return matrix @ self.the("output")

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
