"""What a block looks like in its box in pictures of diagrams: lines, arrows and boxes as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class BlockPicture:
    """A small picture, x to the right and y down from its left upper corner; about 1 cm is 1.

    width, height : above 0
    lines, arrows : points (x, y) of each; an arrow ends in a head
    boxes : (x, y, width, height, text) of each, text at its top where there is something in it
    joints : (x, y) of dots
    """

    width: float
    height: float
    lines: tuple[Points, ...] = ()
    arrows: tuple[Points, ...] = ()
    boxes: tuple[tuple[float, float, float, float, str], ...] = ()
    joints: Points = ()
