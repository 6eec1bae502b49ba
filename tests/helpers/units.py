"""Units in plain Python for tests of the co-simulation master: linear systems, solved exactly over a step."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

from blocks.contract.block import Block, Equations
from blocks.contract.driven import DrivenBlock, Reached, UnitPort
from blocks.contract.rate import Ticks

MESSAGE = "it is enough"


@dataclass(frozen=True, eq=False)
class LinearUnit(Block):
    """z' = A z + B u, y = C z + D u, with inputs that are polynomials over a step.

    slopes : highest derivative of inputs taken; rolls_back, variable_step : what it can
    ends : time [s] at which it asks to end the run
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    z0: np.ndarray
    sample: object = 0.01
    D: np.ndarray | None = None
    inputs: tuple[str, ...] = ("u",)
    outputs: tuple[str, ...] = ("y",)
    offset: object = 0
    slopes: int = 2
    rolls_back: bool = True
    variable_step: bool = True
    lying: bool = False
    continuous: bool = True
    ends: float = np.inf
    log: list = field(default_factory=list)

    def define(self, b: Equations) -> None:
        raise NotImplementedError("it is run by a master only")

    def driven(self) -> DrivenBlock:
        ports = lambda names: tuple(UnitPort(n, continuous=self.continuous) for n in names)
        return DrivenBlock(
            ports(self.inputs), ports(self.outputs), (), np.zeros(len(self.inputs)), lambda: _Unit(self),
            Ticks.of(self.sample, self.offset), "linear unit", endings=(MESSAGE,),
        )  # fmt: skip


class _Unit:
    def __init__(self, of: LinearUnit) -> None:
        self.of, self.slopes, self.rolls_back, self.variable_step = (
            of,
            of.slopes,
            of.rolls_back,
            of.variable_step,
        )
        self.z = np.array(of.z0, dtype=float)
        self.u = np.zeros(len(of.inputs))
        self.maps = {}

    def begin(self, t, u, p):
        self.u = u.copy()

    def exchange(self, u):
        self.u = u.copy()
        return self.outputs()

    def start(self):
        return self.outputs()

    def step(self, t, h, u, slope, curvature):
        self.of.log.append((t, h, u.copy(), slope.copy(), curvature.copy()))
        h = min(h, self.of.ends - t)
        (n, m), z = self.of.B.shape, self.z
        if h not in self.maps:
            M = np.zeros((n + 3 * m, n + 3 * m))
            M[:n, :n], M[:n, n : n + m] = self.of.A, self.of.B
            M[n : n + 2 * m, n + m :] = np.eye(2 * m)
            self.maps[h] = expm(M * h)
        found = self.maps[h] @ np.concatenate([z, u, slope, curvature])
        self.z, self.u = found[:n], found[n : n + m]
        return Reached(t + h, MESSAGE if t + h >= self.of.ends else "")

    def outputs(self):
        y = self.of.C @ self.z
        return y if self.of.D is None else y + self.of.D @ self.u

    def tune(self, p):
        pass

    def keep(self, room=None):
        return copy.deepcopy((self.z, self.u))

    def restore(self, kept):
        if not self.of.lying:
            self.z, self.u = copy.deepcopy(kept)

    def save(self):
        return np.concatenate([self.z, self.u]).tobytes()

    def load(self, state):
        values = np.frombuffer(state)
        self.z, self.u = values[: len(self.z)].copy(), values[len(self.z) :].copy()

    def close(self):
        self.of.log.append("closed")
