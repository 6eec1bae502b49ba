"""One subsystem per element of a vector: `ForEach`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blocks.contract.block import Block, Equations
from blocks.errors import BlockError, WiringError, near_miss, shown
from blocks.library.routing import Mux
from blocks.library.sources import Constant
from cosim.compile.netlist import Netlist, Port
from cosim.subsystems.loops import whole
from cosim.subsystems.parts import Subsystem, checked_inner, netlist_of

INDEX = "index"  # an input of the inside that is told the number of the element
MOST = 10_000  # copies


@dataclass(frozen=True)
class EqualParts(Block):
    """A vector cut into n parts of equal size.

    Outputs: y0 = u[:w], y1 = u[w:2w], ..., w = len(u) / n.
    Direct feedthrough: each part of u to its own output.
    """

    n: int

    def define(self, b: Equations) -> None:
        """Declare the vector and its parts."""
        u = b.input("u")
        width = u.size // self.n
        if u.size % self.n or not width:
            if not b.provisional:
                raise BlockError(
                    f"ForEach: an input has {u.size} components, which {self.n} elements cannot share alike.",
                    value=u.size,
                    hint=f"Connect {self.n} components or a multiple of it, or name the input in shared=.",
                )
            u, width = np.zeros(self.n), 1
        for k in range(self.n):
            b.output(f"y{k}", u[k * width : (k + 1) * width])


@dataclass(frozen=True)
class ForEach(Subsystem):
    """A copy of the inside for each element of vectors, all at once; outputs are put side by side.

    With n copies, copy k gets components k w ... (k + 1) w - 1 of every input of n w components. Copies are
    called "0", "1", ...: ``initial={"bank/2/tank.x": 1.0}``; each keeps its own states, events and ticks. An
    input "index" of the inside is the number of its copy, from 0.

    inner : Block, Diagram or subsystem
    n : number of copies; structural
    shared : names of inputs that every copy gets as a whole; structural
    parameters : {name: n values}: the values of the inner diagram's parameters in each copy; in a run they
        are called "bank/2.J". Parameters not named here are common to all copies, and are called "bank.J"

    Use::

        tanks = d.add("tanks", ForEach(FirstOrder(time_constant=2.0), 3))
        d.connect(levels["out"], tanks["u"])

    Raises
    ------
    BlockError      n, shared or parameters make no sense
    WiringError     the inside is no block or diagram
    """

    inner: Any
    n: int
    shared: tuple[str, ...] = ()
    parameters: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        checked_inner("ForEach", self.inner)
        whole("n", self.n, 1, MOST)
        object.__setattr__(self, "n", int(self.n))
        if not isinstance(self.shared, (list, tuple)) or not all(isinstance(s, str) for s in self.shared):
            raise BlockError(
                f"ForEach: shared is {shown(self.shared)}, expected a list of names of inputs.",
                value=self.shared,
            )
        object.__setattr__(self, "shared", tuple(self.shared))
        self._given(netlist_of(self.inner))

    def _given(self, inside: Netlist) -> list[dict[str, Any]]:
        """The parameters of every copy."""
        given = {} if self.parameters is None else self.parameters
        if not isinstance(given, Mapping):
            raise BlockError(f"ForEach: parameters is {shown(given)}, expected values by name.", value=given)
        for name, values in given.items():
            if name not in inside.parameters:
                near = near_miss(str(name), inside.parameters)
                raise BlockError(f"ForEach: the inside has no parameter {shown(name)}; {near}", value=name)
            if isinstance(values, (str, Mapping)) or not hasattr(values, "__len__") or len(values) != self.n:
                raise BlockError(
                    f"ForEach: parameter '{name}' is {shown(values)}, expected {self.n} values, one a copy.",
                    value=values,
                )
        if unknown := [s for s in self.shared if s not in inside.inports]:
            near = near_miss(unknown[0], inside.inports)
            raise BlockError(
                f"ForEach: shared names '{unknown[0]}', which is no input; {near}", value=unknown[0]
            )
        if INDEX in self.shared:
            raise BlockError("ForEach: 'index' is the number of a copy and cannot be shared.", value=INDEX)
        return [{name: values[k] for name, values in given.items()} for k in range(self.n)]

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        inside = netlist_of(self.inner)
        copies = [str(k) for k in range(self.n)]
        if taken := [name for name in inside.inports if name in copies]:
            raise WiringError([f"ForEach: the inside has an input '{taken[0]}', as a copy is called."])
        given = self._given(inside)
        one = replace(inside, parameters={n: v for n, v in inside.parameters.items() if n in given[0]})
        all_alike = {n: v for n, v in inside.parameters.items() if n not in given[0]}
        nodes: dict[str, Any] = dict.fromkeys(copies, one)
        wires: list[tuple[Port, Port]] = []
        for name, entry in inside.inports.items():
            if name == INDEX:
                nodes |= {f"(index {k})": Constant(float(k)) for k in copies}
                wires += [((f"(index {k})", "y"), (k, INDEX)) for k in copies]
                continue
            whole = name in self.shared
            nodes[name] = entry if whole else replace(entry, size=entry.size * self.n)
            if not whole:
                nodes[f"({name})"] = EqualParts(self.n)
                wires.append(((name, "out"), (f"({name})", "u")))
            wires += [((name, "out") if whole else (f"({name})", f"y{k}"), (k, name)) for k in copies]
        outports = {}
        for name in inside.outports:
            together = f"({name} of all)"
            nodes[together] = Mux(self.n)
            wires += [((k, name), (together, f"in{int(k) + 1}")) for k in copies]
            outports[name] = (together, "out")
        return Netlist(
            "for each", nodes, tuple(wires), outports, frozenset(), inside.owner, all_alike,
            dict(zip(copies, given, strict=True)),
        )  # fmt: skip
