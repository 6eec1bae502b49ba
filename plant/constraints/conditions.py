"""Scalar conditions between markers, the parts of all constraints.

A constraint demands one or several conditions, written for markers that are symbols (`local.py`). Their
rates, gradients, multipliers and reactions follow from `value`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

POSITION, VELOCITY, ACCELERATION = 0, 1, 2


@dataclass(frozen=True, eq=False)
class NamedConstraint:
    """The constraint to which conditions belong.

    name : str              as messages about others call it
    where : str             as messages about itself call it, with its place in a file
    ends : (i, j) or None   keys of its frames I and J, where it ties two
    source                  what demands it; the algebra does not look at it
    """

    name: str
    where: str
    ends: tuple[int, int] | None = None
    source: Any = None


@dataclass(frozen=True, eq=False)
class Condition:
    """One scalar equation of a constraint, in terms of local markers.

    constraint : Constraint   whose it is; its multiplier is part of that constraint's reaction
    text : str                what it fixes, for messages
    value : (1, 1)            displacement that is fixed or driven; of a `moving` condition a velocity
    level : int               which of value, its rate and its second rate is prescribed
    drive : (1, 1)            what it is to be (0 at position level: it is part of the value)
    moving : bool             the value is itself a velocity (rolling without slip)
    reacts : bool             its multiplier acts on the bodies along the gradient
    start : float or None     value at the start, where level leaves it open; `start_rate` of its rate
    driven : bool             it prescribes a motion in time
    written : bool            it is a model's own expression or routine, which may touch 0 only
    uneven : bool             its gradient may vanish near the start, and not elsewhere: STEP, TIME * DX
    """

    constraint: NamedConstraint
    text: str
    value: ca.SX
    level: int = POSITION
    drive: ca.SX = ca.SX(0)  # noqa: RUF009  # a constant, never changed
    moving: bool = False
    reacts: bool = True
    start: float | None = None
    start_rate: float | None = None
    driven: bool = False
    written: bool = False
    uneven: bool = False
