"""Events of FMUs for model exchange in the order of what is sampled at an instant, in any order of `add`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks import (
    Clock,
    Constant,
    DiscreteStateSpace,
    Equations,
    Gain,
    Hold,
    Integrator,
    PythonFunction,
    Relay,
    RepeatingSequenceStair,
    State,
    StateChart,
    Step,
    Sum,
    Transition,
    UnitDelay,
)
from blocks.contract.block import Block
from cosim import FMU, Diagram, Enabled, Simulation, export_fmu, simulate
from cosim.run.watched import WatchedSignalWarning
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.made import Made

pytestmark = needs_compiler
ENGINES = ("reference", "native")
T, K = 0.1, np.arange(11)
WAYS = pytest.mark.parametrize(("engine", "backwards"), [("reference", True), ("native", False)])
PI = DiscreteStateSpace(A=[[1.0]], B=[[T]], C=[[1.0]], D=[[2.0]], sample="1/10")
TOTAL = DiscreteStateSpace(A=[[1.0]], B=[[T]], C=[[1.0]], D=[[0.0]], sample="1/10")
STAIR = (0.0, 0.3, 0.6, 0.3, 0.1, 0.9, 0.0)
LEVELS = np.resize(STAIR, 11)
SWITCHED = np.array([0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1.0])  # on above 0.5, off below 0.2


def chart(sample: Any = None) -> StateChart:
    """What a relay does."""
    return StateChart(
        inputs=["u"],
        outputs={"y": 0.0},
        states=[State("off", entry="y = 0"), State("on", entry="y = 1")],
        transitions=[Transition("off", "on", "u > 0.5"), Transition("on", "off", "u < 0.2")],
        sample=sample,
    )


MADE: dict[str, Block | Diagram] = {
    "pi": PI, "total": TOTAL, "relay": Relay(0.5, 0.2), "chart": chart(), "sampled chart": chart("1/10")
}  # fmt: skip
Make = Callable[..., Block]


@pytest.fixture(scope="module")
def fmu(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """FMUs of blocks of ours, each built and unpacked once."""
    folder, made = tmp_path_factory.mktemp("units"), {}

    def find(name: str, version: str = "3.0", model: Any = None) -> Block:
        if (name, version) not in made:
            path = folder / f"{name.replace(' ', '_')}{version[0]}.fmu"
            unit = export_fmu(model or MADE[name], path, kinds=("me",), version=version)
            made[name, version] = FMU(unit, kind="me")
        return made[name, version]

    return find


def pi_of(u: np.ndarray) -> np.ndarray:
    """y_k = s_k + 2 u_k, s_k+1 = s_k + T u_k."""
    return 2.0 * u + total_of(u)


def total_of(u: np.ndarray) -> np.ndarray:
    """y_k = s_k, s_k+1 = s_k + T u_k."""
    return T * np.concatenate([[0.0], np.cumsum(u)[:-1]])


def chain(blocks: dict[str, Block], backwards: bool, inside: str = "") -> Diagram:
    """Blocks one behind the other, and a hold behind the last; one of them in a subsystem."""
    d, blocks = Diagram("chain"), {**blocks, "after": Hold(sample="1/10")}
    names = list(blocks)
    for name in names[::-1] if backwards else names:
        if name == inside:
            inner = Diagram("inner")
            inner.add("unit", blocks[name])
            inner.connect(inner.inport("u"), "unit.u")
            inner.outport("y", "unit.y")
            d.add(name, inner)
        else:
            d.add(name, blocks[name])
    for before, name in pairwise(names):
        d.connect(f"{before}.y", f"{name}.u")
    return d


def check(d: Diagram, expected: np.ndarray, engine: str, **at: np.ndarray) -> None:
    r = simulate(d, 1.0, log_every=T, engine=engine, max_step=T / 2)
    np.testing.assert_allclose(r["after.y"][:, 0], expected, rtol=0, atol=1e-12)
    for name, value in at.items():
        np.testing.assert_allclose(r[f"{name}.y"][:, 0], value, rtol=0, atol=1e-12)


TIMES = T * K
FILTER = DiscreteStateSpace(A=[[0.5]], B=[[1.0]], C=[[1.0]], D=[[1.0]], sample="1/10")
FILTERED = np.array([sum(0.5 ** (k - 1 - j) * T * j for j in range(k)) + T * k for k in K])


def doubled(t: float, u: np.ndarray) -> np.ndarray:
    """Twice, and 1 more, so that it is not 0 at the start."""
    return 2.0 * u + 1.0


SAMPLED: dict[str, tuple[Block, np.ndarray]] = {
    "hold": (Hold(sample="1/10"), TIMES),
    "fast": (Hold(sample="1/20"), TIMES),
    "filter": (FILTER, FILTERED),
    "python": (PythonFunction(doubled, sample="1/10"), 2.0 * TIMES + 1.0),
    "delay": (UnitDelay(sample="1/10", initial=3.0), np.concatenate([[3.0], TIMES[:-1]])),
}


@WAYS
@pytest.mark.parametrize("name", SAMPLED)
def test_outputs_sampled_at_that_instant_are_seen(name: str, engine: str, backwards: bool, fmu: Make) -> None:
    """At the start too; and sampled blocks behind see what it makes of them."""
    block, u = SAMPLED[name]
    unit = fmu("pi", "2.0" if name == "filter" else "3.0")
    d = chain({"clock": Clock(), "block": block, "unit": unit}, backwards, "unit" if name == "hold" else "")
    check(d, pi_of(u), "auto" if name == "python" and engine == "native" else engine, block=u)


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize("name", ["relay", "chart", "sampled chart"])
def test_relays_and_charts_that_switch_there_are_seen(
    name: str, engine: str, backwards: bool, fmu: Make
) -> None:
    """As blocks, and as FMUs, whose indicators jump at the instant."""
    for version in ("", "2.0", "3.0") if name == "relay" else ("", "3.0"):
        switch = fmu(name, version) if version else MADE[name]
        blocks = {"stair": RepeatingSequenceStair(STAIR, sample="1/10"), "switch": switch, "unit": fmu("pi")}
        check(chain(blocks, backwards), pi_of(SWITCHED), engine)


@WAYS
@pytest.mark.parametrize("first", ["pi", "total"])
def test_fmus_with_events_at_one_instant(first: str, engine: str, backwards: bool, fmu: Make) -> None:
    """Each sees what those before it have made of their events there, also where nothing else ticks."""
    second = "pi" if first == "total" else "total"
    of = {"pi": pi_of, "total": total_of}
    units = {"first": fmu(first), "second": fmu(second, "2.0")}
    d = chain({"clock": Clock(), **units}, backwards, "first")
    check(d, of[second](of[first](TIMES)), engine, first=of[first](TIMES))
    d = Diagram("alone")
    for name in ("second", "first", "clock")[:: 1 if backwards else -1]:
        d.add(name, {**units, "clock": Clock()}[name])
    d.connect("clock.y", "first.u")
    d.connect("first.y", "second.u")
    r = simulate(d, 1.0, log_every=T, engine=engine)
    np.testing.assert_allclose(r["second.y"][:, 0], of[second](of[first](TIMES)), rtol=0, atol=1e-12)


@WAYS
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_discrete_inputs_go_through_at_once(version: str, engine: str, backwards: bool) -> None:
    """sum = count + u, where count goes up at 0.2 k, in C by hand: a hold behind it sees both."""
    unit = FMU(build_fmu("counter", version=version, kinds=("me",), start={"period": 0.2}), kind="me")
    d = Diagram("d")
    blocks = {"stair": RepeatingSequenceStair(STAIR, sample="1/10"), "ten": Gain(10.0), "unit": unit}
    blocks["after"] = Hold(sample="1/10")
    for name in list(blocks)[:: -1 if backwards else 1]:
        d.add(name, blocks[name])
    d.connect("stair.y", "ten.u")
    d.connect("ten.y", "unit.u")
    d.connect("unit.sum", "after.u")
    check(d, np.round(10.0 * LEVELS) + K // 2, engine)


def looped(controller: Block, plant: Block | Diagram, backwards: bool, held: bool) -> Diagram:
    d = Diagram("looped")
    blocks = {
        "a": controller, "p": plant, "error": Sum("+-"), "one": Constant(1.0), "after": Hold(sample="1/10"),
        **({"hold": Hold(sample="1/10")} if held else {}),
    }  # fmt: skip
    for name in list(blocks)[:: -1 if backwards else 1]:
        d.add(name, blocks[name])
    d.connect("one.y", "error.in1")
    d.connect("error.y", "a.u")
    d.connect("a.y", "p.u")
    d.connect("a.y", "after.u")
    if held:
        d.connect("p.y", "hold.u")
    d.connect("hold.y" if held else "p.y", "error.in2")
    return d


def sensed() -> Diagram:
    """x' = u + d with a jump of d at 0.3 s; y is x, sampled."""
    d = Diagram("sensed")
    d.add("x", Integrator())
    d.add("jump", Step(time="3/10"))
    d.add("sum", Sum("++"))
    d.add("sensor", Hold(sample="1/10"))
    d.connect(d.inport("u"), "sum.in1")
    d.connect("jump.y", "sum.in2")
    d.connect("sum.y", "x.u")
    d.connect("x.y", "sensor.u")
    d.outport("y", "sensor.y")
    return d


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", ["pi", "total"])
def test_a_controller_and_its_plant_in_a_loop(
    name: str, held: bool, engine: str, backwards: bool, fmu: Make
) -> None:
    """The plant goes first: what it shows at the instant does not follow its input there."""
    x = s = 0.0
    expected = []
    for k in K:
        u = 1.0 - x
        y = s + 2.0 * u * (name == "pi")
        expected.append(y)
        x, s = x + T * (y + (k >= 3)), s + T * u
    plant = fmu("sensed", "3.0", sensed())
    d = looped(fmu(name), plant, backwards, held)
    r = simulate(d, 1.0, log_every=T, engine=engine, max_step=T / 2)
    np.testing.assert_allclose(r["after.y"][:, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_events_of_a_block_that_come_first_in_a_loop_are_told(engine: str) -> None:
    """A block whose events do not look again come before what they read, which needs what they change."""

    def reader(b: Equations) -> None:
        u, y = b.input("u"), b.mode("y", 0.0)
        b.event_at("due", 0.1, lambda due: {y: u, due: np.floor(10.0 * due + 1.5) / 10.0}, "read")
        b.output("y", y)

    d = Diagram("fed back")
    d.add("unit", Made(reader))
    d.connect(d.add("one", Constant(1.0))["y"], d.add("error", Sum("+-"))["in1"])
    d.connect("error.y", "unit.u")
    d.connect("unit.y", "error.in2")
    with pytest.warns(
        WatchedSignalWarning, match=r"'unit' is in a loop .* 10 instants.* t=0.1 s, read 'error\.y'"
    ):
        simulate(d, 1.0, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_of_events_that_read_nothing_of_a_loop_or_never_come_nothing_is_told(engine: str, fmu: Make) -> None:
    """One behind the other; and a mass that has no events, with a sampled spring around it."""
    loop = Diagram("loop")
    loop.add("mass", FMU(build_fmu("mass", kinds=("me",)), kind="me"))
    loop.connect("mass.x", loop.add("spring", DiscreteStateSpace(0.0, 0.0, 0.0, -1.0, sample="1/10"))["u"])
    loop.connect("spring.y", "mass.f")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(
            chain({"clock": Clock(), "first": fmu("pi"), "second": fmu("total")}, False), 0.5, engine=engine
        )
        simulate(loop, 0.5, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_part_that_stands_still(engine: str, fmu: Make) -> None:
    """Active from 0.3 to 0.7 s, at ticks: the unit's first event there sees what was sampled with it."""
    blocks = {
        "clock": Clock(),
        "on": RepeatingSequenceStair([0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0], sample="1/10"),
    }
    d = Diagram("d")
    part = Diagram("inner")
    part.add("unit", fmu("pi"))
    part.add("hold", Hold(sample="1/10"))
    part.connect(part.inport("u"), "hold.u")
    part.connect("hold.y", "unit.u")
    part.outport("y", "unit.y")
    d.add("after", Hold(sample="1/10"))
    d.add("part", Enabled(part))
    for name, block in blocks.items():
        d.add(name, block)
    d.connect("clock.y", "part.u")
    d.connect("on.y", "part.enable")
    d.connect("part.y", "after.u")
    y = pi_of(np.where((K >= 3) & (K < 7), TIMES, 0.0))
    check(d, np.where(K < 3, 0.0, np.where(K < 7, y, y[6])), engine)


@pytest.mark.slow
def test_both_engines_agree_and_snapshots_go_on(fmu: Make, tmp_path: Path) -> None:
    blocks = {"clock": Clock(), "hold": Hold(sample="1/10"), "first": fmu("pi"), "second": fmu("total")}
    d = chain(blocks, backwards=True, inside="second")
    runs = [simulate(d, 1.0, log_every=0.05, engine=engine) for engine in ENGINES]
    for signal in runs[0].signals:
        assert runs[0][signal].tobytes() == runs[1][signal].tobytes(), signal
    assert [(e.time, e.name) for e in runs[0].events] == [(e.time, e.name) for e in runs[1].events]
    for engine, other in zip(ENGINES, ENGINES[::-1], strict=True):
        with Simulation(d, engine=engine) as run:
            run.advance(0.4)
            run.save(tmp_path / engine)
        with Simulation(d, engine=other) as again:
            again.load(tmp_path / engine)
            again.advance(1.0)
            assert again.value("after.y")[0] == runs[0]["after.y"][-1, 0]
