"""FMI 2.0 and 3.0 as an importer calls them, with functions of a test in the place of an FMU.

FMI 2.0.4, sections 2.1.5, 2.1.6, 3.2 and 4.2; FMI 3.0.2, sections 2.3.1, 2.3.3, 3.2 and 4.2.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface import dialect
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.dialect import FMI2, FMI3, IntermediateUpdate
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome
from tests.helpers.unit_in_python import Unit

OK, WARNING, DISCARD, ERROR, FATAL, PENDING = range(6)


def test_an_instance_of_version_2_is_of_its_kind_and_has_callbacks():
    for kind, number in (("me", 0), ("cs", 1)):
        one = Unit(2, Instantiate=lambda *given: "made")
        made, kept = one.dialect.instantiate(one.call, "nämé", kind, "{t}", b"r", one.log, True)
        ((_, name, type_, token, resources, functions, visible, logging),) = one.told
        assert (name, type_, token, resources, visible, logging) == (
            "nämé".encode(),
            number,
            b"{t}",
            b"r",
            0,
            1,
        )
        assert made == "made" and kept == [functions]
        given = (functions.logger, functions.allocateMemory, functions.freeMemory)
        assert (
            all(pointer != ffi().NULL for pointer in given) and len({str(pointer) for pointer in given}) == 3
        )
        assert functions.logger == ffi().cast("void *", one.log.callback)
        assert functions.stepFinished == ffi().NULL


def test_instances_of_version_3():
    """Without event mode or early return unless they are asked for; what C may call is kept alive."""
    null, made = ffi().NULL, lambda *given: "made"
    partitions = SimpleNamespace(update="update", lock="lock", unlock="unlock")
    head = (b"n", b"{t}", b"r", False, True, null)
    one = Unit(3, InstantiateModelExchange=made)
    found = one.dialect.instantiate(one.call, "n", "me", "{t}", b"r", one.log, True)
    assert found == ("made", []) and one.told == [("InstantiateModelExchange", *head, one.log.callback)]
    one = Unit(3, InstantiateScheduledExecution=made)
    found = one.dialect.instantiate(one.call, "n", "se", "{t}", b"r", one.log, True, partitions=partitions)
    last = (one.log.callback, "update", "lock", "unlock")
    assert found == ("made", [partitions]) and one.told == [("InstantiateScheduledExecution", *head, *last)]
    for events in (False, True):
        one = Unit(3, InstantiateCoSimulation=made)
        found = one.dialect.instantiate(one.call, "n", "cs", "{t}", b"r", one.log, events)
        given = (*head[:5], events, events, null, 0, null, one.log.callback, null)
        assert found == ("made", []) and one.told == [("InstantiateCoSimulation", *given)]
        one.told.clear()
        update = IntermediateUpdate("callback", [7, 9])
        found, kept = one.dialect.instantiate(one.call, "n", "cs", "{t}", b"r", one.log, events, update)
        ((_, *start, references, n, environment, log, callback),) = one.told
        assert start == [*head[:5], events, events] and (list(references), n) == ([7, 9], 2)
        assert (environment, log, callback) == (null, one.log.callback, "callback")
        assert found == "made" and kept[1] == "callback" and list(kept[0]) == [7, 9]


def test_resources_are_a_uri_or_a_path_with_a_separator(tmp_path):
    folder = tmp_path / "with blank"
    assert FMI3().resources(folder) == ffi().NULL
    (folder / "resources").mkdir(parents=True)
    assert FMI3().resources(folder) == (str(folder / "resources") + "/").encode()
    assert FMI2().resources(Path("/a b/c")) == b"file:///a%20b/c/resources"


@pytest.mark.parametrize(
    ("stop", "tolerance", "given"),
    [(None, None, (False, 0.0, 0.5, False, 0.0)), (2.0, 1e-6, (True, 1e-6, 0.5, True, 2.0)),
     (0.0, 0.0, (True, 0.0, 0.5, True, 0.0)), (None, 1e-3, (True, 1e-3, 0.5, False, 0.0))],
)  # fmt: skip
def test_the_experiment_is_told_before_or_with_initialization(stop, tolerance, given):
    for version in (2, 3):
        first = "SetupExperiment" if version == 2 else "EnterInitializationMode"
        one = Unit(version)
        one.dialect.enter_initialization(one.call, 0.5, stop, tolerance)
        more = [("EnterInitializationMode", "component")] if version == 2 else []
        assert one.told == [(first, "component", *given), *more]
        one = Unit(version, **{first: lambda *given: ERROR})
        with pytest.raises(FMUCallError, match=f"{first} returned error") as caught:
            one.dialect.enter_initialization(one.call, 0.5, stop, tolerance)
        assert ("stop_time=" in str(caught.value)) == (stop is None)


@pytest.mark.parametrize("way", [True, False])
@pytest.mark.parametrize("status", [OK, WARNING, DISCARD, ERROR, PENDING])
def test_a_step_of_version_2_says_its_status(status, way):
    one = Unit(2, DoStep=lambda *given: status)
    step = one.dialect.stepping(one.call, way)
    assert step(0.5, 0.25) == status and one.told == [("DoStep", "component", 0.5, 0.25, int(way))]


def fill(pointer, value):
    pointer[0] = value
    return OK


def test_what_becomes_of_a_step_of_version_2():
    """One that was discarded may say how far it came, and that the model ended it."""
    one = Unit(2)
    for status in (OK, WARNING):
        assert one.dialect.stepped(one.call, 0.5, 0.25, status) == StepOutcome(0.75)
    assert one.told == [] and one.call.time is None
    with pytest.raises(FMUCallError, match=r"fmi2DoStep returned error at t=0.5 s"):
        one.dialect.stepped(one.call, 0.5, 0.25, ERROR)
    for ended in (0, 1):
        one = Unit(
            2,
            GetBooleanStatus=lambda c, kind, p, e=ended: fill(p, e),
            GetRealStatus=lambda c, kind, p: fill(p, 0.625),
        )
        assert one.dialect.stepped(one.call, 0.5, 0.25, DISCARD) == StepOutcome(
            0.625, bool(ended), False, True, True
        )
        assert [told[:3] for told in one.told] == [
            ("GetBooleanStatus", "component", 3),
            ("GetRealStatus", "component", 2),
        ]
    for status in (WARNING, DISCARD, ERROR):  # a time that it says it does not know is not read
        one = Unit(2, GetRealStatus=lambda c, kind, p, s=status: fill(p, 0.625) or s)
        expected = 0.625 if status == WARNING else 0.5
        assert one.dialect.stepped(one.call, 0.5, 0.25, DISCARD) == StepOutcome(
            expected, False, False, True, True
        )


@pytest.mark.parametrize("last", [OK, WARNING, DISCARD, ERROR])
def test_a_step_in_the_background_is_awaited(monkeypatch, last):
    """Looked at after pauses that double from 10 us up to 1 ms."""
    pauses, looks = [], [PENDING] * 9 + [last]
    monkeypatch.setattr(dialect, "sleep", pauses.append)
    one = Unit(2, GetStatus=lambda c, kind, p: fill(p, looks.pop(0)))
    outcome = lambda: one.dialect.stepped(one.call, 0.5, 0.25, PENDING)
    if last == ERROR:
        with pytest.raises(FMUCallError, match="fmi2DoStep returned error"):
            outcome()
    elif last == DISCARD:
        assert outcome() == StepOutcome(0.5, False, False, True, True)
    else:
        assert outcome() == StepOutcome(0.75)
    assert pauses == pytest.approx([1e-5 * 2**k for k in range(7)] + [1e-3] * 2)
    assert [told[:3] for told in one.told[:10]] == [("GetStatus", "component", 0)] * 10


def test_a_step_in_the_background_that_nobody_knows_of():
    one = Unit(2, GetStatus=lambda c, kind, p: ERROR)
    with pytest.raises(
        FMUCallError, match=r"fmi2GetStatus returned error \(of a step that goes on in the background\)"
    ):
        one.dialect.stepped(one.call, 0.5, 0.25, PENDING)
    one = Unit(2, GetStatus=lambda c, kind, p: fill(p, OK) or WARNING)
    assert one.dialect.stepped(one.call, 0.5, 0.25, PENDING) == StepOutcome(0.75)


@pytest.mark.parametrize("status", [OK, WARNING, DISCARD, ERROR])
@pytest.mark.parametrize("flags", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_a_step_of_version_3_says_what_it_needs(status, flags):
    """Event mode, the end, or that it ended early, at a time of its own; a discarded one is not made."""
    event, ends, early = flags
    seen = []

    def step(component, t, h, way, e, end, returned, last):
        seen.append((component, t, h, way, last[0]))
        e[0], end[0], returned[0] = map(bool, flags)
        last[0] = 0.625
        return status

    one = Unit(3, DoStep=step)
    found = one.dialect.stepping(one.call, True)(0.5, 0.25)
    assert seen == [("component", 0.5, 0.25, True, 0.75)]
    assert found == (status or int(any(flags)))
    if status > DISCARD:
        with pytest.raises(FMUCallError, match=r"fmi3DoStep returned error at t=0.5 s"):
            one.dialect.stepped(one.call, 0.5, 0.25, found)
        return
    outcome = one.dialect.stepped(one.call, 0.5, 0.25, found)
    if status == DISCARD:
        assert outcome == StepOutcome(0.5, bool(ends), bool(event), True, True)
    elif any(flags):
        assert outcome == StepOutcome(0.625, bool(ends), bool(event), bool(early), False)
    else:
        assert outcome == StepOutcome(0.75) and one.call.time is None


@pytest.mark.parametrize("on", range(6))
def test_an_update_of_discrete_states(on):
    values = [k == on for k in range(5)]

    def update_2(component, info):
        (info.newDiscreteStatesNeeded, info.terminateSimulation, info.nominalsOfContinuousStatesChanged,
         info.valuesOfContinuousStatesChanged, info.nextEventTimeDefined) = map(int, values)  # fmt: skip
        info.nextEventTime = 1.5
        return OK

    def update_3(component, *pointers):
        for pointer, value in zip(pointers, (*values, 1.5), strict=True):
            pointer[0] = value
        return OK

    expected = DiscreteStates(*values[:4], 1.5 if values[4] else None)
    for one in (Unit(2, NewDiscreteStates=update_2), Unit(3, UpdateDiscreteStates=update_3)):
        assert one.dialect.update_discrete_states(one.call) == expected and one.told[0][1] == "component"


@pytest.mark.parametrize("version", [2, 3])
def test_a_completed_step_asks_for_event_mode_or_the_end(version):
    for flags in ((0, 0), (1, 0), (0, 1)):
        given = []

        def completed(component, way, enter, end, flags=flags, given=given):
            given.append(way)
            enter[0], end[0] = flags if version == 2 else map(bool, flags)
            return OK

        one = Unit(version, CompletedIntegratorStep=completed)
        assert one.dialect.completed_step(one.call) == tuple(map(bool, flags)) and given == [0]


@pytest.mark.parametrize("version", [2, 3])
def test_directional_derivatives_are_given_with_their_sizes(version):
    one, f = Unit(version), ffi()
    unknowns, knowns = f.new("uint32_t[]", 3), f.new("uint32_t[]", 2)
    seed, found = f.new("double[]", 2), f.new("double[]", 3)
    one.dialect.directional(one.call, unknowns, knowns, seed, found)
    numbers = (seed, found) if version == 2 else (seed, 2, found, 3)
    assert one.told == [("GetDirectionalDerivative", "component", unknowns, 3, knowns, 2, *numbers)]
