"""The language of metrics and requirements: arithmetic on signals, comparisons, and operators over time.

::

    controller.u^2                      abs(plant.pendulum[0]) < 0.02 and not (push.y > 0)
    'arm/motor.w' - 2*pi                always[0, 2](motor.w < 10) implies eventually[0, 1](lamp.y > 0.5)

A name has a dot: ``block.port``, ``sub/block.port``, ``block.port[i]``, ``block.port.label``; other names,
and those inside subsystems called pi, e or t, stand in single quotes, their own quotes doubled:
``'motor.''a b''.w'``. ``t`` is the time [s]. Powers are ``^`` or ``**``. Windows are in seconds, or say their
unit: ``always[0, 200 ms](...)``; ``inf`` or ``end`` is the end of the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import ExpressionError, near_miss, shown

COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")
CONSTANTS = {"pi": math.pi, "e": math.e}
TIME = "t"
FUNCTIONS: dict[str, tuple[int, Callable[..., Any], Callable[..., Any]]] = {
    # name: number of arguments, on NumPy arrays, on CasADi's symbols
    "abs": (1, np.abs, ca.fabs),
    "sqrt": (1, np.sqrt, ca.sqrt),
    "exp": (1, np.exp, ca.exp),
    "log": (1, np.log, ca.log),
    "sin": (1, np.sin, ca.sin),
    "cos": (1, np.cos, ca.cos),
    "tan": (1, np.tan, ca.tan),
    "asin": (1, np.arcsin, ca.asin),
    "acos": (1, np.arccos, ca.acos),
    "atan": (1, np.arctan, ca.atan),
    "tanh": (1, np.tanh, ca.tanh),
    "sign": (1, np.sign, ca.sign),
    "floor": (1, np.floor, ca.floor),
    "atan2": (2, np.arctan2, ca.atan2),
    "hypot": (2, np.hypot, lambda a, b: ca.sqrt(a * a + b * b)),
    "min": (2, np.minimum, ca.fmin),
    "max": (2, np.maximum, ca.fmax),
}
REDUCTIONS = {  # reductions over a whole run: name -> the numbers they take besides the signal
    "integral": 0, "max": 0, "min": 0, "mean": 0, "rms": 0, "std": 0, "final": 0, "initial": 0, "median": 0,
    "percentile": 1, "time_of_max": 0, "time_of_min": 0, "count": 0, "duration": 0,
}  # fmt: skip
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}  # units of windows
OPERATORS = ("always", "eventually")
NESTED, LEVELS = 30, 200  # brackets in brackets; operations on operations: a sum of so many terms
SHOWN = 160  # characters of a text that a message quotes
WORDS = ("and", "or", "not", "implies", "until", *OPERATORS)


# --- what a formula is made of ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Formula:
    """A part of a formula; `column` is where it begins in the text, for messages."""

    column: int = field(compare=False)


@dataclass(frozen=True)
class PlainNumber(Formula):
    """A number."""

    value: float


@dataclass(frozen=True)
class Named(Formula):
    """A signal, or the time."""

    name: str


@dataclass(frozen=True)
class MetricNamed(Formula):
    """A metric of the study, by its name: a number of the whole run."""

    name: str


@dataclass(frozen=True)
class Arithmetic(Formula):
    """``+ - * / ^`` of two numbers."""

    sign: str
    left: Formula
    right: Formula


@dataclass(frozen=True)
class Applied(Formula):
    """A function of numbers."""

    function: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True)
class Reduced(Formula):
    """A number of a whole run: a signal's largest value, its integral, how often a condition comes true."""

    reduction: str
    of: Formula
    more: tuple[float, ...]


@dataclass(frozen=True)
class Compared(Formula):
    """A comparison of two numbers; its robustness is their distance."""

    sign: str
    left: Formula
    right: Formula


@dataclass(frozen=True)
class Logic(Formula):
    """``and``, ``or``, ``not``, ``implies`` of conditions."""

    word: str
    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Temporal(Formula):
    """``always``, ``eventually`` or ``until`` of conditions, within a window of times from now on [s]."""

    word: str
    parts: tuple[Formula, ...]
    begin: float = 0.0
    end: float = math.inf


CONDITIONS = (Compared, Logic, Temporal)


