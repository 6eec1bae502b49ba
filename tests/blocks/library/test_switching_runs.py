"""Runs of switching, limiting and tracking blocks, on both engines."""

from functools import partial

import numpy as np
import pytest

from blocks import (
    Abs,
    BlockError,
    Clock,
    Constant,
    DeadZone,
    Function,
    Hold,
    Integrator,
    PeakHold,
    Pulse,
    Quantizer,
    RateLimiter,
    Relay,
    Sign,
    Sine,
    SRFlipFlop,
    Step,
    Switch,
    TurnCounter,
)
from cosim import Diagram, simulate
from tests.helpers.made import chain


@pytest.fixture(params=["reference", "native"])
def run(request):
    return partial(simulate, engine=request.param)


def test_integrator_rests_at_its_limits_without_wind_up(run):
    r = run(chain(Sine(frequency=1.0), Integrator(0.0, low=0.5 - 1, high=1.0)), 7.0, log_every=0.1)
    t, y = r.time, r["b2.y"][:, 0]
    free = t <= np.pi / 2
    assert y[free] == pytest.approx(1 - np.cos(t[free]), abs=1e-7)
    assert y[(t > np.pi / 2) & (t < np.pi)] == pytest.approx(1.0, abs=1e-9)
    back = (t > np.pi) & (t < 1.5 * np.pi)
    assert y[back] == pytest.approx(-np.cos(t[back]), abs=1e-7)
    assert [e.name.partition(".")[2] for e in r.events] == [
        "high reached",
        "high left",
        "low reached",
        "low left",
    ]


def test_integrator_reset_and_limits_of_a_vector(run):
    d = Diagram("i")
    u, i = (
        d.add("u", Constant([1.0, -2.0])),
        d.add("i", Integrator(0.25, low=[-1, -1], high=[0.5, 9], reset=True)),
    )
    trigger = d.add("trigger", Step(0.75))
    d.connect(u["y"], i["u"])
    d.connect(trigger["y"], i["reset"])
    r = run(d, 1.0, log_at=[0.125, 0.25, 0.7, 0.75, 0.875, 1.0])
    expected = [[0.375, 0], [0.5, -0.25], [0.5, -1], [0.25, 0.25], [0.375, 0], [0.5, -0.25]]
    assert r["i.y"] == pytest.approx(np.array(expected), abs=1e-9)
    with pytest.raises(BlockError, match="initial is 2.0, expected a value within high"):
        Integrator(2.0, high=1.0)


@pytest.mark.slow
def test_relay_has_hysteresis_and_starts_where_the_input_is(run):
    r = run(
        chain(Sine(amplitude=1.0, frequency=1.0), Relay(0.5, -0.5, 3.0, -1.0)),
        7.0,
        log_at=[0.5, 2, 3.6, 4, 6],
        max_step=0.05,
    )
    assert r["b2.y"][:, 0].tolist() == [-1, 3, 3, -1, -1]
    assert [round(e.time, 6) for e in r.events] == [round(np.pi / 6, 6), round(7 * np.pi / 6, 6), 6.806784]
    assert run(chain(Constant(0.0), Relay(on=True)), 0.1)["b2.y"][-1, 0] == 1
    assert run(chain(Constant(-3.0), Relay(on=True)), 0.1)["b2.y"][-1, 0] == 0


@pytest.mark.slow
def test_dead_zone_sign_abs_and_quantizer_of_a_continuous_signal(run):
    for block, formula in (
        (DeadZone(-0.5, 0.25), lambda u: u - np.clip(u, -0.5, 0.25)),
        (Abs(), np.abs),
        (Sign(), np.sign),
        (Quantizer(0.3), lambda u: 0.3 * np.sign(u) * np.floor(np.abs(u) / 0.3 + 0.5)),
    ):
        r = run(chain(Sine(frequency=3.0, phase=0.1), block), 3.0, log_every=0.07, max_step=0.05)
        assert r["b2.y"][:, 0] == pytest.approx(formula(np.sin(3 * r.time + 0.1)), abs=1e-9), block


