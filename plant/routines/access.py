"""What a user subroutine may ask its host for: states, arrays, splines and shaping functions.

The same calls serve routines run on symbols, routines run with numbers, and the initialisation call in which
the numbers are not known and what is asked for is written down. Every state is asked for by the text of an
expression, ``VM(1011)``: names, ids and defaults are those of the expression language, and so are the errors.

Source: MotionSolve reference guide, SYSFNC, SYSARY and the other utility subroutines.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.symbols import as_scalar
from blocks.contract.user_lines import line_of_caller
from blocks.errors import ModelError
from plant.elements import (
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Model,
    Reference_Array,
    Reference_Spline,
    UserSubroutine,
)
from plant.expressions.expression import parse
from plant.expressions.functions import FUNCTIONS
from plant.expressions.scope import Refusal, Scope
from plant.expressions.splines import SplineData, curve

_THREE = "XYZ"
# SYSARY name -> expressions with the ids in brackets: {all} as given, {two} the first two
_ARRAYS: Mapping[str, tuple[str, ...]] = {
    "TDISP": tuple(f"D{x}({{all}})" for x in _THREE),
    "RDISP": ("PSI({two})", "THETA({two})", "PHI({two})"),
    "TVEL": tuple(f"V{x}({{all}})" for x in _THREE),
    "RVEL": tuple(f"W{x}({{three}})" for x in _THREE),
    "TACC": tuple(f"ACC{x}({{all}})" for x in _THREE),
    "RACC": tuple(f"WDT{x}({{all}})" for x in _THREE),
    "TFORCE": tuple(f"F{x}({{all}})" for x in _THREE),
    "RFORCE": tuple(f"T{x}({{all}})" for x in _THREE),
}
_BOTH = {name: (f"T{name}", f"R{name}") for name in ("DISP", "VEL", "ACC", "FORCE")}
_LISTS = {"ARRAY": "ARYVAL", "PINPUT": "PINVAL", "POUTPUT": "POUVAL"}

SPLINES = {"akispl": "AKISPL", "cubspl": "CUBSPL", "quispl": "QUISPL", "fitspl": "FITSPL"}
SHAPES = {"step": "STEP", "step5": "STEP5", "havsin": "HAVSIN", "bistop": "BISTOP"}


class Access:
    """Base of the three ways to answer a routine; an interface, nobody instantiates it."""

    def __init__(self, model: Model, spline: Callable[[int], SplineData], allowed: bool = True) -> None:
        self.model, self._spline, self._allowed = model, spline, allowed

    def value(self, text: str) -> Any:
        """Value of an expression text."""
        raise NotImplementedError

    def sysfnc(self, fncnam: str, ipar: Any) -> list[Any]:
        """[state, errflg] of one function of the expression language."""
        self._check(fncnam)
        return [self.value(f"{fncnam.strip().upper()}({_ids(ipar)})"), False]

    def sysary(self, fncnam: str, ipar: Any) -> list[Any]:
        """[states, errflg] of a family of functions."""
        self._check(fncnam)
        return [[self.value(text) for text in self._texts(fncnam.strip().upper(), ipar)], False]

    def _check(self, fncnam: str) -> None:
        if not self._allowed:
            raise ModelError(
                f"the subroutine asks for {fncnam}, which this kind of routine may not.",
                hint="It gets what it needs as arguments.",
            )

    def _texts(self, name: str, ipar: Any) -> list[str]:
        if name in _BOTH:
            return [text for part in _BOTH[name] for text in self._texts(part, ipar)]
        ids = _ids(ipar).split(",")
        if name in _ARRAYS:
            parts = {"all": ids, "two": ids[:2], "three": ids[:3]}
            texts = {key: ",".join(part) for key, part in parts.items()}
            return [pattern.format(**texts) for pattern in _ARRAYS[name]]
        if name in _LISTS:
            count = self._count(name, int(ids[0]))
            return [f"{_LISTS[name]}({ids[0]},{k})" for k in range(1, count + 1)]
        known = ", ".join((*_BOTH, *_ARRAYS, *_LISTS))
        raise ModelError(f"py_sysary: there is no array '{name}'; there is {known}.", value=name)

    def _count(self, name: str, id: int) -> int:
        if name == "ARRAY":
            array = self.model.find(Reference_Array, id)
            return len(array.variable_id or array.values) or array.num_element or 0
        if name == "PINPUT":
            return len(self.model.find(Control_PlantInput, id).variable_id_list)
        return len(self.model.find(Control_PlantOutput, id).variable_id_list)

    def curve(self, kind: str, x: Any, z: Any, id: Any, iord: int = 0) -> list[Any]:
        """[(value, first, second derivative), errflg] of a spline at x."""
        data = self._spline(int(id))
        return [[_applied(curve(data, kind, n), [x]) for n in range(3)], False]

    def shape(self, name: str, *arguments: Any) -> list[Any]:
        """[derivative of order iord in the first argument, errflg]; iord is the last argument."""
        *values, order = arguments
        return [_applied(_derivative(name, len(values), int(order)), values), False]

    def put_spline(self, id: Any, x: Any, y: Any, z: Any = 0.0) -> bool:
        """errflg of giving a spline its points."""
        raise ModelError("py_put_spline can only be called from a SPLINE_READ subroutine.")

    def put_marker(self, id: Any, r: Any, angle_type: Any, angle: Any) -> bool:
        """errflg of giving a marker its place."""
        raise ModelError("py_put_marker can only be called from a MARKER_READ subroutine.")

    def impact(self, *arguments: Any) -> list[Any]:
        """[(value, first, second derivative in x), errflg] of IMPACT."""
        values = arguments[:7]
        return [[_applied(_derivative("IMPACT", 7, n), values) for n in range(3)], False]


class Symbolic(Access):
    """Answers with symbols."""

    def __init__(self, model: Model, scope: Scope, allowed: bool) -> None:
        super().__init__(model, scope.spline, allowed)
        self._scope = scope

    def value(self, text: str) -> Any:
        """See `Access.value`."""
        return as_scalar(ca.SX(parse(text, "user subroutine").evaluate(self._scope)))


class Recorder(Access):
    """Answers with zeros and writes down what was asked for."""

    def __init__(self, model: Model, allowed: bool) -> None:
        super().__init__(model, lambda id: spline_of(model, id), allowed)
        self._texts_asked: dict[str, str] = {}  # and the line of the script that asks

    def value(self, text: str) -> float:
        """See `Access.value`."""
        parse(text, "user subroutine")  # names and ids are checked here
        self._texts_asked.setdefault(text, line_of_caller())
        return 0.0

    def asked(self) -> Asked:
        """All that was asked for so far."""
        return Asked(tuple(self._texts_asked), self._spline, tuple(self._texts_asked.values()))


@dataclass(frozen=True)
class Asked:
    """The quantities a routine asks for: texts of expressions, in order."""

    texts: tuple[str, ...]
    spline: Callable[[int], SplineData]
    lines: tuple[str, ...] = ()

    def symbols(self, scope: Scope, element: UserSubroutine) -> list[ca.SX]:
        """What they are in the equations.

        Raises
        ------
        ModelError    there is no such thing, with the element and the line that asks for it
        """
        found = []
        for text, line in zip(self.texts, self.lines, strict=True):
            try:
                found.append(ca.SX(parse(text, "user subroutine").evaluate(scope)))
            except ModelError as fault:
                where = (
                    f", in {line}" if element.interpreter in (None, "PYTHON") and element.script_name else ""
                )
                raise ModelError(
                    f"{element.where}, {element.subroutine}{where}: it asks for {text}: {fault}",
                    path=element.where,
                    value=text,
                ) from fault
        return found

    def answering(self, model: Model, numbers: Sequence[float], element: Element) -> Access:
        """Access that answers with these numbers."""
        known = {text: float(v) for text, v in zip(self.texts, numbers, strict=True)}
        return _Answering(model, self.spline, known, element)


class _Answering(Access):
    """Answers with numbers; refuses what was not asked for before."""

    def __init__(
        self, model: Model, spline: Callable[[int], SplineData], known: Mapping[str, float], element: Element
    ) -> None:
        super().__init__(model, spline)
        self._known, self._element = known, element

    def value(self, text: str) -> float:
        """See `Access.value`."""
        if text not in self._known:
            raise ModelError(
                f"{self._element.where}: the subroutine asks for {text} at run time, but did not in its "
                "initialisation call.",
                path=self._element.where,
                hint="Make all py_sysfnc and py_sysary calls before looking at iflag.",
            )
        return self._known[text]


def spline_of(model: Model, id: int) -> SplineData:
    """Points of a Reference_Spline.

    Raises
    ------
    ModelError    there is no such spline
    Refusal       it has no points in the file
    """
    spline = model.find(Reference_Spline, id)
    if not spline.x:
        raise Refusal(f"Reference_Spline {id} without points in the file is not supported yet")
    return SplineData(np.array(spline.x), np.array(spline.y), spline.linear_extrap, where=spline.where)


def _ids(ipar: Any) -> str:
    """Ids as an expression's arguments; floats that are whole numbers are ids."""
    plain = isinstance(ipar, (list, tuple)) and all(isinstance(id, (int, float)) for id in ipar)
    listed = ipar if plain else np.ravel(ipar).tolist()
    return ",".join(str(int(id)) for id in listed)


def _applied(function: ca.Function, arguments: Sequence[Any]) -> Any:
    """Value at numbers, or at symbols."""
    if all(isinstance(a, (int, float, np.number)) for a in arguments):
        return float(function(*arguments))
    return as_scalar(function.call([ca.SX(a) for a in arguments], False, True)[0])


@functools.cache
def _derivative(name: str, count: int, order: int) -> ca.Function:
    """Derivative of a shaping function in its first argument."""
    symbols = [ca.SX.sym(f"a{k}") for k in range(count)]
    value = FUNCTIONS[name].evaluate(*symbols)
    for _ in range(order):
        value = ca.jacobian(value, symbols[0])
    return ca.Function(f"{name}{order}", symbols, [ca.densify(value)])