def parts(formula: Formula) -> list[Formula]:
    """The formulas a formula is made of, one level down."""
    sides = [part for name in ("left", "right", "of") if (part := getattr(formula, name, None)) is not None]
    return [*sides, *getattr(formula, "parts", ()), *getattr(formula, "arguments", ())]


def below(formula: Formula) -> Iterator[Formula]:
    """A formula and all its parts."""
    left = [formula]
    while left:
        one = left.pop()
        yield one
        left += reversed(parts(one))


def depth(formula: Formula) -> int:
    """The number of operations nested in each other; works for formulas of any depth."""
    levels, now = 0, [formula]
    while now:
        levels, now = levels + 1, [part for one in now for part in parts(one)]
    return levels


def names(formula: Formula) -> list[str]:
    """The signals a formula needs, each once."""
    return list(dict.fromkeys(p.name for p in below(formula) if isinstance(p, Named) and p.name != TIME))


# --- values -----------------------------------------------------------------------------------------------
def value(formula: Formula, look: Callable[[str], Any], symbolic: bool = False) -> Any:
    """Value of a numeric formula.

    look : value of a signal, and of the time as "t"; arrays, or CasADi's symbols with `symbolic`
    """
    match formula:
        case PlainNumber():
            return formula.value
        case Named():
            return look(formula.name)
        case Arithmetic():
            a, b = value(formula.left, look, symbolic), value(formula.right, look, symbolic)
            match formula.sign:
                case "+":
                    return a + b
                case "-":
                    return a - b
                case "*":
                    return a * b
                case "/":
                    return a / b
            return a**b
        case Applied():
            _, plain, symbols = FUNCTIONS[formula.function]
            return (symbols if symbolic else plain)(*(value(a, look, symbolic) for a in formula.arguments))
    raise TypeError(f"{type(formula).__name__} is no number")


# --- from text --------------------------------------------------------------------------------------------
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|'(?P<quoted>(?:[^']|'')+)'"
    r"|(?P<name>[A-Za-z_@]\w*(?:/[A-Za-z_]\w*)*\.[A-Za-z_]\w*(?:\.\w+)*(?:\[\d+\])?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|->|<=|>=|==|!=|[-+*/^()<>,\[\]])"
    r"|(?P<end>$))"
)