def test_switch_by_a_crossing(run):
    d = Diagram("switch")
    s, a, c = d.add("s", Switch(0.5)), d.add("a", Constant([1.0, 2.0])), d.add("c", Constant([-1.0, -2.0]))
    control = d.add("control", Sine())
    d.connect(a["y"], s["in1"])
    d.connect(control["y"], s["control"])
    d.connect(c["y"], s["in2"])
    r = run(d, 3.0, log_at=[0.5, 0.6, 2.6, 2.7])
    assert r["s.y"][:, 1].tolist() == [-2, 2, 2, -2]


def test_a_switch_takes_a_logic_signal_as_it_is(run):
    d = Diagram("switch")
    for name, block in {"s": Switch(), "a": Constant(1.0), "c": Constant(-1.0), "step": Step(0.5)}.items():
        d.add(name, block)
    d.connect("a.y -> s.in1", "step.y -> s.control", "c.y -> s.in2")
    assert run(d, 1.0, log_at=[0.0, 0.4, 0.6])["s.y"].ravel().tolist() == [-1, -1, 1]


@pytest.mark.slow
def test_rate_limiter_continuous_and_sampled(run):
    r = run(chain(Step(0.5, 0, 1), RateLimiter(2.0, 4.0)), 2.0, log_at=[0.4, 0.5, 0.75, 1.0, 1.5])
    assert r["b2.y"][:, 0] == pytest.approx([0, 0, 0.5, 1, 1])
    d = chain(Pulse(1.0, 2.0, 0.5), RateLimiter(2.0, 4.0, sample=0.1))
    y = run(d, 1.5).ticks("b2.y").values[:, 0]
    assert y[:7] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1, 1])
    assert y[9:14] == pytest.approx([1, 0.6, 0.2, 0, 0], abs=1e-12)


def test_peak_hold_and_turn_counter_keep_what_accepted_steps_saw(run):
    r = run(chain(Sine(), PeakHold()), 4.0, log_at=[0.5, 4.0], max_step=0.001)
    assert r["b2.y"][:, 0] == pytest.approx([np.sin(0.5), 1.0], abs=1e-6)
    angle = Function(lambda t: np.arctan2(np.sin(9 * t), np.cos(9 * t)))
    d = Diagram("turns")
    clock, a, n, i = (
        d.add("clock", Clock()),
        d.add("a", angle),
        d.add("n", TurnCounter()),
        d.add("i", Integrator()),
    )
    d.connect(clock["y"], a["t"])
    d.connect(a["y"], n["u"])
    d.connect(n["y"], i["u"])
    r = run(d, 3.0, log_every=0.1, max_step=0.05)
    assert r["n.y"][:, 0] == pytest.approx(9 * r.time, abs=1e-9)


@pytest.mark.parametrize(
    ("block", "port", "output", "before", "given"),
    [
        (Relay(0.5, -0.5, on=True), "u", "y", -1.0, 1.0),
        (Relay(0.5, -0.5), "u", "y", 1.0, 0.0),
        (SRFlipFlop(), "S", "Q", 1.0, 0.0),
    ],
)
def test_a_switch_with_a_memory_begins_with_the_first_sample(run, block, port, output, before, given):
    """The sample is 0, which changes nothing; what a memory holds before the first tick at 0 nothing sees.

    Where the first tick is later, it is the signal until then, and counts.
    """
    d = Diagram("d")
    d.add("zero", Constant(0.0))
    for name, offset in {"first": 0.0, "late": 0.05}.items():
        d.connect("zero.y", d.add(f"{name}_sample", Hold(0, sample=0.1, offset=offset, initial=before))["u"])
        d.connect(f"{name}_sample.y", d.add(name, block)[port])
        if port == "S":
            d.connect("zero.y", f"{name}.R")
    r = run(d, 0.2, log_every=0.1)
    assert r[f"first.{output}"][:, 0].tolist() == [given] * 3
    assert r[f"late.{output}"][:, 0].tolist() == [1.0 - given] * 3
