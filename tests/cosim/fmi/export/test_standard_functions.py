"""Functions of FMI 2.0 and 3.0 of exported units in C, by themselves: what they pass on, answer and refuse.

When each may be called is a table of the standards: FMI 2.0.4, sections 3.2.3 and 4.2.4; FMI 3.0.2, sections
2.3, 3.2 and 4.2. The unit behind them is stubs that note their calls.
"""

from __future__ import annotations

import pytest

from tests.helpers.runtime_parts import Runtime, parts
from tests.helpers.unit_functions import (
    CALLED,
    MODES,
    NO_TYPES_2,
    NO_TYPES_3,
    STATES_2,
    STATES_3,
    STUBS,
    Instance,
)

OK, WARNING, DISCARD, ERROR, FATAL = range(5)
HAS, ALL_2, RUNNING = "netsxf", "inetsxf", "netsx"
EXCHANGE_2 = {
    "EnterEventMode": "et", "NewDiscreteStates": "e", "EnterContinuousTimeMode": "e",
    "CompletedIntegratorStep": "t", "SetTime": "et", "SetContinuousStates": "t", "GetDerivatives": "netxf",
    "GetEventIndicators": "netxf", "GetContinuousStates": "netxf", "GetNominalsOfContinuousStates": ALL_2,
}  # fmt: skip
STEPS_2 = {
    "SetRealInputDerivatives": "ins", "GetRealOutputDerivatives": "sxf", "DoStep": "s", "CancelStep": ALL_2,
    "GetStatus": ALL_2, "GetRealStatus": "sxf", "GetIntegerStatus": ALL_2, "GetBooleanStatus": "sxf",
    "GetStringStatus": ALL_2,
}  # fmt: skip
BOTH_2 = {
    "SetDebugLogging": ALL_2, "SetupExperiment": "i", "EnterInitializationMode": "i",
    "ExitInitializationMode": "n", "Terminate": "ets", "Reset": ALL_2, "GetReal": HAS, "SetReal": "inets",
    "GetDirectionalDerivative": HAS, **dict.fromkeys(STATES_2, ALL_2),
    **{f"Get{kind}": HAS for kind in NO_TYPES_2}, **{f"Set{kind}": "inets" for kind in NO_TYPES_2},
}  # fmt: skip
ANY, OUTSIDE, SETTABLE = "".join(MODES), "icnetsxfr", "icnetsr"
EXCHANGE_3 = {
    "EnterContinuousTimeMode": "e", "SetTime": "et", "SetContinuousStates": "t",
    "GetContinuousStateDerivatives": "netxf", "GetContinuousStates": "netxf",
    "GetNominalsOfContinuousStates": "icnetxf", "GetEventIndicators": "netxf",
}  # fmt: skip
STEPS_3 = {"EnterStepMode": "e"}
BOTH_3 = {
    "SetDebugLogging": ANY, "EnterInitializationMode": "i", "ExitInitializationMode": "n", "Terminate": "ets",
    "Reset": OUTSIDE, "EnterConfigurationMode": "i", "ExitConfigurationMode": "cr",
    "EvaluateDiscreteStates": "e",
    "UpdateDiscreteStates": "e", "GetNumberOfEventIndicators": ANY, "GetNumberOfContinuousStates": ANY,
    "GetFloat64": ANY, "SetFloat64": SETTABLE, "GetBinary": ANY, "SetBinary": SETTABLE, "GetClock": ANY,
    "SetClock": SETTABLE, "GetNumberOfVariableDependencies": ANY, "GetVariableDependencies": ANY,
    "GetDirectionalDerivative": HAS, "GetAdjointDerivative": HAS, "GetOutputDerivatives": "sxf",
    "CompletedIntegratorStep": "t", "DoStep": "s",
    "EnterEventMode": "t", **dict.fromkeys(STATES_3[:2], OUTSIDE),
    **dict.fromkeys(STATES_3[2:], ANY),
    **{f"Get{kind}": ANY for kind in NO_TYPES_3}, **{f"Set{kind}": SETTABLE for kind in NO_TYPES_3},
}  # fmt: skip
TABLES = ((2, EXCHANGE_2, (1,)), (2, STEPS_2, (0,)), (2, BOTH_2, (0, 1)), (3, EXCHANGE_3, (1,)),
          (3, STEPS_3, (0,)), (3, BOTH_3, (0, 1)))  # fmt: skip
ALLOWED = [(version, name, modes, kinds) for version, table, kinds in TABLES for name, modes in table.items()]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), STUBS, CALLED))


