"""What is computed where, as plain data: a function in pieces, each a list of steps over arrays of numbers.

Arrays a piece reads: the arguments t, x, h, w, p of every function of a system, t a single number; c,
constants, which depend on parameters only; v, scratch. It writes to v and to `OUT`, its results.

Nothing here belongs to a language. A printer turns a plan into code; what it has to know is in this file and
in the names of operations in graph.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

OUT = "out"
SCRATCH = "v"


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """A number in an array."""

    array: str
    index: int


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number written down."""

    value: float


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """What an earlier step of the same piece found: its number among the values of the function."""

    value: int


Operand = ArrayPlace | WrittenNumber | EarlierResult


@dataclass(frozen=True, slots=True)
class Compute:
    """One operation."""

    operation: str
    operands: tuple[Operand, ...]
    result: int
    stores: tuple[ArrayPlace, ...]  # where the result goes besides


@dataclass(frozen=True, slots=True)
class Call:
    """A call of another function.

    Its operands, one after the other, its results and what it needs to work lie in scratch from `scratch` on.
    """

    callee: int
    operands: tuple[Operand, ...]
    results: tuple[int, ...]
    stores: tuple[tuple[ArrayPlace, ...], ...]  # of each result
    scratch: int


@dataclass
class Plain:
    """A piece that is code, step after step.

    needs : earlier pieces of the function it reads from scratch; outputs : places it writes in OUT
    """

    name: str
    steps: list[Compute | Call] = field(default_factory=list)
    needs: set[int] = field(default_factory=set)
    outputs: set[int] = field(default_factory=set)

    def reads(self) -> set[ArrayPlace]:
        """All numbers in arrays that it reads."""
        return {v for step in self.steps for v in step.operands if isinstance(v, ArrayPlace)}

    def calls(self) -> set[int]:
        """Numbers of the functions it calls."""
        return {step.callee for step in self.steps if isinstance(step, Call)}


@dataclass(frozen=True, slots=True)
class PlaceColumn:
    """What a row of a table of places points to: a number in an array."""

    array: str
    column: int


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A number that stands in a row of a table of numbers."""

    column: int


# a result is the number of an operation of the shape
ShapeOperand = PlaceColumn | NumberColumn | WrittenNumber | EarlierResult


@dataclass(frozen=True)
class Shape:
    """A computation done many times: for each row of two tables, operations one after the other.

    stores : (operation, array) of every result that is kept, at the place in a further column of the row
    """

    number: int
    operations: tuple[tuple[str, tuple[ShapeOperand, ...]], ...]
    stores: tuple[tuple[int, str], ...]

    @property
    def columns(self) -> int:
        """Columns of the table of places, those of stores included."""
        read = [v.column + 1 for v in self._operands() if isinstance(v, PlaceColumn)]
        return max(read, default=0) + len(self.stores)

    @property
    def number_columns(self) -> int:
        """Columns of the table of numbers."""
        return max((v.column + 1 for v in self._operands() if isinstance(v, NumberColumn)), default=0)

    @property
    def read(self) -> set[PlaceColumn]:
        """Columns of places that are read."""
        return {v for v in self._operands() if isinstance(v, PlaceColumn)}

    def _operands(self) -> Iterator[ShapeOperand]:
        return (v for _, operands in self.operations for v in operands)


@dataclass(frozen=True)
class Copies:
    """A shape with its tables of places and of numbers, row by row; the second is empty without columns."""

    shape: Shape
    places: list[list[int]]
    numbers: list[list[float]]


@dataclass
class Shared:
    """A piece that is copies of shapes; needs and outputs as in `Plain`."""

    name: str
    copies: list[Copies] = field(default_factory=list)
    needs: set[int] = field(default_factory=set)
    outputs: set[int] = field(default_factory=set)

    def reads(self) -> set[ArrayPlace]:
        """All numbers in arrays that it reads."""
        return {
            ArrayPlace(v.array, row[v.column]) for c in self.copies for v in c.shape.read for row in c.places
        }

    def calls(self) -> set[int]:
        """Numbers of the functions it calls: none."""
        return set()


Piece = Plain | Shared


@dataclass(frozen=True)
class FunctionPlan:
    """A function as pieces that are called one after the other; cost: how much code it is, in operations."""

    name: str
    pieces: list[Piece]
    cost: int

    @property
    def shapes(self) -> Iterable[Shape]:
        """All shapes its pieces use, in order of first use."""
        used = (c.shape for piece in self.pieces if isinstance(piece, Shared) for c in piece.copies)
        return {shape.number: shape for shape in used}.values()


@dataclass(frozen=True)
class Callee:
    """A function that is called, and what it needs to work.

    given, found : how many numbers each argument, each result has; host : its number if the host answers
    code : the first function whose code is the same; tables : numbers of those it takes after its arguments
    """

    number: int
    given: tuple[int, ...]
    found: tuple[int, ...]
    pointers: tuple[int, int]  # to arguments and results, with room to work
    doubles: int
    integers: int
    host: int | None
    code: int
    tables: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Functions that share constants, scratch and callees.

    prepare : computes the constants from p; constants, doubles, integers : how many constants there are, and
    how much scratch all functions need; arranged : of functions by name the place of each result, where the
    plan chose it
    """

    functions: dict[str, FunctionPlan]
    prepare: FunctionPlan
    callees: Sequence[Callee]
    constants: int
    doubles: int
    integers: int
    arranged: Mapping[str, list[int]] = field(default_factory=dict)

    @property
    def every(self) -> list[FunctionPlan]:
        """All functions, prepare last."""
        return [*self.functions.values(), self.prepare]

    @property
    def cost(self) -> int:
        """The amount of code of the whole plan; a shape counts once."""
        shapes = {s.number: s for f in self.every for s in f.shapes}
        return sum(f.cost for f in self.every) + sum(len(s.operations) + 1 for s in shapes.values())
