"""Time events of FMUs for model exchange at instants of the diagram around them: who sees what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blocks import Clock, Constant, DiscreteStateSpace, Gain, Hold, Pulse, Step, Sum, TimeTable, UnitDelay
from blocks.contract.block import Block
from cosim import FMU, Diagram, Enabled, Simulation, export_fmu, simulate
from tests.helpers.fmus import build_fmu, needs_compiler

ENGINES = ("reference", "native")
T = 0.1
PI = DiscreteStateSpace(A=[[1.0]], B=[[T]], C=[[1.0]], D=[[2.0]], sample="1/10")


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y_k = s_k + 2 u_k, s_k+1 = s_k + T u_k, as model exchange."""
    return Path(export_fmu(PI, tmp_path_factory.mktemp("units") / "pi.fmu", kinds=("me",)))


def controlled(u: np.ndarray) -> np.ndarray:
    """Its outputs y_k for inputs u_k, (n,), by the sum."""
    return 2.0 * u + T * np.concatenate([[0.0], np.cumsum(u)[:-1]])


def driven(source: Block, unit: Block, inside: bool = False) -> Diagram:
    """A source in front of a controller, a hold of the same rate behind it."""
    d = Diagram("driven")
    inner = Diagram("inner") if inside else d
    inner.add("unit", unit)
    if inside:
        inner.connect(inner.inport("u"), "unit.u")
        inner.outport("y", "unit.y")
        d.add("part", inner)
    name = "part" if inside else "unit"
    d.add("source", source)
    d.add("after", Hold(sample="1/10"))
    d.connect("source.y", f"{name}.u")
    d.connect(f"{name}.y", "after.u")
    if isinstance(source, UnitDelay):
        d.add("clock", Clock())
        d.connect("clock.y", "source.u")
    return d


