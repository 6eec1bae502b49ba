"""Stretches of code that repeat each other, found: a mechanism of equal loops compiles like a few of them.

The operations keep their order. They are cut where what stands around a place looks special, so that what is
alike is cut alike wherever it stands; stretches that mostly follow each other are one. Those that are equal
but for the numbers written into them and for where they read and write share a function with tables, as
copies (copies.py) do. They may be long and make many values, so that few go through memory, and what a
mechanism computes for hundreds of loops fits into the cache of instructions.

Source: Muthitacharoen, Chen and Mazieres, A low-bandwidth network file system, SOSP 2001, section 3.1 (cuts
that depend on what stands there); Larsson and Moffat, Off-line dictionary-based compression, 2000 (pairs).
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cosim.engines.codegen.graph import Operation
from cosim.engines.codegen.plan import (
    EarlierResult,
    NumberColumn,
    PlaceColumn,
    Shape,
    ShapeOperand,
    WrittenNumber,
)

NEAR = 24  # operations: of operands made that near, the distance is a part of how an operation looks
AROUND = 6  # operations on each side that decide about a cut
APART = 20  # operations between two cuts, about
COPIES = 6  # of a stretch, to make a function of it
SHORTEST = 4  # operations of a stretch: shorter ones are not worth a call
LONGEST = 300  # operations of a stretch
TOGETHER = 0.5  # share of two stretches that follow each other, to be one

Source = Callable[[int], str | float]
Look = tuple[Any, ...]
"""How an operation of a stretch looks: its name, its operands, and whether it is put out.

An operand is a pair: (OWN, 3), the result of operation 3; (NUMBER, 0), number 0; ("x", 0), the place in x
that column 0 of the table points to.
"""
Key = tuple[int, ...]
"""The operations of a stretch, each by the number of its look: keys are compared and counted many times."""
OWN, NUMBER = "own", "number"


class Looks:
    """How operations look, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[Look, int] = {}
        self._looks: list[Look] = []

    def number(self, look: Look) -> int:
        """The number of a look."""
        found = self._numbers.setdefault(look, len(self._looks))
        if found == len(self._looks):
            self._looks.append(look)
        return found

    def of(self, key: Key) -> list[Look]:
        """The looks of the operations of a key."""
        return [self._looks[number] for number in key]


@dataclass(frozen=True, slots=True)
class Stretch:
    """One stretch: the values it reads, in the order of columns, and the numbers written into it."""

    operations: Sequence[Operation]
    reads: tuple[int, ...]
    numbers: tuple[float, ...]
    key: Key
    looks: Looks


Part = list[Operation] | Stretch


@dataclass(frozen=True)
class Code:
    """Operations in order.

    outputs : values put out; source : of a value made elsewhere, its array, or the number itself
    """

    operations: list[Operation]
    outputs: Collection[int]
    source: Source


def repeated(codes: Sequence[Code]) -> list[list[Part]]:
    """Each code as plain operations and stretches that repeat, in order."""
    bounds, looks = [_bounds(code) for code in codes], Looks()
    single = [
        [_stretch(code, a, b, looks) for a, b in pairwise(cuts)]
        for code, cuts in zip(codes, bounds, strict=True)
    ]
    joined = [
        [
            (first, last, _joined(code, stretches[first:last], cuts[first], cuts[last], looks))
            for first, last in runs
        ]
        for code, cuts, stretches, runs in zip(codes, bounds, single, _runs(single), strict=True)
    ]
    count = Counter(s.key for found in joined for _, _, s in found if s is not None)
    alone = Counter(
        s.key
        for found, stretches in zip(joined, single, strict=True)
        for first, last, whole in found
        if whole is None or count[whole.key] < COPIES
        for s in stretches[first:last]
        if s is not None
    )
    parts: list[list[Part]] = []
    for code, cuts, stretches, found in zip(codes, bounds, single, joined, strict=True):
        here: list[Part] = []
        for first, last, whole in found:
            if whole is not None and count[whole.key] >= COPIES:
                _add(here, whole, whole.operations)
                continue
            for k in range(first, last):
                s = stretches[k]
                worth = s is not None and alone[s.key] >= COPIES
                _add(here, s if worth else None, code.operations[cuts[k] : cuts[k + 1]])
        parts.append(here)
    return parts


