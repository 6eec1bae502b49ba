"""Who calls subsystems: a count of ticks."""

import pytest

from blocks import BlockError, FunctionCallGenerator
from tests.helpers.solo import Solo


def test_calls_are_counted_at_ticks():
    """0 before the first one, the count from each tick on."""
    at = [0, "1/10", "1/4", "3/10", "1/2", "7/10"]
    assert Solo(FunctionCallGenerator(0.2, 0.1)).run(at)["call"].ravel().tolist() == [0, 1, 1, 2, 3, 4]
    assert Solo(FunctionCallGenerator(0.2)).run([0, 0.1, 0.2])["call"].ravel().tolist() == [1, 1, 2]


def test_a_rate_is_needed():
    with pytest.raises(BlockError, match="^FunctionCallGenerator.*-1"):
        FunctionCallGenerator(-1)
