"""Saddle points beside dense linear algebra of NumPy, with rows that repeat others and without."""

import casadi as ca
import numpy as np
import pytest

from plant.mechanics.saddle import MassInverse, Saddle, accelerations

N, M = 6, 5
REPEATS = ((3, {0: 1.0, 1: 2.0}), (4, {2: 1.0, 0: -1.0}))  # rows that others make


def numbers(f):
    return np.array(ca.evalf(ca.densify(f)))


class Problem:
    """Two bodies of three coordinates each; so many of the last conditions repeat others."""

    def __init__(self, repeated, **more):
        rng = np.random.default_rng(3)
        self.H = np.zeros((N, N))
        for k in (0, 3):
            root = rng.normal(size=(3, 3))
            self.H[k : k + 3, k : k + 3] = root @ root.T + np.eye(3)
        self.J = rng.normal(size=(M, N))
        combinations = np.zeros((M, repeated))
        for k, (row, others) in enumerate(REPEATS[:repeated]):
            self.J[row] = sum(share * self.J[other] for other, share in others.items())
            combinations[[*others, row], k] = [*others.values(), -1.0]
        self.Y = np.linalg.solve(self.H, self.J.T)
        self.scale = 1.0 / np.sqrt(np.diag(self.J @ self.Y))
        w = combinations / self.scale[:, None]
        self.near = w / np.linalg.norm(w, axis=0) + 0.01 * rng.normal(size=w.shape)
        self.repeats = ca.SX(self.near) if repeated else None
        inverse = MassInverse(ca.sparsify(ca.SX(self.H)), ordered=False)
        self.saddle = Saddle(inverse, ca.SX(self.J), self.scale, repeats=self.repeats, **more)
        self.Q, self.gamma = rng.normal(size=N), rng.normal(size=M)
        for row, others in REPEATS[:repeated]:
            self.gamma[row] = sum(share * self.gamma[other] for other, share in others.items())

    def dense(self):
        """Accelerations nearest to the free motion, and multipliers that are least in scaled size."""
        free = np.linalg.solve(self.H, self.Q)
        D = np.diag(self.scale)
        lam = D @ np.linalg.pinv(D @ self.J @ self.Y @ D, rcond=1e-9) @ D @ (self.gamma - self.J @ free)
        return free + self.Y @ lam, lam


@pytest.mark.parametrize("repeated", [0, 1, 2])
def test_accelerations_and_multipliers(repeated):
    p = Problem(repeated)
    qdd, lam = p.saddle(ca.SX(p.Q), ca.SX(p.gamma))
    expected, forces = p.dense()
    assert numbers(qdd).ravel() == pytest.approx(expected, abs=1e-11)
    assert numbers(lam).ravel() == pytest.approx(forces, abs=1e-9)
    if repeated:
        null = numbers(p.saddle.null)
        assert np.abs(null.T @ (p.scale[:, None] * p.J)).max() < 1e-9
        assert null.T @ null == pytest.approx(np.eye(repeated), abs=1e-12)


def test_lent_inertia_does_not_act():
    """With gamma = J qdd what is lent to a condition pushes lent * gamma, which multipliers leave out."""
    lent = np.array([0.0, 3.0, 0.0, 0.5, 0.0])
    p = Problem(0, lent=lent)
    qdd, lam = p.saddle(ca.SX(p.Q), ca.SX(p.gamma))
    heavy = p.H + p.J.T @ np.diag(lent) @ p.J
    free = np.linalg.solve(heavy, p.Q)
    qdd0 = numbers(qdd).ravel()
    assert p.J @ qdd0 == pytest.approx(p.gamma, abs=1e-10)
    assert heavy @ qdd0 - p.J.T @ (numbers(lam).ravel() + lent * p.gamma) == pytest.approx(p.Q, abs=1e-9)
    assert numbers(p.saddle.free(ca.SX(p.Q))).ravel() == pytest.approx(free)


@pytest.mark.parametrize("repeated", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_equations_of_the_rounds_hold_with_what_is_added(repeated, count):
    """Also where conditions contradict each other and much is added, and solved with once more."""
    p = Problem(repeated, proximal=0.2, rounds=count)
    p.gamma[3] += 1.0
    saddle = p.saddle
    rounds = saddle.rounds(saddle.free(ca.SX(p.Q)), ca.SX(p.gamma))
    assert len(rounds) == count
    added = 0.2 * np.diag(p.scale**-2.0)
    if repeated:
        near = p.near / p.scale[:, None]
        added = added + near @ near.T
    qdd, Q = np.zeros(N), p.Q
    for change, step in rounds:
        change, step = numbers(change).ravel(), numbers(step).ravel()
        qdd = qdd + change
        assert p.H @ change - p.J.T @ step == pytest.approx(Q, abs=1e-12)
        assert p.J @ qdd + added @ step == pytest.approx(p.gamma, abs=1e-12)
        Q = np.zeros(N)
    assert numbers(accelerations(rounds)).ravel() == pytest.approx(qdd)
    residual = numbers(saddle.residual(rounds, ca.SX(p.Q), ca.SX(p.gamma)))
    assert residual == pytest.approx(np.zeros((count * (N + M), 1)), abs=1e-12)
    given, solve = saddle.again()
    z = ca.SX.sym("z", count * (N + M))
    parts = [(z[k : k + N], z[k + N : k + N + M]) for k in range(0, count * (N + M), N + M)]
    matrix = numbers(ca.jacobian(saddle.residual(parts, ca.SX(p.Q), ca.SX(p.gamma)), z))
    right = np.random.default_rng(5).normal(size=(count * (N + M), 2))
    found = numbers_of(solve, numbers(given), right)
    assert found == pytest.approx(np.linalg.solve(matrix, right), abs=1e-11)


def numbers_of(solve, given, right):
    known, r = ca.MX.sym("known", *given.shape), ca.MX.sym("right", *right.shape)
    return np.array(ca.Function("again", [known, r], [solve(known, r)])(given, right))