def _add(parts: list[Part], stretch: Stretch | None, operations: Sequence[Operation]) -> None:
    """Append a stretch, or plain operations where there is none or it is short."""
    if stretch is not None and len(operations) >= SHORTEST:
        parts.append(stretch)
    elif parts and isinstance(parts[-1], list):
        parts[-1].extend(operations)
    else:
        parts.append(list(operations))


# --- cutting --------------------------------------------------------------------------------------------
def _bounds(code: Code) -> list[int]:
    """Where stretches begin, and the end; calls stand alone."""
    operations, place = code.operations, {o.results[0]: i for i, o in enumerate(code.operations)}
    known: dict[tuple[object, ...], int] = {}

    def look(i: int, o: Operation) -> int:
        sign: list[object] = [o.name, o.callee]
        for v in o.operands:
            made = place.get(v)
            far = made is None or i - made >= NEAR
            found = code.source(v) if far else None
            sign.append(i - made if made is not None and not far else found if isinstance(found, str) else "")
        looks = tuple(sign)
        if looks not in known:
            known[looks] = zlib.crc32(repr(looks).encode())
        return known[looks]

    looks = np.array([look(i, o) for i, o in enumerate(operations)], dtype=np.uint64)
    cuts = {0, len(operations), *np.flatnonzero(_least(_around(looks))).tolist()}
    for i, o in enumerate(operations):
        if o.callee >= 0:
            cuts |= {i, i + 1}
    return sorted(cuts)


def _around(looks: np.ndarray) -> np.ndarray:
    """A hash (n,) of what stands around each place."""
    found = np.zeros_like(looks)
    for shift in range(-AROUND, AROUND):
        found = (found ^ np.roll(looks, -shift)) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def _least(values: np.ndarray) -> np.ndarray:
    """Where a value is the least of its neighbours (n,)."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    wide = np.pad(values, APART, constant_values=np.iinfo(np.uint64).max)
    least = np.lib.stride_tricks.sliding_window_view(wide, 2 * APART + 1).min(axis=1)
    return np.asarray(values == least)


def _stretch(code: Code, start: int, end: int, looks: Looks) -> Stretch | None:
    """Operations from `start` up to `end`; nothing where one is a call."""
    operations = code.operations[start:end]
    if any(o.callee >= 0 for o in operations):
        return None
    source, outputs = code.source, code.outputs
    known: dict[int, tuple[str, int]] = {}  # operands by value; a number has a place for every use
    reads: list[int] = []
    numbers: list[float] = []
    key: list[int] = []
    for i, (name, operands, results, _) in enumerate(operations):
        line: list[Any] = [name]
        for v in operands:
            operand = known.get(v)
            if operand is None:
                found = source(v)
                if isinstance(found, float):
                    operand = NUMBER, len(numbers)
                    numbers.append(found)
                else:
                    operand = known[v] = found, len(reads)
                    reads.append(v)
            line.append(operand)
        known[results[0]] = OWN, i
        line.append(results[0] in outputs)
        key.append(looks.number(tuple(line)))
    return Stretch(operations, tuple(reads), tuple(numbers), tuple(key), looks)


def _joined(
    code: Code, stretches: list[Stretch | None], start: int, end: int, looks: Looks
) -> Stretch | None:
    return stretches[0] if len(stretches) == 1 else _stretch(code, start, end, looks)


# --- joining --------------------------------------------------------------------------------------------
def _runs(single: list[list[Stretch | None]]) -> list[list[tuple[int, int]]]:
    """For each code, which stretches from one up to another are one."""
    number: dict[Key, int] = {}
    kinds: list[int] = []
    sizes: list[int] = []
    for stretches in single:
        for s in [*stretches, None]:  # an end no stretch goes across
            kinds.append(len(number) if s is None else number.setdefault(s.key, len(number)))
            if s is None:
                number[(-1, len(number))] = len(number)  # unlike any other
            sizes.append(LONGEST if s is None else len(s.operations))
    starts = _pairs_joined(np.array(kinds, dtype=np.int64), np.array(sizes, dtype=np.int64))
    found, first = [], 0
    for stretches in single:
        here = starts[(starts >= first) & (starts <= first + len(stretches))] - first
        found.append(list(pairwise(here.tolist())))
        first += len(stretches) + 1
    return found


def _pairs_joined(kinds: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Where runs of neighbours begin that mostly follow each other, joined in pairs, the frequent ones first.

    kinds, sizes : (n,)     what each is, and how long
    """
    places = np.arange(len(kinds))
    while len(kinds) > 1:
        _, kinds, count = np.unique(kinds, return_inverse=True, return_counts=True)
        _, pair, often = np.unique(
            kinds[:-1] * len(count) + kinds[1:], return_inverse=True, return_counts=True
        )
        often = often[pair]
        most = np.maximum(count[kinds[:-1]], count[kinds[1:]])
        fits = (often >= np.maximum(COPIES, TOGETHER * most)) & (sizes[:-1] + sizes[1:] <= LONGEST)
        score = np.where(fits, often * (pair.max() + 2) + pair, -1)  # none is like that of another pair
        before, behind = np.r_[-1, score[:-1]], np.r_[score[1:], -1]
        taken = np.flatnonzero(fits & (score >= before) & (score >= behind))
        if not len(taken):
            break
        # of equal pairs in a row every second one
        begins = np.r_[True, np.diff(taken) > 1]
        taken = taken[(taken - np.maximum.accumulate(np.where(begins, taken, 0))) % 2 == 0]
        kinds[taken] = len(count) + pair[taken]
        sizes[taken] += sizes[taken + 1]
        kept = np.ones(len(kinds), dtype=bool)
        kept[taken + 1] = False
        kinds, sizes, places = kinds[kept], sizes[kept], places[kept]
    return places


