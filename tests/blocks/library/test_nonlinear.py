"""Saturation, dead zones, signs and levels: limits, vectors, nan, and what is exactly on a threshold."""

import numpy as np
import pytest

from blocks import (
    CompareToConstant,
    Constant,
    DeadZone,
    Integrator,
    Quantizer,
    Ramp,
    Saturation,
    Sign,
    Sine,
    Step,
    TimeTable,
)
from blocks.contract.trace import trace
from blocks.errors import BlockError
from cosim import Diagram, simulate
from tests.helpers.solo import Solo


@pytest.mark.parametrize(
    ("low", "high", "u", "y"),
    [
        (-1, 2, [-3, -1, 0, 2, 5], [-1, -1, 0, 2, 2]),
        ([-1, -2], [1, 0.5], [-3, 3], [-1, 0.5]),  # a vector limit on a vector signal stays a vector
        ([-1, -2], 1, [-3, 3], [-1, 1]),
        ([-1, -2], [1, 2], [5], [1, 2]),  # a scalar signal expands to the limits
        (None, 1, [-9, 9], [-9, 1]),
        (0, np.inf, [-9, 9], [0, 9]),
        (-1, 1, [np.nan, np.inf, -np.inf], [np.nan, 1, -1]),
    ],
)
def test_saturation(low, high, u, y):
    result = Solo(Saturation(low, high), {"u": len(u)}).outputs([np.array(u, float)])["y"]
    np.testing.assert_array_equal(result, y)


def test_a_dead_zone_passes_what_is_beyond_it():
    """u - low below, u - high above, each side by its own limit; the switches are events."""
    d = Diagram("zone")
    d.connect(d.add("u", Sine(2.0, 3.0))["y"], d.add("zone", DeadZone(-0.5, 1.0))["u"])
    r = simulate(d, 3.0, log_every=0.07, engine="reference")
    u = 2.0 * np.sin(3.0 * r.time)
    np.testing.assert_allclose(r["zone.y"][:, 0], u - np.clip(u, -0.5, 1.0), atol=1e-12)
    assert len(r.events) == 6  # of 1.4 periods: above twice, below once, in and out


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_the_sign_of_a_signal(engine):
    """1, -1, and 0 where it rests at 0; the integral of the sign of sin t rises to pi and falls again."""
    d = Diagram("sign")
    d.add("u", Sine()) >> d.add("it", Sign()) >> d.add("area", Integrator())
    d.add("table", TimeTable([0, 1, 2, 3], [0.0, -0.5, 0.0, 2.0], "previous")) >> d.add("held", Sign())
    r = simulate(d, 6.0, log_at=[0.5, 1.5, 2.5, 3.5, 5.0, 6.0], engine=engine)
    assert r["it.y"][:, 0].tolist() == [1, 1, 1, -1, -1, -1]
    assert r["held.y"][:, 0].tolist() == [0, -1, 0, 1, 1, 1]
    assert r["area.y"][:, 0] == pytest.approx([0.5, 1.5, 2.5, *(2 * np.pi - np.array([3.5, 5, 6]))], abs=1e-9)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_a_quantizer_that_starts_half_way_between_levels(engine, turn):
    """NumPy takes halves away from 0: -0.5 is at level -1, and leaves it at once where it rises."""
    d = Diagram("levels")
    d.add("u", Ramp(turn, initial=-0.5 * turn)) >> d.add("q", Quantizer(1.0)) >> d.add("area", Integrator())
    r = simulate(d, 1.5, log_at=[0.1, 0.9, 1.1, 1.5], engine=engine)
    assert r["q.y"][:, 0].tolist() == [0, 0, turn, turn]
    assert r["area.y"][-1, 0] == pytest.approx(0.5 * turn, abs=1e-9)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_a_quantizer_goes_several_levels_at_once(engine, turn):
    """x falls from 3.2 to -4.2 where it is reset at an event: one more event, seven levels."""
    d = Diagram("levels")
    d.add("rate", Constant(turn))
    x = d.add("x", Integrator(reset="rising", external_initial=True, state_port=True))
    d.connect("rate.y -> x.u")
    d.connect(d.add("to", Step(0.5, 2.2 * turn, -4.2 * turn))["y"], x["x0"])
    d.connect(x["state"], d.add("far", CompareToConstant(">=" if turn > 0 else "<=", 3.2 * turn))["u"])
    d.connect("far.y -> x.reset")
    x["y"] >> d.add("q", Quantizer(1.0))
    r = simulate(d, 1.2, log_at=[0.2, 0.9, 1.1], engine=engine)
    assert r["q.y"][:, 0].tolist() == [2 * turn, 3 * turn, -4 * turn]
    assert len([e for e in r.events if e.name.startswith("q.")]) == 2


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (DeadZone(-0.5, 1.0), [-1.5, 0.0, 0.0, 0.0, 2.0]),
        (DeadZone([-0.5, -0.5, 0.0, -1.0, 2.5], 3.0), [-1.5, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_what_lies_in_a_dead_zone_and_beyond(block, wanted):
    d = Diagram("zone")
    d.add("u", Constant([-2.0, -0.5, 0.0, 1.0, 3.0])) >> d.add("it", block)
    assert simulate(d, 0.0, log_at=[0.0], engine="reference")["it.y"][0] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", [Saturation, DeadZone])
def test_limits_in_the_wrong_order_are_refused(kind):
    with pytest.raises(BlockError, match="low is 1.0, expected at most high"):
        kind(1.0, -1.0)


def test_limits_of_another_size_than_the_signal_are_refused_by_the_name_of_the_block():
    for kind in (Saturation, DeadZone):
        with pytest.raises(BlockError, match=rf"^{kind.__name__}: sizes differ: u has 3, low has 2"):
            trace(kind([-1.0, -2.0], [1.0, 2.0]), {"u": 3})
