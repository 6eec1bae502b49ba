"""Linear systems of python-control as blocks."""

from __future__ import annotations

import sys
from typing import Any

from blocks.contract.block import Block
from blocks.errors import WiringError


def block_of(system: Any) -> Block | Any:
    """The block of a `control.StateSpace` or `control.TransferFunction`; a discrete one is sampled at its dt.

    What is no system of python-control is given back.

    Raises
    ------
    WiringError    another kind of system, or a discrete one without a sample time
    """
    control = sys.modules.get("control")  # who has a system of it has imported it
    if control is None or not isinstance(system, control.InputOutputSystem):
        return system
    from blocks.library.continuous import StateSpace
    from blocks.library.discrete import DiscreteStateSpace

    if not isinstance(system, (control.StateSpace, control.TransferFunction)):
        raise WiringError([f"a {type(system).__name__} is no block; give a StateSpace or TransferFunction."])
    dt = system.timebase if hasattr(system, "timebase") else system.dt
    if dt is True:
        raise WiringError(
            [f"the discrete system '{system.name}' has no sample time: dt is True; give it one, in s."]
        )
    if dt:
        return DiscreteStateSpace.of(system)
    return StateSpace.of(system)
