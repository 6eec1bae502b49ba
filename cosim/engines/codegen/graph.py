"""The instruction list of a flat function: every value numbered, every operation done once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import casadi as ca

ARGUMENTS = "txhwp"  # of every function of a system, see cosim.system
PARAMETERS = 4  # place of p among them

NAMES = {
    ca.OP_ASSIGN: "same", ca.OP_LIFT: "same", ca.OP_PRINTME: "same",
    ca.OP_NEG: "neg", ca.OP_SQ: "square", ca.OP_TWICE: "twice", ca.OP_INV: "inverse", ca.OP_NOT: "not",
    ca.OP_SIGN: "sign", ca.OP_ERFINV: "erfinv", ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_SQRT: "sqrt",
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FABS: "fabs", ca.OP_ERF: "erf",
    ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh", ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh", ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1",
    ca.OP_ADD: "add", ca.OP_SUB: "sub", ca.OP_MUL: "mul", ca.OP_DIV: "div", ca.OP_LT: "lt", ca.OP_LE: "le",
    ca.OP_EQ: "eq", ca.OP_NE: "ne", ca.OP_AND: "and", ca.OP_OR: "or", ca.OP_IF_ELSE_ZERO: "if_else_zero",
    ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow", ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax", ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder", ca.OP_COPYSIGN: "copysign", ca.OP_ATAN2: "atan2", ca.OP_HYPOT: "hypot",
}  # fmt: skip
"""CasADi's operations by name; a printer has to know each of them."""
SAME = "same"  # the operation that does nothing

Output = tuple[int, int]  # (place in the array a function writes, value)


@dataclass(frozen=True)
class GraphInput:
    """A number read from an argument of the function."""

    argument: int
    index: int


@dataclass(frozen=True)
class GraphConstant:
    """A number written into the code."""

    value: float


class Operation(NamedTuple):
    """One operation, or one call with all its results, in terms of numbered values."""

    name: str  # as in NAMES; of a call nothing
    operands: tuple[int, ...]
    results: tuple[int, ...]
    callee: int = -1  # number of the function that is called

    @property
    def cost(self) -> int:
        """The amount of code: 1, or for a call the numbers of its arguments and results."""
        return 1 + len(self.operands) + len(self.results) if self.callee >= 0 else 1


class Graph:
    """The operations of a function in order, and what its outputs are.

    leaves : values that are read or written down; outputs : for each output of the function, where each
    value goes
    """

    def __init__(self, function: ca.Function, number_of: Callable[[ca.Function], int]) -> None:
        self.leaves: dict[int, GraphInput | GraphConstant] = {}
        self.operations: list[Operation] = []
        self.outputs: list[list[Output]] = [[] for _ in range(function.n_out())]
        self._maker: dict[int, int] = {}  # value -> its operation
        self._count = 0
        self._known: dict[tuple[int, ...], int] = {}  # inputs
        # operations that are done already: name -> operands -> value
        self._same: dict[str, dict[tuple[int, ...], int]] = {name: {} for name in NAMES.values()}
        self._read(function, number_of)

    def _read(self, function: ca.Function, number_of: Callable[[ca.Function], int]) -> None:
        register: dict[int, int] = {}
        calls: ca.SX | None = None
        identity, inputs = function.instruction_id, function.instruction_input
        outputs = function.instruction_output
        operation, names = self._operation, NAMES
        for k in range(function.n_instructions()):
            op = identity(k)
            name = names.get(op)
            if name is not None:  # nearly all of them
                register[outputs(k)[0]] = operation(name, tuple([register[r] for r in inputs(k)]))
            elif op == ca.OP_OUTPUT:
                output, place = outputs(k)
                self.outputs[output].append((place, register[inputs(k)[0]]))
            elif op == ca.OP_INPUT:
                register[outputs(k)[0]] = self._input(*inputs(k))
            elif op == ca.OP_CONST:
                register[outputs(k)[0]] = self._new(GraphConstant(function.instruction_constant(k)))
            elif op == ca.OP_CALL:
                calls = function.instructions_sx() if calls is None else calls
                self._call(number_of(calls[k].which_function()), inputs(k), outputs(k), register)
            else:
                raise KeyError(op)  # an operation of CasADi that NAMES lacks

    def _input(self, *place: int) -> int:
        value = self._known.get(place)
        if value is None:
            value = self._known[place] = self._new(GraphInput(*place))
        return value

    def _new(self, leaf: GraphInput | GraphConstant) -> int:
        self.leaves[self._count] = leaf
        self._count += 1
        return self._count - 1

    def _operation(self, name: str, operands: tuple[int, ...]) -> int:
        if name == SAME:
            return operands[0]
        same = self._same[name]
        value = same.get(operands)
        if value is None:
            value = same[operands] = self._count
            self._count += 1
            self._maker[value] = len(self.operations)
            self.operations.append(Operation(name, operands, (value,)))
        return value

    def _call(self, callee: int, given: list[int], into: list[int], register: dict[int, int]) -> None:
        operands = tuple([register[r] for r in given])
        results = tuple(range(self._count, self._count + len(into)))
        self._count += len(into)
        register.update((r, v) for r, v in zip(into, results, strict=True) if r >= 0)
        self._maker.update(dict.fromkeys(results, len(self.operations)))
        self.operations.append(Operation("", operands, results, callee))

    def fixed(self) -> set[int]:
        """Values of operations that depend on parameters and constants only."""
        found: set[int] = set()
        leaves = {
            v
            for v, leaf in self.leaves.items()
            if isinstance(leaf, GraphConstant) or leaf.argument == PARAMETERS
        }
        for o in self.operations:
            if all(v in found or v in leaves for v in o.operands):
                found.update(o.results)
        return found

    def parameters(self) -> set[int]:
        """Values that are parameters."""
        return {
            v
            for v, leaf in self.leaves.items()
            if isinstance(leaf, GraphInput) and leaf.argument == PARAMETERS
        }

    def made(self, stores: list[Output], known: Collection[int]) -> list[Output]:
        """The same outputs, each made by an operation of its own; those in `known` and inputs are copied."""
        found: dict[int, int] = {}  # value -> place
        for place, value in stores:
            own = value
            if value in self.leaves or value in known or value in found:
                own = self._count
                self._count += 1
                self._maker[own] = len(self.operations)
                self.operations.append(Operation(SAME, (value,), (own,)))
            found[own] = place
        return [(place, value) for value, place in found.items()]

    def needed(self, values: Iterable[int], known: Collection[int]) -> list[Operation]:
        """The operations, in order, that compute some values; those in `known` are already computed."""
        maker, operations = self._maker, self.operations
        found = bytearray(len(operations))
        todo = list(values)
        while todo:
            value = todo.pop()
            k = maker.get(value)
            if k is not None and not found[k] and value not in known:
                found[k] = True
                todo.extend(operations[k].operands)
        return list(compress(operations, found))
