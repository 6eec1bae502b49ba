"""Event mode of a unit in C by its functions alone, with an FMU that is functions of a test."""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "fmu_values": '#include "fmu_values.c"',
    "fmu_events": '#include "fmu_events.c"',
    "rollback": '#include "rollback.c"',
}
CALLED = """
int pl_step_with_events(pl_fmu_unit *u);
int pl_keep_unit(pl_fmu_unit *u, int level);
int pl_unit_back(pl_fmu_unit *u, int level);
"""
OK, WARNING, DISCARD, ERROR = range(4)
STEP = "int(void *, double, double, _Bool, _Bool *, _Bool *, _Bool *, double *)"
UPDATE = "int(void *, _Bool *, _Bool *, _Bool *, _Bool *, _Bool *, double *)"
VALUES = "int(void *, const uint32_t *, size_t, void *, size_t)"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Unit:
    """It stands at 1 s, steps to 2 s, and has two inputs, of which a visit gives the second, and an output.

    calls : what was called of it
    statuses : of some of these; events : instants [s] at which it announces an event; jump : added to its
        output in each; changes : do events say that values of states have changed? stops : does a step say
        that the run ends? silent : do events say nothing?
    final : was it told that it never goes back behind a step?
    """

    changes = stops = silent = final = False

    def __init__(
        self, runtime, statuses=None, events=(), jump=0.0, repeat=0, terminate=False, clock=0.0, **fields
    ):
        self.calls, self.statuses, self.repeat = [], statuses or {}, repeat
        self.left, self.y, self.jump, self.terminate = [*events, None], 4.0, jump, terminate
        self.reaches = lambda end: (end, False, False)
        self.runtime = runtime
        setter, _ = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [1])
        getter, _ = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [0])
        setter.function, getter.function = (
            runtime.pointer(VALUES, self.set),
            runtime.pointer(VALUES, self.get),
        )
        flags = {n: runtime.array([0], "_Bool") for n in ("event", "terminate", "early")}
        whole = {
            n: runtime.array([n_], "int32_t") for n, n_ in (("free_at", 1), ("given", 1), ("triggers", 0))
        }
        self.now = runtime.array([1.0])
        change = lambda name: runtime.pointer("int(void *)", lambda c: self.called(name))
        self.e = runtime.new(
            "pl_fmu_events", enter=change("enter"), leave=change("leave"),
            update=runtime.pointer(UPDATE, self.update), any_step=1, free=setter, n_free=1, n_free_at=1,
            n_given=1, last=runtime.array([5.0, 6.0]), room=runtime.array([0.0] * 4), now=self.now,
            levels=runtime.array([0.0]), next=self.left[0] or math.inf, **whole, **fields,
        )  # fmt: skip
        self.u = runtime.new(
            "pl_fmu_unit", version=3, get=getter, n_get=1, time=1.0, end=2.0, reached=2.0, events=self.e,
            clock=clock, do_step=runtime.pointer(STEP, self.step), last=runtime.array([0.0]), **flags,
            smooth_outputs=runtime.array([1, 1, 1], "int32_t") + 1,
            fresh=runtime.array([math.nan, 0.0, math.nan]) + 1,
            get_state=runtime.pointer("int(void *, void **)", lambda c, s: OK),
            set_state=runtime.pointer("int(void *, void *)", lambda c, s: OK),
        )  # fmt: skip
        u = self.u
        u.u.n, u.out.n, u.u.most, u.out.most, u.out.count = 2, 1, 3, 3, 2
        u.u.values, u.out.values = runtime.array([0.0] * 6), runtime.array([4.0, 3.0, 2.0])
        u.kept[0].state = runtime.array([runtime.ffi.NULL], "void *")
        u.kept[0].values = runtime.array([0.0] * 11)

    def called(self, name, *given):
        self.calls.append((name, *given) if given else name)
        return self.statuses.get(name, OK)

    def set(self, c, vr, n, values, total):
        return self.called("set", self.runtime.ffi.cast("double *", values)[0])

    def get(self, c, vr, n, values, total):
        self.runtime.ffi.cast("double *", values)[0] = self.y
        return self.statuses.get("get", OK)

    def update(self, c, again, terminate, nominals, values, defined, following):
        if self.silent:
            return self.called("update")
        self.repeat -= 1
        again[0], terminate[0], values[0] = self.repeat >= 0, self.terminate, self.changes
        if self.repeat < 0:
            self.left = self.left[1:] or [None]
            self.y += self.jump
        defined[0] = self.left[0] is not None
        following[0] = self.left[0] or 0.0
        return self.called("update")

    def step(self, c, t, h, no_way_back, event, terminate, early, last):
        self.final |= no_way_back
        there, event[0], early[0] = self.reaches(t + h)
        terminate[0] = self.stops
        if there is not None:
            last[0] = there
        return self.called("step", t, h)


