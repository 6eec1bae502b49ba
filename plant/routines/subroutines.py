"""User subroutines: which routine an element calls, with what arguments, and how its outcome becomes symbols.

A Python routine runs on symbols once, which makes it part of the equations like any expression: exact
derivatives, C code. One that branches on values, converts them to floats or keeps something from call to
call cannot; it becomes an *opaque* function, called at run time and differentiated by differences (then
``dflag`` is true), and a warning says so. Compiled libraries and MATLAB scripts are always opaque.

Calls, in order: one with ``iflag`` true, whose value is not used, in which the routine asks for all it
depends on; then ordinary ones. An opaque routine that asks at run time for something it did not ask for then
is stopped with an error.

Routines that keep variables of their own (VARSUBs with discrete states) see, at every trial evaluation, what
they kept at the last accepted step; what they keep at an accepted step stays (see `plant.routines.scripts`).
Where such a routine samples by a clock of its own a step ends on each of its instants (`own_clock.py`).

Nothing runs unless the plant was read with ``trust=True``.

Source: MotionSolve reference guide, VARSUB and the other pages of user subroutines; the signatures of
PFOSUB, SENSUB, SEVSUB and GSESUB are assumed after those of the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.callback import close_all
from blocks.contract.symbols import as_scalar
from blocks.contract.user_lines import line_of
from blocks.errors import ModelError, PlantloopError, shown
from plant.elements import (
    Control_StateEqn,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Model,
    Post_Request,
    Reference_Array,
    UserSubroutine,
)
from plant.elements.outputs import RESULTS
from plant.equations.setting import Setting
from plant.expressions.expression import parse
from plant.expressions.functions.entry import Reference
from plant.expressions.scope import Scope
from plant.reporting import ModelProblems, mention
from plant.routines.access import Access, Asked, Recorder, Symbolic
from plant.routines.libraries import library_routine
from plant.routines.octave import octave_routine
from plant.routines.opaque_calls import OpaqueRoutine, opaque_function
from plant.routines.scripts import Script, Stateful, placed, script_path

VECTORS: dict[str, tuple[str, ...]] = {
    "VFOSUB": ("fx_expression", "fy_expression", "fz_expression"),
    "VTOSUB": ("tx_expression", "ty_expression", "tz_expression"),
}
"""Attributes of a force that the outcome of its subroutine stands for, in this order."""
VECTORS["GFOSUB"] = (*VECTORS["VFOSUB"], *VECTORS["VTOSUB"])
VECTOR_ROUTINES = {"FORCEONLY": "VFOSUB", "TORQUEONLY": "VTOSUB", "FORCEANDTORQUE": "GFOSUB"}


class Routine(Protocol):
    """Something that can be called like a user subroutine."""

    def __call__(self, arguments: Sequence[Any], access: Access) -> Any:
        """Outcome for arguments in the documented order; `access` answers what it asks the plant for."""
        ...


@dataclass(frozen=True)
class Signature:
    """Arguments and outcome of one kind of routine.

    arguments : names in order; ``given0``, ``given1`` are vectors the element passes (states, displacements)
    size : numbers in the outcome
    """

    name: str
    arguments: tuple[str, ...]
    size: int


COMMON = ("id", "time", "par", "npar", "dflag", "iflag")
PLAIN = ("id", "time", "par", "npar", "iflag")
ARGUMENTS = {
    **dict.fromkeys(("VARSUB", "SFOSUB", "PFOSUB", "GCOSUB", "DIFSUB", "VFOSUB", "VTOSUB", "GFOSUB"), COMMON),
    "ARYSUB": (*COMMON, "size"),
    "SPLINE_READ": ("id", "file_name", "block_name"),
    "MARKER_READ": ("id", "par", "npar"),
    "COUSUB": ("id", "time", "par", "npar", "given0", "count0", "iflag"),
    "MOTSUB": ("id", "time", "par", "npar", "order", "iflag"),
    "FIESUB": ("id", "time", "par", "npar", "given0", "given1", "dflag", "iflag"),
    **dict.fromkeys(("REQSUB", "SENSUB", "SEVSUB"), PLAIN),
    "GSESUB": (*COMMON, "count0", "given0", "count1", "given1", "outputs"),
}
"""Arguments of every routine that can be called; add a routine: add an entry."""

SIZES = {"VFOSUB": 3, "VTOSUB": 3, "GFOSUB": 6, "FIESUB": 6, "REQSUB": 8}
WITHOUT_ACCESS = ("MOTSUB", "FIESUB", "GSESUB", "COUSUB")
"""Routines that may not ask for the state; they get what they need as arguments."""


def signature(element: UserSubroutine) -> Signature:
    """What an element's subroutine takes and gives."""
    kind = element.routine
    if isinstance(element, (Force_Vector_OneBody, Force_Vector_TwoBody)):
        kind = VECTOR_ROUTINES[element.type]
    if kind not in ARGUMENTS:
        raise ModelError(f"{element.where}: subroutines {kind} are not supported.", path=element.where)
    size = SIZES.get(kind, 1)
    if isinstance(element, Reference_Array):
        size = element.num_element or 1
    elif isinstance(element, Control_StateEqn):
        size = element.num_state + element.num_output
    return Signature(kind, ARGUMENTS[kind], size)


