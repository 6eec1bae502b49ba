"""What elements share that take an expression, or a user subroutine in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from plant.elements.element import Element, Idle, shown
from plant.elements.kinds import Formula, String, keyword, number


@dataclass(frozen=True, kw_only=True)
class UserSubroutine(Element):
    """Base of elements that a user subroutine can define; an interface, nobody instantiates it.

    The routine is Python (or MATLAB) code in ``script_name``, or a function of the compiled library
    ``usrsub_dll_name``. Reading a model never runs either.
    """

    usrsub_dll_name: String | None = None
    usrsub_fnc_name: String | None = None
    usrsub_param_string: String | None = None
    script_name: String | None = None
    interpreter: Annotated[str, keyword("PYTHON", "MATLAB")] | None = None

    routine: ClassVar[str] = ""

    @property
    def has_subroutine(self) -> bool:
        return self.script_name is not None or self.usrsub_dll_name is not None

    @property
    def calls_subroutine(self) -> bool:
        """Does the element's value come from its routine?"""
        return self.has_subroutine

    @property
    def subroutine(self) -> str:
        """Name of the function to call: ``usrsub_fnc_name``, or the element's documented default."""
        return self.usrsub_fnc_name or self.routine

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers of ``usrsub_param_string="USER(p1, p2, ...)"``; the routine's ``par``."""
        return user_parameters(self.usrsub_param_string or "USER()")

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.usrsub_param_string is not None:
            try:
                user_parameters(self.usrsub_param_string)
            except ValueError as fault:
                yield f"usrsub_param_string={shown(self.usrsub_param_string)} {fault}"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.calls_subroutine:
            why, cure = self._without_routine()
            yield from self.unused(ROUTINE, why, cure)
        elif self.script_name is not None:
            why = "the script is run, not the library"
            yield from self.unused(["usrsub_dll_name"], why, "delete it, or script_name to run the library")
        else:
            why = "it is the language of a script, and the routine is in a library"
            yield from self.unused(["interpreter"], why, "delete it, or name the file in script_name")

    def _without_routine(self) -> tuple[str, str]:
        """Why no routine is called, and what would call one."""
        return "no file with the routine is named", "write script_name or usrsub_dll_name, or delete it"


ROUTINE = ("usrsub_dll_name", "usrsub_fnc_name", "usrsub_param_string", "script_name", "interpreter")


def user_parameters(text: str) -> tuple[float, ...]:
    """Numbers of ``USER(1011, 4, 0.006)``; a blank before the bracket and an empty list are allowed."""
    found = re.fullmatch(r"\s*USER\s*\((.*)\)\s*", text, re.IGNORECASE | re.DOTALL)
    if not found:
        raise ValueError("is not of the form USER(...); write for instance USER(1011, 4, 0.006)")
    entries = found[1].split(",") if found[1].strip() else []
    try:
        return tuple(number(entry) for entry in entries)
    except ValueError:
        raise ValueError(
            "has an entry that is not a number; write numbers separated by commas, as in USER(1011, 4)"
        ) from None


@dataclass(frozen=True, kw_only=True)
class ExpressionOrSubroutine(UserSubroutine):
    """Base of elements given by one expression or one subroutine; an interface, nobody instantiates it."""

    type: Annotated[str, keyword("EXPRESSION", "USERSUB")] = "EXPRESSION"
    expr: Formula | None = None

    @property
    def calls_subroutine(self) -> bool:
        return self.type == "USERSUB"

    def _without_routine(self) -> tuple[str, str]:
        return "type is EXPRESSION", 'write type="USERSUB" to call a routine, or delete it'

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if self.calls_subroutine:
            cure = 'write type="EXPRESSION" to use it, or delete it'
            yield from self.unused(["expr"], "type is USERSUB", cure)

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.type == "EXPRESSION" and self.expr is None:
            cure = 'type="USERSUB"' if self.has_subroutine else 'expr="..."'
            yield f"expr is missing, and type is EXPRESSION; write {cure}"
        if self.type == "USERSUB" and not self.has_subroutine:
            yield "type is USERSUB without a routine; name its file with script_name or usrsub_dll_name"
