"""What the runtime has to know of an integration method, and of how to run with it, as its structures."""

from __future__ import annotations

import math
from functools import cache as once

import casadi as ca

from cosim.engines import pace
from cosim.engines.methods.crossing_rates import depend_on_time
from cosim.engines.methods.rosenbrock import Rosenbrock
from cosim.engines.methods.solvers import STIFF
from cosim.engines.methods.tableau import TABLEAUS, Tableau, tableau
from cosim.engines.native import bindings as b
from cosim.settings import RunSettings
from cosim.system import System


def run_settings(system: System, settings: RunSettings) -> b.Structure:
    """`pl_settings` of a run."""
    found = b.new("pl_settings")
    found.method = _method(settings.solver)[0]
    for name in ("step", "rtol", "atol", "max_step"):
        setattr(found, name, getattr(settings, name))
    found.most_steps, found.looked_at = pace.most_steps(system, settings), pace.LOOKED_AT
    found.longest_unwatched = _longest_unwatched(system, settings)
    found.seed = settings.seed & (2**64 - 1)
    found.in_time = depend_on_time(system)
    return found


def _longest_unwatched(system: System, settings: RunSettings) -> float:
    """How far a system without continuous states may go [s] with nobody looking at its crossings."""
    if len(system.x0) or not system.derived.get("watched between stops", lambda: _moves_by_itself(system)):
        return math.inf
    return settings.max_step if math.isfinite(settings.max_step) else settings.step


def _moves_by_itself(s: System) -> bool:
    """Does anything that is watched change between two stops where there are no states?"""
    watched = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in s.events], s.accepted[0])
    return bool(s.delays) or any(ca.which_depends(watched, ca.vertcat(s.t, s.w), 1, False))


@once
def _method(solver: str) -> b.Structure:
    """`pl_method` of a solver by its name, to copy."""
    return stiff() if solver == STIFF else explicit(tableau(solver))


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
