"""Constraints q = gamma(y) on the coordinates of a tree, in the short form and in spatial_v2's own.

Source: spatial_v2, "Describing Constraints with gamma_q"; Featherstone, RBDA, section 3.2.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.symbols import as_array, column, tracing
from blocks.errors import BlockError, PlantloopError
from plant.gamma_q.tree_model import GammaQ, TreeModel, vector

AGREES = 1e-9  # relative: how well gamma(y) has to give y back in the independent coordinates
NAMES = ("q", "qd", "G", "gs")


@dataclass(frozen=True, eq=False)
class Constraint:
    """A coordinate constraint: q, qd, G, gs = constraint(model, qo, qdo), of signals or of numbers.

    function : y (ny,) -> q (n,)
    independent : entries of q that are y, or q -> y
    Tstab : s
    """

    function: Callable[[Any], Any]
    independent: tuple[int, ...] | Callable[[Any], Any]
    Tstab: float

    def __call__(self, model: TreeModel, qo: Any, qdo: Any) -> tuple[Any, Any, Any, Any]:
        """q, qd, G and gs; NumPy arrays where qo and qdo are numbers."""
        return self.gamma_q(model, qo, qdo)

    def gamma_q(self, model: TreeModel, qo: Any, qdo: Any) -> tuple[Any, Any, Any, Any]:
        """The function of spatial_v2's form."""
        n = model.NB
        if not _symbolic(qo, qdo):
            numbers = vector("gamma_q: qo", qo, n), vector("gamma_q: qdo", qdo, n)
            a, b = ca.SX.sym("q", n), ca.SX.sym("qd", n)
            at = ca.Function("gamma_q", [a, b], list(self._equations(model, a, b)))
            q, qd, G, gs = (np.array(e) for e in at(*numbers))
            return q.ravel(), qd.ravel(), G, gs.ravel()
        return self._equations(model, column(qo), column(qdo))

    def _equations(self, model: TreeModel, old: ca.SX, old_rate: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        n = model.NB
        with tracing():
            y, yd = self._chosen(old, old_rate)
            s, rate = ca.SX.sym("y", y.numel()), ca.SX.sym("yd", y.numel())
            given = _called("gamma", self.function, as_array(s), shape=f"y of {s.numel()} entries")
            q_of_y = column(given, "what gamma returns")
        if q_of_y.numel() != n:
            raise BlockError(f"gamma gives {q_of_y.numel()} coordinates, expected {n}, one per joint.")
        G_of_y = ca.jacobian(q_of_y, s)
        g_of_y = ca.jtimes(G_of_y @ rate, s, rate)
        self._check(s, q_of_y)
        at = ca.Function("gamma", [s, rate], [q_of_y, G_of_y @ rate, G_of_y, g_of_y])
        q, qd, G, g = at.call([y, yd], True, False)
        gs = g + 2 / self.Tstab * (qd - old_rate) + (q - old) / self.Tstab**2
        return q, qd, G, gs

    def _chosen(self, old: ca.SX, old_rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """y and its rate from q and qd."""
        if callable(self.independent):
            of = f"q of {old.numel()} entries"
            y = column(
                _called("independent", self.independent, as_array(old), shape=of), "what independent returns"
            )
            return y, ca.jacobian(y, old) @ old_rate
        n = old.numel()
        for k in self.independent:
            if not -n <= k < n:
                raise BlockError(
                    f"gamma: independent names coordinate {k}, but the model has {n}: 0 to {n - 1}.", value=k
                )
        return old[list(self.independent)], old_rate[list(self.independent)]

    def _check(self, s: ca.SX, q_of_y: ca.SX) -> None:
        """Refuse a function that does not give y back in its independent coordinates, at some values of y."""
        if callable(self.independent):
            with tracing():
                back = column(self.independent(as_array(q_of_y)), "what independent returns")
        else:
            back = q_of_y[list(self.independent)]
        f = ca.Function("back", [s], [back])
        for y in np.random.default_rng(20240301).uniform(-0.5, 0.5, (5, s.numel())):
            found = np.array(f(y)).ravel()
            if np.isfinite(found).all() and np.abs(found - y).max() > AGREES:
                k = int(np.argmax(np.abs(found - y)))
                listed = "" if callable(self.independent) else f"={list(self.independent)}"
                raise BlockError(
                    f"gamma and independent{listed} contradict each other: y[{k}] = {y[k]:.6g} comes back as "
                    f"{found[k]:.6g}.",
                    value=found,
                    hint="gamma(y) must have y itself in the independent coordinates; correct one of them.",
                )


def gamma(
    function: Callable[[Any], Any],
    independent: int | Sequence[int] | Callable[[Any], Any],
    Tstab: float = 0.1,
) -> Constraint:
    """Constraint q = function(y), with G = dq/dy and g = G' y' by automatic differentiation.

    Parameters
    ----------
    function : y (ny,) -> q (n,)          plain NumPy
    independent : list of int, or q -> y  which entries of q (from 0) are y, or how y follows from q
    Tstab : float                         s; time constant of stabilisation, about 0.1 for a humanoid, 0.01
                                          for a sewing machine
    """
    if not callable(function):
        raise BlockError(f"gamma: {function!r} is no function of y.", value=function)
    try:
        constant = float(Tstab)
    except (TypeError, ValueError, OverflowError):
        constant = np.nan
    if not 0.0 < constant < np.inf:
        raise BlockError(f"gamma: Tstab is {Tstab!r} s, expected a positive time.", value=Tstab)
    if callable(independent):
        return Constraint(function, independent, constant)
    listed = np.atleast_1d(np.asarray(independent))
    if listed.ndim != 1 or not listed.size or listed.dtype.kind not in "iu" or len(set(listed)) < listed.size:
        raise BlockError(
            f"gamma: independent is {independent!r}, expected different numbers of coordinates, from 0, as "
            "in [0], or a function q -> y.",
            value=independent,
        )
    return Constraint(function, tuple(int(k) for k in listed), constant)


def consistent(
    model: TreeModel, gamma_q: GammaQ | Constraint, qo: ca.SX, qdo: ca.SX
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """q, qd (n, 1), G (n, ny) and gs (n, 1) of a constraint at symbols, whatever arrays it returns.

    Raises
    ------
    BlockError    it takes or returns something else
    """
    check_arguments(gamma_q)
    with tracing():
        given = as_array(qo), as_array(qdo)
        found = _called("gamma_q", gamma_q, model, *given, shape=f"qo and qdo of {model.NB} entries")
        q, qd, G, gs = _four(found)
        flat = {name: column(part, f"gamma_q: {name}") for name, part in (("q", q), ("qd", qd), ("gs", gs))}
        for name, part in flat.items():
            if part.numel() != model.NB:
                raise BlockError(f"gamma_q: {name} has {part.numel()} entries, expected {model.NB}.")
        return flat["q"], flat["qd"], _matrix(G, model.NB), flat["gs"]


def consistent_numbers(
    model: TreeModel, gamma_q: GammaQ | Constraint, qo: Any, qdo: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same at numbers: q, qd (n,), G (n, ny), gs (n,)."""
    check_arguments(gamma_q)
    n = model.NB
    position, rate = (np.array(vector(f"gamma_q: {name}", v, n)) for name, v in (("qo", qo), ("qdo", qdo)))
    found = _called("gamma_q", gamma_q, model, position, rate, shape=f"qo and qdo of {n} entries")
    q, qd, G, gs = _four(found)
    flat = [
        np.array(vector(f"gamma_q: {name}", np.ravel(v), n)) for name, v in (("q", q), ("qd", qd), ("gs", gs))
    ]
    columns = np.array(ca.DM(_matrix(G, n)))
    return flat[0], flat[1], columns, flat[2]


def _called(name: str, function: Callable[..., Any], *given: Any, shape: str) -> Any:
    """What a function of the user's returns; what goes wrong in it is reported with what it was given."""
    try:
        return function(*given)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, PlantloopError):
            raise
        raise BlockError(
            f"{name}: the function fails for {shape}: {type(error).__name__}: {error}.", value=function
        ) from error


def check_arguments(gamma_q: Any) -> None:
    """Refuse what cannot be called with (model, qo, qdo), such as the short form without `gamma`."""
    try:
        inspect.signature(gamma_q).bind(None, None, None)
    except TypeError:
        name = getattr(gamma_q, "__name__", repr(gamma_q))
        raise BlockError(
            f"constraint {name} does not take (model, qo, qdo).",
            value=gamma_q,
            hint="Wrap a function of the independent coordinates alone: gamma(function, independent=[0]).",
        ) from None
    except ValueError:  # a builtin without a signature
        return


def _four(found: Any) -> tuple[Any, Any, Any, Any]:
    if not isinstance(found, (tuple, list)):
        raise BlockError(f"gamma_q returned {type(found).__name__}, expected q, qd, G and gs.", value=found)
    if len(found) != 4:
        raise BlockError(f"gamma_q returned {len(found)} values, expected q, qd, G and gs.", value=found)
    q, qd, G, gs = found
    return q, qd, G, gs


def _symbolic(*values: Any) -> bool:
    return any(isinstance(v, ca.SX) or (hasattr(v, "column") and hasattr(v, "shape")) for v in values)


def _matrix(G: Any, rows: int) -> ca.SX:
    """G as (n, ny), from an SX, an array or lists of signals; (n,) is one column."""
    if isinstance(G, ca.SX):
        matrix = G
    else:
        array = np.array(G) if isinstance(G, (list, tuple)) else G
        shape = tuple(array.shape)
        while len(shape) > 2 and shape[-1] == 1:
            shape = shape[:-1]
        flat = column(array, "gamma_q: G")
        if len(shape) == 1:
            shape = (*shape, 1)
        if len(shape) != 2:
            raise BlockError(f"gamma_q: G has shape {shape}, expected ({rows}, ny).", value=G)
        matrix = ca.reshape(flat, shape[1], shape[0]).T  # the column is row-major
    if matrix.shape[0] != rows or matrix.shape[1] > rows:
        raise BlockError(f"gamma_q: G has shape {tuple(matrix.shape)}, expected {rows} rows, one per joint.")
    return ca.sparsify(matrix)
