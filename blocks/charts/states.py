"""States and transitions of a chart, as they are written, and the tree they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from blocks.charts.language import Code, check
from blocks.errors import BlockError, near_miss, shown

FORBIDDEN = set("./[]() \t\n")
HISTORIES = ("", "shallow", "deep")


@dataclass(frozen=True)
class State:
    """A state of a chart, with states inside where it has any.

    entry, during, exit : actions: text ("power = 1000; count += 1") or functions of the chart's values
    states : inside; one of them is active while this one is, all of them with ``parallel=True``
    initial : name of the one that is entered first; "" for the first
    history : what is entered where a transition leads to this state and not to one inside: "" for `initial`,
        "shallow" for the state inside that was active last, "deep" for the innermost ones too
    """

    name: str
    entry: Code = None
    during: Code = None
    exit: Code = None
    states: tuple[State, ...] = ()
    initial: str = ""
    parallel: bool = False
    history: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or FORBIDDEN & set(self.name):
            expected = "a text without '.', '/', brackets or blanks"
            raise BlockError(
                f"the name of a state is {shown(self.name)}, expected {expected}.", value=self.name
            )
        for what in ("entry", "during", "exit"):
            object.__setattr__(self, what, check(getattr(self, what), f"{what} of state '{self.name}'"))
        object.__setattr__(self, "states", states_of(self.states, f"state '{self.name}'"))
        inner = [s.name for s in self.states]
        if not isinstance(self.initial, str) or (self.initial and self.initial not in inner):
            near = near_miss(str(self.initial), inner)
            raise BlockError(
                f"initial of state '{self.name}' is {shown(self.initial)}; {near}",
                value=self.initial,
            )
        if not isinstance(self.parallel, bool):
            raise BlockError(f"parallel of '{self.name}' is {shown(self.parallel)}, expected True or False.")
        if not isinstance(self.history, str) or self.history not in HISTORIES:
            what = f"history of state '{self.name}' is {shown(self.history)}"
            raise BlockError(f'{what}, expected "shallow" or "deep".', value=self.history)
        if self.history and not self.states:
            raise BlockError(
                f"history of state '{self.name}' is '{self.history}', and it has no states inside.",
                value=self.history,
                hint="Give it states, or leave history out.",
            )


@dataclass(frozen=True)
class Transition:
    """From one state to another.

    source, target : names; "outer.inner" where a name is there twice
    guard : condition, text or function of the chart's values; None for always
    on : name of an input event that must happen at that instant, "" for none
    action : what is done between leaving and entering
    """

    source: str
    target: str
    guard: Code = None
    on: str = ""
    action: Code = None

    def __post_init__(self) -> None:
        for what in ("source", "target"):
            if not isinstance(getattr(self, what), str):
                raise BlockError(f"{what} of a transition is {shown(getattr(self, what))}, expected a name.")
        text = f"transition from '{self.source}' to '{self.target}'"
        object.__setattr__(self, "guard", check(self.guard, f"guard of the {text}"))
        object.__setattr__(self, "action", check(self.action, f"action of the {text}"))
        if not isinstance(self.on, str):
            raise BlockError(f"'on' of the {text} is {shown(self.on)}, expected the name of an event.")


def states_of(given: Any, where: str) -> tuple[State, ...]:
    """States as a tuple; tables become states.

    Raises
    ------
    BlockError      something else, or a name twice
    """
    if not isinstance(given, (list, tuple)):
        raise BlockError(f"states of {where} are {shown(given)}, expected a list of State.", value=given)
    found = tuple(_made(State, s, where) for s in given)
    names = [s.name for s in found]
    if twice := [n for n in names if names.count(n) > 1]:
        raise BlockError(f"{where} has two states '{twice[0]}'.", value=twice[0])
    return found


def transitions_of(given: Any) -> tuple[Transition, ...]:
    """Transitions as a tuple; tables become transitions."""
    if not isinstance(given, (list, tuple)):
        raise BlockError(f"transitions are {shown(given)}, expected a list of Transition.", value=given)
    return tuple(_made(Transition, t, "the chart") for t in given)


def _made(kind: Any, given: Any, where: str) -> Any:
    if isinstance(given, kind):
        return given
    names = [f.name for f in fields(kind)]
    if not isinstance(given, Mapping):
        raise BlockError(f"{shown(given)} in {where}, expected a {kind.__name__}.", value=given)
    if unknown := [k for k in given if k not in names]:
        raise BlockError(
            f"a {kind.__name__} of {where} has no {shown(unknown[0])}; {near_miss(str(unknown[0]), names)}"
        )
    try:
        return kind(**given)
    except TypeError as error:
        raise BlockError(f"a {kind.__name__} of {where}: {error}.", value=given) from None


@dataclass(eq=False)
class ChartNode:
    """A state at its place in the tree; the root stands for the chart.

    number : in document order, -1 for the root
    """

    state: State | None
    path: str
    parent: ChartNode | None
    number: int
    parallel: bool
    children: list[ChartNode] = field(default_factory=list)

    @property
    def exclusive(self) -> bool:
        """Is one of several states inside active?"""
        return bool(self.children) and not self.parallel

    @property
    def first(self) -> ChartNode:
        """The state inside that is entered first."""
        wanted = self.state.initial if self.state else ""
        return next((c for c in self.children if c.state and c.state.name == wanted), self.children[0])

    @property
    def history(self) -> str:
        """See `State`."""
        return self.state.history if self.state else ""

    def line(self) -> list[ChartNode]:
        """From the root to this one."""
        return [*(self.parent.line() if self.parent else []), self]

    def below(self) -> Iterator[ChartNode]:
        """This one and all inside, in document order."""
        yield self
        for child in self.children:
            yield from child.below()


class ChartTree:
    """All states of a chart by their paths."""

    def __init__(self, states: tuple[State, ...], initial: str, parallel: bool) -> None:
        self.nodes: list[ChartNode] = []
        self.root = ChartNode(State("chart", initial=initial, states=states), "", None, -1, parallel)
        self._add(states, self.root)

    def _add(self, states: tuple[State, ...], parent: ChartNode) -> None:
        for s in states:
            path = f"{parent.path}.{s.name}" if parent.path else s.name
            node = ChartNode(s, path, parent, len(self.nodes), s.parallel)
            self.nodes.append(node)
            parent.children.append(node)
            self._add(s.states, node)

    def find(self, name: str) -> ChartNode:
        """The state a name means.

        Raises
        ------
        BlockError      none, or several
        """
        exact = [n for n in self.nodes if n.path == name]
        found = exact or [n for n in self.nodes if n.path.endswith(f".{name}")]
        if len(found) == 1:
            return found[0]
        if found:
            raise BlockError(
                f"'{name}' is {' or '.join(repr(n.path) for n in found)}; write which.", value=name
            )
        raise BlockError(
            f"there is no state '{name}'; {near_miss(name, [n.path for n in self.nodes])}", value=name
        )
