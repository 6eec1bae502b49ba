"""Parameters of a diagram in the fields of its blocks: expressions of them, and blocks made of expressions.

A block whose arguments hold expressions is made with the numbers they have now, so that all its checks run,
and remembers how it was made: with other numbers it is made anew.
"""

from __future__ import annotations

import abc
import inspect
import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from blocks.elsewhere import NO_FIELD
from blocks.errors import BlockError, near_miss

PARAMETER = "parameter"  # the operation of a leaf; all others are ufuncs of NumPy by name
RECIPE = "_recipe"  # attribute of a block that was made of expressions


@dataclass(frozen=True, eq=False, repr=False)
class ParameterExpression(NDArrayOperatorsMixin):
    """A number made of parameters of a diagram: one of them, or arithmetic and ufuncs of NumPy on them.

    operation : name of a ufunc, or `PARAMETER`
    arguments : of the ufunc; of a parameter its owner, its name, and the place in its array (None: the whole)
    value : what it is with the values parameters have where they are declared

    >>> J = d.parameter("J", 0.1)
    >>> d.add("inertia", Gain(1 / J))
    """

    operation: str
    arguments: tuple[Any, ...]
    value: Any

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.nout != 1:
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
            hint="Compute with NumPy's functions, and give the outcome to a block.",
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
        return f"{self.operation}({', '.join(map(repr, self.arguments))})"

    def leaves(self) -> Iterator[ParameterExpression]:
        """The parameters in it."""
        if self.operation == PARAMETER:
            yield self
            return
        for argument in self.arguments:
            if isinstance(argument, ParameterExpression):
                yield from argument.leaves()

    def evaluate(self, look: Callable[[ParameterExpression], Any]) -> Any:
        """Its value, numbers or symbols, where `look` gives that of a parameter."""
        if self.operation == PARAMETER:
            return look(self)
        values = [a.evaluate(look) if isinstance(a, ParameterExpression) else a for a in self.arguments]
        return getattr(np, self.operation)(*values)


def parameter(owner: str, name: str, value: Any) -> Any:
    """A parameter as its diagram hands it out: one expression, or an array of one per number.

    owner : what tells this diagram from all others
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            made = np.empty(array.shape, dtype=object)
            for place in np.ndindex(array.shape):
                made[place] = ParameterExpression(PARAMETER, (owner, name, place), float(array[place]))
            return made
    return ParameterExpression(PARAMETER, (owner, name, None), value)


def default(value: Any) -> Any:
    """What an expression is where its parameters are declared; anything else as it is."""
    return value.value if isinstance(value, ParameterExpression) else value


def found_in(value: Any) -> Iterator[ParameterExpression]:
    """Expressions in a value: in lists, tuples, dicts and arrays of objects, too."""
    if isinstance(value, ParameterExpression):
        yield value
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


@dataclass(frozen=True)
class Recipe:
    """How a block was made: its class and the arguments, with expressions in them."""

    kind: Any
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]

    @property
    def expressions(self) -> list[ParameterExpression]:
        """All expressions in the arguments, in order."""
        return [*found_in(list(self.arguments)), *found_in(dict(self.named))]

    def make(self, look: Callable[[ParameterExpression], Any]) -> Any:
        """The block with what `look` gives in place of the expressions."""
        arguments = [filled(a, look) for a in self.arguments]
        return self.kind(*arguments, **{k: filled(v, look) for k, v in self.named.items()})


class BlockType(abc.ABCMeta):
    """The class of classes of blocks: arguments may hold expressions of a diagram's parameters."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the dataclass, for help and completion."""
        made = inspect.signature(cls.__init__)  # type: ignore[misc]
        return made.replace(parameters=[*made.parameters.values()][1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a block; with expressions among its arguments it is made of the numbers they are now."""
        if any(True for v in (*args, *kwargs.values()) for _ in found_in(v)):
            recipe = Recipe(cls, args, kwargs)
            block = recipe.make(default)
            object.__setattr__(block, RECIPE, recipe)
            return block
        try:
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            cls._check_arguments(args, kwargs, error)
            raise

    def _check_arguments(cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: TypeError) -> None:
        """Refuse arguments that are no fields, or too many or too few of them, by name."""
        signature = cls.__signature__
        try:
            signature.bind(*args, **kwargs)
        except TypeError as wrong:
            if unknown := [name for name in kwargs if name not in signature.parameters]:
                what = f"has no field '{unknown[0]}'; {near_miss(unknown[0], signature.parameters)}"
                sampled = f"Discrete{cls.__name__}"
                bases: Any = cls.__bases__
                siblings = {c.__name__ for base in bases for c in base.__subclasses__()}
                cure = f"{sampled} has a sample time." if sampled in siblings else NO_FIELD.get(unknown[0])
                raise BlockError(f"{cls.__name__} {what}", value=unknown[0], hint=cure) from error
            bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
            written = signature.replace(parameters=bare, return_annotation=signature.empty)
            call = getattr(cls, "made_by", "") or f"{cls.__name__}{written}"
            raise BlockError(f"{cls.__name__}: {wrong}.", hint=f"Write {call}.") from error


def recipe_of(block: Any) -> Recipe | None:
    """How a block was made of expressions; None if it was made of numbers."""
    found: Recipe | None = vars(block).get(RECIPE) if hasattr(block, "__dict__") else None
    return found


def made_alike(block: Any, other: Any) -> bool:
    """Are two blocks equal, and made of the same expressions?"""
    first, second = recipe_of(block), recipe_of(other)
    texts = [None if r is None else [_written(e) for e in r.expressions] for r in (first, second)]
    return bool(block == other and texts[0] == texts[1])


def _written(expression: Any) -> Any:
    """An expression as nested tuples, which are compared by what is in them."""
    if not isinstance(expression, ParameterExpression):
        return expression
    return expression.operation, *map(_written, expression.arguments)


def with_fields(block: Any, values: Mapping[str, Any]) -> Any:
    """A block with other values in some of its fields; where it was made of expressions, it keeps the others.

    Unlike `dataclasses.replace`, which makes it of the numbers its parameters have.
    """
    recipe = recipe_of(block)
    if recipe is None:
        return replace(block, **values)
    signature = inspect.signature(recipe.kind)
    arguments = signature.bind(*recipe.arguments, **recipe.named).arguments
    return recipe.kind(**{**arguments, **values})


def _as_objects(value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value.astype(object)
    made = np.empty((), dtype=object)
    made[()] = value
    return made


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