@pytest.mark.parametrize(("version", "name", "modes", "kinds"), ALLOWED, ids=lambda v: str(v))
def test_functions_are_called_in_the_modes_of_the_standard(runtime, version, name, modes, kinds):
    """Elsewhere, and of an instance of the other kind, they are refused and nothing happens."""
    for letter in MODES if version == 3 else ALL_2:
        for exchange in (0, 1):
            one = Instance(runtime, version, letter, exchange)
            one.c.begin(0, 0, runtime.array([0], "int"), 0.0)
            status = one.blank(name)
            story = one.ffi.string(one.c.told()).decode()
            refused = f"[fmi{version}{name} is not allowed]" == story
            assert refused == (letter not in modes), (letter, exchange, story)
            if refused or exchange not in kinds:
                assert status == ERROR
                why = "" if version == 2 else f"[3 m: fmi3{name}: the instance is for"
                assert refused or story[: len(why) or None] == why
                assert one.mode == letter


@pytest.mark.parametrize(("version", "name"), [entry[:2] for entry in ALLOWED], ids=lambda v: str(v))
def test_without_an_instance_there_is_an_error(runtime, version, name):
    one = Instance(runtime, version)
    assert one.blank(name, instance=runtime.ffi.NULL) == ERROR


@pytest.mark.parametrize(("version", "name", "modes", "kinds"), ALLOWED, ids=lambda v: str(v))
def test_pointers_that_are_null_are_named(runtime, version, name, modes, kinds):
    """The process of the importer ended: it crashed where the unit wrote to them."""
    one = Instance(runtime, version, modes[0], kinds[0], (0.5,), 1)
    kinds_of = runtime.ffi.typeof(getattr(runtime.c, f"fmi{version}{name}")).args[1:]
    given = [runtime.ffi.NULL if kind.kind == "pointer" else 1 for kind in kinds_of]
    status, story = one.call(name, *given)
    without = ("FMUstate", "FMUState", "InputDerivatives", "GetStatus", "IntegerStatus", "StringStatus")
    if any(kind.kind == "pointer" for kind in kinds_of) and not any(word in name for word in without):
        assert status == ERROR and ("null pointer" in story or "no variables" in story), story
    assert status in (OK, ERROR)


# --- instances --------------------------------------------------------------------------------------------


def words(runtime, *texts):
    made = [runtime.ffi.new("char[]", text.encode()) for text in texts]
    runtime.kept += made
    return made


def instantiated(
    runtime, version, kind, name="one", token="{token}", logger=True, verbose=0, events=0, early=0,
    required=(), update=None,
):  # fmt: skip
    """The unit, and what was called."""
    r, null = runtime, runtime.ffi.NULL
    r.c.begin(0, 0, r.array([0], "int"), 0.0)
    place = r.array([1], "int")
    environment = r.ffi.cast("void *", place)
    given = [
        w if t is not None else null
        for t, w in zip((name, token), words(r, name or "", token or ""), strict=True)
    ]
    if version == 2:
        log = r.ffi.addressof(r.c, "logger_2") if logger else null
        functions = r.new("fmi2CallbackFunctions", logger=r.ffi.cast("fmi2CallbackLogger", log),
                          componentEnvironment=environment)  # fmt: skip
        made = r.c.fmi2Instantiate(
            given[0], kind, given[1], null, functions if logger is not None else null, 0, verbose
        )
    else:
        log = r.ffi.cast("fmi3LogMessageCallback", r.ffi.addressof(r.c, "logger_3") if logger else null)
        head = (*given, null, False, bool(verbose))
        if kind == 0:
            made = r.c.fmi3InstantiateModelExchange(*head, environment, log)
        else:
            made = r.c.fmi3InstantiateCoSimulation(
                *head, bool(events), bool(early), r.array(required, "uint32_t"), len(required), environment,
                log, update or r.ffi.NULL,
            )  # fmt: skip
    return r.ffi.cast("unit *", made), r.ffi.string(r.c.told()).decode().strip()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", [0, 1])
