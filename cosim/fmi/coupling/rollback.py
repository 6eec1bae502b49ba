"""A saved state of our own blocks: everything of a context except the units."""

from __future__ import annotations

import copy
from collections.abc import Container
from typing import Any

from cosim.run.context import Context
from cosim.run.opaque_blocks import Instances

ARRAYS = ("x", "h", "w", "p", "next", "signs", "solution")
NUMBERS = ("t", "started", "step", "error", "stopped")


class Mark:
    """A context at one instant.

    units : names of instances that are not looked after here
    """

    def __init__(self, context: Context, instances: Instances, units: Container[str]) -> None:
        self._context, self._instances = context, instances
        self._arrays = {name: getattr(context, name).copy() for name in ARRAYS}
        self._numbers = {name: getattr(context, name) for name in NUMBERS}
        self._ticks, self._instants = list(context.ticks), dict(context.instants)
        self._histories, self._stops = copy.deepcopy(context.histories), list(context.stops)
        self._opaque: dict[str, Any] = instances.save(without=units)

    def back(self) -> None:
        """Restore the context; may be repeated."""
        c = self._context
        for name, values in self._arrays.items():
            getattr(c, name)[:] = values
        for name, number in self._numbers.items():
            setattr(c, name, number)
        c.ticks[:] = self._ticks
        c.instants = dict(self._instants)
        c.histories = copy.deepcopy(self._histories)
        c.stops = list(self._stops)
        self._instances.put_back(self._opaque)