K = np.arange(11)
SOURCES = {
    "step": (Step(time=0.3, after=1.5), np.where(K >= 3, 1.5, 0.0)),
    "early": (Step(time="1/10", after=-1.0), np.where(K >= 1, -1.0, 0.0)),
    "pulse": (Pulse(period="4/10", width="1/4", delay="1/10"), ((K - 1) % 4 == 0) * 1.0),
    "table": (TimeTable([0, 0.2, 0.2, 0.7, 0.7, 1.1], [0, 0, 1, 1, 3, 3]), 1.0 * (K >= 2) + 2.0 * (K >= 7)),
    "delay": (UnitDelay(sample="1/10"), np.where(K > 0, T * (K - 1.0), 0.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SOURCES)
def test_jumps_and_states_of_the_same_instant_are_seen(name: str, engine: str, controller: Path) -> None:
    """As by the block it was made of; and what samples the unit at that instant sees its new output."""
    source, u = SOURCES[name]
    d = driven(source, FMU(controller, kind="me"), inside=name == "step")
    r = simulate(d, 1.0, log_every=T, engine=engine)
    np.testing.assert_allclose(r["after.y"][:, 0], controlled(u), rtol=0, atol=1e-12)
    whole = simulate(driven(source, PI), 1.0, log_every=T, engine=engine)
    np.testing.assert_array_equal(r["after.y"], whole["after.y"])


@pytest.mark.slow
def test_both_engines_and_a_snapshot_at_that_instant_agree(controller: Path, tmp_path: Path) -> None:
    d = driven(SOURCES["pulse"][0], FMU(controller, kind="me"))
    runs = [simulate(d, 1.0, log_every=0.05, engine=engine) for engine in ENGINES]
    for signal in runs[0].signals:
        assert runs[0][signal].tobytes() == runs[1][signal].tobytes(), signal
    for engine in ENGINES:
        run = Simulation(d, engine=engine)
        run.advance(0.5)
        run.save(tmp_path / engine)
        again = Simulation(d, engine=engine)
        again.load(tmp_path / engine)
        again.advance(1.0)
        assert again.value("after.y")[0] == runs[0]["after.y"][-1, 0]


def closed(unit: Block) -> Diagram:
    """u_k = r_k - y_k-1 / 2, with a reference that jumps at a tick."""
    d = Diagram("closed")
    d.add("unit", unit)
    d.add("error", Sum("+-"))
    d.add("reference", Step(time="2/10"))
    d.add("half", Gain(0.5))
    d.add("delay", UnitDelay(sample="1/10"))
    d.connect("reference.y", "error.in1")
    d.connect("unit.y", "delay.u")
    d.connect("delay.y", "half.u")
    d.connect("half.y", "error.in2")
    d.connect("error.y", "unit.u")
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sampled_loop_closed_through_it(engine: str, controller: Path) -> None:
    """No sample is lost on the way there or back."""
    y, s, expected = 0.0, 0.0, []
    for k in K:
        u = (k >= 2) - 0.5 * y
        y, s = s + 2.0 * u, s + T * u
        expected.append(y)
    r = simulate(closed(FMU(controller, kind="me")), 1.0, log_every=T, engine=engine)
    np.testing.assert_allclose(r["unit.y"][:, 0], expected, rtol=0, atol=1e-12)


def rung(due: float, level: float, t: np.ndarray) -> tuple[np.ndarray, int]:
    """x of tests/data/fmus/alarm.c from its closed form, and the order of its events."""
    clock_first = due <= level  # x is time up to the first of both
    first, rate = (due, 3.0) if clock_first else (level, 0.5)
    second = first + (level - first) / rate if clock_first else due
    last = rate - 0.5 if clock_first else 3.0 * rate
    parts = [np.clip(t, 0.0, first), np.clip(t - first, 0.0, second - first), np.maximum(t - second, 0.0)]
    return parts[0] + rate * parts[1] + last * parts[2], 12 if clock_first else 21


@needs_compiler
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize(
    ("due", "level"), [(1.0, 1.0), (1.0, 1.25), (1.0, 0.75), (0.3, 0.3), (1.0, 1.0 + 1e-6)]
)
def test_an_indicator_and_a_time_event_of_one_unit(
    due: float, level: float, version: str, engine: str
) -> None:
    """At one instant it handles both in one event, each once; else one after the other."""
    unit = FMU(build_fmu("alarm", version=version), kind="me", start={"due": due, "level": level})
    d = Diagram("d")
    d.add("unit", unit)
    d.connect("unit.order", d.add("after", Hold(sample="1/10"))["u"])
    times = np.array([0.2, 0.5, 0.9, due, 1.3, 2.0])
    times.sort()
    r = simulate(d, 2.0, log_at=times, engine=engine, rtol=1e-10, atol=1e-12)
    x, order = rung(due, level, times)
    np.testing.assert_allclose(r["unit.x"][:, 0], x, rtol=0, atol=1e-8)
    assert (r["unit.order"][-1, 0], r["unit.visits"][-1, 0]) == (order, 1 if due == level else 2)
    assert r["after.y"][-1, 0] == order


@needs_compiler
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", ["exported", "2.0", "3.0"])
def test_time_events_in_a_pause_of_the_part_around_it(
    unit: str, engine: str, controller: Path, tmp_path: Path
) -> None:
    """On to 0.25 s and from 14 s on: one event each 0.1 s, all of which have come where it goes on.

    Those that handle one per event ended the run, and so did more than 100 of them.
    """
    exported = unit == "exported"
    path = controller if exported else build_fmu("calendar", version=unit)
    d = Diagram("d")
    d.add("part", Enabled(FMU(path, kind="me")))
    d.add("on", TimeTable([0.0, 0.25, 14.0], [1.0, 0.0, 1.0], "previous"))
    d.connect("on.y", "part.enable")
    if exported:
        d.connect(d.add("one", Constant(1.0))["y"], "part.u")
    with pytest.warns(UserWarning, match=r"stood still until t=14 s, .*; 13[78] of its time events since"):
        r = simulate(d, 14.55, engine=engine, log_every=0.15, max_step=0.05)
    events = np.floor(10.0 * np.where((r.time >= 0.25) & (r.time < 14.0), 0.25, r.time) + 1e-9)
    if exported:
        np.testing.assert_allclose(r["part.y"][:, 0], 2.0 + T * events, atol=1e-9)
        return
    np.testing.assert_array_equal(r["part.days"][:, 0], events)
    on = np.minimum(r.time, 0.25)
    x = 0.5 * (on**2 + np.where(r.time > 14.0, r.time**2 - 14.0**2, 0.0))  # x' = t where it is on
    np.testing.assert_allclose(r["part.x"][:, 0], x, atol=1e-6)
