"""Parameters of a diagram in the fields of its blocks: expressions of them.

How blocks are made of expressions is in `blocks.contract.recipes`.
"""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from blocks.arguments import real_numbers
from blocks.contract.plain_state import fingerprint
from blocks.errors import BlockError, shown

PARAMETER = "parameter"  # the operation of a leaf; all others are ufuncs of NumPy by name, and
COMPUTED = "computed"  # what a Python function makes of parameters, and nothing but numbers


@dataclass(frozen=True, eq=False, repr=False)
class ParameterExpression(NDArrayOperatorsMixin):
    """A number made of parameters of a diagram: one of them, or arithmetic and ufuncs of NumPy on them.

    operation : name of a ufunc, `PARAMETER` or `COMPUTED`
    arguments : of the ufunc; of a parameter its owner, its name, and the place in its array (None: the
        whole); of what is computed the `Computation`, the place in what it gives, and what it is given
    value : what it is with the values parameters have where they are declared

    >>> J = d.parameter("J", 0.1)
    >>> d.add("inertia", Gain(1 / J))
    """

    operation: str
    arguments: tuple[Any, ...]
    value: Any

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.nout != 1 or any(_decides_itself(i) for i in inputs):
            return NotImplemented
        if any(isinstance(i, np.ndarray) and i.ndim for i in inputs):
            arrays = np.broadcast_arrays(*[_as_objects(i) for i in inputs])
            made = np.empty(arrays[0].shape, dtype=object)
            for k in np.ndindex(made.shape):
                made[k] = ufunc(*[a[k] for a in arrays])
            return made
        return ParameterExpression(ufunc.__name__, inputs, _plain(ufunc(*[default(i) for i in inputs])))

    def __float__(self) -> float:
        raise BlockError(
            f"{self!r} is a parameter of a diagram: its number may differ from run to run.",
            hint="Compute with NumPy's functions and give the outcome to a block; where a function needs "
            "numbers, write d.computed(function, parameter).",
        )

    __int__ = __index__ = __float__

    def __bool__(self) -> bool:
        raise BlockError(
            f"{self!r} is a parameter of a diagram: nothing can depend on whether it is true.",
            hint="Use a Variant where a parameter chooses what is built.",
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        if self.operation == PARAMETER:
            _, name, place = self.arguments
            return name if place is None else f"{name}[{','.join(map(str, place))}]"
        if self.operation == COMPUTED:
            return f"computed({', '.join(map(repr, self.arguments[2:]))})"
        return f"{self.operation}({', '.join(map(repr, self.arguments))})"

    def leaves(self) -> Iterator[ParameterExpression]:
        """The parameters in it."""
        if self.operation == PARAMETER:
            yield self
            return
        for argument in found_in(self.arguments):
            yield from argument.leaves()

    @property
    def by_numbers(self) -> bool:
        """Is a Python function called for it, which takes numbers and no symbols?"""
        return self.operation == COMPUTED or (
            self.operation != PARAMETER and any(e.by_numbers for e in found_in(self.arguments))
        )

    def evaluate(self, look: Callable[[ParameterExpression], Any]) -> Any:
        """Its value, numbers or symbols, where `look` gives that of a parameter."""
        if self.operation == PARAMETER:
            return look(self)
        if self.operation == COMPUTED:
            computation, place, *given = self.arguments
            made = computation([filled(g, lambda e: e.evaluate(look)) for g in given])
            return made if place is None else np.asarray(made)[place]
        values = [a.evaluate(look) if isinstance(a, ParameterExpression) else a for a in self.arguments]
        return getattr(np, self.operation)(*values)


def parameter(owner: str, name: str, value: Any) -> Any:
    """A parameter as its diagram hands it out: one expression, or an array of one per number.

    owner : what tells this diagram from all others
    """
    array = np.array(None)
    if isinstance(value, (list, tuple, np.ndarray)):
        with contextlib.suppress(ValueError):  # rows that differ in length: structural, as it is
            array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        return ParameterExpression(PARAMETER, (owner, name, None), value)
    made = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        made[place] = ParameterExpression(PARAMETER, (owner, name, place), float(array[place]))
    return made


@dataclass
class Computation:
    """A Python function of parameters; what it gave last is kept, for every number in it is asked for."""

    function: Callable[..., Any]

    def __call__(self, given: list[Any]) -> Any:
        key = fingerprint(given)
        kept: tuple[str, Any, Any] | None = vars(self).get("_kept")
        if kept is None or kept[0] != key:
            # what was given stays alive: what is not plain data counts by its identity in the key
            kept = key, self.function(*given), given
            self._kept = kept
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function}