def test_an_instance_is_of_its_kind_and_logs_through_the_importer(runtime, version, kind):
    """FMI 2.0.4, section 2.1.5; FMI 3.0.2, section 2.3.1: model exchange, 0, and co-simulation."""
    for verbose in (0, 1):
        u, story = instantiated(runtime, version, kind, verbose=verbose)
        assert story == f"create(one,{1 - kind})" and (u.verbose, u.exchange) == (verbose, 1 - kind)
        runtime.c.begin(0, 0, runtime.array([0], "int"), 0.0)
        runtime.c.log_with(u, 2, *words(runtime, "logEvents", "5 % of 100 %d"))
        name = "one " if version == 2 else ""
        assert runtime.ffi.string(runtime.c.told()).decode() == f"<1 {name}2 logEvents 5 % of 100 %d>"
    u, _ = instantiated(runtime, version, kind, logger=False)
    assert u.log == runtime.ffi.NULL


def test_lines_of_version_2_are_cut_where_a_sign_fits_whole(runtime):
    """The buffer has 2048 characters; a percent sign takes two of them, and the end one."""
    u, _ = instantiated(runtime, 2, 1)
    for text, shown in (
        ("a" * 3000, "a" * 2046),
        ("%" * 3000, "%" * 1023),
        ("a" + "%" * 3000, "a" + "%" * 1023),
    ):
        runtime.c.begin(0, 0, runtime.array([0], "int"), 0.0)
        runtime.c.log_with(u, 0, *words(runtime, "c", text))
        assert runtime.ffi.string(runtime.c.told()).decode() == f"<1 one 0 c {shown}>"


@pytest.mark.parametrize("version", [2, 3])
def test_an_instance_needs_a_name_and_the_token_of_its_model(runtime, version):
    wrong = [({"name": name}, "needs a name") for name in (None, "")]
    wrong += [({"token": token}, "do not belong together") for token in (None, "{other}")]
    for changed, text in wrong:
        u, story = instantiated(runtime, version, 1, **changed)
        assert u == runtime.ffi.NULL and text in story and " 3 logStatusError" in story
        u, story = instantiated(runtime, version, 1, logger=False, **changed)
        assert u == runtime.ffi.NULL and story == ""
    runtime.c.take_memory(1)
    try:
        u, story = instantiated(runtime, version, 0)
        assert u == runtime.ffi.NULL and "4 logStatusFatal no memory" in story
        assert instantiated(runtime, version, 0, logger=False) == (runtime.ffi.NULL, "")
    finally:
        runtime.c.take_memory(0)


def test_version_2_without_callbacks_or_of_a_third_kind(runtime):
    u, story = instantiated(runtime, 2, 1, logger=None)
    assert story == "create(one,0)" and u.log == u.environment == runtime.ffi.NULL
    u, story = instantiated(runtime, 2, 2)
    assert u == runtime.ffi.NULL and "neither model exchange nor co-simulation" in story


def test_co_simulation_of_version_3_says_how_it_is_used(runtime):
    for events, early in ((0, 1), (1, 0)):
        u, _ = instantiated(runtime, 3, 1, events=events, early=early, required=(0, 1, 4, 6))
        assert (u.pauses, u.early, u.intermediate) == (events, early, runtime.ffi.NULL)
    for missing in (2, 5, 7, 8):
        u, story = instantiated(runtime, 3, 1, required=(0, missing))
        assert u == runtime.ffi.NULL and "intermediate variable does not exist" in story
        assert instantiated(runtime, 3, 1, required=(0, missing), logger=False) == (runtime.ffi.NULL, "")


def test_scheduled_execution_is_not_offered(runtime):
    null, r = runtime.ffi.NULL, runtime
    r.c.begin(0, 0, r.array([0], "int"), 0.0)
    log = r.ffi.cast("fmi3LogMessageCallback", r.ffi.addressof(r.c, "logger_3"))
    for given, told in ((log, "<0 3 logStatusError scheduled execution is not offered.>"), (null, "")):
        r.c.begin(0, 0, r.array([0], "int"), 0.0)
        rest = (null, null, null)
        made = r.c.fmi3InstantiateScheduledExecution(
            *words(r, "a", "{token}"), null, 0, 0, null, given, *rest
        )
        assert made == null and r.ffi.string(r.c.told()).decode() == told


