"""Groups of copies in one loop: what one part of a block makes and the next one reads stays in registers.

States, modes and parameters that several parts of a block read are fetched once.

Two groups are fused where their copies belong to each other, one to one and all alike, and nothing has to be
computed in between. The operations and what each computes stay the same.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import count, pairwise
from typing import Any

from cosim.engines.codegen.copies import CONSTANT, NUMBER, OWN, RUN, Copy, Group, Key, Part
from cosim.engines.codegen.copies_c import SHORT
from cosim.engines.codegen.plan import OUT

UNEVEN = 1 / 16  # share of a column's places that may not go up by the step before
TURNS = 6  # kinds of copies that stand in turn, at most


def fused(
    parts: Sequence[Part], outputs: Collection[int], place: Callable[[int], tuple[str, int] | None]
) -> list[Part]:
    """The parts of a function with groups fused where that can be, each after what it needs.

    Parameters
    ----------
    outputs : values the function puts out
    place : of a value that is read from t, x, h or w this array and its place there, of others nothing
    """
    parts = _Runs(place).of(parts)
    work = _Work(parts, outputs, place)
    groups = [k for k, part in enumerate(parts) if isinstance(part, Group)]
    for k in (*groups, *groups):  # once more: what has become longer may belong to others
        work.fuse(k)
    return work.ordered()


class _Work:
    """Parts by number; one that was fused with an earlier one has none any more."""

    def __init__(
        self, parts: Sequence[Part], outputs: Collection[int], place: Callable[[int], tuple[str, int] | None]
    ) -> None:
        self._parts = dict(enumerate(parts))
        maker = {v: k for k, part in self._parts.items() for v in _made(part)}
        self._runs = _Runs(place)
        for k, part in self._parts.items():
            self._runs.add(k, part)
        self._reads = {k: set(_read(part)) for k, part in self._parts.items()}
        self._needs = {k: {maker[v] for v in read if v in maker} - {k} for k, read in self._reads.items()}
        self._readers = Counter(v for read in self._reads.values() for v in read)
        self._needed_by: dict[int, set[int]] = {k: set() for k in self._parts}
        for k, needs in self._needs.items():
            for n in needs:
                self._needed_by[n].add(k)
        self._owners: dict[int, dict[int, int]] = {}
        self._owned_in: dict[int, set[int]] = {}  # by value the groups of which one copy owns it
        for k, part in self._parts.items():
            if isinstance(part, Group):
                self._own(k, part)

    def fuse(self, k: int) -> None:
        """Fuse a group with others as long as there is one whose copies its own belong to."""
        found = k if k in self._parts else None
        while found is not None:
            found = self._fused_with_one(found)

    def _fused_with_one(self, k: int) -> int | None:
        """Fuse a group with the first one it belongs to; returns where it then is, nothing where it stays."""
        group = self._parts[k]
        assert isinstance(group, Group)
        if not self._runs.even(group):
            return None
        behind: set[int] | None = None
        for j in self._candidates(k, group):
            earlier = self._parts[j]
            if not isinstance(earlier, Group) or len(earlier.copies) != len(group.copies):
                continue
            if len(earlier.key) + len(group.key) - 2 > SHORT:
                continue
            order = _order(self._owners[j], group)
            if order is None:
                continue
            if behind is None:
                behind, before = _reached({k}, self._needed_by), _reached(self._needs[k], self._needs)
            if j in behind or j in before:  # it needs group k, or that needs another one that needs it
                continue
            both = self._joined(earlier, Group(group.key, [group.copies[i] for i in order]))
            if both is None or not self._runs.even(both):
                continue
            self._replace(j, k, both)
            return j
        return None

    def _own(self, k: int, group: Group) -> None:
        """Note which copy of a group owns which values."""
        self._owners[k] = _owners(group)
        for v, copy in self._owners[k].items():
            if copy >= 0:
                self._owned_in.setdefault(v, set()).add(k)

    def _disown(self, k: int) -> None:
        for v, copy in self._owners.pop(k).items():
            if copy >= 0:
                self._owned_in[v].discard(k)

    def _candidates(self, k: int, group: Group) -> list[int]:
        """Groups that own something the first copy of group k reads: to no others can its copies belong."""
        found = set().union(*(self._owned_in.get(v, ()) for v in group.copies[0].reads))
        return sorted(found - {k})

    def ordered(self) -> list[Part]:
        """The parts, each after what it needs, those that stood first as early as that allows."""
        waiting = {k: len(n) for k, n in self._needs.items()}
        ready = [k for k, n in waiting.items() if not n]
        heapq.heapify(ready)
        found: list[Part] = []
        while ready:
            k = heapq.heappop(ready)
            found.append(self._parts[k])
            for j in self._needed_by[k]:
                waiting[j] -= 1
                if not waiting[j]:
                    heapq.heappush(ready, j)
        return found

    def _joined(self, first: Group, last: Group) -> Group | None:
        """Copies of both, pair by pair; nothing where not all are alike."""
        made = list(dict.fromkeys(op for op, _ in first.key[-1]))
        columns = _columns(first, last)
        if columns is None:
            return None
        n = len(first.key) - 1
        fresh = [i for i, column in enumerate(columns) if column is None]
        behind = dict(zip(fresh, count(len(first.copies[0].reads))))
        places = [
            ("", behind[i]) if column is None else (OWN, made[column[1]]) if column[0] == OWN else column
            for i, column in enumerate(columns)
        ]

        numbers = first.number_columns

        def operand(kind: str, value: Any) -> tuple[Any, ...]:
            if kind == OWN:
                return OWN, value + n
            if kind == CONSTANT:
                return kind, value
            if kind == NUMBER:
                return kind, value + numbers
            return (kind, places[value][1]) if places[value][0] != OWN else places[value]

        def joined(a: Key, b: Key) -> Key:
            behind = [(name, *[operand(*v) for v in operands]) for name, *operands in b[:-1]]
            return (*a[:-1], *behind, tuple(kept))

        kept = [*first.key[-1], *[(op + n, array) for op, array in last.key[-1]]]
        results = [[*a.results, *b.results] for a, b in zip(first.copies, last.copies, strict=True)]
        own = list(dict.fromkeys(op for op, _ in kept))
        stays = {
            op
            for op, column in zip(own, zip(*results, strict=True), strict=True)
            if op >= n or self._read_elsewhere(column, last)
        }
        kept = [(op, array) for op, array in kept if array == OUT or op in stays]
        still = {op for op, _ in kept}
        key = joined(first.key, last.key)
        numbered = first.numbered or last.numbered
        copies = [
            Copy(
                [*a.operations, *b.operations],
                (*a.reads, *[b.reads[i] for i in fresh]),
                tuple(v for op, v in zip(own, values, strict=True) if op in still),
                joined(a.key, b.key) if numbered else key,
            )
            for a, b, values in zip(first.copies, last.copies, results, strict=True)
        ]
        return Group(key, copies)

    def _read_elsewhere(self, column: Sequence[int], last: Group) -> bool:
        """Does any part but the one that is fused read one of these values?"""
        inside = {v for c in last.copies for v in c.reads}
        return any(self._readers[v] > (v in inside) for v in column)

    def _replace(self, j: int, k: int, both: Group) -> None:
        for n in (j, k):
            self._readers.subtract(self._reads[n])
            self._disown(n)
        for needed, needed_by in ((self._needs, self._needed_by), (self._needed_by, self._needs)):
            for n in needed[k]:
                needed_by[n] -= {k}
                needed_by[n].add(j)
            needed[j] = (needed[j] | needed.pop(k)) - {j, k}
        del self._parts[k], self._reads[k]
        self._parts[j] = both
        self._reads[j] = set(_read(both))
        self._readers.update(self._reads[j])
        self._own(j, both)
        self._runs.add(j, both)


class _Runs:
    """Whether what the copies of a group read lies in even steps."""

    def __init__(self, place: Callable[[int], tuple[str, int] | None]) -> None:
        self._place = place
        self._made: dict[int, tuple[object, int]] = {}  # of which part and result a value is; of which copy

    def add(self, number: object, part: Part) -> None:
        """Note the values a part makes."""
        if isinstance(part, Group):
            for i, c in enumerate(part.copies):
                self._made.update((v, ((number, k), i)) for k, v in enumerate(c.results))

    def of(self, parts: Sequence[Part]) -> list[Part]:
        """The parts, with groups divided whose copies are of several kinds that stand in turn."""
        found: list[Part] = []
        for part in parts:
            for own in self._kinds(part) if isinstance(part, Group) else [part]:
                self.add(len(found), own)
                found.append(own)
        return found

    def even(self, group: Group, uneven: float = UNEVEN) -> bool:
        """Do the places of nearly all copies go up by the same steps? Only a share may be `uneven`."""
        for reads in zip(*(c.reads for c in group.copies), strict=True):
            column = [self._where(v) for v in reads]
            known = [where for where in column if where is not None]
            if not known:
                continue
            if len(known) < len(column) or len({source for source, _ in known}) > 1:
                return False
            steps = [b - a for (_, a), (_, b) in pairwise(known)]
            if sum(a != b for a, b in pairwise(steps)) > uneven * len(steps):
                return False
        return True

    def _where(self, v: int) -> tuple[object, int] | None:
        return self._made.get(v) or self._place(v)

    def _kinds(self, group: Group) -> list[Group]:
        if self.even(group, 0.0):
            return [group]
        size = len(group.copies)
        for n in range(2, min(TURNS, size // RUN) + 1):
            if size % n:
                continue
            in_turn = [group.copies[k::n] for k in range(n)]
            in_a_row = [group.copies[k : k + size // n] for k in range(0, size, size // n)]
            for found in (in_turn, in_a_row):
                kinds = [Group(group.key, own) for own in found]
                if all(self.even(kind, 0.0) for kind in kinds):
                    return kinds
        return [group]


def _made(part: Part) -> list[int]:
    """Values that others can see."""
    if isinstance(part, Group):
        return [v for c in part.copies for v in c.results]
    return [v for o in part for v in o.results]


def _read(part: Part) -> list[int]:
    if isinstance(part, Group):
        return [v for c in part.copies for v in c.reads]
    return [v for o in part for v in o.operands]


def _owners(group: Group) -> dict[int, int]:
    """The only copy that makes or reads a value, by the value; of those of several copies -1."""
    found: dict[int, int] = {}
    for i, c in enumerate(group.copies):
        for v in (*c.reads, *c.results):
            found[v] = i if found.get(v, i) == i else -1
    return found


def _reached(begin: Collection[int], following: dict[int, set[int]]) -> set[int]:
    """All that one comes to from some parts, by one step at least."""
    found: set[int] = set()
    todo = [*begin]
    while todo:
        new = following[todo.pop()] - found
        found |= new
        todo.extend(new)
    return found


def _order(owners: dict[int, int], group: Group) -> list[int] | None:
    """For every copy of the group that owns values, the copy of this one that belongs to it."""
    found: dict[int, int] = {}
    for k, c in enumerate(group.copies):
        belongs = {owners[v] for v in c.reads if owners.get(v, -1) >= 0}
        if len(belongs) != 1 or found.setdefault(belongs.pop(), k) != k:
            return None
    return [found[i] for i in range(len(group.copies))] if len(found) == len(group.copies) else None


def _columns(first: Group, last: Group) -> list[tuple[str, int] | None] | None:
    """What the columns of the second are in the first: (OWN, result), ("", column) or a new one.

    Nothing where a column is a result for some copies only.
    """
    pairs = [*zip(first.copies, last.copies, strict=True)]
    found: list[tuple[str, int] | None] = []
    one = first.copies[0]
    for column, v in enumerate(last.copies[0].reads):
        kind: tuple[str, int] | None = None
        if v in one.results:
            kind = OWN, one.results.index(v)
            if any(a.results[kind[1]] != b.reads[column] for a, b in pairs):
                return None
        elif v in one.reads:
            place = one.reads.index(v)
            kind = ("", place) if all(a.reads[place] == b.reads[column] for a, b in pairs) else None
        if kind is None and any(b.reads[column] in a.results for a, b in pairs):
            return None
        found.append(kind)
    return found
