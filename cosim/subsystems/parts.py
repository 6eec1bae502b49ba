"""Subsystems that run under a condition: `Enabled`, `Triggered`, `Resettable`, `FunctionCall`.

Each wraps a block or a diagram and has its inputs and outputs, besides a control port that says when it
runs::

    heater = d.add("heater", Enabled(Integrator()))
    d.connect(switch["y"], heater["enable"])
    d.connect(power["y"], heater["u"])

Source: `docs/subsystems.md`, "What happens when".
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from blocks.arguments import choice, flag
from blocks.contract.block import Block
from blocks.contract.masks import parameter
from blocks.errors import BlockError, WiringError, near_miss, shown
from cosim.compile.netlist import Inport, Netlist, PartCondition
from cosim.node_ports import traced_alone
from cosim.subsystems.control import EDGES, Latch, PartControl

INNER = "inner"  # what a block that is wrapped is called in its subsystem
CONTROL = "(control)"
OUTPUTS = ("held", "reset")
PORTS = ("enable", "trigger", "call", "reset")
NAMES = {port: port for port in PORTS}


@runtime_checkable
class Drawn(Protocol):
    """What can be drawn: a diagram."""

    def netlist(self) -> Netlist:
        """What is drawn, as data."""


class Subsystem(abc.ABC):
    """Interface of what stands in a diagram like a diagram, and is made of other blocks and diagrams."""

    @property
    @abc.abstractmethod
    def inside(self) -> tuple[Any, ...]:
        """The blocks, diagrams and subsystems it is made of."""

    @abc.abstractmethod
    def netlist(self) -> Netlist:
        """What it stands for, as data."""

    @property
    def inports(self) -> dict[str, Inport]:
        """Inputs by name, those that control it included."""
        return self._ports().inports

    @property
    def outports(self) -> dict[str, Any]:
        """Outputs by name."""
        return dict(self._ports().outports)

    def _ports(self) -> Netlist:
        return self.netlist()


def checked_inner(what: str, inner: Any) -> Any:
    """A block, diagram or subsystem.

    Raises
    ------
    WiringError     anything else
    """
    if isinstance(inner, type):
        raise WiringError([f"{what}({inner.__name__}): that is a class; write {inner.__name__}(...)."])
    if not isinstance(inner, (Block, Subsystem, Drawn)):
        raise WiringError([f"{what} of {shown(inner)}: expected a block or a diagram."], value=inner)
    return inner


def netlist_of(inner: Block | Subsystem | Drawn) -> Netlist:
    """A diagram as it is; a block as a diagram of that block, with its ports.

    Raises
    ------
    WiringError    the outputs of the block depend on how many components its inputs have
    """
    if not isinstance(inner, Block):
        return inner.netlist()
    found = traced_alone(inner)
    if found.partial:
        raise WiringError(
            [
                f"the outputs of a {type(inner).__name__} in a conditional part or loop cannot be known: "
                f"with inputs of one component, {found.why} If it is made for more, put it into a Diagram "
                "with inports and outports."
            ]
        )
    probe = found.declared
    nodes: dict[str, Any] = {INNER: inner}
    nodes |= {i.name: Inport(i.size) for i in probe.inputs if i.name != INNER}
    wires = tuple(((i.name, "out"), (INNER, i.name)) for i in probe.inputs)
    return Netlist(INNER, nodes, wires, {o.name: (INNER, o.name) for o in probe.outputs}, frozenset())


def wrapped(inner: Netlist) -> Netlist:
    """A diagram around another, with its ports and parameters."""
    face = inner
    while face.variants:  # all have the same ports
        face = next(iter(face.variants.values()))
    nodes: dict[str, Any] = {INNER: inner, **face.inports}
    wires = tuple(((name, "out"), (INNER, name)) for name in face.inports)
    given = {name: parameter(inner.owner, name, value) for name, value in inner.parameters.items()}
    return Netlist(
        inner.name, nodes, wires, {name: (INNER, name) for name in face.outports}, frozenset(),
        inner.owner, inner.parameters, {INNER: given} if given else {},
    )  # fmt: skip


def part(
    inner: Netlist,
    control: PartControl,
    hold: bool = True,
    initial: Mapping[str, Any] | None = None,
    names: Mapping[str, str] = NAMES,
) -> Netlist:
    """A diagram as a part that obeys a control.

    hold : do outputs hold while it is inactive, or fall back to what they were at first?
    names : what the control ports are called outside
    initial : what outputs are before it was active first; of those not named, what it gives at zero inputs

    Raises
    ------
    WiringError     a port or block inside is called like a control port
    """
    if inner.condition is not None or inner.variants:
        inner = wrapped(inner)
    given = dict(initial or {})
    if unknown := [name for name in given if name not in inner.outports]:
        raise WiringError([f"no output '{unknown[0]}'; {near_miss(unknown[0], inner.outports)}"])
    asked = (control.enable, control.trigger, control.call, control.reset)
    ports = [port for port, wanted in zip(PORTS, asked, strict=True) if wanted]
    if taken := [names[p] for p in ports if names[p] in inner.nodes]:
        what = f"'{inner.name}' has a block or port '{taken[0]}', as the control port is called."
        hint = "Put it into a Diagram in which that port has another name."
        raise WiringError([what], path=taken[0], hint=hint)
    nodes = {**inner.nodes, **{names[p]: Inport() for p in ports}, CONTROL: control}
    wires = [*inner.connections, *(((names[p], "out"), (CONTROL, p)) for p in ports)]
    own, outports = {CONTROL}, {}
    for name, source in inner.outports.items():
        latch = f"({name})"
        while latch in nodes:  # of what is inside, which merges outputs itself
            latch = f"({latch})"
        nodes[latch] = Latch(hold, given.get(name))
        source = (source[0], "out") if isinstance(inner.nodes.get(source[0]), Inport) else source
        wires += [(source, (latch, "u")), ((CONTROL, PartControl.ACTIVITY), (latch, "active"))]
        own.add(latch)
        outports[name] = (latch, "y")
    restarts = bool(control.again or control.reset)
    condition = PartCondition(CONTROL, frozenset(own), bool(control.caller), restarts)
    return replace(inner, nodes=nodes, connections=tuple(wires), outports=outports, condition=condition)


@dataclass(frozen=True)
class Enabled(Subsystem):
    """Runs while its input "enable" is above 0 (any component of it).

    Sampled blocks inside tick only while the part is active. While it is inactive, continuous states stand
    still (derivative 0), crossings do not fire, and counters and delays keep their contents.

    inner : Block, Diagram, or a `Triggered` part, which is then called at edges that occur while it is
        enabled
    reset : what states do when the part becomes active; False: continue, True: restart at their initial
        values
    outputs : while the part is inactive; "held" keeps the last values, "reset" returns to the initial ones
    initial : outputs before the part is active for the first time: {name: value}, or one value for all;
        default the outputs of the inside in its initial state at zero inputs, where no condition inside
        holds, and 0 where they are not finite there
    """

    inner: Any
    reset: bool = False
    outputs: str = "held"
    initial: Any = None

    def __post_init__(self) -> None:
        checked_inner("Enabled", self.inner)
        checked_initial(self.initial)
        flag(self.reset, "reset", BlockError)
        choice(self.outputs, "outputs", OUTPUTS, BlockError)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        inner, control = _without(self.inner), _control(self.inner)
        found = netlist_of(inner)
        if control.caller and self.reset:
            raise WiringError(["Enabled(Triggered(...), reset=True): a part that is called has no restart."])
        made = replace(control, enable=True, again=self.reset)
        return part(found, made, self.outputs == "held", values(found, self.initial))


@dataclass(frozen=True)
class Triggered(Subsystem):
    """Runs once, as one tick, at each edge of its input "trigger".

    A sampled trigger has edges at its ticks, a continuous one at its zero crossings. At an edge every
    sampled block inside ticks, whatever its own sample time is; its formulas use that sample time as the
    time between two calls. Continuous states are refused by name. Outputs hold between calls.

    inner : Block, Diagram, or an `Enabled` part; then edges count only while it is enabled
    edge : "rising" (to above 0), "falling" (to 0 or below) or "either"
    initial : see `Enabled`
    """

    inner: Any
    edge: str = "rising"
    initial: Any = None

    def __post_init__(self) -> None:
        checked_inner("Triggered", self.inner)
        checked_initial(self.initial)
        choice(self.edge, "edge", EDGES, BlockError)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        if isinstance(self.inner, Enabled):
            inner = self.inner
            return replace(inner, inner=replace(self, inner=inner.inner)).netlist()
        found = netlist_of(self.inner)
        return part(found, PartControl(trigger=self.edge), True, values(found, self.initial))


@dataclass(frozen=True)
class FunctionCall(Subsystem):
    """Runs once, as one tick, whenever the number at its input "call" has changed: a count of calls.

    `FunctionCallGenerator` and events of a state chart output such counts. The part runs before the blocks
    that read its outputs at the same instant, so that the caller can use them.

    inner, initial : see `Triggered`
    """

    inner: Any
    initial: Any = None

    def __post_init__(self) -> None:
        checked_inner("FunctionCall", self.inner)
        checked_initial(self.initial)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        found = netlist_of(self.inner)
        return part(found, PartControl(call=True), True, values(found, self.initial))


@dataclass(frozen=True)
class Resettable(Subsystem):
    """Always runs, and restarts at each edge of its input "reset".

    Continuous states and modes go back to their initial values at that instant, discrete ones at their next
    tick.

    inner : Block or Diagram; edge : "rising", "falling" or "either"
    """

    inner: Any
    edge: str = "rising"

    def __post_init__(self) -> None:
        checked_inner("Resettable", self.inner)
        choice(self.edge, "edge", EDGES, BlockError)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.inner,)

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        return part(netlist_of(self.inner), PartControl(reset=self.edge))


def _without(inner: Any) -> Any:
    """What a subsystem that is called wraps: both conditions are one part."""
    return inner.inner if isinstance(inner, (Triggered, FunctionCall)) else inner


def _control(inner: Any) -> PartControl:
    if isinstance(inner, Triggered):
        return PartControl(trigger=inner.edge)
    return PartControl(call=isinstance(inner, FunctionCall))


def values(inner: Netlist, initial: Any) -> dict[str, Any]:
    """Initial outputs by name."""
    if initial is None:
        return {}
    return dict(initial) if isinstance(initial, Mapping) else dict.fromkeys(inner.outports, initial)


def checked_initial(initial: Any) -> None:
    """None, a number or several, or those by name of output.

    Raises
    ------
    BlockError      anything else
    """
    values = initial.values() if isinstance(initial, Mapping) else (initial,)
    for value in () if initial is None else values:
        if isinstance(value, (bool, set, Mapping)) or value is None:
            raise BlockError(f"initial is {shown(initial)}, expected finite numbers.", value=initial)
        try:
            found = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            found = np.asarray(np.nan)
        if found.ndim > 1 or not found.size or not np.isfinite(found).all():
            raise BlockError(f"initial is {shown(initial)}, expected finite numbers.", value=initial)
    if isinstance(initial, Mapping) and (wrong := [n for n in initial if not isinstance(n, str)]):
        raise BlockError(f"initial names {shown(wrong[0])}, expected names of outputs.", value=initial)
