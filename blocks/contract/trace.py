"""Run a block's ``define`` once with symbols, and share the outcome between blocks of one shape.

Blocks of one shape (see `shape`) differ only in numbers (parameters, initial values, listed instants), which
`Traced.values` reads from each block.
"""

from __future__ import annotations

import dataclasses
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import real_numbers
from blocks.contract.block import Block, Equations
from blocks.contract.declared import Declared, Parameter
from blocks.contract.derived import Derived
from blocks.contract.exact_instants import ListedInstants, instants
from blocks.contract.memories import ContinuousState, CountedInstants, Evolving, Memory
from blocks.contract.refusals import explained
from blocks.contract.shape import says_all, shape_of_fields, with_inputs
from blocks.contract.symbols import tracing
from blocks.contract.user_lines import user_line
from blocks.errors import BlockError, PlantloopError

NOTHING = ca.SX(0, 1)


class _FreshInt(int):
    """An int with an identity of its own (small ints are shared objects)."""


def _fresh(value: Any) -> Any:
    """Equal value with an identity of its own, or None where that makes no sense."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _FreshInt(value)
    if isinstance(value, float):
        return value * 1.0
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return list(value)
    if isinstance(value, tuple) and value:
        return (*value,)  # tuple(value) would be the same object
    return None


@dataclasses.dataclass(frozen=True)
class BlockNumbers:
    """The numbers of one block: parameter, initial-value and instant arrays by name."""

    parameters: dict[str, np.ndarray]
    initial: dict[str, np.ndarray]
    times: dict[str, ListedInstants]


@dataclasses.dataclass(frozen=True)
class PartFunction:
    """An expression of a block as a function of what it reads of the arguments of `Traced`, and no more.

    A block of a thousand inputs and outputs has a thousand functions: with all arguments in each of them they
    have a million.

    own, p : places in the stacked memories and parameters; inputs : numbers of the inputs
    """

    function: ca.Function
    own: list[int]
    p: list[int]
    inputs: list[int]

    def __call__(
        self, t: ca.SX, own: ca.SX, p: ca.SX, ticks: ca.SX, one_input: Callable[[int], ca.SX]
    ) -> ca.SX:
        """The expression for other symbols; `one_input` gives that of the k-th input."""
        inputs = [one_input(k) for k in self.inputs]
        arguments = [t, _picked(own, self.own), _picked(p, self.p), ticks, *inputs]
        values: ca.SX = self.function.call(arguments, True, False)[0]
        return values


def _picked(symbols: ca.SX, places: list[int]) -> ca.SX:
    """Some of a column of symbols, in order; CasADi looks long for what a list of places is."""
    if len(places) == symbols.numel():
        return symbols
    return symbols[places] if places else NOTHING


@dataclasses.dataclass(frozen=True)
class Traced:
    """One shape of a block: what it declares, as functions any number of instances can call.

    Every function has the signature ``f(t, own, p, ticks, *inputs)``; `own` stacks the memories in order
    of declaration, `p` the run-time parameters, `ticks` (time, count, count since restart) per local rate.
    """

    declared: Declared
    guessed: bool = False
    lenient: bool = False  # under guessed sizes something was let pass that given sizes would not
    partial: bool = False  # define failed under guessed sizes: what it had declared until then
    why: str = ""  # it failed
    derived: Derived = dataclasses.field(default_factory=Derived, init=False, repr=False, compare=False)

    @cached_property
    def roles(self) -> dict[str, str]:
        """Fields of the block that are numbers, and what for; all others are part of its shape."""
        d = self.declared
        found = {m.field: "initial" for m in d.memories if m.field}
        found.update({m.times_field: "times" for m in d.memories_of(CountedInstants) if m.times_field})
        found.update({q.field: "parameter" for q in d.parameters if q.field})
        return found

    @cached_property
    def own(self) -> ca.SX:
        """(n,) symbols of all memories."""
        return ca.vertcat(ca.SX(0, 1), *[m.symbol for m in self.declared.memories])

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each memory lies in `own`."""
        found, start = {}, 0
        for m in self.declared.memories:
            found[m.name] = slice(start, start + m.size)
            start += m.size
        return found

    @cached_property
    def evolving(self) -> list[Evolving]:
        """Memories with an equation for their new value (derivative, next or sampled value)."""
        return self.declared.memories_of(Evolving)

    @cached_property
    def new_values(self) -> ca.SX:
        """(n,) those values, in the symbols of this block."""
        return ca.vertcat(ca.SX(0, 1), *[m.equation for m in self.evolving])

    @cached_property
    def arguments(self) -> list[ca.SX]:
        """Symbols every function takes."""
        d = self.declared
        p = ca.vertcat(ca.SX(0, 1), *[q.symbol for q in d.parameters])
        return [d.time, self.own, p, d.tick_symbols, *[i.symbol for i in d.inputs]]

    @cached_property
    def input_symbols(self) -> ca.SX:
        """(m,) symbols of all inputs."""
        return ca.vertcat(ca.SX(0, 1), *[i.symbol for i in self.declared.inputs])

    @cached_property
    def _places(self) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
        """Where the symbols of memories, parameters and inputs stand, by their hash; of inputs which one."""
        _, own, p, _, *inputs = self.arguments
        numbers = [k for k, i in enumerate(inputs) for _ in range(i.numel())]
        stacked = self.input_symbols
        return _by_hash(own, range(own.numel())), _by_hash(p, range(p.numel())), _by_hash(stacked, numbers)

    def function(self, name: str, expression: ca.SX) -> ca.Function:
        """A function of all of this block's arguments, made once per name."""
        return self.derived.get(
            ("function", name), lambda: ca.Function("block", self.arguments, [expression])
        )

    def part(self, name: str, expression: ca.SX) -> PartFunction:
        """The same as a function of what the expression reads, made once per name."""
        return self.derived.get(("part", name), lambda: self._part(expression))

    def _part(self, expression: ca.SX) -> PartFunction:
        read = [s.element_hash() for s in ca.symvar(expression)]
        own, p, inputs = (sorted({places[h] for h in read if h in places}) for places in self._places)
        time, all_own, all_p, ticks, *all_inputs = self.arguments
        arguments = [time, all_own[own], all_p[p], ticks, *(all_inputs[k] for k in inputs)]
        return PartFunction(ca.Function("block", arguments, [expression]), own, p, inputs)

    def depends(self, name: str, expression: ca.SX) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Which components of `expression` use which inputs, memories, rate symbols and time.

        Returns
        -------
        inputs : (n, m) bool      direct feedthrough per component
        own : (n, n_own) bool     memories read
        ticks : (n, 3*rates) bool
        time : (n,) bool
        """
        return self.derived.get(("depends", name), lambda: self._depends(expression))

    def _depends(self, expression: ca.SX) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        d = self.declared
        every = [self.input_symbols, self.own, d.tick_symbols, d.time]
        sparsity = ca.jacobian_sparsity(expression, ca.vertcat(*every))
        dense = np.zeros(sparsity.shape, dtype=bool)
        dense[tuple(np.array(sparsity.get_triplet(), dtype=int).reshape(2, -1))] = True
        cuts = np.cumsum([e.numel() for e in every])[:-1]
        inputs, own, ticks, time = np.split(dense, cuts, axis=1)
        return inputs, own, ticks, time[:, 0] if time.shape[1] else np.zeros(len(dense), bool)

    def sizes_of(self, state: ContinuousState, values: np.ndarray) -> np.ndarray:
        """Sizes of a state, (size,), that a function finds; values : run-time numbers of all parameters."""
        arrays: dict[str, np.ndarray] = {}
        start = 0
        for q in self.declared.parameters:
            arrays[q.name] = array = np.zeros(q.mask.shape)
            array[q.mask] = values[start : start + q.size]
            start += q.size
        assert callable(state.nominal)  # else nobody asks
        what = f"nominal of state '{state.name}'"
        try:
            found = np.ravel(real_numbers(state.nominal(**arrays)))
        except Exception as error:  # whatever a user's function raises
            raise BlockError(f"{what} is not found: {type(error).__name__}: {error}.") from error
        if found.size not in (1, state.size):
            raise BlockError(f"{what} has {found.size} numbers for {state.size} components.", value=found)
        return np.broadcast_to(found, state.size)

    def values(self, block: Block) -> BlockNumbers:
        """The numbers of one block of this shape."""
        parameters = {q.name: self._parameter(q, block) for q in self.declared.parameters}
        initial = {m.name: self._initial(m, block) for m in self.declared.memories}
        times = {m.name: self._times(m, block) for m in self.declared.memories_of(CountedInstants)}
        return BlockNumbers(parameters, initial, times)

    @staticmethod
    def _parameter(q: Parameter, block: Block) -> np.ndarray:
        return q.value if q.field is None else np.array(getattr(block, q.field), dtype=float)

    @staticmethod
    def _initial(m: Memory, block: Block) -> np.ndarray:
        if m.field is None:
            return m.initial
        value = np.ravel(np.asarray(getattr(block, m.field), dtype=float))
        if not np.all(np.isfinite(value)):
            raise BlockError(f"initial value of '{m.name}' is not finite: {value}.", value=value)
        return np.broadcast_to(value, m.size).copy()

    @staticmethod
    def _times(m: CountedInstants, block: Block) -> ListedInstants:
        if m.times_field is None:
            return m.times
        return instants(tuple(np.ravel(np.asarray(getattr(block, m.times_field), object)).tolist()))


def _by_hash(symbols: ca.SX, numbers: Iterable[int]) -> dict[int, int]:
    return {symbols[place].element_hash(): k for place, k in enumerate(numbers)}


def trace(block: Block, sizes: dict[str, int], guess: int | None = None) -> Traced:
    """Run ``define`` with symbols.

    Parameters
    ----------
    sizes : dict        input name -> number of components, where known
    guess : int         size for inputs nothing is known of; then size checks are lenient, and where define
                        fails all the same, what it declared until then is returned as `partial`

    Raises
    ------
    BlockError          with the user's line, for anything wrong in the definition
    """
    if not dataclasses.is_dataclass(type(block)):
        raise BlockError(
            f"{type(block).__name__} is not a dataclass.",
            hint="Decorate the class with @dataclass(frozen=True).",
        )
    copy = object.__new__(type(block))
    fields = {}
    for f in dataclasses.fields(block):  # type: ignore[arg-type]  # checked above
        value = getattr(block, f.name)
        fresh = _fresh(value)
        if fresh is not None:
            fields[f.name] = fresh
        object.__setattr__(copy, f.name, value if fresh is None else fresh)
    equations = Equations(sizes, fields, guess)
    with tracing(getattr(type(block).define, "__globals__", None)):
        try:
            copy.define(equations)
            return Traced(equations.declared(), equations.guessed, equations.lenient)
        except Warning:  # one that the caller made an error
            raise
        except Exception as error:  # of NumPy, CasADi and Python, and whatever a user's function raises
            if equations.guessed:
                why = error if isinstance(error, PlantloopError) else _definition_error(block, error)
                return Traced(equations.ports_so_far(), guessed=True, partial=True, why=str(why))
            if isinstance(error, PlantloopError):
                raise
            raise _definition_error(block, error) from error


def _definition_error(block: Block, error: Exception) -> BlockError:
    """What went wrong in ``define``, with the user's own line."""
    if isinstance(error.__cause__, BlockError):  # what a symbol raised, wrapped by NumPy
        return error.__cause__
    text, cure = explained(error)
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is `trace`
    return BlockError(
        f"the equations of {type(block).__name__} cannot be traced: {text.rstrip('.')}. "
        f"At {user_line(frames)}.",
        hint=cure or "Equations see symbols: use NumPy functions of signals, no if, and sizes that match.",
    )


