"""Comparisons and logic. Comparisons of continuous signals are events: the solver ends a step on each change.

True is 1, false is 0; what is read as a condition is true where it is not 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.functions import pick
from blocks.library.expansion import each, together
from blocks.library.truth import OPERATORS, compared, true, unit_of

__all__ = [
    "BitwiseOperator",
    "CombinatorialLogic",
    "CompareToConstant",
    "CompareToZero",
    "IntervalTest",
    "LogicalOperator",
    "RelationalOperator",
]


def _operator(block: Block) -> None:
    operator = getattr(block, "operator", None)
    if isinstance(operator, str) and operator == "~=":
        checks.assign(block, operator="!=")
    checks.choice(block, "operator", OPERATORS)


@dataclass(frozen=True)
class RelationalOperator(Block):
    """Compare two signals, elementwise.

    Output: y = 1 where ``in1 operator in2`` holds, else 0. Every change is an event; signals closer than
    1e-10 count as equal.
    Direct feedthrough: none between ticks (y is held, and flipped by a crossing); at a tick in1 and in2 to y.

    operator : "==", "!=" (also "~="), "<", "<=", ">" or ">="; structural

    Use::

        late = d.add("late", RelationalOperator(">"))
        d.connect(source["y"], late["in1"])
    """

    operator: str = "<="

    def __post_init__(self) -> None:
        _operator(self)

    def define(self, b: Equations) -> None:
        """Declare ports and a branch per component."""
        first, second = together(b, self, in1=b.input("in1"), in2=b.input("in2"))
        b.output("y", each(lambda p, q: compared(b, self.operator, p, q), first, second))


@dataclass(frozen=True)
class CompareToConstant(Block):
    """Compare a signal with a number, elementwise.

    Output: y = 1 where ``u operator value`` holds, else 0. Every change is an event; less than 1e-10 away
    counts as equal, 1e-10 of `value` where that is less than 1e-3.
    Direct feedthrough: none between ticks (y is held, and flipped by a crossing); at a tick u to y.

    operator : "==", "!=" (also "~="), "<", "<=", ">" or ">="; structural
    value : number or (n,), unit of u; tunable

    Use::

        warm = d.add("warm", CompareToConstant(">=", 20.0))
        d.connect(source["y"], warm["u"])
    """

    operator: str = "<="
    value: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _operator(self)
        checks.assign(self, value=checks.numbers(self, "value"))

    def define(self, b: Equations) -> None:
        """Declare ports and a branch per component."""
        (value,) = b.parameters(value=self.value)
        u, value = together(b, self, u=b.input("u"), value=value)
        b.output("y", each(lambda p, q: compared(b, self.operator, p, q, unit_of(q)), u, value))


@dataclass(frozen=True)
class CompareToZero(Block):
    """Compare a signal with zero, elementwise.

    Output: y = 1 where ``u operator 0`` holds, else 0. Every change is an event; less than 1e-10 away counts
    as zero.
    Direct feedthrough: none between ticks (y is held, and flipped by a crossing); at a tick u to y.

    operator : "==", "!=" (also "~="), "<", "<=", ">" or ">="; structural

    Use::

        forward = d.add("forward", CompareToZero(">"))
        d.connect(source["y"], forward["u"])
    """

    operator: str = "<="

    def __post_init__(self) -> None:
        _operator(self)

    def define(self, b: Equations) -> None:
        """Declare ports and a branch per component."""
        b.output("y", each(lambda u: compared(b, self.operator, u, 0.0 * u), b.input("u")))


@dataclass(frozen=True)
class IntervalTest(Block):
    """Is a signal between two limits? Elementwise.

    Output: y = 1 where low <= u <= high, else 0; a limit that is not included itself counts as outside.
    Every change is an event.
    Direct feedthrough: none between ticks (y is held, and flipped by a crossing); at a tick u to y.

    low, high : number or (n,), unit of u; tunable
    include_low, include_high : does the limit itself count as inside? structural

    Use::

        inside = d.add("inside", IntervalTest(-0.5, 0.5))
        d.connect(source["y"], inside["u"])
    """

    low: ArrayLike = -0.5
    high: ArrayLike = 0.5
    include_low: bool = True
    include_high: bool = True

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            if getattr(self, side) is None:
                raise checks.fault(self, side, "is None", "a number", "One limit alone is CompareToConstant.")
            flag = f"include_{side}"
            checks.assign(self, **{flag: checks.flag(self, flag)})
        checks.limits(self)
        for side in ("low", "high"):
            checks.assign(self, **{side: checks.numbers(self, side)})

    def define(self, b: Equations) -> None:
        """Declare ports and two branches per component."""
        low, high = b.parameters(low=self.low, high=self.high)
        above, below = ">=" if self.include_low else ">", "<=" if self.include_high else "<"

        def inside(u: Array, low: Array, high: Array) -> Array:
            unit = unit_of(low, high)
            return compared(b, above, u, low, unit) * compared(b, below, u, high, unit)

        b.output("y", each(inside, *together(b, self, u=b.input("u"), low=low, high=high)))


def _xor(p: Array, q: Array) -> Array:
    return p + q - 2.0 * p * q


FOLDS: dict[str, Callable[[Array, Array], Array]] = {
    "and": lambda p, q: p * q,
    "or": lambda p, q: p + q - p * q,
    "xor": _xor,
}
NEGATED = {"nand": "and", "nor": "or", "nxor": "xor"}


@dataclass(frozen=True)
class LogicalOperator(Block):
    """And, or, not and their kin on signals that are true where they are not 0, elementwise.

    Output: y = 1 or 0. "xor" is 1 where an odd number of inputs is true, "nxor" where an even number is.
    With one input that is a vector the components are combined into one (except by "not").
    Direct feedthrough: every input to y. A continuous signal is true almost always: compare it first.

    operator : "and", "or", "nand", "nor", "xor", "nxor" or "not", in any case; structural
    n : number of inputs "in1", "in2", ...; of "not" one; structural

    Use::

        both = d.add("both", LogicalOperator("and", 2))
        d.connect(source["y"], both["in1"])
    """

    operator: str = "and"
    n: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.operator, str):
            checks.assign(self, operator=self.operator.lower())
        checks.choice(self, "operator", (*FOLDS, *NEGATED, "not"))
        usual = 1 if self.operator == "not" else 2
        checks.assign(self, n=usual if self.n is None else checks.ports(self, "n"))
        if self.operator == "not" and self.n != 1:
            raise checks.fault(self, "n", f"is {self.n}", 'one input with "not"')

    def port_name(self, name: str) -> str:
        """The only input may be called u."""
        return "in1" if name == "u" and self.n == 1 else name

    def define(self, b: Equations) -> None:
        """Declare the inputs and the fold over them."""
        names = [f"in{k}" for k in range(1, (self.n or 1) + 1)]
        inputs = [true(u) for u in together(b, self, **{name: b.input(name) for name in names})]
        if self.operator == "not":
            b.output("y", 1.0 - inputs[0])
            return
        fold = FOLDS[NEGATED.get(self.operator, self.operator)]
        y = reduce(fold, list(inputs[0]) if len(inputs) == 1 else inputs)
        b.output("y", 1.0 - y if self.operator in NEGATED else y)


@dataclass(frozen=True)
class CombinatorialLogic(Block):
    """A truth table.

    Output: y = the row of the table with number 2^(n-1) u[0] + ... + 2 u[n-2] + u[n-1], each component of u
    counted as 1 where it is not 0 and as 0 else: the first component is the most significant.
    Direct feedthrough: u to y.

    table : (2^n, k), or (2^n,) for one column; tunable up to 32 rows

    Use::

        majority = d.add("majority", CombinatorialLogic([0, 0, 0, 1, 0, 1, 1, 1]))
        d.connect(source["y"], majority["u"])
    """

    table: ArrayLike

    def __post_init__(self) -> None:
        checks.assign(self, table=checks.numbers(self, "table", dims=(1, 2)))
        rows = len(np.asarray(self.table))
        if rows < 2 or rows & (rows - 1):
            raise checks.fault(self, "table", f"has {rows} rows", "2, 4, 8, ... rows")

    def define(self, b: Equations) -> None:
        """Declare the input and the row."""
        rows = len(np.asarray(self.table))
        if rows <= 32:
            (table,) = b.parameters(table=self.table)
        else:
            table = np.array(self.table)
        n = rows.bit_length() - 1
        bits = true(b.input("u", size=n))
        index = sum(2.0 ** (n - 1 - k) * bits[k] for k in range(n))
        y = pick(table.reshape(rows, -1), np.where(np.isnan(index), 0.0, index))
        b.output("y", np.where(np.isnan(index), index, y))


@dataclass(frozen=True)
class BitwiseOperator(Block):
    """And, or, xor, not of the bits of whole numbers, elementwise.

    Output: y = ``in1 operator in2 ...`` bit by bit on unsigned whole numbers of so many bits (floor(u) modulo
    2^bits); with a mask every input is combined with it.
    Direct feedthrough: every input to y. The jumps of a continuous signal are left to error control: it is
    meant for sampled ones.

    operator : "and", "or", "xor", "nand", "nor" or "not"; structural
    n : number of inputs "in1", "in2", ...; one with "not" or a mask; structural
    mask : None, or a whole number from 0 to 2^bits - 1; structural
    bits : 1 to 52; structural

    Use::

        low = d.add("low", BitwiseOperator("and", mask=0x0F))
        d.connect(source["y"], low["in1"])
    """

    switches_by_design: ClassVar[bool] = True  # floor

    operator: str = "and"
    n: int | None = None
    mask: int | None = None
    bits: int = 16

    def __post_init__(self) -> None:
        if isinstance(self.operator, str):
            checks.assign(self, operator=self.operator.lower())
        checks.choice(self, "operator", (*FOLDS, "nand", "nor", "not"))
        checks.assign(self, bits=checks.count(self, "bits", most=52))
        alone = self.operator == "not" or self.mask is not None
        default = 1 if alone else 2
        checks.assign(self, n=default if self.n is None else checks.count(self, "n", most=64))
        if alone and self.n != 1:
            raise checks.fault(self, "n", f"is {self.n}", 'one input with a mask or "not"')
        if self.mask is not None:
            if self.operator == "not":
                raise checks.fault(self, "mask", f"is {self.mask}", 'None with "not"')
            checks.assign(self, mask=checks.count(self, "mask", least=0, most=2**self.bits - 1))

    def port_name(self, name: str) -> str:
        """The only input may be called u."""
        return "in1" if name == "u" and self.n == 1 else name

    def define(self, b: Equations) -> None:
        """Declare the inputs and the fold over each bit."""
        names = [f"in{k}" for k in range(1, (self.n or 1) + 1)]
        inputs = together(b, self, **{name: b.input(name) for name in names})
        fold = FOLDS[NEGATED.get(self.operator, "and" if self.operator == "not" else self.operator)]
        y = 0.0
        for k in range(self.bits):
            digits = [np.floor(u / 2.0**k) - 2.0 * np.floor(u / 2.0 ** (k + 1)) for u in inputs]
            if self.mask is not None:
                digits.append(float(self.mask >> k & 1) + 0.0 * digits[0])
            digit = reduce(fold, digits)
            y = y + 2.0**k * (1.0 - digit if self.operator in ("not", "nand", "nor") else digit)
        b.output("y", y)
