"""Under which names signals are shown."""

import numpy as np
import pytest

from blocks import BlockError, FunctionCallGenerator, Gain, Sine
from cosim import Diagram, simulate


def inside() -> Diagram:
    """Two gains of one input, each shown at the border."""
    d = Diagram("inside")
    u = d.inport("u")
    for name, k in (("double", 2.0), ("triple", 3.0)):
        gain = d.add(name, Gain(k))
        d.connect(u, gain["u"])
        d.outport(f"out_{name}", gain["y"])
    return d


def test_outputs_of_subsystems_are_shown_under_the_names_of_the_border_too():
    d = Diagram("outside")
    sub = d.add("sub", inside())
    d.connect(d.add("sine", Sine(1.0, 2.0))["y"], sub["u"])
    r = simulate(d, 1.0, log_every=0.25, engine="reference", signals=["sub.out_double", "sub.out_triple"])
    for name, k in (("double", 2.0), ("triple", 3.0)):
        np.testing.assert_allclose(r[f"sub.out_{name}"][:, 0], k * np.sin(2.0 * r.time), atol=1e-14)


@pytest.mark.parametrize(("offset", "counts"), [(0.0, [1, 1, 2, 2, 3]), (0.25, [0, 1, 1, 2, 2])])
def test_a_generator_of_calls_counts_its_ticks(offset, counts):
    d = Diagram("calls")
    d.add("caller", FunctionCallGenerator(0.5, offset))
    r = simulate(d, 1.0, log_every=0.25, engine="reference")
    assert r["caller.call"][:, 0].tolist() == counts


def test_a_generator_of_calls_is_refused_a_rate_that_is_none():
    with pytest.raises(BlockError, match="sample"):
        FunctionCallGenerator(-0.5)
    assert FunctionCallGenerator(0.5).offset == 0
