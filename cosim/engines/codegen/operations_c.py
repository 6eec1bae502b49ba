"""Operations, numbers and arrays as C text."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from cosim.engines.codegen.plan import OUT, SCRATCH

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


def number(value: float) -> str:
    """A double as C text that reads back as exactly the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    text = text if any(c in text for c in ".e") else text + "."
    return f"({text})" if text.startswith("-") else text


def computed(name: str, result: str, operands: Sequence[str], truths: set[str]) -> str:
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


def declarations(arrays: Collection[str]) -> str:
    """Declarations of the arrays a piece of code uses, but for the results."""
    found = ""
    for array in sorted(set(arrays) - {OUT}):
        kind = "const double" if array == "t" else "const double *restrict"
        if array == SCRATCH:  # the only one that is written to
            kind = "double *restrict"
        found += f"    {kind} {array} = a->{array};\n"
    return found
