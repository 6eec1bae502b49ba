"""Functions of the standard that importers call rarely: what they answer, and what they refuse."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import fmpy
import numpy as np
import pytest
from fmpy import fmi3
from fmpy.fmi1 import FMICallException
from fmpy.simulation import instantiate_fmu

import blocks as B
from cosim import Diagram, export_fmu
from tests.helpers.exported import guard
from tests.helpers.opened_fmu import Opened

A, X = np.array([[0.0, 1.0], [-2.0, 0.0]]), np.array([3.0, 4.0])


def oscillator() -> Diagram:
    """x1' = x2, x2' = u2 - 2 x1, y = x1 from (3, 4); a second unit input does nothing; u2 is sampled."""
    d = Diagram("oscillator")
    p = d.add("p", B.StateSpace(A, [[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], [[0.0, 0.0]], initial=X))
    held = d.add("held", B.Hold(sample=0.1))
    u = d.inport("u", 2)
    d.connect(u, p["u"])
    d.connect(u, held["u"])
    d.outport("y", p["y"])
    d.outport("held", held["y"])
    return d


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def unit(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("functions") / "oscillator.fmu"
    return export_fmu(oscillator(), place, version=request.param)


@pytest.fixture(scope="module")
def unit_3(tmp_path_factory):
    return export_fmu(oscillator(), tmp_path_factory.mktemp("functions") / "three.fmu", version="3.0")


def refused(m, text, call, *arguments):
    before = len(m.log)
    with pytest.raises(FMICallException, match="error"):
        call(*arguments)
    assert any(text in line for line in m.log[before:]), m.log[before:]


def doubles(*values):
    return (ctypes.c_double * len(values))(*values)


def test_states_in_all_modes_and_how_many_there_are(unit):
    """They are there while the unit initialises, and in event mode, before the first step."""
    with Opened(unit, "ModelExchange", initialise=False) as m:
        if m.is_2:
            m.unit.setupExperiment()
        m.unit.enterInitializationMode()
        for leave in (m.unit.exitInitializationMode, lambda: None):
            x, f = doubles(0.0, 0.0), doubles(0.0, 0.0)
            m.unit.getContinuousStates(x, 2)
            (m.unit.getDerivatives if m.is_2 else m.unit.getContinuousStateDerivatives)(f, 2)
            assert list(x) == X.tolist() and list(f) == (A @ X).tolist()
            leave()
        nominal = doubles(0.0, 0.0)
        m.unit.getNominalsOfContinuousStates(nominal, 2)
        assert list(nominal) == [1.0, 1.0]
        if not m.is_2:
            assert m.unit.getNumberOfContinuousStates() == 2 and m.unit.getNumberOfEventIndicators() == 0
        m.unit.getEventIndicators(doubles(0.0), 0)
        refused(m, "got 1 numbers, expected 0", m.unit.getEventIndicators, doubles(0.0), 1)
        refused(m, "got 1 numbers, expected 2", m.unit.getContinuousStates, x, 1)
        refused(m, "got 3 numbers, expected 2", m.unit.getNominalsOfContinuousStates, doubles(0, 0, 0), 3)


def raw(m, name, *arguments):
    """The status of a call that FMPy has no method for."""
    return getattr(m.unit.dll, f"fmi{2 if m.is_2 else 3}{name}")(
        ctypes.c_void_p(m.unit.component), *arguments
    )


def test_what_is_of_the_other_kind_is_refused(unit):
    with Opened(unit) as m:
        x = doubles(0.0, 0.0)
        for name, arguments in (
            ("SetTime", [ctypes.c_double(1.0)]), ("EnterContinuousTimeMode", []), ("EnterEventMode", []),
            ("GetContinuousStates", [x, 2]), ("SetContinuousStates", [x, 2]),
        ):  # fmt: skip
            assert raw(m, name, *arguments) == 3, name
        m.step(0.1)
    with Opened(unit, "ModelExchange") as m:
        flags = [] if m.is_2 else [None] * 4
        assert raw(m, "DoStep", ctypes.c_double(0.0), ctypes.c_double(0.1), 1, *flags) == 3
        if not m.is_2:
            assert raw(m, "EnterStepMode") == 3 and "is for model exchange" in m.log[-1]


def test_rates_of_outputs_are_of_order_1(unit):
    """y' = x2; at the start, and after a step in which x turns by sqrt(2) t."""
    with Opened(unit) as m:
        ask = m.unit.getRealOutputDerivatives if m.is_2 else m.unit.getOutputDerivatives
        assert list(ask(m.refs("y"), [1])) == [X[1]]
        m.step(0.5)
        w = np.sqrt(2.0)
        x2 = X[1] * np.cos(w * 0.5) - w * X[0] * np.sin(w * 0.5)
        assert list(ask(m.refs("y"), [1])) == pytest.approx([x2], rel=1e-6)
        refused(m, "of order 1", ask, m.refs("y"), [2])
        refused(m, "of order 1", ask, m.refs("y", "y"), [1, 2])


