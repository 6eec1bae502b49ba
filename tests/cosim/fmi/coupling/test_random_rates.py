"""Random small graphs of units with points of their own, against an interpreter of docs/coupling.md."""

import random
import re
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.linalg import expm

from blocks import Gain, Sum
from cosim import Coupling, Diagram, simulate
from tests.helpers.units import LinearUnit

PERIODS, OFFSETS = [F(1, 20), F(1, 10), F(3, 40), F(1, 8), F(1, 30)], [F(0), F(0), F(1, 40), F(1, 16)]
ENDS = [F(1, 2), F(41, 80), F(77, 100)]


class One:
    """x' = a x + b u, y = c x + d u, with points at offset + k period; u is a sum of (unit, gain)."""

    def __init__(self, rng, n):
        self.a, self.b, self.c = rng.uniform(-3, 0), rng.uniform(-1, 1), rng.uniform(-1, 1)
        self.d, self.x = rng.choice([0.0, 0.0, 0.3]), rng.uniform(-1, 1)
        self.period, self.offset = rng.choice(PERIODS), rng.choice(OFFSETS)
        self.wires = [(j, rng.choice([1.0, -0.5])) for j in rng.sample(range(n), min(n, rng.choice([1, 2])))]
        self.us, self.ys, self.led, self.time = [], [], None, self.offset

    def block(self):
        """It in a diagram."""
        parts = (np.array([[v]]) for v in (self.a, self.b, self.c))
        return LinearUnit(
            *parts, np.array([self.x]), self.period, D=np.array([[self.d]]) if self.d else None,
            offset=self.offset, rolls_back=False,
        )  # fmt: skip

    def y(self, order, t):
        """Its output at t [s]."""
        return np.polyval(self.led or through(self.ys, order), t)

    def step(self, u, t):
        """To t [s], with the polynomial u in time."""
        h, now = float(self.period), float(self.time)
        du = np.polyder(np.poly1d(u))
        values = [np.polyval(u, now), du(now), du.deriv()(now)]
        m = np.zeros((4, 4))
        m[0], m[1, 2], m[2, 3] = [self.a, self.b, 0.0, 0.0], 1.0, 1.0
        self.x, end = (expm(m * h) @ [self.x, *values])[:2]
        return self.c * self.x + self.d * end


def through(samples, order):
    """The polynomial in time through the newest samples (t, value), the newest first."""
    newest = samples[: order + 1]
    return list(np.polyfit([t for t, _ in newest], [v for _, v in newest], len(newest) - 1))


def interpreted(units, end, order, sequence):
    """Outputs at `end`; sequence: of Gauss-Seidel, None: Jacobi."""
    left = np.eye(len(units))
    for k, u in enumerate(units):
        for j, gain in u.wires:
            left[k, j] -= u.d * gain
    for u, y in zip(units, np.linalg.solve(left, [u.c * u.x for u in units]), strict=True):
        u.ys = [(float(u.time), y)]
    read = lambda u, t: sum(gain * units[j].y(order, t) for j, gain in u.wires)
    for u in units:
        u.us = [] if u.offset else [(0.0, read(u, 0.0))]
    now = F(0)
    while now < end:
        points = [u.time + u.period if u.us else u.offset for u in units]
        now = min(end, *points)
        here = [u for u, t in zip(units, points, strict=True) if t <= now]
        for u in units if sequence is None else [units[k] for k in sequence]:
            if u not in here or not u.us:
                continue
            t, given = float(now), through(u.us, order)
            if sequence is not None:
                last = (t, read(u, t))
                given = through([last, *u.us] if order else [last], order)
            u.new = (t, u.step(given, t))
            if sequence is not None:
                u.led = through([u.new, *u.ys] if order else [u.new], order)
        for u in here:
            if u.us:
                u.ys, u.led, u.time = [u.new, *u.ys[:2]], None, now
        for u, sample in [(u, (float(now), read(u, float(now)))) for u in here]:
            u.us = [sample, *u.us[:2]]
    return [u.y(order, float(end)) for u in units]


@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("seed", range(8))
def test_units_of_any_rates(seed, order):
    """Slower ones are extrapolated between their points; an offset begins with what initialisation gave."""
    rng = random.Random(seed)
    n, extrapolation, end = rng.randint(2, 4), seed % 3, rng.choice(ENDS)
    units, d = [One(rng, n) for _ in range(n)], Diagram("random")
    for k, u in enumerate(units):
        d.add(f"u{k}", u.block())
    for k, u in enumerate(units):
        for i, (j, gain) in enumerate(u.wires):
            d.connect(f"u{j}.y", d.add(f"g{k}{i}", Gain(gain))["u"])
        if len(u.wires) == 1:
            d.connect(f"g{k}0.y", f"u{k}.u")
        else:
            d.connect(d.add(f"s{k}", Sum("++"))["y"], f"u{k}.u")
            d.connect(f"g{k}0.y", f"s{k}.in1")
            d.connect(f"g{k}1.y", f"s{k}.in2")
    coupling = Coupling(order=order, extrapolation=extrapolation)
    r = simulate(d, float(end), coupling=coupling, log_at=[float(end)], engine="reference")
    sequence = [int(k) for k in re.findall(r"'u(\d)'", r.coupling.order.split(";")[0])]
    exact = interpreted(units, end, extrapolation, None if order == "jacobi" else sequence)
    assert [r[f"u{k}.y"][-1, 0] for k in range(n)] == pytest.approx(exact, abs=1e-9)
