"""What NumPy and Python's own functions find when they are given a port: its arithmetic, or the cure.

``np.multiply(2.0, port)`` is ``2.0 * port``; ``np.sin(port)``, ``float(port)``, ``port % 2`` and
``np.where(port > 0, a, b)`` are refused with the block that does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blocks.errors import WiringError

# Ufuncs that are an operator of ports: what its method is called, and what where the port comes second.
_OPERATORS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "negative": ("__neg__", ""),
    "positive": ("__pos__", ""),
    "absolute": ("__abs__", ""),
}


class PortUsedAsNumber(WiringError, TypeError):
    """A port where Python or NumPy needs numbers; a TypeError too, as Python's own is."""


def refused(port: Any, what: str, formula: str) -> PortUsedAsNumber:
    """The refusal of an operation by its name, with the block that does it."""
    ref = port.operand()
    why = f"{what} takes numbers, and {ref} is a port, whose signal has values only in a run."
    cure = f"Write d.add('name', Function(lambda u: {formula}))."
    return PortUsedAsNumber([f"{why} {cure}"], path=str(ref), value=port)


def _operator(symbol: str, formula: str) -> Callable[[Any, Any], Any]:
    def refuse(self: Any, other: Any) -> Any:
        raise refused(self, f"'{symbol}'", formula)

    return refuse


def _number(what: str, formula: str) -> Callable[..., Any]:
    def refuse(self: Any, *options: Any) -> Any:
        raise refused(self, what, formula)

    return refuse


class PortRefusals:
    """What ports say to NumPy's functions, to Python's and to operators that make no block."""

    __floordiv__, __rfloordiv__ = _operator("//", "u // 2"), _operator("//", "2 // u")
    __mod__, __rmod__ = _operator("%", "u % 2"), _operator("%", "2 % u")
    __matmul__, __rpow__ = _operator("@", "u @ K"), _operator("**", "2.0**u")
    __float__ = __complex__ = _number("a function as float() or math.sin()", "np.sin(u)")
    __int__, __round__ = _number("int()", "np.trunc(u)"), _number("round()", "np.round(u)")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NEP 13: an operator of ports, or the refusal."""
        name = ufunc.__name__
        if name in ("equal", "not_equal"):  # as objects, which they are
            return (inputs[0] is inputs[-1]) == (name == "equal")
        first = isinstance(inputs[0], PortRefusals)
        own = _OPERATORS.get(name, ("", ""))[not first] if method == "__call__" and not options else ""
        if not own:
            raise refused(self, f"np.{name}", f"np.{name}({'u' if ufunc.nin == 1 else 'u, ...'})")
        return getattr(inputs[0] if first else inputs[1], own)(*(inputs[1:] if first else inputs[:1]))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NEP 18: refused."""
        module = str(getattr(function, "__module__", "numpy")).removeprefix("numpy").lstrip(".")
        name = f"{module}.{function.__name__}".lstrip(".")
        given = "u > 0, 1.0, 0.0" if name == "where" else "u, ..."
        raise refused(self, f"np.{name}", f"np.{name}({given})")
