"""Angles between two markers whose full turns are counted, by what they turn about."""

from __future__ import annotations

from enum import Enum


class Turning(Enum):
    """What a counted angle is about; its value begins the names of what remembers it.

    AX, AY, AZ : an axis of J, as the functions of that name measure it
    PINION     : z of I, 0 in the design
    """

    AX = "AX"
    AY = "AY"
    AZ = "AZ"
    PINION = "pinion"

    @property
    def axis(self) -> int:
        """Number of the axis of J it is about; a pinion turns about none of them."""
        return AXES.index(self)


AXES = (Turning.AX, Turning.AY, Turning.AZ)