class TraceCache:
    """Shares one `Traced` between all blocks of a shape.

    One lives as long as a flattening and holds every shape met there. Those that say all about themselves
    (see `says_all`) come from, and go to, the `library` of the process, so that a diagram built later need
    not trace them again. The library keeps the shapes used last; any thread may ask it.

    Parameters
    ----------
    limit : int                 number of shapes to keep, None for all
    library : TraceCache        where shapes that say all about themselves are shared
    """

    def __init__(self, limit: int | None = None, library: TraceCache | None = None) -> None:
        self._roles: dict[type[Block], list[dict[str, str]]] = {}
        self._found: OrderedDict[Hashable, Traced] = OrderedDict()
        self._limit, self._library = limit, library
        # by the identities of blocks, which are kept so that no others take them, and of roles
        self._of_fields: dict[tuple[int, int], tuple[Block, tuple[Hashable, ...]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, block: Block, sizes: dict[str, int], guess: int | None = None) -> Traced:
        """Traced shape of `block` with these input sizes, from the cache where there is one."""
        if not block.shares_equations:
            return trace(block, sizes, guess)
        hit = self._known(block, sizes, guess)
        if hit is not None:
            return hit
        if self._library is not None and says_all(block):
            traced = self._library.get(block, sizes, guess)
        else:
            traced = trace(block, sizes, guess)
        self._keep(block, sizes, guess, traced)
        return traced

    def _known(self, block: Block, sizes: dict[str, int], guess: int | None) -> Traced | None:
        with self._lock:
            for roles in self._roles.get(type(block), ()):
                key = (type(block), guess, with_inputs(self._fields(block, roles), sizes))
                hit = self._found.get(key)
                if hit is not None:
                    self._found.move_to_end(key)
                    return hit
        return None

    def _fields(self, block: Block, roles: dict[str, str]) -> tuple[Hashable, ...]:
        """The part of a shape that is of the block alone; blocks of a flattening are asked for it again."""
        if self._library is None:
            return shape_of_fields(block, roles)
        key = (id(block), id(roles))
        if key not in self._of_fields:
            self._of_fields[key] = block, shape_of_fields(block, roles)
        return self._of_fields[key][1]

    def _keep(self, block: Block, sizes: dict[str, int], guess: int | None, traced: Traced) -> None:
        roles = traced.roles
        known = {guess: sizes}
        if not traced.lenient and not traced.partial:  # it is what `guess=None` gives as well
            guessed_right = {i.name: i.size for i in traced.declared.inputs if i.inherits}
            known[None] = guessed_right if traced.guessed else sizes
        with self._lock:
            others = self._roles.setdefault(type(block), [])
            if roles not in others:
                others.append(roles)
            fields = self._fields(block, next(same for same in others if same == roles))
            for guessed, given in known.items():
                self._found[type(block), guessed, with_inputs(fields, given)] = traced
            while self._limit is not None and len(self._found) > self._limit:
                self._found.popitem(last=False)


SHAPES_KEPT = 500  # of some 20 kB each
LIBRARY = TraceCache(SHAPES_KEPT)
"""Shapes of the blocks of this package that were traced in this process."""
