"""Invariants in C by their functions alone: how often states are corrected, and what rounding means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "invariants": '#include "invariants.c"',
    "evaluate": '#include "evaluate.c"\nvoid pl_update_w(void *r, const pl_args *a) {}',
}
CALLED = """
int pl_project(pl_run *r, double t, double *x);
const double *pl_rounding_noise(pl_run *r, double t, const double *x);
"""
CODE = "void(const pl_args *, double *)"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Circle:
    """x0^2 + x1^2 = 1 by Newton's method along its own gradient, and `off` beside; and a second one."""

    def __init__(self, runtime, tolerance=1e-12, off=0.0, second=0.0):
        self.looks, self.runtime = 0, runtime

        def invariants(a, out):
            self.looks += 1
            out[0:2] = [(a.x[0] ** 2 + a.x[1] ** 2 - 1.0) / 2, second]

        def correction(a, out):
            size = a.x[0] ** 2 + a.x[1] ** 2
            out[0:2] = [off - (size - 1.0) / 2 * x / size for x in a.x[0:2]]

        model = {
            "nx": 2,
            "invariants": runtime.function(CODE, invariants),
            "correction": runtime.function(CODE, correction),
        }
        tables = {"n_invariants": 2, "tolerance": runtime.array([tolerance, 1.0])}
        self.r = runtime.run(model, tables, out=runtime.array([0.0] * 3), apart=-1)

    def restored(self, x):
        """Whether it was moved, and where to."""
        room = self.runtime.array(x)
        return self.runtime.c.pl_project(self.r, 0.0, room), list(room)


def test_what_holds_to_a_tenth_of_its_tolerance_stays_and_what_does_not_is_corrected(runtime):
    c = Circle(runtime)
    x = [1.0 + 0.9e-13, 0.0]
    assert c.restored(x) == (0, x) and (c.looks, c.r.apart) == (1, -1)
    c = Circle(runtime)
    moved, x = c.restored([1.0 + 1e-12, 0.0])
    assert moved == 1 and abs(x[0] - 1.0) < 1e-15 and c.looks == 2
    c = Circle(runtime)
    moved, x = c.restored([3.0, 4.0])
    assert x == pytest.approx([0.6, 0.8], rel=1e-12) and 4 < c.looks < 9 and c.r.apart == -1


def test_one_that_holds_to_its_tolerance_and_no_less_is_left(runtime):
    """The second round leaves what is within the tolerance; one and a half of it is corrected again."""
    for left, again in ((0.9, False), (1.5, True)):
        c = Circle(runtime, tolerance=1e-3, off=left * 1e-3)  # a correction leaves that much of x0 beside
        c.restored([1.0 + 1e-2, 0.0])
        assert (c.looks > 2) == again


def test_corrections_end_after_eight_and_where_they_do_not_help(runtime):
    c = Circle(runtime, tolerance=1e-20, off=1.0)  # far from holding all the time
    c.restored([3.0, 4.0])
    assert (c.looks, c.r.apart) == (9, 0)
    c = Circle(runtime, tolerance=1.0, off=2.0)  # no better after the second
    c.restored([3.0, 4.0])
    assert (c.looks, c.r.apart) == (3, -1)
    c = Circle(runtime, second=2e8)  # which nothing corrects
    c.restored([1.0, 0.0])
    assert c.r.apart == 1
    c = Circle(runtime, second=0.9e8)
    c.restored([1.0, 0.0])
    assert c.r.apart == -1


def test_what_is_no_number_is_left_as_it_is(runtime):
    c = Circle(runtime, second=math.nan)
    assert c.restored([3.0, 4.0]) == (0, [3.0, 4.0]) and c.looks == 1
    c = Circle(runtime)
    assert c.restored([math.nan, 4.0])[0] == 0


def test_the_noise_of_a_state_is_what_its_last_digits_move_back(runtime):
    """Corrections double the distance from (1, ..., 1), twice; digits go up and down by a hash."""
    n = 9

    def correction(a, out):
        seen.append(list(a.x[0:n]))
        out[0:n] = [x - 1.0 for x in a.x[0:n]]

    seen, weights = [], [1.0 + k for k in range(n)]
    r = runtime.run(
        {"nx": n, "correction": runtime.function(CODE, correction)}, {"rounding": runtime.array(weights)},
        out=runtime.array([0.0] * n), f1=runtime.array([0.0] * n), trial=runtime.array([0.0] * n),
    )  # fmt: skip
    noise = runtime.c.pl_rounding_noise(r, 0.0, runtime.array([1.0] * n))
    assert list(noise[0:n]) == pytest.approx(4 * 2.0**-52 * np.array(weights), rel=1e-12)
    up = [(2654435761 * k % 2**32) >> 31 for k in range(n)]
    assert [x > 1.0 for x in seen[0]] == [bool(u) for u in up] and 2 < sum(up) < 7
    assert len(seen) == 2 and seen[1][0] - 1.0 == pytest.approx(2 * (seen[0][0] - 1.0), rel=1e-9)
