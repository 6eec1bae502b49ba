"""Exported units of FMI 3.0 in co-simulation: event mode, early return, looks into a step."""

from __future__ import annotations

import math

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.simulation import instantiate_fmu

import blocks as B
from cosim import FMU, Diagram, Simulation, export_fmu
from tests.helpers.exported import Ball

FALL = math.sqrt(2 / 9.81)  # s; the first bounce


def mixed() -> Diagram:
    """A ball; an input that is sampled every 0.1 s; its integral, and an end where that is 1."""
    d = Diagram("mixed")
    n = d.add("ball", Ball())
    held, total = d.add("held", B.Hold(sample=0.1)), d.add("total", B.Integrator(0.0))
    end = d.add("end", B.StopWhen("full", 1.0))
    u = d.inport("u")
    d.connect(u, held["u"])
    d.connect(u, total["u"])
    d.connect(total["y"], end["u"])
    for name, port in (("h", n["h"]), ("v", n["v"]), ("held", held["y"]), ("total", total["y"])):
        d.outport(name, port)
    return d


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    place = tmp_path_factory.mktemp("events") / "mixed.fmu"
    return export_fmu(mixed(), place, version="3.0", solver="rk4", step=1e-3)


class Stepped:
    """An instance in FMPy, with event mode; `log` is what it said, `seen` the calls of the callback."""

    def __init__(self, path, folder, early=True, events=True, when=None):
        self.place = fmpy.extract(str(path), str(folder))
        description = fmpy.read_model_description(self.place)
        self.refs = {v.name: [v.valueReference] for v in description.modelVariables}
        self.log, self.seen, self.when, self.time = [], [], when, 0.0
        self.unit = instantiate_fmu(
            self.place, description, "CoSimulation", debug_logging=True,
            logger=lambda *a: self.log.append(a[-1].decode()), early_return_allowed=early,
            event_mode_used=events, intermediate_update=self.update if when is not None else None,
        )  # fmt: skip
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()
        if events:
            self.unit.updateDiscreteStates()
            self.unit.enterStepMode()

    def update(self, _, t, settable, gettable, finished, may_return, wanted, until):
        self.seen.append((t, self.get("total"), settable, gettable, finished, may_return))
        self.look()
        if self.when and t >= self.when[0]:
            wanted[0], until[0] = True, self.when[1]

    def look(self):
        """What else is done there."""

    def get(self, name):
        return self.unit.getFloat64(self.refs[name])[0]

    def set(self, name, value):
        self.unit.setFloat64(self.refs[name], [value])

    def event(self, **values):
        """Event mode from beginning to end; returns what the update said."""
        self.unit.enterEventMode()
        for name, value in values.items():
            self.set(name, value)
        found = self.unit.updateDiscreteStates()
        self.unit.enterStepMode()
        return found

    def step(self, end):
        """Is there an event, is it the end, is it early, the time [s] it came to."""
        event, ended, early, last = self.unit.doStep(self.time, end - self.time)
        self.time = last
        return event, ended, early, last

    def close(self):
        self.unit.freeInstance()


@pytest.fixture
def opened(unit, tmp_path):
    made = []

    def opens(**how):
        made.append(Stepped(unit, tmp_path / str(len(made)), **how))
        return made[-1]

    yield opens
    for m in made:
        m.close()


def test_the_description_says_so(unit):
    cs = fmpy.read_model_description(str(unit)).coSimulation
    assert cs.hasEventMode and cs.providesIntermediateUpdate
    assert cs.mightReturnEarlyFromDoStep and cs.canReturnEarlyAfterIntermediateUpdate


@pytest.mark.parametrize("n", [64, 10, 2])
def test_the_bits_are_those_of_the_native_engine(unit, n):
    """Event mode handles, after early returns, what is handled inside of steps otherwise."""
    with (
        FMU(unit, kind="cs", event_mode=True, start={"u": 0.25}).open() as m,
        Simulation(mixed(), solver="rk4", step=1e-3, engine="native") as s,
    ):
        s.set_input("u", 0.25)
        m.initialize()
        for k in range(1, 2 * n + 1):
            m.step(1 / n)
            s.advance(k / n)
            found = [m.get(name) for name in ("h", "v", "held", "total")]
            expected = [s.value(name)[0] for name in ("ball.h", "ball.v", "held.y", "total.y")]
            assert found == expected, k / n


