"""Values of parameters given to a run are those that the block takes when it is made."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from blocks import Block, BlockError


@dataclass(frozen=True)
class Positive(Block):
    """A gain that is above 0."""

    k: float = 1.0

    def __post_init__(self) -> None:
        if not self.k > 0.0:
            raise BlockError(f"k is {self.k}, expected a number above 0.", value=self.k)

    def define(self, b):
        b.output("y", b.parameter("k", self.k) * b.input("u"))


def test_what_a_field_refuses_is_refused_as_a_parameter():
    Positive().check_parameters({"k": 2.0, "unheard of": -1.0})
    Positive().check_parameters({"unheard of": -1.0})
    with pytest.raises(BlockError, match="k is -1"):
        Positive().check_parameters({"unheard of": 1.0, "k": -1.0})
