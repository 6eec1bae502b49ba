"""Rates at a start where a mechanism can continue in several ways, such as a parallelogram in line.

There the Jacobian J of the constraints has fewer independent rows than beside the pose, w^T J = 0 for some w,
and J qd = -nu leaves rates that belong to no motion. Motions obey the constraints to second order too,
J qdd = gamma(qd), which has a solution only where

    w^T gamma(q, qd) = 0                  (quadratic in qd: as many roots as branches)

Of the rates that obey this those with the least kinetic energy are taken.

Source: Strang, Linear Algebra and Its Applications, section 2.4 (what the left null space decides).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

TANGENT = 1e-7  # relative to w^T gamma for arbitrary rates: below it a motion has these rates
SAMPLES = 5
SAME = 1e-6  # relative: closer rates belong to one branch
TRIALS = 24
ROUNDS = 40

Vector = np.ndarray


@dataclass(frozen=True, eq=False)
class Branches:
    """Rates of least energy on the branches through a pose.

    x : list of (n,)    rates in the mass metric, the least energy first; empty where there is no motion
    kept : bool         the rates of least energy that the constraints alone allow are among them
    """

    x: list[Vector]
    kept: bool


def branches(gamma: Callable[[Vector], Vector], W: Vector, x: Vector, M: Vector) -> Branches:
    """Find the rates x + M a for which a motion exists.

    Parameters
    ----------
    gamma : callable    x -> (m,) right-hand side of J qdd = gamma, quadratic in x
    W : (m, d)          columns w with w^T J = 0
    x : (n,)            rates of least energy that obey J qd = -nu and what is given
    M : (n, k)          orthonormal directions that these leave free
    """

    size = _size(gamma, W, x)

    def follows(a: Vector) -> bool:
        return bool((np.abs(W.T @ gamma(x + M @ a)) <= TANGENT * size).all())

    if follows(np.zeros(M.shape[1])):
        return Branches([x], True)
    found: list[Vector] = []
    for start in _starts(x, M):
        a = _root(lambda a: W.T @ gamma(x + M @ a), start)
        if a is None or not follows(a):
            continue
        rates = x + M @ a
        if all(np.linalg.norm(rates - other) > SAME * np.linalg.norm(rates) for other in found):
            found.append(rates)
    return Branches(sorted(found, key=np.linalg.norm), False)


def _size(gamma: Callable[[Vector], Vector], W: Vector, x: Vector) -> Vector:
    """(d,) size of W^T gamma without cancellation, at rates as long as x."""
    rng = np.random.default_rng(20240402)
    others = rng.standard_normal((SAMPLES, len(x)))
    lengths = np.linalg.norm(others, axis=1, keepdims=True)
    others *= np.linalg.norm(x) / np.where(lengths > 0.0, lengths, 1.0)
    return np.asarray(np.max([np.abs(W).T @ np.abs(gamma(rates)) for rates in (x, *others)], axis=0))


def _starts(x: Vector, M: Vector) -> Iterator[Vector]:
    """Starting points of Newton's method: in all directions, at distances similar to the rates' length.

    From x = 0, where expressions of TIME ask for rates, there first, which leads to the least energy.
    """
    k, length = M.shape[1], float(np.linalg.norm(x))
    rng = np.random.default_rng(20240401)
    if k and not length:
        length = 1.0
        yield np.zeros(k)
    for n in range(TRIALS if k else 0):
        direction = rng.standard_normal(k) if k > 1 else np.array([1.0 if n % 2 else -1.0])
        yield np.asarray(direction / np.linalg.norm(direction) * length * 4.0 ** (n // 2 % 6 - 3))


def _root(h: Callable[[Vector], Vector], a: Vector) -> Vector | None:
    """Find a root of h(a) = 0 by least-norm Newton steps; h is quadratic: central differences are exact."""
    for _ in range(ROUNDS):
        step = float(np.linalg.norm(a)) or 1.0
        sides = step * np.eye(len(a))
        slope = np.array([(h(a + side) - h(a - side)) / (2 * step) for side in sides]).T
        change = np.linalg.lstsq(slope, -h(a), rcond=1e-12)[0]
        a = a + change
        if not np.isfinite(a).all():
            return None
        if np.linalg.norm(change) <= 1e-14 * np.linalg.norm(a):
            return a
    return a
