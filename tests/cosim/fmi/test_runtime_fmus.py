"""Values and calls of FMUs in C by themselves, with FMUs that are functions of a test.

Whole runs show little of them: where C gives up, the host is asked, and results are the same.
"""

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "fmu_values": '#include "fmu_values.c"',
    "fmus": """#include "fmus.c"
double near_of(const pl_fmu *u, double t) { return near_by(u, t); }
double own_time_of(const pl_fmu *u, double t) { return own_time(u, t); }
double run_time_of(double clock, double shown) { return pl_run_time(clock, shown); }
""",
}
CALLED = """
int pl_put_values(const pl_fmu_batch *b, const double *row);
int pl_take_values(const pl_fmu_batch *b, double *row);
double near_of(const pl_fmu *u, double t);
double own_time_of(const pl_fmu *u, double t);
double run_time_of(double clock, double shown);
typedef struct { int again, terminate, nominals, values, defined; double next; } event_info;
"""
OK, WARNING, DISCARD, ERROR = 0, 1, 2, 3


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


TYPES = [
    ("DOUBLE", "double", [1.5, -2.5], []),
    ("FLOAT", "float", [1.5, -2.5], []),
    ("BOOL", "_Bool", [1.0, 0.0], [math.nan]),
    ("INT_BOOL", "int", [1.0, 0.0], [math.nan]),
    ("INT", "int32_t", [-(2.0**31), 2.0**31 - 1], [2.0**31, 0.5, math.nan]),
    ("INT8", "int8_t", [-128.0, 127.0], [128.0, -129.0]),
    ("UINT8", "uint8_t", [0.0, 255.0], [256.0, -1.0]),
    ("INT16", "int16_t", [-32768.0, 32767.0], [32768.0, -32769.0]),
    ("UINT16", "uint16_t", [0.0, 65535.0], [65536.0, -1.0]),
    ("UINT32", "uint32_t", [0.0, 2.0**32 - 1], [2.0**32, -1.0]),
    ("INT64", "int64_t", [-(2.0**53), 2.0**53], [2.0**53 + 2, -(2.0**53) - 2]),
    ("UINT64", "uint64_t", [0.0, 2.0**53], [2.0**53 + 2, -1.0]),
]


@pytest.mark.parametrize(("kind", "type", "good", "bad"), TYPES)
def test_values_of_every_type_go_into_an_fmu_and_back(runtime, kind, type, good, bad):
    made, values = runtime.batch(getattr(runtime.c, f"PL_FMU_{kind}"), type, [2, 0])
    assert runtime.c.pl_put_values(made, runtime.array([good[0], 99.0, good[1]])) == 0
    assert list(values) == [good[1], good[0]]
    row = runtime.array([7.0, 7.0, 7.0])
    assert runtime.c.pl_take_values(made, row) == 0
    assert list(row) == [good[0], 7.0, good[1]]
    for number in bad:
        assert runtime.c.pl_put_values(made, runtime.array([good[0], 0.0, number])) == 1, number


def test_truth_is_any_number_but_zero(runtime):
    for kind, type in ((runtime.c.PL_FMU_BOOL, "_Bool"), (runtime.c.PL_FMU_INT_BOOL, "int")):
        made, values = runtime.batch(kind, type, [0, 1])
        assert runtime.c.pl_put_values(made, runtime.array([-2.5, 1.0])) == 0
        assert list(values) == [1, 1]


def test_types_that_are_none_and_integers_that_no_number_holds_are_refused(runtime):
    made, _ = runtime.batch(77, "double", [0])
    row = runtime.array([1.0])
    assert runtime.c.pl_put_values(made, row) == runtime.c.pl_take_values(made, row) == 1
    for kind, type in ((runtime.c.PL_FMU_INT64, "int64_t"), (runtime.c.PL_FMU_UINT64, "uint64_t")):
        made, values = runtime.batch(kind, type, [0])
        for number, refused in ((2**53, 0), (2**53 + 1, 1)):
            values[0] = number
            assert runtime.c.pl_take_values(made, row) == refused


def test_items_of_an_enumeration_are_its_own(runtime):
    """1 and 2 for the first value, anything for the second, 5 for the third; bad ones lie behind them."""
    made, values = runtime.batch(runtime.c.PL_FMU_INT, "int32_t", [0, 1, 2], [1, 2, 5, 9, 8, 8], [0, 2, 2, 3])
    for row, refused in (([2, 9, 5], 0), ([1, 3, 5], 0), ([5, 9, 5], 1), ([2, 9, 8], 1), ([2, 9, 2], 1)):
        assert runtime.c.pl_put_values(made, runtime.array(row)) == refused, row
    assert list(values) == [1, 3, 5]


