"""Accelerations and multipliers of a plant from its forces and constraints.

Without constraints the accelerations of a tree come from the articulated-body algorithm. Otherwise they
solve the saddle-point system. Accelerations, multipliers and reactions that forces depend on, and multipliers
that act only through the model's own forces (servo constraints), are unknowns z of the forces. They are found
together with the accelerations: directly where the forces are affine in them, else by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import casadi as ca

from blocks.contract.block import Equations
from blocks.contract.declared import ImplicitSolution
from blocks.contract.symbols import hash_of
from blocks.errors import ModelError
from plant.constraints.closure import Closure
from plant.constraints.repeats import saddle_of
from plant.mechanics.absolute import Bodies
from plant.mechanics.applied import Loads
from plant.mechanics.saddle import ROUNDS, MassInverse, Rounds, Saddle, accelerations
from plant.mechanics.spatial import Matrix
from plant.mechanics.tree import Tree

DAMPING = 1e-9
"""Of corrections, relative: they leave alone what is singular but for rounding."""
ROUNDS_WHERE_LIGHT = 6
"""Solutions in all of a system with light parts: nearly in line they leave S 10 times its proximal term."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Outcome of the equations of motion.

    qdd : list of (nv, 1)
    a : list of (6, 1) classical accelerations in link coordinates, gravity in them as -g
    lam : (m, 1) multiplier of every condition; loads : the forces, without stand-ins
    """

    qdd: list[Matrix]
    a: list[Matrix]
    lam: Matrix
    loads: Loads


@dataclass(frozen=True, eq=False)
class _Unknown:
    """A value that forces use before it is known; `actual` computes it from a solution."""

    symbol: ca.SX
    actual: Callable[[Solution], ca.SX]
    name: str


class StandIns:
    """Symbols for values that forces may use although they follow from the solution."""

    def __init__(self) -> None:
        self.every: list[_Unknown] = []
        self._known: dict[object, ca.SX] = {}

    def new(self, key: object, size: int, name: str, actual: Callable[[Solution], ca.SX]) -> ca.SX:
        """(size, 1) symbol that stands for a value of the solution."""
        if key not in self._known:
            symbol = ca.SX.sym(name, size)
            self._known[key] = symbol
            self.every.append(_Unknown(symbol, actual, name))
        return self._known[key]

    def used(self, expression: Matrix) -> list[_Unknown]:
        """The symbols that an expression depends on."""
        if not self.every:
            return []
        present = {hash_of(s) for s in ca.symvar(ca.SX(expression))}
        return [u for u in self.every if any(hash_of(e) in present for e in u.symbol.nonzeros())]


@dataclass(frozen=True)
class Gains:
    """Baumgarte's alpha and beta [1/s]; zero if projection keeps the constraints."""

    alpha: float = 0.0
    beta: float = 0.0


def solve(
    b: Equations,
    tree: Tree | Bodies,
    closure: Closure | None,
    loads: Loads,
    unknowns: StandIns,
    gains: Gains,
) -> Solution:
    """Solve the equations of motion.

    Raises
    ------
    ModelError    a servo constraint whose multiplier no force uses, or no force can meet
    """
    applied = ca.vertcat(ca.SX(0, 1), *loads.on_links.values(), *loads.tau.values(), loads.gravity)
    used = unknowns.used(applied)
    if closure is None and not used:
        qdd, a = tree.accelerations(loads.gravity, loads.on_links, loads.tau)
        return Solution(qdd, a, ca.SX(0, 1), loads)
    H = tree.mass_matrix() if closure is None else closure.mass_matrix()
    inverse = MassInverse(H, ordered=closure is None or not closure.supports)
    Q = generalised(tree, loads)
    if closure is None:
        whole, lam, servos = inverse(Q), ca.SX(0, 1), _Equations()
    else:
        gamma = stabilised(closure, gains)
        whole, lam, servos = _constrained(b, closure, inverse, closure.supported(Q, gamma), gamma, used)
    qdd = _split(whole, tree.starts)
    solution = Solution(qdd, tree.link_accelerations(qdd, loads.gravity), lam, loads)
    equations = _followed(unknowns, [u for u in used if u.name not in servos.multipliers], solution, servos)
    if not equations.symbols:
        return solution
    z, residual = ca.vertcat(*equations.symbols), ca.vertcat(*equations.residuals)
    return _with(solution, z, _solved(b, z, residual, equations.names))


