"""Exact times: the fraction a float stands for, and how much work a list of them is."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from blocks import BlockError, Integrator, TimeTable
from blocks.contract import rate
from blocks.contract.checks import moments_of
from blocks.contract.exact_instants import instants, moments
from blocks.contract.rate import Ticks, instant, rational, simple
from cosim import Diagram


def nearby(number):
    """The fraction within 1e-14 of a number with the smallest denominator, by trying one after the other."""
    low, high = (Fraction(number) + Fraction(sign, 10**14) for sign in (-1, 1))
    q = 1
    while math.ceil(low * q) > high * q:
        q += 1
    return Fraction(math.ceil(low * q), q)


def test_a_float_near_a_simple_fraction_is_that_fraction():
    rng = np.random.default_rng(11)
    for _ in range(200):
        exact = Fraction(int(rng.integers(0, 5000)), int(rng.integers(1, 700)))
        number = float(exact) + rng.uniform(-0.9e-14, 0.9e-14)
        if abs(Fraction(number) - exact) <= Fraction(1, 10**14):
            assert simple(number) == exact == nearby(number)
            assert simple(-number) == -exact


@pytest.mark.parametrize("number", [math.pi, 1e-6 + 1e-7 / 3, 123456.789, 1e-13, 0.5 + 1.1e-14])
def test_other_floats_are_no_simple_fractions(number):
    assert simple(number) is None
    assert instants((number,)) == (Fraction(number),)
    with pytest.raises(BlockError, match="denominator up to 1e6"):
        rational(number)


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
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
    ],
)
def test_a_float_is_the_fraction_it_stands_for(value, exact):
    assert rational(value) == exact and type(rational(value)) is Fraction


def test_an_instant_stays_a_fraction_where_no_float_means_it():
    """A float is what equations recognise as a number that may change from run to run."""
    beside = Fraction(1, 3) + Fraction(1, 10**30)
    found = moments_of(SimpleNamespace(times=["1/3", beside, 0.5, Fraction(1, 10)]), "times")
    assert found == (1 / 3, beside, 0.5, 0.1)
    assert [type(t) for t in found] == [float, Fraction, float, float]


def test_listed_instants_are_sorted_whatever_their_order():
    times = (0.3, "1/3", 0.1, Fraction(1, 3) + Fraction(1, 10**30), 0.2)
    expected = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(1, 3))
    assert instants(times) == (*expected, Fraction(1, 3) + Fraction(1, 10**30))
    assert instants(tuple(reversed(times))) == instants(times)


def test_many_instants_at_once_are_those_found_one_by_one():
    """Decimals, other fractions, sums with rounding, numbers at the edge of tolerance, large and small."""
    rng = np.random.default_rng(5)
    fractions = rng.integers(0, 10**6, 1500) / rng.integers(1, 3000, 1500)
    cases = [
        np.cumsum(np.full(800, 1e-3)), np.round(rng.uniform(0, 2000, 800), 3), np.arange(800) / 44100 + 300,
        fractions, fractions + rng.uniform(-1.5e-14, 1.5e-14, 1500), -rng.uniform(0, 200, 300),
        np.round(rng.uniform(16, 64, 1500), 6) + rng.uniform(-1.5e-14, 1.5e-14, 1500),
        10 ** rng.uniform(-20, 15, 1500), np.array([0.0, 5e-324, 1e-14, 2e-14, 9.007e9, 9.1e9, 1e15, 1e20]),
    ]  # fmt: skip
    for x in cases:
        assert moments(x.tolist()).tolist() == [float(instant(v)) for v in x.tolist()]
        assert instants(tuple(x.tolist())) == tuple(sorted(map(instant, x.tolist())))
    assert moments([1, "1/3", 0.5]).tolist() == [1.0, 1 / 3, 0.5]
    for wrong in (True, float("nan"), "x"):
        with pytest.raises(BlockError):
            moments([0.0, wrong])


def test_each_time_of_a_table_is_made_exact_once_in_flattening(monkeypatch):
    d = Diagram()
    times = np.sort(np.random.default_rng(2).uniform(0, 10, 3000))
    d.add("table", TimeTable(times, np.sin(times)))["y"] >> d.add("x", Integrator())["u"]
    looked_at, original = [], rate.simple
    monkeypatch.setattr(rate, "simple", lambda number: looked_at.append(number) or original(number))
    d.system()
    assert len(looked_at) <= len(times)


def test_ticks_of_simple_floats_are_exact():
    assert Ticks.of(0.01, 0.005) == Ticks(Fraction(1, 100), Fraction(1, 200))


@pytest.mark.parametrize(
    "number",
    [0.1, -0.125, 1e-6, 127.000001, 128.1, 1000.001, 4096.5, -0.3333333333333333, 0.0, 1e308, 5e-324],
)
def test_decimals_are_the_fraction_that_is_near_enough(number):
    """Found at once or by the continued fraction, it lies within 1e-14, and else there is none."""
    exact = Fraction(number)
    nearest = exact.limit_denominator(10**6)
    near = abs(nearest - exact) <= Fraction(1, 10**14)
    assert simple(number) == (nearest if near else None)


def test_texts_whose_digits_would_fill_memory_are_no_numbers():
    """Three digits of an exponent are read, and a thousand in all."""
    assert rational("1e-999") == Fraction(1, 10**999)
    assert rational("5E-3") == Fraction(1, 200) and rational("0." + "0" * 997 + "1") == Fraction(1, 10**998)
    for text in ("1e-1000", "1e+1000", "1E1000", "0." + "0" * 998 + "1"):
        with pytest.raises(BlockError, match="is not a number of seconds"):
            rational(text)
