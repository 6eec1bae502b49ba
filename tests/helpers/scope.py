"""A plant reduced to symbols, to evaluate expressions without a model."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from plant.expressions.expression import MarkerState, Scope, parse
from plant.expressions.splines import SplineData
from plant.mechanics.turning import Turning

GROUND = MarkerState(*(ca.SX(m) for m in (ca.DM.zeros(3), ca.DM.eye(3), ca.DM.zeros(3), ca.DM.zeros(3))))


@dataclass
class Symbols:
    """Every value an expression may ask for is one symbol, made when first asked for."""

    markers: dict[int, MarkerState] = field(default_factory=dict)
    splines: dict[int, SplineData] = field(default_factory=dict)
    time: ca.SX = field(default_factory=lambda: ca.SX.sym("time"))
    symbols: dict[tuple, ca.SX] = field(default_factory=dict)

    def value(self, *key) -> ca.SX:
        return self.symbols.setdefault(key, ca.SX.sym("_".join(map(str, key))))

    def marker(self, id: int) -> MarkerState:
        return GROUND if id == 0 else self.markers[id]

    def angle(self, turning: Turning, i: int, j: int, principal: ca.SX) -> ca.SX:
        return principal

    def variable(self, id: int) -> ca.SX:
        return self.value("variable", id)

    def array(self, id: int, k: int) -> ca.SX:
        return self.value("array", id, k)

    def state(self, id: int) -> ca.SX:
        return self.value("state", id)

    def state_rate(self, id: int) -> ca.SX:
        return self.value("state_rate", id)

    def plant_input(self, id: int, k: int) -> ca.SX:
        return self.value("plant_input", id, k)

    def plant_output(self, id: int, k: int) -> ca.SX:
        return self.value("plant_output", id, k)

    def sensor(self, id: int) -> ca.SX:
        return self.value("sensor", id)

    def wheel(self, id: int) -> tuple[ca.SX, ca.SX]:
        return self.value("wheel", id, "h"), self.value("wheel", id, "w")

    def spline(self, id: int) -> SplineData:
        return self.splines[id]

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        return self.value(function, *ids)

    def sliding(self, v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> None:
        return None

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        return self.value("passed", *times)


def _conforms(scope: Symbols) -> Scope:
    return scope  # what the type checker sees: Symbols offers all a Scope promises


def function_of(text: str, scope: Symbols, arguments: list[ca.SX]) -> ca.Function:
    """Value, first and second derivative of an expression in the first of some arguments.

    Instants count as passed by comparing with the time.
    """
    value = parse(text).evaluate(scope)
    counts = [(key, symbol) for key, symbol in scope.symbols.items() if key[0] == "passed"]
    reached = [sum(ca.SX(scope.time >= t) for t in key[1:]) for key, _ in counts]
    f = ca.Function("inner", [*arguments, *(s for _, s in counts)], [value])
    value = f.call([*arguments, *(ca.SX(r) for r in reached)], True, False)[0]
    slope = ca.jacobian(value, arguments[0])
    return ca.Function("f", arguments, [value, slope, ca.jacobian(slope, arguments[0])])


def at(text: str, x: float = 0.0, time: float = 0.0, scope: Symbols | None = None) -> np.ndarray:
    """Value, first and second derivative in VARVAL(1) = x."""
    scope = scope or Symbols()
    f = function_of(text, scope, [scope.variable(1), scope.time])
    return np.array([float(part) for part in f(x, time)])


def number(text: str, x: float = 0.0, time: float = 0.0, scope: Symbols | None = None) -> float:
    """Value at VARVAL(1) = x."""
    return float(at(text, x, time, scope)[0])
