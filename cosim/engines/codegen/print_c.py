"""A plan as C: every piece and every shape is a C function; functions.h of the runtime has what they call."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from cosim.engines.codegen.plan import (
    OUT,
    SCRATCH,
    ArrayPlace,
    Call,
    Callee,
    Compute,
    Copies,
    NumberColumn,
    Operand,
    Piece,
    PlaceColumn,
    Plain,
    Shape,
    ShapeOperand,
    Shared,
    WrittenNumber,
)

OPERATIONS = {
    "same": "{0}", "neg": "-{0}", "square": "{0} * {0}", "twice": "2. * {0}", "inverse": "1. / {0}",
    "sign": "pl_sign({0})", "erfinv": "pl_erfinv({0})", "exp": "exp({0})",
    "log": "log({0})", "sqrt": "sqrt({0})", "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})",
    "asin": "asin({0})", "acos": "acos({0})", "atan": "atan({0})", "floor": "floor({0})",
    "ceil": "ceil({0})", "fabs": "fabs({0})", "erf": "erf({0})", "sinh": "sinh({0})", "cosh": "cosh({0})",
    "tanh": "tanh({0})", "asinh": "asinh({0})", "acosh": "acosh({0})", "atanh": "atanh({0})",
    "log1p": "log1p({0})", "expm1": "expm1({0})",
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "if_else_zero": "({0} ? {1} : 0.)", "pow": "pow({0}, {1})", "fmin": "pl_min({0}, {1})",
    "fmax": "pl_max({0}, {1})", "fmod": "fmod({0}, {1})", "remainder": "remainder({0}, {1})",
    "copysign": "copysign({0}, {1})", "atan2": "atan2({0}, {1})", "hypot": "hypot({0}, {1})",
}  # fmt: skip
"""C of every operation of graph.py that gives a number, with its operands."""

RELATIONS = {"lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}"}
LOGIC = {"not": "!{0}", "and": "{0} & {1}", "or": "{0} | {1}"}
"""Of those that say yes or no: an int, as compilers have it from a comparison."""


def callee_name(callee: Callee) -> str:
    """C name of a function that is called."""
    return f"pl_call{callee.number}"


def shape_name(shape: Shape) -> str:
    """C name of a shape."""
    return f"pl_shape{shape.number}"


def number(value: float) -> str:
    """A double as C text that reads back as exactly the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    text = text if any(c in text for c in ".e") else text + "."
    return f"({text})" if text.startswith("-") else text


def piece(p: Piece, callees: Sequence[Callee]) -> str:
    """A C function (a, out)."""
    head = f"void {p.name}(const pl_args *a, double *restrict {OUT})\n{{\n"
    if isinstance(p, Plain):
        lines, arrays = _Steps(callees).of(p)
        return head + _locals(arrays) + "\n".join([*lines, "}"]) + "\n"
    return head + "\n".join([*_tables(p), "}"]) + "\n"


def _computed(name: str, result: str, operands: Sequence[str], truths: set[str]) -> str:
    """The line that computes a value. What is in `truths` is an int, as a result is that says yes or no."""
    numbers = [f"(double){text}" if text in truths else text for text in operands]
    if name not in LOGIC and name not in RELATIONS:
        if name == "if_else_zero" and operands[0] in truths:
            numbers[0] = operands[0]
        return f"const double {result} = {OPERATIONS[name].format(*numbers)};"
    if name in LOGIC:
        numbers = [text if text in truths else f"({text} != 0.)" for text in operands]
    truths.add(result)
    return f"const int {result} = {(LOGIC | RELATIONS)[name].format(*numbers)};"


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
                lines.append("    " + _computed(step.operation, f"a{step.result}", operands, truths))
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
    return lines


def _tables(p: Shared) -> list[str]:
    """Calls of shapes, each with its tables."""
    lines = []
    for n, copies in enumerate(p.copies):
        places = ",\n        ".join(", ".join(map(str, row)) for row in copies.places)
        lines.append(f"    static const int32_t q{n}[] = {{\n        {places},\n    }};")
        if copies.numbers:
            numbers = ",\n        ".join(", ".join(map(number, row)) for row in copies.numbers)
            lines.append(f"    static const double d{n}[] = {{\n        {numbers},\n    }};")
        lines.append(_shape_call(copies, n))
    return lines


def _shape_call(copies: Copies, n: int) -> str:
    numbers = f"d{n}" if copies.numbers else "0"
    return f"    {shape_name(copies.shape)}(a, {OUT}, q{n}, {numbers}, {len(copies.places)});"


def shape(s: Shape) -> str:
    """C of a shape: for each row of a table, the operations with what the row points to.

    Its arguments: a, out, the table of places, that of numbers (none: 0), how many rows.
    """
    arrays = {array for _, array in s.stores}

    def read(v: ShapeOperand) -> str:
        if isinstance(v, WrittenNumber):
            return number(v.value)
        if isinstance(v, NumberColumn):
            return f"d[{v.column}]"
        if not isinstance(v, PlaceColumn):
            return f"a{v.value}"
        arrays.add(v.array)
        return v.array if v.array == "t" else f"{v.array}[q[{v.column}]]"

    lines = []
    stores: dict[int, list[str]] = {}
    truths: set[str] = set()
    first = s.columns - len(s.stores)
    for k, (result, array) in enumerate(s.stores, first):
        stores.setdefault(result, []).append(f"        {array}[q[{k}]] = a{result};")
    for k, (name, operands) in enumerate(s.operations):
        lines.append("        " + _computed(name, f"a{k}", [read(v) for v in operands], truths))
        lines += stores.get(k, [])
    body = "\n".join(lines)
    ahead = f"i++, q += {s.columns}" + (f", d += {s.number_columns}" if s.number_columns else "")
    return (
        f"void {shape_name(s)}(const pl_args *a, double *restrict {OUT}, const int32_t *restrict q,"
        f" const double *restrict d, int n)\n{{\n{_locals(arrays)}"
        f"    for (int i = 0; i < n; {ahead}) {{\n{body}\n    }}\n}}\n"
    )


def _locals(arrays: Collection[str]) -> str:
    """Declarations of the arrays a piece of code uses, but for the results."""
    found = ""
    for array in sorted(set(arrays) - {OUT}):
        kind = (
            "double" if array == "t" else "double *restrict" if array == SCRATCH else "const double *restrict"
        )
        found += f"    {'const ' if array == 't' else ''}{kind} {array} = a->{array};\n"
    return found
