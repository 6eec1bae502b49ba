"""What stands still while its part is inactive goes on as if there had been no pause: nothing knows of it.

Blocks that look at how fast their input changes, keep what was, or count time since the newest step.
"""

import numpy as np
import pytest

from blocks import (
    Backlash,
    BoucWen,
    Function,
    Hold,
    Integrator,
    Memory,
    MinMaxRunning,
    Mux,
    PeakHold,
    RateLimiter,
    Sine,
    StickSlip,
    TimeTable,
    UnitDelay,
)
from cosim import Diagram, Enabled, simulate

BEGIN, PAUSE = 0.5, 0.3  # s
BLOCKS = {
    "Backlash": Backlash(0.5),
    "BoucWen": BoucWen(0.6, 0.3, 1.5),
    "RateLimiter": RateLimiter(2.0, 3.0),
    "RateLimiter at ticks": RateLimiter(2.0, 3.0, sample=0.1),
    "PeakHold": PeakHold(),
    "MinMaxRunning": MinMaxRunning(),
    "StickSlip": StickSlip(1.5, 0.5, 0.1, 0.8, 0.2, 0.1),
}
TIMES = np.array([0.13, 0.42, 0.57, 0.74, 0.98])


def seen(block, pause, engine):
    """Output at TIMES, later ones behind the pause, in which input and block stand still."""
    d = Diagram("d")
    stops = [0.0, BEGIN, BEGIN + pause, 2.0 + pause]
    tau = d.add("tau", TimeTable(stops, [0.0, BEGIN, BEGIN, 2.0], interpolation="linear"))
    part = d.add("part", Enabled(block) if pause else block)
    tau >> d.add("u", Function(lambda s: 2.0 * np.sin(5.0 * s - 0.5))) >> part["u"]
    if pause:
        d.add("on", TimeTable(stops[:3], [1.0, -1.0, 1.0], interpolation="previous")) >> part["enable"]
    times = TIMES + pause * (TIMES > BEGIN)
    name = f"part.{part.ports.outputs[0]}"
    return simulate(d, times[-1], log_at=times, engine=engine, rtol=1e-9, atol=1e-11)[name][:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_a_pause_leaves_no_trace(name):
    without, behind = (seen(BLOCKS[name], pause, "reference") for pause in (0.0, PAUSE))
    assert np.abs(without - behind).max() < 1e-6
    assert np.ptp(without) > 0.02


@pytest.mark.slow
def test_machine_code_pauses_alike():
    block = RateLimiter(2.0, 3.0)
    assert np.abs(seen(block, PAUSE, "native") - seen(block, PAUSE, "reference")).max() < 1e-9


@pytest.mark.slow
def test_vectors_pause_like_their_components():
    """Memories of several components were compared with the time, of one, and refused in a part."""
    d = Diagram("d")
    d.add("on", TimeTable([0.0, 0.4, 0.6], [1.0, -1.0, 1.0], interpolation="previous"))
    d.add("a", Sine(frequency=6.0))
    d.add("b", Sine(0.7, 9.0))
    d["a"] >> d.add("both", Mux(2))["in1"]
    d["b"] >> d["both"]["in2"]
    blocks = {"rate": RateLimiter(2.0, 3.0), "last": Memory()}
    for name, block in blocks.items():
        for signal in ("a", "b", "both"):
            part = d.add(f"{name}_{signal}", Enabled(block))
            d[signal] >> part["u"]
            d["on"] >> part["enable"]
    r = simulate(d, 0.7, log_at=[0.3, 0.5, 0.7], engine="reference")
    for name in blocks:
        alone = np.hstack([r[f"{name}_a.y"], r[f"{name}_b.y"]])
        assert r[f"{name}_both.y"] == pytest.approx(alone, abs=1e-9)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_between_its_ticks_a_state_shows_what_it_was_at_the_active_one_before(offset, reset):
    """Counts at every fourth second, seen at every second and by an integrator, gone through by hand.

    Ticks in a pause do not happen: the count goes on at the next active one, also where the part goes on
    between two of them.
    """
    on = [1, 1, 1, -1, -1, 1, 1, -1, 1, 1, -1, -1, -1, 1, -1, 1, 1, 1, 1, 1, 1]
    inner = Diagram("inner")
    x = inner.add("x", UnitDelay(sample=4, offset=offset, initial=[0.0, 10.0]))
    seen, area = inner.add("seen", Hold(sample=1)), inner.add("area", Integrator())
    (x + 1.0) >> x
    x >> seen
    x >> area
    for name in ("seen", "area"):
        inner.outport(name, inner[name]["y"])
    d = Diagram("d")
    d.add("on", TimeTable(range(len(on)), on, interpolation="previous"))
    part = d.add("part", Enabled(inner, reset=reset, initial={"seen": [0.0, 10.0]}))
    d.connect("on.y", part["enable"])
    expected = []
    now = coming = held = total = 0.0
    for k, active in enumerate(on):
        begins = reset and active > 0 and k > 0 and on[k - 1] < 0
        if begins:  # the count from its next tick on
            coming = total = 0.0
        if active > 0 and k % 4 == offset:
            now, coming = coming, coming + 1.0
        held = now if active > 0 else held
        expected.append([held, total, held])
        total += now if active > 0 else 0.0
    r = simulate(d, len(on) - 1.0, log_every=1.0, engine="reference")
    found = np.stack([r["part.seen"][:, 0], r["part.area"][:, 0], r["part.seen"][:, 1] - 10.0], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-9)
