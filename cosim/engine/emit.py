"""C from a flat function: our own printer of CasADi's instruction list.

CasADi prints a function as one C function, which compilers take minutes for when it is large. Here the list
is cut into pieces of a few hundred operations; values that cross a cut go through a scratch array. What
depends on parameters only is computed apart, once per run. A piece evaluates exactly what CasADi's virtual
machine would, operation by operation, so both give the same bits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

import casadi as ca

PIECE = 300  # operations per C function
ARGUMENTS = "txhwp"  # of every function of a system, see cosim.system
PARAMETERS = 4  # place of p among them

UNARY = {
    ca.OP_ASSIGN: "{0}", ca.OP_NEG: "-{0}", ca.OP_SQ: "{0} * {0}", ca.OP_TWICE: "2. * {0}",
    ca.OP_INV: "1. / {0}", ca.OP_NOT: "(double)!{0}", ca.OP_SIGN: "pl_sign({0})",
    ca.OP_ERFINV: "pl_erfinv({0})", ca.OP_EXP: "exp({0})", ca.OP_LOG: "log({0})", ca.OP_SQRT: "sqrt({0})",
    ca.OP_SIN: "sin({0})", ca.OP_COS: "cos({0})", ca.OP_TAN: "tan({0})", ca.OP_ASIN: "asin({0})",
    ca.OP_ACOS: "acos({0})", ca.OP_ATAN: "atan({0})", ca.OP_FLOOR: "floor({0})", ca.OP_CEIL: "ceil({0})",
    ca.OP_FABS: "fabs({0})", ca.OP_ERF: "erf({0})", ca.OP_SINH: "sinh({0})", ca.OP_COSH: "cosh({0})",
    ca.OP_TANH: "tanh({0})", ca.OP_ASINH: "asinh({0})", ca.OP_ACOSH: "acosh({0})",
    ca.OP_ATANH: "atanh({0})", ca.OP_LOG1P: "log1p({0})", ca.OP_EXPM1: "expm1({0})",
}  # fmt: skip
BINARY = {
    ca.OP_ADD: "{0} + {1}", ca.OP_SUB: "{0} - {1}", ca.OP_MUL: "{0} * {1}", ca.OP_DIV: "{0} / {1}",
    ca.OP_LT: "(double)({0} < {1})", ca.OP_LE: "(double)({0} <= {1})", ca.OP_EQ: "(double)({0} == {1})",
    ca.OP_NE: "(double)({0} != {1})", ca.OP_AND: "(double)({0} && {1})", ca.OP_OR: "(double)({0} || {1})",
    ca.OP_IF_ELSE_ZERO: "({0} ? {1} : 0.)", ca.OP_POW: "pow({0}, {1})", ca.OP_CONSTPOW: "pow({0}, {1})",
    ca.OP_FMIN: "fmin({0}, {1})", ca.OP_FMAX: "fmax({0}, {1})", ca.OP_FMOD: "fmod({0}, {1})",
    ca.OP_REMAINDER: "remainder({0}, {1})", ca.OP_COPYSIGN: "copysign({0}, {1})",
    ca.OP_ATAN2: "atan2({0}, {1})", ca.OP_HYPOT: "hypot({0}, {1})", ca.OP_LIFT: "{0}",
    ca.OP_PRINTME: "{0}",
}  # fmt: skip
PATTERNS = UNARY | BINARY


@dataclass(frozen=True)
class Input:
    """A number read from an argument of the function."""

    argument: int
    index: int


@dataclass(frozen=True)
class Constant:
    """A number written into the code."""

    value: float


@dataclass(frozen=True)
class Operation:
    """One operation, or one call with all its results, in terms of numbered values."""

    pattern: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    callee: str = ""

    @property
    def cost(self) -> int:
        """How much code it is: 1, for a call the numbers that go in and come out."""
        return 1 + len(self.operands) + len(self.results) if self.callee else 1


@dataclass
class Piece:
    """One C function."""

    name: str
    text: str
    needs: set[int] = field(default_factory=set)  # earlier pieces of the same function whose values it reads
    outputs: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Emitted:
    """A function as C: pieces called one after the other with (a, out)."""

    name: str
    pieces: list[Piece]
    operations: int


@dataclass
class Scratch:
    """What the functions of one model share: places for constants, room for scratch, functions called."""

    constants: int = 0
    doubles: int = 0
    integers: int = 0
    callees: dict[str, ca.Function] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)

    def callee(self, function: ca.Function) -> str:
        """C name of a function that is called."""
        key = function.__hash__()
        if key not in self._names:
            name = f"pl_call{len(self._names)}"
            self._names[key] = name
            self.callees[name] = function
        return self._names[key]


class Graph:
    """The instruction list of a function, every value numbered and computed once."""

    def __init__(self, function: ca.Function, scratch: Scratch) -> None:
        self.leaves: dict[int, Input | Constant] = {}
        self.operations: list[Operation] = []
        self.outputs: list[tuple[int, int]] = []  # (place in the output, value)
        self._count = 0
        self._known: dict[Input | Constant, int] = {}
        self._same: dict[tuple[str, tuple[int, ...]], int] = {}  # operations that are done already
        self._read(function, scratch)

    def _read(self, function: ca.Function, scratch: Scratch) -> None:
        register: dict[int, int] = {}
        calls: ca.SX | None = None
        identity, inputs, outputs = (
            function.instruction_id,
            function.instruction_input,
            function.instruction_output,
        )
        starts = _starts(function)
        for k in range(function.n_instructions()):
            op, into = identity(k), outputs(k)
            if op == ca.OP_OUTPUT:
                self.outputs.append((starts[into[0]] + into[1], register[inputs(k)[0]]))
            elif op == ca.OP_INPUT:
                register[into[0]] = self._leaf(Input(*inputs(k)))
            elif op == ca.OP_CONST:
                register[into[0]] = self._leaf(Constant(function.instruction_constant(k)))
            elif op == ca.OP_CALL:
                if calls is None:
                    calls = function.instructions_sx()
                name = scratch.callee(calls[k].which_function())
                self._operation("", inputs(k), into, register, name)
            else:
                self._operation(PATTERNS[op], inputs(k), into, register)

    def _leaf(self, leaf: Input | Constant) -> int:
        if isinstance(leaf, Constant):  # nan is never equal to itself
            self.leaves[self._count] = leaf
            self._count += 1
            return self._count - 1
        if leaf not in self._known:
            self._known[leaf] = self._count
            self.leaves[self._count] = leaf
            self._count += 1
        return self._known[leaf]

    def _operation(
        self, pattern: str, operands: list[int], into: list[int], register: dict[int, int], callee: str = ""
    ) -> None:
        operand = tuple(register[r] for r in operands)
        if pattern == "{0}":
            register[into[0]] = operand[0]
            return
        same = self._same.get((pattern, operand)) if pattern else None
        if same is not None:
            register[into[0]] = same
            return
        results = tuple(range(self._count, self._count + len(into)))
        self._count += len(into)
        for r, value in zip(into, results, strict=True):
            if r >= 0:
                register[r] = value
        self._same[pattern, operand] = results[0]
        self.operations.append(Operation(pattern, operand, results, callee))


def _starts(function: ca.Function) -> list[int]:
    starts = [0]
    for k in range(function.n_out()):
        starts.append(starts[-1] + function.nnz_out(k))
    return starts


def emit(name: str, function: ca.Function, scratch: Scratch) -> tuple[Emitted, Emitted]:
    """C of a function (t, x, h, w, p) -> outputs stacked into one array.

    Returns
    -------
    function : Emitted     reads c, the constants
    prepare : Emitted      computes the constants of this function into c from p
    """
    graph = Graph(function, scratch)
    constant = _parameters_only(graph)
    early = [o for o in graph.operations if constant[o.results[0]]]
    late = [o for o in graph.operations if not constant[o.results[0]]]
    used = {v for o in late for v in o.operands} | {v for _, v in graph.outputs}
    places: dict[int, int] = {}
    for o in early:
        for v in o.results:
            if v in used:
                places[v] = scratch.constants
                scratch.constants += 1
    prepare = _Printer(f"{name}_prepare", graph, scratch, {}).print(
        early, [(c, v) for v, c in places.items()]
    )
    return _Printer(name, graph, scratch, places).print(late, graph.outputs), prepare


def _parameters_only(graph: Graph) -> dict[int, bool]:
    found = {v: isinstance(leaf, Constant) or leaf.argument == PARAMETERS for v, leaf in graph.leaves.items()}
    for o in graph.operations:
        known = all(found[v] for v in o.operands)
        for v in o.results:
            found[v] = known
    return found


def _cut(operations: list[Operation]) -> list[list[Operation]]:
    """Pieces of about equal cost; at least one."""
    cuts: list[list[Operation]] = [[]]
    size = 0
    for o in operations:
        if size >= PIECE:
            cuts.append([])
            size = 0
        cuts[-1].append(o)
        size += o.cost
    return cuts


class _Printer:
    """Cuts a list of operations into pieces and prints them."""

    def __init__(self, name: str, graph: Graph, scratch: Scratch, constants: dict[int, int]) -> None:
        self.name, self.graph, self.scratch, self.constants = name, graph, scratch, constants
        self.crossing: dict[int, int] = {}  # value -> place in scratch
        self.made: dict[int, int] = {}  # value -> piece

    def print(self, operations: list[Operation], outputs: list[tuple[int, int]]) -> Emitted:
        cuts = _cut(operations)
        for k, part in enumerate(cuts):
            for o in part:
                self.made.update(dict.fromkeys(o.results, k))
        after: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for place, v in outputs:
            after[self.made.get(v, 0)].append((place, v))
        self._cross(cuts)
        room = max(self.crossing.values(), default=-1) + 1
        pieces = [self._piece(k, part, after[k], room) for k, part in enumerate(cuts)]
        if not operations and not outputs:
            pieces = []
        self.scratch.doubles = max(self.scratch.doubles, room)
        return Emitted(self.name, pieces, sum(o.cost for o in operations))

    def _cross(self, cuts: list[list[Operation]]) -> None:
        """Places in scratch for values read by later pieces, reused when nobody needs them any more."""
        last: dict[int, int] = {}
        for k, part in enumerate(cuts):
            for o in part:
                for v in o.operands:
                    if self.made.get(v, k) != k:
                        last[v] = k
        ends: dict[int, list[int]] = defaultdict(list)
        for v, k in last.items():
            ends[k].append(v)
        starts: dict[int, list[int]] = defaultdict(list)
        for v in last:
            starts[self.made[v]].append(v)
        free: list[int] = []
        count = 0
        for k in range(len(cuts)):
            for v in starts[k]:
                if free:
                    self.crossing[v] = free.pop()
                else:
                    self.crossing[v] = count
                    count += 1
            free += [self.crossing[v] for v in ends[k]]

    def _piece(self, k: int, part: list[Operation], outputs: list[tuple[int, int]], room: int) -> Piece:
        piece = Piece(f"{self.name}_{k}", "")
        lines: list[str] = []
        text: dict[int, str] = {}
        arrays: set[str] = set()

        def operand(v: int) -> str:
            if v not in text:
                text[v] = self._read(v, k, piece, arrays)
            return text[v]

        for o in part:
            names = [operand(v) for v in o.operands]
            if o.callee:
                lines += self._call(o, names, room)
                arrays.add("v")
            else:
                lines.append(f"    const double a{o.results[0]} = {o.pattern.format(*names)};")
            for v in o.results:
                text[v] = f"a{v}"
                if v in self.crossing:
                    arrays.add("v")
                    lines.append(f"    v[{self.crossing[v]}] = a{v};")
        for place, v in outputs:
            lines.append(f"    out[{place}] = {operand(v)};")
            piece.outputs.add(place)
        head = [f"void {piece.name}(const pl_args *a, double *restrict out)", "{"]
        for name in sorted(arrays):
            kind = "double *restrict" if name == "v" else "const double *restrict"
            head.append("    const double t = a->t;" if name == "t" else f"    {kind} {name} = a->{name};")
        piece.text = "\n".join([*head, *lines, "}"]) + "\n"
        return piece

    def _read(self, v: int, k: int, piece: Piece, arrays: set[str]) -> str:
        """How a piece reads a value made elsewhere."""
        leaf = self.graph.leaves.get(v)
        if isinstance(leaf, Constant):
            return number(leaf.value)
        if leaf is not None:
            name = ARGUMENTS[leaf.argument]
            arrays.add(name)
            return name if name == "t" else f"{name}[{leaf.index}]"
        if v in self.constants:
            arrays.add("c")
            return f"c[{self.constants[v]}]"
        arrays.add("v")
        piece.needs.add(self.made[v])
        return f"v[{self.crossing[v]}]"

    def _call(self, o: Operation, names: list[str], room: int) -> list[str]:
        """A call: arguments and results lie in scratch behind the values that cross cuts."""
        f = self.scratch.callees[o.callee]
        given, found = len(names), len(o.results)
        work = room + given + found
        self.scratch.doubles = max(self.scratch.doubles, work + f.sz_w())
        self.scratch.integers = max(self.scratch.integers, f.sz_iw())
        lines = ["    {", f"        const double *arg[{max(1, f.sz_arg())}];"]
        lines.append(f"        double *res[{max(1, f.sz_res())}];")
        lines += [f"        v[{room + i}] = {name};" for i, name in enumerate(names)]
        place = room
        for i in range(f.n_in()):
            lines.append(f"        arg[{i}] = v + {place};")
            place += f.nnz_in(i)
        for i in range(f.n_out()):
            lines.append(f"        res[{i}] = v + {place};")
            place += f.nnz_out(i)
        lines.append(f"        if ({o.callee}(arg, res, a->iv, v + {work}, 0))")
        lines.append(f"            for (int i = 0; i < {found}; i++) v[{room + given} + i] = NAN;")
        lines.append("    }")
        lines += [f"    const double a{v} = v[{room + given + i}];" for i, v in enumerate(o.results)]
        return lines


def number(value: float) -> str:
    """A double as C text that reads back as exactly the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    text = text if any(c in text for c in ".e") else text + "."
    return f"({text})" if text.startswith("-") else text
