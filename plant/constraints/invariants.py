"""Invariants that projection keeps: unit quaternions, and constraints unless drift is fed back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from plant.constraints.closure import Closure
from plant.constraints.solution import corrections
from plant.mechanics.absolute import Bodies
from plant.mechanics.joints import UNIT, Joint
from plant.mechanics.tree import Tree

TOLERANCE = 1e-14  # of projection, of the natural size of a condition, or of its change per unit of time
# It is at rounding: at a distance e from a singular pose a residual r on positions leaves a deviation r/e
# and a velocity that grows like r/e^2. With 1e-11 and 1e-9 the steps collapse there.
PER_DECADE = 4  # steps of tolerances: conditions of about one size share one
ROUNDING = 1e4  # times what the last digit of the state changes is no error of a step, where loops are closed
# Near a singular pose the velocities that belong to a last digit of the angles are exact solutions that run
# away: whoever wants less follows them in ever smaller steps. Figures: docs/measurements.md, singular poses.


def declare_invariants(
    b: Equations, tree: Tree | Bodies, q: Sequence[Any], qd: Sequence[Any], closure: Closure | None
) -> None:
    """Declare invariants of the states and the projection onto them.

    q, qd : states of each link, None where it has none
    closure : constraints that are projected; None where there are none, or drift is fed back instead
    """
    links = tree.mechanism.links
    for k, link in enumerate(links):
        invariant = link.joint.invariant(tree.q[k])
        if invariant is not None:
            b.invariant(invariant, what="the length of a quaternion")
            if closure is None:
                b.correction(q[k], _unit(link.joint, tree.q[k]) - tree.q[k])
    if closure is None:
        return
    for chosen, residual in ((closure.positions, closure.value), (closure.velocities, closure.rate)):
        for size, alike in _by_size(closure, chosen):
            names = [closure.conditions[k].constraint.where for k in alike]
            b.invariant(residual[alike], TOLERANCE * size, names)
    if closure.velocities and closes_loops(closure):  # rates of positions are among them
        b.rounding_matters(ROUNDING)
    closes, slows = corrections(b, closure)
    for k, link in enumerate(links):
        rows = slice(tree.starts[k], tree.starts[k + 1])
        if link.joint.nq:
            moved = tree.q[k] + link.joint.qdot(tree.q[k], closes[rows])
            b.correction(q[k], _unit(link.joint, moved) - tree.q[k])
            b.correction(qd[k], slows[rows])


def closes_loops(closure: Closure) -> bool:
    """Whether constraints close loops, so that there may be poses at which they are redundant.

    Not so where bodies that move on their own are hinged to a tree, each pair once.
    """
    closing = closure.closing
    if closing is None or not isinstance(closure.mechanics, Bodies):
        return True
    starts = np.array(closure.mechanics.starts)
    ground = len(starts) - 1
    joined = list(range(ground + 1))  # for each body, a body it is connected to

    def root(body: int) -> int:
        while joined[body] != body:
            body = joined[body]
        return body

    for constraint in closure.constraints:
        rates = closing.pattern[closure.of(constraint)].any(axis=0)
        bodies = {int(k) for k in np.searchsorted(starts, np.flatnonzero(rates), side="right") - 1}
        if len(bodies) == 1:
            bodies.add(ground)
        ends = {root(body) for body in bodies}
        if len(bodies) > 2 or len(ends) < len(bodies):
            return True
        for end in ends:
            joined[end] = min(ends)
    return False


def _by_size(closure: Closure, rows: Sequence[int]) -> list[tuple[float, list[int]]]:
    """Conditions in sets of about the same size, and that size: lengths and angles are apart."""
    assert closure.closing is not None  # known before the equations are written
    each = closure.closing.natural[list(rows)] / math.sqrt(2)  # a condition holds two markers
    powers = np.round(PER_DECADE * np.log10(each)) / PER_DECADE
    return [
        (float(10.0**p), [k for k, own in zip(rows, powers, strict=True) if own == p])
        for p in np.unique(powers)
    ]


def _unit(joint: Joint, q: ca.SX) -> ca.SX:
    """Coordinates with their quaternion normalised to length 1."""
    units = [k for k, (_, unit) in enumerate(joint.coordinates) if unit == UNIT]
    if not units:
        return q
    length = ca.sqrt(ca.sumsqr(q[units]))
    return ca.vertcat(*[q[k] / length if k in units else q[k] for k in range(joint.nq)])
