"""An integrator that resets itself through its state port, and edges at their exact place: closed forms."""

import numpy as np
import pytest

from blocks import CompareToConstant, Constant, Gain, Hold, Integrator, Pulse, Sine
from blocks.errors import BlockError
from cosim import Diagram, Simulation, Triggered, simulate


def saw(**fields):
    """Both of x rise until the first reaches 1; what x was is kept where the comparison becomes true."""
    d = Diagram("saw")
    d.add("rate", Constant([0.7, 0.2])) >> d.add("x", Integrator([0.1, 0.0], state_port=True, **fields))["u"]
    d["x"]["state"][0] >> d.add("full", CompareToConstant(">=", 1.0))
    for name in ("state", "y"):
        d.connect(d["x"][name], d.add(f"kept_{name}", Triggered(Gain(1.0)))["u"])
        d.connect("full.y", f"kept_{name}.trigger")
    d.connect("full.y -> x.reset")
    if fields.get("external_initial"):
        d.connect(d.add("x0", Constant([0.1, 0.0]))["y"], d["x"]["x0"])
    return d


@pytest.mark.parametrize("reset", ["rising", "either", "level"])
@pytest.mark.parametrize("more", [{}, {"external_initial": True}, {"high": [2.0, 3.0]}])
def test_an_integrator_resets_itself(reset, more):
    found = simulate(saw(reset=reset, **more), until=5.0, log_every=0.1, engine="reference", rtol=1e-9)
    period = 0.9 / 0.7
    phase = found.time % period
    assert found["x.y"] == pytest.approx(np.transpose([0.1 + 0.7 * phase, 0.2 * phase]), abs=1e-12)
    assert np.array_equal(found["x.state"], found["x.y"])  # at an instant's end it shows the new state too
    after = found.time > period
    assert found["kept_state.y"][after] == pytest.approx(
        np.tile([1.0, 0.2 * period], (after.sum(), 1)), abs=1e-12
    )
    assert found["kept_y.y"][after] == pytest.approx(np.tile([0.1, 0.0], (after.sum(), 1)), abs=1e-12)


def test_a_state_that_is_held_by_a_level_does_not_move():
    d = Diagram("held")
    d.add("one", Constant(1.0)) >> d.add("x", Integrator(0.3, reset="level"))["u"]
    d.connect(d.add("on", Pulse(1.0, 4.0, "0.25", 1.0))["y"], d["x"]["reset"])
    found = simulate(d, 3.0, signals=["x.*"], log_at=[0.5, 1.2, 1.9, 2.5], engine="reference")
    for name in ("x.x", "x.y"):
        assert found[name].ravel() == pytest.approx([0.8, 0.3, 0.3, 0.8], abs=1e-9)


def test_machine_code_resets_itself_alike_and_goes_on_from_a_snapshot():
    d = saw(reset="level")
    slow, fast = (simulate(d, until=5.0, log_every=0.1, engine=e) for e in ("reference", "native"))
    for name in ("x.y", "x.state", "kept_state.y"):
        assert np.array_equal(slow[name], fast[name])
    assert slow.events == fast.events
    with Simulation(d, engine="native") as run:
        run.advance(slow.events[0].time)  # at the very instant of a reset
        there = run.snapshot()
        run.advance(5.0)
        first = run.value("x.y")
        run.restore(there)
        run.advance(5.0)
        assert np.array_equal(run.value("x.y"), first)
    assert first == pytest.approx(fast["x.y"][-1], rel=1e-12)


@pytest.mark.parametrize(
    ("threshold", "reset"), [(0.0, "rising"), (0.0, "falling"), (-0.3, "either"), (0.5, "rising")]
)
def test_edges_are_met_at_their_place(threshold, reset):
    """t since the last edge of sin(3 t) through the threshold; a start on it that moves up is one."""
    d = Diagram("since")
    d.add("one", Constant(1.0)) >> d.add("since", Integrator(reset=reset, threshold=threshold))["u"]
    d.connect(d.add("wave", Sine(frequency=3.0))["y"], d["since"]["reset"])
    found = simulate(d, until=7.0, engine="reference", rtol=1e-10)
    up = (np.arcsin(threshold) + 2 * np.pi * np.arange(-1, 5)) / 3.0
    down = (np.pi - np.arcsin(threshold) + 2 * np.pi * np.arange(-1, 5)) / 3.0
    edges = np.sort({"rising": up, "falling": down, "either": np.concatenate([up, down])}[reset])
    edges = edges[(edges > -1e-6) & (edges < 7.0)]
    assert [e.time for e in found.events] == pytest.approx(edges, abs=1e-9)
    assert found["since.y"][-1, 0] == pytest.approx(7.0 - edges[-1], abs=1e-9)


def test_a_sampled_reset_shows_the_state_before_to_what_is_sampled_at_that_tick():
    d = Diagram("sampled")
    d.add("one", Constant(1.0)) >> d.add("x", Integrator(reset=True, state_port=True, threshold=0.0))["u"]
    d.connect(
        d.add("wave", Sine(frequency=2 * np.pi, phase=-0.1))["y"], d.add("held", Hold(sample=0.25))["u"]
    )
    d.connect("held.y -> x.reset")
    d.connect(d["x"]["state"], d.add("seen", Hold(sample=0.25))["u"])
    found = simulate(d, until=2.0, log_every=0.25, engine="reference")
    # the wave is above 0 at the ticks 0.25 and 0.5, below at 0.75 and 1
    assert found["x.y"][:, 0] == pytest.approx([0, 0, 0.25, 0.5, 0.75, 0, 0.25, 0.5, 0.75], abs=1e-12)
    assert found["seen.y"][:, 0] == pytest.approx([0, 0.25, 0.25, 0.5, 0.75, 1, 0.25, 0.5, 0.75], abs=1e-12)


def test_fields_without_effect_are_refused():
    for fields in ({"state_port": True}, {"threshold": 0.0}):
        with pytest.raises(BlockError, match=r"without a reset.*Give reset="):
            Integrator(**fields)
    with pytest.raises(BlockError, match="threshold"):
        Integrator(reset=True, threshold=[0.0, 1.0])
