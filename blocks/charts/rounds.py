"""One round of a chart: transitions that fire together, as equations from what is to what will be.

What a chart keeps is one vector. An `Env` is that vector while a round is written down: expressions by what
they stand for; what happens under a condition is written twice and chosen by it.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from blocks.charts.language import ChartValues, Code, act, condition, distance
from blocks.charts.states import ChartNode, ChartTree, Transition
from blocks.contract.signals import SignalArray
from blocks.contract.symbols import as_scalar, column
from blocks.errors import BlockError

ON_THRESHOLD = 1e-9  # a guard this close to holding is on its threshold
FIRED, STARTED = ("fired", ""), ("started", "")
SINCE = "since"
Key = tuple[str, Any]
Env = dict[Key, ca.SX]


@dataclass(frozen=True)
class ChartClock:
    """The time as a chart sees it.

    now : what is noted on entering a state; elapsed : of what was noted, seconds since; time : t [s]
    crossed : has a guard crossed at this instant? Then one that is on its threshold holds (continuous charts)
    """

    now: ca.SX
    elapsed: Callable[[ca.SX], ca.SX]
    time: ca.SX
    crossed: ca.SX | None = None


@dataclass(frozen=True)
class Wanted:
    """A transition between nodes of the tree; `branch` is where their lines part."""

    given: Transition
    source: ChartNode
    target: ChartNode
    branch: ChartNode
    leaves: ChartNode  # the state of the branch that is left
    enters: ChartNode


class Rounds:
    """Writes down rounds of one chart.

    keys : what the chart keeps, in the order of its vector
    readable : inputs, parameters and events of the instant by name
    """

    def __init__(
        self,
        tree: ChartTree,
        transitions: tuple[Transition, ...],
        variables: tuple[str, ...],
        events: frozenset[str],
        clock: ChartClock,
        readable: Mapping[str, Any],
        happened: Mapping[str, ca.SX],
        continuous: bool,
    ) -> None:
        self.tree, self.clock, self.variables, self.events = tree, clock, variables, events
        self.readable, self.happened, self.continuous = readable, happened, continuous
        self._durations: dict[int, ca.SX] = {}
        self._moving = ca.vertcat(clock.time, *map(column, readable.values()))  # what guards may cross by
        listed = [_wanted(tree, t) for t in transitions]
        self.transitions = sorted(listed, key=lambda w: len(w.source.line()))
        every = [tree.root, *tree.nodes]
        self.keys: list[Key] = [FIRED, STARTED]
        self.keys += [("in", n.number) for n in every if n.exclusive]
        self.keys += sorted({self._noted(n) for n in tree.nodes if self._is_timed(n)})
        self.keys += [("value", name) for name in variables]

    def first(self, values: Mapping[str, float]) -> list[float]:
        """The vector before the first round: what variables are, and which states history would enter."""
        every = [self.tree.root, *self.tree.nodes]
        inside = {n.number: n.children.index(n.first) for n in every if n.exclusive}
        before: dict[Key, float] = {("value", name): value for name, value in values.items()}
        before |= {("in", number): float(k) for number, k in inside.items()}
        return [before.get(key, 0.0) for key in self.keys]

    def _is_timed(self, node: ChartNode) -> bool:
        """Is the time at which it was entered needed?"""
        assert node.state is not None
        during = node.state.during is not None
        return during or any(w.source is node and w.given.guard is not None for w in self.transitions)

    @staticmethod
    def _noted(node: ChartNode) -> Key:
        """Where it is noted when a state was entered: once for all of which one is active, else for each."""
        if node.parent is not None and node.parent.exclusive:
            return SINCE, (node.parent.number, -1)
        return SINCE, (node.number, 0)

    # --- what holds -----------------------------------------------------------------------------------
    def active(self, node: ChartNode, env: Env) -> ca.SX:
        """Is a state active?"""
        found = ca.SX(1.0)
        for outer, inner in zip(node.line(), node.line()[1:], strict=False):
            if outer.exclusive:
                here = env["in", outer.number] == outer.children.index(inner)
                found = here if found.is_constant() else ca.logic_and(found, here)
        return found

    def values(self, env: Env, node: ChartNode | None) -> ChartValues:
        """What code at a state sees."""
        known: dict[str, Any] = dict(self.readable)
        known |= {name: as_scalar(env["value", name]) for name in self.variables}
        known["time"] = as_scalar(self.clock.time)

        def elapsed(seconds: Any) -> Any:
            if node is None or self._noted(node) not in env:
                raise BlockError(
                    "after(...) has no state it could count from here.", hint="Use it in guards."
                )
            noted = env[self._noted(node)]
            key = noted.element_hash()
            if key not in self._durations:
                self._durations[key] = self.clock.elapsed(noted)
            return SignalArray(self._durations[key] >= column(seconds), (), True)

        return ChartValues(known, frozenset(self.variables), elapsed, self.events)

    def guard(self, w: Wanted, env: Env, first: ca.SX) -> ca.SX:
        """Does a transition want to fire, as far as its guard and event say; in the `first` round?

        Where one has crossed, those on their thresholds hold, but not those of the chart's own values alone.
        """
        found = condition(w.given.guard, self.values(env, w.source))
        if self.clock.crossed is not None and ca.depends_on(found, self._moving):
            on = ca.logic_and(first, distance(found) >= -ON_THRESHOLD)
            found = ca.logic_or(found, ca.logic_and(self.clock.crossed, on))
        if w.given.on:  # an event is over when it has had its round
            found = ca.logic_and(found, ca.logic_and(first, self.happened[w.given.on]))
        return found

    def nearest(self, env: Env) -> ca.SX | None:
        """How near the chart is to a transition: above 0 where one fires; None where none can by itself."""
        found = None
        for w in self.transitions:
            if w.given.on or w.given.guard is None:
                continue
            g = distance(condition(w.given.guard, self.values(env, w.source)))
            here = ca.if_else(self.active(w.source, env), g, -1.0)
            found = here if found is None else ca.fmax(found, here)
        return found

    # --- what happens ---------------------------------------------------------------------------------
    def round(self, old: Env) -> Env:
        """The chart after one round."""
        env, fired = dict(old), ca.SX(0.0)
        busy: dict[int, ca.SX] = {}
        for _, group in itertools.groupby(
            self.transitions, lambda w: w.branch.number if w.branch.exclusive else w
        ):
            outcomes = []
            for w in group:  # of a region one at most: one state of it is active
                may = self.active(w.source, old)
                if w.source.number in busy:
                    may = ca.logic_and(may, ca.logic_not(busy[w.source.number]))
                take = ca.logic_and(may, self.guard(w, env, old[FIRED] < 0.5))
                outcomes.append((take, self._taken(w, dict(env))))
                for n in w.leaves.below():
                    busy[n.number] = take if n.number not in busy else ca.logic_or(busy[n.number], take)
            any_of = joined(ca.logic_or, [take for take, _ in outcomes])
            env = self.one_of(outcomes, any_of, env)
            fired = any_of if fired.is_constant() else ca.logic_or(fired, any_of)
        if not self.continuous:
            env = self.chosen(fired, env, self._during(self.tree.root, dict(env)))
        begun = self.enter(self.tree.root, dict(old), [])
        begun |= {key: self.clock.now for key in begun if key[0] == SINCE}
        begun[STARTED] = begun[FIRED] = ca.SX(1.0)
        env[FIRED] = fired
        return self.chosen(old[STARTED] > 0.5, env, begun)

    @staticmethod
    def chosen(when: ca.SX, one: Env, other: Env) -> Env:
        """One of two outcomes."""
        return {
            key: other[key] if one[key] is other[key] else ca.if_else(when, one[key], other[key])
            for key in other
        }

    @staticmethod
    def one_of(outcomes: list[tuple[ca.SX, Env]], any_of: ca.SX, env: Env) -> Env:
        """The outcome of the one condition that holds, `any_of` says whether one does."""
        found = {}
        for key, old in env.items():
            changes = [(take, new[key]) for take, new in outcomes if new[key] is not old]
            if not changes:
                found[key] = old
                continue
            every = len(changes) == len(outcomes)
            some = any_of if every else joined(ca.logic_or, [take for take, _ in changes])
            if all(ca.is_equal(value, changes[0][1]) for _, value in changes):
                found[key] = ca.if_else(some, changes[0][1], old)
                continue
            terms = [ca.if_else(take, value, 0.0) for take, value in changes]
            found[key] = joined(operator.add, terms) + ca.if_else(some, 0.0, old)
        return found

    def _taken(self, w: Wanted, env: Env) -> Env:
        env = self.leave(w.leaves, env)
        env = self._do(w.given.action, env, w.source)
        self._note(w.branch, w.enters, env)
        return self.enter(w.enters, env, w.target.line())

    def leave(self, node: ChartNode, env: Env) -> Env:
        """Exit actions, those of the innermost states first."""
        for k, child in enumerate(node.children):
            if any(n.state and n.state.exit for n in child.below()):
                left = self.leave(child, dict(env))
                env = self.chosen(env["in", node.number] == k, left, env) if node.exclusive else left
        return self._do(node.state.exit if node.state else None, env, node)

    def enter(self, node: ChartNode, env: Env, toward: list[ChartNode], deep: bool = False) -> Env:
        """Entry actions, outer states first, down to the state on the way, or the one that is first.

        deep : is the one meant that was active last, here and further inside?
        """
        env = self._do(node.state.entry if node.state else None, env, node)
        deep = deep or node.history == "deep"
        if not node.exclusive:
            for child in node.children:
                env = self._entered(node, child, env, toward, deep)
            return env
        on_the_way = next((n for n in node.children if n in toward), None)
        if on_the_way is None and (deep or node.history):
            last = env["in", node.number]
            entered = [
                (last == k, self._entered(node, c, env, toward, deep)) for k, c in enumerate(node.children)
            ]
            return self.one_of(entered, ca.SX(1.0), env)
        return self._entered(node, on_the_way or node.first, env, toward, deep and on_the_way is None)

    def _entered(
        self, outer: ChartNode, child: ChartNode, env: Env, toward: list[ChartNode], deep: bool
    ) -> Env:
        env = dict(env)
        self._note(outer, child, env)
        return self.enter(child, env, toward, deep)

    def _note(self, outer: ChartNode, child: ChartNode, env: Env) -> None:
        """A state in another is entered now."""
        if outer.exclusive:
            env["in", outer.number] = ca.SX(outer.children.index(child))
        if (noted := self._noted(child)) in env:
            env[noted] = self.clock.now

    def _during(self, node: ChartNode, env: Env) -> Env:
        """Actions inside an active state, of states active since before this instant that stay so.

        One of the states of an exclusive one is active: theirs are written side by side, not in a row.
        """
        if not node.exclusive:
            for child in node.children:
                env = self._during(child, self._staying(child, env))
            return env
        here = [env["in", node.number] == k for k in range(len(node.children))]
        acting = [k for k, n in enumerate(node.children) if n.state and n.state.during is not None]
        if acting:
            own = [(here[k], self._acted(node.children[k], env)) for k in acting]
            env = self.chosen(
                self._before(node.children[acting[0]], env), self._one_inside(node, own, env), env
            )
        deeper = [k for k, n in enumerate(node.children) if self._acts_below(n)]
        if deeper:
            inside = [(here[k], self._during(node.children[k], dict(env))) for k in deeper]
            env = self._one_inside(node, inside, env)
        return env

    def _one_inside(self, node: ChartNode, outcomes: list[tuple[ca.SX, Env]], env: Env) -> Env:
        """The outcome of the active one of a node's states, where it has one."""
        every = len(outcomes) == len(node.children)
        some = ca.SX(1.0) if every else joined(ca.logic_or, [here for here, _ in outcomes])
        return self.one_of(outcomes, some, env)

    def _staying(self, node: ChartNode, env: Env) -> Env:
        """A state's own action, if it has not been entered at this instant."""
        if node.state is None or node.state.during is None:
            return env
        return self.chosen(self._before(node, env), self._acted(node, env), env)

    def _acted(self, node: ChartNode, env: Env) -> Env:
        assert node.state is not None
        return self._do(node.state.during, dict(env), node)

    def _before(self, node: ChartNode, env: Env) -> ca.SX:
        """Has a state been active since before this instant?"""
        return env[self._noted(node)] != self.clock.now

    def _acts_below(self, node: ChartNode) -> bool:
        """Has a state inside this one an action of its own?"""
        return any(n is not node and n.state and n.state.during is not None for n in node.below())

    def shown(self, name: str, env: Env) -> ca.SX:
        """A variable as it is seen: of a continuous chart as the during actions of active states say."""
        value = env["value", name]
        if not self.continuous:
            return value
        return self.lasting(env)["value", name]

    def lasting(self, env: Env) -> Env:
        """Variables under the during actions of a continuous chart."""
        for n in self.tree.nodes:
            if n.state and n.state.during is not None:
                env = self.chosen(self.active(n, env), self._do(n.state.during, dict(env), n), env)
        return env

    def _do(self, code: Code, env: Env, node: ChartNode) -> Env:
        if code is None:
            return env
        values = self.values(env, node)
        act(code, values)
        for name in self.variables:
            new = column(getattr(values, name))
            if not ca.is_equal(new, env["value", name]):
                env["value", name] = new
        return env


def joined(combine: Callable[[Any, Any], Any], terms: list[ca.SX]) -> ca.SX:
    """Terms combined in pairs, and those again: a short way from each to the end, for processors."""
    while len(terms) > 1:
        pairs = [combine(a, b) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]


def _wanted(tree: ChartTree, t: Transition) -> Wanted:
    source, target = tree.find(t.source), tree.find(t.target)
    shared = [a for a, b in zip(source.line(), target.line(), strict=False) if a is b]
    branch = shared[-1]
    if branch in (source, target):  # one is inside the other: the outer one is left and entered
        branch = branch.parent or branch
    depth = len(branch.line())
    leaves, enters = source.line()[depth], target.line()[depth]
    if branch.parallel and leaves is not enters:
        what = f"the transition from '{source.path}' to '{target.path}'"
        raise BlockError(
            f"{what} leads from one parallel state into another.",
            hint="Let it start and end in one of them, or leave the state around both.",
        )
    return Wanted(t, source, target, branch, leaves, enters)
