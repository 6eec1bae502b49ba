"""One round of a loop as equations: an instant of the flat system of what is repeated.

All that the inside keeps is one vector. A round is written down as the schedule of the inside, segment by
segment; conditional parts inside are memories of it like others. Where a segment is repeated itself (a loop
or a chart inside), a round takes several passes: it stops there, and goes on there at the next pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from blocks.errors import BlockError
from cosim.segments import LastSegment, RepeatSegment
from cosim.system import System

MOST = 10_000_000  # passes within one tick


@dataclass(frozen=True)
class Pass:
    """What a pass through the schedule leaves behind.

    outputs : of the inside, in the order of its outports
    held : (nh,) what it keeps; done : is the round over?
    waiting : (1,) the number of the repeated segment at which it goes on, 0 where the round is over
    """

    outputs: list[ca.SX]
    held: ca.SX
    done: ca.SX
    waiting: ca.SX


@dataclass(frozen=True)
class Inside:
    """The inside of a loop at one instant.

    system : what is repeated; p : its parameters; t : time [s]
    given : places in h and what stands there for the whole instant: inputs, functions of time
    """

    system: System
    t: ca.SX
    p: ca.SX
    given: Mapping[int, ca.SX]

    def __post_init__(self) -> None:
        s = self.system
        wrong = {
            "continuous states": len(s.x0),
            "events": len(s.events),
            "delays": len(s.delays),
            "random draws": len(s.draws),
            "algebraic unknowns": len(s.w0),
            "opaque blocks": sum(not g.refreshes for g in s.schedule),
            "next values of its own": sum(g.writes_next for g in s.schedule),
        }
        if found := [what for what, number in wrong.items() if number]:
            raise BlockError(
                f"a subsystem that is repeated within one tick has {found[0]}.",
                hint="Use discrete blocks of one sample time inside.",
            )

    @property
    def passes(self) -> int:
        """How many passes a round may take."""
        limits = [s.limit for s in self.system.schedule if isinstance(s, RepeatSegment)]
        return max(1, sum(limits))

    def first(self) -> ca.SX:
        """(nh,) what it keeps before its first round."""
        s = self.system
        held = self._seen(ca.SX(ca.DM(s.h0)))
        for start in s.starts:
            held[start.places.tolist()] = self._at(start.expression, held)
        values, places = s.starting
        if len(places):
            found = self._at(values, held)
            held = ca.SX(held)
            held[places.tolist()] = found
        return held

    def run(self, held: ca.SX, waiting: ca.SX) -> Pass:
        """One pass from what it keeps; `waiting` as the pass before left it."""
        s, now = self.system, self._seen(held)
        going, stopped = waiting < 0.5, ca.SX(0.0)
        outputs: list[ca.SX] = []
        repeated = 0
        for segment in s.schedule:
            value = self._at(segment.expression, now)
            if isinstance(segment, LastSegment) and not outputs:
                outputs = self._outputs(now)
            reached = going
            if isinstance(segment, RepeatSegment):
                repeated += 1
                reached = ca.logic_or(going, waiting == repeated)
                again = ca.logic_and(reached, value[0] != 0)
                stopped = ca.if_else(again, repeated, stopped)
                going = ca.logic_and(reached, value[0] == 0)
            where = segment.writes.tolist()
            old, now = now, ca.SX(now)
            now[where] = ca.if_else(reached, value, old[where])
        return Pass(outputs or self._outputs(now), now, going, stopped)

    def _outputs(self, now: ca.SX) -> list[ca.SX]:
        s = self.system
        return [self._at(s.signal(name).expression, now) for name in s.outports]

    def _seen(self, held: ca.SX) -> ca.SX:
        now = ca.SX(held)
        for place, constant in self._constants.items():
            now[place] = constant
        for place, value in self.given.items():
            now[place] = value
        return now

    @cached_property
    def _constants(self) -> dict[int, float]:
        """Places in h that nothing ever writes, and what is there: a linear model has no states for them."""
        s = self.system
        written = [g.writes for g in s.schedule] + [start.places for start in s.starts] + [s.starting[1]]
        changes = set(np.concatenate(written).tolist())
        return {k: float(value) for k, value in enumerate(s.h0) if k not in changes}

    def _at(self, expression: ca.SX, held: ca.SX) -> ca.SX:
        s = self.system
        function = ca.Function("f", [s.t, s.x, s.h, s.w, s.p], [ca.densify(expression)])
        found: ca.SX = function.call([self.t, ca.SX(0, 1), held, ca.SX(0, 1), self.p], True, False)[0]
        return found
