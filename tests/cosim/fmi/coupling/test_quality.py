"""Figures of a coupling's quality by hand, and a log that goes back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from blocks.contract.rate import Ticks
from cosim.fmi.coupling.quality import BondQuality, ConnectionQuality, PackedRows, QualityLog

TIME = np.array([0.1, 0.3, 0.4])


def test_figures_of_a_connection():
    one = ConnectionQuality("a.u", "a", TIME, np.array([1.0, 2.0, -3.0]), np.array([2.0, 2.0, -1.0]))
    assert one.residual.tolist() == [-1.0, 0.0, -2.0] and one.worst == 2.0
    assert one.relative == pytest.approx(math.sqrt(5 / 9))
    nothing, zero = np.zeros(0), np.zeros(3)
    assert ConnectionQuality("a.u", "a", nothing, nothing, nothing).relative == 0.0
    assert ConnectionQuality("a.u", "a", nothing, nothing, nothing).worst == 0.0
    assert ConnectionQuality("a.u", "a", TIME, zero, zero).relative == 0.0
    assert ConnectionQuality("a.u", "a", TIME, zero + 1, zero).relative == math.inf


def test_energy_of_a_bond_is_the_trapezoidal_rule():
    power = np.array([1.0, 3.0, -2.0])
    assert BondQuality("a.f", "b.v", TIME, power).energy == pytest.approx(0.2 * 2.0 + 0.1 * 0.5)
    assert BondQuality("a.f", "b.v", TIME[:1], power[:1]).energy == 0.0


def test_rows_are_made_whole_again():
    """Whole, assumed as the row before delivered, as it delivered itself, whole; grids of any size."""
    whole = [0.25, 1.0, 2.0, 3.0, 4.0]
    numbers, held = np.array([*whole, 5.0, 6.0, 7.0, 8.0, 9.0, *whole]), np.array([0, 1, 2, 0], np.uint8)
    numbers[9:14] = [1.0, 10.0, 11.0, 12.0, 13.0]
    numbers = numbers[:14]
    expected = [whole, [0, 3, 4, 5, 6], [0, 7, 8, 7, 8], [1.0, 10.0, 11.0, 12.0, 13.0]]
    for period in (Fraction(1, 4), Fraction(10**17 + 1, 4 * 10**17 + 1)):
        found = PackedRows(numbers, held, 5, Ticks.of(period)).whole()
        times = [0.25, float(2 * period), float(3 * period), 1.0]
        assert np.array_equal(found[:, 0], times)
        assert np.array_equal(found[:, 1:], np.array(expected)[:, 1:])


def test_a_log_forgets_what_came_after():
    log = QualityLog([1, 2])
    rows = lambda k: log.rows(k).tolist()
    log.add(0, 0.1, np.array([1.0]), np.array([2.0]))
    mark = log.mark()
    log.add_rows(0, np.array([[0.2, 3.0, 4.0], [0.3, 5.0, 6.0]]))
    log.add(1, 0.25, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert rows(0) == [[0.1, 1, 2], [0.2, 3, 4], [0.3, 5, 6]] and rows(1) == [[0.25, 1, 2, 3, 4]]
    assert mark == [1, 0] and log.mark() == [3, 1]
    log.until(0.2)
    assert rows(0) == [[0.1, 1, 2], [0.2, 3, 4]] and rows(1) == []
    log.add_rows(1, np.zeros((0, 5)))
    log.back(mark)
    log.add(0, 0.5, np.array([7.0]), np.array([8.0]))
    assert rows(0) == [[0.1, 1, 2], [0.5, 7, 8]] and log.mark() == [2, 0]
    found = log.quality([["a.u"], ["b.u[0]", "b.u[1]"]], ["a", "b"], {"a.u": [1]}, [0.1, 0.2], "one", [])
    assert found["a.u"].assumed.tolist() == [1, 7] and found["a.u"].delivered.tolist() == [2, 8]
    assert "halve the step of 'b' (0.2 s) first" in found.suggestion and "13.7 %" not in found.suggestion
    assert f"{100 * math.sqrt(2 / 68):.3g} %" in found.suggestion
