"""Routing: put signals side by side, take them apart, pick components. No arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.errors import BlockError

__all__ = ["Demux", "Mux", "Selector"]


@dataclass(frozen=True)
class Mux(Block):
    """Put signals side by side in one vector.

    Output: out = [in1; in2; ...], inputs of any width.  Direct feedthrough: each input to its own part.

    n : number of inputs; structural

    Use::

        both = d.add("both", Mux(2))
        d.connect(source["y"], both["in1"])
    """

    n: int = 2

    def __post_init__(self) -> None:
        checks.assign(self, n=checks.ports(self, "n"))

    def define(self, b: Equations) -> None:
        """Declare the inputs and the vector of them."""
        b.output("out", np.concatenate([b.input(f"in{k}") for k in range(1, self.n + 1)]))


@dataclass(frozen=True)
class Demux(Block):
    """Take a vector apart.

    Output: out1 = in[:w1], out2 = in[w1:w1+w2], ...  Direct feedthrough: each part of in to its own output.

    sizes : an int n for n scalars, or a list of widths; their sum is the width of in; structural

    Use::

        parts = d.add("parts", Demux([3, 1]))
        d.connect(parts["out2"], sink["u"])
    """

    sizes: int | Sequence[int] = 2

    def __post_init__(self) -> None:
        one = isinstance(self.sizes, (int, np.integer))
        sizes = (1,) * checks.ports(self, "sizes") if one else checks.counts(self, "sizes", least=1)
        checks.assign(self, sizes=sizes)

    def define(self, b: Equations) -> None:
        """Declare the input and its parts."""
        ends = list(accumulate(self.sizes))  # type: ignore[arg-type]  # a tuple by now
        u = b.input("in", size=ends[-1])
        for k, (start, end) in enumerate(zip([0, *ends], ends, strict=False), start=1):
            b.output(f"out{k}", u[start:end])


@dataclass(frozen=True)
class Selector(Block):
    """Pick components of a vector, in any order, also repeatedly.

    Output: out = in[indices].  Direct feedthrough: each picked component to its place.

    indices : component numbers, counted from 0; structural

    Use::

        angle = d.add("angle", Selector([0]))
        d.connect(source["y"], angle["in"])
    """

    indices: Sequence[int]

    def __post_init__(self) -> None:
        if isinstance(self.indices, (int, np.integer)):
            checks.assign(self, indices=(self.indices,))
        checks.assign(self, indices=checks.counts(self, "indices", least=0))

    def define(self, b: Equations) -> None:
        """Declare the input and the picked components."""
        u = b.input("in")
        if max(self.indices) < u.size:
            b.output("out", u[list(self.indices)])
        elif b.provisional:
            b.output("out", np.zeros(len(self.indices)))
        else:
            raise BlockError(
                f"Selector: index {max(self.indices)} is beyond the {u.size} components of input 'in'.",
                port="in",
                value=self.indices,
                hint=f"Indices count from 0; the last component is {u.size - 1}.",
            )
