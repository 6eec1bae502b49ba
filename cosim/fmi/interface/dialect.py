"""The differences between FMI 2.0 and 3.0: names, argument lists and types in C."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any, ClassVar

import numpy as np

from cosim.fmi.interface.binding import ffi, libc
from cosim.fmi.interface.caller import DISCARD, Caller, went_wrong
from cosim.fmi.interface.clock_calls import PartitionCallbacks
from cosim.fmi.interface.log_lines import LogLines
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome

DO_STEP_STATUS, LAST_SUCCESSFUL_TIME, TERMINATED = 0, 2, 3  # fmi2StatusKind
PENDING = 5
LONGEST_PAUSE = 1e-3  # s, between two looks at a step that goes on in the background


@dataclass(frozen=True)
class IntermediateUpdate:
    """In FMI 3.0: a callback of C that an FMU calls during a step, and the inputs that may be set in it."""

    callback: Any
    references: list[int]


def of_stop_time(stop: float | None) -> str | None:
    """A hint if an FMU does not start: without a stop time it may need one."""
    return None if stop is not None else "If it wants to know when the run ends: FMU(..., stop_time=...)."


class Dialect(abc.ABC):
    """One version of the standard.

    prefix : of all functions; counts : do getters and setters take the number of values as well?
    types : our type -> (word in the names of getters and setters, type of C, type of NumPy)
    """

    prefix: str
    counts: bool
    types: ClassVar[dict[str, tuple[str, str, Any]]]
    save: str
    load: str
    free_state: str
    size: str
    serialize: str
    deserialize: str
    state_bytes: str  # type in C of a serialised state
    reports_sizes: bool  # are there functions for the numbers of states and event indicators?
    derivatives: str
    update: str  # of discrete states
    told_stop: str  # the function that tells it when the run ends

    @abc.abstractmethod
    def resources(self, folder: Path) -> Any:
        """The resources in the folder of an FMU, as `instantiate` takes them."""

    @abc.abstractmethod
    def instantiate(
        self,
        call: Caller,
        name: str,
        kind: str,
        token: str,
        resources: Any,
        log: LogLines,
        events: bool,
        update: IntermediateUpdate | None = None,
        partitions: PartitionCallbacks | None = None,
    ) -> tuple[Any, list[Any]]:
        """Make the instance (NULL if it failed), and objects that must outlive it."""

    @abc.abstractmethod
    def enter_initialization(
        self, call: Caller, start: float, stop: float | None, tolerance: float | None
    ) -> None:
        """Set up the experiment and enter initialisation mode."""

    @abc.abstractmethod
    def stepping(self, call: Caller, no_way_back: bool) -> Callable[[float, float], int]:
        """A function (t, h) that makes a communication step and returns its status, 0 if that is all."""

    @abc.abstractmethod
    def stepped(self, call: Caller, t: float, h: float, status: int) -> StepOutcome:
        """The outcome of a step that `stepping` made."""

    @abc.abstractmethod
    def update_discrete_states(self, call: Caller) -> DiscreteStates:
        """Do one round in event mode."""

    @abc.abstractmethod
    def completed_step(self, call: Caller) -> tuple[bool, bool]:
        """Report an accepted step; returns whether to enter event mode, and whether to terminate."""

    @abc.abstractmethod
    def directional(self, call: Caller, unknowns: Any, knowns: Any, seed: Any, found: Any) -> None:
        """found = d unknowns / d knowns seed; pointers of C."""


class FMI2(Dialect):
    """FMI 2.0."""

    prefix, counts = "fmi2", False
    types: ClassVar[dict[str, tuple[str, str, Any]]] = {
        "Float64": ("Real", "double", np.float64),
        "Int32": ("Integer", "int", np.int32),
        "Enumeration": ("Integer", "int", np.int32),
        "Boolean": ("Boolean", "int", np.int32),
    }
    save, load, free_state = "GetFMUstate", "SetFMUstate", "FreeFMUstate"
    size, serialize, deserialize = "SerializedFMUstateSize", "SerializeFMUstate", "DeSerializeFMUstate"
    state_bytes, reports_sizes = "char[]", False
    derivatives, update, told_stop = "GetDerivatives", "NewDiscreteStates", "SetupExperiment"

    def resources(self, folder: Path) -> Any:
        """See `Dialect.resources`: a URI, percent-encoded."""
        return (folder / "resources").as_uri().encode()

    def instantiate(
        self,
        call: Caller,
        name: str,
        kind: str,
        token: str,
        resources: Any,
        log: LogLines,
        events: bool,
        update: IntermediateUpdate | None = None,
        partitions: PartitionCallbacks | None = None,
    ) -> tuple[Any, list[Any]]:
        """See `Dialect.instantiate`."""
        f, c = ffi(), libc()
        functions = f.new("fmi2CallbackFunctions *")
        functions.logger = f.cast("void *", log.callback)
        functions.allocateMemory = f.addressof(c, "calloc")
        functions.freeMemory = f.addressof(c, "free")
        instance = call.function("Instantiate")(
            name.encode(), 0 if kind == "me" else 1, token.encode(), resources, functions, 0, 1
        )
        return instance, [functions]

    def enter_initialization(
        self, call: Caller, start: float, stop: float | None, tolerance: float | None
    ) -> None:
        """See `Dialect.enter_initialization`."""
        given = (tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0)
        call("SetupExperiment", *given, hint=of_stop_time(stop))
        call("EnterInitializationMode")

    def stepping(self, call: Caller, no_way_back: bool) -> Callable[[float, float], int]:
        """See `Dialect.stepping`."""
        function, component, flag = call.step_function, call.component, int(no_way_back)

        def step(t: float, h: float) -> int:
            status: int = function(component, t, h, flag)
            return status

        return step

    def stepped(self, call: Caller, t: float, h: float, status: int) -> StepOutcome:
        """See `Dialect.stepped`."""
        if not went_wrong(status):
            return StepOutcome(t + h)
        call.time = t
        if status == PENDING:
            status = awaited(lambda: _look(call))
            if not went_wrong(status):
                return StepOutcome(t + h)
        if status != DISCARD:
            raise call.failed("DoStep", status)
        f = ffi()
        ended, reached = f.new("int *"), f.new("double *", t)
        call.tried("GetBooleanStatus", TERMINATED, ended)
        if went_wrong(call.tried("GetRealStatus", LAST_SUCCESSFUL_TIME, reached)):
            reached[0] = t
        return StepOutcome(float(reached[0]), bool(ended[0]), early=True, discarded=True)

    def update_discrete_states(self, call: Caller) -> DiscreteStates:
        """See `Dialect.update_discrete_states`."""
        info = ffi().new("fmi2EventInfo *")
        call("NewDiscreteStates", info)
        return DiscreteStates(
            bool(info.newDiscreteStatesNeeded),
            bool(info.terminateSimulation),
            bool(info.nominalsOfContinuousStatesChanged),
            bool(info.valuesOfContinuousStatesChanged),
            float(info.nextEventTime) if info.nextEventTimeDefined else None,
        )

    def completed_step(self, call: Caller) -> tuple[bool, bool]:
        """See `Dialect.completed_step`."""
        flags = ffi().new("int[2]")
        call("CompletedIntegratorStep", 0, flags, flags + 1)
        return bool(flags[0]), bool(flags[1])

    def directional(self, call: Caller, unknowns: Any, knowns: Any, seed: Any, found: Any) -> None:
        """See `Dialect.directional`."""
        call("GetDirectionalDerivative", unknowns, len(unknowns), knowns, len(knowns), seed, found)


def _look(call: Caller) -> int:
    """The status of a step that may go on in the background."""
    found = ffi().new("int *", PENDING)
    status = call.tried("GetStatus", DO_STEP_STATUS, found)
    if went_wrong(status):
        raise call.failed("GetStatus", status, "of a step that goes on in the background")
    return int(found[0])


def awaited(look: Callable[[], int]) -> int:
    """The status of a step of FMI 2.0 in the background when it is over; `look` gives the present one."""
    pause = 1e-5
    while (status := look()) == PENDING:
        sleep(pause)
        pause = min(2.0 * pause, LONGEST_PAUSE)
    return status


class FMI3(Dialect):
    """FMI 3.0."""

    prefix, counts = "fmi3", True
    types: ClassVar[dict[str, tuple[str, str, Any]]] = {
        "Float32": ("Float32", "float", np.float32),
        "Float64": ("Float64", "double", np.float64),
        "Int8": ("Int8", "int8_t", np.int8),
        "UInt8": ("UInt8", "uint8_t", np.uint8),
        "Int16": ("Int16", "int16_t", np.int16),
        "UInt16": ("UInt16", "uint16_t", np.uint16),
        "Int32": ("Int32", "int32_t", np.int32),
        "UInt32": ("UInt32", "uint32_t", np.uint32),
        "Int64": ("Int64", "int64_t", np.int64),
        "UInt64": ("UInt64", "uint64_t", np.uint64),
        "Enumeration": ("Int64", "int64_t", np.int64),
        "Boolean": ("Boolean", "bool", np.bool_),
    }
    save, load, free_state = "GetFMUState", "SetFMUState", "FreeFMUState"
    size, serialize, deserialize = "SerializedFMUStateSize", "SerializeFMUState", "DeserializeFMUState"
    state_bytes, reports_sizes = "uint8_t[]", True
    derivatives, update = "GetContinuousStateDerivatives", "UpdateDiscreteStates"
    told_stop = "EnterInitializationMode"

    def resources(self, folder: Path) -> Any:
        """See `Dialect.resources`: an absolute path with a separator at its end."""
        resources = folder / "resources"
        return (str(resources) + "/").encode() if resources.is_dir() else ffi().NULL

    def instantiate(
        self,
        call: Caller,
        name: str,
        kind: str,
        token: str,
        resources: Any,
        log: LogLines,
        events: bool,
        update: IntermediateUpdate | None = None,
        partitions: PartitionCallbacks | None = None,
    ) -> tuple[Any, list[Any]]:
        """See `Dialect.instantiate`."""
        f = ffi()
        given = [name.encode(), token.encode(), resources, False, True]
        if kind == "me":
            return call.function("InstantiateModelExchange")(*given, f.NULL, log.callback), []
        if partitions is not None:
            made = call.function("InstantiateScheduledExecution")(
                *given, f.NULL, log.callback, partitions.update, partitions.lock, partitions.unlock
            )
            return made, [partitions]
        if update is None:
            return call.function("InstantiateCoSimulation")(
                *given, events, events, f.NULL, 0, f.NULL, log.callback, f.NULL
            ), []
        references, callback = f.new("uint32_t[]", update.references), update.callback
        return call.function("InstantiateCoSimulation")(
            *given, events, events, references, len(update.references), f.NULL, log.callback, callback
        ), [references, update.callback]

    def enter_initialization(
        self, call: Caller, start: float, stop: float | None, tolerance: float | None
    ) -> None:
        """See `Dialect.enter_initialization`."""
        given = (tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0)
        call("EnterInitializationMode", *given, hint=of_stop_time(stop))

    def stepping(self, call: Caller, no_way_back: bool) -> Callable[[float, float], int]:
        """See `Dialect.stepping`."""
        function, component = call.step_function, call.component
        room = event, terminate, early, reached = call.step_room

        def step(t: float, h: float) -> int:
            reached[0] = t + h
            status: int = function(component, t, h, no_way_back, *room)
            return status or int(event[0] or terminate[0] or early[0])

        return step

    def stepped(self, call: Caller, t: float, h: float, status: int) -> StepOutcome:
        """See `Dialect.stepped`."""
        event, terminate, early, reached = call.step_room
        discarded, failed = status == DISCARD, went_wrong(status)
        if not failed and not (event[0] or terminate[0] or early[0]):
            return StepOutcome(t + h)
        call.time = t
        if failed and not discarded:
            raise call.failed("DoStep", status)
        return StepOutcome(
            t if discarded else float(reached[0]),
            bool(terminate[0]),
            bool(event[0]),
            bool(early[0]) or discarded,
            discarded,
        )

    def update_discrete_states(self, call: Caller) -> DiscreteStates:
        """See `Dialect.update_discrete_states`."""
        f = ffi()
        flags, time = f.new("bool[5]"), f.new("double *")
        call("UpdateDiscreteStates", *(flags + k for k in range(5)), time)
        again, terminate, nominals, values, defined = (bool(flags[k]) for k in range(5))
        return DiscreteStates(again, terminate, nominals, values, float(time[0]) if defined else None)

    def completed_step(self, call: Caller) -> tuple[bool, bool]:
        """See `Dialect.completed_step`."""
        flags = ffi().new("bool[2]")
        call("CompletedIntegratorStep", False, flags, flags + 1)
        return bool(flags[0]), bool(flags[1])

    def directional(self, call: Caller, unknowns: Any, knowns: Any, seed: Any, found: Any) -> None:
        """See `Dialect.directional`."""
        call(
            "GetDirectionalDerivative",
            unknowns, len(unknowns), knowns, len(knowns), seed, len(seed), found, len(found),
        )  # fmt: skip


DIALECTS: dict[int, Dialect] = {2: FMI2(), 3: FMI3()}
