"""The one thing that changes in a run: time, every vector of the system, and solver memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocks.contract.memories import CountedInstants
from cosim.run.history import History
from cosim.run.opaque_blocks import Instances
from cosim.system import System

ARRAYS = ("x", "h", "w", "p", "next", "signs", "solution")


@dataclass
class Context:
    """State of a run between two steps; copying it is a snapshot.

    t : s; x, h, w, p as in `cosim.system`; next : (nh,) next values of discrete states, at their places in h
    ticks : per rate, number of ticks done; instants : per list of instants, number passed
    signs : (ne,) sign of every zero crossing, -1 or 1; 0 before the start
    solution : (nz,) accepted algebraic unknowns; histories, stops : of delays
    opaque : states of opaque blocks by name, where they are not live; instances : those blocks, in a run
    step : proposed size of the next adaptive step [s] (0: choose one); error : error memory of its control
    built_with : structural parameters of the diagram, frozen, by name; None: none, or not known
    """

    t: float
    x: np.ndarray
    h: np.ndarray
    w: np.ndarray
    p: np.ndarray
    next: np.ndarray
    ticks: list[int]
    instants: dict[str, int]
    signs: np.ndarray
    solution: np.ndarray
    histories: dict[str, History] = field(default_factory=dict)
    stops: list[float] = field(default_factory=list)
    started: bool = False
    step: float = 0.0
    error: float = 1e-4
    opaque: dict[str, bytes] = field(default_factory=dict)
    stopped: str = ""  # message of the stop event that ended the run
    instances: Instances | None = None
    built_with: Mapping[str, Any] | None = None

    @staticmethod
    def initial(system: System) -> Context:
        """Context at t = 0, before the first tick."""
        first: Context = system.derived.get("first context", lambda: Context._first(system))
        return first.copy()

    @staticmethod
    def _first(system: System) -> Context:
        return Context(
            0.0,
            system.x0,
            system.h0,
            system.w0,
            system.p0,
            system.h0,
            [0] * len(system.rates),
            dict.fromkeys(system.held_of(CountedInstants), 0),
            np.zeros(len(system.events)),
            system.w0[: system.residual.numel()],
            {d.name: History(d.initial) for d in system.delays},
        )

    def begin(self, system: System) -> Instances:
        """The opaque blocks of the run that this context is of, made where they are not yet."""
        if self.instances is None:
            self.instances = Instances(system, self.opaque)
        return self.instances

    def copy(self) -> Context:
        """An independent copy; opaque blocks as their states."""
        made = object.__new__(Context)
        parts = made.__dict__
        parts.update(self.__getstate__())
        for name in ARRAYS:
            parts[name] = parts[name].copy()
        made.ticks, made.stops = list(made.ticks), list(made.stops)
        made.instants, made.opaque = dict(made.instants), dict(made.opaque)
        made.histories = copy.deepcopy(made.histories) if made.histories else {}
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold."""
        live = {} if self.instances is None else {"opaque": self.instances.save(), "instances": None}
        return {**vars(self), **live}

    def assign(self, other: Context) -> None:
        """Take over another context's values, keeping this one's arrays (engines hold on to them)."""
        for name in ARRAYS:
            getattr(self, name)[:] = getattr(other, name)
        for name in ("t", "started", "step", "error", "stopped"):
            setattr(self, name, getattr(other, name))
        self.ticks[:] = other.ticks
        self.instants = dict(other.instants)
        self.histories = copy.deepcopy(other.histories)
        self.stops = list(other.stops)
        self.opaque = dict(other.opaque) if other.instances is None else other.instances.save()
        if self.instances is not None:
            self.instances.load(self.opaque)

    def same(self, other: Context) -> bool:
        """Equal, bit for bit."""
        mine, theirs = self.__getstate__(), other.__getstate__()
        return all(_equal(mine[k], theirs[k]) for k in mine)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, History):
        a, b = a.parts(), b.parts()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, np.ndarray):
        return bool(a.tobytes() == b.tobytes())
    return bool(a == b)
