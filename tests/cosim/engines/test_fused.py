"""Groups of copies in one loop: which are fused, in what order, and what is still kept in arrays."""

import casadi as ca
import numpy as np
import pytest

from cosim.engines.codegen import copies, planner
from cosim.engines.codegen.copies_c import SHORT
from cosim.engines.codegen.plan import Shared
from tests.cosim.engines.test_plan import Interpreter
from tests.helpers.printed import same, symbols

N = 60


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    monkeypatch.setattr(planner, "SMALL", 0)
    monkeypatch.setattr(copies, "FEW", 0)


def shapes(rows, sizes=(N, N, 0, N), **options):
    """The shapes of a function of t, x, h, w, p, which gives CasADi's numbers, piece by piece."""
    t, x, h, w, p = symbols(*sizes)
    f = ca.Function("f", [t, x, h, w, p], [ca.densify(ca.vertcat(*rows(x, h, p)))])
    run = Interpreter(f, **options)
    rng = np.random.default_rng(2)
    arguments = [rng.normal(size=n) for n in sizes]
    found, expected = run(0.1, *arguments), np.array(f(0.1, *arguments)).ravel()
    places = run.plan.arranged.get("f", range(len(expected)))
    assert same(expected, np.array([found[k] for k in places]))
    pieces = [q for q in run.plan.functions["f"].pieces if isinstance(q, Shared)]
    return [{c.shape.number: c.shape for c in q.copies} for q in pieces], run


def operations(pieces):
    """How many operations there are in the loops."""
    return {len(shape.operations) for piece in pieces for shape in piece.values()}


def test_results_that_the_next_part_reads_stay_in_registers():
    """sin(x p) is put out and read again, x + h besides: one loop of five operations, nothing in scratch."""

    def rows(x, h, p):
        first = [ca.sin(x[i] * p[i]) for i in range(N)]
        return [*first, *(first[i] / h[i] - h[i] for i in range(N)), *(x[i] + h[i] for i in range(N))]

    found, run = shapes(rows)
    assert [len(s) for s in found] == [1]
    (shape,) = found[0].values()
    assert len(shape.operations) == 5
    assert [array for _, array in shape.stores] == ["out"] * 3 and run.plan.doubles == 0


def test_parts_with_numbers_of_their_own_share_a_loop():
    """No two copies have the same numbers: those of all parts are columns of one table."""

    def rows(x, h, p):
        first = [ca.sin(x[i]) * (2.5 + i) - (0.1 + i) for i in range(N)]
        second = [first[i] * h[i] for i in range(N)]
        return [*first, *second, *(second[i] / (7.5 + 2 * i) for i in range(N))]

    found, run = shapes(rows)
    assert [len(s) for s in found] == [1] and run.plan.doubles == 0
    (shape,) = found[0].values()
    assert len(shape.operations) == 5 and shape.number_columns == 3
    (piece,) = (q for q in run.plan.functions["f"].pieces if isinstance(q, Shared))
    numbers = [row for c in piece.copies for row in c.numbers]
    assert sorted(numbers) == sorted([2.5 + i, 0.1 + i, 7.5 + 2 * i] for i in range(N))


def test_what_others_read_is_kept():
    """Neighbours read the first part of each other, so it goes through scratch, and the sum stays apart."""

    def rows(x, h, p):
        first = [ca.sin(x[i]) for i in range(N)]
        second = [first[i] * h[i] for i in range(N)]
        return [*first, *second, *(second[i] + first[(i + 7) % N] for i in range(N))]

    found, run = shapes(rows)
    assert run.plan.doubles == 2 * N
    assert [len(s.operations) for piece in found for s in piece.values()] == [2, 1]


