"""Linear models as fields of blocks that are designed from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blocks.arguments import real_numbers
from blocks.contract import checks
from blocks.errors import BlockError, shown

Model = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]  # A, B, C, D, dt [s]; dt = 0: continuous
EXPECTED = (
    "a linear python-control system (as linearize(plant) gives), or its matrices (A, B) or (A, B, C, D)"
)


def check_model(block: Any) -> None:
    """Keep the field `system` as matrices (A, B, C, D) and dt [s]; plain matrices are of continuous time."""
    given = block.system
    if hasattr(given, "dt") and not isinstance(given, np.ndarray):
        import control  # 1 s to import, and whoever calls this has it

        if not isinstance(given, (control.StateSpace, control.TransferFunction)):
            raise checks.fault(block, "system", f"is a {type(given).__name__}", EXPECTED)
        ss = control.ss(given)
        if ss.dt is True:
            raise checks.fault(block, "system", "is discrete without a sample time", "one with dt in s")
        parts: Any = (ss.A, ss.B, ss.C, ss.D, float(ss.dt or 0.0))
    elif isinstance(given, (list, tuple)) and len(given) in (2, 4, 5):
        parts = given
    else:
        raise checks.fault(block, "system", f"is {shown(given)}", EXPECTED)
    try:
        A, B = (real_numbers(m) for m in parts[:2])
        n = A.shape[0] if A.ndim == 2 else -1
        B = B.reshape(-1, 1) if B.ndim == 1 else B
        C, D = (real_numbers(m) for m in parts[2:4]) if len(parts) > 2 else (np.eye(max(n, 0)), None)
        C = C.reshape(1, -1) if C.ndim == 1 else C
        D = np.zeros((C.shape[0], B.shape[1])) if D is None else D
        dt = float(parts[4]) if len(parts) == 5 else 0.0
    except (IndexError, OverflowError, TypeError, ValueError):
        raise checks.fault(block, "system", f"is {shown(given)}", EXPECTED) from None
    shapes = {
        "A": A.shape == (n, n),
        "B": B.ndim == 2 and B.shape[0] == n,
        "C": C.ndim == 2 and C.shape[1] == n,
    }
    shapes["D"] = D.shape == (*C.shape[:1], *B.shape[1:2]) and D.ndim == 2
    for name, fits in shapes.items():
        if n < 1 or not fits:
            raise checks.fault(block, "system", f"has matrices that do not fit at {name}", EXPECTED)
    if not all(np.all(np.isfinite(m)) for m in (A, B, C, D)) or not 0 <= dt < np.inf:
        raise checks.fault(block, "system", "has entries that are not finite", "finite numbers")
    checks.assign(block, system=(*(tuple(map(tuple, m.tolist())) for m in (A, B, C, D)), dt))


def model_of(block: Any) -> Model:
    """The matrices of the field `system` and its dt [s]."""
    A, B, C, D = (np.array(m, dtype=float).reshape(len(m), -1) for m in block.system[:4])
    return A, B, C, D, block.system[4]


def sampled_model(block: Any) -> Model:
    """The model at the ticks of the block: a continuous one behind zero-order holds."""
    A, B, C, D, dt = model_of(block)
    T = checks.period(block)
    if dt:
        if abs(dt - T) > 1e-9 * T:
            raise checks.fault(block, "sample", f"is {T} s", f"the sample time of the model, {dt} s")
        return A, B, C, D, dt
    n, m = B.shape
    both = _grown(block, T, np.block([[A, B], [np.zeros((m, n + m))]]))
    return both[:n, :n], both[:n, n:], C, D, T


def _grown(block: Any, T: float, rates: np.ndarray) -> np.ndarray:
    """exp(rates T), over a sample time T [s]; refused where that is no numbers."""
    from scipy.linalg import expm  # slow to import

    with np.errstate(all="ignore"):
        found = expm(T * rates) if np.isfinite(T * rates).all() else np.array(np.nan)
    return _all_numbers(block, T, found)


def _all_numbers(block: Any, T: float, found: np.ndarray) -> np.ndarray:
    if not np.isfinite(found).all():
        what = f"is {T:g} s, over which the matrix exponential of the model is not finite"
        raise checks.fault(block, "sample", what, "a sample time that fits the model", "Give a shorter one.")
    return np.asarray(found)


def sampled_noise(block: Any, Q: np.ndarray) -> np.ndarray:
    """Covariance that noise of density Q adds from tick to tick; of a discrete model Q.

    By Van Loan's exponential over T/2^k, in which nothing decays much, then doubled k times: what noise adds
    in twice the time is V + F V F'. Over T itself exp(-A T) of a fast decay would swallow all digits.
    """
    A, _, _, _, dt = model_of(block)
    if dt:
        return Q
    n, T = len(A), checks.period(block)
    doublings = math.ceil(min(math.log2(max(T * float(np.linalg.norm(A, 1)), 1.0)), 1000.0))
    both = _grown(block, T / 2**doublings, np.block([[-A, Q], [np.zeros((n, n)), A.T]]))
    F = both[n:, n:].T
    found = F @ both[:n, n:]
    with np.errstate(all="ignore"):
        for _ in range(doublings):
            found, F = found + F @ found @ F.T, F @ F
    return _all_numbers(block, T, 0.5 * (found + found.T))


def continuous_only(block: Any) -> None:
    """Refuse a discrete model where there is no sample time."""
    if block.sample is None and block.system[4]:
        what = f"is None for a model of sample time {block.system[4]} s"
        raise checks.fault(block, "sample", what, "that sample time", "Give sample=...")


def weight(block: Any, field: str, n: int, definite: bool = False) -> np.ndarray:
    """A symmetric matrix (n, n), semidefinite or definite; a number or vector is a diagonal."""
    value = np.asarray(checks.numbers(block, field, dims=(0, 1, 2)), dtype=float)
    if value.ndim < 2:
        if value.size not in (1, n):
            raise checks.fault(block, field, f"has {value.size} components", f"{n}, a number or ({n}, {n})")
        value = np.diag(np.broadcast_to(value, (n,)))
    if value.shape != (n, n):
        raise checks.fault(block, field, f"has shape {value.shape}", f"({n}, {n})")
    size, both = np.abs(value).max(), 0.5 * (value + value.T)
    least = np.linalg.eigvalsh(both).min()
    alike = np.allclose(value, value.T, atol=1e-8 * size)
    if not alike or least < -1e-12 * size or (definite and least <= 0):
        expected = "a symmetric matrix, positive " + ("definite" if definite else "semidefinite")
        raise checks.fault(block, field, f"is {shown(getattr(block, field))}", expected)
    checks.assign(block, **{field: tuple(map(tuple, both.tolist()))})
    return both


def riccati(
    block: Any, discrete: bool, A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray
) -> np.ndarray:
    """The stabilising solution of the Riccati equation.

    Raises
    ------
    BlockError    there is none: something that does not decay is not reached, or costs nothing
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are  # slow to import

    try:
        with np.errstate(all="ignore"):
            P = np.asarray((solve_discrete_are if discrete else solve_continuous_are)(A, B, Q, R))
        why = _left_over(discrete, A - B @ optimal(discrete, A, B, P, R))
    except (np.linalg.LinAlgError, ValueError) as error:
        why = str(error)
    if why:
        raise BlockError(
            f"{type(block).__name__}: the Riccati equation has no stabilising solution ({why.rstrip('.')}).",
            hint="Every state that does not decay must be reached by the inputs (or seen by the outputs) and "
            "weighted.",
        )
    return P


def _left_over(discrete: bool, closed: np.ndarray) -> str:
    """What is said of a closed loop that does not decay; "" of one that does.

    SciPy finds a solution also where poles on the limit of stability are not reached or cost nothing.
    """
    poles = np.linalg.eigvals(closed)
    rounding = 1e-13 * max(1.0 if discrete else 0.0, float(np.abs(poles).max(initial=0.0)))
    slow = poles[(np.abs(poles) - 1.0 if discrete else poles.real) >= -rounding]
    return f"the pole {slow[0]:.6g} stays where it is" if slow.size else ""


def gain(block: Any, A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K of u = -K x that minimises the sum (or integral) of x'Qx + u'Ru."""
    discrete = block.sample is not None
    return optimal(discrete, A, B, riccati(block, discrete, A, B, Q, R), R)


def optimal(discrete: bool, A: np.ndarray, B: np.ndarray, P: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K for a solution P of the Riccati equation."""
    if discrete:
        return np.asarray(np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A))
    return np.asarray(np.linalg.solve(R, B.T @ P))
