"""Functions of which single numbers are asked for, as C: which pieces have to be called for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from cosim.engines.codegen.plan import FunctionPlan, Piece


def parts(name: str, functions: Sequence[FunctionPlan], places: Sequence[int] = ()) -> str:
    """The table `pl_parts` of a function: its pieces, which of them gives a number, and what each one needs.

    functions : those that together give all its numbers; pieces of one read nothing that another one made
    places : where the numbers that are asked for are given; by default all in order
    """
    pieces = [p for f in functions for p in f.pieces]
    found = {place: k for k, p in enumerate(pieces) for place in p.outputs}
    needs = [_shifted(n, first) for f, first in _starts(functions) for n in _needed(f.pieces)]
    tables: dict[str, list[int]] = {"piece_of": [], "needs_start": [], "needs": []}
    if len(pieces) > 1:
        tables["piece_of"] = [found[place] for place in places or sorted(found)]
        tables["needs_start"] = [*accumulate(map(len, needs), initial=0)]
        tables["needs"] = [k for n in needs for k in n]
    called = ", ".join([*(p.name for p in pieces), "0"])
    lines = [f"static const pl_function {name}_pieces[] = {{{called}}};\n"]
    lines += [table(f"{name}_{field}", v) for field, v in tables.items()]
    inside = ", ".join([name, str(len(pieces)), *(f"{name}_{field}" for field in ("pieces", *tables))])
    lines.append(f"static const pl_parts {name}_parts = {{{inside}}};\n")
    return "".join(lines)


def by_place(place_of: Sequence[int]) -> dict[str, list[int]]:
    """Tables of which events there are at each place, from the place of each event."""
    events = sorted(range(len(place_of)), key=place_of.__getitem__)  # those of one place in order
    count = Counter(place_of)
    starts = [*accumulate((count[k] for k in sorted(count)), initial=0)]
    return {"place_of": [*place_of], "event_start": starts, "event_at": events}


def table(name: str, numbers: Sequence[int]) -> str:
    """A table of integers."""
    return f"static const int32_t {name}[] = {{{_numbers(numbers)}}};\n"


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, [*values, 0]))


def _starts(functions: Sequence[FunctionPlan]) -> list[tuple[FunctionPlan, int]]:
    """Functions, each with how many pieces stand before its own."""
    return [(f, sum(len(g.pieces) for g in functions[:k])) for k, f in enumerate(functions)]


def _needed(pieces: Sequence[Piece]) -> list[list[int]]:
    """For every piece those it needs, of whatever kind, in the order of their calls, and itself last."""
    every: list[set[int]] = []
    for k, p in enumerate(pieces):
        every.append({k}.union(*(every[n] for n in p.needs)))
    return [sorted(n) for n in every]


def _shifted(numbers: Sequence[int], first: int) -> list[int]:
    return [first + n for n in numbers]