def component(element: UserSubroutine, attribute: str) -> int | None:
    """Which number of the outcome stands for an attribute; None if none does."""
    if isinstance(element, (Force_Vector_OneBody, Force_Vector_TwoBody)):
        names = VECTORS[VECTOR_ROUTINES[element.type]]
        return names.index(attribute) if attribute in names else None
    if isinstance(element, Post_Request):
        return RESULTS.index(attribute)
    return 0


def running(model: Model) -> list[UserSubroutine]:
    """Elements whose subroutines the plant would run."""
    return [
        element
        for same_type in model.elements.values()
        for element in same_type.values()
        if isinstance(element, UserSubroutine)
        and element.is_active
        and element.has_subroutine
        and getattr(element, "type", "USERSUB") != "EXPRESSION"
        and (element.routine in ARGUMENTS or not element.routine)
    ]


def refuse_untrusted(model: Model) -> None:
    """One error for all scripts and libraries that may not run.

    Raises
    ------
    ModelProblems    naming each and the cure
    """
    problems = [f"{element.where}: would run {_what(model, element)}." for element in running(model)]
    if problems:
        problems[-1] += " If you trust the files, read the model with trust=True (command line: --trust)."
        raise ModelProblems(problems, about=model.file or model.name)


def _what(model: Model, element: UserSubroutine) -> str:
    if element.script_name is not None:
        return f"{element.subroutine} of the script {script_path(model, element)}"
    return f"{element.subroutine} of the library {element.usrsub_dll_name}"


def outcome(
    values: Setting, b: Equations, element: UserSubroutine, given: Sequence[ca.SX], order: int = 0
) -> ca.SX:
    """What an element's subroutine gives, (size, 1), as symbols.

    Raises
    ------
    ModelError    not trusted, no such file or function, or it fails
    """
    refuse_unless_trusted(values, element)
    form = signature(element)
    call = RoutineCall(values, element, form, given, order)
    if element.script_name is not None and (element.interpreter or "PYTHON") == "PYTHON":
        script = Script(values.model, element)
        try:
            return call.symbolic(script)
        except Exception as fault:
            return call.opaque(script.numeric, call.reason_not_traced(fault), b)
    if element.script_name is not None:
        return call.opaque(lambda: octave_routine(values.model, element), "MATLAB code is", b)
    return call.opaque(
        lambda: library_routine(values.model, element, form.name, form.size), "it is compiled", b
    )


def refuse_unless_trusted(values: Setting, element: UserSubroutine) -> None:
    """Nothing a file names runs unless its reader said so.

    Raises
    ------
    ModelError    naming what would run and the cure
    """
    if not values.trust:
        raise ModelError(
            f"{element.where}: would run {_what(values.model, element)}.",
            path=element.where,
            hint="If you trust the file, read the model with trust=True.",
        )


# What a routine written for numbers raises when it meets symbols.
NOT_TRACEABLE = (ArithmeticError, AttributeError, LookupError, NotImplementedError, PlantloopError,
                  RuntimeError, TypeError, ValueError)  # fmt: skip


