"""Parts of an algorithm as calls of small functions that equal links share.

The graph of a long mechanism then holds a few call nodes per link instead of hundreds of scalars. What is
known when the graph is built stays known: zeros, ones and equal entries of the arguments belong to the
function (a planar chain gets planar functions); every other number and symbol is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from plant.mechanics.spatial import Matrix

Part = Callable[..., Sequence[Matrix]]
Key = tuple[object, ...]  # distinguishes parts that take equal arguments; its first entry names the functions

UNITS = ca.DM([1.0, -1.0])
ONE, MINUS_ONE = -2, -1  # entries that are these numbers; others count from 0


def written_out(key: Key, part: Part, *arguments: Matrix) -> Sequence[Matrix]:
    """Evaluate a part of an algorithm in place."""
    return part(*arguments)


@dataclass(frozen=True)
class Pattern:
    """Shape of a matrix, where its nonzeros are, and which entry of a column each of them is."""

    rows: int
    columns: int
    nonzeros: tuple[int, ...]  # column-major positions
    entries: tuple[int, ...]

    def filled(self, column: ca.SX) -> ca.SX:
        """The matrix whose entries are those of `column`, which ends with 1 and -1."""
        if not self.entries:
            return ca.SX(self.rows, self.columns)
        sparsity = ca.Sparsity.nonzeros(self.rows, self.columns, list(self.nonzeros))
        return ca.SX(sparsity, column[list(self.entries)])


class DistinctEntries:
    """Distinct entries of some matrices, in order of appearance."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._kept: list[ca.SX] = []  # keeps the entries alive, so that their hashes stay unique
        self._picked: list[int] = []  # of all nonzeros so far, the new ones
        self._count = 0

    @property
    def size(self) -> int:
        """Number of distinct entries."""
        return len(self._picked)

    def pattern(self, value: Matrix) -> Pattern:
        """Pattern of a matrix whose new entries are added to the column."""
        symbolic = value if isinstance(value, ca.SX) else ca.SX(value)
        places, found = [], []
        for place, e in zip(symbolic.sparsity().find(), symbolic.nonzeros(), strict=True):
            entry = self._entry(e)
            if entry is not None:
                places.append(place)
                found.append(entry)
        if found:
            entries = symbolic.nz[:]
            self._kept.append(entries.T if entries.size2() > 1 else entries)
        else:
            self._count -= symbolic.nnz()
        return Pattern(symbolic.size1(), symbolic.size2(), tuple(places), tuple(found))

    def _entry(self, value: Any) -> int | None:
        # value is a scalar SX, typed loosely because the stubs have another name for it
        self._count += 1
        if value.is_zero():
            return None
        if value.is_one():
            return ONE
        if value.is_minus_one():
            return MINUS_ONE
        entry = self._known.setdefault(value.element_hash(), len(self._picked))
        if entry == len(self._picked):
            self._picked.append(self._count - 1)
        return entry

    def vector(self) -> ca.SX:
        """(n, 1) dense column of the entries."""
        return ca.vertcat(ca.SX(0, 1), *self._kept)[self._picked]


@dataclass(frozen=True)
class _Made:
    function: ca.Function
    given: list[Pattern]


class Calls:
    """Evaluates parts of an algorithm as calls of functions that equal links share."""

    def __init__(self) -> None:
        self._made: dict[tuple[Key, tuple[Pattern, ...]], _Made] = {}

    def __call__(self, key: Key, part: Part, *arguments: Matrix) -> Sequence[Matrix]:
        """Values of ``part(*arguments)``."""
        column = DistinctEntries()
        patterns = tuple(column.pattern(a) for a in arguments)
        full = (key, patterns)
        if full not in self._made:
            self._made[full] = self._make(f"{key[0]}{len(self._made)}", part, patterns, column.size)
        made = self._made[full]
        (values,) = made.function.call([column.vector()], False, True)
        values = ca.vertcat(values, UNITS)
        return [p.filled(values) for p in made.given]

    def _make(self, name: str, part: Part, patterns: tuple[Pattern, ...], size: int) -> _Made:
        symbols = ca.SX.sym("a", size)
        known = ca.vertcat(symbols, UNITS)
        outputs = DistinctEntries()
        given = [outputs.pattern(value) for value in part(*[p.filled(known) for p in patterns])]
        return _Made(ca.Function(name, [symbols], [outputs.vector()]), given)
