"""Functions of which single numbers are asked for, as C: which pieces have to be called for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from cosim.engines.codegen.plan import FunctionPlan, Piece


def parts(name: str, functions: Sequence[FunctionPlan]) -> str:
    """The table `pl_parts` of a function: its pieces, which of them gives a number, and what each one needs.

    functions : those that together give all its numbers; pieces of one read nothing that another one made
    """
    pieces = [p for f in functions for p in f.pieces]
    found = {place: k for k, p in enumerate(pieces) for place in p.outputs}
    needs = [_shifted(n, first) for f, first in _starts(functions) for n in _needed(f.pieces)]
    table: dict[str, list[int]] = {"piece_of": [], "needs_start": [], "needs": []}
    if len(pieces) > 1:
        table["piece_of"] = [found[place] for place in sorted(found)]
        table["needs_start"] = [*accumulate(map(len, needs), initial=0)]
        table["needs"] = [k for n in needs for k in n]
    called = ", ".join([*(p.name for p in pieces), "0"])
    lines = [f"static const pl_function {name}_pieces[] = {{{called}}};\n"]
    lines += [f"static const int32_t {name}_{field}[] = {{{_numbers(v)}}};\n" for field, v in table.items()]
    inside = ", ".join([name, str(len(pieces)), *(f"{name}_{field}" for field in ("pieces", *table))])
    lines.append(f"static const pl_parts {name}_parts = {{{inside}}};\n")
    return "".join(lines)


def ranges(places: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers in order as stretches without a gap: the first one, and the one behind the last."""
    found: list[tuple[int, int]] = []
    for k in places:
        if found and found[-1][1] == k:
            found[-1] = (found[-1][0], k + 1)
        else:
            found.append((k, k + 1))
    return found


def pairs(name: str, found: Sequence[tuple[int, int]]) -> str:
    """A table of pairs of numbers."""
    return f"static const int32_t {name}[] = {{{_numbers([k for pair in found for k in pair])}}};\n"


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
