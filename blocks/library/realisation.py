"""What continuous and discrete linear blocks share: checks, the canonical form, python-control systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.contract import checks
from blocks.contract.symbols import Array
from blocks.errors import BlockError
from blocks.library.state_sizes import state_sizes

OF_CONTROL = "of(system) for a system of python-control"


def check_state_space(block: Any) -> None:
    """Check A, B, C, D and initial of a state-space block and keep them as tuples; D = None becomes 0."""
    checks.assign(block, A=checks.matrix(block, "A", (None, None)))
    n, columns = np.shape(block.A)
    if n != columns:
        hint = "A has one row and one column per state."
        raise checks.fault(block, "A", f"has shape {(n, columns)}", "a square matrix (n, n)", hint)
    checks.assign(
        block,
        B=checks.matrix(block, "B", (n, None), vector="column"),
        C=checks.matrix(block, "C", (None, n)),
    )
    size = (np.shape(block.C)[0], np.shape(block.B)[1])
    if block.D is None:
        checks.assign(block, D=np.zeros(size).tolist())
    checks.assign(block, D=checks.matrix(block, "D", size), initial=checks.numbers(block, "initial"))
    _check_initial(block, n)


def check_polynomials(block: Any) -> None:
    """Check num, den and initial of a transfer-function block; leading zeros go."""
    for field in ("num", "den"):
        checks.assign(block, **{field: checks.numbers(block, field)})
        coefficients = tuple(np.atleast_1d(getattr(block, field)).tolist())
        first = next((k for k, c in enumerate(coefficients) if c != 0), len(coefficients) - 1)
        checks.assign(block, **{field: coefficients[first:]})
    if block.den == (0.0,):
        raise checks.fault(block, "den", "is zero", "a polynomial other than 0")
    above, below = len(block.num) - 1, len(block.den) - 1
    if above > below:
        raise checks.fault(
            block,
            "num",
            f"has degree {above} over a denominator of degree {below}",
            f"a proper transfer function, degree at most {below}",
            "Pure derivatives are not realisable: add fast poles, or use the filtered derivative of PID.",
        )
    if block.initial is not None:
        checks.assign(block, initial=checks.numbers(block, "initial"))
        _check_initial(block, below)


def _check_initial(block: Any, n: int) -> None:
    if np.size(block.initial) not in (1, n) or (n == 0 and np.size(block.initial)):
        raise checks.fault(
            block, "initial", f"has {np.size(block.initial)} components", f"{n}, one per state"
        )


def canonical(num: Array, den: Array, u: Array, x: Array) -> tuple[Array, Array]:
    """Controllable canonical form of num/den: (derivative or next value of x (n,), output (1,)).

    With xi the solution of den xi = u, x holds its lower derivatives (or shifts), highest first, and w the
    highest; y = num xi. The output uses u only where num has the degree of den.

    Source: Franklin, Powell & Emami-Naeini, 7th ed., sec. 7.4.1 (control canonical form).
    """
    w = (u - den[1:] @ x) / den[0]
    xi = np.concatenate([w, x])
    return xi[:-1], np.reshape(num @ xi[-len(num) :], (1,))


def canonical_sizes(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    """Typical sizes of the states of `canonical` in continuous time, (n,), see `state_sizes`."""
    n = len(den) - 1
    A = np.eye(n, k=-1)
    A[0] = -den[1:] / den[0]
    B = np.eye(n, 1) / den[0]
    b = np.concatenate([np.zeros(n + 1 - len(num)), num])
    return state_sizes(A, B, (b[1:] + b[0] * A[0]).reshape(1, n), np.array([[b[0] / den[0]]]))


def from_control(system: Any, discrete: bool, polynomials: bool = False) -> tuple[Any, ...]:
    """Matrices A, B, C, D (or num, den) and dt [s] of a python-control system of the right kind of time.

    Raises
    ------
    BlockError    not a linear python-control system, the wrong kind of time, not SISO where it must be
    """
    import control  # 1 s to import, and whoever calls this has it

    wanted = "discrete" if discrete else "continuous"
    if not isinstance(system, (control.StateSpace, control.TransferFunction)):
        raise BlockError(
            f"{type(system).__name__} is no linear python-control system, expected control.StateSpace or "
            "control.TransferFunction.",
            value=system,
        )
    if system.dt is not None and (system.dt != 0) != discrete:
        other = "StateSpace.of" if discrete else "DiscreteStateSpace.of"
        raise BlockError(
            f"the python-control system has dt={system.dt}, expected a {wanted}-time system.",
            value=system.dt,
            hint=f"Use blocks.{other}, or convert it with control.sample_system.",
        )
    if not polynomials:
        s = control.ss(system)
        return s.A, s.B, s.C, s.D, system.dt
    if (system.ninputs, system.noutputs) != (1, 1):
        raise BlockError(
            f"the python-control system has {system.ninputs} inputs and {system.noutputs} outputs, expected "
            "one of each.",
            value=system,
            hint="Use StateSpace.of or DiscreteStateSpace.of.",
        )
    t = control.tf(system)
    return t.num[0][0], t.den[0][0], system.dt


def sample_of(dt: Any, sample: Any) -> Any:
    """Sample time for a block made of a python-control system: the one given, else the system's dt."""
    if sample is not None:
        return sample
    if dt is None or dt is True:
        raise BlockError(f"the python-control system has no sample time (dt={dt}).", hint="Give sample=...")
    return dt
