"""FMUs of FMI 3.0 with event mode under a master: events at communication points, inputs that pass at once.

Counts and flights are closed forms of time: those of the units' C sources in `tests/data/fmus`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Clock,
    CompareToConstant,
    Constant,
    Equations,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    Step,
    UnitDelay,
)
from blocks.contract.declared import PortHold
from cosim import FMU, Coupling, Diagram, Enabled, Simulation, export_fmu, simulate
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
COUPLINGS = [
    None, "jacobi", Coupling(order="gauss-seidel", extrapolation=1), Coupling(extrapolation=2),
    Coupling(iterate=True), Coupling(rtol=1e-2),
]  # fmt: skip
ENGINES = ["reference", "native"]
G = 9.81


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    """Builds each unit once."""
    built = {}

    def make(name):
        if name not in built:
            built[name] = build_fmu(name, tmp_path_factory.mktemp("fmus"), version="3.0")
        return built[name]

    return make


@dataclass(frozen=True)
class Seen(Block):
    """y_k = 10 u_k, sampled."""

    sample: object = 0.1

    def define(self, b: Equations) -> None:
        b.output("y", b.sampled(10 * b.input("u", size=1), self.sample))


@dataclass(frozen=True)
class Line(Block):
    """y = u, through a port that extrapolates what is sampled."""

    def define(self, b: Equations) -> None:
        b.output("y", b.input("u", size=1, hold=PortHold(hold_order=1)))


@dataclass(frozen=True)
class Ball(Block):
    """h'' = -g from 1 m; it bounces with 0.7 of its speed."""

    def define(self, b: Equations) -> None:
        x = b.continuous("x", [1.0, 0.0], size=2)
        b.derivative(x, [x[1], -G])
        b.when(x[0], [(x, [0.0, -0.7 * x[1]])], direction="falling")
        b.output("v", x[1])


def passed(t, period):
    """How many of the instants period, 2 period, ... have come."""
    return np.floor(t / period + 1e-9)


# --- events at communication points -----------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
def test_an_event_at_a_communication_point_shows_there(fmu, coupling, engine):
    """In the discrete output, the continuous one that jumps, and a sampled block that reads them."""
    d = Diagram("events")
    d.add("unit", FMU(fmu("metronome"), sample=0.1, event_mode=True))
    d.connect("unit.count", d.add("seen", Seen())["u"])
    r = simulate(d, 1.0, log_every=0.1, engine=engine, coupling=coupling)
    count = passed(r.time, 0.2)
    assert r["unit.count"].ravel().tolist() == count.tolist()
    assert r["seen.y"].ravel().tolist() == (10 * count).tolist()
    np.testing.assert_allclose(r["unit.phase"].ravel(), r.time - 0.2 * count, atol=1e-12)


@pytest.mark.parametrize("coupling", [None, "jacobi"])
@pytest.mark.parametrize(
    "how", [{"importer": "fmpy"}, pytest.param({"isolate": True}, marks=pytest.mark.slow)], ids=str
)
def test_whoever_calls_it(fmu, coupling, how):
    d = Diagram("called")
    d.add("one", FMU(fmu("metronome"), sample=0.1, event_mode=True, **how))
    d.add("two", FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.3}, **how))
    d.connect("one.count", "two.u")
    r = simulate(d, 1.0, log_every=0.1, coupling=coupling)
    assert r["two.sum"].ravel().tolist() == (passed(r.time, 0.2) + passed(r.time, 0.3)).tolist()


@pytest.mark.parametrize("coupling", [None, "jacobi"])
def test_an_offset_and_a_subsystem(fmu, coupling):
    inner = Diagram("inner")
    inner.add("m", FMU(fmu("metronome"), sample=0.2, offset=0.1, event_mode=True, start={"period": 0.3}))
    inner.outport("n", "m.count")
    d = Diagram("outer")
    d.add("part", inner)
    d.connect("part.n", d.add("seen", Seen("1/5"))["u"])
    r = simulate(d, 1.0, log_every=0.1, coupling=coupling)
    at_points = passed(0.1 + 0.2 * np.floor((r.time - 0.1) / 0.2 + 1e-9), 0.3)
    assert r["part/m.count"].ravel()[1:].tolist() == at_points[1:].tolist()
    assert r["seen.y"].ravel()[::2].tolist() == [10 * max(0, n) for n in at_points[::2]]


@pytest.mark.parametrize("event_mode", [False, True])
@pytest.mark.parametrize("coupling", [None, "jacobi"])
def test_an_exported_diagram_that_ticks(tmp_path, coupling, event_mode):
    """x_k+1 = x_k + 2 u_k, y = x: the unit is what its diagram is, with event mode or without."""

    def drawn():
        d = Diagram("ticks")
        d.add("sum", Gain(2.0))
        d.connect(d.add("u", Constant(0.5))["y"], "sum.u")
        d.connect("sum.y", d.add("x", UnitDelay(sample=0.1))["u"])
        d.connect("x.y", d.add("area", Integrator())["u"])
        return d

    unit = export_fmu(drawn(), tmp_path / "ticks.fmu", kinds=["cs"], version="3.0", outputs=["x.y", "area.y"])
    d = Diagram("coupled")
    d.add("unit", FMU(unit, sample=0.1, event_mode=event_mode))
    r = simulate(d, 0.5, log_every=0.1, coupling=coupling)
    expected = simulate(drawn(), 0.5, log_every=0.1)
    assert r["unit.x.y"].ravel().tolist() == expected["x.y"].ravel().tolist() == [0, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(r["unit.area.y"], expected["area.y"], atol=1e-12)


# --- inputs that pass at once -----------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
def test_discrete_inputs_pass_a_chain_of_units_at_once(fmu, coupling, engine):
    """Through two units and a sampled block between them, whoever was added first."""
    d = Diagram("chain")
    last = FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.3})
    d.add("last", last)
    d.add("between", Seen())
    d.add("first", FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.2}))
    d.connect(d.add("step", Step(time=0.3, after=5.0))["y"], "first.u")
    d.connect("first.sum", "between.u")
    d.connect("between.y", "last.u")
    r = simulate(d, 1.0, log_every=0.1, engine=engine, coupling=coupling)
    first = passed(r.time, 0.2) + 5 * (r.time > 0.3 - 1e-9)
    assert r["first.sum"].ravel().tolist() == first.tolist()
    assert r["last.sum"].ravel().tolist() == (passed(r.time, 0.3) + 10 * first).tolist()


def flight(t, push_at, push):
    """h, v of a mass thrown up with 1 m/s at 2 m/s2 that lands at 1 s and gets half its speed, pushed in the
    second flight."""
    if t < 1.0:
        return t - t * t, 1 - 2 * t
    if t < push_at:
        return 0.5 * (t - 1) - (t - 1) ** 2, 0.5 - 2 * (t - 1)
    h, v = 0.5 * (push_at - 1) - (push_at - 1) ** 2, 0.5 - 2 * (push_at - 1) + push
    return h + v * (t - push_at) - (t - push_at) ** 2, v - 2 * (t - push_at)


@pytest.mark.parametrize(
    "coupling", [None, "jacobi", Coupling(extrapolation=2), Coupling(iterate=True)], ids=str
)
def test_continuous_outputs_jump_at_the_instant(fmu, coupling):
    """It lands on a communication point and is pushed on another one; in two parts, and from a snapshot."""
    d = Diagram("thrown")
    d.add("mass", FMU(fmu("thrown"), sample=0.25, event_mode=True))
    d.connect(d.add("push", Step(time=1.25, after=1.0))["y"], "mass.push")
    points = np.arange(7) * 0.25
    with Simulation(d, coupling=coupling) as sim:
        sim.log(points)
        sim.advance(1.0)
        there = sim.snapshot()
        sim.advance(1.5)
        sim.restore(there)
        sim.advance(1.5)
        r = sim.result()
    h, v = np.array([flight(t, 1.25, 1.0) for t in points]).T
    np.testing.assert_allclose(r["mass.h"].ravel(), h, atol=1e-12)
    np.testing.assert_allclose(r["mass.v"].ravel(), v, atol=1e-12)


def test_a_saved_run_goes_on_in_another(fmu, tmp_path):
    def begun():
        d = Diagram("saved")
        d.add("mass", FMU(fmu("thrown"), sample=0.25, event_mode=True))
        d.connect(d.add("push", Step(time=1.25, after=1.0))["y"], "mass.push")
        return Simulation(d, coupling="jacobi")

    with begun() as one, begun() as other:
        one.advance(1.0)
        one.save(tmp_path / "there.npz")
        other.load(tmp_path / "there.npz")
        for sim in (one, other):
            sim.advance(1.25)
            assert sim.value("mass.v")[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("unit", ["thrown", "metronome"])
def test_a_jump_is_no_slope(fmu, unit):
    """The output behind a jump is held over one step, then followed: its past ends at the jump."""
    d = Diagram("jump")
    if unit == "thrown":
        d.add("unit", FMU(fmu(unit), sample=0.25, event_mode=True))
        d.ground("unit.push")
        name, jump, before, after, rate, step = "v", 1.0, -0.5, 0.5, -2.0, 0.25
    else:
        d.add("unit", FMU(fmu(unit), sample=0.25, event_mode=True, start={"period": 1.0}))
        name, jump, before, after, rate, step = "phase", 1.0, 0.75, 0.0, 1.0, 0.25
    d.connect(f"unit.{name}", d.add("area", Integrator())["u"])
    at = [jump - step, jump, jump + step, jump + 2 * step]
    r = simulate(d, jump + 2 * step, coupling=Coupling(extrapolation=1), log_at=at, solver="rk4", step=0.05)
    line = before * step + rate * step**2 / 2
    later = (after + rate * step) * step + rate * step**2 / 2
    np.testing.assert_allclose(np.diff(r["area.y"].ravel()), [line, after * step, later], atol=1e-12)


@pytest.mark.parametrize(
    ("unit", "name", "values"),
    [
        ("thrown", "v", [1.0, 0.5, 0.0, -0.5, 0.5, 0.0]),
        ("metronome", "phase", [0.0, 0.25, 0.5, 0.75, 0.0, 0.25]),
    ],
)
def test_another_unit_does_not_extrapolate_a_jump(fmu, unit, name, values):
    """Inputs assumed over steps of 0.25 s: held over the first one and the one behind the jump at 1 s."""
    d = Diagram("jump")
    d.add("unit", FMU(fmu(unit), sample=0.25, event_mode=True))
    if unit == "thrown":
        d.ground("unit.push")
    d.add("lag", FMU(fmu("lag"), kind="cs", sample=0.25))
    d.connect(f"unit.{name}", "lag.u")
    period = {"unit.period": 1.0} if unit == "metronome" else None
    r = simulate(d, 1.5, coupling=Coupling(extrapolation=1), parameters=period)
    line = [values[0], *(2 * b - a for a, b in itertools.pairwise(values))]
    line[4] = values[4]
    np.testing.assert_allclose(r.coupling["lag.u"].assumed, line, atol=1e-12)


def test_a_jump_inside_a_step_is_no_slope(tmp_path):
    """A ball that we export falls from 1 m and bounces at sqrt(2/g): its speed is held, then a line again."""
    unit = export_fmu(Ball(), tmp_path / "ball.fmu", kinds=["cs"], version="3.0", outputs=["v"])
    d = Diagram("bounce")
    d.add("ball", FMU(unit, sample=0.1, event_mode=True))
    d.connect("ball.v", d.add("area", Integrator())["u"])
    at = [0.4, 0.5, 0.6, 0.7]
    r = simulate(d, 0.7, coupling=Coupling(extrapolation=1), log_at=at, solver="rk4", step=0.02)
    hit = np.sqrt(2 / G)
    v = [-G * 0.4, *(0.7 * G * hit - G * (t - hit) for t in at[1:])]
    np.testing.assert_allclose(r["ball.v"].ravel(), v, atol=1e-8)
    line = [v[0] * 0.1 - G * 0.005, v[1] * 0.1, v[2] * 0.1 - G * 0.005]
    np.testing.assert_allclose(np.diff(r["area.y"].ravel()), line, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [None, "jacobi", "gauss-seidel", Coupling(iterate=True)], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_event_at_a_communication_point_ends_the_run(fmu, coupling, engine):
    for unit, end in (("thrown", 1.0), ("metronome", 0.6)):
        d = Diagram("ends")
        d.add("unit", FMU(fmu(unit), sample=0.2, event_mode=True))
        d.add("sum", Integrator())
        d.connect(d.add("one", Constant(1.0))["y"], "sum.u")
        if unit == "thrown":
            d.ground("unit.push")
        most = {"unit.most": 1 if unit == "thrown" else 3}
        r = simulate(d, 2.0, log_every=0.2, engine=engine, coupling=coupling, parameters=most)
        assert "terminateSimulation" in r.message and r.time[-1] == pytest.approx(end)
        assert r["sum.y"][-1, 0] == pytest.approx(end)
        assert r[f"unit.{'landed' if unit == 'thrown' else 'count'}"][-1, 0] == next(iter(most.values()))
        r = simulate(d, end, engine=engine, coupling=coupling, parameters=most)  # where the run ends anyway
        assert "terminateSimulation" in r.message


@pytest.mark.parametrize(("order", "last"), [("jacobi", 4.0), ("gauss-seidel", 2.0)])
def test_a_unit_that_does_not_get_to_the_end_is_not_visited_there(fmu, order, last):
    """In order the one behind a unit that ends the run at 0.4 s stays at 0.3 s; at once both are there."""
    d = Diagram("ends")
    d.add("first", FMU(fmu("metronome"), sample=0.1, event_mode=True, start={"most": 2}))
    d.add("last", FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.2}))
    d.connect("first.count", "last.u")
    r = simulate(d, 1.0, log_every=0.1, coupling=order)
    assert r.time[-1] == pytest.approx(0.4)
    assert (r["first.count"][-1, 0], r["last.sum"][-1, 0]) == (2.0, last)


# --- loops ------------------------------------------------------------------------------------------------
def ring(fmu, back, period=0.23):
    d = Diagram("ring")
    for name in ("one", "two"):
        d.add(name, FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": period}))
    d.connect("one.sum", "two.u")
    d.connect(f"two.{back}", "one.u")
    return d


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("coupling", COUPLINGS[1:5], ids=str)
@pytest.mark.parametrize("period", [0.23, 0.2], ids=["between", "at points"])
def test_a_loop_through_an_output_that_depends_on_no_input(fmu, period, coupling, engine):
    """two.count, one.sum, two.sum at one instant, whether events are between the points or at them."""
    d = ring(fmu, "count", period)
    r = simulate(d, 1.0, log_every=0.1, coupling=coupling, engine=engine)
    n = passed(r.time, period)
    assert r["one.sum"].ravel().tolist() == (2 * n).tolist()
    assert r["two.sum"].ravel().tolist() == (3 * n).tolist()
    assert "old values of" not in str(r.coupling)


@pytest.mark.parametrize(
    "how", [{"importer": "fmpy"}, pytest.param({"isolate": True}, marks=pytest.mark.slow)]
)
def test_a_loop_whoever_calls_its_units(fmu, how):
    d = Diagram("ring")
    for name in ("two", "one"):
        d.add(name, FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.2}, **how))
    d.connect("one.sum", "two.u")
    d.connect("two.count", "one.u")
    with Simulation(d, coupling="jacobi") as sim:
        sim.advance(0.4)
        there = sim.snapshot()
        sim.advance(0.7)
        sim.restore(there)
        sim.advance(0.8)
        assert [sim.value(name)[0] for name in ("one.sum", "two.sum")] == [8.0, 12.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_at_a_tick_passes_once(fmu, engine):
    """one.sum = n + two.sum and two.sum = n + one.sum: the result says whose value before the other sees."""
    r = simulate(ring(fmu, "sum", 0.2), 0.8, log_every=0.1, coupling="jacobi", engine=engine)
    assert "old values of one.sum at ticks" in str(r.coupling)
    n, two, found = passed(r.time, 0.2), 0.0, []
    for k in n:
        before = k + two  # with its own event, and the input that it has
        two = k + before
        found.append((k + two, two))
    assert list(zip(r["one.sum"].ravel(), r["two.sum"].ravel(), strict=True)) == found


def test_a_loop_of_units_that_never_meet(fmu):
    """One at 0, 0.2, ... and the other at 0.1, 0.3, ...: each sees what the other has said last."""
    d = Diagram("ring")
    for name, offset in (("one", 0), ("two", 0.1)):
        d.add(name, FMU(fmu("counter"), sample=0.2, offset=offset, event_mode=True, start={"period": 0.5}))
    d.connect("one.sum", "two.u")
    d.connect("two.sum", "one.u")
    r = simulate(d, 1.0, log_every=0.1, coupling="jacobi")
    sums = [0.0, 0.0]
    for k, t in enumerate(r.time):
        sums[k % 2] = passed(t, 0.5) + sums[1 - k % 2]
        assert [r["one.sum"][k, 0], r["two.sum"][k, 0]] == sums, t
    assert "old values" not in str(r.coupling) and r.coupling["one.u"].worst == 0.0


def test_what_follows_inputs_at_once(fmu, tmp_path):
    """What the description says does not; what it says nothing of does, and all that belongs to a clock."""

    def visited(path, **how):
        block = FMU(path, kind="cs", sample=0.1, event_mode=True, **how).driven()
        return {port.name for port in block.outputs if port.visited}, {
            p.name for p in block.inputs if p.visited
        }

    assert visited(fmu("counter")) == ({"sum"}, {"u"})
    assert visited(fmu("thrown")) == (set(), {"push"})
    assert visited(fmu("metronome")) == (set(), set())
    silent = build_fmu("counter", tmp_path, version="3.0", depends={"count": None})
    assert visited(silent) == ({"sum", "count"}, {"u"})
    outputs, inputs = visited(fmu("clockwork"))
    assert inputs == {"u", "w", "press"}
    assert {"x"}.isdisjoint(outputs) and {"sum", "twice_w", "n_press", "rung", "alarm"} <= outputs


@pytest.mark.parametrize(("coupling", "between"), [("jacobi", 1.0), (None, 1.5)])
def test_a_port_that_extrapolates_holds_what_a_coupling_delivers(fmu, coupling, between):
    """A count that goes up at each point: without a coupling it is a sampled signal, here at 0.15 s."""
    d = Diagram("port")
    d.add("unit", FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.1}))
    d.ground("unit.u")
    d.connect("unit.count", d.add("line", Line())["u"])
    r = simulate(d, 0.2, log_at=[0.15, 0.2], coupling=coupling)
    np.testing.assert_allclose(r["line.y"].ravel(), [between, 2.0], atol=1e-12)


def test_a_sampled_block_in_a_loop(fmu):
    """The count of the unit comes back to it through a sampled block, which sees its event at that point."""
    d = Diagram("back")
    d.add("unit", FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.2}))
    d.connect("unit.count", d.add("seen", Seen())["u"])
    d.connect("seen.y", "unit.u")
    r = simulate(d, 0.8, log_every=0.1, coupling="jacobi")
    n = passed(r.time, 0.2)
    assert r["unit.sum"].ravel().tolist() == (n + 10 * n).tolist()
    assert "old values" not in str(r.coupling)


def test_a_loop_through_what_moves_by_itself_shows_nothing_old(fmu):
    """Pushed up by 1 m/s where it falls at a tick, 0.75 s, and back where it does not, 1 s."""
    d = Diagram("caught")
    d.add("mass", FMU(fmu("thrown"), sample=0.25, event_mode=True))
    d.connect("mass.v", d.add("falls", Function(lambda u: 1.0 * (u < -0.25), sample=0.25))["u"])
    d.connect("falls.y", "mass.push")
    r = simulate(d, 1.0, log_every=0.25, coupling="jacobi")
    np.testing.assert_allclose(r["mass.v"].ravel(), [1.0, 0.5, 0.0, 0.5, -1.0], atol=1e-12)
    assert "old values" not in str(r.coupling)


def test_a_comparison_in_a_loop_at_a_tick_changes_after_it(fmu):
    """It is true from 0.75 s on, which is sampled at 1 s: there it lands with -1 m/s, and is pushed up."""
    d = Diagram("caught")
    d.add("mass", FMU(fmu("thrown"), sample=0.25, event_mode=True))
    d.connect("mass.v", d.add("falls", CompareToConstant("<", -0.25))["u"])
    d.connect("falls.y", d.add("sampled", Hold(0, sample=0.25))["u"])
    d.connect("sampled.y", "mass.push")
    r = simulate(d, 1.0, log_every=0.25, coupling="jacobi")
    assert r["sampled.y"].ravel().tolist() == [0, 0, 0, 0, 1]
    np.testing.assert_allclose(r["mass.v"].ravel(), [1.0, 0.5, 0.0, -0.5, 0.5 + 1.0], atol=1e-12)


# --- starts -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("coupling", [None, "jacobi"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_outputs_see_the_first_inputs(fmu, coupling, engine):
    """Held and discrete inputs alike, also where they come from another unit, and with an offset."""
    d = Diagram("start")
    d.add("b", FMU(fmu("feedthrough"), kind="cs", sample=0.1, event_mode=True))
    d.add("a", FMU(fmu("feedthrough"), kind="cs", sample=0.1, event_mode=True))
    d.add("late", FMU(fmu("feedthrough"), kind="cs", sample=0.1, offset=0.05, event_mode=True))
    d.add("three", Constant(3.0))
    d.add("line", Clock())
    for unit in ("a", "late"):
        d.connect("three.y", f"{unit}.Float64_input")
        d.connect("three.y", f"{unit}.Int32_input")
    d.connect("a.Float64_output", "b.Float64_input")
    d.connect("a.Int32_output", "b.Int32_input")
    for unit, kind in itertools.product(("a", "b", "late"), ("Float32", "Int8", "UInt8", "Int16", "UInt16")):
        d.ground(f"{unit}.{kind}_input")
    for unit, kind in itertools.product(("a", "b", "late"), ("UInt32", "Int64", "UInt64", "Boolean")):
        d.ground(f"{unit}.{kind}_input")
    for unit in ("a", "b", "late"):
        d.ground(f"{unit}.Enumeration_input")
    r = simulate(d, 0.2, log_at=[0.0, 0.05, 0.2], engine=engine, coupling=coupling)
    for unit, kind in itertools.product(("a", "b", "late"), ("Float64", "Int32")):
        assert r[f"{unit}.{kind}_output"].ravel().tolist() == [3.0, 3.0, 3.0], unit


def test_whole_numbers_of_units_are_not_extrapolated(fmu):
    """x' = n - x with the count n of a unit, which is held over each step: exact."""
    d = Diagram("count")
    d.add("n", FMU(fmu("metronome"), sample=0.1, event_mode=True))
    d.add("lag", FMU(fmu("lag"), kind="cs", sample=0.1))
    d.connect("n.count", "lag.u")
    r = simulate(d, 1.0, coupling=Coupling(extrapolation=1), log_every=0.1)
    x, found = 0.0, [0.0]
    for n in passed(r.time, 0.2)[:-1]:
        x = n + (x - n) * np.exp(-0.1)
        found.append(x)
    np.testing.assert_allclose(r["lag.y"].ravel(), found, atol=1e-9)


