"""Calls about the clocks of FMI 3.0: ticks, intervals, and callbacks while a partition of it runs."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cosim.fmi.description import Variable
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.caller import Caller
from cosim.fmi.interface.outcomes import ClockInterval

NOT_YET_KNOWN, UNCHANGED, CHANGED = 0, 1, 2  # fmi3IntervalQualifier


@dataclass(frozen=True)
class PartitionCallbacks:
    """In scheduled execution: three callbacks of C that live as long as the instance."""

    update: Any
    lock: Any
    unlock: Any


class ClockCalls:
    """Calls about clocks, on one instance."""

    def __init__(self, call: Caller) -> None:
        self._call = call

    def tick(self, clocks: Sequence[Variable]) -> None:
        """Activate input clocks, in event mode."""
        if clocks:
            self._call("SetClock", *_references(clocks), ffi().new("bool[]", [True] * len(clocks)))

    def ticked(self, clocks: Sequence[Variable]) -> list[bool]:
        """Whether clocks ticked; an FMU reports each tick only once."""
        if not clocks:
            return []
        found = ffi().new("bool[]", len(clocks))
        self._call("GetClock", *_references(clocks), found)
        return [bool(flag) for flag in found]

    def intervals(self, clocks: Sequence[Variable]) -> list[ClockInterval]:
        """The intervals until their next ticks."""
        if not clocks:
            return []
        f = ffi()
        seconds, qualifiers = f.new("double[]", len(clocks)), f.new("int[]", len(clocks))
        self._call("GetIntervalDecimal", *_references(clocks), seconds, qualifiers)
        return [
            ClockInterval(float(s), q == CHANGED, q != NOT_YET_KNOWN)
            for s, q in zip(seconds, qualifiers, strict=True)
        ]

    def shifts(self, clocks: Sequence[Variable]) -> list[float]:
        """Time from the start to their first ticks [s]."""
        if not clocks:
            return []
        found = ffi().new("double[]", len(clocks))
        self._call("GetShiftDecimal", *_references(clocks), found)
        return [float(s) for s in found]

    def set_intervals(self, clocks: Sequence[Variable], seconds: Sequence[float]) -> None:
        """Set their intervals [s]."""
        if clocks:
            values = ffi().new("double[]", np.asarray(seconds, dtype=float).tolist())
            self._call("SetIntervalDecimal", *_references(clocks), values)


class PartitionCalls:
    """Runs partitions of an FMU for scheduled execution, and receives its callbacks about clocks meanwhile.

    countdowns, outputs : clocks that it is asked about when it says that something happened to them
    """

    def __init__(self, countdowns: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self._countdowns, self._outputs = list(countdowns), list(outputs)
        self._calls: ClockCalls | None = None
        self._ticked: list[str] = []
        self._intervals: list[tuple[str, ClockInterval]] = []
        self._problem: Exception | None = None
        f, itself = ffi(), weakref.ref(self)  # no cycle: it ends with its instance, not with the collector

        def update(environment: Any) -> None:
            found = itself()
            if found is not None:
                found._update()

        self.callbacks = PartitionCallbacks(
            f.callback("void(void *)", update),
            f.callback("void(void)", lambda: None),  # one thread runs all partitions: nothing is preempted
            f.callback("void(void)", lambda: None),
        )

    def belongs_to(self, call: Caller) -> None:
        """The instance whose partitions these are."""
        self._calls = ClockCalls(call)

    def _update(self) -> None:
        if self._calls is None:
            return
        try:
            flags = self._calls.ticked(self._outputs)
            self._ticked += [v.name for v, flag in zip(self._outputs, flags, strict=True) if flag]
            found = self._calls.intervals(self._countdowns)
            self._intervals += [(v.name, x) for v, x in zip(self._countdowns, found, strict=True)]
        except Exception as error:  # no exception may pass through the FMU's own frames
            self._problem = self._problem or error

    def activate(
        self, call: Caller, clock: Variable, t: float
    ) -> tuple[list[str], list[tuple[str, ClockInterval]]]:
        """Run the partition of a clock at t [s]; returns output clocks that ticked, and new intervals.

        Raises
        ------
        FMUCallError      the FMU fails, in the partition or where it is asked about its clocks
        """
        assert self._calls is not None  # made together with the instance
        self._ticked, self._intervals = [], []
        call.time = t
        call("ActivateModelPartition", clock.reference, t)
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        if clock.clock is not None and clock.clock.kind == "changing":
            self._intervals.append((clock.name, self._calls.intervals([clock])[0]))
        return self._ticked, self._intervals


def _references(clocks: Sequence[Variable]) -> tuple[Any, int]:
    return ffi().new("uint32_t[]", [v.reference for v in clocks]), len(clocks)
