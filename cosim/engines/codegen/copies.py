"""Copies of one computation, found: a diagram of equal blocks compiles as fast as one of them.

The operations of a function fall into *cones*: a value that somebody else reads, with all that serves nothing
but this value; every output of a block ends one. Cones that are equal but for where they read and write are
copies of one *shape*, which becomes a function with a table of places: a loop over the copies. Cones that
have few copies may differ in the numbers written into them as well, which go to a table of their own. What
has few copies even so stays as it is. The order of the operations changes, what each computes does not.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cosim.engines.codegen.graph import Operation
from cosim.engines.codegen.plan import OUT, SCRATCH

COPIES = 6  # of a shape, to make a function of it
MANY = 50  # of a shape with its numbers, to make a function of that
FEW = 64  # operations of a function that is left as it is
LONGEST = 400  # operations of a shape
WORTH = 0.5  # share of the operations that must be copies
RUN = 16  # copies whose places go up by the same steps, to make a loop of their own

KeyOperand = tuple[str, int | str]
Key = tuple[tuple[Any, ...], ...]
"""Operations of a shape, each its name and its operands, last the results that are kept, each the number of
its operation and an array it goes to.

An operand is a pair: (OWN, 3), the result of operation 3; ("x", 0), what column 0 of the table points to in
x; (CONSTANT, "0x1.0p+0"), a number, exactly; or (NUMBER, 0), column 0 of the table of numbers.
"""
OWN, CONSTANT, NUMBER = "own", "constant", "number"


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a shape: the values it reads, in the order of the table's columns, and those it gives."""

    operations: list[Operation]
    reads: tuple[int, ...]
    results: tuple[int, ...]
    key: Key

    def kept(self) -> list[tuple[int, str]]:
        """Every result with an array it goes to."""
        by_operation = dict(zip(dict.fromkeys(k for k, _ in self.key[-1]), self.results, strict=True))
        return [(by_operation[k], array) for k, array in self.key[-1]]


@dataclass(frozen=True)
class Group:
    """Copies of one shape that do not need each other."""

    key: Key
    copies: list[Copy]

    def kept_in(self, array: str) -> Iterator[int]:
        """Results that go to an array: the first one of all copies, the second one..."""
        kept = [(v for v, to in c.kept() if to == array) for c in self.copies]
        return (v for column in zip(*kept, strict=True) for v in column)

    @property
    def numbered(self) -> bool:
        """Are its constants in a table?"""
        return self.number_columns > 0

    @property
    def number_columns(self) -> int:
        """Columns of the table of its constants."""
        return sum(kind == NUMBER for _, *operands in self.key[:-1] for kind, _ in operands)

    def numbers(self, c: Copy) -> list[float]:
        """The constants of a copy that are in the table, in the order of its columns."""
        return [
            float.fromhex(number)
            for (_, *own), (_, *general) in zip(c.key[:-1], self.key[:-1], strict=True)
            for (_, number), (kind, _) in zip(own, general, strict=True)
            if kind == NUMBER
        ]


Part = list[Operation] | Group


@dataclass(frozen=True)
class FunctionBody:
    """A function: its operations, what it puts out, and values that end a cone besides.

    source : callable      of a value no operation of a cone makes: the number of a constant, else its array
    """

    operations: list[Operation]
    outputs: Collection[int]
    seams: Collection[int]
    source: Callable[[int], str | float]


class SharedShapes:
    """The shapes that are worth a function in some bodies."""

    def __init__(self, bodies: Iterable[FunctionBody]) -> None:
        self._copies = {id(body): _copies(body) for body in bodies}
        exact = Counter(c.key for copies in self._copies.values() for c in copies)
        self._shape = {key: key for key, count in exact.items() if count >= MANY}
        rare = {key: _any_number(key) for key in exact if key not in self._shape}
        general: Counter[Key] = Counter()
        for key, wider in rare.items():
            general[wider] += exact[key]
        self._shape |= {key: wider for key, wider in rare.items() if general[wider] >= COPIES}

    def parts(self, body: FunctionBody) -> list[Part]:
        """A body as stretches of plain code and groups of copies, each after what it needs."""
        shared = {c.results[0]: c for c in self._copies.get(id(body), ()) if c.key in self._shape}
        saved = sum(len(c.operations) for c in shared.values())
        if len(body.operations) <= FEW or saved < WORTH * len(body.operations):
            return [body.operations] if body.operations else []
        return _ordered(body.operations, shared, self._shape)


Row = tuple[list[int], Copy]


