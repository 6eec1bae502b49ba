"""Events at times that modes hold: steps end there, also where other instants differ by rounding only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks import Clock, Constant, Equations, Hold, Pulse, Step, Sum, TransportDelay, UnitDelay
from blocks.contract.block import Block
from blocks.errors import PlantloopError, SimulationError
from cosim import FMU, Diagram, Enabled, For, Simulation, Triggered, export_fmu, simulate, simulate_many
from tests.helpers.made import Made

ENGINES = ("reference", "native")
PERIOD = 0.1  # as a double it is above 1/10, so that 3 * PERIOD is behind the tick at 3/10 by rounding


@dataclass(frozen=True)
class Stairs(Block):
    """n counts the events at n periods, up to `most`; x' = n."""

    most: int = 10**6
    period: float = PERIOD

    def define(self, b: Equations) -> None:
        """Define both."""
        n = b.mode("n", 0.0)
        x = b.continuous("x", 0.0)
        b.derivative(x, n)
        after = np.where(n[0] + 1.0 < self.most, self.period * (n[0] + 2.0), 1e30)
        b.event_at("due", self.period, lambda due: {n: n + 1.0, due: after}, "stair")
        b.output("x", x)
        b.output("n", n)


def area(t: float) -> float:
    """x at t: the integral of floor(t / 0.1)."""
    n = math.floor(t / 0.1 + 1e-9)
    return 0.1 * n * (n - 1) / 2 + n * (t - 0.1 * n)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "how",
    [{}, {"solver": "rk4", "step": 1.0}, {"solver": "euler", "step": 0.03}, {"solver": "rodas4"}],
    ids=lambda how: how.get("solver", "dopri5"),
)
def test_steps_end_there(engine: str, how: dict[str, Any]) -> None:
    """A line between events is exact with any method; a step over an event would not be."""
    r = simulate(Stairs(), 3.07, log_every=0.07, engine=engine, **how)
    assert r["plant.x"][:, 0] == pytest.approx([area(t) for t in r.time], abs=1e-12)
    assert [e.time for e in r.events] == [PERIOD * k for k in range(1, 31)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("period", [0.1, 0.3, 0.7], ids=["behind", "before", "both"])
def test_ticks_that_differ_by_rounding(period: float, engine: str) -> None:
    """At a tick the event comes first, once, also where its time is before or behind the tick by rounding."""
    d = Diagram("d")
    d.add("stairs", Stairs(period=period))
    d.add("memory", UnitDelay(sample=period))
    d.connect("stairs.n", "memory.u")
    r = simulate(d, 200 * period, log_every=period, engine=engine)
    assert r["stairs.n"][:, 0].tolist() == list(range(201))
    assert r["memory.y"][:, 0].tolist() == [0, *range(200)]
    assert len(r.events) == 200
    assert r["stairs.x"][-1, 0] == pytest.approx(period * 200 * 199 / 2, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_that_does_not_come(engine: str) -> None:
    with Simulation(Stairs(most=2), engine=engine) as sim:
        assert sim.step() == PERIOD
        assert sim.next_stop == 2 * PERIOD
        sim.advance(1.0)
        assert sim.value("n") == 2.0 and sim.next_stop == math.inf
        assert sim.step() == pytest.approx(1.001)  # no stop: a step of the solver


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_subsystem_from_a_snapshot(engine: str, tmp_path: Path) -> None:
    inner = Diagram("inner")
    inner.add("stairs", Stairs())
    d = Diagram("d")
    d.add("part", inner)
    with Simulation(d, engine=engine) as sim:
        sim.advance(0.73)
        sim.save(tmp_path / "there.npz")
    for other in ENGINES:
        with Simulation(d, engine=other) as sim:
            sim.load(tmp_path / "there.npz")
            sim.advance(1.25)
            assert sim.value("part/stairs.x")[0] == pytest.approx(area(1.25), abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_start_that_is_not_before_it(engine: str) -> None:
    """The event is at the start, once: the next one is at 0.1 n behind."""
    r = simulate(Stairs(), 0.25, initial={"due": -0.5}, log_every=0.05, engine=engine)
    assert r["plant.n"][:, 0].tolist() == [1, 1, 1, 1, 2, 2]


@dataclass(frozen=True)
class Reader(Block):
    """y is u as it was at the newest event, which come at k / 10, before any event of a crossing there: 0."""

    def define(self, b: Equations) -> None:
        """Define the event."""
        u = b.input("u")
        y = b.mode("y", 0.0)
        b.event_at("due", 0.1, lambda due: {y: u, due: np.floor(10.0 * due + 1.5) / 10.0}, "read")
        b.output("y", y)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Step(time=0.3), [0, 0, 0, 1, 1, 1, 1]),
        (Step(time=0.25), [0, 0, 0, 1, 1, 1, 1]),
        (Pulse(period="3/10", width="1/3"), [0, 0, 0, 1, 0, 0, 1]),
        (Stairs(), [0, 1, 2, 3, 4, 5, 6]),
    ],
    ids=["step", "between", "pulse", "delay"],
)
def test_what_an_event_reads(source: Block, expected: list[int], engine: str) -> None:
    """Instants and ticks that coincide are counted, states have moved; a hold behind it sees what it read."""
    d = Diagram("d")
    d.add("reader", Reader())
    d.add("source", source)
    d.add("hold", Hold(sample="1/10"))
    d.connect("reader.y", "hold.u")
    shown = "source.y"
    if isinstance(
        source, Stairs
    ):  # counted up at the tick by its own event: the delay shows the count before
        d.add("delay", UnitDelay(sample="1/10", initial=0.0))
        d.connect("source.n", "delay.u")
        shown, expected = "delay.y", [0, 0, 1, 2, 3, 4, 5]
    d.connect(shown, "reader.u")
    r = simulate(d, 0.6, log_every=0.1, engine=engine)
    assert r["reader.y"][:, 0].tolist() == expected
    assert r["hold.y"][:, 0].tolist() == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hold_behind_it_extrapolates_from_the_sample_before(engine: str) -> None:
    """Two samples count after an event at a tick: the one before it, and the one of this tick."""
    d = Diagram("d")
    d.add("stairs", Stairs())
    d.add("hold", Hold(sample="1/10", order=1))
    d.connect("stairs.n", "hold.u")
    r = simulate(d, 0.6, log_every=0.05, engine=engine)
    assert r["hold.y"][4:, 0] == pytest.approx(10.0 * r.time[4:], abs=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reset", [False, True])
def test_times_that_pass_while_a_part_is_inactive(reset: bool, engine: str) -> None:
    """They are caught up with, one after the other, where it is active again: n is floor(t / 0.1) there.

    So they are from the initial time on, where the part starts anew.
    """
    d = Diagram("d")
    d.add("on", Pulse(period="1/2", width="1/2"))
    d.add("part", Enabled(Stairs(), reset=reset))
    d.connect("on.y", "part.enable")
    r = simulate(d, 1.1, log_every=0.05, engine=engine)
    active = [t % 0.5 < 0.249 or (t + 1e-9) % 0.5 < 0.249 for t in r.time]
    counts = [math.floor(t / 0.1 + 1e-9) for t in r.time]
    held = 0
    for k, on in enumerate(active):
        held = counts[k] if on else held
        assert r["part.n"][k, 0] == held, r.time[k]


@dataclass(frozen=True)
class Moved(Block):
    """n counts events, the first at 0.1; from u = 1 on the next is at `then`, to the left or right of now."""

    then: float

    def define(self, b: Equations) -> None:
        """Define both events."""
        u, n = b.input("u"), b.mode("n", 0.0)
        due = b.event_at("due", 0.1, lambda due: {n: n + 1.0}, "event")
        b.when(u - 0.5, {due: self.then}, "rising", "moved")
        b.output("n", n)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("then", [0.05, 0.3, 0.45, 0.1, 1e30])
@pytest.mark.parametrize("moved_at", [0.07, 0.3])
def test_an_event_that_is_moved(moved_at: float, then: float, engine: str) -> None:
    """Once per time it is given; at once, where that is not to come; the same as before is no new one."""
    d = Diagram("d")
    d.add("step", Step(time=moved_at))
    d.add("block", Moved(then))
    d.connect("step.y", "block.u")
    r = simulate(d, 1.0, log_every=0.5, engine=engine)
    happens = [0.1] if then == 0.1 or moved_at > 0.1 else []
    if then not in (0.1, 1e30):
        happens.append(max(then, moved_at))
    assert [e.time for e in r.events if e.name.endswith(".event")] == pytest.approx(happens, abs=1e-12)
    assert r["block.n"][-1, 0] == len(happens)


@dataclass(frozen=True)
class Back(Block):
    """An event that always moves itself back."""

    def define(self, b: Equations) -> None:
        """Define the event."""
        b.event_at("due", 0.2, lambda due: {due: 0.5 * due}, "again and again")
        b.output("y", b.time)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_that_is_due_again_and_again(engine: str) -> None:
    with pytest.raises(SimulationError, match=r"without end at t=0\.2 s.*again and again"):
        simulate(Back(), 1.0, engine=engine)


@dataclass(frozen=True)
class Sized(Block):
    """An event with two times."""

    def define(self, b: Equations) -> None:
        """Define it."""
        b.event_at("due", (0.1, 0.2), lambda due: {due: due + 1.0}, "event")  # type: ignore[arg-type]


def test_what_has_no_effect_is_refused() -> None:
    """A second time; events in parts that are called, which know no time between their calls."""
    with pytest.raises(PlantloopError, match="'due' has 2 components, expected 1"):
        simulate(Sized(), 1.0)
    for part in (Triggered(Reader()), For(Reader(), 3, sample=0.1)):
        d = Diagram("d")
        node = d.add("part", part)
        if isinstance(part, Triggered):
            d.connect(d.inport("trigger"), node["trigger"])
        d.connect(d.inport("u"), node["u"])
        with pytest.raises(PlantloopError, match="'read' is an event, and a .* has none between its"):
            d.system()


@pytest.mark.parametrize("how", [{}, {"solver": "rk4", "step": 0.03}], ids=["dopri5", "rk4"])
def test_runs_of_a_batch(how: dict[str, Any]) -> None:
    """Each run has its own times; after n events the next is at 0.1 (n + 1), at once where that is past."""
    starts = [0.1, 0.25, -0.35, 5.0]
    runs = simulate_many(Stairs(), [{"initial": {"due": v}} for v in starts], 1.0, log_every=0.25, **how)
    counted = [[0, 2, 5, 7, 10], [0, 2, 5, 7, 10], [1, 2, 5, 7, 10], [0, 0, 0, 0, 0]]
    assert runs["plant.n"][:, :, 0].tolist() == counted


def readers(backwards: bool) -> Diagram:
    """Time, held, read, read again and held: every 0.1 s, all at one instant."""
    d = Diagram("readers")
    blocks = {"clock": Clock(), "hold": Hold(sample="1/10"), "one": Reader(), "two": Reader()}
    blocks["after"] = Hold(sample="1/10")
    for name in list(blocks)[:: -1 if backwards else 1]:
        d.add(name, blocks[name])
    d.connect("clock.y", "hold.u")
    d.connect("hold.y", "one.u")
    d.connect("one.y", "two.u")
    d.connect("two.y", "after.u")
    d.outport("y", "after.y")
    return d


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_events_and_samples_at_one_instant_are_in_the_order_of_signals(engine: str, backwards: bool) -> None:
    r = simulate(readers(backwards), 0.6, log_every=0.1, engine=engine)
    assert r["after.y"][:, 0].tolist() == [k / 10 for k in range(7)]
    words = [line.split(":")[0] for line in readers(backwards).system().info()["schedule"]]
    assert words == ["output 10 Hz", "events at their times", "events at their times", "output 10 Hz"]


@pytest.mark.parametrize("kind", ["me", "cs"])
def test_in_an_exported_unit_too(kind: str, tmp_path: Path) -> None:
    path = export_fmu(readers(True), tmp_path / "readers.fmu", kinds=(kind,))
    d = Diagram("d")
    d.add("unit", FMU(path, kind=kind, **({"sample": "1/10"} if kind == "cs" else {})))
    r = simulate(d, 0.6, log_every=0.1)
    assert r["unit.y"][:, 0].tolist() == [k / 10 for k in range(7)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_of_events_begins_with_one_of_them(engine: str) -> None:
    """Each reads the other's output: the first by name what was before, whichever was added first."""
    for names in (("one", "two"), ("two", "one")):
        d = Diagram("loop")
        for name in names:
            d.add(name, Reader())
        d.add("sum", Sum("++"))
        d.add("unit", Constant(1.0))
        d.connect("two.y", "sum.in1")
        d.connect("unit.y", "sum.in2")
        d.connect("sum.y", "one.u")
        d.connect("one.y", "two.u")
        r = simulate(d, 0.3, log_every=0.1, engine=engine)
        assert r["one.y"][:, 0].tolist() == [0, 1, 2, 3]
        assert r["two.y"][:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("delay", [0.0, 0.2])
def test_what_follows_events_sees_a_jump_at_its_instant_before_it_is_sampled(
    delay: float, engine: str
) -> None:
    """A step at 0.5 s, which may come out of a delay: its crossing is counted, and the count held, there."""

    def counted(b: Equations) -> None:
        u, n = b.input("u"), b.mode("n", 0.0)
        b.event_at("due", 1e30, lambda _: {n: n + 10.0}, "never")
        b.when(u - 0.5, {n: n + 1.0}, direction="rising", name="up", follow_time=True)
        b.output("y", n)

    d = Diagram("jump")
    d.add("hold", Hold(sample="1/10"))
    d.add("count", Made(counted))
    source = d.add("step", Step(0.5 - delay))
    if delay:
        source = source >> d.add("late", TransportDelay(delay))
    source >> d["count"] >> d["hold"]
    r = simulate(d, 0.7, log_every=0.1, engine=engine)
    assert r["hold.y"][:, 0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


@dataclass(frozen=True)
class Swing(Block):
    """A swing of 9 / s^2 that begins anew from (1, 0) at t = 1 s."""

    def define(self, b: Equations) -> None:
        """Define both."""
        x = b.continuous("x", [1.0, 0.0], size=2)
        b.derivative(x, [x[1], -9.0 * x[0]])
        b.event_at("due", 1.0, lambda due: {x: [1.0, 0.0], due: 1e30}, "anew")
        b.output("x", x)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_behind_an_event_step_control_begins_as_at_the_start(engine, solver):
    """The equations know no time: steps behind the event are those of the start, the next one too."""
    found = []
    for begin in (0.0, 1.0):
        sim = Simulation(Swing(), engine=engine, solver=solver, rtol=1e-9)
        sim.advance(begin)
        sim.advance(begin + 0.25)
        found.append(sim.snapshot())
    assert found[1].step == pytest.approx(found[0].step, rel=1e-9)
    assert found[1].error == pytest.approx(found[0].error, rel=1e-6)
    assert found[1].x == pytest.approx(found[0].x, rel=1e-12)
