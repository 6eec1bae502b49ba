"""Guards and actions of a state chart, as Python functions or as text: traced to equations, never evaluated.

Text is parsed by Python's own grammar, and only what is listed here is taken from the tree: numbers, names,
arithmetic, comparisons, ``and``, ``or``, ``not``, ``a if c else b``, assignments, `FUNCTIONS`,
``after(seconds)`` and ``send(event)``.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.symbols import as_scalar, column
from blocks.errors import BlockError, near_miss, shown

Code = str | Callable[[Any], Any] | None
"""A guard or an action: text, a function of the `ChartValues` of the chart, or nothing."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "floor": np.floor,
    "ceil": np.ceil, "sign": np.sign, "min": np.minimum, "max": np.maximum, "mod": np.mod, "hypot": np.hypot,
}  # fmt: skip
OF_MANY = ("min", "max")

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.Mod: np.mod,
    ast.FloorDiv: lambda a, b: np.floor(a / b),
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


class ChartValues:
    """What guards and actions see: ``c.T`` reads, ``c.power = 3`` writes, ``c.after(2)``, ``c.send("done")``.

    values : all that can be read, by name; writable : names that can be written
    elapsed : seconds -> has the state of the transition been active so long?
    """

    def __init__(
        self,
        values: dict[str, Any],
        writable: frozenset[str],
        elapsed: Callable[[Any], Any],
        events: frozenset[str],
    ) -> None:
        vars(self).update(_values=values, _writable=writable, _elapsed=elapsed, _events=events)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._values:
            hint = "The time of the run is 'time'." if name in ("t", "clock") else None
            raise BlockError(
                f"the chart has no '{name}'; {near_miss(name, self._values)}", port=name, hint=hint
            )
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._writable:
            what = "is an input, which no action can change" if name in self._values else "is not there"
            raise BlockError(f"'{name}' {what}; {near_miss(name, self._writable)}", port=name)
        self._values[name] = as_scalar(column(value, f"'{name}'"))

    def after(self, seconds: Any) -> Any:
        """Has the state been active for so many seconds?"""
        return self._elapsed(seconds)

    def send(self, event: str) -> None:
        """Count an output event on."""
        if event not in self._events:
            raise BlockError(
                f"there is no output event {shown(event)}; {near_miss(str(event), self._events)}"
            )
        self._values[event] = self._values[event] + 1.0


def condition(code: Code, c: ChartValues) -> ca.SX:
    """A guard as one expression that is 1 or 0; without one, 1."""
    if code is None:
        return ca.SX(1.0)
    value = _value(_parsed(code, "eval"), c, code) if isinstance(code, str) else code(c)
    found = column(value, f"guard {shown(code)}")
    if found.numel() != 1:
        raise BlockError(f"guard {shown(code)} has {found.numel()} components, expected one.", value=code)
    boolean = getattr(value, "boolean", False) or isinstance(value, (bool, np.bool_))
    return found if boolean else ca.if_else(found > 0, 1.0, 0.0)


def act(code: Code, c: ChartValues) -> None:
    """Do an action."""
    if code is None:
        return
    if not isinstance(code, str):
        code(c)
        return
    for statement in _parsed(code, "exec").body:
        _statement(statement, c, code)


def check(code: Any, what: str) -> Code:
    """A guard or action, as far as that can be seen without signals.

    Raises
    ------
    BlockError      neither text nor function, or text that is none of the language
    """
    if code is None or (callable(code) and not isinstance(code, type)):
        found: Code = code
        return found
    if isinstance(code, (list, tuple)) and all(isinstance(line, str) for line in code):
        code = "\n".join(code)
    if not isinstance(code, str) or not code.strip():
        raise BlockError(
            f"{what} is {shown(code)}, expected text, or a function of the chart's values.", value=code
        )
    _parsed(code, "eval" if what.startswith("guard") else "exec")
    return code


def distance(guard: ca.SX) -> ca.SX:
    """How far a condition is from holding: above 0 where it holds, through 0 where it changes."""
    match guard.op() if not guard.is_constant() else None:
        case ca.OP_LT | ca.OP_LE:
            return guard.dep(1) - guard.dep(0)
        case ca.OP_AND:
            return ca.fmin(distance(guard.dep(0)), distance(guard.dep(1)))
        case ca.OP_OR:
            return ca.fmax(distance(guard.dep(0)), distance(guard.dep(1)))
        case ca.OP_NOT:
            return -distance(guard.dep(0))
    return ca.if_else(guard > 0.5, 1.0, -1.0)


