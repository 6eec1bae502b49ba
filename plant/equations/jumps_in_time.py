"""Constraints and motions that jump at an instant: no force moves bodies, or changes their speed, at once."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.constraints.conditions import ACCELERATION, POSITION, Condition

ROUNDING = 1e-9  # of the values before and after: what they differ by is no jump
WHAT = ("displacement", "velocity")


def refuse_jumps(condition: Condition, time: ca.SX, passed: Mapping[tuple[float, ...], ca.SX]) -> None:
    """Refuse a condition whose displacement or velocity jumps at an instant that its expressions name.

    passed : instants, ascending, and the symbol of how many of them are over

    Raises
    ------
    ModelError    saying when, and by how much where that is a number
    """
    if condition.level == ACCELERATION:
        return
    value = condition.value if condition.level == POSITION or condition.moving else condition.drive
    for times, symbol in passed.items():
        for k, instant in enumerate(times):
            if instant > 0.0 and ca.depends_on(value, symbol):
                known, sides = ca.vertcat(symbol, time), [ca.vertcat(k + j, instant) for j in (0, 1)]
                if _differ(*[ca.substitute(value, known, side) for side in sides]):
                    raise _jumping(condition, instant)


def _differ(before: ca.SX, after: ca.SX) -> bool:
    """Whether two expressions are not the same function of their symbols."""
    pair = ca.vertcat(before, after)
    symbols = ca.symvar(pair)
    rng = np.random.default_rng(20240401)
    sides = ca.Function("sides", symbols, [pair]).call([ca.DM(rng.uniform(0.2, 0.8)) for _ in symbols])
    one, other = np.array(sides[0]).ravel()
    apart = abs(other - one) > ROUNDING * max(1.0, abs(one), abs(other))
    return bool(apart or np.isfinite(one) != np.isfinite(other))


def _jumping(condition: Condition, instant: float) -> ModelError:
    where = condition.constraint.where
    what = WHAT[1 if condition.moving else condition.level]
    return ModelError(
        f"{where}: its {what} jumps at TIME = {instant:g}, which no force can bring about.",
        path=where,
        value=instant,
        hint="Go over in a short time, as with STEP(TIME, t0, h0, t1, h1), or prescribe the acceleration.",
    )
