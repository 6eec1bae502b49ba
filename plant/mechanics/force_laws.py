"""Forces of a description: by name, at named frames, with laws that are functions of time and state.

A law is called with time and the state of each of its frames (origin r, axes A as columns, velocity v of the
origin, angular velocity w, in the ground frame, as CasADi symbols). It gives a force and a torque for each of
them, along global axes, at the frame's origin::

    AppliedForce("wind", ("tip",), lambda t, ends: [((0.5 * ca.sin(t), 0, 0), (0, 0, 0))])
    AppliedForce("spring", ("tip", "anchor"), SpringDamper(stiffness=200.0, damping=3.0, length=0.4))

Laws that are objects of classes, such as those below, can be pickled with their description.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import ModelError, near_miss
from plant.expressions.scope import MarkerState

NOTHING = ca.SX(3, 1)

Law = Callable[[ca.SX, Sequence[MarkerState]], Sequence[tuple[Any, Any]]]
"""(time, states) -> force [force] and torque [force length] of each frame, three numbers or (3, 1) each."""


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force by name.

    key : hashable        what it is called
    frames : tuple        keys of the frames it acts at, named in the description's `points`
    law : callable        see `Law`
    where : str           as messages name it
    """

    key: Hashable
    frames: tuple[Hashable, ...]
    law: Law
    where: str = ""

    def wrenches(self, time: ca.SX, states: Sequence[MarkerState]) -> list[tuple[ca.SX, ca.SX]]:
        """Force and torque (3, 1) at each frame.

        Raises
        ------
        ModelError    the law fails, or does not give a force and a torque of three numbers for each frame
        """
        try:
            found = [(_column(F), _column(T)) for F, T in self.law(time, states)]
        except Exception as fault:  # a user's law may raise anything
            raise ModelError(
                f"{self.where}: its law fails on symbols: {type(fault).__name__}: {fault}.",
                path=self.where,
                hint="Write it with + - * / and functions of casadi such as ca.sin and ca.if_else, and "
                "return one pair (force, torque) of three numbers each for every frame.",
            ) from fault
        if len(found) != len(self.frames):
            raise ModelError(
                f"{self.where}: its law gives {len(found)} pairs (force, torque), expected "
                f"{len(self.frames)}, one for every frame.",
                path=self.where,
            )
        return found

    def faults(self, frames: Collection[Hashable]) -> Iterator[str]:
        """What is wrong with it in a description with these named frames."""
        if not self.frames:
            yield f"{self.where}: acts at no frame; name at least one."
        for key in self.frames:
            if key not in frames:
                yield f"{self.where}: there is no frame {key!r}; {near_miss(str(key), map(str, frames))}"
        if not callable(self.law):
            yield f"{self.where}: its law is {self.law!r}, expected a function of time and states."
        elif isinstance(self.law, SpringDamper | TorsionSpring):
            yield from (f"{self.where}: {fault}" for fault in self.law.faults(len(self.frames)))


def _column(value: Any) -> ca.SX:
    """(3, 1) of three numbers or symbols."""
    if isinstance(value, ca.SX | ca.DM):
        found = ca.vec(ca.SX(value))
    else:
        found = ca.vertcat(*[ca.SX(entry) for entry in value])
    if found.numel() != 3:
        raise ValueError(f"a force or torque has {found.numel()} components, expected 3")
    return ca.SX(found)


