"""Event mode of FMI 3.0 in compiled code: no step is made in Python, and all numbers are those of Python.

Closed forms of the same units on both engines: `test_event_mode_units.py`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from blocks import Constant, Integrator, Ramp, Step
from blocks.errors import PlantloopError
from cosim import FMU, Coupling, Diagram, Simulation, simulate
from cosim.fmi.coupling.macro_step import MacroStep
from tests.cosim.fmi.coupling.test_event_mode_units import Ball, Seen
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
COUPLINGS = [
    None, "jacobi", Coupling(order="gauss-seidel", extrapolation=1), Coupling(extrapolation=2),
    Coupling(iterate=True), Coupling(rtol=1e-2),
]  # fmt: skip
REFUSE, ENDLESS, STUCK, NOT_A_NUMBER, FAIL = range(1, 6)


@pytest.fixture
def in_code(monkeypatch):
    """A step made in Python is an error until the function is called."""
    made = MacroStep.make
    fails = lambda *_: pytest.fail("a step was made in Python")
    monkeypatch.setattr(MacroStep, "make", fails)
    return lambda: monkeypatch.setattr(MacroStep, "make", made)


@cache
def built(name, **how):
    """An FMU 3.0, built once: its path is in messages."""
    return build_fmu(name, version="3.0", **how)


def unit(name, sample="1/10", start_time=0.0, **start):
    return FMU(built(name), sample=sample, event_mode=True, start_time=start_time, start=start)


def with_trigger(text):
    """A description with a triggered clock `press`, which the unit does not know: it must never tick."""
    clock = '<Clock name="press" valueReference="990" causality="input" variability="discrete"'
    return text.replace("</ModelVariables>", f'{clock} intervalVariability="triggered"/></ModelVariables>')


def found(d, engine, coupling, log, stops):
    """All that a run returns; it goes back to its first stop once."""
    with Simulation(d, engine=engine, coupling=coupling, solver="rk4", step=0.01) as sim:
        sim.log(log)
        sim.advance(stops[0])
        there = sim.snapshot()
        sim.advance(stops[1])
        sim.restore(there)
        for stop in stops[1:]:
            sim.advance(stop)
        r = sim.result()
    kept = {name: r[name] for name in r} | {"time": r.time, "message": r.message}
    kept |= {f"{n} at ticks": r.ticks(n).values for n in r.ticks_of}
    for name, q in r.coupling.items():
        kept |= {f"{name} {what}": getattr(q, what) for what in ("time", "assumed", "delivered")}
    return kept | {"steps": [r.coupling.macro_steps, r.coupling.rounds, r.coupling.rejected]}


def both(d, coupling, in_code, stops=(0.37, 0.9, 2.0)):
    """The numbers of a run in code, compared with those of the reference engine."""
    log = np.arange(0, 41) * 0.05
    mine = found(d, "native", coupling, log, stops)
    in_code()
    theirs = found(d, "reference", coupling, log, stops)
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert np.array_equal(mine[name], theirs[name]), name
    return mine


@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
def test_a_chain_of_visited_units(in_code, coupling):
    """Whole numbers through two units and a sampled block of ours, and an integrator that reads a unit."""
    d = Diagram("chain")
    d.add("last", unit("counter", period=0.3))
    d.add("between", Seen())
    d.add("first", unit("counter", period=0.2))
    d.connect(d.add("step", Step(time=0.3, after=5.0))["y"], "first.u")
    d.connect("first.sum", "between.u")
    d.connect("between.y", "last.u")
    d.connect("last.sum", d.add("area", Integrator())["u"])
    r = both(d, coupling, in_code)
    first = np.floor(r["time"] / 0.2 + 1e-9) + 5 * (r["time"] > 0.3 - 1e-9)
    last = np.floor(r["time"] / 0.3 + 1e-9) + 10 * first
    assert r["first.sum"].ravel()[::2].tolist() == first[::2].tolist()
    assert r["last.sum"].ravel()[::2].tolist() == last[::2].tolist()


@pytest.mark.parametrize("coupling", COUPLINGS[:5], ids=str)
def test_jumps_between_communication_points_and_at_them(in_code, coupling):
    """A mass that lands and is pushed, one that only flies, a lag behind it, a ball of ours with events."""
    d = Diagram("jumps")
    d.add("mass", unit("thrown", "1/4", e=0.9))
    d.add("free", unit("metronome", "1/4", period=0.35))
    d.add("lag", FMU(built("lag"), kind="cs", sample="1/4"))
    d.connect("free.phase", d.add("area", Integrator())["u"])
    d.connect("mass.v", "lag.u")
    d.connect("free.count", "mass.push")
    d.add("ball", Ball())
    both(d, coupling, in_code)


@pytest.mark.parametrize(
    "coupling", [*COUPLINGS[:5], Coupling(order="gauss-seidel", iterate="newton")], ids=str
)
def test_units_with_other_points(in_code, coupling):
    """Two rates and an offset, in a loop at an instant, within a subsystem."""
    inner = Diagram("inner")
    inner.add("one", unit("counter", "1/10", period=0.23))
    inner.add("two", FMU(built("counter"), sample="1/5", offset="1/20", event_mode=True))
    inner.connect("one.sum", "two.u")
    inner.connect("two.sum", "one.u")
    inner.outport("n", "two.sum")
    d = Diagram("outer")
    d.add("part", inner)
    d.connect("part.n", d.add("area", Integrator())["u"])
    both(d, coupling, in_code)


@pytest.mark.parametrize("coupling", COUPLINGS[:5], ids=str)
def test_units_whose_clocks_begin_at_other_times(in_code, coupling):
    """They count multiples of their period on their own clocks: within steps, and at ends of steps too."""
    d = Diagram("clocks")
    d.add("last", unit("counter", start_time=-0.1, period=0.3))
    d.add("first", unit("counter", start_time=0.07, period=0.2))
    d.connect(d.add("step", Step(time=0.3, after=5.0))["y"], "first.u")
    d.connect("first.sum", "last.u")
    d.connect("last.sum", d.add("area", Integrator())["u"])
    r = both(d, coupling, in_code)
    t = r["time"][::2]  # communication points: in between outputs stand still, or are extrapolated
    first = np.floor((t + 0.07) / 0.2) + 5 * (t > 0.3 - 1e-9)
    last = np.floor((t - 0.1) / 0.3 + 1e-9).clip(0.0) + first
    assert r["first.sum"].ravel()[::2].tolist() == first.tolist()
    assert r["last.sum"].ravel()[::2].tolist() == last.tolist()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("coupling", COUPLINGS[:2], ids=str)
@pytest.mark.parametrize("sample", ["1/4", "1/1000"])
@pytest.mark.parametrize("start_time", [1e6, 1.7e9])
def test_a_clock_that_shows_large_numbers(start_time, sample, coupling, engine):
    """Seconds since 1970 are known to 2.4e-7 s. A flight is h = v t - t^2 up to t = v, the next has v / 2."""
    d = Diagram("since 1970")
    d.add("unit", unit("thrown", sample, start_time=start_time, v=0.9))
    d.ground("unit.push")
    r = simulate(d, 1.0, engine=engine, coupling=coupling, log_every=0.25)
    first, then = 0.9 * r.time - r.time**2, 0.45 * (r.time - 0.9) - (r.time - 0.9) ** 2
    assert r["unit.h"][:, 0] == pytest.approx(np.where(r.time < 0.9, first, then), abs=1e-6)
    assert r["unit.landed"][-1, 0] == 1


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_unit_that_ends_the_run_on_its_own_clock(engine):
    """At its third event, which is at 0.6 s of its own time."""
    d = Diagram("ends")
    d.add("unit", unit("metronome", start_time=0.05, period=0.2, most=3))
    d.connect("unit.count", d.add("area", Integrator())["u"])
    r = simulate(d, 2.0, engine=engine, coupling="jacobi", log_every=0.05)
    assert "terminateSimulation" in r.message
    assert r["unit.count"].ravel()[-1] == 3 and r.time[-1] == pytest.approx(0.55)


@pytest.mark.parametrize("coupling", COUPLINGS[1:4], ids=str)
def test_inputs_that_follow_curves_within_a_step(in_code, coupling):
    """Lags that are asked for inputs in a step (intermediate update): the same with event mode or not."""
    runs = []
    for event_mode in (True, False):
        d = Diagram("curves")
        for name, x in (("a", 1.0), ("b", 0.0)):
            path = built("lag", event_mode=event_mode)
            d.add(name, FMU(path, kind="cs", sample="1/10", event_mode=event_mode, start={"x": x}))
        d.connect("a.y", "b.u")
        d.connect("b.y", "a.u")
        runs.append(found(d, "native", coupling, np.arange(0, 21) * 0.1, [0.4, 2.0]))
    for name in runs[0]:
        assert np.array_equal(runs[0][name], runs[1][name]), name
    both(d, coupling, in_code)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("start_time", [0.0, 1e6])
def test_inputs_that_follow_curves_beside_a_triggered_clock(start_time, engine):
    """A lag y' = t - y behind a ramp, whose slope is known from the second step on.

    From then on y = t - 1 + 0.9 exp(0.1 - t). The number of the clock is an input of the block too.
    """
    d = Diagram("ramp")
    path = built("lag", event_mode=True, change=with_trigger)
    d.add("lag", FMU(path, kind="cs", sample="1/10", event_mode=True, start_time=start_time))
    d.connect(d.add("ramp", Ramp(slope=1.0))["y"], "lag.u")
    d.ground("lag.press")
    r = simulate(d, 2.0, engine=engine, coupling=Coupling(extrapolation=1), log_every=0.1)
    t = r.time[1:]
    assert r["lag.y"][1:, 0] == pytest.approx(t - 1.0 + 0.9 * np.exp(0.1 - t), abs=1e-8)


@pytest.mark.parametrize("coupling", COUPLINGS[:3], ids=str)
def test_steps_of_a_unit_with_clocks(in_code, coupling):
    """Only its events are in Python: ticks of six clocks, and a trigger that rises at 0.5 s."""
    d = Diagram("clocks")
    path = built("clockwork")
    d.add("unit", FMU(path, kind="cs", sample="1/10", event_mode=True, start={"chosen": "2/5"}))
    d.connect(d.add("u", Constant(2.0))["y"], "unit.u")
    d.connect(d.add("w", Step(time=0.7, after=3.0))["y"], "unit.w")
    d.add("press", Step(time=0.5))
    d.connect("press.y", "unit.press")
    d.connect("unit.x", d.add("area", Integrator())["u"])
    r = both(d, coupling, in_code)
    assert r["unit.n_press"][-1, 0] == 1 and r["unit.n_chosen"][-1, 0] > 3


@pytest.mark.parametrize("coupling", [*COUPLINGS[:3], Coupling(iterate=True)], ids=str)
@pytest.mark.parametrize("visited", [False, True])
def test_a_unit_that_ends_the_run_in_an_event(coupling, visited):
    """At a point or between two, in a step or in a visit: where it does on the reference engine."""
    units = [unit("metronome", period=p, most=3) for p in (0.2, 0.27)]
    if visited:
        units = [unit("thrown", "1/4", most=2)]
    for ending in units:
        d = Diagram("ends")
        d.add("unit", ending)
        if visited:
            d.ground("unit.push")
        d.add("other", unit("metronome"))
        d.connect("unit.landed" if visited else "unit.count", d.add("area", Integrator())["u"])
        log = np.arange(0, 41) * 0.05
        one, other = (found(d, engine, coupling, log, [0.1, 2.0]) for engine in ("native", "reference"))
        assert "terminateSimulation" in one["message"]
        assert all(np.array_equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
@pytest.mark.parametrize("most", [0, 3])
def test_a_unit_with_clocks_that_ends_the_run_in_a_visit(coupling, engine, most):
    """Python handles it: at its third event, which is at a point, or where it is initialised."""
    d = Diagram("ends")
    path = built("metronome", event_mode=True, change=with_trigger)
    d.add("unit", FMU(path, sample="1/4", event_mode=True, start={"period": 0.25, "most": most}))
    d.ground("unit.press")
    d.connect("unit.count", d.add("area", Integrator())["u"])
    r = simulate(d, 2.0, engine=engine, coupling=coupling, log_every=0.25)
    assert "terminateSimulation" in r.message
    assert (r.time[-1], r["unit.count"][-1, 0]) == (0.25 * most, most)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("coupling", COUPLINGS[:3], ids=str)
def test_a_parameter_that_changes_in_a_run(coupling, engine):
    """Events every 0.2 s, and from 0.5 s on every 0.5 s: the third comes at 1.5 s."""
    d = Diagram("tuned")
    d.add("unit", unit("metronome"))
    d.connect("unit.count", d.add("seen", Seen())["u"])
    with Simulation(d, engine=engine, coupling=coupling) as sim:
        counts = []
        for stop in (0.5, 1.4, 1.5, 2.0):
            sim.advance(stop)
            counts.append(sim.value("unit.count")[0])
            sim.set_parameter("unit.period", 0.5)
    assert counts == [2, 2, 3, 4]


# --- what goes wrong --------------------------------------------------------------------------------------
def message(engine, coupling, when=3, **start):
    """The error of a run of a stubborn unit between others; `u` jumps to 9 at 0.55 s."""
    d = Diagram("wrong")
    d.add("before", unit("metronome"))
    d.add("unit", unit("stubborn", when=when, **start))
    d.connect(d.add("nine", Step(time=0.55, after=9.0))["y"], "unit.u")
    d.connect("unit.y", d.add("area", Integrator())["u"])
    with pytest.raises(PlantloopError) as caught:
        simulate(d, 2.0, log_every=0.5, engine=engine, coupling=coupling)
    error = caught.value
    return str(error).replace(str(d), ""), error.path, error.time


INSIDE, AT_ITS_END, VISITED = (0.25, 1), (0.2, 1), (7.0, 9)


@pytest.mark.parametrize(
    ("fault", "said", "coupling", "where"),
    [
        *((REFUSE, "fmi3UpdateDiscreteStates returned error", c, INSIDE) for c in COUPLINGS[3:]),
        *((REFUSE, "fmi3UpdateDiscreteStates returned error", c, VISITED) for c in COUPLINGS[3:]),
        *((REFUSE, "that is enough", None, where) for where in (INSIDE, AT_ITS_END, VISITED)),
        *((ENDLESS, "still change after 100 rounds", "jacobi", where) for where in (AT_ITS_END, VISITED)),
        (STUCK, "returns from its steps without getting", "gauss-seidel", INSIDE),
        (STUCK, "returns from its steps without getting", Coupling(iterate=True), VISITED),
        *((FAIL, "fmi3DoStep returned error", c, INSIDE) for c in (None, *COUPLINGS[3:])),
    ],
    ids=str,
)
def test_what_fails_in_an_event_says_what_it_says_in_python(fault, said, coupling, where):
    """Within a step, at its end, and in a visit."""
    period, when = where
    texts = [
        message(engine, coupling, when, fault=fault, period=period) for engine in ("native", "reference")
    ]
    assert texts[0] == texts[1]
    assert said in texts[0][0]


def test_an_output_that_is_no_number_after_a_visit():
    texts = [message(engine, "jacobi", fault=NOT_A_NUMBER, period=7.0) for engine in ("native", "reference")]
    assert texts[0] == texts[1] and "'unit.y[0]'" in texts[0][0] and texts[0][2] == pytest.approx(0.6)


@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
def test_a_number_that_its_type_does_not_take(coupling):
    """It is set in event mode: the error is that of Python, which goes on there."""
    texts = []
    for engine in ("native", "reference"):
        d = Diagram("halves")
        d.add("unit", unit("counter"))
        d.connect(d.add("half", Step(time=0.55, after=1.5))["y"], "unit.u")
        with pytest.raises(PlantloopError, match=r"'u' is of type Int32 and cannot take 1\.5") as caught:
            simulate(d, 2.0, engine=engine, coupling=coupling)
        texts.append((str(caught.value), caught.value.time))
    assert texts[0] == texts[1]
