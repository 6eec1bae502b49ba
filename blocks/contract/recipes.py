"""Blocks made of expressions of a diagram's parameters.

Such a block is made with the numbers the expressions have now, so that all its checks run, and remembers how
it was made: with other numbers it is made anew.
"""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

from blocks.contract.masks import FieldOf, ParameterExpression, Remembered, default, filled, found_in
from blocks.elsewhere import NO_FIELD
from blocks.errors import BlockError, near_miss

RECIPE = "_recipe"  # attribute of a block that was made of expressions


@dataclass(frozen=True)
class Recipe:
    """How a block was made: its class, or a function, and the arguments, with expressions in them.

    changed : fields that got other values afterwards
    """

    kind: Any
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    changed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def expressions(self) -> list[ParameterExpression]:
        """All expressions in the arguments, in order."""
        return [*found_in([*self.arguments, dict(self.named), dict(self.changed)])]

    def make(self, look: Callable[[ParameterExpression], Any]) -> Any:
        """The block with what `look` gives in place of the expressions."""
        arguments = [filled(a, look) for a in self.arguments]
        made = self.kind(*arguments, **{k: filled(v, look) for k, v in self.named.items()})
        changed = {k: filled(v, look) for k, v in self.changed.items()}
        return replace(made, **changed) if changed else made

    def made(self) -> Any:
        """The block with the numbers that expressions are where their parameters are declared.

        It remembers how it was made, and so do its fields.
        """
        block = self.make(default)
        object.__setattr__(block, RECIPE, self)
        for name, given in self._given(block).items():
            object.__setattr__(block, name, _remembering(getattr(block, name), given))
        return block

    def _given(self, block: Any) -> dict[str, Any]:
        """Of which expressions its fields are made, by field."""
        if self.kind is not type(block):
            return {f.name: FieldOf(self, f.name) for f in fields(block)}
        bound = inspect.signature(self.kind).bind(*self.arguments, **self.named).arguments
        return {k: v for k, v in bound.items() if any(True for _ in found_in(v))}


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
            return recipe.made()
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
            also = f", or {cls.__name__}.{other}" if (other := getattr(cls, "also_made_by", "")) else ""
            raise BlockError(f"{cls.__name__}: {wrong}.", hint=f"Write {call}{also}.") from error


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


F = TypeVar("F", bound=Callable[..., Any])


def of_expressions(make: F) -> F:
    """For class methods that make a block: made of expressions, it is made anew as those change."""

    @functools.wraps(make)
    def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if any(True for v in (*args, *kwargs.values()) for _ in found_in(v)):
            return Recipe(getattr(cls, make.__name__), args, kwargs).made()
        return make(cls, *args, **kwargs)

    return cast(F, made)


def with_fields(block: Any, values: Mapping[str, Any]) -> Any:
    """A block with other values in some fields; where it was made of expressions, it keeps the others."""
    recipe = recipe_of(block)
    if recipe is None:
        return replace(block, **values)
    if recipe.kind is not type(block):
        return replace(recipe, changed={**recipe.changed, **values}).made()
    signature = inspect.signature(recipe.kind)
    arguments = signature.bind(*recipe.arguments, **recipe.named).arguments
    return recipe.kind(**{**arguments, **values})


def turned(block: Any, turn: Callable[[Any], Any]) -> Any:
    """What `turn` makes of a block; where the block was made of expressions, that too is made of them."""
    made, recipe = turn(block), recipe_of(block)
    if recipe is not None and made is not block:
        given = (turn, recipe.kind, recipe.arguments, dict(recipe.named), dict(recipe.changed))
        object.__setattr__(made, RECIPE, Recipe(_made_and_turned, given, {}))
    return made


def _made_and_turned(
    turn: Callable[[Any], Any],
    kind: Any,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
    changed: Mapping[str, Any],
) -> Any:
    made = kind(*arguments, **named)
    return turn(replace(made, **changed) if changed else made)


def written(block: Any, name: str) -> Any:
    """A field as it was given when the block was made, with expressions of parameters in it."""
    recipe = recipe_of(block)
    if recipe is None or recipe.kind is not type(block):
        return getattr(block, name)
    given = inspect.signature(recipe.kind).bind(*recipe.arguments, **recipe.named).arguments
    return {**given, **recipe.changed}.get(name, getattr(block, name))


class _Float(Remembered, float):
    pass


class _Int(Remembered, int):
    pass


class _Fraction(Remembered, Fraction):
    def __repr__(self) -> str:
        return repr(Fraction(self))


class _Text(Remembered, str):
    pass


class _Tuple(Remembered, tuple[Any, ...]):
    pass


KINDS: tuple[tuple[type, Any], ...] = (
    (float, _Float),
    (int, _Int),
    (Fraction, _Fraction),
    (str, _Text),
    (tuple, _Tuple),
)


def _remembering(value: Any, given: Any) -> Any:
    """A number, text or tuple that knows what it was made of; others as they are."""
    kind = next((kind for plain, kind in KINDS if isinstance(value, plain)), None)
    if kind is None or isinstance(value, bool):
        return value
    found = kind(value)
    found.given = given
    return found
