"""Directional and adjoint derivatives, rates of outputs, the structure: closed forms and differences."""

from __future__ import annotations

import ctypes

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

import blocks as B
from cosim import Diagram, export_fmu
from tests.helpers import hybrid
from tests.helpers.exported import first, pendulum
from tests.helpers.opened_fmu import Opened


def continuous(m):
    """Into continuous-time mode; the states."""
    (m.unit.newDiscreteStates if m.is_2 else m.unit.updateDiscreteStates)()
    m.unit.enterContinuousTimeMode()
    x = (ctypes.c_double * len(rates(m)))()
    m.unit.getContinuousStates(x, len(x))
    return np.array(x)


def rates(m):
    return [n for n in m.variables if n.startswith("der(")]


def derivatives(m, x):
    n = len(x)
    m.unit.setContinuousStates((ctypes.c_double * n)(*x), n)
    f = (ctypes.c_double * n)()
    (m.unit.getDerivatives if m.is_2 else m.unit.getContinuousStateDerivatives)(f, n)
    return np.array(f)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_of_a_linear_system_they_are_its_matrices(version, tmp_path):
    """x' = u - x, y = (x, x + 2 u), at a communication point and in initialization mode."""
    path = export_fmu(first(), tmp_path / "first.fmu", version=version)
    with Opened(path, initialise=False) as m:
        state = next(n[4:-1] for n in rates(m))
        outputs = ["y[1]", "y[2]"] if m.is_2 else ["y"]
        ask = m.unit.getDirectionalDerivative

        def forward(known):
            more = {} if m.is_2 else {"nSensitivity": 2}
            return ask(m.refs(*outputs), m.refs(known), [1.0], **more)

        def look():
            assert forward(state) == [1.0, 1.0]
            assert forward("u") == [0.0, 2.0]
            assert m.forward(rates(m), [state, "u"], [1.0, 3.0]) == [2.0]

        if m.is_2:
            m.unit.setupExperiment()
        m.unit.enterInitializationMode()
        look()
        m.unit.exitInitializationMode()
        m.step(0.1)
        look()
        if not m.is_2:
            found = m.unit.getAdjointDerivative(m.refs("y"), m.refs(state, "u"), [3.0, 5.0], nSensitivity=2)
            assert found == [8.0, 10.0]


@pytest.mark.parametrize("name", ["pendulum", "loops"])
def test_of_a_plant_and_of_loops_they_are_limits_of_differences(name, tmp_path):
    d = pendulum() if name == "pendulum" else hybrid.loops()
    start = {"plant.hinge.q": -0.3} if name == "pendulum" else {}
    path = export_fmu(d, tmp_path / "unit.fmu", initial=start, solve_loops=name == "loops")
    with Opened(path, "ModelExchange") as m:
        x = continuous(m)
        names = [n[4:-1] for n in rates(m)]
        exact = np.array([m.forward(rates(m), [n], [1.0]) for n in names]).T
        h = 1e-6
        differences = np.array(
            [(derivatives(m, x + h * e) - derivatives(m, x - h * e)) / (2 * h) for e in np.eye(len(x))]
        ).T
        derivatives(m, x)
        assert np.abs(differences).max() > 0.1
        assert np.allclose(exact, differences, rtol=1e-6, atol=1e-7)
        rows = [
            m.unit.getAdjointDerivative(m.refs(n), m.refs(*names), [1.0], nSensitivity=len(names))
            for n in rates(m)
        ]
        assert np.allclose(rows, exact, rtol=1e-12, atol=1e-14)


def test_a_parameter_may_be_the_known(tmp_path):
    """dy/dk of y = k u is u."""
    d = Diagram("gain")
    k = d.add("k", B.Gain(2.0))
    d.connect(d.inport("u"), k["u"])
    d.outport("y", k["y"])
    with Opened(export_fmu(d, tmp_path / "gain.fmu", version="2.0"), values={"u": 3.0}) as m:
        gain = next(n for n in m.variables if n.startswith("k."))
        assert m.forward(["y"], [gain], [1.0]) == [3.0]