# --- along the line of centres ---------------------------------------------------------------------------
class Span:
    """Line of centres of two frames, d = r_I - r_J: its length, how fast that grows, its direction (3, 1)."""

    def __init__(self, I: MarkerState, J: MarkerState) -> None:
        self._I, self._J = I, J
        self._d = d = I.r - J.r
        self.length = distance(d)
        self.direction = _direction(d, self.length)  # 0 where they coincide

    @property
    def rate(self) -> ca.SX:
        """Rate at which the frames separate; 0 where they coincide."""
        return ca.dot(self._I.v - self._J.v, self.direction)

    def defined(self, value: ca.SX) -> ca.SX:
        """A force of this value along the line.

        Between coincident frames a force of zero has no direction and needs none; any other is not defined,
        nan.
        """
        return value + ca.if_else(ca.logic_and(self.length == 0, value != 0), float("nan"), 0)

    def linear(self, k: Any, c: Any, free: Any, preload: Any) -> tuple[ca.SX, ca.SX]:
        """Force (3, 1) on I of a spring, a damper and a preload, and its part that needs a direction.

        F = (-k (length - free) - c rate + preload) direction. On a line that does not turn that is
        -(k d + c d') + (k free + preload) direction, where little waits for the direction, and a damper acts
        between coincident frames too.
        """
        entries = _entries(self._d)
        if len(entries) != 1:
            value = self.defined(-k * (self.length - free) - c * self.rate + preload)
            return value * self.direction, value
        d, axis, push = entries[0], ca.DM(self.direction.sparsity(), 1.0), ca.SX(k * free + preload)
        push = push + ca.if_else(d == 0, ca.if_else(push != 0, float("nan"), 0), 0)
        along = -(k * d + c * ca.dot(self._I.v - self._J.v, axis))
        return (along + push * ca.copysign(1, d)) * axis, push


def _direction(d: ca.SX, length: ca.SX) -> ca.SX:
    """d / length (3, 1), 0 where d is 0; a sign where one component alone is not structurally zero."""
    if len(_entries(d)) == 1:
        # not ca.sign: frames that pass through each other on a line are left to error control, as in space
        return ca.SX(ca.sparsify(ca.copysign(d != 0, d)))
    # one division; without `fabs` CasADi makes every product with it a division again
    return d * ca.fabs(1 / (length + (length == 0)))


def _entries(d: ca.SX) -> list[ca.SX]:
    return [d[k] for k in range(3) if not ca.SX(d[k]).is_zero()]


def distance(d: ca.SX) -> ca.SX:
    """|d| (3, 1) with derivative 0 where it is 0; |x| where one component alone is not structurally zero."""
    entries = _entries(d)
    if len(entries) <= 1:
        return ca.fabs(entries[0]) if entries else ca.SX(0)
    square = ca.SX(sum(e * e for e in entries))
    nowhere = square == 0
    return ca.sqrt(square + nowhere) - nowhere


@dataclass(frozen=True)
class SpringDamper:
    """Between frames I and J: F = -stiffness (L - length) - damping L' + preload on I, positive apart.

    stiffness [force/length], damping [force time/length], length at which the spring is free [length],
    preload [force]
    """

    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    preload: float = 0.0

    def __call__(self, time: ca.SX, states: Sequence[MarkerState]) -> list[tuple[ca.SX, ca.SX]]:
        F, _ = Span(*states).linear(self.stiffness, self.damping, self.length, self.preload)
        return [(F, NOTHING), (-F, NOTHING)]

    def faults(self, frames: int) -> Iterator[str]:
        """What is wrong with its numbers, and with how many frames it is given."""
        yield from _faults_of_numbers(vars(self), frames)


@dataclass(frozen=True)
class TorsionSpring:
    """About z of frame J: T = -stiffness (AZ - angle) - damping WZ + preload on I, the opposite on J.

    AZ is the principal angle of I relative to J, within half a turn. stiffness [force length/rad],
    damping [force length time/rad], angle at which it is free [rad], preload [force length]
    """

    stiffness: float = 0.0
    damping: float = 0.0
    angle: float = 0.0
    preload: float = 0.0

    def __call__(self, time: ca.SX, states: Sequence[MarkerState]) -> list[tuple[ca.SX, ca.SX]]:
        I, J = states
        R, z = J.A.T @ I.A, J.A[:, 2]
        turned = ca.atan2(R[1, 0], R[0, 0])
        T = -self.stiffness * (turned - self.angle) - self.damping * ca.dot(I.w - J.w, z) + self.preload
        return [(NOTHING, T * z), (NOTHING, -T * z)]

    def faults(self, frames: int) -> Iterator[str]:
        """What is wrong with its numbers, and with how many frames it is given."""
        yield from _faults_of_numbers(vars(self), frames)


def _faults_of_numbers(numbers: dict[str, Any], frames: int) -> Iterator[str]:
    if frames != 2:
        yield f"acts between two frames, I and J, not at {frames}."
    for name, value in numbers.items():
        if not (isinstance(value, int | float | np.number) and np.isfinite(value)):
            yield f"{name}={value!r} is no finite number."