def test_the_importer_looks_into_a_step_and_may_end_it(runtime):
    """FMI 3.0.2, section 4.2.2: values may be read, a step of the solver is done, and it may return early."""
    seen = []

    def update(environment, t, sets, gets, finished, may_return, ends, until):
        seen.append((environment != runtime.ffi.NULL, t, sets, gets, finished, may_return, u.mode))
        ends[0], until[0] = wanted
        if fails:
            u.mode = MODES["f"]

    kind = "void(void *, double, bool, bool, bool, bool, bool *, double *)"
    callback = runtime.ffi.cast("fmi3IntermediateUpdateCallback", runtime.function(kind, update))
    for early in (0, 1):
        u, _ = instantiated(runtime, 3, 1, early=early, update=callback)
        u.context.t = 1.5
        for wanted, fails in (((True, 1.25), False), ((False, 1.75), False), ((True, 1.0), True)):
            u.mode, pause = MODES["s"], runtime.new("unit_pause")
            u.intermediate(u, pause)
            assert seen.pop() == (True, 1.5, False, True, True, bool(early), MODES["m"])
            if fails:
                assert u.mode == MODES["f"] and (pause.ends, pause.until) == (0, 0.0)
            else:
                assert u.mode == MODES["s"] and (pause.ends, pause.until) == (early and wanted[0], wanted[1])


@pytest.mark.parametrize("version", [2, 3])
def test_events_are_logged_where_all_or_they_are_asked_for(runtime, version):
    one = Instance(runtime, version)
    categories = runtime.array(words(runtime, "logStatusError", "logEvents", "other"), "char *")
    for on, n, shown in ((1, 0, 1), (0, 0, 0), (1, 1, 0), (1, 2, 1), (0, 2, 0), (1, 3, 1)):
        one.u.verbose = 1 - shown
        assert one.call("SetDebugLogging", on, n, categories)[0] == OK
        assert one.u.verbose == shown
    assert one.call("SetDebugLogging", 1, 2, categories + 1) == (OK, "") and one.u.verbose == 1


@pytest.mark.parametrize("version", [2, 3])
def test_freeing_and_resetting(runtime, version):
    one = Instance(runtime, version, "f")
    assert one.call("Reset") == (OK, "reset")
    one.c.begin(0, 0, runtime.array([0], "int"), 0.0)
    getattr(one.c, f"fmi{version}FreeInstance")(one.u)
    getattr(one.c, f"fmi{version}FreeInstance")(runtime.ffi.NULL)
    assert one.ffi.string(one.c.told()) == b"free(1) free(0) "


def test_versions(runtime):
    texts = (runtime.c.fmi2GetVersion(), runtime.c.fmi2GetTypesPlatform(), runtime.c.fmi3GetVersion())
    assert [runtime.ffi.string(text) for text in texts] == [b"2.0", b"default", b"3.0"]


# --- modes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [OK, ERROR])
def test_an_experiment_is_passed_on(runtime, status):
    one = Instance(runtime, 2, "i")
    begin = "begin(1,0.25,2,1,5)"
    assert one.call("SetupExperiment", 1, 0.25, 2.0, 1, 5.0, answer=status) == (status, begin)
    assert one.mode == "i"
    assert one.call("EnterInitializationMode", answer=status) == (OK, "") and one.mode == "n"
    one = Instance(runtime, 3, "i")
    assert one.call("EnterInitializationMode", 1, 0.25, 2.0, 1, 5.0, answer=status) == (status, begin)
    assert one.mode == ("i" if status else "n")
    assert one.call("EnterConfigurationMode")[0] == ERROR


@pytest.mark.parametrize(
    ("version", "exchange", "pauses", "mode", "status", "then"),
    [
        (2, 0, 0, "n", OK, "s"), (2, 1, 0, "n", OK, "e"), (3, 0, 0, "n", OK, "s"), (3, 1, 0, "n", OK, "e"),
        (3, 0, 1, "n", OK, "e"), (2, 0, 0, "n", DISCARD, "f"), (3, 1, 0, "n", ERROR, "f"),
    ],
)  # fmt: skip
def test_after_initialisation_come_steps_or_events(runtime, version, exchange, pauses, mode, status, then):
    one = Instance(runtime, version, mode, exchange)
    one.u.pauses = pauses
    found, story = one.call("ExitInitializationMode", answers=[status])
    assert (found, one.mode) == (ERROR if status else OK, then)
    assert story == ("initialised event_mode" if then == "e" else "initialised")


@pytest.mark.parametrize("version", [2, 3])
def test_ending_a_run(runtime, version):
    one = Instance(runtime, version, "s")
    assert one.call("Terminate") == (OK, "") and one.mode == "x"