def _parsed(code: str, mode: str) -> Any:
    try:
        return ast.parse(code.strip(), mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        of_c = any(sign in code.replace("!=", "") for sign in ("&&", "||", "!"))
        cure = "Write and, or, not for &&, ||, !." if of_c else None
        raise BlockError(f"{shown(code)} cannot be read: {error}.", value=code, hint=cure) from None


def _statement(node: ast.stmt, c: ChartValues, code: str) -> None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            setattr(c, name, _value(value, c, code))
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in BINARY:
            setattr(c, name, BINARY[type(op)](getattr(c, name), _value(value, c, code)))
        case ast.Expr(
            value=ast.Call(
                func=ast.Name(id="send"),
                args=[ast.Name(id=event) | ast.Constant(value=str() as event)],
                keywords=[],
            )
        ):
            c.send(event)
        case _:
            raise _not_ours(node, code, "name = value, name += value or send(event)")


def _value(node: ast.AST, c: ChartValues, code: str) -> Any:
    try:
        return _expression(node, c, code)
    except RecursionError:
        hint = "Write it in several actions, with data in between, or as a function."
        raise BlockError(f"{shown(code)} is nested too deeply.", value=code, hint=hint) from None


def _expression(node: ast.AST, c: ChartValues, code: str) -> Any:
    def of(part: ast.AST) -> Any:
        return _expression(part, c, code)

    match node:
        case ast.Expression(body=body):
            return of(body)
        case ast.Constant(value=bool() as truth):
            return truth
        case ast.Constant(value=int() | float() as number):
            return _number(number, code)
        case ast.Name(id=name):
            return getattr(c, name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _combined(op, of(left), of(right), node, code)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -of(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return of(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return np.logical_not(_truth(of(operand)))
        case ast.BoolOp(op=op, values=values):
            both = np.logical_and if isinstance(op, ast.And) else np.logical_or
            found = _truth(of(values[0]))
            for value in values[1:]:
                found = both(found, _truth(of(value)))
            return found
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(o) in COMPARE for o in ops):
            sides = [of(left), *map(of, others)]
            parts = [COMPARE[type(o)](a, b) for o, a, b in zip(ops, sides, sides[1:], strict=False)]
            found = parts[0]
            for part in parts[1:]:
                found = np.logical_and(found, part)
            return found
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return np.where(_truth(of(test)), of(body), of(orelse))
        case ast.Call(func=ast.Name(id="after"), args=[seconds], keywords=[]):
            return c.after(of(seconds))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return _called(name, [of(a) for a in arguments], node, code)
    raise _not_ours(node, code, f"numbers, names, arithmetic, comparisons and {', '.join(FUNCTIONS)}, after")


def _number(number: float, code: str) -> float:
    """A number that is written: as a float, so that powers of it stay small."""
    try:
        found = float(number)
    except OverflowError:
        found = np.inf
    if not np.isfinite(found):
        raise BlockError(f"a number in {shown(code)} is too large, expected finite ones.", value=code)
    return found


def _combined(op: ast.operator, left: Any, right: Any, node: ast.AST, code: str) -> Any:
    """What an operator makes of both sides; Python computes with numbers that are written."""
    try:
        found = BINARY[type(op)](left, right)
    except (ZeroDivisionError, OverflowError):
        found = np.nan
    return _real(found, node, code)


def _real(found: Any, node: ast.AST, code: str) -> Any:
    if isinstance(found, (float, complex)) and not (isinstance(found, float) and np.isfinite(found)):
        raise BlockError(
            f"{shown(ast.unparse(node))} in {shown(code)} is no finite real number.", value=code,
            hint="Look for a division by zero, a root of a negative number, or too large a power.",
        )  # fmt: skip
    return found


def _called(name: str, arguments: list[Any], node: ast.AST, code: str) -> Any:
    """A function of `FUNCTIONS`: "min" and "max" of two numbers or more, others of as many as they take."""
    found = FUNCTIONS[name]
    many, takes = name in OF_MANY, found.nin  # type: ignore[attr-defined]  # all are ufuncs
    if len(arguments) < takes or (len(arguments) > takes and not many):
        expected = f"{takes} or more" if many else str(takes)
        raise BlockError(
            f"{shown(ast.unparse(node))} in {shown(code)}: {name} got {len(arguments)} numbers, "
            f"expected {expected}.", value=code,
        )  # fmt: skip
    with np.errstate(all="ignore"):  # of numbers that are written
        return _real(functools.reduce(found, arguments) if many else found(*arguments), node, code)


def _truth(value: Any) -> Any:
    if getattr(value, "boolean", False) or isinstance(value, (bool, np.bool_)):
        return value
    return value > 0


def _not_ours(node: ast.AST, code: str, expected: str) -> BlockError:
    text = ast.unparse(node)
    return BlockError(
        f"{shown(text)} in {shown(code)} is nothing a chart can do.", value=code, hint=f"Write {expected}."
    )
