"""Values of exported units in C by their functions alone: what may be set when, and between which limits."""

from __future__ import annotations

import math
import re

import pytest

from cosim.fmi.export.sources import UNIT
from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "values": f"""#include "{UNIT / "unit_values.c"}"
static int said;
int last_said(void) {{ return said; }}
void unit_say(const unit *u, int status, const char *category, const char *format, ...) {{ said = status; }}
static int unsettled;
int times_unsettled(void) {{ return unsettled; }}
int unit_unsettle(unit *u) {{ unsettled++; return u->mode == UNIT_INITIALIZATION ? u->due : 0; }}
int which_limit(const unit_model *m, int32_t place)
{{ const unit_limit *l = limit_of(m, place); return l ? (int)(l - m->limits) : -1; }}
int beyond(const unit_limit *l, double value) {{ return is_beyond(l, value); }}
""",
    "states": f"""#include <stdlib.h>
static size_t most;
void have_memory(size_t bytes) {{ most = bytes; }}
static void *within(void *p, size_t bytes) {{ return bytes > most ? NULL : realloc(p, bytes); }}
#define realloc within
#include "{UNIT / "unit_states.c"}"
int is_one_mode(int64_t mode) {{ return is_mode(mode); }}
""",
}
HEADER = re.sub(r"/\*.*?\*/", "", (UNIT / "unit.h").read_text(), flags=re.DOTALL)
CALLED = (
    "\n".join(line for line in HEADER.splitlines() if not line.startswith("#"))
    + """
int which_limit(const unit_model *m, int32_t place);
int beyond(const unit_limit *l, double value);
int is_one_mode(int64_t mode);
int times_unsettled(void);
int last_said(void);
void have_memory(size_t bytes);
"""
)
OK, ERROR = 0, 3


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


@pytest.mark.parametrize("places", [(), (3,), (3, 5), (1, 3, 5), (1, 3, 5, 8), (1, 3, 5, 8, 9)])
def test_the_limit_of_a_parameter_is_found_by_its_place(runtime, places):
    limits = runtime.array([{"place": place} for place in (*places, 7)], "unit_limit")  # the last is none
    model = runtime.new("unit_model", n_limits=len(places), limits=limits)
    found = [runtime.c.which_limit(model, place) for place in range(11)]
    assert found == [places.index(place) if place in places else -1 for place in range(11)]


@pytest.mark.parametrize("lower", [0, 1, 2])
@pytest.mark.parametrize("upper", [0, 1, 2])
def test_a_limit_may_be_one_of_the_numbers_or_not(runtime, lower, upper):
    limit = runtime.new("unit_limit", low=-1.0, high=2.0, lower=lower, upper=upper)
    below = ((-1.5, lower > 0), (-1.0, lower == 2), (-0.5, False))
    for value, beyond in (*below, (1.5, False), (2.0, upper == 2), (2.5, upper > 0)):
        assert bool(runtime.c.beyond(limit, value)) == beyond


def test_modes_are_single_bits(runtime):
    """From instantiated to intermediate update; nothing else may stand in a saved state."""
    found = [mode for mode in range(-3, 2100) if runtime.c.is_one_mode(mode)]
    assert found == [2**k for k in range(10)]
    assert not runtime.c.is_one_mode(-(2**63)) and not runtime.c.is_one_mode(2**32 + 1)


def test_a_state_for_which_there_is_no_memory_is_an_error_and_leaves_what_was_saved(runtime):
    r, c = runtime, runtime.c
    token, state = r.ffi.new("char[]", b"a model"), r.new("unit_bytes")
    model = r.new("unit_model", token=token, system=r.new("pl_system"), n_inputs=2)
    u = r.new("unit", model=model, old_x=r.array([1.0, 2.0, 3.0]), mode=c.UNIT_EVENT)
    u.run.model = r.new("pl_model", nx=1)
    size = c.unit_state_size(u)
    c.have_memory(size - 1)
    assert c.unit_save(u, state) == ERROR == c.last_said() and (state.size, state.values) == (0, r.ffi.NULL)
    c.have_memory(size)
    assert c.unit_save(u, state) == OK and state.size == size
    c.have_memory(0)  # there is room for it now
    assert c.unit_save(u, state) == OK and c.unit_fits(u, state)


