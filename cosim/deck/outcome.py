"""The results of a deck: one step per command, and the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cosim.analysis.modes import Modes
from cosim.engines.engine import Logged
from cosim.result.record import Event
from cosim.result.result import Result
from cosim.signal_tree import SignalTree

if TYPE_CHECKING:
    import control

    from plant import Plant
    from plant.elements import Element


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The result of a linear analysis at time [s]: the model and its modes."""

    time: float
    model: control.StateSpace
    modes: Modes


@dataclass(frozen=True, eq=False)
class DeckStep:
    """The result of one command.

    command : Element          as the deck has it
    time : s                   where the deck stands after it
    text : str                 the outcome in a line
    result : Result or None    what it logged
    linear : LinearModel or None
    moved : dict               Assembly: how far each coordinate was moved
    """

    command: Element
    time: float
    text: str
    result: Result | None = None
    linear: LinearModel | None = None
    moved: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DeckRun:
    """All commands of a deck that were run.

    name : str                  of the model
    steps : tuple of DeckStep   in order
    plant : Plant               as the model is after the last command, starting where that ended
    time : s                    reached
    saved : dict                file -> text of every model a Save wrote
    message : str               why the deck ended before its last command, "" where it did not
    complete : bool             False after Ctrl-C
    """

    name: str
    steps: tuple[DeckStep, ...]
    plant: Plant
    time: float
    saved: dict[str, str] = field(default_factory=dict)
    message: str = ""
    complete: bool = True

    def __repr__(self) -> str:
        ended = "" if self.complete else ", not complete"
        return f"<DeckRun '{self.name}': {len(self.steps)} commands, t = {self.time:g} s{ended}>"

    @property
    def result(self) -> Result:
        """All simulations joined; where two rows have the same time, that of the later simulation is kept."""
        results = [step.result for step in self.steps if step.result is not None]
        return joined(self.name, results, self.complete, self.message)

    @property
    def linear(self) -> list[LinearModel]:
        """Outcomes of the linear analyses, in order."""
        return [step.linear for step in self.steps if step.linear is not None]


def joined(name: str, results: list[Result], complete: bool = True, message: str = "") -> Result:
    """Join results that continue each other; a signal is nan where a part does not have it.

    It knows what was run, for pictures of its motion, where that was the same from the first simulation on.
    """
    results = _of_one_size(results)
    whole = Logged(np.zeros(0), {}, {}, ())
    for result in results:
        whole = _then(whole, result)
    facts: dict[str, float] = {}
    for result in results:
        for key, value in result.statistics.items():
            if isinstance(value, (int, float)) and key != "simulated time [s]":
                facts[key] = facts.get(key, 0) + value
    leaves = {f.name: f for r in results for f in r.tree.leaves if f.name in whole.signals}
    aliases = {a: s for result in results for a, s in result.tree.aliases.items()}
    events: tuple[Event, ...] = whole.events
    return Result(
        name, whole.time, whole.signals, tree=SignalTree.of(leaves.values(), aliases),
        ticks_of=whole.ticks, events=events,
        settings=dict(results[-1].settings) if results else {},
        statistics={"simulated time [s]": float(whole.time[-1]) if len(whole.time) else 0.0, **facts},
        complete=complete and all(r.complete for r in results),
        message=message or next((r.message for r in reversed(results) if r.message), ""),
        origin=_common_origin(results),
    )  # fmt: skip


def _of_one_size(results: list[Result]) -> list[Result]:
    """Drop states whose size a switched joint has changed."""
    sizes: dict[str, set[int]] = {}
    for result in results:
        for name, values in result.signals.items():
            sizes.setdefault(name, set()).add(values.shape[1])
    if all(len(found) == 1 for found in sizes.values()):
        return results
    return [replace(r, signals={n: v for n, v in r.signals.items() if len(sizes[n]) == 1}) for r in results]


def _common_origin(results: list[Result]) -> Any:
    """The origin shared by all simulations, None if the model changed between them; rests are one row."""
    ran = {id(r.origin[1]): r.origin for r in results if r.origin is not None and len(r.time) > 1}
    alike = len({frozenset(r.signals) for r in results}) == 1
    return next(iter(ran.values())) if alike and len(ran) == 1 else None


def _then(first: Logged, later: Result) -> Logged:
    """Append a result to a log, with the signals of both."""
    names = list(dict.fromkeys([*first.signals, *later.signals]))
    sampled = [n for n in later.ticks_of if n in first.ticks]
    both = Logged(
        first.time, {n: _column(first.signals, n, len(first.time), later.signals) for n in names},
        {n: first.ticks[n] for n in sampled}, first.events,
    )  # fmt: skip
    after = Logged(
        later.time, {n: _column(later.signals, n, len(later.time), first.signals) for n in names},
        {n: later.ticks_of[n] for n in sampled}, later.events,
    )  # fmt: skip
    found = both.then(after)
    ticks = dict(first.ticks) | dict(later.ticks_of) | found.ticks
    return Logged(found.time, found.signals, ticks, found.events)


Signals = Mapping[str, np.ndarray]


def _column(own: Signals, name: str, rows: int, other: Signals) -> np.ndarray:
    """The values of a signal; nan if only the other part has it."""
    return own[name] if name in own else np.full((rows, other[name].shape[1]), np.nan)
