"""An FMU for model exchange in one run: its events, the steps it is told of, and its state as bytes."""

from __future__ import annotations

import contextlib
import json
from functools import cached_property, partial
from typing import Any

import numpy as np

from blocks.contract.event_memories import NEVER
from blocks.contract.user_lines import warn_user
from blocks.errors import BlockError
from cosim.fmi import finite
from cosim.fmi.description import Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.working_folder import same_folder
from cosim.fmi.model_exchange_functions import ModelExchangeFunctions
from cosim.fmi.model_exchange_ports import places

IN_LOOP = 2.0  # what asks for an event after which the FMU stays in event mode; 1 for any other


class ModelExchangeUnit(ModelExchangeFunctions):
    """One run's instance of an FMU for model exchange; see `ModelExchangeFunctions`."""

    @cached_property
    def _set_all(self) -> Any:
        return self.component.setter(self.ports.unclocked[0])

    @cached_property
    def _clocked(self) -> list[tuple[Variable, Any, np.ndarray]]:
        inputs = self.ports.inputs
        clocked = [v for v in self.ports.set_ones(inputs) if v.clocks]
        return [(v, self.component.setter([v]), places(inputs, [v])) for v in clocked]

    # --- events -----------------------------------------------------------------------------------
    def event(self, t: float, a: np.ndarray) -> np.ndarray:
        """The results of an event at t [s], see `_results`; levels of clocks follow the parameters.

        The last entry of the argument says whether there is one; without it nothing happens.
        """
        if not a[-1]:
            return np.zeros(self.ports.nx + 2 + sum(v.size for v in self.ports.kept))
        asked = (t, a.tobytes())
        if asked != self._asked:
            try:
                self._outcome = self._event(t, a)
            except FMUCallError as error:
                self._failure = error
                raise
            self._asked = asked
        return self._outcome.copy()

    def _event(self, t: float, a: np.ndarray) -> np.ndarray:
        nx, nu, n = self.ports.nx, self.ports.nu, self.ports.np
        x, u, p = a[:nx], a[nx : nx + nu], a[nx + nu : nx + nu + n]
        levels = a[nx + nu + n : nx + nu + n + len(self.ports.triggers)]
        c, stay = self.component, bool(a[-1] == IN_LOOP)
        if self.starting and self._remains(t, x):
            self.begun, x = False, self._x_given.copy()
        if not self.begun:
            known = self.initialised and bool((p == self.given).all() and (u == self.inputs_given).all())
            risen = self._risen(levels)
            if not known or risen or stay or not (x == self._x_given).all():
                self._initialise(t, x, u, p, risen, stay)
            now = self._effective(x)
            if not self.terminated and not np.array_equal(now, self._x):
                self._leave()
                c.set_states(np.ascontiguousarray(now))
            self.begun, self.starting = True, self.stays
            return self._results(now)
        if self.next < t - self.clock.near(t) and not (self.in_event or self.terminated):
            a = self._after_pause(t, a)
            x = a[:nx]
        t = self._own_time(t)
        if self.in_event:
            c.call.time = t
        else:
            self._stand(t, a)
        if not self.terminated:
            self._check_tuned(t, p)
            for v, setter, at in self._clocked:
                self._rounds.give(v, partial(setter.write, u[at].copy()))
            if not self.in_event and not self.stays:
                c.enter_event_mode()
            self.in_event = self.stays = self.starting = False

            def put() -> None:
                self._set_all.write(u[self.ports.unclocked[1]])
                self._tune(p)

            self.stands_from = self.reached = t
            found = self._rounds.run(t, put, self._risen(levels))
            self._take(found)
            self._end_event(found, stay)
            finite.states(c, self.ports.states, self._x)
        else:  # since an accepted step: it stays where that ended
            self._x[:] = x
        self.inputs_given = u.copy()
        return self._results(self._x)

    def _results(self, x: np.ndarray) -> np.ndarray:
        """The results of an event: states, time of the next one [s], whether the run ends, kept outputs."""
        values, counts = self._rounds.values, self._rounds.counts
        kept = [[float(counts[v.name])] if v.clock is not None else values[v.name] for v in self.ports.kept]
        next_event = NEVER if self.next >= NEVER else self.clock.run_time(self.next)
        return np.concatenate([x, [next_event, float(self.terminated)], *kept])

    def _risen(self, levels: np.ndarray) -> list[Variable]:
        """Clocks whose number has risen."""
        if not self.ports.triggers:
            return []
        found = [v for v, up in zip(self.ports.triggers, levels > self._levels, strict=True) if up]
        self._levels = levels.copy()
        return found

    def _after_pause(self, t: float, a: np.ndarray) -> np.ndarray:
        """The argument of an event at t [s] after those announced for times in a pause of the part around it.

        Each is handled at its own time, with the inputs there are now.
        """
        c, a, since, count = self.component, a.copy(), self.next, 0
        while self.next < t - self.clock.near(t) and not self.terminated:
            at, count = self.next, count + 1
            self._step_to(at, a)
            if not self.stays:
                c.enter_event_mode()
            self.stands_from = self.reached = at
            found = self._rounds.run(at)
            self._take(found)
            self._end_event(found, False)
            finite.states(c, self.ports.states, self._x)
            a[: self.ports.nx] = self._x
        self._step_to(t, a)
        if not self._told_of_pause:
            self._told_of_pause = True
            warn_user(
                f"FMU '{self.description.file}', instance '{c.name}': it stood still until t={t:.9g} s, in a "
                f"conditional part; {count} of its time events since t={since:.9g} s come there, each at its "
                "own time and with the inputs of the end of the pause. Use reset=True of the part, the "
                "diagram itself, or leave the FMU outside.",
                UserWarning,
            )
        return a

    def _step_to(self, t: float, a: np.ndarray) -> None:
        """Go on to t [s] where states stand still."""
        self._stand(t, a)
        if self.component.interface.needs_completed_step and not (self.stays or self.terminated):
            self.terminated |= self.component.completed_step()[1]
            self.reached = self._own_time(t)

    def _tune(self, p: np.ndarray) -> None:
        self._put_changed(p, self.given)
        self.given = p.copy()

    def _check_tuned(self, t: float, p: np.ndarray) -> None:
        for v, now, before in self._each(p, self.given):
            tunable = v.causality == "parameter" and v.variability == "tunable"
            if not tunable and (now != before).any():
                raise FMUCallError(
                    f"FMU '{self.description.file}': '{v.name}' is {v.variability} and was changed in a run, "
                    f"at t={t:.9g} s, to {now.tolist()}.",
                    port=v.name,
                    time=t,
                    hint="Give it before the run, with parameters= or start=.",
                )

    def completed_step(self, t: float, a: np.ndarray) -> np.ndarray:
        """Report an accepted step; returns how often the FMU has requested an event so far, (1,).

        Where no time has passed since the newest step or event, nothing is reported: inputs may have jumped
        since, and what the FMU makes of that waits for its event.
        """
        own = self._own_time(t)
        if self.begun and not self.terminated and own != self.reached:
            self._stand(t, a)
            event, terminate = self.component.completed_step()
            self.terminated |= terminate
            self.steps_asked += bool(event or terminate)
            self.reached = own
        return np.array([float(self.steps_asked)])

    # --- states -----------------------------------------------------------------------------------
    def save(self) -> bytes:
        """The state of the FMU.

        Raises
        ------
        BlockError      the FMU cannot write its state
        """
        with self.alone():
            return self._saved()

    def _saved(self) -> bytes:
        self._leave()
        facts = {
            "clock": self.clock.start, "begun": self.begun, "terminated": self.terminated,
            "asked": self.steps_asked,
            "given": self.given.tolist(), "inputs": self.inputs_given.tolist(), "next": self.next,
            "from": self.stands_from, "reached": self.reached,
            "time": self.component.call.time, "rounds": self._rounds.kept(), "levels": self._levels.tolist(),
        }  # fmt: skip
        head = json.dumps(facts).encode() + b"\n"
        if not self.begun:
            return head
        if not self.component.interface.can_serialize_state:
            raise BlockError(
                f"FMU '{self.description.file}' cannot write its state as bytes (canSerializeFMUState is "
                "false), so that this diagram has no snapshots.",
                hint="Run it from the start again, or use an FMU that can.",
            )
        return head + self.component.serialized()

    def load(self, state: bytes) -> None:
        """Restore what `save` returned, perhaps in another process."""
        with self.alone():
            self._load(state)

    def _load(self, state: bytes) -> None:
        head, _, rest = state.partition(b"\n")
        facts = json.loads(head)
        self.clock.check_same(facts.get("clock", 0.0), self.description.file)
        self._asked = None
        self._leave()
        if self.compiled is not None:
            self.compiled.forget()
        if not facts["begun"]:
            if self.initialised:
                self.component.reset()
            self.initialised = self.begun = self.terminated = False
            return
        given, inputs = np.array(facts["given"], float), np.array(facts["inputs"], float)
        if not self.initialised:
            start = np.zeros(self.ports.nx) if self._start is None else self._start.states
            self._initialise(self.clock.at(0.0), start, inputs, given)
        self.component.deserialize(rest)
        self.begun, self.terminated, self.steps_asked = True, facts["terminated"], facts["asked"]
        self.given, self.inputs_given = given, inputs
        self.next, self.stands_from = facts["next"], facts.get("from", facts["time"])
        self.reached = facts.get("reached", self.stands_from)
        self.component.call.time = facts["time"]
        self._rounds.restored(facts["rounds"])
        self._levels = np.array(facts["levels"], dtype=float)

    def close(self) -> None:
        """Terminate and free the FMU; whoever asks it after that gets an error."""
        if self.compiled is not None:
            self.compiled.close()
            self.compiled = None  # the run keeps it: it may be asked once more, and answers by an error
        self.closed = True
        with same_folder():
            if self.initialised:
                with contextlib.suppress(FMUError):  # it is freed whatever it returns
                    self.component.terminate()
            self.component.close()
