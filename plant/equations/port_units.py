"""Units of a plant's ports, as far as they follow from its expressions and the units of its numbers.

A displacement is a length, an angle is in radians, a sum has the unit of its terms; an input that is all of a
force, or a term of it, is a force. Where numbers are multiplied nothing is known. Without names in Param_Unit
nobody said what the numbers are in: then only angles have a unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from blocks.contract.units import Found, PhysicalUnit
from plant.elements import (
    Force_Scalar_TwoBody,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Model,
    Param_Unit,
    Reference_Variable,
)
from plant.elements.units import UNITS
from plant.expressions.expression import EvaluationStep, Expression
from plant.expressions.formulas import Formulas
from plant.expressions.functions import FUNCTIONS
from plant.ports import Port, Ports

SYMBOLS = {
    "METER": "m", "MILLIMETER": "mm", "CENTIMETER": "cm", "KILOMETER": "km", "SECOND": "s",
    "MILLISECOND": "ms", "NEWTON": "N", "KNEWTON": "kN", "INCH": "inch", "FOOT": "ft", "POUND_FORCE": "lbf",
}  # fmt: skip
EXPONENTS = {"length": {"m": 1}, "time": {"s": 1}, "force": {"kg": 1, "m": 1, "s": -2}}
DEEPEST = 100  # variables made of variables
FORCES = ("fx_expression", "fy_expression", "fz_expression")
TORQUES = ("tx_expression", "ty_expression", "tz_expression")

Unit = PhysicalUnit | None


def with_units(every: Iterable[Ports], model: Model, formulas: Formulas) -> list[Ports]:
    """The same ports, with what is known of their units."""
    known = PortUnits(model, formulas)
    return [MappingProxyType({n: replace(p, units=known.of(p)) for n, p in ports.items()}) for ports in every]


@dataclass
class PortUnits:
    """Follows units through the expressions of a model.

    quantities : "length", "velocity", "force", ... in the model's units; missing where these are not said
    """

    model: Model
    formulas: Formulas
    quantities: dict[str, PhysicalUnit] = field(init=False)
    _variables: dict[int, Reference_Variable] = field(init=False)
    _known: dict[int, Unit] = field(init=False, default_factory=dict)
    _depth: int = field(init=False, default=0)
    _expected: dict[int, list[PhysicalUnit]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.quantities = _quantities(self.model)
        self._variables = {v.id: v for v in self.model.all(Reference_Variable)}
        for quantity, formula in self._loads():
            if quantity in self.quantities:
                self._expect(formula, self.quantities[quantity])

    def of(self, port: Port) -> Found:
        """Units of the signals of a port; () where nothing is known of any."""
        if port.variables:
            found = tuple(self._variable(id) for id in port.variables)
        else:
            asked = (self.formulas.get(("Post_Request", port.id, name)) for name in port.labels)
            found = tuple(None if f is None else self._unit(f) for f in asked)
        return tuple(None if u is None else u.guessed() for u in found) if any(found) else ()

    def _loads(self) -> Iterator[tuple[str, Expression]]:
        """Expressions of forces and torques."""
        for kind in (Force_Vector_OneBody, Force_Vector_TwoBody):
            for element in self.model.all(kind):
                for quantity, names in (("force", FORCES), ("torque", TORQUES)):
                    keys = ((element.tag, element.id, name) for name in names)
                    yield from ((quantity, self.formulas[k]) for k in keys if k in self.formulas)
        for scalar in self.model.all(Force_Scalar_TwoBody):
            key = (scalar.tag, scalar.id, "val_expression")
            if key in self.formulas:
                yield scalar.type.lower(), self.formulas[key]

    def _formula(self, id: int) -> tuple[Expression, bool] | None:
        """The expression a variable is, or the integral of which it is."""
        v = self._variables.get(id)
        if v is None or v.is_implicit or v.has_subroutine:
            return None
        found = self.formulas.get((v.tag, v.id, "expr"))
        return None if found is None else (found, v.dot_form)

    def _expect(self, formula: Expression, unit: PhysicalUnit) -> None:
        """An expression is in a unit: so are its terms, and variables among them, and theirs."""
        waiting, seen = [(formula, len(formula.steps) - 1)], set[int]()
        while waiting:
            inside, at = waiting.pop()
            step = inside.steps[at]
            if step.operation in ("+", "-", "negate"):
                waiting += [(inside, k) for k in step.operands]
            elif step.operation == "VARVAL" and (id := step.literals[0]) not in seen:
                seen.add(id)
                self._expected.setdefault(id, []).append(unit)
                found = self._formula(id)
                if found is not None and not found[1]:
                    waiting.append((found[0], len(found[0].steps) - 1))

    def _variable(self, id: int) -> Unit:
        if id not in self._known:
            self._known[id] = None  # what asks for itself is not known
            inside = self._formula(id) if self._depth < DEEPEST else None
            self._depth += 1
            unit = None if inside is None else self._unit(inside[0])
            self._depth -= 1
            if unit is not None and inside is not None and inside[1]:
                time = self.quantities.get("time")
                unit = None if time is None else unit.times(time)
            wanted = self._expected.get(id, [])
            if unit is None and wanted and all(w.is_same(wanted[0]) for w in wanted):
                unit = wanted[0]
            self._known[id] = unit
        return self._known[id]

    def _unit(self, formula: Expression) -> Unit:
        found: list[Unit] = []
        for step in formula.steps:
            found.append(self._of_step(step, [found[k] for k in step.operands]))
        return found[-1]

    def _of_step(self, step: EvaluationStep, units: list[Unit]) -> Unit:
        match step.operation:
            case "TIME":
                return self.quantities.get("time")
            case "VARVAL":
                return self._variable(step.literals[0])
            case "negate" | "ABS":
                return units[0]
            case "+" | "-":
                a, b = units
                if a is None or b is None:
                    return b if a is None else a
                return a if a.is_same(b) else None
            case "*" | "/":
                a, b = units
                return None if a is None or b is None else a.times(b, 1 if step.operation == "*" else -1)
        function = FUNCTIONS.get(step.operation)
        return self.quantities.get(function.quantity) if function is not None else None


def _quantities(model: Model) -> dict[str, PhysicalUnit]:
    radian = PhysicalUnit.of("rad")
    found = {"angle": radian}
    given = next(iter(model.all(Param_Unit)), None)
    names = {} if given is None else {q: getattr(given, f"{q}_unit") for q in EXPONENTS}
    if not any(names.values()):
        return found
    default = {"length": "METER", "time": "SECOND", "force": "NEWTON"}
    for quantity, exponents in EXPONENTS.items():
        word = names[quantity] or default[quantity]
        symbol = SYMBOLS.get(word, word.lower())
        found[quantity] = PhysicalUnit.of_file(symbol, exponents, float(UNITS[quantity][word]), 0.0)
    derived = {
        "torque": ("force", "length", 1),
        "velocity": ("length", "time", -1),
        "acceleration": ("velocity", "time", -1),
        "rotation rate": ("angle", "time", -1),
        "rotation acceleration": ("rotation rate", "time", -1),
    }
    for name, (first, second, power) in derived.items():
        unit = found[first].times(found[second], power)
        assert unit is not None  # none of them has an offset
        found[name] = unit
    return found
