"""How blocks are written: arguments that are no fields of theirs."""

import pytest

from blocks import Gain, UnitDelay
from blocks.errors import BlockError


def test_arguments_that_are_no_fields_are_refused_by_name():
    with pytest.raises(BlockError, match="Gain has no field 'K'; did you mean 'k'"):
        Gain(K=2.0)
    with pytest.raises(
        BlockError, match=r"UnitDelay: missing a required argument: 'sample'. Write UnitDelay\("
    ):
        UnitDelay()
    with pytest.raises(BlockError, match=r"too many positional arguments. Write Gain\(k\)"):
        Gain(1.0, 2.0)
