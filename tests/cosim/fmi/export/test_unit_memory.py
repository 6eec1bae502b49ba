"""Memory of exported units in C, by its functions alone: room for every vector, no memory, nothing left.

The runtime is stubs; every piece of memory is noted when it is taken and given back.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from cosim.fmi.export.sources import UNIT
from tests.helpers.runtime_parts import Runtime, parts

FILES = {"FILE_H": UNIT / "unit.h", "FILE_C": UNIT / "unit.c", "FILE_MEMORY_C": UNIT / "unit_memory.c"}
ALONE = Path(__file__).parents[3] / "data" / "fmi" / "unit_alone.c"
TEXT = "".join(f'#define {name} "{file}"\n' for name, file in FILES.items()) + f'#include "{ALONE}"\n'
CALLED = """
void describe(const pl_model *m, const pl_jacobian *j, const pl_system *s, const pl_settings *set,
              const pl_stiff *f, const double *x, const double *h, const double *w, const double *p,
              int n_shown, int n_inputs);
void *create(const char *name, int exchange, int fails);
void release(void *u);
void begin_anew(void *u);
int reserve(void *u, int delay, int64_t capacity, int fails);
int grow(void *u, int fails);
int calls_made(void);
int resets_made(void);
int left(void);
size_t room_behind(const void *p);
pl_context *context_of(void *u);
pl_stiff *stiff_of(void *u);
pl_run *run_of(void *u);
pl_log *notes_of(void *u);
void *workspace(void);
double *vector(void *v, int k);
size_t n_changing(void *u);
void *changing(void *u);
const char *name_of(void *u);
int is_exchange(void *u);
void spoil(void *v);
void standing(void *v, double *out);
int allowed(void *v, int mode, int modes);
const char *told(void);
const char *mode_name(int mode);
"""
NX, NH, NW, NP, EVENTS, RATES, LISTS, SHOWN, INPUTS, BODIES = 3, 5, 2, 4, 6, 2, 3, 7, 2, 2
C, V, IV, ENTRIES, FACTORS = 11, 13, 17, 8, 9


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), {"unit": TEXT}, CALLED))


def described(runtime, stiff="sparse", delays=2):
    """A model with numbers of its own in every size; `stiff`: "", "dense" or "sparse"."""
    r = runtime
    model = r.new("pl_model", nx=NX, nh=NH, nw=NW, np=NP)
    starts = r.array([0, 1, 3][: delays + 1], "int32_t")
    system = r.new(
        "pl_system", n_events=EVENTS, n_unknowns=1, n_rates=RATES, n_lists=LISTS, n_delays=delays,
        n_bodies=BODIES, delay_start=starts,
    )  # fmt: skip
    jacobian = r.new("pl_jacobian", nc=C, nv=V, niv=IV)
    table = r.new(
        "pl_stiff", sparse=stiff == "sparse", column_start=r.array([0, 2, 5, ENTRIES], "int32_t"),
        lu_start=r.array([0, 3, 6, FACTORS], "int32_t"),
    )  # fmt: skip
    vectors = [r.array([n + 10.0 * k for k in range(n)]) for n in (NX, NH, NW, NP)]
    settings = r.new("pl_settings", rtol=0.125)
    r.c.describe(model, jacobian, system, settings, table if stiff else r.ffi.NULL, *vectors, SHOWN, INPUTS)
    return model


@pytest.fixture
def unit(runtime):
    described(runtime)
    made = runtime.c.create(b"one", 1, 0)
    yield made
    runtime.c.release(made)
    assert runtime.c.left() == 0


def pieces(runtime, u, stiff):
    """(place, bytes) of everything the unit and the runtime write to."""
    c, s, r = runtime.c.context_of(u), runtime.c.stiff_of(u), runtime.c
    eight = [
        (c.x, NX), (c.h, NH), (c.w, NW), (c.p, NP), (c.next, NH), (c.signs, EVENTS), (c.solution, 1),
        (c.ticks, RATES), (c.instants, LISTS), (r.workspace(), 23),
    ]  # fmt: skip
    sizes = (SHOWN, NX, NX + INPUTS, INPUTS + NP, EVENTS, 19)
    eight += [(r.vector(u, k), n) for k, n in enumerate(sizes)]
    eight += [(r.run_of(u).counters.limited_by, NX), (c.stops, 2)]
    if stiff:
        eight += [
            (s.c, C), (s.v, V), (s.iv, IV), (s.seed, 2 * NX + 1), (s.jacobian, ENTRIES + NX), (s.slope, NX),
            (s.work, NX), (s.factors, FACTORS if stiff == "sparse" else 0), (s.dense, NX * NX), (s.z, NX),
            (s.z1, NX),
        ]  # fmt: skip
    address = lambda p: int(runtime.ffi.cast("uintptr_t", p))
    found = [(address(p), 8 * n) for p, n in eight]
    if stiff:
        frame = runtime.ffi.sizeof("pl_frame")
        found += [(address(s.frames), BODIES * frame), (address(s.pivots), 4 * NX)]
    found.append((address(r.notes_of(u).ticks), RATES * runtime.ffi.sizeof("pl_buffer")))
    for i, size in enumerate((1, 2)):
        h = c.histories[i]
        found += [(address(p), 8 * 512 * n) for p, n in ((h.starts, 1), (h.ends, 1), (h.values, 5 * size))]
    return found


@pytest.mark.parametrize("stiff", ["", "dense", "sparse"])
def test_every_vector_has_its_own_room(stiff, runtime):
    described(runtime, stiff)
    u = runtime.c.create(b"one", 1, 0)
    found = sorted(pieces(runtime, u, stiff))
    for (one, size), (other, _) in itertools.pairwise(found):
        assert one + size <= other
        assert one < other  # empty ones too
    for at, size in found:
        assert at % 8 == 0 and runtime.c.room_behind(runtime.ffi.cast("void *", at)) >= size
    runtime.c.release(u)
    assert runtime.c.left() == 0


def test_room_is_no_larger_than_it_has_to_be(unit, runtime):
    """One number beyond each vector, so that none is empty; a state holds all numbers that change."""
    n = runtime.c.n_changing(unit)
    assert n == NX + NH + NW + NP + NH + EVENTS + 1 + RATES + LISTS + 9
    assert runtime.c.room_behind(runtime.c.changing(unit)) == 8 * n
    assert runtime.c.room_behind(runtime.c.name_of(unit)) == len("one") + 1
    frame = runtime.ffi.sizeof("pl_frame") // 8
    explicit = 23 + SHOWN + 2 * NX + 2 * INPUTS + NP + EVENTS + 19 + 7
    stiff = C + V + IV + 2 * NX + 1 + ENTRIES + NX + 5 * NX + FACTORS + NX**2 + BODIES * frame + 13
    assert runtime.c.room_behind(runtime.c.workspace()) == 8 * (explicit + stiff)
    counts = runtime.ffi.cast("uintptr_t", runtime.c.context_of(unit).ticks)  # the last numbers: see states
    assert int(counts) == int(runtime.ffi.cast("uintptr_t", runtime.c.changing(unit))) + 8 * (
        n - RATES - LISTS - 2
    )


def test_a_unit_begins_with_the_numbers_of_its_model(unit, runtime):
    c = runtime.c.context_of(unit)

    def begun():
        for vector, n in ((c.x, NX), (c.h, NH), (c.next, NH), (c.w, NW), (c.p, NP)):
            assert list(vector[0:n]) == [n + 10.0 * k for k in range(n)]
        assert c.solution[0] == NW and list(c.signs[0:EVENTS]) == [0.0] * EVENTS
        assert list(c.ticks[0:RATES]) == [0] * RATES and list(c.instants[0:LISTS]) == [0] * LISTS
        assert (c.t, c.origin, c.step, c.error, c.started, c.stopped, c.n_stops) == (0, 0, 0, 1e-4, 0, 0, 0)
        assert [c.histories[i].count for i in range(2)] == [0, 0]
        out = runtime.array([0.0] * 17)
        runtime.c.standing(unit, out)
        assert list(out) == [1, 0, 0, math.inf, 0, *[0] * 7, 0.125, -1, 1, SHOWN, 3]

    begun()
    assert runtime.ffi.string(runtime.c.name_of(unit)) == b"one" and runtime.c.is_exchange(unit) == 1
    assert runtime.c.resets_made() == 1
    runtime.c.spoil(unit)
    runtime.c.begin_anew(unit)
    begun()
    assert runtime.c.resets_made() == 2


def test_without_delays_there_is_no_past(runtime):
    described(runtime, delays=0)
    u = runtime.c.create(b"", 0, 0)
    c = runtime.c.context_of(u)
    assert (c.histories, c.stops, c.stops_capacity) == (runtime.ffi.NULL, runtime.ffi.NULL, 0)
    assert runtime.ffi.string(runtime.c.name_of(u)) == b"" and runtime.c.is_exchange(u) == 0
    runtime.c.release(u)
    assert runtime.c.left() == 0


def test_where_memory_ends_there_is_no_unit_and_nothing_is_left(runtime):
    """Whichever piece cannot be had."""
    described(runtime)
    u = runtime.c.create(b"one", 1, 0)
    needed = runtime.c.calls_made()
    runtime.c.release(u)
    assert needed == 14  # the unit, five pieces, the list of histories and three pieces of each, the stops
    for k in range(1, needed + 1):
        assert runtime.c.create(b"one", 1, k) == runtime.ffi.NULL
        assert runtime.c.left() == 0
    runtime.c.release(runtime.ffi.NULL)  # does nothing


# --- the past of delays -----------------------------------------------------------------------------------
def test_room_for_the_past_keeps_what_is_there(unit, runtime):
    h = runtime.c.context_of(unit).histories[1]
    assert h.capacity == 512 and runtime.c.context_of(unit).histories[0].capacity == 512
    for k in range(512):
        h.starts[k], h.ends[k] = k, k + 0.5
    for k in range(5120):
        h.values[k] = -k
    assert runtime.c.reserve(unit, 1, 512, 0) == 1 and runtime.c.calls_made() == 0
    assert runtime.c.reserve(unit, 1, 513, 0) == 1 and runtime.c.calls_made() == 3
    assert h.capacity == 513 and runtime.c.context_of(unit).histories[0].capacity == 512
    assert list(h.starts[0:512]) == list(range(512)) and list(h.ends[0:2]) == [0.5, 1.5]
    assert list(h.values[0:5120]) == [-float(k) for k in range(5120)]
    for vector, n in ((h.starts, 1), (h.ends, 1), (h.values, 10)):
        assert runtime.c.room_behind(vector) == 8 * 513 * n
    for fails in (1, 2, 3):
        assert runtime.c.reserve(unit, 1, 1024, fails) == 0 and h.capacity == 513


def test_there_is_always_room_for_the_pieces_of_a_step_more(unit, runtime):
    """A step may become 256 pieces; a history is then doubled, and so is the list of stops."""
    c = runtime.c.context_of(unit)
    assert c.stops_capacity == 2 * 2 + 32
    c.histories[0].count, c.histories[1].count = 512 - 256, 512 - 255
    assert runtime.c.grow(unit, 0) == 1
    assert [c.histories[i].capacity for i in range(2)] == [512, 2 * 512 + 256]
    c.histories[0].count = 512
    assert runtime.c.grow(unit, 2) == 0 and c.histories[0].capacity == 512
    assert runtime.c.grow(unit, 0) == 1 and c.histories[0].capacity == 2 * 512 + 256
    c.n_stops, c.stops[33] = 34, 7.0
    assert runtime.c.grow(unit, 0) == 1 and c.stops_capacity == 36  # one stop of each delay has room
    c.n_stops = 35
    assert runtime.c.grow(unit, 1) == 0 and c.stops_capacity == 36
    assert runtime.c.grow(unit, 0) == 1 and (c.stops_capacity, c.stops[33]) == (2 * (36 + 2) + 32, 7.0)
    assert runtime.c.room_behind(c.stops) == 8 * c.stops_capacity


# --- modes ------------------------------------------------------------------------------------------------
MODES = {
    1: "instantiated", 2: "configuration mode", 4: "initialization mode", 8: "event mode",
    16: "continuous-time mode", 32: "step mode", 64: "terminated", 128: "failed", 256: "reconfiguration mode",
    512: "intermediate update mode",
}  # fmt: skip


def test_modes_have_the_names_of_the_standard(runtime):
    for mode, name in MODES.items():
        assert runtime.ffi.string(runtime.c.mode_name(mode)).decode() == name


def test_what_is_not_allowed_now_is_told_with_where_it_is(unit, runtime):
    told = lambda: runtime.ffi.string(runtime.c.told()).decode()
    for mode in MODES:
        assert (
            runtime.c.allowed(unit, mode, mode) == runtime.c.allowed(unit, mode, 1023) == 1 and told() == ""
        )
        assert runtime.c.allowed(unit, mode, 1023 - mode) == 0
    start = "3 logStatusError model: fmiX was called while the unit is in: "
    assert runtime.c.allowed(unit, 32, 8) == 0
    assert told() == f"{start}step mode; it is allowed in: event mode."
    assert runtime.c.allowed(unit, 64, 1 + 512) == 0  # the first and the last of all
    assert told() == f"{start}terminated; it is allowed in: instantiated, intermediate update mode."
    assert runtime.c.allowed(unit, 1, 4 + 8 + 16 + 512) == 0
    assert told() == (
        f"{start}instantiated; it is allowed in: initialization mode, event mode, continuous-time mode, "
        "intermediate update mode."
    )
    assert runtime.c.allowed(unit, 64, 0) == 0 and told().endswith("allowed in: no mode of this kind.")
    assert runtime.c.allowed(unit, 1, 1022) == 0  # as many as have room
    names = [*MODES.values()][1:]
    assert told() == f"{start}instantiated; it is allowed in: {', '.join(names)}."
