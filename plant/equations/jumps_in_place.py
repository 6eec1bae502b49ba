"""Constraints and motions that jump where a displacement passes a value: bodies would follow at once.

What jumps is an IF, SIGN, MOD, AINT or ANINT in the expression, or in those of variables it reads. Whether
the condition as a whole does is found by numbers: pairs of random points on both sides of the switch are
bisected down to rounding, and the values on the two sides are compared. A jump far away may be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import casadi as ca
import numpy as np

from blocks.contract.user_lines import warn_user
from plant.constraints.conditions import ACCELERATION, POSITION, Condition
from plant.elements import Reference_Variable
from plant.equations.role import Role
from plant.equations.setting import Setting
from plant.expressions.expression import Expression
from plant.expressions.scope import Scope
from plant.reporting import PlantWarning

SIDES: Mapping[str, Callable[..., ca.SX]] = {
    "IF": lambda c, *values: ca.SX(ca.sign(c)),
    "SIGN": lambda a, b: ca.SX(ca.sign(b)),
    "MOD": lambda a, b: ca.floor(a / b),
    "AINT": ca.floor,
    "ANINT": lambda x: ca.floor(x + 0.5),
}
"""On which side of its switch a function is, as a number, from its arguments."""

SCALES = (0.1, 1.0, 10.0, 1e3)  # of the random points
POINTS, ROUNDS = 32, 100  # pairs per scale; halvings, after which two points are one but for rounding
JUMP = 1e-8  # of the value: what differs by less is continuous


def mention_jumps(setting: Setting, scope: Scope, condition: Condition) -> None:
    """Warn of a condition whose displacement or velocity jumps where more than TIME passes a value."""
    if condition.level == ACCELERATION:
        return
    value = condition.value if condition.level == POSITION or condition.moving else condition.drive
    for text, side in _switches(setting, scope, condition):
        size = _jump(value, side)
        if size:
            what = "velocity" if condition.moving or condition.level != POSITION else "displacement"
            warn_user(
                f"{condition.constraint.where}: its {what} jumps by {size:.3g} where {text} switches, and "
                "bodies follow at once, which no force can bring about. Go over along a short way, as with "
                "STEP(x, x0, h0, x1, h1).",
                PlantWarning,
            )
            return


def _switches(setting: Setting, scope: Scope, condition: Condition) -> Iterator[tuple[str, ca.SX]]:
    """Text and side of every switch in the expressions of a condition that does not follow TIME alone."""
    own = setting.formula(condition.constraint.source, "expr")
    for formula in _with_variables(setting, own, set()):
        for step, operands in formula.operands(scope, SIDES):
            lines = [formula.steps[k].line for k in step.operands]
            if lines[1 if step.operation == "SIGN" else 0] is None:
                yield formula.text[step.start : step.end], SIDES[step.operation](*operands)


def _with_variables(setting: Setting, formula: Expression | None, seen: set[int]) -> Iterator[Expression]:
    """An expression, and those of the variables that it reads."""
    if formula is None:
        return
    yield formula
    for kind, ids in sorted(formula.references(), key=str):
        if kind == "variable" and int(ids[0]) not in seen:
            seen.add(int(ids[0]))
            if setting.role(int(ids[0])) is Role.EXPLICIT:
                variable = setting.model.find(Reference_Variable, int(ids[0]))
                yield from _with_variables(setting, setting.formula(variable, "expr"), seen)


def _jump(value: ca.SX, side: ca.SX) -> float:
    """By how much a value jumps where a side changes; 0 where it does not, or never changes."""
    pair = ca.vertcat(value, side)
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(pair))
    both = ca.Function("both", [symbols], [pair])
    rng = np.random.default_rng(20240401)
    shape = (int(symbols.numel()), POINTS)
    a, b = (np.hstack([scale * rng.uniform(-1, 1, shape) for scale in SCALES]) for _ in range(2))
    before = np.array(both(a))[1]
    for _ in range(ROUNDS):
        middle = 0.5 * (a + b)
        inside = np.array(both(middle))[1] == before
        a, b = np.where(inside, middle, a), np.where(inside, b, middle)
    (low, at_low), (high, at_high) = np.array(both(a)), np.array(both(b))
    with np.errstate(all="ignore"):
        apart = np.abs(high - low)
        found = (at_low != at_high) & np.isfinite(apart) & (apart > JUMP * np.maximum(1.0, np.abs(low)))
    return float(np.max(apart[found], initial=0.0))
