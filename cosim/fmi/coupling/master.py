"""The co-simulation master: an engine that steps units, and another engine for our own blocks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError, SimulationError
from cosim.engines.engine import Engine, Logged
from cosim.engines.reference.log import SNAP
from cosim.fmi.coupling.consistent_start import ConsistentStart
from cosim.fmi.coupling.coupled_system import CoupledSystem
from cosim.fmi.coupling.coupling import Coupling
from cosim.fmi.coupling.error_control import ErrorControl
from cosim.fmi.coupling.macro_step import MacroStep
from cosim.fmi.coupling.quality import CouplingQuality
from cosim.fmi.coupling.trials import direct_feedthrough, why_no_way_back
from cosim.fmi.coupling.wiring_of_units import Exchange
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System

if TYPE_CHECKING:
    from cosim.fmi.coupling.compiled_master import CompiledMaster

Alone = Callable[[System, RunSettings, Context], Engine]
"""Makes the engine of our own blocks."""


class MasterEngine(Engine):
    """Runs one system whose units step themselves.

    alone : makes the engine for everything but the units

    Raises
    ------
    PlantloopError      a unit cannot do what the coupling needs, an input that does not exist
    """

    def __init__(
        self, system: System, settings: RunSettings, coupling: Coupling, context: Context, alone: Alone
    ) -> None:
        super().__init__(system, settings, context)
        self._alone = alone
        self._ours = alone(system, settings, context)
        self.name, self.why, self.counters = self._ours.name, self._ours.why, self._ours.counters
        self._coupling = coupling
        self._coupled = system.derived.get(("coupled", coupling), lambda: CoupledSystem(system, coupling))
        self._exchange = Exchange(self._coupled, settings, context)
        self._macro = MacroStep(self._coupled, self._ours, self._exchange)
        self._control: ErrorControl | None = None
        for pair in coupling.bonds:
            for name in pair:
                if len(self._coupled.numbers_of(name, "bonds")) > 1:
                    raise PlantloopError(f"Coupling: bonds names '{name}', which has several components.")
        self._rows = np.zeros(0)  # s, instants to log
        self._in_code: CompiledMaster | None = None
        self._lie: PlantloopError | None = None
        self._tried = self._told = False
        self._check()
        self._tell_of_cuts()

    def _shortest(self) -> float:
        return min(float(u.block.ticks.period) for u in self._coupled.units)

    def _check(self) -> None:
        """Check that every unit has what the coupling needs."""
        if not self._coupling.rolls_back:
            return
        for u, run in zip(self._coupled.units, self._exchange.runs, strict=True):
            what = "iterate" if self._coupling.iterate else "rtol"
            if not run.unit.rolls_back:
                raise PlantloopError(
                    f"Coupling: {what} repeats steps, but unit '{u.path}' ({u.block.name}) cannot be rolled "
                    "back: it does not save and restore its state.",
                    path=u.path,
                    hint="Leave it out with a smaller step, or use a unit that can (canGetAndSetFMUState).",
                )
            offset = u.block.ticks.offset
            if self._coupling.rtol is not None and offset:
                raise PlantloopError(
                    f"Coupling: rtol lets all units step together from the start on, but unit '{u.path}' "
                    f"({u.block.name}) has an offset of {float(offset):g} s.",
                    path=u.path,
                    value=float(offset),
                    hint="Leave the offset out, or rtol.",
                )
            if self._coupling.rtol is not None and not run.unit.variable_step:
                raise PlantloopError(
                    f"Coupling: rtol changes the step, but unit '{u.path}' ({u.block.name}) takes steps of "
                    "one size only.",
                    path=u.path,
                    hint="Leave rtol out and give it a sample: it has not "
                    "canHandleVariableCommunicationStepSize.",
                )
        if self._coupling.rtol is not None:
            self._tell_of_inner_steps()

    def _tell_of_cuts(self) -> None:
        """Warn of cuts that change nothing."""
        if not (idle := self._coupled.idle_cuts):
            return
        names = ", ".join(f"'{name}'" for name in idle)
        if self._coupling.order != "gauss-seidel":
            why, cure = (
                'units have an order with order="gauss-seidel" only',
                "Leave it out, or set that order.",
            )
        else:
            why = f"nothing that drives it over a step comes later in the order {self._coupled.shown_order()}"
            cure = "Leave it out, or name an input in a cycle."
        warn_user(f"Coupling: cut has no effect at {names}: {why}. {cure}")

    def _tell_of_inner_steps(self) -> None:
        """Warn of units that do not step any finer: a step and its two halves are the same to them."""
        for u in self._coupled.units:
            step, inner = self._shortest(), u.block.inner_step
            if inner > step / 2 * (1 + 1e-9):
                warn_user(
                    f"unit '{u.path}' ({u.block.name}) makes steps of {inner:g} s inside "
                    f"(fixedInternalStepSize), so that rtol, which compares a step of {step:g} s with two "
                    "halves of it, does not see its errors: the tolerance is not kept. Give it a sample of "
                    f"{2 * inner:g} s or more, or leave rtol out."
                )

    @property
    def needs_python(self) -> str:
        """See `Engine.needs_python`."""
        return f"'{self.system.name}' is coupled by a co-simulation master"

    def another(self, context: Context, settings: RunSettings) -> Engine:
        """See `Engine.another`."""
        return MasterEngine(self.system, settings, self._coupling, context, self._alone)

    # --- running ----------------------------------------------------------------------------------
    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """See `Engine.advance`."""
        try:
            self._advance(until, progress)
        except SimulationError as error:
            self._tell_of_unit(error)
            raise

    def _tell_of_unit(self, error: SimulationError) -> None:
        """Add to an error about an output that is no number which unit gave it."""
        if not isinstance(error.value, float) or math.isfinite(error.value) or error.path is None:
            return
        for u in self._coupled.units:
            if error.path.startswith(f"{u.path}."):
                error.append(
                    f"The output was given so by {u.block.name}: look at its inputs and parameters, "
                    "give it a shorter sample, or ask its maker."
                )
                return

    def _advance(self, until: float, progress: Callable[[float], None] | None) -> None:
        c, self._ours.deadline = self.context, self.deadline
        if not c.started:
            ConsistentStart(self._coupled, self._exchange).solve()
            if self._coupling.rolls_back and (lie := self._found_lie()) is not None:
                raise lie
            self._ours.advance(c.t)
            self._sample(c.t)
        if self._coupling.rtol is not None and self._control is None:
            self._control = self._controlled()
        self._macro.begins_iterated = self._begins_iterated()
        compiled = self._compiled()
        while c.t < until and not c.stopped:
            if compiled is not None and compiled.can_run:
                compiled.advance(until, progress)
                continue
            message = self._step(until)
            if message:
                c.stopped = message
            if self._ours.instances.ended is not None:
                raise self._ours.instances.ended
            if progress is not None:
                progress(c.t)
        self._tell_of_extrapolation()

    def _controlled(self) -> ErrorControl:
        """Step size control, with repeated steps of units whose outputs follow inputs at once, or may."""
        known: list[np.ndarray] = []
        possible: list[np.ndarray] = []
        for u, run in zip(self._coupled.units, self._exchange.runs, strict=True):
            found = direct_feedthrough(u, run)
            shape = u.block.n_outputs, u.block.n_inputs
            known.append(np.zeros(shape[0], bool) if found is None else np.asarray(found.any(axis=1)))
            possible.append(np.ones(shape, bool) if found is None else found)
        control = ErrorControl(self._macro, self._shortest(), known)
        if not self._coupling.iterate:
            control.repeat(possible)
        return control

    def _tell_of_extrapolation(self) -> None:
        """Warn once in a run if our own blocks have passed a point of the units without waiting."""
        c, runs = self.context, self._exchange.runs
        if self._told or not self._coupled.waits or c.stopped or any(r.standing.time >= c.t for r in runs):
            return
        self._told = True
        warn_user(
            f"the run was advanced to t={c.t:.9g} s, between two communication points: blocks that are no "
            "units go there with extrapolated outputs of the units, where in a whole step they take those at "
            "its end (iterate, Gauss-Seidel). Advance to communication points, or give until= as one of them."
        )

    def _compiled(self) -> CompiledMaster | None:
        """The compiled code that makes the steps of this coupling; None if Python makes them."""
        if self._ours.name != "native":
            return None
        if self._in_code is None:
            from cosim.engines.native.native import NativeEngine
            from cosim.fmi.coupling.compiled_master import CompiledMaster

            if not isinstance(self._ours, NativeEngine) or not CompiledMaster.possible(self._macro):
                return None
            self._in_code = CompiledMaster(self._macro, self._ours, self._step, self._control)
        return self._in_code

    def _found_lie(self) -> PlantloopError | None:
        """The fault of the first unit that claims it can be rolled back, and cannot.

        Tried on instances of their own, once.
        """
        if not self._tried:
            self._tried = True
            for u, run in zip(self._coupled.units, self._exchange.runs, strict=True):
                if why := why_no_way_back(u, run):
                    self._lie = PlantloopError(
                        f"unit '{u.path}' ({u.block.name}) says that it can be rolled back, but {why}"
                        + ("" if why.endswith(".") else "."),
                        path=u.path,
                        hint="Leave iterate and rtol out, and tell its maker.",
                    )
                    break
        return self._lie

    def _begins_iterated(self) -> bool:
        if self._coupling.extrapolation < 2 or not all(run.unit.rolls_back for run in self._exchange.runs):
            return False
        if (lie := self._found_lie()) is not None:
            warnings.warn(f"{lie} The first step is held instead of iterated.", stacklevel=5)
        return lie is None

    def _next_point(self, k: int) -> float:
        """Next communication point of a unit [s]."""
        standing, ticks = self._exchange.runs[k].standing, self._coupled.units[k].block.ticks
        points = standing.points - 1 if not standing.u else standing.points
        return float(ticks.offset + points * ticks.period)

    def _step(self, until: float) -> str:
        if self._control is not None:
            return self._control.make(min(until, self._ours.next_stop(), self._next_row()), until)
        points = [self._next_point(k) for k in range(len(self._coupled.units))]
        t1 = min([until, *points])
        here = [k for k, t in enumerate(points) if t <= t1]
        runs = self._exchange.runs
        starting = [k for k in here if not runs[k].standing.u]
        message = self._macro.make(t1, [k for k in here if k not in starting])
        if starting and not message:
            self._macro.sample(t1, starting)
        return message

    def _next_row(self) -> float:
        """The next instant to log [s]; between points only extrapolated values are known."""
        t, (k, *_) = self.context.t, self._ours.log_mark()
        while k < len(self._rows) and not self._rows[k] > t + SNAP * abs(t):
            k += 1
        return float(self._rows[k]) if k < len(self._rows) else math.inf

    def _sample(self, t: float) -> None:
        """Units that begin at the start of the run sample their inputs."""
        runs = self._exchange.runs
        every = self._coupling.rtol is not None
        found = [k for k, run in enumerate(runs) if not run.standing.u and (every or run.standing.time <= t)]
        self._macro.sample(t, found)

    def next_stop(self) -> float:
        """See `Engine.next_stop`."""
        stop = self._ours.next_stop()
        if self._coupling.rtol is not None or not self.context.started:
            return stop
        return min([stop, *(self._next_point(k) for k in range(len(self._coupled.units)))])

    def approach(self, until: float) -> None:
        """See `Engine.approach`."""
        raise PlantloopError("a co-simulation master is no unit of another one.")

    def arrive(self, ended: str = "") -> None:
        """See `Engine.arrive`."""
        raise PlantloopError("a co-simulation master is no unit of another one.")

    # --- log --------------------------------------------------------------------------------------
    def start_log(self, names: Sequence[str], times: np.ndarray | None) -> None:
        """See `Engine.start_log`."""
        self._ours.start_log(names, times)
        self._rows = np.zeros(0) if times is None else times
        self._macro.log.until(self.context.t if self.context.started else -math.inf)

    def log_mark(self) -> Any:
        """See `Engine.log_mark`."""
        return self._ours.log_mark()

    def log_back(self, mark: Any) -> None:
        """See `Engine.log_back`."""
        self._ours.log_back(mark)

    def logged(self) -> Logged:
        """See `Engine.logged`."""
        return self._ours.logged()

    def value(self, name: str) -> np.ndarray:
        """See `Engine.value`."""
        return self._ours.value(name)

    def coupling(self) -> CouplingQuality:
        """See `Engine.coupling`."""
        units, names = self._coupled.units, [u.input_names() for u in self._coupled.units]
        drivers = {
            name: [k for k in range(len(units)) if self._coupled.reads[i, k]]
            for i, name in enumerate(self._coupled.names)
        }
        steps = [float(u.block.ticks.period) for u in units]
        if self._control is not None:
            steps = [self._control.size] * len(units)
        return self._macro.log.quality(
            names, [u.path for u in units], drivers, steps, self._coupled.shown_order(), self._coupling.bonds
        )
