"""Grammar of the run-time expression language, and the errors about text that does not follow it.

Operators from strongest to weakest: ``**`` (right to left), sign, ``* /``, ``+ -`` (left to right), as in
Fortran: ``-2**2`` is -4 and ``2**-1`` a half. A ``D`` behind a number means degrees, never an exponent.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blocks.errors import ExpressionError

if TYPE_CHECKING:
    import lark

GRAMMAR = r"""
?start: sum
?sum: product
    | sum (PLUS | MINUS) product                         -> binary
?product: signed
    | product (STAR | SLASH) signed                      -> binary
?signed: power
    | (PLUS | MINUS) signed                              -> unary
?power: atom
    | atom POWER signed                                  -> binary
?atom: NUMBER                                            -> number
    | NAME                                               -> name
    | LPAR sum RPAR                                      -> group
    | NAME LPAR [sum ((COMMA | COLON) sum)*] RPAR        -> call

NUMBER: /([0-9]+\.?[0-9]*|\.[0-9]+)(E[+-]?[0-9]+)?D?/i
NAME: /[A-Z_][A-Z0-9_]*/i
POWER.2: "**"
PLUS: "+"
MINUS: "-"
STAR: "*"
SLASH: "/"
LPAR: "("
RPAR: ")"
COMMA: ","
COLON: ":"
%ignore " "
"""

WIDTH = 100  # longest text shown whole in a message
LONGEST = 200_000  # characters; they take a second and a half to read
DEEPEST = 2500  # brackets within brackets
SHORT = 200  # characters; trees of such texts are kept, 20 MB at most

_COMPARISON = "There are no comparisons; use IF(a-b: less, equal, greater), STEP, MAX or MIN."
_CURES = {
    "^": "Powers are written **.",
    "%": "The remainder is MOD(a, b).",
    **dict.fromkeys("<>=!&|~", _COMPARISON),
    **dict.fromkeys("[]{}", "Use round brackets ( )."),
    **dict.fromkeys("−–—", "Write an ordinary minus sign -."),
    **dict.fromkeys("×·", "Write multiplication as *."),
    "÷": "Write division as /.",
    "°": "Degrees are a D behind the number: 60D.",
}


def fault(
    text: str, at: int, problem: str, where: str = "", hint: str = "", value: object = None
) -> ExpressionError:
    """An error that shows the text with a caret.

    Parameters
    ----------
    text : str       the expression, without line breaks
    at : int         position of the fault in it, from 0
    problem : str    what is wrong, without a full stop
    where : str      file, line, element and attribute
    hint : str       the cure
    value : object   the offending piece
    """
    start = 0 if len(text) <= WIDTH else max(0, min(at - WIDTH // 2, len(text) - WIDTH))
    shown = text[start : start + WIDTH]
    before = "..." if start else ""
    after = "..." if start + WIDTH < len(text) else ""
    place = f" in {where}, column {at + 1}" if where else f" at column {at + 1}"
    message = f"{problem}{place}.{' ' if hint else ''}{hint}"
    if shown.strip():
        message += f"\n    {before}{shown}{after}\n    {' ' * (len(before) + at - start)}^"
    error = ExpressionError(message, path=where or None, value=value)
    error.hint = hint or None  # already in the message, above the caret
    return error


def check_size(text: str, where: str = "") -> None:
    """Refuse text that is too long or too deep to read in a moment; takes time linear in its length.

    Raises
    ------
    ExpressionError     more than `LONGEST` characters, or more than `DEEPEST` brackets open at once
    """
    hint = "Give parts of it to Reference_Variables and name these with VARVAL."
    if len(text) > LONGEST:
        problem = f"the expression has {len(text)} characters, and at most {LONGEST} are read"
        raise fault(one_line(text[: LONGEST + 1]), LONGEST, problem, where, hint, len(text))
    depth = 0
    for bracket in re.finditer(r"[()]", text):
        depth += 1 if bracket[0] == "(" else -1
        if depth > DEEPEST:
            problem = f"more than {DEEPEST} brackets within brackets"
            raise fault(one_line(text), bracket.start(), problem, where, hint)


def one_line(text: str) -> str:
    """The text with a blank for every line break and tab; positions stay."""
    return "".join(" " if character.isspace() else character for character in text)


def read(text: str, where: str = "") -> lark.Tree[Any]:
    """Syntax tree of a text without line breaks.

    Nodes: ``number(NUMBER)``, ``name(NAME)``, ``group(LPAR, node, RPAR)``, ``unary(sign, node)``,
    ``binary(node, operator, node)``, ``call(NAME, LPAR, node, COMMA or COLON, node, ..., RPAR)``.

    Raises
    ------
    ExpressionError     if the text does not follow the grammar
    """
    import lark

    if not text.strip():
        raise fault(text, 0, "the expression is empty", where)
    try:
        return _tree(text) if len(text) <= SHORT else _parser().parse(text)
    except lark.UnexpectedCharacters as error:
        raise _unknown_character(text, error.pos_in_stream or 0, where) from None
    except lark.UnexpectedToken as error:
        raise _unexpected(text, error, where) from None


def postorder(tree: lark.Tree[Any]) -> Iterator[lark.Tree[Any]]:
    """All nodes, operands before what uses them, from left to right; no recursion, whatever the depth."""
    waiting: list[tuple[lark.Tree[Any], bool]] = [(tree, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            yield node
            continue
        waiting.append((node, True))
        waiting.extend((child, False) for child in reversed(node.children) if not isinstance(child, str))


@functools.lru_cache(256)
def _tree(text: str) -> lark.Tree[Any]:
    """The syntax tree of a short text, which nobody changes; the same text is often read again."""
    return _parser().parse(text)


@functools.cache
def _parser() -> lark.Lark:
    """The one parser, made when the first expression is read; importing lark takes a while."""
    import lark

    return lark.Lark(
        GRAMMAR, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=False
    )


def _unknown_character(text: str, at: int, where: str) -> ExpressionError:
    word = re.match(r"\.[A-Za-z]+\.", text[at:])  # .EQ. and its like
    piece = word.group() if word else text[at]
    hint = _COMPARISON if word else _CURES.get(piece, "")
    return fault(text, at, f"'{piece}' has no meaning here", where, hint, piece)


def _unexpected(text: str, error: lark.UnexpectedToken, where: str) -> ExpressionError:
    """The error where the grammar does not allow a token."""
    token = error.token
    wants_value = "NUMBER" in error.expected
    if token.type == "$END":
        opened = _unclosed(text)
        if opened is not None and not wants_value:
            return fault(text, opened, "this '(' is never closed", where, "Add a ')'.")
        return fault(text, len(text.rstrip()), "the text ends where a value is expected", where)
    at = token.start_pos or 0
    piece = str(token)
    if not wants_value:
        if piece == ")":
            return fault(text, at, "this ')' closes nothing", where, "Remove it, or add a '('.", piece)
        if piece == ",":
            hint = "A decimal point is a point; lists of values appear in function calls only."
            return fault(text, at, "',' outside a function call", where, hint, piece)
        if piece == ":":
            return fault(text, at, "':' outside IF(e1: e2, e3, e4)", where, value=piece)
        hint = "Put * between factors."
        if re.search(r"[0-9.]D$", text[:at], re.IGNORECASE):
            hint = "Exponents are written with E, as in 1E5; a D behind a number means degrees."
        elif re.match(r"\.[A-Z]+\.", text[max(at - 1, 0) :], re.IGNORECASE):  # 1.EQ.2 reads as 1. EQ .2
            hint = _COMPARISON
        return fault(text, at, f"an operator is missing before '{piece}'", where, hint, piece)
    hint = "An omitted marker is written 0, or left out at the end." if piece in ",)" else ""
    return fault(text, at, f"a value is missing before '{piece}'", where, hint, piece)


def _unclosed(text: str) -> int | None:
    """Position of the last '(' without its ')'."""
    opened: list[int] = []
    for at, character in enumerate(text):
        if character == "(":
            opened.append(at)
        elif character == ")" and opened:
            opened.pop()
    return opened[-1] if opened else None
