"""How many steps a run may take: told before it starts, up to the last one."""

import contextlib
import warnings
from fractions import Fraction

import pytest

from blocks import Constant, Hold, Integrator
from blocks.errors import PlantloopError
from cosim.run.run_length import check_length
from cosim.settings import RunSettings
from tests.helpers.runs import build

STEPS = build("c.y>x.u", c=Constant(1.0), x=Integrator()).system()
TICKS = build("c.y>h.u", c=Constant(1.0), h=Hold(sample=Fraction(1, 2))).system()


def of(system, until, begin=0.0, **given):
    """Warned of, or None; with steps of 1 s."""
    with pytest.warns(match="steps of") if given.pop("warned", True) else _quiet():
        check_length(system, RunSettings.of(**{"solver": "euler", "step": 1.0} | given), begin, until)


@contextlib.contextmanager
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_steps_are_counted_from_where_a_run_begins():
    of(STEPS, 1e10, warned=False)
    of(STEPS, 3e10, begin=2e10, warned=False)
    of(STEPS, 1.1e10)
    of(STEPS, 5e9, step=0.1)


@pytest.mark.parametrize(("given", "most"), [({}, 1e13), ({"wall_limit": 60.0}, 2.0**53)])
def test_the_most_steps_a_run_may_take(given, most):
    """1e13, and as many as a float counts one by one where a time limit ends it."""
    of(STEPS, most, **given)
    for system, until in ((STEPS, most * (1 + 1e-15)), (TICKS, most)):
        with pytest.raises(PlantloopError, match=r"takes .* steps of"):
            check_length(system, RunSettings.of(solver="euler", step=1.0, **given), 0.0, until)


def test_steps_that_do_not_move_the_time_are_refused():
    """At 2^54 s numbers are 4 s apart, at 2^52 s 1 s."""
    of(STEPS, 2.0**52 + 10.0, begin=2.0**52, warned=False)
    with pytest.raises(PlantloopError, match="too small to move the time"):
        of(STEPS, 2.0**54 + 40.0, begin=2.0**54, warned=False)


@pytest.mark.parametrize("max_step", [1.0, float("inf")])
def test_an_adaptive_run_has_as_many_steps_as_its_longest_ones(max_step):
    """Without a longest step nobody knows how many it has."""
    with pytest.warns(match="steps of max_step=1 s") if max_step == 1.0 else _quiet():
        check_length(STEPS, RunSettings.of(solver="dopri5", max_step=max_step), 0.0, 2e10)
    with _quiet():  # it has no states to step
        check_length(TICKS, RunSettings.of(solver="dopri5", max_step=1e-9), 0.0, 1e3)


def test_ticks_are_counted_up_to_half_of_what_64_bits_hold():
    """Instants are multiples of 1/D s, where one rate is so short that D is 1e6."""
    fine = build(
        "c.y>h.u c.y>k.u", c=Constant(1.0), h=Hold(sample=Fraction(10**6 + 1, 10**6)), k=Hold(sample=2)
    ).system()
    assert fine.grid == 10**6
    last = 2.0**62 / 1e6
    given = RunSettings.of(wall_limit=60.0)
    with _quiet():
        check_length(fine, given, last - 1e4, last * (1 - 1e-15))
    with pytest.raises(PlantloopError, match="ticks that cannot be counted"):
        check_length(fine, given, last - 1e4, last)
