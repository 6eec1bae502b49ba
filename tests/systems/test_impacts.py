"""Bodies that hit something, again and again: the instants against closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import ellipkinc

from blocks import Block, Equations
from cosim import Diagram, simulate
from tests.helpers.checked import closed_form

G = 9.81


@dataclass(frozen=True)
class RockingBlock(Block):
    """q'' = p^2 (q - a sign q); at q = 0 it lands on its other edge with e times the rate.

    Source: Housner, The Behavior of Inverted Pendulum Structures During Earthquakes, BSSA 53 (1963).
    """

    p: float = 2.1
    a: float = 0.25
    e: float = 0.85
    start: float = 0.2

    def define(self, b: Equations) -> None:
        x = b.continuous("x", [self.start, 0.0])
        edge = b.where_event(x[0], self.a, -self.a)
        b.derivative(x, [x[1], self.p**2 * (x[0] - edge)])
        b.when(x[0], {x: [x[0], self.e * x[1]]}, name="lands")
        b.output("q", x[0])

    def instants(self, n: int) -> np.ndarray:
        """When it lands: T/4 = arccosh(1/(1 - q/a))/p to and from each largest angle q."""
        quarter = lambda q: np.arccosh(1 / (1 - q / self.a)) / self.p
        found, w = [quarter(self.start)], self.p * np.sqrt(self.a**2 - (self.a - self.start) ** 2)
        for _ in range(n - 1):
            w *= self.e
            found.append(found[-1] + 2 * quarter(self.a - np.sqrt(self.a**2 - (w / self.p) ** 2)))
        return np.array(found)


@dataclass(frozen=True)
class BallInAir(Block):
    """v' = -g - c v |v| above a floor; it leaves with e times its speed."""

    c: float = 0.15
    e: float = 0.8
    start: float = 3.0

    def define(self, b: Equations) -> None:
        x = b.continuous("x", [self.start, 0.0])
        b.derivative(x, [x[1], -G - self.c * x[1] * np.abs(x[1])])
        b.when(x[0], {x: [0.0, -self.e * x[1]]}, direction="falling", name="lands")
        b.output("y", x[0])

    def instants(self, n: int) -> np.ndarray:
        """Up in arctan(v/V) V/g, down from h in arccosh(exp(c h)) V/g, V = sqrt(g/c)."""
        V = np.sqrt(G / self.c)
        fall = lambda h: (np.arccosh(np.exp(self.c * h)) * V / G, V * np.sqrt(1 - np.exp(-2 * self.c * h)))
        t, v = fall(self.start)
        found = [t]
        for _ in range(n - 1):
            v *= self.e
            up = np.arctan(v / V) * V / G
            t, v = fall(np.log(1 + (v / V) ** 2) / (2 * self.c))
            found.append(found[-1] + up + t)
        return np.array(found)


@dataclass(frozen=True)
class PendulumAtWall(Block):
    """q'' = -w^2 sin q down to a wall at -wall, from which it comes back with e times its rate."""

    w: float = 3.1
    e: float = 0.9
    wall: float = 0.3
    start: float = 1.2

    def define(self, b: Equations) -> None:
        x = b.continuous("x", [self.start, 0.0])
        b.derivative(x, [x[1], -(self.w**2) * np.sin(x[0])])
        b.when(x[0] + self.wall, {x: [-self.wall, -self.e * x[1]]}, direction="falling", name="lands")
        b.output("q", x[0])

    def instants(self, n: int) -> np.ndarray:
        """Incomplete elliptic integrals of the first kind from each largest angle to the wall."""

        def way(largest: float) -> float:
            k = np.sin(largest / 2)
            part = lambda q: ellipkinc(np.arcsin(min(1.0, np.sin(q / 2) / k)), k**2)
            return (part(largest) + part(self.wall)) / self.w

        largest, found = self.start, [way(self.start)]
        for _ in range(n - 1):
            c = np.cos(self.wall)
            largest = np.arccos(c - self.e**2 * (c - np.cos(largest)))
            found.append(found[-1] + 2 * way(largest))
        return np.array(found)


@pytest.mark.parametrize(
    ("block", "subject", "formula"),
    [
        (RockingBlock(), "Housner's rocking block", "inverse hyperbolic cosines"),
        (BallInAir(), "ball that bounces in air", "speeds and times with drag v^2"),
        (PendulumAtWall(), "pendulum at a wall", "elliptic integrals"),
    ],
)
@pytest.mark.parametrize(("rtol", "limit"), [(1e-8, 1e-6), (1e-10, 1e-8)])
def test_instants_of_impacts(checked, block, subject, formula, rtol, limit):
    known = block.instants(9)
    d = Diagram("impacts")
    d.add("body", block)
    r = simulate(d, known[-1] + 1e-3, engine="reference", rtol=rtol, atol=rtol / 100)
    found = [e.time for e in r.events if e.name == "body.lands"]
    checked(found, known, subject, f"instants of impacts, rtol {rtol:g}", closed_form(formula), atol=limit)
