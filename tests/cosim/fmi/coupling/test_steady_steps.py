"""Steps that are all alike: the same numbers as step by step in Python, whatever interrupts them."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Equations, Gain, Hold, Step, TimeTable
from blocks.errors import PlantloopError, SimulationError
from cosim import FMU, Coupling, Diagram, Simulation, simulate
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
ORDERS = ["jacobi", "gauss-seidel"]


def loop(ending: bool = False) -> Diagram:
    """Two lags that drive each other through gains; with one that ends the run at 9 s."""
    d = Diagram("loop")
    if ending:
        d.add("stair", FMU(build_fmu("stair", version="3.0"), kind="cs", sample="1/4"))
    for name, x in (("a", 1.0), ("b", -0.5)):
        d.add(name, FMU(build_fmu("lag", version="2.0"), kind="cs", sample="1/4", start={"x": x}))
    if ending:
        d.connect("a.y", d.add("held", Hold(sample=4)))  # ticks of ours, the last one before the end
    d.connect(d.add("g", Gain(0.7))["y"], "b.u")
    d.connect("a.y", "g.u")
    d.connect("b.y", "a.u")
    return d


def run(d: Diagram, engine: str, order: str | None, stops: list[float], log: list[float] | None = None):
    coupling = {} if order is None else {"coupling": order}
    with Simulation(d, engine=engine, **coupling) as sim:
        sim.log(log or [])
        for stop in stops:
            sim.advance(stop)
        sim.advance(stops[-1])
        found = sim.result()
        quality = {n: (q.time, q.assumed, q.delivered) for n, q in found.coupling.items()}
        return found, quality


def same(one, other) -> None:
    (r, quality), (r_2, quality_2) = one, other
    assert np.array_equal(r.time, r_2.time)
    assert all(np.array_equal(r[n], r_2[n]) for n in r)
    assert list(r.ticks_of) == list(r_2.ticks_of)
    for n in r.ticks_of:
        assert np.array_equal(r.ticks(n).time, r_2.ticks(n).time)
        assert np.array_equal(r.ticks(n).values, r_2.ticks(n).values)
    assert list(quality) == list(quality_2)
    for n, columns in quality.items():
        for mine, theirs in zip(columns, quality_2[n], strict=True):
            assert np.array_equal(mine, theirs), n


@pytest.mark.parametrize("order", [*ORDERS, None])
@pytest.mark.parametrize("ending", [False, True])
def test_both_engines_give_the_same_bits(order, ending):
    """Rows of the log and ends of advances on and between points; the end that a unit asks for."""
    stops, log = [0.25, 3.1, 7.0, 30.0], [0.0, 1.0, 1.1, 5.75, 8.9, 9.0, 20.0]
    d = loop(ending)
    same(run(d, "native", order, stops, log), run(d, "reference", order, stops, log))
    if ending and order == "gauss-seidel":  # our own blocks go back from a step that is like those before
        same(run(d, "native", order, stops, [0.0, 20.0]), run(d, "reference", order, stops, [0.0, 20.0]))


def test_gauss_seidel_is_its_map():
    """y_b follows from the value a has reached: x_b' = q x_b + (1-q) 0.7 x_a', with q = exp(-h)."""
    r, quality = run(loop(), "native", "gauss-seidel", [600.0], [600.0])
    q, a, b = np.exp(-0.25), 1.0, -0.5
    for _ in range(2400):
        if r.coupling.order[0] == "a":
            a = q * a + (1 - q) * b
            b = q * b + (1 - q) * 0.7 * a
        else:
            b = q * b + (1 - q) * 0.7 * a
            a = q * a + (1 - q) * b
    assert [r["a.y"][-1, 0], r["b.y"][-1, 0]] == pytest.approx([a, b], rel=1e-9)
    assert len(quality["a.u"][0]) == 2400


@pytest.mark.parametrize("order", [*ORDERS, None])
def test_points_of_any_fraction(order):
    """Periods and offsets that no double holds; a row of the log in the middle, an advance per third step."""
    d = Diagram("thirds")
    for name, x in (("a", 1.0), ("b", -0.5), ("c", 0.25)):
        d.add(name, FMU(build_fmu("lag"), kind="cs", sample="1/3", offset="1/7", start={"x": x}))
    d.connect("a.y", "b.u")
    d.connect("b.y", "a.u")
    d.ground("c.u")  # a constant among wires
    stops = [float(k) for k in range(1, 20)]
    one, other = (run(d, engine, order, stops, [0.0, 5.0]) for engine in ("native", "reference"))
    same(one, other)
    assert len(one[1]["a.u"][0]) == 56


@dataclass(frozen=True)
class TickCount(Block):
    """How often its rate has ticked."""

    def define(self, b: Equations) -> None:
        b.output("y", 1.0 * b.tick_count("1/4"))


def test_a_unit_that_reads_what_ticks_count():
    """It is given the count after the tick at a point, which is not what was delivered before."""
    d = Diagram("counted")
    d.add("a", FMU(build_fmu("lag"), kind="cs", sample="1/4"))
    d.connect(d.add("n", TickCount())["y"], "a.u")
    one, other = (run(d, engine, None, [3.0, 5.0], [1.1, 5.0]) for engine in ("native", "reference"))
    same(one, other)
    x, q = 0.0, np.exp(-0.25)
    for k in range(20):
        x = q * x + (1 - q) * (k + 1)
    assert one[0]["a.y"][-1, 0] == pytest.approx(x, rel=1e-12)


@pytest.mark.parametrize("order", [*ORDERS, None])
def test_an_output_that_is_no_number_ends_the_run(order):
    """Of a unit that nobody reads, from 0.5 s on: at the sample of that tick, else at the row of the log."""
    d = Diagram("faulty")
    d.add("unit", FMU(build_fmu("faulty"), sample="1/10", start={"fault": 7, "when": 0.5}))
    d.ground("unit.u")
    with Simulation(d, engine="native", **({} if order is None else {"coupling": order})) as sim:
        sim.log([0.6])
        with pytest.raises(SimulationError, match=r"'unit\.y' = nan") as caught:
            sim.advance(2.0)
    assert caught.value.time == (0.5 if order is None else 0.6)


# --- what our own blocks do at instants that are known before ---------------------------------------------
def stepped(at: float, source: str = "step") -> Diagram:
    """A lag from 1 driven by a jump to -2 at `at` s."""
    d = Diagram("stepped")
    d.add("a", FMU(build_fmu("lag"), kind="cs", sample="1/20", start={"x": 1.0}))
    jump = Step(at, 0.0, -2.0) if source == "step" else TimeTable([0.0, at], [0.0, -2.0], "previous")
    d.connect(d.add("jump", jump)["y"], "a.u")
    return d


def lag_at(t: float, at: float) -> float:
    """Its exact course where the jump is seen at `at` s."""
    return np.exp(-t) if t < at else -2 + (np.exp(-at) + 2) * np.exp(-(t - at))


@pytest.mark.parametrize("source", ["step", "table"])
@pytest.mark.parametrize(("extrapolation", "order"), [(0, "jacobi"), (1, "jacobi"), (0, "gauss-seidel")])
def test_a_jump_at_a_listed_instant_is_seen_and_not_extrapolated(extrapolation, order, source):
    """At the next point: 0.35 s, one before with the newest values; behind it the input is what it is."""
    times, seen = [0.3, 0.5, 2.0], 0.3 if order == "gauss-seidel" else 0.35
    found = []
    for engine in ("native", "reference"):
        coupling = Coupling(order=order, extrapolation=extrapolation)
        r = simulate(stepped(0.333, source), until=2.0, engine=engine, coupling=coupling, log_at=times)
        found.append(r["a.y"])
    assert np.array_equal(*found)
    assert found[0].ravel() == pytest.approx([lag_at(t, seen) for t in times], abs=1e-9)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("extrapolation", [0, 1, 2])
def test_error_control_meets_jumps_and_rows_of_the_log(engine, extrapolation):
    """Steps end at the jump, and where a row is asked for: nothing there is extrapolated."""
    times = [0.1, 0.5, 1.234, 2.0]
    coupling = Coupling(rtol=1e-6, extrapolation=extrapolation)
    r = simulate(stepped(0.333), until=2.0, engine=engine, coupling=coupling, log_at=times)
    assert r["a.y"].ravel() == pytest.approx([lag_at(t, 0.333) for t in times], abs=1e-9)
    ends = r.coupling["a.u"].time
    assert {0.333, *times} <= set(ends) and len(ends) < 60


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_units_under_error_control_have_no_offsets(engine):
    d = Diagram("late")
    d.add("a", FMU(build_fmu("lag"), kind="cs", sample="1/20", offset="1/80"))
    d.ground("a.u")
    with pytest.raises(PlantloopError, match=r"unit 'a' .* has an offset of 0\.0125 s"):
        simulate(d, until=1.0, engine=engine, coupling=Coupling(rtol=1e-4))