def test_through_a_tick_at_the_start_they_are_differences(tmp_path):
    """u_0 = -K x_0 is found by the tick at 0 s, so the output depends on x and K while initialising."""
    d = Diagram("feedback")
    c = d.add("controller", B.StateFeedback([[2.0]], sample=0.1))
    d.connect(d.inport("x"), c["x"])
    d.outport("u", c["u"])
    with Opened(export_fmu(d, tmp_path / "c.fmu", version="2.0"), initialise=False) as m:
        m.unit.setupExperiment()
        m.unit.enterInitializationMode()
        m.set("x", 3.0)
        assert m.get("u") == -6.0
        assert m.forward(["u"], ["x"], [1.0]) == pytest.approx([-2.0], abs=1e-8)
        m.set("x", 4.0)
        assert m.get("u") == -8.0
        m.unit.exitInitializationMode()
        assert m.forward(["u"], ["x"], [1.0]) == [0.0]  # held until the next tick


def test_rates_of_outputs_at_a_communication_point(tmp_path):
    """y1' = x' = u - x."""
    path = export_fmu(first(), tmp_path / "first.fmu", version="2.0")
    with Opened(path, values={"u": 3.0}) as m:
        m.step(0.25)
        refs = (ctypes.c_uint * 2)(*m.refs("y[1]", "y[2]"))
        orders, values = (ctypes.c_int * 2)(1, 1), (ctypes.c_double * 2)()
        m.unit.fmi2GetRealOutputDerivatives(m.unit.component, refs, 2, orders, values)
        assert list(values) == [3.0 - m.get("y[1]")] * 2


def listed(path):
    """Names each output depends on, in ModelStructure and at the start."""
    description = fmpy.read_model_description(str(path))

    def names(unknowns):
        return {u.variable.name: {v.name for v in u.dependencies} for u in unknowns}

    return names(description.outputs), names(description.derivatives), names(description.initialUnknowns)


def chain():
    """u -> gain -> y1; u -> integrator x -> y2; u -> sampled feedback -> y3; parameters k.k, c.K."""
    d = Diagram("chain")
    k, x, c = (
        d.add("k", B.Gain(2.0)),
        d.add("x", B.Integrator()),
        d.add("c", B.StateFeedback([[2.0]], sample=0.1)),
    )
    u = d.inport("u")
    for port in (k["u"], x["u"], c["x"]):
        d.connect(u, port)
    for name, port in (("y1", k["y"]), ("y2", x["y"]), ("y3", c["u"])):
        d.outport(name, port)
    return d


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_structure_says_exactly_what_depends_on_what(version, tmp_path):
    path = export_fmu(chain(), tmp_path / "both.fmu", version=version)
    outputs, states, start = listed(path)
    (state,) = (n[4:-1] for n in states)
    feedback = "c.K[1,1]" if version == "2.0" else "c.K"
    gain = next(v for v in start["y1"] if v != "u")
    assert outputs == {
        "y1": {"u"},
        "y2": {state},
        "y3": {"u"},
    }  # y3 in event mode, where its tick is executed
    assert states == {f"der({state})": {"u"}}
    assert start == {
        "y1": {"u", gain}, "y2": {state}, "y3": {"u", feedback}, f"der({state})": {"u"},
    }  # fmt: skip
    path = export_fmu(chain(), tmp_path / "cs.fmu", version=version, kinds=["cs"])
    assert listed(path)[0]["y3"] == set()  # between ticks it is memory


