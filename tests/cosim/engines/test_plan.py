"""A plan of functions belongs to no language: here Python carries it out, with the numbers CasADi gives."""

import math
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

from cosim.engines.codegen import copies, planner
from cosim.engines.codegen.graph import NAMES
from cosim.engines.codegen.operations_c import LOGIC, OPERATIONS, RELATIONS
from cosim.engines.codegen.plan import (
    ArrayPlace,
    Call,
    NumberColumn,
    PlaceColumn,
    Plain,
    Shared,
    WrittenNumber,
)
from cosim.engines.codegen.planner import planned
from tests.helpers.printed import same, symbols

PYTHON = {
    "same": lambda a: a, "neg": lambda a: -a, "square": lambda a: a * a, "twice": lambda a: 2 * a,
    "inverse": lambda a: 1 / a, "sin": math.sin, "sqrt": math.sqrt, "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "fmin": min,
}  # fmt: skip


class Interpreter:
    """Carries out a plan on arrays of numbers."""

    def __init__(self, function, **options):
        self.plan, self.callees = planned(function, ["f"], **options)
        self.constants, self.scratch = np.zeros(self.plan.constants), np.zeros(self.plan.doubles)

    def __call__(self, t, x, h, w, p):
        out = np.zeros(10_000)
        arrays = {"x": x, "h": h, "w": w, "p": p, "v": self.scratch, "out": self.constants}
        arrays = {name: np.array(a, dtype=float) if name in "xhwp" else a for name, a in arrays.items()}
        arrays |= {"t": [t]}
        self.carry_out(self.plan.prepare, arrays)
        self.carry_out(self.plan.functions["f"], arrays | {"c": self.constants, "out": out})
        return out

    def carry_out(self, function, arrays):
        for piece in function.pieces:
            self.plain(piece, arrays) if isinstance(piece, Plain) else self.shared(piece, arrays)

    def plain(self, piece, arrays):
        known = {}

        def value(v):
            if isinstance(v, WrittenNumber):
                return v.value
            return arrays[v.array][v.index] if isinstance(v, ArrayPlace) else known[v.value]

        for step in piece.steps:
            operands = [value(v) for v in step.operands]
            if isinstance(step, Call):
                found, stores = self.call(self.plan.callees[step.callee], operands), step.stores
                known.update(zip(step.results, found, strict=True))
            else:
                found, stores = [PYTHON[step.operation](*operands)], [step.stores]
                known[step.result] = found[0]
            for number, places in zip(found, stores, strict=True):
                for place in places:
                    arrays[place.array][place.index] = number

    def call(self, callee, operands):
        given, start = [], 0
        for size in callee.given:
            given.append(operands[start : start + size])
            start += size
        found = self.callees[callee.number].call([ca.DM(g) for g in given])
        return [float(v) for f in found for v in np.array(f).ravel(order="F")]

    def shared(self, piece, arrays):
        for tables in piece.copies:
            for k, row in enumerate(tables.places):
                known = []
                for name, operands in tables.shape.operations:
                    values = []
                    for v in operands:
                        if isinstance(v, PlaceColumn):
                            values.append(arrays[v.array][0 if v.array == "t" else row[v.column]])
                        elif isinstance(v, NumberColumn):
                            values.append(tables.numbers[k][v.column])
                        else:
                            values.append(v.value if isinstance(v, WrittenNumber) else known[v.value])
                    known.append(PYTHON[name](*values))
                first = tables.shape.columns - len(tables.shape.stores)
                for j, (operation, array) in enumerate(tables.shape.stores):
                    arrays[array][row[first + j]] = known[operation]


def test_every_operation_has_its_c():
    assert {*OPERATIONS, *RELATIONS, *LOGIC} == set(NAMES.values())


