"""The phases of a run in C: what is called in which order, and where a run that came back goes on."""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

# what run.c calls, as one function of the test that is told their names' places
CALLS = [
    "initialise", "count_ticks", "segments", "events", "log_ticks", "log_instant", "room", "delayed_jumps",
    "next_stop", "forget_missed", "begin_stretch", "take_step", "log_within", "end_step", "log_step",
    "endless", "constants", "begin_events", "begin_timed",
]  # fmt: skip
STUBS = """
int pl_initialise(pl_run *r) { return told(0, r); }
void pl_count_ticks(pl_run *r, double t) { r->value = t; told(1, r); }
int pl_run_segments(pl_run *r) { return told(2, r); }
int pl_handle_events(pl_run *r) { return told(3, r); }
int pl_log_ticks(pl_run *r) { return told(4, r); }
int pl_log_instant(pl_run *r) { return told(5, r); }
int pl_histories_have_room(const pl_run *r) { return !told(6, (pl_run *)r); }
void pl_schedule_delayed_jumps(pl_run *r) { told(7, r); }
double pl_next_stop(const pl_run *r) { told(8, (pl_run *)r); return r->last_good; }
void pl_forget_missed(pl_run *r) { told(9, r); }
int pl_begin_stretch(pl_run *r) { return told(10, r); }
int pl_take_step(pl_run *r) { return told(11, r); }
int pl_log_within(pl_run *r) { return told(12, r); }
int pl_end_step(pl_run *r) { return told(13, r); }
int pl_log_step(pl_run *r, double t, const double *x) { r->value = t; return told(14, r); }
int pl_is_endless(pl_run *r, double t) { r->value = t; return told(15, r); }
void pl_update_constants(pl_run *r) { told(16, r); }
void pl_begin_events(pl_run *r, int located, int which)
{ r->located = located; r->which = which; told(17, r); }
void pl_begin_timed_events(pl_run *r, int segment) { r->timed_segment = segment; told(18, r); }
void pl_set_state(pl_run *r, double t, const double *x) { r->context->t = t; r->context->x[0] = x[0]; }
double pl_one_instant(double begin, double stop) { return 1e-6; }
int pl_repeat_events(pl_run *r) { return r->loop_rounds > 0 ? r->loop_rounds-- > 90 ? PL_UNSETTLED : 1 : 0; }
void pl_forget_pace(pl_run *r) { r->pace_since = NAN; }
"""
TEXTS = {
    "run": "#include <math.h>\n#include <plantloop.h>\nint (*script)(int call, pl_run *r);\n"
    "static int told(int call, pl_run *r) { return script(call, r); }\n"
    f'{STUBS}\n#include "run.c"\n'
}
CALLED = """
extern int (*script)(int call, pl_run *r);
"""
ALL, BEFORE = range(2)
INSTANT = ["count_ticks", "segments", "begin_events", "log_ticks", "log_instant"]
STEP = ["room", "take_step", "log_within", "end_step"]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Run:
    """A run from 0 s on whose steps are `step` s long; ticks every `period` s.

    answers : by the name of a call, what it returns, one after the other; then 0
    """

    def __init__(
        self, runtime, step=0.5, period=1.0, answers=None, nx=1, events=0, delays=0, again=0, **fields
    ):
        self.calls, self.runtime, self.step, self.period = [], runtime, step, period
        self.answers = {name: list(values) for name, values in (answers or {}).items()}
        self.at = {}  # what is done at a call
        self.context = runtime.new("pl_context", x=runtime.array([0.0]), started=0)
        self.r = runtime.run(
            {"nx": nx}, {"n_events": events, "n_delays": delays, "n_again": again}, context=self.context,
            budget=100, x0=runtime.array([0.0]), x1=runtime.array([0.0]), located=-1, index=7, **fields,
        )  # fmt: skip
        self.r.missed = self.r.farthest = self.r.largest = runtime.array([0.0])
        self.r.n_idle = runtime.array([0], "int32_t")
        self.function = runtime.function("int(int, pl_run *)", self.told)
        runtime.c.script = self.function

    def told(self, call, r):
        name, r = CALLS[call], self.r
        self.calls.append(name)
        if name == "initialise":
            self.context.started = 1
        if name == "next_stop":
            k = math.floor(self.context.t / self.period + 1e-9) + 1
            r.last_good = k * self.period
        if name == "begin_stretch":
            r.t0, r.arrived, r.begin = self.context.t, 0, self.context.t
        if name == "take_step":
            r.located = -1
            r.t1 = min(r.t0 + self.step, r.stop)
            r.arrived = not r.t1 < r.stop
        if name == "end_step":
            r.t0, r.x0[0] = r.t1, 10.0 * r.t1
        if name in self.at:
            self.at[name]()
        return self.answers[name].pop(0) if self.answers.get(name) else 0

    def advance(self, until):
        """What it came back with, and what was called."""
        self.calls.clear()
        self.r.last_good = 0.0
        self.runtime.c.script = self.function
        reason = self.runtime.c.pl_advance(self.r, until)
        assert self.calls.pop(0) == "constants"
        return reason, list(self.calls)


