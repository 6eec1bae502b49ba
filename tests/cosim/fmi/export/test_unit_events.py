"""Model exchange and messages of exported units in C, by their functions alone: what is called when.

FMI 3.0.2, sections 3.1 and 3.2: event mode is entered and left by the importer; in between everything of the
instant happens, and again from how it began where an input is set.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from cosim.fmi.export.sources import UNIT
from tests.helpers.runtime_parts import Runtime, parts

FILES = {"FILE_H": "unit.h", "FILE_EVENTS_C": "unit_events.c", "FILE_MESSAGES_C": "unit_messages.c"}
ALONE = Path(__file__).parents[3] / "data" / "fmi" / "events_alone.c"
TEXT = "".join(f'#define {name} "{UNIT / file}"\n' for name, file in FILES.items()) + f'#include "{ALONE}"\n'
HEADER = re.sub(r"/\*.*?\*/", "", (UNIT / "unit.h").read_text(), flags=re.DOTALL)
CALLED = (
    "\n".join(line for line in HEADER.splitlines() if not line.startswith("#"))
    + """
pl_function results_function(void);
unit_log log_function(void);
const char *told(void);
void begin(int n, const int *chosen, int fails_at, double next, const double *numbers);
void say(const unit *u, int status, double a, const char *b);
"""
)
OK, DISCARD, ERROR = 0, 2, 3
DUE = -1  # PL_EVENTS_DUE of instants.h
NAMES = ("s0", "s1", "e0", "e1", "e2", "g0", "g1")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), {"events": TEXT}, CALLED))


class Unit:
    """An instance with two states, inputs and parameters, at 2 s; calls are noted, answers chosen.

    numbers : what crossings or invariants are; next : known stop [s]
    """

    def __init__(self, runtime, numbers=(), next=math.inf, exchange=1, **system):
        self.c, self.ffi, self.runtime, self.numbers, self.next = (
            runtime.c,
            runtime.ffi,
            runtime,
            numbers,
            next,
        )
        r = runtime
        r.kept += (words := {t: r.ffi.new("char[]", t.encode()) for t in ("m", *NAMES)}).values()
        names = lambda kind: r.array([words[t] for t in NAMES if t[0] == kind], "char *")
        events = {"n_events": 3, "threshold": r.array([0.5, 1e-20, 0.25]), "tolerance": r.array([0.1, 0.2])}
        events["rest"] = r.array([-1, 1, 1], "int32_t")
        self.system = r.new("pl_system", **(events | system))
        self.crossings = r.new("pl_parts", all=r.c.results_function())
        self.code = r.new(
            "pl_model", nx=2, nh=4, np=2, crossings=self.crossings, place_of=r.array([2, 0, 1], "int32_t"),
            invariants=r.c.results_function(), crossing_rates=r.new("pl_parts"),
        )  # fmt: skip
        self.model = r.new(
            "unit_model",  system=self.system, n_inputs=2,
            inputs=r.array([3, 1], "int32_t"), state_names=names("s"), event_names=names("e"),
            segment_names=names("g"),
        )  # fmt: skip
        self.model.name = words["m"]
        self.u = u = r.new("unit", model=self.model, exchange=exchange, log=r.c.log_function())
        u.run.model, u.run.system, u.run.context = self.code, self.system, r.ffi.addressof(u, "context")
        u.run.settings = r.ffi.addressof(u, "settings")
        around = lambda *values: r.array([math.nan, *values, math.nan]) + 1  # what lies there is no number
        u.run.special, u.run.g_rates = r.array([0, 0, 0], "int32_t"), r.array([0.0] * 3)
        u.run.out, u.run.k, u.run.f1 = r.array([0.0] * 20), around(*[0.0] * 2), around(*[0.0] * 2)
        u.run.x0, u.run.x1, u.run.fired = around(0.0, 0.0), around(0.0, 0.0), r.array([1, 0], "int32_t")
        c = u.context
        c.t, c.x, c.h, c.p = 2.0, around(10.0, 20.0), r.array([0.0, 1.0, 2.0, 3.0]), r.array([6.0, 7.0])
        c.signs = r.array([1.0, -1.0, 1.0])
        u.rates, u.old_x, u.kept = r.array([0.0] * 2), r.array([8.0, 9.0, 13.0, 11.0]), r.array([0.0] * 4)
        u.stop, u.old_t, u.run.unsolved_segment, u.run.counters.refused_by = math.inf, 1.0, -1, -1
        u.mode = 16

    def call(self, function, *arguments, answers=(), fails=0):
        """Its status, and what was called."""
        numbers = self.runtime.array([*self.numbers, *[0.0] * (20 - len(self.numbers))])
        chosen = self.runtime.array(answers or [0], "int")
        self.c.begin(len(answers), chosen, fails, self.next, numbers)
        status = getattr(self.c, f"unit_{function}")(self.u, *arguments)
        return status, self.ffi.string(self.c.told()).decode().strip()

    def update(self, **how):
        found = self.runtime.new("unit_update")
        status, story = self.call("update_states", found, **how)
        return status, story, (found.terminate, found.values_changed, found.next_defined, found.next)

    def completed(self, **how):
        event, end = self.runtime.array([7], "int"), self.runtime.array([7], "int")
        status, story = self.call("completed_step", event, end, **how)
        return status, story, (event[0], end[0])


def test_what_is_known_of_an_instant_is_forgotten_where_time_or_states_are_set(runtime):
    unit = Unit(runtime)
    u = unit.u
    for t, known in ((2.0, 1), (2.5, 0)):
        u.row_known = u.rates_known = 1
        runtime.c.unit_set_time(u, t)
        assert (u.context.t, u.row_known, u.rates_known) == (t, known, known)
    u.row_known = u.rates_known = 1
    runtime.c.unit_set_states(u, runtime.array([3.0, 4.0]))
    assert (list(u.context.x[0:2]), u.row_known, u.rates_known) == ([3.0, 4.0], 0, 0)


def test_indicators_stand_aside_of_zero_by_twice_their_threshold(runtime):
    """On the side of their sign; each is at its place in the code; one without a threshold by 2e-14."""
    unit, values = Unit(runtime, numbers=[10.0, 20.0, 30.0]), runtime.array([0.0] * 3)
    assert unit.call("indicators", values) == (OK, "constants arguments(2) results(2)")
    assert list(values) == [30.0 + 1.0, 10.0 - 2e-14, 20.0 + 0.5]
    unit = Unit(runtime, numbers=[0.0, 0.0, 0.0])
    unit.u.context.signs[0], unit.u.context.signs[1], unit.u.context.signs[2] = -1.0, 1.0, 0.0
    unit.call("indicators", values)
    assert list(values) == [-1.0, 2e-14, 0.5]
    assert Unit(runtime, n_events=0).call("indicators", values) == (OK, "")


@pytest.mark.parametrize(
    ("signs", "crossing", "rate", "turned"),
    [
        ((1.0, -1.0, -1.0), 0.0, 0.0, (True, True, True)),  # all belong to the other side where they rest
        ((1.0, -1.0, -1.0), 0.0, 3.0, (False, False, False)),  # they move
        ((1.0, -1.0, -1.0), 0.3, 0.0, (True, False, False)),  # the others are beyond their thresholds
        ((-1.0, 1.0, 1.0), 0.0, 0.0, (False, False, False)),
        ((0.0, 0.0, 0.0), 0.0, 0.0, (False, False, False)),
    ],
)
def test_what_a_jump_put_onto_its_threshold_is_shown_on_the_side_where_it_rests(
    runtime, signs, crossing, rate, turned
):
    unit, values = Unit(runtime, numbers=[crossing] * 10 + [rate] * 3), runtime.array([0.0] * 3)
    for i, sign in enumerate(signs):
        unit.u.context.signs[i] = sign
    status, story = unit.call("indicators", values)
    n = sum(
        s in (1.0, -1.0) and s != rest and crossing <= t
        for s, rest, t in zip(signs, (-1, 1, 1), (0.5, 0.0, 0.25), strict=True)
    )
    assert (status, story) == (OK, "constants arguments(2) results(2)" + (f" rates({n})" if n else ""))
    aside = [crossing + (-a if s < 0 else a) for s, a in zip(signs, (1.0, 2e-14, 0.5), strict=True)]
    assert list(values) == [-v if t else v for v, t in zip(aside, turned, strict=True)]


def test_an_indicator_that_is_no_number_is_named(runtime):
    unit, values = Unit(runtime, numbers=[1.0, math.nan, 1.0]), runtime.array([0.0] * 3)
    status, story = unit.call("indicators", values)
    assert status == DISCARD
    assert story.endswith("[2 logStatusDiscard m: the crossing 'e2' is not finite at t=2 s.]")
    unit.u.run.unsolved, unit.u.run.unsolved_time = 1, 1.5
    status, story = unit.call("indicators", values)
    assert status == DISCARD and story.endswith("an algebraic loop has no solution found at t=1.5 s.]")
    assert unit.u.run.unsolved == 0


def test_event_mode_begins_with_nothing_done(runtime):
    unit = Unit(runtime)
    unit.u.updated = unit.u.renewed = 1
    assert unit.call("enter_event_mode") == (OK, "")
    assert (unit.u.updated, unit.u.renewed, unit.u.mode) == (0, 0, 8)


PLAIN = "save(1) constants missed begin(-1,1) handle count(2) segments(0,0,0) begin(-1,0) handle"


@pytest.mark.slow
def test_an_instant_is_crossings_ticks_and_crossings_again(runtime):
    unit = Unit(runtime, next=3.5)
    unit.u.run.round, unit.u.run.again, unit.u.row_known, unit.u.rates_known = 5, 5, 1, 1
    unit.u.run.segment = unit.u.run.rounds = 5
    assert unit.update() == (OK, PLAIN, (0, 0, 1, 3.5))
    u = unit.u
    assert (u.updated, u.renewed, u.row_known, u.rates_known, u.run.horizon, u.run.until) == (
        1,
        0,
        0,
        0,
        math.inf,
        3.0,
    )
    assert unit.update() == (OK, "", (0, 0, 1, 3.5))  # once
    unit = Unit(runtime)
    unit.u.stop = 9.0
    assert unit.update()[2] == (0, 0, 0, math.inf) and unit.u.run.until == 9.0


def test_a_unit_without_events_has_no_crossings(runtime):
    unit = Unit(runtime, n_events=0)
    assert unit.update()[1] == "save(1) constants missed count(2) segments(0,0,0)"
    unit = Unit(runtime)
    unit.u.context.stopped = 2  # nor has one whose run has ended
    status, story, told = unit.update()
    assert story.startswith("save(1) constants missed count(2) segments(0,0,0)") and told[0] == 1
    assert status == OK and "e1" not in story  # nobody wants to know
    unit = Unit(runtime)
    unit.u.context.stopped, unit.u.verbose = 2, 1
    assert unit.update()[1].endswith("[0 logEvents m: 'e1' ends the simulation at t=2 s.]")


@pytest.mark.parametrize(
    ("t", "next", "counted"),
    [
        (2.0, 2.0 + 1.5e-12, 2.0 + 1.5e-12),
        (2.0, 2.0 + 2.5e-12, 2.0),
        (2.0, 1.5, 2.0),
        (0.25, 0.25 + 0.9e-12, 0.25 + 0.9e-12),
        (0.25, 0.25 + 1.1e-12, 0.25),
        (-2.0, -2.0 + 1.5e-12, -2.0 + 1.5e-12),
    ],
)
def test_an_event_just_before_a_tick_is_at_the_tick(runtime, t, next, counted):
    unit = Unit(runtime, next=next)
    unit.u.context.t = t
    assert f"count({counted:.17g}) " in unit.update()[1]


def test_states_off_the_invariants_are_put_back_first(runtime):
    unit = Unit(runtime)
    unit.u.off_invariants = 1
    status, story, told = unit.update()
    assert (status, story) == (OK, PLAIN.replace("missed", "missed project(2)")) and told[1] == 1
    assert unit.u.off_invariants == 0 and list(unit.u.rates[0:2]) == [10.0, 20.0]


def test_timed_events_come_where_a_segment_asks_for_them(runtime):

    unit = Unit(runtime)
    status, story, _ = unit.update(answers=[0, DUE, 0, DUE, 0, 0, 0])
    between = "segments(0,0,0) timed(2) handle segments(3,0,0) timed(5) handle segments(6,0,0)"
    assert (status, story) == (OK, PLAIN.replace("segments(0,0,0)", between))


def test_parts_follow_what_events_have_changed_until_nothing_does(runtime):
    """Once more after a round of events, where there are such parts, and the run goes on."""
    again = "begin(-1,0) handle segments(0,0,1) begin(-1,0) handle"
    assert Unit(runtime, n_again=1).update(answers=[0, 0, -1, 0, 0])[1] == PLAIN.replace(
        "begin(-1,0) handle", again
    )
    assert Unit(runtime, n_again=0).update(answers=[0, 0, -1, 0, 0])[1] == PLAIN
    assert Unit(runtime, n_again=1).update(answers=[-1, 0, 0, 0, 0])[1] == PLAIN  # not for those before


@pytest.mark.parametrize(
    ("answers", "last"), [([10], "handle"), ([0, 10], "segments(0,0,0)"), ([0, 0, 10], "handle")]
)
def test_what_fails_at_an_instant_ends_it(runtime, answers, last):
    """With the reason of the runtime; nothing more is called."""
    unit = Unit(runtime)
    answers = [runtime.c.PL_CONFLICT if a else 0 for a in answers]
    unit.u.run.index, unit.u.run.other, unit.u.row_known, unit.u.rates_known = 2, 0, 1, 1
    status, story, _ = unit.update(answers=answers)
    said = "[2 logStatusDiscard m: events 'e2' and 'e0' reset the same state at t=2 s.]"
    assert (
        status == DISCARD
        and story.endswith(f"{last} {said}")
        and story.count(" begin") == len(answers) - (len(answers) > 1)
    )
    assert (unit.u.row_known, unit.u.rates_known) == (0, 0)

    status, story, _ = Unit(runtime).update(answers=[0, DUE, runtime.c.PL_CHATTERING])
    assert status == DISCARD and "timed(2) handle [2" in story
    assert story.endswith("m: events follow each other without end at t=2 s: 'e0'.]")


def test_delays_get_room_and_the_jumps_that_come_out_of_them(runtime):
    unit = Unit(runtime, numbers=[0.75], next=2.5, n_delays=1)
    assert unit.update() == (OK, f"{PLAIN} grow jumps delays(2)", (0, 0, 1, 2.5))
    assert Unit(runtime, numbers=[0.25], next=2.5, n_delays=1).update()[2] == (0, 0, 1, 2.25)
    no_delay = runtime.c.PL_NO_DELAY
    assert (
        Unit(runtime, numbers=[0.25], next=2.5, n_delays=1).update(answers=[0, 0, 0, no_delay])[2][3] == 2.5
    )
    status, story, _ = Unit(runtime, n_delays=1).update(fails=1)
    assert status == ERROR and story.endswith("grow")
    unit = Unit(runtime, numbers=[0.25], next=2.5, n_delays=1, exchange=0)
    assert unit.update() == (OK, "save(1) execute", (0, 0, 1, 2.5))  # co-simulation steps over it


def test_a_loop_without_a_solution_is_told_at_the_end_of_an_instant(runtime):
    unit = Unit(runtime)
    unit.u.run.unsolved, unit.u.run.unsolved_segment, unit.u.run.unsolved_time = 1, 1, 2.0
    status, story, _ = unit.update()
    assert status == DISCARD and story == (
        f"{PLAIN} [2 logStatusDiscard m: an algebraic loop at a tick of g1 has no solution found at t=2 s.]"
    )


def test_what_is_set_in_event_mode_is_seen_from_its_beginning(runtime):
    """The state goes back to how the event began; inputs and parameters stay as they are now."""
    unit = Unit(runtime)
    unit.update()
    unit.u.renewed = 1
    assert unit.update()[1] == PLAIN.replace("save(1)", "load(1)") and unit.u.renewed == 0
    assert list(unit.u.context.h[0:4]) == [-1.0, 1.0, -1.0, 3.0] and list(unit.u.context.p[0:2]) == [6.0, 7.0]
    unit.u.renewed = 1
    assert unit.update(fails=3)[:2] == (ERROR, "load(1)")
    assert Unit(runtime).update(fails=2)[:2] == (ERROR, "save(1)")


def test_co_simulation_executes_the_instant_and_says_whether_states_jumped(runtime):
    for jump, changed in ((0.0, 0), (1.5, 1)):
        unit = Unit(runtime, numbers=[0.0, jump], exchange=0)
        assert unit.update() == (OK, "save(1) execute", (0, changed, 0, math.inf))
    assert Unit(runtime, exchange=0).update(answers=[ERROR])[0] == ERROR


def test_a_run_that_ends_says_so_each_time(runtime):
    unit = Unit(runtime)
    unit.u.context.stopped, unit.u.updated = 1, 1
    assert unit.update()[2] == (1, 0, 0, math.inf)


def test_continuous_time_mode_begins_where_event_mode_ended(runtime):
    unit = Unit(runtime, next=2.75)
    assert unit.call("enter_continuous_mode") == (OK, "")
    u = unit.u
    begun = [10.0, 20.0, 3.0, 1.0]  # states, and inputs: see Unit
    assert (u.mode, u.old_t, list(u.old_x[0:4]), u.run.horizon) == (16, 2.0, begun, math.inf)
    unit = Unit(runtime, next=2.75, n_delays=1)
    unit.call("enter_continuous_mode")
    assert unit.u.run.horizon == 2.75


def test_a_completed_step_updates_what_follows_steps(runtime):
    unit = Unit(runtime)
    unit.u.row_known = unit.u.rates_known = 1
    assert unit.completed() == (OK, "constants accepted(2,10)", (0, 0))
    u = unit.u
    assert (u.old_t, list(u.old_x[0:4]), u.row_known, u.rates_known, u.run.last_good) == (
        2.0,
        [10.0, 20.0, 3.0, 1.0],
        0,
        0,
        2.0,
    )
    unit = Unit(runtime)
    unit.u.run.index = 0
    status, story, _ = unit.completed(answers=[runtime.c.PL_NOT_FINITE])
    assert status == DISCARD and "'g0' is not finite at t=2 s (last finite t=0 s)" in story
    assert unit.u.old_t == 1.0


@pytest.mark.parametrize(
    ("numbers", "off"),
    [([0.1, 0.2], 0), ([-0.1, -0.2], 0), ([0.11, 0.0], 1), ([0.0, -0.21], 1), ([0.0, math.nan], 1)],
)
def test_states_off_the_invariants_ask_for_an_event(runtime, numbers, off):
    unit = Unit(runtime, numbers=numbers, n_invariants=2)
    assert unit.completed() == (OK, "constants accepted(2,10) arguments(2) results(2)", (off, 0))
    assert unit.u.off_invariants == off


def test_a_step_is_recorded_for_delays_by_its_ends(runtime):
    """Of a solver with fixed steps and without a Jacobian, whatever the unit's own is; settings stay."""
    unit = Unit(runtime, n_delays=1)
    u = unit.u
    u.settings.method.adaptive, u.settings.rtol, u.run.stiff, u.run.end_known = (
        1,
        0.5,
        runtime.new("pl_stiff"),
        1,
    )
    own = u.run.stiff
    assert unit.completed() == (
        OK,
        "constants grow derivative(2,10) derivative(1,8) record(1,2,2,0,0,1) accepted(2,10)",
        (0, 0),
    )
    assert (u.settings.method.adaptive, u.settings.rtol, u.run.stiff) == (1, 0.5, own)
    assert list(u.run.x0[0:2]) == [8.0, 9.0] and list(u.run.x1[0:2]) == [10.0, 20.0] and u.run.k[0] == 5.0
    assert u.run.integrated1 == u.run.x1 and u.run.n_moving == 0
    assert list(u.context.h[0:4]) == [0.0, 1.0, 2.0, 3.0]  # inputs are those of now again
    assert unit.completed()[1] == "constants accepted(2,10)"  # no step
    unit = Unit(runtime, n_delays=1)
    assert unit.completed(fails=1)[:2] == (ERROR, "constants grow")
    unit = Unit(runtime, n_delays=1)
    unit.u.run.unsolved = 1
    assert unit.completed()[0] == DISCARD and unit.u.old_t == 1.0


