"""The blocks around a conditional part: what decides when it is active, and what its outputs show meanwhile.

A control counts the changes of its signal; a part is called, or starts anew, when the count has gone on. The
counts are memories of the schedule, so that the order at one instant is that of all signals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.declaring import Declarations
from blocks.contract.event_equations import THRESHOLD
from blocks.contract.memories import Conditional, LatchedOutput, StartValue
from blocks.contract.rate import Ticks
from blocks.contract.symbols import Array, column

EDGES = ("rising", "falling", "either")


@dataclass(frozen=True)
class PartControl(Block):
    """When a part is active, or called, or to start anew.

    Inputs: "enable" (active while any component is above 0), "trigger" (called at its edges), "call"
    (called when this number changes), "reset" (starts anew at its edges), as far as the fields ask for them.
    Outputs: active; restarts, how often to start anew so far; fresh, 1 between a start anew and the event
    that has put continuous states back. Direct feedthrough: yes, at ticks.

    enable, call : bool; trigger, reset : "" or one of `EDGES`; again : start anew when it becomes active
    rounds : called at each round of a loop that it is the inside of
    ticks : of the trigger or call, None where it may change at any time: found by the compiler; of rounds the
        rate inside
    """

    ACTIVITY: ClassVar[str] = "active"  # the output that is above 0.5 while the part is active

    enable: bool = False
    trigger: str = ""
    call: bool = False
    reset: str = ""
    again: bool = False
    ticks: Ticks | None = None
    rounds: bool = False

    @property
    def caller(self) -> str:
        """The input whose changes are calls; "" where there is none."""
        if self.trigger:
            return "trigger"
        return "call" if self.call else ""

    @property
    def hears_rises(self) -> Mapping[str, str]:
        """See `Block.hears_rises`."""
        return {"trigger": "Use a FunctionCall."} if self.trigger else {}

    def define(self, b: Equations) -> None:
        """Declare the signals, what counts their changes, and the outputs."""
        active: Any = 1.0
        if self.rounds and self.ticks:
            b.tick_count(self.ticks)
        if self.enable:
            active = above_zero(b, "enable", b.input("enable"))
        if self.caller:
            count = self._count(b)
            seen = b.afterwards("calls seen", 0.0, lambda _: count, self.ticks, start=count)
            active = np.where(count != seen[0], active, 0.0)
        b.output(self.ACTIVITY, active)
        if self.again or self.reset:
            self._restarts(b, active)

    def _count(self, b: Equations) -> Any:
        """How many calls so far."""
        signal = b.input(self.caller, size=1)
        if self.call:
            return b.conditional("calls", 0.0, lambda _: signal, self.ticks, start=signal)[0]
        on = np.where(signal[0] > 0, 1.0, 0.0) if self.ticks else above_zero(b, self.caller, signal)
        start = on if self.ticks else _at_start(signal)  # at ticks no signal is too small
        return _edges(b, "edges", on, self.trigger, self.ticks, start)

    def _restarts(self, b: Equations, active: Any) -> None:
        if self.reset:
            signal, edge = b.input("reset", size=1), self.reset
            on, start = above_zero(b, "reset", signal), _at_start(signal)
        else:
            on, edge, start = active, "rising", active
        restarts = _edges(b, "restarts", on, edge, None, start)
        done = b.mode("restarts done", 0.0)
        fresh = np.where(restarts != done[0], 1.0, 0.0)
        _eagerly(b, fresh, [(done, restarts)])
        b._acknowledges()  # the blocks inside put their states back at the same time
        b.output("restarts", restarts)
        b.output("fresh", fresh)


def above_zero(b: Equations, name: str, signal: Array) -> Any:
    """1.0 while any component of a signal is above 0; its crossings are events.

    In a part that is inactive it follows the signal too, so that nothing in it is active for a moment where
    the part becomes active again.
    """
    g = signal[0] if signal.size == 1 else np.max(signal)
    held = lambda old: np.where(np.abs(g) > THRESHOLD, g > 0, old)
    on = b._branch(f"{name} on", 0.0, None, held, rest=0.0, always=True)
    for way, direction, value in (("on", "rising", 1.0), ("off", "falling", 0.0)):
        reset = (f"{name} on", ca.SX(value))
        b._event(g, direction, f"{name} {way}", (reset,), "", rest=-1)
    return on[0]


def _at_start(signal: Array) -> Any:
    """Whether a condition holds before the first instant, be the part that it is in active then or not."""
    return np.where(signal[0] > THRESHOLD, 1.0, 0.0)


def _edges(b: Equations, name: str, on: Any, edge: str, ticks: Ticks | None, start: Any) -> Any:
    """How often a condition has changed in a direction; one memory, odd while the condition holds."""
    v = b.conditional(
        name, 0.0, lambda v: v + np.where(on != v - 2.0 * np.floor(0.5 * v), 1.0, 0.0), ticks, start
    )
    match edge:
        case "rising":
            return np.floor(0.5 * (v[0] + 1.0))
        case "falling":
            return np.floor(0.5 * v[0])
        case _:
            return v[0]


def _eagerly(b: Equations, fresh: Any, resets: Any) -> None:
    """Reset states at once where `fresh` has become 1, also before the first step."""
    b.when(np.where(fresh > 0.5, 1.0, -1.0), resets, "rising", "restart")
    b._eager()


def _since_a_tick(b: Equations, active: Array, rate: Ticks, k: int) -> Array:
    """(1,) whether a part is active and had a tick since it became so, or is active from the start on."""
    so_far = b.tick_count(rate)
    before = b.conditional(f"ticks before {k}", -1.0, lambda n: np.where(active > 0.5, n, so_far))
    return np.where((active > 0.5) * (so_far > before), 1.0, 0.0)


@dataclass(frozen=True)
class Latch(Block):
    """An output of a part: its signal while the part is active, else the newest such value or a fixed one.

    Output: y = u while active, else held or `initial`. Before a part was ever active: `initial`, or (None)
    the signal where the part is given zeros.

    hold : False where it falls back; kind : "continuous", or "sampled" where it changes at ticks or calls
        only
    ticks : of a sampled one, None for every instant; both found by the compiler
    rates : of each of `several` signals, one per part, that change at ticks of their own: such a signal
        counts from the first tick at which its part is active, as a merged signal does in Simulink, and from
        the start of the run on where its part is active then; None: at once; found by the compiler
    """

    hold: bool = True
    initial: Any = None
    kind: str = "continuous"
    ticks: Ticks | None = None
    several: int = 1
    rates: tuple[Ticks | None, ...] = ()

    def define(self, b: Equations) -> None:
        """Declare the signals of the parts, which of them is active, and what is held."""
        signals: list[Array] = []
        actives: list[Array] = []
        for k in range(self.several):
            suffix = str(k) if self.several > 1 else ""
            signals.append(b.input(f"u{suffix}", size=signals[0].size if signals else None))
            active = b.input(f"active{suffix}", size=1)
            rate = self.rates[k] if self.rates else None
            actives.append(active if rate is None else _since_a_tick(b, active, rate, k))
        n = signals[0].size
        initial = 0.0 if self.initial is None else self.initial
        start_input = "u" if self.several == 1 else "u0"
        more: dict[str, Any] = {"start_input": start_input} if self.initial is None else {}

        def chosen(otherwise: Any) -> Any:
            value = otherwise
            for u, active in reversed(list(zip(signals, actives, strict=True))):
                value = np.where(active[0] > 0.5, u, value)
            return value

        d: Declarations = b
        late = self.kind == "sampled" and self.ticks is not None and self.ticks.offset > 0
        late = late and self.initial is None
        if late or not self.hold:
            back = d._memory(StartValue, "initial", initial, n, **more)
        if late:  # until its first tick it shows what a part that is active from the start on does
            more = {"start": column(chosen(back))}
        if self.kind == "sampled":
            y = d._memory(Conditional, "y", initial, n, ticks=self.ticks, **more)
            d._complete(y, Conditional, chosen(y if self.hold else back), "value")
            b.output("y", y)
            return
        if self.hold:
            back = d._memory(LatchedOutput, "held", initial, n, **more)
            d._complete(back, LatchedOutput, chosen(back), "value")
        b.output("y", chosen(back))
