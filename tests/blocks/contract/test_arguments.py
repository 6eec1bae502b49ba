"""How blocks are written: arguments that are no fields of theirs."""

import control
import pytest

from blocks import (
    EKF,
    MPC,
    DiscreteStateSpace,
    DiscreteTransferFunction,
    Gain,
    StateSpace,
    TransferFunction,
    UnitDelay,
)
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


@pytest.mark.parametrize("kind", [StateSpace, TransferFunction, DiscreteStateSpace, DiscreteTransferFunction])
def test_a_system_of_another_package_points_to_of(kind):
    """The message asked for B, which the system has."""
    system = control.ss([[-1.0]], [[1.0]], [[2.0]], [[0.0]])
    for given in (system, [[1.0]]):
        ways = (
            rf"Write {kind.__name__}\(\w.*\), or {kind.__name__}\.of\(system\) for a system of python-control"
        )
        with pytest.raises(BlockError, match=ways):
            kind(given)


@pytest.mark.parametrize("kind", [EKF, MPC])
def test_where_of_takes_something_else_it_is_not_said(kind):
    """Theirs are for plants; they said to give it the system."""
    with pytest.raises(BlockError, match=rf"Write {kind.__name__}\(\w") as caught:
        kind(control.ss([[-1.0]], [[1.0]], [[2.0]], [[0.0]]))
    assert "python-control" not in str(caught.value)
