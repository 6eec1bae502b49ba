"""Blocks that watch requirements during a run: each reports a verdict as soon as it is certain.

Their inputs are margins (robustness) of conditions of an instant; their output "y" is 1 once the requirement
is certainly met, -1 once it is certainly broken, and 0 before. Nothing is sampled: events find the instant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from cosim.study.action_blocks import EDGE, EPS

MET, BROKEN, KNOWN = 1.0, -1.0, 2.0  # KNOWN: nothing can change it, the grid decides


def _sharp(margin: Array) -> Array:
    """Map a margin to a number above 0 where it is not negative, below 0 elsewhere, and never 0."""
    return np.where(margin >= 0, margin + EDGE, margin - EDGE)


@dataclass(frozen=True)
class RequirementWindow:
    """A window of a run [s], both ends in it; `end` may be inf."""

    begin: float = 0.0
    end: float = math.inf

    def declare(self, b: Equations) -> tuple[Array, Any]:
        """Return whether time is in the window, and whether the window is over (never without an end)."""
        now = b.instants([max(self.begin, EPS)], name="begun")[0] > 0.5
        if math.isinf(self.end):
            return now, now & (b.time < -1.0)
        passed = b.instants([self.end + EPS], name="over")[0]
        return now & (passed < 0.5), passed > 0.5


def _verdict(b: Equations) -> tuple[Array, Array]:
    """The memory of the verdict, and whether it is still open."""
    verdict = b.mode("verdict", 0.0)
    return verdict, np.abs(verdict[0]) < 0.5


def _decide(b: Equations, span: RequirementWindow, crossing: Array, comes: float, over: float) -> None:
    """Decide `comes` if `crossing` rises through 0 in the window, `over` if the window passes without it."""
    looks, passed = span.declare(b)
    verdict, open_ = _verdict(b)
    b.when(np.where(open_ & looks, crossing, -1.0), [(verdict, comes)], "rising", "decides")
    b.output("y", np.where(open_ & passed, over, verdict[0]))


@dataclass(frozen=True)
class AlwaysVerdict(Block):
    """``always p``: broken when the input "p" falls below 0 in the window, met when the window is over.

    Direct feedthrough: none.
    """

    span: RequirementWindow

    def define(self, b: Equations) -> None:
        """Declare ports and the event."""
        _decide(b, self.span, -b.input("p", size=1)[0], BROKEN, MET)


@dataclass(frozen=True)
class EventuallyVerdict(Block):
    """``eventually p``: met when "p" reaches 0 in the window, broken when the window is over.

    Direct feedthrough: none.
    """

    span: RequirementWindow

    def define(self, b: Equations) -> None:
        """Declare ports and the event."""
        _decide(b, self.span, _sharp(b.input("p", size=1)[0]), MET, BROKEN)


@dataclass(frozen=True)
class UntilVerdict(Block):
    """``p until q``: met when "q" reaches 0 in the window, broken if "p" falls below 0 before.

    Direct feedthrough: none.
    """

    span: RequirementWindow

    def define(self, b: Equations) -> None:
        """Declare ports and the event."""
        p, q = b.input("p", size=1)[0], b.input("q", size=1)[0]
        looks, over = self.span.declare(b)
        armed = b.instants([EPS], name="armed")[0] > 0.5
        verdict, open_ = _verdict(b)
        comes = np.where(looks, _sharp(q), -1.0)
        crossing = np.where(open_ & armed, np.maximum(-p, comes), -1.0)
        b.when(crossing, [(verdict, np.where(comes > 0, MET, BROKEN))], "rising", "decided")
        b.output("y", np.where(open_ & over, BROKEN, verdict[0]))


@dataclass(frozen=True)
class ReactionVerdict(Block):
    """``whenever p eventually q within`` s: broken if "q" has not reached 0 this time after "p" did.

    Direct feedthrough: none.
    """

    span: RequirementWindow
    within: float = math.inf

    def define(self, b: Equations) -> None:
        """Declare ports and events."""
        p, q = _sharp(b.input("p", size=1)[0]), _sharp(b.input("q", size=1)[0])
        looks, over = self.span.declare(b)
        verdict, open_ = _verdict(b)
        since = b.mode("since", -1.0)  # s, when p came and q was not there; -1: nothing is waited for
        waits = since[0] >= 0
        crossing = np.where(waits, q, np.where(looks, np.minimum(p, -q), -1.0))
        b.when(crossing, [(since, np.where(waits, -1.0, b.time))], "rising", "waits, or not any more")
        if math.isfinite(self.within):
            late = np.where(open_ & waits, b.time - since[0] - (self.within + EPS), -1.0)
            b.when(late, [(verdict, BROKEN)], "rising", "broken")
        b.output("y", np.where(open_ & over & (since[0] < 0), MET, verdict[0]))


@dataclass(frozen=True)
class ConsequenceVerdict(Block):
    """``whenever p always q within`` s: broken if "q" is below 0 while "p" is not, or within this time after.

    Direct feedthrough: none.
    """

    span: RequirementWindow
    within: float = math.inf

    def define(self, b: Equations) -> None:
        """Declare ports and events."""
        p, q = b.input("p", size=1)[0], b.input("q", size=1)[0]
        looks, over = self.span.declare(b)
        verdict, open_ = _verdict(b)
        cause = np.where(looks, _sharp(p), -1.0)
        # s, when p ended last, and when its consequence lapsed last
        held, lapsed = (
            b.mode("held", -1.0),
            b.mode("lapsed", -1.0),
        )
        b.when(cause, [(held, b.time)], "falling", "cause ends")
        if math.isfinite(self.within):
            late = np.where(held[0] > lapsed[0], b.time - held[0] - (self.within + EPS), -1.0)
            b.when(late, [(lapsed, b.time)], "rising", "lapses")
        asked = (cause > 0) | (held[0] > lapsed[0])
        b.when(np.where(open_ & asked, -q, -1.0), [(verdict, BROKEN)], "rising", "broken")
        quiet = (cause < 0) & (held[0] <= lapsed[0])
        b.output("y", np.where(open_ & over & quiet, MET, verdict[0]))


@dataclass(frozen=True)
class HorizonVerdict(Block):
    """A formula that depends on no more than `horizon` [s]: known from then on.  No inputs."""

    horizon: float

    def define(self, b: Equations) -> None:
        """Declare the output."""
        b.output("y", np.where(b.instants([self.horizon + EPS], name="over")[0] > 0.5, KNOWN, 0.0))


@dataclass(frozen=True)
class VerdictStop(Block):
    """Ends the run `when` a verdict is certainly "broken", all are "decided", or either: it is "certain".

    requirements : their names; inputs "v0", "v1", ... what is certain of each.  Direct feedthrough: none.
    """

    when: str
    requirements: tuple[str, ...]

    def define(self, b: Equations) -> None:
        """Declare inputs and stops."""
        verdicts = [b.input(f"v{k}", size=1)[0] for k in range(len(self.requirements))]
        if self.when in ("broken", "certain"):
            for name, verdict in zip(self.requirements, verdicts, strict=True):
                b.stop(-0.5 - verdict, f"requirement '{name}' is not met", "rising")
        if self.when in ("decided", "certain"):
            least = verdicts[0] * verdicts[0]
            for verdict in verdicts[1:]:
                least = np.minimum(least, verdict * verdict)
            b.stop(least - 0.5, "every requirement is decided", "rising")
