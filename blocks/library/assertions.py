"""Blocks that watch a signal, and end the run, warn or only record where it is not what it must be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.library.expansion import together
from blocks.library.truth import LEVEL

__all__ = ["Assertion", "CheckRange"]

BEGUN = [Fraction(1, 10**6)]  # s; soon enough for a start outside to be noticed at the start
ACTIONS = ("stop", "warn", "record")


@dataclass(frozen=True)
class Assertion(Block):
    """Demand that a condition holds all the time.

     Output: failures = how often u has fallen to 0.5 or below, a start there included; first = when that
     happened first [s], -1 before.  With "stop" the run ends there, keeping the result with the message;
    with "warn" the end of the run warns once; with "record" there is only the event in ``result.events``.
     Direct feedthrough: none.

     message : what to say
     action : "stop", "warn" or "record"; structural

     Use::

         dry = d.add("dry", Assertion("the tank is empty"))
         d.connect(source["y"], dry["u"])
    """

    message: str = "an assertion failed"
    action: str = "stop"

    def __post_init__(self) -> None:
        _check(self)

    def define(self, b: Equations) -> None:
        """Declare the input, the event and what it leaves behind."""
        _watch(b, self, [b.input("u", size=1)[0] - LEVEL])


@dataclass(frozen=True)
class CheckRange(Block):
    """Demand that a signal stays within limits, elementwise.

     Output: failures = how often each component has left the range, a start outside included; first = when it
    did first [s], -1 before. With "stop" the run ends there, keeping the result with the message; with "warn"
    the end of the run warns once; with "record" there is only the event in ``result.events``.
    Direct feedthrough: none.

     low, high : number or (n,), unit of u; None leaves a side open; tunable
     message : what to say
     action : "stop", "warn" or "record"; structural

     Use::

         safe = d.add("safe", CheckRange(high=350.0, message="too hot", action="stop"))
         d.connect(source["y"], safe["u"])
    """

    low: ArrayLike | None = None
    high: ArrayLike | None = None
    message: str = "a signal left its range"
    action: str = "stop"

    def __post_init__(self) -> None:
        _check(self)
        checks.limits(self)
        if self.low is None and self.high is None:
            raise checks.fault(self, "low", "and high are None", "at least one limit")

    def define(self, b: Equations) -> None:
        """Declare the input, the events and what they leave behind."""
        limits = {s: b.parameter(s, v) for s in ("low", "high") if (v := getattr(self, s)) is not None}
        u, *bounds = together(b, self, u=b.input("u"), **limits)
        inside = [
            u - limit if side == "low" else limit - u for side, limit in zip(limits, bounds, strict=True)
        ]
        _watch(b, self, list(inside[0] if len(inside) == 1 else np.minimum(*inside)))


def _check(block: Any) -> None:
    checks.choice(block, "action", ACTIONS)
    if not isinstance(block.message, str) or not block.message:
        raise checks.fault(block, "message", f"is {block.message!r}", "a text that says what is wrong")


def _watch(b: Equations, block: Any, margins: list[Array]) -> None:
    """Declare an event where each of the margins falls below zero, and count them.

    A margin counts as kept until `BEGUN`, so that a start outside is an event as well.
    """
    begun = b.instants(BEGUN, name="begun")
    failures, first = [], []
    for k, margin in enumerate(margins):
        name = "" if len(margins) == 1 else f"[{k}]"
        crossing = np.where(begun[0] > 0.5, margin, 1.0)
        count, when = b.mode(f"failures{name}", 0.0), b.mode(f"first{name}", -1.0)
        resets = [(count, count + 1.0), (when, np.where(count[0] < 0.5, b.time, when[0]))]
        warning = block.message if block.action == "warn" else ""
        b.when(crossing, resets, "falling", f"failed{name}", warning=warning)
        if block.action == "stop":
            b.stop(crossing, block.message, "falling")
        failures.append(count[0])
        first.append(when[0])
    b.output("failures", np.stack(failures))
    b.output("first", np.stack(first))
