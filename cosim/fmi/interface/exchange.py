"""Values of variables in batches: one call per type, with buffers that are made once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from cosim.fmi.description import Variable, no_items
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.caller import Caller, went_wrong
from cosim.fmi.interface.dialect import Dialect

EXACT = 2**53  # integers up to this are exact as doubles
BOOLEAN = "Boolean"


class ValueBatch:
    """Variables of one type, read or written by one call.

    places : (n,) where their scalars are in the whole vector
    """

    def __init__(self, call: Caller, dialect: Dialect, variables: Sequence[Variable], verb: str) -> None:
        f = ffi()
        word, ctype, dtype = dialect.types[variables[0].type]
        self.call, self.variables, self.name = call, variables, verb + word
        self.size = sum(v.size for v in variables)
        self.references = f.new("uint32_t[]", [v.reference for v in variables])
        self.values = np.zeros(self.size, dtype=dtype)
        self.pointer = f.from_buffer(f"{ctype}[]", self.values, require_writable=True)
        self.counts = (self.size,) if dialect.counts else ()
        self.function = call.function(self.name)
        self.whole = np.issubdtype(dtype, np.integer) and np.dtype(dtype).itemsize == 8

    def prepared(self) -> Callable[[], int]:
        """The prepared call, which returns the status; valid as long as the instance.

        Bound in C: Python's own way to pass values takes a tenth of the time of a call.
        """
        given = self.references, len(self.variables), self.pointer, *self.counts
        return partial(self.function, self.call.component, *given)

    def run(self) -> None:
        """Make the call."""
        status = self.function(
            self.call.component, self.references, len(self.variables), self.pointer, *self.counts
        )
        if went_wrong(status):
            names = ", ".join(f"'{v.name}'" for v in self.variables[:3])
            more = f" and {len(self.variables) - 3} more" if len(self.variables) > 3 else ""
            raise self.call.failed(self.name, status, f"for {names}{more}")


def grouped(variables: Sequence[Variable]) -> list[tuple[list[Variable], np.ndarray]]:
    """Variables by type, with the places of their scalars among those of all."""
    found: dict[str, tuple[list[Variable], list[np.ndarray]]] = {}
    start = 0
    for v in variables:
        members, places = found.setdefault(v.type, ([], []))
        members.append(v)
        places.append(np.arange(start, start := start + v.size))
    return [(members, np.concatenate(places)) for members, places in found.values()]


class Getter:
    """Reads some variables, all scalars one after the other, row-major."""

    def __init__(self, call: Caller, dialect: Dialect, variables: Sequence[Variable]) -> None:
        filled = [v for v in variables if v.size]
        self._call = call
        self._groups = [(ValueBatch(call, dialect, g, "Get"), places) for g, places in grouped(filled)]
        self.size = sum(v.size for v in filled)
        plain = len(self._groups) == 1 and self._groups[0][0].values.dtype == np.float64
        self._out = self._groups[0][0].values if plain else np.zeros(self.size)
        self._plain = plain

    def read(self) -> np.ndarray:
        """(n,) float; overwritten by the next call.

        Raises
        ------
        FMUCallError      the FMU refuses, or gives an integer that a double cannot hold
        """
        for group, places in self._groups:
            group.run()
            if self._plain:
                break
            if group.whole:
                _check_exact(group)
            self._out[places] = group.values
        return self._out


def _check_exact(group: ValueBatch) -> None:
    inexact = [abs(int(n)) > EXACT for n in group.values]
    if any(inexact):
        k, start = inexact.index(True), 0
        for v in group.variables:
            if k < start + v.size:
                break
            start += v.size
        raise FMUCallError(
            f"FMU '{group.call.library.file}', instance '{group.call.log.name}': '{v.name}' is "
            f"{int(group.values[k])}, an integer that no number on a wire holds exactly (2^53 is the limit).",
            path=group.call.log.name,
            port=v.name,
            time=group.call.time,
            value=int(group.values[k]),
            hint="Leave it out with outputs=[...], and look at it with get of an opened FMU.",
        )


class Setter:
    """Sets some variables, all scalars one after the other, row-major."""

    def __init__(self, call: Caller, dialect: Dialect, variables: Sequence[Variable]) -> None:
        filled = [v for v in variables if v.size]
        self._groups = [(ValueBatch(call, dialect, g, "Set"), places) for g, places in grouped(filled)]
        self.size = sum(v.size for v in filled)
        self._plain = len(self._groups) == 1 and self._groups[0][0].values.dtype == np.float64

    def write(self, values: np.ndarray) -> None:
        """Set (n,) float.

        Raises
        ------
        FMUCallError      the FMU refuses, or a number is none of the variable's type
        """
        for group, places in self._groups:
            if self._plain:
                group.values[:] = values
            else:
                self._put(group, values[places])
            group.run()

    @staticmethod
    def _put(group: ValueBatch, values: np.ndarray) -> None:
        kind = group.values.dtype
        if group.variables[0].type == BOOLEAN:
            bad = np.isnan(values)
            group.values[:] = values != 0.0
        elif np.issubdtype(kind, np.floating):
            bad = np.isfinite(values) & (np.abs(values) > np.finfo(kind).max)
            if not bad.any():
                group.values[:] = values
        else:
            low, high = _wire_limits(kind)
            bad = ~((values == np.floor(values)) & (values >= low) & (values <= high))
            bad |= no_items(group.variables, values)
            if not bad.any():
                group.values[:] = values
        if bad.any():
            k, start = int(np.flatnonzero(bad)[0]), 0
            for v in group.variables:
                if k < start + v.size:
                    break
                start += v.size
            limits = f", only {v.listed_items}" if v.items else _limits(group)
            raise FMUCallError(
                f"FMU '{group.call.library.file}', instance '{group.call.log.name}': '{v.name}' is of type "
                f"{v.type} and cannot take {float(values[k])!r}{limits}.",
                path=group.call.log.name,
                port=v.name,
                time=group.call.time,
                value=float(values[k]),
                hint=_cure(float(values[k])),
            )


def _wire_limits(kind: np.dtype[Any]) -> tuple[float, float]:
    """The least and greatest integers of a type in the range where every integer is exact as a double."""
    limits = np.iinfo(kind)
    return max(float(limits.min), -float(EXACT)), min(float(limits.max), float(EXACT))


def _limits(group: ValueBatch) -> str:
    if group.variables[0].type == BOOLEAN:
        return ""
    if np.issubdtype(group.values.dtype, np.floating):
        most = float(np.finfo(group.values.dtype).max)
        return f", only numbers from {-most:.4g} to {most:.4g}"
    low, high = _wire_limits(group.values.dtype)
    return f", only whole numbers from {low:.0f} to {high:.0f}"


def _cure(value: float) -> str:
    if math.isnan(value):
        return "Look for where the signal stops being a number."
    if math.isfinite(value) and value != math.floor(value):
        return "Round the signal first, for instance with a Function block and np.round."
    return "Limit the signal first, for instance with a Saturation."


def get_any(call: Caller, dialect: Dialect, v: Variable) -> Any:
    """The value of one variable of any type: a number, a text, bytes, or an array of these.

    Integers come as int, so that none loses a digit.
    """
    f = ffi()
    references = f.new("uint32_t[]", [v.reference])
    if v.type in ("String", "Binary"):
        texts = f.new("const char *[]" if v.type == "String" else "const uint8_t *[]", v.size)
        sizes = f.new("size_t[]", v.size)
        before = (sizes,) if v.type == "Binary" else ()
        counts = (v.size,) if dialect.counts else ()
        call(f"Get{v.type}", references, 1, *before, texts, *counts)
        found: list[Any] = []
        for k in range(v.size):
            if v.type == "Binary":
                if sizes[k] and texts[k] == f.NULL:
                    raise call.failed("GetBinary", 0, f"and {sizes[k]} bytes of '{v.name}' at no address")
                found.append(bytes(f.buffer(texts[k], sizes[k])) if sizes[k] else b"")
            else:
                found.append("" if texts[k] == f.NULL else f.string(texts[k]).decode("utf-8", "replace"))
        return found if v.shape else found[0]
    if v.type == "Clock":
        flag = f.new("bool[1]")
        call("GetClock", references, 1, flag)
        return bool(flag[0])
    group = ValueBatch(call, dialect, [v], "Get")
    group.run()
    values = group.values.astype(bool) if v.type == BOOLEAN else group.values
    return values.reshape(v.shape).copy() if v.shape else values[0].item()


def set_any(call: Caller, dialect: Dialect, v: Variable, value: Any) -> None:
    """Set one variable of any type to what `checked_value` returned."""
    f = ffi()
    references = f.new("uint32_t[]", [v.reference])
    if v.type in ("String", "Binary"):
        given = list(value) if v.shape else [value]
        encoded = [t.encode() if isinstance(t, str) else bytes(t) for t in given]
        kind = "char[]" if v.type == "String" else "uint8_t[]"
        kept = [f.new(kind, e + (b"\0" if v.type == "String" else b"") or b"\0") for e in encoded]
        counts = (len(given),) if dialect.counts else ()
        if v.type == "String":
            call("SetString", references, 1, f.new("const char *[]", kept), *counts)
        else:
            sizes = f.new("size_t[]", [len(e) for e in encoded])
            call("SetBinary", references, 1, sizes, f.new("const uint8_t *[]", kept), *counts)
        return
    group = ValueBatch(call, dialect, [v], "Set")
    group.values[:] = np.asarray(value, dtype=group.values.dtype).ravel()
    group.run()
