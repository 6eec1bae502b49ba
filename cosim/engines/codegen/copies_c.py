"""Copies of a shape as C: a loop over the copies, which a compiler may do several at once.

Where the places of all copies go up by the same steps, as blocks of a kind lie in the arrays, the steps are
written into the loop. Other copies have tables of places, and share one C function of their shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from cosim.engines.codegen.operations_c import computed, declarations, number
from cosim.engines.codegen.plan import (
    OUT,
    Copies,
    FunctionPlan,
    NumberColumn,
    PlaceColumn,
    Shape,
    ShapeOperand,
    Shared,
    WrittenNumber,
)

WORTH = 4  # copies, to make a loop of its own
SHORT = 80  # operations of a shape that is written into loops


def shape_name(shape: Shape) -> str:
    """C name of a shape."""
    return f"pl_shape{shape.number}"


def copies_of(p: Shared) -> Iterator[str]:
    """The body of a piece that is copies."""
    for n, copies in enumerate(p.copies):
        steps = _steps(copies)
        yield from _numbers(copies.numbers if steps is None else zip(*copies.numbers, strict=True), n)
        yield _call(copies, n) if steps is None else _loop(copies, n, steps)


def in_place(p: Shared) -> bool:
    """Has a piece a loop of its own, whose copies a compiler may do several at once?"""
    return any(_steps(copies) is not None for copies in p.copies)


def tabled(functions: list[FunctionPlan]) -> list[Shape]:
    """Shapes with copies that have a table."""
    shared = [piece for f in functions for piece in f.pieces if isinstance(piece, Shared)]
    copies = (c for piece in shared for c in piece.copies)
    return [*{c.shape.number: c.shape for c in copies if _steps(c) is None}.values()]


def shape(s: Shape) -> str:
    """C of a shape: for each row of a table, the operations with what the row points to.

    Its arguments: a, out, the table of places, that of numbers (none: 0), how many rows.
    """
    body, arrays = _body(s, lambda column: f"q[{column}]", lambda column: f"d[{column}]")
    ahead = f"i++, q += {s.columns}" + (f", d += {s.number_columns}" if s.number_columns else "")
    return (
        f"void {shape_name(s)}(const pl_args *a, double *restrict {OUT}, const int32_t *restrict q,"
        f" const double *restrict d, int n)\n{{\n{declarations(arrays)}"
        f"    for (int i = 0; i < n; {ahead}) {{\n{body}\n    }}\n}}\n"
    )


def _steps(copies: Copies) -> list[tuple[int, int]] | None:
    """The first place in every column and how far it is from copy to copy; none where that varies."""
    if len(copies.places) < WORTH or len(copies.shape.operations) > SHORT:
        return None
    columns = [*zip(*copies.places, strict=True)]
    steps = [(c[0], c[1] - c[0]) for c in columns]
    even = all(
        later - place == step
        for c, (_, step) in zip(columns, steps, strict=True)
        for place, later in pairwise(c)
    )
    return steps if even else None


def _numbers(rows: Iterable[Sequence[float]], n: int) -> Iterator[str]:
    """A table of numbers, row by row."""
    numbers = ",\n        ".join(", ".join(map(number, row)) for row in rows)
    if numbers:
        yield f"    static const double d{n}[] = {{\n        {numbers},\n    }};"


def _call(copies: Copies, n: int) -> str:
    """A table of places, and a call of the shape with it."""
    places = ",\n        ".join(", ".join(map(str, row)) for row in copies.places)
    numbers = f"d{n}" if copies.numbers else "0"
    return (
        f"    static const int32_t q{n}[] = {{\n        {places},\n    }};\n"
        f"    {shape_name(copies.shape)}(a, {OUT}, q{n}, {numbers}, {len(copies.places)});"
    )


def _loop(copies: Copies, n: int, steps: list[tuple[int, int]]) -> str:
    """The operations in place, i the number of the copy."""

    def place(column: int) -> str:
        first, step = steps[column]
        if step == 0:
            return str(first)
        return f"{first} + i" if step == 1 else f"{first} + {step} * i"

    rows = len(copies.places)
    body, arrays = _body(copies.shape, place, lambda column: f"d{n}[{column * rows} + i]")
    inside = f"    for (int i = 0; i < {rows}; i++) {{\n{body}\n    }}\n"
    return f"    {{\n{declarations(arrays)}{inside}    }}"


def _body(s: Shape, place: Callable[[int], str], given: Callable[[int], str]) -> tuple[str, set[str]]:
    """Lines for one copy, and the arrays they use.

    place, given : index of what a column of the table of places points to; the number in one of the other
    """
    arrays = {array for _, array in s.stores}

    def read(v: ShapeOperand) -> str:
        if isinstance(v, WrittenNumber):
            return number(v.value)
        if isinstance(v, NumberColumn):
            return given(v.column)
        if not isinstance(v, PlaceColumn):
            return f"a{v.value}"
        arrays.add(v.array)
        return v.array if v.array == "t" else f"{v.array}[{place(v.column)}]"

    lines: list[str] = []
    stores: dict[int, list[str]] = {}
    truths: set[str] = set()
    first = s.columns - len(s.stores)
    for k, (result, array) in enumerate(s.stores, first):
        stores.setdefault(result, []).append(f"        {array}[{place(k)}] = a{result};")
    for k, (name, operands) in enumerate(s.operations):
        lines.append("        " + computed(name, f"a{k}", [read(v) for v in operands], truths))
        lines += stores.get(k, [])
    return "\n".join(lines), arrays
