"""Inputs and outputs of an FMU that steps itself: when each input is set, and the source of each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from cosim.fmi.description import Variable
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.model_exchange_ports import places
from cosim.fmi.setup import Setup
from cosim.fmi.steps import Put, Steps


@dataclass(frozen=True)
class InputParts:
    """Which inputs of an FMU are set when; see `UnitInputs`. clocked : in event mode, while their clocks tick

    every : all that are set, which those that nothing is connected to are not
    size, numbers : scalars of all ports, and of all but clocks
    every_at, held_at, free_at, visited_at : places among all ports
    """

    ports: tuple[Variable, ...]
    every: list[Variable]
    held: list[Variable]
    free: list[Variable]
    clocked: list[Variable]
    size: int
    numbers: int
    every_at: np.ndarray
    held_at: np.ndarray
    free_at: np.ndarray
    visited_at: np.ndarray

    @staticmethod
    def of(setup: Setup) -> InputParts:
        """Those of an FMU."""
        ports, untouched = setup.ports, setup.untouched
        inputs = [v for v in setup.description.inputs if v.name not in untouched]
        held = [v for v in inputs if setup.held(v)]
        free = [v for v in inputs if not setup.held(v) and not v.clocks]
        return InputParts(
            ports,
            inputs,
            held,
            free,
            [v for v in inputs if not setup.held(v) and v.clocks],
            sum(v.size for v in ports),
            sum(v.size for v in setup.description.inputs),
            places(ports, inputs),
            places(ports, held),
            places(ports, free),
            places(ports, setup.visited),
        )


class UnitInputs:
    """The inputs of one instance, (size,): all numbers, followed by clocks.

    A clock ticks when its number, rounded, rises: a trigger that goes from 0 to 1, or a count of ticks.

    ports : variables in this order; held, free : those set over a step, and at events; free_at, visited_at :
        places of the free ones, and of those that a visit gives
    last, levels : all inputs as they were set last, (size,), and numbers of clocks as they were seen last
    """

    def __init__(self, setup: Setup, component: AnyComponent) -> None:
        parts: InputParts = setup.derived.get("inputs", lambda: InputParts.of(setup))
        self._clocked, self.ports, self.held, self.free = parts.clocked, parts.ports, parts.held, parts.free
        self.size, self._numbers = parts.size, parts.numbers
        self._component, self._triggers = component, setup.triggers
        self._every, self._every_at, self.untouched = parts.every, parts.every_at, setup.untouched
        self._held_at, self.free_at, self.visited_at = parts.held_at, parts.free_at, parts.visited_at
        self.visits = bool(len(self.visited_at))
        self._each = {v.name: (component.setter([v]), places(parts.ports, [v])) for v in self._clocked}
        self.last, self.levels = np.zeros(0), np.zeros(len(setup.triggers))

    # made where Python sets them: compiled code has batches of its own
    @cached_property
    def _all(self) -> Any:
        return self._component.setter(self._every)

    @cached_property
    def _held(self) -> Any:
        return self._component.setter(self.held)

    @cached_property
    def _free(self) -> Any:
        return self._component.setter(self.free)

    def start(self, u: np.ndarray) -> None:
        """Set all numbers, before and during initialisation."""
        if len(self._every_at):
            self._all.write(u[self._every_at])
        self.last = u.copy()

    def visited(self, u: np.ndarray) -> np.ndarray:
        """All inputs as they were set last, with new values of those that are set in event mode, (nv,)."""
        found = self.last.copy()
        found[self.visited_at] = u
        return found

    def hold(self, u: np.ndarray) -> None:
        """Set the inputs that are held over the next step."""
        if len(self._held_at):
            self._held.write(u[self._held_at])

    def give_clocked(self, steps: Steps) -> None:
        """Set clocked inputs again: an FMU keeps them only until their clocks tick."""
        for v in self._clocked:
            setter, at = self._each[v.name]
            steps.give(v, partial(setter.write, self.last[at].copy()))

    def changed(self, u: np.ndarray, steps: Steps) -> Put | None:
        """A function that sets inputs that change at an instant; None if none has changed."""
        before, self.last = self.last, u.copy()
        self.give_clocked(steps)
        at = self.free_at
        if not len(at) or (len(before) == len(u) and np.array_equal(before[at], u[at])):
            return None
        free = self._free
        return lambda: free.write(u[at])

    def risen(self, u: np.ndarray) -> list[Variable]:
        """Clocks whose number has risen since the last look."""
        levels = np.floor(u[self._numbers :] + 0.5)
        found = [v for v, up in zip(self._triggers, levels > self.levels, strict=True) if up]
        self.levels = levels
        return found

    def kept(self) -> Any:
        """All changing data, as plain data."""
        return self.last.tolist(), self.levels.tolist()

    def restored(self, kept: Any) -> None:
        """Put back what `kept` gave."""
        last, levels = kept
        self.last, self.levels = np.array(last, dtype=float), np.array(levels, dtype=float)


class UnitOutputs:
    """The outputs of one instance, (n,): read from it, kept from a tick, or counts of ticks.

    variables : all of them; direct : those that are read from it
    """

    def __init__(self, outputs: Sequence[Variable], component: AnyComponent, steps: Steps) -> None:
        self._steps = steps
        self._kept = [v for v in outputs if v.name in steps.values]
        self._clocks = [v for v in outputs if v.clock is not None]
        direct = [v for v in outputs if v not in self._kept and v not in self._clocks]
        self._getter = component.getter(direct)
        self.variables, self.direct = outputs, direct
        self._plain = len(direct) == len(outputs)
        self._direct_at = places(outputs, direct)
        self._kept_at = [places(outputs, [v]) for v in self._kept]
        self._clocks_at = places(outputs, self._clocks)
        self._size = sum(v.size for v in outputs)

    def read(self) -> np.ndarray:
        """(n,) float; overwritten by the next call."""
        if self._plain:
            return np.asarray(self._getter.read())
        found = np.zeros(self._size)
        found[self._direct_at] = self._getter.read()
        self.put_kept(found)
        return found

    def put_kept(self, found: np.ndarray) -> None:
        """Write those that are not read from it, which change at its events only, into (n,) outputs."""
        values: Mapping[str, np.ndarray] = self._steps.values
        for v, at in zip(self._kept, self._kept_at, strict=True):
            found[at] = values[v.name]
        found[self._clocks_at] = [float(self._steps.counts.get(v.name, 0)) for v in self._clocks]
