"""What one block has declared so far while it is traced, and the checks every declaration passes.

`Equations` in `block_equations.py` is the contract a block sees; this is the book it writes into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from blocks.arguments import real_numbers
from blocks.contract.callback import PythonCall
from blocks.contract.declaration_checks import count_of, labels_of, name_of, text_of
from blocks.contract.declared import (
    BlockEvent,
    Declared,
    ImplicitSolution,
    Input,
    Output,
    Parameter,
    SampleHistory,
    Term,
    ValueRange,
)
from blocks.contract.memories import (
    AlgebraicUnknown,
    ContinuousState,
    CountedInstants,
    Evolving,
    Memory,
    Slope,
)
from blocks.contract.rate import Rate, Ticks
from blocks.contract.symbols import Array, as_array, as_matrix, as_scalar, column, hash_of
from blocks.contract.units import Found, PhysicalUnit, Units, UnitText, units_of
from blocks.errors import BlockError, near_miss, shown

M = TypeVar("M", bound=Memory)

MOST_NUMBERS, BYTES = 10**7, 100  # components of one symbol; measured bytes of each, without equations

BODY_SIZES = ((7, 6), (3, 3))  # of place and velocities of a body: in space, in a plane
DIRECTIONS = {"both": 0, "rising": 1, "falling": -1}


class Declarations:
    """Declarations of one block by name, and how they are checked and completed.

    sizes, fields, guess : as of `Equations`
    """

    def __init__(
        self, sizes: dict[str, int], fields: dict[str, Any] | None = None, guess: int | None = None
    ) -> None:
        self._sizes, self._fields, self._guess = sizes, fields or {}, guess
        self._inputs: dict[str, Input] = {}
        self._outputs: dict[str, Output] = {}
        self._parameters: dict[str, Parameter] = {}
        self._memories: dict[str, Memory] = {}
        self._arrays: dict[int, str] = {}  # id of the array handed out -> memory name
        self._kept: list[Array] = []  # keeps those arrays alive, so that their ids stay unique
        self._events: list[BlockEvent] = []
        self._invariants: list[tuple[ca.SX, float, tuple[str, ...]]] = []
        self._states_logged = False
        self._rounding = 0.0
        self._terms: list[Term] = []
        self._ranges: list[ValueRange] = []
        self._implicit: list[Callable[[], ImplicitSolution]] = []
        self._histories: list[SampleHistory] = []
        self._rates: dict[Ticks, tuple[ca.SX, ca.SX, ca.SX]] = {}
        self._clocks: dict[Ticks, None] = {}
        self._counted_anew: dict[Ticks, None] = {}
        self._residuals: list[ca.SX] = []
        self._calls: list[PythonCall] = []
        self._time = ca.SX.sym("t")
        self.guessed = False  # an input took the guessed size
        self.lenient = False  # a mismatch was let pass, or might have been

    def take_over(self, begun: Declarations, initial: Mapping[str, np.ndarray]) -> None:
        """Go on where other equations of this block stopped: what either declares, both declare from now on.

        initial : new initial values of states, by name; names of others are left out
        """
        own = ("_sizes", "_fields", "_guess", "guessed", "lenient")
        self.__dict__ |= {name: value for name, value in vars(begun).items() if name not in own}
        for name, value in initial.items():
            if name in self._memories:
                start = np.array(value, dtype=float)
                self._memories[name] = replace(self._memories[name], initial=start)

    @property
    def calls_python(self) -> bool:
        """Has a Python function been declared that is not looked into?"""
        return bool(self._calls)

    def _symbol(self, name: str, size: int) -> ca.SX:
        """A new column of symbols (size,), if there is room for so many."""
        if not 0 <= size <= MOST_NUMBERS:
            needed = f", which need {BYTES * size / 2**30:.3g} GB of memory" if size > 0 else ""
            raise BlockError(
                f"'{name}' has {size} components{needed}, expected at most {MOST_NUMBERS}.",
                value=size,
                hint="Split it into several signals, or keep the numbers in a table.",
            )
        return ca.SX.sym(name, size)

    def _units(self, given: Units, what: str, size: int) -> Found:
        """Units of a signal, one for all or as many as it has components."""
        found = units_of(given, what) if given else ()
        if len(found) not in (0, 1, size) and not self.provisional:
            raise BlockError(f"{what} has {len(found)} units for {size} components.", value=given)
        return found

    def _unit(self, given: UnitText, name: str) -> PhysicalUnit | None:
        """The unit of a parameter."""
        return units_of(given, f"parameter '{name}'")[0] if given else None

    @property
    def provisional(self) -> bool:
        """Are sizes still being found? Then a mismatch may go away and is no error yet."""
        self.lenient |= self._guess is not None
        return self._guess is not None

    def declared(self) -> Declared:
        """All that was declared, checked for completeness."""
        self._distribute_residuals()
        self._correct_least()
        self._slopes_where_they_may()
        for memory in self._memories_of(Evolving):
            if memory.expression is None:
                raise BlockError(
                    f"state '{memory.name}' has no equation.", hint=f"Give it with b.{memory.given_by}(...)."
                )
        if both := [m.name for m in self._memories.values() if m.rate in self._clocks]:
            raise BlockError(
                f"'{both[0]}' is sampled at the ticks of a clock, which go on where the block is inactive.",
                hint="Take b.tick_time and b.tick_count in place of b.clock.",
            )
        return Declared(
            tuple(self._inputs.values()),
            tuple(self._outputs.values()),
            tuple(self._parameters.values()),
            tuple(self._memories.values()),
            tuple(self._events),
            tuple(g for g, *_ in self._invariants),
            tuple(self._terms),
            tuple(self._rates),
            tuple(self._calls),
            self._time,
            ca.vertcat(*[s for pair in self._rates.values() for s in pair]) if self._rates else ca.SX(0, 1),
            tuple(tolerance for _, tolerance, _ in self._invariants),
            tuple(names for *_, names in self._invariants),
            tuple(self._histories),
            self._states_logged,
            self._rounding,
            tuple(self._ranges),
            tuple(self._implicit),
            tuple(self._clocks),
            tuple(self._counted_anew),
        )

    def known(self, without: Sequence[ca.SX] = (), time: float = 0.0) -> list[tuple[ca.SX, np.ndarray]]:
        """Every symbol declared so far with its value at the start; not the time, nor those in `without`.

        Inputs are zero, no tick has passed; listed instants have where they are not after `time` [s]. To look
        at equations with numbers while they are being written.
        """
        left_out = {hash_of(e) for symbols in without for e in symbols.nonzeros()}
        pairs = [
            (m.symbol, m.passed(time) if isinstance(m, CountedInstants) else m.initial)
            for m in self._memories.values()
        ]
        pairs += [(p.symbol, p.value[p.mask]) for p in self._parameters.values()]
        pairs += [(i.symbol, np.zeros(i.size)) for i in self._inputs.values()]
        pairs += [(symbol, np.zeros(symbol.numel())) for three in self._rates.values() for symbol in three]
        return [(s, v) for s, v in pairs if not s.numel() or hash_of(s.nonzeros()[0]) not in left_out]

    @property
    def parameter_symbols(self) -> set[int]:
        """Hashes of the symbols of all run-time parameters declared so far."""
        return {hash_of(e) for p in self._parameters.values() for e in p.symbol.nonzeros()}

    def _slopes_where_they_may(self) -> None:
        """Slopes are found last of all, so only what is found then may use them."""
        slopes = [m.symbol for m in self._memories_of(Slope)]
        if not slopes:
            return
        uses = {f"output '{o.name}'": o.expression for o in self._outputs.values()}
        uses |= {
            f"'{m.name}'": m.expression
            for m in self._memories_of(Evolving)
            if not m.uses_slopes and m.expression is not None
        }
        wrong = [what for what, e in uses.items() if ca.depends_on(e, ca.vertcat(*slopes))]
        if wrong:
            raise BlockError(
                f"{wrong[0]} depends on b.slope(...), which events, derivatives and residuals alone may use.",
                hint="Give it a continuous state of which the slope is the derivative.",
            )

    def ports_so_far(self) -> Declared:
        """The ports declared until ``define`` failed."""
        return Declared(tuple(self._inputs.values()), tuple(self._outputs.values()))

    def _correct_least(self) -> None:
        """Corrections of a block that gives none: the least change of its states (Gauss-Newton)."""
        states = self._memories_of(ContinuousState)
        if not self._invariants or not states or any(m.correction is not None for m in states):
            return
        g = ca.vertcat(*[g for g, *_ in self._invariants])
        J = ca.jacobian(g, ca.vertcat(*[m.symbol for m in states]))
        square = ca.densify(J @ J.T) + 1e-12 * ca.SX.eye(g.numel())
        change = -J.T @ ca.ldl_solve(g, *ca.ldl(square))
        start = 0
        for m in states:
            part = ca.densify(change[start : start + m.size])
            self._memories[m.name] = replace(m, correction=part)
            start += m.size

    def _distribute_residuals(self) -> None:
        unknowns = self._memories_of(AlgebraicUnknown)
        count, residual = sum(m.size for m in unknowns), ca.vertcat(ca.SX(0, 1), *self._residuals)
        if count != residual.numel():
            raise BlockError(f"{count} algebraic unknowns but {residual.numel()} residuals.")
        start = 0
        for memory in unknowns:
            self._memories[memory.name] = replace(memory, expression=residual[start : start + memory.size])
            start += memory.size

    @staticmethod
    def _numbers(name: str, value: Any) -> np.ndarray:
        """The numbers of a parameter; inf is one, nan is none."""
        try:
            array = real_numbers(value)
        except (TypeError, ValueError, OverflowError):
            raise BlockError(
                f"parameter '{name}' is {shown(value)}, expected numbers.", port=name, value=value
            ) from None
        if np.any(np.isnan(array)):
            raise BlockError(f"parameter '{name}' is not a number: {shown(value)}.", port=name, value=value)
        if array.ndim > 2:
            raise BlockError(f"parameter '{name}' has {array.ndim} dimensions, expected at most 2.")
        return array

    @staticmethod
    def _shaped(symbol: ca.SX, mask: np.ndarray) -> Array:
        """A column of symbols as an array of the shape of `mask`, zero where it is False."""
        if mask.ndim == 0:
            return as_scalar(symbol)
        if mask.ndim == 1:
            return as_array(symbol)
        matrix = ca.SX(*mask.shape)
        for k, (i, j) in enumerate(np.argwhere(mask)):
            matrix[int(i), int(j)] = symbol[k]
        return as_matrix(matrix)

    def _memories_of(self, kind: type[M]) -> list[M]:
        return [m for m in self._memories.values() if isinstance(m, kind)]

    def _memory(self, kind: type[Memory], name: str, initial: Any, size: int | None, **more: Any) -> Array:
        """Declare a memory; `more` are the fields of its kind."""
        self._unique(name, self._memories, "state or memory")
        try:
            value = np.ravel(np.asarray(initial, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise BlockError(f"initial value of '{name}' is {shown(initial)}, expected numbers.") from None
        if not np.all(np.isfinite(value)):
            raise BlockError(f"initial value of '{name}' is not finite: {shown(initial)}.", value=initial)
        actual = value.size if size is None else count_of(size, name)
        if value.size not in (1, actual):
            if not self.guessed:
                raise BlockError(
                    f"initial value of '{name}' has {value.size} components, expected {actual} (or one).",
                    value=initial,
                )
            actual, self.lenient = value.size, True
        if "labels" in more:
            more["labels"] = self._labels(more["labels"], name, actual)
        symbol = self._symbol(name, actual)
        start = np.broadcast_to(value, actual).copy()
        self._memories[name] = kind(name, symbol, start, self._field_of(initial), **more)
        array = as_array(symbol)
        self._arrays[id(array)] = name
        self._kept.append(array)
        return array

    def _labels(self, given: Any, name: str, size: int) -> tuple[str, ...]:
        """Labels of components; where a size is guessed so far, as many as there may be."""
        found = labels_of(given, name, None if self.guessed else size)
        self.lenient |= len(found) not in (0, size)
        return found

    def _complete(self, array: Array, kind: type[Evolving], expression: Any, what: str) -> None:
        name = self._name_of(array, what)
        memory = self._memories[name]
        if not isinstance(memory, kind):
            raise BlockError(f"{what} given for '{name}', which is {memory.word}, not {kind.word}.")
        if memory.expression is not None:
            raise BlockError(f"{what} of '{name}' is given twice.")
        value = self._sized(expression, memory.size, f"{what} of '{name}'")
        self._memories[name] = replace(memory, expression=value)

    def _sized(self, expression: Any, size: int, what: str) -> ca.SX:
        value = column(expression, what)
        if value.numel() != size:
            if not self.guessed:
                raise BlockError(
                    f"{what} has {value.numel()} components, expected {size}.", value=value.numel()
                )
            value, self.lenient = ca.SX.zeros(size), True
        return value

    def _event(
        self,
        crossing: Any,
        direction: str,
        name: str | None,
        resets: tuple[Any, ...],
        stop: str,
        rest: int | None = None,
        warning: str = "",
        unmet: str = "",
        anew: tuple[str, ...] = (),
        eager: bool = False,
        by_value: bool = False,
        timed: str = "",
        follow_time: bool = False,
        left: float | None = None,
    ) -> None:
        if direction not in DIRECTIONS:
            raise BlockError(f"event direction '{direction}': {near_miss(direction, DIRECTIONS)}")
        value = self._sized(crossing, 1, "crossing of an event")
        label = text_of(name or f"event{len(self._events)}", "the name of an event")
        sign = DIRECTIONS[direction]
        at_rest = (-sign or 1) if rest is None else rest
        self._events.append(
            BlockEvent(
                label,
                value,
                sign,
                resets,
                stop,
                at_rest,
                warning,
                unmet,
                anew,
                eager,
                by_value,
                timed,
                follow_time,
                left,
            )
        )

    def _ticks(self, sample: Rate | Ticks, offset: Rate) -> Ticks:
        ticks = sample if isinstance(sample, Ticks) else Ticks.of(sample, offset)
        self._rate_symbols(ticks)
        return ticks

    def _rate_symbols(self, ticks: Ticks) -> tuple[ca.SX, ca.SX, ca.SX]:
        if ticks not in self._rates:
            names = ("tick_time", "tick_count", "sample_count")
            time, count, fresh = (ca.SX.sym(f"{name}{len(self._rates)}") for name in names)
            self._rates[ticks] = (time, count, fresh)
        return self._rates[ticks]

    def _name_of(self, array: Array, what: str) -> str:
        name = self._arrays.get(id(array))
        if name is None:
            raise BlockError(
                f"{what} needs the state itself, as b.continuous or b.discrete returned it, "
                "not an expression or a slice of it."
            )
        return name

    def _place(self, state: Array | None) -> str:
        """Name of the state that is the place of a body, "" for none."""
        return "" if state is None else self._name_of(state, "velocity_of")

    def _fits_place(self, velocities: ContinuousState) -> None:
        """Refuse velocities of a body that do not fit its place."""
        if not velocities.velocity_of:
            return
        place = self._memories[velocities.velocity_of]
        sizes = place.size, velocities.size
        if not isinstance(place, ContinuousState) or sizes not in BODY_SIZES:
            raise BlockError(
                f"state '{velocities.name}' of size {sizes[1]} is given as velocity_of '{place.name}', "
                f"{place.word} of size {sizes[0]}.",
                value=sizes,
                hint="A body has 7 coordinates and 6 velocities in space, 3 and 3 in a plane.",
            )

    def _field_of(self, value: Any) -> str | None:
        """Name of the dataclass field that this very object is the value of."""
        return next((name for name, field in self._fields.items() if field is value), None)

    @staticmethod
    def _unique(name: str, known: dict[str, Any], what: str) -> None:
        if name_of(name, f"an {what}" if what[0] in "aio" else f"a {what}") in known:
            raise BlockError(f"{what} '{name}' is declared twice.", port=name)
