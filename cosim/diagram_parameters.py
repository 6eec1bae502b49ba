"""The parameters of one diagram: numbers that fields of the blocks in it are made of."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blocks.contract.masks import ParameterExpression
from blocks.contract.masks import parameter as expression_of
from blocks.errors import WiringError, near_miss, shown
from cosim.block_names import checked_name
from cosim.compile.masks import checked


def _owner() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True)
class DiagramParameters:
    """Values by name; `owner` is what expressions of these parameters call the diagram they belong to."""

    owner: str = field(default_factory=_owner)
    values: Mapping[str, Any] = field(default_factory=dict)

    def expression(self, name: str) -> Any:
        """What stands for a parameter in the fields of blocks."""
        return expression_of(self.owner, name, self.values[name])

    def added(self, whose: str, name: str, value: Any) -> DiagramParameters:
        """These and one more.

        Raises
        ------
        WiringError    the name is taken or malformed, or the value is not finite
        """
        checked_name(name, "a parameter's")
        if name in self.values and not _same(self.values[name], checked(name, value)):
            had = f"has a parameter '{name}' already, {shown(self.values[name])}"
            raise WiringError([f"diagram '{whose}' {had}; give this one another name."], path=name)
        return replace(self, values={**self.values, name: checked(name, value)})

    def changed(self, whose: str, values: Mapping[str, Any]) -> DiagramParameters:
        """These with other values.

        Raises
        ------
        WiringError    as `check`
        """
        for name, value in values.items():
            self.check(whose, name, value)
        return replace(self, values={**self.values, **values})

    def check_given(self, whose: str, given: Mapping[str, Any]) -> None:
        """Refuse what parameters of this diagram, or of one inside ("part.k"), cannot be.

        Raises
        ------
        WiringError, PlantloopError     as `check`; a malformed value
        """
        for name, value in given.items():
            if "." in name:  # of a diagram inside: found when all of it is known
                checked(name, value)
            else:
                self.check(whose, name, value)

    def check(self, whose: str, name: str, value: Any) -> None:
        """Is `name` a parameter, and `value` of its kind: numbers, or a text?

        Raises
        ------
        WiringError    no, with the near miss
        """
        if name not in self.values:
            near = near_miss(name, self.values)
            raise WiringError([f"diagram '{whose}' has no parameter '{name}'; {near}"], path=name)
        checked(name, value)
        old = self.values[name]
        if isinstance(old, str) != isinstance(value, str) and not isinstance(value, ParameterExpression):
            raise WiringError(
                [f"parameter '{name}' of '{whose}' is {shown(value)}, expected one like {shown(old)}."],
                path=name, value=value,
            )  # fmt: skip


def _same(a: Any, b: Any) -> bool:
    """Are two values of a parameter the same number, array or text?"""
    if isinstance(a, ParameterExpression) or isinstance(b, ParameterExpression):
        return a is b
    return isinstance(a, str) == isinstance(b, str) and bool(np.array_equal(a, b))
