"""Functions of which single numbers are asked for, as C: which pieces have to be called for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from cosim.engines.codegen.plan import Callee, FunctionPlan, Piece


def parts(
    name: str,
    functions: Sequence[FunctionPlan],
    nx: int,
    callees: Sequence[Callee],
    places: Sequence[int] = (),
) -> str:
    """The table `pl_parts` of a function: its pieces, which of them gives a number, and what each one needs.

    functions : those that together give all its numbers; pieces of one read nothing that another one made
    nx, callees : how many states there are, and what the pieces call, to say which states each one reads
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
    tables["states"] = [place for n in needs for place in _span([pieces[k] for k in n], nx, callees)]
    called = ", ".join([*(p.name for p in pieces), "0"])
    lines = [f"static const pl_function {name}_pieces[] = {{{called}}};\n"]
    lines += [table(f"{name}_{field}", v) for field, v in tables.items()]
    inside = ", ".join([name, str(len(pieces)), *(f"{name}_{field}" for field in ("pieces", *tables))])
    lines.append(f"static const pl_parts {name}_parts = {{{inside}}};\n")
    return "".join(lines)


def _span(pieces: Sequence[Piece], nx: int, callees: Sequence[Callee]) -> tuple[int, int]:
    """The states that pieces read, from one to before another; all nx where one of them asks the host."""
    if any(callees[c].host is not None for p in pieces for c in p.calls()):
        return 0, nx
    read = [place.index for p in pieces for place in p.reads() if place.array == "x"]
    return min(read, default=0), max(read, default=-1) + 1


def lasting(f: FunctionPlan, nh: int, callees: Sequence[Callee]) -> str:
    """The table `pl_lasting` of a function: what its pieces give, and which read each of nh places."""
    pieces = f.pieces if any(p.outputs for p in f.pieces) else []
    needs = _needed(pieces)
    own = [p.reads() for p in pieces]
    reads = [set().union(*(own[k] for k in n)) for n in needs]
    asks = [any(callees[c].host is not None for k in n for c in pieces[k].calls()) for n in needs]
    runs = [_runs(sorted(p.outputs)) for p in pieces]
    readers: list[list[int]] = [[] for _ in range(nh if pieces else 0)]
    for k, read in enumerate(reads):
        for place in read:
            if place.array == "h":
                readers[place.index].append(k)
    moves = [asked or any(v.array in "txw" for v in read) for asked, read in zip(asks, reads, strict=True)]
    tables = {
        "needs_start": [*accumulate(map(len, needs), initial=0)],
        "needs": [k for n in needs for k in n],
        "runs_start": [*accumulate(map(len, runs), initial=0)],
        "runs": [v for found in runs for run in found for v in run],
        "readers_start": [*accumulate(map(len, readers), initial=0)],
        "readers": [k for found in readers for k in found],
        "restless": [*map(int, moves)],
    }
    called = ", ".join([*(p.name for p in pieces), "0"])
    lines = [f"static const pl_function {f.name}_pieces[] = {{{called}}};\n"]
    lines += [table(f"{f.name}_{field}", v) for field, v in tables.items()]
    inside = [f"{f.name}_{field}" for field in ("pieces", *tables)]
    inside = [str(len(pieces)), *inside, str(sum(map(len, runs)))]
    lines.append(f"static const pl_lasting {f.name} = {{{', '.join(inside)}}};\n")
    return "".join(lines)


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Places in order as those from one to before another."""
    begins = [v for k, v in enumerate(places) if not k or places[k - 1] != v - 1]
    ends = [v + 1 for k, v in enumerate(places) if k + 1 == len(places) or places[k + 1] != v + 1]
    return [*zip(begins, ends, strict=True)]


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
