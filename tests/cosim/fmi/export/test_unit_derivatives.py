"""Derivatives of exported units in C, by their functions alone: of a linear system, and of a quadratic one.

FMI 3.0.2, section 2.2.12: directional derivatives are J s, adjoint ones J^T s. In initialization mode, where
the start executes something, they are differences, which are exact for what is quadratic.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cosim.fmi.export.sources import UNIT
from tests.helpers.runtime_parts import Runtime, parts

ALONE = Path(__file__).parents[3] / "data" / "fmi" / "derivatives_alone.c"
FILES = {"FILE_H": "unit.h", "FILE_C": "unit_derivatives.c"}
TEXT = "".join(f'#define {name} "{UNIT / file}"\n' for name, file in FILES.items()) + f'#include "{ALONE}"\n'
HEADER = re.sub(r"/\*.*?\*/", "", (UNIT / "unit.h").read_text(), flags=re.DOTALL)
CALLED = (
    "\n".join(line for line in HEADER.splitlines() if not line.startswith("#"))
    + """
void begin(double (*value)(unit *, uint32_t), const int *statuses);
const char *told(void);
"""
)
OK, DISCARD, ERROR = 0, 2, 3
INITIALIZATION, EVENT, STEP = 4, 8, 32
NX, NH, NP, SHOWN, EVENTS = 2, 6, 3, 4, 2
INPUTS = (4, 1)  # places in h
# numbers by value reference
TIME, HELD, ZERO = 0, 1, 2
STATES, RATES, IN, P, SIGNALS, INDICATORS = (3, 4), (5, 6), (7, 8), (9, 10, 11), (12, 13, 14, 15), (16, 17)
NUMBERS = 18
KNOWN = (*STATES, TIME, *IN, *P)  # as derivative code takes them
RESULTS = (*RATES, *SIGNALS, *INDICATORS)
M = np.random.default_rng(5).standard_normal((len(RESULTS), len(KNOWN))).round(2)
STEADY = dict.fromkeys(("unsettle", "save", "get", "load", "rates"), 0)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), {"derivatives": TEXT}, CALLED))


class Unit:
    """Results are M times the knowns; `value(t, x, h, p, reference)` are its values."""

    def __init__(self, runtime, sizes=((3, 4, 5), (3, 4, 5)), mode=STEP, value=None, **system):
        self.r, self.c, self.ffi = runtime, runtime.c, runtime.ffi
        kinds = [(TIME, 0, "TIME"), (HELD, 3, "HELD"), (ZERO, 0, "ZERO")]
        for name, places in (("STATE", STATES), ("RATE", RATES), ("PARAMETER", P), ("SIGNAL", SIGNALS),
                             ("INDICATOR", INDICATORS)):  # fmt: skip
            kinds += [(reference, k, name) for k, reference in enumerate(places)]
        kinds += [(reference, INPUTS[k], "INPUT") for k, reference in enumerate(IN)]
        numbers = [{"kind": getattr(self.c, f"UNIT_{kind}"), "place": k} for _, k, kind in sorted(kinds)]
        codes = [self._code(adjoint, size) for adjoint, size in enumerate(sizes)]
        functions = [
            runtime.function("pl_jacobian *(void)", lambda c=c: c) if c else self.ffi.NULL for c in codes
        ]
        around = runtime.array((INPUTS[0], *INPUTS, INPUTS[1]), "int32_t")
        model = runtime.new(
            "unit_model", n_numbers=NUMBERS, numbers=runtime.array(numbers, "unit_number"), n_shown=SHOWN,
            n_inputs=len(INPUTS), inputs=around + 1, forward=functions[0],
            adjoint=functions[1], system=runtime.new("pl_system", **({"n_events": EVENTS} | system)),
        )  # fmt: skip
        runtime.kept.append(name := self.ffi.new("char[]", b"m"))
        model.name = name
        self.u = u = runtime.new("unit", model=model, mode=mode, row_known=1, rates_known=1)
        u.run.model = runtime.new("pl_model", nx=NX, nh=NH, np=NP)
        c = u.context
        c.t = u.start = c.origin = 2.0
        c.x, c.h, c.p = (
            runtime.array([1.0, -2.0]),
            runtime.array([float(k) for k in range(NH)]),
            runtime.array([3.0, 4.0, 0.5]),
        )
        u.run.a.h, u.run.a.p = c.h, c.p
        self.doubles = int(self.c.unit_derivative_doubles(u))
        self.room = runtime.array([np.nan] * (self.doubles + 4))
        self.room[0] = self.room[1] = self.room[self.doubles + 2] = self.room[self.doubles + 3] = 77.0
        u.linear, u.rates = self.room + 2, runtime.array([0.25, 0.5])
        self.value, self.pieces = value, []

    def _code(self, adjoint, size):
        """Derivative code with so many constants and scratch; it fills all of its room."""
        if size is None:
            return None
        nc, nv, niv = size
        number = lambda pointer: int(self.ffi.cast("uintptr_t", pointer))

        def prepare(a, out):
            assert (a.t, a.x[0], a.x[1]) == (self.u.context.t, *self.x)
            for k in range(nc):
                out[k] = k + 0.5
            self.constants = number(out)

        def values(a, out):
            n_given, n_found = (len(RESULTS), len(KNOWN)) if adjoint else (len(KNOWN), len(RESULTS))
            assert number(a.c) == self.constants and [a.c[k] for k in range(nc)] == [
                k + 0.5 for k in range(nc)
            ]
            assert (a.x[0], a.x[1]) == self.x
            self.pieces = [(number(a.x), NX + n_given), (number(out), n_found), (number(a.c), nc),
                           (number(a.v), nv), (number(a.iv), niv)]  # fmt: skip
            given = np.array([a.x[NX + k] for k in range(n_given)])
            for k in range(nv):
                a.v[k] = -9.0
            for k in range(niv):
                a.iv[k] = 2**60 + k
            for k, found in enumerate((M.T if adjoint else M) @ given):
                out[k] = found

        kind = "void(const pl_args *, double *)"
        prepared, valued = self.r.function(kind, prepare), self.r.function(kind, values)
        return self.r.new("pl_jacobian", nc=nc, nv=nv, niv=niv, prepare=prepared, values=valued)

    @property
    def x(self):
        return (self.u.context.x[0], self.u.context.x[1])

    def call(self, name, *arguments, n, **statuses):
        """Status, numbers and what was called."""
        out = self.r.array([np.nan] * n + [55.0])
        value = self.r.function("double(unit *, uint32_t)", self._value)
        self.c.begin(value, self.r.array((STEADY | statuses).values(), "int"))
        given = []
        for a in arguments:
            given += [self.r.array(a, "uint32_t"), len(a)] if isinstance(a, tuple) else [self.r.array(a)]
        status = getattr(self.c, f"unit_{name}")(self.u, *given, out)
        assert (
            out[n] == 55.0
            and [self.room[k] for k in (0, 1, self.doubles + 2, self.doubles + 3)] == [77.0] * 4
        )
        return status, np.array(list(out[0:n])), self.ffi.string(self.c.told()).decode().strip()

    def _value(self, u, reference):
        """The reader sees what was set: nothing is known any more."""
        c = u.context
        moved = [c.x[0], c.x[1], c.t, *(c.h[k] for k in INPUTS), *(c.p[k] for k in range(NP))]
        self.seen.append((u.start, c.origin, u.renewed, u.row_known, u.rates_known))
        return self.value(RESULTS.index(reference), np.array(moved))


def test_directional_derivatives_are_those_of_the_code(runtime):
    one = Unit(runtime)
    for k, known in enumerate(KNOWN):
        status, found, story = one.call("forward", RESULTS, (known,), [2.0], n=len(RESULTS))
        assert status == OK and found.tolist() == (2.0 * M[:, k]).tolist()
        assert story == "constants arguments(2,1)"
    seed = np.arange(1.0, len(KNOWN) + 1)
    status, found, _ = one.call("forward", RESULTS[::-1], KNOWN, seed, n=len(RESULTS))
    assert status == OK and found == pytest.approx((M @ seed)[::-1], rel=1e-14)
    status, found, _ = one.call("forward", (RATES[1],), (P[1], ZERO, P[1]), [1.0, 5.0, 2.0], n=1)
    assert status == OK and found == pytest.approx(3.0 * M[1, KNOWN.index(P[1])])


def test_adjoint_derivatives_are_those_of_the_code(runtime):
    one = Unit(runtime)
    for i, unknown in enumerate(RESULTS):
        status, found, _ = one.call("adjoint", (unknown,), KNOWN, [2.0], n=len(KNOWN))
        assert status == OK and found.tolist() == (2.0 * M[i]).tolist()
    seed = np.arange(1.0, len(RESULTS) + 1)
    status, found, _ = one.call(
        "adjoint", (*RESULTS, RESULTS[3]), (*KNOWN[::-1], ZERO), [*seed, 1.0], n=len(KNOWN) + 1
    )
    assert status == OK
    assert found == pytest.approx([*(M.T @ seed + M[3])[::-1], 0.0], rel=1e-14)


@pytest.mark.parametrize("size", [(3, 4, 5), (0, 0, 0), (0, 4, 5), (3, 0, 5), (3, 4, 0), (1, 0, 0)])
@pytest.mark.parametrize("name", ["forward", "adjoint"])
def test_code_has_room_of_its_own(runtime, name, size):
    """For constants and scratch; neither lies in the other, in what is given or returned, or beyond all."""
    other = (1, 1, 1)
    one = Unit(runtime, sizes=(size, other) if name == "forward" else (other, size))
    given, n = (RESULTS, len(RESULTS)) if name == "forward" else (RESULTS, len(KNOWN))
    seed = np.ones(len(KNOWN) if name == "forward" else len(RESULTS))
    status, _, _ = one.call(name, given, KNOWN, seed, n=n)
    begin = int(one.ffi.cast("uintptr_t", one.u.linear))
    ends = 0
    for place, length in sorted(piece for piece in one.pieces if piece[1]):
        assert place >= begin + ends
        ends = place - begin + 8 * length
    if sum(size) >= sum(other):
        assert ends == 8 * one.doubles
    assert status == OK and ends <= 8 * one.doubles


def test_room_is_for_the_larger_code_and_none_without_any(runtime):
    sizes = lambda *both: Unit(runtime, sizes=both).doubles
    assert sizes(None, None) == 0
    least = sizes((0, 0, 0), None)
    assert least == NX + len(KNOWN) + len(RESULTS)
    for size in ((1, 0, 0), (0, 2, 0), (0, 0, 3), (4, 5, 6)):
        more = sum(size)
        assert (
            sizes(size, (0, 0, 0))
            == sizes((0, 0, 0), size)
            == sizes(size, None)
            == sizes(None, size)
            == least + more
        )


def test_a_loop_without_a_solution_is_told(runtime):
    one = Unit(runtime)
    one.u.run.unsolved = 1
    for name, n in (("forward", 1), ("adjoint", 1)):
        status, found, story = one.call(name, (RATES[0],), (STATES[0],), [1.0], n=n)
        assert status == DISCARD and np.isnan(found).all()
        assert story == f"constants arguments(2,1) explain({runtime.c.PL_NO_SOLUTION})"


@pytest.mark.parametrize("name", ["forward", "adjoint"])
@pytest.mark.parametrize(
    ("unknowns", "knowns", "wrong", "kind"),
    [
        ((STATES[0],), (TIME,), STATES[0], "unknown"), ((SIGNALS[0], HELD), (TIME,), HELD, "unknown"),
        ((NUMBERS,), (TIME,), NUMBERS, "unknown"), ((RATES[0],), (RATES[1],), RATES[1], "known"),
        ((RATES[0],), (HELD,), HELD, "known"), ((RATES[0],), (TIME, NUMBERS), NUMBERS, "known"),
        ((ZERO,), (TIME,), ZERO, "unknown"),
    ],
)  # fmt: skip
def test_what_is_no_known_or_unknown_is_refused(runtime, name, unknowns, knowns, wrong, kind):
    one = Unit(runtime)
    status, _, story = one.call(name, unknowns, knowns, [1.0, 1.0], n=2)
    text = f"m: the variable with value reference {wrong} is no {kind} of derivatives."
    assert (status, story) == (ERROR, f"[3 logStatusError {text}]")


# --- in initialization mode -------------------------------------------------------------------------------

Q = np.random.default_rng(6).standard_normal((len(RESULTS), len(KNOWN), len(KNOWN))).round(2)


def quadratic(i, z):
    return float(M[i] @ z + z @ Q[i] @ z)


def jacobian(one):
    """Of `quadratic` where a unit stands, (results, knowns)."""
    c = one.u.context
    z = np.array([c.x[0], c.x[1], c.t, *(c.h[k] for k in INPUTS), *(c.p[k] for k in range(NP))])
    return M + np.einsum("ijk,k->ij", Q + Q.transpose(0, 2, 1), z)


def initialising(runtime, **system):
    one = Unit(runtime, mode=INITIALIZATION, value=quadratic, **(system or {"n_segments": 1}))
    one.seen = []
    return one


def test_at_the_start_they_are_differences(runtime):
    one = initialising(runtime)
    J = jacobian(one)
    for k, known in enumerate(KNOWN):
        one.seen.clear()
        status, found, story = one.call("forward", RESULTS, (known,), [2.0], n=len(RESULTS))
        assert status == OK and found == pytest.approx(2.0 * J[:, k], rel=1e-7, abs=1e-7)
        assert story == "unsettle save(1)" + " load(1)" * (3 if known == TIME else 2)
        n = len(RESULTS)
        if known == TIME:  # of second order, from the start onwards; the start of the run moves along
            h = 6e-6 * 2.0
            starts = one.seen[::n]
            assert [s[0] for s in starts] == pytest.approx([2.0, 2.0 + h, 2.0 + 2.0 * h], abs=1e-12)
            assert all(s[0] == s[1] for s in starts)
        assert all(s[2:] == (1, 0, 0) for s in one.seen)
    seed = np.linspace(-1.0, 2.0, len(KNOWN))
    status, found, story = one.call("forward", RESULTS, (*KNOWN, ZERO), [*seed, 1.0], n=len(RESULTS))
    assert status == OK and found == pytest.approx(J @ seed, rel=1e-6, abs=1e-6)
    assert story == "unsettle save(1)" + " load(1)" * 5
    status, found, story = one.call("forward", RESULTS, KNOWN, np.zeros(len(KNOWN)), n=len(RESULTS))
    assert (status, found.tolist(), story) == (OK, [0.0] * len(RESULTS), "unsettle save(1)")


def test_differences_are_of_the_size_of_what_is_moved(runtime):
    """The cube root of rounding, of the largest that moves, and of 1 at least."""
    for value, expected in ((0.0, 6e-6), (0.5, 6e-6), (-300.0, 1.8e-3)):
        one = initialising(runtime)
        one.u.context.x[1] = value
        steps = []
        one.value = lambda i, z, steps=steps: steps.append((z[0], z[1])) or 0.0
        one.call("forward", (RATES[0],), STATES, [0.25, -0.5], n=1)
        assert [x1 - value for _, x1 in steps] == pytest.approx([expected, -expected], rel=1e-6)
        assert [x0 - 1.0 for x0, _ in steps] == pytest.approx([-expected / 2, expected / 2], rel=1e-6)
    for start, expected in ((0.0, 6e-6), (-40.0, 2.4e-4)):
        one = initialising(runtime)
        one.u.start = one.u.context.t = start
        steps = []
        one.value = lambda i, z, steps=steps: steps.append(z[2]) or 0.0
        one.call("forward", (RATES[0],), (TIME,), [3.0], n=1)
        assert [t - start for t in steps] == pytest.approx(
            [0.0, expected, 2.0 * expected], rel=1e-6, abs=1e-15
        )


def test_adjoints_at_the_start_are_sums_of_differences(runtime):
    one = initialising(runtime)
    J, seed = jacobian(one), np.linspace(-1.0, 2.0, len(RESULTS))
    seed[2] = 0.0
    status, found, _ = one.call("adjoint", RESULTS, KNOWN, seed, n=len(KNOWN))
    assert status == OK and found == pytest.approx(J.T @ seed, rel=1e-6, abs=1e-6)
    status, found, story = one.call("adjoint", RESULTS, KNOWN, np.zeros(len(RESULTS)), n=len(KNOWN))
    assert (status, found.tolist(), story) == (OK, [0.0] * len(KNOWN), "")


@pytest.mark.parametrize("name", ["forward", "adjoint"])
@pytest.mark.parametrize("known", [TIME, STATES[0]])
@pytest.mark.parametrize(
    ("failing", "story"),
    [("unsettle", "unsettle"), ("save", "unsettle save(1)"), ("get", "unsettle save(1) load(1)"),
     ("load", "unsettle save(1) load(1)")],
)  # fmt: skip
def test_where_a_difference_fails_nothing_follows(runtime, name, known, failing, story):
    one = initialising(runtime)
    knowns = (known, STATES[1])
    seed = [1.0, 1.0] if name == "forward" else [1.0]
    status, _, said = one.call(
        name, (RATES[0],), knowns, seed, n=2 if name == "adjoint" else 1, **{failing: DISCARD}
    )
    assert (status, said) == (DISCARD, story)
    if failing == "get":
        assert len(one.seen) == 1


@pytest.mark.parametrize("what", ["n_segments", "n_starting", "n_invariants", "n_events", "n_rates"])
def test_a_start_that_executes_something_takes_differences(runtime, what):
    """Of whatever kind; one that does not, and any other mode, takes the code."""
    one = initialising(runtime, **({"n_events": 0} | {what: 1}))
    assert one.call("forward", (RATES[0],), (TIME,), [1.0], n=1)[2].startswith("unsettle save(1)")
    one.u.mode = EVENT
    assert one.call("forward", (RATES[0],), (TIME,), [1.0], n=1)[2] == "constants arguments(2,1)"
    one = initialising(runtime, n_events=0, n_bodies=1)
    assert one.call("forward", (RATES[0],), (TIME,), [1.0], n=1)[2] == "constants arguments(2,1)"


# --- rates of outputs -------------------------------------------------------------------------------------


def test_rates_of_outputs_follow_states_and_time(runtime):
    """dy/dt = dy/dx f + dy/dt, with inputs and parameters held."""
    one = Unit(runtime)
    outputs = (SIGNALS[2], SIGNALS[0], INDICATORS[1])
    status, found, story = one.call("output_rates", outputs, n=3)
    rates = M[:, :NX] @ [0.25, 0.5] + M[:, NX]
    assert status == OK and found == pytest.approx([rates[RESULTS.index(r)] for r in outputs], rel=1e-14)
    assert story == "rates constants arguments(2,1)"
    for wrong in (RATES[1], STATES[0], HELD, NUMBERS):
        status, _, story = one.call("output_rates", (SIGNALS[0], wrong), n=2)
        text = f"m: the variable with value reference {wrong} is no output."
        assert (status, story) == (ERROR, f"rates [3 logStatusError {text}]")
    status, found, story = one.call("output_rates", outputs, n=3, rates=DISCARD)
    assert status == DISCARD and story == "rates" and np.isnan(found).all()
