"""A plan of the functions of a system: what goes into which piece, and where values that cross a cut lie.

One function of all operations takes compilers minutes when it is large. Here the list is cut into pieces of a
few hundred operations, and what is done many times alike becomes one shape (copies.py); values that cross a
cut go through scratch. What depends on parameters only is computed apart, once per run. Every operation is
exactly the one CasADi's virtual machine does, so both give the same bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import casadi as ca

from cosim.engines.codegen import copies, plan, stretches
from cosim.engines.codegen.fused import fused
from cosim.engines.codegen.graph import ARGUMENTS, Graph, GraphConstant, GraphInput, Operation, Output
from cosim.engines.codegen.number_tables import NumberTables
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

SMALL = 3000  # operations of a graph in which nothing is shared; so little code stays in the cache
PIECE = 300  # operations per piece
PREPARE = "prepare"
ROWS = 128  # copies per piece
LONG = (
    60_000  # operations of a graph in which stretches that repeat are looked for: smaller code runs as fast
)


def planned(
    function: ca.Function,
    names: Sequence[str],
    host: Sequence[ca.Function] = (),
    share: bool = True,
    arranged: Sequence[str] = (),
    tables: NumberTables | None = None,
) -> tuple[Plan, list[ca.Function]]:
    """The plan of a function (t, x, h, w, p) with dense columns as outputs, each a function of its name.

    Further outputs are values where a computation is cut to find equal parts: those of blocks.

    Parameters
    ----------
    host : functions that the host evaluates, by number
    share : look for copies; tables of places are slower than code and pay where they save compiling
    arranged : names of functions whose results are stored behind each other, equal ones once, in an order
        that suits the code; of others in order
    tables : what is called takes these as arguments, and is returned so; by default they are in the code

    Returns
    -------
    plan : Plan
    callees : list of casadi.Function      by their number in the plan
    """
    callees = _Callees()
    graph = Graph(function, callees.number)
    fixed = graph.fixed()
    outputs = [
        graph.made(_once(stores) if name in arranged else stores, fixed)
        for name, stores in zip(names, graph.outputs, strict=False)
    ]
    seams = {v for stores in graph.outputs for _, v in stores}
    bodies = [graph.needed((v for _, v in stores), fixed) for stores in outputs]
    sharing = share and len(graph.operations) > SMALL
    lasting = graph.parameters() | fixed if sharing else fixed
    used = {v for body in bodies for o in body for v in o.operands if v in lasting}
    constants = dict.fromkeys(sorted(used), 0)  # places follow, where what copies read is known
    made = graph.made([*enumerate(constants)], ())
    bodies.append(graph.needed((v for _, v in made), ()))
    outputs.append(made)
    known = callees.described(host, tables or NumberTables(()))
    makers = [
        _Planner(name, graph, known, body, stores, seams, constants if name != PREPARE else {})
        for name, body, stores in zip([*names, PREPARE], bodies, outputs, strict=True)
    ]
    shared = copies.SharedShapes([m.body for m in makers] if sharing else ())
    parts: list[list[_Part]] = [list(m.fused(shared.parts(m.body))) for m in makers]
    if len(graph.operations) > LONG:
        parts = _with_stretches(makers, parts)
    constants.update((v, place) for place, v in enumerate(_side_by_side(parts, constants)))
    makers[-1].stores = dict(zip((v for _, v in made), constants.values(), strict=True))
    behind = 0
    arrangement: dict[str, list[int]] = {}
    for m, part, stores in zip(makers, parts, [*graph.outputs[: len(names)], []], strict=True):
        if m.name in arranged:
            arrangement[m.name] = m.arrange(part, stores, behind)
            behind += len(m.stores)
        m.cut(part)
    repeated = stretches.shapes_of((s for m in makers for s in m.repeating()), OUT, SCRATCH)
    shapes: dict[copies.Key, plan.Shape] = {}
    found = {m.name: m.function(shapes, repeated) for m in makers}
    prepare = found.pop(PREPARE)
    doubles, integers = (max(sizes) for sizes in zip(*(m.scratch for m in makers), strict=True))
    plan_of_all = Plan(found, prepare, known, len(constants), doubles, integers, arrangement)
    return plan_of_all, callees.functions


def _side_by_side(parts: Sequence[Sequence[_Part]], constants: Collection[int]) -> list[int]:
    """Constants in the order in which copies read them: loops find them side by side."""
    groups = (part for own in parts for part in own if isinstance(part, copies.Group))
    columns = (column for g in groups for column in zip(*(c.reads for c in g.copies), strict=True))
    found = dict.fromkeys(v for column in columns for v in column if v in constants)
    return [*(found | dict.fromkeys(constants))]


def _once(stores: list[Output]) -> list[Output]:
    """Results of a function, of equal ones the first."""
    return [(k, v) for v, k in reversed({v: k for k, v in reversed(stores)}.items())]


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

    def described(self, host: Sequence[ca.Function], tables: NumberTables) -> list[Callee]:
        """What a plan says of them; from then on they take their tables as arguments."""
        answered = {f.__hash__(): k for k, f in reversed([*enumerate(host)])}
        first: dict[str, int] = {}  # functions without numbers by their text
        found = []
        for k, f in enumerate(self.functions):
            own = tables.of(f)
            self.functions[k] = bare = tables.without(f)
            found.append(
                Callee(
                    k,
                    tuple(f.nnz_in(i) for i in range(f.n_in())),
                    tuple(f.nnz_out(i) for i in range(f.n_out())),
                    (bare.sz_arg(), bare.sz_res()),
                    bare.sz_w(),
                    bare.sz_iw(),
                    answered.get(f.__hash__()),
                    first.setdefault(bare.serialize(), k) if own else k,
                    own,
                )
            )
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


Groups = tuple[copies.Group, ...]
Cut = list[Operation] | Groups | stretches.Stretch
_Part = copies.Part | stretches.Stretch


def _with_stretches(makers: Sequence[_Planner], parts: list[list[_Part]]) -> list[list[_Part]]:
    """The same, but functions without copies of blocks divided into stretches that repeat and the rest."""
    plain = [k for k, own in enumerate(parts) if len(own) == 1 and isinstance(own[0], list)]
    bodies = [makers[k].body for k in plain]
    codes = [stretches.Code(b.operations, b.outputs, b.source) for b in bodies]
    found = dict(zip(plain, stretches.repeated(codes), strict=True))
    return [[*found[k]] if k in found else own for k, own in enumerate(parts)]


def _cuts(parts: list[_Part], rows: int) -> list[Cut]:
    """Plain code cut to equal length, groups of copies to pieces of so many rows; stretches as they are."""
    cuts: list[Cut] = []
    groups: list[copies.Group] = []
    room = rows

    def close() -> None:
        nonlocal groups, room
        if groups:
            cuts.append(tuple(groups))
        groups, room = [], rows

    for part in parts:
        if not isinstance(part, copies.Group):
            close()
            cuts += _cut(part) if isinstance(part, list) else [part]
            continue
        left = part.copies
        while left:
            groups.append(copies.Group(part.key, left[:room]))
            left, room = left[room:], room - len(left)
            if room <= 0:
                close()
    close()
    return cuts


class _Sources(dict[int, str | float]):
    """The source of a value that no step of a piece computes: its array, or the number itself.

    Found when first asked for: stretches of a large function are looked at again and again.
    """

    def __init__(self, graph: Graph, constants: dict[int, int]) -> None:
        super().__init__()
        self._leaves, self._constants = graph.leaves, constants

    def __missing__(self, v: int) -> str | float:
        leaf = self._leaves.get(v)
        if isinstance(leaf, GraphConstant):
            found: str | float = leaf.value
        elif v in self._constants:
            found = "c"
        else:
            found = SCRATCH if leaf is None else ARGUMENTS[leaf.argument]
        self[v] = found
        return found


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
        self.once = name == PREPARE  # called whole, and once
        self.stores = {v: place for place, v in outputs}
        self._source = _Sources(graph, constants).__getitem__
        self.body = copies.FunctionBody(operations, self.stores, seams, self._source)
        self.crossing: dict[int, int] = {}  # value -> place in scratch
        self.made: dict[int, int] = {}  # value -> piece
        self.cuts: list[Cut] = []
        self.room = 0  # places in scratch
        self.scratch = (0, 0)  # doubles and integers

    def fused(self, parts: list[copies.Part]) -> list[copies.Part]:
        """The parts, those of one block in one loop where that can be."""

        def place(v: int) -> tuple[str, int] | None:
            leaf = self.graph.leaves.get(v)
            if v in self.constants or not isinstance(leaf, GraphInput):
                return None
            return ARGUMENTS[leaf.argument], leaf.index

        return parts if self.once or len(parts) < 2 else fused(parts, self.stores, place)

    def arrange(self, parts: Sequence[_Part], results: Sequence[Output], first: int) -> list[int]:
        """Store results in the order in which copies make them, from place `first` on.

        results : of the function, numbered in order; returns the place of each
        """
        groups = (part for part in parts if isinstance(part, copies.Group))
        order = dict.fromkeys(v for group in groups for v in group.kept_in(OUT)) | dict.fromkeys(self.stores)
        kept = {self.stores[v]: place for place, v in enumerate(order, first)}  # by the number of a result
        self.stores.update(zip(order, range(first, first + len(order)), strict=True))
        numbers = {v: k for k, v in reversed(results)}
        return [kept[numbers[v]] for _, v in sorted(results)]

    def cut(self, parts: list[_Part]) -> None:
        """Find cuts, and places for values that are read behind one."""
        self._groups = [part for part in parts if isinstance(part, copies.Group)]
        self.cuts = _cuts(parts, len(self.body.operations) if self.once else ROWS)
        for k, cut in enumerate(self.cuts):
            self.made.update(dict.fromkeys(_results(cut), k))
        self.room = self._cross(self.cuts)
        self.scratch = (self.room, 0)

    def repeating(self) -> Iterator[tuple[stretches.Stretch, list[int]]]:
        """Stretches that repeat, each with the operations whose results are read elsewhere."""
        for cut in self.cuts:
            if isinstance(cut, stretches.Stretch):
                yield cut, [i for i, o in enumerate(cut.operations) if o.results[0] in self.crossing]

    def function(
        self, shapes: dict[copies.Key, plan.Shape], repeated: Mapping[stretches.Key, stretches.StretchShape]
    ) -> FunctionPlan:
        """The pieces; stretches in a row share one.

        shapes : those of copies known so far; they grow
        """
        pieces: list[plan.Piece] = []
        piece_of: list[int] = []  # of every cut
        row = plan.Shared("")  # stretches so far, as long as they are short enough for one piece
        left = 0
        for cut in self.cuts:
            name = f"{self.name}_{len(pieces)}"
            if isinstance(cut, stretches.Stretch):
                if left <= 0:
                    row, left = plan.Shared(name), PIECE
                    pieces.append(row)
                self._repeat(cut, repeated[cut.key], row)
                left -= len(cut.operations)
            else:
                left = 0
                pieces.append(
                    self._shared(name, len(piece_of), cut, shapes, len(repeated))
                    if isinstance(cut, tuple)
                    else self._plain(name, cut)
                )
            piece_of.append(len(pieces) - 1)
        for k, piece in enumerate(pieces):
            piece.needs = {piece_of[cut] for cut in piece.needs} - {k}
        return FunctionPlan(self.name, pieces, sum(map(_cost, self.cuts)))

    def _cross(self, cuts: list[Cut]) -> int:
        """Places in scratch for values read behind a cut, reused when nobody needs them any more.

        Those of copies stand side by side; with stretches the last place is for what nobody reads. Returns
        how many places there are.
        """
        last: dict[int, int] = {}
        for k, cut in enumerate(cuts):
            for v in _reads(cut):
                if v in self.made and (self.made[v] != k or isinstance(cut, tuple)):
                    last[v] = k
        ends: dict[int, list[int]] = defaultdict(list)
        for v, k in last.items():
            ends[k].append(v)
        side_by_side = (v for group in self._groups for v in group.kept_in(SCRATCH))
        self.crossing.update((v, place) for place, v in enumerate(side_by_side))
        count = len(self.crossing)
        free: list[int] = []
        for k, cut in enumerate(cuts):
            for v in _results(cut):
                if v not in last or v in self.crossing:
                    continue
                if free:
                    self.crossing[v] = free.pop()
                else:
                    self.crossing[v] = count
                    count += 1
            free += [self.crossing[v] for v in ends[k]]
        return count + any(isinstance(cut, stretches.Stretch) for cut in cuts)

    def _plain(self, name: str, cut: list[Operation]) -> plan.Plain:
        """Operation after operation."""
        piece, room = plan.Plain(name), self.room
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
        """The place of a value that other pieces read."""
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
        """The operand by which a piece reads a value computed elsewhere."""
        source = self._source(v)
        if isinstance(source, float):
            return WrittenNumber(source)
        if source == SCRATCH:
            piece.needs.add(self.made[v])
        return ArrayPlace(source, self._place(v))

    def _place(self, v: int) -> int:
        """The place of a value in its array."""
        if v in self.constants:
            return self.constants[v]
        leaf = self.graph.leaves.get(v)
        return leaf.index if isinstance(leaf, GraphInput) else self.crossing[v]

    def _shared(
        self, name: str, k: int, cut: Groups, shapes: dict[copies.Key, plan.Shape], first: int
    ) -> plan.Shared:
        """Copies of shapes, which are numbered from `first`, each with its tables; k : which cut it is."""
        piece = plan.Shared(name)
        for group in cut:
            if group.key not in shapes:
                shapes[group.key] = _shape(first + len(shapes), group.key)
            rows = [(self._row(k, c, piece), c) for c in group.copies]
            for run in [rows] if self.once else copies.even_runs(rows):
                places = [place for place, _ in run]
                numbers = [group.numbers(c) for _, c in run] if group.numbered else []
                piece.copies.append(plan.Copies(shapes[group.key], places, numbers))
        return piece

    def _row(self, k: int, c: copies.Copy, piece: plan.Shared) -> list[int]:
        """Places a copy reads from and writes to."""
        piece.needs.update(self.made[v] for v in c.reads if v in self.made and self.made[v] != k)
        row = [self._place(v) for v in c.reads]
        for v, array in c.kept():
            row.append(self.stores[v] if array == OUT else self.crossing[v])
            if array == OUT:
                piece.outputs.add(self.stores[v])
        return row

    def _repeat(self, stretch: stretches.Stretch, common: stretches.StretchShape, piece: plan.Shared) -> None:
        """Add a stretch to a piece: a row of the tables of its shape."""
        piece.needs.update(self.made[v] for v in stretch.reads if v in self.made)
        found = [o.results[0] for o in stretch.operations]
        put_out = [self.stores[v] for v in found if v in self.stores]
        piece.outputs.update(put_out)
        kept = [self.crossing.get(found[i], self.room - 1) for i in common.stored]
        if not piece.copies or piece.copies[-1].shape is not common.shape:
            piece.copies.append(plan.Copies(common.shape, [], []))
        table = piece.copies[-1]
        table.places.append([*map(self._place, stretch.reads), *put_out, *kept])
        if common.columns:
            table.numbers.append([stretch.numbers[k] for k in common.columns])


def _shape(number: int, key: copies.Key) -> plan.Shape:
    """A key as a plan writes it."""
    *operations, kept = key

    def operand(kind: str, value: int | str) -> plan.ShapeOperand:
        if kind == copies.CONSTANT:
            return WrittenNumber(float.fromhex(str(value)))
        if kind == copies.OWN:
            return EarlierResult(int(value))
        return plan.NumberColumn(int(value)) if kind == copies.NUMBER else plan.PlaceColumn(kind, int(value))

    steps = tuple((name, tuple(operand(*v) for v in operands)) for name, *operands in operations)
    return plan.Shape(number, steps, kept)


def _results(cut: Cut) -> list[int]:
    """Values that others can see."""
    if isinstance(cut, tuple):
        return [v for group in cut for c in group.copies for v in c.results]
    operations = cut.operations if isinstance(cut, stretches.Stretch) else cut
    return [v for o in operations for v in o.results]


def _reads(cut: Cut) -> Iterator[int]:
    if isinstance(cut, tuple):
        return (v for group in cut for c in group.copies for v in c.reads)
    if isinstance(cut, stretches.Stretch):
        return iter(cut.reads)
    return (v for o in cut for v in o.operands)


def _cost(cut: Cut) -> int:
    """The amount of code of a piece; tables and shapes count little."""
    if isinstance(cut, stretches.Stretch):
        return 1
    return len(cut) if isinstance(cut, tuple) else sum(o.cost for o in cut)
