"""Which role a Reference_Variable plays: the table of its definition.

====================  ===================================  ==============================================
defined by            equation                             VARVAL
====================  ===================================  ==============================================
expression            v = g(y, t)                          g
its own value         v = g(v, y, t)                       the root, by Newton's method, with a warning
is_implicit, own v    0 = g(v, y, t)                       the root, by Newton's method from ``ic``
is_implicit, no v     0 = g(q, t), a hard constraint       its multiplier
PENALTY, no v         none; F = -penalty g - penalty1 g'   g
dot_form              z' = g, z(0) = ic                    z
a plant input         none                                 what comes from outside
====================  ===================================  ==============================================

Source: MotionSolve reference guide, Reference_Variable, comments 1-4.
"""

from __future__ import annotations

from enum import Enum


class Role(Enum):
    """How the value of a variable comes about."""

    GIVEN = "a plant input, or the state of an integral"
    EXPLICIT = "v = g(y, t), also of soft constraints"
    EQUATION = "the root v of 0 = g(v, y, t)"
    ITSELF = "the root v of v = g(v, y, t)"
    CONSTRAINT = "the multiplier of the hard constraint 0 = g(q, t)"
