"""Variables, arrays, splines, strings and lists of states that other elements refer to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from plant.elements.element import Element, Idle
from plant.elements.kinds import (
    Boolean,
    Count,
    IdsOf,
    NonNegative,
    Numbers,
    Positive,
    Real,
    Reals,
    String,
    VariableIds,
    keyword,
)
from plant.elements.subroutine import ExpressionOrSubroutine, UserSubroutine

__all__ = [
    "Reference_Array",
    "Reference_Matrix",
    "Reference_PlantState",
    "Reference_Spline",
    "Reference_String",
    "Reference_Variable",
]

VARIABLES_READ = re.compile(r"\bVARVAL\s*\(\s*(\d+)\s*\)", re.IGNORECASE)
"""The variable each VARVAL of an expression reads."""


@dataclass(frozen=True, kw_only=True)
class Reference_Variable(ExpressionOrSubroutine):
    """A scalar: an expression, an implicit equation, a constraint's multiplier or an integral.

    With v = VARVAL(id) and g = ``expr``: v = g; ``is_implicit`` solves 0 = g; ``dot_form`` integrates v' = g
    from ``ic``. An implicit expression without v itself is a constraint, whose reaction ``autobalance``
    chooses: DEFAULT (= CONDITIONAL), CONDITIONAL, UNCONDITIONAL, DISABLED, or PENALTY with
    F = -penalty g - penalty1 g'.
    """

    is_implicit: Boolean = False
    autobalance: Annotated[str, keyword("DEFAULT", "CONDITIONAL", "UNCONDITIONAL", "DISABLED", "PENALTY")] = (
        "DEFAULT"
    )
    penalty: Positive | None = None
    penalty1: NonNegative = 0.0
    dot_form: Boolean = False
    ic: Real = 0.0
    static_hold: Boolean = False

    synonyms = MappingProxyType({"auto_balance": "autobalance"})
    routine = "VARSUB"

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.dot_form and self.is_implicit:
            yield "dot_form and is_implicit exclude each other; keep one of them"
        if self.is_implicit and self.autobalance == "PENALTY" and self.penalty is None:
            yield "penalty is missing, and autobalance is PENALTY; write the penalty factor, above 0"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.is_implicit and self.autobalance != "CONDITIONAL":  # another word for the default
            cure = 'write is_implicit="TRUE" to make a constraint of it, or delete it'
            yield from self.unused(["autobalance"], "is_implicit is FALSE, so nothing is balanced", cure)
        if self.is_implicit and self._reads_itself() and self.autobalance not in ("CONDITIONAL", "PENALTY"):
            why = "the expression contains the variable itself, so it is an equation and no constraint"
            yield from self.unused(["autobalance", "penalty", "penalty1"], why, "delete it")
        elif not self.is_implicit or self.autobalance != "PENALTY":
            cure = 'write is_implicit="TRUE" autobalance="PENALTY" to use them, or delete them'
            yield from self.unused(["penalty", "penalty1"], "there is no penalty force here", cure)
        if not self.dot_form:
            # an equation for the variable itself starts its solution from ic
            starts = self.calls_subroutine or self._reads_itself()
            names = ["static_hold"] if starts else ["ic", "static_hold"]
            cure = 'write dot_form="TRUE" to integrate it, or delete it'
            yield from self.unused(names, "it is not integrated (dot_form is FALSE)", cure)

    def _reads_itself(self) -> bool:
        """Is the expression an equation for the variable, with VARVAL(id) of its own in it?"""
        return str(self.id) in VARIABLES_READ.findall(self.expr or "")


@dataclass(frozen=True, kw_only=True)
class Reference_Array(UserSubroutine):
    """A list of numbers: inputs U (variables), states X and outputs Y of a control element, values IC.

    Inputs are ``variable_id``; numbers are ``values``, in a file the element's text. RESTART and PRINT hold
    times.
    """

    type: Annotated[str, keyword("U", "X", "Y", "IC", "RESTART", "PRINT")]
    num_element: Count | None = None
    variable_id: VariableIds = ()
    values: Reals = ()

    synonyms = MappingProxyType({"num_variable": "num_element", "variable_id_list": "variable_id"})
    routine = "ARYSUB"
    switchable = False
    block = "either"

    @property
    def calls_subroutine(self) -> bool:
        return self.has_subroutine and self.type == "U" and not self.variable_id

    def _without_routine(self) -> tuple[str, str]:
        if self.type == "U":
            listed = ("the inputs are listed in variable_id", "keep one of them")
            return listed if self.variable_id else super()._without_routine()
        return f"arrays of type {self.type} are not filled by a routine", "delete it"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if self.type != "U":
            cure = 'it belongs to type="U"; delete it'
            yield from self.unused(["variable_id"], f"type is {self.type}", cure)
        if self.type in ("U", "X", "Y"):
            cure = 'they belong to types "IC", "RESTART" and "PRINT"; delete them'
            yield from self.unused(["values"], f"type is {self.type}", cure)

    @classmethod
    def read_text(cls, text: str, given: Mapping[str, Any]) -> dict[str, Any]:
        if given.get("type") == "U":
            return {"variable_id": IdsOf(("Reference_Variable",)).read(text)}
        return {"values": Numbers().read(text)}

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        entries = len(self.variable_id) if self.type == "U" else len(self.values)
        if self.num_element is not None and entries and entries != self.num_element:
            yield f"num_element={self.num_element}, but {entries} are listed; write num_element={entries}"
        if self.type == "U" and not entries and not self.has_subroutine:
            yield "has no inputs; list Reference_Variable ids in variable_id"
        if self.type == "IC" and not entries:
            yield "has no values; write them between the tags"
        if self.type in ("X", "Y") and self.num_element is None:
            yield "num_element is missing; write the number of entries"


@dataclass(frozen=True, kw_only=True)
class Reference_Matrix(UserSubroutine):
    """Numbers of a matrix, row by row; in a file they are the element's text.

    The element's attributes are not documented: ``num_row`` and ``num_col`` (also written ``num_rows``,
    ``num_columns`` and the like) may be left out where what uses the matrix knows its size.
    """

    num_row: Count | None = None
    num_col: Count | None = None
    values: Reals = ()

    synonyms = MappingProxyType(
        {
            **dict.fromkeys(("num_rows", "nrow", "nrows", "rows", "row"), "num_row"),
            **dict.fromkeys(
                ("num_cols", "num_column", "num_columns", "ncol", "ncols", "cols", "columns", "column"),
                "num_col",
            ),
        }
    )
    routine = "MATRIX_READ"
    switchable = False

    @classmethod
    def read_text(cls, text: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"values": Numbers().read(text)}

    @property
    def calls_subroutine(self) -> bool:
        return self.has_subroutine and not self.values

    def _without_routine(self) -> tuple[str, str]:
        return "the numbers are written", "delete it"

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.has_subroutine and not self.values:
            yield "comes from a MATRIX_READ subroutine, which is not supported; write its numbers"
        elif not self.values:
            yield "has no numbers; write them row by row between the tags"
        if self.num_row and self.num_col and self.values and len(self.values) != self.num_row * self.num_col:
            yield (
                f"has {len(self.values)} numbers for {self.num_row} x {self.num_col} entries; "
                "write them row by row"
            )


@dataclass(frozen=True, kw_only=True)
class Reference_Spline(UserSubroutine):
    """A curve y(x) through points with increasing ``x``; in a file the points are the element's text.

    ``x``, ``y`` (num_xy_pair,) in the units of their use. Outside the points ``linear_extrap`` goes on
    along the end tangent. How many points are needed depends on the function that reads it (CUBSPL 4,
    AKISPL 5). Surfaces are not supported. ``file_name`` and ``block_name`` are for a SPLINE_READ subroutine.
    """

    num_xy_pair: Count | None = None
    x: Reals = ()
    y: Reals = ()
    linear_extrap: Boolean = False
    file_name: String | None = None
    block_name: String | None = None

    routine = "SPLINE_READ"
    switchable = False

    @classmethod
    def read_text(cls, text: str, given: Mapping[str, Any]) -> dict[str, Any]:
        values = Numbers().read(text)
        pairs = given.get("num_xy_pair")
        if len(values) % 2 or (pairs is not None and len(values) != 2 * pairs):
            needed = f"num_xy_pair={pairs} needs {2 * pairs}" if pairs else "x y pairs need an even number"
            raise ValueError(
                f"has {len(values)} numbers between its tags, but {needed}; write one x and one y per point "
                "(surfaces are not supported)"
            )
        return {"x": values[0::2], "y": values[1::2]}

    @property
    def calls_subroutine(self) -> bool:
        return self.has_subroutine and not self.x

    def _without_routine(self) -> tuple[str, str]:
        return ("the points are written", "delete it") if self.x else super()._without_routine()

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.calls_subroutine:
            cure = "write script_name of a SPLINE_READ that reads the file, or delete it"
            yield from self.unused(["file_name", "block_name"], "the points are not read from a file", cure)

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if (self.file_name is not None or self.has_subroutine) and not self.x:
            return  # the points come from SPLINE_READ
        if len(self.x) != len(self.y):
            yield f"has {len(self.x)} x and {len(self.y)} y values; give as many of each"
            return
        if self.num_xy_pair is not None and self.num_xy_pair != len(self.x):
            yield f"num_xy_pair={self.num_xy_pair}, but there are {len(self.x)} points; make them agree"
        if len(self.x) < 2:
            yield f"has {len(self.x)} points, too few for a curve; give 4 or more (2 are enough for LINSPL)"
        for k, (before, after) in enumerate(zip(self.x, self.x[1:], strict=False), start=2):
            if after <= before:
                yield f"x does not increase at point {k}: {after:g} follows {before:g}; sort the points by x"
                break


@dataclass(frozen=True, kw_only=True)
class Reference_String(UserSubroutine):
    """A text handed to subroutines."""

    string: String = ""

    routine = "STRING_READ"
    switchable = False

    @property
    def calls_subroutine(self) -> bool:
        return False

    def _without_routine(self) -> tuple[str, str]:
        return "strings are not filled by a routine", "delete it"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from self.unused(["string"], "no routine can ask for it", "give the text to the script itself")


@dataclass(frozen=True, kw_only=True)
class Reference_PlantState(Element):
    """Variables to be used as the states of a linear model."""

    num_element: Count | None = None
    variable_id_list: VariableIds

    synonyms = MappingProxyType({"num_variable": "num_element"})
    switchable = False

    def faults(self) -> Iterator[str]:
        yield from list_faults(self.num_element, self.variable_id_list)


def list_faults(num_element: int | None, variable_id_list: tuple[int, ...]) -> Iterator[str]:
    """Faults of a list of variables and of the count written beside it."""
    count = len(variable_id_list)
    if not count:
        yield "variable_id_list is empty; list the Reference_Variable ids"
    elif num_element is not None and num_element != count:
        yield (
            f"num_element={num_element}, but variable_id_list has {count}; "
            f"write num_element={count} or correct the list"
        )
