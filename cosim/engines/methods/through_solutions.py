"""Jacobians through values that are found by solving equations, by the implicit function theorem.

The derivative of a constrained mechanism is an elimination of thousands of operations, and differentiated
symbolically it takes twenty to thirty times as many. With values y that solve r(y, x) = 0 and a derivative
f(x, y) the Jacobian is

    df/dx = f_x + f_y dy/dx,    dy/dx = -(r_y)^-1 r_x

where f and r are taken with y as symbols of their own: they are local to bodies and joints, and so are their
derivatives. The factors of r_y are those that found y; one function solves with them, called once per column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.contract.declared import ImplicitSolution
from cosim.engines.codegen.graph import NAMES, Graph, GraphConstant
from cosim.system import System

LONG = 3000  # operations of a derivative; the Jacobian of a shorter one is soon printed and compiled
CODES = {name: code for code, name in NAMES.items()}


@dataclass(frozen=True)
class _Apart:
    """Equations with values y as symbols z of their own; z : one column per solution."""

    derivative: ca.SX
    residuals: list[ca.SX]
    z: list[ca.SX]


def solutions_of(system: System) -> tuple[ImplicitSolution, ...]:
    """What a Jacobian is found through; nothing for a derivative that is short or has algebraic unknowns."""
    derivative = system.function("derivative", lambda: [system.derivative])
    if derivative.n_instructions() <= LONG or system.residual.numel():
        return ()
    return system.derived.get("implicit solutions", system.implicit)


def equations(system: System) -> list[ca.Function]:
    """Functions that decide the code of the Jacobian beside the equations of the system."""
    found = solutions_of(system)
    if not found:
        return []
    s, parts = system, [[v.solution for v in found], [v.residual for v in found], [v.factors for v in found]]
    own = s.function("implicit", lambda: [*parts[0], s.derivative, *parts[1], *parts[2]])
    return [own, *(_repeated(v, ca.Sparsity.dense(*v.solution.shape), None) for v in found)]


def jacobian(system: System) -> tuple[ca.SX, ca.SX] | None:
    """df/dx (n, n), its nonzeros as far as they are known, and df/dt (n, 1); None where nothing is solved."""
    solutions = solutions_of(system)
    apart = _apart(system, solutions) if solutions else None
    if apart is None:
        return None
    s, moving = system, ca.vertcat(system.x, system.t)
    every = [apart.derivative, *apart.residuals]
    slopes = [ca.jacobian(e, v) for e in every for v in (moving, *apart.z)]
    at = ca.Function("f", [*apart.z, s.t, s.x, s.h, s.w, s.p], slopes)
    found = iter(at.call([*(v.solution for v in solutions), s.t, s.x, s.h, s.w, s.p], True, False))
    rates, by_z = [], []  # of f and r by (x, t), and by the values
    for _ in every:
        rates.append(next(found))
        by_z.append([next(found) for _ in solutions])
    for k in _in_order(apart):  # what has been found counts in what comes behind
        others = [j for j in range(len(every)) if j != k + 1 and by_z[j][k].nnz()]
        weights = ca.vertcat(*[by_z[j][k] for j in others])
        changes = _weighted(solutions[k], weights, ca.sparsify(-rates[k + 1]))
        for j, change in zip(others, ca.vertsplit(changes, _starts(every, others)), strict=True):
            rates[j] += change
    return rates[0][:, :-1], rates[0][:, -1]


def _starts(every: Sequence[ca.SX], chosen: Sequence[int]) -> list[int]:
    """Where the rows of some columns begin and end, stacked."""
    return np.cumsum([0, *(every[j].numel() for j in chosen)]).tolist()


def _apart(system: System, solutions: Sequence[ImplicitSolution]) -> _Apart | None:
    """The equations with symbols in place of the values that are solved for.

    None if they do not occur, or if one has cancelled in the residuals, which are not r at fixed values then.
    """
    called: list[ca.Function] = []

    def number_of(function: ca.Function) -> int:
        called.append(function)
        return len(called) - 1

    graph = Graph(equations(system)[0], number_of)
    n = len(solutions)
    values = [[v for _, v in sorted(stores)] for stores in graph.outputs][: 2 * n + 1]
    z = [ca.SX.sym("z", len(own)) for own in values[:n]]
    known = {
        value: symbols[k]
        for own, symbols in zip(values[:n], z, strict=True)
        for k, value in enumerate(own)
        if value not in graph.leaves
    }
    known |= _opposite(graph, known)
    found = _written(system, graph, called, known, [v for own in values[n:] for v in own])
    columns = [ca.vertcat(ca.SX(0, 1), *[found[v] for v in own]) for own in values[n:]]
    if not any(ca.depends_on(columns[0], symbols) for symbols in z):
        return None
    for k, own in enumerate(values[:n]):
        there = set(ca.jacobian_sparsity(columns[1 + k], z[k]).get_col())
        if any(j not in there for j, v in enumerate(own) if v not in graph.leaves):
            return None
    return _Apart(columns[0], columns[1:], z)


def _opposite(graph: Graph, known: Mapping[int, ca.SX]) -> dict[int, ca.SX]:
    """Values whose negatives are known: CasADi writes a + b for a - (-b)."""
    negated = {o.results[0]: o.operands[0] for o in graph.operations if o.name == "neg"}
    found = {negated[v]: -z for v, z in known.items() if v in negated}
    return {v: z for v, z in found.items() if v not in known and v not in graph.leaves}


def _written(
    system: System,
    graph: Graph,
    called: Sequence[ca.Function],
    known: dict[int, ca.SX],
    wanted: Sequence[int],
) -> dict[int, ca.SX]:
    """Values of a graph as expressions, some known; called : functions (splines, routines) by number."""
    arguments = [system.t, system.x, system.h, system.w, system.p]
    found = dict(known)
    for value, leaf in graph.leaves.items():
        if isinstance(leaf, GraphConstant):
            found[value] = ca.SX(leaf.value)
        else:
            found[value] = arguments[leaf.argument][leaf.index]
    for o in graph.needed(wanted, known):
        operands = [found[v] for v in o.operands]
        if o.callee >= 0:
            values = _call(called[o.callee], operands)
            found.update((v, x) for v, x in zip(o.results, values, strict=True) if v not in known)
            continue
        make = ca.SX.unary if len(operands) == 1 else ca.SX.binary
        found[o.results[0]] = make(CODES[o.name], *operands)
    return found


def _call(function: ca.Function, operands: Sequence[ca.SX]) -> list[ca.SX]:
    """All numbers a function gives, output after output, for all numbers of its inputs; it stays one node."""
    ends = np.cumsum([function.nnz_in(k) for k in range(function.n_in())]).tolist()
    each = [ca.vertcat(ca.SX(0, 1), *operands[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    given = [ca.SX(function.sparsity_in(k), numbers) for k, numbers in enumerate(each)]
    columns = [ca.vec(result.nz[:]) for result in function.call(given, False, True)]
    return [column[k] for column in columns for k in range(column.numel())]


def _in_order(apart: _Apart) -> list[int]:
    """Solutions, each behind those that its equations use."""
    uses = [
        {j for j, z in enumerate(apart.z) if j != k and ca.depends_on(r, z)}
        for k, r in enumerate(apart.residuals)
    ]
    order: list[int] = []
    while len(order) < len(uses):
        order.append(next(k for k, u in enumerate(uses) if k not in order and u <= set(order)))
    return order


def _weighted(solution: ImplicitSolution, weights: ca.SX, right: ca.SX) -> ca.SX:
    """weights @ dy, where dr/dy dy = right (n, c), by one call for all rows and columns that are not zero."""
    rows, columns = sorted({*weights.sparsity().row()}), np.flatnonzero(np.diff(right.sparsity().colind()))
    result = ca.SX(weights.shape[0], right.shape[1])
    if rows and len(columns):
        used, given = weights[rows, :], right[:, columns.tolist()]
        every = _repeated(solution, given.sparsity(), used.sparsity())
        (values,) = every.call([solution.factors, given, used], False, True)
        result[rows, columns.tolist()] = values
    return result


def _repeated(solution: ImplicitSolution, right: ca.Sparsity, weights: ca.Sparsity | None) -> ca.Function:
    """Function (factors, right, weights) for weighted sums of solutions; None: these themselves."""
    k, r = ca.MX.sym("k", solution.factors.numel()), ca.MX.sym("r", right)
    found = solution.solve(k, ca.densify(r))
    if weights is None:
        return ca.Function("again", [k, r], [ca.densify(found)])
    w = ca.MX.sym("w", weights)
    return ca.Function("again", [k, r, w], [ca.densify(w @ found)])