def test_a_plan_with_cuts_constants_and_calls_gives_casadis_numbers(monkeypatch):
    monkeypatch.setattr(planner, "PIECE", 7)
    m = ca.MX.sym("m", 2)
    g = ca.Function("g", [m], [ca.vertcat(ca.sum1(m), m[0] * m[1], m[0] - m[1])])
    t, x, h, w, p = symbols(3, 2, 1, 3)
    values = [*ca.vertsplit(ca.vertcat(t, x, h, w, p))]
    values += ca.vertsplit(g.call([ca.vertcat(x[0] * p[1], ca.sin(p[0] * p[2]))], False, True)[0])
    rng = np.random.default_rng(4)
    for k in range(200):
        a, b = (values[int(rng.integers(max(0, len(values) - 40), len(values)))] for _ in range(2))
        values.append([a + b, a * 0.5 - b, ca.sin(a) * b, ca.fmin(a, b)][k % 4])
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(*values[-25:], 0.0, -0.0)])
    run = Interpreter(f)
    assert len(run.plan.functions["f"].pieces) > 10
    assert run.plan.constants > 0 and len(run.plan.callees) == 1
    arguments = [rng.normal(size=n) for n in (3, 2, 1, 3)]
    assert same(np.array(f(0.1, *arguments)).ravel(), run(0.1, *arguments)[:27])


@pytest.mark.parametrize("number", [60, 8])
def test_a_plan_with_copies_gives_casadis_numbers(monkeypatch, number):
    """Many copies keep their numbers in the shape, few have them in a table."""
    monkeypatch.setattr(planner, "SMALL", 0)
    monkeypatch.setattr(copies, "FEW", 0)
    t, x, h, w, p = symbols(number, 1, 0, number)
    parts = [ca.sin(x[i] * p[i]) + t * (2.5 if number > 50 else 2.5 + i) for i in range(number)]
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(*parts)])
    run = Interpreter(f)
    (piece,) = (q for q in run.plan.functions["f"].pieces if isinstance(q, Shared))
    assert bool(piece.copies[0].numbers) == (number == 8)
    rng = np.random.default_rng(5)
    arguments = [rng.normal(size=n) for n in (number, 1, 0, number)]
    assert same(np.array(f(0.1, *arguments)).ravel(), run(0.1, *arguments)[:number])


def test_parameters_of_copies_lie_side_by_side(monkeypatch):
    """Those of a block are next to each other in p, those that a loop over blocks reads in the constants."""
    monkeypatch.setattr(planner, "SMALL", 0)
    monkeypatch.setattr(copies, "FEW", 0)
    n = 60
    t, x, h, w, p = symbols(n, 1, 0, 4 * n)
    parts = [p[4 * i + 2] * ca.sin(x[i] / p[4 * i + 1]) for i in range(n)]
    parts += [x[i] * x[i] + p[4 * i + 2] * ca.sin(p[4 * i + 3]) for i in range(n)]
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(*parts)])
    run = Interpreter(f)
    tables = [c for q in run.plan.functions["f"].pieces if isinstance(q, Shared) for c in q.copies]
    found = {
        (v.column, v.array): np.diff([row[v.column] for row in c.places])
        for c in tables
        for _, operands in c.shape.operations
        for v in operands
        if isinstance(v, PlaceColumn)
    }
    assert {array for _, array in found} == {"x", "c"}
    assert all((steps == 1).all() for steps in found.values()), found
    rng = np.random.default_rng(6)
    arguments = [rng.normal(size=size) for size in (n, 1, 0, 4 * n)]
    assert same(np.array(f(0.1, *arguments)).ravel(), run(0.1, *arguments)[: 2 * n])


def copy(k):
    return copies.Copy([], (), (k,), ())


def test_copies_in_turn_are_runs():
    """Two kinds in turn, one of them with a gap, and what fits nowhere; every copy is in one part."""
    one = [([k, 5 + 6 * k], copy(2 * k)) for k in range(40)]
    two = [([500 + k + (k > 19), 7 + 6 * k], copy(2 * k + 1)) for k in range(40)]
    odd = [([2000 + k * k, k], copy(100 + k)) for k in range(7)]
    rows = [row for pair in zip(one, two, strict=True) for row in pair] + odd
    *runs, rest = copies.even_runs(rows)
    assert sorted(len(run) for run in runs) == [20, 20, 40]
    for run in runs:
        assert len({tuple(np.subtract(b[0], a[0])) for a, b in pairwise(run)}) == 1
    assert [c.results for _, c in rest] == [(k,) for k in range(100, 107)]
    assert sorted(c.results for part in (*runs, rest) for _, c in part) == sorted(c.results for _, c in rows)


def test_copies_that_end_in_turn_are_runs():
    """In order of where they write."""
    rows = [([4 * (k % 30) + k // 30, k], copy(k)) for k in range(120)]
    assert [len(run) for run in copies.even_runs(rows[::-1])] == [30] * 4
