"""Functions in C that give numbers which last: pieces that are stale, what reads them, and what follows."""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "evaluate": """#include "evaluate.c"
void pl_update_w(void *owner, const pl_args *a) { ((pl_run *)owner)->value += 1.0; }""",
    "norms": '#include "norms.c"',
}
CALLED = """
void pl_evaluate_stale(pl_run *r, const pl_lasting *f, const int32_t *stale, double *out);
void pl_held_changed(pl_run *r, int32_t place);
void pl_set_held(pl_run *r, const int32_t *places, const double *values, int n);
int pl_update_accepted(pl_run *r, double t, const double *x);
void pl_update_constants(pl_run *r);
void pl_set_state(pl_run *r, double t, const double *x);
"""
CODE = "void(const pl_args *, double *)"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


def ints(runtime, *values):
    return runtime.array(values, "int32_t")


class Lasting:
    """Four pieces: 1 needs 0, 3 needs 1 and 0, 2 is restless; what reads h[k] is marked for all k.

    Before the first piece and behind the last one there are others, which are none of them.
    """

    def __init__(self, runtime, restless=(0, 0, 1, 0)):
        self.calls, self.values = [], [1.0, 2.0, 3.0, 4.0]
        pieces = [runtime.function(CODE, lambda a, out, k=k: self.called(k, out)) for k in range(-1, 5)]
        self.f = runtime.new(
            "pl_lasting", n_pieces=4, pieces=runtime.array(pieces, "pl_function") + 1,
            needs_start=ints(runtime, 0, 1, 3, 4, 7), needs=ints(runtime, 0, 0, 1, 2, 0, 1, 3),
            runs_start=ints(runtime, 0, 1, 2, 3, 4), runs=ints(runtime, 0, 1, 1, 2, 2, 3, 3, 4),
            readers_start=ints(runtime, 0, 3, 5, 5, 6, 6, 6), readers=ints(runtime, 0, 1, 3, 1, 3, 3),
            restless=ints(runtime, *restless),
        )  # fmt: skip

    def called(self, k, out):
        self.calls.append(k)
        out[k] = self.values[k]


@pytest.mark.parametrize(
    ("stale", "called"),
    [((0, 0, 0, 0), [2]), ((0, 1, 0, 0), [0, 1, 2]), ((0, 0, 0, 1), [0, 1, 2, 3]), ((1, 0, 0, 0), [0, 2])],
)
def test_stale_pieces_and_restless_ones_are_called_after_those_they_need(runtime, stale, called):
    lasting = Lasting(runtime)
    flags, out = ints(runtime, *[9] * 6), runtime.array([0.0] * 6)
    r = runtime.run(wanted=flags + 1)
    runtime.c.pl_evaluate_stale(r, lasting.f, ints(runtime, *stale), out + 1)
    assert lasting.calls == called and (flags[0], flags[5]) == (9, 9)


def test_what_changes_marks_its_readers_where_something_is_known_of_them(runtime):
    lasting = Lasting(runtime)
    for known, events, crossings in [((1, 1), 1, 1), ((0, 1), 1, 0), ((1, 0), 1, 1), ((1, 1), 0, 0)]:
        stale = [ints(runtime, 0, 0, 0, 0) for _ in range(2)]
        r = runtime.run(
            {"accepted": lasting.f, "held_crossings": lasting.f}, {"n_events": events}, events_known=1,
            held_known=known[0], accepted_known=known[1], stale_crossings=stale[0], stale_accepted=stale[1],
        )  # fmt: skip
        runtime.c.pl_held_changed(r, 1)
        assert list(stale[0][0:4]) == [0, crossings, 0, crossings]
        assert list(stale[1][0:4]) == [0, known[1], 0, known[1]]
        assert r.events_known == 0


