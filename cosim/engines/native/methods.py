"""What the runtime has to know of an integration method, as its structures."""

from __future__ import annotations

from cosim.engines.methods.rosenbrock import Rosenbrock
from cosim.engines.methods.tableau import TABLEAUS, Tableau
from cosim.engines.native import bindings as b


def explicit(tableau: Tableau) -> b.Structure:
    """`pl_method` of a tableau; its number is its place among them."""
    method = b.new("pl_method")
    method.number = list(TABLEAUS).index(tableau.name)
    method.stages, method.order, method.adaptive = tableau.stages, tableau.order, tableau.adaptive
    _row(method.error, tableau.error)
    _row(method.dense, tableau.dense)
    return method


def stiff() -> b.Structure:
    """`pl_method` of RODAS: the error is its last stage."""
    method, stages = b.new("pl_method"), b.constant("PL_RODAS_STAGES")
    method.number, method.stages, method.order, method.adaptive = -1, stages, 4, True
    _row(method.error, (*[0.0] * (stages - 1), 1.0))
    return method


def take(table: b.Structure, method: Rosenbrock) -> None:
    """The coefficients of a stiff method into a `pl_stiff`."""
    table.gamma, table.alpha, table.d = method.gamma, method.alpha, method.d
    for i, (a, c) in enumerate(zip(method.a, method.c, strict=True)):
        table.a[i], table.stages[i] = a, c
    for i, weights in enumerate(method.dense):
        table.dense_weights[i] = weights


def _row(row: b.Structure, weights: tuple[float, ...]) -> None:
    """A row of a tableau without its zeros."""
    for j, weight in enumerate(weights):
        if weight != 0.0:
            row.place[row.count], row.weight[row.count] = j, weight
            row.count += 1
