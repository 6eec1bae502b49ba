"""A block that is run alone is asked for its equations once, whenever it is flattened."""

from dataclasses import dataclass

from blocks import Block
from cosim.block_alone import system_alone

written: list[float] = []
height = [1.0]


@dataclass(frozen=True)
class Read(Block):
    """y = 2 k with what a variable of this module says when the equations are written."""

    def define(self, b):
        written.append(height[0])
        b.output("y", 2.0 * height[0])


def test_equations_are_asked_for_once_for_each_flattening(monkeypatch):
    monkeypatch.setattr(f"{__name__}.written", found := [])
    for value in (1.0, 3.0):
        monkeypatch.setattr(f"{__name__}.height", [value])  # what they read may have changed since
        assert float(system_alone(Read()).signals["plant.y"].expression) == 2.0 * value
    assert found == [1.0, 3.0]
