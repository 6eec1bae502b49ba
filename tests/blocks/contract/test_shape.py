"""What of a block its equations can depend on: fields by what they are, numbers by their role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from blocks import Block
from blocks.contract.shape import LONG, _plain, shape


@dataclass(frozen=True)
class Two(Block):
    """Two fields of any kind."""

    a: Any = 1.0
    b: Any = 2.0

    def define(self, b):
        """Nothing."""


ROLES = {"a": "parameter"}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (Two(1.0, 2.0), Two(5.0, 2.0), True),  # a number of a run
        (Two(1.0, 2.0), Two(1.0, 3.0), False),  # decides how it is built
        (Two(1.0, 2.0), Two(np.array([1.0]), 2.0), False),
        (Two(np.array([1.0, 2.0])), Two(np.array([3.0, 0.0])), True),
        (Two(np.array([[1.0, 2.0]])), Two(np.array([[3.0, 4.0]])), True),
        (Two(np.array([[1.0, 2.0]])), Two(np.array([[3.0, 0.0]])), False),  # zeros of matrices are structure
        (Two(None), Two("text"), False),
        (Two(True), Two(False), False),
    ],
)
def test_which_blocks_have_one_shape(first, second, same):
    shapes = [shape(block, {"u": 1}, ROLES) for block in (first, second)]
    assert (shapes[0] == shapes[1]) is same
    assert all(len(one) == 3 for one in shapes)
    assert shape(first, {"u": 2}, ROLES) != shapes[0]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, True), ("text", True), (1.0, True), (True, True), ((), True), ((1.0, 2.0), True),
        (("a", 1), True),
        (("a", object()), False), (object(), False), ({"a": [1, "b"]}, True), ({"a": [object()]}, False),
        (np.zeros(3), True), (np.zeros(LONG), True), (np.zeros(LONG + 1), False),
        (np.array([object()]), False), ([0.0] * LONG, True), ([0.0] * (LONG + 1), False), (print, False),
    ],
)  # fmt: skip
def test_what_is_plain_data(value, plain):
    assert _plain(value) is plain
