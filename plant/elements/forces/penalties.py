"""Penalty forces as a deck declares them; what they exert is in ``plant/forces/penalty.py``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from plant.elements.element import Idle
from plant.elements.kinds import Boolean, NonNegative, Positive
from plant.elements.subroutine import ExpressionOrSubroutine

__all__ = ["Force_Penalty"]


@dataclass(frozen=True, kw_only=True)
class Force_Penalty(ExpressionOrSubroutine):
    """Generalized force g_q^T F with F = -penalty g - penalty1 g' and g = ``expr``.

    ``penalty`` [force/unit of g], ``penalty1`` [force time/unit of g]; with ``unilateral`` it acts while
    g > 0 only, ramped up over ``smoothing_factor`` [unit of g] where that is given.
    """

    penalty: Positive
    penalty1: NonNegative = 0.0
    unilateral: Boolean = False
    smoothing_factor: Positive | None = None

    routine = "PFOSUB"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.unilateral:
            cure = 'write unilateral="TRUE", or delete it'
            yield from self.unused(["smoothing_factor"], "unilateral is FALSE, so no force is switched", cure)