def variables_asked_for(model: Model, element: UserSubroutine) -> set[int]:
    """Ids of the variables whose values a routine asks for in its initialisation call."""
    return {int(ids[0]) for kind, ids in references_asked_for(model, element) if kind == "variable"}


def references_asked_for(model: Model, element: UserSubroutine) -> set[Reference]:
    """What a routine asks for in its initialisation call, as in `Expression.references`.

    Only for models that are trusted: the routine runs.
    """
    form = signature(element)
    routine: Routine
    if element.script_name is None:
        routine = library_routine(model, element, form.name, form.size)
    elif element.interpreter == "MATLAB":
        routine = octave_routine(model, element)
    else:
        routine = Script(model, element).numeric()
    recorder = Recorder(model, form.name not in WITHOUT_ACCESS)
    par = [float(p) for p in element.parameters]
    with contextlib.suppress(Exception):  # reported when its equation is written
        routine([element.id, 0.0, par, len(par), False, True], recorder)
    close_all([routine])
    return {r for text in recorder.asked().texts for r in parse(text, "user subroutine").references()}


class RoutineCall:
    """One element's call of its routine: on symbols, or as an opaque function."""

    def __init__(
        self,
        values: Setting,
        element: UserSubroutine,
        form: Signature,
        given: Sequence[ca.SX],
        order: int,
        scope: Scope | None = None,
    ) -> None:
        self.scope: Scope = values if scope is None else scope
        self.values, self.element, self.form, self.given, self.order = values, element, form, given, order
        self.counts = [int(vector.numel()) for vector in given]
        self.name = f"{element.where}, {element.subroutine}"
        self._parameters = [float(p) for p in element.parameters]  # read once, not at every call
        self._known: dict[str, Any] = {
            "id": element.id,
            "npar": len(self._parameters),
            "size": form.size,
            "outputs": getattr(element, "num_output", 0),
            **{f"count{k}": count for k, count in enumerate(self.counts)},
        }

    @property
    def time(self) -> ca.SX:
        """The time it is called at [s]: the run's, or what stands for it in a plant at rest."""
        instead = self.values.formula(self.element, "time")
        return self.scope.time if instead is None else instead.evaluate(self.scope)

    def arguments(
        self, time: Any, given: Sequence[Any], dflag: bool, iflag: bool, order: int | None = None
    ) -> list[Any]:
        """Arguments in the routine's order."""
        known = {
            **self._known,
            "time": time,
            "par": self._parameters[:],  # a routine may write into it
            "dflag": dflag,
            "iflag": iflag,
            "order": self.order if order is None else order,
        }
        for k, vector in enumerate(given):
            known[f"given{k}"] = vector
        return [known[name] for name in self.form.arguments]

    def symbolic(self, script: Script) -> ca.SX:
        """The routine run on symbols."""
        routine = script.symbolic()
        access = Symbolic(self.values.model, self.scope, self.form.name not in WITHOUT_ACCESS)
        time = as_scalar(self.time)
        given = [_entries(vector) for vector in self.given]
        with script.watched():
            routine(self.arguments(time, given, False, True), access)
            found = routine(self.arguments(time, given, False, False), access)
        if found is None:
            raise ModelError(
                f"{self.name}: returned nothing, expected numbers.",
                path=self.element.where,
                hint="End the function with return.",
            )
        value = ca.SX(ca.vertcat(*self._scalars(found)))
        if self.scope is self.values:
            self.values.watch(self.name, value)
        return value

    def _scalars(self, found: Any) -> list[Any]:
        """The numbers, or symbols, of the outcome; FIESUB and GSESUB give several lists."""
        if self.form.name == "FIESUB" and isinstance(found, (list, tuple)) and len(found) == 3:
            found = found[0]
        parts = _flat(found)
        if len(parts) != self.form.size:
            raise ModelError(
                f"{self.name}: returned {len(parts)} numbers, expected {self.form.size}.",
                path=self.element.where,
                value=len(parts),
            )
        return parts

    def reason_not_traced(self, fault: Exception) -> str:
        """The reason why the routine does not run on symbols, from its error; other errors are raised."""
        if isinstance(fault, Stateful):
            return str(fault)
        if isinstance(fault, ModelError) or not isinstance(fault, NOT_TRACEABLE):
            raise placed(fault, self.element) from fault
        text = str(fault).strip().splitlines()
        return text[0] if text else type(fault).__name__

    def opaque(self, load: Callable[[], Routine], reason: str, b: Equations) -> ca.SX:
        """The routine, loaded anew for each run, as a function of time, what it asks for and is given."""
        routine = load()
        asked = self.asked(routine)
        inputs = [self.time, *asked.symbols(self.values, self.element), *self.given]
        column = ca.densify(ca.vertcat(*inputs))
        n, m = int(column.numel()), self.form.size

        def make() -> OpaqueRoutine:
            own = load()
            return OpaqueRoutine(self.name, self.function(own, asked), n, m, own)

        name = f"{self.element.tag}_{self.element.id}_{self.order}"
        close_all([routine])
        value = opaque_function(make, bool(getattr(routine, "keeps", False)), m, column, b, name, self.name)
        self.values.watch(self.name, value)
        mention(
            f"{self.name} is called at run time and differentiated by differences: {reason}. "
            "Compiled code calls it back in Python, which is slower."
        )
        return value

    def function(self, routine: Routine, asked: Asked) -> Callable[[np.ndarray, bool], np.ndarray]:
        """The routine on numbers: time, what it asks for, what it is given; and dflag."""

        def called(numbers: np.ndarray, dflag: bool) -> np.ndarray:
            access = asked.answering(
                self.values.model, numbers[1 : 1 + len(asked.texts)].tolist(), self.element
            )
            given, start = [], 1 + len(asked.texts)
            for count in self.counts:
                given.append([float(v) for v in numbers[start : start + count]])
                start += count
            found = routine(self.arguments(float(numbers[0]), given, dflag, False), access)
            return np.array([float(part) for part in self._scalars(found)])

        return called

    def silent(self) -> Access:
        """For routines that get all they need as arguments."""
        return Recorder(self.values.model, allowed=False)

    def asked(self, routine: Routine) -> Asked:
        """What the routine asks for in the initialisation call, and in one trial call."""
        allowed = self.form.name not in WITHOUT_ACCESS
        recorder = Recorder(self.values.model, allowed)
        given = [[0.0] * count for count in self.counts]
        try:
            routine(self.arguments(0.0, given, False, True), recorder)
        except ModelError as fault:
            raise placed(fault, self.element) from fault
        except Exception as fault:  # a user's routine may raise anything
            raise ModelError(
                f"{self.name}: failed in its initialisation call (iflag true){line_of(fault)}: "
                f"{type(fault).__name__}: {fault}.",
                path=self.element.where,
            ) from fault
        try:  # with zeros for everything; a routine that cannot live with them has asked before it failed
            self._scalars(routine(self.arguments(0.0, given, True, False), recorder))
        except ModelError as fault:
            raise placed(fault, self.element) from fault
        except Exception:
            pass
        return recorder.asked()


def _entries(vector: ca.SX) -> list[Any]:
    """Scalars of a vector, as a routine gets them."""
    return [as_scalar(ca.SX(vector[k])) for k in range(int(vector.numel()))]


def _flat(found: Any) -> list[Any]:
    """Scalars of what a routine returned: a number, a list, lists in a list, an array."""
    if isinstance(found, (list, tuple)):
        return [part for entry in found for part in _flat(entry)]
    if isinstance(found, (ca.SX, ca.DM)):
        return [found[k] for k in range(int(found.numel()))]
    if isinstance(found, np.ndarray):
        return [part for entry in found.ravel().tolist() for part in _flat(entry)]
    if found is None:
        raise ValueError("the routine returned nothing")
    if isinstance(found, (int, float, np.integer, np.floating)):
        return [float(found)]
    try:
        symbols = ca.SX(np.ravel(found))
    except (NotImplementedError, TypeError, ValueError):  # the first is CasADi's, of complex numbers too
        raise ValueError(f"the routine returned {shown(found)}, expected numbers") from None
    return [symbols[k] for k in range(int(symbols.numel()))]
