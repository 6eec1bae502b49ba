"""Angles between markers as sums of joint coordinates, which count full turns by themselves."""

from __future__ import annotations

import casadi as ca
import numpy as np

from plant.dynamics.mechanism import Mechanism

PARALLEL = 1e-9  # how far a marker's axis may be from a joint's for the joint coordinate to be the angle


def turns_between(mechanism: Mechanism, axis: int, i: int, j: int) -> dict[int, int] | None:
    """Links whose joint angles add up to the rotation of marker I relative to J about one axis of both.

    Returns
    -------
    {link: +1 or -1}, or None where some joint between them turns about another axis, or the markers' axes are
    not parallel
    """
    place_i, place_j = mechanism.place(i), mechanism.place(j)
    up, down = mechanism.path(place_j.link), mechanism.path(place_i.link)
    while up and down and up[-1] == down[-1]:  # drop what both share
        up.pop()
        down.pop()
    direction = place_j.A[:, axis]
    found: dict[int, int] = {}
    for link, sense in [(k, -1) for k in up] + [(k, 1) for k in reversed(down)]:
        step = _across(mechanism, link, sense, direction)
        if step is None:
            return None
        sign, direction = step
        if sign:
            found[link] = sign
    return found if np.abs(direction - place_i.A[:, axis]).max() < PARALLEL else None


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