def test_copies_that_read_what_others_make_in_no_order_are_left_alone():
    """In one loop with the sines the products would fetch the bounded numbers from all over an array."""
    order = np.random.default_rng(3).permutation(N).tolist()

    def rows(other):
        def made(x, h, p):
            sines, bounded = [ca.sin(x[i]) for i in range(N)], [ca.fmin(h[i], 0.5) for i in range(N)]
            return [*sines, *bounded, *(sines[i] * bounded[other[i]] for i in range(N))]

        return made

    assert operations(shapes(rows(order))[0]) == {1}
    assert operations(shapes(rows(range(N)))[0]) == {3}


def test_nothing_is_fused_around_what_stands_in_between():
    """The sum of all first parts is read by each last one: first parts, the sum, last parts in this order."""

    def rows(x, h, p):
        first = [ca.sin(x[i]) for i in range(N)]
        total = sum(first[1:], first[0])
        return [first[i] * total for i in range(N)]

    def rows_and_their_sum(x, h, p):
        last = rows(x, h, p)
        return [*last, sum(last[1:], last[0])]

    def kinds(made):
        _, run = shapes(made)
        return [type(q).__name__ for q in run.plan.functions["f"].pieces]

    assert kinds(rows) == ["Shared", "Plain", "Shared"]
    assert kinds(rows_and_their_sum) == ["Shared", "Plain", "Shared", "Plain"]


def test_kinds_in_turn_and_in_a_row_are_divided():
    """Two comparisons per block of one shape, in turn or one kind after the other, and what reads both."""

    def first(x, h, i):
        return x[2 * i] * h[i], x[2 * i + 1] * h[i + N]

    def last(x, h):
        return [ca.sin(a) - ca.fmin(b, 0.5) for a, b in (first(x, h, i) for i in range(N))]

    def in_turn(x, h, p):
        return [*(r for i in range(N) for r in first(x, h, i)), *last(x, h)]

    def in_a_row(x, h, p):
        return [*(first(x, h, i)[k] for k in range(2) for i in range(N)), *last(x, h)]

    for rows in (in_turn, in_a_row):
        found, run = shapes(rows, (2 * N, 2 * N, 0, 0))
        assert [len(s) for s in found] == [1] and run.plan.doubles == 0


def test_kinds_by_what_other_parts_make_are_divided():
    """Bounded sines in turn of either half of the sines, and what reads both: beside the sines one loop."""

    def rows(x, h, p):
        sines = [ca.sin(x[i]) for i in range(2 * N)]
        bounded = [ca.fmin(sines[i + half], 0.5) for i in range(N) for half in (0, N)]
        return [*sines, *bounded, *(bounded[2 * i] / bounded[2 * i + 1] for i in range(N))]

    assert operations(shapes(rows, (2 * N, 0, 0, 0))[0]) == {1, 3}


def test_shapes_grow_to_a_limit():
    """Each part reads the one before, of six operations: as many of them share a loop as fit."""

    def rows(x, h, p):
        last, found = [x[i] for i in range(N)], []
        for k in range(20):
            last = [ca.sin(ca.sin(last[i] * p[i]) + (0.5 + k)) * ca.sin(h[i] - last[i]) for i in range(N)]
            found += last
        return found

    found, _ = shapes(rows)
    sizes = [len(s.operations) for piece in found for s in piece.values()]
    assert max(sizes) <= SHORT and max(sizes) > SHORT // 2 and sum(sizes) == 140


def test_arranged_results_lie_side_by_side_and_equal_ones_once():
    """Two numbers per block in turn, the first of them twice: where each is, says the plan."""

    def rows(x, h, p):
        return [r for i in range(N) for r in (x[i] - p[i], x[i] - p[i], h[i] + x[i])]

    _, run = shapes(rows, arranged=["f"])
    places = run.plan.arranged["f"]
    assert places[0::3] == places[1::3]
    columns = sorted([places[0::3], places[2::3]])
    assert columns == [[*range(N)], [*range(N, 2 * N)]]
    outputs = set().union(*(q.outputs for q in run.plan.functions["f"].pieces))
    assert outputs == {*range(2 * N)}
