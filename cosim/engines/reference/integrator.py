"""From one stop to the next: accepted steps, and the first zero crossing on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca

from blocks.contract.event_equations import SAME_INSTANT
from cosim.engines.methods.steppers import AcceptedStep, Control, Stepper, pieces
from cosim.engines.reference.acceptance import Acceptance
from cosim.engines.reference.crossings import Crossings
from cosim.engines.reference.invariants import Invariants
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace

Listener = Callable[[AcceptedStep], Any]  # an accepted step, before the context is moved to its end
Ended = Callable[[float], Any]  # time [s] at the end of a step that met no crossing, where the context stands


class StretchIntegrator:
    """Takes the steps of a stepper over into the context, up to crossings."""

    def __init__(
        self,
        workspace: Workspace,
        unknowns: Unknowns,
        acceptance: Acceptance,
        crossings: Crossings,
        invariants: Invariants,
        stepper: Stepper,
    ) -> None:
        self.workspace, self.context, self.unknowns = workspace, workspace.context, unknowns
        self.acceptance, self.crossings, self.stepper = acceptance, crossings, stepper
        self.invariants = invariants
        s = workspace.system
        moving = s.derived.get(
            "accepted in time", lambda: any(ca.which_depends(s.accepted[0], ca.vertcat(s.t, s.w), 1, False))
        )
        self._looked_at = bool(crossings.in_time or unknowns.delays or moving)

    def integrate(self, stop: float, listener: Listener, ended: Ended) -> int | None:
        """Advance the continuous states to exactly `stop`, or to the first zero crossing before it.

        Returns
        -------
        event : int or None     the crossing that was met; the context stands just behind it
        """
        with self.unknowns.up_to(stop):
            if not len(self.context.x):
                return self._without_states(stop, listener, ended)
            c = self.context
            for step in self.stepper.integrate(c.t, c.x.copy(), stop, Control(c.step, c.error)):
                c.step, c.error = step.control.step, step.control.error
                met = self._accept(step, listener, ended)
                if met is not None:
                    return met
        return None

    def _without_states(self, stop: float, listener: Listener, ended: Ended) -> int | None:
        """One step, or pieces where something must be looked at on the way."""
        c, begin, s = self.context, self.context.t, self.workspace.settings
        longest, limit = math.inf, self.unknowns.longest_step()
        if self._looked_at:
            longest = min(limit, s.max_step if math.isfinite(s.max_step) else s.step)
        n = pieces(begin, stop, longest)
        for k in range(n):
            t1 = stop if k == n - 1 else begin + (k + 1) * (stop - begin) / n
            met = self._accept(AcceptedStep(c.t, t1, c.x, c.x, lambda _: c.x), listener, ended)
            if met is not None:
                return met
        return None

    def _accept(self, step: AcceptedStep, listener: Listener, ended: Ended) -> int | None:
        """Take a step over, up to the first crossing in it."""
        workspace, met, whole = self.workspace, None, True
        workspace.look_for_interrupt()
        if self.crossings.events and (found := self.crossings.locate(step)) is not None:
            time, met = found
            if time < step.t1:
                there = self.invariants.restored(time, step.inside(time))
                step = AcceptedStep(step.t0, time, step.x0, there, step.inside)
                whole = False
        if whole:
            self.invariants.check(step.t1)
        listener(step)
        self.unknowns.extend_histories(step)
        workspace.put(step.t1, step.x1)
        workspace.last_good = step.t1
        if met is None or step.t1 - step.t0 > SAME_INSTANT * max(1.0, abs(step.t1)):
            self.acceptance.take()  # else inputs have jumped before the step, and the event comes first
        if met is None:  # what a crossing does comes first
            ended(step.t1)
        return met
