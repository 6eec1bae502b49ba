"""The calls with which a block declares events and what they change: modes, branches, resets, the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import flag
from blocks.contract.declaration_checks import text_of, texts_of
from blocks.contract.declaring import Declarations
from blocks.contract.event_memories import Branch, LoopRounds, ModeMemory
from blocks.contract.symbols import Array, as_scalar
from blocks.errors import BlockError

SAME_INSTANT = 1e-12  # relative; times closer than this are one instant
THRESHOLD = 1e-10  # |g| up to this counts as on the threshold of a zero crossing


class EventEquations(Declarations):
    """The part of `Equations` that is about events."""

    def mode(self, name: str, initial: Any, size: int | None = None, at_ticks: Any = None) -> Array:
        """Discrete state without ticks, changed only by events.

        `at_ticks` is an expression, or a function of the mode itself. The mode starts from its value and
        takes it at every instant with ticks, in dependency order, so that sampled blocks never see a branch
        that a jump at the same instant has left. Between ticks the mode is constant and needs events
        (`when`).
        """
        if at_ticks is None:
            return self._memory(ModeMemory, name, initial, size)
        return self._branch(name, initial, size, at_ticks)

    def event_at(
        self, name: str, initial: float, resets: Callable[[Array], Mapping[Array, Any]], label: str
    ) -> Array:
        """Event at a time [s] that a mode holds; resets, also its own, may move it. Returns the mode.

        Steps end at that time exactly and none goes beyond it; at an instant that differs from it by rounding
        the event is at that instant. At a start that is not before it, the event is there. Where another time
        is given that is not to come either, it is there at once, again and again up to a hundred times. The
        time of an event that does not come is 1e30. At an instant with listed instants or ticks it has the
        place of a sampled block: after what the block reads, before what reads what it changes
        (ARCHITECTURE.md, "What happens at a tick").

        resets : a function of the mode that gives what takes which value, as in `when`; label : of the event
        """
        time = self.mode(name, initial, 1)
        near = SAME_INSTANT / THRESHOLD * np.maximum(1.0, np.abs(time[0]))  # on the threshold up to there
        crossing = (as_scalar(self._time) - time[0]) / near
        self._event(crossing, "rising", label, self._new_values(resets(time)), "", eager=True, timed=name)
        return time

    def rounds_in_loop(self, name: str) -> Array:
        """Number of rounds, from 1 on, of a block in a loop of timed events at one instant; else 0.

        It rises by 1 each time that what an event of the block (`event_at`, and what follows it) has read
        at an instant has changed at that instant since: a crossing that follows (`follow_time`) and watches
        the number then repeats the event with the new values.
        """
        return self._memory(LoopRounds, name, 0.0, 1)

    def _branch(
        self,
        name: str,
        initial: Any,
        size: int | None,
        at_ticks: Any,
        rest: float | None = None,
        always: bool = False,
        begins: bool = False,
    ) -> Array:
        array = self._memory(Branch, name, initial, size, rest=rest, always=always, begins=begins)
        value = at_ticks(array) if callable(at_ticks) else at_ticks
        self._complete(array, Branch, value, "value at ticks")
        return array

    def when(
        self,
        crossing: Any,
        resets: Mapping[Array, Any] | Sequence[tuple[Array, Any]],
        direction: str = "both",
        name: str | None = None,
        warning: str = "",
        anew: Sequence[str] = (),
        by_value: bool = False,
        unmet: str = "",
        follow_time: bool = False,
        in_turn: bool = False,
    ) -> None:
        """Zero-crossing event: when `crossing` crosses zero each state of `resets` takes its new value.

        With direction "both", a sign change of the crossing that its own reset of a continuous state causes
        does not count.

        resets : {state: value}, or a list of (state, value)
        warning : text of a warning at the end of a run in which it fired
        anew : names of events of this block whose signs are determined anew after the resets, without firing
        unmet : text of a warning of a run that began beyond the crossing and in which it did not fire
        by_value : on the threshold the value of the crossing alone decides, not how it moves
        follow_time : it also fires together with an event of `event_at`, where that has caused it, and where
            inputs of the block jump at an instant: in the order of sampled blocks
        in_turn : events of this block that say so and reset one state may be due at one instant: they come
            one after the other, in the order of their declaration, and each reads what those before it left
        """
        self._event(
            crossing, direction, name, self._new_values(resets), "",
            warning=text_of(warning, "warning of an event"), unmet=text_of(unmet, "unmet of an event"),
            anew=texts_of(anew, "anew of an event"), by_value=flag(by_value, "by_value", BlockError),
            follow_time=flag(follow_time, "follow_time", BlockError),
        )  # fmt: skip
        self._events[-1] = replace(self._events[-1], in_turn=flag(in_turn, "in_turn", BlockError))

    def _new_values(
        self, resets: Mapping[Array, Any] | Sequence[tuple[Array, Any]]
    ) -> tuple[tuple[str, ca.SX], ...]:
        """Resets by the names of what they change."""
        pairs = []
        for state, value in resets.items() if isinstance(resets, Mapping) else resets:
            target = self._memories[self._name_of(state, "a reset")]
            if not target.resettable:
                raise BlockError(f"event resets '{target.name}', which is no state or mode.")
            pairs.append((target.name, self._sized(value, target.size, f"reset of '{target.name}'")))
        return tuple(pairs)

    def _eager(self) -> None:
        """Let the newest event fire at the start too, where that is beyond its crossing."""
        self._events[-1] = replace(self._events[-1], eager=True)

    def _acknowledges(self) -> None:
        """What depends on what the newest event resets is due with it, not after it."""
        self._events[-1] = replace(self._events[-1], acknowledges=True)

    def stop(self, crossing: Any, message: str, direction: str = "both", unmet: str = "") -> None:
        """End the run where `crossing` crosses zero, keeping the result; `unmet` as for `when`."""
        said = text_of(message, "message of a stop")
        if not said:  # an event without one ends nothing
            raise BlockError("message of a stop is empty.", hint="Say in it why the run ends.")
        self._event(crossing, direction, None, (), said, unmet=text_of(unmet, "unmet of a stop"))

    def where_event(self, g: Any, a: Any, b: Any, name: str | None = None) -> Array:
        """`a` while g >= 0, else `b`; the branch is held during a step and flipped by an event."""
        label = name or f"branch{len(self._memories)}"
        side = self._scalar(g)

        def held(old: Array) -> Array:
            return np.where(np.abs(side) > THRESHOLD, side > 0, old)

        branch = self._branch(label, 1.0, None, held, rest=1.0)
        for state, direction, value in (("on", "rising", 1.0), ("off", "falling", 0.0)):
            resets = ((label, self._sized(value, 1, "branch")),)
            self._event(g, direction, f"{label} {state}", resets, "", rest=1, left=1.0 - value)
        return np.where(branch[0] > 0.5, a, b)

    def _scalar(self, g: Any) -> Array:
        return as_scalar(self._sized(g, 1, "condition of a branch"))
