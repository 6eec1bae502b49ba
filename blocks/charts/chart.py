"""State charts as blocks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import is_number
from blocks.charts.rounds import STARTED, ChartClock, Env, Rounds
from blocks.charts.states import ChartTree, State, Transition, states_of, transitions_of
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.event_equations import THRESHOLD
from blocks.contract.memories import Repeated
from blocks.contract.picture import BlockPicture
from blocks.contract.rate import Rate, Ticks
from blocks.contract.symbols import Array, as_array, as_scalar, column
from blocks.errors import BlockError, near_miss, shown

SAME = 1e-12  # relative; two times this close are one
TAKEN = MappingProxyType(
    {
        "time": "the time of the run in guards and actions",
        "after": "a function of guards, after(seconds)",
        "send": "what actions call, send(event)",
    }
)


@dataclass(frozen=True)
class StateChart(Block):
    """States, and transitions between them that guards and events decide.

    Output: one per name in `outputs` and `sends`, each a number that actions change; "state", the number of
    the active innermost state (of the first parallel one) in document order from 0; "active", 1 for every
    active state, with their names as labels: ``r["chart.active.cold"]``.
    Direct feedthrough: sampled, from all inputs at a tick; continuous, of inputs that "during" actions read.

    At one instant transitions are taken in document order, those of outer states first, at most one per
    state and round, rounds until none fires (a hundred, then an error). Leaving a state does the exit
    actions from the inside out, then the transition's action, then entry actions from the outside in. The
    first instant enters the first states. With `sample` this happens at ticks, and during actions once per
    tick in states that were active before and stay so; without, guards are zero crossings, and a during
    action says what outputs are while a state is active.

    inputs : names of signals, one component each; events : names of inputs that happen where they rise to
        above 0; calls : names of inputs that happen where their number changes, as what another chart sends
    outputs, data : {name: first value}; sends : output events, counted on by ``send("name")``
    parameters : {name: value}; tunable, for guards and actions
    states, transitions : `State` and `Transition`, or tables of their fields; initial : "" for the first
        state
    parallel : are all outermost states active together?
    sample, offset : s; None for a continuous chart

    Guards and actions are text, ``"T > 21 and after(5)"``, ``"power = 1000; count += 1"``, or functions of
    what the chart knows, ``lambda c: c.T > 21``: they are traced. ``after(s)`` holds s seconds after the
    source state was entered, and ``time`` is the time of the run [s].

    Use::

        chart = StateChart(
            inputs=["T"], outputs={"power": 0.0},
            states=[State("cold", entry="power = 1000"), State("warm", entry="power = 0")],
            transitions=[Transition("cold", "warm", "T > 21"), Transition("warm", "cold", "T < 19")])
        d.add("thermostat", chart)

    Source: Harel, Statecharts, Science of Computer Programming 8 (1987) 231-274, for nesting and parallel
    states.
    """

    inputs: tuple[str, ...] = ()
    outputs: Any = ()
    states: tuple[State, ...] = ()
    transitions: tuple[Transition, ...] = ()
    data: Any = ()
    events: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    parameters: Any = ()
    initial: str = ""
    parallel: bool = False
    sample: Rate | None = None
    offset: Rate = 0
    calls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        listed = ("inputs", "events", "calls", "sends")
        names = {what: _names(what, getattr(self, what)) for what in listed}
        numbers = {what: _numbers(what, getattr(self, what)) for what in ("outputs", "data", "parameters")}
        checks.assign(self, **names, **numbers)
        every = [n for found in names.values() for n in found]
        every += [n for found in numbers.values() for n, _ in found]
        if twice := [n for n in every if every.count(n) > 1]:
            raise BlockError(f"StateChart: '{twice[0]}' is there twice.", value=twice[0])
        shown_too = {*names["sends"], *(n for n, _ in numbers["outputs"])} & {"state", "active"}
        if taken := [n for n in every if n in TAKEN or n in shown_too]:
            what = TAKEN.get(taken[0], "an output that every chart has")
            raise BlockError(f"StateChart: '{taken[0]}' is {what}; give it another name.", value=taken[0])
        states = states_of(self.states, "the chart")
        if not states:
            raise BlockError("StateChart: there are no states.", hint="Write states=[State('off')].")
        names_of = [s.name for s in states]
        if not isinstance(self.initial, str) or (self.initial and self.initial not in names_of):
            near = near_miss(str(self.initial), names_of)
            raise BlockError(f"StateChart: initial is {shown(self.initial)}; {near}", value=self.initial)
        checks.assign(self, states=states, transitions=transitions_of(self.transitions))
        checks.assign(self, parallel=checks.flag(self, "parallel"))
        for t in self.transitions:
            if t.on and t.on not in (heard := (*self.events, *self.calls)):
                raise BlockError(f"StateChart: there is no event '{t.on}'; {near_miss(t.on, heard)}")
        checks.rate(self, optional=True)

    @classmethod
    def of(cls, described: type) -> StateChart:
        """A chart written as a class.

        Attributes are fields of the chart (`inputs`, `outputs`, `data`, `sample`, ...). Classes inside it
        are its states: their functions ``entry(c)``, ``during(c)`` and ``exit(c)`` are actions, ``to =
        {"warm":
        guard}`` or ``to = [Transition(...)]`` their transitions, classes inside them their states,
        ``initial``, ``parallel`` and ``history`` as of `State`. What stands first comes first::

            @StateChart.of
            class thermostat:
                inputs, outputs = ["T"], {"power": 0.0}

                class cold:
                    def entry(c): c.power = 1000.0
                    to = {"warm": lambda c: c.T > 21.0}

                class warm:
                    def entry(c): c.power = 0.0
                    to = {"cold": lambda c: c.T < 19.0}
        """
        if not inspect.isclass(described):
            raise BlockError(f"StateChart.of: {shown(described)} is no class.", value=described)
        own = {k: v for k, v in vars(described).items() if not k.startswith("__")}
        transitions = list(transitions_of(own.pop("transitions", ())))
        if "states" in own:
            raise BlockError(
                "StateChart.of: a chart written as a class has no 'states'.",
                hint="Its states are the classes inside it.",
            )
        states = tuple(_state(k, v, transitions) for k, v in own.items() if inspect.isclass(v))
        rest = {k: v for k, v in own.items() if not inspect.isclass(v)}
        known = [*cls.__dataclass_fields__]
        if unknown := [k for k in rest if k not in known]:
            raise BlockError(f"StateChart.of: a chart has no '{unknown[0]}'; {near_miss(unknown[0], known)}")
        return cls(states=states, transitions=tuple(transitions), **rest)

    def define(self, b: Equations) -> None:
        """Declare inputs, the vector the chart keeps, its rounds and its outputs."""
        known: dict[str, Any] = {name: b.input(name, size=1)[0] for name in self.inputs}
        known |= {name: b.parameter(name, value) for name, value in self.parameters}
        ticks = None if self.sample is None else Ticks.of(self.sample, self.offset)
        happened = {name: self._happened(b, name, ticks) for name in self.events}
        happened |= {name: self._called(b, name, ticks) for name in self.calls}
        time = column(b.time)
        crossed = b.mode("crossed", -1.0) if ticks is None else None
        clock = self._clock(b, ticks, None if crossed is None else column(crossed) == time)
        rounds = Rounds(
            ChartTree(self.states, self.initial, self.parallel),
            self.transitions,
            (*dict(self.outputs), *dict(self.data), *self.sends),
            frozenset(self.sends),
            clock,
            known,
            happened,
            ticks is None,
        )
        values = {**dict(self.outputs), **dict(self.data), **dict.fromkeys(self.sends, 0.0)}
        counts = tuple(rounds.keys.index(("value", name)) for name in self.sends)
        first = np.array(rounds.first(values))
        kept = b._memory(Repeated, "chart", first, None, ticks=ticks, counts=counts)
        symbol = column(kept)
        env: Env = {key: symbol[k] for k, key in enumerate(rounds.keys)}
        new = rounds.round(env)
        b._complete(kept, Repeated, as_array(ca.vertcat(*[new[key] for key in rounds.keys])), "rounds")
        if ticks is None and (nearest := rounds.nearest(env)) is not None:
            g = as_scalar(ca.if_else(env[STARTED] > 0.5, nearest, -1.0))
            b.when(g, [(crossed, as_array(time))], "rising", "transition")
        shown_env = rounds.lasting(dict(env)) if ticks is None else env
        for name in (*dict(self.outputs), *self.sends):
            b.output(name, as_array(shown_env["value", name]))
        nodes = rounds.tree.nodes
        on = [ca.if_else(rounds.active(n, env), 1.0, 0.0) for n in nodes]
        leaf: ca.SX = ca.SX(0.0)
        for n, active in reversed([(n, a) for n, a in zip(nodes, on, strict=True) if not n.children]):
            leaf = ca.if_else(active > 0.5, float(n.number), leaf)
        b.output("state", as_array(leaf))
        b.output("active", as_array(ca.vertcat(*on)), labels=[n.path for n in nodes])

    @staticmethod
    def _clock(b: Equations, ticks: Ticks | None, crossed: ca.SX | None) -> ChartClock:
        time = column(b.time)
        if ticks is None:
            return ChartClock(time, lambda since: time - since + SAME * (1.0 + ca.fabs(time)), time, crossed)
        count, period = column(b.tick_count(ticks)), float(ticks.period)
        at = column(b.tick_time(ticks))
        return ChartClock(count, lambda since: (count - since + 1e-9) * period, at)

    @staticmethod
    def _happened(b: Equations, name: str, ticks: Ticks | None) -> ca.SX:
        """Has an event input risen to above 0 at this instant?"""
        signal = b.input(name, size=1)[0]
        on: Array = np.where(signal > 0, 1.0, 0.0)
        if ticks is None:

            def held(old: Array) -> Array:
                return np.where(np.abs(signal) > THRESHOLD, signal > 0, old)

            branch = b._branch(f"{name} on", 0.0, None, held, rest=0.0)
            for way, direction, value in (("on", "rising", 1.0), ("off", "falling", 0.0)):
                b._event(signal, direction, f"{name} {way}", ((f"{name} on", ca.SX(value)),), "", rest=-1)
            on = branch[0]
        before = b.afterwards(f"{name} before", 0.0, lambda _: on, ticks, start=on)
        return column(np.where(on > before[0], 1.0, 0.0)) > 0.5

    @staticmethod
    def _called(b: Equations, name: str, ticks: Ticks | None) -> ca.SX:
        """Is the number at an input another than at the instant, or tick, before?"""
        count = b.input(name, size=1)
        before = b.afterwards(f"{name} before", 0.0, lambda _: count, ticks, start=count)
        return column(count[0]) != column(before[0])

    @property
    def counts_calls(self) -> tuple[str, ...]:
        """See `Block.counts_calls`."""
        return self.sends

    @property
    def hears_rises(self) -> Mapping[str, str]:
        """See `Block.hears_rises`."""
        return {name: f"List '{name}' in calls= instead of events=." for name in self.events}

    def picture(self) -> BlockPicture | None:
        """See `Block.picture`."""
        from blocks.charts.chart_picture import chart_picture

        return chart_picture(ChartTree(self.states, self.initial, self.parallel), self.transitions)

    def draw(self, path: str | Path | None = None) -> Any:
        """A picture of states and transitions: a matplotlib figure, also written to a file."""
        from blocks.charts.drawing import drawn

        return drawn(self.states, self.transitions, self.initial, self.parallel, path)


def _state(name: str, described: Any, transitions: list[Transition], outer: str = "") -> State:
    path = f"{outer}.{name}" if outer else name
    own = {k: v for k, v in vars(described).items() if not k.startswith("__")}
    to = own.pop("to", {})
    if isinstance(to, Mapping):
        transitions += [Transition(path, target, guard) for target, guard in to.items()]
    elif isinstance(to, (list, tuple)):
        transitions += transitions_of(to)
    else:
        expected = "{target: guard} or a list of Transition"
        raise BlockError(f"StateChart.of: 'to' of state '{path}' is {shown(to)}, expected {expected}.")
    inner = tuple(_state(k, v, transitions, path) for k, v in own.items() if inspect.isclass(v))
    rest = {k: v for k, v in own.items() if not inspect.isclass(v)}
    known = ("entry", "during", "exit", "initial", "parallel", "history")
    if unknown := [k for k in rest if k not in known]:
        near = near_miss(unknown[0], known)
        raise BlockError(f"StateChart.of: state '{path}' has no '{unknown[0]}'; {near}")
    return State(name, states=inner, **rest)


NAMES = "Names are made of letters, digits and _, begin with a letter, and are no words of Python."


def _is_name(given: Any) -> bool:
    """Can guards and actions name it?"""
    return isinstance(given, str) and given.isidentifier() and not (given.startswith("_") or iskeyword(given))


def _names(what: str, given: Any) -> tuple[str, ...]:
    listed = (given,) if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)) or not all(map(_is_name, listed)):
        raise BlockError(
            f"StateChart: {what} is {shown(given)}, expected a list of names.", value=given, hint=NAMES
        )
    return tuple(listed)


def _numbers(what: str, given: Any) -> tuple[tuple[str, float], ...]:
    if isinstance(given, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in given):
        given = dict(given)  # as it is kept
    if not isinstance(given, Mapping) or not all(map(_is_name, given)):
        raise BlockError(
            f"StateChart: {what} is {shown(given)}, expected numbers by name.", value=given, hint=NAMES
        )
    for name, value in given.items():
        if not is_number(value) or not math.isfinite(value):
            got = f"'{name}' of {what} is {shown(value)}"
            raise BlockError(f"StateChart: {got}, expected a finite number.", value=value)
    return tuple((name, float(value)) for name, value in given.items())
