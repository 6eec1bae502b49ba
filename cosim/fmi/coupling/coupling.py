"""`Coupling`: how units that step themselves are coupled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from blocks.arguments import is_number
from blocks.errors import PlantloopError, near_miss, shown

ORDERS = ("jacobi", "gauss-seidel")


@dataclass(frozen=True)
class Coupling:
    """The exchange of signals between units that step themselves (co-simulated FMUs) and our own blocks.

    During a step from t_k to t_k+1 the outputs of the other units at its end are not known yet:

    =============  =========================================================================================
    jacobi         all units step at once, inputs from their values at t_k and before; error of order 1, 2,
                   3 in the step for extrapolation 0 (held), 1 (linear), 2 (quadratic)
    gauss-seidel   one after the other in the order of their dependencies, our own blocks where they stand
                   in it; who comes later gets what those before have delivered: held at its value at t_k+1
                   (extrapolation 0), or linear or quadratic between both ends
    iterate        each step is repeated, every unit rolled back, until what was assumed is what is
                   delivered at t_k+1: by substitution (True) or Newton's method ("newton"); values over a
                   step are those at its end, or curves through both ends
    rtol, atol     one step against two of half its size, everything rolled back in between: the errors of
                   the whole run add up to the tolerance; the units' own steps are the first size tried
    =============  =========================================================================================

    order : "jacobi" or "gauss-seidel"
    extrapolation : 0, 1 or 2; signals that are sampled, integers or booleans are always held
    iterate : False, True or "newton"
    rtol, atol : tolerances of macro steps; None: every unit steps with its own sample
    cut : inputs ("motor.u") that use old values where Gauss-Seidel meets a cycle; by default as few inputs
        as possible. A warning names those for which it changes nothing
    bonds : pairs of inputs (effort, flow), each driven by the other's unit, for the power that the coupling
        creates

    Use::

        simulate(d, 10.0, coupling="gauss-seidel")
        simulate(d, 10.0, coupling=Coupling(order="jacobi", extrapolation=1, iterate=True))

    Raises
    ------
    PlantloopError      a value that makes no sense
    """

    order: str = "jacobi"
    extrapolation: int = 0
    iterate: bool | str = False
    rtol: float | None = None
    atol: float | None = None
    cut: tuple[str, ...] = ()
    bonds: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.order, str) or self.order not in ORDERS:
            raise PlantloopError(f"Coupling: no order {self.order!r}; {near_miss(self.order, ORDERS)}")
        order: object = self.extrapolation
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order not in (0, 1, 2):
            raise _fault("extrapolation", self.extrapolation, "0 (hold), 1 (linear) or 2 (quadratic)")
        object.__setattr__(self, "extrapolation", int(self.extrapolation))
        if self.iterate is not True and self.iterate is not False and not _is_newton(self.iterate):
            raise _fault("iterate", self.iterate, 'False, True or "newton"')
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if value is not None:
                if not (is_number(value) and 0 < value < float("inf")):
                    raise _fault(name, value, "a positive number or None")
                object.__setattr__(self, name, float(value))
        if self.atol is not None and self.rtol is None:
            raise _fault("atol", self.atol, "None where rtol is None", "Give rtol as well.")
        object.__setattr__(self, "cut", _names(self.cut, "cut"))
        pairs: Any = self.bonds
        if isinstance(pairs, str) or not isinstance(pairs, (list, tuple)):
            raise _fault("bonds", pairs, 'pairs of inputs such as [("a.force", "b.speed")]')
        object.__setattr__(self, "bonds", tuple(_names(pair, "bonds", 2) for pair in pairs))

    @staticmethod
    def of(given: Coupling | str | Mapping[str, Any] | None) -> Coupling | None:
        """A coupling from an order alone, a table of a scenario, or a `Coupling`.

        Raises
        ------
        PlantloopError      anything else
        """
        if given is None or isinstance(given, Coupling):
            return given
        if isinstance(given, str):
            return Coupling(order=given)
        if isinstance(given, Mapping):
            known = [f.name for f in fields(Coupling)]
            for name in given:
                if name not in known:
                    raise PlantloopError(f"coupling has no '{name}'; {near_miss(str(name), known)}")
            return Coupling(**given)
        expected = '"jacobi", "gauss-seidel", a Coupling(...) or a table'
        raise PlantloopError(f"coupling is {shown(given)}, expected {expected}.", value=given)

    @property
    def rolls_back(self) -> bool:
        """Whether steps are repeated."""
        return bool(self.iterate) or self.rtol is not None

    def __str__(self) -> str:
        parts = [
            self.order,
            *(f"{f.name}={getattr(self, f.name)}" for f in fields(self)[1:] if self._given(f)),
        ]
        return ", ".join(parts)

    def _given(self, f: Any) -> bool:
        return bool(getattr(self, f.name) != f.default)


def _is_newton(value: object) -> bool:
    return isinstance(value, str) and value == "newton"


def _names(given: Any, what: str, count: int | None = None) -> tuple[Any, ...]:
    texts = isinstance(given, (list, tuple)) and all(isinstance(n, str) for n in given)
    if not texts or (count is not None and len(given) != count):
        expected = "names of inputs" if count is None else f"{count} names of inputs each"
        raise _fault(what, given, f'{expected}, such as "motor.u"')
    return tuple(given)


def _fault(name: str, value: object, expected: str, hint: str | None = None) -> PlantloopError:
    return PlantloopError(f"Coupling: {name} is {shown(value)}, expected {expected}.", value=value, hint=hint)