def test_version_2_says_nothing_about_steps_under_way(tmp_path):
    with Opened(export_fmu(oscillator(), tmp_path / "two.fmu", version="2.0")) as m:
        u = m.unit
        assert u.getTypesPlatform() == "default" and u.getVersion() == "2.0"
        u.setRealInputDerivatives([], [], [])
        refused(m, "held over a step", u.setRealInputDerivatives, m.refs("u[1]"), [1], [1.0])
        m.step(0.25)
        assert u.getRealStatus(2) == 0.25 and u.getBooleanStatus(3) is False
        for call, kind in (
            (u.getStatus, 0), (u.getRealStatus, 0), (u.getIntegerStatus, 1), (u.getBooleanStatus, 2),
            (u.getStringStatus, 1),
        ):  # fmt: skip
            refused(m, "steps end before fmi2DoStep returns", call, kind)
        refused(m, "fmi2CancelStep: steps end", u.cancelStep)
        for call in (u.getInteger, u.getBoolean, u.getString):
            assert list(call([])) == []
            refused(m, "no variables of type", call, [1])


def test_logging_is_of_events_where_they_are_asked_for(tmp_path):
    path = export_fmu(guard(), tmp_path / "guard.fmu")
    for on, categories, told in (
        (True, [], True), (True, ["logStatusError", "logEvents"], True), (True, ["logStatusError"], False),
        (False, [], False), (False, ["logEvents"], False),
    ):  # fmt: skip
        with Opened(path, logging=not told) as m:
            m.unit.setDebugLogging(on, categories)
            m.step(2.0)
            assert any("ends the simulation" in line for line in m.log) is told


def dependencies(m, name, room=None):
    """(element, of which variable, element of it) of what a variable depends on."""
    (reference,), n = m.refs(name), ctypes.c_size_t()
    u, names = m.unit, {v.valueReference: k for k, v in m.variables.items()}
    u.fmi3GetNumberOfVariableDependencies(u.component, ctypes.c_uint32(reference), ctypes.byref(n))
    n = n.value if room is None else room
    of, on, element, kinds = (
        t * n for t in (ctypes.c_size_t, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_int)
    )
    of, on, element, kinds = of(), on(), element(), kinds()
    u.fmi3GetVariableDependencies(u.component, ctypes.c_uint32(reference), of, on, element, kinds, n)
    assert set(kinds) == {5}  # fmi3Dependent
    return sorted(zip(of, (names[k] for k in on), element, strict=True))


def test_dependencies_of_numbers_are_the_places_of_the_matrices(unit_3):
    """Element 0 is a variable of one number as a whole."""
    with Opened(unit_3, "ModelExchange") as m:
        assert dependencies(m, "der(p.x)") == [(1, "p.x", 2), (2, "p.x", 1), (2, "u", 2)]
        assert dependencies(m, "y") == [(0, "p.x", 1)]
        assert dependencies(m, "held") == [(1, "u", 1), (2, "u", 2)]
        refused(m, "fewer than was said", dependencies, m, "y", 2)
        refused(m, "more than was said", dependencies, m, "der(p.x)", 2)
        refused(m, "none the model computes", dependencies, m, "p.A")


