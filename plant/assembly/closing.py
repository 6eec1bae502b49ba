"""Numerical closing of a mechanism at its start.

Positions first, by Newton-Raphson with the change that is least in the mass metric, starting from the design
configuration; then velocities: of all that obey the constraints those nearest to the given ones, and of these
those with the least kinetic energy. On the way it is found which conditions hold by themselves (a planar
loop in space) and which repeat others.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 4.6; Featherstone, RBDA, section 8.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import tracing
from blocks.errors import ModelError
from plant.assembly.branches import Branches, branches
from plant.assembly.failed_routines import not_met
from plant.assembly.flat_gradients import add_written, starts_flat, step_aside
from plant.assembly.forceless_conditions import pulls, refuse_unfelt
from plant.assembly.initial_rates import Wish, weighted
from plant.assembly.mechanism_size import Sizes, travels
from plant.assembly.repeated_conditions import loop_of
from plant.assembly.start_numbers import StartNumbers
from plant.assembly.start_rates import Rates, null_space
from plant.assembly.touching import refuse_touching, values_beside, written_by_hand
from plant.constraints.closure import Closing, Closure
from plant.mechanics.light import lent_inertia
from plant.mechanics.massless import SingularMass, is_singular, slender_rates
from plant.mechanics.rank import MassRoot, Triangle, scaled, squares

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROUNDS = 60
CLOSED = 1e-12  # of a condition's natural size: tolerance of the positions
IMPOSSIBLE = 1e-10  # share of a given velocity that constraints leave free: a smaller one counts as none
GAP = 1e-7  # of a condition's natural size: a loop with a larger gap counts as open
ASIDE = 0.01  # rad or size of the mechanism: how far beside a flat place closing begins
STRIDE = 0.3  # rad or size of the mechanism: longest Newton step
LEAST = 1e-6  # of a squared length: a smaller one of a condition holds next to nothing
NOTHING_LEFT = 1e-11  # of a condition's natural size: a smaller entry counts as zero
NONE: Mapping[int, float] = MappingProxyType({})


class Assembler:
    """Closes a mechanism.

    Parameters
    ----------
    b : Equations           where the scratch equations were declared
    closure : Closure       all conditions
    massless : list of int  as `massless_links` gives them
    time : s                what TIME is
    under_way : bool        it has moved before: what motions start from (ic_disp, ic_vel) is over
    """

    def __init__(
        self,
        b: Equations,
        closure: Closure,
        massless: Sequence[int] = (),
        time: float = 0.0,
        under_way: bool = False,
    ) -> None:
        self._under_way = under_way
        self.closure, self.mechanism = closure, closure.mechanics.mechanism
        mechanics, links, self._time = closure.mechanics, self.mechanism.links, time
        q, qd = (ca.vertcat(ca.SX(0, 1), *parts) for parts in (mechanics.q, mechanics.qd))
        numbers = self._numbers = StartNumbers(b, q, qd, time, closure.roots)
        rates = [link.joint.qdot(*pair) for link, *pair in zip(links, mechanics.q, mechanics.qd, strict=True)]
        qdot = ca.vertcat(ca.SX(0, 1), *rates)
        self._qdot = numbers(qdot)
        self._per_rate = numbers(matrices=[ca.jacobian(qdot, qd)])
        with tracing():  # it decides faster what is a symbol
            mass = mechanics.mass_matrix()
        self._plain = numbers(closure.value, closure.rate, matrices=(closure.J, mass))
        self.curved = bool(q.numel()) and bool(ca.depends_on(closure.J, qd))  # in the velocities
        self.flow: np.ndarray | None = None  # velocities at which curved conditions are evaluated
        self.sizes = Sizes.of(self.mechanism, self._held_at())
        self._massless = list(massless)
        self._support = self._weights(massless)
        # all markers side by side: sums of long columns, one per marker, would grow like their square
        c, t = (
            ca.horzcat(ca.SX(closure.size, 0), *[pair[k] for pair in closure.wrenches.values()])
            for k in (0, 1)
        )
        squares = self.sizes.length**2 * ca.sum2(c * c) + ca.sum2(t * t)
        self._second = numbers(closure.gamma)
        self._natural = numbers(ca.sqrt(squares))
        self.positions = np.array(closure.positions, dtype=int)
        self.velocities = np.array(closure.velocities, dtype=int)
        self.kept = np.arange(closure.size)

    def _held_at(self) -> list[np.ndarray]:
        """Origins (3,) of the markers that constraints act on, in the design."""
        return [self.mechanism.description.frame(id)[0] for id in self.closure.wrenches]

    # --- directions without inertia -------------------------------------------------------------------
    def _weights(self, massless: Sequence[int]) -> np.ndarray:
        """(m,) weights of conditions that hold rates with little or no inertia (`plant.mechanics.massless`).

        Where there is some inertia h, the weight is the geometric mean of it and the typical one: directions
        that no condition holds then lose as few digits as those that one holds.
        """
        weights, starts = np.zeros(self.closure.size), self.closure.mechanics.starts
        rates = slender_rates(self.mechanism) | {k: 0.0 for i in massless for k in range(*starts[i : i + 2])}
        if not rates:
            return weights
        q0 = np.concatenate([np.zeros(0), *[link.q0 for link in self.mechanism.links]])
        _, _, J, H = self._plain(q0)
        typical = float((H.diagonal() * self.sizes.rates**2).max(initial=0.0)) or 1.0
        lengths = self._lengths(q0, J)
        inertia = list(rates.values())
        for k, j in zip(*self.closure.J[:, list(rates)].sparsity().get_triplet(), strict=True):
            if self.closure.conditions[k].reacts and lengths[k] > 0.0:
                weight = math.sqrt(inertia[j] * typical) if inertia[j] else typical
                weights[k] = max(weights[k], weight / lengths[k])
        return weights

    def _lengths(self, q: np.ndarray, J: csr_array) -> np.ndarray:
        """(m,) squared lengths of the conditions' gradients at a pose.

        A condition that holds nothing just there (a universal joint with parallel axes) has a part of its
        length at a pose beside it.
        """
        rates = self.sizes.rates
        lengths = self._squares(J)
        if (lengths > LEAST * lengths.max(initial=0.0)).all():
            return lengths
        aside = self.moved(q, step_aside(rates, STRIDE))
        try:
            nearby = squares(scaled(self._plain(aside)[2], columns=rates))
        except ModelError:  # implicit variables may have a solution only near the start
            return lengths
        return np.maximum(lengths, LEAST * nearby)

    def _squares(self, J: csr_array) -> np.ndarray:
        """(m,) squared lengths of gradients, for turns of 1 rad and ways as long as the mechanism."""
        return squares(scaled(J, columns=self.sizes.rates))

    def _system(self, q: np.ndarray, qd: np.ndarray | None = None) -> list[Any]:
        """Values and rates of the conditions, Jacobian and mass matrix, which is made regular.

        Raises
        ------
        SingularMass    neither inertia nor constraints hold some direction
        """
        value, rate, J, H = self._plain(q, self.flow if qd is None else qd)
        rows = np.flatnonzero(self._support)
        if len(rows):
            held = J[rows]
            H = H + held.T @ scaled(held, self._support[rows])
            if self._massless and is_singular(H.toarray()):
                raise SingularMass("no inertia and no constraint holds some direction of the mechanism.")
        return [value, rate, J, H]

    # --- which conditions count -----------------------------------------------------------------------
    def closing(self) -> Closing:
        """Conditions that restrict the coordinates, found at random poses."""
        from scipy.sparse import csr_array

        rng = np.random.default_rng(20240229)
        q0 = np.concatenate([np.zeros(0), *[link.q0 for link in self.mechanism.links]])
        n = self.mechanism.dof
        entries = csr_array((self.closure.size, n), dtype=bool)
        compliance, lent, natural = (np.zeros(self.closure.size) for _ in range(3))
        ballast = np.zeros(n)
        links = self.mechanism.links
        part = np.repeat(np.arange(len(links)), [link.joint.nv for link in links])
        poses, far = [], 0.4 * travels(self.mechanism, [link.q0 for link in links], self._held_at())
        for _ in range(3):
            q = self.moved(q0, far * rng.standard_normal(n))
            self.flow = rng.standard_normal(n) if self.curved else None
            try:
                _, _, J, H = self._system(q)
            except ModelError:  # implicit variables may have a solution only near the start
                q = q0
                _, _, J, H = self._system(q)
            poses.append(q)
            here = self._natural_sizes(q, self.flow)
            natural = np.maximum(natural, here)  # where one pose is flat another is not
            there = self._there(J, here)
            entries = entries + there
            root = MassRoot(H)
            C = root.rows(J)
            compliance = np.maximum(compliance, squares(C))
            acting = np.asarray(there.sum(axis=1)).ravel() > 0  # in other rows is what rounding left
            held, times = lent_inertia(scaled(C, acting), here, part)
            lent, ballast = np.maximum(lent, held), np.maximum(ballast, times * root.own)
        pattern = entries.toarray()
        self.kept = kept = np.flatnonzero(pattern.any(axis=1))
        add_written(self.closure, kept, pattern)
        if not self.curved:
            self.refuse_unfelt(np.setdiff1d(np.arange(self.closure.size), kept), [(q, None) for q in poses])
        if lent.any():
            compliance = np.max([squares(self._with_lent(q, lent)) for q in poses], axis=0)
        scale = 1 / np.sqrt(compliance[kept])
        design, support = self._system(q0)[2][kept], self._support[kept]
        counting = (pattern[kept], scale, natural[kept], support, lent[kept])
        return Closing(tuple(kept.tolist()), *counting, ballast, self.sizes.rates, design)

    def _natural_sizes(self, q: np.ndarray, flow: np.ndarray | None = None) -> np.ndarray:
        """(m,) what a condition changes by where bodies turn by 1 rad and travel as far as they are large."""
        return np.maximum(self._natural(q, flow)[0], 1e-300)

    def _there(self, J: csr_array, natural: np.ndarray) -> csr_array:
        """(m, n) which entries are more than what rounding leaves of nothing."""
        found = scaled(J, 1 / natural, self.sizes.rates)
        found.data = np.abs(found.data) > NOTHING_LEFT
        found.eliminate_zeros()
        return found

    def _felt(self, J: csr_array, natural: np.ndarray) -> csr_array:
        """J (m, n) without what rounding leaves of nothing: where there is nothing else, it would count."""
        found = J.copy()
        found.data *= np.abs(scaled(J, 1 / natural, self.sizes.rates).data) > NOTHING_LEFT
        found.eliminate_zeros()
        return found

    def refuse_unfelt(self, rows: np.ndarray, places: Sequence[tuple[np.ndarray, np.ndarray | None]]) -> None:
        """Refuse conditions that exert no force on any body at any of these (q, qd)."""
        if len(rows):
            pull = self._numbers(pulls(self.closure, rows.tolist(), self.sizes.length))
            felt = [pull(*at)[0] > NOTHING_LEFT * self._natural(*at)[0][rows] for at in places]
            refuse_unfelt(self.closure, rows[~np.any(felt, axis=0)])

    def _with_lent(self, q: np.ndarray, lent: np.ndarray) -> csr_array:
        """(m, n) rows of J in the mass metric, with inertia lent to conditions."""
        _, _, J, H = self._system(q)
        return MassRoot((H + J.T @ scaled(J, lent)).tocsr()).rows(J)

    # --- positions ------------------------------------------------------------------------------------
    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after unit time at rates `step`; quaternions stay of length 1."""
        q = q + self._qdot(q, step)[0]
        parts = self.mechanism.coordinates_by_link(q)
        for part, link in zip(parts, self.mechanism.links, strict=True):
            units = [k for k, (_, unit) in enumerate(link.joint.coordinates) if unit == "1"]
            if units:
                part[units] /= np.linalg.norm(part[units])
        return np.concatenate([np.zeros(0), *parts])

    def _starts(
        self, q: np.ndarray, held: Mapping[int, float]
    ) -> tuple[np.ndarray, csr_array, csr_array, np.ndarray]:
        """Residual, Jacobian of all conditions on the start's positions, mass matrix, and natural sizes.

        held : coordinates with the values they are to have; their rows come last
        """
        value, _, J, H = self._system(q)
        start = np.array([self._start_of(k) or 0.0 for k in self._started])
        residual, J = value[self._started] - start, J[self._started]
        natural = self._natural_sizes(q)[self._started]
        if held:
            from scipy.sparse import vstack

            places = list(held)
            residual = np.concatenate([residual, q[places] - np.array(list(held.values()))])
            J = vstack([J, self._per_rate(q)[0][places]]).tocsr()
            natural = np.concatenate([natural, self.sizes.coordinates[places]])
        return residual, J, H, natural

    @property
    def _started(self) -> list[int]:
        """Conditions on the start's positions."""
        known = set(self.positions.tolist())
        return [k for k in range(self.closure.size) if k in known or self._start_of(k) is not None]

    def _start_of(self, k: int) -> float | None:
        return None if self._under_way else self.closure.conditions[k].start

    def _start_rate_of(self, k: int) -> float | None:
        return None if self._under_way else self.closure.conditions[k].start_rate

    def positions_closed(
        self, q: np.ndarray, held: Mapping[int, float] = NONE, longest: float = STRIDE
    ) -> np.ndarray:
        """Find coordinates near q at which all conditions on positions are satisfied.

        held : coordinates with the values they are to have besides
        longest : rad or size of the mechanism, of a Newton step

        Raises
        ------
        ModelError    naming the element that stays open the widest
        """
        conditions = [self.closure.conditions[k] for k in self._started]
        for n in range(ROUNDS):
            residual, J, H, natural = self._starts(q, held)
            if np.all(np.abs(residual) <= CLOSED * natural):
                return q
            if not n and starts_flat(conditions, residual, self._squares(J), natural):
                q = self.moved(q, step_aside(self.sizes.rates, ASIDE))
                continue
            root = MassRoot(H)
            step = root.rates(Triangle(root.rows(self._felt(J, natural)), natural).least(-residual))
            length = (np.abs(step) / self.sizes.rates).max()
            before, q = q, self.moved(q, step * min(1.0, longest / max(length, 1e-300)))
            sizes = np.maximum(self.sizes.coordinates, np.abs(q))
            if np.all(np.abs(q - before) <= 1e-15 * sizes):
                break
        return self._check(q, held)

    def _check(self, q: np.ndarray, held: Mapping[int, float]) -> np.ndarray:
        residual, _, _, natural = self._starts(q, held)
        gaps = np.abs(residual) / natural
        worst = int(np.argmax(gaps))  # the first that is not a number, if one is
        if not np.isfinite(residual[worst]):
            raise self._not_a_number(worst)
        if gaps[worst] <= GAP:
            return q
        if held:
            raise self._not_held(q, held)
        condition = self.closure.conditions[self._started[worst]]
        open_ones = {
            self.closure.conditions[self._started[k]].constraint.where: None
            for k in np.argsort(-gaps)
            if gaps[k] > GAP
        }
        others = ", ".join(list(open_ones)[1:4])
        loop = ", ".join(loop_of(self.closure, condition.constraint))
        raise ModelError(
            f"{condition.constraint.where}: cannot be closed: after {ROUNDS} Newton-Raphson rounds its "
            f"{condition.text} is off by {abs(residual[worst]):.6g}, expected 0"
            + (f" (also open: {others})" if others else "")
            + (f" (its loop goes through {loop})" if loop else "")
            + ".",
            path=condition.constraint.where,
            value=float(residual[worst]),
            hint="Check marker positions and axes of the loop, or start nearer to a pose that closes.",
        )

    def _not_a_number(self, worst: int) -> ModelError:
        """The error about a condition, or a coordinate, without a value at the start."""
        where = self.closure.conditions[self._started[min(worst, len(self._started) - 1)]].constraint.where
        return not_met(
            where,
            f"has no finite value at the start (TIME = {self._time:g}) or on the way to it",
            "Look for a division by zero, a root of a negative number or a LOG of 0 in its expression.",
        )

    def _not_held(self, q: np.ndarray, held: Mapping[int, float]) -> ModelError:
        """The error about coordinates with which the mechanism does not close."""
        names = [f"{link.name}.{name}" for link in self.mechanism.links for name, _ in link.joint.coordinates]
        wanted = ", ".join(f"{names[k]}={value:.6g}" for k, value in held.items())
        nearest = ", ".join(f"{names[k]}={q[k]:.6g}" for k in held)
        return ModelError(
            f"hold: the mechanism does not close with {wanted}; it comes as near as {nearest}.",
            value=dict(held),
            hint="Hold a value within its reach, and no more coordinates than it has degrees of freedom.",
        )

    def refuse_touching(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Refuse conditions that touch 0 at a start without passing through it."""
        if rows := written_by_hand(self.closure):
            beside = self._numbers(values_beside(self.closure, rows, self.sizes.length))
            refuse_touching(self.closure, rows, beside(q, qd)[0])

    # --- velocities -----------------------------------------------------------------------------------
    def rates(self, q: np.ndarray, wishes: Sequence[Wish]) -> Rates:
        """Rates that obey the constraints, come nearest to the wishes, and have the least energy besides."""
        if not self.curved:
            return self._rates_about(q, wishes, None)
        self.flow = self._wished(wishes)
        for _ in range(ROUNDS):
            found = self._rates_about(q, wishes, self.flow)
            before, self.flow = self.flow, found.of(0)
            if np.abs(self.flow - before).max() <= 1e-14 * max(1.0, float(np.abs(before).max())):
                return found
        raise ModelError(
            "no velocities were found at which the constraints on velocities hold: they are curved, and "
            f"Newton's method from the given ones does not converge in {ROUNDS} rounds.",
            hint="Give initial velocities (v_ic_x, w_ic_z, ...) near those that the constraints ask for.",
        )

    def _wished(self, wishes: Sequence[Wish]) -> np.ndarray:
        """(n,) rates of least size that come nearest to the wishes, whatever the constraints say."""
        if not wishes:
            return np.zeros(self.mechanism.dof)
        return np.asarray(np.linalg.lstsq(*weighted(wishes), rcond=1e-10)[0])

    def _rates_about(self, q: np.ndarray, wishes: Sequence[Wish], flow: np.ndarray | None) -> Rates:
        """The same with conditions linearised about rates `flow`, where they are curved in them."""
        from scipy.sparse import csr_array

        _, rate, J, H = self._system(q, flow)
        if flow is not None:
            rate = rate - J @ flow
        constrained = set(self.velocities)
        given = {k: self._start_rate_of(k) for k in range(self.closure.size)}
        wanted = {k: rate for k, rate in given.items() if rate is not None}
        rows = [k for k in range(len(rate)) if k in constrained or k in wanted]
        target = np.array([wanted.get(k, 0.0) for k in rows]) - rate[rows]
        root, natural = MassRoot(H), self._natural_sizes(q, flow)[rows]
        triangle = Triangle(root.rows(self._felt(J[rows], natural)), natural)
        x = triangle.least(target)
        self._check_rates(q, rows, triangle.missed(x, target), triangle.missed(0 * x, target))
        N = triangle.free()
        if wishes:
            rows_of_wishes, b = weighted(wishes)
            A = root.rows(csr_array(rows_of_wishes))
            if N.shape[1]:
                left = A @ N
                whole, free = (np.linalg.norm(M, axis=1) for M in (A.toarray(), left))
                left[free <= IMPOSSIBLE * whole] = 0.0  # rounding: the constraints leave nothing of it
                x = x + N @ np.linalg.lstsq(left, b - A @ x, rcond=1e-10)[0]
                N = N @ null_space(left)
        return Rates(root, Branches([x], True), N, self.sizes.rates)

    def going_on(self, q: np.ndarray, rates: Rates) -> Rates:
        """The same on every branch that goes on from a singular pose.

        Raises
        ------
        ModelError    no motion goes on with the given rates
        """
        root = rates.root
        W = self.triangle(q, self.flow)[0].combinations()
        (x,) = rates.branches.x
        found = branches(lambda x: self._second(q, root.rates(x))[0][self.kept], W, x, rates.free)
        if not found.x:
            names = ", ".join(self.elements(W))
            raise ModelError(
                f"{names}: no motion goes on from the start with the given rates: where several axes "
                "or bars are in line, or an expression repeats other conditions at the start only, the "
                "constraints leave rates that they forbid at the next instant.",
                hint="Start beside this pose, correct the initial velocities, or leave one of them out.",
            )
        return Rates(root, found, rates.free, self.sizes.rates)

    def elements(self, W: np.ndarray) -> list[str]:
        """Constraints and joints of the tree whose conditions are in some combinations (columns of W)."""
        conditions = self.closure.conditions
        taking_part = [conditions[self.kept[k]].constraint for k in np.flatnonzero(W.any(axis=1))]
        names = []
        for constraint in dict.fromkeys(taking_part):
            names += [constraint.name, *loop_of(self.closure, constraint)]
        return list(dict.fromkeys(names))

    def _check_rates(self, q: np.ndarray, rows: list[int], missed: np.ndarray, wanted: np.ndarray) -> None:
        if not len(rows) or missed.max() <= 1e-8 * max(1.0, float(wanted.max())):
            return
        worst = rows[int(np.argmax(missed))]
        self.refuse_unfelt(np.array([worst]), [(q, self.flow)])  # contradicts nothing: there is none
        constraint = self.closure.conditions[worst].constraint
        raise ModelError(
            f"{constraint.where}: contradicts the other constraints: no velocities obey them all.",
            path=constraint.where,
            hint="Remove one of the motions or constraints that fix the same velocity.",
        )

    # --- for the analysis of redundancy ---------------------------------------------------------------
    @contextmanager
    def at(self, time: float) -> Iterator[None]:
        """Meanwhile TIME is another one [s], and what motions start from (ic_disp, ic_vel) is over."""
        before = self._time, self._under_way
        self._time, self._under_way = time, True
        self._numbers.time = time
        try:
            yield
        finally:
            self._time, self._under_way = before
            self._numbers.time = self._time

    @property
    def time(self) -> float:
        """TIME [s]."""
        return self._time

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """(m,) how far the conditions on positions are open, in their natural sizes."""
        residual, _, _, natural = self._starts(q, NONE)
        return np.abs(residual) / natural

    def triangle(self, q: np.ndarray, flow: np.ndarray | None) -> tuple[Triangle, csr_array]:
        """The conditions that count at q, in the mass metric, and J of these."""
        _, _, J, H = self._system(q, flow)
        natural = self._natural_sizes(q, flow)[self.kept]
        return Triangle(MassRoot(H).rows(J[self.kept]), natural), J[self.kept]

    def way(self, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n,) random rates that the conditions leave free, about 1 rad or size of the mechanism each."""
        along = scaled(self._system(q)[2][self.kept], columns=self.sizes.rates)
        free = Triangle(along, self._natural_sizes(q)[self.kept]).free()
        return self.sizes.rates * (free @ rng.standard_normal(free.shape[1]))
