"""Requests for results, and sensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from plant.elements.element import Idle
from plant.elements.kinds import (
    Boolean,
    Formula,
    FrameId,
    IdOf,
    MarkerId,
    NonNegative,
    Positive,
    Real,
    String,
    Whole,
    keyword,
)
from plant.elements.subroutine import ExpressionOrSubroutine, UserSubroutine

__all__ = ["Post_Request", "Sensor_Evaluate", "Sensor_Event"]


RESULTS = tuple(f"result{k}" for k in range(1, 9))
"""Channels that the outcome of a request's subroutine fills, in this order."""

CHANNELS = {
    tuple(f"expr{k}" for k in range(1, 9)): ("EXPRESSION",),
    ("i_marker_id", "j_marker_id"): ("MARKER_",),
    ("ref_marker_id",): ("MARKER_", "ELEMENTAL_FORCE"),
    ("elem_type", "elem_id", "jflag"): ("ELEMENTAL_FORCE",),
}
"""Which attributes of a request fill its channels, by the beginnings of its types."""


@dataclass(frozen=True, kw_only=True)
class Post_Request(UserSubroutine):
    """Up to eight channels of results: of markers, of one element, or of expressions.

    ``expr1`` ... ``expr8`` are None where the file says NULL. Marker types fill the channels with magnitude,
    x, y, z of the translation and of the rotation.
    """

    comment: String | None = None
    type: (
        Annotated[
            str,
            keyword(
                "MARKER_DISPLACEMENT",
                "MARKER_VELOCITY",
                "MARKER_ACCELERATION",
                "MARKER_FORCE",
                "ELEMENTAL_FORCE",
                "EXPRESSION",
                "USERSUB",
                DISPLACEMENT="MARKER_DISPLACEMENT",
                VELOCITY="MARKER_VELOCITY",
                ACCELERATION="MARKER_ACCELERATION",
                FORCE="MARKER_FORCE",
            ),
        ]
        | None
    ) = None
    i_marker_id: MarkerId | None = None
    j_marker_id: FrameId | None = None
    ref_marker_id: FrameId | None = None
    elem_type: String | None = None
    elem_id: Whole | None = None
    jflag: Whole | None = None
    expr1: Formula | None = None
    expr2: Formula | None = None
    expr3: Formula | None = None
    expr4: Formula | None = None
    expr5: Formula | None = None
    expr6: Formula | None = None
    expr7: Formula | None = None
    expr8: Formula | None = None

    synonyms = MappingProxyType({"element_type": "elem_type", "element_id": "elem_id"})
    routine = "REQSUB"

    @property
    def expressions(self) -> tuple[str | None, ...]:
        """The eight expressions, None for an empty channel."""
        return tuple(getattr(self, f"expr{k}") for k in range(1, 9))

    @property
    def calls_subroutine(self) -> bool:
        return self.has_subroutine and self.type in (None, "USERSUB")

    def _without_routine(self) -> tuple[str, str]:
        if self.type in (None, "USERSUB"):
            return super()._without_routine()
        return f"type is {self.type}", 'write type="USERSUB" to call a routine, or delete it'

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        kind = self.type or ("USERSUB" if self.has_subroutine and not any(self.expressions) else "EXPRESSION")
        for names, kinds in CHANNELS.items():
            if not any(kind.startswith(k) for k in kinds):
                yield from self.unused(
                    names, f"type is {kind}", f"it belongs to {' and '.join(kinds)}; delete it"
                )

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        kind = self.type or ""
        if kind.startswith("MARKER_") and self.i_marker_id is None:
            yield f"i_marker_id is missing, and type is {kind}; name the marker"
        if kind == "EXPRESSION" and not any(self.expressions):
            yield "has no expression, and type is EXPRESSION; write expr1 ... expr8"
        if kind == "ELEMENTAL_FORCE" and (self.elem_type is None or self.elem_id is None):
            yield "elem_type or elem_id is missing, and type is ELEMENTAL_FORCE; name the element"
        if kind == "USERSUB" and not self.has_subroutine:
            yield "type is USERSUB without a routine; name its file with script_name or usrsub_dll_name"
        if not kind and not any(self.expressions) and not self.has_subroutine:
            yield 'type is missing; write for instance type="EXPRESSION"'


@dataclass(frozen=True, kw_only=True)
class Sensor_Event(ExpressionOrSubroutine):
    """An event when ``expr`` passes ``value``, with what then happens.

    GE: expr >= value - error_tol; LE, LT: expr <= value + error_tol; EQ: |expr - value| <= error_tol. The
    attribute ``return`` of a file is the field ``return_``.
    """

    value: Real
    compare: Annotated[str, keyword("EQ", "GE", "LE", "LT", "GT")] = "EQ"
    error_tol: NonNegative | None = None
    evaluate_id: Annotated[int, IdOf(("Sensor_Evaluate",))] | None = None
    dt: Positive | None = None
    stepsize: Positive | None = None
    hmax: Positive | None = None
    zero_crossing: Boolean = False
    halt: Boolean = False
    print: Boolean = False
    restart: Boolean = False
    return_: Boolean = False
    verbose: Boolean = False

    synonyms = MappingProxyType({"return": "return_"})
    routine = "SENSUB"

    @property
    def stop_message(self) -> str:
        """What a run says that this sensor ended; no other sensor of the model says the same."""
        return f"{self.where}: reached {self.value:g}"

    @property
    def unmet(self) -> str:
        """What a run says in which it was beyond its value all the time, and did not fire."""
        return (
            f"{self.where}: expr was beyond value={self.value:g} ({self.compare}) from the start of the run "
            "on, so it did not fire: its event is that expr passes value. Start before it, or change value"
        )

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        why = "an event is located where the value is passed, to rounding"
        yield from self.unused(["error_tol", "zero_crossing"], why, "delete it")


@dataclass(frozen=True, kw_only=True)
class Sensor_Evaluate(ExpressionOrSubroutine):
    """A value stored each time its Sensor_Event fires, read by SENVAL(id); 0 before."""

    routine = "SEVSUB"
