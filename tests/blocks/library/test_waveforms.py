"""Sources against SciPy, NumPy and pandas; noise against its spectrum."""

import numpy as np
import pandas as pd
import pytest
import scipy.signal
import xarray as xr
from numpy.testing import assert_allclose as close
from scipy.interpolate import CubicSpline

from blocks import (
    BandLimitedWhiteNoise,
    BlockError,
    Chirp,
    CounterFreeRunning,
    CounterLimited,
    FromData,
    GaussianPulse,
    Integrator,
    MultiStep,
    PinkNoise,
    PlantloopError,
    RepeatingSequence,
    RepeatingSequenceStair,
    Sawtooth,
    Source,
    SquareWave,
    TimeTable,
    Triangle,
)
from cosim import Diagram, simulate
from tests.helpers.made import alone

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
T = np.linspace(0.013, 5.9, 83)


def shown(block, engine, at=T):
    d = Diagram("d")
    d.connect(d.add("it", block)["y"], d.add("area", Integrator())["u"])
    r = simulate(d, float(at[-1]), log_at=at, engine=engine)
    return r["it.y"][:, 0], r["area.y"][-1, 0]


@ENGINES
def test_periodic_waves_are_scipys(engine):
    w = 2 * np.pi / 0.8
    late = np.maximum(T - 0.3, 0)
    y, area = shown(SquareWave(2.0, 0.8, 0.25, 0.3, 1.0), engine)
    close(y, np.where(T < 0.3, 1.0, 1 + 2 * scipy.signal.square(w * late, 0.25)))
    assert area == pytest.approx(0.3, abs=1e-9)  # then 7 periods of mean 0
    y, _ = shown(Sawtooth(2.0, 0.8, 0.3, 1.0), engine)
    close(y, np.where(T < 0.3, 1.0, 1 + 2 * scipy.signal.sawtooth(w * late)), atol=1e-9)
    y, _ = shown(Triangle(2.0, 0.8, 0.25, 0.3, 1.0), engine)
    close(y, 1 + 2 * scipy.signal.sawtooth(w * late, 0.25), atol=1e-9)


@ENGINES
def test_chirps_and_pulses(engine):
    y, _ = shown(Chirp(2.0, 1.0, 9.0, 4.0), engine)
    close(y, 2 * scipy.signal.chirp(T, 1 / (2 * np.pi), 4.0, 9 / (2 * np.pi), phi=-90), atol=1e-9)
    y, _ = shown(Chirp(2.0, 1.0, 9.0, 4.0, "exponential"), engine)
    close(y, 2 * scipy.signal.chirp(T, 1 / (2 * np.pi), 4.0, 9 / (2 * np.pi), "log", phi=-90), atol=1e-9)
    y, area = shown(GaussianPulse(3.0, 2.0, 0.1), engine)
    close(y, 3 * np.exp(-((T - 2) ** 2) / 0.02), atol=1e-12)
    assert area == pytest.approx(3 * 0.1 * np.sqrt(2 * np.pi), rel=1e-7)


@ENGINES
def test_steps_sequences_and_counters(engine):
    y, area = shown(MultiStep([1.0, 2.5], [2.0, -1.0], 0.5), engine)
    close(y, np.select([T < 1, T < 2.5], [0.5, 2.0], -1.0))
    assert area == pytest.approx(0.5 + 3.0 - 3.4, abs=1e-12)
    y, _ = shown(RepeatingSequence([0, 0.5, 0.8, 1.7], [0.0, 2.0, -1.0, 1.0]), engine)
    close(y, np.interp(T % 1.7, [0, 0.5, 0.8, 1.7], [0.0, 2.0, -1.0, 1.0]), atol=1e-9)
    y, _ = shown(RepeatingSequence([0, 2], [1.0, 3.0]), engine)
    close(y, 1 + T % 2, atol=1e-9)
    k = np.floor(T / 0.7 + 1e-9).astype(int)
    y, _ = shown(RepeatingSequenceStair([3.0, 1.0, 2.0], sample=0.7), engine)
    close(y, np.array([3.0, 1.0, 2.0])[k % 3])
    close(shown(CounterLimited(4, sample=0.7), engine)[0], k % 5)
    close(shown(CounterFreeRunning(2, sample=0.7), engine)[0], k % 4)
    close(shown(Source(lambda t: np.sin(t) * t), engine)[0], np.sin(T) * T, atol=1e-12)


@ENGINES
@pytest.mark.parametrize("rows", [9, 60])
def test_recorded_signals_run_through_their_points(engine, rows):
    rng = np.random.default_rng(rows)
    t = np.sort(rng.uniform(0.2, 5.0, rows))
    v = rng.normal(size=rows)
    v[-1] = 0.0
    inside = np.clip(T, t[0], t[-1])
    close(shown(FromData((t, v)), engine)[0], np.interp(T, t, v), atol=1e-9)
    y, _ = shown(FromData((t, v), interpolation="previous"), engine)
    close(y, v[np.maximum(np.searchsorted(t, T, "right") - 1, 0)])
    y, area = shown(FromData((t, v), interpolation="cubic"), engine)
    spline = CubicSpline(t, v)
    close(y, spline(inside), atol=1e-6 * np.abs(spline(inside)).max())
    ends = v[0] * t[0] + v[-1] * (T[-1] - t[-1])
    assert area == pytest.approx(spline.integrate(t[0], t[-1]) + ends, rel=1e-6)


