"""Blocks made of expressions of a diagram's parameters, and arguments that are no fields."""

import pytest

from blocks import Gain
from blocks.contract.recipes import made_alike
from blocks.errors import BlockError
from cosim import Diagram


def test_equal_numbers_of_other_expressions_are_not_made_alike():
    d = Diagram()
    p, q = d.parameter("p", 2.0), d.parameter("q", 2.0)
    assert Gain(p) == Gain(q) == Gain(2.0)
    assert made_alike(Gain(p), Gain(p)) and made_alike(Gain(2.0), Gain(2.0))
    assert not made_alike(Gain(p), Gain(q))
    assert not made_alike(Gain(p), Gain(2.0)) and not made_alike(Gain(2.0), Gain(p))
    assert not made_alike(Gain(p), Gain(2 * p))


def test_of_several_arguments_that_are_no_fields_the_first_is_named_with_its_cure():
    with pytest.raises(BlockError, match="Gain has no field 'unit'") as caught:
        Gain(2.0, unit="m", seed=3)
    assert "Units are said where a block is added" in caught.value.hint
