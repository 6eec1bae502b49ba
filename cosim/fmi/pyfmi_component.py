"""FMUs of FMI 2.0 called through PyFMI, if it is installed: the methods of a `Component` on its models.

PyFMI needs a C library that pip does not bring; environment.yml makes an environment with it by conda.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.exchange import grouped
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome
from cosim.fmi.package import Unpacked
from cosim.fmi.values import check_items

WORDS = {
    "Float64": "real",
    "Int32": "integer",
    "Enumeration": "integer",
    "Boolean": "boolean",
    "String": "string",
}
OK, DISCARD = 0, 2


def pyfmi() -> Any:
    """The package.

    Raises
    ------
    FMUError      it is not installed
    """
    try:
        import pyfmi as found
    except ImportError as error:
        raise FMUError(
            f"importer='pyfmi' needs PyFMI, which is not here ({error}).",
            hint="PyPI has no usable package of it; conda has: conda env create -f environment.yml, or "
            "conda install -c conda-forge pyfmi. Or use importer='native'.",
        ) from error
    return found


class PyFMILog:
    """The log of a PyFMI model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def shown(self, most: int = 5) -> str:
        """See `LogLines.shown`."""
        lines = list(self._model.get_log())[-most:]
        return "It logged nothing." if not lines else "Its last log lines:\n  " + "\n  ".join(map(str, lines))


class PyFMIPlace:
    """See `AnyComponent.call`."""

    time: float | None = None


