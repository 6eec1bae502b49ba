"""Derivatives along the motion: total time derivatives, and gradients with respect to the joint rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from plant.expressions.scope import Refusal
from plant.mechanics.absolute import Bodies
from plant.mechanics.tree import Tree

Known = tuple[ca.SX, Callable[[], ca.SX]]  # a state and its rate, which is worked out when needed


@dataclass(frozen=True, eq=False)
class Roots:
    """Unknowns v (k, 1) that solve R(v, y, t) = 0, R (k, 1): v' = -R_v^-1 (R_y y' + R_t)."""

    v: ca.SX
    R: ca.SX

    def through(self, g: ca.SX, R_y: ca.SX) -> ca.SX:
        """(n, m) part of the derivatives dg/dy that goes through the unknowns; R_y (k, m) those of R.

        Source: implicit function theorem; Rudin, Principles of Mathematical Analysis, theorem 9.28.
        """
        if not self.v.numel() or not R_y.nnz():
            return ca.SX(g.numel(), R_y.shape[1])
        R_v, g_v = ca.jacobian(self.R, self.v), ca.jacobian(g, self.v)
        if self.v.numel() == 1:
            return ca.SX(-(g_v / R_v) @ R_y)
        return ca.SX(-g_v @ ca.solve(R_v, ca.densify(R_y)))


NO_ROOTS = Roots(ca.SX(0, 1), ca.SX(0, 1))


class MotionDerivatives:
    """Differentiates expressions of a plant's state.

    With N q' = N(q) qd the rate of the coordinates, g(q, t) has the rate g_q N qd + g_t and its generalized
    force directions are the columns of g_q N. What is neither a coordinate nor a listed state nor the time
    (plant inputs, held values) counts as constant. Unknowns that g contains are differentiated through the
    equations they solve.

    tree : Tree or Bodies coordinates and rates
    states : list         further states g may depend on, with their rates
    qdd : list of (nv, 1) accelerations, where they are known: velocities can then be differentiated too
    roots : callable      expression -> the unknowns it depends on
    """

    def __init__(
        self,
        tree: Tree | Bodies,
        time: ca.SX,
        states: Sequence[Known] = (),
        qdd: Sequence[ca.SX] | None = None,
        roots: Callable[[ca.SX], Roots] = lambda g: NO_ROOTS,
    ) -> None:
        self._links = [
            (link.joint, q, qd) for link, q, qd in zip(tree.mechanism.links, tree.q, tree.qd, strict=True)
        ]
        self._time, self._states, self._roots = time, list(states), roots
        self._q = ca.vertcat(ca.SX(0, 1), *[q for _, q, _ in self._links])
        self._qd = ca.vertcat(ca.SX(0, 1), *[qd for _, _, qd in self._links])
        self._qdot = ca.vertcat(ca.SX(0, 1), *[joint.qdot(q, qd) for joint, q, qd in self._links])
        self._rates = None if qdd is None else ca.vertcat(ca.SX(0, 1), *qdd)

    def gradient(self, g: ca.SX) -> list[ca.SX]:
        """(nv, 1) derivative of the rate of g with respect to each joint's rates: g_q N."""
        slopes, roots = ca.jacobian(g, self._q), self._roots(g)
        if roots.v.numel():
            slopes = slopes + roots.through(g, ca.jacobian(roots.R, self._q))
        found, start = [], 0
        for joint, q, qd in self._links:
            own = slopes[:, start : start + q.numel()]
            start += q.numel()
            found.append((own @ ca.jacobian(joint.qdot(q, qd), qd)).T if q.numel() else ca.SX(0, 1))
        return found

    def moves_with_rates(self, g: ca.SX) -> bool:
        """Whether g depends on velocities."""
        return bool(self._by_rates(ca.vertcat(g, self._roots(g).R)).nnz())

    def _by_rates(self, g: ca.SX) -> ca.SX:
        """Derivative by the joints' rates; full turns of an angle have none, though its rate chooses them."""
        return ca.sparsify(ca.jacobian(g, self._qd))

    def rate(self, g: ca.SX) -> ca.SX:
        """Total time derivative of g.

        Raises
        ------
        Refusal     g depends on velocities and the equations of motion are not solved yet
        """
        roots = self._roots(g)
        if roots.v.numel():
            return self._partial(g) + roots.through(g, self._partial(roots.R))
        return self._partial(g)

    def drift(self, g: ca.SX) -> ca.SX:
        """The rate of g while all coordinates stand still."""
        roots, nowhere = self._roots(g), ca.SX(self._q.numel(), 1)
        if roots.v.numel():
            return self._partial(g, nowhere) + roots.through(g, self._partial(roots.R, nowhere))
        return self._partial(g, nowhere)

    def _partial(self, g: ca.SX, qdot: ca.SX | None = None) -> ca.SX:
        """The rate with all unknowns fixed; qdot : rates of the coordinates, None for the actual ones."""
        if qdot is None:
            qdot = self._qdot
        total = ca.jacobian(g, self._q) @ qdot + ca.jacobian(g, self._time)
        by_rates = self._by_rates(g)
        if by_rates.nnz():
            if self._rates is None:
                raise Refusal("it depends on velocities, and its rate on accelerations not known here")
            total = total + by_rates @ self._rates
        for state, rate in self._states:
            slope = ca.jacobian(g, state)
            if slope.nnz():
                total = total + slope @ rate()
        return ca.SX(total)
