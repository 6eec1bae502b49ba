"""Sampled blocks in a part that pauses: they see the active samples alone, as SciPy's filters of these do."""

import numpy as np
import pytest
from scipy import signal

from blocks import (
    FIR,
    Biquad,
    Counter,
    Delay,
    Difference,
    DiscreteDerivative,
    DiscreteIntegrator,
    DiscreteTransferFunction,
    FirstOrder,
    MovingAverage,
    PythonFunction,
    RateLimiter,
    Sine,
    TimeTable,
)
from cosim import Diagram, Enabled, Triggered, simulate

T, N = 0.1, 40
DRAW = np.random.default_rng(0)
U = DRAW.normal(size=N)
ON = np.where(np.arange(N) == 0, 1.0, DRAW.random(N) > 0.4)
ACTIVE = U[ON > 0]
SOS = signal.butter(4, 0.2, output="sos")
TIMES = [k / 10 for k in range(N)]
KNOWN = {
    "fir": (FIR([0.5, 0.3, 0.2], sample=T), signal.lfilter([0.5, 0.3, 0.2], [1.0], ACTIVE)),
    "lag": (
        DiscreteTransferFunction([1.0, 0.5], [1.0, -0.7], sample=T),
        signal.lfilter([1.0, 0.5], [1.0, -0.7], ACTIVE),
    ),
    "biquad": (Biquad(SOS, sample=T), signal.sosfilt(SOS, ACTIVE)),
    "mean": (MovingAverage(3, sample=T), np.convolve(ACTIVE, np.ones(3) / 3)[: len(ACTIVE)]),
    "change": (Difference(sample=T), np.diff(ACTIVE, prepend=0.0)),
    "slope": (DiscreteDerivative(sample=T), np.diff(ACTIVE, prepend=0.0) / T),
    "late": (Delay(2, sample=T, initial=5.0), np.r_[5.0, 5.0, ACTIVE[:-2]]),
    "forward": (DiscreteIntegrator(T), T * np.r_[0.0, np.cumsum(ACTIVE)[:-1]]),
    "backward": (DiscreteIntegrator(T, method="backward"), T * np.cumsum(ACTIVE)),
    "count": (Counter(sample=T), np.cumsum(np.diff(ACTIVE > 0.5, prepend=False) & (ACTIVE > 0.5))),
}


def table(values):
    return TimeTable(TIMES, list(map(float, values)), interpolation="previous")


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_part_that_pauses_filters_its_active_samples(engine):
    inner, d = Diagram("inner"), Diagram("d")
    u = inner.inport("u")
    for name, (block, _) in KNOWN.items():
        u >> inner.add(name, block)
        inner.outport(name, inner[name]["y"])
    d.add("part", Enabled(inner))
    d.add("u", table(U)) >> d["part"]["u"]
    d.add("on", table(ON)) >> d["part"]["enable"]
    found = simulate(d, until=TIMES[-1], log_at=TIMES, engine=engine)
    newest = np.cumsum(ON > 0) - 1
    for name, (_, known) in KNOWN.items():
        np.testing.assert_allclose(found[f"part.{name}"][:, 0], known[newest], atol=1e-12, err_msg=name)


def test_a_continuous_lag_stands_still_in_a_pause():
    d = Diagram("d")
    d.add("part", Enabled(FirstOrder(1.0, 0.3)))
    d.add("u", table(U)) >> d["part"]["u"]
    d.add("on", table(ON)) >> d["part"]["enable"]
    found = simulate(d, until=TIMES[-1], log_at=TIMES, engine="reference", rtol=1e-10, atol=1e-12)
    known = [0.0]
    for u, on in zip(U[:-1], ON[:-1], strict=True):
        known.append(u + (known[-1] - u) * np.exp(-T / 0.3) if on else known[-1])
    assert found["part.y"][:, 0] == pytest.approx(known, abs=1e-8)


@pytest.mark.slow
def test_a_filter_that_a_wave_calls_takes_the_samples_at_its_crossings():
    inner, d = Diagram("inner"), Diagram("d")
    inner.inport("u") >> inner.add("lag", DiscreteTransferFunction([1.0, 0.0], [1.0, -0.7], sample=1))
    inner.outport("y", "lag.y")
    d.add("part", Triggered(inner, edge="either"))
    d.add("u", table(U)) >> d["part"]["u"]
    d.add("wave", Sine(frequency=7.3, phase=0.4)) >> d["part"]["trigger"]
    found = simulate(d, until=TIMES[-1], log_at=TIMES, engine="reference")
    crossings = (np.arange(1, 10) * np.pi - 0.4) / 7.3
    crossings = crossings[crossings < TIMES[-1]]
    filtered = signal.lfilter([1.0], [1.0, -0.7], U[(crossings / T).astype(int)])
    known = np.r_[0.0, filtered][np.searchsorted(crossings, TIMES)]
    assert found["part.y"][:, 0] == pytest.approx(known, abs=1e-12)


def test_a_function_without_inputs_is_called_at_the_tick_at_which_its_part_becomes_active():
    d = Diagram("d")
    d.add("clock", Enabled(PythonFunction(lambda t, u: np.array([10.0 * t]), inputs=(), sample=T)))
    d.add("on", TimeTable([0.0, 0.2, 0.4], [1.0, 0.0, 1.0], interpolation="previous")) >> d["clock"]["enable"]
    found = simulate(d, until=0.5, log_every=T, engine="reference")["clock.y"][:, 0]
    assert found == pytest.approx([0, 1, 1, 1, 4, 5])


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_rate_limiter_without_a_sample_time_follows_from_call_to_call(engine):
    """It stays within what its rates allow since the call before, and is u where u lies in between."""
    calls = np.arange(1, N, 2)
    d = Diagram("d")
    d.add("part", Triggered(RateLimiter(3.0, 5.0, initial=0.5)))
    d.add("u", table(U)) >> d["part"]["u"]
    d.add("calls", table(np.arange(N) % 2)) >> d["part"]["trigger"]
    found = simulate(d, until=TIMES[-1], log_at=TIMES, engine=engine)["part.y"][calls, 0]
    known, last, begin = [], 0.5, 0
    for k in calls:
        since = T * (k - begin)
        last, begin = np.clip(U[k], last - 5.0 * since, last + 3.0 * since), k
        known.append(last)
    assert np.count_nonzero(known == U[calls]) > 3 < np.count_nonzero(known != U[calls])
    np.testing.assert_allclose(found, known, atol=1e-8)
