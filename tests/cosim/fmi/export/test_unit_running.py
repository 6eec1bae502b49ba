"""Steps of exported units in C by their functions alone: where a step ends, and whether anything is due."""

from __future__ import annotations

import math
import re

import pytest

from cosim.fmi.export.sources import UNIT
from tests.helpers.runtime_parts import Runtime, parts

TEXT = f"""#include "{UNIT / "unit_running.c"}"
static double stop;
void next_stop_is(double t) {{ stop = t; }}
double pl_next_stop(const pl_run *r) {{ return stop; }}
double pl_seconds(int64_t position, int64_t grid) {{ return (double)position / (double)grid; }}
void unit_say(const unit *u, int status, const char *category, const char *format, ...) {{}}
double end_of_step(unit *u, double until, double h) {{ return snapped(u, until, h); }}
int is_nothing_here(const unit *u) {{ return nothing_here(u); }}
"""
HEADER = re.sub(r"/\*.*?\*/", "", (UNIT / "unit.h").read_text(), flags=re.DOTALL)
CALLED = (
    "\n".join(line for line in HEADER.splitlines() if not line.startswith("#"))
    + """
void next_stop_is(double t);
double end_of_step(unit *u, double until, double h);
int is_nothing_here(const unit *u);
"""
)
OK, ERROR = 0, 3


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), {"running": TEXT}, CALLED))


def unit(runtime, instants=(1.3, 1.7, 2.9), next=math.inf, **fields):
    """From 1 s on: ticks at 1/8 s + k/4 s and at k/5 s of the run, instants of a list, an end at 3.01 s."""
    ints = lambda *given: runtime.array(given, "int64_t")
    system = runtime.new(
        "pl_system", grid=40, n_rates=2, first=ints(5, 0), period=ints(10, 8), n_instants=len(instants),
        instant_time=runtime.array([*instants, 99.0]),
    )  # fmt: skip
    model = runtime.new("unit_model", system=system)
    runtime.c.next_stop_is(next)
    return runtime.new("unit", **{"model": model, "start": 1.0, "stop": 3.01} | fields)


@pytest.mark.parametrize("off", [-6e-14, 0.0, 6e-14])
@pytest.mark.parametrize("t", [1.125, 1.375, 2.625, 1.2, 2.8, 1.3, 1.7, 2.9, 3.01, 1.7123])
def test_a_step_ends_at_what_is_there_but_for_rounding(runtime, t, off):
    """At a tick of any rate, an instant of the list, the end, and the next stop; 1e-13 of the time is one."""
    end = runtime.c.end_of_step(unit(runtime, next=1.7123), t * (1.0 + off), 0.77)
    assert end == pytest.approx(t, rel=3e-16, abs=0.0)


@pytest.mark.parametrize("t", [1.125, 1.2, 1.3, 1.7, 2.9, 3.01, 1.7123])
def test_another_time_is_left_as_it_is(runtime, t):
    for off in (-2e-13, 2e-13):
        end = t * (1.0 + off)
        assert runtime.c.end_of_step(unit(runtime, next=1.7123), end, 0.77) == end
    for n in range(4):  # lists of any length
        u = unit(runtime, (1.3, 1.7, 2.9)[:n])
        found = [runtime.c.end_of_step(u, x * (1.0 + 6e-14), 0.77) for x in (1.3, 1.7, 2.9)]
        assert [x in (1.3, 1.7, 2.9) for x in found] == [k < n for k in range(3)]


def test_steps_of_one_size_end_at_whole_numbers_of_the_first(runtime):
    """Its size is kept: 0.11 s; a sum of them is off by some digits."""
    u, t = unit(runtime), 1.0
    ends = []
    for _ in range(7):
        t = runtime.c.end_of_step(u, t + 0.11, 0.11)
        ends.append(t)
    assert ends == [1.0 + k * 0.11 for k in range(1, 8)] and u.regular == 0.11
    assert runtime.c.end_of_step(u, 1.345, 0.05) == 1.345 and u.regular == 0.11


def test_nothing_is_here_unless_a_stop_or_a_jump_out_of_a_delay_is(runtime):
    for stops, next, nothing in (((), 2.5, 1), ((), 2.0, 0), ((2.0,), 2.5, 0), ((2.25, 2.0), 2.5, 0),
                                 ((2.25, 2.375, 2.0), 2.5, 0), ((2.25, 2.375), 2.5, 1),
                                 ((2.25,), 1.5, 0)):  # fmt: skip
        u = unit(runtime, next=next)
        u.context.t, u.context.n_stops = 2.0, len(stops)
        u.context.stops = runtime.array([-math.inf, *stops, 2.0]) + 1  # what lies behind is none of them
        assert runtime.c.is_nothing_here(u) == nothing


@pytest.mark.parametrize(
    ("start", "stop", "status"),
    [(1.0, None, OK), (1.0, 1.0, OK), (1.0, 0.5, ERROR), (math.nan, None, ERROR), (math.inf, None, ERROR),
     (1.0, math.nan, ERROR), (-1.0, 2.0, OK)],
)  # fmt: skip
def test_an_experiment_begins_before_it_ends(runtime, start, stop, status):
    u = unit(runtime, row_known=1, rates_known=1)
    u.model.settings = runtime.new("pl_settings", rtol=1e-3, atol=1e-6)
    found = runtime.c.unit_begin(u, 0, 0.0, start, stop is not None, stop or 0.0)
    assert found == status
    if status == OK:
        assert (u.start, u.last, u.context.t, u.context.origin) == (start,) * 4
        assert u.stop == (math.inf if stop is None else stop) and not u.row_known and not u.rates_known


@pytest.mark.parametrize(
    ("defined", "tolerance", "adaptive", "found"),
    [(0, 1e-5, 1, (1e-3, 1e-6)), (1, 1e-5, 0, (1e-3, 1e-6)), (1, 0.0, 1, (1e-3, 1e-6)),
     (1, -1.0, 1, (1e-3, 1e-6)), (1, 1e-5, 1, (1e-5, 1e-8)), (1, 1e-3, 1, (1e-3, 1e-6))],
)  # fmt: skip
def test_a_tolerance_moves_both(runtime, defined, tolerance, adaptive, found):
    """The absolute one in proportion, where the solver has any."""
    u = unit(runtime)
    u.model.settings = runtime.new("pl_settings", rtol=1e-3, atol=1e-6)
    u.settings.rtol, u.settings.atol, u.settings.method.adaptive = 1e-3, 1e-6, adaptive
    assert runtime.c.unit_begin(u, defined, tolerance, 0.0, 0, 0.0) == OK
    assert (u.settings.rtol, u.settings.atol) == pytest.approx(found, rel=1e-12, abs=0.0)
