"""Coordinates and rates of a plant by name: what a start may hold, and what a state is given by."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.arguments import real_numbers
from blocks.errors import ModelError, near_miss
from plant.mechanics.mechanism import Mechanism

COMPONENT = re.compile(r"(.+)\[(\d+)\]")


def named(given: Any, what: str, example: str = "crank.q") -> None:
    """Refuse what gives no values by name.

    Raises
    ------
    ModelError    no mapping
    """
    if not isinstance(given, Mapping):
        raise ModelError(
            f"{what} is {given!r}, expected values by name.",
            value=given,
            hint=f'Write {what}={{"{example}": 0.3}}.',
        )


class Coordinates:
    """Names of the coordinates and rates of a mechanism.

    ``<joint>.q`` and ``<joint>.qd`` are all of a joint, ``<joint>.q[k]`` and ``<joint>.<label>`` one of them
    ("crank.angle", "bar_1.x"; rates "crank.angle rate", "bar_1.v_x").

    places : name -> ("q" or "qd", numbers of its components in the whole vector)
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.places: dict[str, tuple[str, tuple[int, ...]]] = {}
        starts = {"q": 0, "qd": 0}
        for link in mechanism.links:
            labels = {"q": [name for name, _ in link.joint.coordinates], "qd": list(link.joint.rates)}
            for kind, names in labels.items():
                numbers = tuple(range(starts[kind], starts[kind] + len(names)))
                starts[kind] += len(names)
                if names:
                    self.places[f"{link.name}.{kind}"] = kind, numbers
                for label, k in zip(names, numbers, strict=True):
                    self.places.setdefault(f"{link.name}.{label}", (kind, (k,)))
        self.sizes = starts

    def place(self, name: object) -> tuple[str, tuple[int, ...]]:
        """Which vector a name is about, and where in it.

        Raises
        ------
        ModelError    no such coordinate, with the near miss
        """
        indexed = COMPONENT.fullmatch(name) if isinstance(name, str) else None
        whole = self.places.get(indexed[1]) if indexed else None
        if indexed and whole and int(indexed[2]) < len(whole[1]):
            return whole[0], (whole[1][int(indexed[2])],)
        if not isinstance(name, str) or name not in self.places:
            raise ModelError(
                f"the plant has no coordinate {name!r}; {near_miss(name, self.places)}",
                value=name,
                hint="Names are those of its states, see plant.initial, or of plant.info()['joints'].",
            )
        return self.places[name]

    def numbers(self, given: Mapping[str, Any], what: str) -> tuple[dict[int, float], dict[int, float]]:
        """Values of coordinates and of rates by their place.

        what : the argument, for messages

        Raises
        ------
        ModelError    no mapping, no such coordinate, as many values as it has, not finite, or given twice
        """
        named(given, what)
        found: dict[str, dict[int, float]] = {"q": {}, "qd": {}}
        for name, value in given.items():
            kind, places = self.place(name)
            for place, number in zip(places, _finite(what, name, value, len(places)), strict=True):
                if place in found[kind]:
                    raise ModelError(f"{what} gives '{name}' twice, under two names.", path=name)
                found[kind][place] = number
        return found["q"], found["qd"]

    def held(self, given: Mapping[str, Any]) -> dict[int, float]:
        """Coordinates to be held while a start is assembled, by their place.

        Raises
        ------
        ModelError    as `numbers`; a rate, or part of a quaternion
        """
        coordinates, rates = self.numbers(given, "hold")
        units = [unit for link in self.mechanism.links for _, unit in link.joint.coordinates]
        for name in given:
            kind, places = self.place(name)
            if kind == "qd" or any(units[k] == "1" for k in places):
                what = "a rate" if kind == "qd" else "part of a quaternion"
                raise ModelError(
                    f"hold: '{name}' is {what}, and only coordinates that are angles or lengths can be held.",
                    path=name,
                    hint="Give a velocity in the model; an attitude by the marker's axes.",
                )
        assert not rates  # refused above
        return coordinates


def _finite(what: str, name: str, value: Any, size: int) -> np.ndarray:
    """(size,) numbers."""
    try:
        found = real_numbers(value).ravel()
    except (TypeError, ValueError, OverflowError):
        found = np.full(1, math.nan)
    if found.size != size or not np.isfinite(found).all():
        raise ModelError(
            f"{what}: '{name}' is {value!r}, expected {size} finite number{'s' if size > 1 else ''}.",
            path=name,
            value=value,
        )
    return found
