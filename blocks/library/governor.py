"""A reference governor: what keeps a loop that is designed already within limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.library.linear_models import check_model, sampled_model

__all__ = ["ReferenceGovernor"]

ROWS = 4000  # predicted limits of one governor
SETTLED = 1e-3  # of the state is left when a horizon that is not given ends


@dataclass(frozen=True)
class ReferenceGovernor(Block):
    """Lets a reference through as far as a stable loop keeps its limits with it.

    Output: v_k = v_k-1 + kappa (r_k - v_k-1), kappa the largest number in [0, 1] with which the outputs of
    the model, started at x_k and given v_k for ever, keep the limits at ticks k, ..., k + N, and where they
    come to rest keep them by `margin`; 0 where none does. A limit that is passed already counts only where v
    would pass it further. v = initial before the first tick.  Update: v.
    Direct feedthrough: x and r to v, at ticks.

    Where the model is right and x_0 keeps its limits under v = initial they are kept for ever, and a constant
    r that may be reached is reached.

    system : the closed loop from v to the outputs that have limits, stable: a python-control system, or
        matrices (A, B, C, D); structural
    y_min, y_max : number or vector, None for none; structural
    N : ticks that are looked ahead; None: until a thousandth of x is left; structural
    margin : unit of y; structural
    initial : number or (m,), unit of r; run-time number
    sample, offset : s; structural

    Use::

        loop = ([[0, 1], [-4, -0.8]], [[0], [4]], [[1, 0]], [[0]])
        limiter = d.add("limiter", ReferenceGovernor(loop, y_max=1.0, sample=0.05))
        d.connect(source["y"], limiter["r"])

    Source: Gilbert, Kolmanovsky & Tan, Discrete-time reference governors and the nonlinear control of systems
    with state and control constraints, Int. J. Robust and Nonlinear Control 5 (1995) 487-504.
    """

    system: Any
    y_min: ArrayLike | None = None
    y_max: ArrayLike | None = None
    N: int | None = None
    margin: float = 1e-6
    initial: ArrayLike = field(default=0.0, kw_only=True)
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        check_model(self)
        A, B, C, _, _ = sampled_model(self)
        if np.abs(np.linalg.eigvals(A)).max() >= 1.0:
            what = f"has the eigenvalues {np.round(np.linalg.eigvals(A), 6).tolist()} from tick to tick"
            raise checks.fault(self, "system", what, "a stable loop", "Close the loop first.")
        checks.assign(self, initial=checks.numbers(self, "initial"))
        if np.size(self.initial) not in (1, B.shape[1]):
            raise checks.fault(
                self, "initial", f"has {np.size(self.initial)} components", f"{B.shape[1]} or one"
            )
        checks.assign(self, margin=checks.numbers(self, "margin", dims=(0,)))
        if self.margin < 0:
            raise checks.fault(self, "margin", f"is {self.margin}", "0 or more")
        self._check_limits(len(C))
        if self.N is not None:
            checks.assign(self, N=checks.count(self, "N", most=ROWS))
        ticks = self.horizon() + 1
        if ticks * len(C) > ROWS:
            raise checks.fault(
                self,
                "N",
                f"is {self.N}, which looks {ticks - 1} ticks ahead",
                f"at most {ROWS // len(C) - 1}",
                "Give N, or a longer sample time.",
            )

    def _check_limits(self, p: int) -> None:
        given = [name for name in ("y_min", "y_max") if getattr(self, name) is not None]
        if not given:
            raise checks.fault(self, "y_max", "is None, as y_min is", "a limit on one side at least")
        for name in given:
            checks.assign(self, **{name: checks.numbers(self, name)})
            if np.size(getattr(self, name)) not in (1, p):
                raise checks.fault(
                    self, name, f"has {np.size(getattr(self, name))} components", f"{p} or one"
                )
        if len(given) == 2 and np.any(
            np.asarray(self.y_min) + 2 * self.margin >= np.asarray(self.y_max)
        ):  # nothing could come to rest
            raise checks.fault(self, "y_min", f"is {self.y_min}", f"less than y_max = {self.y_max}")

    def horizon(self) -> int:
        """N, or the number of ticks after which a thousandth of x is left."""
        if self.N is not None:
            return self.N
        power = A = sampled_model(self)[0]
        k = 1
        while np.linalg.norm(power, 2) > SETTLED and k <= ROWS:
            power, k = power @ A, k + 1
        return k

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(Hx, Hv, h): the limits are kept where Hx x + Hv v <= h; shapes (q, n), (q, m), (q,)."""
        A, B, C, D, _ = sampled_model(self)
        n, p = len(A), len(C)
        free, forced = [C], [D]
        power, total = np.eye(n), np.zeros_like(A)
        for _ in range(self.horizon()):
            total, power = total + power, A @ power
            free.append(C @ power)
            forced.append(C @ total @ B + D)
        free.append(np.zeros_like(C))
        forced.append(C @ np.linalg.solve(np.eye(n) - A, B) + D)
        Hx, Hv = np.vstack(free), np.vstack(forced)
        inside = np.concatenate([np.zeros(len(Hx) - p), np.full(p, self.margin)])
        found = []
        for sign, limit in ((1.0, self.y_max), (-1.0, self.y_min)):
            if limit is not None:
                h = np.tile(np.broadcast_to(sign * np.asarray(limit, float), (p,)), len(free))
                found.append((sign * Hx, sign * Hv, h - inside))
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]

    def define(self, b: Equations) -> None:
        """Declare ports, the reference so far and how far it may go."""
        Hx, Hv, h = self.rows()
        n, m = Hx.shape[1], Hv.shape[1]
        x, r = b.input("x", size=n), b.input("r", size=m)
        last = b.discrete("last", self.initial, self.sample, self.offset, size=m)
        room, wanted = h - Hx @ x - Hv @ last, Hv @ (r - last)
        asks = wanted > 0
        far = np.where(asks, room / np.where(asks, wanted, 1.0), 1.0)
        kappa = np.maximum(np.minimum(np.min(far), 1.0), 0.0)
        v = last + kappa * (r - last)
        bad = np.sum(x) + np.sum(r)  # a nan passes, so that a run that has gone wrong stops
        now = b.sampled(
            np.where(np.isnan(bad), bad, v), self.sample, self.offset, initial=self.initial, name="now"
        )
        b.update(last, now)
        b.output("v", now)
