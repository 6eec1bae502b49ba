"""Warnings of blocks that watch a signal, over many runs: in which runs each block had to warn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blocks.contract.user_lines import warn_user
from cosim.engines.starts import Starts
from cosim.run.ranges import Ranges
from cosim.run.watched import WatchedSignalWarning
from cosim.system import System
from cosim.system_parts import SystemEvent


def kept_for_warnings(system: System, names: Sequence[str]) -> list[str]:
    """Names to log besides `names`: all that events with a warning change, which shows whether they fired.

    And all that values depend on that are meant to stay in a range.
    """
    wanted = dict.fromkeys(target for e in _warning(system) for target in e.targets)
    wanted |= dict.fromkeys(s.name for s in Ranges.of(system).signals)
    return [name for name in wanted if name not in names]


@dataclass(frozen=True)
class WatchedRuns:
    """The runs in which blocks had to warn, by path and words of the block; and the number of all runs."""

    found: Mapping[tuple[str, str], Sequence[int]]
    count: int

    @staticmethod
    def of(starts: Starts, numbers: Sequence[int]) -> WatchedRuns:
        """The warnings in a batch that is done: an event fired if a value it changes is not as it was."""
        found: dict[tuple[str, str], list[int]] = {}
        tree = starts.system.tree(starts.names)
        logged = np.flatnonzero(starts.logged > 0)
        last = starts.rows[logged, starts.logged[logged] - 1, 1:]
        for event in _warning(starts.system):
            fired = np.zeros(len(logged), bool)
            for name, (vector, places, _) in zip(event.targets, event.resets, strict=True):
                begun = getattr(starts, vector)[logged][:, places]
                fired |= (last[:, tree.columns(name, "the log")].reshape(begun.shape) != begun).any(axis=1)
            if fired.any():
                own = found.setdefault((event.path, event.warning), [])
                own += [numbers[k] for k in logged[fired] if numbers[k] not in own]
        for key, k in _beyond(starts, logged):
            found.setdefault(key, []).append(numbers[k])
        return WatchedRuns(found, len(starts))


def warn_of_runs(parts: Iterable[WatchedRuns]) -> None:
    """Warn, block by block: in how many runs, and which run was the first."""
    found: dict[tuple[str, str], list[int]] = {}
    count = 0
    for part in parts:
        count += part.count
        for key, numbers in part.found.items():
            found.setdefault(key, []).extend(numbers)
    for (path, text), numbers in found.items():
        often = f"in {len(numbers)} of {count} runs, run {min(numbers)} the first"
        warn_user(f"'{path}': {text} ({often}).", WatchedSignalWarning)


def _beyond(starts: Starts, logged: np.ndarray) -> Iterator[tuple[tuple[str, str], int]]:
    """Path and words of each range that a run left at its logged instants, and the number of the run."""
    ranges, tree = Ranges.of(starts.system), starts.system.tree(starts.names)
    if not ranges.ranges or any(s.name not in starts.names for s in ranges.signals):
        return
    for k in logged:
        time, table = np.split(starts.rows[k, : starts.logged[k]], [1], axis=1)
        columns = [table[:, tree.columns(s.name, "the log")] for s in ranges.signals]
        values = np.column_stack([np.zeros((len(time), 0)), *columns])
        for r, *_ in ranges.beyond(time[:, 0], values, starts.p[k]):
            yield (r.path, f"{r.what} went beyond {r.low:g} to {r.high:g}; {r.otherwise}"), int(k)


def _warning(system: System) -> list[SystemEvent]:
    return [e for e in system.events if e.warning]