KINDS = ("TIME", "INPUT", "PARAMETER", "STATE", "RATE", "HELD", "DISCRETE", "SIGNAL", "INDICATOR", "ZERO")


def unit(runtime, mode, **fields):
    """A number of each kind at place 1, by its reference; parameters above 0."""
    r, c = runtime, runtime.c
    numbers = [{"kind": getattr(c, f"UNIT_{kind}"), "place": 1} for kind in KINDS]
    name, text = r.ffi.new("char[]", b"p"), r.ffi.new("char[]", b"above 0")
    limit = r.array([{"place": 1, "low": 0.0, "lower": 2, "name": name, "text": text}], "unit_limit")
    model = r.new("unit_model", n_numbers=len(KINDS), numbers=r.array(numbers, "unit_number"), n_limits=1,
                  limits=limit)  # fmt: skip
    u = r.new("unit", model=model, mode=getattr(c, f"UNIT_{mode}"), row_known=1, rates_known=1, **fields)
    vectors = {name: r.array([9.0, 1.0, 9.0]) for name in ("h", "p", "x", "next")}
    for vector, values in vectors.items():
        setattr(u.context, vector, values)
    r.kept += [name, text]
    return u, vectors


BEFORE, RUNNING = ("INSTANTIATED", "CONFIGURATION", "INITIALIZATION"), ("EVENT", "CONTINUOUS", "STEP")


@pytest.mark.parametrize("mode", [*BEFORE, *RUNNING])
@pytest.mark.parametrize("kind", KINDS)
def test_what_may_be_set_in_which_mode(runtime, kind, mode):
    """FMI 3.0.2, section 2.4.7: start values before the run, inputs always, parameters at events."""
    u, vectors = unit(runtime, mode)
    before = runtime.c.times_unsettled()
    goes = {"INPUT": ["h"], "PARAMETER": ["p"], "STATE": ["x"], "HELD": ["h"], "DISCRETE": ["h", "next"]}
    allowed = kind in goes and (mode in BEFORE or kind in ("INPUT", "PARAMETER"))
    allowed = allowed and (kind, mode) != ("PARAMETER", "CONTINUOUS")
    assert runtime.c.unit_set(u, KINDS.index(kind), 4.5) == (OK if allowed else ERROR)
    for name, values in vectors.items():
        assert list(values) == [9.0, 4.5 if allowed and name in goes[kind] else 1.0, 9.0]
    assert (u.row_known, u.rates_known, u.renewed) == ((0, 0, 1) if allowed else (1, 1, 0))
    assert runtime.c.times_unsettled() - before == (allowed and mode == "INITIALIZATION")
    assert runtime.c.unit_set(u, KINDS.index(kind), math.nan) == ERROR
    assert runtime.c.unit_set(u, len(KINDS), 4.5) == ERROR
    if kind == "ZERO":
        assert runtime.c.unit_set(u, KINDS.index(kind), 0.0) == OK


def test_a_parameter_keeps_within_its_limits(runtime):
    u, vectors = unit(runtime, "EVENT")
    for value, status in ((0.0, ERROR), (-1.0, ERROR), (5e-324, OK)):
        assert runtime.c.unit_set(u, KINDS.index("PARAMETER"), value) == status
    assert vectors["p"][1] == 5e-324
    assert runtime.c.unit_set(u, KINDS.index("INPUT"), -1.0) == OK  # it has no limits at that place
    u, vectors = unit(runtime, "INITIALIZATION", due=3)  # what cannot go back to what was set fails
    assert runtime.c.unit_set(u, KINDS.index("INPUT"), 2.0) == 3 and vectors["h"][1] == 1.0