def test_discrete_states_are_evaluated_in_event_mode(unit_3):
    """At its tick of 0.1 s the hold takes what is set, as often as it is set."""
    with Opened(unit_3, "ModelExchange", values={"u": [1.0, 2.0]}) as m:
        assert m.unit.updateDiscreteStates()[-2:] == (True, 0.1)
        m.unit.enterContinuousTimeMode()
        m.unit.setTime(0.1)
        m.unit.enterEventMode()
        assert m.get("held") == [1.0, 2.0]
        for value in (5.0, 7.0):
            m.set("u", [value, -value])
            m.unit.fmi3EvaluateDiscreteStates(m.unit.component)
            m.set("p.A", [0.0, value, -3.0, 0.0])
            assert m.get("held") == [value, -value]
        assert m.unit.updateDiscreteStates()[-2:] == (True, 0.2)
        assert m.get("u") == [7.0, -7.0] and m.get("p.A") == [0.0, 7.0, -3.0, 0.0]


@dataclass(frozen=True)
class Turning(B.Block):
    """On the circle of radius 1, a quarter of a turn in pi/2 s."""

    def define(self, b):
        x, y = b.continuous("x", 1.0), b.continuous("y", 0.0)
        b.derivative(x, -y)
        b.derivative(y, x)
        b.invariant(x * x + y * y - 1.0, tolerance=1e-9)
        b.output("x", x)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_states_off_an_invariant_ask_for_an_event_and_are_put_back(version, tmp_path):
    """The nearest point of the circle is on the line to its centre; within the tolerance nothing happens."""
    path = export_fmu(Turning(), tmp_path / "turning.fmu", version=version)
    with Opened(path, "ModelExchange") as m:
        update = m.unit.newDiscreteStates if m.is_2 else m.unit.updateDiscreteStates
        update()
        m.unit.enterContinuousTimeMode()
        for t, radius in ((0.1, 1.0 + 1e-11), (0.2, 1.1), (0.3, 0.9), (0.4, 1.0)):
            off, at = abs(radius - 1.0) > 1e-9, np.array([0.6, 0.8])
            m.unit.setTime(t)
            m.unit.setContinuousStates(doubles(*(radius * at)), 2)
            assert m.unit.completedIntegratorStep() == (off, False), radius
            m.unit.enterEventMode()
            changed = update()[3]
            assert bool(changed) is off
            x = doubles(0.0, 0.0)
            m.unit.getContinuousStates(x, 2)
            np.testing.assert_allclose(x, at if off else radius * at, atol=1e-8 if off else 0.0)
            m.unit.enterContinuousTimeMode()


def test_version_3_has_no_clocks_configuration_nor_schedule(unit_3):
    with Opened(unit_3) as m:
        u, no = m.unit, ctypes.c_size_t(0)
        one = (ctypes.c_uint32 * 1)(1)
        for name, more in (
            ("GetIntervalDecimal", 2), ("GetIntervalFraction", 3), ("GetShiftDecimal", 1),
            ("GetShiftFraction", 2), ("SetIntervalDecimal", 1), ("SetIntervalFraction", 2),
            ("SetShiftDecimal", 1), ("SetShiftFraction", 2), ("GetClock", 1), ("SetClock", 1),
        ):  # fmt: skip
            before = len(m.log)
            assert raw(m, name, one, no, *[None] * more) == 0 and len(m.log) == before
            assert raw(m, name, one, ctypes.c_size_t(1), *[None] * more) == 3
            assert "no variables of type Clock" in m.log[-1]
        refused(m, "no variables of type Binary", u.getBinary, [1])
        refused(m, "no variables of type Binary", u.setBinary, [1], [b"x"])
        for name in ("Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64",
                     "Boolean", "String"):  # fmt: skip
            refused(m, f"no variables of type {name}.", getattr(u, f"get{name}"), [1])
        assert raw(m, "ActivateModelPartition", ctypes.c_uint32(1), ctypes.c_double(0.0)) == 3
        assert "scheduled execution is not offered" in m.log[-1]
        refused(m, "fmi3ExitConfigurationMode was called", u.exitConfigurationMode)
    with Opened(unit_3, initialise=False) as m:
        refused(m, "no structural parameters", m.unit.enterConfigurationMode)
        said = []
        log = fmi3.fmi3LogMessageCallback(lambda *a: said.append(a[-1].decode()))
        token = m.description.guid.encode()
        none = (
            fmi3.fmi3ClockUpdateCallback(),
            fmi3.fmi3LockPreemptionCallback(),
            fmi3.fmi3UnlockPreemptionCallback(),
        )
        make = m.unit.dll.fmi3InstantiateScheduledExecution
        assert not make(b"x", token, b"", False, False, None, log, *none)
        assert said == ["scheduled execution is not offered."]


