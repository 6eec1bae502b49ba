"""What an exported unit says where it cannot go on: which part, and when, for each thing that can go wrong.

One unit in which something goes wrong at 1 s, or at the tick of 1.1 s, if an input says so.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

import blocks as B
from blocks import Block, State, StateChart, Transition
from cosim import Diagram, export_fmu
from tests.helpers.exported import first, guard
from tests.helpers.opened_fmu import Opened

GRAVITY = 18.0  # m/s^2; from 1 m with half the speed after each bounce: 3 sqrt(2/18) = 1 s to the end
FAULTS = ("root", "blow", "zeno", "clash", "sign", "lost")


@dataclass(frozen=True)
class Faults(Block):
    """`t` [s]; the other inputs are 1 where something goes wrong at 1 s."""

    def define(self, b):
        t, root, blow, zeno, clash, sign, lost = (b.input(name, size=1)[0] for name in ("t", *FAULTS))
        good, x, big, y, z = (
            b.continuous(n, s) for n, s in zip("axbyz", (0.0, 0.0, 1.0, 0.0, 0.0), strict=True)
        )
        for state, rate in (
            (good, 1.0),
            (x, np.sqrt(1.0 - root * t)),
            (big, blow * big**2),
            (y, 0.0),
            (z, 0.0),
        ):
            b.derivative(state, rate)
        h, v = b.continuous("h", 1.0), b.continuous("v", 0.0)
        b.derivative(h, v)
        b.derivative(v, -GRAVITY * zeno)
        b.when(h, {v: -0.5 * v}, direction="falling", name="bounce")
        b.when(clash * t - 1.0, {y: 1.0}, direction="rising", name="one")
        b.when(clash * t - 1.0, {y: 2.0}, direction="rising", name="two")
        b.when(np.sqrt(1.0 - sign * t) + 1.0, {b.mode("m", 0.0): 1.0}, direction="falling", name="nowhere")
        b.when(lost * t - 1.0, {z: np.sqrt(-lost)}, direction="rising", name="lost")
        b.output("good", good)


def faults() -> Diagram:
    """Loops y = y^2 + s t / 4.2 have no solution from 1.05 s on, one of them at ticks only."""
    d = Diagram("faults")
    f, t = d.add("f", Faults()), d.add("clock", B.Clock())["y"]
    d.connect(t, f["t"])
    for name in FAULTS:
        d.connect(d.inport(name), f[name])
    for fault, name, sample in (("loop", "always", None), ("ticked", "rounds", 0.1)):
        p = d.add(name, B.Function(lambda v, t, s: v * v + s * t / 4.2, sample=sample))
        d.connect(p["y"], d.add(f"{name}_same", B.Gain(1.0))["u"])
        d.connect(f"{name}_same.y", p["v"])
        d.connect(t, p["t"])
        d.connect(d.inport(fault), p["s"])
        d.outport(f"{name}_y", p["y"])
    p = d.add("roots", B.Function(lambda t, s: np.sqrt(1.05 - s * t), sample=0.1))
    d.connect(t, p["t"])
    d.connect(d.inport("sampled"), p["s"])
    chart = StateChart(
        inputs=["t", "s"], outputs={}, sample=0.1, states=[State("p"), State("q")],
        transitions=[Transition("p", "q", "s * t > 1.05"), Transition("q", "p", "s * t > 1.05")],
    )  # fmt: skip
    p = d.add("flip", chart)
    d.connect(t, p["t"])
    d.connect(d.inport("chart"), p["s"])
    p = d.add("past", B.TransportDelay(0.5))
    d.connect(f["good"], p["u"])
    for name, port in (("good", f["good"]), ("past", p["y"])):
        d.outport(name, port)
    return d


SAYS = {
    "root": "the step size collapses at {}; state 'f.x' limits it.",
    "blow": "the step size collapses at {}; state 'f.b' limits it.",
    "zeno": "events follow each other without end at {}: 'f.bounce'.",
    "clash": "events 'f.two' and 'f.one' reset the same state at {}.",
    "sign": "the crossing 'f.nowhere' is not finite at {}.",
    "lost": "'f.lost' is not finite at {} (last finite {}).",
    "loop": "an algebraic loop has no solution found at {}.",
    "ticked": "an algebraic loop at a tick of rounds has no solution found at {}.",
    "sampled": "'roots' is not finite at {} (last finite {}).",
    "chart": "transitions of 'flip' follow each other without end at {}.",
}
AT_TICKS = ("ticked", "sampled", "chart")


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    place = tmp_path_factory.mktemp("faults") / "faults.fmu"
    return export_fmu(faults(), place, version="2.0", solver="dopri5", rtol=1e-6, solve_loops=True)


def matched(text, line):
    """The times [s] in a line, which is this text otherwise."""
    pattern = re.escape(f"faults: {text}").replace(r"\{\}", r"t=(\S+) s")
    found = re.match(pattern, line)
    assert found, line
    return [float(t) for t in found.groups()]


@pytest.mark.parametrize("fault", SAYS)
def test_a_step_that_fails_says_what_and_when(unit, fault):
    with Opened(unit, values={fault: 1.0}) as m:
        with pytest.raises(FMICallException, match="discard"):
            for _ in range(60):
                m.step(0.02)
        line = m.log[-1]
    for t in matched(SAYS[fault], line):
        if fault in AT_TICKS:
            assert t == pytest.approx(1.1, abs=1e-9)
        elif fault in ("sign", "loop"):
            assert 1.0 < t <= 1.08
        else:
            assert t == pytest.approx(1.0, abs=1e-5)


def test_a_delay_that_is_set_to_zero_is_told(unit):
    with Opened(unit, initialise=False) as m:
        with pytest.raises(FMICallException, match="error"):
            m.initialise({"past.delay": 0.0})
        assert matched("parameter 'past.delay' is set to 0; it has to be above 0.", m.log[-1]) == []


EXCHANGED = {
    "root": "the derivative of 'f.x' is not finite at {}.",
    "sign": "the crossing 'f.nowhere' is not finite at {}.",
    "clash": "events 'f.two' and 'f.one' reset the same state at {}.",
    "lost": "'f.lost' is not finite at {} (last finite",
    "loop": "an algebraic loop has no solution found at {}.",
    "ticked": "an algebraic loop at a tick of rounds has no solution found at {}.",
    "sampled": "'roots' is not finite at {} (last finite",
    "chart": "transitions of 'flip' follow each other without end at {}.",
}


@pytest.mark.parametrize("fault", EXCHANGED)
def test_model_exchange_says_it_where_it_is_asked(unit, fault):
    """At 1.1 s: derivatives, indicators, signals, and events, without which the unit cannot go on."""
    with Opened(unit, "ModelExchange", values={fault: 1.0}) as m:
        m.unit.newDiscreteStates()
        m.unit.enterContinuousTimeMode()
        for k in range(1, 11):
            if fault in AT_TICKS:
                m.unit.setTime(k / 10)
                m.unit.enterEventMode()
                m.unit.newDiscreteStates()
                m.unit.enterContinuousTimeMode()
        m.unit.setTime(1.1)
        numbers = (ctypes.c_double * 40)()
        status = "discard" if fault in ("root", "sign", "loop") else "error"
        with pytest.raises(FMICallException, match=status):
            if fault == "root":
                m.unit.getDerivatives(numbers, len([n for n in m.variables if n.startswith("der(")]))
            elif fault == "sign":
                m.unit.getEventIndicators(numbers, m.description.numberOfEventIndicators)
            elif fault == "loop":
                m.get("always_y")
            else:
                m.unit.enterEventMode()
                m.unit.newDiscreteStates()
        assert matched(EXCHANGED[fault], m.log[-1]) == [1.1]


def test_steps_that_never_come_to_the_end_are_told(tmp_path):
    """x' = 1e7 (sin t - x) takes steps of 3.3e-7 s for stability; 1e6 s are 3e12 of them."""
    d = Diagram("stiff")
    for name, rate in (("slow", 1.0), ("fast", 1e7)):
        x = d.add(name, B.StateSpace(-rate, rate, 1.0))
        d.connect(d.add(f"{name}_sine", B.Sine())["y"], x["u"])
        d.outport(f"{name}_y", x["y"])
    with Opened(export_fmu(d, tmp_path / "stiff.fmu", solver="dopri5", rtol=1e-6)) as m:
        with pytest.raises(FMICallException, match="discard"):
            m.step(1e6)
        assert re.match(
            r"stiff: at t=0\.003\d+ s steps are so small that they do not come to t=1000000 s; "
            r"state 'fast\.x' limits them\.", m.log[-1]
        )  # fmt: skip
    with Opened(export_fmu(first(), tmp_path / "first.fmu", solver="dopri5", max_step=1e-7)) as m:
        with pytest.raises(FMICallException, match="discard"):
            m.step(1e6)
        assert re.match(r"first: .* do not come to t=1000000 s\. Export with", m.log[-1])


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_the_tolerance_of_the_importer_is_that_of_the_steps(unit, tolerance):
    """Exported with 1e-6: b' = b^2, b = 1 / (1 - t), to 0.9 s."""
    with Opened(unit, initialise=False) as m:
        m.unit.setupExperiment(tolerance=tolerance, startTime=0.0)
        m.unit.enterInitializationMode()
        m.set("blow", 1.0)
        m.unit.exitInitializationMode()
        m.step(0.9)
        error = abs(m.get("f.b") - 10.0) / 10.0
    assert 1e-3 * tolerance < error < 1e3 * tolerance


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_experiment_that_ends_before_it_begins_is_refused(version, unit, tmp_path):
    path = unit if version == "2.0" else export_fmu(first(), tmp_path / "first.fmu", version=version)
    for start, stop in ((2.0, 1.0), (0.0, float("nan")), (float("inf"), None)):
        with Opened(path, start=start, stop=stop, initialise=False) as m:
            with pytest.raises(FMICallException, match="error"):
                m.initialise()
            assert f"the experiment is from {start:g} to" in m.log[-1]
    with Opened(path, start=2.0, stop=2.0) as m, pytest.raises(FMICallException, match="error"):
        m.step(0.1)  # a start alone is an experiment, but there is no step in it