ONCE = ["enter", "update", "leave"]


def test_a_step_ends_at_events_that_were_announced(runtime):
    """At 1.25 and 1.5 s, and at its end, where it is not visited; there the output jumps."""
    unit = Unit(runtime, events=[1.25, 1.5, 2.0], jump=1.0)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    steps = [("step", 1.0, 0.25), *ONCE, ("step", 1.25, 0.25), *ONCE, ("step", 1.5, 0.5), *ONCE]
    assert unit.calls == steps and not unit.final
    assert (unit.e.next, unit.e.jumped, unit.u.fresh[0], unit.u.has_fresh) == (math.inf, 1, 7.0, 1)


def test_a_unit_whose_clock_shows_more(runtime):
    """It stands at 11 s of its own: in calls and events; what it reaches is a time of the run."""
    unit = Unit(runtime, events=[11.25, 12.0, 12.5], jump=1.0, clock=10.0)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 11.0, 0.25), *ONCE, ("step", 11.25, 0.75), *ONCE]
    assert (unit.u.reached, unit.e.at, unit.e.next, unit.u.has_fresh) == (2.0, 12.0, 12.5, 1)
    unit = Unit(runtime, events=[11.0, 11.5], clock=10.0)
    assert visit(runtime, unit, 6.0) == (0, 4.0) and unit.calls == ONCE
    unit = Unit(runtime, events=[11.25], terminate=True, clock=10.0)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert (unit.u.ended, unit.u.reached) == (1, 1.25)


def test_events_at_the_end_are_left_to_a_visit(runtime):
    unit = Unit(runtime, events=[2.0], visits=1)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 1.0, 1.0)] and (unit.e.jumped, unit.u.has_fresh) == (0, 0)


def test_it_is_asked_again_from_where_it_came_back(runtime):
    """An event it asks for at 1.5 s, and steps that end where they like; one of a fixed size is never cut."""
    unit = Unit(runtime)
    unit.reaches = lambda end: (1.5, True, True) if end > 1.9 and len(unit.calls) < 2 else (end, False, False)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 1.0, 1.0), *ONCE, ("step", 1.5, 0.5)]
    unit = Unit(runtime, events=[1.5])
    unit.e.any_step = 0
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 1.0, 1.0), *ONCE]


def test_rounds_at_one_instant(runtime):
    """Until nothing changes, and no event is announced for now; after a hundred the host goes on."""
    unit = Unit(runtime, events=[1.25, 1.25, 1.25], repeat=2)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls[1:] == ["enter", *["update"] * 5, "leave", ("step", 1.25, 0.75)]
    unit = Unit(runtime, events=[1.25], repeat=100)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_UNIT_STEPPED
    assert unit.calls[1:] == ["enter", *["update"] * 100]
    assert (unit.e.stage, unit.e.failed, unit.e.at) == (runtime.c.PL_EVENT_ENTERED, 0, 1.25)


@pytest.mark.parametrize("there", [1.0, 0.5, math.nan])
def test_a_unit_that_never_gets_on_is_left_to_the_host(runtime, there):
    unit = Unit(runtime)
    unit.reaches = lambda end: (there, False, True)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_UNIT_STEPPED
    assert len(unit.calls) == 1001 and unit.e.failed == 0


def test_the_run_ends_at_an_event(runtime):
    """It stays in event mode, and nothing more is called."""
    unit = Unit(runtime, events=[1.25], terminate=True)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 1.0, 0.25), "enter", "update"]
    assert (unit.u.ended, unit.u.reached) == (1, 1.25)


