"""Methods that keep the constraints of a plant satisfied while it moves.

`projection` moves the state back onto the constraints after every accepted step. The other two feed the drift
back into the accelerations instead: J qdd = gamma - 2 alpha Phi' - beta^2 Phi.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., eq. 7.3.8; Tstab as in spatial_v2 (gamma_q).
"""

from __future__ import annotations

from dataclasses import dataclass

from blocks.arguments import choice, number
from blocks.errors import ModelError
from plant.constraints.solution import Gains

NAMES = ("projection", "baumgarte", "gamma_q")


@dataclass(frozen=True)
class Projection:
    """States are projected onto the constraints with the least change in the mass metric."""

    @property
    def gains(self) -> Gains:
        """Zero gains: drift is not fed back."""
        return Gains()


@dataclass(frozen=True)
class Baumgarte:
    """Drift is fed back with gains alpha and beta [1/s].

    There is no rule that fits every model; alpha = beta is critical damping. Drift that is there at the start
    decays like exp(-alpha t); steps have to be short enough for beta.
    """

    alpha: float = 10.0
    beta: float = 10.0

    def __post_init__(self) -> None:
        expected = "a finite number of 0 or more [1/s]"
        for name in ("alpha", "beta"):
            number(getattr(self, name), f"Baumgarte gain {name}", expected, least=0.0, error=ModelError)

    @property
    def gains(self) -> Gains:
        """alpha and beta."""
        return Gains(self.alpha, self.beta)


@dataclass(frozen=True)
class GammaQ:
    """Drift decays with the time constant Tstab [s], critically damped: alpha = beta = 1/Tstab."""

    Tstab: float = 0.1

    def __post_init__(self) -> None:
        number(self.Tstab, "Tstab", "a finite time above 0 [s]", above=0.0, error=ModelError)

    @property
    def gains(self) -> Gains:
        """1/Tstab twice."""
        return Gains(1 / self.Tstab, 1 / self.Tstab)


Stabilisation = Projection | Baumgarte | GammaQ


def stabilisation_of(value: str | Stabilisation) -> Stabilisation:
    """A stabilisation by name with its default numbers, or the given object.

    Raises
    ------
    ModelError    not a known name
    """
    if isinstance(value, Stabilisation):
        return value
    choice(value, "stabilisation", NAMES, ModelError)
    return {"projection": Projection, "baumgarte": Baumgarte, "gamma_q": GammaQ}[value]()
