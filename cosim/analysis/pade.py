"""Rational stand-ins for delays: Padé approximants with numerator and denominator of one degree.

exp(-s T) is replaced by p(-s T) / p(s T) with p(z) = sum_k (2n - k)! n! / ((2n)! k! (n - k)!) z^k. Its gain
is one at every frequency; its phase follows the delay's up to about w T = 2 n.
Source: Golub and Van Loan, Matrix Computations, 4th ed., section 9.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from blocks.arguments import is_number
from blocks.errors import PlantloopError, shown

HIGHEST = 20


@dataclass(frozen=True)
class Pade:
    """z' = A z + B v, w = C z + D v for one component; A (n, n), B (n,), C (n,), D is 1 or -1."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: float

    @staticmethod
    def of(seconds: float, n: int) -> Pade:
        """Of a delay [s], with n states, in controllable form of s T so that its numbers stay moderate.

        Without states w = v: what it is at rest.
        """
        if not n:
            return Pade(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0)
        p = [factorial(2 * n - k) * comb(n, k) / factorial(n) for k in range(n + 1)]  # of z^k, last is 1
        sign = float((-1) ** n)
        # p(-z)/p(z) = sign + (p(-z) - sign p(z)) / p(z)
        rest = [p[k] * ((-1) ** k - sign) for k in range(n)]
        A = np.eye(n, k=1)
        A[-1] = [-c for c in p[:n]]
        scale = np.geomspace(1.0, p[0], n) if n > 1 else np.ones(1)  # states of one size
        A, B = A * scale[None, :] / scale[:, None], np.eye(n)[-1] / scale
        return Pade(A / seconds, B / seconds, np.array(rest) * scale, sign)


def order(value: object) -> int | None:
    """The argument ``pade=``, checked: a whole number of states, or None.

    Raises
    ------
    PlantloopError      anything else
    """
    if value is None:
        return None
    if not (is_number(value) and 1 <= value <= HIGHEST and int(value) == value):
        raise PlantloopError(
            f"pade is {shown(value)}, expected a number of states from 1 to {HIGHEST}.",
            value=value,
            hint="4 follows a delay T up to frequencies of about 5/T.",
        )
    return int(value)