@dataclass(eq=False)
class _Equations:
    """One residual per scalar unknown, collected as they are found; `names` describe them in messages."""

    symbols: list[ca.SX] = field(default_factory=list)
    residuals: list[ca.SX] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    multipliers: set[str] = field(default_factory=set)  # names of unknowns that are multipliers of servos


def generalised(tree: Tree | Bodies, loads: Loads) -> Matrix:
    """Q (nv, 1): joint forces minus the bias of motion, gravity and applied forces, so that H qdd = Q."""
    bias, links = tree.inverse(loads.gravity, None, loads.on_links), tree.mechanism.links
    return ca.vertcat(
        ca.SX(0, 1), *[loads.tau.get(i, ca.SX(links[i].joint.nv, 1)) - part for i, part in enumerate(bias)]
    )


def _constrained(
    b: Equations, closure: Closure, inverse: MassInverse, Q: Matrix, gamma: Matrix, used: list[_Unknown]
) -> tuple[Matrix, Matrix, _Equations]:
    """qdd (nv, 1), lam (m, 1) of all conditions, and equations for the multipliers of servo constraints."""
    servos = [k for k in range(closure.size) if closure.is_servo(k)]
    reacting = [k for k in range(closure.size) if k not in servos]
    lam = ca.SX(closure.size, 1)
    if reacting:
        saddle = saddle_of(b, closure, inverse, reacting, rounds=_rounds(closure))
        rounds = saddle.rounds(saddle.free(Q), gamma[reacting])
        whole, part = accelerations(rounds), saddle.multipliers(rounds, gamma[reacting])
        if not used and not servos:  # else it is part of a larger system
            b.implicit_solution(partial(_implicit, saddle, rounds, Q, gamma[reacting]))
        for k, row in enumerate(reacting):
            lam[row] = part[k]
    else:
        whole = inverse(Q)
    equations, own = _Equations(), ca.SX.sym("servo", len(servos))
    for k, row in enumerate(servos):
        name = f"lam{row}"
        symbol = next((u.symbol for u in used if u.name == name), own[k])
        lam[row] = symbol
        equations.symbols.append(symbol)
        equations.residuals.append(closure.J[row, :] @ whole - gamma[row])
        equations.names.append(closure.conditions[row].constraint.where)
        equations.multipliers.add(name)
    return whole, lam, equations


def _implicit(saddle: Saddle, rounds: Rounds, Q: Matrix, gamma: Matrix) -> ImplicitSolution:
    """Accelerations and multipliers as a solution of the saddle-point system."""
    values = ca.SX(ca.vertcat(*[part for one in rounds for part in one]))
    residual = ca.SX(saddle.residual(rounds, Q, gamma))
    factors, again = saddle.again()
    return ImplicitSolution(ca.densify(values), ca.densify(residual), ca.SX(factors), again)


def _rounds(closure: Closure) -> int:
    """Number of solutions of the saddle-point system: one, and the others are refinements."""
    assert closure.closing is not None  # known before the equations are written
    return ROUNDS_WHERE_LIGHT if closure.closing.ballast.any() else ROUNDS


