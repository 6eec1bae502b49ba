"""How large the states of a linear system are beside its inputs and outputs, for absolute tolerances.

A realisation may have states of any size: those of a canonical form with poles at w are its output over
powers of w. An absolute tolerance for all of them alike then asks for nothing in the small ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.contract.symbols import Array

ORDINARY = 1e-2  # states down to this share of the output are as exact with the tolerance of the output
SMALLEST = 2.0**-500
CANCELS = 1e-6  # an output this share of its terms is small because they cancel
GRID = 1  # bits between two rates that are looked at; four times as many for many states
MANY = 64


def unless_ordinary(size: Array) -> Array:
    """A size, or 1 where it is an ordinary one."""
    return np.where(size < ORDINARY, size, 1.0)


def state_sizes(A: Any, B: Any, C: Any, D: Any) -> np.ndarray:
    """Typical sizes of the states of x' = A x + B u, y = C x + D u, (n,) powers of two up to 1.

    A change of this size in one state alone changes no output by more than 1, nor by more than an input of 1
    changes it. Changes are averages over time with weights s exp(-s t), for all time scales 1/s of the
    system and 1 s, but none as slow as what grows: a change of state k shows as s C (s - A)^-1 e_k, a step
    at the inputs as C (s - A)^-1 B + D. States of an ordinary size, 1/100 and more, have size 1.

    A : (n, n), B : (n, m), C : (p, n), D : (p, m)
    """
    A, B, C, D = (np.asarray(M, dtype=float) for M in (A, B, C, D))
    n = len(A)
    if not n or not all(np.isfinite(M).all() for M in (A, B, C, D)):
        return np.ones(n)
    from scipy.linalg.lapack import dgebal  # slow to import

    with np.errstate(all="ignore"):
        balanced, _, _, scale, _ = dgebal(A, scale=1, permute=0)
        B, C = B / scale[:, None], C * scale
        seen, reached = _responses(balanced, B, C, D)
        typical = np.where(reached > 0, np.minimum(reached, 1.0), 1.0)
        sizes = scale * (typical[:, None] / seen).min(axis=0, initial=np.inf)
        sizes = np.where((sizes >= ORDINARY) | np.isnan(sizes), 1.0, np.maximum(sizes, SMALLEST))
        found: np.ndarray = 2.0 ** np.floor(np.log2(sizes))
    return found


def _responses(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What of every output a change of 1 of every state changes (p, n), and what an input of 1 does (p,)."""
    s = _rates(A)[:, None, None]
    try:
        R = np.linalg.inv(s * np.eye(len(A)) - A)  # (rates, n, n)
    except np.linalg.LinAlgError:  # nothing that is known of it
        return np.abs(C), np.abs(D).max(axis=1, initial=0.0)
    x = R @ B
    seen = np.fmax(np.abs(C), np.abs(s * (C @ R)).max(axis=0))
    reached = np.fmax(np.abs(D), np.abs(C @ x + D).max(axis=0)).max(axis=1, initial=0.0)
    terms = (np.abs(C) @ np.abs(x)).max(axis=(0, 2), initial=0.0)
    return seen, np.fmax(reached, CANCELS * terms)


def _rates(A: np.ndarray) -> np.ndarray:
    """The rates of a system [1/s], and 1, as powers of two; those that are faster than what grows."""
    poles = np.linalg.eigvals(A)
    sizes = np.abs(poles)
    sizes = sizes[sizes > 1e-13 * sizes.max(initial=0.0)]
    apart = GRID if len(A) <= MANY else 4 * GRID
    near = np.round(np.log2(np.append(sizes, 1.0)) / apart)
    bits = np.unique([near - 1, near, near + 1]) * apart
    growth = 2.0 * max(poles.real.max(initial=0.0), 0.0)
    found = 2.0**bits
    found = found[found > growth]
    return found if len(found) else np.array([4.0 * growth])
