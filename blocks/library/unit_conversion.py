"""A signal in one unit as the same in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.units import Found, Units, UnitText, spread, units_of
from blocks.errors import BlockError

__all__ = ["UnitConversion"]


@dataclass(frozen=True)
class UnitConversion(Block):
    """A signal in one unit as the same in another.

    Output: y = gain u + bias, by which a value in `source` becomes one in `target`; the bias is that of
    temperatures.  Direct feedthrough: u to y.

    source : unit of u, as pint names it, one for all components or a list; structural
    target : unit of y, likewise; structural

    Use::

        degrees = d.add("degrees", UnitConversion("rad", "deg"))
        d.connect(source["y"], degrees["u"])

    Source: the international system of units; pint for units that are not of every day.
    """

    source: UnitText | Sequence[UnitText] = "rad"
    target: UnitText | Sequence[UnitText] = "deg"

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            given = getattr(self, name)
            checks.assign(self, **{name: tuple(given) if isinstance(given, list) else given})
            units_of(given, f"{name} of UnitConversion")
        a, b = self._units("source"), self._units("target")
        if not a or not b:
            raise BlockError("UnitConversion needs two units, as UnitConversion('rad', 'deg').")
        if len(a) != len(b) and 1 not in (len(a), len(b)):
            raise BlockError(f"UnitConversion: {len(a)} units of u for {len(b)} of y.")
        size = max(len(a), len(b))
        for one, other in zip(spread(a, size), spread(b, size), strict=True):
            if one is None or other is None:
                continue
            for logarithmic in (u for u in (one, other) if u.powers is None and one.name != other.name):
                raise BlockError(
                    f"UnitConversion: {one} does not become {other} by a factor: {logarithmic} is of a "
                    "logarithmic scale; use a Function."
                )
            if not one.is_kind_of(other):
                raise BlockError(
                    f"UnitConversion: {one} ({one.base}) does not become {other} ({other.base}), which "
                    "measures something else; use a Gain with a unit."
                )

    def _units(self, name: str) -> Found:
        given: Units = getattr(self, name)
        return units_of(given, name)

    def define(self, b: Equations) -> None:
        """Declare ports and the line through the two units."""
        old, new = self._units("source"), self._units("target")
        size = max(len(old), len(new))
        u = b.input("u", size=size if size > 1 else None, unit=self.source)
        pairs = zip(spread(old, u.size), spread(new, u.size), strict=True)
        found = [(1.0, 0.0) if p is None or q is None else p.conversion(q) for p, q in pairs]
        gain, bias = (np.array(part) for part in zip(*found, strict=True))
        b.output("y", u * gain + bias if bias.any() else u * gain, unit=self.target)
