"""The quality of a coupling: assumed inputs over each step, compared with the delivered ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError, near_miss

WHOLE, HELD, MET = range(3)
"""Kinds of packed rows: PL_ROW_WHOLE, PL_ROW_HELD, PL_ROW_MET of the runtime."""


@dataclass(frozen=True)
class ConnectionQuality:
    """One input of a unit at the ends of the unit's steps.

    time : (n,) s; assumed, delivered : (n,) in the input's unit
    unit : that takes it
    """

    name: str
    unit: str
    time: np.ndarray
    assumed: np.ndarray
    delivered: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Assumed minus delivered, (n,)."""
        found: np.ndarray = self.assumed - self.delivered
        return found

    @property
    def worst(self) -> float:
        """Largest residual."""
        return float(np.max(np.abs(self.residual), initial=0.0))

    @cached_property
    def relative(self) -> float:
        """Root mean square of the residual over that of the delivered values; 0 if these are all 0."""
        size = float(np.sqrt(np.mean(self.delivered**2))) if len(self.delivered) else 0.0
        rms = float(np.sqrt(np.mean(self.residual**2))) if len(self.delivered) else 0.0
        return rms / size if size > 0 else (0.0 if rms == 0 else float("inf"))


@dataclass(frozen=True)
class BondQuality:
    """Power that the coupling creates between two inputs, of which one is an effort and the other a flow.

    time : (n,) s; power : (n,) W in SI units, assumed effort times delivered flow minus delivered effort
    times assumed flow; positive where the coupling feeds energy into the system
    """

    effort: str
    flow: str
    time: np.ndarray
    power: np.ndarray

    @property
    def energy(self) -> float:
        """Energy created over the whole run, by the trapezoidal rule [J]."""
        return float(np.trapezoid(self.power, self.time)) if len(self.time) > 1 else 0.0


@dataclass(frozen=True)
class CouplingQuality(Mapping[str, ConnectionQuality]):
    """Quality of a coupling, by input: ``r.coupling["motor.u"].residual``.

    order : in which units stepped, in words; suggestion : whose step to halve first
    bonds : by (effort, flow)
    macro_steps, rejected, rounds : steps of the coupling, those done again, rounds of iterated steps
    """

    connections: Mapping[str, ConnectionQuality]
    order: str
    suggestion: str
    bonds: Mapping[tuple[str, str], BondQuality] = field(default_factory=dict)
    macro_steps: int = 0
    rejected: int = 0
    rounds: int = 0

    def __getitem__(self, name: str) -> ConnectionQuality:
        if name not in self.connections:
            raise PlantloopError(
                f"no input '{name}' of a unit; {near_miss(name, self.connections)}", path=name
            )
        return self.connections[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.connections)

    def __len__(self) -> int:
        return len(self.connections)

    def __str__(self) -> str:
        lines = [f"order of the units: {self.order}", f"{'input':30} {'worst':>12} {'relative':>12}"]
        lines += [f"{c.name:30} {c.worst:12.4g} {c.relative:12.4g}" for c in self.connections.values()]
        lines += [f"{' x '.join(pair):30} {b.energy:12.4g} J created" for pair, b in self.bonds.items()]
        return "\n".join([*lines, self.suggestion])


@dataclass(frozen=True)
class PackedRows:
    """Rows of a unit's inputs as compiled code leaves them, see `pl_fmu_unit`; expanded when they are read.

    numbers : of all rows, one after the other
    kinds : (m,) of rows. HELD, MET: they have only what was delivered, (n,). What was assumed is what the
        row before delivered, one communication point earlier, or the same
    width : of whole rows, 1 + 2 n, the first of which is one; ticks : the communication points
    """

    numbers: np.ndarray
    kinds: np.ndarray
    width: int
    ticks: Ticks

    def __len__(self) -> int:
        return len(self.kinds)

    def whole(self) -> np.ndarray:
        """Expanded rows (m, 1 + 2 n): time [s], inputs assumed, inputs delivered."""
        n, held = (self.width - 1) // 2, self.kinds != WHOLE
        if not held.any():
            return self.numbers.reshape(-1, self.width)
        ends = np.cumsum(np.where(held, n, self.width))
        delivered = self.numbers[ends[:, None] - n + np.arange(n)]
        found = np.empty((len(held), self.width))
        found[:, 1 + n :] = delivered
        found[1:, 1 : 1 + n] = delivered[:-1]
        found[self.kinds == MET, 1 : 1 + n] = delivered[self.kinds == MET]
        full = np.flatnonzero(~held)
        found[full, : 1 + n] = self.numbers[ends[full, None] - self.width + np.arange(1 + n)]
        rows = np.arange(len(held))
        before = np.maximum.accumulate(np.where(held, 0, rows))  # the whole row before
        first, period = float(self.ticks.offset), float(self.ticks.period)
        points = np.rint((found[before, 0] - first) / period).astype(np.int64) + rows - before
        found[held, 0] = self._times(points[held])
        return found

    def _times(self, points: np.ndarray) -> np.ndarray:
        first, period = self.ticks.offset, self.ticks.period
        grid = math.lcm(first.denominator, period.denominator)
        if grid < 2**53 and abs(first * grid) + period * grid * int(points.max()) < 2**53:
            return (int(first * grid) + points * int(period * grid)) / grid  # rounded once
        return np.array([float(first + int(k) * period) for k in points])