@pytest.mark.parametrize("n", [1, 64, 65, 130])
def test_each_of_many_numbers_is_compared_and_a_minus_of_zero_is_a_change(runtime, n):
    lasting = runtime.new("pl_lasting")
    for k in {0, n - 1, n // 2, min(63, n - 1), min(64, n - 1)}:
        h = runtime.array([0.0] * (n + 1))
        r = runtime.run(
            {"accepted": lasting, "held_crossings": lasting}, context=runtime.new("pl_context", h=h)
        )
        values = [0.0] * (n + 1)
        values[k], values[n] = -0.0, 5.0
        r.events_known = 1
        runtime.c.pl_set_held(r, runtime.array(range(n), "int32_t"), runtime.array(values), n)
        assert [math.copysign(1.0, v) for v in h[0 : n + 1]] == [
            -1.0 if j == k else 1.0 for j in range(n + 1)
        ]
        assert r.events_known == 0 and h[n] == 0.0


def test_accepted_memories_follow_all_at_first_and_then_what_changed(runtime):
    lasting = Lasting(runtime, restless=(0, 0, 0, 0))
    h, x = runtime.array([0.0] * 6), runtime.array([8.0])
    stale = ints(runtime, 0, 0, 0, 0)
    r = runtime.run(
        {"nx": 1, "accepted": lasting.f, "held_crossings": runtime.new("pl_lasting")},
        {"n_accepted": 4, "accepted": ints(runtime, 5, 3, 1, 2)}, wanted=ints(runtime, 0, 0, 0, 0),
        stale_accepted=stale, out=runtime.array([0.0] * 5),
        context=runtime.new("pl_context", h=h, x=runtime.array([0.0])),
    )  # fmt: skip
    r.system.n_accepted = 0
    assert runtime.c.pl_update_accepted(r, 1.0, x) == runtime.c.PL_DONE and lasting.calls == []
    r.system.n_accepted = 4
    assert runtime.c.pl_update_accepted(r, 1.0, x) == runtime.c.PL_DONE
    assert lasting.calls == [0, 1, 2, 3] and r.accepted_known
    assert list(h[0:6]) == [0.0, 3.0, 4.0, 2.0, 0.0, 1.0]
    # h[3] and h[1] changed, which pieces 3, 1 and 3 read
    assert list(stale[0:4]) == [0, 1, 0, 1]
    lasting.calls.clear()
    lasting.values[:] = [9.0, 2.5, 9.0, 4.0]
    assert runtime.c.pl_update_accepted(r, 1.0, x) == runtime.c.PL_DONE
    assert lasting.calls == [0, 1, 3]
    assert list(h[0:6]) == [0.0, 3.0, 4.0, 2.5, 0.0, 1.0]  # piece 0 was called for others: it has not changed
    lasting.values[3] = math.nan
    assert list(stale[0:4]) == [0, 0, 0, 1]
    assert runtime.c.pl_update_accepted(r, 2.0, x) == runtime.c.PL_NOT_FINITE
    assert (r.index, r.context.t, r.context.x[0], h[2]) == (runtime.c.PL_AT_STATE, 2.0, 8.0, 4.0)


@pytest.mark.parametrize(
    ("bad", "reason"), [(4, "PL_NOT_FINITE"), (0, "PL_NOT_FINITE"), (2, "PL_DONE"), (5, "PL_DONE")]
)
def test_memories_in_several_places_follow_if_all_of_them_are_numbers(runtime, bad, reason):
    """One piece gives numbers 0, 3 and 4; what else is in the room is no result."""

    def values(a, out):
        out[0:6] = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]
        out[bad] = math.nan

    lasting = runtime.new(
        "pl_lasting", n_pieces=1, pieces=runtime.array([runtime.function(CODE, values)], "pl_function"),
        needs_start=ints(runtime, 0, 1), needs=ints(runtime, 0), runs_start=ints(runtime, 0, 2),
        runs=ints(runtime, 0, 1, 3, 5, 5, 6), restless=ints(runtime, 0),
        readers_start=ints(runtime, *[0] * 8), readers=ints(runtime, 0),
    )  # fmt: skip
    h, x = runtime.array([0.0] * 7), runtime.array([8.0])
    r = runtime.run(
        {"nx": 1, "accepted": lasting, "held_crossings": runtime.new("pl_lasting")},
        {"n_accepted": 6, "accepted": ints(runtime, 5, 6, 4, 1, 2, 3)}, wanted=ints(runtime, 0),
        stale_accepted=ints(runtime, 0), out=runtime.array([0.0] * 7),
        context=runtime.new("pl_context", h=h, x=runtime.array([0.0])),
    )  # fmt: skip
    assert runtime.c.pl_update_accepted(r, 1.0, x) == getattr(runtime.c, reason)
    assert list(h[0:7]) == ([0.0, 13.0, 14.0, 0.0, 0.0, 10.0, 0.0] if reason == "PL_DONE" else [0.0] * 7)


def test_a_state_that_was_set_may_have_events(runtime):
    context = runtime.new("pl_context", x=runtime.array([0.0, 5.0]))
    r = runtime.run({"nx": 1}, context=context, events_known=1)
    runtime.c.pl_set_state(r, 2.0, runtime.array([3.0, 4.0]))
    assert (r.events_known, context.t, *context.x[0:2]) == (0, 2.0, 3.0, 5.0)


def test_what_is_solved_for_is_up_to_date_before_memories_follow(runtime):
    r = runtime.run({}, {"n_unknowns": 1}, context=runtime.new(
        "pl_context", w=runtime.array([3.0, 5.0]), solution=runtime.array([0.0, 0.0])))  # fmt: skip
    r.a.owner = r
    assert runtime.c.pl_update_accepted(r, 1.0, r.context.x) == runtime.c.PL_DONE
    assert list(r.context.solution[0:2]) == [3.0, 0.0]


def test_a_jacobian_has_constants_of_its_own(runtime):
    """They are made anew with those of the system, in their own place, and not where a run has none."""
    made = []
    p = runtime.array([1.0])
    r = runtime.run({"np": 1, "prepare": runtime.function(CODE, lambda a, out: made.append(("own", out[0])))},
                    context=runtime.new("pl_context", p=p, t=6.0), prepared=runtime.array([0.0]),
                    c=runtime.array([5.0]), sides_known=1, held_known=1)  # fmt: skip
    code = runtime.new(
        "pl_jacobian", prepare=runtime.function(CODE, lambda a, out: made.append((a.v[0], out[0], a.t)))
    )
    r.a.v = runtime.array([3.0])
    runtime.c.pl_update_constants(r)
    assert made == [("own", 5.0)] and (r.sides_known, r.held_known) == (0, 0)
    r.stiff = runtime.new("pl_stiff", code=code, v=runtime.array([4.0]), c=runtime.array([7.0]))
    p[0] = 2.0
    runtime.c.pl_update_constants(r)
    assert made == [("own", 5.0), ("own", 5.0), (4.0, 7.0, 6.0)]
    assert r.a.v[0] == 3.0 and r.a.p == p
