"""Linear systems of python-control as blocks of a diagram."""

import control
import numpy as np
import pytest

from blocks.errors import WiringError
from cosim import Diagram, linearize


@pytest.mark.parametrize("dt", [0, 0.1])
def test_a_system_of_python_control_is_a_block(dt):
    system = control.ss([[0.5, 0.1], [0.0, -0.3]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.2]], dt)
    d = Diagram("d")
    node = d.add("plant", system)
    d.connect(d.inport("u"), node["u"])
    d.outport("y", node["y"])
    found = linearize(d)
    w = np.array([0.1, 1.0, 3.0])
    assert np.allclose(
        found(np.exp(1j * w * dt) if dt else 1j * w), system(np.exp(1j * w * dt) if dt else 1j * w)
    )
    assert (found.dt or 0) == dt


def test_a_discrete_system_needs_a_sample_time():
    with pytest.raises(WiringError, match="no sample time"):
        Diagram("d").add("s", control.ss(0.5, 1.0, 1.0, 0.0, True))
    with pytest.raises(WiringError, match="is no block"):
        Diagram("d").add("s", control.frd([1.0, 2.0], [1.0, 2.0]))
