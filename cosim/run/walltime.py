"""Where the wall time of a simulation is spent: the share of Python functions, block by block."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from blocks.contract.callback import LiveCall
from cosim.engines.engine import Engine
from cosim.run.opaque_blocks import Instances
from cosim.system import System

BLOCKS_SHOWN = 3  # in the line about the share of Python


class WallTime:
    """A clock that runs while an engine advances."""

    def __init__(self, system: System, instances: Instances) -> None:
        self.total = 0.0
        self._system = system
        self._calls: dict[LiveCall, str] = {}  # one may serve several blocks
        for call, path in zip(system.calls, system.callers, strict=True):
            live = instances.calls[call]
            self._calls[live] = f"{self._calls[live]}, {path}" if live in self._calls else path
        self._spent = dict.fromkeys(self._calls.values(), 0.0)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of an advance."""
        began, before = time.perf_counter(), [call.spent for call in self._calls]
        try:
            yield
        finally:
            self.total += time.perf_counter() - began
            for (call, path), spent in zip(self._calls.items(), before, strict=True):
                self._spent[path] += call.spent - spent

    def statistics(self, engine: Engine) -> dict[str, Any]:
        """For `Result.statistics`: the wall time, and the share of Python if there is any."""
        ticked = [s.path for s in self._system.schedule if s.external is not None]
        spent = self._spent | dict.fromkeys(ticked, 0.0) | engine.counters.python
        found: dict[str, Any] = {"wall time [s]": self.total}
        if spent:
            found["time in Python [s]"] = spent
            found["engine"] = f"{engine.name} engine; {self._share(spent)}"
        return found

    def _share(self, spent: dict[str, float]) -> str:
        """Such as "63 % of the time in Python: 'controller'"; those that take most come first."""
        paths = sorted(spent, key=lambda path: -spent[path])
        named = ", ".join(f"'{path}'" for path in paths[:BLOCKS_SHOWN])
        rest = f" and {len(paths) - BLOCKS_SHOWN} more" if len(paths) > BLOCKS_SHOWN else ""
        share = sum(spent.values()) / self.total if self.total > 0.0 else 0.0
        return f"{100 * share:.0f} % of the time in Python: {named}{rest}"
