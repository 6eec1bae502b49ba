"""The flat system: everything a diagram means, as layouts, expressions and a schedule.

One instant is described by five vectors, the arguments of every function of a system:

====  =========  ==============================================================================
t     (1,)       time [s]
x     (nx,)      continuous states
h     (nh,)      all that is held between instants: discrete states, sampled memories, outputs of
                 opaque blocks, modes, accepted memories, passed instants, tick times and counts
w     (nw,)      values found anew at every evaluation: algebraic unknowns, delayed signals
p     (np,)      parameters
====  =========  ==============================================================================
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.callback import PythonCall, alone
from blocks.contract.declared import ImplicitSolution
from blocks.contract.derived import Derived
from blocks.contract.memories import ContinuousState, CountedInstants, DiscreteState, Memory
from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError, near_miss
from cosim.columns import stack
from cosim.function_text import text_of
from cosim.functions import Arguments, PureFunction
from cosim.names import Names, component_names, listed, that_fit
from cosim.segments import Segment
from cosim.signal_tree import Leaf, SignalTree
from cosim.slots import M, MemorySlot, ParameterSlot, Slot, Sought
from cosim.system_parts import (
    CoupledUnit,
    Delay,
    Draw,
    FollowingSize,
    FollowingStart,
    NamedRange,
    NamedTerm,
    PortFeed,
    Samples,
    Signal,
    SystemEvent,
    TickPlaces,
    Unsettable,
)
from cosim.time_grid import grid_of

ROUNDING = 1e-13  # relative; two times this close are one

Parts = Mapping[str, tuple[Any, Mapping[str, str]]]


@dataclass(frozen=True)
class System:
    """Immutable flat system; see the module text for t, x, h, w and p."""

    name: str
    t: ca.SX
    x: ca.SX
    h: ca.SX
    w: ca.SX
    p: ca.SX
    states: Mapping[str, MemorySlot[ContinuousState]]  # places in x
    held: Mapping[str, Slot]  # places in h
    solved: Mapping[str, Slot]  # places in w
    parameters: Mapping[str, ParameterSlot]  # places in p
    aliases: Mapping[str, str]  # other names of parameters
    inputs: Mapping[str, Slot]  # places in h
    perturbed: Mapping[str, Slot]  # those of the inputs that are added to a signal
    histories: tuple[Samples, ...]
    rates: tuple[Ticks, ...]
    tick_slots: tuple[TickPlaces, ...]  # per rate
    schedule: tuple[Segment, ...]
    signals: Mapping[str, Signal]
    # what a run logs by default: the signals, and states of blocks that declare `log_states`
    logged: tuple[str, ...]
    derivative: ca.SX  # of x
    accepted: tuple[ca.SX, np.ndarray]  # new values and places in h
    starting: tuple[ca.SX, np.ndarray]  # modes that depend on where the run starts: values and places in h
    invariants: ca.SX  # zero along every solution
    tolerances: np.ndarray  # of each component of the invariants
    invariant_names: tuple[tuple[str, str], ...]  # its block and what it is
    correction: ca.SX  # of x: what to add to bring the invariants back to zero
    # (nx,) this factor times the change by a last digit is no error of a step; see `rounding_matters`
    rounding: np.ndarray
    events: tuple[SystemEvent, ...]
    residual: ca.SX  # zero at the algebraic unknowns, which are the first places of w
    loops: tuple[Sought, ...]  # what each unknown of w stands for
    delays: tuple[Delay, ...]
    draws: tuple[Draw, ...]
    terms: tuple[NamedTerm, ...]
    port_rates: Mapping[str, str]  # in words, for ports that sample
    order: tuple[str, ...]  # signals in order of evaluation
    outports: Mapping[str, str]  # output of the diagram -> signal
    opaque: tuple[str, ...] = ()  # blocks with Python functions inside their continuous equations
    calls: tuple[PythonCall, ...] = ()  # these functions
    callers: tuple[str, ...] = ()  # the block of each
    borders: Mapping[str, str] = field(default_factory=dict)  # output of a subsystem -> signal
    fields: Mapping[str, str] = field(default_factory=dict)  # of blocks -> name of the initial value, or ""
    starts: tuple[FollowingStart, ...] = ()  # initial values that follow from parameters
    sizes: tuple[FollowingSize, ...] = ()  # nominal sizes of states that follow from them
    refused: Mapping[str, Unsettable] = field(default_factory=dict)  # parameters that cannot be set
    ranges: tuple[NamedRange, ...] = ()  # in which values are meant to stay
    units: tuple[CoupledUnit, ...] = ()  # that a co-simulation master runs
    # slopes of signals that depend on inputs, which nobody tells: are they in derivatives or residuals?
    input_slopes: Mapping[str, bool] = field(default_factory=dict)
    prefix: str = ""  # what names of a block that is looked at alone may leave out
    x0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    h0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    w0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    p0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    remake: Callable[[], System] | None = field(default=None, repr=False)  # from what was drawn
    # direct feedthrough of the blocks by their paths, found where it is asked for
    feeds: Callable[[], Mapping[str, tuple[PortFeed, ...]]] = field(default=dict, repr=False, compare=False)
    # what fields of blocks and parameters of diagrams were given, by name, found where it is asked for
    given: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False, compare=False)
    # values found by solving equations, for Jacobians, found where it is asked for
    implicit: Callable[[], tuple[ImplicitSolution, ...]] = field(default=tuple, repr=False, compare=False)
    # blocks by their paths, with the names of their parameters and of the fields these are the values of
    parts: Parts = field(default_factory=dict, repr=False, compare=False)
    drawn: Any = field(default=None, repr=False, compare=False)  # the netlist it was made from, to be shown
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what was drawn, and made from it again: the same equations and bits."""
        return _remade, (self.remake, self.prefix)

    def __deepcopy__(self, memo: dict[int, Any]) -> System:
        """Itself: nothing in it ever changes."""
        return self

    def function(self, name: str, make: Callable[[], list[ca.SX]]) -> ca.Function:
        """Function (t, x, h, w, p) -> outputs, compiled for CasADi's virtual machine once per name."""

        def made() -> ca.Function:
            results = [ca.densify(e) for e in make()]
            return ca.Function("f", [self.t, self.x, self.h, self.w, self.p], results)

        return self.derived.get(("function", name), made)

    def signal(self, name: str) -> Signal:
        """A signal, or a component of one, by name."""
        if isinstance(name, str) and name in self.signals:
            return self.signals[name]
        full, component = self.locate(name)
        whole = self.observable[full]
        if component is None:
            return whole
        labels = whole.labels[component : component + 1]
        units = whole.units[component : component + 1]
        part = whole.expression[component]
        return Signal(f"{full}[{component}]", part, labels, whole.ticks, whole.path, units)

    @property
    def inner(self) -> Mapping[str, Signal]:
        """What is logged by name only: states, modes and other memories, parameters that are no signals."""
        return self.derived.get("inner", self._find_inner)

    def _find_inner(self) -> dict[str, Signal]:
        found: dict[str, Signal] = {}
        shown = self.signals.keys()
        for vector, memories in ((self.x, self.states), (self.h, self.held)):
            for name, slot in memories.items():
                if not isinstance(slot, MemorySlot) or slot.memory.private:
                    continue
                if not {name, f"{slot.path}.{slot.memory.shown}"} & shown:
                    ticks = None if slot.rate is None else self.rates[slot.rate]
                    value, units = vector[slot.index], slot.units
                    found[name] = Signal(name, value, slot.labels, ticks, slot.path, units)
        for name, slot in self.parameters.items():
            if name not in self.signals:
                units = (slot.unit,) * slot.size if slot.unit else ()
                found[name] = Signal(name, self.p[slot.index], slot.labels, None, "", units)
        return found

    @property
    def observable(self) -> Mapping[str, Signal]:
        """All that has a value to look at, by name: signals, and what is inside the blocks."""
        return self.derived.get("observable", lambda: {**self.inner, **self.signals})

    @property
    def shown(self) -> dict[str, str]:
        """Signals by other names: the outputs of the diagram and of its subsystems."""
        return self.derived.get("shown", self._find_shown)

    def _find_shown(self) -> dict[str, str]:
        return {**self.borders, **self.outports}

    @property
    def other_names(self) -> dict[str, str]:
        """Full names of signals and parameters by their other names."""
        return self.derived.get("other names", lambda: {**self.aliases, **self.shown})

    def driver(self, name: str) -> str | None:
        """The output that drives an input of a block, both given by name; None for what is no such input."""
        wires = getattr(self.drawn, "connections", ())
        return next((".".join(source) for source, target in wires if ".".join(target) == name), None)

    def _of_input(self, name: str) -> str | None:
        """What to write for an input of a block: the output that drives it."""
        driver = self.driver(name)
        return None if driver is None else f"That is an input; its signal is '{driver}', which drives it."

    def locate(self, name: str) -> tuple[str, int | None]:
        """The signal a name means and the number of its component, None where all are meant.

        Raises
        ------
        PlantloopError      no such signal or component, with a near miss
        """
        return self.names("signal").locate(name)

    def names(self, kind: str) -> Names:
        """What can be named in this system, of one kind.

        kind : "signal" (outputs of the diagram and of subsystems are other names of signals,
            parameters have theirs), "output" (of the diagram), "state" (all that ``initial=`` may set),
            "parameter", "unsettable" (a parameter no run can set), "input", or "field" of a block
        """
        where = f"'{self.name}'"
        match kind:
            case "signal":
                return Names(kind, where, self.observable, self.other_names, self.prefix, hint=self._of_input)
            case "state":
                return Names(kind, where, self._initial_slots(), {}, self.prefix)
            case "parameter":
                return Names(kind, where, self.parameters, self.aliases, self.prefix, parts=False)
            case "input":
                return Names(kind, where, self.inputs, {}, self.prefix)
            case "output":
                return Names(kind, where, self.outports, {}, self.prefix, parts=False)
            case "unsettable":
                return Names(kind, where, self.refused, {}, self.prefix, parts=False)
            case _:
                return Names(kind, where, self.fields, {}, self.prefix, parts=False)

    @property
    def derivatives(self) -> PureFunction:
        """x' = f(t, x, u, p) as a NumPy function with exact Jacobians; see `cosim.functions`.

        Its rows are the components of x, each in its unit per second.

        Raises
        ------
        PlantloopError      a delay: what it shows is no function of t, x, u and p
        """
        return self.derived.get("derivatives", self._find_derivatives)

    def _find_derivatives(self) -> PureFunction:
        return PureFunction(self._arguments, self.derivative, self._arguments.names["x"])

    @property
    def outputs(self) -> PureFunction:
        """y = g(t, x, u, p), the outputs of the diagram; `outputs_of` gives any other signals."""
        return self.derived.get("outputs", self._find_outputs)

    def _find_outputs(self) -> PureFunction:
        return self.outputs_of(list(self.outports))

    def outputs_of(self, names: Sequence[str] | str | None) -> PureFunction:
        """Some signals, or components of them, as a function of t, x, u and p; all signals for None."""
        wanted = list(self.signals) if names is None else listed(names, "outputs")
        found = [self.signal(name) for name in wanted]
        rows = [
            name if s.size == 1 else f"{name}[{k}]"
            for name, s in zip(wanted, found, strict=True)
            for k in range(s.size)
        ]
        return PureFunction(self._arguments, stack(s.expression for s in found), rows)

    @property
    def _arguments(self) -> Arguments:
        return self.derived.get("arguments", self._find_arguments)

    def _find_arguments(self) -> Arguments:
        if self.delays:
            raise PlantloopError(
                f"'{self.delays[0].name}' is a delay: its past is part of the state, so the equations are no "
                "function of t, x, u and p.",
                path=self.delays[0].name,
                hint="Put a rational (Padé) TransferFunction in its place.",
            )
        places = [slot.index for slot in self.inputs.values()]
        inputs = np.concatenate([np.zeros(0, int), *places])
        held = component_names(self.held, len(self.h0))
        names = {
            "x": component_names(self.states, len(self.x0)),
            "u": tuple(
                name if slot.size == 1 else f"{name}[{k}]"
                for name, slot in self.inputs.items()
                for k in range(slot.size)
            ),
            "p": component_names(self.parameters, len(self.p0)),
            "h": held,
        }
        start = {"x": self.x0, "h": self.h0, "w": self.w0, "p": self.p0}
        return Arguments(
            self.t, self.x, self.h, self.w, self.p, inputs, self.residual, self.loops, start, names,
            self._answering if self.calls else None,
        )  # fmt: skip

    @contextlib.contextmanager
    def _answering(self) -> Iterator[Callable[[np.ndarray], None]]:
        """Users' functions for one evaluation; what comes raises what they raised."""
        with alone(self.calls) as live:

            def check(values: np.ndarray) -> None:
                for call, path in zip(self.calls, self.callers, strict=True):
                    if (ended := live[call].interrupt) is not None:
                        raise ended
                    if live[call].failure and not np.isfinite(values).all():
                        why = f"{call.about} of block '{path}' {live[call].failure}."
                        raise PlantloopError(why, path=path) from live[call].error

            yield check

    def tree(self, names: Iterable[str] | None = None) -> SignalTree:
        """Some signals side by side, each by its full name; all for None."""
        chosen = tuple(self.logged) if names is None else tuple(names)
        return self.derived.get(("tree", chosen), lambda: self._tree(chosen))

    def _tree(self, names: tuple[str, ...]) -> SignalTree:
        signals = (self.observable[name] for name in names)
        leaves = (Leaf(s.name, 0, s.size, s.labels, s.units, s.ticks) for s in signals)
        return SignalTree.of(leaves, self.other_names)

    def chosen(self, names: Sequence[str] | str | None) -> list[str]:
        """The signals some names mean, whole and each once; for None those of `logged`.

        A name with stars in it means all that fit, inside blocks too: "plant.*", "*.x".
        """
        if names is None:
            return list(self.logged)
        wanted = tuple(listed(names, "signals"))
        return list(self.derived.get(("chosen", wanted), lambda: self._choose(wanted)))

    def _choose(self, names: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for name in names:
            found |= dict.fromkeys(self._fitting(name) if "*" in name else [self.locate(name)[0]])
        return tuple(found)

    def _fitting(self, pattern: str) -> list[str]:
        known = (*self.signals, *self.inner)
        found = that_fit(pattern, known)
        shown = that_fit(pattern, self.shown)
        found += [self.shown[other] for other in shown if self.shown[other] in self.signals]
        if not found:
            near = near_miss(pattern.replace("*", ""), known)
            why = f"'{self.name}' has no signal that fits '{pattern}'; {near}"
            raise PlantloopError(why, path=pattern, value=pattern)
        return found

    @property
    def hash(self) -> str:
        """Fingerprint of the equations and the schedule (not of the numbers)."""
        return self.derived.get("hash", self._find_hash)

    def _find_hash(self) -> str:
        layout = [list(v) for v in (self.states, self.held, self.solved, self.parameters)]
        discrete = [self.rates, [s.names for s in self.schedule], layout, self.opaque, self.draws_as_text()]
        digest = hashlib.sha256(repr(discrete).encode())
        events = [part for e in self.events for part in (e.crossing, *(v for _, _, v in e.resets))]
        delays = [part for d in self.delays for part in (d.signal, d.seconds)]
        segments = [s.expression for s in self.schedule]
        rest = [self.accepted[0], self.invariants, self.residual]
        expressions = [self.derivative, *segments, *events, *delays, *rest]
        function = self.function("hash", lambda: [ca.vertcat(ca.SX(0, 1), *expressions)])
        digest.update(text_of(function).encode())
        return digest.hexdigest()[:16]

    def draws_as_text(self) -> list[str]:
        """Names and kinds of the random draws."""
        return [f"{d.name} {d.rate} {d.distribution}" for d in self.draws]

    @property
    def grid(self) -> int:
        """D: every tick falls on an integer number of units of 1/D s.

        Raises
        ------
        PlantloopError      1e10 ticks of some pair of rates would leave 64-bit integers
        """
        return self.derived.get("grid", lambda: grid_of(self.rates))

    def snapped(self, t: float) -> float:
        """`t` [s], or the tick or listed instant it misses by rounding: 0.9 of 3*0.3, 0.35 of 35*0.01."""
        if not self.rates and not len(self._moments):
            return t
        behind = int(np.searchsorted(self._moments, t, side="right"))
        known = self._moments[max(behind - 1, 0) : behind + 1].tolist()
        for ticks in self.rates:
            k = round((Fraction(t) - ticks.offset) / ticks.period)
            known.append(float(ticks.offset + max(k, 0) * ticks.period))
        near = (m for m in known if abs(m - t) <= t * ROUNDING)
        return min(near, key=lambda m: abs(m - t), default=t)

    def instants_until(self, times: np.ndarray) -> np.ndarray:
        """How many ticks and listed instants there are up to each of some times [s], it included, (n,)."""
        found = np.searchsorted(self._moments, times * (1 + ROUNDING), side="right").astype(np.int64)
        for ticks in self.rates:
            since = (times - float(ticks.offset)) / float(ticks.period)
            found += np.maximum(np.floor(since * (1 + ROUNDING) + ROUNDING), -1).astype(np.int64) + 1
        return found

    def listed_instants(self) -> tuple[np.ndarray, np.ndarray]:
        """Instants [s] of all lists in the order of time, and which list each is of; at one time by name."""
        slots = self.held_of(CountedInstants)
        rank = {name: k for k, name in enumerate(sorted(slots))}
        times = np.concatenate([np.zeros(0), *[slot.times.nearest for slot in slots.values()]])
        sizes = np.array([len(slot.times) for slot in slots.values()], dtype=int)
        lists = np.repeat(np.arange(len(slots)), sizes)
        by_name = np.array([rank[name] for name in slots], dtype=int)[lists]
        order = np.lexsort((by_name, times))
        return times[order], lists[order]

    @property
    def _moments(self) -> np.ndarray:
        """All listed instants [s], in order."""
        return self.derived.get("moments", self._find_moments)

    def _find_moments(self) -> np.ndarray:
        return self.listed_instants()[0]

    def held_of(self, kind: type[M]) -> dict[str, MemorySlot[M]]:
        """Memories of a kind that have places in h."""
        slots = ((n, s) for n, s in self.held.items() if isinstance(s, MemorySlot))
        return {n: s for n, s in slots if isinstance(s.memory, kind)}

    @property
    def discrete_places(self) -> list[np.ndarray]:
        """Places in h of the discrete states of each rate."""
        places: list[list[np.ndarray]] = [[np.zeros(0, dtype=int)] for _ in self.rates]
        for slot in self.held_of(DiscreteState).values():
            assert slot.rate is not None  # a discrete state has one
            places[slot.rate].append(slot.index)
        return [np.concatenate(found) for found in places]

    def _initial_slots(self) -> dict[str, MemorySlot[Any]]:
        """What ``initial=`` may set: continuous states (in x); discrete states, modes and samples (in h)."""
        inputs = {slot.name for slot in self.inputs.values()}
        slots = ((n, s) for n, s in self.held_of(Memory).items() if not s.memory.private)
        held = {n: s for n, s in slots if s.memory.settable and n not in inputs}
        return {**held, **self.states}

    def state_name(self, index: int) -> str:
        """Name of a component of x."""
        names: dict[int, str] = self.derived.get("names of states", self._find_state_names)
        return names.get(index, f"state {index}")

    def _find_state_names(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for name, slot in self.states.items():
            places = slot.index.tolist()
            found |= {k: f"{name}[{k - places[0]}]" if slot.size > 1 else name for k in places}
        return found

    def stop_event(self, message: str) -> int:
        """Which of `stops` ended a run with this message, counted from 1; 0 without a message."""
        return self.stops.index(message) + 1 if message else 0

    @property
    def stops(self) -> tuple[str, ...]:
        """What a run may say that ended: of every event, "" where it ends none, and behind them of units."""
        return self.derived.get("stops", self._find_stops)

    def _find_stops(self) -> tuple[str, ...]:
        return (*(e.stop for e in self.events), *(text for u in self.units for text in u.block.endings))

    def info(self) -> dict[str, Any]:
        """Sizes, rates, ports and execution order, for ``cosim info``."""
        return {
            "name": self.name,
            "continuous states": len(self.x0),
            "held values": len(self.h0),
            "parameters": len(self.p0),
            "rates": [str(r) for r in self.rates],
            "ports": dict(self.port_rates),
            "schedule": [
                f"{s.word} {s.activation.text(self.rates)}: "
                f"{', '.join(s.names[:6])}" + ", ..." * (len(s.names) > 6)
                for s in self.schedule
            ],
            "signals": {n: s.size for n, s in self.signals.items()},
        }


def _remade(remake: Callable[[], System], prefix: str) -> System:
    """What `System.__reduce__` stands for."""
    return replace(remake(), prefix=prefix)
