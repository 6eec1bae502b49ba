"""Systems of equations in one block: differential, differential-algebraic, descriptor form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.pickling import HoldsFunctions
from blocks.contract.symbols import Array
from blocks.library.persistent_data import named
from blocks.library.realisation import check_state_space
from blocks.library.state_sizes import state_sizes

__all__ = ["DAE", "ODE", "DescriptorStateSpace"]

Law = Callable[[Any, Any, Any], Any]


def _check_laws(block: Any) -> None:
    for name in ("f", "g"):
        law = getattr(block, name)
        if not callable(law) and (name == "f" or law is not None):
            raise checks.fault(block, name, f"is {law!r}", f"a function {name}(t, x, u)")
    checks.assign(block, initial=checks.numbers(block, "initial"))


def _input(b: Equations, block: Any) -> Array:
    if block.inputs is not None and block.inputs == 0:
        return np.zeros(0)
    return b.input("u", size=block.inputs)


def _called(block: Any, name: str, *arguments: Array) -> Array:
    value = getattr(block, name)(*arguments)
    if value is None:
        what = f"{named(getattr(block, name))} returned None"
        raise checks.fault(block, name, what, "numbers", "Add the return.")
    return np.ravel(np.array(value) if isinstance(value, (list, tuple)) else value)


def _inputs(block: Any) -> int | None:
    return None if block.inputs is None else checks.count(block, "inputs", least=0)


@dataclass(frozen=True)
class ODE(HoldsFunctions, Block):
    """Ordinary differential equations as two functions in plain NumPy.

    Derivative: x' = f(t, x, u).  Output: y = g(t, x, u), x where there is no g.  Initial value: x = initial.
    Direct feedthrough: whatever of u the function g uses.

    The functions are traced once into equations, with exact derivatives, and run compiled: use ``np.sin``,
    ``np.where``, never ``if`` on a signal.

    f, g : ``f(t, x, u)``, t in s, x (n,), u (m,) -> n numbers; g -> any number of numbers; structural
    initial : (n,), or a number for one state; run-time number
    inputs : None for one input "u" of whatever size is connected, its number of components, or 0 for no
        input; structural

    Use::

        spring = d.add("spring", ODE(lambda t, x, u: [x[1], u[0] - x[0]], [0.1, 0.0]))
        d.connect(source["y"], spring["u"])
    """

    f: Law
    initial: ArrayLike
    g: Law | None = None
    inputs: int | None = None

    def __post_init__(self) -> None:
        _check_laws(self)
        checks.assign(self, inputs=_inputs(self))

    def define(self, b: Equations) -> None:
        """Declare ports, states and their derivatives."""
        u = _input(b, self)
        x = b.continuous("x", self.initial, size=np.size(self.initial))
        b.derivative(x, _called(self, "f", b.time, x, u))
        b.output("y", x if self.g is None else _called(self, "g", b.time, x, u))


def _parted(M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(U1, s, V1, U2, V2): M = U1 diag(s) V1^T, and what M does not see, U2 and V2; rows stay if they can."""
    diagonal = np.array_equal(M, np.diag(np.diag(M)))
    if diagonal:
        s = np.diag(M)
        kept, lost = np.eye(len(s))[:, s != 0], np.eye(len(s))[:, s == 0]
        return kept, s[s != 0], kept, lost, lost
    U, s, Vt = np.linalg.svd(M)
    rank = int(np.sum(s > 1e-12 * max(s[0], 1e-300)))
    return U[:, :rank], s[:rank], Vt[:rank].T, U[:, rank:], Vt[rank:].T


def _plain(matrix: np.ndarray) -> np.ndarray:
    """Without the rounding that would look like a connection."""
    return np.where(np.abs(matrix) < 1e-14 * np.abs(matrix).max(initial=0.0), 0.0, matrix)