class PyFMIComponent:
    """An instance that PyFMI has made.

    Raises
    ------
    FMUError          PyFMI is not installed, or the FMU is of FMI 3.0
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
        package = pyfmi()
        if description.major != 2:
            raise description.fault("importer='pyfmi' takes FMI 2.0 only", "Use importer='native'.")
        self.description, self.interface, self.name = description, interface, name
        self.call, self.closed = PyFMIPlace(), False
        self._m: Any = None
        self._m = self._do(
            lambda: package.load_fmu(description.file, kind=interface.kind.upper()), "load_fmu"
        )
        self.log = PyFMILog(self._m)

    def _do(self, what: Any, name: str) -> Any:
        try:
            return what()
        except Exception as error:  # PyFMI raises various exceptions
            where = "" if self.call.time is None else f" at t={self.call.time:.9g} s"
            raise FMUCallError(
                f"FMU '{self.description.file}': PyFMI's {name} failed{where}: {error}",
                path=self.name,
                time=self.call.time,
            ) from error

    def _ask(self, method: str, *given: Any, **named: Any) -> Any:
        return self._do(lambda: getattr(self._m, method)(*given, **named), method)

    def close(self) -> None:
        """Free the instance."""
        self._m, self.closed = None, True

    def raw(self, variables: Sequence[Variable]) -> Any:
        """Values of variables of one type."""
        return self._ask(f"get_{WORDS[variables[0].type]}", [v.reference for v in variables])

    def put(self, variables: Sequence[Variable], values: Any) -> None:
        """Set variables of one type."""
        self._ask(f"set_{WORDS[variables[0].type]}", [v.reference for v in variables], values)

    def getter(self, variables: Sequence[Variable]) -> PyFMIValues:
        """See `Component.getter`."""
        return PyFMIValues(self, variables)

    def setter(self, variables: Sequence[Variable]) -> PyFMIValues:
        """See `Component.setter`."""
        return PyFMIValues(self, variables)

    def get(self, variable: Variable) -> Any:
        """See `Component.get`."""
        found = self.raw([variable])[0]
        if variable.type == "Boolean":
            return bool(found)
        if variable.type == "String":
            return found.decode() if isinstance(found, bytes) else found
        return float(found) if variable.type == "Float64" else int(found)

    def set(self, variable: Variable, value: Any) -> None:
        """See `Component.set`."""
        self.put([variable], [value])

    def configure(self, values: Mapping[Variable, Any]) -> None:
        """See `Component.configure`: FMI 2.0 has no structural parameters."""

    def enter_initialization(
        self, start: float, stop: float | None = None, tolerance: float | None = None
    ) -> None:
        """See `Component.enter_initialization`."""
        self.call.time = start
        self._ask(
            "setup_experiment", tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0
        )
        self._ask("enter_initialization_mode")

    def exit_initialization(self) -> None:
        """See `Component.exit_initialization`."""
        self._ask("exit_initialization_mode")

    def terminate(self) -> None:
        """See `Component.terminate`."""
        self._ask("terminate")

    def reset(self) -> None:
        """See `Component.reset`."""
        self._ask("reset")
        self.call.time = None

    def step(self, t: float, h: float, no_way_back: bool = True) -> StepOutcome:
        """See `Component.step`."""
        status = self._ask("do_step", t, h, no_way_back)
        if status in (OK, 1):
            self.call.time = t + h
            return StepOutcome(t + h)
        if status != DISCARD:
            raise FMUCallError(
                f"FMU '{self.description.file}': fmi2DoStep returned {status} at t={t:.9g} s. "
                f"{self.log.shown()}",
                path=self.name,
                time=t,
                value=status,
            )
        ended, reached = self._ask("get_boolean_status", 3), self._ask("get_real_status", 2)
        self.call.time = float(reached)
        return StepOutcome(float(reached), bool(ended), early=True, discarded=True)

    def stepping(self) -> None:
        """See `Component.stepping`: there is none."""

    def stepped(self, t: float, h: float, status: int) -> StepOutcome:
        """See `Component.stepped`."""
        return StepOutcome(t + h)

    def enter_step_mode(self) -> None:
        """See `Component.enter_step_mode`: of FMI 3.0."""

    def enter_event_mode(self) -> None:
        """See `Component.enter_event_mode`."""
        self._ask("enter_event_mode")

    def update_discrete_states(self) -> DiscreteStates:
        """See `Component.update_discrete_states`."""
        self._ask("event_update")
        info = self._ask("get_event_info")
        time = float(info.nextEventTime) if info.nextEventTimeDefined else None
        return DiscreteStates(
            False,
            bool(info.terminateSimulation),
            bool(info.nominalsOfContinuousStatesChanged),
            bool(info.valuesOfContinuousStatesChanged),
            time,
        )

    @property
    def clocks(self) -> None:
        """Not supported: FMUs with clocks are refused."""

    def update_once(self) -> DiscreteStates:
        """See `Component.update_once`: PyFMI makes all rounds at once."""
        return self.update_discrete_states()

    def enter_continuous_time_mode(self) -> None:
        """See `Component.enter_continuous_time_mode`."""
        self._ask("enter_continuous_time_mode")

    def set_time(self, t: float) -> None:
        """See `Component.set_time`."""
        self.call.time = t
        self._do(lambda: setattr(self._m, "time", t), "time")

    def set_states(self, x: np.ndarray) -> None:
        """See `Component.set_states`."""
        if len(x):
            self._do(lambda: setattr(self._m, "continuous_states", x), "continuous_states")

    def states(self, out: np.ndarray) -> np.ndarray:
        """See `Component.states`."""
        return _filled(out, self._do(lambda: self._m.continuous_states, "continuous_states"))

    def derivatives(self, out: np.ndarray) -> np.ndarray:
        """See `Component.derivatives`."""
        return _filled(out, self._ask("get_derivatives"))

    def indicators(self, out: np.ndarray) -> np.ndarray:
        """See `Component.indicators`."""
        return _filled(out, self._ask("get_event_indicators"))

    def nominals(self, out: np.ndarray) -> np.ndarray:
        """See `Component.nominals`."""
        return _filled(out, self._do(lambda: self._m.nominal_continuous_states, "nominal_continuous_states"))

    def counts(self) -> tuple[int, int] | None:
        """See `Component.counts`: nobody is asked."""
        return None

    def completed_step(self) -> tuple[bool, bool]:
        """See `Component.completed_step`."""
        event, terminate = self._ask("completed_integrator_step")
        return bool(event), bool(terminate)

    def directional(
        self, unknowns: Sequence[Variable], knowns: Sequence[Variable], seed: np.ndarray
    ) -> np.ndarray:
        """See `Component.directional`."""
        known, unknown = [v.reference for v in knowns], [v.reference for v in unknowns]
        return np.asarray(self._ask("get_directional_derivative", known, unknown, seed), dtype=float)

    def save(self) -> Any:
        """See `Component.save`."""
        if not self.interface.can_get_and_set_state:
            raise self.description.fault("it cannot save its state (canGetAndSetFMUState is false)")
        return self._ask("get_fmu_state")

    def load(self, state: Any) -> None:
        """See `Component.load`."""
        self._ask("set_fmu_state", state)

    def serialized(self) -> bytes:
        """See `Component.serialized`."""
        found: bytes = bytes(self._ask("serialize_fmu_state", self.save()))
        return found

    def deserialize(self, state: bytes) -> None:
        """See `Component.deserialize`."""
        self.load(self._ask("deserialize_fmu_state", state))


class PyFMIValues:
    """Reads or sets numbers of some variables."""

    def __init__(self, of: PyFMIComponent, variables: Sequence[Variable]) -> None:
        self._of, self._groups = of, grouped(variables)
        self.size = len(variables)
        self._out = np.zeros(self.size)

    def read(self) -> np.ndarray:
        """(n,) float; overwritten by the next call."""
        for members, places in self._groups:
            self._out[places] = np.asarray(self._of.raw(members), dtype=float)
        return self._out

    def write(self, values: np.ndarray) -> None:
        """Set (n,) float."""
        for members, places in self._groups:
            given = values[places]
            if members[0].type != "Float64" and not (given == np.floor(given)).all():
                raise self._of.description.fault(f"'{members[0].name}' takes whole numbers, got {given}")
            check_items(self._of.description, members, given)
            self._of.put(members, given if members[0].type == "Float64" else given.astype(int))


def _filled(out: np.ndarray, values: Any) -> np.ndarray:
    if len(out):
        out[:] = values
    return out