def test_a_run_goes_from_stop_to_stop_and_all_happens_in_its_order(runtime):
    run = Run(runtime)
    reason, calls = run.advance(0.0)
    assert (reason, run.context.t) == (0, 0.0) and calls == ["initialise", *INSTANT]
    reason, calls = run.advance(1.5)
    between = [*STEP, "log_step", "endless", *STEP]
    first = ["room", "next_stop", "forget_missed", "begin_stretch", *between, *INSTANT]
    second = ["room", "next_stop", "forget_missed", "begin_stretch", *STEP, *INSTANT]
    assert reason == 0 and calls == [*first, *second]
    assert (run.context.t, run.context.x[0], run.r.index) == (1.5, 15.0, -1)
    assert run.r.horizon == math.inf
    assert run.advance(1.5) == (0, [])
    run.context.stopped = 1
    assert run.advance(5.0) == (0, [])


def test_with_events_and_delays_they_have_their_places(runtime):
    run = Run(runtime, step=9.0, events=1, delays=1)
    run.context.started = 1
    _, calls = run.advance(1.0)
    instant = ["count_ticks", "segments", "begin_events", "events", "log_ticks", "log_instant"]
    assert calls == ["room", "delayed_jumps", "next_stop", "forget_missed", "begin_stretch", *STEP, *instant]
    assert (run.r.which, run.r.located) == (ALL, -1)


def test_without_states_the_context_keeps_its_own(runtime):
    run = Run(runtime, nx=0)
    run.context.started, run.context.x[0] = 1, 3.0
    run.advance(1.0)
    assert run.context.x[0] == 3.0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("take_step", "PL_COLLAPSED"), ("log_within", "PL_FULL"), ("log_step", "PL_FULL"),
        ("log_ticks", "PL_FULL_TICKS"), ("log_instant", "PL_FULL"),
        ("segments", "PL_CALL"),
        ("events", "PL_FULL_EVENTS"), ("end_step", "PL_NOT_FINITE"),
        ("begin_stretch", "PL_NO_DELAY"), ("log_within", "PL_NOT_FINITE"),
    ],
)  # fmt: skip
def test_a_run_that_came_back_goes_on_where_it_stood(runtime, name, reason):
    """What was full is called again; what failed is not."""
    code = getattr(runtime.c, reason)
    run = Run(runtime, events=1, answers={name: [code]})
    run.context.started = 1
    found, before = run.advance(1.0)
    assert found == code and before[-1] == name
    found, after = run.advance(1.0)
    whole = ["room", "next_stop", "forget_missed", "begin_stretch", *STEP, "log_step", "endless", *STEP,
             "count_ticks", "segments", "begin_events", "events", "log_ticks", "log_instant"]  # fmt: skip
    again = "FULL" in reason or reason == "PL_CALL"
    assert found == 0
    place = whole.index(name)
    assert before == whole[: place + 1]
    assert after == whole[place if again else place + 1 :]


