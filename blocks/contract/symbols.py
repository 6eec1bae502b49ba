"""Equations as plain NumPy over CasADi symbols, with the silent traps made loud.

CasADi's NumPy mode lets ``np.sin(x)`` act on symbols, but it is process-global and converts a symbol to
``nan`` when Python asks for a float (``math.sin(x)``, ``z[0] = x``). `tracing` switches the mode on around
a block's ``define`` only, and makes such a conversion an error that names the line and the NumPy spelling.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import BlockError

Array = Any  # np.ndarray or CasADi's array of symbols: both take the same NumPy calls

_lock = threading.RLock()  # the mode and the patched conversions are process-global
_array_type: Any = type(ca.array(ca.SX.sym("x")))


# What to write instead of a NumPy function that takes no symbols.
CURES = {
    "argmax argmin argsort searchsorted digitize": "Compare with np.where, or take a row with "
    "blocks.functions.pick.",
    "around rint round": "Use blocks.functions.round_half_even.",
    "einsum": "Use @, or np.sum of products.",
    "max min median percentile ptp quantile sort partition": "Compare with np.minimum and np.maximum.",
    "piecewise choose select": "Use np.where(condition, a, b).",
    "polyval": "Use blocks.functions.polyval.",
    "unwrap": "Keep the turns in a memory: b.accepted(name, lambda old: ..., initial).",
}
_ELSE = "Write it with np.where, np.sum, @ or blocks.functions"
ARRAYS = (
    "Build arrays with np.stack([a, b]) or np.concatenate; b.output and b.derivative also take a plain list "
    "[a, b]. Row u of a table is blocks.functions.pick(table, u)."
)

_LIBRARIES = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (np, ca))
_ROOT = Path(__file__).parents[2]
_OURS = tuple(f"{_ROOT / package}{os.sep}" for package in ("blocks", "plant", "cosim"))


def user_line(frames: Sequence[traceback.FrameSummary]) -> str:
    """``file:line: source`` of the innermost frame outside CasADi, NumPy and plantloop.

    Where there is none, as in a block of the library, it is the innermost one outside CasADi and NumPy.
    """
    around = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
    own = [f for f in around if not f.filename.startswith(_OURS)]
    for frame in reversed(own or around):
        return f"{frame.filename}:{frame.lineno}: {(frame.line or '').strip()}"
    return "an unknown line"


def _user_line() -> str:
    """Line of the equations that are being traced now."""
    stack = traceback.extract_stack()[:-2]  # not this module
    starts = (k for k, f in enumerate(stack) if f.filename == str(_ROOT / "blocks" / "contract" / "trace.py"))
    return user_line(stack[max(starts, default=-1) + 1 :])


def explained(error: Exception) -> tuple[str, str]:
    """What an error of NumPy, CasADi or Python means for equations, and the cure.

    The cure is empty where the message says all there is.
    """
    text = str(error).strip().splitlines()[-1] if str(error).strip() else ""
    if found := re.search(r"no implementation found for 'numpy\.(?:\w+\.)*(\w+)'", text):
        function = found[1]
        cure = next((cure for names, cure in CURES.items() if function in names.split()), f"{_ELSE}.")
        last = "; what cannot be written so goes into a PythonFunction"
        return f"np.{function} takes no symbols", cure.removesuffix(".") + last + "."
    if "cannot convert symbolic" in text or "Implicit conversion of symbolic" in text:
        return "a signal was used where NumPy needs numbers, as in np.array([u[0], u[1]])", ARRAYS
    if "cannot be interpreted as an integer" in text and "ArrayInterface" in text:
        cure = "Loop over range(u.size), and take row u of a table with blocks.functions.pick(table, u)."
        return "a signal was used where Python needs a whole number, as in range(u) or table[u]", cure
    if isinstance(error, (ValueError, TypeError)) and text:
        return text, ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, ""


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


_ABSENT = object()


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Switch CasADi's NumPy mode on, and conversions of symbols to numbers into errors, for this block.

    Arrays of symbols are hashed by identity meanwhile, so that they can be keys: ``b.when(g, {v: -e * v})``.
    """
    refused = {"__float__": _refuse_float, "__int__": _refuse_float, "__bool__": _refuse_bool}
    replaced: dict[tuple[type, str], Any] = {(_array_type, "__hash__"): object.__hash__}
    replaced |= {(owner, name): f for owner in (ca.SX, _array_type) for name, f in refused.items()}
    with _lock:
        mode = ca.GlobalOptions.getNumpyMode()
        before = {(owner, name): owner.__dict__.get(name, _ABSENT) for owner, name in replaced}
        ca.GlobalOptions.setNumpyMode(1)
        for (owner, name), function in replaced.items():
            setattr(owner, name, function)
        try:
            yield
        finally:
            ca.GlobalOptions.setNumpyMode(mode)
            for (owner, name), original in before.items():
                if original is _ABSENT:
                    delattr(owner, name)
                else:
                    setattr(owner, name, original)


def as_array(symbol: ca.SX) -> Array:
    """CasADi column of n symbols as a 1-D NumPy-like array of shape (n,)."""
    return ca.array(symbol).reshape(symbol.numel())


def as_scalar(symbol: ca.SX) -> Array:
    """One CasADi symbol as a NumPy-like scalar of shape ()."""
    return ca.array(symbol).reshape(())  # type: ignore[arg-type]


def column(expression: Any, what: str = "an expression") -> ca.SX:
    """What a block's author wrote (array, number, list of scalars) as one dense SX column, row-major.

    Call it inside `tracing`; `what` is its name in complaints.
    """
    if isinstance(expression, ca.SX):
        flat = expression if expression.is_column() else ca.vec(expression.T)
    elif isinstance(expression, (list, tuple)):
        parts = [column(part, what) for part in expression]
        flat = ca.vertcat(*parts) if parts else ca.SX(0, 1)
    elif isinstance(expression, _array_type):
        flat = ca.SX(np.ravel(expression))
    else:
        flat = ca.SX(ca.DM(_numbers(expression, what)))
    return ca.densify(flat)


def _numbers(value: Any, what: str) -> np.ndarray:
    """Plain numbers as (n,) float."""
    try:
        if value is not None:
            return np.ravel(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        pass
    hint = "Does a function lack its return?" if value is None else "Give signals, numbers or a list of them."
    raise BlockError(
        f"{what} is {value!r}, expected signals or numbers. At {_user_line()}.", value=value, hint=hint
    )


def hash_of(element: Any) -> int:
    """Identity of one scalar of an SX; two symbols of the same name have different ones."""
    found: int = element.element_hash()  # the stubs do not know it
    return found