class ModelExchange:
    """An FMU of one state, whose functions all answer `status`; `rounds` of its event mode."""

    def __init__(self, runtime, version, status=OK, rounds=1, flags=None, ends=False):
        self.runtime, self.status, self.rounds, self.flags = runtime, status, rounds, flags
        self.ends, self.done = ends, 0
        size = "int(void *, double *, size_t)"
        flagged = "int(void *, int, int *, int *)" if version == 2 else "int(void *, _Bool, _Bool *, _Bool *)"
        update = "int(void *, event_info *)" if version == 2 else (
            "int(void *, _Bool *, _Bool *, _Bool *, _Bool *, _Bool *, double *)")  # fmt: skip
        self.fmu = runtime.new(
            "pl_fmu", version=version, ready=1, begun=1, nx=1, t=math.nan, next=1e30, x=runtime.array([0.0]),
            set_time=runtime.pointer("int(void *, double)", lambda c, t: status),
            set_states=runtime.pointer(size, lambda c, x, n: status),
            get_states=runtime.pointer(size, self.states),
            completed=runtime.pointer(flagged, self.completed),
            enter_event_mode=runtime.pointer("int(void *)", lambda c: status),
            enter_continuous=runtime.pointer("int(void *)", lambda c: status),
            update=runtime.pointer(update, self.update_2 if version == 2 else self.update_3),
        )  # fmt: skip
        self.call = runtime.new("pl_fmu_call", fmu=self.fmu, parameters=2, request=3, results=4,
                                event=runtime.array([math.nan] * 7))  # fmt: skip

    def states(self, c, x, n):
        x[0] = 42.0
        return self.status

    def update_2(self, c, info):
        self.done += 1
        info.again, info.defined, info.next = self.done < self.rounds, 1, 8.5
        info.terminate = self.ends
        return self.status

    def update_3(self, c, again, terminate, nominals, values, defined, following):
        self.done += 1
        again[0], defined[0], following[0] = self.done < self.rounds, True, 8.5
        terminate[0] = self.ends
        return self.status

    def completed(self, c, no_way_back, event, terminate):
        if self.flags is not None:
            event[0], terminate[0] = self.flags
        return self.status

    def ask(self, what, request=1.0):
        self.call.what = what
        row = self.runtime.array([0.5, 3.0, 0.0, request, 7.0, 7.0, 7.0])
        return self.runtime.c.pl_ask_fmu(self.call, row), list(row)[4:]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("rounds", [1, 100, 101])
def test_event_mode_is_asked_until_it_settles(runtime, version, rounds):
    fmu = ModelExchange(runtime, version, WARNING, rounds)
    reason, found = fmu.ask(runtime.c.PL_FMU_EVENT)
    assert (reason, fmu.done) == (int(rounds > 100), min(rounds, 100))
    assert reason or found == [42.0, 8.5, 0.0]


@pytest.mark.parametrize("version", [2, 3])
def test_an_event_that_the_fmu_announced_before_is_left_to_the_host(runtime, version):
    """At t = 0.5, which is 2.5 of its own time, with x = 3."""
    for announced, left in ((2.75, 0), (2.5, 0), (2.25, 1)):
        fmu = ModelExchange(runtime, version)
        fmu.fmu.clock, fmu.fmu.next = 2.0, announced
        assert (fmu.ask(runtime.c.PL_FMU_EVENT)[0], fmu.done) == (left, 1 - left)
        assert left or fmu.fmu.reached == fmu.fmu.stands_from == 2.5


