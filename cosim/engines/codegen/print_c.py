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
    Operand,
    Piece,
    Plain,
    WrittenNumber,
)


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

    def of(self, p: Plain) -> tuple[list[str], set[str]]:
        """The lines of a piece."""
        lines: list[str] = []
        truths: set[str] = set()
        for step in p.steps:
            operands = [self._operand(v) for v in step.operands]
            if isinstance(step, Compute):
                lines.append("    " + computed(step.operation, f"a{step.result}", operands, truths))
                lines += self._stores(step.result, step.stores)
            else:
                lines += self._call(step, operands)
                for value, places in zip(step.results, step.stores, strict=True):
                    lines += self._stores(value, places)
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

    def _call(self, step: Call, operands: Sequence[str]) -> list[str]:
        """Arguments and results lie in scratch; results are nan where the function fails."""
        callee, place, given = self._callees[step.callee], step.scratch, len(operands)
        found = len(step.results)
        self._arrays.add(SCRATCH)
        lines = ["    {", *(f"        v[{place + i}] = {text};" for i, text in enumerate(operands))]
        if callee.host is None:
            lines += _pointers(callee, place)
            lines.append(
                f"        if ({callee_name(callee)}(arg, res, a->iv, v + {place + given + found}, 0))"
            )
        else:
            lines.append(f"        if (pl_call_host(a, {callee.host}, v + {place}))")
        lines.append(f"            for (int i = 0; i < {found}; i++) v[{place + given} + i] = NAN;")
        lines.append("    }")
        return lines + [
            f"    const double a{v} = v[{place + given + i}];" for i, v in enumerate(step.results)
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
