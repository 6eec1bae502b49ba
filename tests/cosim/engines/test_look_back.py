"""Copies on the way, by a clock that is moved by hand: when they are made, and which two are kept."""

from types import SimpleNamespace

import pytest

from blocks.errors import PlantloopError
from cosim.engines import look_back
from cosim.engines.look_back import EVERY, STEPS, LookBack


@pytest.fixture
def clock(monkeypatch):
    found = SimpleNamespace(now=100.0)
    monkeypatch.setattr(look_back.time, "perf_counter", lambda: found.now)
    return found


def kept(back):
    return back.older, back.only


def test_the_two_newest_are_kept(clock):
    back = LookBack()
    for k, expected in enumerate([(None, "0"), ("0", None), ("1", None), ("2", None)]):
        clock.now += 1.01 * EVERY
        back.note(lambda k=k: str(k), steps=STEPS)
        assert kept(back) == expected
    back.forget()
    assert kept(back) == (None, None)


def test_none_is_made_too_soon_or_after_too_few_steps(clock):
    back, made = LookBack(), []
    back.note(lambda: made.append("at once"), steps=STEPS)
    clock.now += 1.01 * EVERY
    for _ in range(STEPS - 1):  # with those above it would be twice as many
        back.note(lambda: made.append("due"))
    assert made == ["due"]
    clock.now += 0.99 * EVERY
    back.note(lambda: made.append("too soon"), steps=STEPS)
    clock.now += 0.02 * EVERY
    back.note(lambda: made.append("due again"), steps=1)
    assert made == ["due", "due again"]


def test_copies_that_take_long_are_made_less_often(clock):
    back, made = LookBack(), []

    def slow():
        made.append(clock.now)
        clock.now += 0.1

    clock.now = first = 200.0
    back.note(slow, steps=STEPS)
    for later in (1.0, 5.0, 5.2):  # fifty times 0.1 s after it was made
        clock.now = first + later
        back.note(slow, steps=STEPS)
    assert made == [first, first + 5.2]


def test_what_cannot_be_copied_is_not_tried_again(clock):
    back, tried = LookBack(), []

    def refused():
        tried.append(clock.now)
        raise PlantloopError("no")

    for _ in range(3):
        clock.now += 10.0
        back.note(refused, steps=STEPS)
    assert len(tried) == 1 and kept(back) == (None, None)


def test_a_step_counts_once(clock):
    back, made = LookBack(), []
    clock.now += 1.01 * EVERY
    for k in range(STEPS):
        back.note(lambda k=k: made.append(k))
    assert made == [STEPS - 1]
