"""Enabled, triggered, called and resettable parts against closed forms, and against a slow interpreter."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks import (
    Constant,
    Counter,
    DiscreteIntegrator,
    Gain,
    Hold,
    Integrator,
    MultiStep,
    PythonFunction,
    Ramp,
    RandomNumber,
    Relay,
    Sine,
    Sum,
    TimeTable,
    TransferFunction,
    TransportDelay,
    UnitDelay,
)
from blocks.errors import PlantloopError, WiringError
from cosim import (
    Diagram,
    Enabled,
    FunctionCall,
    Resettable,
    Simulation,
    Triggered,
    linearize,
    simulate,
)

ENGINES = ("reference", "native")
W = 3.0  # rad/s of the control signals; sin(W t) is above 0 on (0, pi/W), (2 pi/W, 3 pi/W), ...
FIRST, SECOND = np.pi / W, 2 * np.pi / W


def run(part, port, until=3.0, engine="reference", **more):
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("w", Sine(frequency=W))
    d.add("part", part)
    d.connect("u.y", "part.u")
    d.connect("w.y", f"part.{port}")
    return simulate(d, until=until, engine=engine, log_every=0.25, **more)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_enabled_integrator_stands_still_and_goes_on(engine):
    r = run(Enabled(Integrator(initial=2.0)), "enable", engine=engine)
    t = r.time
    went = np.minimum(t, FIRST) + np.maximum(t - SECOND, 0.0)
    assert r["part.y"][:, 0] == pytest.approx(2.0 + went, abs=1e-8)
    assert r["part/inner.y"][:, 0] == pytest.approx(2.0 + went, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_enabled_integrator_restarts_and_falls_back(engine):
    r = run(Enabled(Integrator(initial=2.0), reset=True, outputs="reset"), "enable", engine=engine)
    t = r.time
    expected = np.where(t <= FIRST, 2.0 + t, np.where(t < SECOND, 2.0, 2.0 + t - SECOND))
    assert r["part.y"][:, 0] == pytest.approx(expected, abs=1e-8)
    held = run(Enabled(Integrator(initial=2.0), reset=True), "enable", engine=engine)
    expected = np.where(t <= FIRST, 2.0 + t, np.where(t < SECOND, 2.0 + FIRST, 2.0 + t - SECOND))
    assert held["part.y"][:, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_initial_value_given_to_a_run_is_the_one_it_restarts_at(engine):
    part = Enabled(Integrator(), reset=True)
    r = run(part, "enable", engine=engine, initial={"part/inner.x": 5.0})
    assert r["part.y"][-1] == pytest.approx(5.0 + 3.0 - SECOND, abs=1e-8)


def test_outputs_before_a_part_was_ever_active():
    def first(part):
        d = Diagram("d")
        d.add("u", Constant(7.0))
        d.add("off", Constant(0.0))
        d.add("part", part)
        d.connect("u.y", "part.u")
        d.connect("off.y", "part.enable")
        return simulate(d, until=0.3, engine="reference")["part.y"][-1, 0]

    assert first(Enabled(Gain(2.0))) == 0.0
    assert first(Enabled(Integrator(initial=3.0))) == 3.0
    assert first(Enabled(UnitDelay(sample=0.1, initial=4.0))) == 4.0
    assert first(Enabled(Gain(2.0), initial=-1.0)) == -1.0
    assert first(Enabled(Gain(2.0), outputs="reset", initial=-1.0)) == -1.0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_is_called_at_the_crossings_of_a_continuous_trigger(engine):
    for edge, calls in {
        "rising": [0.0, SECOND],
        "falling": [FIRST, 3 * FIRST],
        "either": [0.0, FIRST, SECOND, 3 * FIRST],
    }.items():
        r = run(Triggered(DiscreteIntegrator(sample=0.1), edge=edge), "trigger", 3.5, engine)
        done = np.array([sum(c <= t for c in calls) for t in r.time])
        assert r["part.y"][:, 0] == pytest.approx(0.1 * np.maximum(done - 1, 0))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stateless_part_takes_its_input_at_the_edge(engine):
    d = Diagram("d")
    d.add("w", Sine(frequency=W))
    d.add("u", Sine(frequency=0.7))
    d.add("part", Triggered(Gain(3.0), edge="falling"))
    d.connect("u.y", "part.u")
    d.connect("w.y", "part.trigger")
    r = simulate(d, until=2.0, engine=engine, log_every=0.25)
    expected = np.where(r.time < FIRST, 0.0, 3.0 * np.sin(0.7 * FIRST))
    assert r["part.y"][:, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_edges_count_only_while_the_part_is_enabled(engine):
    for part in (
        Enabled(Triggered(DiscreteIntegrator(sample=1.0))),
        Triggered(Enabled(DiscreteIntegrator(sample=1.0))),
    ):
        d = Diagram("d")
        d.add("u", Constant(1.0))
        d.add("t", TimeTable([0, 1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1, 0], interpolation="previous"))
        d.add("e", TimeTable([0, 2.5, 4.5], [1, 0, 1], interpolation="previous"))
        d.add("part", part)
        for source, port in (("u", "u"), ("t", "trigger"), ("e", "enable")):
            d.connect(f"{source}.y", f"part.{port}")
        r = simulate(d, until=6.0, engine=engine, log_every=0.5)
        assert r["part.y"][:, 0].tolist() == [0.0] * 10 + [1.0] * 3  # calls at 1 (shows 0) and 5; 3 is lost


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_resettable_part_starts_anew_at_edges(engine):
    r = run(Resettable(Integrator(initial=1.0), edge="falling"), "reset", engine=engine)
    t = r.time
    assert r["part.y"][:, 0] == pytest.approx(1.0 + np.where(t < FIRST, t, t - FIRST), abs=1e-8)
    r = run(Resettable(DiscreteIntegrator(sample=0.1, initial=1.0), edge="falling"), "reset", engine=engine)
    k = np.floor(t / 0.1 + 1e-9)
    assert r["part.y"][:, 0] == pytest.approx(1.0 + 0.1 * np.where(t < FIRST, k, k - 11))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_called_part_runs_before_its_caller_goes_on(engine):
    """The caller counts ticks; what it called at a tick is seen at that tick."""
    d = Diagram("d")
    d.add("calls", DiscreteIntegrator(sample=0.5))
    d.add("one", Constant(1.0))
    d.add("two", Constant(2.0))
    d.connect("two.y", "calls.u")
    d.add("part", FunctionCall(DiscreteIntegrator(sample=1.0)))
    d.connect("calls.y", "part.call")
    d.connect("one.y", "part.u")
    d.add("after", UnitDelay(sample=0.5))
    d.connect("part.y", "after.u")
    r = simulate(d, until=2.0, engine=engine, log_every=0.5)
    assert r["calls.y"][:, 0].tolist() == [0, 1, 2, 3, 4]
    assert r["part.y"][:, 0].tolist() == [0, 0, 1, 2, 3]
    assert r["after.y"][:, 0].tolist() == [0, 0, 0, 1, 2]


def test_a_relay_in_an_inactive_part_switches_when_it_is_active_again():
    d = Diagram("d")
    d.add("u", TimeTable([0.0, 1.0, 3.0], [-1.0, 1.0, -1.0], interpolation="previous"))
    d.add("e", TimeTable([0.0, 0.5, 2.0, 2.5], [1, 0, 1, 0], interpolation="previous"))
    d.add("part", Enabled(Relay(0.5, -0.5)))
    d.connect("u.y", "part.u")
    d.connect("e.y", "part.enable")
    for engine in ENGINES:
        r = simulate(d, until=4.0, engine=engine, log_at=[0.7, 1.5, 2.2, 3.5])
        assert r["part.y"][:, 0].tolist() == [0.0, 0.0, 1.0, 1.0]


def nested(reset):
    inner = Diagram("inner")
    u, a = inner.inport("u"), inner.inport("a")
    i = inner.add("i", Enabled(Integrator(), reset=reset))
    inner.connect(u, i["u"])
    inner.connect(a, i["enable"])
    z = inner.add("z", Triggered(UnitDelay(sample=1.0)))
    inner.connect(i["y"], z["u"])
    inner.connect(a, z["trigger"])
    inner.outport("y", i["y"])
    inner.outport("z", z["y"])
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("a", Sine(frequency=W))
    d.add("e", TimeTable([0.0, 1.5, 3.0], [1, 0, 1], interpolation="previous"))
    d.add("part", Enabled(inner))
    d.connect("u.y", "part.u")
    d.connect("a.y", "part.a")
    d.connect("e.y", "part.enable")
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_within_parts(engine):
    r = simulate(nested(False), until=4.5, engine=engine, log_at=[1.2, 2.6, 3.0, 4.5])
    # sin(3 t) > 0 on (0, 1.047), (2.094, 3.142), (4.189, 5.236); enabled on (0, 1.5) and from 3
    third = 3 * FIRST - 3.0
    went = [FIRST, FIRST, FIRST, FIRST + third + 4.5 - 4 * FIRST]
    assert r["part.y"][:, 0] == pytest.approx(went, abs=1e-8)


def test_snapshots_go_on_by_bits():
    whole, half = Simulation(nested(True), engine="native"), Simulation(nested(True), engine="reference")
    whole.advance(2.3)
    half.advance(2.3)
    half.restore(whole.snapshot())
    for until in (3.1, 4.5):
        whole.advance(until)
        half.advance(until)
        assert half.value("part.y") == pytest.approx(whole.value("part.y"), abs=1e-9)


def test_parameters_of_a_diagram_and_pickles_pass_through():
    inner = Diagram("inner")
    k = inner.parameter("k", 2.0)
    inner.connect(inner.inport("u"), inner.add("g", Gain(k))["u"])
    inner.connect("g.y", inner.add("i", Integrator())["u"])
    inner.outport("y", "i.y")
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("w", Sine(frequency=W))
    d.add("part", Enabled(inner), parameters={"k": 5.0})
    d.connect("u.y", "part.u")
    d.connect("w.y", "part.enable")
    d = pickle.loads(pickle.dumps(d))
    for numbers, slope in ({}, 5.0), ({"part.k": 3.0}, 3.0):
        r = simulate(d, until=2.0, engine="reference", parameters=numbers)
        assert r["part.y"][-1] == pytest.approx(slope * FIRST, abs=1e-8)


def test_linear_models_are_those_of_the_present_condition():
    for enable, pole in (1.0, -2.0), (-1.0, 0.0):
        d = Diagram("d")
        d.add("e", Constant(enable))
        d.add("part", Enabled(TransferFunction([1.0], [1.0, 2.0])))
        d.connect(d.inport("u"), "part.u")
        d.connect("e.y", "part.enable")
        d.outport("y", "part.y")
        assert linearize(d).poles().tolist() == [pole]


def test_what_cannot_be_called_is_refused_by_name():
    with pytest.raises(PlantloopError, match="'x' is a continuous state, which a part that is called"):
        run(Triggered(Integrator()), "trigger")
    with pytest.raises(PlantloopError, match="a delayed signal, which a part that starts anew cannot"):
        run(Enabled(TransportDelay(0.1), reset=True), "enable")
    with pytest.raises(PlantloopError, match="a delayed signal, which a part that is called cannot"):
        run(Triggered(TransportDelay(0.1)), "trigger")
    with pytest.raises(PlantloopError, match="a random draw, which a part that is called cannot"):
        d = Diagram("d")  # at crossings: there is no rate to draw at
        d.connect(d.add("wave", Sine())["y"], d.add("part", Triggered(RandomNumber(sample=0.1)))["trigger"])
        simulate(d, 1.0)
    with pytest.raises(WiringError, match="expected a block or a diagram"):
        Enabled(3.0)
    with pytest.raises(PlantloopError, match="edge is 'up'"):
        Triggered(Gain(1.0), edge="up")
    d = Diagram("d")
    d.inport("enable")
    d.add("g", Gain(1.0))
    with pytest.raises(WiringError, match="has a block or port 'enable'"):
        run(Enabled(d), "enable")
    with pytest.raises(WiringError, match=r"part.enable' is not connected"):
        d = Diagram("d")
        d.add("part", Enabled(Constant(1.0)))
        d.system()


# --- a slow interpreter ---------------------------------------------------------------------------------
# One sampled part: x[k+1] = x + u, y = x + 10 u, every 0.25 s, under an enable and a trigger that are tables.
def interpreted(enable, trigger, edge, reset, falls):
    """Outputs of an enabled and of a triggered part at every 0.25 s, by the rules as they are written."""
    outputs = []
    x, on_before, last, start = 0.0, False, 0.0, 0.0
    z, sign_before, called = 0.0, trigger[0] > 0, 0.0
    for k, (e, t) in enumerate(zip(enable, trigger, strict=True)):
        u = float(k + 1)
        on = e > 0
        if on:
            if reset and not on_before:
                x = start
            last = x + 10 * u
            x = x + u
        elif falls:
            last = start
        on_before = on
        sign = t > 0
        rose, fell = sign and not sign_before, sign_before and not sign
        if {"rising": rose, "falling": fell, "either": rose or fell}[edge]:
            called = z + 10 * u
            z = z + u
        sign_before = sign
        outputs.append((last, called))
    return np.array(outputs)


def sampled_part():
    """x[k+1] = x + u, y = x + 10 u."""
    d = Diagram("inner")
    u = d.inport("u")
    s, g, x = d.add("s", Sum("++")), d.add("g", Gain(10.0)), d.add("x", DiscreteIntegrator(sample=0.25))
    d.connect(u, d.add("four", Gain(4.0))["u"])
    d.connect("four.y", "x.u")
    d.connect(u, g["u"])
    d.connect(x["y"], s["in1"])
    d.connect(g["y"], s["in2"])
    d.outport("y", s["y"])
    return d


LEVELS = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=6, max_size=6)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    LEVELS,
    LEVELS,
    st.sampled_from(["rising", "falling", "either"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_parts_agree_with_a_slow_interpreter(enable, trigger, edge, reset, falls, sampled):
    times = [0.25 * k for k in range(6)]
    d = Diagram("d")
    for name, levels in (("e", enable), ("t", trigger), ("u", [1.0, 2, 3, 4, 5, 6])):
        d.add(name, TimeTable(times, levels, interpolation="previous"))
    for name in "et":
        if sampled:
            d.add(f"{name}s", Hold(order=0, sample=0.25, initial=(enable if name == "e" else trigger)[0]))
            d.connect(f"{name}.y", f"{name}s.u")
    tail = "s.y" if sampled else ".y"
    d.add("en", Enabled(sampled_part(), reset=reset, outputs="reset" if falls else "held"))
    d.add("tr", Triggered(sampled_part(), edge=edge))
    d.connect("u.y", "en.u")
    d.connect("u.y", "tr.u")
    d.connect(f"e{tail}", "en.enable")
    d.connect(f"t{tail}", "tr.trigger")
    expected = interpreted(enable, trigger, edge, reset, falls)
    for engine in ENGINES:
        r = simulate(d, until=1.25, engine=engine, log_at=times)
        assert np.c_[r["en.y"], r["tr.y"]] == pytest.approx(expected)


def gate(part, levels, until=2.0, **more):
    d = Diagram("d")
    d.add("e", TimeTable([0.25 * k for k in range(len(levels))], levels, interpolation="previous"))
    d.add("part", part)
    d.connect("e.y", "part.enable")
    if "u" in part.inports:
        d.add("u", Ramp(slope=1.0))
        d.connect("u.y", "part.u")
    return simulate(d, until=until, log_every=0.25, **more)


def test_random_draws_of_an_inactive_part_stand_still():
    levels = [1, 1, 0, 0, 1, 0, 1, 1, 1]
    for engine in ENGINES:
        always = gate(Enabled(RandomNumber(sample=0.25)), [1] * 9, engine=engine, seed=3)["part.y"][:, 0]
        some = gate(Enabled(RandomNumber(sample=0.25)), levels, engine=engine, seed=3)["part.y"][:, 0]
        d = Diagram("d")
        d.add("part", RandomNumber(sample=0.25))
        assert len(set(always.tolist())) == 9
        count = np.cumsum(levels)
        assert some.tolist() == [always[k - 1] for k in count]


def test_a_part_that_is_called_draws_once_per_call():
    levels = [0, 1, 0, 1, 1, 0, 1, 0, 1]
    for engine in ENGINES:
        always = gate(Enabled(RandomNumber(sample=0.25)), [1] * 9, engine=engine, seed=3)["part.y"][:, 0]
        found = []
        for inner in (RandomNumber(sample=0.25), Enabled(RandomNumber(sample=0.125))):
            d = Diagram("d")
            times = [0.25 * k for k in range(9)]
            d.add("e", Hold(sample=0.25))
            d.add("table", TimeTable(times, levels, interpolation="previous"))
            d.add("part", Triggered(inner))
            d.connect("table.y", "e.u")
            d.connect("e.y", "part.trigger")
            if isinstance(inner, Enabled):
                d.add("on", Constant(1.0))
                d.connect("on.y", "part.enable")
            found.append(simulate(d, until=2.0, log_every=0.25, engine=engine, seed=3)["part.y"][:, 0])
        calls = np.cumsum([max(b - a, 0) for a, b in pairwise([0, *levels])])
        assert found[0].tolist() == found[1].tolist() == [0.0 if k == 0 else always[k - 1] for k in calls]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_delay_of_an_enabled_part_keeps_what_it_was_given_before(engine):
    """Time goes on in it: u = t is not seen from 0.5 to 1."""
    r = gate(Enabled(TransportDelay(0.3)), [1, 1, 0, 0, 1, 1, 1, 1, 1], engine=engine)
    given = lambda t: np.where(t < 0, 0.0, np.where((t > 0.5) & (t < 1.0), 0.5, t))
    active = (r.time < 0.5) | (r.time >= 1.0)
    wanted = np.where(active, given(r.time - 0.3), 0.2)
    assert r["part.y"][:, 0] == pytest.approx(wanted, abs=1e-9)
    late = gate(Enabled(TransportDelay(0.3, 7.0)), [0, 0, 1, 1, 1, 1], engine=engine)
    assert late["part.y"][:, 0] == pytest.approx([7, 7, 7, 7, 0.7, 0.95, 1.2, 1.45, 1.7], abs=1e-9)
    several = Diagram("several")
    delay = several.add("delay", TransportDelay(0.3))
    area = several.add("area", Integrator())
    several.connect(several.inport("u"), delay["u"])
    several.connect(delay["y"], area["u"])
    several.outport("y", area["y"])
    r = gate(Enabled(several), [1, 1, 0, 0, 1, 1, 1, 1, 1], engine=engine)
    # 0.2^2/2, then from 1 to 1.3 the 0.5 of before, then t - 0.3 from 1 to 1.7
    assert r["part.y"][-1, 0] == pytest.approx(0.02 + 0.15 + 0.5 * (1.7**2 - 1), abs=1e-7)


def test_an_opaque_block_is_called_only_while_it_is_enabled():
    for engine in ("reference", "auto"):
        part = Enabled(PythonFunction(doubled, sample=0.25, size=1))
        r = gate(part, [1, 1, 0, 0, 1, 0, 1, 1, 1], engine=engine)
        assert r["part.y"][:, 0].tolist() == [0.0, 0.5, 0.5, 0.5, 2.0, 2.0, 3.0, 3.5, 4.0]


def doubled(t, u):
    if t in (0.5, 0.75, 1.25):
        raise ValueError("called while it is inactive")
    return 2.0 * u


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.floats(1.0, 6.0), st.floats(-3.0, 3.0), st.floats(-0.8, 0.8), st.booleans(), st.booleans())
def test_continuous_parts_agree_with_their_integrals(w, phase, bias, reset, falls):
    """x' = cos t while sin(w t + phase) + bias > 0: piece by piece in closed form."""
    d = Diagram("d")
    d.add("u", Sine(phase=np.pi / 2))
    d.add("e", Sine(frequency=w, phase=phase, bias=bias))
    d.add("part", Enabled(Integrator(initial=0.5), reset=reset, outputs="reset" if falls else "held"))
    d.connect("u.y", "part.u")
    d.connect("e.y", "part.enable")
    until = 4.0
    base = np.arcsin(-bias)
    marks = [(a - phase + 2 * np.pi * k) / w for k in range(-3, 6) for a in (base, np.pi - base)]
    edges = [0.0, *sorted(t for t in marks if 0.0 < t < until), until]
    times, expected, x = [], [], 0.5
    seen = False
    for a, b in pairwise(edges):
        on = np.sin(w * 0.5 * (a + b) + phase) + bias > 0
        if b - a < 1e-3:
            return  # too near to tell
        start = (0.5 if reset and seen else x) if on else x
        middle = 0.5 * (a + b)
        times.append(middle)
        value = start + np.sin(middle) - np.sin(a)
        expected.append(value if on else (0.5 if falls else x))
        if on:
            x, seen = start + np.sin(b) - np.sin(a), True
    for engine in ENGINES:
        r = simulate(d, until=until, engine=engine, log_at=times)
        assert r["part.y"][:, 0] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_so_from_the_start_is_no_edge_where_a_part_becomes_active_first(anew, engine):
    """The count of edges, and t since the last one; the part is active from 1 to 2 and from 5 on."""
    inner = Diagram("inner")
    inner.outport("count", inner.add("count", Counter())["y"])
    inner.outport("since", inner.add("since", Integrator(reset="rising"))["y"])
    inner.add("one", Constant(1.0)) >> inner["since"]["u"]
    inner.connect(inner.inport("u"), inner["count"]["u"], inner["since"]["reset"])
    d = Diagram("d")
    d.add("part", Enabled(inner, reset=anew))
    d.add("on", MultiStep([1, 2, 5], [1, 0, 1])) >> d["part"]["enable"]
    d.add("signal", MultiStep([1.25, 1.5, 1.75, 5], [0, 1, 0, 1], initial=1.0)) >> d["part"]["u"]
    r = simulate(d, until=6.0, log_every=0.5, engine=engine)
    since = [0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0, 0.5, 1]
    assert r["part.since"][:, 0] == pytest.approx(since, abs=1e-12)
    counts = np.repeat([0, 1, 1 if anew else 2], [3, 7, 3])
    assert r["part.count"][:, 0].tolist() == counts.tolist()
