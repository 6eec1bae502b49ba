"""One instance of an FMU: every call of the standard that we use, the same for both versions.

FMI calls it a component (2.0) or an instance (3.0). It keeps to the order of calls that the standard allows
only as far as its user does: `session` and the blocks know the order.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.binding import Library, ffi
from cosim.fmi.interface.caller import Caller, went_wrong
from cosim.fmi.interface.clock_calls import ClockCalls, PartitionCalls
from cosim.fmi.interface.dialect import DIALECTS, IntermediateUpdate
from cosim.fmi.interface.exchange import Getter, Setter, get_any, set_any
from cosim.fmi.interface.log_lines import LogLines
from cosim.fmi.interface.outcomes import ClockInterval, DiscreteStates, StepOutcome
from cosim.fmi.interface.working_folder import same_folder


class UnpackedFolder(Protocol):
    """The folder of an unpacked FMU."""

    @property
    def folder(self) -> Path:
        """The path of the folder."""

    @property
    def loaded(self) -> dict[str, Any]:
        """Binaries that stay loaded as long as the folder is there, by their names without ending."""

    def library(self, identifier: str) -> Path:
        """The binary of this platform."""


NOMINALS = "GetNominalsOfContinuousStates"
CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal", "logStatusPending")


class Component:
    """An instance made by the functions of the FMU itself.

    Parameters
    ----------
    description, interface : what to instantiate
    unpacked : its folder; name : of the instance, for messages
    event_mode : of co-simulation, FMI 3.0
    update : of FMI 3.0, a callback of C that the FMU makes during a step (intermediate update)

    Raises
    ------
    FMUError      the binary cannot be loaded, is of another version, or does not instantiate
    """

    def __init__(
        self,
        description: FMUDescription,
        interface: Interface,
        unpacked: UnpackedFolder,
        name: str,
        event_mode: bool = False,
        update: Any = None,
    ) -> None:
        self.description, self.interface, self.name = description, interface, name
        self._unpacked = unpacked
        self.dialect = DIALECTS[description.major]
        self._partitions: PartitionCalls | None = None
        if interface.kind == "se":
            countdowns = [v for v in description.clocks if v.clock and v.clock.kind == "countdown"]
            self._partitions = PartitionCalls(countdowns, description.output_clocks)
        library, shared = _library(description, interface, unpacked)
        self.log = LogLines(name, description.major)
        self.call = call = Caller(library, self.dialect.prefix, self.log)
        self._check_version()
        key = "resources", unpacked.folder
        resources = description.derived.get(key, lambda: self.dialect.resources(unpacked.folder))
        with same_folder():
            made, self._kept = self.dialect.instantiate(
                call,
                name,
                interface.kind,
                description.token,
                resources,
                self.log,
                event_mode,
                self._update(update),
                None if self._partitions is None else self._partitions.callbacks,
            )
        if made == ffi().NULL:
            said = self.log.shown()
            raise FMUCallError(
                f"FMU '{description.file}', instance '{name}': it could not be instantiated. {said}"
                + ("\n" if "\n" in said else ""),
                path=name,
                hint=_why_no_instance(interface, shared),
            )
        call.component = made
        self.clocks = ClockCalls(call)
        if self._partitions is not None:
            self._partitions.belongs_to(call)
        self._stepping: tuple[bool, Callable[[float, float], int]] | None = None
        self._free = weakref.finalize(self, _freed, call, made, self._kept, unpacked, self.dialect.free_state)
        declared = [c for c in CATEGORIES if c in description.log_categories]
        if declared:
            f = ffi()
            names = [f.new("char[]", c.encode()) for c in declared]
            call.tried("SetDebugLogging", 1, len(names), f.new("const char *[]", names))

    def _update(self, callback: Any) -> IntermediateUpdate | None:
        if callback is None:
            return None
        return IntermediateUpdate(
            callback, [v.reference for v in self.description.inputs if v.intermediate_update]
        )

    def _check_version(self) -> None:
        library = self.call.library
        if library.version is None:
            library.version = ffi().string(self.call.function("GetVersion")()).decode("utf-8", "replace")
        said = library.version
        if said.split(".")[0] != str(self.description.major):
            raise self.description.fault(
                f"its binary says it is of FMI version {said}, its description {self.description.version}"
            )

    def close(self) -> None:
        """Free the instance; no function may be called after this."""
        with same_folder():
            self._free()
        self.call.component = ffi().NULL
        if not self.call.dead:
            self.log.close()

    @property
    def closed(self) -> bool:
        """Whether the instance is freed."""
        return not self._free.alive

    # --- values -----------------------------------------------------------------------------------
    def getter(self, variables: Sequence[Variable]) -> Getter:
        """A reader of some numeric variables."""
        return Getter(self.call, self.dialect, variables)

    def setter(self, variables: Sequence[Variable]) -> Setter:
        """A setter of some numeric variables."""
        return Setter(self.call, self.dialect, variables)

    def get(self, variable: Variable) -> Any:
        """The value of one variable of any type."""
        return get_any(self.call, self.dialect, variable)

    def set(self, variable: Variable, value: Any) -> None:
        """Set one variable of any type."""
        set_any(self.call, self.dialect, variable, value)

    # --- life -------------------------------------------------------------------------------------
    def configure(self, values: Mapping[Variable, Any]) -> None:
        """Set structural parameters, in configuration mode."""
        if values:
            self.call("EnterConfigurationMode")
            for variable, value in values.items():
                self.set(variable, value)
            self.call("ExitConfigurationMode")

    def enter_initialization(
        self, start: float, stop: float | None = None, tolerance: float | None = None
    ) -> None:
        """Enter initialisation mode at `start` [s]."""
        self.call.time = start
        with same_folder():
            self.dialect.enter_initialization(self.call, start, stop, tolerance)

    def exit_initialization(self) -> None:
        """Leave initialisation mode."""
        with same_folder():
            self.call("ExitInitializationMode")

    def terminate(self) -> None:
        """End the run; nothing is done after an error, from which there is no way to it."""
        if not self.call.failing and not self.call.dead:
            with same_folder():
                self.call("Terminate")

    def reset(self) -> None:
        """Reset to the state after instantiation."""
        self.call("Reset")
        self.call.failing, self.call.time = False, None

    # --- co-simulation ----------------------------------------------------------------------------
    def step(self, t: float, h: float, no_way_back: bool = True) -> StepOutcome:
        """A communication step from t over h [s]; `no_way_back`: no state before t will be restored."""
        if self._stepping is None or self._stepping[0] != no_way_back:
            self._stepping = no_way_back, self.dialect.stepping(self.call, no_way_back)
        return self.stepped(t, h, self._stepping[1](t, h))

    def stepping(self) -> Callable[[float, float], int]:
        """A function (t, h) that steps and returns the status, 0 if there is nothing else; see `stepped`."""
        return self.dialect.stepping(self.call, False)

    def stepped(self, t: float, h: float, status: int) -> StepOutcome:
        """The outcome of a step.

        Raises
        ------
        FMUCallError      it failed, or says of no time that it got there
        """
        outcome = self.dialect.stepped(self.call, t, h, status)
        if not math.isfinite(outcome.time):
            raise FMUCallError(
                f"FMU '{self.description.file}', instance '{self.name}': "
                f"{self.dialect.prefix}DoStep says that it got to t={outcome.time} from t={t:.9g} s. "
                f"{self.log.shown()}",
                path=self.name,
                time=t,
                hint="That is a fault of the FMU; ask its maker.",
            )
        self.call.time = outcome.time
        return outcome

    def enter_step_mode(self) -> None:
        """Enter step mode from event mode, in FMI 3.0 co-simulation."""
        self.call("EnterStepMode")

    def set_input_derivatives(self, references: Any, orders: Any, values: Any) -> None:
        """In FMI 2.0 co-simulation: set derivatives of inputs over the next step; arrays of C."""
        self.call("SetRealInputDerivatives", references, len(references), orders, values)

    # --- events -----------------------------------------------------------------------------------
    def enter_event_mode(self) -> None:
        """Enter event mode."""
        self.call("EnterEventMode")

    def update_once(self) -> DiscreteStates:
        """Do one round in event mode."""
        return self.dialect.update_discrete_states(self.call)

    def activate(self, clock: Variable, t: float) -> tuple[list[str], list[tuple[str, ClockInterval]]]:
        """Scheduled execution: see `PartitionCalls.activate`."""
        assert self._partitions is not None  # other kinds do not call it
        return self._partitions.activate(self.call, clock, t)

    def update_discrete_states(self, most: int = 100) -> DiscreteStates:
        """Do all rounds in event mode; the flags are those of any round.

        Raises
        ------
        FMUCallError      no end after `most` rounds
        """
        terminate = nominals = values = False
        for _ in range(most):
            found = self.dialect.update_discrete_states(self.call)
            terminate |= found.terminate
            nominals |= found.nominals_changed
            values |= found.values_changed
            if not found.again or found.terminate:
                return DiscreteStates(False, terminate, nominals, values, found.next_time)
        raise FMUCallError(
            f"FMU '{self.description.file}', instance '{self.name}': its discrete states still change after "
            f"{most} rounds at t={self.call.time:.9g} s.",
            path=self.name,
            time=self.call.time,
            hint="Its events set each other off without end: ask its maker.",
        )

    # --- model exchange ---------------------------------------------------------------------------
    def enter_continuous_time_mode(self) -> None:
        """Enter continuous-time mode from event mode, in model exchange."""
        self.call("EnterContinuousTimeMode")

    def set_time(self, t: float) -> None:
        """Set the time [s] for all following calls."""
        self.call.time = t
        self.call("SetTime", t)

    def set_states(self, x: np.ndarray) -> None:
        """Set continuous states, (nx,)."""
        if len(x):
            self.call("SetContinuousStates", _pointer(x), len(x))

    def states(self, out: np.ndarray) -> np.ndarray:
        """Read continuous states, (nx,), into `out`."""
        return self._vector("GetContinuousStates", out)

    def derivatives(self, out: np.ndarray) -> np.ndarray:
        """Read their derivatives, (nx,), into `out`."""
        return self._vector(self.dialect.derivatives, out)

    def indicators(self, out: np.ndarray) -> np.ndarray:
        """Read event indicators, (nz,), into `out`."""
        return self._vector("GetEventIndicators", out)

    def nominals(self, out: np.ndarray) -> np.ndarray:
        """Read nominal values of the states, (nx,), into `out`; ones if the FMU has no function for them."""
        if not self.call.library.has(self.call.prefix + NOMINALS):
            out[:] = 1.0
            return out
        return self._vector(NOMINALS, out)

    def _vector(self, name: str, out: np.ndarray) -> np.ndarray:
        if len(out):
            status = self.call.tried(name, _pointer(out), len(out))
            if went_wrong(status):
                raise self.call.failed(name, status, f"for {len(out)} numbers, as its description has it")
        return out

    def counts(self) -> tuple[int, int] | None:
        """The numbers of states and event indicators that the instance reports; None in FMI 2.0."""
        if not self.dialect.reports_sizes:
            return None
        found = []
        for what in ("ContinuousStates", "EventIndicators"):
            room = ffi().new("size_t *")
            try:
                self.call(f"GetNumberOf{what}", room)
            except FMUError:  # it does not report them
                return None
            found.append(int(room[0]))
        return found[0], found[1]

    def completed_step(self) -> tuple[bool, bool]:
        """Report an accepted step; returns whether the FMU asks for event mode, and whether for the end."""
        return self.dialect.completed_step(self.call)

    def directional(
        self, unknowns: Sequence[Variable], knowns: Sequence[Variable], seed: np.ndarray
    ) -> np.ndarray:
        """Derivative of some variables in one direction of others, (n,); seed (m,), all scalars.

        Raises
        ------
        FMUError      the FMU does not give derivatives
        """
        if not self.interface.directional_derivatives:
            raise self.description.fault("it gives no directional derivatives")
        f = ffi()
        found = np.zeros(sum(v.size for v in unknowns))
        unknown, known = (f.new("uint32_t[]", [v.reference for v in vs]) for vs in (unknowns, knowns))
        given = np.ascontiguousarray(seed, dtype=float)
        self.dialect.directional(self.call, unknown, known, _pointer(given), _pointer(found))
        return found

    # --- states -----------------------------------------------------------------------------------
    def save(self) -> SavedState:
        """Save the whole state of the FMU, inside it.

        Raises
        ------
        FMUError      the FMU cannot
        """
        if not self.interface.can_get_and_set_state:
            raise self.description.fault("it cannot save its state (canGetAndSetFMUState is false)")
        return SavedState(self)

    def load(self, state: SavedState) -> None:
        """Restore what `save` returned."""
        self.call(self.dialect.load, state.pointer[0])
        self.call.failing = False

    def serialized(self) -> bytes:
        """The whole state as bytes, for another instance or process.

        Raises
        ------
        FMUError      the FMU cannot
        """
        if not self.interface.can_serialize_state:
            raise self.description.fault("it cannot write its state as bytes (canSerializeFMUState is false)")
        f, state = ffi(), self.save()
        size = f.new("size_t *")
        self.call(self.dialect.size, state.pointer[0], size)
        room = f.new(self.dialect.state_bytes, size[0])
        self.call(self.dialect.serialize, state.pointer[0], room, size[0])
        state.close()
        return bytes(f.buffer(room))

    def deserialize(self, state: bytes) -> None:
        """Restore what `serialized` returned."""
        f, pointer = ffi(), ffi().new("void **")
        room = f.from_buffer(self.dialect.state_bytes, state)
        self.call(self.dialect.deserialize, room, len(state), pointer)
        try:
            self.call(self.dialect.load, pointer[0])
        finally:
            self.call.tried(self.dialect.free_state, pointer)


class SavedState:
    """A state of an FMU in its own memory; freed with this object."""

    def __init__(self, of: Component) -> None:
        self.pointer = ffi().new("void **")
        of.call(of.dialect.save, self.pointer)
        of.call.saved[id(self.pointer)] = self.pointer
        self._free = weakref.finalize(self, _freed_state, of.call, of.dialect.free_state, self.pointer)

    def close(self) -> None:
        """Free the state."""
        self._free()


def _library(
    description: FMUDescription, interface: Interface, unpacked: UnpackedFolder
) -> tuple[Library, bool]:
    """The binary, which instances share, and whether others of those that may exist only once live now.

    It stays loaded with its folder. One that can be instantiated only once in a process may keep something in
    variables of its own, and is unloaded with its last instance.
    """
    stays: Library | None = unpacked.loaded.get(interface.identifier)
    if stays is not None:
        return stays, True
    path = unpacked.library(interface.identifier)
    loaded = description.derived.get("libraries", weakref.WeakValueDictionary[Path, Library])
    found = loaded.get(path)
    if found is None:
        library = loaded[path] = Library(path, description.file)
        if not interface.only_once_per_process:
            unpacked.loaded[interface.identifier] = library
        return library, False
    return found, True


def _why_no_instance(interface: Interface, shared: bool) -> str:
    """The likeliest reason why an FMU gives no instance; `shared` with others that live in this process."""
    if interface.only_once_per_process and shared:
        return "It can be instantiated once in a process only: use isolate=True."
    if interface.needs_execution_tool:
        return (
            "It needs the tool that made it (needsExecutionTool): is that installed here, with its licence?"
        )
    return "A wrong guid, resources that are missing, or a licence are the usual reasons."


def _pointer(array: np.ndarray) -> Any:
    return ffi().from_buffer("double[]", array)


def _freed_state(call: Caller, name: str, pointer: Any) -> None:
    if call.saved.pop(id(pointer), None) is not None and not call.dead:
        call.tried(name, pointer)


def _freed(call: Caller, made: Any, kept: Sequence[Any], unpacked: UnpackedFolder, free_state: str) -> None:
    """Free an instance and its states; after a fatal error it is left alone, as the standard demands."""
    for pointer in list(call.saved.values()):
        _freed_state(call, free_state, pointer)
    if not call.dead:
        call.function("FreeInstance")(made)
    del kept, unpacked


__all__ = ["Component", "FMUError", "SavedState"]
