"""Conditional parts with continuous states inside each other: drawn, built, and followed in closed form.

A nest is a tuple: ("leaf",), ("quick",), ("enabled", reset, falls, signal, nest), ("resettable", edge,
signal, nest), ("if", reset, signal, nest, nest), ("switch", reset, signal, nest, nest), ("newest", signal,
signal, nest, nest), ("variant", nest), ("both", nest, nest). A "newest" shows which of two outputs was last
called active. ("relay",) switches a 20 on at 0.75 and off at -0.5, ("peak",) shows the largest u so far.
Leaves do y = x + 10 u, x' = u - x from 0, or x' = u - 2 x from 0.5; u and all signals
change at instants of a grid, so that x is an exponential in between.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from blocks import PeakHold, Relay, StateSpace
from cosim import Diagram, Enabled, If, Resettable, SwitchCase, Variant
from tests.helpers.nests import EDGES, Nest, inner, signals, wired

LEAVES = {"leaf": (1.0, 0.0), "quick": (2.0, 0.5)}  # decay [1/s], start
KEEPING = {"relay": 0.0, "peak": 0.25}  # start
CHOICES = ("if", "switch")
Levels = Mapping[str, float]


@st.composite
def continuous_nests(draw: Any, depth: int, names: list[str] | None = None) -> Nest:
    """A nest of at most this depth."""
    names = [] if names is None else names
    more = ["enabled", "resettable", *CHOICES, "newest", "variant", "both"] if depth else []
    kind = draw(st.sampled_from([*LEAVES, *KEEPING, *more]))
    if kind in (*LEAVES, *KEEPING):
        return (kind,)
    head: list[Any] = [kind]
    if kind == "newest":
        head += [f"c{len(names)}", f"c{len(names) + 1}"]
        names += head[1:]
    elif kind not in ("variant", "both"):
        names.append(f"c{len(names)}")
        head += [draw(st.sampled_from(EDGES)) if kind == "resettable" else draw(st.booleans())]
        head += [draw(st.booleans())] * (kind == "enabled") + [names[-1]]
    several = 2 if kind in (*CHOICES, "newest", "both") else 1
    return (*head, *(draw(continuous_nests(depth - 1, names)) for _ in range(several)))


def built(nest: Nest) -> Diagram:
    """The diagram: inputs u and its signals, output y."""
    return wired(nest, _parts(nest))


def _parts(nest: Nest) -> list[Any]:
    inside = [built(part) for part in inner(nest)]
    match nest:
        case ("relay",):
            return [Relay(0.75, -0.5, on_value=20.0)]
        case ("peak",):
            return [PeakHold(initial=KEEPING["peak"])]
        case (kind,):
            decay, start = LEAVES[kind]
            return [StateSpace(-decay, 1.0, 1.0, 10.0, initial=start)]
        case ("enabled", reset, falls, _, _):
            return [Enabled(inside[0], reset=reset, outputs="reset" if falls else "held")]
        case ("resettable", edge, _, _):
            return [Resettable(inside[0], edge=edge)]
        case ("if", reset, *_):
            return [If(*inside, reset=reset)]
        case ("switch", reset, *_):
            return [SwitchCase({1: inside[0]}, default=inside[1], reset=reset)]
        case ("variant", _):
            return [Variant({"this": inside[0], "other": inside[0]}, "this")]
    return inside


class Followed:
    """A nest while it runs: `jump` at instants, `flow` in between, `output` after either."""

    def __init__(self, nest: Nest) -> None:
        self.nest, self.kind = nest, nest[0]
        self.inside = [Followed(part) for part in inner(nest)]
        self.signal = next(iter(signals(nest)), "")
        self.x = self.start
        self.y, self.before = 0.0 if self.kind == "newest" else self.at_zero(), None

    @property
    def start(self) -> float:
        """Where its state begins."""
        return KEEPING[self.kind] if self.kind in KEEPING else LEAVES.get(self.kind, (0.0, 0.0))[1]

    def at_zero(self) -> float:
        """The output before it was ever active: that of zeros, at which conditions do not hold."""
        values = [part.at_zero() for part in self.inside]
        if not values:
            return self.x
        if self.kind == "newest":
            return 0.0
        return sum(values) if self.kind == "both" else values[-1]

    def reset(self) -> None:
        """States start anew."""
        self.x = self.start
        self.y = 0.0 if self.kind == "newest" else self.y
        for part in self.inside:
            part.reset()

    def _on(self, levels: Levels) -> bool:
        level = levels.get(self.signal, 1.0)
        return int(level) == 1 if self.kind == "switch" else level > 0

    def _active(self, runs: bool, on: bool) -> list[bool]:
        if self.kind in CHOICES:
            return [runs and on, runs and not on]
        return [runs and (on or self.kind != "enabled") for _ in self.inside]

    def jump(self, levels: Levels, runs: bool = True) -> None:
        """Signals have new values."""
        on = self._on(levels)
        before = on if self.before is None else self.before
        rose, fell = on and not before, before and not on
        anew = runs and self.kind in ("enabled", *CHOICES) and self.nest[1]
        way = self.nest[1] if self.kind == "resettable" and runs else ""
        if (anew and rose) or {"": False, "rising": rose, "falling": fell, "either": rose or fell}[way]:
            self.inside[0].reset()
        if anew and fell and self.kind in CHOICES:
            self.inside[1].reset()
        self.before = on if runs or self.before is None else self.before
        for part, active in zip(self.inside, self._active(runs, on), strict=True):
            part.jump(levels, active)

    def flow(self, seconds: float, u: float, levels: Levels, runs: bool = True) -> None:
        """Time goes on while nothing changes."""
        if self.kind in LEAVES and runs:
            decay = LEAVES[self.kind][0]
            rest = math.exp(-decay * seconds)
            self.x = self.x * rest + u / decay * (1.0 - rest)
        for part, active in zip(self.inside, self._active(runs, self._on(levels)), strict=True):
            part.flow(seconds, u, levels, active)

    def output(self, u: float, levels: Levels, runs: bool = True) -> float:
        """What it shows now; that is kept while it stands still."""
        if self.kind == "relay":
            self.x = (20.0 if u >= 0.75 else 0.0 if u <= -0.5 else self.x) if runs else self.x
            return self.x
        if self.kind == "peak":
            self.x = max(self.x, u) if runs else self.x
            return self.x
        if not self.inside:
            return self.x + 10.0 * u
        on = self._on(levels)
        active = self._active(runs, on)
        values = [part.output(u, levels, a) for part, a in zip(self.inside, active, strict=True)]
        if self.kind == "both":
            return sum(values)
        if self.kind == "newest":
            on = [v for v, name in zip(values, self.nest[1:3], strict=True) if levels[name] > 0]
            self.y = [*on, self.y][0] if runs else self.y
            return self.y
        if self.kind not in ("enabled", *CHOICES):
            return values[0]
        if any(active):
            self.y = values[active.index(True)]
        elif runs and self.kind == "enabled" and self.nest[2]:
            self.y = self.at_first()
        return self.y

    def at_first(self) -> float:
        """See `at_zero`, whatever has happened since."""
        return Followed(self.nest).y
