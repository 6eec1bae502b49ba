"""Finds values that are defined by themselves while they are being worked out."""

from __future__ import annotations

from blocks.errors import ModelError
from plant.elements import Element


def name_of(element: Element) -> str:
    """What a circle's message calls an element."""
    return f"{element.tag} {element.id}"


class RecursionGuard:
    """While an element's value is found: asking for it again is a recursive definition."""

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
