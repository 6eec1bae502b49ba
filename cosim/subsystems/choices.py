"""One of several subsystems: chosen while it runs (`If`, `SwitchCase`) or where it is built (`Variant`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.arguments import flag, is_number
from blocks.contract.block import Block, Equations
from blocks.contract.masks import ParameterExpression
from blocks.errors import BlockError, WiringError, shown
from cosim.compile.netlist import Inport, Netlist, Port
from cosim.subsystems.control import Latch, PartControl, above_zero
from cosim.subsystems.parts import NAMES, Subsystem, checked_inner, netlist_of, part

CHOICE = "(choice)"
CHOSEN = "(chosen)"  # input of a branch


@dataclass(frozen=True)
class FirstAbove(Block):
    """Which of some conditions is the first that is above 0; the last output is that of none.

    Outputs: branch0, branch1, ...: 1 for the one that is chosen, -1 for the others.
    """

    conditions: tuple[str, ...]

    def define(self, b: Equations) -> None:
        """Declare conditions with their crossings, and the choice."""
        before: Any = 0.0
        for k, name in enumerate(self.conditions):
            on = above_zero(b, name, b.input(name, size=1))
            b.output(f"branch{k}", np.where(on * (1.0 - before) > 0.5, 1.0, -1.0))
            before = np.maximum(before, on)
        b.output(f"branch{len(self.conditions)}", np.where(before > 0.5, -1.0, 1.0))


@dataclass(frozen=True)
class EqualTo(Block):
    """Which of some lists a number is in, cut to a whole number; the last output is that of none.

    Outputs: branch0, branch1, ...: 1 for the one that is chosen, -1 for the others.
    """

    cases: tuple[tuple[int, ...], ...]

    def define(self, b: Equations) -> None:
        """Declare the number and the choice."""
        number = np.trunc(b.input("case", size=1)[0])
        some: Any = 0.0
        for k, wanted in enumerate(self.cases):
            here: Any = 0.0
            for value in wanted:
                here = np.where(number == value, 1.0, here)
            b.output(f"branch{k}", np.where(here > 0.5, 1.0, -1.0))
            some = np.maximum(some, here)
        b.output(f"branch{len(self.cases)}", np.where(some > 0.5, -1.0, 1.0))


@dataclass(frozen=True)
class If(Subsystem):
    """Runs `then` while its input "condition" is above 0, else `otherwise`; and shows its outputs.

    The ports of all branches are ports of the whole; an output that the active branch lacks holds its value.
    Branches behave like `Enabled` parts: those that do not run stand still. If an input of a branch has the
    name of a control port (as with a nested `If`), the branch is put in front: "then_condition".

    then, otherwise : Block, Diagram or subsystem; without `otherwise` nothing runs
    elifs : further branches, each with an input of its own: "condition1", "condition2", ...
    reset : do branches restart when they are chosen?
    """

    then: Any
    otherwise: Any = None
    elifs: tuple[Any, ...] = ()
    reset: bool = False

    def __post_init__(self) -> None:
        checked_inner("If", self.then)
        if not isinstance(self.elifs, (list, tuple)):
            raise BlockError(
                f"elifs is {shown(self.elifs)}, expected a list of subsystems.", value=self.elifs
            )
        object.__setattr__(self, "elifs", tuple(self.elifs))
        for inner in (*self.elifs, *(() if self.otherwise is None else (self.otherwise,))):
            checked_inner("If", inner)
        flag(self.reset, "reset", BlockError)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (self.then, *self.elifs, *(() if self.otherwise is None else (self.otherwise,)))

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        conditions = ("condition", *(f"condition{k + 1}" for k in range(len(self.elifs))))
        branches = {"then": self.then} | {f"then{k + 1}": inner for k, inner in enumerate(self.elifs)}
        if self.otherwise is not None:
            branches["otherwise"] = self.otherwise
        return merged(FirstAbove(conditions), conditions, branches, self.reset)


@dataclass(frozen=True)
class SwitchCase(Subsystem):
    """Runs the subsystem whose case equals the number at its input "case", cut to a whole number.

    cases : {1: inner, (2, 3): other}; default : what runs otherwise, None for nothing
    reset : do branches restart when they are chosen?

    See `If` for ports and outputs.
    """

    cases: Mapping[Any, Any]
    default: Any = None
    reset: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.cases, Mapping) or not self.cases:
            hint = "Write SwitchCase({1: block, (2, 3): other})."
            raise BlockError(f"cases is {shown(self.cases)}, expected subsystems by number.", hint=hint)
        seen: set[int] = set()
        for wanted, inner in self.cases.items():
            checked_inner("SwitchCase", inner)
            for number in _numbers(wanted):
                if number in seen:
                    raise BlockError(f"case {number} is there twice.", value=number)
                seen.add(number)
        if self.default is not None:
            checked_inner("SwitchCase", self.default)
        flag(self.reset, "reset", BlockError)

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return (*self.cases.values(), *(() if self.default is None else (self.default,)))

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        numbers = {_numbers(wanted): inner for wanted, inner in self.cases.items()}
        branches = {"case" + "_".join(map(str, wanted)): inner for wanted, inner in numbers.items()}
        if self.default is not None:
            branches["default"] = self.default
        return merged(EqualTo(tuple(numbers)), ("case",), branches, self.reset)


@dataclass(frozen=True)
class Variant(Subsystem):
    """One of several subsystems, chosen where the diagram is built.

    choices : {name: Block, Diagram or subsystem}, all with the same ports
    chosen : name of the one that is there; a parameter of the diagram may give it:
        ``Variant({"rigid": a, "elastic": b}, d.parameter("kind", "rigid"))``
    """

    choices: Mapping[Any, Any]
    chosen: Any

    def __post_init__(self) -> None:
        if not isinstance(self.choices, Mapping) or not self.choices:
            raise BlockError(f"choices is {shown(self.choices)}, expected subsystems by name.")
        for inner in self.choices.values():
            checked_inner("Variant", inner)
        plain = isinstance(self.chosen, (str, int, float))
        if not isinstance(self.chosen, ParameterExpression) and not (plain and self.chosen in self.choices):
            raise BlockError(f"there is no choice {shown(self.chosen)}; there are {[*self.choices]}.")

    @property
    def inside(self) -> tuple[Any, ...]:
        """See `Subsystem.inside`."""
        return tuple(self.choices.values())

    def netlist(self) -> Netlist:
        """See `Subsystem.netlist`."""
        found = {name: netlist_of(inner) for name, inner in self.choices.items()}
        first = next(iter(found.values()))
        for name, other in found.items():
            if set(other.inports) != set(first.inports) or set(other.outports) != set(first.outports):
                ports = [*first.inports, *first.outports]
                raise WiringError(
                    [f"choice {shown(name)} has other ports than the first, which has {ports}."]
                )
        if not isinstance(self.chosen, ParameterExpression):
            return found[self.chosen]
        return Netlist("variant", {}, (), {}, frozenset(), variants=found, chosen=self.chosen)

    def _ports(self) -> Netlist:
        return netlist_of(next(iter(self.choices.values())))


def merged(choice: Block, control: tuple[str, ...], branches: Mapping[str, Any], reset: bool) -> Netlist:
    """Branches of which one runs at a time, with their outputs merged."""
    parts = {
        name: part(netlist_of(inner), PartControl(enable=True, again=reset), names=NAMES | {"enable": CHOSEN})
        for name, inner in branches.items()
    }
    nodes: dict[str, Any] = {name: Inport() for name in control} | {CHOICE: choice}
    wires: list[tuple[Port, Port]] = [((name, "out"), (CHOICE, name)) for name in control]
    shown_by: dict[str, list[tuple[Port, Port]]] = {}
    for k, (name, inner) in enumerate(parts.items()):
        nodes[name] = inner
        wires.append(((CHOICE, f"branch{k}"), (name, CHOSEN)))
        for port, entry in inner.inports.items():
            if port != CHOSEN:
                outside = f"{name}_{port}" if port in control else port
                nodes.setdefault(outside, Inport(entry.size))
                wires.append(((outside, "out"), (name, port)))
        for output in inner.outports:
            shown_by.setdefault(output, []).append(((name, output), (CHOICE, f"branch{k}")))
    outports = {}
    for output, sources in shown_by.items():
        latch = f"({output})"
        nodes[latch] = Latch(several=len(sources))
        for k, (source, active) in enumerate(sources):
            suffix = str(k) if len(sources) > 1 else ""
            wires += [(source, (latch, f"u{suffix}")), (active, (latch, f"active{suffix}"))]
        outports[output] = (latch, "y")
    return Netlist("choice", nodes, tuple(wires), outports, frozenset())


def _numbers(wanted: Any) -> tuple[int, ...]:
    """Whole numbers of a case."""
    several = wanted if isinstance(wanted, (list, tuple)) else (wanted,)
    if not several or not all(is_number(v) and math.isfinite(v) and int(v) == v for v in several):
        raise BlockError(f"case {shown(wanted)} is no whole number, nor a tuple of them.", value=wanted)
    return tuple(int(v) for v in several)
