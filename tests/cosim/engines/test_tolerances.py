"""Absolute tolerances are those of the run times the nominal size of each component of a state."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from blocks import Block, WiringError
from cosim import Diagram
from cosim.engines.methods.tolerances import nominal_sizes
from cosim.engines.native.tables import _memories


@dataclass(frozen=True)
class Two(Block):
    """Two constant states."""

    nominal: float | tuple[float, ...] = (2.0, 1e-9)

    def define(self, b):
        x = b.continuous("x", [0.0, 0.0], nominal=self.nominal)
        b.derivative(x, 0 * x)


@pytest.mark.parametrize(
    ("nominal", "expected"), [((2.0, 1e-9), [2.0, 1e-9]), (3.0, [3.0, 3.0]), (5, [5.0, 5.0])]
)
def test_nominal_sizes_of_components(nominal, expected):
    d = Diagram("d")
    d.add("two", Two(nominal))
    system = d.system()
    assert nominal_sizes(system, system.p0).tolist() == expected
    assert _memories(system)["nominal"].tolist() == expected


def test_a_size_per_component_or_one():
    d = Diagram("d")
    d.add("two", Two((1.0, 2.0, 3.0)))
    with pytest.raises(WiringError, match="3 nominal sizes for 2 components"):
        d.system()
