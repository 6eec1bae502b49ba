"""The first operation of an expression that makes finite numbers into one that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

MOST = 20_000  # operations that are looked through
FUNCTIONS = {
    ca.OP_SQRT: "sqrt({})", ca.OP_LOG: "log({})", ca.OP_EXP: "exp({})", ca.OP_TAN: "tan({})",
    ca.OP_ASIN: "arcsin({})", ca.OP_ACOS: "arccos({})", ca.OP_ACOSH: "arccosh({})",
    ca.OP_ATANH: "arctanh({})", ca.OP_SINH: "sinh({})", ca.OP_COSH: "cosh({})", ca.OP_INV: "1 / {}",
    ca.OP_DIV: "{} / {}", ca.OP_MUL: "{} * {}", ca.OP_POW: "{} ** {}", ca.OP_CONSTPOW: "{} ** {}",
    ca.OP_FMOD: "{} % {}", ca.OP_SQ: "{} ** 2", ca.OP_LOG1P: "log1p({})", ca.OP_EXPM1: "expm1({})",
    ca.OP_ADD: "{} + {}", ca.OP_SUB: "{} - {}",
}  # fmt: skip


def bad_operation(expression: ca.SX, evaluate: Callable[[ca.SX], np.ndarray], most: int = MOST) -> str | None:
    """Such as "sqrt(-2.5e-05)": the first whose operands are finite; None where there is none to be named.

    expression : scalars; evaluate : values of expressions of the same symbols
    """
    nodes: dict[int, Any] = {}  # scalars, which the stubs of casadi do not know
    order: list[int] = []
    waiting: list[tuple[Any, bool]] = [(e, False) for e in reversed(ca.SX(expression).nonzeros())]
    while waiting:
        node, done = waiting.pop()
        key = node.element_hash()
        if done:
            order.append(key)
            continue
        if key in nodes:
            continue
        if len(nodes) == most:
            return None
        nodes[key] = node
        waiting.append((node, True))
        if not node.is_leaf():
            waiting += [(node.dep(k), False) for k in reversed(range(node.n_dep()))]
    values = dict(zip(order, evaluate(ca.vertcat(*[nodes[k] for k in order])), strict=True))
    for key in order:
        node = nodes[key]
        if node.is_leaf() or np.isfinite(values[key]):
            continue
        operands = [values[node.dep(k).element_hash()] for k in range(node.n_dep())]
        if np.isfinite(operands).all() and node.op() in FUNCTIONS:
            return FUNCTIONS[node.op()].format(*(f"{v:.9g}" for v in operands))
    return None