@pytest.mark.parametrize("status", [WARNING, DISCARD, ERROR])
@pytest.mark.parametrize("at", [1.25, 2.0])
@pytest.mark.parametrize("call", [*ONCE, "step"])
def test_a_call_that_fails_is_known_by_its_number(runtime, call, status, at):
    unit = Unit(runtime, {call: status}, events=[at])
    numbers = {"step": 1, "enter": 2, "update": 3, "leave": 4}
    assert numbers["leave"] == runtime.c.PL_FAILED_LEAVE
    found = runtime.c.pl_step_with_events(unit.u)
    if status == WARNING:
        assert found == runtime.c.PL_DONE and not unit.e.failed
        return
    assert found == runtime.c.PL_UNIT_STEPPED
    assert (unit.e.failed, unit.u.status, unit.calls[-1]) == (
        numbers[call], status, ("step", 1.0, at - 1.0) if call == "step" else call
    )  # fmt: skip


def standing(runtime, begin, end, **how):
    """A unit that steps from one time [s] to another."""
    unit = Unit(runtime, **how)
    unit.u.time, unit.u.end, unit.u.reached = begin, end, end
    return unit


@pytest.mark.parametrize(
    ("begin", "end", "size"), [(0.25, 0.5, 1.0), (-0.5, -0.25, 1.0), (1000.0, 1001.0, 1001.0)]
)
def test_what_differs_by_rounding_is_one_instant(runtime, begin, end, size):
    """1e-12 of a time, at least 1e-12 s: an event behind the end belongs to it, one before makes no step."""
    c = runtime.c
    for apart, found in ((0.9e-12, ONCE), (2e-12, [])):
        unit = standing(runtime, begin, end, events=[end + apart * size])
        assert c.pl_step_with_events(unit.u) == c.PL_DONE
        assert unit.calls == [("step", begin, end - begin), *found]
    unit = standing(runtime, begin, end, events=[end - 0.5e-12 * size])
    assert c.pl_step_with_events(unit.u) == c.PL_DONE
    assert unit.calls[1:] == ONCE and len(unit.calls) == 4
    unit = standing(runtime, begin, end, events=[end - 1e-11 * size])
    assert c.pl_step_with_events(unit.u) == c.PL_DONE
    assert unit.calls[1:4] == ONCE and unit.calls[4][0] == "step"


@pytest.mark.parametrize(("begin", "end"), [(0.25, 0.5), (1000.0, 1001.0)])
def test_a_unit_that_stops_short_by_rounding_is_there(runtime, begin, end):
    """1e-10 of a time, at least 1e-10 s."""
    for apart, steps in ((0.9e-10, 1), (-0.9e-10, 1), (2e-10, 2)):
        unit = standing(runtime, begin, end)
        short = end - apart * max(end, 1.0)
        unit.reaches = lambda to, short=short, unit=unit: (to if unit.calls else short, False, True)
        assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
        assert len(unit.calls) == steps and unit.e.at == end


def test_short_steps_are_steps_however_large_times_are(runtime):
    """0.1 us at 1e6 s, where times differ by rounding that differ by less: no more than a part of a step."""
    begin, h = 1e6, 2.0**-23
    unit = standing(runtime, begin, begin + h)
    unit.reaches = lambda to: (to if unit.calls else begin + h / 2, False, True)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", begin, h), ("step", begin + h / 2, h / 2)]


def test_a_step_of_no_length_is_none(runtime):
    unit = standing(runtime, 1.0, 1.0)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE and not unit.calls


def test_a_unit_that_does_not_say_how_far_it_came_is_at_the_end(runtime):
    """It asks for an event there."""
    unit = Unit(runtime)
    unit.reaches = lambda to: (None, True, False)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 1.0, 1.0), *ONCE] and unit.e.at == 2.0


def test_an_event_that_says_nothing_has_nothing_to_say(runtime):
    """No further round, no end, no change, no next event."""
    unit = Unit(runtime, events=[1.25])
    unit.silent = True
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.calls == [("step", 1.0, 0.25), *ONCE, ("step", 1.25, 0.75)]
    assert (unit.e.next, unit.u.ended, unit.e.changed) == (math.inf, 0, 0)


def test_a_unit_that_gets_stuck_later_has_as_many_tries(runtime):
    unit = Unit(runtime)
    unit.reaches = lambda to: (1.5, False, True)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_UNIT_STEPPED
    assert len(unit.calls) == 1002