def _followed(
    unknowns: StandIns, waiting: list[_Unknown], solution: Solution, equations: _Equations
) -> _Equations:
    """`equations` with those of all pending values, and of the values these need in turn."""
    symbols, residuals, names = [*equations.symbols], [*equations.residuals], [*equations.names]
    waiting = [*waiting]
    while waiting:
        u = waiting.pop(0)
        actual = ca.SX(u.actual(solution))
        symbols.append(u.symbol)
        residuals.append(u.symbol - actual)
        names += [u.name] * u.symbol.numel()
        known = {hash_of(s) for v in symbols for s in v.nonzeros()}
        queued = {hash_of(s) for w in waiting for s in w.symbol.nonzeros()}
        for other in unknowns.used(actual):
            first = hash_of(other.symbol.nonzeros()[0])
            if first not in known and first not in queued:
                waiting.append(other)
    return _Equations(symbols, residuals, names, equations.multipliers)


def stabilised(closure: Closure, gains: Gains) -> Matrix:
    """gamma - 2 alpha Phi' - beta^2 Phi (Haug, eq. 7.3.8)."""
    gamma = closure.gamma
    if gains.alpha or gains.beta:
        kept = ca.DM([float(k in closure.velocities) for k in range(closure.size)])
        on_positions = ca.DM([float(k in closure.positions) for k in range(closure.size)])
        gamma = gamma - 2 * gains.alpha * kept * closure.rate - gains.beta**2 * on_positions * closure.value
    return gamma


def _split(column: Matrix, cuts: Sequence[int]) -> list[Matrix]:
    return [column[start:end] if end > start else ca.SX(0, 1) for start, end in pairwise(cuts)]


def _solved(b: Equations, z: ca.SX, residual: ca.SX, names: list[str]) -> ca.SX:
    """Values of the unknowns: directly if the residual is affine in them, else by the engine's Newton."""
    slope = ca.jacobian(residual, z)
    for k, name in enumerate(names):
        if not slope[k, :].nnz() or not slope[:, k].nnz():
            raise ModelError(
                f"{name}: no force can meet this constraint: with autobalance DISABLED its multiplier acts "
                "only where the model's forces use VARVAL of it, and none that moves the constraint does.",
                path=name,
                hint="Use VARVAL of the variable in a force, or autobalance CONDITIONAL.",
            )
    if ca.depends_on(slope, z):
        unknown = ca.SX(b.algebraic("reactions", [0.0] * z.numel(), about="forces that depend on reactions"))
        b.residual(ca.substitute(residual, z, unknown))
        return unknown
    at_zero = ca.substitute(residual, z, ca.SX.zeros(z.numel()))
    return ca.SX(-ca.solve(slope, ca.densify(at_zero)))


def _with(solution: Solution, z: ca.SX, found: ca.SX) -> Solution:
    """A solution with values substituted for its unknowns."""
    parts = [*solution.qdd, *solution.a, solution.lam, *solution.loads.flat()]
    done = [ca.sparsify(e) for e in ca.substitute([ca.SX(p) for p in parts], [z], [ca.densify(found)])]
    n = len(solution.qdd)
    return Solution(done[:n], done[n : 2 * n], done[2 * n], solution.loads.filled(done[2 * n + 1 :]))


def corrections(b: Equations, closure: Closure) -> tuple[Matrix, Matrix]:
    """Rates dv (n, 1) whose motion closes the positions, and (n, 1) corrections that close the velocities.

    Both are least in the mass metric, in which parts that are too light carry ballast.
    """
    tree, closing = closure.mechanics, closure.closing
    assert closing is not None  # known before the equations are written
    H = closure.mass_matrix()
    carried = H + ca.diag(ca.DM(closing.ballast)) if closing.ballast.any() else H
    inverse = MassInverse(carried, ordered=not closure.supports)
    nothing = ca.SX(tree.starts[-1], 1)
    found = []
    for rows, residual in ((closure.positions, closure.value), (closure.velocities, closure.rate)):
        if rows:
            saddle = saddle_of(b, closure, inverse, rows, DAMPING, 1, lend=False)
            found.append(saddle.closed(nothing, -residual[rows])[0])
        else:
            found.append(nothing)
    return found[0], found[1]
