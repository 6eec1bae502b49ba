"""The blocks that actions of a study are compiled into: they begin at an instant or on a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate, instant
from blocks.contract.symbols import Array
from cosim.study.formulas import TIME, Compared, Formula, Logic, value

EDGE = 1e-9  # how far from its threshold a condition is put at least, on the side that is true: beyond `rest`
EPS = 2.0**-30  # s after the start: when a condition that holds from the start counts as coming true


@dataclass(frozen=True)
class Beginning:
    """When an action begins: `at` an instant [s], or when the input "when" becomes positive; `lasts` s."""

    at: Rate | None = None
    lasts: float | None = None

    def declare(self, b: Equations) -> tuple[Array, Array, Array]:
        """Return whether it is on, the time since it began [s], and a signal that rises through zero then."""
        if self.at is not None:
            begun = b.instants([self.at], name="begun")[0] > 0.5
            on, since = begun, b.time - float(instant(self.at))
            if self.lasts is not None:
                end = instant(self.at) + instant(self.lasts)
                on = on & (b.instants([end], name="ended")[0] < 0.5)
            return on, since, np.where(begun, 1.0, -1.0)
        condition = b.input("when", size=1)[0]
        armed = b.instants([EPS], name="armed")[0] > 0.5
        start = b.mode("start", -1.0)
        ended = b.mode("ended", 0.0)
        waiting = (start[0] < 0) & armed
        crossing = np.where(waiting, condition, -1.0)
        b.when(crossing, [(start, b.time)], "rising", "begins")
        on = start[0] >= 0
        since = b.time - start[0]
        if self.lasts is not None:
            over = np.where(on & (ended[0] < 0.5), since - self.lasts, -1.0)
            b.when(over, [(ended, 1.0)], "rising", "ends")
            on = on & (ended[0] < 0.5)
        return on, since, crossing


@dataclass(frozen=True)
class ActionCondition(Block):
    """Robustness of a condition of signals: its inputs are "s0", "s1", ..., one number each; output "y".

    sharp : it is above 0 where the condition is true and below 0 where it is not, also by equality: a counter
        that jumps to 3 makes n.y >= 3 true, a lamp at 0 is not lamp.y > 0

    Direct feedthrough: all.
    """

    formula: Formula
    signals: tuple[tuple[str, int], ...]  # name in the formula, component of the input
    sharp: bool = True

    def define(self, b: Equations) -> None:
        """Declare ports."""
        found: dict[str, Any] = {TIME: b.time}
        for k, (name, component) in enumerate(self.signals):
            found[name] = b.input(f"s{k}")[component]
        b.output("y", _robust(self.formula, found, self.sharp))


def _robust(formula: Formula, known: dict[str, Any], sharp: bool) -> Any:
    """Robustness of a condition without operators over time, in symbols."""
    match formula:
        case Compared():
            a, c = value(formula.left, known.__getitem__), value(formula.right, known.__getitem__)
            if formula.sign in ("==", "!="):
                apart = np.where(a == c, -EDGE, np.abs(a - c))
                return -apart if formula.sign == "==" else apart
            margin = c - a if formula.sign[0] == "<" else a - c
            if not sharp:
                return margin
            true = margin >= 0 if formula.sign in ("<=", ">=") else margin > 0
            return np.where(true, margin + EDGE, margin - EDGE)
        case Logic():
            parts = [_robust(part, known, sharp) for part in formula.parts]
            if formula.word == "not":
                return -parts[0]
            if formula.word == "implies":
                return np.maximum(-parts[0], parts[1])
            found = parts[0]
            for part in parts[1:]:
                found = np.minimum(found, part) if formula.word == "and" else np.maximum(found, part)
            return found
    raise TypeError(f"{type(formula).__name__} is no condition of an instant")


@dataclass(frozen=True)
class RequirementStop(Block):
    """Ends the run when its input "when", a requirement's margin, falls below 0; from `after` to `end` [s].

    Direct feedthrough: none.
    """

    message: str
    after: Rate
    end: Rate | None = None

    def define(self, b: Equations) -> None:
        """Declare the input and the stop."""
        margin = b.input("when", size=1)[0]
        looks = b.instants([max(float(self.after), EPS)], name="begun")[0] > 0.5
        if self.end is not None:
            looks = looks & (b.instants([self.end], name="over")[0] < 0.5)
        b.stop(np.where(looks, -margin, -1.0), self.message, "rising")


@dataclass(frozen=True)
class ParameterMove(Block):
    """The progress of a parameter towards a `target`: outputs "share" (0 to 1) and "target".

    At once, or with `over` linearly in that time [s].  Direct feedthrough: none.
    """

    target: Any
    beginning: Beginning
    over: float | None = None

    def define(self, b: Equations) -> None:
        """Declare ports."""
        (target,) = b.parameters(target=np.ravel(np.asarray(self.target, dtype=float)))
        on, since, _ = self.beginning.declare(b)
        share = on * 1.0 if self.over is None else np.where(on, np.minimum(since / self.over, 1.0), 0.0)
        b.output("share", share)
        b.output("target", target)


@dataclass(frozen=True)
class InputPulse(Block):
    """Adds `amount` to a signal while the pulse is on: y = u + amount.  Direct feedthrough: u to y."""

    amount: Any
    beginning: Beginning

    def define(self, b: Equations) -> None:
        """Declare ports."""
        amount = np.ravel(np.asarray(self.amount, dtype=float))
        (added,) = b.parameters(amount=amount)
        u = b.input("u", size=len(amount) if len(amount) > 1 else None)
        on, _, _ = self.beginning.declare(b)
        b.output("y", u + np.where(on, 1.0, 0.0) * added)


@dataclass(frozen=True)
class InputSwitch(Block):
    """Replaces a signal by a `value` while the switch is on.  Direct feedthrough: u to y."""

    value: Any
    beginning: Beginning

    def define(self, b: Equations) -> None:
        """Declare ports."""
        value_ = np.ravel(np.asarray(self.value, dtype=float))
        (given,) = b.parameters(value=value_)
        u = b.input("u", size=len(value_) if len(value_) > 1 else None)
        on, _, _ = self.beginning.declare(b)
        b.output("y", np.where(on, given + 0.0 * u, u))


@dataclass(frozen=True)
class SensorFault(Block):
    """A fault of a sensor in one component of a signal, or in all: y is the faulty reading.

    kind : "stuck" (at `number`, or where it was when the fault began), "bias" (+ number), "noise" (normal,
        standard
        deviation `number`, drawn anew every `sample` s), "delay" (by `number` s), "dropout" (reads
        `number`; with `probability` each sample is lost with it, and the last good one is read)
    component : which, None for all

    Direct feedthrough: u to y.
    """

    kind: str
    beginning: Beginning
    number: float | None = None
    component: int | None = None
    sample: Rate | None = None
    probability: float | None = None

    def define(self, b: Equations) -> None:
        """Declare ports."""
        u = b.input("u")
        mine = np.arange(u.size) if self.component is None else np.array([self.component])
        (number,) = b.parameters(value=float(self.number or 0.0))
        on, _, begins = self.beginning.declare(b)
        wrong = self._wrong(b, u, number, begins)
        b.output("y", np.stack([np.where(on, wrong[k], u[k]) if k in mine else u[k] for k in range(u.size)]))

    def _wrong(self, b: Equations, u: Array, number: Array, begins: Array) -> Any:
        """The faulty reading of every component while the fault is on."""
        if self.kind == "bias":
            return u + number
        if self.kind == "noise":
            assert self.sample is not None  # the study was checked
            return u + number * b.random(self.sample, size=u.size, name="noise")
        if self.kind == "delay":
            return b.delayed(u, number, name="past")
        if self.kind == "dropout" and self.probability is not None:
            assert self.sample is not None
            (share,) = b.parameters(probability=self.probability)
            lost = b.random(self.sample, "uniform", name="chance")[0] < share
            good = b.discrete("good", np.zeros(u.size), self.sample)
            b.update(good, np.where(lost, good, u))
            return np.where(lost, good, u)
        if self.kind == "stuck" and self.number is None:
            held = b.mode("held", np.zeros(u.size), size=u.size)
            b.when(begins, [(held, u)], "rising", "sticks")
            return held
        return number + 0.0 * u