def test_event_mode_of_co_simulation_where_it_is_used(runtime):
    """FMI 3.0.2, section 4.2.1: from step mode where `eventModeUsed` was said; and back once all is done."""
    for pauses in (0, 1):
        one = Instance(runtime, 3, "s")
        one.u.pauses = pauses
        assert one.call("EnterEventMode") == ((OK, "event_mode") if pauses else
                                              (ERROR, "[fmi3EnterEventMode is not allowed]"))  # fmt: skip
    one.u.due = 2
    status, story = one.call("EnterStepMode")
    assert status == ERROR and "an event waits" in story and one.mode == "e"
    one.u.due = 0
    assert one.call("EnterStepMode") == (OK, "") and one.mode == "s"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("answer", [OK, WARNING, DISCARD, ERROR])
def test_event_and_continuous_time_mode_are_passed_on(runtime, version, answer):
    one = Instance(runtime, version, "t", 1)
    assert one.call("EnterEventMode", answer=answer) == (answer, "event_mode")
    assert one.call("EnterContinuousTimeMode", answer=answer) == (answer, "continuous_mode")


def test_from_one_event_to_the_next_goes_what_is_discrete(runtime):
    for states, crossings, refused in (((), 0, False), ((0.5,), 0, True), ((), 1, True)):
        one = Instance(runtime, 2, "e", 1, states, crossings)
        status, story = one.call("EnterEventMode")
        assert (status, "not allowed" in story) == ((ERROR, True) if refused else (OK, False))


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("answer", [OK, DISCARD, ERROR])
def test_an_update_says_what_it_found(runtime, number, answer):
    """None is needed again; the time of the next event is 7.5 s where there is one, else 0."""
    ends, changed, next = bool(number & 1), bool(number & 2), bool(number & 4)
    one = Instance(runtime, 2, "e", 1)
    info = runtime.new("fmi2EventInfo", newDiscreteStatesNeeded=1, nominalsOfContinuousStatesChanged=1)
    status, story = one.call("NewDiscreteStates", info, answer=answer, number=number)
    assert (status, story, one.mode) == (ERROR if answer else OK, "update(000)", "f" if answer else "e")
    assert (info.newDiscreteStatesNeeded, info.nominalsOfContinuousStatesChanged) == (0, 0)
    flags = (info.terminateSimulation, info.valuesOfContinuousStatesChanged, info.nextEventTimeDefined)
    assert tuple(map(bool, flags)) == (ends, changed, next) and info.nextEventTime == (7.5 if next else 0.0)
    one = Instance(runtime, 3, "e", 1)
    flags, time = runtime.array([True] * 5, "bool"), runtime.array([1.0])
    status, story = one.call(
        "UpdateDiscreteStates", *(flags + k for k in range(5)), time, answer=answer, number=number
    )
    assert (status, story, one.mode) == (ERROR if answer else OK, "update(000)", "f" if answer else "e")
    assert list(flags) == [False, ends, False, changed, next] and time[0] == (7.5 if next else 0.0)
    one = Instance(runtime, 3, "e", 1)
    found = one.call("EvaluateDiscreteStates", answer=answer)
    assert (*found, one.mode) == (ERROR if answer else OK, "update(000)", "f" if answer else "e")


@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_completed_step_asks_for_events_or_the_end(runtime, number):
    for version, kind in ((2, "int"), (3, "bool")):
        one = Instance(runtime, version, "t", 1)
        enter, end = runtime.array([1], kind), runtime.array([1], kind)
        assert one.call("CompletedIntegratorStep", 1, enter, end, answer=1, number=number) == (1, "completed")
        assert (bool(enter[0]), bool(end[0])) == (number == 2, number == 4)


@pytest.mark.parametrize("version", [2, 3])
def test_time_and_states(runtime, version):
    """FMI 3.0.2, section 3.2.1: as many numbers as there are states or indicators, no more and no fewer."""
    rates = "GetDerivatives" if version == 2 else "GetContinuousStateDerivatives"
    one = Instance(runtime, version, "t", 1, states=(3.0, 4.0), crossings=1)
    assert one.call("SetTime", 2.5) == (OK, "time(2.5)")
    given = one.doubles(5.0, 6.0)
    assert one.call("SetContinuousStates", given, 2) == (OK, "states(5)")
    for name, expected, story in (("GetContinuousStates", [3.0, 4.0], ""), (rates, [13.0, 14.0], "rates"),
                                  ("GetNominalsOfContinuousStates", [0.5, 2.0], "")):  # fmt: skip
        out = one.doubles(-1.0, -1.0, -1.0)
        assert one.call(name, out, 2) == (OK, story)
        assert list(out) == [*expected, -1.0]
    assert one.call(rates, one.doubles(0.0, 0.0), 2, answer=DISCARD) == (DISCARD, "rates")
    out = one.doubles(-1.0, -1.0)
    assert one.call("GetEventIndicators", out, 1, answer=1, number=0.5) == (1, "indicators")
    assert list(out) == [0.5, -1.0]
    sizes = dict.fromkeys(("SetContinuousStates", "GetContinuousStates", rates), 2)
    for name, right in (sizes | {"GetEventIndicators": 1, "GetNominalsOfContinuousStates": 2}).items():
        for n in (right - 1, right + 1):
            text = f"[3 m: fmi{version}{name} got {n} numbers, expected {right}.]"
            assert one.call(name, one.doubles(0.0, 0.0, 0.0), n) == (ERROR, text)
    if version == 3:
        n = one.new("size_t")
        assert one.call("GetNumberOfContinuousStates", n) == (OK, "") and n[0] == 2
        assert one.call("GetNumberOfEventIndicators", n) == (OK, "") and n[0] == 1


