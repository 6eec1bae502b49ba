"""Conditions that are redundant wherever the mechanism is closed, such as a sixth hinge of Bricard's linkage.

There S = J H^-1 J^T has a null space, S w = 0. A little off the constraints, where the inner stages of a step
are, w is no longer exactly in it, and a solution with a small proximal term becomes a wild function of place:
over deviations as small as the square root of that term it turns from ignoring the repeated condition to
obeying it. So S + W W^T is solved instead, with W near w. On the constraints the answer is the same for every
W that is not orthogonal to w: multipliers lam with W^T lam = 0 that solve S lam = gamma. Beside them it is
smooth. And (S + W W^T)^-1 W is a multiple of w itself: that makes multipliers least, and W for the next step.

Source: bordered matrices of known rank, Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria
(2000), chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from blocks.contract.block import Equations
from plant.constraints.closure import Closure
from plant.mechanics.rank import Triangle, scaled
from plant.mechanics.saddle import PROXIMAL, ROUNDS, MassInverse, Saddle


def saddle_of(
    b: Equations,
    closure: Closure,
    inverse: MassInverse,
    rows: Sequence[int],
    proximal: float = PROXIMAL,
    rounds: int = ROUNDS,
    lend: bool = True,
) -> Saddle:
    """The saddle-point system of some conditions, with a memory of their redundancy.

    proximal, rounds : of `Saddle`; lend : whether conditions that hold light parts are lent inertia
    """
    closing = closure.closing
    assert closing is not None  # known before the equations are written
    chosen = list(rows)
    J, scale, lent = closure.J[chosen, :], closing.scale[chosen], closing.lent[chosen] * lend
    rows_at_design = scaled(closing.design[chosen], scale, closing.travels)
    start = Triangle(rows_at_design, closing.natural[chosen] * scale).combinations()
    if not start.shape[1]:
        return Saddle(inverse, J, scale, proximal, rounds, lent=lent)
    if tuple(chosen) not in closure.repeats:
        shape = start.shape

        def refreshed(old: ca.SX) -> ca.SX:
            null = Saddle(inverse, J, scale, repeats=ca.reshape(ca.SX(old), *shape), lent=lent).null
            assert null is not None  # with the redundancy given
            return ca.SX(ca.reshape(null, -1, 1))

        name = "repeats" + (f"{len(closure.repeats)}" if closure.repeats else "")
        memory = b.accepted(name, refreshed, start.T.ravel(), start.size)
        closure.repeats[tuple(chosen)] = ca.reshape(ca.SX(memory), *shape)
    return Saddle(inverse, J, scale, proximal, rounds, closure.repeats[tuple(chosen)], lent)
