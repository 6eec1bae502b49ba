"""Where the wall time of a simulation is spent: the share of Python functions, block by block."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from blocks.contract.callback import LiveCall, PythonCall
from cosim.engines.engine import Engine
from cosim.run.opaque_blocks import Instances
from cosim.system import System

BLOCKS_SHOWN = 3  # in the line about the share of Python


class WallTime:
    """A clock that runs while an engine advances, in a ``with`` statement."""

    def __init__(self, system: System, instances: Instances) -> None:
        self.total = 0.0
        paths, self._ticked = system.derived.get("Python by path", lambda: _by_path(system))
        self._calls: tuple[tuple[LiveCall, str], ...] = tuple(
            (instances.calls[call], path) for call, path in paths.items()
        )
        self._spent = dict.fromkeys(paths.values(), 0.0)

    def __enter__(self) -> None:
        self._began, self._before = time.perf_counter(), [call.spent for call, _ in self._calls]

    def __exit__(self, *problem: object) -> None:
        self.total += time.perf_counter() - self._began
        for (call, path), spent in zip(self._calls, self._before, strict=True):
            self._spent[path] += call.spent - spent

    def statistics(self, engine: Engine) -> Callable[[], dict[str, Any]]:
        """For `Result.statistics`: a function that gives the wall time, and the share of Python if any."""
        return partial(_said, self.total, self._spent | self._ticked | engine.counters.python, engine.name)


def _said(total: float, spent: dict[str, float], engine: str) -> dict[str, Any]:
    found: dict[str, Any] = {"wall time [s]": total}
    if spent:
        found["time in Python [s]"] = spent
        found["engine"] = f"{engine} engine; {_share(spent, total)}"
    return found


def _share(spent: dict[str, float], total: float) -> str:
    """Such as "63 % of the time in Python: 'controller'"; those that take most come first."""
    paths = sorted(spent, key=lambda path: -spent[path])
    named = ", ".join(f"'{path}'" for path in paths[:BLOCKS_SHOWN])
    rest = f" and {len(paths) - BLOCKS_SHOWN} more" if len(paths) > BLOCKS_SHOWN else ""
    share = sum(spent.values()) / total if total > 0.0 else 0.0
    return f"{100 * share:.0f} % of the time in Python: {named}{rest}"


def _by_path(system: System) -> tuple[dict[PythonCall, str], dict[str, float]]:
    """The blocks of each function in the equations, and those called at ticks, with no time yet."""
    paths: dict[PythonCall, str] = {}
    for call, path in zip(system.calls, system.callers, strict=True):
        paths[call] = f"{paths[call]}, {path}" if call in paths else path  # one may serve several blocks
    return paths, {s.path: 0.0 for s in system.schedule if s.external is not None}