@pytest.mark.parametrize("version", [2, 3])
def test_while_a_unit_initialises_its_start_is_found_first(runtime, version):
    rates = "GetDerivatives" if version == 2 else "GetContinuousStateDerivatives"
    for name, n, behind in (
        ("GetContinuousStates", 2, ""),
        (rates, 2, " rates"),
        ("GetEventIndicators", 1, " indicators"),
    ):
        one = Instance(runtime, version, "n", 1, states=(3.0, 4.0), crossings=1)
        assert one.call(name, one.doubles(0.0, 0.0), n) == (OK, f"settle{behind}")
        assert one.call(name, one.doubles(0.0, 0.0), n, answers=[DISCARD]) == (ERROR, "settle")


# --- communication steps ----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [OK, WARNING, DISCARD, ERROR, FATAL])
@pytest.mark.parametrize("number", range(8))
def test_a_step_ends_as_the_unit_says(runtime, status, number):
    """FMI 2.0.4, section 4.2.1: a step that the model ended is discarded; FMI 3.0.2, 4.2.1: it says so."""
    ended, event, early = bool(number & 1), bool(number & 2), bool(number & 4)
    one = Instance(runtime, 2)
    found = one.call("DoStep", 2.0, 0.5, 1, answer=status, number=number)
    assert found == (DISCARD if status == OK and ended else status, "step(2,0.5)")
    assert one.mode == ("f" if status >= ERROR else "s")
    one = Instance(runtime, 3)
    flags, last = runtime.array([False] * 3, "bool"), runtime.array([0.0])
    found = one.call("DoStep", 2.0, 0.5, 1, flags, flags + 1, flags + 2, last, answer=status, number=number)
    assert found == (status, "step(2,0.5)") and one.mode == ("f" if status >= ERROR else "s")
    assert list(flags) == [event, ended, early] and last[0] == 2.5


def test_version_2_answers_of_the_last_step(runtime):
    """Of `fmi2StatusKind` there are 2, the last time, and 3, whether the model ended."""
    one = Instance(runtime, 2)
    one.u.last = 1.25
    waits = lambda name: (ERROR, f"[3 m: fmi2{name}: steps end before fmi2DoStep returns.]")
    text = one.ffi.cast("fmi2String *", runtime.array([one.ffi.NULL], "char *"))
    values = {
        "RealStatus": one.doubles(0.0), "BooleanStatus": one.new("int"), "IntegerStatus": one.new("int"),
        "Status": runtime.array([0], "fmi2Status"), "StringStatus": text,
    }  # fmt: skip
    answered = {"RealStatus": 2, "BooleanStatus": 3}
    for stopped in (0, 1, 2):
        one.u.context.stopped = stopped
        for name, value in values.items():
            for kind in range(4):
                found = one.call(f"Get{name}", kind, value)
                assert found == ((OK, "") if answered.get(name) == kind else waits(f"Get{name}"))
        assert values["RealStatus"][0] == 1.25 and values["BooleanStatus"][0] == bool(stopped)
    assert one.call("CancelStep") == waits("CancelStep")


def test_version_2_takes_no_slopes_of_inputs(runtime):
    one = Instance(runtime, 2)
    order, slope = runtime.array([1], "int"), one.doubles(1.0)
    assert one.call("SetRealInputDerivatives", one.refs(0), 0, order, slope) == (OK, "")
    status, story = one.call("SetRealInputDerivatives", one.refs(0), 1, order, slope)
    assert status == ERROR and "inputs are held over a step" in story
