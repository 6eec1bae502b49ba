"""Runge-Kutta methods as data: every engine integrates with the same coefficients in the same order.

A step from (t, x) with size h computes, strictly left to right and skipping zeros,
``k_i = f(t + c_i h, x + ((h a_i1) k_1 + (h a_i2) k_2 + ...))`` and
``x_1 = x + ((h b_1) k_1 + (h b_2) k_2 + ...)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from blocks.errors import PlantloopError, near_miss


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit Runge-Kutta method.

    a : strictly lower triangle, row by row; b, c : weights and nodes
    error : b minus the weights of the embedded method (empty: fixed step only)
    dense : weights of the fifth coefficient of the continuous extension (empty: cubic Hermite)

    The last stage of a method with error weights is the derivative at the end of the step, which the next one
    begins with.
    """

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    error: tuple[float, ...] = ()
    dense: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.error and self.a[-1] != self.b[:-1]:
            raise ValueError(
                f"the last stage of '{self.name}' is not at the end of the step, as both engines rely on"
            )

    @property
    def stages(self) -> int:
        """Number of evaluations of f in one step."""
        return len(self.b)

    @property
    def adaptive(self) -> bool:
        """Can the method estimate its error?"""
        return bool(self.error)


EULER = Tableau("euler", 1, ((),), (1.0,), (0.0,))

RK4 = Tableau(
    "rk4", 4, ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0),
)  # fmt: skip

# Dormand & Prince 5(4); error weights and continuous extension as in Hairer, Norsett & Wanner,
# Solving Ordinary Differential Equations I, 2nd ed., table II.5.2 and section II.6 (program DOPRI5).
DOPRI5 = Tableau(
    "dopri5",
    5,
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    error=(71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
    dense=(
        -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
        701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
    ),
)  # fmt: skip

TABLEAUS = {t.name: t for t in (EULER, RK4, DOPRI5)}


def tableau(name: str) -> Tableau:
    """Explicit method by name."""
    if name not in TABLEAUS:
        raise PlantloopError(f"no explicit method '{name}'; {near_miss(name, TABLEAUS)}", value=name)
    return TABLEAUS[name]
