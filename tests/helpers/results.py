"""Results to look at, keep and draw, ordinary and awkward; when two are the same, bit for bit."""

import numpy as np

from cosim.result.record import Event, SettingValue, TickSeries, described
from cosim.result.result import Result

NASTY = (
    np.nan,
    -np.nan,
    -0.0,
    np.inf,
    -np.inf,
    5e-324,  # smallest denormal number
    np.nextafter(1.0, 2.0),
    0.1 + 0.2,
)


def made(**fields) -> Result:
    """A result from its fields, labels, units and aliases among them."""
    return Result(**described({"ticks_of": {}} | fields))


def pendulum(**changes) -> Result:
    """A small result with everything in it: (4, 2), scalar and sampled signals, events, settings."""
    fields = {
        "name": "inverted_pendulum",
        "time": np.arange(4) / 10,
        "signals": {
            "plant.pendulum": np.arange(8.0).reshape(4, 2),
            "controller.u": np.array([1.0, 1.0, 2.0, 2.0]),
            "plant.slider": np.array([[0.0, 1.0], [0.1, 1.1], [0.2, 1.2], [0.3, 1.3]]),
        },
        "units": {"plant.pendulum": ("rad", "rad/s"), "controller.u": ("N",)},
        "labels": {"plant.pendulum": ("theta", "omega")},
        "ticks_of": {"controller.u": TickSeries(np.array([0.0, 0.2]), np.array([[1.0], [2.0]]))},
        "events": (Event(0.15, "wall.hit", before={"ball.v": -1.0}, after={"ball.v": 0.8}),),
        "settings": {"solver": SettingValue("dopri5", "default"), "rtol": SettingValue(1e-8, "simulate()")},
        "statistics": {"steps": 17, "ticks": {"1/5 s": 2}, "wall_time": 0.25, "limited_by": None},
    }
    return made(**(fields | changes))


def awkward() -> Result:
    """Names no file format likes, empty signals, and numbers that printing would change."""
    names = (
        "sub/gain.y",
        "sub%2Fgain.y",
        "a.b",
        "a.b.npy",
        "a.b[0]",
        "time",
        "event_time",
        "header",
        "file",
        ".hidden",
        "ends with space ",
        "winkel.θ",
        "e\u0301 against é",
        'quote"back\\slash',
        "a.b@ticks",
        "a.b.component",
        "",
    )
    n = len(NASTY)
    nasty = np.array(NASTY)
    signals = {name: nasty + i if i else nasty for i, name in enumerate(names)}
    signals |= {"wide.y": np.outer(nasty, [1.0, -1.0, 3.0]), "none.y": np.empty((n, 0))}
    return made(
        name="größe / \n 1",
        time=np.arange(n) * 0.1,
        signals=signals,
        units={"wide.y": ("m", "", "days since yesterday"), "a.b": ("seconds",), "none.y": ()},
        labels={"wide.y": ("same", "same", "")},
        ticks_of={
            "a.b": TickSeries(np.array([0.0, 0.1]), np.array([-0.0, np.nan])),
            "wide.y": TickSeries(np.array([0.3]), np.array([[1.0, 2.0, 3.0]])),
            "sub/never.y": TickSeries(np.empty(0), np.empty((0, 2))),
            "none.y": TickSeries(np.array([1.0]), np.empty((1, 0))),
        },
        events=(Event(0.1 + 0.2, "größe", -0.0, (np.inf, 1e-310)), Event(0.3, "", None, {"x": (1.0,)})),
        settings={
            "long": SettingValue("x" * 100_000, "test"),
            "limits": SettingValue((-np.inf, 0.1), "test"),
        },
        statistics={"ratio": 0.1 + 0.2, "never": np.inf, "big": 2**70},
        complete=False,
        message="stopped: 'größe' is not finite\nsecond line",
    )


def assert_same_bits(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert a.tobytes() == b.tobytes()


def assert_same(a: Result, b: Result):
    """Equal to the last bit, in the same order."""
    assert list(a.signals) == list(b.signals)
    assert list(a.ticks_of) == list(b.ticks_of)
    assert_same_bits(a.time, b.time)
    for name in a.signals:
        assert_same_bits(a.signals[name], b.signals[name])
    for name in a.ticks_of:
        assert_same_bits(a.ticks_of[name].time, b.ticks_of[name].time)
        assert_same_bits(a.ticks_of[name].values, b.ticks_of[name].values)
    for field in ("name", "units", "labels", "events", "settings", "statistics", "complete", "message"):
        assert repr(getattr(a, field)) == repr(getattr(b, field)), field  # repr tells -0.0 from 0.0
