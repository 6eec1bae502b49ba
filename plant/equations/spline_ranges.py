"""Splines whose arguments leave their points in a run: its end warns of them."""

from __future__ import annotations

from collections.abc import Iterable

from blocks.contract.block import Equations
from plant.elements import Model
from plant.expressions.expression import Expression
from plant.expressions.references import end_of, until_the_end
from plant.expressions.scope import Scope
from plant.expressions.splines import KINDS

CURE = 'the curve goes on along its end polynomials. Add points, or write linear_extrap="TRUE"'


def declare_ranges(b: Equations, model: Model, formulas: Iterable[Expression], values: Scope) -> None:
    """Say between which points the arguments of splines are meant to stay.

    formulas : those that the equations use. Left out are numbers, which are meant so; lines in TIME that are
    known to leave the points, which was said; and curves that are to go on straight.
    """
    end = end_of(model)
    for formula in formulas:
        for step, (x, *_) in formula.operands(values, KINDS):
            data = values.spline(step.literals[0])
            said = until_the_end(model, formula, step, end) is not None
            if x.is_constant() or said or data.linear_extrap or data.z is not None:
                continue
            what = f"{formula.where}: the argument of {formula.text[step.start : step.end]}"
            beyond = f"outside the points of {data.where or 'the spline'} {CURE}"
            b.meant_within(x, data.x[0], data.x[-1], what, beyond)
