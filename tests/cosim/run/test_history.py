"""The past of a delayed signal by itself: polynomials come back, jumps have two sides, old steps go."""

import copy

import numpy as np
import pytest

from cosim.run.history import History, interpolate

NODES = np.linspace(0.0, 1.0, 5)


def quartic(t):
    """Two signals, (..., 2)."""
    t = np.asarray(t)
    return np.stack([3 * t**4 - 2 * t**3 + t - 0.5, 1 - t**2 * (t - 2)], axis=-1)


def past(*steps, initial=(7.0, 8.0)):
    """Of `quartic` over these steps [s]."""
    made = History(np.array(initial))
    for begin, end in steps:
        made.add(begin, end, quartic(begin + (end - begin) * NODES))
    return made


@pytest.mark.parametrize("s", [0.0, 1e-9, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.2])
def test_a_quartic_comes_back(s):
    assert interpolate(quartic(NODES), s) == pytest.approx(quartic(s), abs=1e-13)


def test_steps_of_other_lengths_and_what_was_before_them():
    found = past((0.5, 0.7), (0.7, 1.5), (1.5, 1.6))
    assert found.at(0.4999).tolist() == [7.0, 8.0]
    for t in (0.5, 0.61, 0.7, 0.9, 1.49, 1.5, 1.57, 1.6):
        assert found.at(t) == pytest.approx(quartic(t), abs=1e-12), t
    assert found.newest == pytest.approx(quartic(1.6), abs=1e-15)
    assert History(np.array([7.0])).newest.tolist() == [7.0] == History(np.array([7.0])).at(3.0).tolist()


def test_a_jump_has_two_sides():
    """Within rounding of it too: a time that was summed up differently is that of the jump."""
    found = History(np.zeros(1))
    for k in range(3):
        found.add(100.0 + k, 101.0 + k, np.full((5, 1), k + 1.0))
    for t in (101.0, 101.0 - 5e-11, 101.0 + 5e-11):
        assert [found.at(t).item(), found.at(t, left=True).item()] == [2.0, 1.0]
    for t, value in ((101.0 - 1e-9, 1.0), (101.0 + 1e-9, 2.0)):
        assert [found.at(t).item(), found.at(t, left=True).item()] == [value, value]
    assert [found.at(100.0, left=True).item(), found.at(100.0).item()] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("before", "left"), [(64.0, 200), (64.5, 200), (65.0, 135), (150.25, 50), (200.0, 0)]
)
def test_steps_that_are_over_are_dropped_in_bulk(before, left):
    """Of 200 steps of 1 s those that end up to a time, where they are more than 64."""
    found = past(*((float(k), k + 1.0) for k in range(200)))
    whole = copy.deepcopy(found)
    found.forget(before)
    assert found.count == left and len(whole.starts) == 200
    assert np.array_equal(found.starts, whole.starts[200 - left :])
    assert np.array_equal(found.ends, whole.ends[200 - left :])
    assert np.array_equal(found.values, whole.values[200 - left :])
    found.add(200.0, 201.0, np.zeros((5, 2)))
    assert found.ends[-1] == 201.0 and found.newest.tolist() == [0.0, 0.0]
    assert np.array_equal(whole.at(10.3), past((10.0, 11.0)).at(10.3))
