"""Mux, Demux, Selector: order and widths."""

import numpy as np
import pytest

from blocks import Assignment, BlockError, Demux, Gain, Mux, Selector, UnitDelay
from blocks.contract.trace import trace
from cosim import Diagram, simulate
from tests.helpers.solo import Solo


def test_mux_puts_inputs_of_any_width_side_by_side():
    solo = Solo(Mux(3), {"in1": 2, "in2": 1, "in3": 3})
    out = solo.outputs([np.array([1.0, 2]), np.array([3.0]), np.array([4.0, 5, 6])])["out"]
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 5, 6])


def test_each_input_of_a_mux_feeds_its_own_part_only():
    mask = Solo(Mux(2), {"in1": 2, "in2": 1}).feedthrough(ticking=False)["out"]
    np.testing.assert_array_equal(mask, np.eye(3, dtype=bool))


def test_demux_into_scalars_and_into_widths():
    u = [np.array([1.0, 2, 3])]
    scalars = Solo(Demux(3)).outputs(u)
    assert {name: v.tolist() for name, v in scalars.items()} == {"out1": [1], "out2": [2], "out3": [3]}
    parts = Solo(Demux([2, 1])).outputs(u)
    assert {name: v.tolist() for name, v in parts.items()} == {"out1": [1, 2], "out2": [3]}


def test_selector_picks_in_any_order_and_repeats():
    out = Solo(Selector([2, 0, 2]), {"in": 3}).outputs([np.array([1.0, 2, 3])])["out"]
    np.testing.assert_array_equal(out, [3, 1, 3])
    assert Selector(1) == Selector([1])


@pytest.mark.parametrize("indices", [-1, [0, -1]])
def test_components_are_not_counted_from_the_end(indices):
    with pytest.raises(BlockError, match="indices"):
        Selector(indices)


@pytest.mark.parametrize("pick", [Selector([1, 0]), Assignment([1, 0])])
def test_components_of_a_signal_whose_size_is_found_later(pick):
    """Around a loop the size comes from the initial value of the delay behind it."""
    d = Diagram("loop")
    node, delay = d.add("pick", pick), d.add("delay", UnitDelay(1.0, initial=[1.0, 2.0]))
    gain = d.add("gain", Gain(1.0))
    d.connect(gain["y"], node["in" if isinstance(pick, Selector) else "in1"])
    if isinstance(pick, Assignment):
        d.connect(gain["y"], node["in2"])
    d.connect(node["out" if isinstance(pick, Selector) else "y"], delay["u"])
    d.connect(delay["y"], gain["u"])
    y = simulate(d, 2.0, log_at=[0.5, 1.5], engine="reference")["delay.y"]
    np.testing.assert_array_equal(y, [[1, 2], [2, 1]])


@pytest.mark.parametrize("pick", [Selector([0, 3]), Assignment([0, 3])])
def test_components_beyond_a_signal_are_refused(pick):
    sizes = {"in": 2} if isinstance(pick, Selector) else {"in1": 2, "in2": 2}
    with pytest.raises(BlockError, match="index 3 is beyond the 2 components"):
        trace(pick, sizes)
