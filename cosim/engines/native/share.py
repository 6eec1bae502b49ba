"""One C function for all copies of a computation: a diagram of equal blocks compiles as fast as one of them.

The operations of a function fall into *cones*: a value that somebody else reads, with all that serves nothing
but this value; every output of a block ends one. Cones that are equal but for where they read and write are
copies of one *shape*, which becomes a C function with a table of places: a loop over the copies. Cones that
have few copies may differ in the numbers written into them as well, which go to a table of their own. What
has few copies even so stays as it is. The order of the operations changes, what each computes does not.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from cosim.engines.native.graph import Operation

COPIES = 6  # of a shape, to make a function of it
MANY = 50  # of a shape that always reads from the same arrays, to make a function of that
FEW = 64  # operations of a function that is left as it is
LONGEST = 400  # operations of a shape
WORTH = 0.5  # share of the operations that must be copies

Key = tuple[tuple[str, ...], ...]
"""Operations of a shape with their operands, last the arrays the result goes to.

An operand is "a3", the result of operation 3; "x0", what column 0 of the table points to in x; "m0", the same
where the table says in which array; "=1.0", a constant; or "n0", column 0 of the table of numbers.
"""
ANY = "m"
NUMBER = "n"
ARRAYS = "xhwpcv"  # what a column of any array may point to; its number stands above the place
SHIFT = 27  # bits of a place


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a shape: the values it reads, in the order of the table's columns, and the one it gives."""

    operations: list[Operation]
    reads: tuple[int, ...]
    result: int
    key: Key

    @property
    def numbers(self) -> list[str]:
        """The constants of the operations, in the order of the columns of their table."""
        return [v[1:] for _, *operands in self.key[:-1] for v in operands if v[0] == "="]


@dataclass(frozen=True)
class Group:
    """Copies of one shape that do not need each other."""

    key: Key
    copies: list[Copy]

    @property
    def anywhere(self) -> bool:
        """Does its table of places say in which array?"""
        return self._reads_from(ANY)

    @property
    def numbered(self) -> bool:
        """Are its constants in a table?"""
        return self._reads_from(NUMBER)

    def _reads_from(self, array: str) -> bool:
        return any(v[0] == array for _, *operands in self.key[:-1] for v in operands)


Part = list[Operation] | Group


@dataclass(frozen=True)
class Body:
    """A function: its operations, what it puts out, and values that end a cone besides.

    source : callable      of a value no operation of a cone makes: "=1.0" for a constant, else its array
    """

    operations: list[Operation]
    outputs: Collection[int]
    seams: Collection[int]
    source: Callable[[int], str]


class Shapes:
    """The shapes that are worth a function in some bodies."""

    def __init__(self, bodies: Iterable[Body]) -> None:
        self._copies = {id(body): _copies(body) for body in bodies}
        exact = Counter(c.key for copies in self._copies.values() for c in copies)
        self._shape = {key: key for key, count in exact.items() if count >= MANY}
        for widen in (_anywhere, _any_number, lambda key: _any_number(_anywhere(key))):
            rare = {key: widen(key) for key in exact if key not in self._shape}
            general: Counter[Key] = Counter()
            for key, wider in rare.items():
                general[wider] += exact[key]
            self._shape |= {key: wider for key, wider in rare.items() if general[wider] >= COPIES}

    def parts(self, body: Body) -> list[Part]:
        """A body as stretches of plain code and groups of copies, each after what it needs."""
        shared = {c.result: c for c in self._copies.get(id(body), ()) if c.key in self._shape}
        saved = sum(len(c.operations) for c in shared.values())
        if len(body.operations) <= FEW or saved < WORTH * len(body.operations):
            return [body.operations] if body.operations else []
        return _ordered(body.operations, shared, self._shape)


def _cones(body: Body) -> dict[int, list[Operation]]:
    """The operations of every cone in order, by the value it gives."""
    root: dict[int, int] = {}
    reader: dict[int, int | None] = {}  # value -> the cone that reads it, None for several
    for o in reversed(body.operations):
        value = o.results[0]
        own = None if o.callee or value in body.outputs or value in body.seams else reader.get(value)
        own = value if own is None else own
        root[value] = own
        for v in o.operands:
            if o.callee or reader.setdefault(v, own) != own:
                reader[v] = None
    cones: dict[int, list[Operation]] = defaultdict(list)
    for o in body.operations:
        if not o.callee:
            cones[root[o.results[0]]].append(o)
    return cones


