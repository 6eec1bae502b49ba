"""The clock of an FMU that shows another time than the run: sums, the digits that are known, nearness."""

import math

import pytest

from blocks.errors import BlockError
from cosim.fmi.unit_clock import UnitClock


def test_a_clock_that_begins_at_0_shows_the_time_of_the_run():
    clock = UnitClock()
    third = 1.0 / 3.0
    assert (clock.start, clock.at(third), clock.run_time(third)) == (0.0, third, third)


@pytest.mark.parametrize(
    ("start", "shown", "since"),
    [
        (123.4, 123.5, 0.1),
        (-1.35, -1.25, 0.1),
        (-1.35, 0.1, 1.45),
        (0.1, 0.3, 0.2),
        (1e5, 1e5 + 0.123456789, 0.123456789),  # 10^5 leaves nine digits
        (1e5, 1e5 + 0.1 + 1e-10, 0.1),  # and no tenth
        (-1e5, 0.1, 100000.1),
        (2.0, 1.5, -0.5),
    ],
)
def test_what_rounding_leaves_is_the_decimal_that_was_meant(start, shown, since):
    clock = UnitClock(start)
    assert clock.run_time(shown) == since
    assert clock.at(since) == pytest.approx(shown, rel=0, abs=2e-15 * (abs(start) + abs(shown)))


def test_what_is_no_time_stays_none():
    assert UnitClock(2.0).run_time(math.inf) == math.inf
    assert math.isnan(UnitClock(2.0).run_time(math.nan))


@pytest.mark.parametrize(
    ("start", "t", "apart"),
    [
        (0.0, 0.5, 1e-12),  # of a second where the run is younger than that
        (0.0, 1e3, 1e-9),  # of the time of the run
        (-1e3, 1e3, 2e-9),
        (2.0, 2.0, 1e-12),
        (1e5, 1e5 + 1.0, 5e-14 * (1e5 + 1.0)),  # digits that the clock of the FMU has lost
    ],
)
def test_instants_this_near_are_one(start, t, apart):
    assert UnitClock(start).near(t) == pytest.approx(apart, rel=1e-9, abs=0.0)


def test_a_state_of_another_clock_is_refused():
    UnitClock(2.0).check_same(2.0, "a.fmu")
    with pytest.raises(BlockError, match=r"'a.fmu': .* start_time=3 s, and here it is 2 s"):
        UnitClock(2.0).check_same(3.0, "a.fmu")