def even_runs(rows: list[Row]) -> list[list[Row]]:
    """Copies of a group, each with its places, as long runs with equal steps between places, and the rest.

    A group's copies may be done in any order. Two kinds of blocks may stand in turn: (0, 5), (40, 7), (1, 11)
    and (41, 13) are of two runs.
    """
    by_first = _runs(sorted(rows, key=lambda row: row[0]))
    by_last = _runs(sorted(rows, key=lambda row: row[0][::-1]))
    long = max(by_first, by_last, key=lambda runs: sum(map(len, runs)))
    taken = {c.results for run in long for _, c in run}
    rest = [row for row in rows if row[1].results not in taken]
    return [*long, rest] if rest else long


def _runs(rows: list[Row]) -> list[list[Row]]:
    """The long runs of rows, in this order."""
    runs = [rows[:1]]
    before: list[int] = []
    for last, row in itertools.pairwise(rows):
        steps = [b - a for a, b in zip(last[0], row[0], strict=True)]
        if steps == before or len(runs[-1]) == 1:
            runs[-1].append(row)
        else:
            runs.append([row])
        before = steps
    return [run for run in runs if len(run) >= RUN]


def _cones(body: FunctionBody) -> dict[int, list[Operation]]:
    """The operations of every cone in order, by the value it gives."""
    root: dict[int, int] = {}
    reader: dict[int, int | None] = {}  # value -> the cone that reads it, None for several
    for o in reversed(body.operations):
        value = o.results[0]
        own = None if o.callee >= 0 or value in body.outputs or value in body.seams else reader.get(value)
        own = value if own is None else own
        root[value] = own
        for v in o.operands:
            if o.callee >= 0 or reader.setdefault(v, own) != own:
                reader[v] = None
    cones: dict[int, list[Operation]] = defaultdict(list)
    for o in body.operations:
        if o.callee < 0:
            cones[root[o.results[0]]].append(o)
    return cones


def _copies(body: FunctionBody) -> list[Copy]:
    """All cones of a body that are not too long."""
    read = {v for o in body.operations for v in o.operands}
    found = []
    for value, cone in _cones(body).items():
        if len(cone) <= LONGEST:
            to = ((OUT, value in body.outputs), (SCRATCH, value in read))
            key, reads = _canonical(value, cone, body.source)
            kept = tuple((len(key) - 1, array) for array, used in to if used)
            found.append(Copy(cone, reads, (value,), (*key, kept)))
    return found


def _any_number(key: Key) -> Key:
    """The shape of a key with constants that a table gives."""
    columns = itertools.count()
    *operations, kept = key
    wide = [
        (name, *[(NUMBER, next(columns)) if v[0] == CONSTANT else v for v in operands])
        for name, *operands in operations
    ]
    return (*wide, kept)


def _canonical(
    value: int, cone: list[Operation], source: Callable[[int], str | float]
) -> tuple[Key, tuple[int, ...]]:
    """The operations of a cone as they are found from its result, and the values it reads."""
    members = {o.results[0]: o for o in cone}
    names: dict[int, KeyOperand] = {}
    reads: dict[int, int] = {}
    key: list[tuple[Any, ...]] = []
    todo = [value]
    while todo:
        v = todo[-1]
        before = [u for u in members[v].operands if u in members and u not in names]
        if before and v not in names:
            todo.extend(reversed(before))
            continue
        todo.pop()
        if v in names:
            continue
        for u in members[v].operands:
            if u not in names:
                found = source(u)
                if isinstance(found, float):
                    names[u] = (CONSTANT, found.hex())
                else:
                    names[u] = (found, reads.setdefault(u, len(reads)))
        key.append((members[v].name, *[names[u] for u in members[v].operands]))
        names[v] = (OWN, len(key) - 1)
    return tuple(key), tuple(reads)


def _ordered(operations: list[Operation], shared: dict[int, Copy], shape: dict[Key, Key]) -> list[Part]:
    """Plain code and groups in turn, everything as early as what it needs allows."""
    inside = {o.results[0] for c in shared.values() for o in c.operations} - set(shared)
    when: dict[int, int] = {}  # turns of values: groups come in even ones, plain code in odd ones
    plain: dict[int, list[Operation]] = defaultdict(list)
    groups: dict[tuple[int, Key], list[Copy]] = defaultdict(list)
    for o in operations:
        value = o.results[0]
        if value in inside:
            continue
        c = shared.get(value)
        if c is not None:
            last = max([when.get(v, -2) for v in c.reads], default=-2)
            when[value] = turn = last + 2 - last % 2
            groups[turn, shape[c.key]].append(c)
        else:
            last = max([when.get(v, 0) for v in o.operands], default=0)
            turn = last + 1 - last % 2
            plain[turn].append(o)
            when.update(dict.fromkeys(o.results, turn))
    found: list[tuple[int, Part]] = [*plain.items()]
    found += [(turn, Group(key, copies)) for (turn, key), copies in groups.items()]
    return [part for _, part in sorted(found, key=lambda item: item[0])]