def test_entries_of_a_matrix_are_knowns_and_its_zeros_do_nothing(tmp_path):
    """x1' = a x2, x2' = b x1 + u, y = x1 + sin(t): slopes by a, b and time; zeros are none."""
    d = Diagram("entries")
    p = d.add("p", B.StateSpace([[0.0, 1.0], [-2.0, 0.0]], [[0.0], [1.0]], [[1.0, 0.0]], initial=[3.0, 5.0]))
    d.connect(d.inport("u"), p["u"])
    total = d.add("total", B.Sum("++"))
    d.connect(p["y"], total["in1"])
    d.connect(d.add("sine", B.Sine())["y"], total["in2"])
    d.outport("y", total["y"])
    with Opened(export_fmu(d, tmp_path / "entries.fmu", version="3.0")) as m:
        forward, adjoint = m.unit.getDirectionalDerivative, m.unit.getAdjointDerivative
        rates, matrix = m.refs("der(p.x)"), m.refs("p.A")
        assert forward(rates, matrix, [9.0, 2.0, 7.0, 9.0], nSensitivity=2) == [2.0 * 5.0, 7.0 * 3.0]
        assert adjoint(rates, matrix, [2.0, 7.0], nSensitivity=4) == [0.0, 2.0 * 5.0, 7.0 * 3.0, 0.0]
        m.step(0.25)
        assert forward(m.refs("y"), m.refs("time"), [2.0]) == pytest.approx([2.0 * np.cos(0.25)], rel=1e-12)
        slope = m.unit.getOutputDerivatives(m.refs("y"), [1])
        assert list(slope) == pytest.approx([m.get("p.x")[1] + np.cos(0.25)], rel=1e-12)
        for call, unknown, known, told in (
            (forward, "p.A", "u", "is no unknown of derivatives"), (forward, "y", "y", "is no known"),
        ):  # fmt: skip
            with pytest.raises(FMICallException, match="error"):
                call(m.refs(unknown), m.refs(known), [1.0] * m.size(known), nSensitivity=m.size(unknown))
            assert told in m.log[-1]
        with pytest.raises(FMICallException, match="error"):
            m.unit.getOutputDerivatives(m.refs("u"), [1])
        assert "is no output" in m.log[-1]


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_derivatives_by_time_through_a_tick_at_the_start(version, tmp_path):
    """At t = 2, where a step of 7 is: of t^2, of t sampled, of t^2 + x + step, by time and by x."""
    d = Diagram("times")
    clock = d.add("clock", B.Clock())["y"]
    d.connect(clock, d.add("square", B.Function(lambda t: t * t))["t"])
    d.connect(clock, d.add("hold", B.Hold(sample=0.1))["u"])
    gain, both = d.add("x", B.Integrator(0.5)), d.add("both", B.Sum("+++"))
    d.connect(d.inport("u"), gain["u"])
    d.connect("square.y", both["in1"])
    d.connect(gain["y"], both["in2"])
    d.connect(d.add("step", B.Step(time=2.0, after=7.0))["y"], both["in3"])
    d.outport("square", "square.y")
    d.outport("held", "hold.y")
    d.outport("sum", both["y"])
    outputs = ["square", "held", "sum"]
    with Opened(export_fmu(d, tmp_path / "c.fmu", version=version), initialise=False) as m:
        if m.is_2:
            m.unit.setupExperiment(startTime=2.0)
            m.unit.enterInitializationMode()
        else:
            m.unit.enterInitializationMode(startTime=2.0)
        more = {} if m.is_2 else {"nSensitivity": 3}
        ask = m.unit.getDirectionalDerivative
        found = ask(m.refs(*outputs), m.refs("time"), [1.0], **more)
        assert found == pytest.approx([4.0, 1.0, 4.0], rel=1e-8)
        x = next(n for n, v in m.variables.items() if n.startswith("x.") and v.causality == "local")
        found = ask(m.refs(*outputs), m.refs(x, "time"), [3.0, -2.0], **more)
        assert found == pytest.approx([-8.0, -2.0, -8.0 + 3.0], rel=1e-8)
        assert (m.get("time"), m.get("held"), m.get("sum")) == (2.0, 2.0, 11.5)
        if not m.is_2:
            found = m.unit.getAdjointDerivative(
                m.refs(*outputs), m.refs("time"), [1.0, 10.0, 100.0], nSensitivity=1
            )
            assert found == pytest.approx([4.0 + 10.0 + 400.0], rel=1e-8)
        m.unit.exitInitializationMode()
        m.time = 2.0
        m.step(0.15)
        assert m.get("held") == pytest.approx(2.1)


def test_adjoints_through_a_tick_at_the_start_are_differences(tmp_path):
    """u = -K x by the tick at 0 s, of two inputs: du/dx = -K, du/dK = -x; what is set stays."""
    d = Diagram("feedback")
    c = d.add("controller", B.StateFeedback([[2.0, -7.0]], sample=0.1))
    d.connect(d.inport("x", 2), c["x"])
    d.outport("u", c["u"])
    with Opened(export_fmu(d, tmp_path / "c.fmu", version="3.0"), initialise=False) as m:
        m.unit.enterInitializationMode()
        m.set("x", [3.0, 500.0])
        knowns = m.refs("x", "controller.K")
        found = m.unit.getAdjointDerivative(m.refs("u"), knowns, [4.0], nSensitivity=4)
        assert found == pytest.approx([-8.0, 28.0, -12.0, -2000.0], rel=1e-7)
        ask = m.unit.getDirectionalDerivative
        assert ask(m.refs("u"), knowns, [1.0, 0.0, 0.0, 2.0]) == pytest.approx([-2.0 - 1000.0], rel=1e-7)
        assert ask(m.refs("u"), knowns, [0.0] * 4) == [0.0]
        assert m.get("x") == [3.0, 500.0] and m.get("u") == -6.0 + 3500.0