# --- shapes ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class StretchShape:
    """What stretches of one key share.

    stored : operations whose results are read elsewhere, of any copy; columns : numbers that are not the same
    in all copies, in the order of their columns
    """

    shape: Shape
    stored: tuple[int, ...]
    columns: tuple[int, ...]


def shapes_of(
    used: Iterable[tuple[Stretch, Collection[int]]], out: str, scratch: str
) -> dict[Key, StretchShape]:
    """The shape of every key, numbered from 0.

    used : stretches, each with the operations whose results are read elsewhere
    """
    stored: dict[Key, set[int]] = defaultdict(set)
    numbers: dict[Key, list[set[str]]] = {}
    looks: dict[Key, list[Look]] = {}
    for s, read in used:
        if s.key not in looks:
            looks[s.key] = s.looks.of(s.key)
        stored[s.key].update(read)
        same = numbers.setdefault(s.key, [set() for _ in s.numbers])
        for values, value in zip(same, s.numbers, strict=True):
            values.add(value.hex())
    found: dict[Key, StretchShape] = {}
    for key, seen in numbers.items():
        columns = {k: c for c, k in enumerate(k for k, values in enumerate(seen) if len(values) > 1)}
        steps = tuple(
            (name, tuple(_operand(kind, k, seen, columns) for kind, k in operands))
            for name, *operands, _ in looks[key]
        )
        stores = [(i, out) for i, look in enumerate(looks[key]) if look[-1]]
        stores += [(i, scratch) for i in sorted(stored[key])]
        shape = Shape(len(found), steps, tuple(stores))
        found[key] = StretchShape(shape, tuple(sorted(stored[key])), tuple(columns))
    return found


def _operand(kind: str, k: int, seen: list[set[str]], columns: dict[int, int]) -> ShapeOperand:
    """An operand of a key; seen : of every number in the key, the values it has in copies."""
    if kind == OWN:
        return EarlierResult(k)
    if kind != NUMBER:
        return PlaceColumn(kind, k)
    return NumberColumn(columns[k]) if k in columns else WrittenNumber(float.fromhex(min(seen[k])))
