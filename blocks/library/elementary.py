"""Elementary functions of signals, elementwise. What jumps, rounding and wrapping, does so by events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.functions import signed_sqrt
from blocks.library.expansion import together

__all__ = ["Bias", "MathFunction", "Polynomial", "Rounding", "Sqrt", "TrigonometricFunction", "Wrap"]

Formula = Callable[..., Array]

TRIGONOMETRIC: dict[str, Formula] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
SPELLED = {f"arc{name[1:]}": name for name in TRIGONOMETRIC if name.startswith("a")}


@dataclass(frozen=True)
class TrigonometricFunction(Block):
    """A trigonometric or hyperbolic function, elementwise; angles in rad.

    Output: y = function(u); with "atan2" y = atan2(in1, in2), the angle of the point (in2, in1); with
    "sincos" sin = sin(u) and cos = cos(u). Outside the domain of "asin", "acos", "acosh" and "atanh" y is not
    a number, and the run stops there.
    Direct feedthrough: every input to every output. The jump of "atan2" by a turn is left to error control.

    function : "sin", "cos", "tan", "sinh", "cosh", "tanh", their inverses "asin", ... (also "arcsin", ...),
        "atan2" or "sincos"; structural

    Use::

        height = d.add("height", TrigonometricFunction("sin"))
        d.connect(source["y"], height["u"])
    """

    function: str = "sin"

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            checks.assign(self, function=SPELLED.get(self.function, self.function))
        checks.choice(self, "function", (*TRIGONOMETRIC, "sincos"))

    def define(self, b: Equations) -> None:
        """Declare ports and the function."""
        if self.function == "atan2":
            y, x = together(b, self, in1=b.input("in1"), in2=b.input("in2"))
            b.output("y", np.arctan2(y, x))
            return
        u = b.input("u")
        if self.function == "sincos":
            b.output("sin", np.sin(u))
            b.output("cos", np.cos(u))
        else:
            b.output("y", TRIGONOMETRIC[self.function](u))


OF_ONE: dict[str, Formula] = {
    "exp": np.exp,
    "log": np.log,
    "10^u": lambda u: np.exp(np.log(10.0) * u),
    "log10": np.log10,
    "square": lambda u: u * u,
    "cube": lambda u: u * u * u,
    "reciprocal": lambda u: 1.0 / u,
    "expm1": np.expm1,
    "log1p": np.log1p,
}
OF_TWO: dict[str, Formula] = {
    "pow": lambda u, v: u**v,
    "hypot": np.hypot,
    "rem": np.fmod,
    "mod": np.mod,
}
ALSO = {"ln": "log", "magnitude^2": "square", "u^2": "square", "1/u": "reciprocal", "power": "pow"}


@dataclass(frozen=True)
class MathFunction(Block):
    """A mathematical function of one or two signals, elementwise.

    Output: y = function(u), or function(in1, in2) with "pow" (in1 to the power in2), "hypot"
    (sqrt(in1^2 + in2^2)), "rem" (remainder with the sign of in1) and "mod" (with the sign of in2).
    Direct feedthrough: every input to y. The jumps of "rem" and "mod" are left to error control; of an angle
    take `Wrap`.

    function : "exp", "log" ("ln"), "10^u", "log10", "square" ("magnitude^2"), "cube", "reciprocal", "expm1",
        "log1p", "pow", "hypot", "rem" or "mod"; structural

    Use::

        growth = d.add("growth", MathFunction("exp"))
        d.connect(source["y"], growth["u"])
    """

    switches_by_design: ClassVar[bool] = True  # rem and mod

    function: str = "exp"

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            checks.assign(self, function=ALSO.get(self.function, self.function))
        checks.choice(self, "function", (*OF_ONE, *OF_TWO))

    def define(self, b: Equations) -> None:
        """Declare ports and the function."""
        if self.function in OF_ONE:
            b.output("y", OF_ONE[self.function](b.input("u")))
        else:
            b.output("y", OF_TWO[self.function](*together(b, self, in1=b.input("in1"), in2=b.input("in2"))))


@dataclass(frozen=True)
class Sqrt(Block):
    """A square root, elementwise.

    Output: y = sqrt(u), with "signed" sign(u) sqrt(|u|), with "reciprocal" 1 / sqrt(u). The root of a
    negative number is not a number, and the run stops there.
    Direct feedthrough: u to y. The slope of "signed" at 0, infinite, is taken as 0.

    function : "sqrt", "signed" ("signed_sqrt") or "reciprocal" ("rsqrt"); structural

    Use::

        flow = d.add("flow", Sqrt("signed"))
        d.connect(source["y"], flow["u"])
    """

    function: str = "sqrt"

    def __post_init__(self) -> None:
        also = {"signed_sqrt": "signed", "signedSqrt": "signed", "rsqrt": "reciprocal", "rSqrt": "reciprocal"}
        if isinstance(self.function, str):
            checks.assign(self, function=also.get(self.function, self.function))
        checks.choice(self, "function", ("sqrt", "signed", "reciprocal"))

    def define(self, b: Equations) -> None:
        """Declare ports and the root."""
        u = b.input("u")
        roots: dict[str, Formula] = {
            "sqrt": np.sqrt,
            "signed": signed_sqrt,
            "reciprocal": lambda u: 1.0 / np.sqrt(u),
        }
        b.output("y", roots[self.function](u))


@dataclass(frozen=True)
class Polynomial(Block):
    """A polynomial of a signal, elementwise.

    Output: y = c[0] u^n + ... + c[n-1] u + c[n], by Horner's rule.  Direct feedthrough: u to y.

    coefficients : (n+1,) in falling powers, as ``np.polyval`` takes them; tunable

    Use::

        curve = d.add("curve", Polynomial([1.0, 0.0, -2.0]))
        d.connect(source["y"], curve["u"])
    """

    coefficients: ArrayLike

    def __post_init__(self) -> None:
        given = checks.numbers(self, "coefficients")
        checks.assign(self, coefficients=given if isinstance(given, tuple) else (given,))

    def define(self, b: Equations) -> None:
        """Declare ports and the polynomial."""
        (c,) = b.parameters(coefficients=self.coefficients)
        u = b.input("u")
        y = c[0] + 0.0 * u
        for k in range(1, c.size):
            y = y * u + c[k]
        b.output("y", y)


@dataclass(frozen=True)
class Bias(Block):
    """Add a number to a signal, elementwise.

    Output: y = u + bias.  Direct feedthrough: u to y.

    bias : number or (n,), unit of u; tunable

    Use::

        kelvin = d.add("kelvin", Bias(273.15))
        d.connect(source["y"], kelvin["u"])
    """

    bias: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.assign(self, bias=checks.numbers(self, "bias"))

    def define(self, b: Equations) -> None:
        """Declare ports and the sum."""
        (bias,) = b.parameters(bias=self.bias)
        u, bias = together(b, self, u=b.input("u"), bias=bias)
        b.output("y", u + bias)


def stepwise(
    b: Equations,
    u: Array,
    nearest: Array,
    up: Callable[[Array], Array],
    down: Callable[[Array], Array],
    name: str = "n",
) -> Array:
    """Whole numbers that follow a signal, (n,): `nearest` at ticks, between them changed by events.

    up, down : of the present whole number, the value of u at which the next one above or below takes over
    """
    levels = []
    for k in range(u.size):
        label = name if u.size == 1 else f"{name}{k}"
        n = b.mode(label, 0.0, at_ticks=nearest[k])
        above = np.where(nearest[k] > n[0], nearest[k], n[0] + 1.0)
        below = np.where(nearest[k] < n[0], nearest[k], n[0] - 1.0)
        b.when(u[k] - up(n[0]), [(n, above)], "rising", f"{label} up")
        b.when(u[k] - down(n[0]), [(n, below)], "falling", f"{label} down")
        levels.append(n[0])
    return np.stack(levels)


@dataclass(frozen=True)
class Rounding(Block):
    """Round a signal to a whole number, elementwise; every change is an event.

    Output: y = floor(u), ceil(u), fix(u) (towards 0) or round(u), the nearest whole number with halves to the
    even one, as ``np.round`` does.
    Direct feedthrough: none between ticks (y is held, and changed by a crossing); at a tick u to y.

    function : "floor", "ceil", "round" or "fix"; structural

    Use::

        whole = d.add("whole", Rounding("floor"))
        d.connect(source["y"], whole["u"])
    """

    in_steps: ClassVar[bool] = True

    function: str = "floor"

    def __post_init__(self) -> None:
        checks.choice(self, "function", ("floor", "ceil", "round", "fix"))

    def define(self, b: Equations) -> None:
        """Declare ports, a mode for the whole number and the events that change it."""
        u = b.input("u")
        rules: dict[str, tuple[Formula, Formula, Formula]] = {
            "floor": (np.floor, lambda n: n + 1.0, lambda n: n),
            "ceil": (np.ceil, lambda n: n, lambda n: n - 1.0),
            "round": (np.rint, lambda n: n + 0.5, lambda n: n - 0.5),
            "fix": (
                lambda u: np.where(u >= 0, np.floor(u), np.ceil(u)),
                lambda n: np.where(n < 0, n, n + 1.0),
                lambda n: np.where(n > 0, n, n - 1.0),
            ),
        }
        nearest, up, down = rules[self.function]
        b.output("y", stepwise(b, u, nearest(u), up, down))


@dataclass(frozen=True)
class Wrap(Block):
    """Bring an angle, or anything periodic, into one period, elementwise; every jump is an event.

    Output: y = u - period n, n the whole number with which low <= y < low + period.  The opposite of
    `TurnCounter`.
    Direct feedthrough: u to y.

    low : lower end, unit of u; tunable
    period : above 0, unit of u; tunable

    Use::

        heading = d.add("heading", Wrap())
        d.connect(source["y"], heading["u"])
    """

    low: float = -np.pi
    period: float = 2 * np.pi

    def __post_init__(self) -> None:
        for name in ("low", "period"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "period")

    def define(self, b: Equations) -> None:
        """Declare ports, a mode for the number of periods and the events that change it."""
        low, period = b.parameters(low=self.low, period=self.period)
        u = b.input("u")
        turns = (u - low) / period
        n = stepwise(b, turns, np.floor(turns), lambda n: n + 1.0, lambda n: n)
        b.output("y", u - period * n)