def test_recorded_signals_from_frames_and_files(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 0.0], "b": [0.0, 5.0, 1.0]}, index=pd.Index([0.0, 1.0, 2.5], name="t")
    )
    wanted = FromData(([0.0, 1.0, 2.5], [0.0, 5.0, 1.0]))
    frame.to_csv(tmp_path / "road.csv")
    frame.reset_index().to_parquet(tmp_path / "road.parquet")
    for data in (frame, tmp_path / "road.csv", str(tmp_path / "road.parquet")):
        assert FromData(data, "b") == wanted
    assert FromData(frame["b"]) == wanted
    assert FromData(xr.DataArray([0.0, 5.0, 1.0], coords={"t": [0.0, 1.0, 2.5]}, dims="t")) == wanted
    assert FromData(frame).data[1] == ((1.0, 0.0), (2.0, 5.0), (0.0, 1.0))


def test_times_that_pandas_stored_as_index_are_the_times(tmp_path):
    """The first column was taken for them, and a single one for values at 0, 1, 2 s."""
    file, times, rows = tmp_path / "road.parquet", (0.0, 1.0, 2.5), ((1.0, 0.0), (2.0, 5.0), (3.0, 1.0))
    frame = pd.DataFrame(rows, columns=["a", "b"], index=pd.Index(times, name="t"))
    for stored in (frame, frame.reset_index()):
        stored.to_parquet(file)
        assert FromData(file).data == (times, rows)
        assert FromData(file, "b").data == (times, tuple(row[1:] for row in rows))
    frame.rename_axis(None)[["b"]].to_parquet(file)
    assert FromData(file).data == (times, tuple(row[1:] for row in rows))
    frame.rename_axis(None).to_parquet(file)  # may be what is left of row numbers
    with pytest.raises(BlockError, match="index without a name.*frame.index.name"):
        FromData(file)
    frame.rename_axis(None).reset_index(drop=True).to_parquet(file)
    assert FromData(file, "b").data == ((1.0, 2.0, 3.0), ((0.0,), (5.0,), (1.0,)))
    (tmp_path / "one.csv").write_text("b\n0.5\n1.5\n")
    with pytest.raises(BlockError, match="has one column, expected times in the first column"):
        FromData(tmp_path / "one.csv")


def test_noise_has_the_spectrum_it_says():
    n = 60_000
    for block, slope in ((BandLimitedWhiteNoise(0.3, sample=0.01), 0), (PinkNoise(2.0, sample=0.01), -1)):
        d = Diagram("d")
        d.add("it", block)
        y = simulate(d, (n - 1) * 0.01, log_every=0.01, engine="native", seed=5)["it.y"][:, 0]
        f, S = scipy.signal.welch(y, 100.0, nperseg=4096)
        band = (f > 0.1) & (f < 40)
        fit = np.polyfit(np.log(f[band]), np.log(S[band]), 1)
        assert fit[0] == pytest.approx(slope, abs=0.06)
        if not slope:
            assert S[band].mean() / 2 == pytest.approx(0.3, rel=0.03)  # two-sided
        else:
            assert y.var() == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SquareWave(period=0.0), "period is 0.0 s"),
        (lambda: SquareWave(duty=2.0), "duty is 2.0"),
        (lambda: Triangle(rise=1.0), "rise is 1.0"),
        (lambda: Chirp(start=0.0, kind="exponential"), "start is 0.0"),
        (lambda: RepeatingSequence([1, 2], [0, 1]), "from 0 on"),
        (lambda: MultiStep([1, 1], [0, 1]), "increasing times"),
        (lambda: FromData(([0, 0], [1, 2])), "goes from 0 to 0 s"),
        (lambda: FromData(([0, 1], [1, np.nan])), "gaps"),
        (lambda: FromData("nowhere.csv"), "No such file"),
        (lambda: FromData("data.txt"), "a .csv or .parquet file"),
        (lambda: FromData(pd.DataFrame({"a": [1.0]}), "b"), "has 'b', expected some of: a"),
        (lambda: Source(3.0), "function is 3.0"),
        (lambda: PinkNoise(-1.0, sample=0.1), "variance is -1.0"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


def test_masked_times_are_refused():
    """What lies beneath the mask was taken for a time."""
    times = np.ma.array([0.0, 1.0, 2.0], mask=[0, 1, 0])
    for kind in (TimeTable, MultiStep):
        with pytest.raises(BlockError, match="times is masked_array.*Leave masked entries out"):
            kind(times, [1.0, 2.0, 3.0])
        assert kind(np.ma.array(times.data), [1.0, 2.0, 3.0]).times == (0.0, 1.0, 2.0)
    with pytest.raises(PlantloopError, match="masked entries are no times"):
        alone(lambda b: b.output("y", b.instants(times))).system()