@pytest.mark.parametrize("version", [2, 3])
def test_inputs_are_set_where_they_are_others_than_this_call_set_before(runtime, version):
    """At one instant and state; those of another call, or of none since an event, are not what it has."""
    fmu, sets = ModelExchange(runtime, version), []
    u, call = fmu.fmu, fmu.call
    made, given = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [2])
    values = f"const uint32_t *, size_t, void *{', size_t)' if version == 3 else ')'}"
    made.function = runtime.pointer(f"int(void *, {values}", lambda *_: sets.append(given[0]) or OK)
    size = "int(void *, double *, size_t)"
    u.derivatives = runtime.pointer(size, lambda c, out, n: OK)
    call.what, call.width, call.parameters, call.results = runtime.c.PL_FMU_DERIVATIVES, 1, 3, 3
    call.inputs, call.n_inputs, call.inputs_set = made, 1, runtime.array([math.nan])

    def ask(t, x, v):
        assert runtime.c.pl_ask_fmu(call, runtime.array([t, x, v, 7.0])) == 0

    for t, x, v in [(0.5, 3.0, 4.0), (0.5, 3.0, 4.0), (0.5, 3.0, 6.0), (0.75, 3.0, 6.0), (0.75, 2.0, 6.0)]:
        ask(t, x, v)
    assert sets == [4.0, 6.0, 6.0, 6.0]
    for other in (runtime.ffi.NULL, runtime.new("pl_fmu_call")):
        u.set_by = other
        ask(0.75, 2.0, 6.0)
    assert sets[4:] == [6.0, 6.0]


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_that_ends_the_run_is_asked_no_more(runtime, version):
    """What it said at the newest event is kept, for code asks for each number."""
    fmu = ModelExchange(runtime, version, rounds=9, ends=True)
    assert fmu.ask(runtime.c.PL_FMU_EVENT, request=0.0) == (0, [0.0, 0.0, 0.0])
    for _ in range(2):
        assert fmu.ask(runtime.c.PL_FMU_EVENT) == (0, [42.0, 8.5, 1.0])
    assert (fmu.done, fmu.fmu.terminated, fmu.fmu.ready) == (1, 1, 0)
    assert fmu.ask(runtime.c.PL_FMU_COMPLETED)[0] == 1


@pytest.mark.parametrize("version", [2, 3])
def test_after_a_step_an_fmu_may_ask_for_an_event(runtime, version):
    """One that writes no flags asks for none."""
    for flags, asked in ((None, 0.0), ((0, 0), 0.0), ((1, 0), 1.0), ((0, 1), 1.0)):
        fmu = ModelExchange(runtime, version, WARNING, flags=flags)
        reason, found = fmu.ask(runtime.c.PL_FMU_COMPLETED)
        assert (reason, found[0], fmu.fmu.terminated) == (0, asked, int(flags == (0, 1)))


@pytest.mark.parametrize("version", [2, 3])
def test_the_event_at_the_start_is_left_to_the_host_where_the_fmu_is_not_ready(runtime, version):
    fmu = ModelExchange(runtime, version)
    fmu.fmu.begun = fmu.fmu.ready = 0
    assert fmu.ask(runtime.c.PL_FMU_EVENT, request=0.0) == (0, [0.0, 0.0, 0.0])
    assert fmu.ask(runtime.c.PL_FMU_EVENT)[0] == 1
    fmu.fmu.asked = 2
    assert fmu.ask(runtime.c.PL_FMU_COMPLETED) == (0, [2.0, 7.0, 7.0])
    assert (fmu.done, fmu.fmu.begun) == (0, 0)


@pytest.mark.parametrize(
    ("x", "u", "p", "begins"),
    [(3.0, 4.0, 5.0, True), (3.5, 4.0, 5.0, False), (3.0, 4.5, 5.0, False), (3.0, 4.0, 5.5, False)],
)
@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_that_stands_as_it_was_initialised_has_had_the_event_at_the_start(
    runtime, version, x, u, p, begins
):
    """Its states are those it has; other states, inputs or parameters are left to the host."""
    fmu, array = ModelExchange(runtime, version), runtime.array
    one, call = fmu.fmu, fmu.call
    one.begun, one.np, one.next, one.clock = 0, 1, 10.0, 2.0
    one.start, one.inputs_given, one.p = array([3.0]), array([4.0]), array([5.0])
    call.width, call.parameters, call.request, call.results = 1, 3, 5, 6
    call.event, call.what = array([math.nan] * 9), runtime.c.PL_FMU_EVENT
    for time in (0.5, 0.5, 0.75):  # asked for each number, then anew
        row = array([time, x, u, p, 0.0, 1.0, 7.0, 7.0, 7.0])
        found = runtime.c.pl_ask_fmu(call, row)
        assert (found, one.begun) == (int(not begins), int(begins))
        if not begins:
            return
        assert list(row)[6:] == [x if time == 0.5 else 42.0, 8.0 if time == 0.5 else 6.5, 0.0]
    assert fmu.done == 1  # at another time it is an event like others


