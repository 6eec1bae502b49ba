"""Angles between markers as sums of joint coordinates, which count full turns by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from plant.mechanics.mechanism import Mechanism, in_frame
from plant.mechanics.turning import Turning

ROUNDING = 1e-14  # rad
PARALLEL = 1e-9  # how far a marker's axis may be from a joint's for the joint coordinate to be the angle


@dataclass(frozen=True)
class Turns:
    """An angle as ``offset`` plus joint angles, each with its sign, by link."""

    signs: dict[int, int]
    offset: float

    def at(self, mechanism: Mechanism, q: Sequence[np.ndarray]) -> float:
        """The angle [rad] at coordinates q, (nq,) of each link."""
        turned = [sign * float(q[k][mechanism.links[k].joint.turn]) for k, sign in self.signs.items()]
        return self.offset + math.fsum(turned)


def turns_between(mechanism: Mechanism, turning: Turning, i: int, j: int) -> Turns | None:
    """The rotation of marker I relative to J by joint coordinates.

    Returns
    -------
    None where some joint between them turns about another axis, or the markers' axes are not parallel
    """
    A = in_frame(mechanism.frame(mechanism.place(j).link), mechanism.description.frame(i))[1]
    R = in_frame(mechanism.seated(j), mechanism.seated(i))[1]
    place_i, place_j = mechanism.place(i), mechanism.place(j)
    if turning is Turning.PINION:
        x0, y0 = in_frame(mechanism.description.frame(j), mechanism.description.frame(i))[1][2, :2]
        x, y = R[2, :2]
        angle = -math.atan2(y * x0 - x * y0, x * x0 + y * y0)
        signs = _signs(mechanism, A[:, 2], place_i.A[:, 2], i, j)
    else:
        axis = turning.axis
        start, end = (axis + 1) % 3, (axis + 2) % 3
        angle = math.atan2(R[end, start], R[start, start])
        signs = _signs(mechanism, place_j.A[:, axis], place_i.A[:, axis], i, j)
    if signs is None:
        return None
    for link, sign in signs.items():
        turn = mechanism.links[link].joint.turn
        assert turn is not None  # only joints that turn about z are among them
        angle -= sign * float(mechanism.links[link].q0[turn])
    return Turns(signs, 0.0 if abs(angle) < ROUNDING else angle)


def _signs(
    mechanism: Mechanism, direction: np.ndarray, end: np.ndarray, i: int, j: int
) -> dict[int, int] | None:
    """Links whose joint angles add up to the rotation of I relative to J about a direction.

    direction, end : (3,) the same direction along the link of J, and along that of I
    """
    place_i, place_j = mechanism.place(i), mechanism.place(j)
    up, down = mechanism.path(place_j.link), mechanism.path(place_i.link)
    while up and down and up[-1] == down[-1]:  # drop what both share
        up.pop()
        down.pop()
    found: dict[int, int] = {}
    for link, sense in [(k, -1) for k in up] + [(k, 1) for k in reversed(down)]:
        step = _across(mechanism, link, sense, direction)
        if step is None:
            return None
        sign, direction = step
        if sign:
            found[link] = sign
    return found if np.abs(direction - end).max() < PARALLEL else None


def _across(
    mechanism: Mechanism, link: int, sense: int, direction: np.ndarray
) -> tuple[int, np.ndarray] | None:
    """Sign of the joint's turn about a direction, and the direction on its other side.

    From child to parent (sense -1) or back (+1); None where the joint turns about something else.
    """
    joint, Xtree = mechanism.links[link].joint, mechanism.links[link].Xtree
    E = np.array(ca.DM(Xtree.E))  # parent's axes to the joint's on it
    on_joint = direction if sense < 0 else E @ direction
    sign = 0
    if joint.rotates:
        along = on_joint[2]
        if joint.turn is None or abs(abs(along) - 1) > PARALLEL or np.abs(on_joint[:2]).max() > PARALLEL:
            return None
        sign = sense * (1 if along > 0 else -1) * (-1 if joint.reversed else 1)
    return sign, on_joint if sense > 0 else E.T @ on_joint