# --- messages ---------------------------------------------------------------------------------------------
def test_lines_are_told_where_something_went_wrong_or_where_they_are_wanted(runtime):
    unit = Unit(runtime)

    def said(status, verbose, log=True):
        unit.u.verbose, unit.u.log = verbose, runtime.c.log_function() if log else runtime.ffi.NULL
        unit.c.begin(0, runtime.array([0], "int"), 0, 0.0, runtime.array([0.0] * 20))
        runtime.c.say(unit.u, status, 1.5, b"x" * 3)
        return runtime.ffi.string(runtime.c.told()).decode()

    for status in range(5):
        line = f"[{status} kind 1.5 and xxx]"
        assert said(status, 1) == line and said(status, 0) == (line if status >= DISCARD else "")
        assert said(status, 1, log=False) == ""


REASONS = {
    "PL_COLLAPSED": "the step size collapses at t=2 s; state 's1' limits it.",
    "PL_NO_LAST_ROUND": "transitions of 'g1' follow each other without end at t=2 s.",
    "PL_CONFLICT": "events 'e1' and 'e2' reset the same state at t=2 s.",
    "PL_NO_SIGN": "the crossing 'e1' is not finite at t=2 s.",
    "PL_UNMET": "a constraint cannot be met any more at t=1.75 s,",
    "PL_NO_DELAY": "a delay is not positive at t=2 s.",
    "PL_NOT_FINITE": "'g1' is not finite at t=2 s (last finite t=1.5 s).",
    "PL_CHATTERING": "events follow each other without end at t=2 s: 'e0'.",
}


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_are_told_in_the_names_of_the_model(runtime, reason):
    unit = Unit(runtime)
    r = unit.u.run
    r.index, r.other, r.t1, r.last_good, r.unsolved = 1, 2, 1.75, 1.5, 1
    status, story = unit.call("explain", getattr(runtime.c, reason))
    assert status == DISCARD and story.startswith(f"[2 logStatusDiscard m: {REASONS[reason]}")
    assert unit.u.run.unsolved == 0