class QualityLog:
    """Collects residuals during a run: of each unit, rows of t, inputs assumed, inputs delivered."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self._pieces: list[list[np.ndarray | PackedRows]] = [[] for _ in sizes]
        self._counts = [0] * len(self._sizes)
        self.macro_steps = self.rejected = self.rounds = 0

    def add(self, k: int, t: float, assumed: np.ndarray, delivered: np.ndarray) -> None:
        """Note a step of unit k that ended at t [s]."""
        self.add_rows(k, np.concatenate([[t], assumed, delivered])[None])

    def add_rows(self, k: int, rows: np.ndarray | PackedRows) -> None:
        """Add steps of unit k: (m, 1 + 2 n) time [s], inputs assumed, inputs delivered."""
        if len(rows):
            self._pieces[k].append(rows)
            self._counts[k] += len(rows)

    def rows(self, k: int) -> np.ndarray:
        """All rows of unit k, (m, 1 + 2 n)."""
        whole = np.concatenate([np.zeros((0, 1 + 2 * self._sizes[k])), *map(_whole, self._pieces[k])])
        self._pieces[k] = [whole]
        return whole

    def mark(self) -> list[int]:
        """The present length of the log."""
        return list(self._counts)

    def back(self, mark: Sequence[int]) -> None:
        """Forget rows added since a mark."""
        for k, count in enumerate(mark):
            while self._counts[k] > count:
                last = _whole(self._pieces[k].pop())
                self._counts[k] -= len(last)
                self.add_rows(k, last[: count - self._counts[k]] if count > self._counts[k] else last[:0])

    def until(self, t: float) -> None:
        """Forget rows after t [s]."""
        self.back([int(np.count_nonzero(self.rows(k)[:, 0] <= t)) for k in range(len(self._sizes))])

    def quality(
        self,
        names: Sequence[Sequence[str]],
        paths: Sequence[str],
        drivers: Mapping[str, Sequence[int]],
        steps: Sequence[float],
        order: str,
        bonds: Sequence[tuple[str, str]],
    ) -> CouplingQuality:
        """The quality over all rows.

        names : of each unit's inputs; drivers : of an input, numbers of the units behind it
        steps : newest step of each unit [s]
        """
        found: dict[str, ConnectionQuality] = {}
        for k, (inputs, path) in enumerate(zip(names, paths, strict=True)):
            rows = self.rows(k)
            time, assumed, delivered = rows[:, 0], rows[:, 1 : 1 + len(inputs)], rows[:, 1 + len(inputs) :]
            for i, name in enumerate(inputs):
                found[name] = ConnectionQuality(name, path, time, assumed[:, i], delivered[:, i])
        return CouplingQuality(
            found, order, _suggestion(found, paths, drivers, steps),
            {pair: _bond(pair, found) for pair in bonds}, self.macro_steps, self.rejected, self.rounds,
        )  # fmt: skip


def _whole(rows: np.ndarray | PackedRows) -> np.ndarray:
    return rows.whole() if isinstance(rows, PackedRows) else rows


def _bond(pair: tuple[str, str], found: Mapping[str, ConnectionQuality]) -> BondQuality:
    effort, flow = found[pair[0]], found[pair[1]]
    time, a, b = np.intersect1d(effort.time, flow.time, return_indices=True)
    power = effort.assumed[a] * flow.delivered[b] - effort.delivered[a] * flow.assumed[b]
    return BondQuality(*pair, time, power)


def _suggestion(
    found: Mapping[str, ConnectionQuality],
    paths: Sequence[str],
    drivers: Mapping[str, Sequence[int]],
    steps: Sequence[float],
) -> str:
    bad = [c for c in found.values() if c.relative > 1e-9]
    if not bad:
        return "no step needs to be shorter: what was assumed is what was delivered"
    worst = max(bad, key=lambda c: c.relative)
    own = list(paths).index(worst.unit)
    slowest = max([own, *drivers.get(worst.name, ())], key=lambda k: steps[k])
    return (
        f"halve the step of '{paths[slowest]}' ({steps[slowest]:g} s) first: '{worst.name}' was assumed with "
        f"an error of {100 * worst.relative:.3g} % (root mean square)"
    )


def plain(quality: CouplingQuality) -> dict[str, Any]:
    """The figures of a coupling as plain numbers."""
    return {name: {"worst": c.worst, "relative": c.relative} for name, c in quality.connections.items()}
