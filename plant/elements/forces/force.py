"""What every force is: an element that pushes or turns bodies at markers; and what it may ask its plant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca

from plant.elements.element import Element
from plant.elements.forces.in_plane import Plane
from plant.elements.subroutine import UserSubroutine
from plant.expressions.scope import Scope
from plant.forces.wrench import Applied, Spin


@dataclass(frozen=True, eq=False)
class Store:
    """Energy a force stores, its rate, and the power it dissipates, all (1, 1).

    complete : all of its power is stored or dissipated; else the rest is work put in
    """

    U: ca.SX
    rate: ca.SX
    loss: ca.SX
    complete: bool = False


@dataclass(frozen=True, kw_only=True)
class Force(Element):
    """Base of elements that act at markers; an interface, nobody instantiates it.

    All that is particular to a force is in its class: its attributes and their checks, what it applies and
    stores, and the functions of the expression language that read it (``readers``). Its numbers are run-time
    parameters because it is a force.
    """

    @property
    def only_turns(self) -> bool:
        """Does it exert torques and nothing else?"""
        return False

    @property
    def ends(self) -> tuple[int, ...]:
        """Markers it acts at, in the order of its wrenches."""
        raise NotImplementedError(f"{type(self).__name__} does not say where it acts")

    def apply(self, setting: Surroundings) -> Applied:
        """Its wrenches, the one on marker I first."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it applies")

    def store(self, setting: Surroundings) -> Store | None:
        """What it stores and dissipates; None where it does neither: all its power is then work put in."""
        return None

    def in_plane(self, plane: Plane) -> bool:
        """Does it never push across a plane in which the mechanism lies?"""
        return False


class Surroundings(Scope, Protocol):
    """A stage of a plant's equations as its forces see it."""

    def expression(self, element: Element, attribute: str) -> ca.SX:
        """Value of an attribute that holds an expression; 0 where it is not given."""
        ...

    def subroutine(self, element: UserSubroutine, *given: ca.SX, order: int = 0) -> ca.SX:
        """Outcome (n, 1) of an element's user subroutine, which also takes the given vectors.

        order : of the derivative a MOTSUB is to give
        """
        ...

    def number(self, element: Element, attribute: str) -> Any:
        """Value of a numeric attribute: a tunable (1, 1) symbol, or 0.0 where it is zero."""
        ...

    def wrenches(self, force: Force) -> Applied:
        """What a force applies."""
        ...

    def spun(self, id: int) -> Spin:
        """What turns an Inertia_Wheel."""
        ...

    def watch(self, text: str, value: ca.SX) -> None:
        """Name a value, so that it is found when it is not finite."""
        ...
