"""Equations of a start as functions of coordinates and rates, all other symbols as they are at the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import hash_of
from blocks.errors import ModelError
from plant.mechanics.motion import Roots

ROUNDS = 60
ROOT = 1e-14  # relative: how well unknowns of implicit variables are solved for


class StartNumbers:
    """Functions of (q, qd) at a time, with every other symbol of the equations at its initial value.

    Counts of listed instants are those of the time.

    time : s            may be changed: what was made before follows
    roots : unknowns in the equations, which are solved for at each place
    """

    def __init__(self, b: Equations, q: ca.SX, qd: ca.SX, time: float, roots: Roots) -> None:
        self._b, self._q, self._qd, self.time, self._roots = b, q, qd, time, roots
        self._clock = ca.SX(b.time)
        self._at: tuple[float, ca.DM] | None = None  # a time, and values then
        self._newest = {
            hash_of(v): value for s, many in b.known() for v, value in zip(s.nonzeros(), many, strict=True)
        }

    def __call__(self, *columns: Any, matrices: Sequence[Any] = ()) -> Callable[..., list[Any]]:
        """Function that gives columns as (n,) arrays, then matrices as sparse ones."""
        from scipy.sparse import csr_array  # slow to import, and only closed mechanisms need it

        v = self._roots.v
        symbols = ca.vertcat(ca.SX(0, 1), *self._others)
        outputs = [*[ca.densify(ca.SX(e)) for e in columns], *[ca.SX(e).T for e in matrices]]  # as rows
        f = ca.Function("sample", [self._q, self._qd, self._clock, symbols, v], outputs)
        solve = self._solver(symbols)

        def evaluate(q: np.ndarray, qd: np.ndarray | None = None) -> list[Any]:
            rates = np.zeros(self._qd.numel()) if qd is None else qd
            known = [ca.DM(q), ca.DM(rates), ca.DM(self.time), self._values]
            found = f.call([*known, solve(known)])
            numbers = [np.array(e.nonzeros()) for e in found]
            shapes = [e.sparsity() for e in found[len(columns) :]]
            sparse = [
                csr_array((v, shape.row(), shape.colind()), shape=shape.shape[::-1])
                for v, shape in zip(numbers[len(columns) :], shapes, strict=True)
            ]
            return [*numbers[: len(columns)], *sparse]

        return evaluate

    @cached_property
    def _others(self) -> list[ca.SX]:
        """All symbols besides coordinates, rates and unknowns, as far as they are there when first asked."""
        return [s for s, _ in self._known() if s.numel()]

    @property
    def _values(self) -> ca.DM:
        """Their values (n,) at the present time."""
        if self._at is None or self._at[0] != self.time:
            now = {hash_of(s.nonzeros()[0]): v for s, v in self._known() if s.numel()}
            values = [now[hash_of(s.nonzeros()[0])] for s in self._others]
            self._at = self.time, ca.DM(np.concatenate([np.zeros(0), *values]))
        return self._at[1]

    def _known(self) -> list[tuple[ca.SX, np.ndarray]]:
        return self._b.known([self._q, self._qd, self._roots.v], self.time)

    def _solver(self, symbols: ca.SX) -> Callable[[list[Any]], Any]:
        """Function from all other numbers to those of the unknowns, by Newton's method from the last ones."""
        v, R = self._roots.v, self._roots.R
        start = np.array([self._newest[hash_of(e)] for e in v.nonzeros()])
        if not v.numel():
            none = ca.DM(start)
            return lambda known: none
        inputs = [self._q, self._qd, self._clock, symbols, v]
        f = ca.Function("equations", inputs, [ca.densify(R), ca.densify(ca.jacobian(R, v))])

        def solved(known: list[Any]) -> Any:
            nonlocal start
            x = start
            for _ in range(ROUNDS):
                r, J = (np.array(part) for part in f.call([*known, ca.DM(x)]))
                step = (
                    np.linalg.lstsq(J, -r.ravel())[0]
                    if np.isfinite(r).all() and np.isfinite(J).all()
                    else None
                )
                if step is None:
                    break
                x = x + step
                if np.abs(step).max() <= ROOT * max(1.0, float(np.abs(x).max())):
                    start = x
                    return ca.DM(x)
            raise ModelError(
                f"implicit variables in the constraints have no solution near {start.tolist()} at the start: "
                "Newton's method does not converge.",
                value=start,
                hint="Give each of them a start with ic.",
            )

        return solved
