"""The parts of the argument of an FMU's functions in model exchange, as variables of its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from blocks.contract.derived import Derived
from cosim.fmi.description import Variable

Array = np.ndarray  # `np` is something else where ports are declared


@dataclass(frozen=True)
class OutputGroup:
    """Outputs that depend on the same inputs; `inputs` are their places among all inputs of the FMU."""

    variables: tuple[Variable, ...]
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Ports:
    """The parts of the argument of an FMU's functions, as variables.

    inputs, parameters, states, rates : in the order of the argument; rates are the derivatives of the states
    groups : of outputs
    untouched : inputs that are never set
    """

    inputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    states: tuple[Variable, ...]
    rates: tuple[Variable, ...]
    indicators: tuple[Variable, ...]  # of FMI 3.0; in FMI 2.0 they are no variables
    n_indicators: int
    groups: tuple[OutputGroup, ...]
    kept: tuple[Variable, ...] = ()  # outputs that events set: clocked ones, clocks (their numbers of ticks)
    triggers: tuple[Variable, ...] = ()  # input clocks that tick when their number rises
    untouched: frozenset[str] = frozenset()
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    @cached_property
    def moving(self) -> tuple[list[Variable], Array]:
        """Inputs that may be set at any time, and their places among those of all."""
        found = [v for v in self.set_ones(self.inputs) if v.continuous]
        return found, places(self.inputs, found)

    @cached_property
    def unclocked(self) -> tuple[list[Variable], Array]:
        """Inputs that may be set in any event, and their places among those of all."""
        found = [v for v in self.set_ones(self.inputs) if not v.clocks]
        return found, places(self.inputs, found)

    def set_ones(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Those among some inputs that are ever set."""
        return [v for v in inputs if v.name not in self.untouched]

    @cached_property
    def settable(self) -> Array:
        """Which states a start value may be given to, (nx,) bool."""
        each = [np.full(v.size, v.is_start_settable) for v in self.states]
        return np.concatenate([np.zeros(0, bool), *each])

    @cached_property
    def nx(self) -> int:
        """Number of continuous states."""
        return sum(v.size for v in self.states)

    @cached_property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of states, parameters and event indicators."""
        return self.nx, self.np, self.n_indicators

    @cached_property
    def nu(self) -> int:
        """Number of scalars of all inputs."""
        return sum(v.size for v in self.inputs)

    @cached_property
    def np(self) -> int:
        """Number of scalars of all parameters."""
        return sum(v.size for v in self.parameters)


def places(every: Sequence[Variable], some: Sequence[Variable]) -> np.ndarray:
    """Places of the scalars of some variables among those of all."""
    starts, at = {}, 0
    for v in every:
        starts[v.name] = at
        at += v.size
    parts = [np.arange(starts[v.name], starts[v.name] + v.size) for v in some]
    return np.concatenate([np.zeros(0, int), *parts])
