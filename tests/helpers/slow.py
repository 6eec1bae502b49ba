"""Run a diagram without any ordering: evaluate everything again and again until nothing is unknown any more.

A value that is not known yet is nan, and nan spreads to exactly the components that need it. At an instant
everything is evaluated in sweeps over all blocks; each sweep makes more components known, until all are, or
until what is left depends on itself: that is what an algebraic loop is. Slow, and with nothing in it that can
be wrong about the order of blocks, segments, rates or components.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from blocks.contract.memories import (
    ContinuousState,
    CountedInstants,
    DiscreteState,
    ExternalOutput,
    Memory,
    SampledMemory,
)
from blocks.contract.rate import Ticks
from cosim import Diagram
from tests.helpers.solo import Solo

TICKED = (SampledMemory, ExternalOutput)
WEIGHTS = {"euler": (1.0,), "rk4": (1 / 6, 1 / 3, 1 / 3, 1 / 6)}
NODES = {
    "euler": (0.0,),
    "rk4": (0.0, 0.5, 0.5, 1.0),
}  # each stage starts from the derivative of the one before


class Loop(Exception):
    """Some components cannot be known: they depend on themselves."""


class Slow:
    """A diagram of blocks (no subsystems) with its context."""

    def __init__(self, diagram: Diagram, sizes: dict[str, dict[str, int]]):
        graph = diagram.graph
        self.solos = {name: Solo(block, sizes.get(name, {})) for name, block in graph.nodes(data="block")}
        self.drivers = {(b, ports["target"]): (a, ports["source"]) for a, b, ports in graph.edges(data=True)}
        self.rates = sorted({rate for solo in self.solos.values() for rate in solo.taken})
        self.t = Fraction(0)

    # --- one instant
    def inputs(self, name: str, known: dict[tuple[str, str], np.ndarray]) -> list[np.ndarray]:
        found = []
        for port in self.solos[name].declared.inputs:
            driver = self.drivers.get((name, port.name))
            found.append(
                np.zeros(port.size) if driver is None else known.get(driver, np.full(port.size, np.nan))
            )
        return found

    def values_at(
        self, t: float, due: Sequence[tuple[str, Memory]] = ()
    ) -> dict[tuple[str, str], np.ndarray]:
        """All outputs at t; the memories that are `due` are unknown at first, and found on the way."""
        known: dict[tuple[str, str], np.ndarray] = {}
        for name, m in due:
            self.solos[name].own[self.solos[name].at(m)] = np.nan
        unknown = math.inf
        while True:
            for name, solo in self.solos.items():
                u = self.inputs(name, known)
                for m in [m for owner, m in due if owner == name]:
                    solo.own[solo.at(m)] = self.sample(solo, m, u, t)
                known |= {(name, port): value for port, value in solo.outputs(u, t).items()}
            values = [*known.values(), *[self.solos[name].own[self.solos[name].at(m)] for name, m in due]]
            left = sum(int(np.isnan(value).sum()) for value in values)
            if left == 0:
                return known
            if left >= unknown:
                raise Loop
            unknown = left

    @staticmethod
    def sample(solo: Solo, m: Memory, u: list[np.ndarray], t: float) -> np.ndarray:
        if isinstance(m, SampledMemory):
            return solo.evaluate(m.name, m.expression, u, t, solo.own)
        argument = solo.evaluate(m.name, m.block.argument, u, t, solo.own)
        unknown = np.full(m.size, np.nan)
        return unknown if np.isnan(argument).any() else np.ravel(solo.instances[m.name].call(t, argument))

    # --- time
    def tick(self) -> None:
        """Everything that happens at the present instant."""
        t = float(self.t)
        hits = [r for r in self.rates if self.t >= r.offset and (self.t - r.offset) % r.period == 0]
        for solo in self.solos.values():
            for rate in solo.taken:
                solo.taken[rate] += rate in hits
            for m in solo.declared.memories:
                if isinstance(m, DiscreteState) and m.ticks in hits:
                    solo.own[solo.at(m)] = solo.next[solo.at(m)]
                if isinstance(m, CountedInstants):
                    solo.own[solo.at(m)] = sum(moment <= self.t for moment in solo.times[m.name])
        known = self.values_at(t, self.due(hits))
        for name, solo in self.solos.items():
            for m in solo.declared.memories_of(DiscreteState):
                if m.ticks in hits:
                    u = self.inputs(name, known)
                    solo.next[solo.at(m)] = solo.evaluate(m.name, m.expression, u, t, solo.own)

    def due(self, hits: Sequence[Ticks]) -> list[tuple[str, Memory]]:
        solos = self.solos.items()
        every = [(n, m) for n, s in solos for m in s.declared.memories if isinstance(m, TICKED)]
        return [(n, m) for n, m in every if m.ticks in hits]

    def derivative(self, t: float) -> dict[str, np.ndarray]:
        known = self.values_at(t)
        return {name: solo.slope(t, solo.own, self.inputs(name, known)) for name, solo in self.solos.items()}

    def integrate(self, stop: Fraction, method: str, step: float) -> None:
        """Equal steps of an explicit Runge-Kutta method."""
        moving = any(solo.declared.memories_of(ContinuousState) for solo in self.solos.values())
        begin, end = float(self.t), float(stop)
        n = max(1, math.ceil((end - begin) / step - 1e-9)) if moving else 0
        h = (end - begin) / n if n else 0.0
        for i in range(n):
            t = begin + i * h
            start = {name: solo.own.copy() for name, solo in self.solos.items()}
            total = {name: np.zeros_like(own) for name, own in start.items()}
            slope = total
            for node, weight in zip(NODES[method], WEIGHTS[method], strict=True):
                for name, solo in self.solos.items():
                    solo.own[:] = start[name] + node * h * slope[name]
                slope = self.derivative(t + node * h)
                for name in total:
                    total[name] = total[name] + weight * slope[name]
            for name, solo in self.solos.items():
                solo.own[:] = start[name] + h * total[name]
        self.t = stop

    def run(self, until: Fraction, grid: Fraction, method: str, step: float) -> dict[str, np.ndarray]:
        """Outputs at multiples of a grid that all ticks and instants fall on."""
        rows: list[dict[tuple[str, str], np.ndarray]] = []
        for k in range(int(until / grid) + 1):
            if k:
                self.integrate(k * grid, method, step)
            self.tick()
            rows.append(self.values_at(float(self.t)))
        return {f"{name}.{port}": np.array([row[name, port] for row in rows]) for name, port in rows[0]}

    def has_loop(self, grid: Fraction) -> bool:
        """Is there an instant, between ticks or at one, at which something depends on itself?"""
        period = math.lcm(*[int(r.period / grid) for r in self.rates]) if self.rates else 1
        first = max([0, *[int(r.offset / grid) for r in self.rates]])
        subsets = {()}
        for k in range(first + period):
            t = k * grid
            subsets.add(tuple(r for r in self.rates if t >= r.offset and (t - r.offset) % r.period == 0))
        before = {name: solo.own.copy() for name, solo in self.solos.items()}
        for hits in sorted(subsets):
            try:
                self.values_at(0.0, self.due(hits))
            except Loop:
                return True
            finally:
                for name, solo in self.solos.items():
                    solo.own[:] = before[name]
        return False