class Parser:
    """Reads one formula; `where` begins its messages, `metrics`: other words are names of metrics.

    Raises
    ------
    ExpressionError     what is wrong, the text, and a caret under the place
    """

    def __init__(self, text: str, where: str = "", metrics: bool = False) -> None:
        if not isinstance(text, str):
            raise ExpressionError(f"{where}a formula is {shown(text)}, expected a text.", value=text)
        self.text, self.where, self.metrics = text, where, metrics
        self.tokens = list(self._tokens())
        self.at = self.inside = 0

    def error(self, what: str, column: int) -> ExpressionError:
        """The message with the text and a caret."""
        begin = max(0, min(column - SHOWN // 2, len(self.text) - SHOWN))
        dots = "... " if begin else ""
        text = dots + self.text[begin : begin + SHOWN] + (" ..." if begin + SHOWN < len(self.text) else "")
        caret = " " * (len(dots) + column - begin) + "^"
        return ExpressionError(f"{self.where}{what}\n    {text}\n    {caret}", value=self.text)

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        position = 0
        while True:
            found = TOKEN.match(self.text, position)
            if found is None or (found.lastgroup == "end" and found.end() < len(self.text)):
                column = position + len(self.text[position:]) - len(self.text[position:].lstrip())
                raise self.error(f"'{self.text[column]}' is no part of a formula.", column)
            kind = str(found.lastgroup)
            word, column = found[kind], found.start(kind)
            if kind == "name" and "/" in word and word.split("/")[0] in (*CONSTANTS, TIME):
                word = word.split("/")[0]  # pi/motor.w is a quotient
                kind, position = "word", column + len(word)
            else:
                position = found.end()
            yield kind, word, column
            if kind == "end":
                return

    def read(self, condition: bool | None = None) -> Formula:
        """Read the whole formula; `condition` says whether it must be a condition, or a number."""
        found = self._implies()
        if depth(found) > LEVELS:
            raise self.error(f"the formula is too long: more than {LEVELS} operations on one another.", 0)
        kind, word, column = self.tokens[self.at]
        if kind != "end":
            raise self.error(f"'{word}' is not expected here.", column)
        if condition is not None:
            (self._condition if condition else self._number)(found)
        self._check_constants(found)
        return found

    def _check_constants(self, formula: Formula) -> float | None:
        """The value of a part without signals, which must be a finite number; None of any other part."""
        if isinstance(formula, PlainNumber) and math.isfinite(formula.value):
            return formula.value
        below = [self._check_constants(part) for part in parts(formula)]
        if not isinstance(formula, (PlainNumber, Arithmetic, Applied)) or None in below:
            return None
        try:
            with np.errstate(all="ignore"):
                found = value(formula, lambda name: math.nan)
        except (ZeroDivisionError, OverflowError):
            found = math.nan
        if isinstance(found, complex) or not math.isfinite(found):
            raise self.error("this is no finite real number.", formula.column)
        return float(found)

    def _take(self, *words: str) -> str | None:
        kind, word, _ = self.tokens[self.at]
        if word in words and kind in ("sign", "word"):
            self.at += 1
            return word
        return None

    def _need(self, sign: str) -> None:
        if self._take(sign) is None:
            _, word, column = self.tokens[self.at]
            raise self.error(f"expected '{sign}' {f'before {word!r}' if word else 'at the end'}.", column)

    @property
    def _column(self) -> int:
        return self.tokens[self.at][2]

    def _condition(self, formula: Formula) -> Formula:
        if not isinstance(formula, CONDITIONS):
            raise self.error("this is a number, expected a condition such as a.y < 1.", formula.column)
        return formula

    def _number(self, formula: Formula) -> Formula:
        if isinstance(formula, CONDITIONS):
            raise self.error("this is a condition, expected a number.", formula.column)
        return formula

    def _inner(self, part: Callable[[], Formula]) -> Formula:
        """Parse a part that may have parts like itself inside."""
        if self.inside == NESTED:
            raise self.error(f"more than {NESTED} parts inside one another.", self._column)
        self.inside += 1
        found = part()
        self.inside -= 1
        return found

    def _implies(self) -> Formula:
        return self._inner(self._implication)

    def _implication(self) -> Formula:
        column, left = self._column, self._until()
        if self._take("implies", "->") is None:
            return left
        return Logic(column, "implies", (self._condition(left), self._condition(self._implies())))

    def _until(self) -> Formula:
        column, left = self._column, self._or()
        if self._take("until") is None:
            return left
        begin, end = self._window()
        return Temporal(column, "until", (self._condition(left), self._condition(self._or())), begin, end)

    def _or(self) -> Formula:
        return self._several("or", self._and)

    def _and(self) -> Formula:
        return self._several("and", self._not)

    def _several(self, word: str, part: Callable[[], Formula]) -> Formula:
        column, found = self._column, [part()]
        while self._take(word) is not None:
            found.append(part())
        return found[0] if len(found) == 1 else Logic(column, word, tuple(map(self._condition, found)))

    def _not(self) -> Formula:
        column = self._column
        if self._take("not") is None:
            return self._compare()
        return Logic(column, "not", (self._condition(self._inner(self._not)),))

    def _compare(self) -> Formula:
        column, left = self._column, self._sum()
        sign = self._take(*COMPARISONS)
        if sign is None:
            return left
        right = self._sum()
        if (again := self._take(*COMPARISONS)) is not None:
            raise self.error(f"a second comparison, '{again}'; join two with 'and'.", column)
        return Compared(column, sign, self._number(left), self._number(right))

    def _sum(self) -> Formula:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Formula:
        return self._chain(("*", "/"), self._sign)

    def _chain(self, signs: tuple[str, ...], part: Callable[[], Formula]) -> Formula:
        column, found = self._column, part()
        while (sign := self._take(*signs)) is not None:
            found = Arithmetic(column, sign, self._number(found), self._number(part()))
        return found

    def _sign(self) -> Formula:
        column = self._column
        if self._take("+") is not None:
            return self._number(self._inner(self._sign))
        if self._take("-") is not None:
            return Arithmetic(column, "-", PlainNumber(column, 0.0), self._number(self._inner(self._sign)))
        return self._power()

    def _power(self) -> Formula:
        column, base = self._column, self._atom()
        if self._take("^", "**") is None:
            return base
        return Arithmetic(column, "^", self._number(base), self._number(self._inner(self._sign)))

    def _atom(self) -> Formula:
        kind, word, column = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return PlainNumber(column, float(word))
        if kind in ("name", "quoted"):
            return Named(column, word.replace("''", "'") if kind == "quoted" else word)
        if kind == "word" and word in OPERATORS:
            begin, end = self._window()
            self._need("(")
            inside = self._condition(self._implies())
            self._need(")")
            return Temporal(column, word, (inside,), begin, end)
        if kind == "word" and word not in WORDS:
            return self._word(word, column)
        if word == "(":
            inside = self._implies()
            self._need(")")
            return inside
        raise self.error(f"expected a value {f'instead of {word!r}' if word else 'at the end'}.", column)

    def _word(self, word: str, column: int) -> Formula:
        if self._take("(") is None:
            if word in CONSTANTS:
                return PlainNumber(column, CONSTANTS[word])
            if word == TIME:
                return Named(column, TIME)
            known = [*CONSTANTS, TIME, *FUNCTIONS, *REDUCTIONS]
            if self.metrics and word not in known:
                return MetricNamed(column, word)
            more = f"; {near_miss(word, known)}" if len(word) > 1 else "."
            raise self.error(f"'{word}' is no name: a signal is block.port{more}", column)
        arguments = [self._implies()]
        while self._take(",") is not None:
            arguments.append(self._implies())
        self._need(")")
        if (
            word in REDUCTIONS
            and len(arguments) == 1 + REDUCTIONS[word]
            and (word not in FUNCTIONS or len(arguments) != FUNCTIONS[word][0])
        ):
            return self._reduction(word, arguments, column)
        if word not in FUNCTIONS:
            if word in REDUCTIONS:
                raise self.error(
                    f"{word} takes {1 + REDUCTIONS[word]} arguments, got {len(arguments)}.", column
                )
            known = [*FUNCTIONS, *REDUCTIONS, *OPERATORS]
            raise self.error(f"no function '{word}'; {near_miss(word, known)}", column)
        if len(arguments) != (count := FUNCTIONS[word][0]):
            raise self.error(
                f"{word} takes {count} argument{'s' * (count > 1)}, got {len(arguments)}.", column
            )
        return Applied(column, word, tuple(map(self._number, arguments)))

    def _reduction(self, word: str, arguments: list[Formula], column: int) -> Formula:
        of, *more = arguments
        (self._condition if word in ("count", "duration") else self._number)(of)
        if any(isinstance(part, (Reduced, Temporal)) for part in below(of)):
            raise self.error(f"{word} of something that is over a whole run already.", of.column)
        for one in more:
            if not isinstance(one, PlainNumber):
                raise self.error("expected a number.", one.column)
            if word == "percentile" and one.value > 100:
                raise self.error(f"{one.value:g} is no percentile: they go from 0 to 100.", one.column)
        return Reduced(column, word, of, tuple(one.value for one in more if isinstance(one, PlainNumber)))

    def _window(self) -> tuple[float, float]:
        if self._take("[") is None:
            return 0.0, math.inf
        column, limits = self._column, []
        for sign in (",", "]"):
            kind, word, here = self.tokens[self.at]
            self.at += 1
            if kind != "number" and word not in ("inf", "end"):
                raise self.error("expected a number of seconds.", here)
            limits.append(math.inf if kind == "word" else float(word) * self._unit())
            self._need(sign)
        if math.isinf(limits[0]):
            raise self.error("the window begins at no time.", column)
        if not limits[0] <= limits[1]:
            raise self.error(f"the window ends at {limits[1]:g} s, before it begins.", column)
        return limits[0], limits[1]

    def _unit(self) -> float:
        """The length in seconds of the unit behind a number; 1 if there is none."""
        kind, word, _ = self.tokens[self.at]
        if kind != "word" or word not in SECONDS:
            return 1.0
        self.at += 1
        return SECONDS[word]


def parsed(text: str, where: str = "", condition: bool | None = None, metrics: bool = False) -> Formula:
    """Read a formula; `condition` says whether it must be a condition or a number, None for either.

    metrics : words that are nothing else are names of metrics

    Raises
    ------
    ExpressionError     with a caret under the place

    >>> names(parsed("controller.u^2 + abs(plant.pendulum[0])"))
    ['controller.u', 'plant.pendulum[0]']
    """
    return Parser(text, where, metrics).read(condition)
