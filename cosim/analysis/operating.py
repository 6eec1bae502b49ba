"""A system at an operating point: what `linearize` and `trim` look at."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.masks import default, filled
from blocks.contract.memories import ContinuousState
from blocks.errors import PlantloopError, shown
from cosim.analysis.rounded import rounding_between
from cosim.analysis.sides import Sides
from cosim.analysis.tangent import Delays, Moved, Tangent
from cosim.block_alone import around
from cosim.built_for import built_for
from cosim.columns import pick
from cosim.diagram import Diagram
from cosim.engines.methods.newton import newton
from cosim.engines.reference.bound import Bound
from cosim.names import Names, component_names, listed, mapped, no_block
from cosim.port_handles import Node
from cosim.run.context import Context
from cosim.run.named_values import set_initial, set_input, set_parameter
from cosim.run.opaque_blocks import looking_at
from cosim.run.parameter_checks import check_parameters
from cosim.slots import MemorySlot, Slot


@dataclass(frozen=True)
class OperatingPoint:
    """The point at which a system is linearised or started: values by name.

    states, inputs, outputs : name -> (k,) array; a block alone has no "plant." before its names
    sampled : name -> (k,) array of what is kept from tick to tick besides states, and of angles that are
        counted to be more than half a turn from where they begin
    residual : largest |x'| of the states that were to rest, in their own units per s, or change at a tick
    """

    states: Mapping[str, np.ndarray]
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    residual: float = 0.0
    prefix: str = field(default="", repr=False)
    sampled: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def initial(self) -> dict[str, np.ndarray]:
        """The states, and what is sampled, as ``simulate(..., initial=)`` takes them."""
        return {self.prefix + name: value for name, value in {**self.states, **self.sampled}.items()}


CANCELLED = 1e-11  # of its terms: less is no slope, where friction that holds takes up whatever pushes
REMEMBERED = 16  # blocks looked at alone whose diagrams are kept
_recent: deque[tuple[Block, Diagram]] = deque(maxlen=REMEMBERED)  # used last


def diagram_of(system: Block | Diagram | Node) -> Diagram:
    """A diagram as it is; a block, or what a handle stands for, in a diagram of its own, kept for a while."""
    if isinstance(system, Node):
        system = _held_by(system)
    if isinstance(system, Diagram):
        return system
    if not isinstance(system, Block):
        raise no_block(system, "a Block or a Diagram")
    known = next((diagram for block, diagram in tuple(_recent) if block is system), None)
    if known is None:
        known = around(system)
        _recent.append((system, known))
    return known


def _held_by(node: Node) -> Any:
    """What a handle stands for; a subsystem with the parameters it was given there."""
    content = node.diagram.content(node.name)
    given = {name: filled(value, default) for name, value in node.diagram.given(node.name).items()}
    return content.with_parameters(**given) if given and isinstance(content, Diagram) else content


def model_of(
    system: Block | Diagram | Node,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    at: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    opened: Sequence[str] | None = None,
    begun: bool = True,
) -> SystemAtPoint:
    """A system with the chosen inputs and outputs, put at an operating point; kept with the diagram.

    opened : signals whose place an input of their name takes
    begun : modes are those of a run that begins there (a snapshot has its own), not the initial ones
    """
    diagram, parameters = built_for(diagram_of(system), parameters)
    key = tuple(
        None if names is None else tuple(listed(names, what))
        for names, what in ((inputs, "inputs"), (outputs, "outputs"), (opened or (), "open"))
    )
    made = diagram.kept("models")
    if key not in made:
        made[key] = SystemAtPoint(diagram, *key)
    model: SystemAtPoint = made[key]
    model.place(at, parameters)
    if begun and not model.context.started:
        model.take_modes()
    return model


def _no_input(diagram: Diagram, inports: Names, name: str) -> PlantloopError:
    """The error about an input that is none; of a block it names the ports that can be written instead."""
    ports = [n for n, s in diagram.system().signals.items() if s.path == name]
    if not ports:
        return inports.unknown(name)
    written = " or ".join(f"'{port}'" for port in ports)
    return PlantloopError(
        f"'{diagram.name}' has no input '{name}': it is a block.",
        path=name,
        value=name,
        hint=f"To act on what it gives, write {written}.",
    )


class SystemAtPoint:
    """A system with chosen inputs and outputs by place and name, standing at an operating point."""

    def __init__(
        self,
        diagram: Diagram,
        inputs: tuple[str, ...] | None,
        outputs: tuple[str, ...] | None,
        opened: tuple[str, ...] | None = (),
    ) -> None:
        inports = Names("input", f"'{diagram.name}'", diagram.inports, prefix=diagram.prefix, parts=False)
        chosen = [found[0] if (found := inports.find(n)) else n for n in inputs or ()]
        every = diagram.inports  # of an FMU alone one may be called "u[1]"
        parts = [(n, None) if n in every else _component(n) for n in (every if inputs is None else chosen)]
        wanted = [name for name, _ in parts]
        for name in wanted:
            if name not in diagram.inports and "." not in name:
                raise _no_input(diagram, inports, name)
        perturbed = tuple(dict.fromkeys(n for n in wanted if n not in diagram.inports))
        opened = tuple(dict.fromkeys(opened or ()))
        perturbed += tuple(n for n in opened if n not in perturbed)
        self.system = s = diagram.system(perturb=perturbed, opened=opened)
        self.prefix = s.prefix
        self._start = Context.initial(s)
        self.context = self._start.copy()
        self._sides = Sides(s, self.context)
        self._moved = False
        numbered = [(n, s.inputs[n], _places(n, s.inputs[n], k)) for n, k in parts]
        self.input_index = np.array([slot.index[k] for _, slot, places in numbered for k in places], int)
        self.input_names = [
            n if slot.size == 1 else f"{n}[{k}]" for n, slot, places in numbered for k in places
        ]
        shown = list(s.outports) if outputs is None else list(dict.fromkeys(outputs))
        signals = [s.signal(name) for name in shown]
        self.output = ca.vertcat(ca.SX(0, 1), *[g.expression for g in signals])
        self.output_names = [
            n if g.size == 1 else f"{n}[{k}]"
            for n, g in zip(shown, signals, strict=True)
            for k in range(g.size)
        ]
        self._results = ca.vertcat(s.derivative, self.output, s.residual)
        self._paths = (diagram, s, wanted, shown, opened)
        self.opened = [(n, s.perturbed[n].index, s.signal(n).expression) for n in opened]
        self._variables = ca.vertcat(s.x, pick(s.h, self.input_index), s.w[: s.residual.numel()])
        self._jacobian: Bound | None = None
        self._time = np.zeros(1)
        self._given: dict[int, tuple[bytes, ca.DM]] = {}
        self.labels: dict[Any, Any] = {}  # what `linearize` keeps for a next time
        self.state_names, self.held_names = (
            [n.removeprefix(self.prefix) for n in component_names(slots, size)]
            for slots, size in ((s.states, len(s.x0)), (s.held, len(s.h0)))
        )

    @cached_property
    def rounding(self) -> dict[str, Block]:
        """What rounds in it by its path: see `rounding_between`."""
        return rounding_between(*self._paths)

    def place(
        self,
        at: OperatingPoint | Context | Mapping[str, Any] | None,
        parameters: Mapping[str, Any] | None,
    ) -> None:
        """Go to an operating point; from the start every time."""
        if self._moved:
            self.context.assign(self._start)
        self._moved = at is not None or parameters is not None or bool(self.system.residual.numel())
        for name, value in mapped(parameters, "parameters").items():
            set_parameter(self.system, self.context, name, value)
        check_parameters(self.system, self.context.p, mapped(parameters, "parameters"))
        if at is not None:
            self._place(at)
        if not self.context.started and len(self.system.starting[1]):
            self._moved = True
            with self.looking():
                self.choose_branches()

    def choose_branches(self) -> None:
        """Branches, and what else is found before a run, as they are at this point."""
        s, c = self.system, self.context
        expression, places = s.starting
        if not len(places):
            return
        function = s.function("starting", lambda: [expression])
        for _ in range(len(places) + 1):  # one may depend on another
            before = c.h[places].copy()
            c.h[places] = np.array(function(*self.arguments())).ravel()
            if np.array_equal(before, c.h[places]):
                return

    def take_modes(self) -> None:
        """Modes of a run that begins at this point: what friction holds there sticks.

        In sampled diagrams with opened signals, which ticks would show otherwise, they stay.
        """
        if not self._sides.several or (self.opened and self.system.rates):
            return
        with self.looking():
            if self.opened:
                self._moved = True
                self._find_all()
            if self._sides.open:
                self._moved = True
                self._sides.begin_with_these()
                self._sides.find()

    def _place(self, at: OperatingPoint | Context | Mapping[str, Any]) -> None:
        c, s = self.context, self.system
        if isinstance(at, Context):
            added = sum(slot.size for slot in s.perturbed.values())
            if len(at.x) != len(c.x) or len(at.h) not in (len(c.h), len(c.h) - added):
                raise PlantloopError("this snapshot was taken of another diagram.")
            shared = len(at.h)  # perturbations come last
            c.t, c.x[:], c.p[:], c.solution[:] = at.t, at.x, at.p, at.solution
            c.h[:shared], c.next[:shared] = at.h, at.next
            c.started, c.opaque = at.started, dict(at.opaque)
            return
        if isinstance(at, OperatingPoint):
            states = {**at.states, **at.sampled} if self.prefix else at.initial
            at = dict(states) | {n: v for n, v in at.inputs.items() if n in s.inputs}
        if not isinstance(at, Mapping):
            raise PlantloopError(
                f"at is {shown(at)}, expected an OperatingPoint, a snapshot or values by name.",
                value=at,
                hint='Write at={"block.x": value}, at=trim(...) or at=simulation.snapshot().',
            )
        inputs = s.names("input")
        for name, value in mapped(at, "at").items():
            place = set_input if inputs.find(name) else set_initial
            place(s, c, name, value)

    def looking(self) -> contextlib.AbstractContextManager[None]:
        """Evaluate Python functions inside the equations as in a run at this point, in this context."""
        return looking_at(self.system, self.context.opaque)

    def arguments(self) -> list[ca.DM]:
        """t, x, h, w, p at the operating point."""
        c = self.context
        return [ca.DM(c.t), *(self._matrix(k, v) for k, v in enumerate((c.x, c.h, c.w, c.p)))]

    def bound(self, function: ca.Function, time: np.ndarray) -> Bound:
        """A function of the system where the context stands, at the time in `time`: no conversions a call."""
        c = self.context
        return Bound(function, [time, c.x, c.h, c.w, c.p])

    def _matrix(self, place: int, values: np.ndarray) -> ca.DM:
        """Numbers as CasADi takes them, converted where they changed: it takes longer than most functions."""
        bits = values.tobytes()
        if place not in self._given or self._given[place][0] != bits:
            self._given[place] = bits, ca.DM(values)
        return self._given[place][1]

    def continuous(self) -> tuple[np.ndarray, ...]:
        """Full A, B, C, D; algebraic unknowns follow by the implicit function theorem."""
        s = self.system
        n, nz = len(s.x0), s.residual.numel()
        self._find_all()
        results, variables = self._results, self._variables
        if self._jacobian is None:
            key = f"jacobian:{self.input_names}:{self.output_names}"
            function = s.function(key, lambda: [ca.jacobian(results, variables)])
            self._jacobian = self.bound(function, self._time)
        self._time[0] = self.context.t
        whole = self._jacobian().reshape(variables.numel(), results.numel()).T
        rows, columns = len(whole) - nz, variables.numel() - nz
        if nz:
            change = np.linalg.solve(whole[rows:, columns:], whole[rows:, :columns])
            through = whole[:, columns:]
            terms = np.abs(whole[:, :columns]) + np.abs(through) @ np.abs(change)
            whole = whole[:, :columns] - through @ change
            whole[np.abs(whole) <= CANCELLED * terms] = 0.0
        return whole[:n, :n], whole[:n, n:], whole[n:rows, :n], whole[n:rows, n:]

    def _find_all(self) -> None:
        """Unknowns, and what stands in the place of opened signals: what they are."""
        self.find_unknowns()
        for _ in self.opened:
            for name, places, expression in self.opened:
                found = self.system.function(f"opened:{name}", lambda e=expression: [e])  # type: ignore[misc]
                self.context.h[places] = np.array(found(*self.arguments())).ravel()
            self.find_unknowns()

    def with_delays(self, pade: int | None) -> tuple[tuple[np.ndarray, ...], list[str]]:
        """A, B, C, D of a diagram with delays as rational systems of `pade` states, and those states' names.

        Raises
        ------
        PlantloopError      there are delays and no `pade`
        """
        s, c = self.system, self.context
        delays = Delays(s, c, pade, sampled=False)
        if not delays.order:
            return self.continuous(), []
        tangent = Tangent(s, c, delays)
        for _ in range(1 + len(self.opened)):
            tangent.bring_to_rest()
            for name, places, expression in self.opened:
                c.h[places] = tangent.at(("opened", name), lambda e=expression: e).value  # type: ignore[misc]
        rates = tangent.rates()
        n, nz, m = len(s.x0), delays.order, len(self.input_index)
        total = n + nz + m
        moved = Moved(
            np.eye(n, total), np.eye(nz, total, n), np.zeros((len(s.h0), total)),
            np.zeros((0, total)), np.zeros((len(c.w), total)),
        )  # fmt: skip
        moved.h[self.input_index] = np.eye(m, total, n + nz)
        key = ("output", (*self.input_names, None, *self.output_names))
        shown = tangent.rows(tangent.at(key, lambda: self.output), moved)
        split = n + nz
        model = (rates.own, rates.held[:, self.input_index], shown[:, :split], shown[:, split:])
        return model, delays.names()

    def find_unknowns(self) -> None:
        """Bring w up to date with the time and states."""
        s, c = self.system, self.context
        n = s.residual.numel()
        if not n:
            return
        function = s.function("residual", lambda: [s.residual, ca.jacobian(s.residual, s.w[:n])])

        def residual() -> tuple[np.ndarray, np.ndarray]:
            value, jacobian = function(*self.arguments())
            return np.array(value, dtype=float).ravel(), np.array(jacobian, dtype=float)

        c.w[:n] = c.solution
        newton(residual, c.w, np.arange(n), s.loops, c.t)


def _component(name: str) -> tuple[str, int | None]:
    """What "plant.y[2]" names: a signal and which of its components, None where all are meant."""
    found = re.fullmatch(r"(.+)\[(\d+)\]", name)
    return (found[1], int(found[2])) if found else (name, None)


def _places(name: str, slot: Slot, component: int | None) -> Sequence[int]:
    """The components that are inputs.

    Raises
    ------
    PlantloopError      there is no such component
    """
    if component is not None and component >= slot.size:
        several = "component" if slot.size == 1 else "components"
        what = f"'{name}' has {slot.size} {several}, and [{component}] is asked for."
        raise PlantloopError(what, path=name, value=component, hint="They are counted from 0.")
    return range(slot.size) if component is None else [component]


def static_of(slot: MemorySlot[ContinuousState]) -> str:
    """How an equilibrium treats a state: "solve", "hold" or "zero"."""
    return slot.memory.static
