"""Estimators of states: Luenberger observer, Kalman filter, extended and unscented Kalman filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.pickling import HoldsFunctions
from blocks.contract.rate import Rate
from blocks.contract.recipes import of_expressions
from blocks.contract.symbols import Array, as_array, as_matrix, column
from blocks.library.designed import Around, DesignedForPlants, check_around, place, spread
from blocks.library.designed import around as around_of
from blocks.library.linear_models import (
    check_model,
    continuous_only,
    model_of,
    riccati,
    sampled_model,
    sampled_noise,
    weight,
)
from blocks.library.persistent_data import named
from blocks.library.plant_laws import PlantLaws

__all__ = ["EKF", "UKF", "KalmanFilter", "Luenberger"]


@dataclass(frozen=True)
class Luenberger(Block):
    """Observer of a linear system with given poles.

    Continuous: x' = A x + B u + L (y - C x - D u).  With a sample time the same for x_k+1.
    Output: x, the estimate.  Initial value: x = initial.  Direct feedthrough: none.

    system : python-control system, or matrices: (A, B, C, D) of a continuous model,
        (A, B, C, D, dt) of a sampled one, dt in s; structural
    poles : (n,) of A - L C, in rad/s, or with a sample time in the unit circle; structural
    initial : number or (n,); run-time number
    sample, offset : s; None means continuous; structural
    around : (x0, u0, y0) about which the model holds, from which x, u, y differ; None: zeros; structural

    Use::

        state = d.add("state", Luenberger(([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], [[0]]), [-5, -6]))
        d.connect(source["y"], state["y"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 8.2.
    """

    system: Any
    poles: Sequence[complex]
    initial: ArrayLike = 0.0
    sample: Rate | None = None
    offset: Rate = 0
    around: Around | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        check_model(self)
        check_around(self)
        continuous_only(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))
        n = len(self.system[0])
        try:
            poles = tuple(complex(p) for p in np.atleast_1d(np.asarray(self.poles, dtype=complex)).tolist())
        except (OverflowError, TypeError, ValueError):
            poles = ()
        if len(poles) != n or not np.all(np.isfinite(poles)):
            raise checks.fault(self, "poles", f"is {str(self.poles)[:80]}", f"{n} numbers, one per state")
        checks.assign(self, poles=poles)
        if np.size(self.initial) not in (1, n):
            raise checks.fault(
                self, "initial", f"has {np.size(self.initial)} components", f"{n}, one per state"
            )
        self.gain()

    def gain(self) -> np.ndarray:
        """L, (n, p)."""
        from scipy.signal import place_poles  # slow to import

        A, _, C, _, _ = model_of(self) if self.sample is None else sampled_model(self)
        try:
            return np.asarray(place_poles(A.T, C.T, np.array(self.poles)).gain_matrix.T)
        except ValueError as error:
            raise checks.fault(
                self, "poles", f"cannot be placed ({error})", "poles of an observable model"
            ) from None

    def define(self, b: Equations) -> None:
        """Declare ports and the estimate."""
        L = self.gain()
        A, B, C, D, _ = model_of(self) if self.sample is None else sampled_model(self)
        x0, u0, y0 = place(self)
        u, y = b.input("u", size=B.shape[1]) - u0, b.input("y", size=len(C)) - y0
        if self.sample is None:
            x = b.continuous("x", self.initial, size=len(A))
        else:
            x = b.discrete("x", self.initial, self.sample, self.offset, size=len(A))
        dx = x - x0
        following = A @ dx + B @ u + L @ (y - C @ dx - D @ u)
        if self.sample is None:
            b.derivative(x, following)
        else:
            b.update(x, x0 + following)
        b.output("x", x)


@dataclass(frozen=True)
class KalmanFilter(DesignedForPlants, Block):
    """Kalman filter of a linear system.

    With a sample time, at tick k: Output: x = xf = x_k + M (y_k - C x_k - D u_k).  Update: x_k+1 = A xf + B
    u_k. "steady": M is the constant gain; "time-varying": M_k from P_k, which starts at P0:
    M_k = P_k C' (C P_k C' + R)^-1, P_k+1 = A (1 - M_k C) P_k A' + Qk. A continuous model is sampled exactly,
    with Qk from the spectral density Q (the continuous-discrete filter).
    Without a sample time: x' = A x + B u + L (y - C x - D u), L = P C' R^-1 constant, and output x.
    Initial value: x = initial.  Direct feedthrough: u and y to x at ticks, without a sample time none.

    system : python-control system, or matrices: (A, B, C, D) of a continuous model,
        (A, B, C, D, dt) of a sampled one, dt in s; structural
    Q : noise on the states: spectral density of a continuous model, covariance of a discrete one; structural
    R : noise on y, definite: covariance of a sample, without a sample time spectral density; structural
    kind : "steady" or "time-varying"; structural
    initial : number or (n,); run-time number
    P0 : covariance of initial, for "time-varying"; structural
    sample, offset : s; None means continuous; structural
    around : (x0, u0, y0) about which the model holds, from which x, u, y differ; None: zeros; structural

    ``KalmanFilter.of(plant, Q, R)`` makes u and y of the ports of a plant: Q is the density of disturbances
    at its inputs (of a sampled diagram their covariance, held from tick to tick), x has the states of
    ``linearize(plant)``.

    Use::

        model = ([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], [[0]])
        state = d.add("state", KalmanFilter(model, 1, 0.1, sample=0.1))
        d.connect(source["y"], state["y"])

    Source: Åström & Wittenmark, Computer-Controlled Systems, 3rd ed., sec. 11.3.
    """

    system: Any
    Q: ArrayLike = 1.0
    R: ArrayLike = 1.0
    kind: str = "steady"
    initial: ArrayLike = field(default=0.0, kw_only=True)
    P0: ArrayLike = field(default=1.0, kw_only=True)
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    around: Around | None = field(default=None, kw_only=True)

    @classmethod
    def _designed(cls, point: Any, Q: ArrayLike = 1.0, R: ArrayLike = 1.0, **more: Any) -> Self:
        B = point.matrices[1]
        fields = {"around": around_of(point.x0, point.u0, point.y0), "initial": tuple(point.x0)} | more
        return cls(point.model, B @ spread(Q, B.shape[1], "Q", cls, "inputs") @ B.T, R, **fields)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        check_model(self)
        check_around(self)
        continuous_only(self)
        checks.choice(self, "kind", ("steady", "time-varying"))
        if self.kind == "time-varying" and self.sample is None:
            raise checks.fault(
                self, "kind", "is 'time-varying' without a sample time", '"steady"', "Give sample=..."
            )
        n = len(self.system[0])
        weight(self, "Q", n)
        weight(self, "R", len(self.system[2]), definite=True)
        weight(self, "P0", n)
        checks.assign(self, initial=checks.numbers(self, "initial"))
        if np.size(self.initial) not in (1, n):
            raise checks.fault(
                self, "initial", f"has {np.size(self.initial)} components", f"{n}, one per state"
            )
        if self.kind == "steady":
            self.gain()

    def gain(self) -> np.ndarray:
        """The constant gain L or M, (n, p)."""
        Q, R = np.array(self.Q), np.array(self.R)
        if self.sample is None:
            A, _, C, _, _ = model_of(self)
            return np.asarray(riccati(self, False, A.T, C.T, Q, R) @ C.T @ np.linalg.inv(R))
        A, _, C, _, _ = sampled_model(self)
        P = riccati(self, True, A.T, C.T, sampled_noise(self, Q), R)
        return np.asarray(P @ C.T @ np.linalg.inv(C @ P @ C.T + R))

    def define(self, b: Equations) -> None:
        """Declare ports and the estimate."""
        A, B, C, D, _ = model_of(self) if self.sample is None else sampled_model(self)
        x0, u0, y0 = place(self)
        u, y = b.input("u", size=B.shape[1]) - u0, b.input("y", size=len(C)) - y0
        if self.sample is None:
            x = b.continuous("x", self.initial, size=len(A))
            b.derivative(x, A @ (x - x0) + B @ u + self.gain() @ (y - C @ (x - x0) - D @ u))
            b.output("x", x)
            return
        x = b.discrete("x", self.initial, self.sample, self.offset, size=len(A))
        innovation = y - C @ (x - x0) - D @ u
        if self.kind == "steady":
            filtered = x + self.gain() @ innovation
        else:
            P, store = _covariance(b, self)
            M = _gain(P, C, np.array(self.R))
            filtered = x + M @ innovation
            store(A @ (P - M @ C @ P) @ A.T + sampled_noise(self, np.array(self.Q)))
        b.update(x, x0 + A @ (filtered - x0) + B @ u)
        b.output("x", filtered, self.sample, self.offset, initial=self.initial)


def _covariance(b: Equations, block: Any) -> tuple[Array, Callable[[Array], None]]:
    """A covariance (n, n) as a discrete state, and what stores its next value."""
    start = np.array(block.P0)
    n = len(start)
    p = b.discrete("P", start.ravel(), block.sample, block.offset, size=n * n)

    def store(P: Array) -> None:
        b.update(p, np.ravel(0.5 * (P + P.T)))

    return p.reshape(n, n), store


def _gain(P: Array, C: Any, R: np.ndarray) -> Array:
    """P C' (C P C' + R)^-1."""
    PC = P @ C.T
    return np.linalg.solve(C @ PC + R, PC.T).T


def _check_nonlinear(block: Any) -> None:
    for name in ("f", "h"):
        if not callable(getattr(block, name)):
            raise checks.fault(block, name, f"is {getattr(block, name)!r}", f"a function {name}(t, x, u)")
    checks.rate(block)
    initial = checks.numbers(block, "initial")
    checks.assign(block, initial=initial if isinstance(initial, tuple) else (initial,))
    n = len(block.initial)
    weight(block, "Q", n)
    r = checks.numbers(block, "R", dims=(0, 1, 2))
    weight(block, "R", 1 if np.ndim(r) == 0 else len(r), definite=True)
    weight(block, "P0", n, definite=True)
    if block.inputs is not None:
        checks.assign(block, inputs=checks.count(block, "inputs", least=0))
    checks.assign(block, steps=checks.count(block, "steps", least=0, most=1000))


class _Law:
    """The functions of a block as CasADi functions of (t, x, u), with Jacobians by x."""

    def __init__(self, b: Equations, block: Any, u: Array) -> None:
        n = len(block.initial)
        self.t, self.x, self.u = ca.SX.sym("t"), ca.SX.sym("x", n), ca.SX.sym("u", u.size)
        arguments = [self.t, self.x, self.u]
        steps, T = block.steps, checks.period(block)
        rate = ca.Function("rate", arguments, [self._traced(block, "f", n)])
        if steps:
            x, dt = self.x, T / steps
            for k in range(steps):
                s = self.t + k * dt
                k1 = rate(s, x, self.u)
                k2 = rate(s + dt / 2, x + dt / 2 * k1, self.u)
                k3 = rate(s + dt / 2, x + dt / 2 * k2, self.u)
                k4 = rate(s + dt, x + dt * k3, self.u)
                x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        else:
            x = rate(*arguments)
        y = self._traced(block, "h", len(block.R))
        self._next = ca.Function("next", arguments, [ca.densify(x), ca.densify(ca.jacobian(x, self.x))])
        self._seen = ca.Function("seen", arguments, [ca.densify(y), ca.densify(ca.jacobian(y, self.x))])
        self._now = [column(b.time), column(u)]

    def _traced(self, block: Any, name: str, size: int) -> ca.SX:
        t, u = as_array(self.t)[0], as_array(self.u) if self.u.numel() else np.zeros(0)
        value = getattr(block, name)(t, as_array(self.x), u)
        if value is None:
            what = f"{named(getattr(block, name))} returned None"
            raise checks.fault(block, name, what, "numbers", "Add the return.")
        found = column(np.array(value) if isinstance(value, (list, tuple)) else value)
        if found.numel() != size:
            raise checks.fault(block, name, f"gives {found.numel()} numbers", f"{size}")
        return found

    def next(self, x: Array) -> tuple[Array, Array]:
        """x at the next tick (n,) and its Jacobian (n, n)."""
        return self._of(self._next, x)

    def seen(self, x: Array) -> tuple[Array, Array]:
        """y (p,) and its Jacobian (p, n)."""
        return self._of(self._seen, x)

    def _of(self, function: ca.Function, x: Array) -> tuple[Array, Array]:
        t, u = self._now
        value, slope = function.call([t, column(x), u], True, False)
        return as_array(value), as_matrix(slope)


def _ports(b: Equations, block: Any) -> tuple[Array, Array]:
    u = np.zeros(0) if block.inputs == 0 else b.input("u", size=block.inputs)
    return u, b.input("y", size=len(block.R))


class MadeOfPlants(HoldsFunctions):
    """Base of estimators with functions f and h, which may be the equations of a plant."""

    @classmethod
    @of_expressions
    def of(
        cls,
        plant: Block,
        Q: ArrayLike,
        R: ArrayLike,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        **more: Any,
    ) -> Self:
        """Of a plant or another block with continuous states: f and h are its own equations.

        inputs : names of its inputs, or components ("u[0]"), that "u" is made of, side by side; others are
            zero; default all
        outputs : names of its outputs, or components, that "y" is made of; default all
        more : other fields; `initial` is that of the plant by default

        Raises
        ------
        BlockError    more than continuous states in its equations, or states tied by constraints
        """
        laws = PlantLaws.of(plant, inputs, outputs)
        fields: dict[str, Any] = {"initial": laws.initial, "inputs": laws.inputs}
        return cls(laws.f, laws.h, Q, R, **(fields | more))  # type: ignore[call-arg]  # those of the estimators


@dataclass(frozen=True)
class EKF(MadeOfPlants, Block):
    """Extended Kalman filter, with exact Jacobians of the functions it is given.

    At tick k: Output: x = xf = x_k + M (y_k - h(t, x_k, u_k)), M = P H' (H P H' + R)^-1, H = dh/dx.
    Update: x_k+1 = xf carried on to the next tick, P_k+1 = F (P - M H P) F' + Q, F its Jacobian.  f is x',
    and a sample time is made in so many steps of rk4 with u held; with steps=0 f gives x at the next tick
    itself.
    Initial value: x = initial, P = P0.  Direct feedthrough: u and y to x, at ticks.

    f, h : ``f(t, x, u)``, ``h(t, x, u)`` in plain NumPy, traced; structural
    Q : covariance that is added to x from tick to tick; structural
    R : covariance of y, definite; its size is that of y; structural
    initial : (n,); run-time number
    P0 : covariance of initial, definite; structural
    steps : of rk4 from tick to tick, or 0; structural
    inputs : None for one input "u" of whatever size is connected, its number of components, or 0; structural
    sample, offset : s; structural

    Use::

        state = d.add("state", EKF(lambda t, x, u: -(x**3), lambda t, x, u: x, 1e-4, 0.01, [1.0], sample=0.1))
        d.connect(source["y"], state["y"])

    Source: Simon, Optimal State Estimation, sec. 13.2.
    """

    f: Callable[[Any, Any, Any], Any]
    h: Callable[[Any, Any, Any], Any]
    Q: ArrayLike
    R: ArrayLike
    initial: ArrayLike
    P0: ArrayLike = 1.0
    steps: int = 4
    inputs: int | None = None
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_nonlinear(self)

    def define(self, b: Equations) -> None:
        """Declare ports, estimate and covariance."""
        u, y = _ports(b, self)
        x = b.discrete("x", self.initial, self.sample, self.offset, size=np.size(self.initial))
        law = _Law(b, self, u)
        P, store = _covariance(b, self)
        seen, H = law.seen(x)
        M = _gain(P, H, np.array(self.R))
        filtered = x + M @ (y - seen)
        following, F = law.next(filtered)
        b.update(x, following)
        store(F @ (P - M @ H @ P) @ F.T + np.array(self.Q))
        b.output("x", filtered, self.sample, self.offset, initial=self.initial)


@dataclass(frozen=True)
class UKF(MadeOfPlants, Block):
    """Unscented Kalman filter: mean and covariance are carried by 2n + 1 sigma points.

    The points are x and x +- columns of the Cholesky factor of (n + kappa) P, weighted kappa/(n + kappa) and
    1/(2 (n + kappa)).  At tick k they are seen through h: Output: x = xf = x_k + M (y_k - mean of h), M = Pxy
    Py^-1, Py with R.  Update: new points around xf are carried on to the next tick, Q is added.  f, steps as
    in `EKF`.
    Initial value: x = initial, P = P0.  Direct feedthrough: u and y to x, at ticks.

    f, h : ``f(t, x, u)``, ``h(t, x, u)`` in plain NumPy, traced; structural
    Q : covariance that is added to x from tick to tick; structural
    R : covariance of y, definite; its size is that of y; structural
    initial : (n,); run-time number
    P0 : covariance of initial, definite; structural
    steps : of rk4 from tick to tick, or 0; structural
    kappa : 0 or more, how far out the points are; structural
    inputs : None for one input "u" of whatever size is connected, its number of components, or 0; structural
    sample, offset : s; structural

    Use::

        state = d.add("state", UKF(lambda t, x, u: -(x**3), lambda t, x, u: x, 1e-4, 0.01, [1.0], sample=0.1))
        d.connect(source["y"], state["y"])

    Source: Julier & Uhlmann, Proc. IEEE 92 (2004) 401-422, sec. III.
    """

    f: Callable[[Any, Any, Any], Any]
    h: Callable[[Any, Any, Any], Any]
    Q: ArrayLike
    R: ArrayLike
    initial: ArrayLike
    P0: ArrayLike = 1.0
    steps: int = 4
    kappa: float = 1.0
    inputs: int | None = None
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_nonlinear(self)
        checks.assign(self, kappa=checks.numbers(self, "kappa", dims=(0,)))
        if self.kappa < 0:
            raise checks.fault(self, "kappa", f"is {self.kappa}", "0 or more")

    def define(self, b: Equations) -> None:
        """Declare ports, estimate and covariance."""
        u, y = _ports(b, self)
        x = b.discrete("x", self.initial, self.sample, self.offset, size=np.size(self.initial))
        law = _Law(b, self, u)
        P, store = _covariance(b, self)
        points, weights = self._points(x, P)
        seen = [law.seen(point)[0] for point in points]
        mean, Py, Pxy = _moments(weights, seen, points, x)
        Py = Py + np.array(self.R)
        M = np.linalg.solve(Py, Pxy.T).T
        filtered = x + M @ (y - mean)
        points, weights = self._points(filtered, P - M @ Py @ M.T)
        carried = [law.next(point)[0] for point in points]
        following, spread, _ = _moments(weights, carried, carried, None)
        b.update(x, following)
        store(spread + np.array(self.Q))
        b.output("x", filtered, self.sample, self.offset, initial=self.initial)

    def _points(self, x: Array, P: Array) -> tuple[list[Array], list[float]]:
        n, scale = x.size, x.size + float(self.kappa)
        root = np.sqrt(scale) * np.linalg.cholesky(0.5 * (P + P.T))
        around = [x + sign * root[:, k] for sign in (1.0, -1.0) for k in range(n)]
        return [x, *around], [float(self.kappa) / scale] + [0.5 / scale] * (2 * n)


def _moments(
    weights: list[float], values: list[Array], points: list[Array], center: Array | None
) -> tuple[Array, Array, Array]:
    """Mean (p,), covariance (p, p), and covariance of points with values (n, p)."""
    mean: Any = sum(w * v for w, v in zip(weights, values, strict=True))
    middle = mean if center is None else center
    spread: Any = 0.0
    cross: Any = 0.0
    for w, v, point in zip(weights, values, points, strict=True):
        off = (v - mean).reshape(-1, 1)
        spread = spread + w * (off @ off.T)
        cross = cross + w * ((point - middle).reshape(-1, 1) @ off.T)
    return mean, spread, cross
