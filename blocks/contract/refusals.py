"""What equations cannot do with a signal, said with the user's line and the spelling that works."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from blocks.contract.user_lines import user_line
from blocks.errors import BlockError

# What to write instead of a function of NumPy or Python's math that takes no symbols.
CURES = {
    "argmax argmin argsort argpartition searchsorted digitize nanargmax nanargmin": "Compare with np.where, "
    "or take a row with blocks.functions.pick.",
    "astype full full_like": "Keep numbers as they are: np.trunc, np.rint and np.clip give whole ones within "
    "bounds, .astype(int) those towards zero.",
    "sort median percentile quantile partition nanmedian nanpercentile nanquantile": "Compare with "
    "np.minimum and np.maximum.",
    "piecewise choose": "Use np.where(condition, a, b), or np.select.",
    "unwrap": "Keep the turns in a memory: b.accepted(name, lambda old: ..., initial).",
    "nonzero argwhere flatnonzero extract compress count_nonzero unique trim_zeros": "How many components a "
    "result has must not depend on values: use np.where(condition, a, b), or np.sum(condition) to count.",
    "lstsq pinv": "Use np.linalg.solve(A.T @ A, A.T @ b).",
    "vectorize frompyfunc apply_along_axis": "Loop: np.array([f(v) for v in u]).",
    "add.at subtract.at multiply.at divide.at": "Write the sum out, component by component.",
    "gamma lgamma erfc": "Use blocks.functions.interp over a table of it.",
    "bitwise_and bitwise_or bitwise_xor invert": "These take conditions only, as (u > 0) & (v > 0); mind "
    "the parentheses.",
    "negative positive subtract sign floor_divide remainder fmod divmod reciprocal": "Of conditions: use ~ "
    "and np.logical_xor, or 1.0 * condition.",
}
_RANDOM = (
    "Take a number per tick from b.random(...), or connect RandomNumber; constants: np.random.default_rng(1)."
)
_ELSE = "Write it with np.where, np.sum, @ or blocks.functions"
NUMBER = (
    "Use NumPy's function (np.sin, not math.sin), build arrays with np.array, np.stack or np.concatenate, or "
    "fill np.zeros_like(u), instead of z[0] = ... of numbers, and np.where instead of if."
)
CONDITION = (
    "Write 0 < u < 1 as (0 < u) & (u < 1). "
    "Use np.where(condition, a, b), np.logical_and / np.logical_or, np.minimum / np.maximum."
)
INDEX = "Loop over range(u.size), and take row u of a table with blocks.functions.pick(table, u)."

_TRACE = str(Path(__file__).with_name("trace.py"))


def line_now() -> str:
    """Line of the equations that are being traced now."""
    stack = traceback.extract_stack()[:-2]
    starts = (k for k, f in enumerate(stack) if f.filename == _TRACE)
    return user_line(stack[max(starts, default=-1) + 1 :])


def no_symbols(name: str, why: str = "") -> BlockError:
    """The refusal of a function by its name, as in "np.sort"."""
    bare = name.removeprefix("np.").removeprefix("linalg.").removeprefix("math.")
    cure = next((cure for names, cure in CURES.items() if bare in names.split()), f"{_ELSE}.")
    last = "; what cannot be written so goes into a PythonFunction"
    gap = "" if not why or why.startswith(",") else " "
    return BlockError(
        f"{name} takes no symbols{gap}{why}; equations are traced with symbols. At {line_now()}.",
        hint=cure.removesuffix(".") + last + ".",
    )


def no_number() -> BlockError:
    """A signal where Python needs a float."""
    return BlockError(
        f"a signal was used where Python needs a number; equations are traced with symbols. At {line_now()}.",
        hint=NUMBER,
    )


def no_whole_number() -> BlockError:
    """A signal where Python needs an int."""
    return BlockError(
        f"a signal was used where Python needs a whole number, as in range(u) or table[u]. At {line_now()}.",
        hint=INDEX,
    )


def no_draw(name: str) -> BlockError:
    """A random number drawn while equations are traced: it would be the same for ever."""
    return BlockError(
        f"{name} draws a number while the equations are traced, once: every run would have the same. "
        f"At {line_now()}.",
        hint=_RANDOM,
    )


def no_truth() -> BlockError:
    """A condition where Python needs True or False."""
    return BlockError(
        f"a condition on a signal was used as True or False; its value is known only at run time. "
        f"At {line_now()}.",
        hint=CONDITION,
    )


def read_only() -> BlockError:
    """An assignment to a signal, state or parameter as it was handed out."""
    return BlockError(
        f"a signal, state or parameter was changed in place, as in u[0] = ... or u += .... At {line_now()}.",
        hint="Write u = u + ..., or change a copy: v = u.copy().",
    )


def explained(error: Exception) -> tuple[str, str]:
    """What an error of NumPy, CasADi or Python means for equations, and the cure.

    The cure is empty where the message says all there is.
    """
    text = str(error).strip().splitlines()[-1] if str(error).strip() else ""
    if found := re.search(r"no implementation found for 'numpy\.((?:\w+\.)*\w+)'", text):
        return f"np.{found[1]} takes no symbols", no_symbols(f"np.{found[1]}").hint or ""
    if text == "unsupported data types in input" or "stored elements and shape" in text:
        return "a sparse matrix of SciPy beside a signal", "Write S.toarray() @ u."
    if text.startswith(("object __array__ method not producing", "unsupported type: <class")):
        return "an object of pandas, or of another package, beside a signal", "Write series.to_numpy() * u."
    if isinstance(error, IndexError) and ("valid indices" in text or "used as indices" in text):
        return "a signal was used where Python needs a whole number, as in range(u) or table[u]", INDEX
    if isinstance(error, (ValueError, TypeError)) and text:
        return text, ""
    if isinstance(error, NameError):
        return text, "Define or import it in that file, before the diagram is used, or correct its spelling."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, ""