def test_a_history_without_room_is_asked_for_before_a_stop_is_known_and_before_a_step(runtime):
    run = Run(runtime, answers={"room": [1, 0, 1]})
    run.context.started = 1
    assert run.advance(1.0) == (runtime.c.PL_FULL_HISTORY, ["room"])
    reason, calls = run.advance(1.0)
    assert reason == runtime.c.PL_FULL_HISTORY and calls[-2:] == ["begin_stretch", "room"]
    assert run.advance(1.0)[0] == 0


@pytest.mark.parametrize(
    ("cancel", "budget", "reason"), [(1, 5, "PL_CANCELLED"), (0, 0, "PL_PAUSE"), (0, -1, "PL_PAUSE")]
)
def test_a_run_pauses_before_a_step_and_stands_there(runtime, cancel, budget, reason):
    run = Run(runtime, cancel=cancel)
    run.context.started, run.r.budget, run.r.x0[0] = 1, budget, 4.0
    found, calls = run.advance(1.0)
    assert found == getattr(runtime.c, reason) and calls[-1] == "begin_stretch"
    assert run.context.x[0] == 4.0
    run.r.cancel, run.r.budget = 0, 1
    assert run.advance(1.0)[0] == 0


def test_steps_that_get_too_many_end_a_run_at_the_last_one(runtime):
    run = Run(runtime, step=0.25, answers={"endless": [0, 1]})
    run.context.started = 1
    assert run.advance(1.0)[0] == runtime.c.PL_ENDLESS
    assert (run.context.t, run.context.x[0], run.r.value) == (0.5, 5.0, 0.5)


@pytest.mark.parametrize(("end", "stop"), [(0.75, 0.75), (1.0 - 2e-6, 1.0 - 2e-6), (1.0 - 0.5e-6, 1.0)])
def test_a_located_crossing_ends_a_stretch_and_comes_before_what_is_counted_there(runtime, end, stop):
    run = Run(runtime, step=9.0, events=1)
    run.context.started = 1

    def located():
        run.r.t1, run.r.located = end, 5
        run.at.pop("take_step")

    run.at["take_step"] = located
    run.at["begin_events"] = lambda: seen.append((run.r.located, run.r.which))
    seen = []
    reason, calls = run.advance(1.0)
    assert reason == 0
    k = calls.index("begin_events")
    assert calls[k : k + 5] == ["begin_events", "events", "count_ticks", "segments", "begin_events"]
    assert seen[:2] == [(5, BEFORE), (-1, ALL)]
    assert run.context.t == 1.0 and calls.count("count_ticks") == (1 if stop == 1.0 else 2)


def test_after_events_conditional_parts_follow_once_more(runtime):
    run = Run(runtime, events=1, again=1, step=9.0)
    run.context.started, run.r.segment = 1, 3
    states = []
    run.at["events"] = lambda: setattr(run.r, "round", 2 - len(states))
    run.at["segments"] = lambda: states.append((run.r.segment, run.r.again))
    _, calls = run.advance(1.0)
    twice = ["segments", "begin_events", "events"] * 2
    assert calls[-9:] == ["count_ticks", *twice, "log_ticks", "log_instant"]
    assert states == [(0, 0), (0, 1)]
    run = Run(runtime, events=1, again=0, step=9.0, round=1)
    run.context.started = 1
    assert run.advance(1.0)[1].count("segments") == 1


def test_events_in_loops_are_repeated_behind_all_events(runtime):
    """Until none is: before those events for the first time, then after each round of them."""
    run = Run(runtime, step=9.0, events=1, loop_rounds=3)
    run.r.system.n_loops = 1
    run.context.started = 1
    _, calls = run.advance(1.0)
    assert calls[-9:] == ["segments", *["begin_events", "events"] * 3, "log_ticks", "log_instant"]
    for rounds, last in ((99, "segments"), (91, "segments")):
        run = Run(runtime, step=9.0, events=1, loop_rounds=rounds)
        run.context.started = 1
        reason, calls = run.advance(1.0)
        assert (reason, calls[-1]) == (runtime.c.PL_UNSETTLED, last)


