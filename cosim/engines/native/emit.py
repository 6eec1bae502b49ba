"""C from a flat function: our own printer of its operations.

CasADi prints a function as one C function, which compilers take minutes for when it is large. Here the list
is cut into pieces of a few hundred operations, and what is done many times alike becomes one function (see
share.py); values that cross a cut go through a scratch array. What depends on parameters only is computed
apart, once per run. Every operation is exactly the one CasADi's virtual machine does, so both give the same
bits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import casadi as ca

from cosim.engines.native import share
from cosim.engines.native.graph import ARGUMENTS, Constant, Graph, Input, Operation, Output

SMALL = 15_000  # operations of a graph in which nothing is shared; code that stays in the cache is faster
PIECE = 300  # operations per C function
PREPARE = "prepare"
ROWS = 128  # copies per C function that calls a shared one


@dataclass
class Piece:
    """One C function, and the shared ones it calls."""

    name: str
    text: str
    needs: set[int] = field(default_factory=set)  # earlier pieces of the same function whose values it reads
    outputs: set[int] = field(default_factory=set)
    shapes: dict[str, str] = field(default_factory=dict)  # name -> text


@dataclass(frozen=True)
class Emitted:
    """A function as C: pieces called one after the other with (a, out); operations: how much code it is."""

    name: str
    pieces: list[Piece]
    operations: int

    @property
    def shapes(self) -> dict[str, str]:
        """All shared functions its pieces call."""
        return {name: text for piece in self.pieces for name, text in piece.shapes.items()}


@dataclass
class Scratch:
    """What the functions of one model share: places for constants, room for scratch, functions called.

    outside : functions that the host evaluates, by number, see outside.py; callees : those that are printed;
    shapes : shared functions by what they do
    """

    constants: int = 0
    doubles: int = 0
    integers: int = 0
    callees: dict[str, ca.Function] = field(default_factory=dict)
    outside: Sequence[ca.Function] = ()
    called: dict[str, ca.Function] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    shapes: dict[share.Key, str] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)

    def callee(self, function: ca.Function) -> str:
        """C name of a function that is called."""
        key = function.__hash__()
        if key not in self._names:
            name = f"pl_call{len(self._names)}"
            self._names[key] = name
            self.called[name] = function
            number = next((k for k, f in enumerate(self.outside) if f.__hash__() == key), None)
            if number is None:
                self.callees[name] = function
            else:
                self.numbers[name] = number
        return self._names[key]

    def shape(self, key: share.Key) -> str:
        """C name of a shared function."""
        return self.shapes.setdefault(key, f"pl_shape{len(self.shapes)}")

    @property
    def shared(self) -> int:
        """Operations of all shared functions."""
        return sum(map(len, self.shapes))


def emit(
    function: ca.Function, names: Sequence[str], scratch: Scratch, copies: bool = True
) -> tuple[dict[str, Emitted], Emitted]:
    """C of a function (t, x, h, w, p) with dense columns as outputs, each a C function of its name.

    Further outputs are values where a computation is cut to find equal parts: those of blocks. Without
    `copies` none are looked for: tables of places are slower than code and pay where they save compiling.

    Returns
    -------
    functions : dict       by name; they read c, the constants
    prepare : Emitted      computes the constants into c from p
    """
    graph = Graph(function, scratch.callee)
    fixed = graph.fixed()
    outputs = [graph.made(stores, fixed) for stores in graph.outputs[: len(names)]]
    seams = {v for stores in graph.outputs for _, v in stores}
    bodies = [graph.needed((v for _, v in stores), fixed) for stores in outputs]
    used = {v for body in bodies for o in body for v in o.operands if v in fixed}
    constants = {v: scratch.constants + k for k, v in enumerate(sorted(used))}
    scratch.constants += len(constants)
    bodies.append(graph.needed(used, ()))
    outputs.append([(place, v) for v, place in constants.items()])
    makers = [
        _Printer(name, graph, scratch, body, stores, seams, constants if name != PREPARE else {})
        for name, body, stores in zip([*names, PREPARE], bodies, outputs, strict=True)
    ]
    shapes = share.Shapes([m.body for m in makers] if copies and len(graph.operations) > SMALL else ())
    found = {m.name: m.print(shapes) for m in makers}
    return found, found.pop(PREPARE)


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


Calls = tuple[share.Group, ...]
Cut = list[Operation] | Calls  # what makes a piece


def _pieces(parts: list[share.Part]) -> list[Cut]:
    """Plain code in pieces of equal length, groups of copies in pieces of equal numbers."""
    cuts: list[Cut] = []
    calls: list[share.Group] = []
    room = ROWS

    def close() -> None:
        nonlocal calls, room
        if calls:
            cuts.append(tuple(calls))
        calls, room = [], ROWS

    for part in parts:
        if not isinstance(part, share.Group):
            close()
            cuts += _cut(part)
            continue
        copies = part.copies
        while copies:
            calls.append(share.Group(part.key, copies[:room]))
            copies, room = copies[room:], room - len(copies)
            if room <= 0:
                close()
    close()
    return cuts


class _Printer:
    """Cuts a list of operations into pieces and prints them."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        scratch: Scratch,
        operations: list[Operation],
        outputs: list[Output],
        seams: set[int],
        constants: dict[int, int],
    ) -> None:
        self.name, self.graph, self.scratch, self.constants = name, graph, scratch, constants
        self.stores = {v: place for place, v in outputs}
        self.body = share.Body(operations, self.stores, seams, self._source)
        self.crossing: dict[int, int] = {}  # value -> place in scratch
        self.made: dict[int, int] = {}  # value -> piece

    def print(self, shapes: share.Shapes) -> Emitted:
        cuts = _pieces(shapes.parts(self.body))
        for k, cut in enumerate(cuts):
            self.made.update(dict.fromkeys(_results(cut), k))
        room = self._cross(cuts)
        pieces = [
            self._copies(k, cut) if isinstance(cut, tuple) else self._plain(k, cut, room)
            for k, cut in enumerate(cuts)
        ]
        self.scratch.doubles = max(self.scratch.doubles, room)
        return Emitted(self.name, pieces, sum(map(_cost, cuts)))

    def _source(self, v: int) -> str:
        """Where a value that is no operation of the cone comes from: its array, or the number itself."""
        leaf = self.graph.leaves.get(v)
        if isinstance(leaf, Constant):
            return f"={number(leaf.value)}"
        if leaf is not None:
            return ARGUMENTS[leaf.argument]
        return "c" if v in self.constants else "v"

    def _cross(self, cuts: list[Cut]) -> int:
        """Places in scratch for values read by later pieces, reused when nobody needs them any more.

        Those of copies stand side by side. Returns how many places there are.
        """
        last: dict[int, int] = {}
        for k, cut in enumerate(cuts):
            for v in _reads(cut):
                if v in self.made and (self.made[v] != k or isinstance(cut, tuple)):
                    last[v] = k
        ends: dict[int, list[int]] = defaultdict(list)
        for v, k in last.items():
            ends[k].append(v)
        free: list[int] = []
        count = 0
        for k, cut in enumerate(cuts):
            for v in _results(cut):
                if v not in last:
                    continue
                if free and not isinstance(cut, tuple):
                    self.crossing[v] = free.pop()
                else:
                    self.crossing[v] = count
                    count += 1
            free += [self.crossing[v] for v in ends[k]]
        return count

    def _plain(self, k: int, cut: list[Operation], room: int) -> Piece:
        """Operation after operation."""
        piece = Piece(f"{self.name}_{k}", "")
        lines: list[str] = []
        text: dict[int, str] = {}
        arrays: set[str] = set()

        def operand(v: int) -> str:
            if v not in text:
                text[v] = self._read(v, k, piece, arrays)
            return text[v]

        for o in cut:
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
                if v in self.stores:
                    lines.append(f"    out[{self.stores[v]}] = a{v};")
                    piece.outputs.add(self.stores[v])
        head = f"void {piece.name}(const pl_args *a, double *restrict out)\n{{\n{share.locals_of(arrays)}"
        piece.text = head + "\n".join([*lines, "}"]) + "\n"
        return piece

    def _copies(self, k: int, cut: Calls) -> Piece:
        """Calls of shared functions, each with its table."""
        piece = Piece(f"{self.name}_{k}", "")
        lines = [f"void {piece.name}(const pl_args *a, double *restrict out)", "{"]
        for n, group in enumerate(cut):
            name = self.scratch.shape(group.key)
            piece.shapes[name] = share.shape(name, group.key)
            rows = [self._row(k, c, group.anywhere, piece) for c in group.copies]
            table = ",\n        ".join(", ".join(map(str, row)) for row in rows)
            lines.append(f"    static const int32_t q{n}[] = {{\n        {table},\n    }};")
            if group.numbered:
                numbers = ",\n        ".join(", ".join(c.numbers) for c in group.copies)
                lines.append(f"    static const double d{n}[] = {{\n        {numbers},\n    }};")
            lines.append(f"    {name}(a, out, q{n}, {f'd{n}' if group.numbered else 0}, {len(rows)});")
        piece.text = "\n".join([*lines, "}"]) + "\n"
        return piece

    def _row(self, k: int, c: share.Copy, wide: bool, piece: Piece) -> list[int]:
        """Places a copy reads from and writes to; wide: of which array as well."""
        piece.needs.update(self.made[v] for v in c.reads if v in self.made and self.made[v] != k)
        row = [share.place(self._source(v), self._place(v)) if wide else self._place(v) for v in c.reads]
        if c.result in self.stores:
            row.append(self.stores[c.result])
            piece.outputs.add(self.stores[c.result])
        if c.result in self.crossing:
            row.append(self.crossing[c.result])
        return row

    def _place(self, v: int) -> int:
        """Where in its array a value lies that some copy reads."""
        leaf = self.graph.leaves.get(v)
        if isinstance(leaf, Input):
            return leaf.index
        return self.constants[v] if v in self.constants else self.crossing[v]

    def _read(self, v: int, k: int, piece: Piece, arrays: set[str]) -> str:
        """How a piece of plain code reads a value made elsewhere."""
        array = self._source(v)
        if array.startswith("="):
            return array[1:]
        arrays.add(array)
        if array == "v":
            piece.needs.add(self.made[v])
        return array if array == "t" else f"{array}[{self._place(v)}]"

    def _call(self, o: Operation, names: list[str], room: int) -> list[str]:
        """A call: arguments and results lie in scratch behind the values that cross cuts."""
        f, number = self.scratch.called[o.callee], self.scratch.numbers.get(o.callee)
        given, found = len(names), len(o.results)
        work = room + given + found
        self.scratch.doubles = max(self.scratch.doubles, work + f.sz_w())
        self.scratch.integers = max(self.scratch.integers, f.sz_iw())
        lines = ["    {", *(f"        v[{room + i}] = {name};" for i, name in enumerate(names))]
        if number is None:
            lines += _pointers(f, room)
            lines.append(f"        if ({o.callee}(arg, res, a->iv, v + {work}, 0))")
        else:
            lines.append(f"        if (pl_call_host(a, {number}, v + {room}))")
        lines.append(f"            for (int i = 0; i < {found}; i++) v[{room + given} + i] = NAN;")
        lines.append("    }")
        lines += [f"    const double a{v} = v[{room + given + i}];" for i, v in enumerate(o.results)]
        return lines


