"""Calls of one FMU instance: looked up by name, checked, and explained when they fail."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.binding import Library, ffi
from cosim.fmi.interface.log_lines import STATUS, LogLines

DISCARD, ERROR, FATAL = 2, 3, 4  # statuses


def went_wrong(status: int) -> bool:
    """Whether a call failed: it gave neither OK nor Warning, but perhaps what is no status of FMI."""
    return status not in (0, 1)


class Caller:
    """Calls functions of a library on one instance.

    component : the instance, a pointer of C; time : where it stands [s], for messages
    """

    def __init__(self, library: Library, prefix: str, log: LogLines) -> None:
        self.library, self.prefix, self.log = library, prefix, log
        self.component: Any = ffi().NULL
        self.time: float | None = None
        self.dead = False  # after a fatal error no function may be called
        self.failing = False  # after an error it is reset, set to a saved state, or freed
        self.saved: dict[int, Any] = {}  # states in the memory of the FMU, which are freed before it
        self._known = library.known

    def function(self, name: str) -> Any:
        """A function by its name without the prefix."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self.library.function(self.prefix + name)
        return found

    def address(self, name: str) -> int:
        """Where a function is, for compiled code."""
        return int(ffi().cast("uintptr_t", self.function(name)))

    @cached_property
    def step_function(self) -> Any:
        """The function called most."""
        return self.function("DoStep")

    @cached_property
    def step_room(self) -> tuple[Any, Any, Any, Any]:
        """Memory in which FMI 3.0 returns the results of a step."""
        f = ffi()
        return f.new("bool *"), f.new("bool *"), f.new("bool *"), f.new("double *")

    def tried(self, name: str, *given: Any) -> int:
        """Call a function; returns its status, whatever it is."""
        return int(self.function(name)(self.component, *given))

    def __call__(self, name: str, *given: Any, hint: str | None = None) -> None:
        """Call a function, and raise unless it succeeds; `hint` is the cure in the error.

        Raises
        ------
        FMUCallError      the FMU discards the call, or fails
        """
        status = self.function(name)(self.component, *given)
        if went_wrong(status):
            raise self.failed(name, status, hint=hint)
        if self.log.problem is not None:
            problem, self.log.problem = self.log.problem, None
            raise problem

    def failed(self, name: str, status: int, why: str = "", hint: str | None = None) -> FMUCallError:
        """The error about a call that returned a status."""
        words = STATUS if self.prefix == "fmi2" else STATUS[:5]  # FMI 3.0 has no Pending
        known = 0 <= status < len(words)
        word = words[status].lower() if known else f"the unknown status {status}"
        self.dead = self.dead or word == "fatal"
        self.failing = self.failing or word == "error" or not known
        where = "" if self.time is None else f" at t={self.time:.9g} s"
        because, said = f" ({why})" if why else "", self.log.shown()
        end = "\n" if hint and "\n" in said else ""  # of the log lines
        return FMUCallError(
            f"FMU '{self.library.file}', instance '{self.log.name}': {self.prefix}{name} returned "
            f"{word}{because}{where}. {said}{end}",
            path=self.log.name,
            time=self.time,
            value=status,
            hint=hint,
        )
