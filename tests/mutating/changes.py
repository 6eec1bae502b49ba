"""Single changes of a source file: an operator, a comparison, a constant, a term, two arguments, an index."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PLAIN = 16  # characters that need no line around them to be understood


@dataclass(frozen=True)
class Change:
    """One change: bytes `start` to `stop` of a file become `text`."""

    file: str  # from the root of the checkout
    line: int
    start: int
    stop: int
    before: str
    text: str
    lines: tuple[int, ...]  # the lines a test has to run to see it
    module_level: bool = False  # runs when the file is imported
    shown: str = ""  # its line

    @property
    def described(self) -> str:
        """As a report shows it; no line number, which moves."""
        before, text = " ".join(self.before.split()), " ".join(self.text.split())
        place = f" in `{self.shown}`" if len(before) < PLAIN else ""
        return f"`{before}` -> `{text}`{place}"

    def applied(self, source: bytes) -> bytes:
        """The file with the change in it."""
        return source[: self.start] + self.text.encode() + source[self.stop :]


BINARY: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
SIGNS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
TURNED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


GENERIC = ("tuple", "dict", "Mapping", "Callable", "Sequence", "Annotated")


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """What a node could have been by mistake."""
    new = copy.copy
    if isinstance(node, ast.BinOp):
        if type(node.op) in BINARY:
            other = new(node)
            other.op = BINARY[type(node.op)]()
            yield other
        if isinstance(node.op, ast.Add | ast.Sub):
            yield node.left
        if isinstance(node.op, ast.MatMult):
            yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.AugAssign) and type(node.op) in BINARY:
        other_assign = new(node)
        other_assign.op = BINARY[type(node.op)]()
        yield other_assign
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (COMPARISONS, TURNED):
            if type(node.ops[0]) in table:
                compare = new(node)
                compare.ops = [table[type(node.ops[0])]()]
                yield compare
    elif isinstance(node, ast.BoolOp):
        bool_op = new(node)
        bool_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield bool_op
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and not any(map(no_swap, node.args[:2])):
        call = new(node)
        call.args = [node.args[1], node.args[0], *node.args[2:]]
        yield call
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        if isinstance(node.value, ast.Name) and node.value.id in GENERIC:
            return  # an alias of a type
        subscript = new(node)
        subscript.slice = ast.Tuple([node.slice.elts[1], node.slice.elts[0]], node.slice.ctx)
        yield subscript
    elif isinstance(node, ast.Attribute) and node.attr == "T" and isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def no_swap(arg: ast.expr) -> bool:
    """Arguments nobody confuses with their neighbours: texts, and several at once."""
    text = isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    return text or isinstance(arg, ast.Starred | ast.JoinedStr | ast.GeneratorExp | ast.Lambda)


def left_alone(node: ast.AST) -> list[ast.AST]:
    """Parts of a node in which a change has no meaning: annotations, messages, what type checkers read."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, *([node.returns] if node.returns else [])]
    if isinstance(node, ast.arg):
        return [node.annotation] if node.annotation else []
    if isinstance(node, ast.keyword) and node.arg in ("strict", "stacklevel"):
        return [node.value]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases]
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
        "warn",
        "TypeVar",
        "cast",
    ):
        return list(ast.iter_child_nodes(node))
    return []


def in_python(file: str, source: bytes) -> list[Change]:
    """Every change of a Python file, in the order of the file."""
    offsets, rows = [0], source.decode().splitlines()
    for row in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(row))
    found: list[Change] = []

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return offsets[node.lineno - 1] + node.col_offset, offsets[node.end_lineno - 1] + node.end_col_offset

    def visit(node: ast.AST, statement: ast.stmt | None, inside: bool) -> None:
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.expr | ast.stmt) and statement is not None:
            start, stop = place(node)
            head = (
                statement.body[0].lineno - 1
                if isinstance(statement, ast.If | ast.For | ast.While | ast.With)
                else None
            )
            last = max(node.lineno, head if head is not None else (statement.end_lineno or node.lineno))
            lines = tuple(range(min(statement.lineno, node.lineno), last + 1))
            for other in variants(node):
                text = ast.unparse(ast.fix_missing_locations(other))
                if text == ast.unparse(node):
                    continue
                if isinstance(node, ast.expr) and not isinstance(other, ast.Constant | ast.Name | ast.Call):
                    text = f"({text})"
                before = source[start:stop].decode()
                shown = rows[node.lineno - 1].strip()
                found.append(Change(file, node.lineno, start, stop, before, text, lines, not inside, shown))
        skipped = left_alone(node)
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            if not any(child is other for other in skipped):
                visit(child, statement, inside or function)

    visit(ast.parse(source), None, False)
    return sorted(set(found), key=lambda c: (c.start, c.stop, c.text))


C_OPERATORS = {
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "<": ["<=", ">"], "<=": ["<"], ">": [">=", "<"],
    ">=": [">"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "+=": ["-="], "-=": ["+="],
}  # fmt: skip
C_WORDS = re.compile(
    r"(?P<op>(?<= )(?:\+=|-=|<=|>=|==|!=|&&|\|\||[-+*/<>])(?= ))"
    r"|(?P<not>!(?=[A-Za-z_(]))"
    r"|(?P<minus>(?<=[(=,] )-(?=[\w(])|(?<=\()-(?=[\w(]))"
    r"|(?P<number>(?<![\w.])(?<!p-)\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]))"
    r"|(?P<step>\+\+|--)"
    r"|(?P<pair>(?<=\()(?P<first>[A-Za-z_]\w*), (?P<second>[A-Za-z_]\w*)(?=[,)]))"
)
C_ASIDE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
C_TYPES = ("int", "double", "void", "char", "const", "static", "long", "struct", "size_t")


def in_c(file: str, source: bytes) -> list[Change]:
    """Every change of a C file, by its tokens; comments, texts and directives are left alone."""
    text = source.decode("ascii", errors="replace")
    code = C_ASIDE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found = []
    for word in C_WORDS.finditer(code):
        kind, old = word.lastgroup, word[0]
        if word["pair"]:
            if word["first"] == word["second"] or word["first"] in C_TYPES:
                continue
            new = [f"{word['second']}, {word['first']}"]
        elif word["op"]:
            row = code[code.rfind("\n", 0, word.start()) + 1 : word.start()]
            if old == "*" and re.fullmatch(r"\s*(static |const )*(\w+ )?", row + " "):
                continue  # a pointer
            new = C_OPERATORS[old]
        elif kind == "number":
            new = (
                [f"{old} + 1", f"{old} - 1"]
                if "." in old or "e" in old
                else [str(int(old) + 1), str(int(old) - 1)]
            )
        elif kind == "step":
            new = ["--" if old == "++" else "++"]
        else:
            new = [""]
        line = code.count("\n", 0, word.start()) + 1
        shown = text.splitlines()[line - 1].strip()
        for other in new:
            found.append(Change(file, line, word.start(), word.end(), old, other, (line,), shown=shown))
    return list(found)


def changes_of(root: Path, file: str) -> list[Change]:
    """Every change of a file of the checkout."""
    source = (root / file).read_bytes()
    return in_c(file, source) if file.endswith(".c") else in_python(file, source)
