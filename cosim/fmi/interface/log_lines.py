"""The log of an FMU: lines go to `logging`, and the last ones are kept for messages."""

from __future__ import annotations

import logging
import platform
import re
import threading
from collections import deque
from collections.abc import Callable
from functools import cache as once
from typing import Any

from cosim.fmi.interface.binding import FLOATING, REGISTERS, STACKED, VARIADIC, ffi, libc

STATUS = ("OK", "Warning", "Discard", "Error", "Fatal", "Pending")
LEVELS = (logging.DEBUG, logging.WARNING, logging.WARNING, logging.ERROR, logging.CRITICAL, logging.DEBUG)
KEPT, LONGEST = 20, 2000
DIRECTIVE = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGaAp%])")

_log = logging.getLogger("plantloop.fmi")
_log.addHandler(logging.NullHandler())  # shown only if `logging` is configured


class LogLines:
    """The logger of one FMU instance, as a C callback; it must live as long as the instance.

    name : str      what messages call the instance
    major : int     of the FMI version
    lines           the newest, each "[status] category: text"
    """

    def __init__(self, name: str, major: int) -> None:
        self.name = name
        self.lines: deque[str] = deque(maxlen=KEPT)
        self.problem: BaseException | None = None  # raised inside the callback, where no exception may pass
        # while compiled code calls the FMU: what ends its run
        self.interrupt: Callable[[BaseException], None] | None = None
        self.tee: Callable[[str], None] | None = None  # called with every line
        self._lock = threading.Lock()
        said = self._said3 if major == 3 else self._said2
        self.callback: Any = ffi().callback(_logger(major), said, onerror=self._raised)

    def _said3(self, environment: Any, status: int, category: Any, message: Any) -> None:
        self._keep(status, _text(category), _text(message))

    def _said2(
        self, environment: Any, instance: Any, status: int, category: Any, message: Any, *given: Any
    ) -> None:
        text = _text(message)
        if "%" in text and given:
            first = REGISTERS.get(platform.machine(), 0)
            floating, whole = given[first : first + FLOATING], given[:first] + given[first + FLOATING :]
            text = formatted(text, whole, floating)
        self._keep(status, _text(category), text)

    def _raised(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if self.interrupt is not None and not isinstance(error, Exception):  # Ctrl-C
            self.interrupt(error)
        else:
            self.problem = error

    def _keep(self, status: int, category: str, text: str) -> None:
        word = STATUS[status] if 0 <= status < len(STATUS) else str(status)
        text = text.strip()[:LONGEST]
        with self._lock:
            self.lines.append(f"[{word}] {category}: {text}")
            if self.tee is not None:
                self.tee(self.lines[-1])
        level = LEVELS[status] if 0 <= status < len(LEVELS) else logging.WARNING
        _log.log(level, "%s: %s: %s", self.name, category, text)

    def close(self) -> None:
        """Free the callback, which nobody may call any more; it and this object keep each other."""
        self.callback = None

    def shown(self, most: int = 5) -> str:
        """The last lines for a message, or that there are none."""
        with self._lock:
            newest = list(self.lines)[-most:]
        return "It logged nothing." if not newest else "Its last log lines:\n  " + "\n  ".join(newest)


@once
def _logger(major: int) -> Any:
    """The type of C of the callback."""
    if major == 3:
        return ffi().typeof("void(*)(void *, int, const char *, const char *)")
    numbers = REGISTERS.get(platform.machine())
    kinds: list[str] = []
    if numbers is not None:
        kinds = ["long long"] * numbers + ["double"] * FLOATING + ["long long"] * STACKED
    return ffi().typeof(VARIADIC.format("".join(f", {kind}" for kind in kinds)))


def _text(pointer: Any) -> str:
    f = ffi()
    return "" if pointer == f.NULL else f.string(pointer, LONGEST).decode("utf-8", "replace")


def formatted(text: str, whole: tuple[int, ...], floating: tuple[float, ...]) -> str:
    """The text that printf makes of a format; the C library itself formats each directive.

    whole, floating : what was given, as far as it could be found; directives beyond them stay as they are
    """
    numbers, floats = iter(whole), iter(floating)

    def one(match: re.Match[str]) -> str:
        length, kind = match[1], match[2]
        if kind == "%":
            return "%"
        if "*" in match[0] or length == "L":
            return match[0]
        try:
            value = next(floats) if kind in "fFeEgGaA" else next(numbers)
        except StopIteration:
            return match[0]
        return _printed(match[0], kind, length or "", value)

    return DIRECTIVE.sub(one, text)


def _printed(directive: str, kind: str, length: str, value: float | int) -> str:
    f, c = ffi(), libc()
    argument: Any
    if kind in "fFeEgGaA":
        argument = f.cast("double", value)
    elif kind in "sp":
        argument = f.cast("char *", int(value))
        if kind == "s" and argument == f.NULL:
            return "(null)"
    elif length in ("ll", "j", "l", "z", "t"):
        argument = f.cast("long long", int(value))
    else:
        argument = f.cast("int", int(value) & 0xFFFFFFFF)
    room = f.new("char[]", LONGEST)
    c.snprintf(room, LONGEST, directive.encode(), argument)
    return str(f.string(room).decode("utf-8", "replace"))