def test_of_events_without_end_the_first_that_fired_is_named(runtime):
    unit = Unit(runtime)
    unit.u.run.n_fired = 2
    assert "'e1'" in unit.call("explain", runtime.c.PL_CHATTERING)[1]


def test_steps_without_end_name_the_state_that_limits_them_if_one_does(runtime):
    unit = Unit(runtime)
    unit.u.run.until = 7.5
    start = "[2 logStatusDiscard m: at t=2 s steps are so small that they do not come to t=7.5 s"
    assert unit.call("explain", runtime.c.PL_ENDLESS)[1].startswith(f"{start}. Export")
    for k in (0, 1):
        unit.u.run.counters.refused_by = k
        assert unit.call("explain", runtime.c.PL_ENDLESS)[1].startswith(
            f"{start}; state 's{k}' limits them. Export"
        )


@pytest.mark.parametrize(
    ("index", "x1", "x", "k", "name"),
    [
        (-1, [1.0, math.nan], [math.inf, 1.0], [1.0, 1.0], "s1"),  # in a step: its end
        (-2, [1.0, math.nan], [math.inf, 1.0], [1.0, 1.0], "s0"),  # at a state: its own
        (-1, [1.0, 1.0], [math.nan, 1.0], [1.0, -math.inf], "s1"),  # or a derivative
        (-2, [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], "a signal"),
        (-3, [math.nan, 1.0], [1.0, 1.0], [1.0, 1.0], "e2"),  # in a reset
        (0, [math.nan, 1.0], [1.0, 1.0], [1.0, 1.0], "g0"),
    ],
)
def test_what_is_not_finite_is_named(runtime, index, x1, x, k, name):
    unit = Unit(runtime)
    r, c = unit.u.run, unit.u.context
    r.index, r.other = index, 2
    for i in range(2):
        r.x1[i], c.x[i], r.k[i] = x1[i], x[i], k[i]
    assert f"'{name}' is not finite" in unit.call("explain", runtime.c.PL_NOT_FINITE)[1]


def test_a_reason_without_a_sentence_is_an_error_with_its_number(runtime):
    status, story = Unit(runtime).call("explain", 77)
    assert (status, story) == (ERROR, "[3 logStatusError m: the run ended for reason 77 at t=2 s.]")
