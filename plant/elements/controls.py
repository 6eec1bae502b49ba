"""Plant inputs and outputs, transfer functions and state equations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from plant.elements.element import Element, Idle, Others
from plant.elements.kinds import (
    ArrayId,
    Boolean,
    Count,
    Integer,
    NonNegative,
    Real,
    Reals,
    VariableIds,
    Whole,
    keyword,
)
from plant.elements.references import Reference_Array, list_faults
from plant.elements.subroutine import ExpressionOrSubroutine, UserSubroutine

__all__ = [
    "Control_Diff",
    "Control_PlantInput",
    "Control_PlantOutput",
    "Control_SISO",
    "Control_StateEqn",
]

HoldOrder = Annotated[int, Integer(at_least=0)]


def _offset(port: Control_PlantInput | Control_PlantOutput) -> Iterator[Idle]:
    """An offset of samples that are not taken."""
    if not port.sampling_period:
        cure = "write a sampling_period, or delete it"
        yield from port.unused(
            ["offset_time"], "sampling_period is 0, so the port takes the rate of its wire", cure
        )


@dataclass(frozen=True, kw_only=True)
class Control_PlantInput(UserSubroutine):
    """Signals that enter the plant: the values of its variables are set from outside.

    ``sampling_period`` [s] 0 takes the rate of what drives the port; above 0 the port samples at
    ``offset_time + k sampling_period``. Between samples, its own or those of what drives it, it extrapolates
    with a polynomial of ``hold_order``: 1, the format's default, is the line through the last two samples, 0
    keeps the last one as a D/A converter does.
    """

    num_element: Count | None = None
    variable_id_list: VariableIds
    hold_order: HoldOrder = 1
    sampling_period: NonNegative = 0.0
    offset_time: NonNegative = 0.0

    synonyms = MappingProxyType({"num_variable": "num_element"})
    routine = "PINSUB"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from _offset(self)

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        yield from list_faults(self.num_element, self.variable_id_list)

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        first = others.first_to_list(Control_PlantInput, "variable_id_list")
        for variable_id in self.variable_id_list:
            if first[variable_id] != self.id:
                yield (
                    f"variable {variable_id} is an input of Control_PlantInput id={first[variable_id]}; "
                    "a variable has one driver, take it out of one of the lists"
                )


@dataclass(frozen=True, kw_only=True)
class Control_PlantOutput(UserSubroutine):
    """Signals that leave the plant: the values of its variables. Attributes as in Control_PlantInput."""

    num_element: Count | None = None
    variable_id_list: VariableIds
    hold_order: HoldOrder = 1
    sampling_period: NonNegative = 0.0
    offset_time: NonNegative = 0.0

    synonyms = MappingProxyType({"num_variable": "num_element"})
    routine = "POUTSUB"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from _offset(self)

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        yield from list_faults(self.num_element, self.variable_id_list)


@dataclass(frozen=True, kw_only=True)
class Control_SISO(Element):
    """Transfer function H(s) = (b0 + b1 s + ...) / (a0 + a1 s + ...), coefficients in ascending powers."""

    x_array_id: ArrayId
    y_array_id: ArrayId
    u_array_id: ArrayId
    ic_array_id: ArrayId | None = None
    is_static_hold: Boolean = False
    num_numerator_coef: Count | None = None
    numerator_coef: Reals
    num_denominator_coef: Count | None = None
    denominator_coef: Reals

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from array_faults(self, others)

    def faults(self) -> Iterator[str]:
        for count_name, name in (
            ("num_numerator_coef", "numerator_coef"),
            ("num_denominator_coef", "denominator_coef"),
        ):
            count, values = getattr(self, count_name), getattr(self, name)
            if count is not None and count != len(values):
                yield f"{count_name}={count}, but {name} has {len(values)}; make them agree"
        if not self.denominator_coef or self.denominator_coef[-1] == 0.0:
            yield "denominator_coef ends in 0, so its order is unclear; drop trailing zeros"
        elif len(self.numerator_coef) > len(self.denominator_coef):
            yield (
                f"the numerator's order {len(self.numerator_coef) - 1} exceeds the denominator's "
                f"{len(self.denominator_coef) - 1}; write a proper transfer function"
            )


@dataclass(frozen=True, kw_only=True)
class Control_StateEqn(UserSubroutine):
    """x' = A x + B u, y = C x + D u (LINEAR), or a subroutine GSESUB (USERSUB).

    The attribute names of the matrices are not documented; what is written is kept in ``attributes``.
    """

    type: Annotated[str, keyword("LINEAR", "USERSUB")]
    x_array_id: ArrayId
    y_array_id: ArrayId
    u_array_id: ArrayId | None = None
    ic_array_id: ArrayId | None = None
    num_state: Whole
    num_output: Whole
    is_static_hold: Boolean = False
    attributes: tuple[tuple[str, str], ...] = ()

    synonyms = MappingProxyType({"u_solver_array_id": "u_array_id"})
    routine = "GSESUB"
    open_ended = True

    @property
    def calls_subroutine(self) -> bool:
        return self.type == "USERSUB"

    def _without_routine(self) -> tuple[str, str]:
        return "type is LINEAR", 'write type="USERSUB" to call a routine, or delete it'

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from array_faults(self, others)


RATES_READ = re.compile(r"\b(DIF1|VARVAL|ARYVAL|POUVAL)\b", re.IGNORECASE)
"""Functions by which an expression asks for a rate, of its own or through other elements."""


@dataclass(frozen=True, kw_only=True)
class Control_Diff(ExpressionOrSubroutine):
    """One state DIF(id): x' = expr from ``ic``, or expr = 0 with DIF1(id) in it when ``is_implicit``."""

    is_implicit: Boolean = False
    ic: Real = 0.0
    ic_dot: Real | None = None
    is_static_hold: Boolean = False

    routine = "DIFSUB"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.is_implicit:
            why = "is_implicit is FALSE, so the equation gives the rate"
            yield from self.unused(["ic_dot"], why, "delete it")
        elif self.expr and not RATES_READ.search(self.expr):
            why = f"the equation holds no DIF1({self.id}), so it is algebraic"
            yield from self.unused(["ic_dot", "is_static_hold"], why, "delete it")


ARRAY_TYPES = {
    "x_array_id": ("X",),
    "y_array_id": ("Y",),
    "u_array_id": ("U", "X", "Y"),  # outputs of one element may be the inputs of another
    "ic_array_id": ("IC",),
}


def array_faults(element: Control_SISO | Control_StateEqn, others: Others) -> Iterator[str]:
    """Faults of arrays of another type than their use has."""
    for name, types in ARRAY_TYPES.items():
        array = others.get(Reference_Array, getattr(element, name) or 0)
        if array is not None and array.type not in types:
            cure = f'name one of type="{types[0]}"'
            yield f"{name}={array.id} is a Reference_Array of type {array.type}; {cure}"
