"""Blocks whose equations a test writes down on the spot, and diagrams of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from blocks import Block, Equations
from cosim import Diagram


@dataclass(frozen=True)
class Made(Block):
    """A block whose equations are given as a function."""

    equations: Callable[[Equations], Any]

    def define(self, b: Equations) -> None:
        self.equations(b)


def alone(equations: Callable[[Equations], Any]) -> Diagram:
    """Diagram of one block "it"."""
    d = Diagram("alone")
    d.add("it", Made(equations))
    return d


def chain(*blocks: Block) -> Diagram:
    """Blocks b1, b2, ... in a row, output "y" to input "u"."""
    d = Diagram("chain")
    nodes = [d.add(f"b{k}", block) for k, block in enumerate(blocks, 1)]
    for one, other in pairwise(nodes):
        d.connect(one["y"], other["u"])
    return d


def ramp(b: Equations, slope: float = 1.0, start: float = 0.0) -> Any:
    """State and output x with x' = slope."""
    x = b.continuous("x", start)
    b.derivative(x, np.full(1, slope) + 0 * x)
    b.output("x", x)
    return x
