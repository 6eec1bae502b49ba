"""Arithmetic on signals: gain, sum, product. A scalar signal or factor expands to a vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.library.expansion import together

__all__ = ["Gain", "Product", "Sum"]


@dataclass(frozen=True)
class Gain(Block):
    """Multiply a signal by a number, a vector elementwise, or a matrix.

    Output: y = k u for a number or vector k, y = k @ u for a matrix.  Direct feedthrough: u to y (zeros of
    a matrix are structural: they pass nothing).

    k : number, (n,) or (m, n), unit of y per unit of u; tunable

    Use::

        double = d.add("double", Gain(2.0))
        d.connect(source["y"], double["u"])
    """

    units_follow = True
    k: ArrayLike

    def __post_init__(self) -> None:
        checks.assign(self, k=checks.numbers(self, "k", dims=(0, 1, 2)))

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        (k,) = b.parameters(k=self.k)
        shape = np.shape(self.k)
        if len(shape) == 2:
            b.output("y", k @ b.input("u", size=shape[1]))
        else:
            factor, u = together(b, self, k=k, u=b.input("u"))
            b.output("y", factor * u)


@dataclass(frozen=True)
class Sum(Block):
    """Add and subtract signals.

    Output: y = +-in1 +- in2 ...  Direct feedthrough: every input to y.

    signs : one "+" or "-" per input, or the number of inputs, all added; structural

    Use::

        error = d.add("error", Sum("+-"))
        d.connect(source["y"], error["in1"])
    """

    units_follow = True
    signs: str | int = "++"

    def __post_init__(self) -> None:
        checks.assign(self, signs=checks.signs(self, "signs", "+-"))

    def define(self, b: Equations) -> None:
        """Declare one input per sign and their sum."""
        signs = str(self.signs)
        inputs = {f"in{k}": b.input(f"in{k}") for k in range(1, len(signs) + 1)}
        first, *others = together(b, self, **inputs)
        y = first if signs[0] == "+" else -first
        for sign, u in zip(signs[1:], others, strict=True):
            y = y + u if sign == "+" else y - u
        b.output("y", y)


@dataclass(frozen=True)
class Product(Block):
    """Multiply and divide signals elementwise.

    Output: y = in1 in2 ... with "*", divided by an input with "/".  Direct feedthrough: every input to y.
    Dividing by zero gives inf or nan, and the run stops there, naming the block.

    operations : one "*" or "/" per input, or the number of inputs, all multiplied; structural

    Use::

        power = d.add("power", Product(2))
        d.connect(source["y"], power["in1"])
    """

    units_follow = True
    operations: str | int = "**"

    def __post_init__(self) -> None:
        checks.assign(self, operations=checks.signs(self, "operations", "*/"))

    def define(self, b: Equations) -> None:
        """Declare one input per operation and their product."""
        operations = str(self.operations)
        inputs = {f"in{k}": b.input(f"in{k}") for k in range(1, len(operations) + 1)}
        first, *others = together(b, self, **inputs)
        y = first if operations[0] == "*" else 1.0 / first
        for operation, u in zip(operations[1:], others, strict=True):
            y = y * u if operation == "*" else y / u
        b.output("y", y)
