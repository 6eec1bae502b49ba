"""The compiled functions of a simulation, called by themselves: in a loop in C, or once from Python."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.support.c_by_hand import REPEAT, library
from cosim import Simulation
from cosim.engines.native import bindings
from cosim.engines.native.native import NativeEngine


@dataclass
class CompiledFunction:
    """A function of compiled code with everything it reads; what it finds is in `out`."""

    function: bindings.Structure
    arguments: bindings.Structure
    out: np.ndarray
    kept: list[object] = field(default_factory=list)  # what the arguments point to

    def in_c(self, times: int) -> None:
        """So many calls from a loop in C."""
        cast = bindings.ffi().cast
        places = (int(cast("uintptr_t", p)) for p in (self.function, self.arguments, self._place))
        library(REPEAT).repeat(*places, times)

    def __post_init__(self) -> None:
        self._place = bindings.pointer(self.out)

    def from_python(self) -> None:
        """One call."""
        self.function(self.arguments, self._place)


def _engine(simulation: Simulation) -> NativeEngine:
    engine = simulation._engine
    if not isinstance(engine, NativeEngine):
        raise TypeError(f"engine '{engine.name}' has no compiled code")
    return engine


def derivative(simulation: Simulation) -> CompiledFunction:
    """The derivative of the states at the simulation's present ones."""
    engine = _engine(simulation)
    a = bindings.ffi().addressof(engine._run, "a")
    for name in ("x", "h", "w", "p"):
        setattr(a, name, bindings.pointer(getattr(engine.context, name)))
    return CompiledFunction(engine._code.model.derivative, a, np.zeros(len(engine.context.x)), [simulation])


@dataclass
class Linearised:
    """The compiled Jacobian: `calls` of a function, along a direction each, or one for all its numbers."""

    function: CompiledFunction
    calls: int
    point: np.ndarray  # states, and a direction of states and time
    start: np.ndarray  # first number of every column
    rows: np.ndarray

    def matrix(self) -> np.ndarray:
        """The Jacobian (n, n), column by column."""
        n = len(self.start) - 1
        found = np.zeros((n, n))
        if self.calls == 1:
            self.function.from_python()
            found[self.rows, np.repeat(np.arange(n), np.diff(self.start))] = self.function.out[
                : len(self.rows)
            ]
            return found
        direction = self.point[n:]
        for k in range(n):
            direction[:] = 0.0
            direction[k] = 1.0
            self.function.from_python()
            found[:, k] = self.function.out[:n]
        return found


def linearised(simulation: Simulation) -> Linearised:
    """The Jacobian at the simulation's present states.

    Raises
    ------
    TypeError      the solver is no stiff one
    """
    engine = _engine(simulation)
    room = engine._stiff
    if room is None:
        raise TypeError(f"solver '{engine.settings.solver}' has no Jacobian")
    context, table, arrays = engine.context, room.table, room._arrays
    n = len(context.x)
    point = np.concatenate([context.x, np.ones(n + 1)])
    found = engine._run.a
    a = bindings.new("pl_args")
    a.t, a.update_w, a.owner, a.c, a.v, a.iv = (
        found.t, found.update_w, found.owner, table.c, table.v, table.iv
    )  # fmt: skip
    for name, array in {"x": point, "h": context.h, "w": context.w, "p": context.p}.items():
        setattr(a, name, bindings.pointer(array))
    f = CompiledFunction(table.code.values, a, np.zeros(len(arrays["jacobian"]) + n), [simulation, point])
    calls = table.n_colours + 1 if table.n_colours else 1
    return Linearised(f, calls, point, np.array(arrays["column_start"]), np.array(arrays["rows"]))
