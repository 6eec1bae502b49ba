"""Model predictive control: a quadratic program solved at every tick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.errors import SimulationError
from blocks.library.designed import Around, DesignedForPlants, check_around, followed, place
from blocks.library.linear_models import check_model, sampled_model, weight

__all__ = ["MPC"]

MOST_LOST = 1e-6  # of what a state does to u, by rounding of a model that grows over the horizon
NOTHING = 1e-12  # of what u does to an output at other ticks: at this one it does nothing, but for rounding
ACCURACY = 1e-8  # of the largest step
LIMITS = (("u_min", "u_max"), ("du_min", "du_max"), ("y_min", "y_max"))


@dataclass(frozen=True)
class MPC(DesignedForPlants, Block):
    """Linear model predictive controller with limits.

    Output: u_k, the first of the inputs that minimise, over the next N ticks, the sum of
    (y - r)'Q(y - r) + du'R du, du = u_k - u_k-1, with y = C x from the model, within the limits; held between
    ticks, u0 before the first one.  Update: u_k-1 = u.  Direct feedthrough: x and r to u, at ticks.
    Found by OSQP to 1e-8 of the largest step, in units in which every unknown costs alike (or where it does
    not converge, by least distances), always from the same start, so that a run repeats itself.
    Where no u keeps all limits the run stops there and says so; with `slack` it never does for the limits of
    y: each may be passed by some e >= 0 at a cost of slack (e + e^2), which is added to the sum. A `slack`
    above the multipliers of the limits passes them only where it must.

    system : python-control system, or matrices: (A, B, C, D) of a continuous model,
        (A, B, C, D, dt) of a sampled one, dt in s; D = 0; structural
    N : ticks of the horizon; structural
    Q : weights of y - r, R : of du, definite: matrices, diagonals or numbers; structural
    u_min, u_max, du_min, du_max, y_min, y_max : number or vector, limits of u, of its change from tick to
        tick and of y at the ticks to come; None for none; structural
    slack : above 0, cost of passing a limit of y; None: no limit is passed; structural
    sample, offset : s; structural
    around : (x0, u0, y0) about which the model holds: y = y0 + C (x - x0); None: zeros; structural

    ``MPC.of(plant, N, Q, R, follow=names)`` makes x of the outputs of a plant: as many as it has independent
    states; `follow` names those that are y, default all.

    Use::

        model = ([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], [[0]])
        pilot = d.add("pilot", MPC(model, 20, u_max=1.0, sample=0.1))
        d.connect(source["y"], pilot["x"])

    Source: Rawlings, Mayne & Diehl, Model Predictive Control, 2nd ed., sec. 1.3; Stellato et al., OSQP, Math.
    Prog. Comp. 12 (2020) 637-672.
    """

    system: Any
    N: int
    Q: ArrayLike = 1.0
    R: ArrayLike = 0.1
    u_min: ArrayLike | None = field(default=None, kw_only=True)
    u_max: ArrayLike | None = field(default=None, kw_only=True)
    du_min: ArrayLike | None = field(default=None, kw_only=True)
    du_max: ArrayLike | None = field(default=None, kw_only=True)
    y_min: ArrayLike | None = field(default=None, kw_only=True)
    y_max: ArrayLike | None = field(default=None, kw_only=True)
    slack: float | None = field(default=None, kw_only=True)
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    around: Around | None = field(default=None, kw_only=True)

    @classmethod
    def _designed(cls, point: Any, *design: Any, follow: Any = None, **more: Any) -> Self:
        system, around = followed(point, follow, cls)
        return cls(system, *design, around=around, **more)

    def __post_init__(self) -> None:
        checks.rate(self)
        check_model(self)
        check_around(self)
        sampled_model(self)
        if np.any(np.asarray(self.system[3])):
            raise checks.fault(self, "system", "has D other than 0", "D = 0")
        m, p = np.shape(self.system[1])[1], len(self.system[2])
        checks.assign(self, N=checks.count(self, "N", most=1000))
        weight(self, "Q", p)
        weight(self, "R", m, definite=True)
        for low, high in LIMITS:
            size = p if low == "y_min" else m
            for name in (low, high):
                if getattr(self, name) is None:
                    continue
                checks.assign(self, **{name: checks.numbers(self, name)})
                if np.size(getattr(self, name)) not in (1, size):
                    raise checks.fault(
                        self, name, f"has {np.size(getattr(self, name))} components", f"{size} or one"
                    )
            both = getattr(self, low) is not None and getattr(self, high) is not None
            if both and np.any(np.asarray(getattr(self, low)) > np.asarray(getattr(self, high))):
                raise checks.fault(
                    self, low, f"is {getattr(self, low)}", f"at most {high} = {getattr(self, high)}"
                )

        if self.slack is not None:
            checks.assign(self, slack=checks.numbers(self, "slack", dims=(0,)))
            checks.positive(self, "slack")
            if self.y_min is None and self.y_max is None:
                raise checks.fault(self, "slack", f"is {self.slack}", "a limit of y it is about")

    def define(self, b: Equations) -> None:
        """Declare ports and the call of the solver."""
        n, m, p = len(self.system[0]), np.shape(self.system[1])[1], len(self.system[2])
        x0, u0, y0 = place(self)
        x, r = b.input("x", size=n) - x0, b.input("r", size=p) - y0
        last = b.discrete("last", u0, self.sample, self.offset, size=m)
        known = np.concatenate([x, r, last])
        u = b.external("u", self._make, known, m, self.sample, self.offset, initial=u0)
        b.update(last, u)
        b.output("u", u)

    def _make(self) -> _Program:
        return _Program(self)


def nearest(
    H: np.ndarray, q: np.ndarray, G: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray | None:
    """x that minimises x'Hx / 2 + q'x within low <= G x <= high, H definite; None if there is none.

    A least-distance problem, solved by nonnegative least squares in finitely many steps: slower than an
    iteration that converges, but where limits meet in one point that may not.

    Source: Lawson & Hanson, Solving Least Squares Problems, 1995, ch. 23.4.
    """
    from scipy.linalg import cho_solve, cholesky, solve_triangular  # slow to import
    from scipy.optimize import nnls

    factor = cholesky(H, lower=True)
    start = cho_solve((factor, True), -q)  # of the smallest value, limits aside
    both, ends = np.vstack([G, -G]), np.concatenate([low - G @ start, G @ start - high])
    sizes = np.linalg.norm(both, axis=1)
    moved = sizes > 0.0
    if (ends[~moved] > ACCURACY).any():
        return None
    kept = moved & np.isfinite(ends)
    rows, ends = both[kept] / sizes[kept, None], ends[kept] / sizes[kept]
    reduced = solve_triangular(factor, rows.T, lower=True)
    matrix = np.vstack([reduced, ends])
    away = np.zeros(len(matrix))
    away[-1] = 1.0
    try:
        multipliers, left = nnls(matrix, away)
    except RuntimeError:  # it goes in circles
        return None
    residual = matrix @ multipliers - away
    if left < 1e-10 or not residual[-1]:
        return None
    return np.asarray(start + solve_triangular(factor, -residual[:-1] / residual[-1], lower=True, trans="T"))


def _lost(gain: np.ndarray, free: np.ndarray) -> float:
    """Which part of what a state does to u is rounding, of the state where it is most."""
    felt, summed = abs(gain @ free).max(axis=0), (abs(gain) @ abs(free)).max(axis=0)
    return float((np.finfo(float).eps * summed / np.where(felt > 0.0, felt, np.inf)).max())


def _gain(moves: np.ndarray, Q: np.ndarray, R: np.ndarray, N: int) -> np.ndarray:
    """(N m, N p) changes of u per error ahead where no limit is active.

    A least-squares problem by QR: normal equations lose twice the digits where y grows over the horizon.
    """
    sizes, axes = np.linalg.eigh(Q)
    root = np.kron(np.eye(N), np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T)
    stacked = np.vstack([root @ moves, np.kron(np.eye(N), np.linalg.cholesky(R).T)])
    q, r = np.linalg.qr(stacked)
    return np.asarray(np.linalg.solve(r, q[: len(root)].T @ root))


class _Program:
    """The quadratic program of one run; nothing in it depends on what was solved before.

    The unknowns are the N changes of u, one after the other; with slack, by how much each component of y
    passes a limit at each tick comes behind them.
    """

    def __init__(self, block: MPC) -> None:
        A, B, C, _, _ = sampled_model(block)
        self.n, self.m, self.p, N = len(A), B.shape[1], len(C), block.N
        powers = [np.eye(self.n)]
        for _ in range(N):
            powers.append(A @ powers[-1])
        held = np.cumsum([C @ power @ B for power in powers[:N]], axis=0)  # y after k ticks of u = 1
        self.free = np.vstack([C @ power for power in powers[1:]])
        self.held = np.vstack(list(held))
        self.moves = np.zeros((N * self.p, N * self.m))
        for i in range(N):
            for j in range(i + 1):
                self.moves[i * self.p : (i + 1) * self.p, j * self.m : (j + 1) * self.m] = held[i - j]
        _, self.u0, self.y0 = place(block)
        Q, R = np.array(block.Q), np.array(block.R)
        self.gain = _gain(self.moves, Q, R, N)
        lost = _lost(np.sqrt(np.diag(R))[:, None] * self.gain[: self.m], self.free)
        if lost > MOST_LOST:
            what = f"is {N}: over so many ticks the model grows until {lost:.1g} of u is rounding"
            raise checks.fault(
                block, "N", what, "a shorter horizon", "Or control a model that is stabilised."
            )
        self.slopes = 2.0 * self.moves.T @ np.kron(np.eye(N), Q)
        moved = self.slopes @ self.moves + 2.0 * np.kron(np.eye(N), R)
        soft = 0 if block.slack is None else N * self.p
        H = np.zeros((N * self.m + soft, N * self.m + soft))
        H[: N * self.m, : N * self.m] = moved
        self.prices = np.zeros(len(H))
        if block.slack is not None:
            H[N * self.m :, N * self.m :] = 2.0 * block.slack * np.eye(soft)
            self.prices[N * self.m :] = block.slack
        sums = np.kron(np.tril(np.ones((N, N))), np.eye(self.m))
        self.rows: list[np.ndarray] = []
        self.limits: list[tuple[str, np.ndarray, np.ndarray]] = []
        for matrix, (low, high) in zip((sums, np.eye(N * self.m), self.moves), LIMITS, strict=True):
            if getattr(block, low) is None and getattr(block, high) is None:
                continue
            size = self.p if low == "y_min" else self.m
            ends = [
                np.tile(np.broadcast_to(np.asarray(default if v is None else v, dtype=float), (size,)), N)
                for v, default in ((getattr(block, low), -np.inf), (getattr(block, high), np.inf))
            ]
            if low == "y_min" and soft:
                free = np.full(soft, np.inf)
                self._limit(low, np.hstack([matrix, np.eye(soft)]), ends[0], free)
                self._limit(low, np.hstack([matrix, -np.eye(soft)]), -free, ends[1])
                self._limit("slack", np.hstack([0.0 * matrix, np.eye(soft)]), np.zeros(soft), free)
            else:
                self._limit(low, np.hstack([matrix, np.zeros((len(matrix), soft))]), *ends)
        self.N = N
        self._solver: Any = None
        if self.rows:
            self.matrix = np.vstack(self.rows)
            self._in_even_units(H)
            self._solver = self._set_up()

    def _in_even_units(self, H: np.ndarray) -> None:
        """The program in units in which its answer does not depend on those of u and y.

        The diagonal of H is 1 there, and so is the size of each row, but of those that u does not move.
        """
        self.units = 1.0 / np.sqrt(np.diag(H))
        self.H = H * self.units[:, None] * self.units
        self.even = self.matrix * self.units
        self.sizes = np.linalg.norm(self.even, axis=1)
        first = 0
        for _, low, _ in self.limits:
            here = slice(first, first + len(low))
            ticks = self.sizes[here].reshape(self.N, -1)  # the same component of u or y in each column
            largest = np.broadcast_to(ticks.max(axis=0), ticks.shape)
            rounding = ticks <= NOTHING * largest
            self.even[here][rounding.ravel()] = 0.0
            self.sizes[here] = np.where(rounding, largest, ticks).ravel()
            first += len(low)
        self.sizes[self.sizes == 0.0] = 1.0
        self.even /= self.sizes[:, None]

    def _limit(self, name: str, matrix: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self.rows.append(matrix)
        self.limits.append((name, low, high))

    def _set_up(self) -> Any:
        import osqp  # slow to import
        from scipy import sparse

        solver = osqp.OSQP()
        count = len(self.even)
        solver.setup(
            sparse.csc_matrix(np.triu(self.H)), np.zeros(len(self.H)), sparse.csc_matrix(self.even),
            np.full(count, -np.inf), np.full(count, np.inf),
            verbose=False, eps_abs=ACCURACY, eps_rel=ACCURACY, max_iter=4_000, polishing=True,
            warm_starting=False, adaptive_rho_interval=50,
        )  # fmt: skip
        return solver

    def call(self, t: float, argument: np.ndarray) -> np.ndarray:
        """u at time t [s] for the argument [x, r, u before]."""
        if not np.all(np.isfinite(argument)):
            return np.full(self.m, np.nan)
        x, r, last = np.split(argument, [self.n, self.n + self.p])
        ahead = self.free @ x + self.held @ (last - self.u0)
        error = np.tile(r, self.N) - ahead
        change = np.concatenate([self.gain @ error, np.zeros(len(self.prices) - len(self.gain))])
        if self._solver is not None:
            shown = ahead + np.tile(self.y0, self.N)
            shifts = {"u_min": np.tile(last, self.N), "du_min": 0.0, "y_min": shown, "slack": 0.0}
            low = np.concatenate([lowest - shifts[name] for name, lowest, _ in self.limits])
            high = np.concatenate([highest - shifts[name] for name, _, highest in self.limits])
            reached = self.matrix @ change
            if not ((low <= reached) & (reached <= high)).all():
                q = self.prices.copy()
                q[: len(self.gain)] = -self.slopes @ error
                change = self._limited(t, q, low, high)
        return np.asarray(last + change[: self.m])

    def _limited(self, t: float, q: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The unknowns where some limits are active; OSQP prints a line at each solution where none is."""
        q, low, high = q * self.units, low / self.sizes, high / self.sizes
        moves = np.abs(q[: len(self.gain)]).max()
        step = max(moves, low.max(initial=0.0), (-high).max(initial=0.0))  # so large is it, or larger
        q, low, high = q / step, low / step, high / step
        self._solver.update(q=q, l=low, u=high)
        found = self._solver.solve(raise_error=False)
        change: np.ndarray | None = None
        if found.info.status != "solved" or found.info.status_polish < 1:
            change = nearest(self.H, q, self.even, low, high)
        if change is None and found.info.status == "solved":
            change = found.x
        if change is None:
            raise SimulationError(
                f"MPC: the quadratic program at t={t:.9g} s is {found.info.status}.",
                time=t,
                hint="Widen the limits of y, give a slack=, or start where they can be kept.",
            )
        return np.asarray(change * step * self.units)

    def save(self) -> bytes:
        """Nothing is kept."""
        return b""

    def load(self, saved: bytes) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""