def test_without_logging_only_what_goes_wrong_is_told(tmp_path):
    """The end of a run by a stop event is none; with logging it is told."""
    path = export_fmu(guard(), tmp_path / "guard.fmu")
    for logging in (False, True):
        with Opened(path, logging=logging) as m:
            assert m.unit.doStep(0.0, 2.0)[1]
            assert [line for line in m.log if "ends the simulation" in line] == m.log[: int(logging)]
            with pytest.raises(FMICallException, match="error"):
                m.unit.doStep(5.0, 1.0)
            assert "a step from t=5 s was asked for" in m.log[-1]


@pytest.mark.parametrize("names", [("before", "root", "behind"), ("root", "behind")])
def test_the_state_that_is_not_finite_is_named(names, tmp_path):
    """Steps of 1 ms: x' = sqrt(1 - t) has no slope behind 1 s; states beside it have."""
    d = Diagram("end")
    for name in names:
        x, f = d.add(name, B.Integrator()), d.add(f"{name}_rate", B.Function(lambda t: np.sqrt(1.0 - t)))
        d.connect(d.add(f"{name}_t", B.Clock() if name == "root" else B.Constant(0.5))["y"], f["t"])
        d.connect(f["y"], x["u"])
        d.outport(f"{name}_y", x["y"])
    with Opened(export_fmu(d, tmp_path / "end.fmu", solver="rk4", step=1e-3)) as m:
        with pytest.raises(FMICallException, match="discard"):
            m.step(2.0)
        assert m.log[-1] == "end: 'root.x' is not finite at t=1.001 s (last finite t=1 s)."


@dataclass(frozen=True)
class Flipping(Block):
    """What makes the second crossing positive makes it negative: from 1 s on it never rests."""

    def define(self, b):
        t, side, x = b.input("t", size=1)[0], b.mode("side", 1.0), b.continuous("x", 0.0)
        b.derivative(x, 1.0)
        b.when(t - 9.0, {x: 0.0}, direction="rising", name="late")
        b.when(side * (t - 1.0), {side: -1.0 * side}, direction="both", name="flip")
        b.output("x", x)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_events_without_end_in_one_event_mode_are_told(version, tmp_path):
    d = Diagram("flipping")
    d.connect(d.add("clock", B.Clock())["y"], d.add("f", Flipping())["t"])
    d.outport("x", "f.x")
    with Opened(export_fmu(d, tmp_path / "flipping.fmu", version=version), "ModelExchange") as m:
        update = m.unit.newDiscreteStates if m.is_2 else m.unit.updateDiscreteStates
        update()
        m.unit.enterContinuousTimeMode()
        m.unit.setTime(1.5)
        m.unit.enterEventMode()
        with pytest.raises(FMICallException, match="error"):
            update()
        assert m.log[-1] == "flipping: events follow each other without end at t=1.5 s: 'f.flip'."
