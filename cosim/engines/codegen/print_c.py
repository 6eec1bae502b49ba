"""A plan as C: every piece is a C function; functions.h of the runtime has what it calls."""

from __future__ import annotations

from collections.abc import Sequence

from cosim.engines.codegen.copies_c import copies_of, in_place
from cosim.engines.codegen.operations_c import computed, declarations, number
from cosim.engines.codegen.plan import (
    OUT,
    SCRATCH,
    ArrayPlace,
    Call,
    Callee,
    Compute,
    EarlierResult,
    Operand,
    Piece,
    Plain,
    WrittenNumber,
)

TABLED = 200  # arguments or results of a call; compilers take the square of their number where each is a line


def callee_name(callee: Callee) -> str:
    """C name of a function that is called."""
    return f"pl_call{callee.code}"


def piece(p: Piece, callees: Sequence[Callee]) -> str:
    """A C function (a, out)."""
    head = f"void {p.name}(const pl_args *a, double *restrict {OUT})\n{{\n"
    if isinstance(p, Plain):
        lines, arrays = _Steps(callees).of(p)
        return head + declarations(arrays) + "\n".join([*lines, "}"]) + "\n"
    return "PL_WIDE " * in_place(p) + head + "\n".join([*copies_of(p), "}"]) + "\n"


class _Steps:
    """Steps as lines of C, and the arrays they use."""

    def __init__(self, callees: Sequence[Callee]) -> None:
        self._callees = callees
        self._arrays: set[str] = set()
        self._read: set[int] = set()  # results that steps of the piece read

    def of(self, p: Plain) -> tuple[list[str], set[str]]:
        """The lines of a piece."""
        lines: list[str] = []
        truths: set[str] = set()
        self._read = {v.value for s in p.steps for v in s.operands if isinstance(v, EarlierResult)}
        for step in p.steps:
            if isinstance(step, Compute):
                operands = [self._operand(v) for v in step.operands]
                lines.append("    " + computed(step.operation, f"a{step.result}", operands, truths))
                lines += self._stores(step.result, step.stores)
            else:
                lines += self._call(step)
        return lines, self._arrays

    def _operand(self, v: Operand) -> str:
        if isinstance(v, WrittenNumber):
            return number(v.value)
        if not isinstance(v, ArrayPlace):
            return f"a{v.value}"
        self._arrays.add(v.array)
        return v.array if v.array == "t" else f"{v.array}[{v.index}]"

    def _stores(self, value: int, places: Sequence[ArrayPlace]) -> list[str]:
        self._arrays.update(p.array for p in places)
        return [f"    {p.array}[{p.index}] = a{value};" for p in places]

    def _call(self, step: Call) -> list[str]:
        """Arguments and results lie in scratch; results are nan where the function fails."""
        callee, place, given = self._callees[step.callee], step.scratch, len(step.operands)
        found = len(step.results)
        self._arrays.add(SCRATCH)
        lines = ["    {", *self._arguments(step)]
        if callee.host is None:
            lines += _pointers(callee, place)
            lines.append(
                f"        if ({callee_name(callee)}(arg, res, a->iv, v + {place + given + found}, 0))"
            )
        else:
            lines.append(f"        if (pl_call_host(a, {callee.host}, v + {place}))")
        lines.append(f"            for (int i = 0; i < {found}; i++) v[{place + given} + i] = NAN;")
        lines.append("    }")
        return lines + self._results(step)

    def _arguments(self, step: Call) -> list[str]:
        """What is read from arrays is copied by a table where it is much."""
        lines, copied = [], _Copied()
        for place, v in enumerate(step.operands, step.scratch):
            text = self._operand(v)
            if isinstance(v, ArrayPlace) and v.array != "t" and len(step.operands) > TABLED:
                copied.add(SCRATCH, place, v.array, v.index)
            else:
                lines.append(f"        v[{place}] = {text};")
        return lines + copied.lines()

    def _results(self, step: Call) -> list[str]:
        """What is only stored is copied by a table where it is much."""
        lines, copied = [], _Copied()
        first = step.scratch + len(step.operands)
        for place, (v, stores) in enumerate(zip(step.results, step.stores, strict=True), first):
            if len(step.results) > TABLED and v not in self._read:
                self._arrays.update(p.array for p in stores)
                for p in stores:
                    copied.add(p.array, p.index, SCRATCH, place)
            else:
                lines += [f"    const double a{v} = v[{place}];", *self._stores(v, stores)]
        return lines + copied.lines()


class _Copied:
    """Numbers that are copied from array to array."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], list[str]] = {}

    def add(self, to: str, place: int, source: str, index: int) -> None:
        """One of them."""
        self._places.setdefault((to, source), []).append(f"{{{place}, {index}}}")

    def lines(self) -> list[str]:
        """A loop per pair of arrays."""
        return [
            f"    {{\n        static const int32_t q[][2] = {{{', '.join(places)}}};\n"
            f"        for (int i = 0; i < {len(places)}; i++) {to}[q[i][0]] = {source}[q[i][1]];\n    }}"
            for (to, source), places in self._places.items()
        ]


def _pointers(callee: Callee, place: int) -> list[str]:
    """Where a function CasADi prints finds its arguments and leaves its results."""
    lines = [
        f"        const double *arg[{max(1, callee.pointers[0])}];",
        f"        double *res[{max(1, callee.pointers[1])}];",
    ]
    for name, sizes in (("arg", callee.given), ("res", callee.found)):
        for i, size in enumerate(sizes):
            lines.append(f"        {name}[{i}] = v + {place};")
            place += size
    behind = len(callee.given)
    return lines + [f"        arg[{behind + i}] = pl_numbers(a, {k});" for i, k in enumerate(callee.tables)]