def _pointers(f: ca.Function, place: int) -> list[str]:
    """Where a function CasADi prints finds its arguments and leaves its results."""
    lines = [
        f"        const double *arg[{max(1, f.sz_arg())}];",
        f"        double *res[{max(1, f.sz_res())}];",
    ]
    for i in range(f.n_in()):
        lines.append(f"        arg[{i}] = v + {place};")
        place += f.nnz_in(i)
    for i in range(f.n_out()):
        lines.append(f"        res[{i}] = v + {place};")
        place += f.nnz_out(i)
    return lines


def _results(cut: Cut) -> list[int]:
    """Values that others can see."""
    if isinstance(cut, tuple):
        return [c.result for group in cut for c in group.copies]
    return [v for o in cut for v in o.results]


def _reads(cut: Cut) -> Iterator[int]:
    if isinstance(cut, tuple):
        return (v for group in cut for c in group.copies for v in c.reads)
    return (v for o in cut for v in o.operands)


def _cost(cut: Cut) -> int:
    """How much code a piece is; tables and shared functions count little."""
    return len(cut) if isinstance(cut, tuple) else sum(o.cost for o in cut)


def number(value: float) -> str:
    """A double as C text that reads back as exactly the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    text = text if any(c in text for c in ".e") else text + "."
    return f"({text})" if text.startswith("-") else text