def _copies(body: Body) -> list[Copy]:
    """All cones of a body that are not too long."""
    read = {v for o in body.operations for v in o.operands}
    found = []
    for value, cone in _cones(body).items():
        if len(cone) <= LONGEST:
            to = ("out" if value in body.outputs else "", "v" if value in read else "")
            key, reads = _canonical(value, cone, body.source)
            found.append(Copy(cone, reads, value, (*key, to)))
    return found


def _anywhere(key: Key) -> Key:
    """The shape of a key with numbers read from any array."""
    *operations, to = key
    wide = [(p, *[ANY + v[1:] if v[0] in ARRAYS else v for v in operands]) for p, *operands in operations]
    return (*wide, to)


def _any_number(key: Key) -> Key:
    """The shape of a key with constants that a table gives."""
    columns = itertools.count()
    *operations, to = key
    wide = [(p, *[f"{NUMBER}{next(columns)}" if v[0] == "=" else v for v in o]) for p, *o in operations]
    return (*wide, to)


def _canonical(
    value: int, cone: list[Operation], source: Callable[[int], str]
) -> tuple[Key, tuple[int, ...]]:
    """The operations of a cone as a walk from its result meets them, and the values it reads."""
    members = {o.results[0]: o for o in cone}
    names: dict[int, str] = {}
    reads: dict[int, int] = {}
    key: list[tuple[str, ...]] = []
    walk = [value]
    while walk:
        v = walk[-1]
        before = [u for u in members[v].operands if u in members and u not in names]
        if before and v not in names:
            walk.extend(reversed(before))
            continue
        walk.pop()
        if v in names:
            continue
        for u in members[v].operands:
            if u not in names:
                array = source(u)
                if not array.startswith("="):
                    array += str(reads.setdefault(u, len(reads)))
                names[u] = array
        key.append((members[v].pattern, *[names[u] for u in members[v].operands]))
        names[v] = f"a{len(key) - 1}"
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


def place(array: str, index: int) -> int:
    """What a table holds for a place in any array."""
    return index if array == "t" else ARRAYS.index(array) << SHIFT | index


def shape(name: str, key: Key) -> str:
    """C of a shared function: for each row of a table, the operations with what the row points to.

    Its arguments: a, out, the table of places, that of numbers (none: 0), how many rows.
    """
    *operations, to = key
    arrays: set[str] = set()
    width = depth = 0

    def read(operand: str) -> str:
        nonlocal width, depth
        array, rest = operand[0], operand[1:]
        if array in "a=":
            return rest if array == "=" else operand
        if array == NUMBER:
            depth += 1
            return f"d[{rest}]"
        arrays.update(ARRAYS if array == ANY else array)
        width = max(width, int(rest) + 1)
        if array == ANY:
            return f"{ANY}[q[{rest}] >> {SHIFT}][q[{rest}] & {2**SHIFT - 1}]"
        return array if array == "t" else f"{array}[q[{rest}]]"

    lines = [
        f"        const double a{k} = {pattern.format(*map(read, operands))};"
        for k, (pattern, *operands) in enumerate(operations)
    ]
    for array in to:
        if array:
            arrays.add(array)
            lines.append(f"        {array}[q[{width}]] = a{len(operations) - 1};")
            width += 1
    body = "\n".join(lines)
    wide = any(v[0] == ANY for _, *operands in operations for v in operands)
    several = f"    const double *const {ANY}[] = {{{', '.join(ARRAYS)}}};\n" if wide else ""
    ahead = f"i++, q += {width}" + (f", d += {depth}" if depth else "")
    return (
        f"void {name}(const pl_args *a, double *restrict out, const int32_t *restrict q,"
        f" const double *restrict d, int n)\n{{\n{locals_of(arrays)}{several}"
        f"    for (int i = 0; i < n; {ahead}) {{\n{body}\n    }}\n}}\n"
    )


def locals_of(arrays: Collection[str]) -> str:
    """Declarations of the arrays a piece of code uses, but for `out`."""
    found = ""
    for array in sorted(set(arrays) - {"out"}):
        kind = "double" if array == "t" else "double *restrict" if array == "v" else "const double *restrict"
        found += f"    {'const ' if array == 't' else ''}{kind} {array} = a->{array};\n"
    return found
