"""Sampled delays, filters and integrals against SciPy and plain Python."""

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose as close
from numpy.testing import assert_array_equal as same

from blocks import (
    FIR,
    Biquad,
    BlockError,
    Constant,
    Delay,
    Difference,
    DiscreteDerivative,
    DiscreteIntegrator,
    DiscreteZeroPoleGain,
    EnabledDelay,
    Integrator,
    Memory,
    MovingAverage,
    ResettableDelay,
    Sine,
    TappedDelay,
    VariableIntegerDelay,
)
from cosim import Diagram, linearize, simulate
from tests.blocks.library.test_logic import fed, sampled

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
U = np.random.default_rng(4).normal(size=40)


def late(n, u=U, initial=0.0):
    return np.concatenate([np.full(n, initial), u[: len(u) - n]]) if n else np.array(u)


def test_delays_by_samples():
    for n in (0, 1, 7):
        same(sampled(Delay(n, 0.1, initial=0.5), u=U)["y"][:, 0], late(n, initial=0.5))
    d = np.random.default_rng(5).integers(-1, 6, 40) + 0.3
    wanted = [U[k - s] if k >= s else 0.5 for k in range(40) for s in [int(np.clip(np.floor(d[k]), 0, 4))]]
    y = sampled(VariableIntegerDelay(4, 0.1, initial=0.5), u=U, d=d)["y"][:, 0]
    same(y, wanted)
    y = sampled(TappedDelay(3, 0.1), u=U)["y"]
    same(y, np.stack([late(3), late(2), late(1)], axis=1))
    y = sampled(TappedDelay(2, 0.1, 0, 0.0, True, True), u=U)["y"]
    same(y, np.stack([U, late(1), late(2)], axis=1))


def test_a_delay_that_is_enabled_counts_those_ticks_only():
    on = np.random.default_rng(6).integers(0, 2, 40)
    kept, wanted = [0.5, 0.5], []
    for u, go in zip(U, on, strict=True):
        wanted.append(kept[0])
        kept = [kept[1], u] if go else kept
    for enable in (on, np.where(on, 0.6, 0.5)):  # on above 0.5
        same(sampled(EnabledDelay(2, 0.1, initial=0.5), u=U, enable=enable)["y"][:, 0], wanted)


@pytest.mark.parametrize("kind", ["rising", "falling", "either", "level"])
def test_resets_forget_the_past(kind):
    reset = np.random.default_rng(7).integers(0, 2, 40)
    last = np.concatenate([[0], reset[:-1]])
    fires = {
        "rising": (reset == 1) & (last == 0),
        "falling": (reset == 0) & (last == 1),
        "either": reset != last,
        "level": reset == 1,
    }[kind]
    past, total, wanted, sums = [], 0.3, [], []
    for u, go in zip(U, fires, strict=True):
        past = [] if go else past
        wanted.append(past[-2] if len(past) >= 2 else 0.3)
        past.append(u)
        total = 0.3 if go else total
        sums.append(total)
        total += 0.1 * u
    block = ResettableDelay(2, 0.1, initial=0.3, reset=kind)
    same(sampled(block, u=U, reset=reset)["y"][:, 0], wanted)
    block = DiscreteIntegrator(0.1, initial=0.3, reset=kind)
    close(sampled(block, u=U, reset=reset)["y"][:, 0], sums, rtol=1e-13)


@pytest.mark.parametrize("method", ["forward", "backward", "trapezoidal"])
def test_a_limited_integrator_leaves_its_limit_at_once(method):
    u = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    y = sampled(DiscreteIntegrator(0.5, method=method, high=1.0), u=u)["y"][:, 0]
    wanted = {
        "forward": [0, 0.5, 1, 1, 1, 0.5],
        "backward": [0.5, 1, 1, 1, 0.5, 0],
        "trapezoidal": [0.25, 0.75, 1, 1, 0.75, 0.25],
    }[method]
    close(y, wanted, rtol=1e-15)


def test_the_initial_value_from_outside_is_taken_at_the_first_tick_and_at_resets():
    block = DiscreteIntegrator(0.1, reset="rising", external_initial=True)
    y = sampled(block, u=np.ones(6), x0=[2, 9, 9, 5, 9, 9], reset=[0, 0, 0, 1, 1, 0])["y"][:, 0]
    close(y, [2, 2.1, 2.2, 5, 5.1, 5.2], rtol=1e-14)


