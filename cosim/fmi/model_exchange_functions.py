"""An FMU for model exchange in one run: how it begins, and its functions of time, states and inputs.

Every function takes an argument (n,): states, inputs, parameters. Times are those of the FMU's clock, but the
time of the next event, which a run gets, is that of the run. Until the first event of a run, which is at
its start, the FMU stands as it was initialised: states that were given other values than `ModelStart` found
are those, all others are what initialisation with the run's parameters makes of them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from blocks.contract.event_memories import NEVER
from cosim.fmi import finite
from cosim.fmi.contradictions import check_counts
from cosim.fmi.description import FMUDescription, Variable
from cosim.fmi.event_rounds import EventRounds
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.outcomes import DiscreteStates
from cosim.fmi.interface.working_folder import same_folder
from cosim.fmi.model_exchange_ports import Ports, places
from cosim.fmi.model_exchange_slopes import FMUSlopes, Value, slope_by_time
from cosim.fmi.unit_clock import UnitClock


@dataclass(frozen=True)
class ModelStart:
    """The result of initialisation with the start values: states (nx,) and their nominal values."""

    states: np.ndarray
    nominals: np.ndarray


class ModelExchangeFunctions:
    """One run's instance of an FMU for model exchange, as functions of time, states and inputs.

    defaults : (np,) start values of the parameters in the description; texts : start values that are no
    numbers, and structural parameters; start : what `ModelStart` found; input_start : (nu,)
    rounds : makes what does event mode in Python
    stop_time : s; the end of the run as the FMU is told it; clock : of the FMU
    """

    def __init__(
        self,
        component: AnyComponent,
        description: FMUDescription,
        ports: Ports,
        defaults: np.ndarray,
        input_start: np.ndarray,
        texts: Mapping[Variable, Any],
        rounds: Callable[[], EventRounds],
        start: ModelStart | None = None,
        stop_time: float | None = None,
        clock: UnitClock | None = None,
    ) -> None:
        self.component, self.description, self.ports = component, description, ports
        self._defaults, self._texts, self._input_start = defaults, dict(texts), input_start
        self._start, self._stop_time, self.clock = start, stop_time, clock or UnitClock()
        self.steps_asked = 0  # number of events that the FMU has requested after steps
        self.initialised = self.begun = self.terminated = self.closed = False
        self.in_event = False  # in event mode, where compiled code has left it
        # in event mode since the newest event, until it is asked for another time or other states; was that
        # the one at the start? Where it goes on, the FMU is initialised anew
        self.stays = self.starting = False
        self._failure: FMUCallError | None = None
        self._told_of_pause = False
        self.compiled: Any = None  # what compiled code calls; it must know when something else is called
        self.given = defaults.copy()  # parameters as last set
        self.inputs_given = input_start.copy()
        # s; the newest event, before which it cannot be asked, and the next one
        self.stands_from, self.next = self.clock.at(0.0), NEVER
        self.reached = self.stands_from  # s; where its newest step or event ended
        self._make_rounds = rounds
        self._levels = np.zeros(len(ports.triggers))
        self._x_given = np.zeros(0)  # given states that initialisation must not change
        self._x = np.zeros(ports.nx)
        self._looked_at: tuple[float, bytes] | None = None
        self._z = np.zeros(ports.n_indicators)
        self._asked: tuple[float, bytes] | None = None  # the newest event, and its result
        self._outcome = np.zeros(0)
        self._groups: dict[int, tuple[Any, np.ndarray, Any]] = {}

    # what compiled code has of its own is made where Python needs it
    @cached_property
    def _rounds(self) -> EventRounds:
        return self._make_rounds()

    @cached_property
    def _slopes(self) -> FMUSlopes:
        return FMUSlopes(self.component, self.ports.untouched)

    @cached_property
    def _set_continuous(self) -> Any:
        return self.component.setter(self.ports.moving[0])

    def _group(self, number: int) -> tuple[Any, np.ndarray, Any]:
        """A setter of the continuous inputs a group depends on, their places in its argument, a getter."""
        if number not in self._groups:
            group = self.ports.groups[number]
            own = [self.ports.inputs[k] for k in group.inputs]
            moving = [v for v in self.ports.set_ones(own) if v.continuous]
            found = self.component.setter(moving), places(own, moving), self.component.getter(group.variables)
            self._groups[number] = found
        return self._groups[number]

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """A context in which Python calls the FMU, and compiled code must not rely on its last calls."""
        if self.closed:
            what = f"FMU '{self.description.file}' is called after the simulation was closed."
            raise FMUCallError(what, hint="Begin a new Simulation.")
        if self._failure is not None:  # failed in an event, and cannot continue
            raise self._failure
        context: contextlib.AbstractContextManager[None] = self.compiled or contextlib.nullcontext()
        return context

    @property
    def stop_time(self) -> float | None:
        """The end of the run as the FMU is told it [s]."""
        return self._stop_time

    @property
    def start_states(self) -> np.ndarray:
        """The states of `ModelStart`, (nx,)."""
        return np.zeros(self.ports.nx) if self._start is None else self._start.states

    @property
    def stands_as_found(self) -> bool:
        """Whether it is initialised from and to the states of `ModelStart`: any states are its own."""
        if self._start is None or not self.initialised:
            return False
        start = self._start.states.tobytes()
        return self._x.tobytes() == start and self._x_given.tobytes() == start

    @property
    def begins_plainly(self) -> bool:
        """Whether nothing but inputs is given to it where a run begins: compiled code may initialise it."""
        if self.initialised or self._start is None or self._texts:
            return False
        return self._rounds.plain

    def was_initialised(self, x: np.ndarray, u: np.ndarray) -> None:
        """Take over from compiled code, which has initialised it with inputs u (nu,), to states x (nx,)."""
        self.initialised, self.component.call.time = True, self.stands_from
        self._x, self._x_given, self.inputs_given = x, self.start_states.copy(), u

    def check_states(self) -> None:
        """Read its states where compiled code has initialised it to others than before, or could not.

        Raises
        ------
        FMUCallError      it does not give them, or they are no numbers
        """
        self.initialised = False
        finite.states(self.component, self.ports.states, self._x)
        self.initialised = True

    # --- functions --------------------------------------------------------------------------------
    def derivatives(self, t: float, a: np.ndarray) -> np.ndarray:
        """Derivatives of the states at t [s], (nx,)."""
        self._stand(t, a)
        return finite.derivatives(self.component, self.ports.rates, self.ports.nx)

    def indicators(self, t: float, a: np.ndarray) -> np.ndarray:
        """Event indicators, (nz,)."""
        asked = None if self.begun else (t, a.tobytes())  # at a start they are asked for repeatedly
        if asked is None or asked != self._looked_at:
            self._stand(t, a)
            self._z = finite.indicators(self.component, self.ports.indicators, self.ports.n_indicators)
            self._looked_at = asked
        return self._z

    def outputs(self, group: int, t: float, a: np.ndarray) -> np.ndarray:
        """Outputs of one group; its argument has only the inputs the group depends on."""
        nx, n = self.ports.nx, len(a) - self.ports.np
        setter, own, getter = self._group(group)
        self._ready(t, a[:nx], None, a[n:])
        self._put(t, a[:nx])
        if setter.size and not self.terminated:
            setter.write(a[nx:n][own])
        found = getter.read().copy()
        return finite.finite(self.component, self.ports.groups[group].variables, found)

    def _stand(self, t: float, a: np.ndarray) -> None:
        """Set the time, states and inputs of the FMU."""
        nx, nu = self.ports.nx, self.ports.nu
        x, u = a[:nx], a[nx : nx + nu]
        now = self._ready(t, x, u, a[nx + nu : nx + nu + self.ports.np])
        if now and self._effective(x) is self._x:
            return  # it stands there, with these inputs
        self._put(t, x)
        moving = self.ports.moving[1]
        if len(moving) and not self.terminated:
            self._set_continuous.write(u[moving])

    def _put(self, t: float, x: np.ndarray) -> None:
        if self.terminated or self._remains(t, x):  # values can only be read now
            return
        self._leave()
        self.component.set_time(self._own_time(t))
        self.component.set_states(np.ascontiguousarray(self._effective(x)))

    @property
    def states(self) -> np.ndarray:
        """States after the newest event, (nx,)."""
        return self._x

    def remain(self, stays: bool, x: np.ndarray) -> None:
        """Take over from compiled code: is it in event mode still, after an event that gave x (nx,)?"""
        self.stays, self.starting = stays, self.starting and stays
        if stays:
            self._x[:] = x

    def _remains(self, t: float, x: np.ndarray) -> bool:
        """Is it in event mode, and asked for what it is after the event?"""
        return self.stays and self._own_time(t) == self.stands_from and np.array_equal(x, self._x)

    def _leave(self) -> None:
        """Leave event mode, where it has stayed in it."""
        if self.stays:
            self.stays = self.starting = False
            self.component.enter_continuous_time_mode()

    def _own_time(self, t: float) -> float:
        """The time announced for the next event, of the newest one or step, if t is that by rounding."""
        near = self.clock.near(t)
        if self.stays and abs(t - self.stands_from) <= near:
            return self.stands_from
        if t >= self.next - near:  # in a pause of the part around it, it waits there
            return self.next
        if abs(t - self.reached) <= near:
            return self.reached
        return self.stands_from if 0.0 < self.stands_from - t <= near else t

    def _effective(self, x: np.ndarray) -> np.ndarray:
        """The states; before the first event those of initialisation, unless others were given."""
        if self.begun or self._start is None:
            return x
        if equal(x, self._start.states):
            return self._x
        as_found = x == self._start.states
        return np.where(as_found | self._kept(x), self._x, x)

    def _kept(self, x: np.ndarray) -> np.ndarray:
        """States given as start values of variables, which initialisation has accepted."""
        same = len(self._x_given) == len(x) and bool((x == self._x_given).all())
        return self.ports.settable if same else np.zeros(len(x), dtype=bool)

    # --- derivatives of functions -----------------------------------------------------------------
    def rates_jacobian(self, t: float, a: np.ndarray) -> np.ndarray:
        """Jacobian of the derivatives of the states, (nx, n)."""
        return self._jacobian(t, a, self.ports.rates, self.ports.inputs, self.derivatives)

    def indicators_jacobian(self, t: float, a: np.ndarray) -> np.ndarray:
        """Jacobian of the event indicators, (nz, n)."""
        return self._jacobian(t, a, self.ports.indicators, self.ports.inputs, self.indicators)

    def outputs_jacobian(self, group: int, t: float, a: np.ndarray) -> np.ndarray:
        """Jacobian of the outputs of a group, (ny, n)."""
        g = self.ports.groups[group]
        inputs = [self.ports.inputs[k] for k in g.inputs]
        return self._jacobian(t, a, g.variables, inputs, lambda s, b: self.outputs(group, s, b))

    def by_time(self, value: Value, t: float, a: np.ndarray) -> np.ndarray:
        """Derivative of a function by time, (n,), from calls between the newest event and the next one."""
        value(t, a)  # where no run has begun, it is initialised here
        self._leave()
        stop = math.inf if self._stop_time is None else self._stop_time
        return slope_by_time(value, t, a, self.stands_from, min(self.next, stop))

    def _jacobian(
        self,
        t: float,
        a: np.ndarray,
        rows: Sequence[Variable],
        inputs: Sequence[Variable],
        value: Callable[[float, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        self._leave()
        parameters = () if self.begun else self.ports.parameters
        return self._slopes.jacobian(t, a, rows, (*self.ports.states, *inputs), parameters, value)

    # --- begin ------------------------------------------------------------------------------------
    def _ready(self, t: float, x: np.ndarray, u: np.ndarray | None, p: np.ndarray) -> bool:
        """Initialise if that has not been done, or was done with other parameters; whether it is done now."""
        if self.initialised and (self.begun or equal(p, self.given)):
            return False
        self._initialise(t, x, self._input_start if u is None else u, p)
        return True

    def _initialise(
        self,
        t: float,
        x: np.ndarray,
        u: np.ndarray,
        p: np.ndarray,
        risen: Sequence[Variable] = (),
        stay: bool = False,
    ) -> None:
        c = self.component
        if self.initialised:
            c.reset()
        self.stays = self.starting = False
        if self._texts:
            c.configure({v: value for v, value in self._texts.items() if _structural(v)})
            for v, value in self._texts.items():
                if not _structural(v):
                    c.set(v, value)
        self._put_changed(p, self._defaults)
        if self._start is not None:
            self._set_states_given(x)
        if given := self.ports.set_ones(self.ports.inputs):
            c.setter(given).write(u[places(self.ports.inputs, given)])
        with same_folder():
            c.enter_initialization(t, self._stop_time)
            self._rounds.prepare(t)
            c.exit_initialization()
        found = self._rounds.run(t, None, risen)
        self._end_event(found, stay)
        self.stands_from = self.reached = t
        self._take(found)
        if self._start is None:  # the first instance of all
            check_counts(c, self.ports.nx, self.ports.n_indicators)
        finite.states(c, self.ports.states, self._x)
        self.initialised, self.begun = True, False
        self.given, self.inputs_given, self._x_given = p.copy(), u.copy(), x.copy()

    def _end_event(self, found: DiscreteStates, stay: bool) -> None:
        """All rounds are done: back to continuous-time mode, or later."""
        self.stays = stay and not found.terminate
        if not stay and not found.terminate:
            self.component.enter_continuous_time_mode()

    def found_start(self, p: np.ndarray) -> ModelStart:
        """Initialise a unit that has no `ModelStart` yet, with parameters p (np,), and return its start."""
        nx = self.ports.nx
        self._initialise(self.clock.at(0.0), np.zeros(nx), self.inputs_given, p)
        nominals = np.abs(self.component.nominals(np.ones(nx)))
        good = np.isfinite(nominals) & (nominals > 0)
        return ModelStart(self._x.copy(), np.where(good, nominals, 1.0))

    def _set_states_given(self, x: np.ndarray) -> None:
        """Set start values of states that a run has given."""
        assert self._start is not None
        if equal(x, self._start.states):
            return
        at = 0
        for v in self.ports.states:
            place = slice(at, at + v.size)
            at += v.size
            if v.is_start_settable and (x[place] != self._start.states[place]).any():
                self.component.setter([v]).write(x[place])

    def _each(self, now: np.ndarray, before: np.ndarray) -> list[tuple[Variable, np.ndarray, np.ndarray]]:
        found, at = [], 0
        for v in self.ports.parameters:
            place = slice(at, at + v.size)
            found.append((v, now[place], before[place]))
            at += v.size
        return found

    def _take(self, found: DiscreteStates) -> None:
        self.terminated |= found.terminate
        announced = NEVER if found.next_time is None else found.next_time
        self.next = min(announced, self._rounds.next_tick, NEVER)

    def _put_changed(self, p: np.ndarray, before: np.ndarray) -> None:
        """Set parameters that are not what they were."""
        if equal(p, before):
            return
        changed = [(v, now) for v, now, old in self._each(p, before) if (now != old).any()]
        self.component.setter([v for v, _ in changed]).write(np.concatenate([x for _, x in changed]))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two rows of numbers are equal; quicker than NumPy where they are short."""
    return bool(a.tolist() == b.tolist())


def _structural(v: Variable) -> bool:
    return v.causality == "structuralParameter"
