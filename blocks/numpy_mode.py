"""Equations as plain NumPy over CasADi symbols, with the silent traps made loud.

CasADi's NumPy mode lets ``np.sin(x)`` act on symbols, but it is process-global and converts a symbol to
``nan`` when Python asks for a float (``math.sin(x)``, ``z[0] = x``). `tracing` switches the mode on around
a block's ``define`` only, and makes such a conversion an error that names the line and the NumPy spelling.
"""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import BlockError

Array = Any  # np.ndarray or CasADi's array of symbols: both take the same NumPy calls

_lock = threading.RLock()  # the mode and the patched conversions are process-global
_array_type: Any = type(ca.array(ca.SX.sym("x")))


def _user_line() -> str:
    """``file:line: source`` of the innermost frame outside CasADi, NumPy and this file."""
    for frame in reversed(traceback.extract_stack()):
        if frame.filename != __file__ and "casadi" not in frame.filename and "numpy" not in frame.filename:
            return f"{frame.filename}:{frame.lineno}: {(frame.line or '').strip()}"
    return "unknown line"


def _refuse_float(symbol: Any) -> float:
    value = symbol if isinstance(symbol, ca.SX) else ca.SX(symbol)
    if value.is_constant() and value.numel() == 1:
        return float(ca.DM(value))
    raise BlockError(
        "a signal was used where Python needs a number; equations are traced with symbols. "
        f"At {_user_line()}.",
        hint="Use NumPy's function (np.sin, not math.sin), build arrays with np.stack or np.concatenate "
        "instead of z[0] = ..., and np.where instead of if.",
    )


def _refuse_bool(symbol: Any) -> bool:
    value = symbol if isinstance(symbol, ca.SX) else ca.SX(symbol)
    if value.is_constant() and value.numel() == 1:
        return bool(float(ca.DM(value)))
    raise BlockError(
        f"a condition on a signal was used as True or False; its value is known only at run time. "
        f"At {_user_line()}.",
        hint="Use np.where(condition, a, b), np.logical_and / np.logical_or, np.minimum / np.maximum.",
    )


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Switch CasADi's NumPy mode on, and conversions of symbols to numbers into errors, for this block."""
    owners = (ca.SX, _array_type)
    replaced = {"__float__": _refuse_float, "__int__": _refuse_float, "__bool__": _refuse_bool}
    with _lock:
        mode = ca.GlobalOptions.getNumpyMode()
        before = {(o, n): o.__dict__.get(n) for o in owners for n in replaced}
        ca.GlobalOptions.setNumpyMode(1)
        for owner in owners:
            for name, function in replaced.items():
                setattr(owner, name, function)
        try:
            yield
        finally:
            ca.GlobalOptions.setNumpyMode(mode)
            for (owner, name), original in before.items():
                if original is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, original)


def as_array(symbol: ca.SX) -> Array:
    """CasADi column of n symbols as a 1-D NumPy-like array of shape (n,)."""
    return ca.array(symbol).reshape(symbol.numel())


def as_scalar(symbol: ca.SX) -> Array:
    """One CasADi symbol as a NumPy-like scalar of shape ()."""
    return ca.array(symbol).reshape(())  # type: ignore[arg-type]


def column(expression: Any) -> ca.SX:
    """What a block's author wrote (array, number, list of scalars) as one dense SX column, row-major.

    Call it inside `tracing`.
    """
    if isinstance(expression, ca.SX):
        flat = expression if expression.is_column() else ca.vec(expression.T)
    elif isinstance(expression, (list, tuple)):
        flat = ca.vertcat(*[column(part) for part in expression]) if expression else ca.SX(0, 1)
    elif isinstance(expression, _array_type):
        flat = ca.SX(np.ravel(expression))
    else:
        flat = ca.SX(ca.DM(np.ravel(np.asarray(expression, dtype=float))))
    return ca.densify(flat)
