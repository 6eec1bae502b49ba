"""The surroundings of a model: its units and its gravity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from plant.elements.element import Element
from plant.elements.kinds import NumberOrExpression, OnlyOne, Positive
from plant.elements.units import inertia_factor, unit_name

__all__ = ["Force_Gravity", "Param_Unit"]


@dataclass(frozen=True)
class UnitName:
    """The name of a unit of ``quantity`` (mass, length, time or force), as ``units.py`` lists it."""

    quantity: str
    tags: tuple[str, ...] = ()

    def read(self, text: str) -> str:
        return self.check(text)

    def check(self, value: Any) -> str:
        return unit_name(self.quantity, str(value))


@dataclass(frozen=True, kw_only=True)
class Param_Unit(Element):
    """Units of the model's numbers, or the factor on inertial terms that they would give.

    Without any attribute the units are consistent and the factor is 1. Where only some of the four names
    are given, the others are SI (with a warning). Angles are always radians.
    """

    id: OnlyOne = 0
    mass_mult_factor: Positive | None = None
    mass_unit: Annotated[str, UnitName("mass")] | None = None
    length_unit: Annotated[str, UnitName("length")] | None = None
    time_unit: Annotated[str, UnitName("time")] | None = None
    force_unit: Annotated[str, UnitName("force")] | None = None

    @property
    def factor(self) -> float:
        """Factor on mass and inertia in F = factor m a; 1e-3 for mm, kg, s, N."""
        if self.mass_mult_factor is not None:
            return self.mass_mult_factor
        return inertia_factor(
            self.mass_unit or "KILOGRAM",
            self.length_unit or "METER",
            self.time_unit or "SECOND",
            self.force_unit or "NEWTON",
        )

    def faults(self) -> Iterator[str]:
        if self.mass_mult_factor is not None and any(self._names.values()):
            named = ", ".join(name for name, unit in self._names.items() if unit)
            yield f"mass_mult_factor and {named} exclude each other; keep the factor or the unit names"

    def remarks(self) -> Iterator[str]:
        absent = [name for name, unit in self._names.items() if not unit]
        if 0 < len(absent) < 4:
            yield f"{', '.join(absent)} not given, so SI is assumed there; write all four units"

    @property
    def _names(self) -> dict[str, str | None]:
        return {
            "mass_unit": self.mass_unit,
            "length_unit": self.length_unit,
            "time_unit": self.time_unit,
            "force_unit": self.force_unit,
        }


@dataclass(frozen=True, kw_only=True)
class Force_Gravity(Element):
    """Acceleration of gravity along the global axes, sign as written; acts at the CG of every body.

    Each component is a number [length/time^2] or the text of an expression, which may depend on TIME only
    (not checked here).
    """

    id: OnlyOne = 0
    grav_x: Annotated[float | str, NumberOrExpression()] = 0.0
    grav_y: Annotated[float | str, NumberOrExpression()] = 0.0
    grav_z: Annotated[float | str, NumberOrExpression()] = 0.0

    @property
    def vector(self) -> tuple[float | str, float | str, float | str]:
        """The three components in the order x, y, z."""
        return (self.grav_x, self.grav_y, self.grav_z)
