"""Conditional parts inside each other: drawn, built, and gone through instant by instant without ordering.

A nest is a tuple: ("leaf", period, offset), ("chart", period, offset), ("for", count, anew, nest, period,
offset), ("while", limit, bound, anew, nest, period, offset), ("merge", nest, nest, period, offset),
("newest", signal, signal, nest, nest), ("enabled", reset, falls, signal, nest), ("triggered", edge, signal,
nest), ("resettable", edge, signal, nest), ("if", signal, nest, nest), ("variant", nest), ("both", nest,
nest). All leaves do y = x + 10 u, x[k+1] = x + u, charts what `Counted` says; signals change at instants of a
grid. In round k of a loop u is greater by k, and in odd rounds signals have the other sign; a "while" goes on
as long as y is below its bound. In loops there is one rate, and loops have none. A "merge" shows which of two
outputs changed last, a "newest" which of two was last called active.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from blocks import DiscreteStateSpace, Function, Merge, State, StateChart, Transition
from cosim import Diagram, Enabled, For, If, Resettable, Triggered, Variant, While

GRID = Fraction(1, 8)  # s
LOOPS = ("for", "while")
ALONE = ("leaf", "chart")
TICKED = (*ALONE, "merge", *LOOPS)  # have a rate of their own
EDGES = ("rising", "falling", "either")
OBEYING = {"enable", "trigger", "reset", "condition", "case"}  # inputs of parts that take a signal
Nest = tuple[Any, ...]
LEAF: Nest = ("leaf", GRID, 0 * GRID)


@st.composite
def nests(draw: Any, depth: int, names: list[str] | None = None, repeated: bool = False) -> Nest:
    """A nest of at most this depth, in a loop or not."""
    names = [] if names is None else names
    kinds = [*ALONE, *LOOPS]
    if depth:
        kinds += ["merge", "newest", "enabled", "triggered", "resettable", "if", "variant", "both"]
        kinds += ["enabled", "triggered", "resettable", "if"] * repeated
    kind = draw(st.sampled_from(kinds))

    def inside(less: int = 1) -> Nest:
        return draw(nests(max(depth - less, 0), names, repeated))

    def signal() -> str:
        names.append(f"c{len(names)}")
        return names[-1]

    if kind in TICKED:
        period = 1 if repeated else draw(st.integers(1, 3))
        offset = draw(st.integers(0, period - 1))
        own: list[Any] = [draw(st.integers(0 if kind == "for" else 1, 4))] if kind in LOOPS else []
        own += [draw(st.sampled_from([15.0, 60.0, 120.0, 240.0]))] if kind == "while" else []
        own += [draw(st.booleans())] if kind in LOOPS else []
        own += [inside(), inside(depth)] if kind == "merge" else []
        own += [draw(nests(depth - 1, names, True)) if depth else LEAF] if kind in LOOPS else []
        if repeated and kind in LOOPS:
            return (kind, *own, None, 0 * GRID)
        return (kind, *own, period * GRID, offset * GRID)
    if kind == "newest":
        return (kind, signal(), signal(), inside(), inside(depth))
    if kind == "enabled":
        return (kind, draw(st.booleans()), draw(st.booleans()), signal(), inside())
    if kind in ("triggered", "resettable"):
        return (kind, draw(st.sampled_from(EDGES)), signal(), inside())
    if kind == "variant":
        return (kind, inside())
    return (*((kind, signal()) if kind == "if" else (kind,)), inside(), inside(depth))


def signals(nest: Nest) -> list[str]:
    """Names of the signals it obeys."""
    own = [v for v in nest[1:] if isinstance(v, str) and v not in EDGES]
    return own + [name for part in inner(nest) for name in signals(part)]


def inner(nest: Nest) -> list[Nest]:
    """The nests inside."""
    return [part for part in nest if isinstance(part, tuple)]


def built(nest: Nest) -> Diagram:
    """The diagram: inputs u and its signals, output y."""
    return wired(nest, _parts(nest))


def wired(nest: Nest, parts: list[Any]) -> Diagram:
    """The diagram of a nest with these parts, which obey its first signal; outputs of several are added."""
    d = Diagram(nest[0])
    u, entries = d.inport("u"), {name: d.inport(name) for name in signals(nest)}
    made = []
    for k, part in enumerate(parts):
        node = d.add(f"p{k}", part)
        u >> node["u"]
        for name in set(node.ports.inputs) & set(entries):
            entries[name] >> node[name]
        for port in OBEYING & set(node.ports.inputs):
            entries[signals(nest)[0]] >> node[port]
        made.append(node["y"])
    d.outport("y", made[0] if len(made) == 1 else _together(d, nest, made))
    return d


def _together(d: Diagram, nest: Nest, made: list[Any]) -> Any:
    """The outputs of two parts as one."""
    if nest[0] not in ("merge", "newest"):
        return made[0] + made[1]
    merge = d.add("m", Merge(2, sample=nest[-2], offset=nest[-1]) if nest[0] == "merge" else Merge(2))
    for k, port in enumerate(made):
        port >> merge[f"in{k + 1}"]
        if nest[0] == "newest":
            d[nest[k + 1]] >> merge[f"on{k + 1}"]
    return merge["y"]


def _parts(nest: Nest) -> list[Any]:
    inside = [built(part) for part in inner(nest)]
    match nest:
        case ("leaf", period, offset):
            return [DiscreteStateSpace(1.0, 1.0, 1.0, 10.0, sample=period, offset=offset)]
        case ("chart", period, offset):
            return [counting(period, offset)]
        case ("for", count, anew, body, period, offset):
            once = _in_rounds(body, None)
            return [For(once, count, sample=period, offset=offset, states="reset" if anew else "held")]
        case ("while", limit, bound, anew, body, period, offset):
            states = "reset" if anew else "held"
            once = _in_rounds(body, bound)
            return [While(once, sample=period, offset=offset, states=states, limit=limit)]
        case ("enabled", reset, falls, _, _):
            return [Enabled(inside[0], reset=reset, outputs="reset" if falls else "held")]
        case ("triggered", edge, _, _):
            return [Triggered(inside[0], edge=edge)]
        case ("resettable", edge, _, _):
            return [Resettable(inside[0], edge=edge)]
        case ("if", _, _, _):
            return [If(*inside)]
        case ("variant", _):
            return [Variant({"this": inside[0], "other": inside[0]}, "this")]
    return inside


def _in_rounds(body: Nest, bound: float | None) -> Diagram:
    """A nest whose u grows and whose signals alternate by rounds; is y below a bound?"""
    d = Diagram("below")
    k, part = d.inport("index"), d.add("part", built(body))
    (d.inport("u") + k) >> part["u"]
    for name in signals(body):
        way = d.add(f"{name}_now", Function(lambda c, k: c * (1 - 2 * (k % 2))))
        d.inport(name) >> way["c"]
        k >> way["k"]
        way >> part[name]
    d.outport("y", part["y"])
    if bound is not None:
        d.outport("condition", bound - part["y"])
    return d


def counting(period: Any, offset: Any) -> StateChart:
    """The chart of `Counted`."""
    return StateChart(
        inputs=["u"],
        outputs={"y": 0.0},
        states=[
            State("slow", entry="y = 1 if y < 20 else y - 20", during="y = y + u"),
            State("fast", entry="y = y - 15", during="y = y + 2 * u"),
        ],
        transitions=[Transition("slow", "fast", "y > 20"), Transition("fast", "slow", "y > 25")],
        sample=period,
        offset=offset,
    )


class Counted:
    """y grows by u while it is slow and by 2 u while it is fast, which it is from 20 up to 25."""

    def __init__(self) -> None:
        self.state, self.y = "", 0.0

    def tick(self, u: float) -> float:
        """One tick: transitions as long as there are any, else the action of the state."""
        entered = True
        if not self.state:
            self.state, self.y = "slow", 1.0
        else:
            entered = False
        while (self.state == "slow" and self.y > 20) or (self.state == "fast" and self.y > 25):
            entered = True
            if self.state == "slow":
                self.state, self.y = "fast", self.y - 15
            else:
                self.state, self.y = "slow", 1.0 if self.y < 20 else self.y - 20
        if not entered:
            self.y += u if self.state == "slow" else 2 * u
        return self.y


def rates(nest: Nest) -> set[tuple[Fraction, Fraction]]:
    """When its output may change, where nothing in it is called."""
    if nest[0] in TICKED:
        return {nest[-2:]}
    chosen = {(GRID, 0 * GRID)} if nest[0] == "newest" else set()
    return chosen.union(*[rates(part) for part in inner(nest)])


def calls(nest: Nest) -> bool:
    """Is something in it called by edges?"""
    return nest[0] == "triggered" or (nest[0] not in LOOPS and any(calls(part) for part in inner(nest)))


class Walked:
    """A nest while it runs: `step` goes through one instant and gives the output."""

    def __init__(self, nest: Nest) -> None:
        self.nest, self.kind = nest, nest[0]
        self.inside = [Walked(part) for part in inner(nest)]
        self.chart = Counted()
        self.signal = next(iter(signals(nest)), "")
        self.x = self.coming = self.y = 0.0
        self.before: bool | None = False if self.kind == "enabled" else None
        found = rates(nest)
        self.rate = next(iter(found)) if len(found) == 1 and not calls(nest) else None
        self.seen = [0.0, 0.0]  # by a merge, at its newest tick
        self.counts = [True, True]  # of branches: has one had a tick since it was chosen, or since the start?

    def reset(self) -> None:
        """States start anew; outputs stay until they change."""
        self.x = self.coming = 0.0
        self.seen = [0.0, 0.0]
        self.y = 0.0 if self.kind == "newest" else self.y
        self.chart = Counted()
        if self.kind in LOOPS:  # what is inside begins like one that never ran
            self.inside = [Walked(part) for part in inner(self.nest)]
            return
        for part in self.inside:
            part.reset()

    def step(
        self, t: Fraction, u: float, levels: Mapping[str, float], runs: bool, called: bool | None
    ) -> float:
        """At the instant t. runs : are all parts around active? called : None where no edges call them"""
        on = levels.get(self.signal, 1.0) > 0
        self.before = on if self.before is None else self.before
        runs = runs and called is not False
        edge = (on and not self.before, self.before and not on)
        way = next((v for v in self.nest if v in EDGES), "")
        fires = runs and {"rising": edge[0], "falling": edge[1], "either": any(edge), "": False}[way]
        if runs:
            self.before = on
        return getattr(self, f"_{self.kind}")((t, u, levels), runs, called, on, fires, edge[0])

    def _due(self, t: Fraction, called: bool | None) -> bool:
        return (
            called if called is not None else t >= self.nest[-1] and (t - self.nest[-1]) % self.nest[-2] == 0
        )

    def _changes(self, t: Fraction, called: bool | None) -> bool:
        """Outputs of one rate are looked at at its ticks."""
        if self.rate is None or called is not None:
            return True
        period, offset = self.rate
        return t >= offset and (t - offset) % period == 0

    def _leaf(self, now, runs, called, *_) -> float:
        if runs and self._due(now[0], called):
            self.x = self.coming
            self.y, self.coming = self.x + 10 * now[1], self.x + now[1]
        return self.y

    def _chart(self, now, runs, called, *_) -> float:
        if runs and self._due(now[0], called):
            self.y = self.chart.tick(now[1])
        return self.y

    def _for(self, now, runs, called, *_) -> float:
        _, count, anew, _, _, _ = self.nest
        return self._rounds(now, runs, called, anew, count, math.inf)

    def _while(self, now, runs, called, *_) -> float:
        _, limit, bound, anew, _, _, _ = self.nest
        return self._rounds(now, runs, called, anew, limit, bound)

    def _rounds(self, now, runs, called, anew, most, bound) -> float:
        t, u, levels = now
        if runs and self._due(t, called):
            if anew:
                self.inside = [Walked(part) for part in inner(self.nest)]
            for k in range(most):
                seen = {name: v * (1 - 2 * (k % 2)) for name, v in levels.items()}
                self.y = self.inside[0].step(t, u + k, seen, True, True)
                if self.y >= bound:
                    break
        return self.y

    def _merge(self, now, runs, called, *_) -> float:
        new = [part.step(*now, runs, called) for part in self.inside]
        if runs and self._due(now[0], called):
            self.x = self.coming
            changed = [v for v, old in zip(new, self.seen, strict=True) if v != old]
            self.y = self.coming = [*changed, self.x][0]
            self.seen = new
        return self.y

    def _newest(self, now, runs, called, *_) -> float:
        new = [part.step(*now, runs, called) for part in self.inside]
        on = [v for v, name in zip(new, self.nest[1:3], strict=True) if now[2][name] > 0]
        if runs:
            self.y = [*on, self.y][0]
        return self.y

    def _enabled(self, now, runs, called, on, _, rose) -> float:
        _, reset, falls, _, _ = self.nest
        if runs and rose and reset:
            self.inside[0].reset()
        y = self.inside[0].step(*now, runs and on, called)
        if runs and self._changes(now[0], called):
            self.y = y if on else 0.0 if falls else self.y
        return self.y

    def _triggered(self, now, runs, called, on, fires, _) -> float:
        y = self.inside[0].step(*now, fires, fires)
        self.y = y if fires else self.y
        return self.y

    def _resettable(self, now, runs, called, on, fires, _) -> float:
        if fires:
            self.inside[0].reset()
        return self.inside[0].step(*now, runs, called)

    def _if(self, now, runs, called, on, *_) -> float:
        chosen = 0 if on else 1
        y = [part.step(*now, runs and k == chosen, called) for k, part in enumerate(self.inside)]
        if runs:
            for k, part in enumerate(self.inside):
                self.counts[k] = k == chosen and (self.counts[k] or part._changes(now[0], called))
        if runs and self._changes(now[0], called) and self.counts[chosen]:
            self.y = y[chosen]
        return self.y

    def _variant(self, now, runs, called, *_) -> float:
        return self.inside[0].step(*now, runs, called)

    def _both(self, now, runs, called, *_) -> float:
        return sum(part.step(*now, runs, called) for part in self.inside)
