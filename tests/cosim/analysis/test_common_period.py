"""The instants of one common period, counted by hand."""

from fractions import Fraction as F

import pytest

from blocks import PlantloopError
from blocks.contract.rate import Ticks
from cosim.analysis.common_period import CommonPeriod, common

TWO = CommonPeriod.of([Ticks(F(1, 2), F(1, 10)), Ticks(F(3, 4), F(1, 4))])


def test_instants_begin_at_a_tick_of_the_slowest_rate():
    """Ticks at 0.25, 1.0 and at 0.1, 0.6, 1.1, 1.6; the first at or after 0.25 s, of 1.5 s: 0.6, 1.1, 1.6."""
    assert TWO.length == F(3, 2)
    assert TWO.instants == (0, F(7, 20), F(3, 4), F(17, 20), F(27, 20))
    assert TWO.rates == (frozenset([1]), frozenset([0]), frozenset([1]), frozenset([0]), frozenset([0]))
    assert [TWO.duration(k) for k in range(5)] == [F(7, 20), F(8, 20), F(2, 20), F(10, 20), F(3, 20)]


def test_ticks_that_coincide_are_one_instant():
    found = CommonPeriod.of([Ticks(F(1, 3), F(0)), Ticks(F(1, 2), F(0))])
    assert found.length == 1 and found.instants == (0, F(1, 3), F(1, 2), F(2, 3))
    assert found.rates[0] == {0, 1}


def test_other_instants_and_another_beginning():
    more = TWO.with_instants([F(16, 10), F(7, 20)])  # 0.1 s into the next period, and one that is there
    assert more.instants == (0, F(1, 10), *TWO.instants[1:])
    assert more.rates == (TWO.rates[0], frozenset(), *TWO.rates[1:])
    turned = TWO.turned(2)
    assert turned.instants == (0, F(1, 10), F(6, 10), F(3, 4), F(11, 10))
    assert turned.rates == (*TWO.rates[2:], *TWO.rates[:2])
    assert [turned.duration(k) for k in range(5)] == [TWO.duration((k + 2) % 5) for k in range(5)]


def test_too_many_instants_are_refused():
    assert common([F(1, 6), F(1, 4), F(2)]) == 2
    with pytest.raises(PlantloopError, match="have 50001 ticks in their common period"):
        CommonPeriod.of([Ticks(F(1), F(0)), Ticks(F(1, 50_000), F(0))])


def test_as_many_instants_as_there_may_be_are_taken():
    assert len(CommonPeriod.of([Ticks(F(1), F(1, 2)), Ticks(F(1, 49_999), F(0))]).instants) == 50_000
