"""The first stages of a plant's equations, written to assemble its start; `define` goes on with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from blocks.contract.block import Equations
from plant.constraints.closure import Closing, Closure
from plant.equations.quantities import Quantities
from plant.equations.states import States


@dataclass(frozen=True, eq=False)
class FirstStages:
    """States and conditions of a plant, which need no forces.

    about : what the plant was made of when they were written
    b : what was declared on the way
    values : quantities without forces; closure : all conditions, None without constraints
    """

    about: tuple[object, ...]
    b: Equations
    states: States
    values: Quantities
    closure: Closure | None

    def closed_by(self, closing: Closing | None) -> FirstStages:
        """The same with the conditions that count; None: all of them."""
        if closing is None or self.closure is None:
            return self
        return replace(self, closure=self.closure.restricted(closing))

    def continued(self, b: Equations, initial: Mapping[str, np.ndarray]) -> FirstStages:
        """The same, declared on b, of a plant whose states start at `initial`."""
        b.take_over(self.b, initial)
        return replace(self, b=b)


class KeptStages:
    """First stages for the equations that are written next, which go on with them: they are there once.

    Pickles of it are empty. Without them the same equations are written from the beginning.
    """

    def __init__(self, begun: FirstStages | None = None) -> None:
        # what a routine in Python keeps belongs to one writing of the equations
        self._kept = [] if begun is None or begun.b.calls_python else [begun]

    def take(self, about: tuple[object, ...]) -> FirstStages | None:
        """The stages, if they are of a plant made of the same; whoever comes first has them."""
        try:
            begun = self._kept.pop()
        except IndexError:
            return None
        same = all(a is b or a == b for a, b in zip(begun.about, about, strict=True))
        return begun if same else None

    def __reduce__(self) -> tuple[type[KeptStages], tuple[()]]:
        return KeptStages, ()
