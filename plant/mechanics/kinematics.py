"""First stage of a plant's equations: where its markers are and how they move.

Nothing here depends on forces: accelerations are the caller's. Values are worked out when first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import as_array
from plant.expressions.scope import MarkerState
from plant.mechanics.absolute import Bodies
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.spatial import constant, cross
from plant.mechanics.tree import Tree
from plant.mechanics.turning import Turning
from plant.mechanics.turns import Turns, turns_between

NOTHING = ca.SX(3, 1)
ALONG = np.eye(3)  # axes of a marker along those of its link
NONE = -1e300  # what a memory holds before there is anything to remember


class Kinematics:
    """Markers of a plant at the symbolic state, in the ground frame.

    Parameters
    ----------
    b : Equations         where angles that count turns keep their memories
    tree : Tree or Bodies links at symbolic coordinates and rates
    shift : callable      marker id -> (3, 1) shift along global axes in the design; None: structural
    """

    def __init__(self, b: Equations, tree: Tree | Bodies, shift: Callable[[int], ca.SX | None]) -> None:
        self._b, self._shift = b, shift
        self.tree = tree
        self.mechanism: Mechanism = tree.mechanism
        self.time = ca.SX(b.time)
        self._markers: dict[int, MarkerState] = {}
        self._angles: dict[tuple[Turning, int, int], ca.SX] = {}
        self._since: ca.SX | None = None

    def link(self, id: int) -> int:
        """Number of the link a marker is on; `GROUND` if it does not move."""
        return self.mechanism.place(id).link

    def marker(self, id: int) -> MarkerState:
        """Pose and velocities of a marker; no accelerations."""
        if id not in self._markers:
            place, s = self.mechanism.place(id), self.point(id)
            if place.link == GROUND:
                state = MarkerState(s, ca.SX(constant(place.A)), NOTHING, NOTHING)
            else:
                A, r = self.tree.pose(place.link)
                w, v = self.tree.velocity(place.link)
                axes = A if np.array_equal(place.A, ALONG) else A @ constant(place.A)
                if s.nnz():
                    r, v = r + A @ s, v + cross(w, s)
                state = MarkerState(r, axes, A @ v, A @ w)
            self._markers[id] = state
        return self._markers[id]

    def point(self, id: int) -> ca.SX:
        """(3, 1) origin of a marker in the frame of its link."""
        place = self.mechanism.place(id)
        s = ca.SX(constant(place.s))
        shift = self._shift(id)
        return s if shift is None else s + constant(self.mechanism.frame(place.link)[1].T) @ shift

    def accelerations(self, id: int, links: Sequence[ca.SX], gravity: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Acceleration of a marker's origin and angular acceleration, (3, 1) each.

        links : (6, 1) classical acceleration of every link in its coordinates, with gravity in it as -g
        """
        link = self.link(id)
        if link == GROUND:
            return NOTHING, NOTHING
        al, a = self.tree.point_acceleration(link, links[link], self.point(id), gravity)
        return a, al

    # --- angles ---------------------------------------------------------------------------------------
    def angle(self, turning: Turning, i: int, j: int, principal: ca.SX) -> ca.SX:
        """AX, AY, AZ with turns counted: by joint coordinates where they add up to it, else by a memory."""
        key = (turning, i, j)
        if key not in self._angles:
            turns = turns_between(self.mechanism, turning, i, j)
            self._angles[key] = (
                self._by_memory(f"{turning.value}({i},{j})", principal)
                if turns is None
                else self._by_coordinates(turns)
            )
        return self._angles[key]

    def _by_coordinates(self, turns: Turns) -> ca.SX:
        """The angle as a sum of joint coordinates."""
        angle = ca.SX(0)
        for link, sign in turns.signs.items():
            coordinate = self.tree.q[link][self.mechanism.links[link].joint.turn]
            angle = angle + coordinate if sign > 0 else angle - coordinate
        return angle + turns.offset if turns.offset else angle

    def _by_memory(self, name: str, principal: ca.SX) -> ca.SX:
        """The branch nearest to where the rate has led since the last accepted step; at the start, to zero.

        angle = principal + 2 pi n,  n such that it is nearest to  old + (rate_old + rate) (t - t_old) / 2

        So any number of turns may fall in a step, as long as the rate changes little over a turn.
        """
        rate = self._rate(principal)
        then = ca.SX(self._b.accepted(f"{name} rate", as_array(rate), NONE))
        led = 0.5 * (ca.if_else(then == NONE, rate, then) + rate) * self._since_accepted()

        def nearest(old: Any) -> ca.SX:
            turns = ca.floor((ca.SX(old) + led - principal) / (2 * math.pi) + 0.5)
            return principal + 2 * math.pi * turns

        return nearest(self._b.accepted(name, nearest, initial=0.0, nearest=True))

    def _rate(self, angle: ca.SX) -> ca.SX:
        """How fast an expression of the coordinates changes."""
        tree, links = self.tree, self.mechanism.links
        q = ca.vertcat(ca.SX(0, 1), *tree.q)
        qdot = [link.joint.qdot(*pair) for link, *pair in zip(links, tree.q, tree.qd, strict=True)]
        return ca.SX(ca.jtimes(angle, q, ca.vertcat(ca.SX(0, 1), *qdot)))

    def _since_accepted(self) -> ca.SX:
        """Time since the newest accepted step or event, or since the start of the run [s]."""
        if self._since is None:
            time = self._b.time
            start = self._b.mode(
                "start of turns", NONE, at_ticks=lambda old: np.where(old == NONE, time, old)
            )
            then = self._b.accepted("time of turns", time, NONE)
            since = time - np.where(then == NONE, start, then)
            self._since = ca.SX(np.where((then == NONE) & (start == NONE), 0.0, since))
        return self._since
