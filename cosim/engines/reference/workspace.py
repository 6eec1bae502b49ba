"""A system's functions bound to the arrays of a context: what all parts of the reference engine work on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.engines.counters import Counters
from cosim.engines.engine import out_of_time
from cosim.engines.reference.bound import Bound, BoundWhenCalled
from cosim.engines.reference.diagnose import explain
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.slots import Place
from cosim.system import System


class Workspace:
    """The numbers that bound functions use: the states of the context, or those that a step tries.

    time : (1,) s          of every evaluation
    trial : (nx,)          states that a step tries; all else is the context's
    last_good : float      newest time [s] at which all that was looked at was finite
    deadline : float       of the clock `time.perf_counter` [s], when the run has to end
    """

    def __init__(self, system: System, settings: RunSettings, context: Context, counters: Counters) -> None:
        self.system, self.settings, self.context, self.counters = system, settings, context, counters
        self.instances = context.begin(system)
        c = context
        self.time = np.zeros(1)
        self.trial = c.x.copy()
        self.last_good = 0.0
        self.deadline = math.inf
        self._at_context = [self.time, c.x, c.h, c.w, c.p]
        self._at_trial = [self.time, self.trial, c.h, c.w, c.p]

    def bind(self, name: str, make: Callable[[], list[ca.SX]]) -> Bound:
        """A function of the system, made once per name, at the states of the context."""
        return BoundWhenCalled(partial(self.system.function, name, make), self._at_context)

    def bind_trial(self, name: str, make: Callable[[], list[ca.SX]]) -> Bound:
        """The same at the states a step tries."""
        return BoundWhenCalled(partial(self.system.function, name, make), self._at_trial)

    def put(self, t: float, x: np.ndarray | None = None) -> None:
        """Set the time (and continuous states) of the context."""
        self.time[0] = t
        self.context.t = t
        if x is not None:
            self.context.x[:] = x

    def put_trial(self, t: float, x: np.ndarray) -> None:
        """Set the time and the states that a step tries."""
        self.time[0] = t
        self.trial[:] = x

    def look_for_interrupt(self) -> None:
        """Raise what is to end the run though it came where nothing may be raised."""
        if (ended := self.instances.ended) is not None:
            raise ended
        if self.deadline < math.inf and time.perf_counter() > self.deadline:
            raise out_of_time(self.settings, self.context.t)

    def non_finite(
        self, t: float, place: Place | None = None, value: float = math.nan, in_reset: bool = False
    ) -> SimulationError:
        """The error that names the block, the signal and the first bad term."""
        self.look_for_interrupt()
        calls = self.instances.calls.values()
        return explain(self.system, calls, self._at_context, t, self.last_good, place, value, in_reset)
