"""What engines get wrong easily: steps late in a run, jumps of many levels, looks without states."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Clock, Constant, Hold, Integrator, Quantizer, Relay, Sine
from cosim import Diagram, simulate
from tests.helpers.made import Made
from tests.helpers.runs import build

ENGINES = ("native", "reference")


@pytest.mark.slow
def test_rounding_late_in_a_run_adds_no_steps_in_c():
    """Ten steps between ticks, also where ticks are known to 4e-12 s only (beyond 2^14 s)"""
    d = build("c.y>x.u c.y>h.u", c=Constant(1.0), x=Integrator(), h=Hold(sample=0.01))
    until, ticks = 16_400, 1_640_000
    r = simulate(d, until, solver="euler", step=1e-3, log_at=[until], engine="native", signals=["x.y"])
    assert r.statistics["steps"] == 10 * ticks
    assert r["x.y"].item() == pytest.approx(until, rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", [100.3, -250.4])
def test_a_quantizer_follows_a_jump_of_hundreds_of_levels_at_once(after, engine):
    """At one event a jump is one change, however many levels it passes; there and back."""

    def jumps(b):
        x = b.continuous("x", 0.2)
        b.derivative(x, 0.0 * x)
        b.when(b.time - 0.5, [(x, after)], "rising", "there")
        b.when(b.time - 1.0, [(x, 0.1)], "rising", "back")
        b.output("y", x)

    d = Diagram("jump")
    d.connect(d.add("it", Made(jumps))["y"], d.add("q", Quantizer([0.5, 1.0]))["u"])
    r = simulate(d, 1.5, log_at=[0.25, 0.75, 1.25], engine=engine)

    def levels(u):
        return [n * np.sign(u) * np.floor(abs(u) / n + 0.5) for n in (0.5, 1.0)]

    np.testing.assert_array_equal(r["q.y"], [levels(u) for u in (0.2, after, 0.1)])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quantizer_counts_every_level_of_a_ramp(engine):
    d = build("c.y>q.u", c=Clock(), q=Quantizer(0.01))
    at = np.arange(1, 40) / 100 + 0.0025
    r = simulate(d, 0.4, log_at=at, engine=engine)
    np.testing.assert_allclose(r["q.y"][:, 0], np.arange(1, 40) / 100, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("step", [0.37, 0.01])
def test_a_wave_of_time_alone_is_followed_through_every_piece(engine, step):
    """Without states nothing bounds a piece but max_step: two periods and more of a wave pass in one."""
    d = build("s.y>r.u", s=Sine(1.0, 40.0), r=Relay(0.5, -0.5))
    r = simulate(d, 2.0, engine=engine, max_step=step, log_at=[2.0])
    turns = np.arange(14) * 2 * np.pi
    expected = np.sort(np.concatenate([turns + np.pi / 6, turns + 7 * np.pi / 6])) / 40
    assert [event.time for event in r.events] == pytest.approx(expected[expected <= 2.0], abs=1e-12)
