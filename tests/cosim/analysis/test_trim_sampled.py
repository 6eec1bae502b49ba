"""Rests of sampled diagrams: discrete states that repeat themselves, sampled signals as at a tick."""

import numpy as np
import pytest
from scipy.optimize import brentq

from blocks import (
    FIR,
    Constant,
    Delay,
    DiscreteIntegrator,
    DiscretePID,
    DiscreteStateSpace,
    Function,
    Gain,
    Hold,
    PythonFunction,
    StateChart,
    Sum,
    TransferFunction,
    TransportDelay,
    TrigonometricFunction,
    UnitDelay,
)
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, Triggered, linearize, simulate, trim
from tests.blocks.examples_table import EXAMPLES

PI = {"kp": 0.4, "ki": 1.5, "sample": 0.05}


def loop(reference=None, **pid):
    """y = v + 0.1 v^3, v' = (2 u - v) / 0.5, u of a sampled PI controller of r - y."""
    d = Diagram("loop")
    r = d.inport("r") if reference is None else d.add("r", Constant(reference))["y"]
    d.add("e", Sum("+-"))
    d.add("pi", DiscretePID(**PI | pid))
    d.add("lag", TransferFunction([2.0], [0.5, 1.0]))
    d.add("bent", Function(lambda v: v + 0.1 * v**3))
    d.connect(r, d["e"]["in1"])
    d.connect("e.y -> pi.e", "pi.u -> lag.u", "lag.y -> bent.v", "bent.y -> e.in2")
    d.outport("y", d["bent"]["y"])
    return d


def bent(y):
    return brentq(lambda v: v + 0.1 * v**3 - y, -100, 100, xtol=1e-15)


@pytest.mark.parametrize("reference", [2.0, -0.7])
@pytest.mark.parametrize(
    "more", [{}, {"method": "backward", "offset": 0.01}, {"kd": 0.02, "low": -9.0, "high": 9.0}]
)
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_controller_at_rest_holds_what_its_plant_needs(reference, more, engine):
    d = loop(reference, **more)
    point = trim(d)
    assert point.outputs["y"] == pytest.approx([reference], abs=1e-9)
    assert point.states["pi.i"] == pytest.approx([bent(reference) / 2], abs=1e-9)
    assert point.states["lag.x"] == pytest.approx([bent(reference) / 2], abs=1e-9)
    run = simulate(d, 1.0, initial=point.initial, log_every=0.005, engine=engine)
    assert run["bent.y"] == pytest.approx(reference, abs=1e-9)
    assert run["pi.u"] == pytest.approx(bent(reference) / 2, abs=1e-9)


def test_an_input_is_found_for_an_output_and_states_may_be_held():
    d = loop()
    point = trim(d, y={"y": 1.5}, free=["r"])
    assert point.inputs["r"] == pytest.approx([1.5], abs=1e-9)
    held = trim(d, x={"pi.i": 0.3}, fixed=["pi.i"], free=["r"])
    assert held.states["pi.i"] == [0.3]
    assert held.outputs["y"] == pytest.approx([0.6 + 0.1 * 0.6**3], abs=1e-9)
    with pytest.raises(PlantloopError, match=r"the change at a tick of 'pi.i' is"):
        trim(d, u={"r": 1.0}, bounds={"pi.i": (-0.1, 0.1)})


def rates(inside=False):
    """Delays, filters and holds of three rates before a lag; what it ends in is known from the gains."""
    d = Diagram("inside" if inside else "rates")
    r = d.inport("r")
    d.add("first", Hold(1, sample=0.02))
    d.add("fir", FIR([0.5, 0.3, 0.4], sample=0.04, offset=0.01))
    d.add("late", Delay(5, sample=0.04))
    d.add(
        "ss", DiscreteStateSpace([[0.5, 0.1], [0.0, 0.3]], [[0.0], [1.0]], [[2.0, 1.0]], [[0.5]], sample=0.1)
    )
    d.add("lag", TransferFunction([3.0], [0.2, 1.0]))
    d.connect(r, d["first"]["u"])
    d.connect("first.y -> fir.u", "fir.y -> late.u", "late.y -> ss.u", "ss.y -> lag.u")
    d.outport("y", d["lag"]["y"])
    return d