def test_steps_end_early_before_ticks_and_bounces(opened):
    m = opened()
    assert m.step(0.35) == (True, False, True, 0.1)
    assert m.get("held") == 0.0
    assert m.event(u=0.5)[-2:] == (True, 0.2)  # the next tick
    assert m.get("held") == 0.5  # the tick has seen the input of its own instant
    for tick in (0.2, 0.3):
        assert m.step(0.35)[-1] == tick
        m.event()
    assert m.step(0.35) == (False, False, False, 0.35)
    m.event()  # nothing waits: nothing happens
    assert m.step(0.4) == (True, False, False, 0.4)  # it waits at the end too
    m.event()
    event, _, early, last = m.step(1.0)
    assert event and early and last == pytest.approx(FALL, abs=1e-9)
    before = m.get("v")
    assert before == pytest.approx(-9.81 * FALL) and not m.event()[1]
    assert m.get("v") == pytest.approx(-0.8 * before)
    assert m.get("total") == pytest.approx(0.5 * (last - 0.1))


def test_without_early_return_only_the_end_waits(opened):
    m = opened(early=False)
    assert m.step(0.45) == (False, False, False, 0.45)
    assert m.step(0.6) == (True, False, False, 0.6)
    assert m.get("v") > 0.0  # it has bounced
    m.event()
    assert m.step(0.65) == (False, False, False, 0.65)


def test_the_end_of_the_simulation_comes_from_event_mode(opened):
    m = opened()
    m.event(u=10.0)
    assert m.step(0.2) == (True, False, True, pytest.approx(0.1, abs=1e-9))
    assert m.event()[1]  # terminateSimulation


def test_inputs_set_again_in_one_event_mode(opened):
    m = opened()
    m.step(0.1)
    m.unit.enterEventMode()
    for u in (0.5, 0.75):
        m.set("u", u)
        m.unit.updateDiscreteStates()
        assert m.get("held") == u
    m.unit.enterStepMode()
    assert m.step(0.2)[-1] == 0.2


def test_a_state_saved_before_an_event_has_the_event(opened):
    m = opened()
    for _ in range(10):
        if m.step(1.0)[-1] > 0.44:
            break
        m.event()
    state, t = m.unit.getFMUState(), m.time
    m.event()
    v = m.get("v")
    m.step(0.5)
    m.unit.setFMUState(state)
    m.time = t
    assert m.get("v") < 0.0
    m.event()
    assert m.get("v") == v
    m.unit.freeFMUState(state)


def test_calls_in_the_wrong_order(opened):
    m = opened()
    m.step(1.0)
    for call, why in (
        (lambda: m.unit.doStep(0.1, 0.1), "waits for event mode"),
        (m.unit.enterStepMode, "allowed in: event mode"),
    ):
        with pytest.raises(FMICallException, match="error"):
            call()
        assert why in m.log[-1]
    m = opened()
    m.step(1.0)
    m.unit.enterEventMode()
    with pytest.raises(FMICallException, match="error"):
        m.unit.enterStepMode()
    assert "fmi3UpdateDiscreteStates first" in m.log[-1]
    m = opened(events=False)
    with pytest.raises(FMICallException, match="error"):
        m.unit.enterEventMode()
    assert "step mode" in m.log[-1]


def test_the_host_looks_into_a_step_and_ends_it(opened):
    """A look between the steps of the solver, of 1 ms; it may come back there, or later."""
    plain = opened(events=False, early=False, when=())
    plain.set("u", 0.5)
    assert plain.step(0.05) == (False, False, False, 0.05)
    times, totals, *flags = zip(*plain.seen, strict=True)
    np.testing.assert_allclose(times, np.arange(1, 50) * 1e-3, atol=1e-12)
    np.testing.assert_allclose(totals, 0.5 * np.array(times), atol=1e-14)
    assert set(zip(*flags, strict=True)) == {(False, True, True, False)}
    without = opened(events=False)
    without.set("u", 0.5)
    without.step(0.05)
    assert without.get("total") == plain.get("total")  # looking changes nothing
    for until, expected in ((0.0, 0.02), (0.0255, 0.0255), (3.0, 0.05)):
        m = opened(events=False, when=(0.02 - 1e-9, until))
        event, ended, early, last = m.step(0.05)
        assert (event, ended, early) == (False, False, expected < 0.05)
        assert last == pytest.approx(expected, abs=1e-12) and m.get("h") == pytest.approx(1 - 4.905 * last**2)
        assert m.step(0.06)[-1] == pytest.approx(max(expected, 0.06) if until > 1 else last, abs=1e-2)


def test_within_a_step_nothing_is_saved_restored_or_reset(opened, monkeypatch):
    """The step could not go on from there, or the state never leave the step."""
    expected = opened(events=False, when=())
    expected.step(0.05)
    m = opened(events=False, when=())
    state, refused = m.unit.getFMUState(), []

    def look():
        for call in (m.unit.reset, m.unit.getFMUState, lambda: m.unit.setFMUState(state)):
            with pytest.raises(FMICallException):
                call()
            refused.append(m.log[-1])

    monkeypatch.setattr(m, "look", look)
    assert m.step(0.05) == (False, False, False, 0.05) and m.get("h") == expected.get("h")
    assert len(refused) == 3 * 49 and all("intermediate update mode" in line for line in refused)
