"""A plan of the functions of a system: what goes into which piece, and where values that cross a cut lie.

One function of all operations takes compilers minutes when it is large. Here the list is cut into pieces of a
few hundred operations, and what is done many times alike becomes one shape (copies.py); values that cross a
cut go through scratch. What depends on parameters only is computed apart, once per run. Every operation is
exactly the one CasADi's virtual machine does, so both give the same bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import casadi as ca

from cosim.engines.codegen import copies, plan
from cosim.engines.codegen.graph import ARGUMENTS, Graph, GraphConstant, GraphInput, Operation, Output
from cosim.engines.codegen.plan import (
    OUT,
    SCRATCH,
    ArrayPlace,
    Callee,
    EarlierResult,
    FunctionPlan,
    Operand,
    Plan,
    WrittenNumber,
)

SMALL = 15_000  # operations of a graph in which nothing is shared; code that stays in the cache is faster
PIECE = 300  # operations per piece
PREPARE = "prepare"
ROWS = 128  # copies per piece


def planned(
    function: ca.Function,
    names: Sequence[str],
    host: Sequence[ca.Function] = (),
    share: bool = True,
) -> tuple[Plan, list[ca.Function]]:
    """The plan of a function (t, x, h, w, p) with dense columns as outputs, each a function of its name.

    Further outputs are values where a computation is cut to find equal parts: those of blocks.

    Parameters
    ----------
    host : functions that the host evaluates, by number
    share : look for copies; tables of places are slower than code and pay where they save compiling

    Returns
    -------
    plan : Plan
    callees : list of casadi.Function      by their number in the plan
    """
    callees = _Callees()
    graph = Graph(function, callees.number)
    fixed = graph.fixed()
    outputs = [graph.made(stores, fixed) for stores in graph.outputs[: len(names)]]
    seams = {v for stores in graph.outputs for _, v in stores}
    bodies = [graph.needed((v for _, v in stores), fixed) for stores in outputs]
    used = {v for body in bodies for o in body for v in o.operands if v in fixed}
    constants = {v: k for k, v in enumerate(sorted(used))}
    bodies.append(graph.needed(used, ()))
    outputs.append([(place, v) for v, place in constants.items()])
    known = callees.described(host)
    makers = [
        _Planner(name, graph, known, body, stores, seams, constants if name != PREPARE else {})
        for name, body, stores in zip([*names, PREPARE], bodies, outputs, strict=True)
    ]
    shared = copies.SharedShapes([m.body for m in makers] if share and len(graph.operations) > SMALL else ())
    shapes: dict[copies.Key, plan.Shape] = {}
    found = {m.name: m.function(shared, shapes) for m in makers}
    prepare = found.pop(PREPARE)
    doubles, integers = (max(sizes) for sizes in zip(*(m.scratch for m in makers), strict=True))
    return Plan(found, prepare, known, len(constants), doubles, integers), callees.functions


class _Callees:
    """Functions that are called, by number: in the order of their first call."""

    def __init__(self) -> None:
        self.functions: list[ca.Function] = []
        self._numbers: dict[int, int] = {}

    def number(self, function: ca.Function) -> int:
        """Number of a function."""
        key = function.__hash__()
        if key not in self._numbers:
            self._numbers[key] = len(self.functions)
            self.functions.append(function)
        return self._numbers[key]

    def described(self, host: Sequence[ca.Function]) -> list[Callee]:
        """What a plan says of them."""
        answered = {f.__hash__(): k for k, f in reversed([*enumerate(host)])}
        return [
            Callee(
                k,
                tuple(f.nnz_in(i) for i in range(f.n_in())),
                tuple(f.nnz_out(i) for i in range(f.n_out())),
                (f.sz_arg(), f.sz_res()),
                f.sz_w(),
                f.sz_iw(),
                answered.get(f.__hash__()),
            )
            for k, f in enumerate(self.functions)
        ]


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


Groups = tuple[copies.Group, ...]
Cut = list[Operation] | Groups  # what makes a piece


def _pieces(parts: list[copies.Part]) -> list[Cut]:
    """Plain code in pieces of equal length, groups of copies in pieces of equal numbers."""
    cuts: list[Cut] = []
    groups: list[copies.Group] = []
    room = ROWS

    def close() -> None:
        nonlocal groups, room
        if groups:
            cuts.append(tuple(groups))
        groups, room = [], ROWS

    for part in parts:
        if not isinstance(part, copies.Group):
            close()
            cuts += _cut(part)
            continue
        left = part.copies
        while left:
            groups.append(copies.Group(part.key, left[:room]))
            left, room = left[room:], room - len(left)
            if room <= 0:
                close()
    close()
    return cuts


class _Planner:
    """Cuts a list of operations into pieces and finds a place for every value."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        callees: Sequence[Callee],
        operations: list[Operation],
        outputs: list[Output],
        seams: set[int],
        constants: dict[int, int],
    ) -> None:
        self.name, self.graph, self.callees, self.constants = name, graph, callees, constants
        self.stores = {v: place for place, v in outputs}
        self.body = copies.FunctionBody(operations, self.stores, seams, self._source)
        self.crossing: dict[int, int] = {}  # value -> place in scratch
        self.made: dict[int, int] = {}  # value -> piece
        self.scratch = (0, 0)  # doubles and integers

    def function(self, shared: copies.SharedShapes, shapes: dict[copies.Key, plan.Shape]) -> FunctionPlan:
        """The pieces; `shapes` are those known so far, and grow."""
        cuts = _pieces(shared.parts(self.body))
        for k, cut in enumerate(cuts):
            self.made.update(dict.fromkeys(_results(cut), k))
        room = self._cross(cuts)
        self.scratch = (room, 0)
        pieces: list[plan.Piece] = [
            self._shared(k, cut, shapes) if isinstance(cut, tuple) else self._plain(k, cut, room)
            for k, cut in enumerate(cuts)
        ]
        return FunctionPlan(self.name, pieces, sum(map(_cost, cuts)))

    def _source(self, v: int) -> str | float:
        """Where a value that no step of the piece makes comes from: its array, or the number itself."""
        leaf = self.graph.leaves.get(v)
        if isinstance(leaf, GraphConstant):
            return leaf.value
        if leaf is not None:
            return ARGUMENTS[leaf.argument]
        return "c" if v in self.constants else SCRATCH

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

    def _plain(self, k: int, cut: list[Operation], room: int) -> plan.Plain:
        """Operation after operation."""
        piece = plan.Plain(f"{self.name}_{k}")
        known: dict[int, Operand] = {}

        def operand(v: int) -> Operand:
            if v not in known:
                known[v] = self._read(v, piece)
            return known[v]

        for o in cut:
            operands = tuple(map(operand, o.operands))
            known.update((v, EarlierResult(v)) for v in o.results)
            stores = tuple(self._stores(v) for v in o.results)
            piece.outputs.update(s.index for places in stores for s in places if s.array == OUT)
            if o.callee < 0:
                piece.steps.append(plan.Compute(o.name, operands, o.results[0], stores[0]))
            else:
                piece.steps.append(plan.Call(o.callee, operands, o.results, stores, room))
                self._make_room(room, o)
        return piece

    def _stores(self, v: int) -> tuple[ArrayPlace, ...]:
        """Where a value goes that others read."""
        found = []
        if v in self.crossing:
            found.append(ArrayPlace(SCRATCH, self.crossing[v]))
        if v in self.stores:
            found.append(ArrayPlace(OUT, self.stores[v]))
        return tuple(found)

    def _make_room(self, room: int, o: Operation) -> None:
        """Scratch for a call: its arguments and results, and what it needs to work."""
        callee, (doubles, integers) = self.callees[o.callee], self.scratch
        work = room + len(o.operands) + len(o.results) + callee.doubles
        self.scratch = max(doubles, work), max(integers, callee.integers)

    def _read(self, v: int, piece: plan.Plain) -> Operand:
        """How a piece reads a value made elsewhere."""
        source = self._source(v)
        if isinstance(source, float):
            return WrittenNumber(source)
        if source == SCRATCH:
            piece.needs.add(self.made[v])
        return ArrayPlace(source, self._place(v))

    def _place(self, v: int) -> int:
        """Where in its array a value lies."""
        leaf = self.graph.leaves.get(v)
        if isinstance(leaf, GraphInput):
            return leaf.index
        return self.constants[v] if v in self.constants else self.crossing[v]

    def _shared(self, k: int, cut: Groups, shapes: dict[copies.Key, plan.Shape]) -> plan.Shared:
        """Copies of shapes, each with its tables."""
        piece = plan.Shared(f"{self.name}_{k}")
        for group in cut:
            if group.key not in shapes:
                shapes[group.key] = _shape(len(shapes), group.key)
            places = [self._row(k, c, piece) for c in group.copies]
            numbers = [c.numbers for c in group.copies] if group.numbered else []
            piece.copies.append(plan.Copies(shapes[group.key], places, numbers))
        return piece

    def _row(self, k: int, c: copies.Copy, piece: plan.Shared) -> list[int]:
        """Places a copy reads from and writes to."""
        piece.needs.update(self.made[v] for v in c.reads if v in self.made and self.made[v] != k)
        row = [self._place(v) for v in c.reads]
        if c.result in self.stores:
            row.append(self.stores[c.result])
            piece.outputs.add(self.stores[c.result])
        if c.result in self.crossing:
            row.append(self.crossing[c.result])
        return row


def _shape(number: int, key: copies.Key) -> plan.Shape:
    """A key as a plan writes it."""
    *operations, stores = key

    def operand(kind: str, value: int | str) -> plan.ShapeOperand:
        if kind == copies.CONSTANT:
            return WrittenNumber(float.fromhex(str(value)))
        if kind == copies.OWN:
            return EarlierResult(int(value))
        return plan.NumberColumn(int(value)) if kind == copies.NUMBER else plan.PlaceColumn(kind, int(value))

    steps = tuple((name, tuple(operand(*v) for v in operands)) for name, *operands in operations)
    return plan.Shape(number, steps, stores)


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
    """How much code a piece is; tables and shapes count little."""
    return len(cut) if isinstance(cut, tuple) else sum(o.cost for o in cut)
