"""FMUs called through FMPy: the methods of a `Component` on its classes, for FMI 2.0 and 3.0.

For comparison, and where FMPy knows a platform better; one call costs some 5 us.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.caller import DISCARD, ERROR, FATAL, went_wrong
from cosim.fmi.interface.dialect import DO_STEP_STATUS, LAST_SUCCESSFUL_TIME, PENDING, TERMINATED, awaited
from cosim.fmi.interface.exchange import EXACT, grouped
from cosim.fmi.interface.log_lines import LogLines
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome
from cosim.fmi.interface.working_folder import same_folder
from cosim.fmi.package import Unpacked
from cosim.fmi.values import check_items

OLD_WORDS = {"Float64": "Real", "Int32": "Integer", "Enumeration": "Integer"}
NEW_WORDS = {"Enumeration": "Int64"}
LIFE = ("instantiate", "enterInitializationMode", "exitInitializationMode", "terminate")
MOST = 100


class FMPyPlace:
    """See `AnyComponent.call`."""

    time: float | None = None


class FMPyComponent:
    """An instance that FMPy has made.

    Raises
    ------
    FMUCallError      a call fails
    """

    def __init__(
        self,
        description: FMUDescription,
        interface: Interface,
        unpacked: Unpacked,
        name: str,
        event_mode: bool = False,
    ) -> None:
        self.description, self.interface, self.name = description, interface, name
        self._unpacked, self.call = unpacked, FMPyPlace()
        self.log = LogLines(name, description.major)
        self.closed = self._failing = self._dead = False
        self._saved: dict[int, Any] = {}  # states in the memory of the FMU, which are freed before it
        self._new = description.major == 3
        cs, given = interface.kind == "cs", self._given(unpacked)
        more = {"eventModeUsed": event_mode} if cs and self._new else {}
        try:
            with same_folder():  # FMPy stays where the binary is if it cannot be loaded
                self._fmu: Any = self._class(cs)(**given)
        except Exception as error:  # FMPy looks up every function of the standard, and raises various ones
            cure = "It may be made for another system, or need a library that is not installed."
            if isinstance(error, AttributeError):
                cure = 'Use importer="native", which needs what is called only.'
            raise description.fault(f"FMPy cannot load its binary: {error}", cure) from error
        self._do("instantiate", **more, **self._logger())

    def _logger(self) -> dict[str, Any]:
        """The logger FMPy gives the FMU: ours in place of its own, which prints."""
        address = int(ffi().cast("uintptr_t", self.log.callback))
        if self._new:
            return {"logMessage": address}  # FMPy makes its type of callback of it
        from fmpy.fmi2 import defaultCallbacks, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE

        own = fmi2CallbackFunctions()
        own.logger = fmi2CallbackLoggerTYPE(address)
        own.allocateMemory, own.freeMemory = defaultCallbacks.allocateMemory, defaultCallbacks.freeMemory
        return {"callbacks": own}

    def _class(self, cs: bool) -> Any:
        if self._new:
            from fmpy.fmi3 import FMU3Model, FMU3Slave

            return FMU3Slave if cs else FMU3Model
        from fmpy.fmi2 import FMU2Model, FMU2Slave

        return FMU2Slave if cs else FMU2Model

    def _given(self, unpacked: Unpacked) -> dict[str, Any]:
        return {
            "guid": self.description.token,
            "unzipDirectory": str(unpacked.folder),
            "modelIdentifier": self.interface.identifier,
            "instanceName": self.name,
        }

    def _do(self, method: str, *given: Any, **named: Any) -> Any:
        try:
            with same_folder() if method in LIFE else contextlib.nullcontext():
                return getattr(self._fmu, method)(*given, **named)
        except Exception as error:  # FMPy raises various exceptions
            raise self._failed(method, str(error), getattr(error, "status", None)) from error

    def _failed(self, method: str, why: str, status: int | None) -> FMUCallError:
        where = "" if self.call.time is None else f" at t={self.call.time:.9g} s"
        self._failing, self._dead = self._failing or status == ERROR, self._dead or status == FATAL
        return FMUCallError(
            f"FMU '{self.description.file}', instance '{self.name}': FMPy's {method} failed{where}: "
            f"{why.rstrip('.')}. {self.log.shown()}",
            path=self.name,
            time=self.call.time,
            value=status,
        )

    def close(self) -> None:
        """Free the instance."""
        if not self.closed:
            for pointer in list(self._saved.values()):
                self.free(pointer)
            self.closed = True
            if not self._dead:
                with same_folder():
                    self._fmu.freeInstance()

    # --- values -----------------------------------------------------------------------------------
    def _word(self, v: Variable) -> str:
        return (NEW_WORDS if self._new else OLD_WORDS).get(v.type, v.type)

    def raw(self, variables: Sequence[Variable]) -> list[Any]:
        """Values of variables of one type."""
        more = {"nValues": sum(v.size for v in variables)} if self._new else {}
        found: list[Any] = list(
            self._do(f"get{self._word(variables[0])}", [v.reference for v in variables], **more)
        )
        return found

    def put(self, variables: Sequence[Variable], values: Sequence[Any]) -> None:
        """Set variables of one type."""
        self._do(f"set{self._word(variables[0])}", [v.reference for v in variables], list(values))

    def getter(self, variables: Sequence[Variable]) -> FMPyValues:
        """See `Component.getter`."""
        return FMPyValues(self, variables)

    def setter(self, variables: Sequence[Variable]) -> FMPyValues:
        """See `Component.setter`."""
        return FMPyValues(self, variables)

    def get(self, variable: Variable) -> Any:
        """See `Component.get`."""
        found = self.raw([variable])
        if variable.type == "Boolean":
            found = [bool(x) for x in found]
        elif variable.type == "String":
            found = [x.decode("utf-8", "replace") if isinstance(x, bytes) else x for x in found]
        elif variable.type == "Binary":
            found = [x or b"" for x in found]  # of no bytes FMPy makes None
        if not variable.shape:
            return found[0]
        return np.array(found).reshape(variable.shape) if variable.numeric else found

    def set(self, variable: Variable, value: Any) -> None:
        """See `Component.set`."""
        self.put([variable], np.ravel(value).tolist() if variable.shape else [value])

    # --- life -------------------------------------------------------------------------------------
    def configure(self, values: Mapping[Variable, Any]) -> None:
        """See `Component.configure`."""
        if values:
            self._do("enterConfigurationMode")
            for variable, value in values.items():
                self.set(variable, value)
            self._do("exitConfigurationMode")

    def enter_initialization(
        self, start: float, stop: float | None = None, tolerance: float | None = None
    ) -> None:
        """See `Component.enter_initialization`."""
        self.call.time = start
        given = {"tolerance": tolerance, "startTime": start, "stopTime": stop}
        if self._new:
            self._do("enterInitializationMode", **given)
        else:
            self._do("setupExperiment", **given)
            self._do("enterInitializationMode")

    def exit_initialization(self) -> None:
        """See `Component.exit_initialization`."""
        self._do("exitInitializationMode")

    def terminate(self) -> None:
        """See `Component.terminate`."""
        if not self._failing and not self._dead:
            self._do("terminate")

    def reset(self) -> None:
        """See `Component.reset`."""
        self._do("reset")
        self._failing, self.call.time = False, None

    def step(self, t: float, h: float, no_way_back: bool = True) -> StepOutcome:
        """See `Component.step`."""
        try:
            found = self._do("doStep", t, h, no_way_back)
        except FMUCallError as error:
            status = error.value
            if status == PENDING:
                status = awaited(lambda: int(self._do("getStatus", DO_STEP_STATUS)))
                if not went_wrong(status):
                    self.call.time = t + h
                    return StepOutcome(t + h)
                if status != DISCARD:
                    why = f"it went on in the background and ended with status {status}"
                    raise self._failed("doStep", why, status) from error
            if status != DISCARD:
                raise
            if self._new:
                return StepOutcome(t, early=True, discarded=True)
            ended, reached = self._do("getBooleanStatus", TERMINATED), t
            reached = self._do("getRealStatus", LAST_SUCCESSFUL_TIME)
            self.call.time = float(reached)
            return StepOutcome(float(reached), bool(ended), early=True, discarded=True)
        outcome = StepOutcome(t + h)
        if self._new and any(bool(x) for x in found[:3]):
            event, terminate, early = (bool(x) for x in found[:3])
            outcome = StepOutcome(float(found[3]), terminate, event, early)
        self.call.time = outcome.time
        return outcome

    def stepping(self) -> None:
        """See `Component.stepping`: there is none."""

    def stepped(self, t: float, h: float, status: int) -> StepOutcome:
        """See `Component.stepped`."""
        return StepOutcome(t + h)

    def enter_step_mode(self) -> None:
        """See `Component.enter_step_mode`."""
        self._do("enterStepMode")

    def enter_event_mode(self) -> None:
        """See `Component.enter_event_mode`."""
        self._do("enterEventMode")

    def update_discrete_states(self) -> DiscreteStates:
        """See `Component.update_discrete_states`."""
        for _ in range(MOST):
            found = self.update_once()
            if not found.again or found.terminate:
                break
        return found

    @property
    def clocks(self) -> None:
        """Not supported: FMUs with clocks are refused."""

    def update_once(self) -> DiscreteStates:
        """See `Component.update_once`."""
        method = "updateDiscreteStates" if self._new else "newDiscreteStates"
        again, terminate, nominals, values, defined, time = self._do(method)
        next_time = float(time) if defined else None
        return DiscreteStates(bool(again), bool(terminate), bool(nominals), bool(values), next_time)

    def enter_continuous_time_mode(self) -> None:
        """See `Component.enter_continuous_time_mode`."""
        self._do("enterContinuousTimeMode")

    def set_time(self, t: float) -> None:
        """See `Component.set_time`."""
        self.call.time = t
        self._do("setTime", t)

    def set_states(self, x: np.ndarray) -> None:
        """See `Component.set_states`."""
        if len(x):
            self._do("setContinuousStates", _pointer(x), len(x))

    def _vector(self, method: str, out: np.ndarray) -> np.ndarray:
        if len(out):
            self._do(method, _pointer(out), len(out))
        return out

    def states(self, out: np.ndarray) -> np.ndarray:
        """See `Component.states`."""
        return self._vector("getContinuousStates", out)

    def derivatives(self, out: np.ndarray) -> np.ndarray:
        """See `Component.derivatives`."""
        return self._vector("getContinuousStateDerivatives" if self._new else "getDerivatives", out)

    def indicators(self, out: np.ndarray) -> np.ndarray:
        """See `Component.indicators`."""
        return self._vector("getEventIndicators", out)

    def nominals(self, out: np.ndarray) -> np.ndarray:
        """See `Component.nominals`."""
        return self._vector("getNominalsOfContinuousStates", out)

    def counts(self) -> tuple[int, int] | None:
        """See `Component.counts`: nobody is asked."""
        return None

    def completed_step(self) -> tuple[bool, bool]:
        """See `Component.completed_step`."""
        event, terminate = self._do("completedIntegratorStep", False)
        return bool(event), bool(terminate)

    def directional(
        self, unknowns: Sequence[Variable], knowns: Sequence[Variable], seed: np.ndarray
    ) -> np.ndarray:
        """See `Component.directional`."""
        refs = [[v.reference for v in some] for some in (unknowns, knowns)]
        more = [sum(v.size for v in unknowns)] if self._new else []
        return np.array(self._do("getDirectionalDerivative", *refs, list(seed), *more), dtype=float)

    # --- states -----------------------------------------------------------------------------------
    def save(self) -> Any:
        """See `Component.save`."""
        if not self.interface.can_get_and_set_state:
            raise self.description.fault("it cannot save its state (canGetAndSetFMUState is false)")
        return FMPyState(self, self._do("getFMUState" if self._new else "getFMUstate"))

    def load(self, state: FMPyState) -> None:
        """See `Component.load`."""
        self._do("setFMUState" if self._new else "setFMUstate", state.pointer)
        self._failing = False

    def keep(self, pointer: Any) -> None:
        """Note a state in the memory of the FMU."""
        self._saved[id(pointer)] = pointer

    def free(self, pointer: Any) -> None:
        """Free a state in the memory of the FMU, unless that has been done."""
        if self._saved.pop(id(pointer), None) is not None and not self._dead:
            self._do("freeFMUState" if self._new else "freeFMUstate", pointer)

    def serialized(self) -> bytes:
        """See `Component.serialized`."""
        state = self.save()
        found = bytes(self._do("serializeFMUState" if self._new else "serializeFMUstate", state.pointer))
        state.close()
        return found

    def deserialize(self, state: bytes) -> None:
        """See `Component.deserialize`."""
        method = "deserializeFMUState" if self._new else "deSerializeFMUstate"
        made = FMPyState(self, self._do(method, state))
        self.load(made)
        made.close()


class FMPyState:
    """A state of an FMU in its own memory; freed with this object."""

    def __init__(self, of: FMPyComponent, pointer: Any) -> None:
        self.pointer = pointer
        of.keep(pointer)
        self._free = weakref.finalize(self, of.free, pointer)

    def close(self) -> None:
        """Free the state."""
        self._free()


class FMPyValues:
    """Reads or sets some variables, all scalars one after the other."""

    def __init__(self, of: FMPyComponent, variables: Sequence[Variable]) -> None:
        self._of = of
        self._groups = grouped([v for v in variables if v.size])
        self.size = sum(v.size for v in variables)
        self._out = np.zeros(self.size)

    def read(self) -> np.ndarray:
        """(n,) float; overwritten by the next call."""
        for members, places in self._groups:
            values = self._of.raw(members)
            wrong = next((x for x in values if isinstance(x, int) and abs(x) > EXACT), None)
            if wrong is not None:
                raise self._of.description.fault(f"{wrong} is an integer that no number on a wire holds")
            self._out[places] = [float(x) for x in values]
        return self._out

    def write(self, values: np.ndarray) -> None:
        """Set (n,) float."""
        for members, places in self._groups:
            given: list[Any] = values[places].tolist()
            if members[0].type == "Boolean":
                given = [x != 0.0 for x in given]
            elif members[0].type not in ("Float64", "Float32"):
                bad = next((x for x in given if not x.is_integer()), None)
                if bad is not None:
                    names = ", ".join(f"'{v.name}'" for v in members[:3])
                    raise self._of.description.fault(f"{names}: of type {members[0].type}, cannot take {bad}")
                given = [int(x) for x in given]
            check_items(self._of.description, members, values[places])
            self._of.put(members, given)


def _pointer(x: np.ndarray) -> Any:
    import ctypes

    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
