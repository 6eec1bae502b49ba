"""State feedback."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate

__all__ = ["StateFeedback"]


@dataclass(frozen=True)
class StateFeedback(Block):
    """Linear state feedback.

    Output: u = -K x; with a sample time, taken at its ticks and held (0 before the first one).  No states.
    Direct feedthrough: x[j] to u[i] where K[i, j] is not 0; zeros of K are structural.

    K : (m, n), or (n,) for one row, unit of u per unit of x; tunable
    sample, offset : s; None means continuous

    Use::

        balance = d.add("balance", StateFeedback([[76.43, 18.41]], sample=0.01))
        d.connect(source["y"], balance["x"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 7.2.
    """

    K: ArrayLike
    sample: Rate | None = None
    offset: Rate = 0.0

    def __post_init__(self) -> None:
        checks.assign(self, K=checks.matrix(self, "K", (None, None)))
        checks.rate(self, optional=True)

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        (K,) = b.parameters(K=self.K)
        x = b.input("x", size=np.shape(self.K)[1])
        b.output("u", -(K @ x), self.sample, self.offset)