def test_a_step_that_says_the_run_ends_is_left_to_the_host(runtime):
    unit = Unit(runtime)
    unit.stops = True
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_UNIT_STEPPED
    assert (unit.e.failed, unit.calls, unit.u.ended) == (1, [("step", 1.0, 1.0)], 0)


@pytest.mark.parametrize(("smooth", "changes", "jump", "jumped"), [
    (1, False, 1.0, 1), (0, False, 1.0, 0), (1, False, 0.0, 0), (0, True, 0.0, 1), (1, True, 0.0, 1),
])  # fmt: skip
def test_jumps_are_those_of_smooth_outputs_and_of_states(runtime, smooth, changes, jump, jumped):
    """What was known of jumps before the step is forgotten; of an event on the way only states say so."""
    for at in (1.5, 2.0):
        unit = Unit(runtime, events=[at], jump=jump, jumped=1, changed=1)
        unit.changes, unit.u.smooth_outputs[0] = changes, smooth
        assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
        assert unit.e.jumped == (jumped if at == 2.0 else changes) and unit.e.changed == changes


@pytest.mark.parametrize(
    ("more", "found"), [(0.0, "PL_DONE"), (1.0, "PL_UNIT_STEPPED"), (-1.0, "PL_UNIT_STEPPED")]
)
def test_what_a_unit_asks_of_python_within_a_step(runtime, more, found):
    """Its first number is taken back; the second says that something is left, before events at the end."""
    unit = Unit(runtime, events=[2.0])
    unit.u.asked = asked = runtime.array([3.0, more])
    assert runtime.c.pl_step_with_events(unit.u) == getattr(runtime.c, found)
    assert list(asked) == [0.0, more] and unit.calls == [("step", 1.0, 1.0), *(ONCE if more == 0.0 else [])]


def test_an_output_that_is_not_given_at_the_end_is_left_to_the_host(runtime):
    unit = Unit(runtime, {"get": ERROR}, events=[2.0])
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_UNIT_STEPPED
    assert unit.calls == [("step", 1.0, 1.0)] and unit.u.has_fresh == 0


def test_ticks_of_clocks_are_left_to_the_host_before_event_mode(runtime):
    unit = Unit(runtime, events=[1.25], clocks=1)
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_UNIT_STEPPED
    assert unit.calls == [("step", 1.0, 0.25)] and unit.e.stage == runtime.c.PL_EVENT_NONE


# --- visits -----------------------------------------------------------------------------------------------
def visit(runtime, unit, given):
    row = runtime.array([given, 0.0])
    return runtime.c.pl_visit(unit.u, row), row[0]


def test_a_visit_sets_what_has_changed_in_event_mode(runtime):
    """The second input was 6: without a change nothing is called. The past of what jumps is dropped."""
    unit = Unit(runtime)
    assert visit(runtime, unit, 6.0) == (0, 4.0) and not unit.calls
    assert (unit.u.out.count, unit.u.out.values[1]) == (2, 3.0)
    unit.jump = 2.0
    assert visit(runtime, unit, 7.0) == (0, 6.0)
    assert unit.calls == ["enter", ("set", 7.0), "update", "leave"]
    assert (unit.u.out.count, unit.u.out.values[0], unit.u.out.time[0], unit.e.jumped) == (1, 6.0, 1.0, 1)
    assert list(unit.e.last[0:2]) == [5.0, 7.0]
    assert visit(runtime, unit, 7.0) == (0, 6.0) and len(unit.calls) == 4


def test_a_visit_before_the_unit_is_there_changes_nothing(runtime):
    unit = Unit(runtime)
    unit.now[0], unit.y = 1.1, 9.0
    assert visit(runtime, unit, 7.0) == (0, 4.0) and not unit.calls


def test_a_unit_that_has_ended_the_run_is_only_read(runtime):
    """In a visit; and a step gets nowhere, whatever was announced."""
    unit = Unit(runtime, events=[1.0], wanted=1)
    unit.u.ended, unit.y = 1, 9.0
    assert visit(runtime, unit, 7.0) == (0, 9.0) and not unit.calls
    assert runtime.c.pl_step_with_events(unit.u) == runtime.c.PL_DONE
    assert unit.u.reached == 1.0 and not unit.calls
    assert runtime.c.pl_keep_unit(unit.u, 0) == runtime.c.pl_unit_back(unit.u, 0) == 0
    assert unit.u.ended == 1