def test_timed_events_come_between_segments(runtime):
    run = Run(runtime, step=9.0, events=1, answers={"segments": [-1]})
    run.context.started = 1
    run.at["segments"] = lambda: setattr(run.r, "segment", 4)
    _, calls = run.advance(1.0)
    k = calls.index("segments")
    after = ["segments", "begin_events", "events", "log_ticks", "log_instant"]
    assert calls[k:] == ["segments", "begin_timed", "events", *after]
    assert run.r.timed_segment == 3


@pytest.mark.parametrize("name", ["segments", "take_step", "events"])
def test_a_loop_without_a_solution_ends_a_run(runtime, name):
    run = Run(runtime, step=9.0, events=1)
    run.context.started = 1
    run.at[name] = lambda: setattr(run.r, "unsolved", 1)
    reason, calls = run.advance(1.0)
    assert reason == runtime.c.PL_NO_SOLUTION and calls[-1] in (name, "begin_events")


@pytest.mark.parametrize(("approach", "stops"), [(0, []), (1, [2.0]), (2, [0.0, 1.0, 2.0])])
def test_a_run_comes_back_before_what_happens_at_an_instant(runtime, approach, stops):
    """PL_APPROACH_END: before `until`; PL_APPROACH_ANY: before any; called again, all happens there."""
    run = Run(runtime, step=9.0, approach=approach)
    found = []
    for _ in range(9):
        reason, calls = run.advance(2.0)
        if reason == 0:
            break
        assert reason == runtime.c.PL_APPROACHED and run.r.index == -1
        assert calls[-1] == ("end_step" if run.context.t else "initialise")
        found.append(run.context.t)
        run.r.approach = 0
        run.runtime.c.pl_advance(run.r, run.context.t)
        run.r.approach = approach
    assert found == stops and run.context.t == 2.0


def test_a_located_crossing_is_approached_too(runtime):
    for approach, located in [(2, 5), (1, -1)]:
        run = Run(runtime, step=9.0, events=1, approach=approach)
        run.context.started = 1

        def crossing(run=run):
            run.r.t1, run.r.located = 0.75, 5
            run.at.pop("take_step")

        run.at["take_step"] = crossing
        reason, calls = run.advance(1.0)
        assert (reason, run.r.index) == (runtime.c.PL_APPROACHED, located)
        assert run.context.t == (0.75 if approach == 2 else 1.0)
        assert ("events" in calls) == (approach == 1)


def test_what_is_approached_once_more_and_a_run_ended_from_outside(runtime):
    run = Run(runtime, events=1)
    run.context.started, run.context.t = 1, 0.5
    run.runtime.c.pl_approached(run.r, 3)
    assert (run.r.stop, run.r.located, run.r.which) == (0.5, 3, BEFORE)
    _, calls = run.advance(0.5)
    assert calls[:2] == ["events", "count_ticks"]
    run.runtime.c.pl_approached(run.r, -1)
    assert run.advance(0.5)[1][0] == "count_ticks"
    run.runtime.c.pl_end_here(run.r)
    assert run.r.stop == 0.5 and run.advance(0.5)[1][0] == "count_ticks"
    run = Run(runtime, answers={"take_step": [runtime.c.PL_COLLAPSED]})
    run.context.started = 1
    run.advance(1.0)
    run.r.n_dense = 5
    run.runtime.c.pl_end_here(run.r)
    assert (run.r.stop, run.r.n_dense) == (0.0, 0)
    assert run.advance(0.0)[1] == INSTANT
    run.r.approach = 1  # on its way to an end: nothing is forgotten
    assert run.advance(0.5)[0] == runtime.c.PL_APPROACHED
    run.r.approach, run.r.n_dense = 0, 5
    run.runtime.c.pl_end_here(run.r)
    assert run.r.n_dense == 5 and run.advance(0.5)[1] == INSTANT