# --- conditional parts ------------------------------------------------------------------------------------
@pytest.mark.parametrize("coupling", [None, "jacobi", Coupling(iterate=True)], ids=str)
def test_a_conditional_part_calls_its_unit(fmu, coupling):
    """Active from 0.4 s on, driven by another unit, which is coupled."""
    d = Diagram("outer")
    d.add("part", Enabled(FMU(fmu("counter"), sample=0.1, event_mode=True, start={"period": 0.2})))
    d.add("m", FMU(fmu("metronome"), sample=0.1, event_mode=True))
    d.connect("m.count", "part.u")
    d.connect(d.add("on", Step(time=0.35))["y"], "part.enable")
    r = simulate(d, 0.8, log_every=0.1, coupling=coupling)
    assert r["part.sum"].ravel().tolist() == (2 * passed(r.time, 0.2) * (r.time > 0.35)).tolist()


def test_a_coupling_needs_a_unit_outside_of_conditional_parts(fmu):
    d = Diagram("outer")
    d.add("part", Enabled(FMU(fmu("counter"), sample=0.1)))
    for port in ("u", "enable"):
        d.connect(d.add(port, Constant(1.0))["y"], f"part.{port}")
    with pytest.raises(
        PlantloopError, match="nothing in 'outer' steps itself.*a conditional part calls its own"
    ):
        simulate(d, 0.8, coupling="jacobi")