class Begun(ModelExchange):
    """One that compiled code may initialise, with an input: `calls` it is asked, it `refuses` one."""

    def __init__(self, runtime, version, refuses="", given=OK, **keywords):
        super().__init__(runtime, version, **keywords)
        self.calls, self.refuses, self.given = [], refuses, given
        u, call = self.fmu, self.call
        u.begun = u.ready = 0
        u.np = u.nu = u.nx = 1
        u.start, u.p, u.inputs_given = map(runtime.array, ([42.0], [5.0], [4.0]))
        u.initialised, u.clock, u.stop, u.next = runtime.c.PL_FMU_MAY, 2.0, 9.0, 1e30
        told = "_Bool, double, double, _Bool, double)"
        if version == 2:
            u.setup = self.noted("setup", "int(void *, int, double, double, int, double)")
        u.enter_initialization = self.noted("enter", "int(void *)" if version == 2 else f"int(void *, {told}")
        u.exit_initialization = self.noted("exit", "int(void *)")
        u.enter_continuous = self.noted("continuous", "int(void *)")
        values = f"const uint32_t *, size_t, void *{', size_t)' if version == 3 else ')'}"
        made, self.input = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [2])
        made.function = self.noted("set", f"int(void *, {values}")
        call.all, call.n_all, call.width = made, 1, 1
        call.parameters, call.request, call.results = 3, 5, 6

    def noted(self, name, kind):
        def called(c, *given):
            self.calls.append((name, *(x for x in given if isinstance(x, float | int))))
            return self.given if name == self.refuses else self.status

        return self.runtime.pointer(kind, called)

    def update_2(self, c, info):
        self.calls.append(("update",))
        return self.given if self.refuses == "update" else super().update_2(c, info)

    def update_3(self, c, *given):
        self.calls.append(("update",))
        return self.given if self.refuses == "update" else super().update_3(c, *given)

    def begin(self, x=42.0, u=4.5, p=5.0, what=None):
        self.call.what = self.runtime.c.PL_FMU_INDICATORS if what is None else what
        row = self.runtime.array([0.5, x, u, p, 0.0, 1.0, 7.0, 7.0, 7.0])
        return self.runtime.c.pl_initialise_fmu(self.call, self.call, row)

    @property
    def names(self):
        return [name for name, *_ in self.calls]


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_is_initialised_at_its_own_time_with_the_inputs_of_a_run(runtime, version):
    fmu = Begun(runtime, version, status=WARNING, rounds=2)
    assert fmu.begin() == 0
    told = [("setup", 0, 0.0, 2.5, 1, 9.0), ("enter",)]
    told = told if version == 2 else [("enter", False, 0.0, 2.5, True, 9.0)]
    assert [c for c in fmu.calls if c[0] != "set"] == [
        *told,
        ("exit",),
        ("update",),
        ("update",),
        ("continuous",),
    ]
    assert (fmu.names[0], fmu.input[0]) == ("set", 4.5)
    u = fmu.fmu
    assert (u.initialised, u.ready, u.begun, u.t, u.next) == (runtime.c.PL_FMU_DONE, 1, 0, 2.5, 8.5)
    assert (u.stands_from, u.inputs_given[0], u.x[0]) == (2.5, 4.5, 42.0)
    calls = len(fmu.calls)
    assert fmu.begin() == 1  # it has been
    assert len(fmu.calls) == calls


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_without_an_end_is_told_none(runtime, version):
    fmu = Begun(runtime, version)
    fmu.fmu.stop = math.nan
    assert fmu.begin() == 0
    assert fmu.calls[1][-2:] == (0, 0.0)


@pytest.mark.parametrize("version", [2, 3])
def test_other_starts_than_its_own_are_left_to_the_host(runtime, version):
    """Nothing is called then; outputs may not look at all inputs, and are given those of the description."""
    outputs = runtime.c.PL_FMU_OUTPUTS
    for row in ({"x": 42.5}, {"p": 5.5}, {"p": math.nan}, {"what": outputs}):
        fmu = Begun(runtime, version)
        assert fmu.begin(**row) == 1
        assert (fmu.calls, fmu.fmu.initialised) == ([], runtime.c.PL_FMU_MAY)
    assert Begun(runtime, version).begin(u=4.0, what=outputs) == 0
    fmu = Begun(runtime, version)
    fmu.call.width = 0
    assert (fmu.begin(), fmu.calls) == (1, [])


