"""Run one block alone, tick by tick, from its traced functions: the smallest engine that obeys the rules.

At an instant with ticks: discrete states move next to current, sampled memories and opaque functions are
refreshed in order of declaration, then the next values are written. Between instants rk4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.memories import (
    ContinuousState,
    CountedInstants,
    DiscreteState,
    Evolving,
    ExternalOutput,
    SampledMemory,
    Ticked,
)
from blocks.contract.rate import Rate, Ticks, instant
from blocks.contract.trace import Traced, trace
from cosim.engines.reference.bound import Bound

Signal = Callable[[float], Any]  # t [s] -> number or array


class Solo:
    """One block with its context: time, memories (current and next), ticks so far."""

    def __init__(self, block: Block, sizes: Mapping[str, int] | None = None, traced: Traced | None = None):
        self.block, self.traced = block, traced or trace(block, dict(sizes or {}))
        self.declared = self.traced.declared
        values = self.traced.values(block)
        numbers = [values.parameters[q.name][q.mask] for q in self.declared.parameters]
        self.p = np.concatenate([np.zeros(0), *[np.ravel(n) for n in numbers]])
        self.own = np.concatenate([np.zeros(0), *values.initial.values()])
        self.next = self.own.copy()
        self.times = values.times
        self.instances = {m.name: m.block.make() for m in self.declared.memories_of(ExternalOutput)}
        self.taken = dict.fromkeys(self.declared.ticks, 0)
        self.t = 0.0
        self._arguments = [np.zeros(s.numel()) for s in self.traced.arguments]  # those of all its functions
        self._bound: dict[str, Bound | ca.Function] = {}  # to them, by name

    # --- one evaluation -----------------------------------------------------------------------------
    def evaluate(self, name: str, expression: Any, u: Sequence[np.ndarray], t: float, own: Any) -> np.ndarray:
        if (bound := self._bound.get(name)) is None:
            f = self.traced.function(name, expression)
            self._bound[name] = bound = Bound(f, self._arguments) if f.sparsity_out(0).is_dense() else f
        values = (t, own, self.p, self.tick_values(), *u)
        if isinstance(bound, ca.Function):
            return np.array(bound(*values), dtype=float).ravel()
        for array, value in zip(self._arguments, values, strict=True):
            array[:] = value
        return bound().copy()

    def outputs(
        self, u: Sequence[np.ndarray], t: float | None = None, own: Any = None
    ) -> dict[str, np.ndarray]:
        t, own = self.t if t is None else t, self.own if own is None else own
        return {o.name: self.evaluate(f"y {o.name}", o.expression, u, t, own) for o in self.declared.outputs}

    def expressions(self) -> dict[str, Any]:
        """Everything a memory is given by: derivatives, next values, sampled values."""
        return {m.name: m.expression for m in self.declared.memories_of(Evolving)}

    def tick_values(self) -> list[float]:
        pairs = []
        for ticks, n in self.taken.items():
            pairs += [float(ticks.offset + max(n - 1, 0) * ticks.period), float(n), float(n)]
        return pairs

    # --- at an instant ------------------------------------------------------------------------------
    def hit(self, time: Fraction, u: Sequence[np.ndarray], rates: Sequence[Ticks] | None = None) -> None:
        """Everything that happens at `time`, given the inputs there; `rates` to force some to tick."""
        self.t = float(time)
        if rates is None:
            rates = [r for r, n in self.taken.items() if r.offset + n * r.period == time]
        due = [m for m in self.declared.memories_of(Ticked) if m.ticks in rates]
        for rate in rates:
            self.taken[rate] += 1
        for m in due:
            if isinstance(m, DiscreteState):
                self.own[self.at(m)] = self.next[self.at(m)]
        for m in self.declared.memories_of(CountedInstants):
            self.own[self.at(m)] = sum(moment <= time for moment in self.times[m.name])
        self.refresh(due, u)
        for m in due:
            if isinstance(m, DiscreteState):
                self.next[self.at(m)] = self.evaluate(m.name, m.expression, u, self.t, self.own)

    def refresh(self, due: Sequence[Any], u: Sequence[np.ndarray]) -> None:
        for m in due:
            if isinstance(m, SampledMemory):
                self.own[self.at(m)] = self.evaluate(m.name, m.expression, u, self.t, self.own)
            elif isinstance(m, ExternalOutput):
                argument = self.evaluate(m.name, m.block.argument, u, self.t, self.own)
                self.own[self.at(m)] = self.instances[m.name].call(self.t, argument)

    def feedthrough(self, ticking: bool) -> dict[str, np.ndarray]:
        """Derived: which output components use which input components, at a tick or between ticks."""
        d = self.declared
        width = sum(i.size for i in d.inputs)
        passed = np.zeros((self.own.size, width), dtype=bool)  # memories that signals pass at a tick
        for m in d.memories if ticking else ():
            if isinstance(m, SampledMemory):
                inputs, own, _, _ = self.traced.depends(m.name, m.expression)
                passed[self.at(m)] = inputs | (own.astype(int) @ passed.astype(int) > 0)
            elif isinstance(m, ExternalOutput):
                inputs, own, _, _ = self.traced.depends(m.name, m.block.argument)
                passed[self.at(m)] = (inputs | (own.astype(int) @ passed.astype(int) > 0)).any(axis=0)
        found = {}
        for o in d.outputs:
            inputs, own, _, _ = self.traced.depends(f"y {o.name}", o.expression)
            found[o.name] = inputs | (own.astype(int) @ passed.astype(int) > 0)
        return found

    def at(self, memory: Any) -> slice:
        return self.traced.slices[memory.name]

    # --- a run --------------------------------------------------------------------------------------
    def run(self, at: Sequence[Rate], step: float = 1e-2, **signals: Signal) -> dict[str, np.ndarray]:
        """Outputs (len(at), size) at the times asked for, right-continuous; inputs are functions of t."""
        asked = [instant(a) for a in at]
        stops = sorted({Fraction(0), *asked, *self._stops(max(asked))})
        rows: dict[Fraction, dict[str, np.ndarray]] = {}
        for time in stops:
            self._advance(float(time), step, signals)
            self.hit(time, self._u(float(time), signals))
            rows[time] = self.outputs(self._u(float(time), signals))
        return {o.name: np.array([rows[a][o.name] for a in asked]) for o in self.declared.outputs}

    def _stops(self, end: Fraction) -> set[Fraction]:
        found = {moment for times in self.times.values() for moment in times if 0 <= moment <= end}
        for rate in self.taken:
            count = int((end - rate.offset) / rate.period) + 1 if end >= rate.offset else 0
            found |= {rate.offset + k * rate.period for k in range(count)}
        return found

    def _u(self, t: float, signals: Mapping[str, Signal]) -> list[np.ndarray]:
        return [
            np.broadcast_to(np.asarray(signals[i.name](t), float), (i.size,)) for i in self.declared.inputs
        ]

    def slope(self, t: float, own: np.ndarray, u: Sequence[np.ndarray]) -> np.ndarray:
        """Derivative of `own`; 0 for everything but continuous states."""
        rate = np.zeros(own.size)
        for m in self.declared.memories_of(ContinuousState):
            rate[self.at(m)] = self.evaluate(m.name, m.expression, u, t, own)
        return rate

    def _advance(self, end: float, step: float, signals: Mapping[str, Signal]) -> None:
        if self.declared.memories_of(ContinuousState) and end > self.t:
            n = int(np.ceil((end - self.t) / step - 1e-9))
            h = (end - self.t) / n
            for k in range(n):
                t, x = self.t + k * h, self.own
                k1 = self.slope(t, x, self._u(t, signals))
                k2 = self.slope(t + h / 2, x + h / 2 * k1, self._u(t + h / 2, signals))
                k3 = self.slope(t + h / 2, x + h / 2 * k2, self._u(t + h / 2, signals))
                k4 = self.slope(t + h, x + h * k3, self._u(t + h, signals))
                self.own = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        self.t = end