def test_variables_for_looks_into_a_step_have_to_exist(unit_3, tmp_path):
    place = fmpy.extract(str(unit_3), str(tmp_path))
    description = fmpy.read_model_description(place)
    refs = {v.name: v.valueReference for v in description.modelVariables}
    last = max(refs.values())
    for reference, made in ((refs["y"], True), (refs["u"], True), (refs["u"] + 1, False), (last + 9, False)):
        said = []
        how = {"logger": lambda *a, said=said: said.append(a[-1].decode())}
        wanted = {"required_intermediate_variables": [reference]}
        try:
            unit = instantiate_fmu(place, description, "CoSimulation", **how, **wanted)
        except Exception:
            assert not made and said == ["a required intermediate variable does not exist."]
        else:
            unit.freeInstance()
            assert made and not said


def test_a_state_needs_room_for_all_of_its_bytes(unit):
    with Opened(unit) as m:
        _, state = m.save()
        word, n = "FMUstate" if m.is_2 else "FMUState", ctypes.c_size_t()
        assert raw(m, f"Serialized{word}Size", state, ctypes.byref(n)) == 0
        byte = ctypes.c_char if m.is_2 else ctypes.c_ubyte
        room = (byte * (n.value + 8))(*b"\x55" * (n.value + 8))
        assert raw(m, f"Serialize{word}", state, room, ctypes.c_size_t(n.value - 1)) == 3
        assert set(bytes(room)) == {0x55}
        assert raw(m, f"Serialize{word}", state, room, n) == 0
        assert bytes(room) == m.bytes() + b"\x55" * 8


def test_entries_that_are_zero_by_structure_stay_so(unit_3):
    """A is one variable; its entries that are not zero are tunable."""
    with Opened(unit_3, initialise=False) as m:
        assert m.get("p.A") == A.ravel().tolist()
        m.set("p.A", [0.0, 2.0, -3.0, 0.0])
        assert m.get("p.A") == [0.0, 2.0, -3.0, 0.0]
        refused(m, "zero by the structure", m.set, "p.A", [0.5, 2.0, -3.0, 0.0])
        refused(m, "the model computes it", m.set, "time", 1.0)
        refused(m, "3 numbers were given for variables of 4", m.set, "p.A", [0.0, 1.0, 2.0])
        refused(m, "reference 999", m.unit.setFloat64, [999], [1.0])


def test_parameters_of_model_exchange_change_in_event_mode(unit):
    with Opened(unit, "ModelExchange") as m:
        name, value = ("p.A[1,2]", 2.0) if m.is_2 else ("p.A", [0.0, 2.0, -2.0, 0.0])
        m.set(name, value)
        (m.unit.newDiscreteStates if m.is_2 else m.unit.updateDiscreteStates)()
        m.unit.enterContinuousTimeMode()
        f = doubles(0.0, 0.0)
        (m.unit.getDerivatives if m.is_2 else m.unit.getContinuousStateDerivatives)(f, 2)
        assert list(f) == [2.0 * X[1], -2.0 * X[0]]
        refused(m, "parameters change in event mode", m.set, name, value)
        m.set("u[1]" if m.is_2 else "u", 1.0 if m.is_2 else [1.0, 1.0])  # inputs change at any time
