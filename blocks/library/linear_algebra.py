"""Products of vectors and matrices. Signals are vectors: a matrix stands in one row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.errors import BlockError
from blocks.functions import norm
from blocks.library.expansion import together

__all__ = [
    "Assignment",
    "CrossProduct",
    "DotProduct",
    "MatrixInverse",
    "MatrixMultiply",
    "Norm",
    "Reshape",
]


@dataclass(frozen=True)
class DotProduct(Block):
    """The inner product of two vectors.

    Output: y = in1[0] in2[0] + in1[1] in2[1] + ...  Direct feedthrough: in1 and in2 to y.

    Use::

        work = d.add("work", DotProduct())
        d.connect(source["y"], work["in1"])
    """

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        first, second = together(b, self, in1=b.input("in1"), in2=b.input("in2"))
        b.output("y", np.sum(first * second))


@dataclass(frozen=True)
class CrossProduct(Block):
    """The vector product of two vectors of three components.

    Output: y = in1 x in2.  Direct feedthrough: in1 and in2 to y.

    Use::

        torque = d.add("torque", CrossProduct())
        d.connect(source["y"], torque["in1"])
    """

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        p, q = b.input("in1", size=3), b.input("in2", size=3)
        turned = [(1, 2), (2, 0), (0, 1)]
        b.output("y", np.stack([p[i] * q[j] - p[j] * q[i] for i, j in turned]))


@dataclass(frozen=True)
class Norm(Block):
    """The length of a vector.

    Output: y = sqrt(sum u^2) with kind "2", the sum of |u| with "1", the largest |u| with "inf".
    Direct feedthrough: u to y. The derivative of "2" at u = 0 is taken as 0; adaptive steps end
    at the corners of "1" and "inf".

    kind : "1", "2" or "inf"; structural

    Use::

        distance = d.add("distance", Norm())
        d.connect(source["y"], distance["u"])
    """

    kind: str = "2"

    def __post_init__(self) -> None:
        if isinstance(self.kind, (int, float)) and not isinstance(self.kind, bool):
            named = {1: "1", 2: "2", np.inf: "inf"}
            checks.assign(self, kind=named.get(self.kind, self.kind))
        checks.choice(self, "kind", ("1", "2", "inf"))

    def define(self, b: Equations) -> None:
        """Declare ports and the norm."""
        u = b.input("u")
        if self.kind == "2":
            b.output("y", norm(u))
        else:
            b.output("y", np.sum(np.abs(u)) if self.kind == "1" else np.max(np.abs(u)))


def _shape(block: Any, field: str) -> tuple[int, ...]:
    shape = checks.counts(block, field, least=1)
    if len(shape) != 2 or shape[0] * shape[1] > checks.MOST:
        raise checks.fault(block, field, f"is {shape}", "(rows, columns)")
    return shape


@dataclass(frozen=True)
class MatrixMultiply(Block):
    """The product of two matrices, each in a signal row by row.

    Output: y = in1 @ in2, row by row.  Direct feedthrough: every component to the ones it takes part in.

    left, right : (rows, columns) of in1 and in2; structural

    Use::

        turned = d.add("turned", MatrixMultiply((2, 2), (2, 1)))
        d.connect(source["y"], turned["in1"])
    """

    left: Sequence[int]
    right: Sequence[int]

    def __post_init__(self) -> None:
        checks.assign(self, left=_shape(self, "left"), right=_shape(self, "right"))
        if self.left[1] != self.right[0]:
            what = f"is {self.right}"
            raise checks.fault(
                self, "right", what, f"{self.left[1]} rows, one per column of left = {self.left}"
            )

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        (m, k), n = self.left, self.right[1]
        first, second = b.input("in1", size=m * k), b.input("in2", size=k * n)
        b.output("y", np.ravel(first.reshape(m, k) @ second.reshape(k, n)))


@dataclass(frozen=True)
class MatrixInverse(Block):
    """The inverse of a square matrix that stands in a signal row by row.

    Output: y = inverse of u, row by row; of a singular matrix not a number, and the run stops there.
    Direct feedthrough: u to y.

    n : number of rows, up to 20; structural

    Use::

        inverse = d.add("inverse", MatrixInverse(2))
        d.connect(source["y"], inverse["u"])
    """

    n: int

    def __post_init__(self) -> None:
        checks.assign(self, n=checks.count(self, "n", most=20))

    def define(self, b: Equations) -> None:
        """Declare ports and the inverse."""
        u = b.input("u", size=self.n * self.n)
        b.output("y", np.ravel(np.linalg.inv(u.reshape(self.n, self.n))))


@dataclass(frozen=True)
class Reshape(Block):
    """Read a signal as a matrix, row by row or column by column.

    Output: y = the matrix that u gives in this order, row by row, which is how matrices stand in signals.
    With "row" nothing moves and the number of components is checked; with "column" u holds the matrix column
    by column, as MATLAB does: this also transposes a matrix.
    Direct feedthrough: each component of u to its place.

    shape : (rows, columns); structural
    order : "row" or "column"; structural

    Use::

        rows = d.add("rows", Reshape((2, 3), "column"))
        d.connect(source["y"], rows["u"])
    """

    shape: Sequence[int]
    order: str = "row"

    def __post_init__(self) -> None:
        checks.assign(self, shape=_shape(self, "shape"))
        checks.choice(self, "order", ("row", "column"))

    def define(self, b: Equations) -> None:
        """Declare ports and the order."""
        m, n = self.shape
        u = b.input("u", size=m * n)
        places = np.arange(m * n).reshape((m, n), order="C" if self.order == "row" else "F").ravel()
        b.output("y", u[places.tolist()])


@dataclass(frozen=True)
class Assignment(Block):
    """Replace components of a vector by those of another signal.

    Output: y = in1, but y[indices] = in2.  Direct feedthrough: each component to its place.

    indices : component numbers, counted from 0, each once; structural

    Use::

        changed = d.add("changed", Assignment([1]))
        d.connect(source["y"], changed["in1"])
    """

    indices: Sequence[int]

    def __post_init__(self) -> None:
        if isinstance(self.indices, (int, np.integer)):
            checks.assign(self, indices=(self.indices,))
        checks.assign(self, indices=checks.counts(self, "indices", least=0))
        if len(set(self.indices)) < len(self.indices):
            raise checks.fault(self, "indices", f"is {self.indices}", "each component once")

    def port_name(self, name: str) -> str:
        """Ports as Simulink calls them."""
        return {"Y0": "in1", "U": "in2"}.get(name, name)

    def define(self, b: Equations) -> None:
        """Declare ports and what goes where."""
        whole, parts = b.input("in1"), b.input("in2", size=len(self.indices))
        if max(self.indices) >= whole.size:
            if b.provisional:
                b.output("y", np.zeros(max(self.indices) + 1))
                return
            raise BlockError(
                f"Assignment: index {max(self.indices)} is beyond the {whole.size} components of 'in1'.",
                port="in1",
                value=self.indices,
                hint=f"Indices count from 0; the last component is {whole.size - 1}.",
            )
        of = {index: parts[k] for k, index in enumerate(self.indices)}
        b.output("y", np.stack([of.get(k, whole[k]) for k in range(whole.size)]))
