"""An instance that starts anew where its last input, a count of restarts, has changed."""

from __future__ import annotations

import struct

import numpy as np

from blocks.contract.instance import Instance, MakeAnew


class Adding:
    """Returns the time, its inputs, and how often it was called; tells the list what happens to it."""

    def __init__(self, story):
        self.story, self.calls = story, 0
        story.append("made")

    def call(self, t, u):
        self.calls += 1
        return [t, *u, self.calls]

    def save(self):
        return struct.pack("<q", self.calls)

    def load(self, state):
        (self.calls,) = struct.unpack("<q", state)

    def close(self):
        self.story.append(f"closed after {self.calls}")


def anew():
    story = []
    return MakeAnew(lambda: Adding(story))(), story


def test_a_new_one_is_made_where_the_count_differs_from_that_of_the_call_before():
    made, story = anew()
    assert isinstance(made, Instance)
    calls = [(0.5, 0.0), (1.0, 0.0), (1.5, 1.0), (2.0, 1.0), (2.5, 3.0)]
    found = [made.call(t, np.array([7.0, 8.0, count])) for t, count in calls]
    assert found == [
        [0.5, 7.0, 8.0, 1],
        [1.0, 7.0, 8.0, 2],
        [1.5, 7.0, 8.0, 1],
        [2.0, 7.0, 8.0, 2],
        [2.5, 7, 8, 1],
    ]
    assert story == ["made", "closed after 2", "made", "closed after 2", "made"]
    made.close()
    assert story[-1] == "closed after 1"


def test_the_first_call_starts_nothing_anew_whatever_the_count():
    for count in (0.0, 1.0, 5.0):
        made, story = anew()
        assert made.call(0.0, np.array([count])) == [0.0, 1] and story == ["made"]


def test_what_is_saved_knows_which_start_it_is_of():
    made, _ = anew()
    for _ in range(3):
        made.call(0.0, np.array([2.0]))
    state = made.save()
    for count, calls, renewed in ((2.0, 4, False), (4.0, 1, True)):
        other, story = anew()
        other.call(0.0, np.array([9.0]))
        other.load(state)
        assert other.save() == state
        assert other.call(1.0, np.array([count])) == [1.0, calls]
        assert (len(story) > 1) is renewed


def test_one_that_was_saved_before_its_first_call_has_no_count():
    made, _ = anew()
    other, story = anew()
    other.call(0.0, np.array([3.0]))
    other.load(made.save())
    assert other.call(0.0, np.array([6.0])) == [0.0, 1] and story == ["made"]
