"""Initialisation over all units: inputs and outputs at the start that agree with each other."""

from __future__ import annotations

import numpy as np

from blocks.errors import SimulationError
from cosim.fmi.coupling.coupled_system import OURS, CoupledSystem
from cosim.fmi.coupling.curves import Curve
from cosim.fmi.coupling.wiring_of_units import Exchange

ROUNDS = 30  # most steps of Newton's method
CLOSE = 1e-10  # relative to the inputs; a smaller mismatch counts as agreement
PERTURBED = 1e-6  # relative step of differences


class ConsistentStart:
    """Finds consistent inputs u = U(Y(u)) while all units are in initialisation mode."""

    def __init__(self, coupled: CoupledSystem, exchange: Exchange) -> None:
        self.coupled, self.exchange = coupled, exchange
        self.runs = exchange.runs

    def solve(self) -> None:
        """Initialise all units; their outputs are in the context afterwards.

        Raises
        ------
        SimulationError     a loop of units has no consistent start; the worst input is named
        """
        u = np.concatenate([np.zeros(0), *[unit.block.start for unit in self.coupled.units]])
        for k, (run, unit) in enumerate(zip(self.runs, self.coupled.units, strict=True)):
            run.begin(float(unit.block.ticks.offset), u[unit.inputs], self.exchange.parameters(k))
        self._agree(u)
        for k, run in enumerate(self.runs):
            self._write(k, run.start())

    def _agree(self, u: np.ndarray) -> None:
        """Pass through the units in order while outputs still change inputs; loops by Newton's method.

        Units have the inputs that were found when it returns.
        """
        for _ in range(len(self.runs) + 1):
            new = self._swept(u)
            if self._close(new - u, u):
                return
            u = new
        self._newton(u)

    def _swept(self, u: np.ndarray) -> np.ndarray:
        """One substitution, unit after unit, with the newest outputs."""
        u = u.copy()
        for k in (n for n in self.coupled.order if n != OURS):
            part = self.coupled.units[k].inputs
            u[part] = self.exchange.inputs(self.exchange.context.t)[part]
            self._write(k, self.runs[k].exchange(u[part]))
        return self.exchange.inputs(self.exchange.context.t)

    def _deliver(self, u: np.ndarray) -> np.ndarray:
        """Give the units these inputs; returns the inputs that follow from their outputs."""
        for k, unit in enumerate(self.coupled.units):
            self._write(k, self.runs[k].exchange(u[unit.inputs]))
        return self.exchange.inputs(self.exchange.context.t)

    def _write(self, k: int, y: np.ndarray) -> None:
        self.exchange.write(k, Curve.held(self.exchange.context.t, y))

    @staticmethod
    def _close(residual: np.ndarray, u: np.ndarray) -> bool:
        return bool(np.all(np.abs(residual) <= CLOSE * (1.0 + np.abs(u))))

    def _newton(self, u: np.ndarray) -> None:
        """Newton's method with differences; steps are halved where the mismatch grows."""
        residual = self._deliver(u) - u
        for _ in range(ROUNDS):
            if self._close(residual, u):
                return
            step = np.linalg.lstsq(self._jacobian(u, residual), -residual, rcond=None)[0]
            for damping in (1.0, 0.5, 0.25, 0.125, 0.0625):
                tried = u + damping * step
                found = self._deliver(tried) - tried
                if np.linalg.norm(found) < np.linalg.norm(residual):
                    break
            u, residual = tried, found
        if self._close(residual, u):
            return
        worst = int(np.argmax(np.abs(residual) / (1.0 + np.abs(u))))
        name = self.coupled.names[worst]
        raise SimulationError(
            f"no consistent start of the co-simulated units after {ROUNDS} rounds of Newton's method: "
            f"'{name}' is {u[worst]:.9g}, but what drives it gives {u[worst] + residual[worst]:.9g} "
            f"(residual {residual[worst]:.3g}).",
            path=name,
            time=self.exchange.context.t,
            value=float(residual[worst]),
            hint="Give start values near the solution, or break the loop with a delay.",
        )

    def _jacobian(self, u: np.ndarray, residual: np.ndarray) -> np.ndarray:
        columns = np.zeros((len(u), len(u)))
        for i in range(len(u)):
            moved = u.copy()
            moved[i] += PERTURBED * (1.0 + abs(u[i]))
            columns[:, i] = (self._deliver(moved) - moved - residual) / (moved[i] - u[i])
        return columns
