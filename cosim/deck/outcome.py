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
from cosim.signal_tree import Leaf, SignalTree

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
    """Join results that continue each other; a signal, or column, is nan where a part does not have it.

    It knows what was run, for pictures of its motion, where that was the same from the first simulation on.
    """
    results = _side_by_side(results)
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


def _side_by_side(results: list[Result]) -> list[Result]:
    """Give a signal whose columns change between simulations all of them, by their labels.

    They are nan where a part does not have one. A signal without labels, whose size changes, is dropped.
    """
    found: dict[str, dict[tuple[str, ...] | int, Leaf]] = {}
    for result in results:
        for leaf in result.tree.leaves:
            if leaf.name in result.signals:
                found.setdefault(leaf.name, {})[leaf.labels or leaf.size] = leaf
    for name, leaves in found.items():
        if len(leaves) > 1:
            whole = _all_columns(list(leaves.values()))
            results = [_with_columns(result, name, whole) for result in results]
    return results


def _all_columns(leaves: list[Leaf]) -> Leaf | None:
    """One signal with the columns of all these; None where labels do not tell them apart."""
    if any(len(set(leaf.labels)) < leaf.size or not all(leaf.labels) for leaf in leaves):
        return None
    units = {text: leaf.unit(k) for leaf in leaves for k, text in enumerate(leaf.labels)}
    return replace(leaves[0], size=len(units), labels=tuple(units), units=tuple(units.values()))


def _with_columns(result: Result, name: str, whole: Leaf | None) -> Result:
    """A result with these columns of a signal, without it for None."""
    if name not in result.signals:
        return result
    own = result.tree[name]
    signals, leaves = dict(result.signals), {leaf.name: leaf for leaf in result.tree.leaves}
    if whole is None:
        del signals[name], leaves[name]
    else:
        values, leaves[name] = signals[name], whole
        signals[name] = np.full((len(values), whole.size), np.nan)
        signals[name][:, [whole.labels.index(text) for text in own.labels]] = values
    return replace(result, signals=signals, tree=SignalTree.of(leaves.values(), result.tree.aliases))


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
