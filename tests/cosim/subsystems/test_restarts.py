"""Blocks that remember in parts that start anew or are called: from then on as if they had just begun."""

import numpy as np
import pytest

from blocks import (
    Backlash,
    Clock,
    Constant,
    CounterFreeRunning,
    CounterLimited,
    DiscreteIntegrator,
    Function,
    Integrator,
    Memory,
    PeakHold,
    Ramp,
    RateLimiter,
    Relay,
    RepeatingSequenceStair,
    SRFlipFlop,
    TimeTable,
)
from cosim import Diagram, Enabled, Resettable, Triggered, linearize, simulate

ENGINES = ["reference", "native"]
P = 1.0  # s, period of the input: from a restart on it is as it was from the start on
AGAIN = {  # when a part starts anew; each time its signal rises, at a tick or where a line crosses 0
    "at an instant": TimeTable([0.0, P], [-1.0, 1.0], interpolation="previous"),
    "within a step": TimeTable([0.0, 0.4 * P, 1.6 * P], [-1.0, -1.0, 1.0]),
}
BLOCKS = {
    "Backlash": Backlash([0.5, 0.2], initial=0.1),
    "PeakHold": PeakHold(),
    "RateLimiter": RateLimiter(2.0, 3.0, initial=0.5),
    "Relay": Relay(0.79, -0.95, on=True),
}


def two_sines(t):
    return np.stack([np.sin(2 * np.pi * t - 1.1), 0.8 * np.sin(4 * np.pi * t + 0.6)])


def table(times, values):
    return TimeTable(times, values, interpolation="previous")


@pytest.mark.slow
@pytest.mark.parametrize("when", AGAIN)
@pytest.mark.parametrize("name", BLOCKS)
def test_a_restarted_block_is_a_new_one(name, when):
    d = Diagram("d")
    d.add("t", Clock()) >> d.add("u", Function(two_sines))
    d["u"] >> d.add("new", BLOCKS[name])["u"]
    d["u"] >> d.add("part", Resettable(BLOCKS[name]))["u"]
    d.add("again", AGAIN[when]) >> d["part"]["reset"]
    after = np.arange(1, 20) * 0.04
    both = simulate(d, 2 * P, log_at=[*after, *(after + P)], engine="reference", rtol=1e-9, atol=1e-11)
    new, part = both["new.y"], both["part.y"]
    np.testing.assert_allclose(part[len(after) :], new[: len(after)], atol=1e-6)
    assert np.abs(new[len(after) :] - new[: len(after)]).max() > 0.05  # without a restart it would differ


