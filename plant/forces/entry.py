"""What a plant knows about one type of force element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from plant.equations.setting import Setting
from plant.forces.in_plane import Plane
from plant.forces.wrench import Applied


@dataclass(frozen=True, eq=False)
class Store:
    """Energy a force element stores, its rate, and the power it dissipates, all (1, 1).

    complete : all of its power is stored or dissipated; else the rest is work put in
    """

    U: ca.SX
    rate: ca.SX
    loss: ca.SX
    complete: bool = False


def _nothing(force: Any, setting: Setting) -> None:
    """Nothing is stored: all power is work put in."""


def _anywhere(force: Any, plane: Plane) -> bool:
    """It may push wherever it likes."""
    return False


@dataclass(frozen=True)
class Force:
    """What one type of force element applies and stores; each family file lists its own in ``FORCES``.

    apply : callable    (element, Setting) -> wrenches, the one on marker I first
    store : callable    (element, Setting) -> what it stores and dissipates; None where it does neither
    in_plane : callable (element, Plane) -> whether it never pushes across a plane in which the mechanism lies

    Its attributes, and the functions of the expression language that read it, are those of its element class;
    its numbers are run-time parameters because it is a force.
    """

    apply: Callable[[Any, Setting], Applied]
    store: Callable[[Any, Setting], Store | None] = _nothing
    in_plane: Callable[[Any, Plane], bool] = _anywhere
