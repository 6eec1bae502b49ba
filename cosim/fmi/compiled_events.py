"""Event mode of an FMU for co-simulation as the structure `pl_fmu_events`, for runtime/fmu_events.c.

Compiled code handles events without clocks. Where a clock ticks, or a call fails, it comes back in the
middle, and Python goes on from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.engines.native import bindings
from cosim.fmi.compiled_calls import batches, void
from cosim.fmi.event_mode import EventModeSteps
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.unit_ports import UnitInputs, UnitOutputs

CALLS = {"enter": "EnterEventMode", "update": "UpdateDiscreteStates", "leave": "EnterStepMode"}
STEP, *_ = FAILED = ("DoStep", *CALLS.values())
"""Calls that may fail, in the order of their numbers from 1 on (PL_FAILED_STEP)."""


class CompiledEvents:
    """Event mode of one instance, in turns with compiled code: `resume` before it, `pause` after it.

    table : its `pl_fmu_unit`; in_loop : see `SteppingUnit.meet_in_loop`
    """

    def __init__(
        self,
        component: Component,
        steps: EventModeSteps,
        ports: tuple[UnitInputs, UnitOutputs],
        table: Any,
        clocks: bool,
        in_loop: bool,
    ) -> None:
        self._component, self._steps, self._table = component, steps, table
        self._inputs, self._outputs = inputs, outputs = ports
        self.events = e = bindings.new("pl_fmu_events")
        for field, name in CALLS.items():
            setattr(e, field, void(component.call.function(name)))
        e.any_step, e.visits, e.clocks = component.interface.variable_step, inputs.visits, clocks
        e.in_loop = in_loop
        n, m = inputs.size, sum(v.size for v in outputs.variables)
        triggers = np.arange(n - len(inputs.levels), n)
        integers = {"free_at": inputs.free_at, "given": inputs.visited_at, "triggers": triggers}
        self._places = {name: np.append(found, 0).astype(np.int32) for name, found in integers.items()}
        self._last, self._levels = np.zeros(n + 1), np.zeros(len(triggers) + 1)
        self._room = np.zeros(n + m + 1)
        arrays = self._places | {"last": self._last, "levels": self._levels, "room": self._room}
        for name, array in arrays.items():
            setattr(e, name, bindings.pointer(array))
        e.n_free_at, e.n_given, e.n_triggers = map(len, integers.values())
        self._kept: list[Any] = []
        self.possible = True
        if inputs.free:
            found = batches(component, "Set", inputs.free, inputs.ports, 0, self._kept)
            self.possible = found is not None
            if found is not None:
                e.free, e.n_free = found, len(found)
        self._failed, self._over = "", False

    def resume(self) -> None:
        """Give compiled code the present state."""
        e, inputs = self.events, self._inputs
        e.next, e.wanted, e.stage, e.failed = self._steps.next, self._steps.wanted, 0, 0
        e.stays = self._steps.stays
        self._last[: len(inputs.last)], self._levels[: len(inputs.levels)] = inputs.last, inputs.levels
        t = self._table
        self._outputs.put_kept(bindings.numbers(t.fresh, t.out.n))

    def pause(self) -> None:
        """Take the state from compiled code."""
        e, inputs, entered = self.events, self._inputs, bindings.constant("PL_EVENT_ENTERED")
        self._failed = FAILED[e.failed - 1] if e.failed else ""
        self._over = e.stage == bindings.constant("PL_EVENT_OVER")
        announced = None if e.clocks else float(e.next)
        self._steps.found(bool(e.wanted), e.stage == entered, bool(e.stays), announced)
        inputs.last = self._last[: inputs.size].copy()
        inputs.give_clocked(self._steps)
        e.stage = e.failed = 0

    def visited(self) -> bool:
        """Whether compiled code has handled all events of a visit, and only outputs are left to read.

        Raises
        ------
        FMUCallError      a call of it failed
        """
        over, self._over = self._over, False
        self._raise()
        return over

    def rest_of_step(self, end: float) -> StepOutcome:
        """Go on with a step to `end` [s] where compiled code has left it.

        Raises
        ------
        FMUCallError      the FMU fails
        """
        e, c = self.events, self._component
        self._steps.jumps += int(e.changed)
        if self._failed == STEP:
            self._failed = ""
            return c.stepped(e.at, e.stop - e.at, self._table.status)
        self._raise()
        return self._steps.step(e.at, end)

    def _raise(self) -> None:
        failed, self._failed = self._failed, ""
        if failed:
            self._component.call.time = self.events.at
            raise self._component.call.failed(failed, self._table.status)
