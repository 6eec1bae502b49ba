"""Gains, feedback, state spaces and PID whose numbers follow a scheduling signal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.arguments import real_numbers
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.errors import shown
from blocks.functions import clip, pick
from blocks.library.lookup import check_points
from blocks.library.state_sizes import state_sizes

__all__ = ["ScheduledFeedback", "ScheduledGain", "ScheduledPID", "ScheduledStateSpace"]


def scheduled(p: Array, points: np.ndarray, rows: np.ndarray) -> Array:
    """Rows (n, k) at the points (n,), interpolated at p (); the end rows outside. Returns (k,)."""
    if len(points) == 1:
        return rows[0] + 0.0 * p
    piece: Array = 0.0 * p
    for point in points[1:-1]:
        piece = piece + np.where(p >= point, 1.0, 0.0)
    s = (p - pick(points[:-1].reshape(-1, 1), piece)[0]) / pick(np.diff(points).reshape(-1, 1), piece)[0]
    s = clip(s, 0.0, 1.0)
    return pick(rows[:-1], piece) * (1.0 - s) + pick(rows[1:], piece) * s


def _check(block: Any, **shapes: Any) -> None:
    """Check points, and stacks (n, ...) of numbers whose other axes have the given shapes (None: any)."""
    checks.assign(block, points=checks.numbers(block, "points", dims=(1,)))
    if len(block.points) > 1:
        check_points(block, "points", least=2)
    n = len(block.points)
    for name, shape in shapes.items():
        try:
            array = real_numbers(getattr(block, name))
        except (OverflowError, TypeError, ValueError):
            raise checks.fault(
                block, name, f"is {shown(getattr(block, name))}", "numbers per point"
            ) from None
        fits = array.ndim == 1 + len(shape) and len(array) == n and array.size > 0
        fits = fits and all(w in (None, g) for w, g in zip(shape, array.shape[1:], strict=True))
        if not fits or not np.all(np.isfinite(array)):
            wanted = ", ".join("any" if s is None else str(s) for s in (n, *shape))
            raise checks.fault(block, name, f"has shape {array.shape}", f"finite numbers ({wanted})")
        checks.assign(block, **{name: _nested(array.tolist())})


def _nested(value: Any) -> Any:
    return tuple(_nested(part) for part in value) if isinstance(value, list) else value


def _at(p: Array, block: Any, name: str) -> Array:
    """A scheduled stack at p, in the shape of one of its entries."""
    stack = np.array(getattr(block, name), dtype=float)
    return scheduled(p, np.array(block.points), stack.reshape(len(stack), -1)).reshape(stack.shape[1:])


@dataclass(frozen=True)
class ScheduledGain(Block):
    """A gain that follows a scheduling signal.

    Output: y = K(p) u, elementwise for numbers, a product for matrices; K straight between its values at the
    points, constant beyond them.
    Direct feedthrough: u and p to y. The corners in p are left to error control.

    points : (n,) unit of p, increasing; structural
    gains : (n,) numbers or (n, m, k) matrices; structural

    Use::

        steer = d.add("steer", ScheduledGain([10.0, 30.0], [0.8, 0.2]))
        d.connect(source["y"], steer["p"])

    Source: Rugh & Shamma, Automatica 36 (2000) 1401-1425, sec. 4.
    """

    points: ArrayLike
    gains: Any

    def __post_init__(self) -> None:
        try:
            matrices = np.ndim(np.asarray(self.gains, dtype=float)) == 3
        except (OverflowError, TypeError, ValueError):
            matrices = False
        _check(self, gains=(None, None) if matrices else ())

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        p = b.input("p", size=1)[0]
        shape = np.shape(self.gains)
        if len(shape) == 3:
            b.output("y", _at(p, self, "gains") @ b.input("u", size=shape[2]))
        else:
            k = scheduled(p, np.array(self.points), np.array(self.gains, dtype=float).reshape(-1, 1))[0]
            b.output("y", k * b.input("u"))


@dataclass(frozen=True)
class ScheduledFeedback(Block):
    """State feedback around operating points that follow a scheduling signal, with the inputs that hold them.

    Output: u = u0(p) - K(p) (x - x0(p)); with a sample time, taken at its ticks and held, 0 before the
    first one. K, x0 and u0 are straight between their values at the points, constant beyond them.
    `cosim.gain_schedule` makes one of a plant and its operating points.
    Direct feedthrough: x and p to u. The corners in p are left to error control.

    points : (n,) unit of p, increasing; structural
    K : (n, m, k), unit of u per unit of x; structural
    x0 : (n, k), what x is at the points, u0 : (n, m), what holds it there; None for 0; structural
    sample, offset : s; None means continuous; structural

    Use::

        hover = d.add("hover", ScheduledFeedback([0, 9], [[[2.0, 1.0]], [[4.0, 1.5]]], u0=[[9.8], [9.1]]))
        d.connect(source["y"], hover["p"])

    Source: Rugh & Shamma, Automatica 36 (2000) 1401-1425, sec. 4.
    """

    points: ArrayLike
    K: Any
    x0: Any = None
    u0: Any = None
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        _check(self, K=(None, None))
        n, m, k = np.shape(self.K)
        for name, size in (("x0", k), ("u0", m)):
            if getattr(self, name) is None:
                checks.assign(self, **{name: np.zeros((n, size)).tolist()})
            _check(self, **{name: (size,)})

    def define(self, b: Equations) -> None:
        """Declare ports and the products."""
        p, x = b.input("p", size=1)[0], b.input("x", size=np.shape(self.K)[2])
        u = _at(p, self, "u0") - _at(p, self, "K") @ (x - _at(p, self, "x0"))
        b.output("u", u, self.sample, self.offset)


@dataclass(frozen=True)
class ScheduledStateSpace(Block):
    """A linear system whose matrices follow a scheduling signal.

    Derivative: x' = A(p) x + B(p) u.  Output: y = C(p) x + D(p) u.  Initial value: x = initial.  The matrices
    are straight between their values at the points, constant beyond them.
    Direct feedthrough: p to y, u to y where D has it. The corners in p are left to error control.

    points : (n,) unit of p, increasing; structural
    A : (n, k, k), B : (n, k, m), C : (n, l, k), D : (n, l, m), None for 0; structural
    initial : number or (k,); run-time number

    Use::

        wing = d.add("wing", ScheduledStateSpace([0, 1], [[[-1]], [[-2]]], [[[1]], [[1]]], [[[1]], [[1]]]))
        d.connect(source["y"], wing["p"])

    Source: Rugh & Shamma, Automatica 36 (2000) 1401-1425, sec. 3.
    """

    points: ArrayLike
    A: Any
    B: Any
    C: Any
    D: Any = None
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self, A=(None, None))
        k = np.shape(self.A)[1]
        _check(self, A=(k, k), B=(k, None), C=(None, k))
        size = (np.shape(self.C)[1], np.shape(self.B)[2])
        if self.D is None:
            checks.assign(self, D=np.zeros((len(self.points), *size)).tolist())  # type: ignore[arg-type]
        _check(self, D=size)
        checks.assign(self, initial=checks.numbers(self, "initial"))
        if np.size(self.initial) not in (1, k):
            raise checks.fault(
                self, "initial", f"has {np.size(self.initial)} components", f"{k}, one per state"
            )

    def define(self, b: Equations) -> None:
        """Declare ports, states and the four products."""
        p, u = b.input("p", size=1)[0], b.input("u", size=np.shape(self.B)[2])
        stacks = (np.array(M, dtype=float) for M in (self.A, self.B, self.C, self.D))
        sizes = np.min([state_sizes(*matrices) for matrices in zip(*stacks, strict=True)], axis=0)
        x = b.continuous("x", self.initial, size=np.shape(self.A)[1], nominal=sizes)
        b.derivative(x, _at(p, self, "A") @ x + _at(p, self, "B") @ u)
        y = _at(p, self, "C") @ x
        b.output("y", y + _at(p, self, "D") @ u if np.any(np.asarray(self.D)) else y)


@dataclass(frozen=True)
class ScheduledPID(Block):
    """A PID controller in parallel form whose gains follow a scheduling signal.

    Output: u = v within [low, high], v = kp(p) e + i + d, d = cutoff (kd(p) e - x).  Derivative: x' = d,
    i' = ki(p) e + (u - v) / tracking (back-calculation): the integral holds the output where gains change.
    Initial value: i = initial, x = 0.  Gains are straight between their values at the points.
    Direct feedthrough: e and p to u. Adaptive steps end at the corners in p and at the limits.

    points : (n,) unit of p, increasing; structural
    kp, ki, kd : (n,), as in `PID`; structural
    cutoff : rad/s; tunable
    low, high : number; None leaves a side open; tunable
    tracking : s; tunable
    initial : unit of u; run-time number

    Use::

        speed = d.add("speed", ScheduledPID([0, 10], kp=[2.0, 1.0], ki=[1.0, 0.5], kd=[0, 0]))
        d.connect(source["y"], speed["p"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 11.4 and 11.5.
    """

    points: ArrayLike
    kp: ArrayLike
    ki: ArrayLike
    kd: ArrayLike
    cutoff: float = field(default=100.0, kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    tracking: float = field(default=1.0, kw_only=True)
    initial: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self, kp=(), ki=(), kd=())
        for name in ("cutoff", "tracking", "initial"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "cutoff", " rad/s")
        checks.positive(self, "tracking", " s")
        checks.limits(self)
        for side in ("low", "high"):
            if np.ndim(getattr(self, side)):
                raise checks.fault(self, side, f"is {getattr(self, side)}", "one number")

    def define(self, b: Equations) -> None:
        """Declare ports, the integral and the derivative's filter."""
        sides = {s: b.parameter(s, v) for s in ("low", "high") if (v := getattr(self, s)) is not None}
        cutoff, tracking = b.parameters(cutoff=self.cutoff, tracking=self.tracking)
        p, e = b.input("p", size=1)[0], b.input("e", size=1)
        stack = np.array([self.kp, self.ki, self.kd], dtype=float).T
        gains = scheduled(p, np.array(self.points), stack)
        i, x = b.continuous("i", self.initial, size=1), b.continuous("x", 0.0, size=1)
        d = cutoff * (gains[2] * e - x)
        v = gains[0] * e + i + d
        u = clip(v, **sides)
        b.derivative(x, d)
        b.derivative(i, gains[1] * e + (u - v) / tracking)
        b.output("u", u)
