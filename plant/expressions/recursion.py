"""Detects values whose definitions contain themselves."""

from __future__ import annotations

from blocks.errors import ModelError
from plant.elements import Element


def name_of(element: Element) -> str:
    """The name of an element in the message about a cycle."""
    return f"{element.tag} {element.id}"


class RecursionGuard:
    """Guards the evaluation of an element's value: a request for it meanwhile is a recursive definition."""

    def __init__(self, under_way: list[str], element: Element) -> None:
        self._under_way, self._name = under_way, name_of(element)
        self._where = element.where

    def __enter__(self) -> None:
        if self._name in self._under_way:
            circle = [*self._under_way[self._under_way.index(self._name) :], self._name]
            raise ModelError(
                f"{self._where}: recursive definition: {' -> '.join(circle)}.",
                path=self._where,
                hint="Take one of them out of the other's expression.",
            )
        self._under_way.append(self._name)

    def __exit__(self, *error: object) -> None:
        self._under_way.pop()
