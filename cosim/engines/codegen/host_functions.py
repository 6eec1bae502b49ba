"""Functions that code cannot contain: which ones a system calls, and their numbers at the host.

Code is printed for all calls but those whose function is Python, or has Python somewhere inside (a difference
quotient of it, a Newton solve around it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import casadi as ca


def calls_python(function: ca.Function) -> bool:
    """Is a function Python, or does it call Python somewhere inside?"""
    return any(f.class_name() == "CallbackInternal" for f in (function, *function.find_functions()))


def called(function: ca.Function) -> Iterator[ca.Function]:
    """Functions a flat function calls, in the order of its instructions, as often as it calls them."""
    number, kind = function.n_instructions(), function.instruction_id
    calls = [k for k in range(number) if kind(k) == ca.OP_CALL] if function.find_functions(0) else []
    instructions: ca.SX | list[ca.SX] = function.instructions_sx() if calls else []
    for k in calls:
        yield instructions[k].which_function()


def host_functions(functions: Iterable[ca.Function]) -> list[ca.Function]:
    """Functions that the host must evaluate, by number in the order of first appearance."""
    found: dict[int, ca.Function] = {}
    for function in functions:
        for callee in called(function):
            if callee.__hash__() not in found and calls_python(callee):
                found[callee.__hash__()] = callee
    return list(found.values())


def numbers_called(functions: Iterable[ca.Function], host: Sequence[ca.Function]) -> list[list[int]]:
    """For each function the numbers it calls, -1 for what is compiled; systems may differ in nothing else."""
    numbers = {f.__hash__(): k for k, f in enumerate(host)}
    return [[numbers.get(c.__hash__(), -1) for c in called(f)] for f in functions]