@pytest.mark.parametrize("nested", [False, True])
def test_memories_of_several_rates_are_what_a_long_run_ends_in(nested):
    d, where = rates(), ""
    if nested:
        d, where = Diagram("outer"), "part/"
        r = d.inport("r")
        d.add("part", rates(inside=True))
        d.connect(r, d["part"]["r"])
        d.outport("y", d["part"]["y"])
    point = trim(d, u={"r": 0.7})
    state = np.linalg.solve(np.eye(2) - [[0.5, 0.1], [0.0, 0.3]], [0.0, 1.2 * 0.7])  # 1.2: the sum of taps
    assert point.states[f"{where}ss.x"] == pytest.approx(state, abs=1e-9)
    assert point.outputs["y"] == pytest.approx([3.0 * (2 * state[0] + state[1] + 0.5 * 1.2 * 0.7)], abs=1e-9)
    long = Simulation(d)
    long.set_input("r", 0.7)
    long.advance(20.0)
    for name, value in point.initial.items():
        assert long.value(name.removesuffix("@sampled")) == pytest.approx(value, abs=1e-7), name
    run = simulate(d, 0.5, initial=point.initial, inputs={"r": 0.7}, log_every=0.005)
    assert run[f"{where}lag.y"] == pytest.approx(point.outputs["y"][0], abs=1e-9)


def test_the_linear_model_about_a_rest_is_that_of_the_loop_there():
    d = loop()
    point = trim(d, y={"y": 2.0}, free=["r"])
    v, T = bent(2.0), PI["sample"]
    slope, decay = 1 + 0.3 * v**2, np.exp(-T / 0.5)
    # lag.x' = (u - x) / 0.5 with u held, y = slope 2 x; i+ = i + T ki e, u = kp e + i, e = -y
    A = np.array([[decay - (1 - decay) * 0.4 * 2 * slope, 1 - decay], [-T * 1.5 * 2 * slope, 1.0]])
    found = linearize(d, at=point)
    assert found.dt == pytest.approx(T)
    poles = np.linalg.eigvals(found.A)
    for pole in np.linalg.eigvals(A):
        assert np.abs(poles - pole).min() < 1e-9


def test_what_has_no_rest_is_said():
    d = Diagram("grows")
    d.add("one", Constant(1.0))
    d.add("n", DiscreteIntegrator(sample=0.1))
    d.connect("one.y -> n.u")
    with pytest.raises(
        PlantloopError, match=r"no equilibrium found: the change at a tick of 'n\.\w+' is 0\.1\."
    ):
        trim(d)


def test_python_at_ticks_is_refused_by_name():
    d = Diagram("python")
    d.add("one", Constant(1.0))
    d.add("f", PythonFunction(lambda t, u: u, sample=0.1))
    d.add("g", Gain(1.0))
    d.connect("one.y -> f.u", "f.y -> g.u")
    with pytest.raises(PlantloopError, match=r"trim knows no rest of 'f': it calls Python at ticks"):
        trim(d)


def test_charts_and_called_parts_are_refused_by_name():
    chart = next(block for block, _ in EXAMPLES[StateChart] if block.sample is not None)
    called = Diagram("called")
    called.add("edge", DiscreteIntegrator(sample=0.1))
    called.add("part", Triggered(Gain(2.0)))
    called.connect("edge.y -> part.trigger", "edge.y -> part.u")
    called.ground("edge.u")
    for drawn in (chart, called):
        with pytest.raises(
            PlantloopError, match=r"trim knows no rest of '.+': it goes on in rounds or by calls"
        ):
            trim(drawn)


@pytest.mark.parametrize("between", [None, TransferFunction([1.0], [0.5, 1.0]), TransportDelay(0.1)])
def test_a_sampled_system_is_let_go_where_no_way_leads_down_to_a_rest(between):
    """x+ = x + (sin 3x - x/2 - 0.8)/4 from 0.6: the change is below -0.01 nearby, 0 at -1.13 only."""
    d = Diagram("sampled")
    x, c = d.add("x", UnitDelay(sample=0.25, initial=0.6)), d.add("c", Constant(0.8))
    three, sine = d.add("three", Gain(3.0)), d.add("sine", TrigonometricFunction("sin"))
    half, rate, more = d.add("half", Gain(0.5)), d.add("rate", Gain(0.25)), d.add("more", Sum("++"))
    s = d.add("s", Sum("+--"))
    x >> three >> sine
    x >> half
    last = sine if between is None else sine >> d.add("between", between)
    d.connect(last["y"], s["in1"])
    d.connect(half["y"], s["in2"])
    d.connect(c["y"], s["in3"])
    s >> rate
    d.connect(rate["y"], more["in1"])
    d.connect(x["y"], more["in2"])
    more >> x
    rest = brentq(lambda x: np.sin(3 * x) - 0.5 * x - 0.8, -1.3, -1.0)
    assert trim(d).states["x.x"] == pytest.approx([rest])
