"""What a component calls when, and makes of it, with functions of a test in the place of an FMU."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import numpy as np
import pytest

from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome
from tests.helpers.unit_in_python import Unit

OK, WARNING, DISCARD, ERROR, FATAL = range(5)
GET = {2: ("GetFMUstate", "SetFMUstate", "FreeFMUstate"), 3: ("GetFMUState", "SetFMUState", "FreeFMUState")}


def component(unit, **can):
    """Of a unit, without its making."""
    made = Component.__new__(Component)
    description = SimpleNamespace(file="u.fmu", fault=lambda text: FMUError(f"FMU 'u.fmu': {text}."))
    interface = dict.fromkeys(
        ("directional_derivatives", "can_get_and_set_state", "can_serialize_state"), True
    )
    made.description, made.interface, made.name = description, SimpleNamespace(**interface | can), "one"
    made.call, made.dialect, made._stepping, made._partitions = unit.call, unit.dialect, None, None
    return made


def names(unit):
    """Of what was called."""
    return [told[0] for told in unit.told]


def test_modes_are_entered_and_left_by_one_call_each():
    unit = Unit(3)
    one = component(unit)
    for method, function in (
        ("exit_initialization", "ExitInitializationMode"), ("terminate", "Terminate"), ("reset", "Reset"),
        ("enter_step_mode", "EnterStepMode"), ("enter_event_mode", "EnterEventMode"),
        ("enter_continuous_time_mode", "EnterContinuousTimeMode"),
    ):  # fmt: skip
        unit.told.clear()
        getattr(one, method)()
        assert unit.told == [(function, "component")]
    unit.told.clear()
    one.enter_initialization(0.5, 2.0, 1e-6)
    assert unit.told == [("EnterInitializationMode", "component", True, 1e-6, 0.5, True, 2.0)]
    assert unit.call.time == 0.5
    one.set_time(0.75)
    assert unit.told[-1] == ("SetTime", "component", 0.75) and unit.call.time == 0.75


def test_after_an_error_nothing_is_terminated_until_a_reset_or_a_saved_state():
    """FMI 3.0.2, section 2.3.1: from the error there is no way to the terminated state."""
    unit = Unit(3)
    one = component(unit)
    state = one.save()
    for back in (one.reset, lambda: one.load(state)):
        unit.does["EnterEventMode"] = lambda c: ERROR
        with pytest.raises(FMUCallError):
            one.enter_event_mode()
        assert unit.call.failing
        unit.told.clear()
        one.terminate()
        assert unit.told == []
        unit.call.time = 1.0
        back()
        one.terminate()
        assert names(unit)[-1] == "Terminate" and not unit.call.failing
    unit.call.dead = True
    unit.told.clear()
    one.terminate()
    assert unit.told == []
    unit.call.dead = False
    one.reset()
    assert unit.call.time is None


def test_structural_parameters_are_set_in_a_mode_of_their_own():
    unit = Unit(3)
    one = component(unit)
    set_ = []
    one.set = lambda variable, value: set_.append((variable, value, names(unit)))
    one.configure({})
    assert unit.told == [] and set_ == []
    one.configure({"n": 2, "m": 3})
    assert [s[:2] for s in set_] == [("n", 2), ("m", 3)]
    assert names(unit) == ["EnterConfigurationMode", "ExitConfigurationMode"] and set_[1][2] == [
        "EnterConfigurationMode"
    ]


def test_a_step_says_whether_a_state_before_it_may_come_back():
    unit = Unit(2)
    one = component(unit)
    for way in (True, True, False, True):
        unit.told.clear()
        assert one.step(0.5, 0.25, way) == StepOutcome(0.75)
        assert unit.told == [("DoStep", "component", 0.5, 0.25, int(way))] and unit.call.time == 0.75
    one.step(0.75, 0.25)
    assert unit.told[-1] == ("DoStep", "component", 0.75, 0.25, 1)
    assert one.stepping()(1.0, 0.5) == OK and unit.told[-1] == ("DoStep", "component", 1.0, 0.5, 0)
    assert one.stepped(1.0, 0.5, OK) == StepOutcome(1.5) and unit.call.time == 1.5
    references = [3, 4]
    one.set_input_derivatives(references, "orders", "values")
    assert unit.told[-1] == ("SetRealInputDerivatives", "component", references, 2, "orders", "values")


@pytest.mark.parametrize("reached", [np.nan, np.inf, -np.inf])
def test_a_step_that_gets_to_no_time_is_an_error(reached):
    """It counted as a whole step: no number is less than where it should have come to."""
    unit = Unit(3)
    one = component(unit)
    one.log = SimpleNamespace(shown=lambda: "It said nothing.")
    event, terminate, early, last = unit.call.step_room
    event[0] = terminate[0] = False
    early[0], last[0] = True, reached
    with pytest.raises(FMUCallError, match=rf"fmi3DoStep says that it got to t={reached} from t=1 s"):
        one.stepped(1.0, 0.5, OK)


@pytest.mark.parametrize("rounds", [1, 2, 3, 100, 101])
def test_rounds_in_event_mode_end_where_nothing_changes(rounds):
    """FMI 3.0.2, section 2.3.5. Flags are of any round, the next event is that of the last."""
    one = component(Unit(3))
    one.call.time = 1.5
    all_ = [DiscreteStates(k < rounds, False, k == 1, k == 2, float(k)) for k in range(1, rounds + 1)]
    one.dialect = SimpleNamespace(update_discrete_states=lambda call: all_.pop(0))
    if rounds > 100:
        with pytest.raises(
            FMUCallError, match=r"discrete states still change after 100 rounds at t=1.5 s"
        ) as caught:
            one.update_discrete_states()
        assert (caught.value.path, caught.value.time) == ("one", 1.5)
        return
    found = one.update_discrete_states()
    assert found == DiscreteStates(False, False, True, rounds >= 2, float(rounds)) and not all_


def test_rounds_end_with_the_simulation():
    one = component(Unit(3))
    all_ = [DiscreteStates(True, False, False, True, 2.0), DiscreteStates(True, True, False, False, None)]
    one.dialect = SimpleNamespace(update_discrete_states=lambda call: all_.pop(0))
    assert one.update_once() == DiscreteStates(True, False, False, True, 2.0)
    assert one.update_discrete_states() == DiscreteStates(False, True, False, False, None)


@pytest.mark.parametrize("version", [2, 3])
def test_states_and_what_follows_from_them_go_through_arrays(version):
    rates = "GetDerivatives" if version == 2 else "GetContinuousStateDerivatives"
    functions = {"states": "GetContinuousStates", "derivatives": rates, "indicators": "GetEventIndicators",
                 "nominals": "GetNominalsOfContinuousStates"}  # fmt: skip

    def give(component, pointer, n):
        pointer[0], pointer[n - 1] = 5.0, 7.0
        return WARNING

    unit = Unit(version, **dict.fromkeys(functions.values(), give))
    unit.has = lambda name: True
    one = component(unit)
    for method, function in functions.items():
        unit.told.clear()
        out = np.array([1.0, 2.0, 3.0])
        assert getattr(one, method)(out) is out and out.tolist() == [5.0, 2.0, 7.0]
        assert names(unit) == [function] and unit.told[0][3] == 3
        assert len(getattr(one, method)(np.zeros(0))) == 0 and len(unit.told) == 1
        unit.does[function] = lambda *given: DISCARD
        with pytest.raises(FMUCallError, match=rf"{function} returned discard \(for 3 numbers"):
            getattr(one, method)(out)
    unit.told.clear()
    given = []
    unit.does["SetContinuousStates"] = lambda c, pointer, n: given.append(list(pointer[0:n])) or OK
    one.set_states(np.array([1.0, 2.0]))
    one.set_states(np.zeros(0))
    assert given == [[1.0, 2.0]] and len(unit.told) == 1
    unit.has = lambda name: name != unit.dialect.prefix + "GetNominalsOfContinuousStates"
    assert one.nominals(np.zeros(2)).tolist() == [1.0, 1.0]


def test_numbers_of_states_and_indicators_that_an_instance_reports():
    assert component(Unit(2)).counts() is None
    fill = lambda n: lambda c, pointer: pointer.__setitem__(0, n) or OK
    unit = Unit(3, GetNumberOfContinuousStates=fill(4), GetNumberOfEventIndicators=fill(2))
    assert component(unit).counts() == (4, 2)
    unit.does["GetNumberOfEventIndicators"] = lambda *given: ERROR
    assert component(unit).counts() is None


def test_derivatives_are_found_where_the_fmu_gives_them():
    def product(component, unknowns, n, knowns, m, seed, n_seed, found, n_found):
        assert (list(unknowns), list(knowns), n, m, n_seed, n_found) == ([3, 4], [7, 8, 9], 2, 3, 3, 3)
        for k in range(n_found):
            found[k] = 10.0 * seed[k]
        return OK

    unit = Unit(3, GetDirectionalDerivative=product)
    variable = lambda reference, size=1: SimpleNamespace(reference=reference, size=size)
    unknowns, knowns = [variable(3), variable(4, 2)], [variable(7), variable(8), variable(9)]
    found = component(unit).directional(unknowns, knowns, np.array([1, 2, 3]))
    assert found.tolist() == [10.0, 20.0, 30.0]
    with pytest.raises(FMUError, match="no directional derivatives"):
        component(unit, directional_derivatives=False).directional(unknowns, knowns, np.zeros(3))


@pytest.mark.parametrize("version", [2, 3])
def test_a_saved_state_is_freed_once_and_not_after_a_fatal_error(version):
    save, load, free = GET[version]
    held = ffi().cast("void *", 77)
    unit = Unit(version, **{save: lambda c, pointer: pointer.__setitem__(0, held) or OK})
    one = component(unit)
    state = one.save()
    assert list(unit.call.saved.values()) == [state.pointer]
    one.load(state)
    assert unit.told[-1] == (load, "component", ffi().cast("void *", 77))
    state.close()
    state.close()
    assert names(unit) == [save, load, free] and unit.told[-1][2] == state.pointer and unit.call.saved == {}
    state = one.save()
    del state
    gc.collect()
    assert names(unit)[3:] == [save, free]
    state = one.save()
    unit.call.dead = True
    state.close()
    assert names(unit)[5:] == [save]
    with pytest.raises(FMUError, match="canGetAndSetFMUState is false"):
        component(unit, can_get_and_set_state=False).save()


@pytest.mark.parametrize("version", [2, 3])
def test_a_state_as_bytes(version):
    """Of the size the FMU says; the state itself is freed, whether it can be loaded or not."""
    save, load, free = GET[version]
    two = ("SerializedFMUstateSize", "SerializeFMUstate", "DeSerializeFMUstate")
    three = ("SerializedFMUStateSize", "SerializeFMUState", "DeserializeFMUState")
    size, write, read = two if version == 2 else three
    state = ffi().cast("void *", 77)
    given = []

    def written(component, pointer, room, n):
        assert (pointer, n) == (state, 3)
        ffi().memmove(room, b"\x01\x00\xff", 3)
        return OK

    def back(component, room, n, pointer):
        given.append(bytes(ffi().buffer(room))[:n])
        pointer[0] = state
        return OK

    sized = lambda c, pointer, n: (pointer == state and n.__setitem__(0, 3)) or OK
    unit = Unit(version, **{write: written, read: back, size: sized})
    unit.does[save] = lambda c, pointer: pointer.__setitem__(0, state) or OK
    one = component(unit)
    assert one.serialized() == b"\x01\x00\xff" and names(unit) == [save, size, write, free]
    unit.told.clear()
    one.deserialize(b"\x01\x00\xff")
    assert names(unit) == [read, load, free] and given == [b"\x01\x00\xff"] and unit.told[1][2] == state
    unit.does[load] = lambda *given: ERROR
    unit.told.clear()
    with pytest.raises(FMUCallError):
        one.deserialize(b"\x01")
    assert names(unit) == [read, load, free] and given[1:] == [b"\x01"]
    with pytest.raises(FMUError, match="canSerializeFMUState is false"):
        component(unit, can_serialize_state=False).serialized()
