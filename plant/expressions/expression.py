"""Run-time expressions of the plant: ``STEP(TIME, 1, 0, 2, 5) - 10*VZ(3, 4)``.

`parse` reads the text once and checks all that can be known without the model. An `Expression` says what it
refers to, and `Expression.evaluate` turns it into symbols with the values a `Scope` provides.

It is kept as a list of steps in evaluation order, each naming earlier ones as its operands, so that the
longest generated text needs no recursion.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca

from blocks.contract.user_lines import warn_user
from blocks.errors import ExpressionError, near_miss
from plant.expressions.corners import power
from plant.expressions.functions import FUNCTIONS, LanguageFunction
from plant.expressions.functions.entry import LITERALS, MARKERS, LineInTime, Reference
from plant.expressions.grammar import check_size, fault, one_line, postorder, read
from plant.expressions.scope import MarkerState, Refusal, Scope
from plant.expressions.splines import SplineData
from plant.reporting import PlantWarning

if TYPE_CHECKING:
    import lark

__all__ = [
    "Expression",
    "ExpressionError",
    "MarkerState",
    "PlantWarning",
    "Refusal",
    "Scope",
    "parse",
    "parse_optional",
]

CONSTANTS = {"PI": math.pi, "RTOD": 180 / math.pi, "DTOR": math.pi / 180}
OPERATORS: dict[str, Callable[..., ca.SX]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": power,
    "negate": operator.neg,
}


@dataclass(frozen=True, slots=True)
class EvaluationStep:
    """One step of an evaluation.

    operation : str      ``number``, ``TIME``, a key of `OPERATORS`, or a function
    operands : tuple     numbers of the earlier steps it takes
    literals : tuple     integer arguments of a function, omitted ones as 0
    start, end : int     its text
    at : int             position of its name or operator in the text, from 0
    line : Line          its value where that is a number or a line in TIME
    """

    operation: str
    operands: tuple[int, ...]
    literals: tuple[int, ...]
    start: int
    end: int
    at: int
    line: LineInTime | None


@dataclass(frozen=True)
class Expression:
    """A run-time expression, checked; two with the same text and place are equal.

    text : str      the expression, line breaks replaced by blanks
    where : str     file, line, element and attribute, for messages
    """

    text: str
    where: str
    steps: tuple[EvaluationStep, ...] = field(repr=False, compare=False)

    def references(self) -> frozenset[Reference]:
        """Dependencies of the value, e.g. ``("marker", (11,))``, ``("array", (3, 1))``, ``("time", ())``.

        Kinds: time, marker (never 0), variable, array, state, state_rate, plant_input, plant_output, sensor,
        spline; element, as ``("Constraint_Joint", 3)``, element names joined by ``|`` where any will do;
        acceleration of a marker, and force between two markers, which depend on the solution itself.
        """
        found: set[Reference] = set()
        for step in self.steps:
            if step.operation == "TIME":
                found.add(("time", ()))
            elif function := FUNCTIONS.get(step.operation):
                found.update(function.refers(*step.literals))
                named = zip(function.arguments[function.values :], step.literals, strict=False)
                found.update(("marker", (id,)) for name, id in named if name in MARKERS and id)
        return frozenset(found)

    def evaluate(self, scope: Scope) -> ca.SX:
        """Value of the expression, a scalar (1, 1) SX.

        Raises
        ------
        ExpressionError     if the plant refuses one of the values asked for

        Outside a function's domain (SQRT of a negative number) the value is nan; `terms` finds the culprit.
        """
        return self._values(scope)[-1]

    def terms(self, scope: Scope) -> list[tuple[str, int, ca.SX]]:
        """Text, column from 1 and value of every operator and call, innermost first.

        To explain a value that is not finite, find the first such term. What an IF does not choose is 0 here.
        """
        return self._named(self._values(scope))

    def evaluate_with_terms(self, scope: Scope) -> tuple[ca.SX, list[tuple[str, int, ca.SX]]]:
        """What `evaluate` and `terms` give, written once."""
        values = self._values(scope)
        return values[-1], self._named(values)

    def _named(self, values: list[ca.SX]) -> list[tuple[str, int, ca.SX]]:
        """Text, column and value of every operator and call, of the values of all steps."""
        looked_at: list[ca.SX | None] = [None] * len(values)  # conditions of the IFs around
        for k in reversed(range(len(values))):
            step = self.steps[k]
            function = FUNCTIONS.get(step.operation)
            if function is None or function.chosen is None:
                continue
            chosen, around = function.chosen(*(values[j] for j in step.operands)), looked_at[k]
            for branch in range(1, len(chosen)):
                here = chosen[branch] if around is None else ca.logic_and(around, chosen[branch])
                first, last = step.operands[branch - 1] + 1, step.operands[branch] + 1
                looked_at[first:last] = [here] * (last - first)
        shown = [
            value if here is None else ca.if_else(here, value, 0)
            for here, value in zip(looked_at, values, strict=True)
        ]
        return [
            (self.text[step.start : step.end], step.at + 1, value)
            for step, value in zip(self.steps, shown, strict=True)
            if step.operation not in ("number", "TIME")
        ]

    def operands(self, scope: Scope, functions: Container[str]) -> list[tuple[EvaluationStep, list[ca.SX]]]:
        """Every call of some functions, and the values of its arguments except ids."""
        if not any(step.operation in functions for step in self.steps):
            return []
        values = self._values(scope)
        return [(s, [values[k] for k in s.operands]) for s in self.steps if s.operation in functions]

    def break_times(self, spline: Callable[[int], SplineData] | None = None) -> tuple[float, ...]:
        """Literal times at which a function of TIME alone has a corner or a jump, ascending.

        Its argument must be a line in TIME with literal numbers. With `spline`, which gives the data of a
        Reference_Spline, the points of straight-line splines count too.
        """
        times: set[float] = set()
        for step in self.steps:
            if function := FUNCTIONS.get(step.operation):
                ids = [ids[0] for kind, ids in function.refers(*step.literals) if kind == "spline"]
                data = spline(int(ids[0])) if spline is not None and ids else None
                times.update(function.corners([self.steps[k].line for k in step.operands], data))
        return tuple(sorted(times))

    def _values(self, scope: Scope) -> list[ca.SX]:
        values: list[ca.SX] = []
        for step in self.steps:
            operands = [values[k] for k in step.operands]
            if step.operation == "number":
                values.append(ca.SX(step.line.offset if step.line else math.nan))
            elif step.operation == "TIME":
                values.append(scope.time)
            elif step.operation in OPERATORS:
                values.append(OPERATORS[step.operation](*operands))
            else:
                values.append(self._call(step, operands, scope))
        return values

    def _call(self, step: EvaluationStep, operands: list[ca.SX], scope: Scope) -> ca.SX:
        function = FUNCTIONS[step.operation]
        lines = [self.steps[k].line for k in step.operands]
        try:
            jump = function.jump(scope, lines, *operands, *step.literals)
            if jump is not None:
                return jump
            if function.sides is not None:
                written = self.text[step.start : step.end]
                slides = scope.sliding(*function.sides(*operands), written)
                if slides is not None:
                    return slides
            if function.takes_literals:
                return function.evaluate(scope, *operands, *step.literals)
            return function.evaluate(*operands)
        except Refusal as refusal:
            problem = f"{function.name}: {refusal}".rstrip(".")
            raise fault(self.text, step.at, problem, self.where) from refusal


def parse_optional(text: str | None, where: str = "") -> Expression | None:
    """Read an expression that may be omitted: None for no text, blanks and the word NULL."""
    if text is None or text.strip().upper() in ("", "NULL"):
        return None
    return parse(text, where)


def parse(text: str, where: str = "") -> Expression:
    """Read an expression and check it.

    Parameters
    ----------
    text : str      the expression; upper and lower case are the same
    where : str     ``file:line``, element, id and attribute, for messages

    Raises
    ------
    ExpressionError     with the text and a caret under the fault

    Warns
    -----
    PlantWarning        for a call that is accepted but probably not meant
    """
    check_size(text, where)
    plain = one_line(text)
    reader = _Reader(plain, where)
    for tree in postorder(read(plain, where)):
        reader.take(tree)
    return Expression(plain, where, tuple(reader.steps))


class _Reader:
    """Turns syntax trees, operands first, into steps."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.steps: list[EvaluationStep] = []
        self._step_of: dict[int, int] = {}  # syntax tree -> number of the step with its value

    def take(self, tree: lark.Tree[Any]) -> None:
        """Add the step for a tree whose operands already have theirs."""
        kind, children = str(tree.data), tree.children
        if kind == "group" or (kind == "unary" and children[0] == "+"):
            self._step_of[id(tree)] = self._step_of[id(children[1])]
            return
        if kind == "number":
            step = self._number(tree)
        elif kind == "name":
            step = self._name(tree)
        elif kind == "call":
            step = self._call(tree)
        elif kind == "unary":
            step = self._operation(tree, "negate", children[0], [children[1]])
        else:
            step = self._operation(tree, str(children[1]), children[1], [children[0], children[2]])
        self._step_of[id(tree)] = len(self.steps)
        self.steps.append(step)

    def _number(self, tree: lark.Tree[Any]) -> EvaluationStep:
        digits = str(tree.children[0]).upper()
        value = float(digits.removesuffix("D"))
        if digits.endswith("D"):
            value = value * math.pi / 180
            if re.match(r"[+-][0-9]", self.text[tree.meta.end_pos :]):
                problem = f"the D of {digits} means degrees, and what follows is added to it or subtracted"
                self._warn(tree.meta.start_pos, problem, "Write an exponent with E, or a blank behind the D.")
        if not math.isfinite(value):
            raise self._fault(tree.meta.start_pos, f"{digits} is too large a number", value=digits)
        return self._step(tree, "number", line=LineInTime(0.0, value))

    def _name(self, tree: lark.Tree[Any]) -> EvaluationStep:
        written = str(tree.children[0])
        name = written.upper()
        if name == "TIME":
            return self._step(tree, "TIME", line=LineInTime(1.0, 0.0))
        if name in CONSTANTS:
            return self._step(tree, "number", line=LineInTime(0.0, CONSTANTS[name]))
        at = tree.meta.start_pos
        if name == "MODE":
            raise self._fault(at, "MODE, the code of the analysis, is not supported", value=written)
        if name in FUNCTIONS:
            form = f"Its form is {FUNCTIONS[name]}."
            raise self._fault(at, f"{name} is a function and needs its arguments in brackets", form, written)
        hint = near_miss(name, ["TIME", *CONSTANTS, *FUNCTIONS])
        raise self._fault(at, f"unknown name '{written}'", hint[0].upper() + hint[1:], written)

    def _operation(
        self, tree: lark.Tree[Any], symbol: str, token: Any, trees: Sequence[Any]
    ) -> EvaluationStep:
        operands = tuple(self._step_of[id(operand)] for operand in trees)
        lines = [self.steps[k].line for k in operands]
        number = self._constant(tree, token.start_pos, OPERATORS[symbol], lines)
        return self._step(tree, symbol, operands, at=token.start_pos, line=number or _line(symbol, lines))

    def _call(self, tree: lark.Tree[Any]) -> EvaluationStep:
        children: list[Any] = tree.children
        token, arguments = children[0], children[2:-1:2]
        function = self._function(token)
        self._check_form(function, token, children[3:-1:2], len(arguments))
        values, literals = arguments, list[int]()
        if function.takes_literals:
            values, written = arguments[: function.values], arguments[function.values :]
            names = function.arguments[function.values :]
            literals = [self._literal(function, *pair) for pair in zip(names, written, strict=False)]
            literals += [0] * (len(names) - len(literals))
        operands = tuple(self._step_of[id(value)] for value in values)
        lines = [self.steps[k].line for k in operands]
        numbers = [line.offset if line and not line.slope else None for line in lines]
        if reason := function.refuse(*numbers):
            raise self._fault(token.start_pos, f"{function.name}: {reason}", f"Its form is {function}.")
        if reason := function.caution(*numbers):
            self._warn(token.start_pos, f"{function.name}: {reason}", f"Its form is {function}.")
        constant = None
        if not function.takes_literals:
            constant = self._constant(tree, token.start_pos, function.evaluate, lines)
        return self._step(tree, function.name, operands, tuple(literals), token.start_pos, constant)

    def _function(self, token: Any) -> LanguageFunction:
        name = token.upper()
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        if name == "TIME" or name in CONSTANTS:
            raise self._fault(
                token.start_pos, f"{name} is not a function", f"Write {name} alone.", str(token)
            )
        hint = near_miss(name, FUNCTIONS)
        raise self._fault(
            token.start_pos, f"unknown function '{token}'", hint[0].upper() + hint[1:], str(token)
        )

    def _check_form(
        self, function: LanguageFunction, token: Any, separators: Sequence[Any], count: int
    ) -> None:
        """Check separators and number of arguments."""
        form = f"Its form is {function}."
        for k, separator in enumerate(separators):
            wanted = ":" if k == 0 and ":" in function.signature else ","
            if separator != wanted:
                problem = f"{function.name} has a '{separator}' where '{wanted}' belongs"
                raise self._fault(separator.start_pos, problem, form, str(separator))
        least, most = function.least, function.most
        if least <= count <= most:
            return
        if most == math.inf:
            wanted = f"at least {least}"
        else:
            wanted = f"{least}" if least == most else f"{least} to {most:g}"
        plural = "" if wanted == "1" else "s"
        problem = f"{function.name} takes {wanted} argument{plural}, got {count}"
        raise self._fault(token.start_pos, problem, form, count)

    def _literal(self, function: LanguageFunction, name: str, tree: lark.Tree[Any]) -> int:
        """Value of an argument that must be a number written out."""
        written = self.text[tree.meta.start_pos : tree.meta.end_pos]
        what, least, most = LITERALS[name]
        at = tree.meta.start_pos
        if not written.isdigit():
            problem = f"{name} of {function.name} is {what} and must be a plain integer, got '{written}'"
            whole = re.fullmatch(r"([0-9]+)\.0*", written)
            hint = f"Write {whole[1]}." if whole else "Write the number itself; it cannot be computed."
            raise self._fault(at, problem, hint, written)
        if not least <= int(written) <= most:
            limits = f"{least:g} to {most:g}" if most < math.inf else f"at least {least:g}"
            raise self._fault(
                at, f"{name} of {function.name} is {what} and must be {limits}, got {written}", value=written
            )
        return int(written)

    def _constant(
        self,
        tree: lark.Tree[Any],
        at: int,
        evaluate: Callable[..., ca.SX],
        lines: Sequence[LineInTime | None],
    ) -> LineInTime | None:
        """The value of an operation on literal numbers; one that is not finite is an error here and now."""
        numbers = [line.offset for line in lines if line and not line.slope]
        if len(numbers) < len(lines):
            return None
        value = float(evaluate(*(ca.SX(number) for number in numbers)))
        if not math.isfinite(value):
            written = self.text[tree.meta.start_pos : tree.meta.end_pos]
            raise self._fault(at, f"{written} is not a finite number", value=value)
        return LineInTime(0.0, value)

    def _step(
        self,
        tree: lark.Tree[Any],
        operation: str,
        operands: tuple[int, ...] = (),
        literals: tuple[int, ...] = (),
        at: int | None = None,
        line: LineInTime | None = None,
    ) -> EvaluationStep:
        start, end = tree.meta.start_pos, tree.meta.end_pos
        return EvaluationStep(operation, operands, literals, start, end, start if at is None else at, line)

    def _warn(self, at: int, problem: str, hint: str) -> None:
        warn_user(str(self._fault(at, problem, hint)), PlantWarning)

    def _fault(self, at: int, problem: str, hint: str = "", value: object = None) -> ExpressionError:
        return fault(self.text, at, problem, self.where, hint, value)


def _line(symbol: str, lines: Sequence[LineInTime | None]) -> LineInTime | None:
    """Result of an operator on lines in TIME, if it is a line again."""
    a, b = lines[0], lines[-1]
    if a is None or b is None:
        return None
    if symbol == "negate":
        return LineInTime(-a.slope, -a.offset)
    if symbol == "+":
        return LineInTime(a.slope + b.slope, a.offset + b.offset)
    if symbol == "-":
        return a - b
    if symbol == "*" and not (a.slope and b.slope):
        return LineInTime(a.slope * b.offset + b.slope * a.offset, a.offset * b.offset)
    if symbol == "/" and not b.slope and b.offset:
        return LineInTime(a.slope / b.offset, a.offset / b.offset)
    return None
