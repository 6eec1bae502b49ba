"""Products, norms, inverses and determinants of arrays of symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract import ufuncs
from blocks.contract.elements import Elements
from blocks.contract.refusals import no_symbols

Kind = type[Elements]
Function = Callable[..., Any]
_np: Any = np  # its functions take our arrays by protocol, which its stubs cannot know


def _dot(cls: Kind, a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        raise no_symbols("np.dot", "with out")
    x, y = cls.operand(a), cls.operand(b)
    if not x.ndim or not y.ndim:
        return ufuncs.apply(cls, "multiply", x, y)
    if x.ndim > 2 or y.ndim > 2:
        raise no_symbols("np.dot", "of more than two axes")
    return ufuncs.matmul(cls, x, y)


def _multi_dot(cls: Kind, arrays: Any, *, out: Any = None) -> Any:
    found = arrays[0]
    for array in arrays[1:]:
        found = _dot(cls, found, array, out)
    return found


def _matmul(cls: Kind, x1: Any, x2: Any, /) -> Any:
    return ufuncs.matmul(cls, x1, x2)


def _vecdot(cls: Kind, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return ufuncs.contract(cls, "vecdot", np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))


def _vdot(cls: Kind, a: Any, b: Any, /) -> Any:
    return ufuncs.contract(cls, "vecdot", _np.ravel(cls.operand(a)), _np.ravel(cls.operand(b)))


def _norm(cls: Kind, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    e: Any = cls.operand(x)
    name = "np.linalg.norm"
    if axis is None and ord is None:
        flat = ufuncs.apply(cls, "square", cls(e.column(), (e.size,), e.boolean))
        total = ufuncs.apply(cls, "sqrt", ufuncs.reduce(flat, "add", 0))
        return cls(total.column(), (1,) * e.ndim) if keepdims else total
    axes = tuple(range(e.ndim))
    if axis is not None:
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return _vector_norm_of(cls, e, 2 if ord is None else ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord in (None, "fro", "f"):
        square = ufuncs.reduce(ufuncs.apply(cls, "square", e), "add", axes, keepdims)
        return ufuncs.apply(cls, "sqrt", square)
    if ord not in (1, -1, np.inf, -np.inf):
        raise no_symbols(name, f"with ord={ord!r} of a matrix")
    row, column = axes[0] % e.ndim, axes[1] % e.ndim
    inner, other = (row, column) if abs(ord) == 1 else (column, row)
    sums = ufuncs.reduce(ufuncs.apply(cls, "absolute", e), "add", inner, True)
    found = ufuncs.reduce(sums, "maximum" if ord > 0 else "minimum", other, True)
    return found if keepdims else _np.squeeze(found, axis=axes)


def _vector_norm_of(cls: Kind, e: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    apply = ufuncs.apply
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == 2:
        return apply(cls, "sqrt", ufuncs.reduce(apply(cls, "square", e), "add", axis, keepdims))
    size = apply(cls, "absolute", e)
    if abs(ord) == np.inf:
        return ufuncs.reduce(size, "maximum" if ord > 0 else "minimum", axis, keepdims)
    if ord == 0:
        return ufuncs.reduce(apply(cls, "not_equal", e, 0.0), "add", axis, keepdims)
    if ord == 1:
        return ufuncs.reduce(size, "add", axis, keepdims)
    return apply(
        cls, "power", ufuncs.reduce(apply(cls, "power", size, ord), "add", axis, keepdims), 1.0 / ord
    )


def _vector_norm(cls: Kind, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    e: Any = cls.operand(x)
    if axis is None:
        found = _vector_norm_of(cls, cls(e.column(), (e.size,), e.boolean), ord, 0, False)
        return cls(found.column(), (1,) * e.ndim) if keepdims else found
    if not isinstance(axis, int):
        raise no_symbols("np.linalg.vector_norm", "over several axes")
    return _vector_norm_of(cls, e, ord, axis, keepdims)


def _matrix_norm(cls: Kind, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(cls, x, ord, (-2, -1), keepdims)


def _square(cls: Kind, name: str, a: Any) -> Elements:
    e = cls.operand(a)
    if e.ndim > 2:
        raise no_symbols(name, "as stacks of matrices")
    if e.ndim != 2 or e.shape[0] != e.shape[1]:
        raise ValueError(f"{name} of shape {e.shape}: expected a square matrix")
    return e


def _solve(cls: Kind, a: Any, b: Any) -> Elements:
    A, y = _square(cls, "np.linalg.solve", a), cls.operand(b)
    if y.ndim not in (1, 2) or y.shape[0] != A.shape[0]:
        raise ValueError(f"np.linalg.solve: right-hand side of shape {y.shape} for {A.shape[0]} rows")
    right = ufuncs.matrix(y) if y.ndim == 2 else y.column()
    return ufuncs.from_matrix(cls, _solved(ufuncs.matrix(A), right), y.shape)


def _solved(A: ca.SX, right: ca.SX) -> ca.SX:
    """A^-1 right; of plain numbers by NumPy, with pivoting, else by CasADi's symbolic QR."""
    if A.is_constant():
        return ca.mtimes(ca.SX(ca.DM(np.linalg.inv(np.array(ca.DM(A))))), right)
    return ca.solve(ca.sparsify(A), right)


def _inv(cls: Kind, a: Any) -> Elements:
    A = _square(cls, "np.linalg.inv", a)
    return ufuncs.from_matrix(cls, _solved(ufuncs.matrix(A), ca.SX.eye(A.shape[0])), A.shape)


def _det(cls: Kind, a: Any) -> Elements:
    """Determinant by Bird's algorithm, which divides by nothing: n^4 operations.

    Source: R. S. Bird, A simple division-free algorithm for computing determinants, Inf. Proc. Lett. 111
    (2011).
    """
    A = ufuncs.matrix(_square(cls, "np.linalg.det", a))
    n = int(A.shape[0])
    if n < 3:
        return cls(ca.densify(ca.det(A)) if n else ca.SX(1.0), ())
    F = A
    for _ in range(n - 1):
        upper = ca.triu(F, False)
        below = ca.SX(0.0)
        for k in range(n - 2, -1, -1):
            below = below - F[k + 1, k + 1]
            upper[k, k] = below
        F = ca.mtimes(upper, A)
    return cls(ca.densify(F[0, 0] if n % 2 else -F[0, 0]), ())


def _cholesky(cls: Kind, a: Any, /, *, upper: bool = False) -> Elements:
    R = ca.chol(ufuncs.matrix(_square(cls, "np.linalg.cholesky", a)))
    return ufuncs.from_matrix(cls, R if upper else R.T)


MATRICES: dict[Function, Function] = {
    np.dot: _dot,
    np.vdot: _vdot,
    np.linalg.multi_dot: _multi_dot,
    np.linalg.matmul: _matmul,
    np.linalg.vecdot: _vecdot,
    np.linalg.norm: _norm,
    np.linalg.vector_norm: _vector_norm,
    np.linalg.matrix_norm: _matrix_norm,
    np.linalg.solve: _solve,
    np.linalg.inv: _inv,
    np.linalg.det: _det,
    np.linalg.cholesky: _cholesky,
}