@pytest.mark.parametrize("version", [2, 3])
def test_what_an_fmu_refuses_while_it_is_initialised_is_known(runtime, version):
    c = runtime.c
    refused = {"enter": c.PL_REFUSED_ENTER, "exit": c.PL_REFUSED_EXIT, "update": c.PL_REFUSED_UPDATE,
               "continuous": c.PL_REFUSED_CONTINUOUS}  # fmt: skip
    if version == 2:
        refused["setup"] = c.PL_REFUSED_SETUP
    for name, number in refused.items():
        fmu = Begun(runtime, version, refuses=name, given=ERROR)
        assert fmu.begin() == 1
        u = fmu.fmu
        assert (u.refused, u.status, u.initialised, u.ready) == (number, ERROR, c.PL_FMU_ANEW, 0)
        assert (fmu.names[-1], fmu.names.count(name), u.stands_from) == (name, 1, 2.5)
    fmu = Begun(runtime, version, refuses="set", given=DISCARD)
    assert (fmu.begin(), fmu.names, fmu.fmu.initialised) == (1, ["set"], c.PL_FMU_MAY)


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_that_is_initialised_to_something_else_is_handed_over(runtime, version):
    """To other states, or to the end of the run; one that does not settle is begun anew by the host."""
    c = runtime.c
    fmu = Begun(runtime, version)
    fmu.fmu.start = runtime.array([3.0])
    assert (fmu.begin(x=3.0), fmu.fmu.initialised, fmu.fmu.ready) == (1, c.PL_FMU_OTHERWISE, 0)
    fmu = Begun(runtime, version, ends=True)
    assert (fmu.begin(), fmu.fmu.initialised, fmu.fmu.terminated) == (1, c.PL_FMU_OTHERWISE, 1)
    assert "continuous" not in fmu.names
    fmu = Begun(runtime, version, rounds=101)
    assert (fmu.begin(), fmu.fmu.initialised, fmu.fmu.refused) == (1, c.PL_FMU_ANEW, c.PL_REFUSED_NONE)
    assert fmu.done == 100


def test_pointers_into_a_block_that_is_copied_are_moved_along(runtime):
    """The second number points to the fourth; others stay as they are."""
    f, array = runtime.ffi, runtime.array
    first, second = array([1.5, 0.0, 2.5, 3.5]), array([0.0] * 4)
    f.cast("double **", first)[1] = first + 3
    runtime.c.pl_copy_block(second, first, 4, array([8], "int32_t"), 1)
    assert f.cast("double **", second)[1] == second + 3
    assert (second[0], second[2], second[3]) == (1.5, 2.5, 3.5)


@pytest.mark.parametrize("version", [2, 3])
def test_what_an_fmu_refuses_is_left_to_the_host(runtime, version):
    for what in (runtime.c.PL_FMU_EVENT, runtime.c.PL_FMU_COMPLETED, 9):
        assert ModelExchange(runtime, version, DISCARD).ask(what)[0] == 1


@pytest.mark.parametrize(
    ("clock", "shown", "since"),
    [(0.0, 1 / 3, 1 / 3), (123.4, 123.5, 0.1), (-1.35, 0.1, 1.45), (1e5, 1e5 + 0.1 + 1e-10, 0.1),
     (-1e5, 0.1, 100000.1), (2.0, 1.5, -0.5)],
)  # fmt: skip
def test_the_time_of_a_run_is_the_decimal_that_was_meant(runtime, clock, shown, since):
    assert runtime.c.run_time_of(clock, shown) == since


@pytest.mark.parametrize(
    ("clock", "t", "apart"),
    [(0.0, 0.5, 1e-12), (0.0, 1e3, 1e-9), (-1e3, 1e3, 2e-9), (2.0, 2.0, 1e-12),
     (1e5, 1e5 + 1.0, 5e-14 * (1e5 + 1.0)), (-1e5, -1e5 + 1.0, 5e-9)],
)  # fmt: skip
def test_instants_this_near_are_one(runtime, clock, t, apart):
    fmu = runtime.new("pl_fmu", clock=clock)
    assert runtime.c.near_of(fmu, t) == pytest.approx(apart, rel=1e-9, abs=0.0)


def test_an_fmu_stands_at_the_very_time_that_it_announced(runtime):
    """Or a little later, where its newest event was that; else where the run is."""
    fmu = runtime.new("pl_fmu", clock=2.0, next=3.0 + 4e-13, stands_from=2.5 + 4e-13)
    own = lambda t: runtime.c.own_time_of(fmu, t)
    assert own(1.0) == own(1.0 + 8e-13) == 3.0 + 4e-13
    assert own(1.0 - 8e-13) == 2.0 + (1.0 - 8e-13)
    assert own(0.5) == 2.5 + 4e-13 and own(0.5 + 8e-13) == 2.0 + (0.5 + 8e-13)
    assert own(0.5 - 8e-13) == 2.0 + (0.5 - 8e-13)  # it is too early for that
    assert own(0.75) == 2.75