def computed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a function makes of parameters: one expression, or an array of one per number.

    Raises
    ------
    BlockError    it is no function, or does not give numbers
    """
    if not callable(function):
        raise BlockError(
            f"computed({shown(function)}): expected a function of parameters.",
            value=function,
            hint="Write d.computed(function, a, b), not d.computed(function(a, b)).",
        )
    computation = Computation(function)
    made = computation([filled(a, default) for a in arguments])
    try:
        array = real_numbers(made)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if not np.isfinite(array).all():
        raise BlockError(f"computed gives {shown(made)}, expected finite numbers.", value=made)
    if not array.ndim:
        return ParameterExpression(COMPUTED, (computation, None, *arguments), float(array))
    found = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        found[place] = ParameterExpression(COMPUTED, (computation, place, *arguments), float(array[place]))
    return found


class AnyRecipe(Protocol):
    """What a `FieldOf` asks of the way a block is made."""

    @property
    def expressions(self) -> list[ParameterExpression]:
        """All expressions in it."""

    def make(self, look: Callable[[ParameterExpression], Any]) -> Any:
        """The block."""


@dataclass(frozen=True)
class FieldOf:
    """What is in a field of a block that is made of expressions as a whole."""

    recipe: AnyRecipe
    name: str


class Remembered:
    """Base of numbers and texts in fields of blocks that know what they were made of.

    ``dataclasses.replace`` hands them on, so that the block it makes follows the parameters too.
    """

    given: Any = None


def default(value: Any) -> Any:
    """What an expression is where its parameters are declared; anything else as it is."""
    return value.value if isinstance(value, ParameterExpression) else value


def found_in(value: Any) -> Iterator[ParameterExpression]:
    """Expressions in a value: in lists, tuples, dicts and arrays of objects, too."""
    if isinstance(value, Remembered):
        yield from found_in(value.given)
    elif isinstance(value, ParameterExpression):
        yield value
    elif isinstance(value, FieldOf):
        yield from value.recipe.expressions
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from found_in(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from found_in(v)
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        for v in value.flat:
            yield from found_in(v)


def filled(value: Any, look: Callable[[ParameterExpression], Any]) -> Any:
    """A value with what `look` gives in place of the expressions in it."""
    if isinstance(value, Remembered):
        return filled(value.given, look)
    if isinstance(value, FieldOf):
        return getattr(value.recipe.make(look), value.name)
    if isinstance(value, ParameterExpression):
        return look(value)
    if isinstance(value, (list, tuple)):
        return type(value)([filled(v, look) for v in value]) if any(True for _ in found_in(value)) else value
    if isinstance(value, dict):
        return {k: filled(v, look) for k, v in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        listed = [filled(v, look) for v in value.flat]
        if all(isinstance(v, numbers.Real) for v in listed):
            return np.array(listed, dtype=float).reshape(value.shape)
    return value


def _decides_itself(value: Any) -> bool:
    """Does a value say itself what ufuncs make of it, as ports of a diagram do?"""
    ours = (np.ndarray, np.generic, ParameterExpression)
    return hasattr(type(value), "__array_ufunc__") and not isinstance(value, ours)


def _as_objects(value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value.astype(object)
    made = np.empty((), dtype=object)
    made[()] = value
    return made


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
