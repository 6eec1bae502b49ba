"""Arithmetic on ports, which makes ordinary blocks with names made of those of the operands.

``r["y"] - y["out"]``, ``0.5 * (a + b)``, ``J * a`` with a parameter J of the diagram, ``a**2``,
``abs(a)``, ``a > 0.5``.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from blocks.arguments import is_whole, real_numbers
from blocks.contract.block import Block
from blocks.contract.masks import ParameterExpression as Expression
from blocks.contract.recipes import made_alike
from blocks.errors import WiringError, shown
from cosim.port_refusals import PortRefusals


class AnyPort(Protocol):
    """What arithmetic asks of a port."""

    def __add__(self, other: Any) -> Any:
        """The sum as a port."""

    @property
    def diagram(self) -> Any:
        """The diagram it is in."""

    @property
    def node(self) -> str:
        """Its block."""

    @property
    def port(self) -> str:
        """Its name."""

    def slug(self) -> str:
        """What names of blocks made of it call it."""


P = TypeVar("P", bound=AnyPort)
POWERS: dict[float, tuple[str, str]] = {2: ("square", "squared"), 3: ("cube", "cubed")}
WORDS = {"<": "below", "<=": "at_most", ">": "above", ">=": "at_least"}


class PortArithmetic(PortRefusals, abc.ABC, Generic[P]):
    """What ports, and blocks by their only output, do in arithmetic."""

    @abc.abstractmethod
    def operand(self) -> P:
        """The output that is meant."""

    def __add__(self, other: Any) -> P:
        port = self.operand()
        return _shifted(port, other) if is_number(other) else _combined(port, "Sum", "++", other, "plus")

    __radd__ = __add__

    def __sub__(self, other: Any) -> P:
        port = self.operand()
        if is_number(other):
            return _shifted(port, -_numbers(other))
        return _combined(port, "Sum", "+-", other, "minus")

    def __rsub__(self, other: Any) -> P:
        port = self.operand()
        made: P = _scaled(port, -1.0, "minus") + other
        return made

    def __neg__(self) -> P:
        return _scaled(self.operand(), -1.0, "minus")

    def __pos__(self) -> P:
        return self.operand()

    def __mul__(self, other: Any) -> P:
        if isinstance(other, PortArithmetic):
            return _combined(self.operand(), "Product", "**", other, "times")
        return _scaled(self.operand(), other, "scaled")

    __rmul__ = __mul__

    def __rmatmul__(self, matrix: Any) -> P:
        """A matrix of numbers times the signal: ``K @ x["y"]``."""
        return _scaled(self.operand(), np.atleast_2d(matrix) if is_number(matrix) else matrix, "scaled")

    def __truediv__(self, other: Any) -> P:
        if isinstance(other, PortArithmetic):
            return _combined(self.operand(), "Product", "*/", other, "over")
        return _scaled(self.operand(), 1.0 / _numbers(other) if is_number(other) else other, "scaled")

    def __rtruediv__(self, other: Any) -> P:
        from blocks.library.elementary import MathFunction

        port = self.operand()
        inverse = _through(port, f"one_over_{port.slug()}", MathFunction("reciprocal"))
        return inverse if isinstance(other, (int, float)) and other == 1 else inverse * other

    def __pow__(self, power: Any) -> P:
        from blocks.library.elementary import MathFunction

        port = self.operand()
        if isinstance(power, (int, float)) and power in POWERS:
            function, word = POWERS[power]
            return _through(port, f"{port.slug()}_{word}", MathFunction(function))
        raise WiringError(
            [f"{port} to the power {shown(power)}: the powers 2 and 3 make blocks by themselves. {FUNCTION}"],
            path=str(port),
            value=power,
        )

    def __abs__(self) -> P:
        from blocks.library.nonlinear import Abs

        port = self.operand()
        return _through(port, f"abs_{port.slug()}", Abs())

    def __lt__(self, other: Any) -> P:
        return _compared(self.operand(), "<", other)

    def __le__(self, other: Any) -> P:
        return _compared(self.operand(), "<=", other)

    def __gt__(self, other: Any) -> P:
        return _compared(self.operand(), ">", other)

    def __ge__(self, other: Any) -> P:
        return _compared(self.operand(), ">=", other)


FUNCTION = "Write d.add('name', Function(lambda u: ...))."


def is_number(value: Any) -> bool:
    """Is it a number, an array or list of numbers, or one of parameters of a diagram?"""
    if isinstance(value, (list, tuple, np.ndarray)):
        return all(is_number(v) for v in np.asarray(value, dtype=object).flat)
    known = (int, float, np.integer, np.floating, Expression)
    return isinstance(value, known) and not isinstance(value, bool)


def _numbers(value: Any) -> Any:
    """Numbers one can compute with: expressions as they are, others as an array of floats."""
    if isinstance(value, Expression):
        return value
    made = np.asarray(value, dtype=object)
    return made if any(isinstance(v, Expression) for v in made.flat) else real_numbers(value)


def _combined(port: P, kind: str, signs: str, other: Any, word: str) -> P:
    if not isinstance(other, PortArithmetic):
        raise WiringError([f"{port} cannot be combined with {shown(other)}; give a number or a port."])
    from blocks.library.math import Product, Sum

    second, block = other.operand(), {"Sum": Sum, "Product": Product}[kind](signs)
    return made(f"{port.slug()}_{word}_{second.slug()}", block, {"in1": port, "in2": second})


def _scaled(port: P, factor: Any, word: str) -> P:
    if not is_number(factor):
        raise WiringError([f"{port} cannot be multiplied by {shown(factor)}; give a number or a port."])
    from blocks.library.math import Gain

    return _through(port, f"{word}_{port.slug()}", Gain(factor))


def _shifted(port: P, by: Any) -> P:
    from blocks.library.elementary import Bias

    return _through(port, f"shifted_{port.slug()}", Bias(by))


def _compared(port: P, operator: str, other: Any) -> P:
    from blocks.library.logic import CompareToConstant, RelationalOperator

    if isinstance(other, PortArithmetic):
        second, word = other.operand(), WORDS[operator]
        wires = {"in1": port, "in2": second}
        return _condition(made(f"{port.slug()}_{word}_{second.slug()}", RelationalOperator(operator), wires))
    if not is_number(other):
        raise WiringError([f"{port} cannot be compared with {shown(other)}; give a number or a port."])
    return _condition(_through(port, f"{port.slug()}_{WORDS[operator]}", CompareToConstant(operator, other)))


def _condition(port: Any) -> Any:
    return dataclasses.replace(port, is_condition=True)


def _through(port: P, name: str, block: Block) -> P:
    return made(name, block, {"u": port})


def made(name: str, block: Block, inputs: Mapping[str, P]) -> P:
    """The output of such a block; the one that is there already where the same is written again."""
    ports = list(inputs.values())
    d, wires = ports[0].diagram, {port: (ref.node, ref.port) for port, ref in inputs.items()}
    own, k = name, 1
    while own in d:
        if made_alike(d.content(own), block) and d.drivers(own) == wires:
            return _output(d[own])
        own, k = f"{name}_{k + 1}", k + 1
    node = d.add(own, block)
    for port, ref in inputs.items():
        d.connect(ref, node[port])
    return _output(node)


def _output(node: Any) -> Any:
    return node.the("output")


def components(port: P, index: Any) -> P:
    """Some components of a port, by a Selector: see `components_meant`."""
    from blocks.library.routing import Selector

    chosen = components_meant(port, index)
    return made("_".join((port.slug(), *map(str, chosen))), Selector(chosen), {"in": port})


def components_meant(port: Any, index: int | slice | Sequence[int]) -> tuple[int, ...]:
    """The components that are meant by an index, a slice with both ends, or a list of indices."""
    given: Any = np.ravel(index) if isinstance(index, np.ndarray) else index
    if not isinstance(given, (list, tuple, np.ndarray)):
        given = (index,)
    if isinstance(index, slice) and index.stop is not None:
        given = range(index.start or 0, index.stop, index.step or 1)
    chosen = tuple(int(k) for k in given if is_whole(k) and k >= 0)
    if not chosen or len(chosen) < len(given):
        cure = "Count from 0 as in [0], [1:3] or [[2, 0]]; how many there are is found later."
        raise WiringError(
            [f"{shown(index)} names no components of {port}. {cure}"], path=str(port), value=index
        )
    return chosen
