"""Gain, Sum, Product: shapes and what passes through."""

import numpy as np
import pytest

from blocks import BlockError, Gain, Product, RelationalOperator, Sum
from blocks.contract.trace import trace
from tests.helpers.solo import Solo


def once(block, **inputs):
    sizes = {name: np.size(value) for name, value in inputs.items()}
    return Solo(block, sizes).outputs([np.atleast_1d(np.array(v, float)) for v in inputs.values()])["y"]


def test_gain_by_number_vector_and_matrix():
    np.testing.assert_array_equal(once(Gain(2), u=[1, 2]), [2, 4])
    np.testing.assert_array_equal(once(Gain([1, 2, 3]), u=[1, 2, 3]), [1, 4, 9])
    np.testing.assert_array_equal(once(Gain([1, 2, 3]), u=2), [2, 4, 6])  # a scalar expands
    np.testing.assert_array_equal(once(Gain([[1, 0], [2, 3], [0, 1]]), u=[1, 2]), [1, 8, 2])


def test_zeros_of_a_matrix_gain_pass_nothing():
    mask = Solo(Gain([[1, 0], [2, 3]])).feedthrough(ticking=False)["y"]
    np.testing.assert_array_equal(mask, [[True, False], [True, True]])


def test_a_matrix_gain_knows_its_sizes_alone():
    declared = trace(Gain(np.ones((3, 2))), {}).declared
    assert (declared.inputs[0].size, declared.outputs[0].size) == (2, 3)


def test_sum_adds_subtracts_and_expands():
    np.testing.assert_array_equal(once(Sum("+-"), in1=[1, 2], in2=[3, 5]), [-2, -3])
    np.testing.assert_array_equal(once(Sum("-++"), in1=[1, 2], in2=3, in3=[1, 1]), [3, 2])
    np.testing.assert_array_equal(once(Sum(3), in1=1, in2=2, in3=3), [6])


def test_product_multiplies_and_divides():
    np.testing.assert_array_equal(once(Product("*/"), in1=[1, 2], in2=4), [0.25, 0.5])
    np.testing.assert_array_equal(once(Product("/*"), in1=4, in2=2), [0.5])
    np.testing.assert_array_equal(once(Product(3), in1=2, in2=3, in3=[4, 5]), [24, 30])


@pytest.mark.parametrize("known", [3, 5])
def test_while_sizes_are_being_found_a_vector_input_fixes_the_size(known):
    for guess in (1, 2):
        assert trace(Sum("+-"), {"in1": known}, guess=guess).declared.outputs[0].size == known


def test_sizes_that_differ_are_refused_by_the_name_of_the_block():
    for block in (Product("*/"), Sum("+-"), RelationalOperator("<")):
        with pytest.raises(BlockError, match=rf"^{type(block).__name__}: sizes differ: in1 has 2, in2 has 3"):
            trace(block, {"in1": 2, "in2": 3})
