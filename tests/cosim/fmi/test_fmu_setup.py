"""What a block derives from an FMU's description, function by function."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from cosim.fmi import setup
from cosim.fmi.description import ClockTiming, Unit, Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.fmu import FMU
from cosim.fmi.reading import _check_clock, _clock, _interface
from cosim.fmi.session import Session
from cosim.fmi.setup import Setup


def variable(name, causality="parameter", variability="tunable", **more):
    return Variable(name, 1, "Float64", causality, variability, **more)


def made(description, kind="cs", **fields):
    return Setup(
        description,
        SimpleNamespace(kind=kind),
        (),
        **({"parameters": (), "start": {}, "component": None} | fields),
    )


def test_stepping_is_that_of_the_kind(monkeypatch):
    given = lambda name: lambda *a: (name, *a)
    for name in ("ScheduledSteps", "EventModeSteps", "CoSimulationSteps", "EventRounds"):
        monkeypatch.setattr(setup, name, given(name))
    monkeypatch.setattr(setup, "clocked", lambda watched: ["clocked", *watched])
    d = SimpleNamespace(clocks=[SimpleNamespace(name="c")])
    start = {"c": Fraction(1, 2), "p": 2.0}
    assert made(d, "se", start=start).steps("one", ["v"]) == (
        "ScheduledSteps",
        "one",
        d,
        {"c": Fraction(1, 2)},
    )
    rounds = ("EventRounds", "one", d, {"c": Fraction(1, 2)}, ["clocked", "v"])
    assert made(d, start=start, ticks=True).steps("one", ["v"]) == ("EventModeSteps", "one", rounds)
    assert made(d, start=start).steps("one", ["v"]) == ("CoSimulationSteps", "one")


def test_parameters_that_no_run_takes_have_advice():
    """Structural ones and texts are given where the FMU is named; of an alias its other name is said."""
    p, n = variable("p", start=1.0), variable("n", "structuralParameter", "fixed", start=3.0)
    other = variable("q", alias_of="p", start=1.0)
    y, u = variable("y", "output", "continuous"), variable("u", "input", "continuous", start=1.0)
    d = SimpleNamespace(variables={v.name: v for v in (p, n, other, y, u)})
    one = made(d, parameters=(p,))
    assert one.start_only == {"q": "It is another name of 'p'."}
    assert one.built_anew == {"n": "Give it where the FMU is named: FMU(..., start={'n': ...})."}


def test_units_of_differences_have_no_offset():
    """0 degC are 273.15 K; a difference of 1 degC is 1 K (FMI 3.0.2, section 2.4.4.1: relativeQuantity)."""
    celsius = Unit("degC", {"K": 1}, 1.0, 273.15)
    one = made(SimpleNamespace(units={"degC": celsius}))
    for relative, offset in ((False, 273.15), (True, 0.0)):
        found = one.unit_of(variable("T", unit="degC", relative_quantity=relative))
        assert (found.offset, found.factor) == (offset, 1.0)
    assert one.unit_of(variable("x")) == ""


def test_start_values_of_a_setup_are_not_to_be_changed():
    p, a = variable("p", start=1.0), variable("a", start=(2.0, 3.0), shape=(2,))
    one = made(SimpleNamespace(), parameters=(p, a), start={"p": 5.0})
    assert one.defaults.tolist() == [1.0, 2.0, 3.0] and one.parameter_start.tolist() == [5.0, 2.0, 3.0]
    for found in (one.defaults, one.parameter_start):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1.0


@pytest.mark.parametrize(
    ("own", "experiment", "expected"),
    [(0.5, 0.1, 0.5), (None, 0.1, 0.1), (0.5, None, 0.5), (None, None, None)],
)
def test_the_communication_step_is_the_units_own_or_that_of_the_experiment(own, experiment, expected):
    d = SimpleNamespace(experiment=SimpleNamespace(step=experiment), file="u.fmu")
    interface = SimpleNamespace(kind="cs", fixed_internal_step=own, variable_step=True)
    one = SimpleNamespace(description=d, sample=None, offset=0, start_values={})
    assert FMU._checked_sample(one, interface) == expected


def test_start_values_of_arrays_of_another_size_are_asked_of_the_fmu_itself():
    resized = variable("a", start=(1.0, 2.0), shape=(3,))
    given, n = (
        variable("b", start=(1.0, 2.0), shape=(3,)),
        variable("n", "structuralParameter", "fixed", start=2.0),
    )
    d = SimpleNamespace(variables={v.name: v for v in (resized, given, n)}, structural=[n])
    told = []

    def component():
        return SimpleNamespace(
            configure=lambda values: told.append(values), close=lambda: told.append("close"),
            get=lambda v: told.append(v.name) or np.array([7, 8, 9]),
        )  # fmt: skip

    one = SimpleNamespace(description=d, start_values={"n": 3, "b": [1.0] * 3}, component=component)
    assert FMU._asked_starts(one) == {"a": (7.0, 8.0, 9.0)} and told == [{n: 3}, "a", "close"]
    told.clear()
    one.start_values["a"] = [1.0] * 3
    assert FMU._asked_starts(one) == {} and told == []
    del one.start_values["a"]

    def refuses(v):
        raise FMUError("no")

    one.component = lambda: SimpleNamespace(
        configure=lambda values: None, get=refuses, close=lambda: told.append("close")
    )
    assert FMU._asked_starts(one) == {} and told == ["close"]


@pytest.mark.parametrize(
    ("attributes", "interval", "shift"),
    [
        ({"intervalCounter": "3", "resolution": "10"}, Fraction(3, 10), 0),
        ({"intervalDecimal": "0.1"}, Fraction(1, 10), 0), ({}, None, 0),
        ({"intervalCounter": "3", "intervalDecimal": "0.25"}, Fraction(1, 4), 0),
        ({"resolution": "4", "intervalDecimal": "0.5", "shiftCounter": "3"}, Fraction(1, 2), Fraction(3, 4)),
        ({"resolution": "10"}, None, 0), ({"intervalCounter": "3"}, None, 0),
        ({"shiftDecimal": "0.2"}, None, Fraction(1, 5)),
    ],
)  # fmt: skip
def test_times_of_clocks_are_counted_or_decimal(attributes, interval, shift):
    """FMI 3.0.2, section 2.2.9.2: counters are counts of 1/resolution s."""
    found = _clock({"intervalVariability": "constant", "priority": "2"} | attributes)
    assert (found.kind, found.interval, found.shift, found.priority) == ("constant", interval, shift, 2)
    assert _clock({}).priority is None


@pytest.mark.parametrize("interval", [Fraction(0), Fraction(-1, 2), Fraction(1, 10**9), None])
def test_clocks_have_intervals_above_0(interval):
    d = SimpleNamespace(fault=lambda what, *rest, **more: FMUError(what))
    clock = SimpleNamespace(name="c", line=3, causality="input")
    check = lambda: _check_clock(d, clock, ClockTiming("constant", interval))
    if interval is not None and interval > 0:
        check()
        return
    said = (
        "is constant but has no interval" if interval is None else f"has an interval of {float(interval):g} s"
    )
    with pytest.raises(FMUError, match=said):
        check()


def test_outputs_have_no_derivatives_unless_it_is_said():
    found = _interface("cs", SimpleNamespace(modelIdentifier="m"), {})
    assert found.output_derivative_order == 0 and not found.directional_derivatives
    for name in ("providesDirectionalDerivative", "providesDirectionalDerivatives"):
        for word, given in (("true", True), ("1", True), ("false", False)):
            assert (
                _interface("me", SimpleNamespace(modelIdentifier="m"), {name: word}).directional_derivatives
                == given
            )
    assert _interface("me", None, None) is None


# --- by hand ----------------------------------------------------------------------------------------------


class Batch:
    """A value that is read or set by one call, which answers `status`."""

    status = 0

    def __init__(self, call, dialect, variables, way):
        self.pointer = [0.5]

    def prepared(self):
        return lambda: Batch.status

    def run(self):
        raise FMUCallError("it says why")


@pytest.fixture
def session(monkeypatch):
    from cosim.fmi import session as module

    class Component:
        call = dialect = None
        closed = False

    monkeypatch.setattr(module, "Component", Component)
    monkeypatch.setattr(module, "ValueBatch", Batch)
    u = variable("u", "input", "continuous", start=1.0)
    clock = SimpleNamespace(name="c", clock="clock", type="Clock", shape=(), causality="input")
    one = Session.__new__(Session)
    one.component = Component()
    one.description = SimpleNamespace(
        major=3, variables={"u": u}, variable={"u": u, "c": clock}.get, triggers=(clock,), structural=(),
        file="u.fmu", fault=lambda what, *rest, **more: FMUError(what),
    )  # fmt: skip
    one._steps = SimpleNamespace(counts={"c": 0}, values={}, arrive=lambda *given: one.told.append(given))
    one._getters, one._setters, one.told, one.time = {}, {}, [], math.nan
    one.terminated = False
    one._quick = None
    return one


def test_a_value_that_the_fmu_refuses_is_an_error_and_a_warning_is_none(session):
    for status, well in ((0, True), (1, True), (2, False), (3, False)):
        Batch.status = status
        for act in (lambda: session.set("u", 2.0), lambda: session.get("u")):
            if well:
                act()
            else:
                with pytest.raises(FMUCallError, match="it says why"):
                    act()


def test_what_is_closed_is_neither_read_nor_set(session):
    session.component.closed = True
    for act in (lambda: session.set("u", 2.0), lambda: session.get("u"), lambda: session.set("c", True)):
        with pytest.raises(FMUError, match="it is closed"):
            act()


def test_a_clock_ticks_where_it_is_set_to_true(session):
    with pytest.raises(FMUError, match="cannot tick before initialize"):
        session.set("c", True)
    session.time = 0.5
    session.set("c", False)
    assert session.told == []
    session.set("c", True)
    assert session.told == [(0.5, None, [session.description.triggers[0]])]
    for wrong in (2, "yes", 0.5):
        with pytest.raises(FMUError):
            session.set("c", wrong)
