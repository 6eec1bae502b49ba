"""Joints that close a loop with their markers turned the other way round.

Their conditions are dot products of axes, which are 0 as well where an axis points backwards, or where the
axes of one marker lie along other axes of the other. A motion does not lead there, a search for a rest may.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 9.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from plant.mechanics.mechanism import GROUND, FramePlace, Mechanism

FAR = math.pi / 4  # rad; other solutions are a third of a turn away, or half a turn


class _Closed(Protocol):
    @property
    def mechanism(self) -> Mechanism:
        """With the joints that are cut."""

    @property
    def start(self) -> tuple[np.ndarray, ...]:
        """Coordinates at which they are closed as they are meant to be."""


def closed_otherwise(plant: _Closed, states: Mapping[str, np.ndarray]) -> str:
    """What is wrong with states of a plant, though its constraints hold there; "" where nothing is."""
    now = [states.get(f"{link.name}.q", np.zeros(0)) for link in plant.mechanism.links]
    found = next(turned_joints(plant.mechanism, plant.start, now), "")
    return f"where the equations hold, {found} has its markers the other way round" if found else ""


def turned_joints(
    mechanism: Mechanism, start: Sequence[np.ndarray], now: Sequence[np.ndarray]
) -> Iterator[str]:
    """Places of joints that close in another way at coordinates `now` than at the start, (nq,) per link."""
    cut = [joint for joint in mechanism.cut if joint.kind.in_decks and joint.kind.fixes[1] >= 2]
    if not cut:
        return
    poses = [[A for _, A in mechanism.frames_at(q)] for q in (start, now)]

    def axes(links: list[np.ndarray], place: FramePlace) -> np.ndarray:
        return place.A if place.link == GROUND else links[place.link] @ place.A

    for joint in cut:
        I, J = mechanism.on(*joint.I), mechanism.on(*joint.J)
        before, after = (axes(links, J).T @ axes(links, I) for links in poses)
        if joint.kind.fixes[1] == 2:  # about z it may turn
            if before[2, 2] * after[2, 2] < 0:
                yield joint.where
        elif (np.trace(after @ before.T) - 1) / 2 < math.cos(FAR):
            yield joint.where
