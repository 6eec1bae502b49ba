"""Zeros and poles in sections of at most second order with real coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.contract import checks
from blocks.errors import shown

Section = tuple[list[float], list[float]]  # num, den: as many coefficients, falling powers, den[0] = 1


def check_zeros_and_poles(block: Any) -> None:
    """Check zeros, poles and gain of a block and keep them as plain numbers, conjugates made exact."""
    for name in ("zeros", "poles"):
        checks.assign(block, **{name: _paired(block, name)})
    checks.assign(block, gain=checks.numbers(block, "gain", dims=(0,)))
    if len(block.zeros) > len(block.poles):
        what = f"are {len(block.zeros)} for {len(block.poles)} poles"
        raise checks.fault(block, "zeros", what, "at most as many zeros as poles", "Add fast poles.")


def _paired(block: Any, name: str) -> tuple[complex | float, ...]:
    """Roots as reals and as pairs (upper, lower) of exact conjugates."""
    given = getattr(block, name)
    expected = "real numbers and conjugate pairs"
    try:
        if np.ma.is_masked(given) or np.asarray(given).dtype.kind in "mM":
            raise TypeError
        roots = np.atleast_1d(np.asarray(given if np.size(given) else [], dtype=complex))
    except (OverflowError, TypeError, ValueError):
        raise checks.fault(block, name, f"is {shown(given)}", expected) from None
    text = np.asarray(given, dtype=object).ravel().tolist()
    if roots.ndim != 1 or roots.size > 100 or not np.all(np.isfinite(roots)) or not all(map(_number, text)):
        raise checks.fault(block, name, f"is {shown(given)}", f"at most 100 {expected}")
    near = 1e-8 * (1.0 + np.abs(roots))
    reals = [float(r.real) for r in roots[np.abs(roots.imag) <= near * 1e-4]]
    upper, lower = list(roots[roots.imag > near * 1e-4]), list(roots[roots.imag < -near * 1e-4])
    found: list[complex | float] = []
    for root in upper:
        partner = min(range(len(lower)), key=lambda k: abs(lower[k] - root.conjugate()), default=None)
        if partner is None or abs(lower[partner] - root.conjugate()) > 1e-6 * (1.0 + abs(root)):
            raise checks.fault(block, name, f"has {root:.6g} without its conjugate", expected)
        del lower[partner]
        found += [complex(root), complex(root).conjugate()]
    if lower:
        raise checks.fault(block, name, f"has {lower[0]:.6g} without its conjugate", expected)
    return (*found, *reals)


def _number(value: object) -> bool:
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def sections(zeros: Sequence[complex], poles: Sequence[complex]) -> list[Section]:
    """Sections whose product is prod(s - zeros) / prod(s - poles), each pole pair with the nearest zeros.

    `zeros` and `poles` are as `check_zeros_and_poles` leaves them. Every section is proper.
    """
    left = _groups(zeros)
    found = []
    for den in sorted(_groups(poles), key=len, reverse=True):
        room, num = len(den), []
        while room and (fitting := [g for g in left if len(g) <= room]):
            nearest = min(fitting, key=lambda g: (-len(g), abs(g[0] - den[0])))
            left.remove(nearest)
            num += nearest
            room -= len(nearest)
        top, bottom = np.atleast_1d(np.poly(num)).real, np.poly(den).real
        found.append(([0.0] * (bottom.size - top.size) + [float(c) for c in top], [float(c) for c in bottom]))
    return found or [([1.0], [1.0])]


def from_zpk(zeros: Any, poles: Any, gain: float) -> list[Section]:
    """Sections of a design of SciPy, with its gain in the first of them."""
    (num, den), *others = sections(_exact(zeros), _exact(poles))
    return [([float(gain) * c for c in num], den), *others]


def _exact(roots: Any) -> list[complex]:
    """Roots as pairs of exact conjugates, then reals."""
    given = np.asarray(roots, dtype=complex)
    small = 1e-10 * np.abs(given).max(initial=0.0)
    upper = [complex(r) for r in given if r.imag > small]
    reals = [complex(r.real) for r in given if abs(r.imag) <= small]
    return [root for r in upper for root in (r, r.conjugate())] + reals


def _groups(roots: Sequence[complex]) -> list[list[complex]]:
    """Conjugate pairs, and reals two by two."""
    pairs = [list(roots[k : k + 2]) for k in range(len(roots)) if roots[k].imag > 0]
    reals = sorted((r for r in roots if r.imag == 0), key=lambda r: -abs(r))
    return pairs + [list(reals[k : k + 2]) for k in range(0, len(reals), 2)]