def test_what_is_left_to_the_host_of_a_visit(runtime):
    """Ticks of clocks: all of it. An output that is no number, or is not given: to read it, no more."""
    over = runtime.c.PL_EVENT_OVER
    unit = Unit(runtime, n_triggers=1, clocks=1)
    assert visit(runtime, unit, 6.0)[0] == 1 and unit.e.stage == 0
    unit.e.levels[0] = 5.0
    assert visit(runtime, unit, 6.0)[0] == 0
    assert visit(runtime, unit, 7.0) == (1, 7.0) and not unit.calls
    unit = Unit(runtime)
    unit.y = math.nan
    assert visit(runtime, unit, 7.0) == (1, 7.0) and unit.e.stage == over and "leave" in unit.calls
    assert unit.u.out.values[0] == 4.0
    unit = Unit(runtime, {"get": ERROR})
    assert visit(runtime, unit, 7.0) == (1, 7.0) and unit.e.stage == over
    unit = Unit(runtime, {"set": ERROR})
    assert visit(runtime, unit, 7.0) == (1, 7.0) and unit.e.stage == runtime.c.PL_EVENT_ENTERED
    assert unit.e.last[1] == 6.0  # the host sets it


def test_a_unit_goes_back_with_its_events(runtime):
    unit = Unit(runtime, events=[1.25])
    unit.e.wanted = 1
    assert runtime.c.pl_keep_unit(unit.u, 0) == 0
    unit.e.next, unit.e.wanted, unit.e.last[1], unit.u.ended = 3.0, 0, 8.0, 1
    unit.e.stage, unit.e.failed = 1, 2
    assert runtime.c.pl_unit_back(unit.u, 0) == 0
    assert (unit.e.next, unit.e.wanted, list(unit.e.last[0:2])) == (1.25, 1, [5.0, 6.0])
    assert (unit.u.ended, unit.e.stage, unit.e.failed) == (0, 0, 0)


@pytest.mark.parametrize(("time", "apart", "is_there"), [
    (0.5, 0.9e-9, True), (0.5, -0.9e-9, True), (0.5, 2e-9, False), (0.5, -2e-9, False),
    (1000.0, 0.9e-6, True), (1000.0, 2e-6, False), (-1000.0, 0.9e-6, True),
])  # fmt: skip
def test_a_unit_is_there_within_rounding(runtime, time, apart, is_there):
    """1e-9 of the time of the visit, at least 1e-9 s."""
    unit = standing(runtime, time, time + 1.0)
    unit.now[0], unit.y = time + apart, 9.0
    assert visit(runtime, unit, 7.0) == (0, 9.0 if is_there else 4.0)
    assert bool(unit.calls) is is_there


@pytest.mark.parametrize(
    ("given", "level", "ticks"), [(5.4, 5.0, 0), (4.6, 5.0, 0), (5.6, 5.0, 1), (4.4, 5.0, 1)]
)
def test_a_clock_ticks_where_its_count_is_another_whole_number(runtime, given, level, ticks):
    unit = Unit(runtime, n_triggers=1, clocks=0)
    unit.e.triggers[0], unit.e.levels[0] = 1, level
    assert visit(runtime, unit, given)[0] == ticks


def test_an_output_that_is_not_smooth_may_jump_at_a_visit(runtime):
    """Its past is kept; what has jumped before stays known."""
    for before in (0, 1):
        unit = Unit(runtime, jump=2.0, jumped=before)
        unit.u.smooth_outputs[0] = 0
        assert visit(runtime, unit, 7.0) == (0, 6.0)
        assert (unit.u.out.count, unit.e.jumped, unit.u.out.values[0]) == (2, before, 6.0)


def test_a_visit_handles_what_is_due_without_a_change(runtime):
    """An event that was announced for now, or that the last step asked for; inputs are not set."""
    for how in ({"events": [1.0]}, {"wanted": 1}, {"events": [1.0 + 5e-13]}):
        unit = Unit(runtime, **how)
        assert visit(runtime, unit, 6.0) == (0, 4.0)
        assert unit.calls == ONCE and (unit.e.wanted, unit.e.next) == (0, math.inf)
