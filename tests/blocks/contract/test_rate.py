"""Exact times: the fraction a float stands for, and how much work a list of them is."""

import math
from fractions import Fraction

import numpy as np
import pytest

from blocks import Integrator, TimeTable
from blocks.contract import rate
from blocks.contract.rate import Ticks, instants, rational, simplest_between
from cosim import Diagram


def simplest(low, high):
    """By trying one denominator after the other."""
    q = 1
    while math.ceil(low * q) > high * q:
        q += 1
    return Fraction(math.ceil(low * q), q)


def test_the_simplest_fraction_has_the_smallest_denominator():
    rng = np.random.default_rng(11)
    for _ in range(300):
        low = Fraction(int(rng.integers(0, 5000)), int(rng.integers(1, 500)))
        high = low + Fraction(1, int(rng.integers(10, 5000)))
        found = simplest_between((low.numerator, low.denominator), (high.numerator, high.denominator))
        assert found == simplest(low, high)
        scaled = simplest_between((6 * low.numerator, 6 * low.denominator), high.as_integer_ratio())
        assert scaled == found  # the pair need not be in lowest terms


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (1 / 3, Fraction(1, 3)),
        (-0.25, Fraction(-1, 4)),
        (0.1 + 0.2, Fraction(3, 10)),
        (1e-15, Fraction(0)),  # within 1e-14 s of zero
        (1e20, Fraction(10**20)),
        (999999 / 1000000, Fraction(999999, 1000000)),
    ],
)
def test_a_float_is_the_fraction_it_stands_for(value, exact):
    assert rational(value) == exact


def test_listed_instants_are_sorted_whatever_their_order():
    times = (0.3, "1/3", 0.1, Fraction(1, 3) + Fraction(1, 10**30), 0.2)
    expected = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(1, 3))
    assert instants(times) == (*expected, Fraction(1, 3) + Fraction(1, 10**30))
    assert instants(tuple(reversed(times))) == instants(times)


def test_each_time_of_a_table_is_made_exact_once_in_flattening(monkeypatch):
    d = Diagram()
    times = np.sort(np.random.default_rng(2).uniform(0, 10, 3000))
    d.add("table", TimeTable(times, np.sin(times)))["y"] >> d.add("x", Integrator())["u"]
    looked_at, original = [], rate.rational

    def counting(value, what="rate"):
        looked_at.append(value)
        return original(value, what)

    monkeypatch.setattr(rate, "rational", counting)
    d.system()
    assert len(looked_at) <= len(times)


def test_ticks_of_simple_floats_are_exact():
    assert Ticks.of(0.01, 0.005) == Ticks(Fraction(1, 100), Fraction(1, 200))
