"""Numbers of tables apart from the code that looks them up, which is that of every table of the same size.

What a system calls and has vectors of numbers in it (look-up tables, splines, their derivatives) is printed
with these as further arguments, handed over by number. Operations and their order stay, and so do the bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import casadi as ca
import numpy as np

from cosim.engines.codegen.host_functions import called, calls_python

LEAST = 2  # numbers; single ones are code


class NumberTables:
    """The tables in what some functions call, numbered in the order of the calls.

    numbers : list of (n,) arrays      of each table, column by column
    """

    def __init__(self, functions: Iterable[ca.Function]) -> None:
        self.numbers: list[np.ndarray] = []
        self._vectors: list[ca.MX] = []
        self._number_of: dict[int, int] = {}  # by node of the vector
        self._own: dict[int, tuple[int, ...]] = {}  # by function
        self._callees: list[ca.Function] = []
        for function in functions:
            if any(f.is_a("MXFunction") for f in function.find_functions()):
                for callee in called(function):
                    if callee.__hash__() not in self._own:
                        self._add(callee)

    def _add(self, callee: ca.Function) -> None:
        self._callees.append(callee)
        own = []
        for vector in _constants(callee):
            node = vector.__hash__()
            if node not in self._number_of:
                numbers = vector.to_DM().full().ravel("F")
                if numbers.min() == numbers.max():  # CasADi keeps those as one number
                    continue
                self._number_of[node] = len(self.numbers)
                self.numbers.append(numbers)
                self._vectors.append(vector)
            own.append(self._number_of[node])
        self._own[callee.__hash__()] = tuple(own)

    def of(self, callee: ca.Function) -> tuple[int, ...]:
        """Numbers of the tables a function takes besides its arguments."""
        return self._own.get(callee.__hash__(), ())

    def without(self, callee: ca.Function) -> ca.Function:
        """The function with its tables as further arguments; itself if it has none."""
        own = [self._vectors[k] for k in self.of(callee)]
        if not own:
            return callee
        given = callee.mx_in()
        tables = [ca.MX.sym("table", v.sparsity()) for v in own]
        found = ca.graph_substitute(callee.call(given, True, False), own, tables)
        return ca.Function("looked_up", [*given, *tables], found)

    def identity(self, function: ca.Function) -> Iterator[bytes]:
        """Text that decides what the code of a function is: all of it but the numbers of tables.

        A table's numbers are left out once. Where functions that are printed with their numbers use the same,
        these functions are added as they are.
        """
        text = self._without_numbers(function.serialize())
        for callee in self._callees:
            if self.of(callee):
                text = text.replace(_packed(callee.name().encode()), "")  # a name made of the numbers
        yield text.encode()
        sizes = [[(k, self.numbers[k].size) for k in self.of(callee)] for callee in self._callees]
        yield repr(sizes).encode()
        for callee in self._callees:
            if self.numbers and callee.find_functions() and not calls_python(callee):
                yield callee.serialize().encode()

    def _without_numbers(self, text: str) -> str:
        kept, end = [], 0
        for start, stop in self._places(text):
            if start >= end:
                kept.append(text[end:start])
                end = stop
        return " ".join([*kept, text[end:]])

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where the numbers of tables stand in a text, from and to: mostly in the order of the tables."""
        found: dict[int, int] = {}
        end = 0
        for numbers in self.numbers:
            table = _packed(np.int64(numbers.size).tobytes() + numbers.tobytes())
            start = text.find(table, end)
            if start < 0 or start in found:  # it stands before, or equals another
                start = text.find(table)
                while start in found:
                    start = text.find(table, start + 1)
            if start >= 0:
                found[start] = end = start + len(table)
        return sorted(found.items())


def _constants(callee: ca.Function) -> list[ca.MX]:
    """Vectors of numbers a function works with; none if it calls others, which may work with the same."""
    if not callee.is_a("MXFunction") or callee.find_functions():
        return []
    places = [k for k in range(callee.n_instructions()) if callee.instruction_id(k) == ca.OP_CONST]
    found = [callee.instruction_MX(k) for k in places]
    return [v for v in found if v.is_dense() and v.numel() >= LEAST]


def _packed(content: bytes) -> str:
    """Bytes as CasADi's text has them: two letters each, the lower half first."""
    halves = np.frombuffer(content, dtype=np.uint8)
    letters = np.empty((halves.size, 2), dtype=np.uint8)
    letters[:, 0], letters[:, 1] = 97 + (halves & 15), 97 + (halves >> 4)
    return letters.tobytes().decode("ascii")