@pytest.mark.parametrize("engine", ENGINES)
def test_a_restarted_relay_is_off_again_between_its_points(engine):
    """u is 1, then 0: a relay that starts at 0 is off, and so is a bit that is not set then."""
    d = Diagram("d")
    d.add("u", table([0.0, 0.25], [1.0, 0.0]))
    d.add("zero", Constant(0.0))
    d.add("again", table([0.0, 0.75], [-1.0, 1.0]))
    d.add("relay", Resettable(Relay())), d.add("bit", Resettable(SRFlipFlop()))
    d.connect("u.y -> relay.u, bit.S", "zero.y -> bit.R", "again.y -> relay.reset, bit.reset")
    r = simulate(d, 1.0, log_every=0.25, engine=engine)
    assert r["relay.y"][:, 0].tolist() == r["bit.Q"][:, 0].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_memory_that_is_called_shows_the_call_before(engine):
    """Calls at 0.5, 1.5, 2.5 and 3.75 s; u counts seconds from 1 on; as Simulink's Memory block."""
    d = Diagram("d")
    d.add("u", table([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])) >> d.add("part", Triggered(Memory(-1.0)))["u"]
    calls = table([0, 0.5, 1.25, 1.5, 2.25, 2.5, 3.5, 3.75], [0.0, 1.0] * 4)
    d.add("calls", calls) >> d["part"]["trigger"]
    d["u"] >> d.add("slow", Triggered(RateLimiter(0.4)))["u"]
    d["calls"] >> d["slow"]["trigger"]
    r = simulate(d, 4.0, log_at=[0.6, 1.6, 2.6, 3.6, 3.8], engine=engine)
    assert r["part.y"][:, 0].tolist() == [-1, 1, 2, 2, 3]
    assert r["slow.y"][:, 0] == pytest.approx([0.2, 0.6, 1.0, 1.0, 1.5])  # 0.4 per s since the call before


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("steps", [True, False])
def test_a_state_begins_at_its_signal_where_its_part_becomes_active(engine, anew, steps):
    """x0 = 10 t, u = 1; active from 1 to 2 and from 3 on, at instants or where a line crosses 0."""
    d = Diagram("d")
    d.add("u", Constant(1.0)), d.add("x0", Ramp(10.0))
    if steps:
        on = table([0, 1, 2, 3], [-1.0, 1.0, -1.0, 1.0])
    else:
        on = TimeTable([0, 1.5, 2.5, 3.5], [-1.0, 0.5, -0.5, 0.5])
    d.add("on", on)
    d.add("x", Enabled(Integrator(external_initial=True), reset=anew))
    d.connect("u.y -> x.u", "x0.y -> x.x0", "on.y -> x.enable")
    r = simulate(d, 4.0, log_at=[0.5, 1.5, 2.5, 3.5, 4.0], engine=engine)
    later = [30.5, 31.0] if anew else [11.5, 12.0]
    assert r["x.y"][:, 0] == pytest.approx([0.0, 10.5, 11.0, *later], abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_states_that_begin_at_a_signal_begin_there_at_each_restart(engine):
    """x0 = 10 t, u = 1; restarts at 1 and 3."""
    d = Diagram("d")
    d.add("u", Constant(1.0)), d.add("x0", Ramp(10.0)), d.add("again", table([0, 1, 2, 3], [-1.0, 1.0] * 2))
    blocks = {
        "smooth": Integrator(external_initial=True),
        "sampled": DiscreteIntegrator(0.5, external_initial=True),
    }
    for name, block in blocks.items():
        d.add(name, Resettable(block))
        d.connect(f"u.y -> {name}.u", f"x0.y -> {name}.x0", f"again.y -> {name}.reset")
    r = simulate(d, 4.0, log_every=0.5, engine=engine)
    for name in blocks:
        assert r[f"{name}.y"][:, 0] == pytest.approx([0, 0.5, 10, 10.5, 11, 11.5, 30, 30.5, 31], abs=1e-9)


def test_an_initial_value_from_outside_adds_nothing_to_a_linear_model():
    d = Diagram("d")
    d.add("x", DiscreteIntegrator(0.5, external_initial=True))
    d.connect(d.inport("u"), d["x"]["u"])
    d.connect(d.inport("x0"), d["x"]["x0"])
    d.outport("y", d["x"]["y"])
    model = linearize(d)
    assert (
        model.A.tolist() == [[1.0]] and model.B.tolist() == [[0.5, 0.0]] and model.D.tolist() == [[0.0, 0.0]]
    )


@pytest.mark.parametrize("engine", [pytest.param("reference", marks=pytest.mark.slow), "native"])
def test_there_is_no_peak_before_a_part_is_active(engine):
    """Active from 1 s on; u = 3 - t, so that what is first is the largest."""
    d = Diagram("d")
    d.add("t", Ramp(1.0)) >> d.add("u", Function(lambda t: 3.0 - t))
    d.add("on", table([0, 1], [-1.0, 1.0]))
    for kind in ("max", "min"):
        d["u"] >> d.add(kind, Enabled(PeakHold(kind)))["u"]
        d["on"] >> d[kind]["enable"]
    r = simulate(d, 3.0, log_at=[0.5, 1.0, 3.0], engine=engine, max_step=0.05)
    assert r["max.y"][:, 0] == pytest.approx([0, 2, 2]) and r["min.y"][:, 0] == pytest.approx([0, 2, 0])


@pytest.mark.parametrize("engine", ENGINES)
def test_sources_that_count_samples_count_from_0_again(engine):
    """As Simulink's, whose counts are states: from the first tick on that is not before the restart."""
    blocks = {
        "limited": CounterLimited(2, sample=0.1),
        "free": CounterFreeRunning(2, sample=0.1),
        "stair": RepeatingSequenceStair([7.0, 5.0, 6.0], sample=0.1),
    }
    part, d = Diagram("part"), Diagram("d")
    for name, block in blocks.items():
        part.outport(name, part.add(name, block)["y"])
    d.add("part", Resettable(part))
    d.add("again", table([0.0, 0.45, 0.6, 0.8], [0.0, 1.0, 0.0, 1.0])) >> d["part"]["reset"]
    r = simulate(d, 1.0, log_at=[0.1 * k for k in range(11)], engine=engine)
    k = np.array([0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2])
    assert r["part.limited"][:, 0].tolist() == (k % 3).tolist()
    assert r["part.free"][:, 0].tolist() == (k % 4).tolist()
    assert r["part.stair"][:, 0].tolist() == np.array([7, 5, 6])[k % 3].tolist()
