"""Steps, waves, series and contacts: the shaping functions of the language."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable

import casadi as ca

from plant.expressions.corners import larger, positive, power, smaller
from plant.expressions.functions.entry import LanguageFunction, Lines, difference, switched, zeros
from plant.expressions.scope import Scope
from plant.expressions.splines import SplineData

Scalar = ca.SX | float

HARMONICS = 30  # the greatest number of terms of FORCOS and FORSIN


def progress(x: ca.SX, x0: ca.SX, x1: ca.SX) -> ca.SX:
    """Share of the way from x0 to x1, within [0, 1]; where x1 <= x0 a jump after x0."""
    width = ca.SX(x1 - x0)
    if width.is_constant():
        share = (x - x0) / width if float(width) > 0 else positive(x - x0)
    else:
        share = ca.if_else(width > 0, (x - x0) / ca.if_else(width > 0, width, 1), positive(x - x0))
    return smaller(larger(share, 0), 1)


def between(w: ca.SX, y0: Scalar, y1: Scalar) -> ca.SX:
    """y0 at w = 0 and y1 at w = 1, exactly."""
    return (1 - w) * y0 + w * y1


def step(x: ca.SX, x0: ca.SX, y0: Scalar, x1: ca.SX, y1: Scalar) -> ca.SX:
    """From y0 at x0 to y1 at x1 by a cubic with horizontal ends: ``s^2 (3 - 2 s)``."""
    s = progress(x, x0, x1)
    return between(s * s * (3 - 2 * s), y0, y1)


def step5(x: ca.SX, x0: ca.SX, y0: Scalar, x1: ca.SX, y1: Scalar) -> ca.SX:
    """From y0 at x0 to y1 at x1 by a quintic with flat, straight ends: ``s^3 (10 - 15 s + 6 s^2)``."""
    s = progress(x, x0, x1)
    return between(s * s * s * (10 + s * (6 * s - 15)), y0, y1)


def havsin(x: ca.SX, x0: ca.SX, y0: Scalar, x1: ca.SX, y1: Scalar) -> ca.SX:
    """From y0 at x0 to y1 at x1 by half a sine wave."""
    return between((1 - ca.cos(math.pi * progress(x, x0, x1))) / 2, y0, y1)


def _jump(scope: Scope, lines: Lines, x: ca.SX, x0: ca.SX, y0: ca.SX, x1: ca.SX, y1: ca.SX) -> ca.SX | None:
    """The STEP family with x1 <= x0, where x is a line in TIME and x0 and x1 are numbers."""
    width = difference(lines[3], lines[1])
    if not width or width.slope or width.offset > 0:
        return None
    return switched(scope, difference(lines[0], lines[1]), y0, y1)


def _ends(lines: Lines, spline: SplineData | None) -> Iterable[float]:
    return zeros(difference(lines[0], lines[1]), difference(lines[0], lines[3]))


def _backward(
    x: float | None, x0: float | None, y0: float | None, x1: float | None, y1: float | None
) -> str | None:
    if x0 is None or x1 is None or x1 > x0:
        return None
    return f"x1 = {x1:g} is not greater than x0 = {x0:g}, so the value jumps at x0"


def sweep(x: ca.SX, a: ca.SX, x0: ca.SX, f0: ca.SX, x1: ca.SX, f1: ca.SX, dx: ca.SX) -> ca.SX:
    """Sine of amplitude a, faded in over dx, whose frequency [cycles per x] goes from f0 at x0 to f1 at x1.

    Cycles done are ``f0 x`` up to x0 and continue with the frequency as their slope.
    """
    s = progress(x, x0, x1)
    cycles = f0 * x + (f1 - f0) * (s * s * (x1 - x0) / 2 + larger(x - x1, 0))
    return step5(x, x0, 0, x0 + dx, 1) * a * ca.sin(2 * math.pi * cycles)


def _sweep_corners(lines: Lines, spline: SplineData | None) -> Iterable[float]:
    x, x0, x1, dx = (lines[k] for k in (0, 2, 4, 6))
    faded = difference(difference(x, x0), dx)
    return zeros(difference(x, x0), difference(x, x1), faded)


def _sweep_refuse(*numbers: float | None) -> str | None:
    x0, x1, dx = numbers[2], numbers[4], numbers[6]
    if x0 is not None and x1 is not None and x1 <= x0:
        return f"x1 = {x1:g} must be greater than x0 = {x0:g}"
    return (
        None
        if dx is None or dx > 0
        else f"dx = {dx:g} must be positive: the amplitude grows over that stretch"
    )


def shf(x: ca.SX, x0: ca.SX, a: ca.SX, w: ca.SX, phi: ca.SX, b: ca.SX) -> ca.SX:
    """Simple harmonic: ``a sin(w (x - x0) - phi) + b``."""
    return a * ca.sin(w * (x - x0) - phi) + b


def _fourier(wave: Callable[[ca.SX], ca.SX]) -> Callable[..., ca.SX]:
    def series(x: ca.SX, x0: ca.SX, w: ca.SX, a0: ca.SX, *a: ca.SX) -> ca.SX:
        return sum((a_j * wave(j * w * (x - x0)) for j, a_j in enumerate(a, start=1)), start=a0)

    return series


def _harmonics(*numbers: float | None) -> str | None:
    terms = len(numbers) - 4
    return None if terms <= HARMONICS else f"it takes at most {HARMONICS} terms after a0, got {terms}"


def poly(x: ca.SX, x0: ca.SX, *a: ca.SX) -> ca.SX:
    """Polynomial ``a0 + a1 (x - x0) + a2 (x - x0)^2 + ...``."""
    return functools.reduce(lambda value, a_j: value * (x - x0) + a_j, reversed(a))


def cheby(x: ca.SX, x0: ca.SX, *a: ca.SX) -> ca.SX:
    """Chebyshev series ``sum a_j T_j(x - x0)``."""
    u = x - x0
    value, previous, current = ca.SX(0), ca.SX(1), u
    for a_j in a:
        value = value + a_j * previous
        previous, current = current, 2 * u * current - previous
    return value


def impact(x: ca.SX, xd: ca.SX, x1: ca.SX, k: ca.SX, e: ca.SX, cmax: ca.SX, d: ca.SX) -> ca.SX:
    """One-sided contact: pushes x up while it is below x1, never pulls.

    ``max(0, k (x1 - x)^e - STEP(x, x1 - d, cmax, x1, 0) xd)``
    """
    free = x >= x1
    depth = ca.if_else(free, 0, x1 - x)
    push = k * power(depth, e) - step(x, x1 - d, cmax, x1, 0) * xd
    return ca.if_else(free, 0, larger(push, 0))


def bistop(x: ca.SX, xd: ca.SX, x1: ca.SX, x2: ca.SX, k: ca.SX, e: ca.SX, cmax: ca.SX, d: ca.SX) -> ca.SX:
    """Contact at both ends of a gap: an impact below x1, and its mirror image above x2."""
    return impact(x, xd, x1, k, e, cmax, d) - impact(-x, -xd, -x2, k, e, cmax, d)


def _impact_refuse(*numbers: float | None) -> str | None:
    k, e, cmax, d = numbers[-4:]
    limits = (("k", k, 0.0, False), ("e", e, 0.0, True), ("cmax", cmax, 0.0, False), ("d", d, 0.0, True))
    for name, value, least, strictly in limits:
        if value is not None and (value < least or (strictly and value == least)):
            return f"{name} = {value:g} must be {'greater than' if strictly else 'at least'} 0"
    return None


def _bistop_refuse(*numbers: float | None) -> str | None:
    x1, x2 = numbers[2:4]
    if x1 is not None and x2 is not None and x2 <= x1:
        return f"x2 = {x2:g} must be greater than x1 = {x1:g}"
    return _impact_refuse(*numbers)


def arithmetic_if(e1: ca.SX, e2: ca.SX, e3: ca.SX, e4: ca.SX) -> ca.SX:
    """e2 where e1 < 0, e3 where e1 = 0, e4 where e1 > 0; values not chosen have no effect, finite or not."""
    return ca.if_else(e1 < 0, e2, ca.if_else(e1 > 0, e4, ca.if_else(e1 == 0, e3, e1)))


def _if_jump(scope: Scope, lines: Lines, e1: ca.SX, e2: ca.SX, e3: ca.SX, e4: ca.SX) -> ca.SX | None:
    """With a line in TIME, e3 would apply for one instant only: from there on it has the later value.

    It does apply at that instant where a value has none there: IF(TIME: 1, 1, SIN(TIME)/TIME).
    """

    def there(value: ca.SX) -> ca.SX:
        if value.is_constant():
            return value
        no_value = ca.fmod(value, 1) * e1 != 0  # where e1 is 0: nan, which no number equals
        return ca.if_else(ca.logic_and(e1 == 0, no_value), e3, value)

    return switched(scope, lines[0], there(e2), there(e4))


FUNCTIONS = (
    LanguageFunction(
        "IF",
        "e1: e2, e3, e4",
        arithmetic_if,
        "IF(x: -1, SQRT(x), LOG(x))",
        (-1.0, 0.0, 2.0),
        corners=lambda lines, spline: zeros(lines[0]),
        jump=_if_jump,
        sides=lambda e1, e2, e3, e4: (e1, e2, e4),
        chosen=lambda e1, e2, e3, e4: (ca.SX(1), e1 < 0, e1 == 0, e1 > 0),
    ),
    *(
        LanguageFunction(
            name,
            "x, x0, y0, x1, y1",
            formula,
            f"{name}(x, 0, 2, 1, 5)",
            (-1.0, 0.0, 0.5, 1.0, 2.0),
            caution=_backward,
            corners=_ends,
            jump=_jump,
        )
        for name, formula in {"STEP": step, "STEP5": step5, "HAVSIN": havsin}.items()
    ),
    LanguageFunction("SHF", "x, x0, a, w, phi, b", shf, "SHF(x, 25D, PI, 360D, 30D, 5)", (-1.0, 0.0, 1.0)),
    LanguageFunction(
        "SWEEP",
        "x, a, x0, f0, x1, f1, dx",
        sweep,
        "SWEEP(x, 3, 0, 1, 2, 4, 0.5)",
        (-1.0, 0.0, 0.5, 2.0, 3.0),
        refuse=_sweep_refuse,
        corners=_sweep_corners,
    ),
    LanguageFunction(
        "FORCOS",
        "x, x0, w, a0, ...",
        _fourier(ca.cos),
        "FORCOS(x, 0.5, 2, 1, 2, 3)",
        (0.0, 0.5),
        refuse=_harmonics,
    ),
    LanguageFunction(
        "FORSIN",
        "x, x0, w, a0, ...",
        _fourier(ca.sin),
        "FORSIN(x, 0.5, 2, 1, 2, 3)",
        (0.0, 0.5),
        refuse=_harmonics,
    ),
    LanguageFunction("POLY", "x, x0, a0, ...", poly, "POLY(x, 0.5, 1, 2, 3, 4)", (0.0, 0.5, 1.0)),
    LanguageFunction("CHEBY", "x, x0, a0, ...", cheby, "CHEBY(x, 0.5, 1, 2, 3, 4)", (0.0, 0.5, 1.0)),
    LanguageFunction(
        "IMPACT",
        "x, xd, x1, k, e, cmax, d",
        impact,
        "IMPACT(x, -0.1, 1, 100, 0.5, 10, 0.2)",
        (-1.0, 0.8, 0.9, 1.0, 2.0),
        refuse=_impact_refuse,
    ),
    LanguageFunction(
        "BISTOP",
        "x, xd, x1, x2, k, e, cmax, d",
        bistop,
        "BISTOP(x, 0.1, -1, 1, 100, 1.5, 10, 0.2)",
        (-2.0, -1.1, -1.0, 0.0, 1.0, 1.2, 2.0),
        refuse=_bistop_refuse,
    ),
)
