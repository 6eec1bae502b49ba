"""Functions of CasADi as text, for prints of what a run computes."""

from __future__ import annotations

import casadi as ca


def text_of(function: ca.Function) -> str:
    """All of a function as text; what Python computes inside it counts by its name only."""
    try:
        return str(function.serialize())
    except RuntimeError:  # a call of a Python function cannot be serialised
        steps = (
            (function.instruction_id(k), function.instruction_input(k), function.instruction_output(k))
            for k in range(function.n_instructions())
        )
        constants = [c for k in range(function.n_instructions()) if (c := _constant(function, k)) is not None]
        return repr((list(steps), constants))


def _constant(function: ca.Function, k: int) -> float | None:
    return function.instruction_constant(k) if function.instruction_id(k) == ca.OP_CONST else None