def test_filters_are_scipys():
    b = scipy.signal.firwin(9, 0.3)
    close(sampled(FIR(b, sample=0.1), u=U)["y"][:, 0], scipy.signal.lfilter(b, 1, U), rtol=1e-12, atol=1e-15)
    sos = scipy.signal.cheby1(5, 1.0, [0.2, 0.5], "bandpass", output="sos")
    y = sampled(Biquad(sos, sample=0.1), u=U)["y"][:, 0]
    close(y, scipy.signal.sosfilt(sos, U), rtol=1e-10, atol=1e-14)
    mean = sampled(MovingAverage(5, sample=0.1), u=U)["y"][:, 0]
    close(mean, scipy.signal.lfilter(np.full(5, 0.2), 1, U), rtol=1e-12, atol=1e-15)
    close(sampled(Difference(0.1, initial=1.0), u=U)["y"][:, 0], np.diff(U, prepend=1.0))
    close(sampled(DiscreteDerivative(0.1, gain=2.0), u=U)["y"][:, 0], 20 * np.diff(U, prepend=0.0))


@pytest.mark.parametrize("order", [1, 2, 3, 6, 9])
def test_zeros_poles_and_gain_are_scipys(order):
    for z, p, k in (
        scipy.signal.butter(order, 0.3, output="zpk"),
        scipy.signal.ellip(order, 1.0, 40.0, 0.4, "highpass", output="zpk"),
        ([], scipy.signal.butter(order, 0.3, output="zpk")[1], 2.0),
    ):
        y = sampled(DiscreteZeroPoleGain(z, p, k, sample=0.1), u=U)["y"][:, 0]
        wanted = scipy.signal.lfilter(*scipy.signal.zpk2tf(z, p, k), U)
        if len(z) < len(p):  # zpk2tf leaves out the leading zeros of z^-1
            wanted = np.concatenate([np.zeros(len(p)), wanted[: -len(p)]])
        close(y, wanted, rtol=1e-7, atol=1e-9)


@ENGINES
def test_a_cascade_runs_and_linearises(engine):
    sos = scipy.signal.butter(4, 0.2, output="sos")
    d = fed(Biquad(sos, sample=0.05, offset=0.01), {"u": Sine(1.0, 3.0)})
    ticks = 0.01 + 0.05 * np.arange(100)
    r = simulate(d, 4.99, log_at=ticks, engine=engine)
    close(r["it.y"][:, 0], scipy.signal.sosfilt(sos, np.sin(3 * ticks)), rtol=1e-9, atol=1e-13)
    d = Diagram("alone")
    f = d.add("f", Biquad(sos, sample=0.05))
    d.connect(d.inport("u"), f["u"])
    d.outport("y", f["y"])
    model = linearize(d)
    w = np.array([0.1, 1.0, 10.0])
    z = np.exp(0.05j * w)
    got = [(model.C @ np.linalg.solve(v * np.eye(4) - model.A, model.B) + model.D)[0, 0] for v in z]
    close(got, scipy.signal.sosfreqz(sos, 0.05 * w)[1], rtol=1e-9)


@ENGINES
def test_memory_breaks_a_loop(engine):
    d = Diagram("loop")
    m = d.add("m", Memory(1.0))
    d.connect(m["y"], d.add("x", Integrator())["u"])
    d.connect(d.add("one", Constant(3.0))["y"], m["u"])
    r = simulate(d, 1.0, solver="rk4", step=0.1, log_at=[0.05, 0.15, 1.0], engine=engine)
    assert r["m.y"][:, 0].tolist() == [1, 3, 3] or r["m.y"][:, 0].tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Delay(-1, 0.1), "n is -1"),
        (lambda: DiscreteZeroPoleGain([1j], [0.1, 0.2], sample=0.1), "without its conjugate"),
        (lambda: DiscreteZeroPoleGain([1, 2], [0.1], sample=0.1), "at most as many zeros as poles"),
        (lambda: Biquad([[1, 0, 0, 0, 0, 0]], sample=0.1), "a0 = 0"),
        (lambda: DiscreteIntegrator(0.1, reset="up"), "reset is 'up'"),
        (lambda: ResettableDelay(1, 0.1, reset="none"), "reset is 'none'"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)