@dataclass(frozen=True)
class DAE(HoldsFunctions, Block):
    """Differential-algebraic equations of index 1 with a constant mass matrix.

    Derivative: M x' = f(t, x, u); where M is singular, rows without derivatives are equations that the rest
    of x solves at every evaluation (Newton's method with exact derivatives).  Output: y = g(t, x, u), x where
    there is no g.  Initial value: x = initial in the part that has derivatives; the rest starts from initial
    and is solved.
    Direct feedthrough: whatever of u the function g uses, and of x what follows u at once: u to y there.

    mass : (n, n); structural
    f, g : ``f(t, x, u)``, t in s, x (n,), u (m,) -> n numbers; g -> any number of numbers; structural
    initial : (n,); structural
    inputs : None for one input "u" of whatever size is connected, its number of components, or 0 for no
        input; structural

    Use::

        diode = d.add("diode", DAE([[1, 0], [0, 0]], lambda t, x, u: [x[1], u[0] - x[0] - x[1]], [0, 0]))
        d.connect(source["y"], diode["u"])

    Source: Hairer & Wanner, Solving Ordinary Differential Equations II, sec. VI.1.
    """

    mass: ArrayLike
    f: Law
    initial: ArrayLike
    g: Law | None = None
    inputs: int | None = None

    def __post_init__(self) -> None:
        _check_laws(self)
        n = np.size(self.initial)
        checks.assign(self, mass=checks.matrix(self, "mass", (n, n)), inputs=_inputs(self))

    def define(self, b: Equations) -> None:
        """Declare ports, states, unknowns and their equations."""
        u = _input(b, self)
        U1, s, V1, U2, V2 = (_plain(part) for part in _parted(np.array(self.mass)))
        start = np.atleast_1d(np.asarray(self.initial, dtype=float))
        x: Array = np.zeros(start.size)
        if s.size:
            z = b.continuous("z", V1.T @ start, size=s.size)
            x = x + V1 @ z
        if V2.shape[1]:
            w = b.algebraic("w", V2.T @ start, size=V2.shape[1])
            x = x + V2 @ w
        f = _called(self, "f", b.time, x, u)
        if f.size != start.size:
            if not b.provisional:
                raise checks.fault(self, "f", f"gives {f.size} numbers", f"{start.size} as in initial")
            f = np.zeros(start.size)
        if s.size:
            b.derivative(z, (U1.T @ f) / s)
        if V2.shape[1]:
            b.residual(U2.T @ f)
        b.output("y", x if self.g is None else _called(self, "g", b.time, x, u))


@dataclass(frozen=True)
class DescriptorStateSpace(Block):
    """Linear system in descriptor form, of index 1 at most.

    Derivative: E x' = A x + B u; rows without derivatives are solved when the block is built.
    Output: y = C x + D u.  Initial value: x = initial in the part that has derivatives.
    Direct feedthrough: u to y where D has it or where x follows u at once.

    E, A : (n, n), B : (n, m), C : (p, n), D : (p, m), None for 0; structural. A vector B is one column, a
        vector C or D one row.
    initial : number or (n,); structural

    Use::

        net = d.add("net", DescriptorStateSpace([[1, 0], [0, 0]], [[-1, 1], [1, -2]], [0, 1], [1, 0]))
        d.connect(source["y"], net["u"])

    Source: Hairer & Wanner, Solving Ordinary Differential Equations II, sec. VI.1.
    """

    E: ArrayLike
    A: ArrayLike
    B: ArrayLike
    C: ArrayLike
    D: ArrayLike | None = None
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        check_state_space(self)
        n = np.shape(self.A)[0]
        checks.assign(self, E=checks.matrix(self, "E", (n, n)))
        self._reduced()

    def _reduced(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D and initial of the state space in the part with derivatives."""
        E, A, B, C, D = (np.array(m, dtype=float) for m in (self.E, self.A, self.B, self.C, self.D))
        U1, s, V1, U2, V2 = (_plain(part) for part in _parted(E))
        solved_x, solved_u = np.zeros((V2.shape[1], s.size)), np.zeros((V2.shape[1], B.shape[1]))
        if V2.shape[1]:
            inner = U2.T @ A @ V2
            if np.linalg.cond(inner) > 1e12:
                hint = "Differentiate the constraints by hand, or leave out states that others determine."
                raise checks.fault(self, "A", "leaves an index above 1", "index 1", hint)
            solved_x, solved_u = -np.linalg.solve(inner, U2.T @ A @ V1), -np.linalg.solve(inner, U2.T @ B)
        of_z, of_u = V1 + V2 @ solved_x, V2 @ solved_u  # x = of_z z + of_u u
        left = U1.T / s[:, None]
        start = V1.T @ np.broadcast_to(np.asarray(self.initial, dtype=float), len(E))
        return _plain(left @ A @ of_z), _plain(left @ (A @ of_u + B)), C @ of_z, C @ of_u + D, start

    def define(self, b: Equations) -> None:
        """Declare ports, states and the products."""
        A, B, C, D, start = self._reduced()
        u = b.input("u", size=B.shape[1])
        y: Array = D @ u
        if start.size:
            sizes = state_sizes(A, B, _plain(C), D)
            z = b.continuous("z", start, size=start.size, nominal=sizes)
            b.derivative(z, A @ z + B @ u)
            y = y + _plain(C) @ z
        b.output("y", y)
