"""Static equilibrium by maximum kinetic energy attrition: swing, stop at every peak of the energy, repeat.

The system is let go from rest. Where its kinetic energy has a peak all velocities are set to zero; what was
kinetic energy is gone, and so it ends in a hollow of the potential energy: a stable equilibrium. A small kick
at the start takes it off a hilltop, where Newton's method would stay.

Source: Param_Static of the MotionSolve reference guide (method MKEAM); Cundall, Explicit finite-difference
methods in geomechanics (1976), "kinetic damping".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cosim.analysis.operating import static_of
from cosim.analysis.statics import StaticsError
from cosim.run.context import Context
from cosim.simulation import Simulation

SWINGS = 50  # the default of max_num_iter
ENERGY = 1e-4  # default of max_ke_tol, printed as 10E-5, in energy units of the model
KICK = 1e-3  # rad or length per s
SOON = 1e-3  # of the first look
LOOK = 1 / 8  # of the time since the last stop: how far to go before looking at the energy again


@dataclass(frozen=True)
class Attrition:
    """Statistics of an attrition: the number of swings, and the kinetic energy at the last peak."""

    swings: int
    energy: float


def attrition(
    simulation: Simulation,
    energy_of: Callable[[np.ndarray], float],
    first: float,
    longest: float,
    swings: int = SWINGS,
    least: float = ENERGY,
    seed: int = 20240501,
) -> tuple[Context, Attrition]:
    """Let a simulation swing from rest until it comes to rest by itself.

    Parameters
    ----------
    simulation : Simulation     of the system with TIME standing still
    energy_of : x -> float      kinetic energy at a state
    first : s                   when to look at the energy first: a fraction of the fastest swing
    longest : s                 a swing without a peak by then is a fall
    swings : int                how many stops are allowed
    least : float               the peak of a swing below which the system is taken to rest

    Returns
    -------
    context : Context           at rest near the equilibrium; Newton's method finishes from there
    attrition : Attrition

    Raises
    ------
    StaticsError                the energy still has larger peaks after all swings, or never has one
    """
    sim = simulation
    rates = [slot.index for slot in sim.system.states.values() if static_of(slot) == "zero"]
    index = np.concatenate([np.zeros(0, int), *rates])
    rest = sim.snapshot()
    if not len(index):
        return rest, Attrition(0, 0.0)
    kick = np.random.default_rng(seed).standard_normal(len(index))
    rest.x[index] = KICK * kick / np.linalg.norm(kick)
    sim.restore(rest)
    sim.advance(sim.time + first * SOON)  # the first step takes out of the kick what constraints forbid
    peak, look = 0.0, first
    for done in range(swings):
        if done:
            sim.restore(rest)
        rest, peak, look = _swing(sim, energy_of, look, longest)
        rest.x[index] = 0.0
        rest.step = 0.0
        if done and peak <= least:
            return rest, Attrition(done + 1, peak)
    raise StaticsError(
        f"energy attrition did not come to rest in {swings} swings: the last one had a kinetic energy of "
        f"{peak:.6g}, expected at most {least:g}.",
        value=peak,
        hint="Raise max_num_iter or max_ke_tol of Param_Static.",
    )


def _swing(
    sim: Simulation, energy_of: Callable[[np.ndarray], float], look: float, longest: float
) -> tuple[Context, float, float]:
    """Let go until the kinetic energy falls: snapshot at its peak, the peak, when to look next time."""
    began = sim.time
    best = sim.snapshot()
    peak = energy_of(best.x)
    step, after = look, began
    while True:
        after = after + step
        sim.advance(after)
        now = sim.snapshot()
        energy = energy_of(now.x)
        if not energy > peak:
            return best, peak, max((best.t - began) / 64, look / 64)
        best, peak = now, energy
        step = max(look, LOOK * (after - began))
        if after - began > longest:
            raise StaticsError(
                f"energy attrition: the kinetic energy grows without a peak, to {energy:.6g} after "
                f"{after - began:.3g} s.",
                value=energy,
                hint="Hold with a joint or a spring what falls freely.",
            )
